"""Groups: the episodes whose returns may be compared, of one deal, one seat and one policy.

Forms and checks them, and sorts their episodes by how they ended: finished ones are members and are
learned from; truncated ones are masked; faulty ones are nobody's reward. Knows no credit rule and no loss.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from simarena.arena.episodes import FAULTY, TRUNCATED, Episode
from simarena.arena.errors import RecordError


@dataclass(frozen=True, slots=True, order=True)
class GroupKey:
    """What the episodes of a group share. `deal` is all chance of an episode but the policy's own."""

    scenario: str
    deal: int
    seat: str
    policy: str

    @property
    def text(self) -> str:
        """For people: what the group's returns are compared within."""
        return f"deal {self.deal} × {self.seat}"


@dataclass(frozen=True, slots=True)
class Group:
    """Episodes of one key, each sorted by member number. Producer: `form`. Consumers: filters, credit, batches."""

    key: GroupKey
    members: tuple[Episode, ...]
    """Finished, or cut off and counted as failed: in the statistics and in the loss."""
    truncated: tuple[Episode, ...] = ()
    """Cut off by the harness and not counted as failed: in neither, counted."""
    faulty: tuple[Episode, ...] = ()
    """Somebody failed: in neither, counted. Never a reward of 0."""

    @property
    def seat(self) -> str:
        return self.key.seat

    @property
    def size(self) -> int:
        """Episodes dispatched, however they ended."""
        return len(self.members) + len(self.truncated) + len(self.faulty)

    def viable(self, share: float) -> bool:
        """Whether at least this share of the episodes finished (the MinViableGroup rule of tinker-cookbook)."""
        return len(self.members) >= share * self.size


def form(episodes: Iterable[Episode], seat: str, fail_truncated: bool = False) -> Group:
    """The group these episodes make up for one seat, in whatever order they arrived.

    With `fail_truncated`, episodes cut off by a cap are members with an outcome of 0. Raises RecordError where
    episodes cannot be compared: another deal, scenario, policy or company at the other seats, a seat that no
    policy plays, or one episode twice.
    """
    ordered = sorted(episodes, key=lambda episode: (episode.member, episode.id))
    if not ordered:
        raise RecordError(f"a group for seat {seat!r} needs at least one episode")
    key = _key(ordered[0], seat)
    for before, episode in pairwise(ordered):
        if _key(episode, seat) != key:
            raise RecordError(f"a group mixes {key} and {_key(episode, seat)}: {before.id!r}, {episode.id!r}")
        if _table(episode) != _table(ordered[0]):
            raise RecordError(f"a group mixes options or other seats: {ordered[0].id!r} and {episode.id!r}")
        if episode.member == before.member:
            raise RecordError(f"member {episode.member} is twice in group {key}: {before.id!r} and {episode.id!r}")
    if fail_truncated:
        failed = {"outcome": dict.fromkeys(ordered[0].seats, 0.0)}
        ordered = [e.model_copy(update=failed) if e.ending in TRUNCATED else e for e in ordered]
    masked = frozenset() if fail_truncated else TRUNCATED
    return Group(
        key,
        members=tuple(e for e in ordered if e.ending not in FAULTY | masked),
        truncated=tuple(e for e in ordered if e.ending in masked),
        faulty=tuple(e for e in ordered if e.ending in FAULTY),
    )


def _key(episode: Episode, seat: str) -> GroupKey:
    if seat not in episode.seats:
        raise RecordError(f"episode {episode.id!r} has no seat {seat!r}; seats: {sorted(episode.seats)}")
    policy = episode.seats[seat].spec.policy
    if policy is None:
        raise RecordError(f"seat {seat!r} of episode {episode.id!r} is not played by a policy: it cannot learn")
    return GroupKey(episode.scenario, episode.deal, seat, policy)


def _table(episode: Episode) -> object:
    """What must be equal beside the key: the scenario's options and who sat where (at any version)."""
    return episode.options, {name: seat.spec for name, seat in episode.seats.items()}
