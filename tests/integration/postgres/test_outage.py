"""PostgreSQL stopped hard again and again while workflows run: the loop waits, nothing is lost.

``TIPHYS_CHAOS=full`` runs a thousand workflows (``make chaos``).
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.flow import LINES, shell, workflow
from tests.chaos.helm import FULL, Served, wait_until
from tests.integration.postgres.fleet import Fleet, ask, ask_until, port_of, submission
from tests.integration.postgres.server import PostgresServer
from tiphys.testing.ledger import Ledger

COUNT = 1000 if FULL else 40
EVERY = 3.0 if FULL else 0.7
"""Seconds that the database is up."""
Record = Callable[[str, object], None]
pytestmark = pytest.mark.timeout(3600 if FULL else 600)


def _flow(number: int, ledger: Ledger) -> tuple[dict[str, Any], list[str]]:
    """Give two tasks, one after the other, that keep the ledger."""
    keys = [f"w{number}-a", f"w{number}-b"]
    steps = [
        [{"name": key[-1], "template": "task", "arguments": {"parameters": [_key(key)]}}]
        for key in keys
    ]
    script = ledger.script("{{inputs.parameters.key}}", lines=LINES)
    main: Mapping[str, Any] = {"name": "main", "steps": steps}
    templates = [main, shell("task", script)]
    return workflow(f"w{number}", templates), keys


def _key(value: str) -> dict[str, str]:
    return {"name": "key", "value": value}


class Outages:
    """Stops the database hard and starts it again, until told to end."""

    def __init__(self, server: PostgresServer) -> None:
        self._server, self._over = server, threading.Event()
        self.count = 0
        self.second = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Outages:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(EVERY):
            self._server.kill()
            self.count += 1
            if self.count == 2:
                self.second.set()
            self._server.start()


def test_the_database_is_stopped_hard_every_few_seconds(
    own: PostgresServer, tmp_path: Path, record_property: Record
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    flows = [_flow(number, ledger) for number in range(COUNT)]
    keys = [key for _, own_keys in flows for key in own_keys]
    with Fleet(tmp_path, own.database_of(tmp_path)) as fleet:
        served = fleet.up("one")
        begun = time.monotonic()
        with Outages(own) as outages, ThreadPoolExecutor(4) as pool:
            half = len(flows) // 2
            ids = list(pool.map(lambda flow: _submit(served, flow[0]), flows[:half]))
            # However fast the machine is: the rest meets a second outage.
            assert outages.second.wait(60)
            ids += pool.map(lambda flow: _submit(served, flow[0]), flows[half:])
            found = [_ended(served, each) for each in ids]

        record_property("outages", outages.count)
        record_property("seconds", round(time.monotonic() - begun, 1))
        record_property("workflows", len(ids))
        assert outages.count >= 2
        assert served.process.poll() is None, served.said
        assert len(set(ids)) == COUNT
        assert [each["status"] for each in found] == ["succeeded"] * COUNT
        assert ledger.problems(keys) == []
        total = ask_until(served, "GET", "/workflows?limit=1")
        assert total, "the list is empty"


def _health(served: Served, path: str) -> tuple[int, str]:
    """Ask without a token, as a load balancer does; 0 where nobody answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port_of(served), timeout=60)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    except (OSError, http.client.HTTPException):
        return 0, ""
    finally:
        connection.close()


def test_a_server_is_ready_only_while_its_database_answers(
    own: PostgresServer, tmp_path: Path
) -> None:
    url = own.database_of(tmp_path)
    own.kill()
    with Fleet(tmp_path, url) as fleet:
        served = fleet.helm("one").serve()
        wait_until(lambda: "listening on" in served.said, "the port")
        assert _health(served, "/readyz")[0] == 503
        assert _health(served, "/healthz")[0] == 200
        assert served.ready_after is None

        own.start()
        wait_until(lambda: _health(served, "/readyz")[0] == 200, "readiness")
        served.wait_ready()
        own.kill()
        status, text = _health(served, "/readyz")
        assert (status, "not ready: store" in text) == (503, True), text
        assert _health(served, "/healthz")[0] == 200
        status, body = ask(served, "GET", "/workflows")
        assert (status, body["error"]["code"]) == (503, "store_unavailable")

        own.start()
        wait_until(lambda: _health(served, "/readyz")[0] == 200, "readiness again")
        assert served.process.poll() is None


def _submit(served: Served, flow: dict[str, Any]) -> str:
    name = flow["metadata"]["name"]
    made = ask_until(served, "POST", "/workflows", submission(flow, name), key=f"key-{name}")
    return str(made["id"])


def _ended(served: Served, workflow_id: str) -> Any:
    while True:
        found = ask_until(served, "GET", f"/workflows/{workflow_id}")
        if found["status"] in {"succeeded", "failed", "error"}:
            return found
        time.sleep(0.1)
