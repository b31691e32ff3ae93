"""Before any route: where a request comes from, who sends it, and how long it is.

In this order, and headers only: Host and Origin, the token, the path, the length. Nothing of a body
is read for a stranger. What needs no token is listed here by exact path, never by pattern.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
from collections.abc import Iterable
from urllib.parse import parse_qs, urlsplit

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tiphys.api import cookies
from tiphys.api.context import IDENTITY, ApiContext
from tiphys.api.problems import RequestError, problem_response
from tiphys.api.ui import is_page
from tiphys.errors import TiphysError, UnauthenticatedError
from tiphys.service.rate import RateLimit

REQUEST_ID = "tiphys.request"
MAX_BODY = 2 * 1024 * 1024
PUBLIC = frozenset(
    {"/healthz", "/readyz", "/docs", "/auth/methods", "/auth/login", "/auth/callback"}
)
"""Paths that need no token: they show nothing of anybody."""
UNAUTHENTICATED, FORBIDDEN, NOT_FOUND = 4401, 4403, 4404
"""Codes with which streams are closed."""

_STRANGE = re.compile(
    rb"%2f|%5c|\\|%00|%25(?:2e|2f|5c|00)|(?:^|/)(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE
)
_READS = frozenset({"GET", "HEAD"})
_SAFE_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)


class Origins:
    """Which names this server goes by. Names that are not its own are a rebinding attack."""

    def __init__(self, bound: str, allowed: Iterable[str] = ()) -> None:
        self._loopback = is_loopback(bound)
        self._allowed = {name.lower() for name in allowed}
        self._names = {"localhost", bound.lower(), socket.gethostname().lower()} | self._allowed

    def check(self, headers: HTTPConnection) -> None:
        """Raise unless Host is ours, and Origin (if there is one) is the same or allowed."""
        host = headers.headers.get("host", "")
        name = _name_of(host)
        if not self._ours(name):
            raise RequestError("bad_origin", f"this server does not answer to {host[:100]!r}")
        origin = headers.headers.get("origin")
        if origin is None:
            return
        # Another port of the same machine is another site.
        place = origin.partition("://")[2]
        if place != host and _name_of(place) not in self._allowed:
            raise RequestError("bad_origin", f"requests from {origin[:100]!r} are not taken")

    def _ours(self, name: str) -> bool:
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        # A page can be rebound to an address only under a name.
        return address.is_loopback or not self._loopback


def _name_of(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Tell whether nothing beyond this machine reaches a server bound to ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_own_page(connection: HTTPConnection) -> None:
    """Raise unless a page of ours sent a request; browsers add cookies to those of others, too.

    ``Origins.check`` has refused foreign origins already; here one must be told.
    """
    told = connection.headers.get("origin") or (
        connection.headers.get("sec-fetch-site") == "same-origin"
    )
    if not told:
        raise RequestError("bad_origin", "with a cookie, changes are taken from our own pages only")


class Guard:
    """The outermost part of the application."""

    def __init__(
        self, app: ASGIApp, context: ApiContext, origins: Origins, rate: RateLimit
    ) -> None:
        self._app, self._context, self._origins, self._rate = app, context, origins, rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = scope[REQUEST_ID] = f"req-{secrets.token_hex(8)}"
        marked = _marking(send, request_id)
        try:
            await self._check(scope)
        except TiphysError as error:
            response = problem_response(error, request_id, scope["path"])
            await response(scope, receive, marked)
            return
        await self._app(scope, _limited(receive), marked)

    async def _check(self, scope: Scope) -> None:
        connection = HTTPConnection(scope)
        self._origins.check(connection)
        if scope["path"] not in PUBLIC and not _is_read_page(scope):
            await self._identify(connection, scope)
            if not self._rate.allows(scope[IDENTITY].token):
                raise RequestError("rate_limited", "too many requests with this token")
        if _STRANGE.search(scope["raw_path"]):
            raise RequestError("bad_id", "the path holds an id that no object can have")
        length = connection.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY:
            raise RequestError("body_too_large", f"bodies may be {MAX_BODY} bytes long")

    async def _identify(self, connection: HTTPConnection, scope: Scope) -> None:
        """Look for a token, a ticket, a session, in this order."""
        if "authorization" in connection.headers:
            scope[IDENTITY] = await self._context.identify(connection)
            return
        stream = scope["type"] == "websocket"
        ticket = parse_qs(scope["query_string"].decode("latin-1")).get("ticket", [""])[0]
        if ticket and (stream or scope["method"] == "GET"):
            scope[IDENTITY] = self._context.tickets.use(ticket)
            return
        session = cookies.read_session(connection)
        if not session:
            raise UnauthenticatedError("a bearer token is needed (Authorization: Bearer …)")
        if stream or scope["method"] not in _READS:
            check_own_page(connection)
        scope[IDENTITY] = self._context.tokens.identify(session, session=True)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = HTTPConnection(scope)
        await receive()  # The wish to connect.
        try:
            self._origins.check(connection)
        except TiphysError:
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            await self._identify(connection, scope)
        except TiphysError as error:
            # A refused handshake would hide the code from a browser.
            code = UNAUTHENTICATED if isinstance(error, UnauthenticatedError) else FORBIDDEN
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.close", "code": code, "reason": str(error)[:100]})
            return
        await self._app(scope, _again(receive), send)


def _is_read_page(scope: Scope) -> bool:
    """Pages are public, as far as they are only read."""
    return scope["method"] in _READS and is_page(scope["path"])


def _again(receive: Receive) -> Receive:
    """Give back the wish to connect, which was taken already."""
    taken = False

    async def wrapped() -> Message:
        nonlocal taken
        if not taken:
            taken = True
            return {"type": "websocket.connect"}
        return await receive()

    return wrapped


def _limited(receive: Receive) -> Receive:
    """Refuse a body that turns out longer than it may be."""
    seen = 0

    async def wrapped() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MAX_BODY:
            raise RequestError("body_too_large", f"bodies may be {MAX_BODY} bytes long")
        return message

    return wrapped


def _marking(send: Send, request_id: str) -> Send:
    """Put the request's id and the headers that keep browsers careful on every answer."""

    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            known = {name for name, _ in headers}
            headers += [pair for pair in _SAFE_HEADERS if pair[0] not in known]
            headers.append((b"x-request-id", request_id.encode()))
            message = {**message, "headers": headers}
        await send(message)

    return wrapped
