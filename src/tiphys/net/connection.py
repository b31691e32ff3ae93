"""One HTTP exchange after another, each to an address that the egress policy has judged.

Follows redirects itself, because each of them is a new target. What was meant for one host (log-in,
headers of the user's) does not travel to another.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import SplitResult, urljoin, urlsplit

from tiphys.errors import ArtifactError
from tiphys.net.egress import EgressPolicy

_MAX_REDIRECTS = 10
_REDIRECTS = (301, 302, 303, 307, 308)
_KEEP_METHOD = (307, 308)
_HARMLESS = ("accept", "accept-language", "user-agent")


class Web:
    """Sends requests under a policy. Holds no connection between them."""

    def __init__(
        self,
        policy: EgressPolicy,
        *,
        timeout: float,
        on_open: Callable[[socket.socket], None] | None = None,
    ) -> None:
        self._policy = policy
        self._timeout = timeout
        self._on_open = on_open
        """Told of every connection, so that somebody else may break it off."""

    @contextlib.contextmanager
    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: Path | bytes | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request and lend its response, whatever its status."""
        origin = _origin(url)
        for _ in range(_MAX_REDIRECTS):
            with contextlib.ExitStack() as stack:
                response = stack.enter_context(self._exchange(method, url, headers, body, tls))
                target = response.getheader("Location")
                if response.status not in _REDIRECTS or not target:
                    yield response
                    return
            url = urljoin(url, target)
            if response.status not in _KEEP_METHOD:
                method, body = "GET", None
            if _origin(url) != origin:
                headers = {k: v for k, v in headers.items() if k.lower() in _HARMLESS}
                tls = None
        raise ArtifactError(f"{_shown(url)}: too many redirects")

    @contextlib.contextmanager
    def _exchange(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: Path | bytes | None,
        tls: ssl.SSLContext | None,
    ) -> Iterator[http.client.HTTPResponse]:
        parts = split_url(url)
        with contextlib.ExitStack() as stack:
            try:
                connection = stack.enter_context(contextlib.closing(self._connect(parts, tls)))
                content: object = body
                sent = {"Accept-Encoding": "identity", "User-Agent": "tiphys", **headers}
                if isinstance(body, Path):
                    content = stack.enter_context(body.open("rb"))
                    sent["Content-Length"] = str(body.stat().st_size)
                path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                connection.request(method, path, body=content, headers=sent)  # type: ignore[arg-type]
                response = stack.enter_context(connection.getresponse())
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise ArtifactError(f"{_shown(url)}: {error}") from error
            yield response

    def _connect(
        self, parts: SplitResult, tls: ssl.SSLContext | None
    ) -> http.client.HTTPConnection:
        secure = parts.scheme == "https"
        host = str(parts.hostname)
        port = parts.port or (443 if secure else 80)
        connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
        plain = self._open_socket(host, port)
        try:
            if secure:
                tls = tls or ssl.create_default_context()
                plain = tls.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise
        if self._on_open is not None:
            self._on_open(plain)
        connection.sock = plain
        connection.default_port = 443 if secure else 80
        return connection

    def _open_socket(self, host: str, port: int) -> socket.socket:
        """Connect to one of the addresses that were judged, never to the name."""
        problem: OSError | None = None
        for address in self._policy.addresses(host, port):
            try:
                return socket.create_connection((address, port), timeout=self._timeout)
            except OSError as error:
                problem = error
        raise problem or OSError(f"{host} has no address")


def split_url(url: str) -> SplitResult:
    """Take a URL apart; refuse what is not one of http or https."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:
        raise ArtifactError(f"not a URL: {error}") from error
    if not usable or any(ord(letter) <= 32 or ord(letter) == 127 for letter in url):
        raise ArtifactError(f"{_shown(url)!r} is not a URL of http or https")
    return parts


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = split_url(url)
    return parts.scheme, parts.hostname, parts.port


def _shown(url: str) -> str:
    """Give a URL as it may be shown: no user, no password, no query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
