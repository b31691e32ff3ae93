"""HTTP templates against a server of the test's own: nodes, results, conditions, bodies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

TIPHYS = Path(sys.executable).with_name("tiphys")
WORKFLOW = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: asks}
spec:
  entrypoint: main
  arguments: {parameters: [{name: base}]}
  templates:
  - name: main
    dag:
      failFast: false
      tasks:
      - {name: good, template: echo}
      - name: next
        depends: good
        template: say
        arguments: {parameters: [{name: word, value: "{{tasks.good.outputs.result}}"}]}
      - {name: teapot, template: teapot}
      - {name: wanted, template: wanted}
  - name: echo
    http:
      method: POST
      url: "{{workflow.parameters.base}}/echo"
      headers: [{name: X-Word, value: oar}]
      body: "sent by {{workflow.name}}"
  - name: teapot
    http: {url: "{{workflow.parameters.base}}/teapot"}
  - name: wanted
    http: {url: "{{workflow.parameters.base}}/teapot", successCondition: response.statusCode == 418}
  - name: say
    inputs: {parameters: [{name: word}]}
    container: {image: x, command: [echo, "{{inputs.parameters.word}}"]}
"""


class _Echo(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200, self.headers["X-Word"].encode() + b": " + body)

    def do_GET(self) -> None:
        self._answer(418, b"short and stout")

    def _answer(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
        thread.join()


def _run(folder: Path, server: str, config: str) -> dict[str, Any]:
    """Run the workflow and give its nodes by name."""
    (folder / "tiphys.yaml").write_text(config)
    (folder / "asks.yaml").write_text(WORKFLOW)
    done = subprocess.run(
        [TIPHYS, "run", "-q", "-o", "json", "-p", f"base={server}", "asks.yaml"],
        capture_output=True,
        env={**os.environ, "TIPHYS_DATA_DIR": str(folder / "data")},
        cwd=folder,
        timeout=60,
        check=False,
    )
    return {node["name"]: node for node in json.loads(done.stdout)["status"]["nodes"].values()}


def test_an_answer_is_the_result_and_its_code_decides(tmp_path: Path, server: str) -> None:
    nodes = _run(tmp_path, server, 'egress: {allow: ["127.0.0.1/32"]}\n')

    assert {name: (node["type"], node["phase"]) for name, node in nodes.items()} == {
        "asks": ("DAG", "Failed"),
        "asks.good": ("HTTP", "Succeeded"),
        "asks.next": ("Pod", "Succeeded"),
        "asks.teapot": ("HTTP", "Failed"),
        "asks.wanted": ("HTTP", "Succeeded"),
    }
    assert nodes["asks.good"]["outputs"]["result"] == "oar: sent by asks"
    assert nodes["asks.next"]["inputs"]["parameters"][0]["value"] == "oar: sent by asks"


def test_this_machine_is_not_asked_unless_that_is_allowed(tmp_path: Path, server: str) -> None:
    nodes = _run(tmp_path, server, "{}\n")

    assert nodes["asks.good"]["phase"] == "Error"
    assert "egress_denied" in nodes["asks.good"]["message"]
