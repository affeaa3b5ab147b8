"""Scoring: what a conversation counts for in a tournament. The stated rule for every way it can end.

    finished               the scenario's outcome of each contested seat turn cap               a tie; alone, 0 cut
    off (length cap)   `invalid`: the side that was cut off gets 0, the others 1 a seat failed          its side
    gets 0, the others 1: `forfeit` nobody came, `timeout` no answer in time, `invalid` said more than is allowed,
    `crash` broke down or answered what is no action anything else          `void`: the scenario, the harness or a
    simulated person failed; nobody's score

Knows no file and no ratings.
"""

from collections.abc import Mapping

from simarena.arena.episodes import Episode
from simarena.arena.errors import UsageError
from simarena.arena.text import one_line
from simarena.arena.tournament.results import Match, Result, ResultEnding


def score(match: Match, episode: Episode, verdict: Mapping[str, float] | None = None) -> Result:
    """The result of a match played as this episode; `verdict` is a judge's score of each seat.

    Raises UsageError for a scenario whose outcome leaves out a contested seat, when no judge has spoken.
    """
    ending, outcome, fault = _ruling(match, episode, verdict)
    said = {
        seat: float(sum(len(m.text) for m in episode.messages if m.seat == seat and m.kind == "speech"))
        for seat in match.seats
    }
    return Result(
        match=match,
        ending=ending,
        outcome=outcome,
        fault=fault,
        covariates={"length": said},
        episode=episode.id,
        tokens=sum(len(turn.record.sampled) for turn in episode.turns if turn.record is not None),
        seconds=round(episode.timings.get("total", 0.0), 4),
        at=max((message.time for message in episode.messages), default=0.0),
    )


def _ruling(
    match: Match, episode: Episode, verdict: Mapping[str, float] | None
) -> tuple[ResultEnding, dict[str, float], str]:
    if episode.ending == "finished":
        return "finished", _outcome(match, episode, verdict), ""
    if episode.ending == "turn_cap":
        tie = 0.5 if len(match.teams()) > 1 else 0.0
        return "capped", dict.fromkeys(match.seats, tie), ""
    if episode.ending == "length_cap":
        last = episode.turns[-1].index
        cut = {
            turn.seat
            for turn in episode.turns
            if turn.index == last and turn.record is not None and turn.record.finish == "length"
        }
        return _charged(match, cut, "invalid", "was cut off at limits.turn_tokens")
    if episode.fault_cause is not None:
        return _charged(match, {episode.fault_seat}, episode.fault_cause, episode.fault)
    return "void", {}, one_line(episode.fault or episode.ending)


def _charged(
    match: Match, seats: set[str], ending: ResultEnding, why: str
) -> tuple[ResultEnding, dict[str, float], str]:
    """The sides of these seats lose. Void if they are not competed for: then it was a simulated person."""
    if not seats <= set(match.seats):
        return "void", {}, one_line(why)
    losing = {seat for team in match.teams().values() if seats & set(team) for seat in team}
    who = ", ".join(dict.fromkeys(match.seats[seat] for seat in sorted(seats)))
    return ending, {seat: float(seat not in losing) for seat in match.seats}, one_line(f"{who}: {why}")


def _outcome(match: Match, episode: Episode, verdict: Mapping[str, float] | None) -> dict[str, float]:
    found = episode.outcome if verdict is None else verdict
    if missing := [seat for seat in match.seats if seat not in found]:
        raise UsageError(
            f"scenario {episode.scenario!r} gives no outcome for {', '.join(missing)}: compete for "
            "other seats with [sides], or let a judge decide"
        )
    return {seat: float(found[seat]) for seat in match.seats}
