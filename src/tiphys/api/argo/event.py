"""Events from outside, and the bindings that make workflows of them (Argo Events' little sister).

A ``WorkflowEventBinding`` says which events it wants (an expression over payload, metadata,
discriminator and namespace) and which template to run with what of them. Argo's server takes
bindings from ``kubectl``; here they are saved and removed with two routes of our own below
``workflow-event-bindings``. An event has no effect but the workflows it starts: a binding that
cannot be used is noted in the server's log and does not stop the others.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from tiphys.api.argo.call import Call, mapping_of, reply
from tiphys.api.argo.submission import from_template, read_object, submit
from tiphys.api.deps import find_project
from tiphys.api.problems import echo
from tiphys.errors import InvalidInputError, NotFoundError, TiphysError
from tiphys.service.access import Role
from tiphys.spec import expression
from tiphys.store import ObjectRow
from tiphys.wire.argo import API_VERSION, timestamp

KIND = "WorkflowEventBinding"
LABEL = "workflows.argoproj.io/workflow-event-binding"
MOST = 200
"""Bindings of a namespace; each is tried for every event."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


async def receive(call: Call) -> Response:
    """Take an event: every binding of the namespace that wants it starts a workflow."""
    namespace = call.namespace(Role.MEMBER) or call.context.config.namespace
    headers = call.request.headers
    event = {
        "namespace": namespace,
        "discriminator": call.path("discriminator"),
        "metadata": {k: headers.getlist(k) for k in headers if k.startswith("x-")},
        "payload": await call.payload(),
    }
    for row in _rows(call, namespace):
        try:
            manifest = await asyncio.to_thread(_manifest, row, event)
            if manifest is not None:
                await submit(call, manifest, namespace)
        except TiphysError as error:
            text = f"event binding {row.namespace}/{row.name} failed: {error}"
            call.context.feeds.note(echo(text, 500))
    return reply({})


async def list_all(call: Call) -> Response:
    """List bindings."""
    rows = _rows(call, call.namespace(Role.VIEWER))
    version = str(int(call.context.host.clock.now() * 1000))
    return reply(
        {
            "apiVersion": API_VERSION,
            "kind": f"{KIND}List",
            "metadata": {"resourceVersion": version},
            "items": [_shown(row) for row in rows],
        }
    )


async def save(call: Call) -> Response:
    """Keep a binding; one of the same name gives way."""
    namespace = call.namespace(Role.MEMBER) or call.context.config.namespace
    value = read_object(await call.body(), "eventBinding")
    name = str(mapping_of(value, "metadata").get("name", ""))
    known = {row.name for row in _rows(call, namespace)}
    if name not in known and len(known) >= MOST:
        raise InvalidInputError(f"a namespace may have {MOST} event bindings")
    _check(value, name)
    await find_project(call.context, call.identity, namespace)
    body = msgspec.json.encode({"metadata": {"name": name}, "spec": value["spec"]})
    at = call.context.host.clock.now()
    row = ObjectRow(kind=KIND, namespace=namespace, name=name, body=body, at=at)
    await call.context.cabinet.save(row)
    await _note(call, "save", row)
    return reply(_shown(row))


async def remove(call: Call) -> Response:
    """Forget a binding."""
    namespace = call.namespace(Role.MEMBER)
    name = call.path("name")
    for row in _rows(call, namespace):
        if row.name == name:
            await call.context.cabinet.remove(KIND, namespace, name)
            await _note(call, "remove", row)
            return reply({})
    raise NotFoundError(f"there is no {KIND} {name[:200]!r}")


async def _note(call: Call, action: str, row: ObjectRow) -> None:
    await call.context.audit.note(
        call.identity, f"{action} event binding", project=row.namespace, subject=row.name
    )


def _rows(call: Call, namespace: str) -> list[ObjectRow]:
    rows = call.context.store.objects(KIND)
    return [row for row in rows if namespace in {"", row.namespace}]


def _shown(row: ObjectRow) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.json.decode(row.body)
    meta = {
        **value["metadata"],
        "namespace": row.namespace,
        "creationTimestamp": timestamp(row.at),
    }
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": meta, "spec": value["spec"]}


def _check(value: Mapping[str, Any], name: str) -> None:
    """Raise unless a binding can be used."""
    if value.get("kind", KIND) != KIND or not _NAME.fullmatch(name):
        raise InvalidInputError(f"expected a {KIND} with a name")
    spec = mapping_of(dict(value), "spec")
    selector = mapping_of(spec, "event").get("selector")
    if not isinstance(selector, str) or not selector:
        raise InvalidInputError("spec.event.selector must be an expression")
    expression.compile_expression(selector)
    for _, text in _expressions(mapping_of(spec, "submit")):
        expression.compile_expression(text)


def _expressions(wanted: dict[str, Any]) -> list[tuple[str, str]]:
    """Give the parameters of a binding's workflow, each with its expression."""
    found = []
    for each in mapping_of(wanted, "arguments").get("parameters") or []:
        source = each.get("valueFrom") if isinstance(each, dict) else None
        text = source.get("event") if isinstance(source, dict) else None
        if not isinstance(text, str):
            raise InvalidInputError("parameters of an event binding need valueFrom.event")
        found.append((str(each.get("name", "")), text))
    return found


def _manifest(row: ObjectRow, event: dict[str, Any]) -> dict[str, Any] | None:
    """Give the workflow that a binding makes of an event; None where it does not want it."""
    spec = msgspec.json.decode(row.body)["spec"]
    wanted = spec.get("submit")
    if _value(spec["event"]["selector"], event) is not True or not wanted:
        return None
    ref = mapping_of(wanted, "workflowTemplateRef")
    kind = "ClusterWorkflowTemplate" if ref.get("clusterScope") else "WorkflowTemplate"
    given = [f"{name}={_text(_value(text, event))}" for name, text in _expressions(wanted)]
    manifest = from_template(
        {
            "resourceKind": kind,
            "resourceName": str(ref.get("name", "")),
            "submitOptions": {"parameters": given},
        }
    )
    meta, own = manifest["metadata"], mapping_of(wanted, "metadata")
    for key in ("name", "generateName"):
        if own.get(key):
            meta[key] = _text(_value(str(own[key]), event))
    for key in ("labels", "annotations"):
        texts = {name: _text(_value(str(t), event)) for name, t in mapping_of(own, key).items()}
        meta[key] = {**meta.get(key, {}), **texts}
    meta["labels"][LABEL] = row.name
    return manifest


def _value(text: str, event: dict[str, Any]) -> Any:
    return expression.compile_expression(text).evaluate(event)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else expression.dump(value)
