"""Limits of semaphores: keys of config maps, which workflows refer to (``argo sync``).

A config map is kept as any other document that came with a submission. A workflow takes its limits
along when it is submitted, so that a change counts for those that come after it. Locks in a
database are not served, for there are none.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from starlette.responses import Response

from tiphys.api.argo.call import Call, reply, text_of
from tiphys.api.deps import find_project
from tiphys.api.problems import RequestError
from tiphys.control.submit import read_files
from tiphys.errors import InvalidInputError, NotFoundError
from tiphys.service.access import Role
from tiphys.spec import model

_CONFIG_MAP = ("", "CONFIGMAP", "0", 0, None)
_NAME = re.compile(r"[-._a-zA-Z0-9]{1,253}")
MOST = 2**31 - 1


async def create(call: Call) -> Response:
    """Set a limit that there is not yet."""
    namespace = _namespace(call, Role.MEMBER)
    body = await call.body()
    name, key, limit = _map_of(body), text_of(body, "key"), _limit(body)
    if key in _data(call, namespace, name):
        raise RequestError("name_taken", f"there is a limit {key[:100]!r} in {name!r} already")
    await find_project(call.context, call.identity, namespace)
    return await _keep(call, namespace, name, {key: limit}, "make")


async def get(call: Call) -> Response:
    """Show a limit."""
    namespace = _namespace(call, Role.VIEWER)
    name = _map_of({"cmName": call.text("cmName"), "type": call.text("type")})
    text = _known(call, namespace, name)
    if not text.strip().isdecimal():
        raise InvalidInputError(f"{call.path('key')[:100]} of {name} is no limit")
    return reply(_shown(namespace, name, call.path("key"), int(text)))


async def update(call: Call) -> Response:
    """Change a limit."""
    namespace = _namespace(call, Role.MEMBER)
    body = await call.body()
    name, limit = _map_of(body), _limit(body)
    _known(call, namespace, name)
    return await _keep(call, namespace, name, {call.path("key"): limit}, "change")


async def delete(call: Call) -> Response:
    """Forget a limit."""
    namespace = _namespace(call, Role.MEMBER)
    name = _map_of({"cmName": call.text("cmName"), "type": call.text("type")})
    _known(call, namespace, name)
    await _keep(call, namespace, name, {call.path("key"): None}, "remove")
    return reply({})


def _namespace(call: Call, role: Role) -> str:
    return call.namespace(role) or call.context.config.namespace


def _map_of(body: dict[str, Any]) -> str:
    """Give the name of the config map that a request is about."""
    if body.get("type") not in _CONFIG_MAP:
        raise InvalidInputError("limits are kept in config maps; no database is served")
    name = text_of(body, "cmName")
    if not _NAME.fullmatch(name):
        raise InvalidInputError("cmName must be the name of a config map")
    return name


def _limit(body: dict[str, Any]) -> int:
    limit = body.get("limit")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 0 < limit <= MOST:
        raise InvalidInputError("limit must be greater than zero")
    return limit


def _data(call: Call, namespace: str, name: str) -> dict[str, str]:
    found = call.context.host.library.config_maps.get((namespace, name))
    return dict(found.data) if found is not None else {}


def _known(call: Call, namespace: str, name: str) -> str:
    key = call.path("key")
    data = _data(call, namespace, name)
    if key not in data:
        raise NotFoundError(f"there is no key {key[:100]!r} in a config map {name!r}")
    return data[key]


async def _keep(
    call: Call, namespace: str, name: str, change: dict[str, int | None], action: str
) -> Response:
    (key, limit), *_ = change.items()
    if not _NAME.fullmatch(key):
        raise InvalidInputError("key must be a name of letters, digits, '-', '_' and '.'")
    data = _data(call, namespace, name)
    data.pop(key, None)
    if limit is not None:
        data[key] = str(limit)
    host = call.context.host
    known = host.library.config_maps.get((namespace, name))
    meta = known.metadata if known else model.ObjectMeta(name=name, namespace=namespace)
    text = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": msgspec.to_builtins(meta),
        "data": data,
    }
    bundle = read_files([("sync", msgspec.json.encode(text))])
    host.keep(bundle, host.library.extended(bundle))
    await host.control.settle()
    subject = f"{name}/{key}" + ("" if limit is None else f" {limit}")
    await call.context.audit.note(
        call.identity, f"{action} sync limit", project=namespace, subject=subject
    )
    return reply(_shown(namespace, name, key, limit or 0))


def _shown(namespace: str, name: str, key: str, limit: int) -> dict[str, Any]:
    return {
        "type": "CONFIGMAP",
        "namespace": namespace,
        "cmName": name,
        "key": key,
        "limit": limit,
    }
