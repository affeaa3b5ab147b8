"""A figure: one measured number, and what it stands against."""

import resource
import sys
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a benchmark."""

    name: str
    value: float
    unit: str
    against: str
    """What the value is compared with: a target, or the same work done plainly."""

    def row(self) -> dict[str, object]:
        """As one JSON object."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.name:<22} {self.value:>10,.1f} {self.unit:<20} {self.against}"


def peak_bytes() -> int:
    """The most memory this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
