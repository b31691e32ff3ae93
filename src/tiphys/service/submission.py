"""A workflow handed in for a project.

Everything in the text belongs to the project, whatever namespaces it names: another one is refused.
The run sees the templates and config maps of its project alone, and those for all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgspec

from tiphys.control.host import Host
from tiphys.control.queue_check import check_queues
from tiphys.control.submit import Overrides, Submission, prepare, read_files
from tiphys.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    NameTakenError,
    Problem,
    SpecError,
)
from tiphys.service.policy import check_policy
from tiphys.spec import model
from tiphys.spec.library import Library
from tiphys.spec.parse import Bundle, Parsed
from tiphys.store import WorkflowFilter, WorkflowRow, WorkflowSummary

NAME_LABEL = "tiphys.dev/name"
"""The name that was asked for; several workflows may share it."""
KEY_LABEL = "tiphys.dev/idempotency-key"
BODY_ANNOTATION = "tiphys.dev/idempotency-body"
CREATED_BY = "tiphys.dev/created-by"
DESCRIPTION = "tiphys.dev/description"
_LARGE = 32 * 1024
"""Texts beyond this are read beside the loop."""

change = msgspec.structs.replace
M = TypeVar(
    "M",
    model.Workflow,
    model.WorkflowTemplate,
    model.ConfigMap,
    model.Secret,
    model.PersistentVolumeClaim,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What somebody wants run."""

    project: str
    name: str
    text: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    priority: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    generate_name: bool = False
    """Whether the name is only the beginning of one."""
    entrypoint: str = ""
    for_all: bool = False
    """Whether the text may bring templates for all projects."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A workflow that was taken in."""

    row: WorkflowRow
    text: str = ""
    """What may be kept of the text as it was: nothing, if secrets stand in it."""
    new: bool = True


class Intake:
    """Takes orders. One at a time under an idempotency key."""

    def __init__(self, host: Host, defaults: model.WorkflowSpec | None, policy: Any) -> None:
        self._host, self._defaults, self._policy = host, defaults, policy
        self._keys: dict[str, asyncio.Lock] = {}

    async def submit(self, order: Order) -> Taken:
        """Take a workflow in; returns when it is durable."""
        bundle, library, submission = await self._read(order)
        self._host.keep(bundle, self._host.library.extended(bundle))
        try:
            run = self._host.submit(submission, library)
        except NameTakenError:
            # Names of the API are not unique; those of the store are.
            again = Overrides(generate_name=f"{order.name}-")
            run = self._host.submit(self._prepare(bundle, library, order, again), library)
        await self._host.control.settle()
        row = self._host.store.workflow(run.uid)
        return Taken(row, "" if bundle.secrets else order.text)

    async def submit_once(self, order: Order, key: str, body: str) -> Taken:
        """Take it in unless it was already under ``key``."""
        lock = self._keys.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                known = self._known(order.project, key)
                if known is not None:
                    if known.annotations.get(BODY_ANNOTATION) != body:
                        raise KeyUsedError("this Idempotency-Key was used with another body")
                    return Taken(self._host.store.workflow(known.uid), new=False)
                labels = {**order.labels, KEY_LABEL: key}
                annotations = {**order.annotations, BODY_ANNOTATION: body}
                marked = replace(order, labels=labels, annotations=annotations)
                return await self.submit(marked)
        finally:
            if not lock.locked():
                self._keys.pop(key, None)

    def _known(self, project: str, key: str) -> WorkflowSummary | None:
        wanted = WorkflowFilter(namespace=project, label_selector=f"{KEY_LABEL}={key}")
        # The oldest: a workflow that is resubmitted hands its labels on.
        found = self._host.store.workflows(wanted, limit=1, newest_first=False)
        return found[0] if found else None

    async def _read(self, order: Order) -> tuple[Bundle, Library, Submission]:
        def read() -> tuple[Bundle, Library, Submission]:
            known = visible(self._host.library, order.project)
            bundle = read_files([("workflow.yaml", order.text.encode())], known)
            bundle = settled(bundle, order.project, for_all=order.for_all)
            library = visible(self._host.library.extended(bundle), order.project)
            beginning = f"{order.name}-" if order.generate_name else ""
            how = Overrides(generate_name=beginning)
            return bundle, library, self._prepare(bundle, library, order, how)

        return read() if len(order.text) < _LARGE else await asyncio.to_thread(read)

    def _prepare(
        self, bundle: Bundle, library: Library, order: Order, how: Overrides
    ) -> Submission:
        parsed = _only_workflow(bundle)
        labels = {NAME_LABEL: order.name, **order.labels}
        meta = parsed.value.metadata
        meta = change(meta, labels={**meta.labels, **labels})
        meta = change(meta, annotations={**meta.annotations, **order.annotations})
        marked = change(parsed, value=change(parsed.value, metadata=meta))
        overrides = change(
            how,
            name="" if how.generate_name else order.name,
            parameters=order.parameters,
            priority=order.priority,
            entrypoint=order.entrypoint,
        )
        submission = prepare(marked, library, overrides, self._defaults)
        check_policy(submission.spec, self._policy)
        check_queues(
            submission.workflow,
            parsed.document,
            self._host.schedulers,
            self._host.control.scheduler.queues.leaves(),
        )
        return submission


