"""What every route needs: the host and its use cases, and who is asking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from starlette.requests import HTTPConnection

from tiphys.api import state_log
from tiphys.api.chronicle import Chronicle
from tiphys.api.feeds import Feeds
from tiphys.api.metrics import Metrics
from tiphys.config import Config
from tiphys.control.host import Host, machine_capacity
from tiphys.control.service import Service
from tiphys.errors import TiphysError, UnauthenticatedError
from tiphys.service.access import Identity
from tiphys.service.artifacts import ArtifactShelf
from tiphys.service.audit import Audit
from tiphys.service.cabinet import Cabinet
from tiphys.service.estimate import Estimates
from tiphys.service.imagine import Imagination
from tiphys.service.login import Login, looks_like_jwt
from tiphys.service.projects import Projects
from tiphys.service.queue_desk import QueueDesk, SchedulerQueues
from tiphys.service.queues import EmbeddedQueues
from tiphys.service.schedules import Schedules, make_schedules
from tiphys.service.submission import Intake
from tiphys.service.templates import Templates
from tiphys.service.tickets import Tickets
from tiphys.service.tokens import TokenBook
from tiphys.store import Store

IDENTITY = "tiphys.identity"
"""Where the guard (``api.guard``) leaves the bearer in a request's scope."""


class EndingError(TiphysError):
    """The server is about to end."""

    code = "not_ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiContext:
    """One for the life of a server."""

    host: Host
    service: Service
    config: Config
    cabinet: Cabinet
    tokens: TokenBook
    tickets: Tickets
    projects: Projects
    audit: Audit
    feeds: Feeds
    metrics: Metrics
    intake: Intake
    estimates: Estimates
    templates: Templates
    artifacts: ArtifactShelf
    imagination: Imagination
    queues: QueueDesk
    schedules: Schedules
    chronicle: Chronicle
    login: Login | None = None
    """None where no OIDC provider is configured."""
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server begins to end."""

    @property
    def store(self) -> Store:
        """Everything that is on record."""
        return self.host.store

    def authenticate(self, request: HTTPConnection) -> Identity:
        """Give who asks, as the guard before every route has found out."""
        known = request.scope.get(IDENTITY)
        if not isinstance(known, Identity):
            raise UnauthenticatedError("nobody has looked at the token")
        return known

    def check(self, who: Identity) -> None:
        """Raise where a stream must end: the server does, or the token holds no longer."""
        if self.ending.is_set():
            raise EndingError("the server ends; connect again")
        self.tokens.check(who)

    async def identify(self, request: HTTPConnection) -> Identity:
        """Tell who asks by the token of the header; raise UnauthenticatedError where none holds."""
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        secret = secret.strip()
        if scheme.lower() != "bearer" or not secret:
            raise UnauthenticatedError("a bearer token is needed (Authorization: Bearer …)")
        if self.login is not None and looks_like_jwt(secret):
            return await self.login.identify(secret)
        return self.tokens.identify(secret)


def build_context(
    host: Host,
    service: Service,
    config: Config,
    note: Callable[[str], None],
    *,
    client_secret: str = "",
    cluster: Sequence[SchedulerQueues] = (),
) -> ApiContext:
    """Make the context of a host that is up.

    The secret is what the OIDC provider knows us by; ``cluster`` are queues of others than ours.
    """
    cabinet = Cabinet(host.store)
    scheduler = host.control.scheduler
    metrics = Metrics(host.clock.now(), scheduler.work, host.ledger.metrics)
    feeds = Feeds(note, metrics)
    host.control.show_to(feeds)
    host.control.observe(metrics)
    chronicle = Chronicle(host.clock, scheduler, lambda: len(host.control.runs))
    host.control.show_to(chronicle)
    if state_log.wanted():
        states = state_log.StateLog(scheduler)
        host.control.show_to(states)
        host.control.observe(states)
    defaults = config.workflow_defaults
    tokens = TokenBook(host.store, cabinet, host.clock)
    return ApiContext(
        host=host,
        service=service,
        config=config,
        cabinet=cabinet,
        tokens=tokens,
        tickets=Tickets(tokens, host.clock),
        projects=Projects(host.store, cabinet, host.clock, config.namespace),
        audit=Audit(host.store, cabinet, host.clock),
        feeds=feeds,
        metrics=metrics,
        chronicle=chronicle,
        intake=Intake(host, defaults.spec if defaults else None, config),
        estimates=Estimates(host),
        templates=Templates(host, cabinet),
        artifacts=ArtifactShelf(host, config),
        queues=QueueDesk(host, [EmbeddedQueues(host, cabinet), *cluster]),
        schedules=make_schedules(host, service, config, defaults.spec if defaults else None, note),
        imagination=Imagination(dict(machine_capacity(config).items)),
        login=Login(config.oidc, client_secret, tokens, host.clock) if config.oidc.issuer else None,
    )
