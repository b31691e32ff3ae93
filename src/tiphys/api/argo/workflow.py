"""Workflows: create, list, get, delete, lint, submit, and everything in their lives."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from tiphys.api.argo.call import Call, mapping_of, pairs_of, reply, text_of
from tiphys.api.argo.cron import from_cron
from tiphys.api.argo.feed import Feed
from tiphys.api.argo.fields import Fields
from tiphys.api.argo.listing import read_query, reply_list
from tiphys.api.argo.pause import set_pauses
from tiphys.api.argo.show import reply_workflow
from tiphys.api.argo.submission import check, dry_run, from_template, read_object, submit
from tiphys.control.service import Retry
from tiphys.engine.event import Shutdown
from tiphys.errors import NotFoundError
from tiphys.service.access import Role
from tiphys.service.submission import CREATED_BY
from tiphys.store import WorkflowRow

# --- making and finding -------------------------------------------------------------------------


async def create(call: Call) -> Response:
    """Take a workflow in, or with a dry run only look at it."""
    namespace = call.namespace(Role.MEMBER)
    body = await call.body()
    manifest = read_object(body, "workflow")
    namespace = namespace or _namespace_of(call, manifest)
    dry = bool(mapping_of(body, "createOptions").get("dryRun"))
    return await _take_in(call, manifest, namespace, dry=dry, server=body.get("serverDryRun"))


async def submit_template(call: Call) -> Response:
    """Run a stored template."""
    namespace = call.namespace(Role.MEMBER)
    body = await call.body()
    namespace = namespace or call.context.config.namespace
    manifest = from_cron(call, namespace, body) or from_template(body)
    options = mapping_of(body, "submitOptions")
    dry, server = bool(options.get("dryRun")), options.get("serverDryRun")
    return await _take_in(call, manifest, namespace, dry=dry, server=server)


async def _take_in(
    call: Call, manifest: dict[str, Any], namespace: str, *, dry: bool, server: Any
) -> Response:
    if dry or server:
        return reply(await dry_run(call, manifest, namespace, name=not dry))
    return await reply_workflow(call, await submit(call, manifest, namespace))


def _namespace_of(call: Call, manifest: dict[str, Any]) -> str:
    """Give the namespace of an object that was sent to none."""
    own = str(mapping_of(manifest, "metadata").get("namespace") or call.context.config.namespace)
    call.identity.require(Role.MEMBER, own)
    return own


async def lint(call: Call) -> Response:
    """Tell what is wrong with a workflow; where nothing is, give it back."""
    namespace = call.namespace(Role.VIEWER) or call.context.config.namespace
    manifest = read_object(await call.body(), "workflow")
    await check(call, manifest, "Workflow", namespace)
    return reply(manifest)


async def list_all(call: Call) -> Response:
    """List workflows."""
    return await reply_list(call, read_query(call, call.namespace(Role.VIEWER)))


async def get(call: Call) -> Response:
    """Show one workflow."""
    row = call.workflow(Role.VIEWER)
    uid = call.text("uid")
    if uid and uid != row.uid:
        raise NotFoundError(f"there is no workflow {row.name!r} with the uid {uid[:60]!r}")
    return await reply_workflow(call, row, Fields.parse(call.text("fields")))


class Removal:
    """Deleting workflows; whoever watches them is told."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    async def delete(self, call: Call) -> Response:
        """Forget a workflow; one under way is terminated first, as in Argo."""
        return await self._forget(call, call.workflow(Role.MEMBER))

    async def delete_archived(self, call: Call) -> Response:
        """Forget a workflow that has ended."""
        return await self._forget(call, call.workflow_by_uid(Role.MEMBER))

    async def _forget(self, call: Call, row: WorkflowRow) -> Response:
        abandon = call.flag("force")  # As `argo delete --force`: without waiting for artifacts.
        await call.context.service.delete(row.uid, force=True, abandon=abandon)
        self._feed.tell(row.uid)
        await call.note("delete", row)
        return reply({})


# --- life ---------------------------------------------------------------------------------------


async def _done(call: Call, action: str, row: WorkflowRow) -> Response:
    await call.note(action, row)
    return await reply_workflow(call, row)


async def suspend(call: Call) -> Response:
    """Have nothing new started."""
    row = call.workflow(Role.MEMBER)
    return await _done(call, "suspend", await call.context.service.suspend(row.uid))


async def resume(call: Call) -> Response:
    """Let the workflow, or the pauses that are named, go on."""
    row = call.workflow(Role.MEMBER)
    selector = text_of(await call.body(), "nodeFieldSelector")
    row = await call.context.service.resume(row.uid, node_selector=selector, parameters={})
    return await _done(call, "resume", row)


async def stop(call: Call) -> Response:
    """End the workflow, exit handlers run; or fail the pauses that are named."""
    row = call.workflow(Role.MEMBER)
    body = await call.body()
    message = text_of(body, "message")
    if text_of(body, "nodeFieldSelector"):
        row = await set_pauses(call.context.host, row, {**body, "phase": "Failed"})
    else:
        row = await call.context.service.stop(row.uid, Shutdown.STOP, message=message)
    return await _done(call, "stop", row)


async def terminate(call: Call) -> Response:
    """End the workflow at once."""
    row = call.workflow(Role.MEMBER)
    row = await call.context.service.stop(row.uid, Shutdown.TERMINATE)
    return await _done(call, "terminate", row)


async def set_node(call: Call) -> Response:
    """End pauses by hand, with outputs."""
    row = call.workflow(Role.MEMBER)
    return await _done(call, "set", await set_pauses(call.context.host, row, await call.body()))


async def retry(call: Call) -> Response:
    """Run a workflow that failed again from where it did."""
    return await _retry(call, call.workflow(Role.MEMBER))


async def resubmit(call: Call) -> Response:
    """Run a workflow once more under a new name."""
    return await _resubmit(call, call.workflow(Role.MEMBER))


async def retry_archived(call: Call) -> Response:
    """Run a workflow that failed again, found by its uid."""
    return await _retry(call, call.workflow_by_uid(Role.MEMBER))


async def resubmit_archived(call: Call) -> Response:
    """Run a workflow once more, found by its uid."""
    return await _resubmit(call, call.workflow_by_uid(Role.MEMBER))


async def _retry(call: Call, row: WorkflowRow) -> Response:
    body = await call.body()
    how = Retry(
        restart_successful=bool(body.get("restartSuccessful")),
        node_selector=text_of(body, "nodeFieldSelector"),
        parameters=pairs_of("parameters", body.get("parameters")),
    )
    return await _done(call, "retry", await call.context.service.retry(row.uid, how))


async def _resubmit(call: Call, row: WorkflowRow) -> Response:
    body = await call.body()
    parameters = pairs_of("parameters", body.get("parameters"))
    memoized = bool(body.get("memoized"))
    row = await call.context.service.resubmit(
        row.uid,
        memoized=memoized,
        parameters=parameters,
        annotations={CREATED_BY: call.identity.name},
    )
    return await _done(call, "resubmit", row)
