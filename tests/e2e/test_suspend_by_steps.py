"""``suspendBySteps`` on this machine: ``tiphys resume`` lets one layer after the other start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FLOW = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: flow}
spec:
  suspendBySteps: true
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: first, template: say, withItems: [1, 2]}
    - - {name: second, template: say}
  - name: say
    container: {image: alpine, command: ["true"]}
"""
LIMIT = 120.0


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "TIPHYS_DATA_DIR": str(folder / "data")}


def tiphys(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tiphys", *words],
        env=environment(folder),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def phases(folder: Path) -> dict[str, str]:
    """Give the phases of the pods by name; nothing before the run is on record."""
    done = tiphys(folder, "get", "flow", "-o", "json")
    if done.returncode:
        return {}
    nodes: dict[str, Any] = json.loads(done.stdout)["status"].get("nodes") or {}
    return {n["displayName"]: n["phase"] for n in nodes.values() if n["type"] == "Pod"}


def wait_for(folder: Path, expected: dict[str, str]) -> None:
    end = time.monotonic() + LIMIT
    while (found := phases(folder)) != expected:
        assert time.monotonic() < end, found
        time.sleep(0.2)


def test_each_resume_releases_the_next_layer(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(FLOW)
    words = ["run", "--runtime", "process", "flow.yaml"]
    with subprocess.Popen(
        [sys.executable, "-m", "tiphys", *words],
        env=environment(tmp_path),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            wait_for(tmp_path, {"first(0:1)": "Pending", "first(1:2)": "Pending"})
            assert "waits to be resumed" in tiphys(tmp_path, "explain", "flow").stdout

            assert tiphys(tmp_path, "resume", "flow").returncode == 0
            done = {"first(0:1)": "Succeeded", "first(1:2)": "Succeeded"}
            wait_for(tmp_path, {**done, "second": "Pending"})
            assert tiphys(tmp_path, "resume", "flow").returncode == 0

            assert process.wait(LIMIT) == 0
            assert phases(tmp_path) == {**done, "second": "Succeeded"}
        finally:
            process.kill()


def test_lint_says_that_argo_would_not_pause(tmp_path: Path) -> None:
    labelled = FLOW.replace(
        "{name: flow}", "{name: flow, labels: {tiphys.dev/scheduler: argo-default}}"
    )
    (tmp_path / "ours.yaml").write_text(FLOW)
    (tmp_path / "argo.yaml").write_text(labelled)

    ours, theirs = tiphys(tmp_path, "lint", "ours.yaml"), tiphys(tmp_path, "lint", "argo.yaml")

    assert (ours.returncode, theirs.returncode) == (0, 0)
    assert "suspendBySteps" not in ours.stdout + ours.stderr
    assert "suspendBySteps" in theirs.stdout + theirs.stderr
