"""The population: who stays, whom each rule chooses, what pay-offs say, and the alarm when self-play lies."""

import random
from collections import Counter
from pathlib import Path

import pytest
from rollouts import episode

from simarena.arena.episodes import Seat
from simarena.arena.errors import UsageError
from simarena.training.alarms import WINDOW, selfplay
from simarena.training.opposition import Opposition
from simarena.training.population import RULES, Member, Met, Population, Tally
from simarena.training.recipe_file import parse


def snapshot(step: int, learner: str = "learner") -> Member:
    return Member(name=f"{learner}@{step}", learner=learner, step=step)


def grown(*steps: int, size: int = 8) -> Population:
    book = Population(members=(Member(name="echo", learner="learner", agent="echo"),))
    for step in steps:
        book = book.joined(snapshot(step), size)
    return book


def test_the_oldest_snapshot_leaves_and_scripted_agents_stay() -> None:
    book = grown(0, 10, 20, size=2).joined(snapshot(10, "other"), 2)
    assert [member.name for member in book.members] == ["echo", "learner@10", "learner@20", "other@10"]
    assert [member.name for member in book.of("other")] == ["other@10"]


def test_what_is_known_of_a_member_leaves_with_it() -> None:
    book = grown(0, 10, size=2).met("learner@0", ["learner"], 1.0, 0.0)
    book = book.paid("learner@0", "learner@10", [(1.0, 0.0)])
    after = book.joined(snapshot(20), 2)
    assert after.records == {}
    assert after.payoff == {"learner@10": {}}
    assert after.ratings.keys() == {"learner", "learner@10", "learner@20"}


def test_newer_games_weigh_more_and_few_games_say_little() -> None:
    book = grown(0)
    assert Tally().rate(0.7) == 0.7
    for _ in range(60):
        book = book.met("learner@0", ["learner"], 0.0, 1.0)
    for _ in range(60):
        book = book.met("learner@0", ["learner"], 1.0, 0.0)
    tally = book.records["learner@0"]
    assert tally.rate(0.5) > 0.8
    assert tally.games < 34  # 1 / (1 - decay)


RECORDS = {
    "learner@0": Tally(points=9, games=10),
    "learner@10": Tally(points=5, games=10),
    "echo": Tally(games=10),
}


@pytest.mark.parametrize(
    ("rule", "favourite", "never"),
    [
        ("latest", "learner@10", {"echo", "learner@0"}),
        ("prioritised", "echo", set()),
        ("uncertain", "learner@10", set()),
        ("exploiter", "echo", {"learner@0", "learner@10"}),
    ],
)
def test_each_rule_meets_whom_it_is_for(rule: str, favourite: str, never: set[str]) -> None:
    book = grown(0, 10).model_copy(update={"records": RECORDS})
    met = Counter(book.choose("learner", rule, random.Random(n)).name for n in range(300))  # type: ignore[arg-type]
    assert met.most_common(1)[0][0] == favourite
    assert not never & set(met)


def test_uniform_meets_everyone_equally_and_prioritised_by_the_square_of_losses() -> None:
    known = [Met(0, 1 / 12, 10), Met(0, 10 / 12, 10), Met(10, 6 / 12, 10)]
    assert RULES["uniform"](known) == [1.0, 1.0, 1.0]
    assert RULES["prioritised"](known) == pytest.approx([(11 / 12) ** 2, (2 / 12) ** 2, (6 / 12) ** 2], abs=1e-5)


def test_who_was_hardly_played_is_uncertain() -> None:
    often, never, other = RULES["uncertain"]([Met(0, 0.5, 100), Met(0, 0.5, 0), Met(10, 0.5, 0)])
    assert never == other > often


def strong(book: Population, games: int = 30) -> Population:
    """The echo beats everyone, the present learner all of its past."""
    for _ in range(games):
        book = book.paid("echo", "learner@0", [(1.0, 0.0)]).met("learner@0", ["learner"], 1.0, 0.0)
    return book


