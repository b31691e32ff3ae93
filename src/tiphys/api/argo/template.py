"""Workflow templates and cluster workflow templates: kept as objects of the store.

Both kinds have the same routes; a cluster's belong to no namespace, so that only who may see all
namespaces changes them. Their version is the time of their last change.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.responses import Response

from tiphys.api.argo.call import Call, reply
from tiphys.api.argo.submission import check, read_object
from tiphys.api.deps import find_project
from tiphys.api.problems import RequestError
from tiphys.control.submit import named
from tiphys.errors import InvalidInputError, NotFoundError
from tiphys.service.access import Role
from tiphys.spec import model
from tiphys.spec.parse import Bundle, Parsed
from tiphys.store import ObjectRow
from tiphys.store.selector import parse_selector
from tiphys.wire.argo import API_VERSION, timestamp

Template = model.WorkflowTemplate | model.ClusterWorkflowTemplate
change = msgspec.structs.replace


@dataclass(frozen=True, slots=True)
class Templates:
    """The routes of one kind."""

    kind: str

    @property
    def _cluster(self) -> bool:
        return self.kind == "ClusterWorkflowTemplate"

    # --- routes ------------------------------------------------------------------------------

    async def create(self, call: Call) -> Response:
        """Keep a new template."""
        namespace = self._namespace(call, Role.MEMBER)
        parsed = await self._parse(call, namespace)
        meta = named(model.Workflow(metadata=parsed.value.metadata), namespace).metadata
        if self._find(call, namespace, meta.name) is not None:
            raise RequestError("name_taken", f"there is already a {self.kind} named {meta.name!r}")
        if namespace:
            await find_project(call.context, call.identity, namespace)
        now = call.context.host.clock.now()
        meta = change(
            meta, namespace=namespace, uid=str(uuid.uuid4()), creation_timestamp=timestamp(now)
        )
        return await self._keep(call, parsed, meta, "save")

    async def update(self, call: Call) -> Response:
        """Put a template in the place of its older self."""
        namespace = self._namespace(call, Role.MEMBER)
        parsed = await self._parse(call, namespace)
        meta = parsed.value.metadata
        name = call.path("name") or meta.name
        if meta.name not in {"", name}:
            raise InvalidInputError("the name of the template is not that of the request")
        old = self._need(call, namespace, name)
        known = _shown(old)["metadata"]
        if meta.resource_version not in {"", known["resourceVersion"]}:
            raise RequestError("stale", f"{self.kind} {meta.name} was changed since it was read")
        meta = change(
            meta,
            name=name,
            namespace=namespace,
            uid=known["uid"],
            creation_timestamp=known["creationTimestamp"],
        )
        return await self._keep(call, parsed, meta, "save")

    async def lint(self, call: Call) -> Response:
        """Tell what is wrong with a template; where nothing is, give it back."""
        namespace = self._namespace(call, Role.VIEWER)
        return reply(msgspec.json.encode((await self._parse(call, namespace)).value))

    async def get(self, call: Call) -> Response:
        """Show a template."""
        return reply(
            _shown(self._need(call, self._namespace(call, Role.VIEWER), call.path("name")))
        )

    async def list_all(self, call: Call) -> Response:
        """List templates."""
        namespace = self._namespace(call, Role.VIEWER)
        rows = call.context.store.objects(self.kind)
        items = [_shown(row) for row in rows if namespace in {"", row.namespace}]
        chosen = _chosen(items, call)
        limit = call.number("listOptions.limit") or 0
        begin = _place(call.text("listOptions.continue"))
        page = chosen[begin : begin + limit] if limit > 0 else chosen[begin:]
        version = str(int(call.context.host.clock.now() * 1000))
        meta: dict[str, Any] = {"resourceVersion": version}
        if begin + len(page) < len(chosen):
            meta["continue"] = str(begin + len(page))
        kind = f"{self.kind}List"
        return reply({"apiVersion": API_VERSION, "kind": kind, "metadata": meta, "items": page})

    async def delete(self, call: Call) -> Response:
        """Forget a template; runs that use it keep theirs."""
        row = self._need(call, self._namespace(call, Role.MEMBER), call.path("name"))
        await call.context.templates.remove(row)
        await self._note(call, "remove", row.namespace, row.name)
        return reply({})

    # --- parts -------------------------------------------------------------------------------

    def _namespace(self, call: Call, role: Role) -> str:
        if not self._cluster:
            return call.namespace(role) or (
                call.context.config.namespace if role is not Role.VIEWER else ""
            )
        if role is Role.VIEWER:
            call.identity.require(role, call.identity.project)
        else:
            call.identity.require(Role.ADMIN)
        return ""

    async def _parse(self, call: Call, namespace: str) -> Parsed[Template]:
        value = read_object(await call.body(), "template")
        bundle = await check(call, value, self.kind, namespace)
        return (bundle.cluster_workflow_templates if self._cluster else bundle.workflow_templates)[
            0
        ]

    def _find(self, call: Call, namespace: str, name: str) -> ObjectRow | None:
        rows = call.context.store.objects(self.kind)
        return next((r for r in rows if (r.namespace, r.name) == (namespace, name)), None)

    def _need(self, call: Call, namespace: str, name: str) -> ObjectRow:
        found = self._find(call, namespace, name)
        if found is None:
            raise NotFoundError(f"there is no {self.kind} {name[:200]!r}")
        return found

    async def _keep(
        self, call: Call, parsed: Parsed[Template], meta: model.ObjectMeta, action: str
    ) -> Response:
        host = call.context.host
        meta = change(meta, resource_version="", generate_name="")
        value = change(parsed.value, metadata=meta)
        kept = Parsed(value, parsed.document)
        if isinstance(value, model.ClusterWorkflowTemplate):
            bundle = Bundle(cluster_workflow_templates=(kept,))  # type: ignore[arg-type]
        else:
            bundle = Bundle(workflow_templates=(kept,))  # type: ignore[arg-type]
        host.keep(bundle, host.library.extended(bundle))
        await host.control.settle()
        await self._note(call, action, meta.namespace, meta.name)
        found = self._find(call, meta.namespace, meta.name)
        assert found is not None
        return reply(_shown(found))

    async def _note(self, call: Call, action: str, namespace: str, name: str) -> None:
        what = "cluster template" if self._cluster else "template"
        await call.context.audit.note(
            call.identity, f"{action} {what}", project=namespace, subject=name
        )


def _shown(row: ObjectRow) -> dict[str, Any]:
    """Give a template as Argo shows it; one that came with a submission has no uid of its own."""
    value: dict[str, Any] = msgspec.json.decode(row.body)
    place = f"{row.kind}/{row.namespace}/{row.name}"
    ours = {
        "name": row.name,
        "uid": str(uuid.uuid5(uuid.NAMESPACE_URL, place)),
        "creationTimestamp": timestamp(row.at),
        "resourceVersion": str(int(row.at * 1_000_000)),
    }
    if row.namespace:
        ours["namespace"] = row.namespace
    value["metadata"] = {**ours, **value.get("metadata", {})}
    return value


def _chosen(items: list[dict[str, Any]], call: Call) -> list[dict[str, Any]]:
    pattern = call.text("namePattern")
    chosen = [item for item in items if pattern in item["metadata"]["name"]]
    for need in parse_selector(call.text("listOptions.labelSelector")):
        chosen = [
            item
            for item in chosen
            if _has(item["metadata"].get("labels", {}), need.name, need.values) is need.wanted
        ]
    return chosen


def _has(labels: Mapping[str, str], name: str, values: tuple[str, ...] | None) -> bool:
    return name in labels and (values is None or labels[name] in values)


def _place(token: str) -> int:
    if not re.fullmatch("[0-9]{0,15}", token):
        raise InvalidInputError("listOptions.continue is not a token of ours")
    return int(token or 0)
