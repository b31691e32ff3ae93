"""Unpacking an archive to the place where a task expects its artifact.

As in Argo an archive with one top entry lands *at* the destination, and one with several becomes a
folder there. All is written to a folder of its own beside the destination first; only a whole and
harmless tree is moved into place.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tiphys.artifacts import beneath
from tiphys.artifacts.copying import CHUNK
from tiphys.artifacts.limits import Limits, Meter
from tiphys.artifacts.tar import GzipStream, Member, TarReader
from tiphys.artifacts.tree import TreeWriter
from tiphys.artifacts.zip import unzip_into
from tiphys.errors import ArtifactError, ArtifactUnsafeError

_GZIP = b"\x1f\x8b"
_MAX_PADDING = 16 << 20
"""Bytes looked at behind the end of an archive."""


def is_tarball(path: Path) -> bool:
    """Tell whether a file is a gzip-compressed tar archive with at least one entry."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        if file.read(2) != _GZIP:
            return False
        file.seek(0)
        try:
            return TarReader(GzipStream(file)).next() is not None
        except ArtifactUnsafeError:
            # An archive without doubt: let the one who unpacks it say what is wrong.
            return True
        except ArtifactError:
            return False


def untar(archive: Path, destination: Path, limits: Limits) -> None:
    """Unpack a tar archive, compressed or not."""
    with archive.open("rb") as file, landing(destination, limits, packed=_size(file)) as writer:
        packed = file.read(2) == _GZIP
        file.seek(0)
        stream = GzipStream(file) if packed else file
        reader = TarReader(stream)
        for member in reader:
            _write_member(reader, member, writer)
        # The end of the stream holds the checksum of all that came before.
        for _ in range(_MAX_PADDING // CHUNK):
            if not stream.read(CHUNK):
                break


def unzip(archive: Path, destination: Path, limits: Limits) -> None:
    """Unpack a zip archive."""
    with archive.open("rb") as file, landing(destination, limits, packed=_size(file)) as writer:
        unzip_into(file, writer, limits)


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _write_member(reader: TarReader, member: Member, writer: TreeWriter) -> None:
    match member.kind:
        case "0":
            writer.file(member.name, reader.contents(), mode=member.mode, mtime=member.mtime)
        case "5":
            writer.directory(member.name)
        case "2":
            writer.symlink(member.name, member.target)
        case "1":
            writer.hard_link(member.name, member.target)
        case "S":
            raise ArtifactUnsafeError(f"{member.name!r}: a sparse file")
        case _:
            raise ArtifactUnsafeError(f"{member.name!r}: a device, pipe or unknown entry")


@contextlib.contextmanager
def landing(
    destination: Path, limits: Limits, *, packed: int = 0, whole: bool = False
) -> Iterator[TreeWriter]:
    """Lend a writer for a fresh folder; what it wrote lands at ``destination`` at the end.

    A single top entry lands itself, unless ``whole`` asks for the folder in any case.
    """
    with beside(destination) as folder:
        folder.mkdir(mode=0o755)
        descriptor = os.open(folder, beneath.DIRECTORY)
        writer = TreeWriter(descriptor, Meter(limits, packed), whole=whole)
        try:
            yield writer
            writer.finish()
            top = os.listdir(descriptor)
        finally:
            writer.close()
            os.close(descriptor)
        os.chmod(folder, 0o755)
        land(folder / top[0] if len(top) == 1 and not whole else folder, destination)


@contextlib.contextmanager
def beside(destination: Path) -> Iterator[Path]:
    """Lend a name next to ``destination`` for a file or folder; it is removed afterwards."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    path = destination.parent / f".{os.urandom(8).hex()}.tmp"
    try:
        yield path
    finally:
        _remove(path)


def land(source: Path, destination: Path) -> None:
    """Move a finished file or folder to its destination, where no other may lie."""
    try:
        source.replace(destination)
    except OSError as error:
        raise ArtifactError(f"{destination}: {error.strerror}") from error


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
