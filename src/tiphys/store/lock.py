"""The lock on a data directory: one owner at a time.

A ``flock`` goes away with its process, however that ends, so a lock is never stale. Where the file
system does not keep the promise, or somebody removes the file, the epoch (`store.store`) still
keeps a former owner from writing. The file says who has the lock, and which epoch was the latest
here: a store that is put back from a copy must not begin again with numbers that were used.

Imports next to nothing: who is refused is to learn it before anything large is loaded.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from tiphys.errors import StoreError, StoreLockedError
from tiphys.folders import make_durable, sync

NAME = "lock"


class FolderLock:
    """The lock, held until ``release`` or the end of the process."""

    def __init__(self, descriptor: int, epoch: int) -> None:
        self._descriptor = descriptor
        self.epoch = epoch
        """The latest epoch that an owner of this folder had."""
        self.note(epoch)

    @classmethod
    def take(cls, folder: Path) -> FolderLock:
        """Take the lock of ``folder``, made if need be; raise at once if another process has it."""
        make_durable(folder, sync_folder)
        descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return cls(descriptor, _read(descriptor)[1])
        except BlockingIOError as error:
            pid, _ = _read(descriptor)
            os.close(descriptor)
            raise StoreLockedError(_message(folder, pid)) from error
        except BaseException:
            os.close(descriptor)
            raise

    def note(self, epoch: int) -> None:
        """Keep the epoch for the owners to come."""
        self.epoch = epoch
        content = b"%d\n%d\n" % (os.getpid(), epoch)
        with suppress(OSError):  # With no room to write it, the store's own number must do.
            os.pwrite(self._descriptor, content, 0)
            os.ftruncate(self._descriptor, len(content))

    def release(self) -> None:
        """Let others have it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> FolderLock:
        """Give the lock itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release it."""
        self.release()


def _read(descriptor: int) -> tuple[str, int]:
    """Give the process and the epoch that stand in the file, as far as they do."""
    lines = os.pread(descriptor, 64, 0).decode("ascii", "replace").split()
    epoch = lines[1] if len(lines) > 1 else ""
    return lines[0] if lines else "", int(epoch) if epoch.isdecimal() else 0


def sync_folder(folder: Path) -> None:
    """Make durable which files ``folder`` has; raise StoreError where that cannot be."""
    try:
        sync(folder)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made durable: disk I/O error ({error})") from error


def _message(folder: Path, pid: str) -> str:
    holder = f"process {pid}" if pid else "another process"
    return f"the data directory {folder} is in use by {holder}"
