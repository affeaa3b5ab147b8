"""The pages on credit, losses and alarms name everything there is, and nothing that is not."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from simarena.training.alarms import ALARMS
from simarena.training.credit import RULES
from simarena.training.credit.evidence import CriticOptions
from simarena.training.credit.forks import ForkOptions
from simarena.training.filters import FilterOptions
from simarena.training.losses import LOSSES
from simarena.training.losses.surrogate import SurrogateOptions
from simarena.training.rollout import RolloutOptions

DOCS = Path(__file__).parent.parent.parent / "docs"
SHARED = {"credit": {"rule", "rewards", "scale", "shuffle", "critic", "forks"}, "losses": {"kind"}}


def rows(page: str) -> dict[str, str]:
    """The rows of a page's tables by their first cell."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    return {line.split("`")[1]: line for line in lines if line.startswith("| `")}


@pytest.mark.parametrize(("page", "table"), [("credit.md", RULES), ("losses.md", LOSSES)])
def test_every_rule_and_loss_has_a_row_with_its_own_keys(
    page: str, table: dict[str, tuple[type[BaseModel], object]]
) -> None:
    told = rows(page)
    told = {name: line for name, line in told.items() if name in table}
    assert told.keys() == table.keys()
    shared = SHARED[page.removesuffix(".md")] | (set(SurrogateOptions.model_fields) if table is LOSSES else set())
    for name, (options, _) in table.items():
        for key in options.model_fields.keys() - shared:
            assert re.search(rf"`{key}`", told[name]), f"{page} does not name {name}'s {key}"


def test_shared_keys_are_told() -> None:
    credit, losses = ((DOCS / page).read_text(encoding="utf-8") for page in ("credit.md", "losses.md"))
    for prefix, options in (("critic", CriticOptions), ("forks", ForkOptions), ("filters", FilterOptions)):
        for key in options.model_fields:
            assert f"`{prefix}.{key}`" in credit, key
    for key in SurrogateOptions.model_fields.keys() - {"kind", "correction"}:
        assert f"`{key}`" in losses, key
    assert "turn_caps" in RolloutOptions.model_fields


def test_every_alarm_has_a_row() -> None:
    assert rows("alarms.md").keys() == ALARMS.keys()


def test_defaults_told_are_the_defaults() -> None:
    """`key` (number) in the tables of rules and losses."""
    for page, table in (("credit.md", RULES), ("losses.md", LOSSES)):
        for name, line in rows(page).items():
            if name not in table:
                continue
            for key, said in re.findall(r"`(\w+)` \(([\d.e-]+)\)", line):
                default = table[name][0].model_fields[key].default
                assert float(said) == pytest.approx(float(default)), f"{page}: {name}.{key}"
