"""Addresses of servers: how a bus URL is read, and what a refusal of the server behind it means. Opens nothing."""

from typing import Any
from urllib.parse import urlsplit

from redis import exceptions
from redis.asyncio.connection import parse_url

from simarena.arena.bus.redaction import redact
from simarena.arena.errors import BusError, BusFull, BusUnavailable, UsageError

FORMS = "memory://, auto, redis://host:port/0, rediss://user:password@host:port/0 or unix:///path/to/socket"


def options(url: str) -> dict[str, Any]:
    """What redis-py needs to connect. Raises UsageError; a URL that cannot be read is never echoed whole."""
    scheme = url.partition(":")[0]
    if "://" not in url or scheme not in ("redis", "rediss", "unix"):
        raise UsageError(f"bus {redact(url)!r} is not a bus URL: use {FORMS}")
    try:
        if scheme == "unix" and not urlsplit(url).path:
            raise ValueError("no path")
        return dict(parse_url(url))
    except ValueError:
        raise UsageError(
            f"this {scheme}:// bus URL cannot be read: use {FORMS}, with special characters "
            "of a password percent-encoded ('/' is %2F, '@' is %40)"
        ) from None


def explain(error: exceptions.RedisError, url: str) -> BusError:
    """What a failure of redis-py means to the caller, in one line without secrets."""
    if isinstance(error.__cause__, exceptions.AuthenticationError):
        # redis-py hides a refusal at a unix socket's door behind a ConnectionError.
        error = error.__cause__
    where, why = redact(url), " ".join(str(error).split()) or type(error).__name__
    match error:
        case exceptions.AuthenticationError() if error.status_code == "NOAUTH":
            return BusUnavailable(
                f"the server at {where} asks for a password: put it in the URL, as in "
                "redis://user:PASSWORD@host:port/0, given as the bus or in SIMARENA_REDIS_URL"
            )
        case exceptions.AuthenticationError():
            return BusUnavailable(f"the server at {where} refuses this user or password ({why}): correct the URL")
        case exceptions.NoPermissionError():
            return BusUnavailable(f"the server at {where} does not let this user do that: {why}")
        case exceptions.OutOfMemoryError():
            return BusFull(f"the server at {where} is out of memory: slow down, or raise its maxmemory")
        case exceptions.TimeoutError():
            return BusUnavailable(f"the server at {where} does not answer in time: {why}")
        case exceptions.ConnectionError():
            return BusUnavailable(f"no server answers at {where}: {why}; start one there, or use the bus `auto`")
        case exceptions.ReadOnlyError():
            return BusUnavailable(f"the server at {where} is a read-only replica: give the URL of its primary")
    return BusError(f"the server at {where} refused a command: {why}")
