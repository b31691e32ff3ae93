"""The two cookies of a browser: its session, and what it needs while it is at the provider.

Both are HttpOnly and SameSite=Lax. Over https they are Secure and carry the ``__Host-`` prefix, so
that no other name of the same domain can set them.
"""

from __future__ import annotations

import base64
from http.cookies import CookieError, SimpleCookie

import msgspec
from starlette.requests import HTTPConnection
from starlette.responses import Response

SESSION, LOGIN = "tiphys_session", "tiphys_login"
_HOST = "__Host-"
LOGIN_LIFE = 600
"""Seconds that somebody has to log in at the provider."""


class Away(msgspec.Struct, frozen=True, kw_only=True):
    """What a browser takes along to the provider and brings back."""

    state: str
    nonce: str
    verifier: str
    back: str = "/"
    project: str = ""
    at: float = 0.0


def read_session(request: HTTPConnection) -> str:
    """Give the secret of the session; "" where there is none."""
    return _read(request, SESSION)


def read_away(request: HTTPConnection) -> Away | None:
    """Give what was left for the way back; None where it is missing or broken."""
    text = _read(request, LOGIN)
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text), type=Away)
    except (ValueError, msgspec.MsgspecError):
        return None


def _read(request: HTTPConnection, name: str) -> str:
    try:
        jar = SimpleCookie(request.headers.get("cookie", ""))
    except CookieError:
        return ""
    # Whoever is reached over https believes only what only https could have set.
    plain = request.url.scheme in {"http", "ws"}
    found = jar.get(_HOST + name) or (jar.get(name) if plain else None)
    return found.value if found else ""


def write_session(response: Response, secret: str, *, seconds: int, secure: bool) -> None:
    """Leave the session in the browser."""
    _write(response, SESSION, secret, seconds, secure=secure)


def write_away(response: Response, away: Away, *, secure: bool) -> None:
    """Leave what is needed on the way back."""
    text = base64.urlsafe_b64encode(msgspec.json.encode(away)).decode()
    _write(response, LOGIN, text, LOGIN_LIFE, secure=secure)


def forget(response: Response, name: str, *, secure: bool) -> None:
    """Have the browser forget a cookie."""
    _write(response, name, "", 0, secure=secure)


def _write(response: Response, name: str, value: str, seconds: int, *, secure: bool) -> None:
    response.set_cookie(
        f"{_HOST}{name}" if secure else name,
        value,
        max_age=seconds,
        path="/",
        secure=secure,
        httponly=True,
        samesite="lax",
    )
