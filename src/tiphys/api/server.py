"""The HTTP server inside of the host's own event loop.

``front`` is what ``control.server.serve`` opens once the host is up: it binds, finds the first
admin's token, and serves until it is closed. A bind that others can reach needs a token that
somebody chose: one that lies about in a file is not enough.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import uvicorn

from tiphys.api.app import build_app
from tiphys.api.context import ApiContext, build_context
from tiphys.api.guard import Origins, is_loopback
from tiphys.config import Config
from tiphys.control.host import Host
from tiphys.control.service import Service
from tiphys.errors import ConfigError
from tiphys.service.rate import RateLimit
from tiphys.service.tokens import given_admin_token, kept_admin_token

ADDRESS_FILE = "http-address"
DRAIN = 5
"""Seconds that answers under way get when the server ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """Where the server listens, and under which names."""

    host: str = "127.0.0.1"
    port: int = 2746
    """0 for any that is free."""
    allowed_hosts: tuple[str, ...] = ()
    certificate: str = ""
    key: str = ""
    rate_limit: float = 0.0
    """Requests a second of each token; 0 for any number."""

    def url(self) -> str:
        """Give the address for people and clients."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}"


class _Server(uvicorn.Server):
    """Leaves signals to the host."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@dataclass(frozen=True, slots=True)
class Front:
    """Opens the HTTP side of a host."""

    bind: Bind
    config: Config
    environment: Mapping[str, str]
    say: Callable[[str], None]

    @asynccontextmanager
    async def __call__(self, host: Host, service: Service) -> AsyncIterator[None]:
        """Serve until left."""
        context = build_context(host, service, self.config, self.say)
        self._admit(context, host.data)
        listener = listen(self.bind)
        bound = replace(self.bind, port=listener.getsockname()[1])
        origins = Origins(bound.host, bound.allowed_hosts)
        app = build_app(context, origins, RateLimit(bound.rate_limit, time.monotonic))
        try:
            server = _Server(_settings(app, bound))
        except BaseException:
            listener.close()
            raise
        lag = asyncio.create_task(context.metrics.measure())
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        serving.add_done_callback(self._ended)
        with _noted(host.data / ADDRESS_FILE, bound.url()):
            self.say(f"listening on {bound.url()}")
            try:
                yield
            finally:
                server.should_exit = True
                lag.cancel()
                await serving
                await context.cabinet.close()

    def _ended(self, serving: asyncio.Task[None]) -> None:
        if not serving.cancelled() and serving.exception() is not None:
            self.say(f"the HTTP server broke down: {serving.exception()!r}")

    def _admit(self, context: ApiContext, data: Path) -> None:
        given = given_admin_token(self.environment)
        if given is not None:
            context.tokens.admit_admin(given)
            return
        if not is_loopback(self.bind.host) and not len(context.tokens):
            raise ConfigError(
                f"binding to {self.bind.host} lets others in: set TIPHYS_ADMIN_TOKEN"
                " (or TIPHYS_ADMIN_TOKEN_FILE) first"
            )
        secret, made = kept_admin_token(data)
        context.tokens.admit_admin(secret)
        if made:
            self.say(f"the admin's token, shown this once and kept in the data directory: {secret}")


def _settings(app: object, bind: Bind) -> uvicorn.Config:
    settings = uvicorn.Config(
        app,  # type: ignore[arg-type]
        ws="websockets-sansio",
        ws_max_size=64 * 1024,
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=DRAIN,
        ssl_certfile=bind.certificate or None,
        ssl_keyfile=bind.key or None,
    )
    try:
        settings.load()  # Now, so that a certificate that cannot be used is told.
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(f"--tls-cert {bind.certificate}: {reason}") from error
    return settings


def listen(bind: Bind) -> socket.socket:
    """Take the address, or say why not."""
    family = socket.AF_INET6 if ":" in bind.host else socket.AF_INET
    # With the protocol named, asyncio sends small answers at once (TCP_NODELAY); without it every
    # answer waits 40 ms for the client's acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((bind.host, bind.port))
        listener.listen(2048)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot listen on {bind.host}:{bind.port}: {reason}") from error
    listener.setblocking(False)
    return listener


@contextmanager
def _noted(path: Path, url: str) -> Iterator[None]:
    """Leave the address where clients of the same user find it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{url}\n")
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            path.unlink()
