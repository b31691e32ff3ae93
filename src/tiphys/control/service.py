"""What people can have done with workflows: the use cases, on a host.

Each returns when what was asked for is on record. Names may be names, uids or ``@latest``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from tiphys.control.queue_check import check_queues
from tiphys.control.recover import load
from tiphys.control.submit import (
    Overrides,
    Submission,
    named,
    placed,
    prepare,
    random_suffix,
    read_files,
)
from tiphys.engine import event as ev
from tiphys.engine.again import plan_retry, reopen
from tiphys.engine.leaf import awaits_release
from tiphys.engine.node import Node, NodeType
from tiphys.engine.resubmit import Memoized, override_parameters, plan_resubmit
from tiphys.engine.run import Run
from tiphys.engine.selector import parse_selector
from tiphys.errors import ConflictError, InvalidInputError
from tiphys.ports import CONTROLLER_LABEL, is_dispatched
from tiphys.spec import model
from tiphys.spec.merge import resolve_spec
from tiphys.spec.parse import Bundle
from tiphys.store import WorkflowRow
from tiphys.wire.node import decode_node

if TYPE_CHECKING:
    from tiphys.control.host import Host


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """How a finished workflow is run again from where it failed."""

    restart_successful: bool = False
    node_selector: str = ""
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)


class Service:
    """The use cases."""

    def __init__(self, host: Host, defaults: model.WorkflowSpec | None = None) -> None:
        self._host = host
        self._defaults = defaults

    # --- new workflows ----------------------------------------------------------------------

    async def submit(
        self, files: Sequence[tuple[str, bytes]], overrides: Overrides, *, start: bool = True
    ) -> list[WorkflowRow]:
        """Take workflows in; templates, config maps and secrets of the files are kept."""
        known = self._host.library
        if overrides.namespace:
            known = msgspec.structs.replace(known, namespace=overrides.namespace)
        bundle = read_files(files, known)
        _check_something(bundle)
        if overrides.namespace:
            bundle = placed(bundle, overrides.namespace)
        library = self._host.library.extended(bundle)
        submissions = [
            prepare(parsed, library, overrides, self._defaults) for parsed in bundle.workflows
        ]
        queues, settings = self._host.control.scheduler.queues.leaves(), self._host.schedulers
        for parsed, each in zip(bundle.workflows, submissions, strict=True):
            check_queues(each.workflow, parsed.document, settings, queues)
        self._host.keep(bundle, library)
        runs = [self._host.submit(each, library, start=start) for each in submissions]
        await self._host.control.settle()
        return [self._host.store.workflow(run.uid) for run in runs]

    async def resubmit(
        self,
        key: str,
        *,
        namespace: str = "",
        memoized: bool,
        parameters: Mapping[str, str],
        annotations: Mapping[str, str] | None = None,
    ) -> WorkflowRow:
        """Run a workflow once more under a new name; memoized, without what had succeeded."""
        row = self._host.store.workflow(key, namespace=namespace)
        library = load(row).library
        before = None
        if memoized:
            before = Memoized(
                nodes=tuple(self._nodes(row)),
                phase=row.phase,
                suffix=random_suffix(),
                now=self._host.clock.now(),
            )
        manifest = msgspec.json.decode(row.manifest, type=model.Workflow)
        fresh, nodes = plan_resubmit(manifest, parameters=parameters, memoized=before)
        workflow = _annotated(named(fresh, library.namespace), annotations or {})
        submission = Submission(
            workflow, resolve_spec(workflow, library, self._defaults), row.source
        )
        run = self._host.submit(submission, library, nodes=nodes)
        await self._host.control.settle()
        return self._host.store.workflow(run.uid)

    # --- workflows under way ----------------------------------------------------------------

    async def stop(
        self, key: str, strategy: ev.Shutdown, *, namespace: str = "", message: str = ""
    ) -> WorkflowRow:
        """Have a workflow end early."""
        row = self._host.store.workflow(key, namespace=namespace)
        self._live(row)
        event = ev.RunStopped(at=self._host.clock.now(), strategy=strategy, message=message)
        return await self._send(row, event)

    async def suspend(self, key: str, *, namespace: str = "") -> WorkflowRow:
        """Have nothing new started."""
        row = self._host.store.workflow(key, namespace=namespace)
        self._live(row)
        if is_dispatched(row.labels) and CONTROLLER_LABEL in row.labels:
            message = f"{row.name} is driven by Volcano's own controller, which cannot suspend"
            raise ConflictError(message)
        return await self._send(row, ev.RunSuspended(at=self._host.clock.now()))

    async def resume(
        self,
        key: str,
        *,
        namespace: str = "",
        node_selector: str = "",
        parameters: Mapping[str, str],
        message: str = "",
    ) -> WorkflowRow:
        """Let a workflow, or the pauses that the selector names, go on."""
        row = self._host.store.workflow(key, namespace=namespace)
        run = self._live(row)
        nodes: tuple[str, ...] = ()
        pauses = _pauses(run)
        if node_selector:
            selector = parse_selector(node_selector)
            pauses = [node for node in pauses if selector.matches(node)]
            nodes = tuple(node.id for node in pauses)
            if not nodes:
                raise ConflictError(f"no pause of {row.name} matches {node_selector!r}")
        if not is_dispatched(row.labels):
            _check_supplied(pauses, parameters)
        event = ev.RunResumed(
            at=self._host.clock.now(), nodes=nodes, outputs=dict(parameters), message=message
        )
        return await self._send(row, event)

    def _live(self, row: WorkflowRow) -> Run:
        run = self._host.control.runs.get(row.uid)
        if run is None or run.ended:
            if row.quarantine:
                raise ConflictError(f"workflow {row.name} cannot be read: {row.quarantine}")
            raise ConflictError(f"workflow {row.name} has ended already ({row.phase})")
        return run

    async def _send(self, row: WorkflowRow, event: ev.Event) -> WorkflowRow:
        self._host.control.send(row.uid, event)
        await self._host.control.settle(row.uid)
        return self._host.store.workflow(row.uid)

    # --- workflows that have ended ----------------------------------------------------------

    async def retry(self, key: str, how: Retry, *, namespace: str = "") -> WorkflowRow:
        """Run a failed workflow again from its failed nodes."""
        row = self._host.store.workflow(key, namespace=namespace)
        run = self._host.control.runs.get(row.uid)
        if run is not None:
            if not run.ended:
                raise ConflictError(
                    f"workflow {row.name} has not ended: only ended ones are retried"
                )
            await self._host.control.ended(row.uid)  # Its last processes are on their way out.
        if is_dispatched(row.labels):
            message = f"workflow {row.name} ran elsewhere: resubmit it, or retry it there"
            raise ConflictError(message)
        await self._host.garbage.finished(row.uid)
        row = self._host.store.workflow(row.uid)
        selector = parse_selector(how.node_selector) if how.node_selector else None
        now = self._host.clock.now()
        plan = plan_retry(
            self._nodes(row),
            name=row.name,
            phase=row.phase,
            now=now,
            restart_successful=how.restart_successful,
            selector=selector,
        )
        if how.parameters:
            row = _with_arguments(row, how.parameters)
        fresh = load(row)
        reopen(fresh, plan.kept, now=now, reset=plan.reset, removed=plan.removed)
        if how.parameters:
            self._host.ledger.rewrite(row)
        self._host.garbage.promise(row, at=now)
        self._host.take_up(fresh)
        await self._host.control.settle()
        return self._host.store.workflow(row.uid)

    async def delete(
        self, key: str, *, namespace: str = "", force: bool = False, abandon: bool = False
    ) -> WorkflowRow:
        """Forget a workflow with its logs; with ``force`` one under way is terminated first.

        What ``artifactGC`` says goes as well; ``abandon`` leaves behind what cannot be deleted.
        """
        row = self._host.store.workflow(key, namespace=namespace)
        run = self._host.control.runs.get(row.uid)
        if run is not None:
            if not run.ended:
                if not force:
                    raise ConflictError(
                        f"workflow {row.name} has not ended: terminate it first, or use --force"
                    )
                await self.stop(row.uid, ev.Shutdown.TERMINATE)
            await self._host.control.ended(row.uid)
        await self._host.forget(row, abandon=abandon)
        return row

    def _nodes(self, row: WorkflowRow) -> list[Node]:
        return [decode_node(each.body) for each in self._host.store.nodes(row.uid)]


def _annotated(workflow: model.Workflow, more: Mapping[str, str]) -> model.Workflow:
    replace, meta = msgspec.structs.replace, workflow.metadata
    return replace(workflow, metadata=replace(meta, annotations={**meta.annotations, **more}))


def _pauses(run: Run) -> list[Node]:
    """Give what somebody may let go: suspend nodes, and pods whose layer waits to be released."""
    nodes = (run.nodes[each] for each in run.leaves)
    return [node for node in nodes if node.type is NodeType.SUSPEND or awaits_release(run, node)]


def _check_something(bundle: Bundle) -> None:
    """Refuse files of which nothing would be kept."""
    if bundle.workflows:
        return
    if bundle.cron_workflows:
        raise InvalidInputError("a CronWorkflow is not submitted: `tiphys cron create` takes it")
    templates = (*bundle.workflow_templates, *bundle.cluster_workflow_templates)
    if not (*templates, *bundle.job_templates, *bundle.config_maps, *bundle.secrets):
        raise InvalidInputError("there is no Workflow in these files")


def _check_supplied(pauses: Sequence[Node], values: Mapping[str, str]) -> None:
    """Refuse to resume pauses that would still lack an output, or that want no such output."""
    wanted = [(node, each) for node in pauses if node.outputs for each in node.outputs.parameters]
    unknown = sorted(set(values) - {each.name for _, each in wanted})
    if unknown:
        raise InvalidInputError(f"no pause waits for a parameter {unknown[0]!r}")
    for node, each in wanted:
        default = each.value_from.default if each.value_from is not None else None
        if each.name not in values and each.value is None and default is None:
            raise InvalidInputError(
                f"the pause {node.name} needs a value for its output parameter {each.name!r}"
            )


def _with_arguments(row: WorkflowRow, values: Mapping[str, str]) -> WorkflowRow:
    """Give a workflow other arguments: in what runs, and in the text that is submitted again."""
    spec = _with_parameters(msgspec.json.decode(row.spec, type=model.WorkflowSpec), values)
    manifest = msgspec.json.decode(row.manifest, type=model.Workflow)
    manifest = override_parameters(manifest, values)
    encode = msgspec.json.encode
    return msgspec.structs.replace(row, spec=encode(spec), manifest=encode(manifest))


def _with_parameters(spec: model.WorkflowSpec, values: Mapping[str, str]) -> model.WorkflowSpec:
    replace = msgspec.structs.replace
    known = {p.name for p in spec.arguments.parameters}
    unknown = [name for name in values if name not in known]
    if unknown:
        raise InvalidInputError(f"the workflow has no parameter {unknown[0]!r}")
    parameters = tuple(
        replace(p, value=values[p.name], value_from=None) if p.name in values else p
        for p in spec.arguments.parameters
    )
    return replace(spec, arguments=replace(spec.arguments, parameters=parameters))
