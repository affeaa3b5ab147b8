"""The house keeps its shape: imports go down only, heavy packages enter where they are owned, sizes hold."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("arena", "agents", "simulators", "training", "tui")
MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
HEAVY = ("torch", "transformers", "ray", "redis", "vllm", "textual", "peft")


def loaded_by(statement: str) -> set[str]:
    """Heavy packages in sys.modules after this statement in a fresh process."""
    code = f"{statement}\nimport sys\nprint(*[m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_imports_go_down_only() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports")], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "statement",
    [
        "import simarena.arena",
        "import simarena.arena.arena, simarena.arena.conformance",
        "import simarena.simulators.scenarios.service_desk",
        "import simarena.training.config",
        "import simarena.tui.main",
    ],
)
def test_light_modules_load_nothing_heavy(statement: str) -> None:
    assert loaded_by(statement) == set()


def test_modules_are_small() -> None:
    lines = {path: path.read_text().count("\n") for path in MODULES if path.name != "__init__.py"}
    assert max(lines.values()) <= 500, max(lines, key=lines.__getitem__)
    assert sorted(lines.values())[len(lines) // 2] <= 150


def test_functions_are_short() -> None:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                assert length <= 80, f"{path.relative_to(ROOT)}:{node.lineno} {node.name} has {length} lines"


def test_every_module_says_what_it_owns() -> None:
    for path in MODULES:
        if path.stat().st_size:
            assert ast.get_docstring(ast.parse(path.read_text())), f"{path.relative_to(ROOT)} has no header"


def test_no_drawers() -> None:
    drawers = {"utils", "util", "common", "helpers", "base", "misc", "core"}
    assert [str(path) for path in MODULES if path.stem in drawers] == []


def test_no_machine_paths_or_registry_hosts() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in tracked.stdout.split():
        path = ROOT / name
        if path.is_symlink() or not path.is_file() or path.suffix in {".png", ".svg", ".gz"}:
            continue
        text = path.read_text(errors="replace")
        for needle in ("/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/", "pypi" + ".org", "python" + "hosted"):
            assert needle not in text, f"{name} holds {needle!r}"
