"""Exact exploitability of a token policy: asked on the prompts that it meets in play, answered as it samples."""

import math
from pathlib import Path

import pytest

from simarena.agents import models
from simarena.arena.arena import SimulatorArena
from simarena.arena.errors import UsageError
from simarena.arena.specs import build_scenario
from simarena.simulators.poker.table import PokerTable
from simarena.training import exact, starting_point
from simarena.training.config import Recipe
from simarena.training.evaluation import engines_of, options_of, seats_of
from simarena.training.exact import Question, measure
from simarena.training.recipe_file import load
from simarena.training.trainer import LocalTrainer

PAIR = Path(__file__).parent.parent / "support" / "pair.toml"
ONE = ['seats={ first = "learner", second = "learner" }', "learners={}", "population={}", "evaluation.anchors=[]"]
"""Overrides: one policy on both seats, and nobody else."""


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    return load(str(PAIR), ONE)


@pytest.fixture(scope="module")
def model(recipe: Recipe, tmp_path_factory: pytest.TempPathFactory) -> Path:
    patch = pytest.MonkeyPatch()
    patch.setenv("SIMARENA_HOME", str(tmp_path_factory.mktemp("home")))
    folder = starting_point._tiny(recipe)
    patch.undo()
    return folder


async def test_a_policy_is_asked_what_it_meets_and_answers_as_it_samples(recipe: Recipe, model: Path) -> None:
    table = build_scenario(recipe.scenario.name, options_of(recipe, "train"))
    assert isinstance(table, PokerTable)
    trainer = LocalTrainer(model, recipe)
    asked: dict[str, dict[str, float]] = {}

    async def ask(_: str, questions: list[Question]) -> list[dict[str, float]]:
        every_word = [Question(question.chat, table.lexicon()) for question in questions]
        asked.update(zip(table.situations(), await trainer.first_words(every_word), strict=True))
        return await trainer.first_words(questions)

    assert await measure(recipe, ask) is not None  # type: ignore[arg-type]
    tokenizer, compared = models.load_tokenizer(model), 0
    engines = engines_of(recipe, {"learner": model})
    async with SimulatorArena(policies=engines, limits=recipe.rollout.limits) as arena:
        play = arena.play(table, options=options_of(recipe, "train"), seats=seats_of(recipe, 1.0), deals=range(60))
        async for episode in play:
            for turn in episode.turns:
                assert turn.record is not None
                if chance := asked[turn.state_key].get(tokenizer.decode(turn.record.sampled)):
                    compared += 1
                    assert turn.record.logprobs[0] == pytest.approx(math.log(chance), abs=1e-4)
    assert compared > 20


async def test_always_forfeiting_loses_two_chips_a_hand(recipe: Recipe) -> None:
    async def mute(_: str, questions: list[Question]) -> list[dict[str, float]]:
        return [dict.fromkeys(question.words, 0.0) for question in questions]

    async def even(_: str, questions: list[Question]) -> list[dict[str, float]]:
        return [dict.fromkeys(question.words, 1 / len(question.words)) for question in questions]

    assert await measure(recipe, mute) == pytest.approx(2.0)  # type: ignore[arg-type]
    assert await measure(recipe, even) == pytest.approx(0.458333333)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "override", ["rollout.limits.turn_tokens=2", 'seats={ first = "learner" }', "scenario.name=relay"]
)
async def test_it_is_not_measured_where_it_is_not_defined(override: str) -> None:
    named = ["scenario.options={}"] if "relay" in override else []
    recipe = load(str(PAIR), [*ONE, *named, override])
    assert await measure(recipe, None) is None  # type: ignore[arg-type]


def test_a_word_of_several_tokens_is_refused(recipe: Recipe, model: Path) -> None:
    from simarena.arena.protocols import ChatTurn

    question = Question((ChatTurn("system", "you hold the king."),), ("all in",))
    with pytest.raises(UsageError, match="'all in' in one token"):
        exact.first_words(models.load_model(model), models.load_tokenizer(model), [question])
