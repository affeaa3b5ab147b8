"""The crew: one trainer as several processes, its ranks. Every call goes to all of them, so that all do the same
at the same time; the first one's result is the crew's.

A rank that dies ends the training: the others cannot go on without its share of the weights, and a resume starts
them all again from the newest checkpoint. Knows no method of the trainer by name.
"""

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simarena.arena.errors import SimArenaError

_CODE = "from simarena.training.crew import follow; follow(int(__import__('sys').argv[1]))"
_FORESEEN = (SimArenaError, OSError)
"""What every rank raises alike and goes on after."""
Build = Callable[..., Any]
"""`Trainer`, given what it is built from and then rank, ranks and meeting place."""


class Crew:
    """A trainer over several ranks; `do` is the only way in."""

    def __init__(self, build: Build, arguments: tuple[Any, ...], size: int) -> None:
        """`build` is called with the arguments and the names `rank`, `ranks` and `meeting` in every process."""
        self._place = tempfile.TemporaryDirectory(prefix="simarena-ranks-")
        meeting = Path(self._place.name) / "meeting"
        self.ranks = [Rank(number) for number in range(size)]
        for rank in self.ranks:
            rank.tell((build, arguments, {"rank": rank.number, "ranks": size, "meeting": meeting}))
        try:
            self._answers()
        except Exception:
            self.close()
            raise

    def do(self, method: str, *arguments: Any) -> Any:
        """What the method returns in the first process. Raises what it raised, or SimArenaError if one ended."""
        for rank in self.ranks:
            rank.tell((method, arguments))
        return self._answers()

    def close(self) -> None:
        """End the processes."""
        for rank in self.ranks:
            rank.close()
        self._place.cleanup()

    def _answers(self) -> Any:
        answers = [rank.answer() for rank in self.ranks]
        for rank, answer in zip(self.ranks, answers, strict=True):
            if answer is None:  # said first: the others then failed to hear from it
                raise rank.lost()
        failed = [f"rank {n}: {type(a).__name__}: {a}" for n, a in enumerate(answers) if isinstance(a, Exception)]
        for answer in answers:
            if isinstance(answer, _FORESEEN):
                raise answer
        if failed:
            raise SimArenaError(f"the trainer failed: {'; '.join(failed)}")
        return next(answer[0] for answer in answers if isinstance(answer, tuple))


class Rank:
    """The process of one rank."""

    def __init__(self, number: int) -> None:
        self.number = number
        mine, theirs = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _CODE, str(theirs)],
            stdin=subprocess.PIPE,
            pass_fds=(theirs,),
            start_new_session=True,  # Ctrl-C is for the run, which lets the step finish
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)},
        )
        os.close(theirs)
        self._answers = os.fdopen(mine, "rb")

    def tell(self, what: Any) -> None:
        """Begin a call. A process that is gone is noticed when its answer is wanted."""
        assert self.process.stdin is not None
        try:
            pickle.dump(what, self.process.stdin)
            self.process.stdin.flush()
        except OSError:
            return

    def answer(self) -> "tuple[Any] | Exception | None":
        """Wait for the end of the call: its result in a box, what it raised, or None if the process is gone."""
        try:
            found: tuple[Any] | Exception = pickle.load(self._answers)
        except (EOFError, OSError):
            return None
        return found

    def lost(self) -> SimArenaError:
        """What to say of a process that is gone."""
        code = self.process.wait()
        return SimArenaError(
            f"rank {self.number} of the trainer ended with exit code {code}: "
            "resume the run to go on from its newest checkpoint"
        )

    def close(self) -> None:
        """End it; it leaves by itself when nobody tells it anything any more."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
            self.process.wait(timeout=5)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self._answers.close()


def follow(answers: int) -> None:
    """The life of a rank: build its trainer, then do what it is told until nobody tells it any more."""
    trainer: Any = None

    def done(what: Any) -> Any:
        nonlocal trainer
        try:
            if trainer is None:
                build, arguments, place = what
                trainer = build(*arguments, **place)
                return (None,)
            method, arguments = what
            result = getattr(trainer, method)(*arguments)
        except Exception as error:
            return error
        return (result if trainer.learner.ranks.number == 0 else None,)

    # Who asked may be gone by the time of the answer: killed, in the middle of an update.
    with contextlib.suppress(BrokenPipeError), os.fdopen(answers, "wb") as out:
        while True:
            try:
                what = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            answer = done(what)
            pickle.dump(answer, out)
            out.flush()
            if isinstance(answer, Exception) and not isinstance(answer, _FORESEEN):
                return  # so that the others do not wait for this rank
