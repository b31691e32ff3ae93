"""Files that ``tiphys kueue inject`` wrote are valid workflows, and run here like any other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

FLOW = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: flow}
spec:
  entrypoint: main
  templates:
  - name: main
    dag:
      tasks:
      - {name: make, template: make}
      - {name: loop, template: say, depends: make, withParam: "{{tasks.make.outputs.result}}"}
      - {name: nested, template: inner, depends: make}
  - name: inner
    steps:
    - - {name: one, template: say}
      - {name: two, template: say}
  - name: make
    script: {image: alpine, command: [sh], source: "echo '[1, 2]'"}
  - name: say
    container: {image: alpine, command: [sh, -c, "true"], resources: {requests: {cpu: 10m}}}
"""


def tiphys(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tiphys", *words],
        env={**os.environ, "TIPHYS_DATA_DIR": str(folder / "data")},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_an_injected_workflow_is_valid_and_runs_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(FLOW)

    text = tiphys(tmp_path, "kueue", "inject", "flow.yaml").stdout
    (tmp_path / "paused.yaml").write_text(text)
    lint = tiphys(tmp_path, "lint", "paused.yaml")
    # Nobody is here to end the pauses: let them end by themselves.
    (tmp_path / "timed.yaml").write_text(text.replace("suspend: {}", "suspend: {duration: '0'}"))
    run = tiphys(tmp_path, "run", "--runtime", "process", "-o", "json", "timed.yaml")

    assert lint.returncode == 0, lint.stderr
    assert run.returncode == 0, run.stderr
    nodes = json.loads(run.stdout)["status"]["nodes"].values()
    pauses = [node for node in nodes if node.get("templateName") == "tiphys-kueue"]
    assert len(pauses) == 3
    behind = {p["value"] for node in pauses for p in node["inputs"]["parameters"][1:]}
    assert "[1, 2]" in {value.strip() for value in behind}
