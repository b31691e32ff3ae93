"""Cron workflows: the routes of ``argo cron`` and of Hera over our schedules."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from tiphys.api.argo.call import Call, mapping_of, reply, text_of
from tiphys.api.argo.submission import CRON_KINDS, apply_options, check, read_object
from tiphys.api.deps import find_project
from tiphys.errors import InvalidInputError
from tiphys.service.access import Role
from tiphys.service.schedule_child import child
from tiphys.service.schedule_state import KIND, Cron, shown
from tiphys.spec import model
from tiphys.spec.parse import Parsed
from tiphys.store.selector import parse_selector
from tiphys.wire.argo import API_VERSION

_WANTED = "cronWorkflow"


async def list_all(call: Call) -> Response:
    """List cron workflows."""
    namespace = call.namespace(Role.VIEWER)
    found = call.context.schedules.rows({namespace} if namespace else None)
    for need in parse_selector(call.text("listOptions.labelSelector")):
        found = [
            each
            for each in found
            if _has(each.manifest.metadata.labels, need.name, need.values) is need.wanted
        ]
    meta = {"resourceVersion": str(int(call.context.host.clock.now() * 1000))}
    listed = {
        "apiVersion": API_VERSION,
        "kind": f"{KIND}List",
        "metadata": meta,
        "items": [shown(each) for each in found],
    }
    return reply(listed)


def _has(labels: Mapping[str, str], name: str, values: tuple[str, ...] | None) -> bool:
    return name in labels and (values is None or labels[name] in values)


async def get(call: Call) -> Response:
    """Show a cron workflow."""
    return _answer(call.context.schedules.find(call.namespace(Role.VIEWER), call.path("name")))


async def lint(call: Call) -> Response:
    """Tell what is wrong with a cron workflow; where nothing is, give it back."""
    namespace = call.namespace(Role.VIEWER) or call.context.config.namespace
    return reply(msgspec.json.encode((await _parse(call, namespace)).value))


async def create(call: Call) -> Response:
    """Keep a new cron workflow."""
    namespace = _own(call)
    parsed = await _parse(call, namespace)
    await find_project(call.context, call.identity, namespace)
    cron = await call.context.schedules.create(namespace, parsed.value, call.identity.name)
    return await _changed(call, "create schedule", cron)


async def update(call: Call) -> Response:
    """Put a cron workflow in the place of its older self."""
    namespace = _own(call)
    parsed = await _parse(call, namespace)
    name = call.path("name") or parsed.value.metadata.name
    if parsed.value.metadata.name not in {"", name}:
        raise InvalidInputError("the name of the cron workflow is not that of the request")
    cron = await call.context.schedules.update(namespace, name, parsed.value)
    return await _changed(call, "replace schedule", cron)


async def delete(call: Call) -> Response:
    """Forget a cron workflow; its workflows stay."""
    cron = await call.context.schedules.remove(_own(call), call.path("name"))
    await _note(call, "remove schedule", cron)
    return reply({})


async def suspend(call: Call) -> Response:
    """Let no more workflows start."""
    cron = await call.context.schedules.suspend(_own(call), call.path("name"), suspend=True)
    return await _changed(call, "suspend schedule", cron)


async def resume(call: Call) -> Response:
    """Let workflows start again."""
    cron = await call.context.schedules.suspend(_own(call), call.path("name"), suspend=False)
    return await _changed(call, "resume schedule", cron)


def from_cron(call: Call, namespace: str, body: dict[str, Any]) -> dict[str, Any] | None:
    """Give the workflow that ``argo submit --from cronwf/NAME`` runs; None for other kinds."""
    if text_of(body, "resourceKind").lower() not in CRON_KINDS:
        return None
    cron = call.context.schedules.find(namespace, text_of(body, "resourceName"))
    made: dict[str, Any] = msgspec.to_builtins(child(cron, call.context.host.clock.now()))
    return apply_options(made, mapping_of(body, "submitOptions"))


def _own(call: Call) -> str:
    return call.namespace(Role.MEMBER) or call.context.config.namespace


async def _parse(call: Call, namespace: str) -> Parsed[model.CronWorkflow]:
    value = read_object(await call.body(), _WANTED)
    (parsed,) = (await check(call, value, KIND, namespace)).cron_workflows
    await asyncio.to_thread(call.context.schedules.check, namespace, parsed)
    return parsed


async def _changed(call: Call, action: str, cron: Cron) -> Response:
    await _note(call, action, cron)
    return _answer(cron)


async def _note(call: Call, action: str, cron: Cron) -> None:
    subject = f"schedule {cron.name}"
    await call.context.audit.note(call.identity, action, project=cron.namespace, subject=subject)


def _answer(cron: Cron) -> Response:
    return reply(msgspec.json.encode(shown(cron)))
