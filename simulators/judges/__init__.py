"""Judges for contests that no rule decides: a panel of engines and rules, and how far it can be trusted."""

from simarena.simulators.judges.panel import Panel

__all__ = ["Panel"]
