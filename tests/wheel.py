"""Builds the wheel, installs it into an empty environment and imports all five folders. Run by `make wheel`."""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
CHECK = """
import sys, importlib.metadata
import simarena.arena, simarena.agents, simarena.simulators, simarena.training, simarena.tui
assert not {"arena", "agents", "simulators", "training", "tui"} & set(sys.modules)
names = {str(f).split("/")[0] for f in importlib.metadata.files("simarena")}
assert names == {"simarena", importlib.metadata.files("simarena")[0].locate().name} or all(
    n == "simarena" or n.endswith(".dist-info") or n == ".." for n in names), names
print("wheel imports:", simarena.arena.__file__)
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        build = f"from hatchling.build import build_wheel; print(build_wheel({scratch!r}))"
        done = subprocess.run([sys.executable, "-c", build], cwd=ROOT, check=True, capture_output=True, text=True)
        wheel = Path(scratch) / done.stdout.split()[-1]
        home = Path(scratch) / "venv"
        venv.create(home, with_pip=True)
        pip = [str(home / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
        pins = ["-c", str(ROOT / "constraints.txt")]
        # The folders must import with only the light dependencies: the heavy ones enter where they are used.
        subprocess.run([*pip, *pins, "pydantic", "networkx"], check=True)
        subprocess.run([*pip, "--no-deps", str(wheel)], check=True)
        subprocess.run([str(home / "bin" / "python"), "-c", CHECK], cwd=scratch, check=True)


if __name__ == "__main__":
    main()
