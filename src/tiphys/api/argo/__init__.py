"""The Argo Server's API, so that Hera, the ``argo`` command and Argo's SDKs work unchanged.

Plain routes under ``/argo``: paths, bodies and framings are Argo's, the work is ``control``'s and
``service``'s. Namespaces are projects. What Argo has and we do not is answered with 501, never with
an empty success.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from starlette.routing import BaseRoute, Route

from tiphys.api.argo import archive, artifact, cron, event, info, sync, workflow
from tiphys.api.argo.call import Handler, endpoint
from tiphys.api.argo.feed import Feed
from tiphys.api.argo.link import link_routes
from tiphys.api.argo.log import Logging
from tiphys.api.argo.template import Templates
from tiphys.api.argo.watch import Watching
from tiphys.api.context import ApiContext

__all__ = ["argo_routes", "entries"]

Entry = tuple[str, str, Handler]
"""Method, path and what answers."""
V1 = "/api/v1"
_NOT_HERE = (
    "event-sources",
    "sensors",
    "stream",
    "tracking",
)
_EVERY = ("GET", "POST", "PUT", "DELETE", "PATCH")


def argo_routes(context: ApiContext) -> list[BaseRoute]:
    """Give all routes, relative to ``/argo``."""
    feed = Feed()
    context.host.control.show_to(feed)
    routes: list[BaseRoute] = [
        Route(path, endpoint(context, handler), methods=[method])
        for method, path, handler in entries(feed)
    ]
    return [*routes, *link_routes(context), *_rest(context)]


def entries(feed: Feed) -> list[Entry]:
    """List everything that is served."""
    return [
        *_info(),
        *_workflows(feed),
        *_archive(feed),
        *_templates(f"{V1}/workflow-templates", "WorkflowTemplate", "/{namespace}"),
        *_templates(f"{V1}/cluster-workflow-templates", "ClusterWorkflowTemplate", ""),
        *_crons(),
        *_sync(),
        *_events(),
        *_artifacts(),
    ]


def _info() -> Iterator[Entry]:
    yield "GET", f"{V1}/info", info.info
    yield "GET", f"{V1}/userinfo", info.userinfo
    yield "GET", f"{V1}/version", info.version


def _workflows(feed: Feed) -> Iterator[Entry]:
    watching, logging, removal = Watching(feed), Logging(feed), workflow.Removal(feed)
    base = f"{V1}/workflows"
    one = f"{base}/{{namespace}}/{{name}}"
    # The command's -A leaves the namespace out and the slash in.
    for every in (f"{base}/{{namespace}}", f"{base}/", base):
        yield "GET", every, workflow.list_all
        yield "POST", every, workflow.create
    for every in (f"{V1}/workflow-events/{{namespace}}", f"{V1}/workflow-events/"):
        yield "GET", every, watching.workflows
    yield "POST", f"{base}/{{namespace}}/lint", workflow.lint
    yield "POST", f"{base}/{{namespace}}/submit", workflow.submit_template
    yield "GET", one, workflow.get
    yield "DELETE", one, removal.delete
    yield "PUT", f"{one}/suspend", workflow.suspend
    yield "PUT", f"{one}/resume", workflow.resume
    yield "PUT", f"{one}/stop", workflow.stop
    yield "PUT", f"{one}/terminate", workflow.terminate
    yield "PUT", f"{one}/retry", workflow.retry
    yield "PUT", f"{one}/resubmit", workflow.resubmit
    yield "PUT", f"{one}/set", workflow.set_node
    yield "GET", f"{one}/log", logging.logs
    yield "GET", f"{one}/{{pod}}/log", logging.logs


def _archive(feed: Feed) -> Iterator[Entry]:
    base = f"{V1}/archived-workflows"
    removal = workflow.Removal(feed)
    for every in (base, f"{base}/"):
        yield "GET", every, archive.list_all
    yield "GET", f"{base}-label-keys", archive.label_keys
    yield "GET", f"{base}-label-values", archive.label_values
    yield "GET", f"{base}/{{uid}}", archive.get
    yield "DELETE", f"{base}/{{uid}}", removal.delete_archived
    yield "PUT", f"{base}/{{uid}}/retry", workflow.retry_archived
    yield "PUT", f"{base}/{{uid}}/resubmit", workflow.resubmit_archived


def _templates(base: str, kind: str, namespace: str) -> Iterator[Entry]:
    templates = Templates(kind)
    for every in dict.fromkeys((f"{base}{namespace}", base, f"{base}/")):
        yield "GET", every, templates.list_all
        yield "POST", every, templates.create
    yield "POST", f"{base}{namespace}/lint", templates.lint
    one = f"{base}{namespace}/{{name}}"
    yield "GET", one, templates.get
    # The command updates without a name in the path.
    for named in (one, f"{base}{namespace}/"):
        yield "PUT", named, templates.update
    yield "DELETE", one, templates.delete


def _crons() -> Iterator[Entry]:
    base = f"{V1}/cron-workflows"
    for every in (f"{base}/{{namespace}}", base, f"{base}/"):
        yield "GET", every, cron.list_all
        yield "POST", every, cron.create
    yield "POST", f"{base}/{{namespace}}/lint", cron.lint
    one = f"{base}/{{namespace}}/{{name}}"
    yield "GET", one, cron.get
    for named in (one, f"{base}/{{namespace}}/"):
        yield "PUT", named, cron.update
    yield "DELETE", one, cron.delete
    yield "PUT", f"{one}/suspend", cron.suspend
    yield "PUT", f"{one}/resume", cron.resume


def _events() -> Iterator[Entry]:
    base = f"{V1}/events/{{namespace}}"
    for place in (f"{base}/{{discriminator}}", f"{base}/", base):
        yield "POST", place, event.receive
    bindings = f"{V1}/workflow-event-bindings/{{namespace}}"
    yield "GET", bindings, event.list_all
    yield "POST", bindings, event.save
    yield "DELETE", f"{bindings}/{{name}}", event.remove


def _sync() -> Iterator[Entry]:
    base = f"{V1}/sync/{{namespace}}"
    yield "POST", base, sync.create
    yield "GET", f"{base}/{{key}}", sync.get
    yield "PUT", f"{base}/{{key}}", sync.update
    yield "DELETE", f"{base}/{{key}}", sync.delete


def _artifacts() -> Iterator[Entry]:
    tail = "{node}/{artifact}"
    yield "GET", f"/artifacts/{{namespace}}/{{name}}/{tail}", artifact.output_artifact
    yield "GET", f"/input-artifacts/{{namespace}}/{{name}}/{tail}", artifact.input_artifact
    yield "GET", f"/artifacts-by-uid/{{uid}}/{tail}", artifact.output_by_uid
    yield "GET", f"/input-artifacts-by-uid/{{uid}}/{tail}", artifact.input_by_uid
    path = "/artifact-files/{namespace}/{place}/{id}/{node}/{way}/{artifact}"
    yield "GET", path, artifact.artifact_file


def _rest(context: ApiContext) -> Sequence[BaseRoute]:
    """Answer everything else in the shape that the clients read."""
    not_here, nowhere = endpoint(context, info.not_here), endpoint(context, info.nowhere)
    missing = [Route(f"{V1}/{name}/{{rest:path}}", not_here, methods=_EVERY) for name in _NOT_HERE]
    return [*missing, Route("/{rest:path}", nowhere, methods=_EVERY)]
