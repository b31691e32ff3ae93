"""Artifacts for download: as stored, never to be shown by a browser as part of this site."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import AsyncIterator
from urllib.parse import quote

import msgspec
from starlette.responses import Response, StreamingResponse

from tiphys.api.argo.call import Call
from tiphys.api.context import ApiContext
from tiphys.artifacts import ConfigMapText, Repositories
from tiphys.artifacts.location import key_of
from tiphys.control.host import Host
from tiphys.control.secrets import SecretFolder, secret_values
from tiphys.errors import InvalidInputError, NotFoundError
from tiphys.service.access import Role
from tiphys.spec import model
from tiphys.store import WorkflowRow
from tiphys.wire.argo import decode_node

HEADERS = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "private, no-store",
}


class _Reference(msgspec.Struct, rename="camel"):
    artifact_repository_ref: model.ArtifactRepositoryRef | None = None


class _Keeper:
    """Reads what artifact storage asks for."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def secret(self, namespace: str, name: str, key: str) -> bytes:
        found = secret_values(self._host.library, namespace, name)
        kept = SecretFolder(self._host.data / "secrets")
        return (found or kept.load(namespace, name) or {})[key]

    def config_map(self, namespace: str, name: str) -> ConfigMapText | None:
        found = self._host.library.config_maps.get((namespace, name))
        if found is None:
            return None
        return ConfigMapText(data=found.data, annotations=found.metadata.annotations)


def _repositories(context: ApiContext) -> Repositories:
    keeper = _Keeper(context.host)
    return Repositories(
        root=context.host.data / "artifacts",
        config=context.config.artifact_config(),
        secrets=keeper.secret,
        config_maps=keeper.config_map,
    )


class Downloads:
    """The routes of artifacts."""

    def __init__(self) -> None:
        self._known: Repositories | None = None

    async def output(self, call: Call) -> Response:
        """Send an output artifact of a node."""
        return await self._send(call, call.workflow(Role.VIEWER), inputs=False)

    async def input(self, call: Call) -> Response:
        """Send an input artifact of a node."""
        return await self._send(call, call.workflow(Role.VIEWER), inputs=True)

    async def output_by_uid(self, call: Call) -> Response:
        """Send an output artifact of a node of the workflow with a uid."""
        return await self._send(call, call.workflow_by_uid(Role.VIEWER), inputs=False)

    async def input_by_uid(self, call: Call) -> Response:
        """Send an input artifact of a node of the workflow with a uid."""
        return await self._send(call, call.workflow_by_uid(Role.VIEWER), inputs=True)

    async def file(self, call: Call) -> Response:
        """Send an artifact by the long path that Argo's own pages use."""
        places = {"workflows", "archived-workflows"}
        if call.path("place") not in places or call.path("way") not in {"inputs", "outputs"}:
            raise InvalidInputError("expected …/workflows/NAME/NODE/outputs/ARTIFACT")
        row = call.workflow(Role.VIEWER, call.path("id"))
        return await self._send(call, row, inputs=call.path("way") == "inputs")

    async def _send(self, call: Call, row: WorkflowRow, *, inputs: bool) -> Response:
        artifact = _find(call, row, inputs=inputs)
        self._known = stores = self._known or _repositories(call.context)
        ref = msgspec.json.decode(row.spec, type=_Reference).artifact_repository_ref
        home = stores.repository(row.namespace, ref)
        artifact = stores.resolve(artifact, namespace=row.namespace, repository=home)
        chunks = await asyncio.to_thread(stores.read, artifact, namespace=row.namespace)

        async def body() -> AsyncIterator[bytes]:
            while chunk := await asyncio.to_thread(next, chunks, b""):
                yield chunk

        name = posixpath.basename(key_of(artifact).rstrip("/")) or artifact.name
        disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
        headers = {**HEADERS, "Content-Disposition": disposition}
        return StreamingResponse(body(), headers=headers, media_type="application/octet-stream")


def _find(call: Call, row: WorkflowRow, *, inputs: bool) -> model.Artifact:
    node = decode_node(call.context.store.node(row.uid, call.path("node")).body)
    side = node.inputs if inputs else node.outputs
    for artifact in side.artifacts if side is not None else ():
        if artifact.name == call.path("artifact"):
            return artifact
    name = call.path("artifact")
    raise NotFoundError(f"node {node.id} has no artifact {name[:200]!r}")
