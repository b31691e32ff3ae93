"""Measures ``tiphys server``: durable submissions, lists of a large store, watchers.

    python benchmarks/api.py [--submissions 2000] [--stored 200000] [--watchers 200]

The server is a real process on this machine, and so are its clients: half of the cores are theirs.
Workflows are submitted suspended, so that what is measured is the service and not their tasks.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tiphys.store import Batch, Store, WorkflowRow

TOKEN = "the-token-of-the-benchmark"
TEXT = json.dumps(
    {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"generateName": "b-"},
        "spec": {
            "entrypoint": "a",
            "suspend": True,
            "templates": [{"name": "a", "container": {"image": "x", "command": ["true"]}}],
        },
    }
)


@contextmanager
def served(data: Path) -> Iterator[tuple[int, int]]:
    """Run a server; give its port and process id."""
    environment = {
        **os.environ,
        "TIPHYS_DATA_DIR": str(data),
        "TIPHYS_ADMIN_TOKEN": TOKEN,
        "TIPHYS_PORT": "0",
        "TIPHYS_ISOLATION": "process",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tiphys", "server"],
        env=environment,
        cwd=data.parent,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if "ready" in line:
                break
        port = int((data / "http-address").read_text().rpartition(":")[2])
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


class Session:
    """One connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        """Send a request and read the answer."""
        self._connection.request(method, f"/api/v1{path}", body, self._headers)
        response = self._connection.getresponse()
        raw = response.read()
        assert response.status < 300, raw
        return json.loads(raw)


def measure(port: int, count: int, threads: int, work: Callable[[Session, int], object]) -> str:
    """Do ``count`` requests over several connections and describe how long they took."""
    took: list[float] = []

    def run(first: int) -> None:
        session = Session(port)
        for number in range(first, count, threads):
            begun = time.perf_counter()
            work(session, number)
            took.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    running = [threading.Thread(target=run, args=(first,)) for first in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    rate = count / (time.perf_counter() - begun)
    took.sort()
    half, most = took[len(took) // 2] * 1000, took[int(len(took) * 0.99)] * 1000
    return f"{rate:8.0f} /s   p50 {half:6.1f} ms   p99 {most:6.1f} ms"


def submit(session: Session, number: int) -> object:
    """Submit one workflow."""
    body = {"name": f"b-{number % 100}", "project_id": "default", "workflow_yaml": TEXT}
    return session.ask("POST", "/workflows", json.dumps(body).encode())


def fill(data: Path, count: int) -> list[str]:
    """Put finished workflows into the store; give some of their ids."""
    spec = json.dumps(json.loads(TEXT)["spec"]).encode()
    ids = []
    with Store.open(data, owner=True) as store:
        for start in range(0, count, 5000):
            rows = [_row(number, spec) for number in range(start, min(count, start + 5000))]
            store.commit(Batch(submitted=rows))
            ids.append(f"wf-{rows[0].uid}")
    return ids


def _row(number: int, spec: bytes) -> WorkflowRow:
    return WorkflowRow(
        uid=str(uuid.uuid4()),
        name=f"stored-{number}",
        namespace=f"project-{number % 10}",
        phase="Succeeded" if number % 10 else "Failed",
        created_at=1.7e9 + number,
        started_at=1.7e9 + number,
        finished_at=1.7e9 + number + 5,
        progress="1/1",
        manifest=TEXT.encode(),
        spec=spec,
        library=b"{}",
    )


def memory_of(pid: int) -> float:
    """Give the resident memory of a process in MiB."""
    text = Path(f"/proc/{pid}/status").read_text()
    line = next(each for each in text.splitlines() if each.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def watchers(port: int, pid: int, count: int) -> str:
    """Open many streams on one workflow, end it, and see how late the last one hears of it."""
    from contextlib import ExitStack  # noqa: PLC0415

    from websockets.sync.client import connect  # noqa: PLC0415

    session = Session(port)
    workflow = submit(session, 0)["data"]["id"]  # type: ignore[index]
    address = f"ws://127.0.0.1:{port}/api/v1/workflows/{workflow}/watch"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with ExitStack() as stack:
        streams = [
            stack.enter_context(connect(address, additional_headers=headers, ping_interval=None))
            for _ in range(count)
        ]
        for stream in streams:
            stream.recv()
        used = memory_of(pid)
        begun = time.perf_counter()
        session.ask("POST", f"/workflows/{workflow}/terminate", b"{}")
        for stream in streams:
            while json.loads(stream.recv())["status"] == "running":
                pass
        took = time.perf_counter() - begun
    return f"{count} watchers: {used:.0f} MiB, the last heard of the end after {took:.2f} s"


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--submissions", type=int, default=2000)
    parser.add_argument("--stored", type=int, default=200_000)
    parser.add_argument("--watchers", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        ids = fill(data, given.stored)
        with served(data) as (port, pid):
            print(f"submit        {measure(port, given.submissions, 16, submit)}")
            reads: dict[str, Callable[[Session, int], object]] = {
                "list": lambda s, n: s.ask("GET", "/workflows"),
                "list project": lambda s, n: s.ask("GET", "/workflows?project_id=project-3"),
                "list failed": lambda s, n: s.ask("GET", "/workflows?status=failed"),
                "get": lambda s, n: s.ask("GET", f"/workflows/{ids[n % len(ids)]}"),
            }
            for name, work in reads.items():
                print(f"{name:<13} {measure(port, 500, 2, work)}")
            print(watchers(port, pid, given.watchers))


if __name__ == "__main__":
    main()
