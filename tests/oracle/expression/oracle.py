"""Builds the Go program of this folder and asks it.

The binary lies in a cache outside the repository, under a name made of the hash of its sources.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
Question = dict[str, Any]
Answer = dict[str, Any]


def built_oracle() -> Path:
    """Give the path of the binary; skip the test where Go or its modules are not to be had."""
    go = shutil.which("go")
    binary = _cache() / f"expression-{_digest()}"
    if binary.exists():
        return binary
    if go is None:
        pytest.skip("Go is not installed: expressions are not compared with the real libraries")
    fetched = subprocess.run(
        [go, "mod", "download"], cwd=HERE, capture_output=True, text=True, check=False
    )
    if fetched.returncode:
        pytest.skip(f"the oracle's Go modules cannot be fetched: {fetched.stderr.strip()[-200:]}")
    binary.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=binary.parent) as folder:
        made = Path(folder) / "oracle"
        # Modules are there, so a failing build is a fault of the program, not of the machine.
        subprocess.run([go, "build", "-trimpath", "-o", str(made), "."], cwd=HERE, check=True)
        made.replace(binary)
    return binary


def ask(binary: Path, questions: list[Question]) -> list[Answer]:
    """Give one answer for each question, in order."""
    done = subprocess.run(
        [str(binary)],
        input="".join(json.dumps(question) + "\n" for question in questions),
        capture_output=True,
        text=True,
        check=True,
        env={"TZ": "UTC", "PATH": os.defpath},
    )
    # Not splitlines(): that also breaks at U+2028, which Go leaves inside a line.
    answers = [json.loads(line) for line in done.stdout.split("\n") if line]
    assert len(answers) == len(questions)
    return answers


def lines(name: str) -> list[str]:
    """Read a file of cases: one per line, with comments."""
    text = (HERE / name).read_text(encoding="utf-8")
    return [line for line in text.split("\n") if line and not line.startswith("#")]


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "tiphys" / "oracle"


def _digest() -> str:
    parts = [(HERE / name).read_bytes() for name in ("main.go", "go.mod", "go.sum")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
