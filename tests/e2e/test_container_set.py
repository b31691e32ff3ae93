"""Container sets through the real command: each container's node has the times of its own run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

WORKFLOW = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: w}
spec:
  entrypoint: main
  templates:
  - name: main
    containerSet:
      containers:
      - {name: first, image: none, command: [sh, -c, "sleep 1.1"]}
      - {name: second, image: none, command: [sh, -c, "exit 3"], dependencies: [first]}
      - {name: never, image: none, command: [sh, -c, "exit 0"], dependencies: [second]}
"""


def printed(folder: Path, *words: str) -> dict[str, dict[str, Any]]:
    """Give the nodes that a command prints, by the names that people see."""
    done = subprocess.run(
        [sys.executable, "-m", "tiphys", *words, "-o", "json"],
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(folder), "TIPHYS_DATA_DIR": str(folder / "data")},
        cwd=folder,
        timeout=120,
        check=False,
    )
    nodes = json.loads(done.stdout)["status"]["nodes"].values()
    return {node["displayName"]: node for node in nodes}


def test_each_container_of_a_set_is_shown_with_its_own_times(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(WORKFLOW)

    nodes = printed(tmp_path, "run", "-q", "--runtime", "process", "w.yaml")

    assert nodes == printed(tmp_path, "get", "w")
    first, second, never = (nodes[name] for name in ("first", "second", "never"))
    assert first["startedAt"] < first["finishedAt"] <= second["startedAt"]
    assert second["finishedAt"] >= second["startedAt"]
    assert never["phase"] == "Omitted"
    assert never["startedAt"] == never["finishedAt"] == nodes["w"]["finishedAt"]