def test_who_was_never_met_is_judged_by_the_ratings() -> None:
    """It has met only the weaker of two, and the stronger has beaten that one always."""
    book = strong(grown(0))
    assert "echo" not in book.records
    echo, start = (book.expected("learner", member) for member in book.members)
    assert echo < 0.6 < start
    assert book.choose("learner", "exploiter", random.Random(0)).name == "echo"


def test_a_snapshot_joins_when_the_ratings_say_it_is_better_than_the_one_before() -> None:
    book = grown(0)
    assert grown().ready("learner", 0.9), "somebody must be the first"
    assert book.ready("learner", 0.0)
    assert not book.ready("learner", 0.6), "nothing is known yet"
    book = strong(book)
    assert book.ready("learner", 0.6)
    after = book.joined(snapshot(10), 8)
    assert after.ratings["learner@10"] == after.ratings["learner"]
    assert not after.ready("learner", 0.6), "it is as good as itself"


def test_a_newcomer_takes_the_engine_of_who_left() -> None:
    """Also where some steps brought none: no two members speak through one engine."""
    book = grown(0, 30, 40, size=2)
    assert [(one.name, one.slot) for one in book.of("learner")[1:]] == [("learner@30", 1), ("learner@40", 0)]


def test_nobody_to_meet_is_said() -> None:
    with pytest.raises(UsageError, match="'other' has no population"):
        grown(0).choose("other", "uniform", random.Random(0))


def paid(book: Population, rates: dict[tuple[int, int], float], games: int = 64) -> Population:
    for (one, other), rate in rates.items():
        won = round(rate * games)
        outcomes = [(1.0, 0.0)] * won + [(0.0, 1.0)] * (games - won)
        book = book.paid(f"learner@{one}", f"learner@{other}", outcomes)
    return book


def test_rock_paper_scissors_is_a_cycle_and_a_ladder_is_none() -> None:
    ring = paid(grown(0, 10, 20), {(0, 10): 0.8, (10, 20): 0.8, (20, 0): 0.8})
    share, rank = ring.cycles()
    assert share == 1.0
    assert list(rank) == ["learner@0", "learner@10", "learner@20"]
    assert list(rank.values()) == pytest.approx([1 / 3] * 3, abs=1e-6)
    ladder = paid(grown(0, 10, 20), {(10, 0): 0.8, (20, 10): 0.8, (20, 0): 0.9})
    share, rank = ladder.cycles()
    assert (share, max(rank, key=lambda name: rank[name])) == (0.0, "learner@20")
    assert ring.payoff["learner@0"]["learner@10"].points == 51


def test_a_cycle_within_luck_is_none() -> None:
    close = paid(grown(0, 10, 20), {(0, 10): 0.53, (10, 20): 0.53, (20, 0): 0.53})
    assert close.cycles()[0] == 0.0


def test_the_book_is_the_same_after_a_checkpoint() -> None:
    book = paid(grown(0, 10, 20), {(0, 10): 0.8}).met("echo", ["learner"], 0.25, 0.75)
    again = Population.model_validate(book.model_dump(mode="json"))
    assert again == book
    assert Population.model_validate_json(book.model_dump_json()) == book


ASKERS = ("simarena.simulators.scenarios.secret.players:Babbler", "frozen:raider")
HARDENED = {
    "name": "hardened",
    "scenario": {"name": "secret"},
    "seats": {"keeper": "learner", "asker": "simarena.simulators.scenarios.secret.players:Asker"},
    "population": {"bots": list(ASKERS), "share": 0.5, "rule": "exploiter"},
}


SCRIPTED = HARDENED["seats"]["asker"]  # type: ignore[index]


def who(opposition: Opposition, step: int, number: int, seat: str) -> str:
    """The policy or the agent on a seat in this deal."""
    spec = opposition.company(step, number)[seat]
    return spec if isinstance(spec, str) else spec.policy or spec.agent


def test_one_learner_meets_bots_and_frozen_policies_on_the_seats_that_others_have(tmp_path: Path) -> None:
    recipe = parse(HARDENED)
    assert recipe.frozen == ("raider",)
    opposition = Opposition(recipe, None, None, tmp_path)  # type: ignore[arg-type]
    assert {who(opposition, 0, number, "keeper") for number in range(400)} == {"learner"}
    met = Counter(who(opposition, 0, number, "asker") for number in range(400))
    assert met.keys() == {SCRIPTED, ASKERS[0], "raider.start"}
    assert met[SCRIPTED] == pytest.approx(200, abs=40)
    assert met[ASKERS[0]] == pytest.approx(met["raider.start"], abs=40)


