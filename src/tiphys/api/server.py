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
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from tiphys.api.app import build_app
from tiphys.api.context import ApiContext, build_context
from tiphys.api.guard import Origins, is_loopback
from tiphys.api.relay import Leader, relaying
from tiphys.api.schedulers import knows_cluster
from tiphys.config import Config
from tiphys.control.host import Host
from tiphys.control.service import Service
from tiphys.control.standby import leader_row
from tiphys.errors import ConfigError
from tiphys.service.counter import Counter
from tiphys.service.crater import Crater
from tiphys.service.login import client_secret
from tiphys.service.rate import RateLimit
from tiphys.service.retention import Retention
from tiphys.service.tokens import given_admin_token, kept_admin_token

if TYPE_CHECKING:
    from tiphys.service.kueue_queues import QueuesOfKueue
    from tiphys.service.volcano_queues import QueuesOfVolcano

ADDRESS_FILE = "http-address"
DRAIN = 5
"""Seconds that answers under way get when the server ends."""
FAREWELL = 2.0
"""Seconds in which watchers are told that it does."""


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

    def reached_at(self) -> str:
        """Give the address for other machines."""
        everywhere = self.host in ("0.0.0.0", "::")
        return replace(self, host=socket.gethostname()).url() if everywhere else self.url()


class _Server(uvicorn.Server):
    """Leaves signals to the host."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@dataclass(slots=True)
class Front:
    """Opens the HTTP side of a host."""

    bind: Bind
    config: Config
    environment: Mapping[str, str]
    say: Callable[[str], None]
    _listener: socket.socket | None = None

    @asynccontextmanager
    async def follow(self, leader: Leader) -> AsyncIterator[None]:
        """Pass everything on to the server that leads, until left; the port stays ours."""
        listener = self._listen()
        self.say(f"following; listening on {self.bind.url()}")
        async with relaying(listener, leader, secure=bool(self.bind.certificate)):
            yield

    def _listen(self) -> socket.socket:
        if self._listener is None:
            self._listener = listen(self.bind)
            self.bind = replace(self.bind, port=self._listener.getsockname()[1])
        return self._listener

    @asynccontextmanager
    async def __call__(self, host: Host, service: Service) -> AsyncIterator[None]:
        """Serve until left."""
        secret = client_secret(self.config.oidc, self.environment)
        is_on, leaving = self.config.scheduler.volcano.enabled, AsyncExitStack()
        crater = Crater(host, self.config, self.say) if is_on else None
        cluster = _cluster_queues(self.config, crater, leaving)
        context = build_context(
            host,
            service,
            self.config,
            self.say,
            client_secret=secret,
            cluster=cluster,
        )
        self._admit(context, host.data)
        listener = self._listen()
        bound = self.bind
        origins = Origins(bound.host, bound.allowed_hosts)
        app = build_app(context, origins, RateLimit(bound.rate_limit, time.monotonic))
        try:
            server = _Server(_settings(app, bound))
        except BaseException:
            listener.close()
            raise
        lag = asyncio.create_task(context.metrics.measure())
        keeping = asyncio.create_task(context.chronicle.keep())
        retention = Retention(host, context.cabinet, self.config.retention, self.say)
        forgetting = asyncio.create_task(retention.serve())
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        serving.add_done_callback(self._ended)
        with _noted(host.data / ADDRESS_FILE, bound.url()):
            self.say(f"listening on {bound.url()}")
            try:
                await self._tell_others(context)
                counter = Counter(host, context.schedules, context.templates)
                host.handlers.update(counter.handlers())
                async with context.schedules.running(), crater or nullcontext():
                    for queues in cluster:
                        host.handlers.update(queues.handlers())
                    yield
            finally:
                context.ending.set()
                await context.feeds.emptied(FAREWELL)
                server.should_exit = True
                for task in (lag, keeping, forgetting):
                    task.cancel()
                await serving
                await leaving.aclose()
                await context.cabinet.close()

    async def _tell_others(self, context: ApiContext) -> None:
        """Leave the address where servers that follow find it."""
        if self.config.store.url:
            url = self.config.store.advertise or self.bind.reached_at()
            host = context.host
            await context.cabinet.save(leader_row(url, host.store.epoch, host.clock.now()))

    def _ended(self, serving: asyncio.Task[None]) -> None:
        if not serving.cancelled() and serving.exception() is not None:
            self.say(f"the HTTP server broke down: {serving.exception()!r}")

    def _admit(self, context: ApiContext, data: Path) -> None:
        given = given_admin_token(self.environment)
        if given is not None:
            context.tokens.admit_admin(given)
            return
        known = len(context.tokens) or context.login is not None
        if not is_loopback(self.bind.host) and not known:
            raise ConfigError(
                f"binding to {self.bind.host} lets others in: set TIPHYS_ADMIN_TOKEN"
                " (or TIPHYS_ADMIN_TOKEN_FILE) first, or configure oidc"
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


def _cluster_queues(
    config: Config, crater: Crater | None, leaving: AsyncExitStack
) -> list[QueuesOfVolcano | QueuesOfKueue]:
    """Give the queues of a cluster's schedulers: Volcano's where it is on, Kueue's at any rate."""
    found: list[QueuesOfVolcano | QueuesOfKueue] = []
    if crater is not None:
        from tiphys.service.volcano_queues import QueuesOfVolcano  # noqa: PLC0415 - seldom needed

        found.append(QueuesOfVolcano(crater.queues))
    if knows_cluster(config):
        from tiphys.control.kueue_queues import KueueQueues  # noqa: PLC0415
        from tiphys.service.kueue_queues import QueuesOfKueue  # noqa: PLC0415

        queues = KueueQueues(config.kubernetes, config.namespace)
        leaving.push_async_callback(queues.close)
        found.append(QueuesOfKueue(queues))
    return found
