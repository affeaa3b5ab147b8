"""Accounts: how each group of a step was credited, as the run folder keeps it beside the episodes.

One line per group: who was in it, why it was learned from or not, and every turn's advantage with its
reasons. Knows no credit rule. Consumers: `simarena why`, the screens.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import Field, JsonValue, ValidationError

from simarena.arena.errors import RunFolderError
from simarena.arena.messages import Frozen
from simarena.arena.record import RunFolder
from simarena.training.credit import GroupCredit, TurnCredit
from simarena.training.credit.statistics import CreditOptions
from simarena.training.groups import Group


class Account(Frozen):
    """One group of one step."""

    step: int
    """The optimiser step that it was for."""
    scenario: str
    deal: int
    seat: str
    policy: str
    rule: dict[str, JsonValue] = Field(default_factory=dict)
    """The credit rule with its settings."""
    rejected: str = ""
    """Why it was not learned from; empty if it was."""
    members: tuple[str, ...] = ()
    """Ids of the episodes that finished, by member number."""
    truncated: tuple[str, ...] = ()
    faulty: tuple[str, ...] = ()
    credit: GroupCredit = ()
    """One tuple per member with one entry per turn of the seat; empty if the group was rejected."""

    @property
    def fate(self) -> str:
        """What became of its members, as the ledger names it."""
        return f"filtered({self.rejected})" if self.rejected else "trained"

    def of(self, episode: str) -> tuple[TurnCredit, ...]:
        """The credit of one member's turns; empty if it has none."""
        credited = dict(zip(self.members, self.credit, strict=False))
        return credited.get(episode, ())


def accounts(
    step: int,
    options: CreditOptions,
    judged: Iterable[tuple[Group, str]],
    credited: Sequence[tuple[Group, GroupCredit]],
) -> Iterator[Account]:
    """The accounts of a step: every group with its rejection, and the credit of those that were kept."""
    credit_of: Mapping[object, GroupCredit] = {group.key: credit for group, credit in credited}
    for group, rejected in judged:
        yield Account(
            step=step,
            scenario=group.key.scenario,
            deal=group.key.deal,
            seat=group.key.seat,
            policy=group.key.policy,
            rule=options.model_dump(mode="json"),
            rejected=rejected,
            members=tuple(episode.id for episode in group.members),
            truncated=tuple(episode.id for episode in group.truncated),
            faulty=tuple(episode.id for episode in group.faulty),
            credit=() if rejected else credit_of[group.key],
        )


def write(folder: RunFolder, batch: str, found: Iterable[Account]) -> None:
    folder.write_credit(batch, (account.model_dump_json(exclude_defaults=True) for account in found))


def read(folder: RunFolder, batch: str) -> list[Account]:
    """The accounts of a batch; none for one that nobody learned from. Raises RunFolderError for a damaged file."""
    try:
        return [Account.model_validate_json(line) for line in folder.credit(batch)]
    except ValidationError as error:
        raise RunFolderError(
            f"credit/{batch}.jsonl in {folder.path} is damaged: {str(error).splitlines()[0]}"
        ) from None
