"""Redaction: how a bus URL is shown and kept without its password. Loads no Redis client."""

import re
from urllib.parse import parse_qsl

_SECRETS = {"password", "ssl_password"}


def redact(url: str) -> str:
    """The URL as it may be shown: no password, and no query that may hold one."""
    head, _, query = url.partition("?")
    if "@" in query:  # the `?` is one that the password should have percent-encoded
        return f"{head.partition('://')[0]}://***"
    shown = re.sub(r"//.*@", "//***@", head) if "@" in head else head
    secret = any(name in _SECRETS for name, _ in parse_qsl(query))
    return f"{shown}?***" if secret else f"{shown}?{query}" if query else shown
