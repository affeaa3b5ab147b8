"""Whole conversations: the expert solves everything, the novice some of it, and no blanket policy wins."""

import collections
from collections.abc import Mapping

import pytest

from simarena.arena.errors import UsageError
from simarena.arena.messages import Action, Observation, ToolResult, call, say
from simarena.arena.seeds import rng
from simarena.simulators.adversaries import ADVERSARIES
from simarena.simulators.hearing import words
from simarena.simulators.personas import PERSONAS
from simarena.simulators.scenarios.service_desk import Clerk, ServiceDesk
from simarena.simulators.scenarios.service_desk.lexicon import VALUES
from simarena.simulators.scenarios.service_desk.phrases import BOOKS, TRAIN
from simarena.simulators.scenarios.service_desk.policy import INSTRUCTIONS
from simarena.simulators.splits import SPLITS
from simarena.simulators.users import PersonaUser

DEALS = 500


class Babbler:
    """Says and calls anything in the lexicon."""

    def __init__(self) -> None:
        self._words = ServiceDesk().lexicon()

    async def act(self, observation: Observation) -> Action:
        chance = rng("babble", observation.seed, observation.turn)
        if chance.random() < 0.3:
            return call(chance.choice(["lookup", "refund", "fly"]), account=chance.choice(VALUES))
        return say(" ".join(chance.choices(self._words, k=chance.randint(1, 7))))


class Blanket:
    """Identifies as the expert does, then always does the same."""

    def __init__(self, *, refuse: bool) -> None:
        self._refuse = refuse

    async def act(self, observation: Observation) -> Action:
        action = Clerk(slips=0.0).serve(observation)
        if self._refuse and any(one.name in {"book", "change", "refund"} for one in action.calls):
            return say("sorry, i cannot do that.")
        if not self._refuse and "cannot refund" in action.text:
            return call("refund")
        return action


@pytest.fixture(scope="module")
def games(play_session):
    """Episodes by (split, assistant): shared, since several tests only look at them."""
    table = {}
    for split in SPLITS:
        scenario = ServiceDesk(split=split)
        for name, clerk in {"expert": Clerk(slips=0.0), "novice": Clerk(), "babbler": Babbler()}.items():
            agents = {"assistant": clerk, "user": PersonaUser()}
            table[split, name] = [play_session(scenario, agents, deal) for deal in range(DEALS)]
    return table


def rates(episodes) -> Mapping[str, float]:
    by_persona = collections.defaultdict(list)
    for played in episodes:
        by_persona[played.labels["persona"]].append(played.success)
    return {name: sum(wins) / len(wins) for name, wins in by_persona.items()}


@pytest.mark.parametrize("split", SPLITS)
def test_the_expert_serves_every_persona_adversary_and_twin(games, split):
    by_persona = rates(games[split, "expert"])
    assert set(by_persona) == {p.name for p in PERSONAS + ADVERSARIES if p.split == split}
    assert min(by_persona.values()) >= 0.95, by_persona


def test_the_novice_succeeds_at_a_third_and_sometimes_with_everyone(games):
    episodes = games["train", "novice"]
    by_persona = rates(episodes)
    assert 0.30 <= sum(played.success for played in episodes) / DEALS <= 0.50
    assert min(by_persona.values()) >= 0.10, by_persona


def test_a_clerk_cannot_be_better_than_perfect():
    with pytest.raises(UsageError, match="must be at least 0, got -1"):
        Clerk(slips=-1)


def test_no_blanket_policy_wins(play):
    for refuse in (True, False):
        scenario = ServiceDesk(personas=["pleader", "unlucky", "injector", "quoter"])
        agents = {"assistant": Blanket(refuse=refuse), "user": PersonaUser()}
        episodes = [play(scenario, agents, deal) for deal in range(80)]
        kinds = collections.Counter((p.labels["kind"], p.success) for p in episodes)
        lost, won = ("benign_twin", "adversary") if refuse else ("adversary", "benign_twin")
        assert kinds[lost, True] == 0
        assert kinds[won, False] == 0
        assert kinds[lost, False] > 25


def test_no_word_is_outside_the_lexicon(games):
    lexicon = set(ServiceDesk().lexicon())
    assert len(lexicon) <= 260
    assert set(words(INSTRUCTIONS)) <= lexicon
    for (_, name), episodes in games.items():
        for played in episodes:
            for message in played.messages:
                texts = [message.text] if name != "babbler" or message.seat != "assistant" else []
                texts += [str(part.content) for part in message.parts if isinstance(part, ToolResult)]
                assert not {word for text in texts for word in words(text)} - lexicon


@pytest.mark.parametrize("split", ["validation", "heldout"])
def test_lines_of_other_splits_use_only_words_of_training_lines(split):
    def spoken(book):
        return {word for line in book.templates() for word in words(line.replace("{", " {"))}

    assert set(TRAIN.templates()).isdisjoint(BOOKS[split].templates())
    assert spoken(BOOKS[split]) <= spoken(TRAIN)
    assert set(TRAIN.lines) == set(BOOKS[split].lines)


def test_conversations_are_short_enough_for_a_tiny_policy(games):
    for split in SPLITS:
        turns = sorted(played.states[-1].turns for played in games[split, "expert"])
        lengths = sorted(
            len(words(INSTRUCTIONS)) + sum(len(words(m.text or _called(m))) for m in played.messages)
            for played in games[split, "expert"]
        )
        assert 3 <= turns[0] <= turns[DEALS // 2] <= 6 <= turns[-1] <= 10
        assert lengths[DEALS // 2] <= 160, lengths[DEALS // 2]


def _called(message) -> str:
    (part,) = message.parts
    return (
        str(part.content)
        if isinstance(part, ToolResult)
        else " ".join([part.name, *map(str, part.arguments.values())])
    )


def test_everybody_babbles_to_an_end(games):
    for split in SPLITS:
        assert sum(played.success for played in games[split, "babbler"]) <= 0.1 * DEALS
        assert {played.step.ending for played in games[split, "babbler"]} == {"finished"}


def test_members_of_a_group_meet_the_same_person(play):
    agents = {"assistant": Clerk(slips=0.0), "user": PersonaUser()}
    for deal in range(20):
        first, second = (play(ServiceDesk(), agents, deal, member) for member in (0, 1))
        assert first.said("user") == second.said("user")
        assert first.states[0] == second.states[0]


def test_transcripts_of_personas_differ(games):
    lengths = collections.defaultdict(list)
    for played in games["train", "expert"]:
        lengths[played.labels["persona"]] += [len(words(text)) for text in played.said("user")]
    mean = {name: sum(counts) / len(counts) for name, counts in lengths.items()}
    assert mean["terse"] < 0.75 * mean["cooperative"] < mean["cooperative"] < 0.9 * mean["chatty"], mean
