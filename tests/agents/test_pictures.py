"""Pictures: from a message part to a vision-language model's reply, in a game that cannot be won without looking.

The model is a tiny LLaVA with random weights, whose output layer is set by hand so that it names what it sees.
"""

import io
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import PIL.Image
import pytest
import torch
from transformers import (
    CLIPImageProcessorPil,
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
)

from simarena.agents import models, tiny
from simarena.agents.engines.transformers import TransformersEngine
from simarena.agents.policy import chat_of
from simarena.arena import pictures
from simarena.arena.arena import SimulatorArena
from simarena.arena.errors import AgentFault, RecordError, UsageError
from simarena.arena.messages import WORLD, Action, Draft, Image, Limits, Text, View, drafts
from simarena.arena.protocols import ChatTurn, Completion, GenerateRequest, Scenario, Step
from simarena.arena.specs import AgentSpec, EngineSpec
from simarena.arena.tokens import TurnRecord, trajectories
from simarena.training import scorer

COLOURS = {"red": (220, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 220)}
QUESTION = "which colour is this"
PIECES = 4


def painted(colour: tuple[int, int, int]) -> Image:
    file = io.BytesIO()
    PIL.Image.new("RGB", (20, 20), colour).save(file, "PNG")
    return pictures.keep(file.getvalue())


@dataclass(frozen=True)
class Look:
    colour: str


class Colours(Scenario[Look]):
    """One seat is shown a patch and must name its colour."""

    name = "colours"
    seats = ("seer",)

    def deal(self, rng: random.Random) -> Look:
        return Look(rng.choice(sorted(COLOURS)))

    def to_act(self, state: Look) -> frozenset[str]:
        return frozenset(self.seats)

    def view(self, state: Look, seat: str) -> View:
        return View(instructions="name it")

    def opening(self, state: Look) -> tuple[Draft, ...]:
        return (Draft(seat=WORLD, kind="notice", parts=(painted(COLOURS[state.colour]), Text(text=QUESTION))),)

    def apply(self, state: Look, actions: Mapping[str, Action]) -> Step[Look]:
        right = actions["seer"].text.split()[:1] == [state.colour]
        won = {"seer": float(right)}
        said = drafts("seer", actions["seer"])
        return Step(state, said, rewards=won, ending="finished", checks={"right": right}, outcome=won)


@pytest.fixture(scope="module", autouse=True)
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        place = tmp_path_factory.mktemp("pictures")
        patch.setenv(pictures.PLACE, str(place))
        yield place


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, store: Path) -> Path:
    place = tmp_path_factory.mktemp("seeing")
    text = tiny.build([QUESTION, "name it", *COLOURS], tmp_path_factory.mktemp("text"), seed=0)
    tokenizer = models.load_tokenizer(text)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(
            hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
            image_size=16, patch_size=8,
        ),
        text_config=LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=48, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256, eos_token_id=1,
        ),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"), vision_feature_layer=-1,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = LlavaForConditionalGeneration(config)
    models.save(model, tokenizer, place)
    CLIPImageProcessorPil(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16}).save_pretrained(place)
    _teach(model, place)
    models.save(model, tokenizer, place)
    return place


def _teach(model: LlavaForConditionalGeneration, place: Path) -> None:
    """Set the output rows of the colours' words so that each is likeliest after its own picture."""
    tokenizer, engine = models.load_tokenizer(place), TransformersEngine(str(place))
    processor = CLIPImageProcessorPil.from_pretrained(place)
    states = []
    for colour in COLOURS.values():
        request = ask(colour)
        ids = torch.tensor([engine.codec.prompt(request.chat).fed])
        pixels = processor(images=[PIL.Image.new("RGB", (20, 20), colour)], return_tensors="pt")["pixel_values"]
        with torch.no_grad():
            states.append(model.model(input_ids=ids, pixel_values=pixels).last_hidden_state[0, -1])
    wanted = 30.0 * (2 * torch.eye(len(COLOURS)) - 1)
    rows = torch.linalg.pinv(torch.stack(states).double()) @ wanted.double()
    with torch.no_grad():
        model.lm_head.weight.zero_()
        model.lm_head.weight[tokenizer.convert_tokens_to_ids(list(COLOURS))] = rows.T.float()


def ask(colour: tuple[int, int, int] | None, key: str = "c", **more: object) -> GenerateRequest:
    images = () if colour is None else (painted(colour),)
    turns = (ChatTurn("system", "name it"), ChatTurn("tool", QUESTION, images=images))
    return GenerateRequest(key, turns, 0, max_tokens=1, **more)  # type: ignore[arg-type]


def recorded(completion: Completion) -> TurnRecord:
    assert completion.record is not None
    return completion.record


