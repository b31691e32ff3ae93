"""Several ``tiphys server`` processes over one PostgreSQL, and a look at what they say."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.chaos.helm import Helm, Served, wait_until

TOKEN = "token-of-the-tests-of-many-servers"
PATIENCE = 120.0
_LISTENING = re.compile(r"listening on http://127\.0\.0\.1:(\d+)")


class Fleet:
    """Servers over one database; each data directory may have several."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self._helms: dict[str, Helm] = {}
        self.servers: list[Served] = []

    def helm(self, name: str) -> Helm:
        """Give a data directory."""
        if name not in self._helms:
            place = self.folder / name
            place.mkdir()
            helm = Helm(place)
            helm.environment |= {"TIPHYS_STORE": self.url, "TIPHYS_ADMIN_TOKEN": TOKEN}
            self._helms[name] = helm
        return self._helms[name]

    def up(self, name: str) -> Served:
        """Start a server and wait until it answers, be it for another."""
        served = self.helm(name).up()
        self.servers.append(served)
        return served

    def __enter__(self) -> Fleet:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for helm in self._helms.values():
            for served in helm.servers:
                served.kill()
        for helm in self._helms.values():
            helm.close()


def port_of(served: Served) -> int:
    """Give the port that a server listens on."""
    found = _LISTENING.findall(served.said)
    assert found, served.said
    return int(found[-1])


def ask(
    served: Served, method: str, path: str, body: Any = None, *, key: str = ""
) -> tuple[int, Any]:
    """Send one request; give the status and the body."""
    connection = http.client.HTTPConnection("127.0.0.1", port_of(served), timeout=PATIENCE)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    headers |= {"Idempotency-Key": key} if key else {}
    try:
        raw = None if body is None else json.dumps(body).encode()
        connection.request(method, f"/api/v1{path}", raw, headers)
        response = connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else None
    finally:
        connection.close()


def ask_until(served: Served, method: str, path: str, body: Any = None, *, key: str = "") -> Any:
    """Ask again while nobody leads, as a client does that is told 503; give the data."""
    end = time.monotonic() + PATIENCE
    while True:
        with suppress(OSError, http.client.HTTPException):
            status, found = ask(served, method, path, body, key=key)
            if status != 503:
                assert status < 300, found
                return found["data"]
        assert time.monotonic() < end, served.said
        time.sleep(0.1)


def submission(workflow: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Give the body that submits a workflow."""
    return {"name": name, "project_id": "default", "workflow_yaml": json.dumps(workflow)}


def leads(served: Served) -> bool:
    """Tell whether a server leads."""
    return any("listening on" in line and "following" not in line for line in list(served.lines))


def wait_leading(served: Served) -> float:
    """Wait until a server leads; give how long that took."""
    return wait_until(lambda: leads(served), "a new leader")


def kill(served: Served) -> None:
    """SIGKILL."""
    os.kill(served.process.pid, signal.SIGKILL)
    served.kill()
