"""A copy of a store in SQLite, made while its owner goes on writing.

All pages are copied within one reading transaction, which holds nobody up: the copy is the store at
one instant. It is checked, synced and only then given its name: a file of that name is whole. It is
never given the name of a store's own file, by whatever path that is meant: whoever has the store
open would go on writing to a file that nobody finds any more.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

from tiphys.errors import ConflictError, NotFoundError, StoreError
from tiphys.store import lock, sqlite
from tiphys.store.lock import sync_folder
from tiphys.store.migrate import check_readable

_FILES = tuple(sqlite.NAME + suffix for suffix in ("", "-wal", "-shm", "-journal"))
"""A store and what SQLite keeps beside it."""


def back_up(folder: Path, target: Path, *, replace: bool = False) -> int:
    """Copy the store of ``folder`` to the file ``target``; give its size."""
    source = folder / sqlite.NAME
    if not source.exists():
        raise NotFoundError(f"there is no store in {folder}")
    _check_target(target, folder)

    def write(partial: Path) -> None:
        with sqlite.translated(source):
            _copy(source, partial)

    return _keep(target, write, replace=replace)


def keep_copy(pieces: Iterable[bytes], target: Path, folder: Path, *, replace: bool = False) -> int:
    """Write a copy that comes from elsewhere to the file ``target``; give its size.

    The store of ``folder``, if there is one, is left alone.
    """
    _check_target(target, folder)

    def write(partial: Path) -> None:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            for piece in pieces:
                file.write(piece)

    return _keep(target, write, replace=replace)


def _check_target(target: Path, folder: Path) -> None:
    """Refuse to replace files of the store of ``folder``, or of another data directory."""
    real = Path(os.path.realpath(target))  # Of links that go round in circles it makes no fuss.
    if real.name in _FILES and (real.parent / lock.NAME).exists():
        folder = real.parent
    elif not any(_is_same(target, folder / name) for name in (*_FILES, lock.NAME)):
        return
    raise ConflictError(f"{target} belongs to the store in {folder}: give the copy another name")


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, also by links, or would if it were there."""
    try:
        return one.samefile(other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def _keep(target: Path, write: Callable[[Path], None], *, replace: bool) -> int:
    """Have a copy written under another name; check and sync it, and only then give it its own."""
    if target.exists() and not replace:
        raise ConflictError(f"{target} exists; --force replaces it")
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        write(partial)
        with sqlite.translated(target):
            _check(partial)
        _sync(partial)
        partial.replace(target)
        sync_folder(target.parent)
    except OSError as error:
        raise StoreError(f"{target}: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)
    return target.stat().st_size


def _copy(source: Path, partial: Path) -> None:
    # For its owner's eyes only, as the store itself.
    os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600))
    with closing(sqlite.connect_reader(source)) as reader:
        check_readable(reader, source)
        with closing(sqlite3.connect(partial)) as writer:
            reader.backup(writer)  # In one go: between two it would begin anew.
            # The copy is one file, without a log beside it.
            writer.execute("PRAGMA journal_mode = DELETE")


def _check(partial: Path) -> None:
    with closing(sqlite3.connect(f"{partial.absolute().as_uri()}?mode=ro", uri=True)) as copy:
        (found,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise StoreError(f"the copy is damaged, and so may be the store: {found}")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
