"""What ``tiphys doctor`` looks at: each check gives findings, and with each trouble a way out.

Looks and changes nothing: it takes no lock, talks to no executor as a server would, and starts
nothing that stays.
"""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tiphys import __version__
from tiphys.cli.inputs import data_folder, settings
from tiphys.config import find_project_file
from tiphys.errors import ConfigError, NotFoundError, StoreUnavailableError, TiphysError

MUCH = 2**30
"""Bytes that should be free on a disk."""
SOUND_SQLITE = (3, 51, 3)
LARGE = 2**30
"""A store above this size is not read through: that would take minutes."""


class Finding(NamedTuple):
    """One thing seen: ``ok``, ``note`` or ``bad``, a sentence, and what to do about it."""

    kind: str
    text: str
    fix: str = ""


def check_programs() -> Iterator[Finding]:
    """Look at what tasks and artifacts need."""
    version = platform.python_version()
    yield Finding("ok", f"tiphys {__version__}, Python {version}, {platform.platform()}")
    if sqlite3.sqlite_version_info < SOUND_SQLITE:
        yield Finding(
            "note",
            f"SQLite {sqlite3.sqlite_version}: before 3.51.3 two programs that write to one"
            " database at once can damage it",
            "nothing, as Tiphys writes with one connection alone; let no other program write to"
            " tiphys.db",
        )
    else:
        yield Finding("ok", f"SQLite {sqlite3.sqlite_version}")
    for name, use in (("sh", "most workflows"), ("git", "git artifacts")):
        path = shutil.which(name)
        if path:
            yield Finding("ok", f"{name} is {path}")
        else:
            fix = f"install {name}, or put its folder on the PATH"
            yield Finding("note", f"no {name}: {use} will fail", fix)


def check_settings() -> Iterator[Finding]:
    """Read the settings."""
    project = find_project_file(Path.cwd(), home=Path.home())
    place = os.environ.get("TIPHYS_CONFIG") or project
    try:
        config = settings()
    except TiphysError as error:
        fix = "correct that, or choose another file with TIPHYS_CONFIG"
        yield Finding("bad", f"settings: {error}", fix)
        return
    yield Finding("ok", f"settings: {place or 'no tiphys.yaml here, defaults apply'}")
    yield Finding("ok", f"namespace {config.namespace}, isolation {config.isolation}")


def check_data() -> Iterator[Finding]:
    """Look for the data directory and for room in it."""
    data = data_folder()
    above = _nearest(data)
    if not os.access(above, os.W_OK | os.X_OK):
        fix = f"make {above} writable for this user, or set TIPHYS_DATA_DIR to a folder of yours"
        yield Finding("bad", f"data directory {data}: {above} cannot be written", fix)
        return
    free, files = shutil.disk_usage(above).free, os.statvfs(above)
    text = f"data directory {data}, {free / 2**30:.1f} GiB free"
    few = files.f_files and files.f_favail < 10_000
    if free > MUCH and not few:
        yield Finding("ok", text)
        return
    text += f", room for {files.f_favail} files" if few else ""
    fix = "make room on that disk; `tiphys delete --all --older 30d` removes old workflows and logs"
    yield Finding("note", text, fix)


def check_store() -> Iterator[Finding]:
    """Read the store, if there is one."""
    from tiphys.store import Store  # noqa: PLC0415

    data = data_folder()
    try:
        url = settings().store.url
    except TiphysError:
        # What is wrong with them is told by another check.
        text = "store: not looked for, as the settings say where it is"
        yield Finding("note", text, "correct the settings first")
        return
    try:
        with Store.open(data, owner=False, url=url) as store:
            yield Finding("ok", f"store: {store.count_workflows()} workflows")
            aside = [row.name for row in store.unfinished() if row.quarantine]
    except NotFoundError:
        yield Finding("ok", "store: none yet, the first run makes it")
        return
    except TiphysError as error:
        yield Finding("bad", f"store: {error}", _store_fix(error, data, url))
        return
    if aside:
        names = ", ".join(aside[:5])
        fix = f"`tiphys get {aside[0]}` says why; delete and submit again what you need"
        yield Finding("note", f"store: {len(aside)} workflows cannot be read: {names}", fix)
    if not url:
        yield from _check_file(data / "tiphys.db")


def _store_fix(error: TiphysError, data: Path, url: str) -> str:
    if isinstance(error, ConfigError):
        return (
            "see to that, or take store.url (TIPHYS_STORE) away for a store in the data directory"
        )
    if isinstance(error, StoreUnavailableError):
        return (
            "see that PostgreSQL is up and lets this user in from here (`psql` with that address"
            " tells more), or correct store.url (TIPHYS_STORE)"
        )
    if url:
        return "see PostgreSQL's log before anything else; then bring back a backup"
    return f"put a copy of {data} aside before anything else; then bring back a backup"


def _check_file(path: Path) -> Iterator[Finding]:
    if path.stat().st_size > LARGE:
        yield Finding("ok", f"store: {path} is large and was not read through")
        return
    from tiphys.store.sqlite import connect_reader  # noqa: PLC0415

    connection = connect_reader(path)
    try:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        found = str(error)
    finally:
        connection.close()
    if found == "ok":
        yield Finding("ok", f"store: {path} is sound")
    else:
        fix = "end the server, put a copy aside, and bring back a backup or use `sqlite3 .recover`"
        yield Finding("bad", f"store: {path} is damaged: {found}", fix)


