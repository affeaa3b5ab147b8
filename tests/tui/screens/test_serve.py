"""The browser door: who may come in, and what the page shows in a real browser."""

import asyncio
import base64
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from simarena.arena.errors import UsageError
from simarena.arena.record import RunFolder
from simarena.tui.main import main
from simarena.tui.serve import Door, serve


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    opened = Door("true", free_port())
    runner = web.AppRunner(await opened._make_app())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", opened.port).start()
    yield opened
    await runner.cleanup()


async def get(door: Door, path: str, **more: Any) -> tuple[int, str, Any]:
    jar = aiohttp.CookieJar(unsafe=True)
    async with (
        aiohttp.ClientSession(cookie_jar=jar) as session,
        session.get(door.public_url + path, **more) as got,
    ):
        return got.status, await got.text(), got.headers


async def test_nobody_comes_in_without_the_token(door: Door) -> None:
    for path in ("/", "/?token=wrong", "/ws", "/static/js/textual.js", "/download/x"):
        status, text, _ = await get(door, path)
        assert status == 403, path
        assert "token" in text
        assert door.token not in text


async def test_the_token_opens_the_page_which_loads_nothing_from_elsewhere(door: Door) -> None:
    status, text, headers = await get(door, f"/?token={door.token}")
    assert status == 200
    assert door.token not in text
    assert "default-src 'self'" in headers["Content-Security-Policy"]


async def test_another_host_or_origin_is_refused_even_with_the_token(door: Door) -> None:
    for more in ({"Host": f"evil.example:{door.port}"}, {"Origin": "http://evil.example"}):
        status, _, _ = await get(door, f"/?token={door.token}", headers=more)
        assert status == 403


def test_tokens_are_not_repeated_and_the_door_is_on_loopback() -> None:
    one, other = Door("true", 1), Door("true", 1)
    assert one.token != other.token
    assert len(one.token) >= 32
    assert one.host == "127.0.0.1"


def test_a_taken_port_and_a_missing_run_are_told_before_anything_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError, match="choose another with --port"):
            serve(["watch"], taken.getsockname()[1])
    monkeypatch.chdir(tmp_path)
    assert main(["watch", "nothing-here", "--serve"]) == 2
    assert "no run folder" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
async def test_a_browser_shows_the_screen_and_keys_reach_it(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    folder.describe({"name": "seen-in-a-browser"})
    folder.close()
    port = free_port()
    program = "import sys; from simarena.tui.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "watch", str(tmp_path / "run"), "--serve", "--port", str(port)]
    server = begun(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        first = await asyncio.to_thread(server.stderr.readline)
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", first)
        assert found, first
        async with browser(tmp_path) as page:
            await page("Page.navigate", url=found[0])
            before = await changed(page, b"")
            await page("Runtime.evaluate", expression="document.querySelector('textarea').focus()")
            await page("Input.dispatchKeyEvent", type="keyDown", text="2", key="2")
            await page("Input.dispatchKeyEvent", type="keyUp", key="2")
            await changed(page, before)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(20)


async def changed(page: Any, before: bytes) -> bytes:
    """Wait until the page looks otherwise and then holds still."""
    last = before
    for _ in range(120):
        await asyncio.sleep(0.5)
        drawn = base64.b64decode((await page("Page.captureScreenshot", format="png"))["data"])
        if drawn == last and drawn != before and len(drawn) > 12_000:
            return drawn
        last = drawn
    pytest.fail("the page never changed")


def begun(command: list[str], **more: Any) -> "subprocess.Popen[Any]":
    return subprocess.Popen(command, **more)


class browser:
    """A headless Chromium, spoken to by its debugging protocol."""

    def __init__(self, home: Path) -> None:
        self._home, self._number = home / "profile", 0

    async def __aenter__(self) -> Any:
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-allow-origins=*",
            "--window-size=1200,700",
        ]
        self._process = begun(
            [
                "chromium",
                *options,
                "--remote-debugging-port=0",
                f"--user-data-dir={self._home}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=(self._home.parent / "chromium.log").open("wb"),
            env=os.environ | {"HOME": str(self._home), "TMPDIR": "/tmp"},  # the path of its socket must be short
        )
        self._session = aiohttp.ClientSession()
        for _ in range(240):
            try:
                port = (self._home / "DevToolsActivePort").read_text().split()[0]
                async with self._session.get(f"http://127.0.0.1:{port}/json") as got:
                    pages = [one for one in json.loads(await got.text()) if one["type"] == "page"]
                self._socket = await self._session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0)
                return self._call
            except (OSError, aiohttp.ClientError, IndexError):
                await asyncio.sleep(0.5)
        await self._session.close()
        self._process.kill()
        said = (self._home.parent / "chromium.log").read_text(errors="replace")
        pytest.fail(f"chromium did not start (exit code {self._process.wait(20)}):\n{said}")

    async def __aexit__(self, *error: object) -> None:
        await self._socket.close()
        await self._session.close()
        self._process.terminate()
        self._process.wait(20)

    async def _call(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        while True:
            answer = json.loads((await self._socket.receive()).data)
            if answer.get("id") == self._number:
                return answer.get("result")
