"""Writing a tree of files whose names somebody else chose.

The one place where entries of archives, objects of a bucket or files of the local repository become
files. It starts from an empty folder of its own and holds to three rules, so that no order of
hostile entries can leave that folder:

1. A name is walked one component at a time from the folder's descriptor, never through a link.
2. Files are only ever created, never opened again: a name that appears twice is refused.
3. Links are made last of all, when nothing more is written, and only where they lead to a place
   inside, judged with every other link of the tree taken into account.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator

from tiphys.artifacts import beneath
from tiphys.artifacts.copying import copy_bytes, write_all
from tiphys.artifacts.limits import Meter
from tiphys.errors import ArtifactUnsafeError

_MAX_NAME = 4096
_MAX_DEPTH = 256
_MAX_LINKS = 40
"""As many links as Linux follows in one path."""

Parts = tuple[str, ...]


def split_name(name: str) -> Parts:
    """Give the components of an entry's name; refuse what does not stay below its folder."""
    if name.startswith("/"):
        raise ArtifactUnsafeError(f"{name!r}: an absolute path")
    if "\0" in name or len(name) > _MAX_NAME:
        raise ArtifactUnsafeError(f"{name[:80]!r}: not a usable file name")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts:
        raise ArtifactUnsafeError(f"{name!r}: leaves its folder")
    if len(parts) > _MAX_DEPTH or any(len(os.fsencode(part)) > 255 for part in parts):
        raise ArtifactUnsafeError(f"{name[:80]!r}: too deep or too long")
    return parts


