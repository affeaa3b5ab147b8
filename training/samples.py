"""Samples: what one update learns from. One sample is one trajectory: the ids the policy saw, with credit.

Token identity is kept: nothing is tokenised or padded here. Loads no torch, so a run loop can hold samples
without it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simarena.arena.episodes import Episode
from simarena.arena.errors import RecordError
from simarena.training.credit.statistics import Advantages
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
    """The turn's advantage on each of its sampled tokens, 0 elsewhere."""
    logprobs: tuple[float, ...]
    """Sampling log-probs, 0 where not sampled."""
    versions: tuple[int, ...]
    """Policy version that sampled the id, -1 where not sampled."""
    temperature: float = 1.0


def samples(group: Group, advantages: Advantages) -> tuple[Sample, ...]:
    """The samples of a group's members; `advantages` are the group's, from a credit rule."""
    return tuple(
        sample
        for episode, turns in zip(group.members, advantages, strict=True)
        for sample in _of_episode(episode, group.seat, turns)
    )


def _of_episode(episode: Episode, seat: str, advantages: Sequence[float]) -> Iterator[Sample]:
    temperatures = {record.temperature for record in episode.records_of(seat)}
    if len(temperatures) > 1 or 0.0 in temperatures:
        raise RecordError(f"episode {episode.id!r}: seat {seat!r} sampled at temperatures {sorted(temperatures)}")
    for part, trajectory in enumerate(episode.trajectories_of(seat)):
        yield Sample(
            key=f"{episode.id}/{seat}/{part:04}",
            ids=trajectory.ids,
            mask=trajectory.mask,
            advantages=tuple(0.0 if t < 0 else advantages[trajectory.turns[t]] for t in trajectory.turn_of),
            logprobs=trajectory.logprobs,
            versions=tuple(-1 if t < 0 else trajectory.versions[t] for t in trajectory.turn_of),
            temperature=temperatures.copy().pop(),
        )
