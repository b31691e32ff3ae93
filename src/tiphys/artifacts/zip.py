"""Reading zip archives from people we do not know.

The library parses; what it believes is checked here: how large the directory is before it is read,
that entries do not share bytes, and that an entry is no longer than the caps allow, whatever it
says about itself.
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

from tiphys.artifacts.copying import CHUNK
from tiphys.artifacts.limits import Limits
from tiphys.artifacts.tree import TreeWriter
from tiphys.errors import ArtifactError, ArtifactUnsafeError

_END = b"PK\x05\x06"
_LARGE_END = b"PK\x06\x06"
_LONGEST_TAIL = 65536 + 22 + 20 + 56
_MAX_DIRECTORY_ENTRY = 46 + 3 * 1024
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MAX_TARGET = 4096
_LOCAL_HEADER = 30
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OverflowError,
    RuntimeError,
    ValueError,
)
"""What the library raises over nonsense."""


def unzip_into(file: IO[bytes], writer: TreeWriter, limits: Limits) -> None:
    """Write every entry of an archive."""
    try:
        _check_directory(file, limits)
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            _check_overlap(entries)
            for entry in entries:
                _write_entry(archive, entry, writer)
    except _DAMAGE as error:
        raise ArtifactError(f"the archive is damaged: {error}") from error


def _write_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, writer: TreeWriter) -> None:
    name = entry.orig_filename
    if entry.flag_bits & 0x1:
        raise ArtifactError(f"{name!r}: encrypted")
    if entry.compress_type not in _METHODS:
        raise ArtifactError(f"{name!r}: packed by a method that is not supported")
    mode = entry.external_attr >> 16
    kind = stat.S_IFMT(mode)
    if name.endswith("/") or kind == stat.S_IFDIR:
        writer.directory(name)
    elif kind == stat.S_IFLNK:
        writer.symlink(name, _target(archive, entry))
    elif kind in (0, stat.S_IFREG):
        writer.file(name, _contents(archive, entry), mode=mode or 0o644)
    else:
        raise ArtifactUnsafeError(f"{name!r}: a device, pipe or socket")


def _contents(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    with archive.open(entry) as member:
        while chunk := member.read(CHUNK):
            yield chunk


def _target(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> str:
    with archive.open(entry) as member:
        target = member.read(_MAX_TARGET + 1)
    return os.fsdecode(target)


def _check_directory(file: IO[bytes], limits: Limits) -> None:
    """Refuse a directory that would fill the memory, before anything reads it."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _LONGEST_TAIL))
    tail = file.read(_LONGEST_TAIL)
    file.seek(0)
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        raise ArtifactError("not a zip archive")
    entries, length = struct.unpack_from("<HI", tail, at + 10)
    large = tail.rfind(_LARGE_END, 0, at)
    if large >= 0 and len(tail) >= large + 56:
        entries, length = struct.unpack_from("<QQ", tail, large + 32)
    if entries > limits.max_entries or length > limits.max_entries * _MAX_DIRECTORY_ENTRY:
        raise ArtifactUnsafeError(f"more than {limits.max_entries} entries")


def _check_overlap(entries: list[zipfile.ZipInfo]) -> None:
    """Refuse entries that share bytes: so a small archive unfolds to any size."""
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if entry.header_offset < end:
            raise ArtifactUnsafeError(f"{entry.orig_filename!r}: overlaps another entry")
        end = entry.header_offset + _LOCAL_HEADER + entry.compress_size
