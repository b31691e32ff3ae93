"""Copying bytes between descriptors at the speed of the kernel."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

CHUNK = 1 << 20
_SMALL = 1 << 16
_UNSUPPORTED = (errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.EPERM)


def copy_bytes(source: int, target: int, size: int) -> None:
    """Copy a whole file; blocks are shared where the file system can (reflink)."""
    if size <= _SMALL:
        _copy_plainly(source, target)
        return
    try:
        while os.copy_file_range(source, target, 1 << 30):
            pass
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    # What is left: all of it where the kernel refused, else nothing.
    _copy_plainly(source, target)


def _copy_plainly(source: int, target: int) -> None:
    while chunk := os.read(source, CHUNK):
        write_all(target, chunk)


def write_all(target: int, data: bytes | memoryview) -> None:
    """Write every byte; a single write may stop early."""
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]


def read_chunks(source: int) -> Iterator[bytes]:
    """Yield the rest of an open file, and close it."""
    try:
        while chunk := os.read(source, CHUNK):
            yield chunk
    finally:
        os.close(source)
