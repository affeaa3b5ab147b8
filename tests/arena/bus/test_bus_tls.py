"""A `rediss://` URL: an encrypted line to Debian's redis-server, with a user and a password in the URL."""

import asyncio
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from simarena.arena.bus import Bus, connect
from simarena.arena.errors import BusUnavailable


@pytest.fixture
def secured(redis_binary: Path, tmp_path: Path) -> Iterator[str]:
    """URL of a TLS server without its trust anchor, which is `tmp_path/ca.pem`."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not on PATH")
    key, certificate = tmp_path / "key.pem", tmp_path / "ca.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    made = ["-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", certificate]
    subprocess.run([openssl, "req", "-x509", *made, *subject], check=True, capture_output=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    files = ["--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", certificate]
    lines = [
        "--port",
        "0",
        "--tls-port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--tls-auth-clients",
        "no",
        "--save",
        "",
    ]
    user = ["--user", "arena", "on", ">p@ss", "~sa:*", "+@all", "--user", "default", "off"]
    with subprocess.Popen(
        [redis_binary, *lines, *files, *user], cwd=tmp_path, stdout=subprocess.DEVNULL
    ) as server:
        yield f"rediss://arena:p%40ss@localhost:{port}/0"
        server.kill()


async def _connect(url: str) -> Bus:
    """Connect as soon as the server is up."""
    async with asyncio.timeout(20):
        while True:
            try:
                return await connect(url)
            except BusUnavailable as error:
                if "refused" not in str(error) and "111" not in str(error):
                    raise
                await asyncio.sleep(0.05)


async def test_tls_with_a_user(secured: str, tmp_path: Path) -> None:
    bus = await _connect(f"{secured}?ssl_ca_certs={tmp_path / 'ca.pem'}")
    await asyncio.gather(*(bus.push("sa:w", b"x") for _ in range(100)))
    assert len(await bus.consume("sa:w", "g", "a", block=1)) == 100
    await bus.close()


async def test_a_certificate_nobody_vouches_for_is_refused(secured: str) -> None:
    with pytest.raises(BusUnavailable, match="certificate") as refused:
        await _connect(secured)
    assert "p%40ss" not in str(refused.value)
    assert "p@ss" not in str(refused.value)
