"""The command: every row, or one of them.

python -m benchmarks --only step-full
"""

import argparse
import os
from collections.abc import Callable

from benchmarks import model, overhead, profile, ranks, rollout, step, whole
from benchmarks.table import HEADING, PAGE, RESULTS, Row, keep, machine, stamped, tell, tell_docs

ROWS: dict[str, Callable[[int], list[Row]]] = {
    "overhead": overhead.compare,
    "step-full": lambda again: step.compare("full", again),
    "step-lora": lambda again: step.compare("lora", again),
    "rollout-32": lambda again: rollout.compare(32, 1),
    "rollout-128": lambda again: rollout.compare(128, 1),
    "whole": lambda again: whole.compare(),
    "ranks": lambda again: ranks.compare(again),
    "profile": lambda again: profile.measure(),
}
LONG = {"rollout-128"}
"""Only when asked for."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=ROWS, action="append", help="one row, or several by repeating it")
    parser.add_argument("--repeat", type=int, default=2, help="times each side does the work, where it is short")
    parser.add_argument("--model", help="another model folder than SmolLM2's; nothing is kept in results.json")
    arguments = parser.parse_args()
    if arguments.model:
        os.environ[model.CHOSEN] = arguments.model
    told = machine()
    print(*(f"{name} {value}" for name, value in told.items()), sep=", ")
    print(HEADING)
    for name in arguments.only or [name for name in ROWS if name not in LONG]:
        tell(f"{name} ...")
        rows = [stamped(row) for row in ROWS[name](arguments.repeat)]
        for row in rows:
            print(row, flush=True)
        if not arguments.model:
            keep(rows)
            tell_docs()
    if not arguments.model:
        tell(f"kept in benchmarks/{RESULTS.name} and told in docs/{PAGE.name}")


if __name__ == "__main__":
    main()
