"""The failure ledger: where every dispatched episode went. Its counts always add up.

Knows no trainer: whoever decides an episode's fate says so here, once.
"""

from collections import Counter
from typing import Literal

Fate = Literal["trained", "filtered", "truncated", "discarded", "stale"]


class Ledger:
    """Counts fates by reason. `dispatched = trained + filtered + truncated + discarded + stale + open`."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._fates: Counter[tuple[Fate, str]] = Counter()
        self._dispatched = 0

    def dispatch(self, episode: str) -> None:
        """An episode was sent out. Sending an open one again is an error of ours."""
        assert episode not in self._open, f"episode {episode!r} dispatched twice"
        self._open.add(episode)
        self._dispatched += 1

    def settle(self, episode: str, fate: Fate, reason: str = "") -> None:
        """An episode met its fate. Each does so exactly once."""
        assert episode in self._open, f"episode {episode!r} settled as {fate} but it is not open"
        self._open.remove(episode)
        self._fates[fate, reason] += 1

    def counts(self) -> dict[str, int]:
        """`dispatched`, `open`, then every fate, then `fate(reason)` for each reason seen."""
        totals: dict[str, int] = {"dispatched": self._dispatched, "open": len(self._open)}
        for fate in ("trained", "filtered", "truncated", "discarded", "stale"):
            totals[fate] = sum(n for (name, _), n in self._fates.items() if name == fate)
        for (fate, reason), n in sorted(self._fates.items()):
            if reason:
                totals[f"{fate}({reason})"] = n
        settled = self._dispatched - len(self._open)
        assert settled == sum(self._fates.values()), f"ledger does not add up: {totals}"
        return totals

    def dump(self) -> dict[str, object]:
        """State for a checkpoint; open episodes are not in it, a resume dispatches them again."""
        return {"fates": [[fate, reason, n] for (fate, reason), n in sorted(self._fates.items())]}

    @classmethod
    def load(cls, state: dict[str, object]) -> "Ledger":
        ledger = cls()
        for fate, reason, n in state["fates"]:  # type: ignore[attr-defined]
            ledger._fates[fate, reason] = n
        ledger._dispatched = sum(ledger._fates.values())
        return ledger
