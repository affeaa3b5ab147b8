"""The browser door: the same screens through textual-serve, on loopback, for whoever holds the token.

Every request must name this host and carry the token (once in the address, then in a cookie); the page may load
nothing from elsewhere. Each visitor gets a process of their own. Knows no screen.
"""

import hmac
import secrets
import shlex
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence

from rich.text import Text

from simarena.arena.errors import MissingExtra, UsageError
from simarena.tui.console import narrate

try:
    from aiohttp import web
    from textual_serve.server import Server
except ModuleNotFoundError as error:  # pragma: no cover - the extra is part of the development environment
    raise MissingExtra("textual-serve", "pip install 'simarena[serve]'") from error

HOST = "127.0.0.1"
COOKIE = "simarena"
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; frame-ancestors 'none'"
)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def serve(arguments: Sequence[str], port: int) -> None:
    """Serve `simarena ARGUMENTS` until interrupted. Raises UsageError if the port is taken."""
    _free(port)
    program = "import sys; from simarena.tui.main import main; sys.exit(main())"
    Door(shlex.join([sys.executable, "-c", program, *arguments]), port).serve()


def _free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            raise UsageError(f"port {port} is taken on {HOST}: choose another with --port") from None


class Door(Server):
    """textual-serve's server behind a token."""

    def __init__(self, command: str, port: int) -> None:
        super().__init__(command, host=HOST, port=port, title="simarena")
        self.token = secrets.token_urlsafe(24)

    def initialize_logging(self) -> None:
        """Nothing: the library would log requests, and with them the token."""

    async def on_startup(self, app: web.Application) -> None:
        narrate(Text(f"open {self.public_url}/?token={self.token}"), Text("ctrl+c ends it", "dim"))

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._guard)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.host != f"{HOST}:{self.port}":  # also keeps out names that were made to lead here
            raise web.HTTPForbidden(text="this door answers to its own address only")
        origin = request.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") != request.host:
            raise web.HTTPForbidden(text="another page may not open this door")
        if request.path == "/" and self._holds(request.query.get("token", "")):
            answer = web.HTTPFound("/")
            answer.set_cookie(COOKIE, self.token, httponly=True, samesite="Strict")
            raise answer
        if not self._holds(request.cookies.get(COOKIE, "")):
            raise web.HTTPForbidden(
                text="a token is needed: open the address that `simarena watch --serve` printed"
            )
        response = await handler(request)
        if not response.prepared:
            response.headers["Content-Security-Policy"] = _POLICY
            response.headers["Referrer-Policy"] = "no-referrer"
        return response

    def _holds(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())
