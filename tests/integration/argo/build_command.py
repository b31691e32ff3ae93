"""Builds the real ``argo`` command into the cache.

``python -m tests.integration.argo.build_command`` needs Go and its module proxy, and some minutes.
The archive of the module lacks a link and the built pages of the web UI; both get a substitute.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.integration.argo.cache import ARGO, command_path

MODULE = f"github.com/argoproj/argo-workflows/v4@v{ARGO}"


def build() -> Path:
    """Build it where it is not there yet."""
    target = command_path()
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        source = Path(folder) / "source"
        shutil.copytree(_fetched(Path(folder)), source, copy_function=shutil.copyfile)
        signals = source / "workflow/executor/osspecific"
        signals.chmod(0o755)
        shutil.copyfile(signals / "signal_darwin.go", signals / "signal_linux.go")
        pages = source / "ui/dist/app"
        (source / "ui").chmod(0o755)
        pages.mkdir(parents=True)
        (pages / "index.html").write_text("placeholder")
        made = Path(folder) / "argo"
        environment = {**os.environ, "CGO_ENABLED": "0"}
        subprocess.run(
            ["go", "build", "-o", str(made), "./cmd/argo"], cwd=source, env=environment, check=True
        )
        made.replace(target)
        for each in source.rglob("*"):
            if each.is_dir():
                each.chmod(0o755)
    return target


def _fetched(folder: Path) -> Path:
    done = subprocess.run(
        ["go", "mod", "download", "-json", MODULE],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(json.loads(done.stdout)["Dir"])


if __name__ == "__main__":
    build()
