"""Putting files where they belong: staged for an upload, or at the destination of a task."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tiphys.artifacts import pack, unpack
from tiphys.artifacts.copying import copy_bytes, write_all
from tiphys.artifacts.tree import finish_file
from tiphys.spec import model


def stage(source: int, name: str, archive: model.ArchiveStrategy, target: Path, level: int) -> None:
    """Write what is to be uploaded: an archive, or a plain copy that cannot change any more."""
    if archive.zip is not None:
        with target.open("xb") as file:
            pack.write_zip(source, name, file)
    elif archive.none is None:
        write_file(target, pack.gzip_chunks(pack.tar_chunks(source, name), level))
    else:
        for entry in pack.walk(source, ""):
            path = target / entry.name if entry.name else target
            if stat.S_ISDIR(entry.status.st_mode):
                path.mkdir()
            elif not entry.target:
                _copy_file(entry.descriptor, entry.status, path)


def packed_chunks(source: int, name: str, level: int) -> Iterator[bytes]:
    """Yield an open file or folder as a compressed tar archive, and close it."""
    try:
        yield from pack.gzip_chunks(pack.tar_chunks(source, name), level)
    finally:
        os.close(source)


def write_file(target: Path, chunks: Iterator[bytes]) -> None:
    """Make a file of a stream."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        for chunk in chunks:
            write_all(descriptor, chunk)
    finally:
        os.close(descriptor)


def place_file(source: int, status: os.stat_result, destination: Path) -> None:
    """Copy an open file to its destination; one that is there already is replaced."""
    try:
        _copy_file(source, status, destination)
    except FileExistsError:
        with unpack.beside(destination) as fresh:
            _copy_file(source, status, fresh)
            unpack.land(fresh, destination)


def _copy_file(source: int, status: os.stat_result, target: Path) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(target, flags, 0o600)
    except FileNotFoundError:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target, flags, 0o600)
    try:
        copy_bytes(source, descriptor, status.st_size)
        finish_file(descriptor, mode=status.st_mode, mtime=status.st_mtime)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def change_mode(path: Path, mode: int, *, recurse: bool) -> None:
    """Set the mode that a template asks for. Links are left alone."""
    mode &= 0o777
    os.chmod(path, mode)
    if not recurse:
        return
    # From the leaves up: a mode without x on a folder must not lock us out of it.
    for folder, _, files in os.walk(path, topdown=False):
        for name in files:
            if not os.path.islink(os.path.join(folder, name)):
                os.chmod(os.path.join(folder, name), mode)
        os.chmod(folder, mode)