class TreeWriter:
    """Creates entries below one open, empty folder. Close it; call `finish` when all is written."""

    def __init__(self, folder: int, meter: Meter, *, whole: bool = False) -> None:
        self._root = folder
        self._whole = whole
        """Whether the folder itself lands, even with a single entry."""
        self._meter = meter
        self._links: dict[Parts, str] = {}
        self._open: list[tuple[str, int]] = []
        """The folder worked in last, as (name, descriptor) from the root down."""

    def close(self) -> None:
        """Let go of the folders held open. The root stays the caller's."""
        self._leave(0)

    def directory(self, name: str) -> None:
        """Make a folder; one that is there already is fine."""
        self._meter.entry()
        self._parent(split_name(name))

    def file(self, name: str, chunks: Iterator[bytes], *, mode: int, mtime: float = 0.0) -> None:
        """Make a file of ``chunks``."""

        def fill(target: int) -> None:
            for chunk in chunks:
                self._meter.grow(len(chunk))
                write_all(target, chunk)

        self._create(name, fill, mode=mode, mtime=mtime)

    def copy(self, name: str, source: int, status: os.stat_result) -> None:
        """Make a file of an open one."""
        self._meter.grow(status.st_size)
        self._create(
            name,
            lambda target: copy_bytes(source, target, status.st_size),
            mode=status.st_mode & 0o777,
            mtime=status.st_mtime,
        )

    def symlink(self, name: str, target: str) -> None:
        """Note a symbolic link, to be made by `finish`."""
        self._meter.entry()
        parts = split_name(name)
        if not parts or parts in self._links:
            raise ArtifactUnsafeError(f"{name!r}: appears twice")
        if not target or target.startswith("/") or "\0" in target or len(target) > _MAX_NAME:
            raise ArtifactUnsafeError(f"{name!r}: a link to {target[:80]!r}")
        self._links[parts] = target

    def hard_link(self, name: str, target: str) -> None:
        """Give a file that was written before a second name."""
        self._meter.entry()
        old, new = split_name(target), split_name(name)
        if not old or not new:
            raise ArtifactUnsafeError(f"{name!r}: a link to a folder")
        source = os.dup(self._existing_parent(old, name))
        try:
            status = os.stat(old[-1], dir_fd=source, follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                raise ArtifactUnsafeError(f"{name!r}: a hard link to what is not a file")
            folder = self._parent(new[:-1])
            os.link(old[-1], new[-1], src_dir_fd=source, dst_dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError as error:
            raise ArtifactUnsafeError(f"{name!r}: a hard link to {target!r}") from error
        except FileExistsError as error:
            raise ArtifactUnsafeError(f"{name!r}: appears twice") from error
        finally:
            os.close(source)

    def finish(self) -> None:
        """Check all links together, then make them."""
        if not self._links:
            return
        base = self._landing_base()
        for parts, target in self._links.items():
            _check_link(parts, target, self._links, base)
        for parts, target in self._links.items():
            folder = self._parent(parts[:-1])
            try:
                os.symlink(target, parts[-1], dir_fd=folder)
            except FileExistsError as error:
                raise ArtifactUnsafeError(f"{'/'.join(parts)!r}: appears twice") from error

    def _landing_base(self) -> Parts:
        """Give what a link may not leave.

        A tree with one top entry loses that level when it lands at its destination, so a link may
        then not even step up to it.
        """
        top = {parts[0] for parts in self._links} | set(os.listdir(self._root))
        return tuple(top) if len(top) == 1 and not self._whole else ()

    def _create(self, name: str, fill: Callable[[int], None], *, mode: int, mtime: float) -> None:
        self._meter.entry()
        parts = split_name(name)
        if not parts:
            raise ArtifactUnsafeError(f"{name!r}: a file without a name")
        if mode & (stat.S_ISUID | stat.S_ISGID):
            raise ArtifactUnsafeError(f"{name!r}: a set-user-id or set-group-id file")
        folder = self._parent(parts[:-1])
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            target = os.open(parts[-1], flags, 0o600, dir_fd=folder)
        except (FileExistsError, IsADirectoryError) as error:
            raise ArtifactUnsafeError(f"{name!r}: appears twice") from error
        try:
            fill(target)
            finish_file(target, mode=mode, mtime=mtime)
        finally:
            os.close(target)

    def _existing_parent(self, parts: Parts, name: str) -> int:
        """Open the folder of an entry that must be there; nothing is made."""
        depth = self._shared(parts[:-1])
        self._leave(depth)
        for part in parts[depth:-1]:
            try:
                self._open.append((part, os.open(part, beneath.DIRECTORY, dir_fd=self._here())))
            except OSError as error:
                raise ArtifactUnsafeError(f"{name!r}: a hard link to nothing") from error
        return self._here()

    def _parent(self, parts: Parts) -> int:
        """Open the folder ``parts``, making what is missing on the way."""
        depth = self._shared(parts)
        self._leave(depth)
        for part in parts[depth:]:
            here = self._here()
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=here)
            try:
                below = os.open(part, beneath.DIRECTORY, dir_fd=here)
            except OSError as error:
                raise ArtifactUnsafeError(f"{'/'.join(parts)!r}: not a folder") from error
            self._open.append((part, below))
            os.fchmod(below, 0o755)
        return self._here()

    def _here(self) -> int:
        return self._open[-1][1] if self._open else self._root

    def _shared(self, parts: Parts) -> int:
        depth = 0
        for (name, _), part in zip(self._open, parts, strict=False):
            if name != part:
                break
            depth += 1
        return depth

    def _leave(self, depth: int) -> None:
        while len(self._open) > depth:
            os.close(self._open.pop()[1])


def finish_file(target: int, *, mode: int, mtime: float) -> None:
    """Set mode and time as an unpacked file has them: no writing for others, nothing special."""
    os.fchmod(target, mode & 0o755)
    if mtime > 0:
        # Past these bounds file systems wrap around or fail; the time is not worth the artifact.
        bounded = min(mtime, 2.0**33)
        os.utime(target, (bounded, bounded))


def _check_link(parts: Parts, target: str, links: dict[Parts, str], base: Parts) -> None:
    """Follow a link as the kernel would; refuse it if it steps out of ``base`` on the way."""
    current = list(parts[:-1])
    waiting = target.split("/")[::-1]
    followed = 0
    while waiting:
        part = waiting.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if len(current) <= len(base):
                raise ArtifactUnsafeError(f"{'/'.join(parts)!r}: a link out of its folder")
            current.pop()
            continue
        current.append(part)
        further = links.get(tuple(current))
        if further is not None:
            followed += 1
            if followed > _MAX_LINKS:
                raise ArtifactUnsafeError(f"{'/'.join(parts)!r}: links without end")
            current.pop()
            waiting.extend(further.split("/")[::-1])
    if tuple(current[: len(base)]) != base:
        raise ArtifactUnsafeError(f"{'/'.join(parts)!r}: a link out of its folder")
