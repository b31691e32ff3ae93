"""Packing files and folders: tar with gzip as a stream, zip into a file.

Trees are walked by descriptor and links are packed as links, never followed.
"""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

from tiphys.artifacts import beneath
from tiphys.artifacts.copying import CHUNK
from tiphys.artifacts.limits import Meter

_BLOCK = 512
DEFAULT_LEVEL = -1


class Entry:
    """One entry of a tree that is being read: its name from the top, status, and link target."""

    __slots__ = ("descriptor", "name", "status", "target")

    def __init__(
        self, name: str, status: os.stat_result, *, descriptor: int = -1, target: str = ""
    ) -> None:
        self.name = name
        self.status = status
        self.descriptor = descriptor
        """Open while the entry is the current one; -1 for a link."""
        self.target = target


def walk(descriptor: int, name: str) -> Iterator[Entry]:
    """Yield an open file or folder and everything below it, in the order of names.

    Closes what it opens, but not ``descriptor``. Pipes, sockets and devices are left out.
    """
    status = os.fstat(descriptor)
    yield Entry(name, status, descriptor=descriptor)
    if not stat.S_ISDIR(status.st_mode):
        return
    for child in sorted(os.listdir(descriptor)):
        below = f"{name}/{child}" if name else child
        yield from _walk_child(descriptor, child, below)


def _walk_child(folder: int, child: str, name: str) -> Iterator[Entry]:
    status = os.stat(child, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        yield Entry(name, status, target=os.readlink(child, dir_fd=folder))
    elif stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
        opened = os.open(child, beneath.READ, dir_fd=folder)
        try:
            yield from walk(opened, name)
        finally:
            os.close(opened)


def measure(descriptor: int, meter: Meter) -> None:
    """Count an open file or folder before it is copied: a file full of holes costs its owner
    nothing, but would fill our disk."""
    status = os.fstat(descriptor)
    if not stat.S_ISDIR(status.st_mode):
        meter.grow(status.st_size)
        return
    for _, folders, files, folder in os.fwalk(".", dir_fd=descriptor):
        for _ in folders:
            meter.entry()
        for name in files:
            meter.entry()
            meter.grow(os.stat(name, dir_fd=folder, follow_symlinks=False).st_size)


def tar_chunks(descriptor: int, name: str) -> Iterator[bytes]:
    """Yield the tar archive of an open file or folder whose top entry is called ``name``."""
    for entry in walk(descriptor, name):
        yield _header(entry)
        if stat.S_ISREG(entry.status.st_mode):
            yield from _contents(entry)
    yield bytes(2 * _BLOCK)


def _header(entry: Entry) -> bytes:
    info = tarfile.TarInfo(entry.name)
    info.mode = entry.status.st_mode & 0o777
    info.mtime = int(entry.status.st_mtime)
    if entry.target:
        info.type, info.linkname = tarfile.SYMTYPE, entry.target
    elif stat.S_ISDIR(entry.status.st_mode):
        info.type = tarfile.DIRTYPE
    else:
        info.size = entry.status.st_size
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _contents(entry: Entry) -> Iterator[bytes]:
    """Yield exactly as many bytes as the header says, even if the file changes underneath."""
    left = entry.status.st_size
    while left:
        chunk = os.read(entry.descriptor, min(left, CHUNK)) or bytes(min(left, CHUNK))
        left -= len(chunk)
        yield chunk
    if rest := entry.status.st_size % _BLOCK:
        yield bytes(_BLOCK - rest)


def gzip_chunks(chunks: Iterator[bytes], level: int = DEFAULT_LEVEL) -> Iterator[bytes]:
    """Compress a stream. The header carries no time, so equal input gives equal bytes."""
    packer = zlib.compressobj(level, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    for chunk in chunks:
        if packed := packer.compress(chunk):
            yield packed
    yield packer.flush()


def write_zip(descriptor: int, name: str, target: IO[bytes]) -> None:
    """Write the zip archive of an open file or folder; folders as such and links are left out."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in walk(descriptor, name):
            if not stat.S_ISREG(entry.status.st_mode):
                continue
            info = zipfile.ZipInfo(entry.name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (stat.S_IFREG | (entry.status.st_mode & 0o777)) << 16
            with archive.open(info, "w", force_zip64=True) as member:
                while chunk := os.read(entry.descriptor, CHUNK):
                    member.write(chunk)