async def test_a_game_of_looking_is_won_and_lost_by_the_pixels(folder: Path) -> None:
    policies = {"eyes": EngineSpec(engine="transformers", options={"model": str(folder), "policy": "eyes"})}
    limits = Limits(turn_tokens=1, clipped="speak")
    async with SimulatorArena(policies=policies, limits=limits) as arena:
        seats = {"seer": AgentSpec.of_policy("eyes")}
        episodes = [e async for e in arena.play(Colours(), seats=seats, deals=range(12))]
    assert len({e.messages[-1].text for e in episodes}) == len(COLOURS)
    assert all(e.outcome["seer"] == 1.0 for e in episodes)


async def test_the_same_words_under_another_picture_are_another_prompt(folder: Path) -> None:
    """Together, one after the other, from a cache or not: each is answered by what it shows, to the bit."""
    engine = TransformersEngine(str(folder))
    requests = [ask(colour, key=name, temperature=0) for name, colour in COLOURS.items()]
    together = await engine.generate(requests)
    assert [c.text for c in together] == list(COLOURS)
    assert [(await TransformersEngine(str(folder)).generate([r]))[0] for r in requests] == together
    same_key = [ask(colour, temperature=0) for colour in COLOURS.values()]
    assert [(await engine.generate([r]))[0].text for r in same_key] == list(COLOURS)


async def test_log_probs_are_those_of_the_librarys_own_pass(folder: Path) -> None:
    engine, plain = TransformersEngine(str(folder)), models.load_model(folder)
    pixels = CLIPImageProcessorPil.from_pretrained(folder)
    for name, colour in COLOURS.items():
        record = recorded((await engine.generate([ask(colour, key=name)]))[0])
        picture = PIL.Image.new("RGB", (20, 20), colour)
        with torch.no_grad():
            logits = plain(
                input_ids=torch.tensor([record.fed]),
                pixel_values=pixels(images=[picture], return_tensors="pt")["pixel_values"],
            ).logits[0, -1]
        assert abs(torch.log_softmax(logits, -1)[record.sampled[0]].item() - record.logprobs[0]) < 1e-4


async def test_pieces_of_pictures_are_read_and_never_learned(folder: Path) -> None:
    engine = TransformersEngine(str(folder))
    record = recorded((await engine.generate([ask(COLOURS["red"])]))[0])
    token = models.load_tokenizer(folder).convert_tokens_to_ids("<image>")
    (sample,) = trajectories("seer", [record])
    places = [place for place, one in enumerate(sample.ids) if one == token]
    assert len(places) == PIECES
    assert not any(sample.mask[place] for place in places)
    assert sum(sample.mask) == 1


async def test_words_cannot_pass_for_a_picture(folder: Path) -> None:
    engine = TransformersEngine(str(folder))
    request = GenerateRequest("c", (ChatTurn("user", "<image> which"),), 0, max_tokens=1)
    record = recorded((await engine.generate([request]))[0])
    assert models.load_tokenizer(folder).convert_tokens_to_ids("<image>") not in record.fed


async def test_what_cannot_be_seen_is_said(folder: Path, store: Path, tmp_path: Path) -> None:
    blind = TransformersEngine(str(tiny.build([QUESTION, *COLOURS], tmp_path, seed=0)))
    seeing = TransformersEngine(str(folder))
    with pytest.raises(UsageError, match="is a model of text alone: use a vision-language model"):
        await blind.generate([ask(COLOURS["red"])])
    lost = ChatTurn("user", "which", images=(Image(sha256="0" * 64),))
    with pytest.raises(RecordError, match=r"is not in .* set SIMARENA_PICTURES"):
        await seeing.generate([GenerateRequest("c", (lost,), 0)])
    text = ChatTurn("user", "which", images=(pictures.keep(b"no picture"),))
    with pytest.raises(AgentFault, match="is not one that can be read"):
        await seeing.generate([GenerateRequest("c", (text,), 0)])
    kept = painted(COLOURS["red"])
    (store / kept.sha256).write_bytes(b"another")
    with pytest.raises(RecordError, match="does not hold what its name says"):
        pictures.load(kept)
    (store / kept.sha256).unlink()


def test_a_model_that_sees_is_refused_as_a_learner(folder: Path) -> None:
    with pytest.raises(UsageError, match="model type 'llava' reads pictures: it can play, but not learn yet"):
        scorer.check(models.load_model(folder))


def test_a_picture_reaches_the_chat_of_those_who_hear_it() -> None:
    from simarena.arena.messages import Message

    image = Image(sha256="1" * 64)
    message = Message(episode="e", id="0-1", seat=WORLD, kind="notice", parts=(image, Text(text="look")))
    assert chat_of(View(), [message], "seer") == (ChatTurn("tool", "look", images=(image,)),)


def test_equal_pictures_are_one_file(store: Path) -> None:
    before = len(list(store.iterdir()))
    first, again = painted((1, 2, 3)), painted((1, 2, 3))
    assert first == again
    assert len(list(store.iterdir())) == before + 1
    assert pictures.load(first).startswith(b"\x89PNG")
