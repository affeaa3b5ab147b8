"""Samples: what one update learns from. One sample is one trajectory: the ids the policy saw, with credit.

Token identity is kept: nothing is tokenised or padded here. Loads no torch, so a run loop can hold samples
without it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simarena.arena.episodes import Episode
from simarena.arena.errors import RecordError
from simarena.arena.tokens import Trajectory
from simarena.training.credit.turns import GroupCredit, TurnCredit
from simarena.training.groups import Group


@dataclass(frozen=True, slots=True)
class Sample:
    """One trajectory with its advantages; all tuples have one entry per token."""

    key: str
    """Unique: episode, seat and position of the trajectory."""
    ids: tuple[int, ...]
    mask: tuple[bool, ...]
    """True exactly where the policy sampled the id."""
    advantages: tuple[float, ...]
    """The turn's advantage, or the token's own, on sampled tokens; 0 elsewhere."""
    logprobs: tuple[float, ...]
    """Sampling log-probs, 0 where not sampled."""
    versions: tuple[int, ...]
    """Policy version that sampled the id, -1 where not sampled."""
    turns: tuple[int, ...]
    """Which of the seat's turns the id belongs to, -1 where not sampled."""
    temperature: float = 1.0
    pair: str = ""
    """Names the pair of episodes this is one side of, for losses that compare two; empty for none."""

    @property
    def rollout(self) -> str:
        """Episode and seat: what several samples of one rollout share."""
        return self.key.rpartition("/")[0] or self.key


def samples(group: Group, credit: GroupCredit) -> tuple[Sample, ...]:
    """The samples of a group's members; `credit` is the group's, from a credit rule.

    Raises RecordError for turns without token records, of another policy than the group's, or sampled
    greedily or at several temperatures.
    """
    return tuple(
        sample
        for episode, turns in zip(group.members, credit, strict=True)
        for sample in _of_episode(episode, group, turns)
    )


def _of_episode(episode: Episode, group: Group, credit: Sequence[TurnCredit]) -> Iterator[Sample]:
    for part, trajectory in enumerate(episode.trajectories_of(group.seat)):
        if trajectory.policy != group.key.policy:
            raise RecordError(
                f"episode {episode.id!r}: seat {group.seat!r} is played by policy {group.key.policy!r}, "
                f"but its records are of {trajectory.policy!r}"
            )
        yield Sample(
            key=f"{episode.id}/{group.seat}/{part:04}",
            ids=trajectory.ids,
            mask=trajectory.mask,
            advantages=tuple(_advantages(trajectory, credit)),
            logprobs=trajectory.logprobs,
            versions=tuple(-1 if t < 0 else trajectory.versions[t] for t in trajectory.turn_of),
            turns=tuple(-1 if t < 0 else trajectory.turns[t] for t in trajectory.turn_of),
            temperature=_temperature(episode, group.seat),
        )


def _advantages(trajectory: Trajectory, credit: Sequence[TurnCredit]) -> Iterator[float]:
    seen: Counter[int] = Counter()
    for local in trajectory.turn_of:
        if local < 0:
            yield 0.0
            continue
        turn = credit[trajectory.turns[local]]
        yield turn.tokens[seen[local]] if turn.tokens else turn.advantage
        seen[local] += 1


def _temperature(episode: Episode, seat: str) -> float:
    found = sorted({record.temperature for record in episode.records_of(seat)})
    if len(found) > 1 or found[0] == 0:
        raise RecordError(
            f"episode {episode.id!r}: seat {seat!r} sampled at temperatures {found}: it cannot learn"
        )
    return found[0]
