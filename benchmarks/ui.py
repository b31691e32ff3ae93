"""Measures the web pages in a real browser: a large graph, a long log, a long table.

    python benchmarks/ui.py [--nodes 10000] [--log-mib 1024] [--stored 1000000]

Needs the pages (make ui), Chromium and Playwright. Goals: the graph of 10,000 nodes can be used
within 3 s of opening it, the end of a log of 1 GiB can be read within 1 s, a table of a million
scrolls. Each line tells the seconds on the clock, and those of the processor that the browser (all
of its processes) and the server took: the latter two hold on a busy machine, too.
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
from dataclasses import dataclass
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


@dataclass
class Meter:
    """A page of a real browser, and what it and the server have cost."""

    page: Any
    processes: Any
    """Tells the processor time of the browser's processes."""
    server: Server

    def spent(self) -> tuple[float, float, float]:
        """Give clock, browser and server in seconds."""
        found = self.processes.send("SystemInfo.getProcessInfo")["processInfo"]
        fields = Path(f"/proc/{self.server.process.pid}/stat").read_text().rpartition(")")[2]
        user, system = (int(each) for each in fields.split()[11:13])
        ticks = os.sysconf("SC_CLK_TCK")
        return (
            time.perf_counter(),
            sum(each["cpuTime"] for each in found),
            (user + system) / ticks,
        )

    def opening(self, what: str, url: str, selector: str) -> None:
        """Print what it takes from opening an address until something can be seen."""
        with self.told(what):
            self.page.goto(url)
            self.page.wait_for_selector(selector)

    @contextmanager
    def told(self, what: str) -> Iterator[None]:
        """Print what something takes."""
        before = self.spent()
        yield
        took = [after - then for after, then in zip(self.spent(), before, strict=True)]
        words = "{:.2f} s ({:.2f} s of CPU in the browser, {:.2f} s in the server)"
        print(f"{what}: {words.format(*took)}", flush=True)


@contextmanager
def opened(server: Server) -> Iterator[Meter]:
    """Give a browser, signed in and warm."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - a clear error if missing

    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.set_default_timeout(60_000)
        context.add_init_script(f"sessionStorage.setItem('tiphys.token', '{TOKEN}')")
        page = context.new_page()
        page.goto(f"{server.url}/workflows")
        page.wait_for_selector("h1")
        yield Meter(page, browser.new_browser_cdp_session(), server)
        browser.close()


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
    with opened(server) as meter:
        measure_table(meter, given.stored)
        for name, key in (("one loop", loop), ("all written down", written)):
            measure_graph(meter, f"{given.nodes:,} nodes, {name}", key)
        if long:
            nodes = server.ask("GET", f"/api/v1/workflows/{long}")["data"]["nodes"]
            address = f"{server.url}/workflows/{long}?node={nodes[0]['id']}&panel=log"
            end = ".log-line:has-text('END')"
            meter.opening(f"log of {given.log_mib} MiB, to its end", address, end)


def measure_table(meter: Meter, stored: int) -> None:
    """Print how the long table opens and scrolls."""
    meter.opening(f"table of {stored:,}, opened", f"{meter.server.url}/workflows", "[data-row]")
    with meter.told(f"table of {stored:,}, 20 jumps"):
        worst = scrolled(meter.page)
    print(f"table of {stored:,}, the slowest jump: {worst:.2f} s", flush=True)


def measure_graph(meter: Meter, what: str, key: str) -> None:
    """Print how a large graph opens, answers and is moved."""
    address = f"{meter.server.url}/workflows/{key}"
    meter.opening(f"{what}, graph", address, ".unit")
    with meter.told(f"{what}, a box opened after that"):
        meter.page.locator(".unit").first.click()
        meter.page.wait_for_selector(".panel [role=tab], .unit-toggle[aria-expanded=true]")
    with meter.told(f"{what}, moved and zoomed 20 times"):
        _move(meter.page)
    meter.opening(f"{what}, timeline", f"{address}?tab=timeline", ".gantt-row")


def _move(page: Any) -> None:
    box = page.locator(".react-flow").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for step in range(20):
        page.mouse.wheel(0, 120 if step % 4 else -240)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done()))")


if __name__ == "__main__":
    main()
