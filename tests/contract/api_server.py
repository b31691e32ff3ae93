"""A real server on a free port, and a plain HTTP client that hides nothing of its answers."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

ADMIN = "first-admin-token-of-the-tests"
PATIENCE = 60.0


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def data(self) -> Any:
        assert self.body["success"] is True, self.raw[:2000]
        return self.body["data"]

    @property
    def code(self) -> str:
        assert self.body["success"] is False, self.raw[:2000]
        assert self.body["error"]["request_id"] == self.headers["x-request-id"]
        return str(self.body["error"]["code"])


class ApiServer:
    """One ``tiphys server`` over a folder of its own; ends only what it started."""

    def __init__(
        self, folder: Path, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> None:
        self.folder, self.data = folder, folder / "data"
        (folder / "tiphys.yaml").write_text('{"isolation": "process", "lingerSeconds": 0.5}')
        given = {"TIPHYS_ADMIN_TOKEN": ADMIN} if environment is None else environment
        kept = {key: value for key, value in os.environ.items() if not key.startswith("TIPHYS_")}
        self.environment = {
            **kept,
            "HOME": str(folder),
            "TIPHYS_DATA_DIR": str(self.data),
            "TIPHYS_PORT": "0",
            **given,
        }
        self.arguments = arguments
        self.lines: list[str] = []
        self._ready = threading.Event()
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        self._ready.clear()
        process = subprocess.Popen(
            [sys.executable, "-m", "tiphys", "server", *self.arguments],
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, args=(process,), daemon=True)
        self._reader.start()
        return process

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        for line in process.stderr:
            self.lines.append(line.rstrip("\n"))
            if line.strip() == "tiphys server: ready" or '"message": "ready"' in line:
                self._ready.set()
        self._ready.set()

    def wait_ready(self) -> None:
        assert self._ready.wait(PATIENCE), self.said
        assert self.process.poll() is None, self.said

    @property
    def said(self) -> str:
        return "\n".join(self.lines)

    def stop(self) -> int:
        with suppress(ProcessLookupError):
            self.process.terminate()
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        if self.process.stderr is not None:
            self.process.stderr.close()
        return code

    def restart(self) -> None:
        self.stop()
        self.process = self._start()
        self.wait_ready()

    def __enter__(self) -> ApiServer:
        try:
            self.wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def port(self) -> int:
        address = (self.data / "http-address").read_text().strip()
        return int(address.rpartition(":")[2])

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = ADMIN,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request; a body that is not bytes goes as JSON."""
        sent = {"Authorization": f"Bearer {token}"} if token is not None else {}
        if body is not None:
            sent["Content-Type"] = "application/json"
        sent |= headers or {}
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, raw, sent)
            response = connection.getresponse()
            names: dict[str, str] = {}
            for name, value in response.getheaders():  # One that comes twice is one list.
                known = names.get(name.lower())
                names[name.lower()] = value if known is None else f"{known}, {value}"
            return Answer(response.status, names, response.read())
        finally:
            connection.close()

    def get(self, path: str, **how: Any) -> Answer:
        return self.ask("GET", f"/api/v1{path}", **how)

    def post(self, path: str, body: Any = None, **how: Any) -> Answer:
        return self.ask("POST", f"/api/v1{path}", body, **how)

    def delete(self, path: str, **how: Any) -> Answer:
        return self.ask("DELETE", f"/api/v1{path}", **how)

    def submit(self, text: str, **given: Any) -> str:
        """Submit a workflow and give its id."""
        how = {key: given.pop(key) for key in ("token", "headers") if key in given}
        body = {"name": "test", "project_id": "default", "workflow_yaml": text, **given}
        answer = self.post("/workflows", body, **how)
        assert answer.status == 201, answer.raw
        return str(answer.data["id"])

    def wait(self, workflow: str, *statuses: str) -> Any:
        """Look until a workflow is in one of these states (ended, if none are given)."""
        wanted = statuses or ("succeeded", "failed", "error")
        end = time.monotonic() + PATIENCE
        while True:
            found = self.get(f"/workflows/{workflow}").data
            if found["status"] in wanted:
                return found
            assert time.monotonic() < end, found
            time.sleep(0.02)

    def wait_node(self, workflow: str, name: str, status: str) -> Any:
        """Look until the node with that display name is in that state."""
        end = time.monotonic() + PATIENCE
        while True:
            found = self.get(f"/workflows/{workflow}").data["nodes"]
            for node in found:
                if node["display_name"] == name and node["status"] == status:
                    return node
            assert time.monotonic() < end, found
            time.sleep(0.02)

    def make_token(self, role: str, project: str | None, **more: Any) -> str:
        """Make a token and give its secret."""
        body = {"name": f"{role} of {project}", "role": role, "project_id": project, **more}
        return str(self.post("/tokens", body).data["token"])


def flow(script: str, *, kind: str = "container") -> str:
    """Give a workflow of one shell script."""
    return json.dumps(
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Workflow",
            "metadata": {"generateName": "t-"},
            "spec": {
                "entrypoint": "main",
                "templates": [
                    {"name": "main", kind: {"image": "any", "command": ["sh", "-c", script]}}
                ],
            },
        }
    )


def steps(*templates: Mapping[str, Any]) -> str:
    """Give a workflow that runs templates one after another, each as the step of its name."""
    chain = [[{"name": each["name"], "template": each["name"]}] for each in templates]
    return json.dumps(
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Workflow",
            "metadata": {"generateName": "t-"},
            "spec": {
                "entrypoint": "main",
                "templates": [{"name": "main", "steps": chain}, *templates],
            },
        }
    )


def shell(name: str, script: str) -> dict[str, Any]:
    """Give a template that runs a shell script."""
    return {"name": name, "container": {"image": "any", "command": ["sh", "-c", script]}}
