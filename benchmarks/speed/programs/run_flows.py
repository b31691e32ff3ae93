"""Submits many workflows of one task to a server of Tiphys and waits until all have ended.

    run_flows.py WIDTH DEPTH ISOLATION

The server is a real process with a data directory of its own; this is its client, over several
connections, one workflow a request.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from told import AT_ONCE, Stopwatch, shape

TOKEN = "the-token-of-the-benchmark"
FLOW = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Workflow",
    "metadata": {"generateName": "b-"},
    "spec": {
        "entrypoint": "main",
        "templates": [{"name": "main", "container": {"image": "x", "command": ["/bin/true"]}}],
    },
}


def start_server(data: Path, isolation: str) -> subprocess.Popen[str]:
    """Start a server and wait until it is ready."""
    environment = {
        **os.environ,
        "TIPHYS_DATA_DIR": str(data),
        "TIPHYS_ADMIN_TOKEN": TOKEN,
        "TIPHYS_PORT": "0",
        "TIPHYS_ISOLATION": isolation,
    }
    words = [sys.executable, "-m", "tiphys", "server", "--rate-limit", "0"]
    server = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    for line in server.stderr:
        if "ready" in line:
            break
    # Nobody may block on a full pipe: what else it says is thrown away.
    threading.Thread(target=server.stderr.read, daemon=True).start()
    return server


class Session:
    """One connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: object = None) -> dict[str, object]:
        """Send a request and read the answer."""
        raw = None if body is None else json.dumps(body).encode()
        self._connection.request(method, f"/api/v1{path}", raw, self._headers)
        response = self._connection.getresponse()
        text = response.read()
        if response.status >= 300:
            sys.exit(f"{response.status}: {text.decode()}")
        answer: dict[str, object] = json.loads(text)
        return answer


def submit_all(port: int, count: int) -> None:
    """Submit over several connections at once."""
    text = json.dumps(FLOW)

    def run(first: int) -> None:
        session = Session(port)
        for number in range(first, count, AT_ONCE):
            body = {"name": f"b-{number}", "project_id": "default", "workflow_yaml": text}
            session.ask("POST", "/workflows", body)

    threads = [threading.Thread(target=run, args=(first,)) for first in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def count_of(session: Session, status: str) -> int:
    """Count the workflows of a status."""
    answer = session.ask("GET", f"/workflows?status={status}&limit=1")
    return int(answer["pagination"]["total"])  # type: ignore[index]


def main() -> None:
    """Run it."""
    count, _ = shape()
    data = Path.cwd() / "data"
    server = start_server(data, sys.argv[3])
    try:
        port = int((data / "http-address").read_text().rpartition(":")[2])
        watch = Stopwatch()
        submit_all(port, count)
        session = Session(port)
        while count_of(session, "succeeded") < count:
            if count_of(session, "failed") or count_of(session, "error"):
                sys.exit("a workflow failed")
            time.sleep(0.05)
        watch.tell()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
