"""How a `Why` is told from the record: episodes, accounts and the run's tokenizer. Reads no model and no torch."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import JsonValue

from simarena.arena.episodes import Episode, Turn
from simarena.arena.errors import SimArenaError, UnknownName
from simarena.arena.glance import plain, value_text
from simarena.arena.record import RunFolder
from simarena.arena.text import one_line, visible
from simarena.training.accounts import Account
from simarena.training.credit import TurnCredit
from simarena.tui.feed.rows import short
from simarena.tui.feed.why import Other, Sibling, Token, Why, WhyTurn

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_UNLEARNED = "not learned from: no credit is recorded for this conversation"


def why_of(
    episode: Episode, seat: str, found: Iterable[Account], folder: RunFolder, sibling: Callable[[str], Episode]
) -> Why:
    """Why the turns of `seat` (empty: the first that a policy plays) earned what they did.

    `found` are its batch's accounts, `sibling` reads another episode of the run. Raises UnknownName for a seat
    that is not there.
    """
    seat = seat or _default_seat(episode)
    if seat not in episode.seats:
        raise UnknownName("seat", seat, episode.seats)
    account = next((one for one in found if one.seat == seat and episode.id in _everyone(one)), None)
    rule = account.rule if account is not None else {}
    siblings = [] if account is None else _siblings(episode, account, sibling)
    return Why(
        key=episode.id,
        id=one_line(episode.id),
        seat=short(seat),
        policy=short(episode.seats[seat].spec.policy or ""),
        scenario=short(episode.scenario),
        deal=episode.deal,
        member=episode.member,
        rule=short(str(rule.get("rule", ""))),
        settings=_settings(rule),
        fate=_UNLEARNED if account is None else _fate(episode, account),
        step=None if account is None else account.step,
        siblings=tuple(sorted(siblings, key=lambda one: (-one.reward, one.member))),
        turns=tuple(
            _turns(episode, seat, account, siblings, _tokenizer(folder, episode.seats[seat].spec.policy or ""))
        ),
    )


def _settings(rule: Mapping[str, JsonValue]) -> str:
    told = {name: value for name, value in rule.items() if name != "rule"}
    return one_line(value_text(told), 400) if told else ""


def _default_seat(episode: Episode) -> str:
    learning = [name for name, seat in episode.seats.items() if seat.spec.policy is not None]
    return (learning or list(episode.seats))[0]


def _everyone(account: Account) -> tuple[str, ...]:
    return (*account.members, *account.truncated, *account.faulty)


def _fate(episode: Episode, account: Account) -> str:
    if episode.id in account.members:
        return short(account.fate)
    return short(f"{'truncated' if episode.id in account.truncated else 'discarded'}({episode.ending})")


def _siblings(episode: Episode, account: Account, read: Callable[[str], Episode]) -> list[Sibling]:
    told = []
    for name in _everyone(account):
        try:
            one = episode if name == episode.id else read(name)
        except SimArenaError:  # a batch that was replaced since: the rest of the group still tells something
            continue
        told.append(
            Sibling(
                key=name,
                id=one_line(name),
                member=one.member,
                ending=one.ending,
                success=one.success if one.checks else None,
                reward=one.returns(account.seat),
                outcome=one.outcome.get(account.seat),
                advantages=tuple(turn.advantage for turn in account.of(name)),
            )
        )
    return told


def _turns(
    episode: Episode,
    seat: str,
    account: Account | None,
    siblings: Sequence[Sibling],
    tokenizer: "Tokenizer | None",
) -> Iterator[WhyTurn]:
    credit = () if account is None else account.of(episode.id)
    rewards, parts = episode.turn_rewards(seat), episode.turn_parts(seat)
    for position, turn in enumerate(episode.turns_of(seat)):
        given = credit[position] if position < len(credit) else None
        yield WhyTurn(
            position=position,
            turn=turn.index,
            said=visible(" ".join(map(plain, turn.parts))),
            reward=rewards[position],
            parts={short(name): value for name, value in parts[position].items()},
            sources={} if given is None else {short(name): value for name, value in given.rewards.items()},
            numbers={} if given is None else {short(name): value for name, value in given.parts.items()},
            value=None if given is None else _value(given),
            baseline=None if given is None else given.baseline,
            compared=0 if given is None else given.compared,
            among="" if given is None else short(given.key),
            advantage=None if given is None else given.advantage,
            version=None if turn.record is None else turn.record.version,
            tokens=tuple(_tokens(turn, given, account, tokenizer)),
            others=() if account is None else tuple(_others(account, siblings, position)),
            sum="" if given is None else _sum(given),
        )


def _value(credit: TurnCredit) -> float | None:
    """The number that was set against the baseline, where the two make up the advantage."""
    return credit.parts.get("return", next(iter(credit.parts.values()), None))


def _sum(credit: TurnCredit) -> str:
    """The computation as far as its numbers tell it; where they do not make up the advantage, all of them."""
    value, told = _value(credit), f"advantage {credit.advantage:+.4f}"
    if credit.compared < 2:
        return f"nobody to compare with: {told}"
    against = f"baseline {credit.baseline:.4f} (of {credit.compared} in {short(credit.key)})"
    if value is not None and abs(value - credit.baseline - credit.advantage) < 1e-9:
        return f"{value:.4f} − {against} = {told}"
    numbers = ", ".join(f"{short(name)} {number:.4f}" for name, number in credit.parts.items())
    return f"{told} from {numbers or 'no named numbers'}, {against}"


def _others(account: Account, siblings: Sequence[Sibling], position: int) -> Iterator[Other]:
    for sibling in siblings:
        credit = account.of(sibling.key)
        if position < len(credit):
            yield Other(sibling.member, _value(credit[position]), credit[position].advantage)


def _tokens(
    turn: Turn, credit: TurnCredit | None, account: Account | None, tokenizer: "Tokenizer | None"
) -> Iterator[Token]:
    record = turn.record
    if record is None:
        return
    for id in record.fed:
        yield Token(id, _text(tokenizer, id), sampled=False)
    fresh = credit is not None and account is not None and record.version == account.step - 1
    advantages: Sequence[float | None] = [None] * len(record.sampled)
    if credit is not None:
        advantages = credit.tokens or [credit.advantage] * len(record.sampled)
    for id, logprob, advantage in zip(record.sampled, record.logprobs, advantages, strict=True):
        yield Token(id, _text(tokenizer, id), True, logprob, advantage, 1.0 if fresh else None)


def _tokenizer(folder: RunFolder, policy: str) -> "Tokenizer | None":
    """The policy's tokenizer in the newest checkpoint, which has a folder for each of several learners; None if
    the run has kept none that can be read."""
    found = list(folder.checkpoints().values())
    homes = (found[-1], found[-1] / policy) if found else ()
    path = next((home / "tokenizer.json" for home in homes if (home / "tokenizer.json").is_file()), None)
    if path is None:
        return None
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(path))
    except Exception:  # the library raises a bare Exception for a file of another version
        return None


def _text(tokenizer: "Tokenizer | None", id: int) -> str:
    return "" if tokenizer is None else visible(str(tokenizer.decode([id], skip_special_tokens=False)))
