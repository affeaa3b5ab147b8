"""The ending of a training run on screen: before against after, one conversation of each, what to try next.

A function of a finished run folder and its report. Knows no training.
"""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.rule import Rule
from rich.text import Text

from simarena.arena.record import RunFolder
from simarena.arena.specs import build_scenario
from simarena.arena.text import visible
from simarena.training.config import Recipe
from simarena.training.contrast import contrast
from simarena.training.pace import Pace
from simarena.training.run import TrainReport
from simarena.training.trend import WINDOW, Mean
from simarena.tui import runs
from simarena.tui.board import clock
from simarena.tui.comparison import comparison
from simarena.tui.console import invocation
from simarena.tui.transcript import transcript


def ending(recipe: Recipe, folder: RunFolder, report: TrainReport) -> Iterator[RenderableType]:
    """What to print, in order."""
    if (pair := contrast(folder)) is not None:
        for title, episode in zip(("before", "after"), pair, strict=True):
            yield Rule(Text(f"one conversation {title}"), align="left")
            yield transcript(episode)
    yield Rule(Text(f"{report.steps} steps in {clock(report.seconds)}"), align="left")
    yield comparison({"before": report.before, "after": report.after})
    if report.reward is not None:
        yield Text(f"mean reward  {_mean(report.reward.first)} in the first {WINDOW} steps")
        yield Text(f"             {_mean(report.reward.last)} in the last {WINDOW} steps")
    if report.pace is not None:
        yield Text(f"pace         {_pace(report.pace)}")
    yield ""
    yield Text(visible(f"run folder  {folder.path}\nreport      {folder.path / 'report.html'}"))
    yield ""
    yield Text("what to try next", "bold")
    yield Text(visible("\n".join(f"  {command}" for command in _next(recipe, folder))))


def _mean(mean: Mean) -> str:
    return f"{mean.mean:.2f} ({mean.low:.2f} to {mean.high:.2f})"


def _pace(pace: Pace) -> str:
    told = f"{pace.tokens_per_second:,.0f} tokens a second, {pace.seconds_per_step:.2f} s a step"
    if not pace.age_max:
        return told
    waited = f"trainer idle {pace.waiting:.0%}"
    return f"{told}, {waited}, tokens {pace.age:.2f} versions old (at most {pace.age_max})"


def _next(recipe: Recipe, folder: RunFolder) -> Iterator[str]:
    """Three commands that work now."""
    scenario = recipe.scenario.name
    others = [
        seat for seat in build_scenario(scenario, recipe.scenario.options).seats if seat not in recipe.learning
    ]
    run, simarena = runs.name_of(folder), invocation()
    seats = [f"{seat}={run}" for seat in recipe.learning] + [f"{seat}=human" for seat in others[:1]]
    yield f"{simarena} play {scenario} {' '.join(f'--seat {seat}' for seat in seats)}"
    yield f"{simarena} replay {run}"
    yield f"{simarena} eval {run} --deals 200"
