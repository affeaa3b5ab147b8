"""Formats keep their promises for any size, seed and course of results."""

import itertools
from collections import Counter

import networkx as nx
import pytest
from coins import contest, favourites, play
from hypothesis import given, settings
from hypothesis import strategies as st

from simarena.arena.errors import UsageError
from simarena.arena.tournament.formats import (
    Block,
    DoubleElimination,
    Gauntlet,
    Ladder,
    RoundRobin,
    SingleElimination,
    Swiss,
)
from simarena.arena.tournament.formats.swiss import most_rounds

sizes = st.integers(2, 33)
seeds = st.integers(0, 1 << 30)
quick = settings(max_examples=30, deadline=None)


def seat_balance(results) -> dict[str, int]:
    """Entrant → matches on the first seat minus those on the second."""
    balance: Counter[str] = Counter()
    for one in results:
        balance[one.match.seats["a"]] += 1
        balance[one.match.seats["b"]] -= 1
    return balance


def who_met(results) -> Counter[frozenset[str]]:
    met = {(one.match.round, one.match.pair): frozenset(one.match.seats.values()) for one in results}
    return Counter(met.values())


FORMATS = [
    RoundRobin(rounds=2),
    Swiss(rounds=1),
    SingleElimination(seeding="random"),
    DoubleElimination(),
    Block(rounds=2),
    Gauntlet(rounds=2, challengers=("e0001", "e0000")),
    Ladder(rounds=3),
    Ladder(rounds=4, meetings=1),
]


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.kind)
@given(size=sizes, seed=seeds, order=seeds, mirrored=st.booleans(), best_of=st.integers(1, 3))
@settings(max_examples=12, deadline=None)
def test_the_order_of_results_changes_nothing(format, size, seed, order, mirrored, best_of) -> None:
    frame = contest(size, seed=seed, mirrored=mirrored, best_of=best_of)
    draws, results = play(frame, format, order=order)
    again, _ = play(frame, format, order=order + 1)
    assert draws == again
    ids = [one.match.id for one in results]
    assert len(set(ids)) == len(ids)


@given(size=sizes, rounds=st.integers(1, 3), seed=seeds, mirrored=st.booleans())
@quick
def test_round_robin_everyone_meets_everyone_and_seats_balance(size, rounds, seed, mirrored) -> None:
    frame = contest(size, seed=seed, mirrored=mirrored)
    _, results = play(frame, RoundRobin(rounds=rounds))
    pairs = itertools.combinations(frame.entrants, 2)
    assert who_met(results) == {frozenset(pair): rounds for pair in pairs}
    assert max(map(abs, seat_balance(results).values())) <= (0 if mirrored else 1)


@given(size=sizes, cut=st.floats(0, 1))
@quick
def test_round_robin_cut_short_has_everyone_at_nearly_the_same_number(size, cut) -> None:
    (drawn,), _ = play(contest(size), RoundRobin())
    played = Counter(name for meeting in drawn[: int(cut * len(drawn))] for name in meeting.entrants)
    counts = [played[name] for name in contest(size).entrants]
    assert max(counts) - min(counts) <= 2


@st.composite
def swisses(draw):
    size, mirrored = draw(sizes), draw(st.booleans())
    rounds = draw(st.integers(1, most_rounds(size, mirrored)))
    return contest(size, seed=draw(seeds), mirrored=mirrored), Swiss(rounds=rounds)


@given(course=swisses())
@settings(max_examples=100, deadline=None)
def test_swiss_no_rematch_balanced_seats_at_most_one_bye(course) -> None:
    frame, format = course
    draws, results = play(frame, format)
    assert len(draws) == format.rounds
    assert set(who_met(results).values()) <= {1}
    assert max(map(abs, seat_balance(results).values())) <= (0 if frame.mirrored else 1)
    meetings = Counter(name for drawn in draws for meeting in drawn for name in meeting.entrants)
    byes = [format.rounds - meetings[name] for name in frame.entrants]
    assert max(byes) <= 1
    assert sum(byes) == format.rounds * (len(frame.entrants) % 2)


