"""Measures the web pages in a real browser: a large graph, a long log, a long table.

    python benchmarks/ui.py [--nodes 10000] [--log-mib 1024] [--stored 1000000]

Needs the pages (make ui), Chromium and Playwright. Goals: the graph of 10,000 nodes can be used
within 3 s of opening it, the end of a log of 1 GiB can be read within 1 s, a table of a million
scrolls.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tiphys.store import Batch, Store, WorkflowRow

TOKEN = "the-token-of-the-benchmark"
HEAD = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow"}
PAUSE = {"name": "pause", "suspend": {"duration": "1s"}}
STEP = 10_000
BEGIN = 1.7e9
PATIENCE = 600.0


def fill(data: Path, count: int) -> None:
    """Write workflows that have ended into the store of a server that does not run yet."""
    with Store.open(data, owner=True) as store:
        for start in range(0, count, STEP):
            numbers = range(start, min(start + STEP, count))
            store.commit(Batch(submitted=[_row(number) for number in numbers]))


def _row(number: int) -> WorkflowRow:
    at = BEGIN + number
    return WorkflowRow(
        uid=str(uuid.uuid5(uuid.NAMESPACE_OID, str(number))),
        name=f"stored-{number:x}",
        namespace="default",
        phase="Failed" if number % 9 == 0 else "Succeeded",
        created_at=at,
        started_at=at,
        finished_at=at + 60,
        progress="3/3",
        manifest=b"{}",
        spec=b"{}",
        library=b"{}",
    )


class Server:
    """A real server and a plain client of it."""

    def __init__(self, data: Path) -> None:
        environment = {**os.environ, "TIPHYS_DATA_DIR": str(data), "TIPHYS_ADMIN_TOKEN": TOKEN}
        self._data = data
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tiphys", "server", "--port", "0"],
            env=environment,
            cwd=data,
            stderr=subprocess.DEVNULL,
        )

    @property
    def url(self) -> str:
        return (self._data / "http-address").read_text().strip()

    def wait(self) -> None:
        end = time.monotonic() + PATIENCE
        while not (self._data / "http-address").exists() or not self._answers():
            assert time.monotonic() < end, "the server does not come up"
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            return bool(self.ask("GET", "/api/v1/whoami")["success"])
        except OSError:
            return False

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection(self.url.partition("//")[2], timeout=PATIENCE)
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        connection.request(method, path, body and json.dumps(body), headers)
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def run(self, name: str, spec: dict[str, Any]) -> str:
        """Run a workflow to its end; give its id."""
        text = json.dumps({**HEAD, "metadata": {"name": name}, "spec": spec})
        body = {"name": name, "project_id": "default", "workflow_yaml": text}
        made = self.ask("POST", "/api/v1/workflows", body)
        assert made["success"], made
        key = str(made["data"]["id"])
        end = time.monotonic() + PATIENCE
        while True:
            listed = self.ask("GET", f"/api/v1/workflows?name={name}")["data"]
            if listed[0]["end_time"]:
                return key
            assert time.monotonic() < end, "the workflow does not end"
            time.sleep(0.2)


def fan(count: int) -> dict[str, Any]:
    """Give a workflow with one large loop."""
    call = {"name": "fan", "template": "pause", "withSequence": {"count": str(count)}}
    return {"entrypoint": "main", "templates": [{"name": "main", "steps": [[call]]}, PAUSE]}


def tree(count: int) -> dict[str, Any]:
    """Give a workflow with as many tasks, each written down."""
    tasks = [
        {"name": f"t{n}", "template": "pause", **({"dependencies": [f"t{n // 3}"]} if n else {})}
        for n in range(count)
    ]
    main = {"name": "main", "dag": {"tasks": tasks}}
    return {"entrypoint": "main", "templates": [main, PAUSE]}


def writer(mib: int) -> dict[str, Any]:
    """Give a workflow that writes a long log."""
    script = (
        f"yes 'a line of a log that is neither long nor short' | head -c {mib}M; echo; echo END"
    )
    main = {"name": "main", "container": {"image": "x", "command": ["sh", "-c", script]}}
    return {"entrypoint": "main", "templates": [main]}


@contextmanager
def opened(url: str) -> Iterator[Any]:
    """Give a page of a real browser, signed in and warm."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - a clear error if missing

    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.set_default_timeout(60_000)
        context.add_init_script(f"sessionStorage.setItem('tiphys.token', '{TOKEN}')")
        page = context.new_page()
        page.goto(f"{url}/workflows")
        page.wait_for_selector("h1")
        yield page
        browser.close()


def timed(page: Any, url: str, selector: str) -> float:
    """Give the seconds from opening an address until something can be seen."""
    begin = time.perf_counter()
    page.goto(url)
    page.wait_for_selector(selector)
    return time.perf_counter() - begin


def scrolled(page: Any, steps: int = 20) -> float:
    """Give the most seconds that rows took to appear after a jump to anywhere."""
    worst = 0.0
    for step in range(steps):
        share = ((step * 7) % steps) / steps
        begin = time.perf_counter()
        page.evaluate(
            "(share) => { const box = document.querySelector('.list-scroll');"
            " box.scrollTop = share * (box.scrollHeight - box.clientHeight); }",
            share,
        )
        page.wait_for_timeout(120)  # The page asks when scrolling has come to rest.
        page.locator(".list-row[aria-busy]").first.wait_for(state="detached")
        page.locator(".list-row[data-row]").nth(10).wait_for()
        worst = max(worst, time.perf_counter() - begin)
    return worst


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--log-mib", type=int, default=1024)
    parser.add_argument("--stored", type=int, default=1_000_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        fill(data, given.stored)
        server = Server(data)
        try:
            server.wait()
            measure(server, given)
        finally:
            server.process.terminate()
            server.process.wait(30)


def measure(server: Server, given: argparse.Namespace) -> None:
    """Print one line for each thing that is measured."""
    loop, written = server.run("loop", fan(given.nodes)), server.run("tree", tree(given.nodes))
    long = server.run("long", writer(given.log_mib)) if given.log_mib else ""
    with opened(server.url) as page:
        base = f"{server.url}/workflows"
        print(f"table of {given.stored:,}: {timed(page, base, '[data-row]'):.2f} s to open")
        print(f"table of {given.stored:,}: {scrolled(page):.2f} s at most after a jump")
        for name, key in (("one loop", loop), ("all written down", written)):
            graph = timed(page, f"{base}/{key}", ".unit")
            gantt = timed(page, f"{base}/{key}?tab=timeline", ".gantt-row")
            print(f"{given.nodes:,} nodes, {name}: graph {graph:.2f} s, timeline {gantt:.2f} s")
        if long:
            nodes = server.ask("GET", f"/api/v1/workflows/{long}")["data"]["nodes"]
            address = f"{base}/{long}?node={nodes[0]['id']}&panel=log"
            took = timed(page, address, ".log-line:has-text('END')")
            print(f"log of {given.log_mib} MiB: {took:.2f} s to its end")


if __name__ == "__main__":
    main()
