"""From a request to a workflow that is taken in, or only looked at (lint, dry run)."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import msgspec

from tiphys.api.argo.call import Call, mapping_of, pairs_of, text_of
from tiphys.api.deps import find_project
from tiphys.control.queue_check import check_queues
from tiphys.control.submit import Overrides, Submission, prepare, read_files
from tiphys.errors import InvalidInputError, SpecError
from tiphys.service.policy import check_policy
from tiphys.service.submission import CREATED_BY, visible
from tiphys.spec.library import Library
from tiphys.spec.lint import validate_bundle
from tiphys.spec.model import API_VERSION
from tiphys.spec.parse import Bundle
from tiphys.store import WorkflowRow

change = msgspec.structs.replace
SOURCE = "argo-api"
_TEMPLATE = frozenset({"workflowtemplate", "workflowtemplates", "wftmpl"})
_CLUSTER = frozenset({"clusterworkflowtemplate", "clusterworkflowtemplates", "cwftmpl"})
CRON_KINDS = frozenset({"cronworkflow", "cronworkflows", "cronwf"})
_TEMPLATE_LABEL = "workflows.argoproj.io/workflow-template"
_CLUSTER_LABEL = "workflows.argoproj.io/cluster-workflow-template"
_GIVEN = frozenset(
    {"uid", "creationTimestamp", "resourceVersion", "generation", "managedFields", "selfLink"}
)
"""Metadata that the server gives: what a client kept of another object does not count."""
# Characters that JSON allows in a text and YAML does not, or takes for the end of a line.
_NOT_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def document(value: dict[str, Any], kind: str, namespace: str) -> bytes:
    """Write an object of a request as a file that ``spec.parse`` reads."""
    given = {**value}
    given["apiVersion"] = given.get("apiVersion") or API_VERSION
    given["kind"] = given.get("kind") or kind
    if given["kind"] != kind:
        raise InvalidInputError(f"expected a {kind}, found a {str(given['kind'])[:60]}")
    given.pop("status", None)
    if namespace:
        given["metadata"] = _placed(given.get("metadata"), namespace)
    text = json.dumps(given, ensure_ascii=False)
    return _NOT_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode(
        "utf-8", "backslashreplace"
    )


def _placed(meta: Any, namespace: str) -> Any:
    if meta is None:
        meta = {}
    if not isinstance(meta, dict):
        return meta  # ``spec.parse`` says what is wrong with it.
    own = meta.get("namespace") or namespace
    if own != namespace:
        raise InvalidInputError(
            f"the namespace of the object, {str(own)[:60]!r}, is not that of the request"
        )
    return {**meta, "namespace": namespace}


def read_object(body: dict[str, Any], name: str) -> dict[str, Any]:
    """Give the object that a request must carry."""
    value = mapping_of(body, name)
    if not value:
        raise InvalidInputError(f"the request carries no {name}")
    return value


def parse(value: dict[str, Any], kind: str, namespace: str) -> Bundle:
    """Parse an object of a request; raise SpecError with all that is wrong."""
    return read_files([(SOURCE, document(value, kind, namespace))])


async def check(call: Call, value: dict[str, Any], kind: str, namespace: str) -> Bundle:
    """Parse an object; raise SpecError with all that lint finds wrong."""
    return await asyncio.to_thread(_checked, call, value, kind, namespace)


def _checked(call: Call, value: dict[str, Any], kind: str, namespace: str) -> Bundle:
    bundle = parse(value, kind, namespace)
    library = visible(call.context.host.library.extended(bundle), namespace)
    problems = [p for p in validate_bundle(bundle, library, lint=True) if not p.warning]
    if problems:
        raise SpecError(problems)
    return bundle


def ready(call: Call, manifest: dict[str, Any], namespace: str) -> tuple[Submission, Library]:
    """Make a workflow ready to run, with what it may refer to; raise all that is wrong with it."""
    meta = {k: v for k, v in mapping_of(manifest, "metadata").items() if k not in _GIVEN}
    (parsed,) = parse({**manifest, "metadata": meta}, "Workflow", namespace).workflows
    host = call.context.host
    library = visible(host.library, namespace)
    defaults = call.context.config.workflow_defaults
    submission = prepare(parsed, library, Overrides(), defaults.spec if defaults else None)
    check_policy(submission.spec, call.context.config)
    known = host.control.scheduler.queues.leaves()
    check_queues(submission.workflow, parsed.document, host.schedulers, known)
    return submission, library


async def submit(call: Call, manifest: dict[str, Any], namespace: str) -> WorkflowRow:
    """Take a workflow in; it is durable when this returns."""
    host = call.context.host
    submission, library = await asyncio.to_thread(ready, call, manifest, namespace)
    await find_project(call.context, call.identity, namespace)
    workflow = submission.workflow
    annotations = {**workflow.metadata.annotations, CREATED_BY: call.identity.name}
    workflow = change(workflow, metadata=change(workflow.metadata, annotations=annotations))
    run = host.submit(Submission(workflow, submission.spec, SOURCE), library)
    await host.control.settle()
    row = host.store.workflow(run.uid)
    await call.note("submit", row)
    return row


async def dry_run(call: Call, manifest: dict[str, Any], namespace: str, *, name: bool) -> bytes:
    """Give the workflow as it would be taken in; with a ``name`` as the server would give it."""
    submission, _ = await asyncio.to_thread(ready, call, manifest, namespace)
    if name:
        return msgspec.json.encode(submission.workflow)
    (parsed,) = parse(manifest, "Workflow", namespace).workflows
    return msgspec.json.encode(parsed.value)


def from_template(body: dict[str, Any]) -> dict[str, Any]:
    """Make the manifest of a workflow that runs a stored template (``argo submit --from``)."""
    kind, name = text_of(body, "resourceKind").lower(), text_of(body, "resourceName")
    if kind not in _TEMPLATE | _CLUSTER:
        raise InvalidInputError(f"the resource kind {kind[:60]!r} cannot be submitted")
    cluster = kind in _CLUSTER
    ref: dict[str, Any] = {"name": name}
    if cluster:
        ref["clusterScope"] = True
    manifest: dict[str, Any] = {
        "metadata": {
            "generateName": f"{name}-",
            "labels": {_CLUSTER_LABEL if cluster else _TEMPLATE_LABEL: name},
        },
        "spec": {"workflowTemplateRef": ref},
    }
    return apply_options(manifest, mapping_of(body, "submitOptions"))


def apply_options(manifest: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Lay the options of a submission over a manifest."""
    meta, spec = {**manifest["metadata"]}, {**manifest["spec"]}
    for key in ("name", "generateName"):
        if text_of(options, key):
            meta[key] = options[key]
    for key in ("labels", "annotations"):
        added = pairs_of(key, [part for part in text_of(options, key).split(",") if part])
        if added:
            meta[key] = {**meta.get(key, {}), **added}
    if options.get("ownerReference"):
        meta["ownerReferences"] = [options["ownerReference"]]
    names = {
        "entryPoint": "entrypoint",
        "serviceAccount": "serviceAccountName",
        "podPriorityClassName": "podPriorityClassName",
        "priority": "priority",
    }
    spec.update({own: options[key] for key, own in names.items() if options.get(key)})
    parameters = pairs_of("parameters", options.get("parameters"))
    if parameters:
        given = [{"name": key, "value": value} for key, value in parameters.items()]
        spec["arguments"] = {"parameters": given}
    return {**manifest, "metadata": meta, "spec": spec}
