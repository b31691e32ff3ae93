"""``tiphys server`` as the clients of the Argo Server see it: a real process, a real port."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

NS = "/api/v1/workflows/default"
SSE = "text/event-stream"
PHASE = "workflows.argoproj.io/phase"
COMPLETED = "workflows.argoproj.io/completed"
ADMIN = "the-admin-of-everything"
_LISTENING = "listening on "


def shell(text: str, **more: Any) -> dict[str, Any]:
    """Give a template that runs a line of shell."""
    container = {"image": "busybox", "command": ["sh", "-c"], "args": [text]}
    return {"name": "main", "container": container, **more}


def flow(*templates: dict[str, Any], prefix: str = "flow-", **meta: Any) -> dict[str, Any]:
    """Give a workflow."""
    return {
        "metadata": {"generateName": prefix, **meta},
        "spec": {"entrypoint": "main", "templates": list(templates) or [shell("true")]},
    }


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class ArgoServer:
    """A running server, and tokens of several kinds."""

    def __init__(self, data: Path) -> None:
        self.tokens = {"admin": ADMIN}
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("TIPHYS_")},
            "TIPHYS_DATA_DIR": str(data),
            "TIPHYS_ISOLATION": "process",
            "TIPHYS_ADMIN_TOKEN": ADMIN,
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tiphys", "server", "--port", "0"],
            env=environment,
            cwd=data.parent,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.port = self._wait_until_ready()

    def _wait_until_ready(self) -> int:
        assert self._process.stderr is not None
        port, said = 0, []
        for line in self._process.stderr:
            said.append(line)
            if _LISTENING in line:
                port = urlsplit(line.split(_LISTENING)[1].strip()).port or 0
            if line.endswith(": ready\n"):
                self._drain = threading.Thread(target=self._process.stderr.read)
                self._drain.start()
                return port
        raise AssertionError(f"the server did not start: {said}")

    def stop(self) -> None:
        """End it as an init system does."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(30)
        self._drain.join()
        assert self._process.stderr is not None
        self._process.stderr.close()

    def add_token(self, name: str, role: str, project: str, **more: Any) -> str:
        """Have a token made, and give its id."""
        body = {"name": name, "role": role, "project_id": project, **more}
        answer = self.ask("POST", "/api/v1/tokens", body, base="", kind="application/json")
        assert answer.status == 201, answer.body
        self.tokens[name] = answer.json["data"]["token"]
        return str(answer.json["data"]["id"])

    def ask(self, method: str, path: str, body: Any = None, **how: Any) -> Answer:
        """Ask as Argo's command does: JSON without a content type, a connection for each request.

        Query names are written with two underscores for a dot.
        """
        with self.open(method, path, body, **how) as response:
            headers = {key.lower(): value for key, value in response.headers.items()}
            return Answer(response.status, headers, response.read())

    @contextmanager
    def open(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str = "admin",
        accept: str = "",
        kind: str = "",
        base: str = "/argo",
        **query: Any,
    ) -> Iterator[http.client.HTTPResponse]:
        """Ask and leave the answer open, for streams."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        dotted = {key.replace("__", "."): value for key, value in query.items()}
        headers = {
            "Authorization": f"Bearer {self.tokens.get(token, token)}" if token else "",
            "Accept": accept,
            "Content-Type": kind,
        }
        sent = {name: value for name, value in headers.items() if value}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        url = f"{base}{path}" + (f"?{urlencode(dotted)}" if dotted else "")
        try:
            connection.request(method, url, data, sent)
            with connection.getresponse() as response:
                yield response
        finally:
            connection.close()

    def submit(self, workflow: Mapping[str, Any], namespace: str = "default") -> str:
        """Have a workflow run and give its name."""
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

    def watch(
        self, name: str, namespace: str = "default", *, token: str = "admin"
    ) -> Iterator[dict[str, Any]]:
        """Give the events of one workflow."""
        with self.open(
            "GET",
            f"/api/v1/workflow-events/{namespace}",
            accept=SSE,
            token=token,
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
    """Have a server for a while."""
    server = ArgoServer(data)
    try:
        yield server
    finally:
        server.stop()


def names_of(answer: Answer) -> list[str]:
    """Give the names of a list."""
    return [item["metadata"]["name"] for item in answer.json["items"]]


def read_logs(response: http.client.HTTPResponse) -> list[str]:
    """Give the lines of a log stream."""
    return [event["content"] for event in events_of(response)]
