"""Measures ``tiphys server``: durable submissions, lists of a large store, watchers.

    python benchmarks/api.py [--submissions 2000] [--stored 200000] [--watchers 1000]

The server is a real process on this machine, and so are its clients: half of the cores are theirs.
Workflows are submitted suspended, so that what is measured is the service and not their tasks.
"""

from __future__ import annotations

import argparse
import asyncio
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


def _page(number: int, stored: int) -> int:
    """Give pages from everywhere in the list, in no order."""
    return 1 + number * 7919 % max(1, stored // 20)


def cpu_of(pid: int) -> float:
    """Give the seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> float:
    """Give the resident memory of a process in MiB."""
    text = Path(f"/proc/{pid}/status").read_text()
    line = next(each for each in text.splitlines() if each.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


async def watchers(port: int, pid: int, count: int) -> str:
    """Open many streams, change each workflow once, and see how late each watcher hears of it."""
    from websockets.asyncio.client import connect  # noqa: PLC0415

    session = Session(port)
    flows = [submit(session, n)["data"]["id"] for n in range(10)]  # type: ignore[index]
    headers = {"Authorization": f"Bearer {TOKEN}"}
    begun: dict[str, float] = {}
    late: list[float] = []
    opened = asyncio.Semaphore(50)
    ready = asyncio.Barrier(count + 1)

    async def watch(workflow: str) -> None:
        address = f"ws://127.0.0.1:{port}/api/v1/workflows/{workflow}/watch"
        async with opened:
            stream = await connect(address, additional_headers=headers, ping_interval=None)
            await stream.recv()
        await ready.wait()
        async with stream:
            while json.loads(await stream.recv())["status"] in {"pending", "running"}:
                pass
            late.append(time.perf_counter() - begun[workflow])

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(watch(flows[number % len(flows)]))
        await ready.wait()
        used = memory_of(pid)
        session = Session(port)  # The other has been idle for too long by now.
        for workflow in flows:
            begun[workflow] = time.perf_counter()
            await asyncio.to_thread(session.ask, "POST", f"/workflows/{workflow}/terminate", b"{}")
    late.sort()
    most = max(used, memory_of(pid))
    return (
        f"{count} watchers: {most:.0f} MiB, delay p50 {late[len(late) // 2]:.2f} s, "
        f"p99 {late[int(len(late) * 0.99)]:.2f} s, the last {late[-1]:.2f} s"
    )


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--submissions", type=int, default=2000)
    parser.add_argument("--stored", type=int, default=200_000)
    parser.add_argument("--watchers", type=int, default=1000)
    given = parser.parse_args()
    stored = given.stored
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        ids = fill(data, given.stored)
        with served(data) as (port, pid):
            spent = cpu_of(pid)
            print(f"submit        {measure(port, given.submissions, 16, submit)}")
            each = (cpu_of(pid) - spent) / given.submissions
            # What a busy machine cannot hide: how much of a core a submission costs.
            print(f"{'':13} {each * 1000:.2f} ms of CPU each: {1 / each:.0f} /s on one core")
            reads: dict[str, Callable[[Session, int], object]] = {
                "list": lambda s, n: s.ask("GET", "/workflows"),
                "list project": lambda s, n: s.ask("GET", "/workflows?project_id=project-3"),
                "list failed": lambda s, n: s.ask("GET", "/workflows?status=failed"),
                "any page": lambda s, n: s.ask("GET", f"/workflows?page={_page(n, stored)}"),
                "any, statuses": lambda s, n: s.ask(
                    "GET", f"/workflows?status=failed&status=succeeded&page={_page(n, stored)}"
                ),
                "part of name": lambda s, n: s.ask("GET", "/workflows?name=stored"),
                "get": lambda s, n: s.ask("GET", f"/workflows/{ids[n % len(ids)]}"),
            }
            for name, work in reads.items():
                print(f"{name:<13} {measure(port, 500, 2, work)}")
            print(asyncio.run(watchers(port, pid, given.watchers)))


if __name__ == "__main__":
    main()
