"""``hostAliases`` of workflows and templates, through the real command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WORKFLOW = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: w}
spec:
  entrypoint: main
  hostAliases: [{ip: 127.9.9.1, hostnames: [everywhere.test]}]
  templates:
  - name: main
    hostAliases: [{ip: 127.9.9.2, hostnames: [here.test, also.test]}]
    container:
      image: none
      command: [sh, -c, "for name in everywhere also; do getent hosts $name.test; done"]
"""


def test_aliases_of_workflow_and_template_are_known_to_the_task(tmp_path: Path) -> None:
    if not shutil.which("getent"):
        pytest.skip("getent is not on this machine")
    (tmp_path / "w.yaml").write_text(WORKFLOW)

    done = subprocess.run(
        [sys.executable, "-m", "tiphys", "run", "-q", "--log", "--runtime", "sandbox", "w.yaml"],
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(tmp_path), "TIPHYS_DATA_DIR": str(tmp_path / "data")},
        cwd=tmp_path,
        timeout=120,
        check=False,
    )

    if "no sandbox on this machine" in done.stderr:
        pytest.skip("no sandbox on this machine")
    assert done.returncode == 0, done.stderr
    assert [line.split()[1:] for line in done.stdout.splitlines()] == [
        ["127.9.9.1", "everywhere.test"],
        ["127.9.9.2", "here.test", "also.test"],
    ]