def test_what_it_does_against_each_decides_whom_it_meets_next(tmp_path: Path) -> None:
    """The raider beats the keeper and the babbler does not, so an exploiter's rule seats the raider."""
    opposition = Opposition(parse(HARDENED), None, None, tmp_path)  # type: ignore[arg-type]
    for number in range(100):
        seats = opposition.company(0, number)
        keeper, asker = seats["keeper"], seats["asker"]
        if isinstance(keeper, str) or isinstance(asker, str):
            continue  # the scripted asker of the recipe, who is no member
        lost = asker.policy == "raider.start"
        told = {
            "seats": {"keeper": Seat(spec=keeper), "asker": Seat(spec=asker)},
            "turns": (),
            "rewards": (),
            "outcome": {"keeper": float(not lost), "asker": float(lost)},
        }
        one = episode([0.0], id=f"train-0/{number}/0", deal=number)
        assert opposition.learn_from([one.model_copy(update=told)])["population/members"] == 2
    assert {name: tally.rate(0.5) > 0.5 for name, tally in opposition.book.records.items()} == {
        "frozen:raider": False,
        ASKERS[0]: True,
    }
    assert {who(opposition, 1, number, "asker") for number in range(100)} == {SCRIPTED, "raider.start"}


def rows(selfplay_scores: list[float], anchors: dict[int, float]) -> list[dict[str, float]]:
    found = []
    for step, value in enumerate(selfplay_scores, 1):
        row = {"step": float(step), "population/score": value + 0.001 * (step % 2), "outcome/mean": 0.5}
        if step in anchors:
            row |= {"anchor/score": anchors[step], "anchor/error": 0.02}
        found.append(row)
    return found


RISING = [0.5 + 0.01 * step for step in range(3 * WINDOW)]


def test_the_alarm_is_raised_where_self_play_rises_and_anchors_fall() -> None:
    alert = selfplay(rows(RISING, {1: 0.7, 8: 0.6, 15: 0.5}))
    assert alert is not None
    assert (alert.alarm, alert.since) == ("selfplay", 1)
    assert "0.20" in alert.text


@pytest.mark.parametrize(
    ("scores", "anchors"),
    [
        (RISING, {1: 0.5, 15: 0.7}),  # both rise
        (RISING[::-1], {1: 0.7, 15: 0.5}),  # both fall
        (RISING, {1: 0.7, 15: 0.66}),  # within noise
        (RISING, {15: 0.5}),  # measured once
        (RISING, {}),
        ([], {}),
    ],
)
def test_and_not_otherwise(scores: list[float], anchors: dict[int, float]) -> None:
    assert selfplay(rows(scores, anchors)) is None


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"population": {"every": 5}}, "population needs a second seat"),
        ({"evaluation": {"anchors": ["start"]}}, "anchors needs a second seat"),
        ({"seats": {"scout": "learner", "runner": "learner"}, "population": {"share": 0.3}}, "has no members"),
        ({"seats": {"scout": "learner"}, "population": {"bots": ["echo"]}}, "population needs a second seat"),
        (
            {"seats": {"scout": "learner", "runner": "echo"}, "population": {"bots": ["echo"], "every": 3}},
            "population needs a second seat",
        ),
    ],
)
def test_a_population_without_use_is_refused(more: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse({"name": "a", "scenario": {"name": "relay"}, **more})


@pytest.mark.parametrize("key", ["size", "gate", "matches"])
def test_what_only_snapshots_use_is_refused_where_there_are_none(key: str) -> None:
    told = HARDENED | {"population": {**HARDENED["population"], key: 0.5 if key == "gate" else 4}}  # type: ignore[dict-item]
    with pytest.raises(UsageError, match=f"population.{key} is not used without snapshots"):
        parse(told)
