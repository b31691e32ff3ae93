"""What every route needs: the host and its use cases, and who is asking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import HTTPConnection

from tiphys.api.feeds import Feeds
from tiphys.api.metrics import Metrics
from tiphys.config import Config
from tiphys.control.host import Host, machine_capacity
from tiphys.control.service import Service
from tiphys.errors import UnauthenticatedError
from tiphys.service.access import Identity
from tiphys.service.artifacts import ArtifactShelf
from tiphys.service.audit import Audit
from tiphys.service.cabinet import Cabinet
from tiphys.service.imagine import Imagination
from tiphys.service.projects import Projects
from tiphys.service.queues import QueueDesk
from tiphys.service.submission import Intake
from tiphys.service.templates import Templates
from tiphys.service.tickets import Tickets
from tiphys.service.tokens import TokenBook
from tiphys.store import Store

IDENTITY = "tiphys.identity"
"""Where the guard (``api.guard``) leaves the bearer in a request's scope."""


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
    templates: Templates
    artifacts: ArtifactShelf
    imagination: Imagination
    queues: QueueDesk

    @property
    def store(self) -> Store:
        """Everything that is on record."""
        return self.host.store

    def authenticate(self, request: HTTPConnection) -> Identity:
        """Tell who asks; raise UnauthenticatedError where no token holds.

        Every route is behind the guard, which has asked this already: the answer is at hand.
        """
        known = request.scope.get(IDENTITY)
        if isinstance(known, Identity):
            return known
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise UnauthenticatedError("a bearer token is needed (Authorization: Bearer …)")
        return self.tokens.identify(secret.strip())


def build_context(
    host: Host, service: Service, config: Config, note: Callable[[str], None]
) -> ApiContext:
    """Make the context of a host that is up."""
    cabinet = Cabinet(host.store)
    metrics = Metrics(host.clock.now())
    feeds = Feeds(note, metrics)
    host.control.show_to(feeds)
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
        intake=Intake(host, defaults.spec if defaults else None, config),
        templates=Templates(host, cabinet),
        artifacts=ArtifactShelf(host, config),
        queues=QueueDesk(host, cabinet),
        imagination=Imagination(dict(machine_capacity(config).items)),
    )
