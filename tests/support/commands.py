"""Training runs as a person starts them, in a process of their own that can be killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SUPPORT = Path(__file__).parent
ECHO = SUPPORT / "echo.toml"


def command(out: Path, *more: str, recipe: Path = ECHO) -> list[str]:
    what = ["--resume"] if "--resume" in more else [str(recipe), *more]
    return [str(Path(sys.executable).parent / "simarena"), "train", *what, "--out", str(out), "--json"]


def environment() -> dict[str, str]:
    known = [str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(known), "OMP_NUM_THREADS": "1"}


def finish(out: Path, *more: str, recipe: Path = ECHO) -> dict[str, object]:
    words = command(out, *more, recipe=recipe)
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    report: dict[str, object] = json.loads(done.stdout)
    return report


def kill_when(process: "subprocess.Popen[bytes]", run: Path, step: int) -> None:
    """SIGKILL once this step is in the metrics: the run is then inside the next one, or saving this one."""
    metrics = run / "metrics.jsonl"
    deadline = time.monotonic() + 240
    while f'"step": {step}' not in (metrics.read_text() if metrics.exists() else ""):
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    time.sleep(0.02 * step)
    process.send_signal(signal.SIGKILL)
    process.wait()
