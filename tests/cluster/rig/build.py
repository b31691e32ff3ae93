"""Builds parts of the cluster with Go, each once, into the cache.

Go's checksum database vouches for what is fetched; the pinned go.mod decides the versions. Several
processes may ask for the same part: one builds, the others wait for it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.rig.parts import GO_FILES, Part

_PATIENCE = 2400


class MissingError(Exception):
    """Something that the machine lacks keeps the cluster from being built or started."""


def say(text: str) -> None:
    """Tell the person at the terminal."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def build(part: Part) -> None:
    """Build a part if it is not in the cache; raise MissingError where that cannot be done."""
    if part.is_built():
        return
    go = find_go()
    part.home.mkdir(parents=True, exist_ok=True)
    with _alone(part.home / "lock"):
        if part.is_built():
            return
        say(f"building {part.name} {part.version}; this takes minutes")
        work = part.home / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        _keep_manifests(part)
        _compile(go, part, _prepare(part, work))
        _make_writable(work)
        shutil.rmtree(work)
        (part.home / "ready").touch()


def module_folder(part: Part) -> Path:
    """Give the folder of the module's source in Go's cache: manifests are read from there."""
    go = find_go()
    asked = f"{part.module}@{part.version}"
    _run([go, "mod", "download", asked], GO_FILES.parent)
    path = subprocess.run(
        [go, "env", "GOMODCACHE"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return Path(path) / asked


def find_go() -> str:
    """Find Go, wherever its installer put it."""
    found = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if found is None:
        raise MissingError("Go is not installed: the cluster's programs cannot be built")
    return found


def _keep_manifests(part: Part) -> None:
    for folder in part.manifests:
        kept = part.home / "manifests" / folder
        if not kept.exists():
            shutil.copytree(module_folder(part) / folder, kept)
            _make_writable(kept)


def _prepare(part: Part, work: Path) -> Path:
    """Lay out the folder to build in."""
    shutil.copy(GO_FILES / part.name / "go.mod", work / "go.mod")
    if not part.copied:
        return work
    source = work / "source"
    shutil.copytree(module_folder(part), source)
    _make_writable(source)
    if part.name == "argo":
        _complete_argo(source)
    return source if part.inside else work


def _complete_argo(source: Path) -> None:
    """Add what the published module lacks: a link between two files, and the built web UI."""
    specific = source / "workflow/executor/osspecific"
    shutil.copy(specific / "signal_darwin.go", specific / "signal_linux.go")
    app = source / "ui/dist/app"
    app.mkdir(parents=True, exist_ok=True)
    (app / "index.html").write_text("no UI here\n")


def _compile(go: str, part: Part, folder: Path) -> None:
    bin_folder = part.home / "bin"
    bin_folder.mkdir(exist_ok=True)
    settings = " ".join(f"-X {name}={part.version}" for name in part.version_variables)
    for name, package in part.programs.items():
        target = bin_folder / name
        if target.exists():
            continue
        started = bin_folder / f".{name}"
        command = [go, "build", "-mod=mod", "-trimpath", f"-ldflags=-s -w {settings}"]
        _run([*command, "-o", str(started), f"{part.module}/{package}".rstrip("/")], folder)
        started.rename(target)


def _run(command: list[str], folder: Path) -> None:
    # The cluster's parts do without C; argoexec must, as it runs inside of other people's images.
    environment = os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
    environment.pop("GOROOT", None)
    # Others, tests among them, go first on a busy machine.
    gently = ["nice", "-n", "5"] if shutil.which("nice") else []
    try:
        done = subprocess.run(
            [*gently, *command],
            cwd=folder,
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        raise MissingError(f"'{' '.join(command[:3])}' took more than {_PATIENCE} s") from None
    if done.returncode:
        raise MissingError(f"'{' '.join(command[:3])}' failed: {done.stderr.strip()[-500:]}")


def _make_writable(folder: Path) -> None:
    """Undo the write protection of files that come from Go's cache."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | 0o200)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
