"""A server of the Argo API for tests: a process of its own, a real port, real tasks.

``python argo_server.py DATA PORT`` serves until it is told to end; `ArgoServer` is the tests' side.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

READY = "serving "


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class ArgoServer:
    """The tests' side of a running server."""

    def __init__(self, data: Path) -> None:
        self.data = data
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.tokens: dict[str, str] = {}
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        command = [sys.executable, __file__, str(self.data), str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(READY):
                self.tokens = json.loads(line.removeprefix(READY))
                return
        raise AssertionError("the server did not start")

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(30)
            assert self._process.stdout is not None
            self._process.stdout.close()

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str = "admin",
        accept: str = "",
        **query: Any,
    ) -> Answer:
        """Ask as Argo's command does: JSON without a content type, a connection for each request.

        Query names are written with two underscores for a dot.
        """
        with self.open(method, path, body, token=token, accept=accept, **query) as response:
            return Answer(response.status, dict(response.headers), response.read())

    @contextmanager
    def open(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str = "admin",
        accept: str = "",
        **query: Any,
    ) -> Iterator[http.client.HTTPResponse]:
        """Ask and leave the answer open, for streams."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        dotted = {key.replace("__", "."): value for key, value in query.items()}
        headers = {"Authorization": f"Bearer {self.tokens.get(token, token)}"} if token else {}
        if accept:
            headers["Accept"] = accept
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        url = f"/argo{path}" + (f"?{urlencode(dotted)}" if dotted else "")
        try:
            connection.request(method, url, data, headers)
            with connection.getresponse() as response:
                yield response
        finally:
            connection.close()

    def submit(self, workflow: Mapping[str, Any], namespace: str = "default") -> str:
        answer = self.ask("POST", f"/api/v1/workflows/{namespace}", {"workflow": workflow})
        assert answer.status == 200, answer.body
        return str(answer.json["metadata"]["name"])

    def ended(self, name: str, namespace: str = "default") -> dict[str, Any]:
        """Watch a workflow to its end, as Argo's command does."""
        for event in self.watch(name, namespace):
            if event["object"]["status"].get("finishedAt"):
                found: dict[str, Any] = event["object"]
                return found
        raise AssertionError("the watch ended before the workflow")

    def watch(self, name: str, namespace: str = "default") -> Iterator[dict[str, Any]]:
        with self.open(
            "GET",
            f"/api/v1/workflow-events/{namespace}",
            accept="text/event-stream",
            listOptions__fieldSelector=f"metadata.name={name}",
            listOptions__resourceVersion="0",
        ) as response:
            yield from events_of(response)


def events_of(response: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    """Read frames exactly as Argo's command does: six bytes off every longer line, then JSON."""
    while line := response.readline():
        if len(line) > 6:
            yield json.loads(line[6:])["result"]


@contextmanager
def serving(data: Path) -> Iterator[ArgoServer]:
    server = ArgoServer(data)
    try:
        server.start()
        yield server
    finally:
        server.stop()


# --- the other side ---------------------------------------------------------------------------


async def serve(data: Path, port: int) -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Mount

    from tiphys.api.argo import argo_routes
    from tiphys.api.context import build_context
    from tiphys.api.feeds import Feeds
    from tiphys.api.guard import Guard, Origins
    from tiphys.config import Config
    from tiphys.control.host import hosting
    from tiphys.control.service import Service
    from tiphys.service.access import Identity, Role
    from tiphys.spec.library import Library

    config, feeds = Config(isolation="process"), Feeds(lambda text: None)
    async with hosting(data, config, Library(namespace=config.namespace), feeds) as host:
        host.recover()
        host.start()
        await host.control.settle()
        context = build_context(host, Service(host), config, feeds)
        tokens = {"admin": "an-admin-of-everything"}
        context.tokens.admit_admin(tokens["admin"])
        me = Identity(token="admin", name="admin", role=Role.ADMIN)
        for name, role, project in (
            ("viewer", Role.VIEWER, "default"),
            ("member", Role.MEMBER, "default"),
            ("foreign", Role.MEMBER, "elsewhere"),
        ):
            _, tokens[name] = await context.tokens.make(me, name=name, role=role, project=project)
        past = {"expires_at": time.time() - 1}
        _, tokens["expired"] = await context.tokens.make(
            me, name="expired", role=Role.ADMIN, **past
        )
        app = Starlette(routes=[Mount("/argo", routes=argo_routes(context))])
        guarded = Guard(app, context, Origins("127.0.0.1"))
        settings = uvicorn.Config(
            guarded, port=port, log_level="warning", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(settings)
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        os.write(1, f"{READY}{json.dumps(tokens)}\n".encode())
        await task
        await context.cabinet.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2])))