def test_swiss_pairs_equals() -> None:
    """With 16 entrants and no upsets, four rounds find one with 4 wins, 4 with 3, 6 with 2, ..."""
    _, results = play(contest(16), Swiss(rounds=4), favourites)
    wins = Counter(name for one in results for seat, name in one.match.seats.items() if one.outcome[seat] == 1.0)
    assert Counter(wins[name] // 2 for name in contest(16).entrants) == {4: 1, 3: 4, 2: 6, 1: 4, 0: 1}


@pytest.mark.parametrize(
    ("size", "mirrored", "most"), [(64, True, 32), (64, False, 17), (7, True, 4), (2, True, 1)]
)
def test_swiss_refuses_rounds_that_might_need_a_rematch(size: int, mirrored: bool, most: int) -> None:
    frame = contest(size, mirrored=mirrored)
    assert len(play(frame, Swiss(rounds=most))[0]) == most
    with pytest.raises(UsageError, match=f"can play {most} Swiss rounds"):
        Swiss(rounds=most + 1).draw(frame, [])


@given(size=sizes, seed=seeds, best_of=st.integers(1, 3), mirrored=st.booleans())
@quick
def test_single_elimination_leaves_one_and_gives_byes_once(size, seed, best_of, mirrored) -> None:
    frame = contest(size, seed=seed, best_of=best_of, mirrored=mirrored)
    draws, results = play(frame, SingleElimination(seeding="random"))
    bracket = SingleElimination(seeding="random").bracket(frame, results)
    assert len(bracket) == size - 1
    losers = [name for node in bracket.nodes.values() for name in node["entrants"] if name != node["winner"]]
    assert len(set(losers)) == size - 1
    first = {name for node in bracket.nodes.values() if node["round"] == 1 for name in node["entrants"]}
    assert len(first) % 2 == 0
    power = 1 << (size - 1).bit_length()
    assert size - len(first) == power - size
    for number in range(2, power.bit_length()):
        alive = [node for node in bracket.nodes.values() if node["round"] == number]
        assert len(alive) == power >> number
    assert draws


@given(size=sizes, seed=seeds, best_of=st.integers(1, 3))
@quick
def test_double_elimination_everyone_but_the_winner_loses_twice(size, seed, best_of) -> None:
    frame = contest(size, seed=seed, best_of=best_of)
    _, results = play(frame, DoubleElimination(seeding="random"))
    bracket = DoubleElimination(seeding="random").bracket(frame, results)
    nodes = sorted(bracket.nodes.values(), key=lambda node: node["round"])
    losses = Counter(name for node in nodes for name in node["entrants"] if name != node["winner"])
    finals = [node for node in nodes if node["half"] == "final"]
    winner = finals[-1]["winner"]
    assert losses[winner] == len(finals) - 1
    assert all(losses[name] == 2 for name in frame.entrants if name != winner)
    assert len(nodes) == 2 * (size - 1) + len(finals) - 1
    assert nx.is_directed_acyclic_graph(bracket)


def test_the_bracket_resets_only_when_the_lower_half_wins_the_final() -> None:
    frame = contest(8)
    _, results = play(frame, DoubleElimination(), favourites)
    assert [n["half"] for n in DoubleElimination().bracket(frame, results).nodes.values()].count("final") == 1

    def second_seed_comes_back(match) -> float:
        first, second = match.seats.values()
        late = match.round >= 6 and {first, second} == {"e0000", "e0001"}
        return float((first < second) != late)

    _, results = play(frame, DoubleElimination(), second_seed_comes_back)
    finals = [n for n in DoubleElimination().bracket(frame, results).nodes.values() if n["half"] == "final"]
    assert [node["winner"] for node in finals] == ["e0001", "e0001"]


def test_seeds_one_and_two_meet_in_the_final_only() -> None:
    frame = contest(13)
    _, results = play(frame, SingleElimination(), favourites)
    final = max(SingleElimination().bracket(frame, results).nodes.values(), key=lambda node: node["round"])
    assert final["entrants"] == ("e0000", "e0001")


def test_best_of_three_stops_when_it_is_decided_and_goes_on_when_level() -> None:
    frame = contest(2, best_of=3, mirrored=False)
    draws, _ = play(frame, SingleElimination(), favourites)
    assert [len(drawn) for drawn in draws] == [2]
    draws, results = play(frame, SingleElimination(), lambda match: 0.5)
    assert [len(drawn) for drawn in draws] == [2, 1, 1, 1]
    (final,) = SingleElimination().bracket(frame, results).nodes.values()
    assert final["winner"] == "e0000"


@given(sides=st.integers(1, 5), extra=st.integers(0, 12), seed=seeds, mirrored=st.booleans())
@quick
def test_block_design_gives_every_entrant_every_role_equally_often(sides, extra, seed, mirrored) -> None:
    roles = {f"s{number}": (f"seat{number}",) for number in range(sides)}
    frame = contest(max(2, sides) + extra, seed=seed, sides=roles, mirrored=mirrored)
    _, results = play(frame, Block(rounds=2))
    for number in (1, 2):
        matches = [one.match for one in results if one.match.round == number]
        seated = Counter(place for match in matches for place in match.seats.items())
        assert len(seated) == sides * len(frame.entrants)
        assert len(set(seated.values())) == 1
    assert all(len(set(one.match.seats.values())) == sides for one in results)


def test_alone_everyone_gets_the_same_deals() -> None:
    frame = contest(5, sides={"assistant": ("assistant",)}, best_of=3)
    _, results = play(frame, Block(rounds=2))
    deals = {name: [r.match.deal for r in results if name in r.match.seats.values()] for name in frame.entrants}
    assert len({tuple(sorted(mine)) for mine in deals.values()}) == 1
    assert len(set(deals["e0000"])) == 6


def test_teams_sit_together() -> None:
    frame = contest(4, sides={"wolves": ("w1", "w2"), "village": ("v1",)})
    for match in frame.matches(RoundRobin().draw(frame, [])[0]):
        assert match.seats["w1"] == match.seats["w2"] != match.seats["v1"]
        assert match.sides == {"w1": "wolves", "w2": "wolves", "v1": "village"}


@given(size=sizes, rounds=st.integers(1, 3), many=st.integers(1, 3))
@quick
def test_gauntlet_challengers_meet_everyone_and_nobody_else_meets(size, rounds, many) -> None:
    frame = contest(size, mirrored=False)
    challengers = frame.entrants[: min(many, size)]
    _, results = play(frame, Gauntlet(rounds=rounds, challengers=challengers))
    pairs = {frozenset((c, name)) for c in challengers for name in frame.entrants if c != name}
    assert who_met(results) == dict.fromkeys(pairs, rounds)


@pytest.mark.parametrize("kind", ["swiss", "single-elimination", "double-elimination", "round-robin"])
@pytest.mark.slow
def test_a_thousand_and_an_odd_thousand(kind: str) -> None:
    for size in (999, 1000):
        formats = {
            "swiss": Swiss(rounds=12),
            "single-elimination": SingleElimination(),
            "double-elimination": DoubleElimination(),
        }
        frame = contest(size)
        if kind == "round-robin":
            assert len(RoundRobin().draw(frame, [])) == size * (size - 1) // 2
        else:
            _, results = play(frame, formats[kind])
            assert {name for r in results for name in r.match.seats.values()} == set(frame.entrants)


def test_deals_do_not_depend_on_who_is_named_first_and_differ_between_legs_and_meetings() -> None:
    frame = contest(6, best_of=2, mirrored=False)
    drawn = RoundRobin().draw(frame, [])
    deals = {match.deal for meeting in drawn for match in frame.matches(meeting)}
    assert len(deals) == len(drawn) == 30
    mirrored = [frame.model_copy(update={"mirrored": True}).matches(meeting) for meeting in drawn]
    for one, other in mirrored:
        assert (one.deal, one.pair) == (other.deal, other.pair)
        assert one.seats == {"a": other.seats["b"], "b": other.seats["a"]}


def test_the_ladder_lets_equals_meet_and_the_unknown_play() -> None:
    """Of twenty whose order is plain, neighbours meet far more often than chance would have it."""
    frame = contest(20)
    draws, results = play(frame, Ladder(rounds=12), favourites)
    assert all(len({name for meeting in drawn for name in meeting.entrants}) == 2 * len(drawn) for drawn in draws)
    late = [meeting.entrants for drawn in draws[6:] for meeting in drawn]
    gaps = [abs(int(one[1:]) - int(other[1:])) for one, other in late]
    assert sum(gaps) / len(gaps) < 4  # 7 by chance
    matches = Counter(name for one in results for name in one.match.seats.values())
    assert min(matches[name] for name in frame.entrants) >= 12


def test_a_ladder_that_draws_one_meeting_takes_the_most_telling() -> None:
    """Once the others have met often, the pair of which nothing is known tells most."""
    frame = contest(4)
    draws, _ = play(frame, Ladder(rounds=2, meetings=1))
    first, second = (set(drawn[0].entrants) for drawn in draws)
    assert first.isdisjoint(second)
