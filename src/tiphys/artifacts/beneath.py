"""Opening files without being led astray by links.

Everything here works on directory descriptors. ``openat2`` (Linux 5.6) resolves a whole path in one
call; where the kernel has none, paths are walked one component at a time and any link is refused.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tiphys.errors import ArtifactNotFoundError, ArtifactUnsafeError

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
"""Not blocking: opening a named pipe must not wait for a writer."""

_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_IN_ROOT = 0x10
_libc = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def open_source(path: Path, root: Path | None = None) -> int:
    """Open a file or folder that is to be saved.

    With ``root`` the path is that of a process which sees ``root`` as its ``/``: links in it are
    followed, but never out of ``root``. Without, the last component must not be a link.
    """
    try:
        descriptor = os.open(path, READ) if root is None else _open_in_root(root, path)
    except FileNotFoundError as error:
        raise ArtifactNotFoundError(f"{path}: no such file or directory") from error
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EXDEV):
            raise ArtifactUnsafeError(f"{path}: a link that may not be followed") from error
        raise
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        os.close(descriptor)
        raise ArtifactUnsafeError(f"{path} is not a regular file or directory")
    return descriptor


@contextlib.contextmanager
def destination_in(root: Path, path: Path) -> Iterator[Path]:
    """Lend a path that stands for ``path`` as a process sees it whose ``/`` is ``root``.

    Missing folders are made. The path goes through an open descriptor of the folder, so a link
    that somebody puts in its place meanwhile changes nothing.
    """
    parts = [part for part in str(path).split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        raise ArtifactUnsafeError(f"{path}: leaves its root")
    folder = _make_folder_in(root, parts[:-1])
    try:
        yield Path(f"/proc/self/fd/{folder}", parts[-1])
    finally:
        os.close(folder)


def _make_folder_in(root: Path, parts: list[str]) -> int:
    current = _open_in_root(root, Path("/"))
    for depth, part in enumerate(parts, start=1):
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=current)
        finally:
            os.close(current)
        current = _open_in_root(root, Path(*parts[:depth]))
    return current


def _open_in_root(root: Path, path: Path) -> int:
    base = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        name = str(path).lstrip("/") or "."
        try:
            return _openat2(base, name, READ & ~os.O_NOFOLLOW, _RESOLVE_IN_ROOT)
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.EPERM):
                raise
        return _walk(base, name)
    finally:
        os.close(base)


def _openat2(base: int, name: str, flags: int, resolve: int) -> int:
    how = _OpenHow(flags, 0, resolve | _RESOLVE_NO_MAGICLINKS)
    result = _libc.syscall(_OPENAT2, base, os.fsencode(name), ctypes.byref(how), ctypes.sizeof(how))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name)
    return int(result)


def _walk(base: int, name: str) -> int:
    """Open ``name`` component by component; the way for kernels and sandboxes without openat2."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ArtifactUnsafeError(f"{name}: leaves its root")
    current = os.dup(base)
    for index, part in enumerate(parts):
        flags = READ if index == len(parts) - 1 else DIRECTORY
        try:
            below = os.open(part, flags, dir_fd=current)
        finally:
            os.close(current)
        current = below
    return current