class KeyUsedError(ConflictError):
    """An idempotency key stands for another request already."""

    code = "idempotency_conflict"


def _only_workflow(bundle: Bundle) -> Parsed[model.Workflow]:
    if bundle.cron_workflows:
        raise InvalidInputError("schedules are not submitted as workflows")
    if len(bundle.workflows) != 1:
        problem = Problem(
            code="invalid_spec",
            message=f"expected one Workflow, found {len(bundle.workflows)}",
            path="workflow_yaml",
        )
        raise SpecError([problem])
    return bundle.workflows[0]


def settled(bundle: Bundle, project: str, *, for_all: bool) -> Bundle:
    """Put all documents into the project; raise where one names another or all of them."""
    if bundle.cluster_workflow_templates and not for_all:
        raise ForbiddenError("templates for all projects need an admin of all projects")
    return change(
        bundle,
        workflows=tuple(_settle(each, project) for each in bundle.workflows),
        workflow_templates=tuple(_settle(each, project) for each in bundle.workflow_templates),
        job_templates=tuple(_settle(each, project) for each in bundle.job_templates),
        config_maps=tuple(_settle(each, project) for each in bundle.config_maps),
        secrets=tuple(_settle(each, project) for each in bundle.secrets),
        volume_claims=tuple(_settle(each, project) for each in bundle.volume_claims),
        # Priority classes among them count for everybody.
        others=bundle.others if for_all else (),
    )


def _settle(parsed: Parsed[M], project: str) -> Parsed[M]:
    meta = parsed.value.metadata
    if meta.namespace not in ("", project):
        line, column = parsed.document.place(("metadata", "namespace"))
        problem = Problem(
            code="invalid_spec",
            message=f"the namespace {meta.namespace[:100]!r} is not that of the project",
            path="metadata.namespace",
            line=line,
            column=column,
            hint=f"leave it out, or write {project}",
        )
        raise SpecError([problem])
    return change(parsed, value=change(parsed.value, metadata=change(meta, namespace=project)))


def visible(library: Library, project: str) -> Library:
    """Give the part of a library that a project sees."""
    return change(
        library,
        namespace=project,
        workflow_templates=_of(library.workflow_templates, project),
        job_templates=_of(library.job_templates, project),
        config_maps=_of(library.config_maps, project),
        secrets=_of(library.secrets, project),
        volume_claims=_of(library.volume_claims, project),
    )


V = TypeVar("V")


def _of(items: Mapping[tuple[str, str], V], project: str) -> dict[tuple[str, str], V]:
    return {key: value for key, value in items.items() if key[0] == project}
