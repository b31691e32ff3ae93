"""``tiphys doctor``: what this machine offers, and what is missing."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from tiphys import __version__
from tiphys.cli.failure import FAILED
from tiphys.cli.inputs import data_folder, settings
from tiphys.cli.text import Paint, wants_colour
from tiphys.config import find_project_file
from tiphys.errors import TiphysError

Finding = tuple[str, str]
"""``ok``, ``note`` or ``bad``, and a sentence."""


@click.command("doctor")
def command() -> int:
    """Tell what this machine offers. Exits with 1 when workflows cannot run here."""
    paint = Paint(wants_colour(os.environ, terminal=sys.stdout.isatty()))
    signs = {"ok": ("✔", "green"), "note": ("○", "yellow"), "bad": ("✖", "red")}
    bad = False
    for check in CHECKS:
        for kind, text in check():
            sign, colour = signs[kind]
            sys.stdout.write(f"{paint(sign, colour)} {text}\n")
            bad = bad or kind == "bad"
    return FAILED if bad else 0


def _programs() -> Iterator[Finding]:
    yield "ok", f"tiphys {__version__}, Python {platform.python_version()}, {platform.platform()}"
    yield "ok", f"SQLite {sqlite3.sqlite_version}"
    for name, use in (("sh", "most workflows"), ("git", "git artifacts")):
        path = shutil.which(name)
        yield ("ok", f"{name} is {path}") if path else ("note", f"no {name}: {use} will fail")


def _settings() -> Iterator[Finding]:
    try:
        config = settings()
    except TiphysError as error:
        yield "bad", f"settings: {error}"
        return
    project = find_project_file(Path.cwd(), home=Path.home())
    place = os.environ.get("TIPHYS_CONFIG") or project
    yield "ok", f"settings: {place or 'no tiphys.yaml here, defaults apply'}"
    yield "ok", f"namespace {config.namespace}, isolation {config.isolation}"


def _data() -> Iterator[Finding]:
    data = data_folder()
    above = next(folder for folder in (data, *data.parents) if folder.is_dir())
    if not os.access(above, os.W_OK):
        yield "bad", f"data directory {data}: {above} cannot be written"
        return
    free = shutil.disk_usage(above).free
    kind = "ok" if free > 2**30 else "note"
    yield kind, f"data directory {data}, {free / 2**30:.1f} GiB free"


def _sandbox() -> Iterator[Finding]:
    if sys.platform != "linux":
        yield "note", "no sandbox: that takes Linux; tasks run as plain processes"
        return
    from tiphys.executor.sandbox import Sandbox  # noqa: PLC0415

    data = data_folder()
    above = next(folder for folder in (data, *data.parents) if folder.is_dir())
    try:
        with tempfile.TemporaryDirectory(dir=above, prefix=".tiphys-doctor-") as folder:
            why = Sandbox(data).probe(Path(folder))
    except OSError as error:
        why = str(error)
    if why:
        yield "note", f"no sandbox ({why}): tasks run as plain processes"
    else:
        yield "ok", "sandbox: tasks cannot change files of this machine"


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (_programs, _settings, _data, _sandbox)
