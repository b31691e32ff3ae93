"""Where an executor keeps its files, and the address of its socket.

A Unix socket's address has room for 107 bytes. Where the data directory's path is longer, the
socket lies in a private folder under the temporary directory and ``address`` holds its path.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from tiphys.folders import make_durable

ROOM = 107
LEFT = "room"
"""What a working directory (``rooms``) is called in the folder of its attempt."""
START = "start"
"""The word for an executor that was loaded ahead; options follow it."""


def identity(data: Path) -> str:
    """Return what names a data directory on this machine, whatever its path."""
    status = data.stat()
    return f"{status.st_dev:x}-{status.st_ino:x}"


def place_of(folder: str, container: str) -> Path:
    """Return where the files of a container's own root are kept for its attempt."""
    return Path(folder, f"{container}.root")


class Place:
    """The executor's part of one data directory."""

    def __init__(self, data: Path) -> None:
        self.data = data.resolve()
        self.folder = self.data / "executor"
        self.journal = self.folder / "journal"
        self.lock = self.folder / "lock"
        self.log = self.folder / "log"
        self.slots, self.base = self.folder / "slots", ""
        self.rooms = self.folder / "rooms"
        self._socket = self.folder / "socket"
        self._pointer = self.folder / "address"

    def make_folder(self) -> None:
        """Make the folder, so that it survives a power loss."""
        with suppress(FileExistsError):  # A file in its place: whoever opens something says so.
            make_durable(self.data)
            make_durable(self.folder)

    def use_slots(self, base: str) -> Path:
        """Return a folder of ours for views: below ``base``, or with "" in the data directory."""
        self.base = base
        if base:
            self.slots = Path(base, f"tiphys-{os.geteuid()}-{identity(self.data)}")
        else:
            self.slots = self.folder / "slots"
        with suppress(FileExistsError):
            self.slots.mkdir(mode=0o700)
        status = self.slots.lstat()
        if status.st_uid != os.geteuid() or not stat.S_ISDIR(status.st_mode):
            raise PermissionError(1, "somebody else's", str(self.slots))
        return self.slots

    @property
    def _short(self) -> bool:
        return len(os.fsencode(self._socket)) <= ROOM

    def address(self) -> str:
        """Return where to connect; FileNotFoundError where nobody listens."""
        if self._short:
            return str(self._socket)
        return self._pointer.read_text()

    def make_address(self) -> str:
        """Return where to listen, noted for clients."""
        if self._short:
            return str(self._socket)
        from tempfile import mkdtemp  # noqa: PLC0415 - rarely needed, slow to import

        # mkdtemp: nobody else can have put anything at this path.
        address = f"{mkdtemp(prefix='tiphys-')}/socket"
        spare = self._pointer.with_suffix(".new")
        spare.write_text(address)
        spare.replace(self._pointer)
        return address

    def clear_address(self) -> None:
        """Remove the socket."""
        with suppress(OSError):
            address = self.address()
            os.unlink(address)
            if not self._short:
                self._pointer.unlink()
                os.rmdir(os.path.dirname(address))