def check_processes() -> Iterator[Finding]:
    """Look for the server and the executor of the data directory."""
    from tiphys.control.door import knock  # noqa: PLC0415
    from tiphys.executor.claim import is_answered  # noqa: PLC0415
    from tiphys.executor.place import Place  # noqa: PLC0415

    data = data_folder()
    caller = knock(data)
    if caller is not None:
        caller.close()
        yield Finding("ok", "server: one is up")
    else:
        yield Finding("ok", "server: none is up; commands do things themselves")
    place = Place(data)
    if is_answered(place):
        yield Finding("ok", "executor: one is up")
    elif _is_locked(place.lock):
        fix = f"see {place.log}; if it stays so, end the process that `fuser {place.lock}` names"
        yield Finding("bad", "executor: one is there and does not answer", fix)
    else:
        yield Finding("ok", "executor: none is up; it is started when there is something to run")


def _is_locked(path: Path) -> bool:
    """Tell whether somebody holds a lock, without taking it."""
    try:
        wanted = path.stat().st_ino
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return False
    return any("FLOCK" in line and line.split()[5].endswith(f":{wanted}") for line in lines)


def check_groups() -> Iterator[Finding]:
    """Look for control groups, which limits need."""
    if sys.platform != "linux":
        return
    from tiphys.executor.group import own_groups  # noqa: PLC0415

    found = own_groups()
    open_ones = sorted(kind for kind, folder in found.items() if os.access(folder, os.W_OK))
    if {"memory", "cpu", "pids"} <= set(open_ones) or _is_delegated(found, open_ones):
        yield Finding("ok", f"control groups: limits are kept ({', '.join(open_ones)})")
        return
    kept = f"only {', '.join(open_ones)}" if open_ones else "none"
    yield Finding(
        "note",
        f"control groups: {kept} can be used; limits of memory, cpu and processes are not kept",
        "run as root, or `systemd-run --user --scope -p Delegate=yes tiphys …`, or in a service"
        " with Delegate=yes",
    )


def check_starts() -> Iterator[Finding]:
    """Look at how tasks are started."""
    if sys.platform != "linux":
        return
    from tiphys.executor import birth  # noqa: PLC0415

    why = birth.why_not()
    if not why:
        yield Finding("ok", "tasks are started without a wait (clone3)")
        return
    fix = "nothing: all works as it does elsewhere; docs/isolation.md says what it takes"
    yield Finding("note", f"tasks start slower than they could: {why}", fix)


def _is_delegated(found: dict[str, str], open_ones: list[str]) -> bool:
    if "unified" not in open_ones:
        return False
    try:
        offered = Path(found["unified"], "cgroup.controllers").read_text().split()
    except OSError:
        return False
    return {"memory", "pids"} <= set(offered)


def check_engines() -> Iterator[Finding]:
    """Look for container engines."""
    from tiphys.runtimes.config import ENGINES  # noqa: PLC0415
    from tiphys.runtimes.engine import Engine  # noqa: PLC0415

    try:
        wanted = settings().isolation
    except TiphysError:
        wanted = ""
    for name in ENGINES:
        if shutil.which(name) is None and name != wanted:
            continue
        try:
            Engine.find(name, "doctor")
            yield Finding("ok", f"{name}: works; `isolation: {name}` runs tasks in real images")
        except TiphysError as error:
            fix = f"make `{name} ps` work for this user, or set isolation to auto"
            yield Finding("bad" if name == wanted else "note", str(error), fix)


def check_sandbox() -> Iterator[Finding]:
    """Try a sandbox. The last: it may leave this process in a namespace of its own."""
    if sys.platform != "linux":
        text = "no sandbox: that takes Linux; tasks run as plain processes"
        yield Finding("note", text, "use `isolation: docker`")
        return
    from tempfile import TemporaryDirectory  # noqa: PLC0415

    from tiphys.executor.choice import choose  # noqa: PLC0415
    from tiphys.executor.place import Place  # noqa: PLC0415
    from tiphys.executor.tree import remove_tree  # noqa: PLC0415

    kind = ""
    try:
        with TemporaryDirectory(dir=_nearest(data_folder()), prefix=".tiphys-doctor-") as folder:
            place = Place(Path(folder))
            place.make_folder()
            sandbox, why = choose(place)
            kind = sandbox.kind if sandbox else ""
            remove_tree(str(place.slots))
    except OSError as error:
        why = str(error)
    yield _sandbox_finding(kind, why)


def _sandbox_finding(kind: str, why: str) -> Finding:
    if kind == "overlay":
        return Finding("ok", "sandbox: tasks change copies of this machine's files")
    if kind:
        text = "sandbox: tasks write only to /, /tmp, their working directory, outputs and volumes"
        fix = "Linux 5.11 or newer has overlays for ordinary users, or run as root"
        return Finding("note", f"{text} ({why or 'as TIPHYS_SANDBOX asks for'})", fix)
    fix = (
        "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, on Ubuntu"
        " kernel.apparmor_restrict_unprivileged_userns=0), or use `isolation: podman`"
    )
    return Finding("note", f"no sandbox ({why}): tasks run as plain processes", fix)


def _nearest(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.is_dir())


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    check_programs,
    check_settings,
    check_data,
    check_store,
    check_processes,
    check_groups,
    check_starts,
    check_engines,
    check_sandbox,
)
