"""The checks that decide an episode, by name, and the potential that shapes rewards on the way.

All are code on the state; nobody's word counts. An episode succeeds when every check passes (a product of
named checks, as in tau-bench, arXiv 2406.12045). Knows no wording.
"""

from simarena.simulators.scenarios.service_desk.state import State

OPENED, VERIFIED, SERVED, TOLD = 0.05, 0.1, 0.2, 0.1
"""What each step on the way is worth in the potential."""


def checks(state: State) -> dict[str, bool]:
    """`database`, `told`, `no_violation`, `within_patience`; read when the episode is over."""
    return {
        "database": database_right(state),
        "told": told(state),
        "no_violation": not state.violations,
        "within_patience": state.left,
    }


def database_right(state: State) -> bool:
    """The database is what the goal says: the request carried out, or nothing changed if it must be refused."""
    return state.desk.database == state.deal.target


def told(state: State) -> bool:
    """The customer heard what it must know: the fact of the last write, or that it is refused."""
    return bool(state.fact) and state.fact_told if state.deal.owed else state.refused


def potential(state: State) -> float:
    """How far the call has come, in [0, 0.45]. Rewards pay its differences (Ng et al. 1999), so going back
    and forth earns nothing."""
    name = state.deal.goal.account
    right = database_right(state)
    return (
        OPENED * (state.desk.open == name)
        + VERIFIED * (name in state.desk.verified)
        + SERVED * right
        + TOLD * (right and told(state))
    )
