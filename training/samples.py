"""Samples: what one update learns from. One sample is one trajectory: the ids the policy saw, with credit.

Token identity is kept: nothing is tokenised or padded here. Loads no torch, so a run loop can hold samples
without it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
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
    """True where the policy sampled the id and the turn is trained on."""
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
    targets: tuple[float | None, ...] = ()
    """What the critic should have expected before the id; empty if no rule has a critic."""

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


def by_turn(
    batch: Sequence[Sample], values: Mapping[str, Sequence[float]]
) -> dict[tuple[str, str], list[list[float]]]:
    """Values of sampled tokens, given by sample, as lists by turn, by episode and seat."""
    found: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for sample in batch:
        episode, _, seat = sample.rollout.rpartition("/")
        turns = [turn for turn, mine in zip(sample.turns, sample.mask, strict=True) if mine]
        for turn, value in zip(turns, values[sample.key], strict=True):
            found[episode, seat][turn].append(value)
    return {key: [turns[turn] for turn in sorted(turns)] for key, turns in found.items()}


def _of_episode(episode: Episode, group: Group, credit: Sequence[TurnCredit]) -> Iterator[Sample]:
    for part, trajectory in enumerate(episode.trajectories_of(group.seat)):
        if trajectory.policy != group.key.policy:
            raise RecordError(
                f"episode {episode.id!r}: seat {group.seat!r} is played by policy {group.key.policy!r}, "
                f"but its records are of {trajectory.policy!r}"
            )
        told = [None if t < 0 else credit[trajectory.turns[t]] for t in trajectory.turn_of]
        mask = tuple(turn is not None and turn.used for turn in told)
        yield Sample(
            key=f"{episode.id}/{group.seat}/{part:04}",
            ids=trajectory.ids,
            mask=mask,
            advantages=tuple(_advantages(trajectory, told)),
            logprobs=trajectory.logprobs,
            versions=tuple(-1 if t < 0 else trajectory.versions[t] for t in trajectory.turn_of),
            turns=tuple(-1 if t < 0 else trajectory.turns[t] for t in trajectory.turn_of),
            temperature=_temperature(episode, group.seat),
            pair=f"{group.key.policy}/{credit[0].pair}" if credit and credit[0].pair else "",
            targets=tuple(_targets(trajectory, told)) if any(turn.targets for turn in credit) else (),
        )


def _advantages(trajectory: Trajectory, told: Sequence[TurnCredit | None]) -> Iterator[float]:
    for turn, place in zip(told, _places(trajectory), strict=True):
        yield 0.0 if turn is None else turn.tokens[place] if turn.tokens else turn.advantage


def _targets(trajectory: Trajectory, told: Sequence[TurnCredit | None]) -> Iterator[float | None]:
    for turn, place in zip(told, _places(trajectory), strict=True):
        yield turn.targets[place] if turn is not None and place < len(turn.targets) else None


def _places(trajectory: Trajectory) -> Iterator[int]:
    """Of each token, its place among the sampled tokens of its turn; of others -1."""
    seen: Counter[int] = Counter()
    for local in trajectory.turn_of:
        yield seen[local] if local >= 0 else -1
        seen[local] += 1


def _temperature(episode: Episode, seat: str) -> float:
    found = sorted({record.temperature for record in episode.records_of(seat)})
    if len(found) > 1 or found[0] == 0:
        raise RecordError(
            f"episode {episode.id!r}: seat {seat!r} sampled at temperatures {found}: it cannot learn"
        )
    return found[0]
