"""From files to runs: parse, check, name, merge. Nothing is stored before all of it is sound."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from tiphys.errors import InvalidInputError, NotFoundError, Problem, SpecError
from tiphys.ports import LOCAL, SCHEDULER_LABEL, SCHEDULERS
from tiphys.spec import model
from tiphys.spec.library import Library
from tiphys.spec.mark import vouched
from tiphys.spec.merge import resolve_spec
from tiphys.spec.parse import Bundle, Parsed, is_volcanos, parse_files
from tiphys.spec.validate import validate_workflow

# Kubernetes' letters for generated names: no vowels, so no words; nothing that looks like another.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_MAX_PREFIX = 58
"""Kubernetes cuts the prefix of a generated name so that five letters fit behind it."""
replace = msgspec.structs.replace
M = TypeVar(
    "M", model.WorkflowTemplate, model.ConfigMap, model.Secret, model.PersistentVolumeClaim, Any
)


class Overrides(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line or an API call changes about a workflow."""

    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)
    name: str = ""
    generate_name: str = ""
    entrypoint: str = ""
    namespace: str = ""
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    priority: int | None = None


class Submission(msgspec.Struct, frozen=True):
    """A workflow that is ready to run."""

    workflow: model.Workflow
    """As submitted, with its final name."""
    spec: model.WorkflowSpec
    """What really runs."""
    source: str = ""


class RejectedError(SpecError):
    """Workflows that are not sound; each as Argo would show it, failed before it began."""

    def __init__(self, problems: Iterable[Problem], workflows: Iterable[model.Workflow]) -> None:
        super().__init__(tuple(problems))
        self.workflows = tuple(workflows)


def read_files(files: Iterable[tuple[str, bytes]], library: Library | None = None) -> Bundle:
    """Parse files; raise SpecError with all problems, warnings among them, if any is an error.

    Flows may be made of the JobTemplates of ``library``.
    """
    bundle = parse_files(files, library=library)
    if bundle.errors:
        raise SpecError(bundle.problems)
    return bundle


def placed(bundle: Bundle, namespace: str) -> Bundle:
    """Put what stands beside the workflows, and names no namespace, into ``namespace``."""

    def put(found: Iterable[Parsed[M]]) -> tuple[Parsed[M], ...]:
        return tuple(_put(each, namespace) for each in found)

    return replace(
        bundle,
        workflow_templates=put(bundle.workflow_templates),
        config_maps=put(bundle.config_maps),
        secrets=put(bundle.secrets),
        volume_claims=put(bundle.volume_claims),
        job_templates=put(bundle.job_templates),
    )


def _put(parsed: Parsed[M], namespace: str) -> Parsed[M]:
    meta = parsed.value.metadata
    if meta.namespace:
        return parsed
    meta = replace(meta, namespace=namespace)
    return replace(parsed, value=replace(parsed.value, metadata=meta))


def prepare(
    parsed: Parsed[model.Workflow],
    library: Library,
    overrides: Overrides,
    defaults: model.WorkflowSpec | None = None,
) -> Submission:
    """Make a workflow ready, or raise RejectedError."""
    given = _overridden(parsed.value, overrides)
    made = parsed.value.metadata if is_volcanos(parsed.document) else None
    given = replace(given, metadata=vouched(given.metadata, made))
    workflow = named(given, library.namespace)
    _check_scheduler(workflow)
    source = parsed.document.file
    try:
        spec = resolve_spec(workflow, library, defaults)
    except NotFoundError as error:
        problem = Problem(
            code="invalid_spec", message=str(error), path="spec.workflowTemplateRef", file=source
        )
        line, column = parsed.document.place(("spec", "workflowTemplateRef"))
        problem = replace(problem, line=line, column=column)
        raise RejectedError([problem], [_shown(workflow, "Error", str(error))]) from None
    problems = [p for p in validate_workflow(workflow, library, parsed.document) if not p.warning]
    if problems:
        message = f"invalid spec: {problems[0].path}: {problems[0].message}"
        raise RejectedError(problems, [_shown(workflow, "Failed", message)])
    return Submission(workflow, spec, source)


def _check_scheduler(workflow: model.Workflow) -> None:
    wanted = workflow.metadata.labels.get(SCHEDULER_LABEL, LOCAL)
    if wanted not in SCHEDULERS:
        known = ", ".join(SCHEDULERS)
        raise InvalidInputError(f"{SCHEDULER_LABEL}: {wanted[:40]!r} is none of {known}")


def _overridden(workflow: model.Workflow, overrides: Overrides) -> model.Workflow:
    meta, spec = workflow.metadata, workflow.spec
    if overrides.name:
        meta = replace(meta, name=overrides.name, generate_name="")
    elif overrides.generate_name:
        meta = replace(meta, name="", generate_name=overrides.generate_name)
    if overrides.namespace:
        meta = replace(meta, namespace=overrides.namespace)
    if overrides.labels:
        meta = replace(meta, labels={**meta.labels, **overrides.labels})
    if overrides.entrypoint:
        spec = replace(spec, entrypoint=overrides.entrypoint)
    if overrides.priority is not None:
        spec = replace(spec, priority=overrides.priority)
    if overrides.parameters:
        spec = replace(spec, arguments=_with_parameters(spec.arguments, overrides.parameters))
    return replace(workflow, metadata=meta, spec=spec)


def _with_parameters(arguments: model.Arguments, values: Mapping[str, str]) -> model.Arguments:
    kept = [
        replace(p, value=values[p.name], value_from=None) if p.name in values else p
        for p in arguments.parameters
    ]
    known = {p.name for p in kept}
    added = [
        model.Parameter(name=name, value=value)
        for name, value in values.items()
        if name not in known
    ]
    return replace(arguments, parameters=(*kept, *added))


def random_suffix() -> str:
    """Give five letters that make a name unique."""
    # Without ``secrets``, which takes longer to load than a name may.
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in os.urandom(5))


def named(workflow: model.Workflow, namespace: str) -> model.Workflow:
    """Give a workflow its name and namespace."""
    meta = workflow.metadata
    name = meta.name
    if not name:
        name = (meta.generate_name or "workflow-")[:_MAX_PREFIX] + random_suffix()
    return replace(
        workflow, metadata=replace(meta, name=name, namespace=meta.namespace or namespace)
    )


def _shown(workflow: model.Workflow, phase: str, message: str) -> model.Workflow:
    return replace(workflow, status={"phase": phase, "message": message})


def freeze(library: Library) -> bytes:
    """Write what a run may refer to, secrets left out, so that a restart sees the same."""
    return msgspec.json.encode(
        {
            "namespace": library.namespace,
            "workflowTemplates": list(library.workflow_templates.values()),
            "clusterWorkflowTemplates": list(library.cluster_workflow_templates.values()),
            "configMaps": list(library.config_maps.values()),
        }
    )


class _Frozen(msgspec.Struct, rename="camel"):
    namespace: str
    workflow_templates: list[model.WorkflowTemplate]
    cluster_workflow_templates: list[model.ClusterWorkflowTemplate]
    config_maps: list[model.ConfigMap]


def thaw(text: bytes) -> Library:
    """Read what ``freeze`` wrote."""
    frozen = msgspec.json.decode(text, type=_Frozen)
    own = frozen.namespace
    return Library(
        namespace=own,
        workflow_templates={
            (t.metadata.namespace or own, t.metadata.name): t for t in frozen.workflow_templates
        },
        cluster_workflow_templates={t.metadata.name: t for t in frozen.cluster_workflow_templates},
        config_maps={(c.metadata.namespace or own, c.metadata.name): c for c in frozen.config_maps},
    )
