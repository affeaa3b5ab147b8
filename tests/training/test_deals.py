"""Which deals a step plays."""

from collections import Counter

import pytest

from simarena.arena.errors import UsageError
from simarena.arena.seeds import cards, derive
from simarena.arena.specs import build_scenario
from simarena.training.config import Recipe
from simarena.training.deals import Deals
from simarena.training.evaluation import options_of
from simarena.training.recipe_file import load


def labels(recipe: Recipe, deals: list[int], *names: str) -> list[tuple[str, ...]]:
    rules = build_scenario(recipe.scenario.name, options_of(recipe, "train"))
    told = [rules.labels(rules.deal(cards(rules.name, deal))) for deal in deals]
    return [tuple(one[name] for name in names) for one in told]


def test_deals_are_drawn_by_hash_and_go_on_where_they_stopped() -> None:
    recipe = load("service-desk-tiny", ["seed=3"])
    plain = [derive("deals", 3, 5, number) % 2**31 for number in range(6)]
    deals = Deals(recipe, 5)
    assert deals.take(4) + deals.take(2) == plain


@pytest.mark.parametrize(("wanted", "times"), [(6, 1), (12, 2), (30, 5)])
def test_every_pair_of_cards_comes_equally_often(wanted: int, times: int) -> None:
    recipe = load("kuhn-selfplay", [f"rollout.deals={wanted}"])
    assert recipe.rollout.balance == ("first", "second")
    for step in range(3):
        deals = Deals(recipe, step).take(wanted)
        assert len(set(deals)) == wanted
        assert set(Counter(labels(recipe, deals, "first", "second")).values()) == {times}
        assert len(set(labels(recipe, deals, "first", "second"))) == 6


def test_a_refill_goes_on_with_the_next_round_and_a_step_repeated_is_the_same() -> None:
    recipe = load("kuhn-selfplay", ["rollout.deals=4"])
    deals = Deals(recipe, 0)
    first, more = deals.take(4), deals.take(8)
    assert Deals(recipe, 0).take(12) == first + more
    assert Deals(recipe, 1).take(12) != first + more
    assert set(Counter(labels(recipe, first + more, "first", "second")).values()) == {2}


def test_with_fewer_deals_than_values_nobody_comes_twice_and_everybody_in_time() -> None:
    recipe = load("service-desk-tiny", ['rollout.balance=["persona"]', "rollout.deals=8"])
    met: Counter[tuple[str, ...]] = Counter()
    for step in range(60):
        people = labels(recipe, Deals(recipe, step).take(8), "persona")
        assert len(set(people)) == 8
        met.update(people)
    rules = build_scenario("service-desk", {"split": "train"})
    assert len(met) == len(rules.personas)  # type: ignore[attr-defined]
    assert min(met.values()) > 5


def test_a_label_that_the_scenario_does_not_give_is_named() -> None:
    recipe = load("service-desk-tiny", ['rollout.balance=["mood"]'])
    with pytest.raises(UsageError, match="'service-desk' gives a deal no label 'mood'; its labels: persona,"):
        Deals(recipe, 0).take(1)
