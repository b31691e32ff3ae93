"""What was started and how it ended, append-only, so that a crash forgets nothing.

One file of records: length, checksum, msgpack. A ``Begun`` is written before its attempt's first
process exists, and soon durable: a crash of ours loses none, a power loss may lose the last ones.
So after the machine went down in the midst of it, attempts that the file does not know are in doubt
until somebody says which there are (``settle``). An ``Ended`` with logs is durable before anybody
hears of it; ``Pid`` is only written, since a power loss ends the process anyway. The first record
that does not check out is the torn end of the last write: reading stops there and the rest is cut
off. Knows nothing of processes or sockets. The loop and the committer's thread may both write.
"""

from __future__ import annotations

import errno
import os
import struct
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Lock

import msgspec

from tiphys.executor.protocol import Ended, Record

_HEAD = struct.Struct("<II")
COMPACT_BYTES = 4 * 1024 * 1024
"""Below this size a rewrite is not worth its fsync."""


class Begun(Record, frozen=True, array_like=True, tag=True):
    """An attempt that may have processes from now on."""

    id: str
    folder: str
    isolation: str
    at: float
    halts: tuple[tuple[str, ...], ...] = ()
    """The commands that end what a container engine runs for it."""


class Pid(Record, frozen=True, array_like=True, tag=True):
    """A process of an attempt: the three together name it for good, a bare pid does not."""

    id: str
    container: str
    pid: int
    started: float
    """Seconds after boot, as seen right after the start."""
    boot: str


class Forgotten(Record, frozen=True, array_like=True, tag=True):
    """The end of an attempt is recorded by the server; nothing here is needed any more."""

    id: str


class Epoch(Record, frozen=True, array_like=True, tag=True):
    """The newest owner that was seen."""

    number: int


class Boot(Record, frozen=True, array_like=True, tag=True):
    """Which boot of the machine it is, while attempts may begin; "" when an executor has ended."""

    id: str
    is_in_doubt: bool = False
    """Whether any attempt that is not known may have begun."""


class Doubt(Record, frozen=True, array_like=True, tag=True):
    """Of the attempts that are not known only these may have begun."""

    ids: tuple[str, ...]


Entry = Begun | Pid | Ended | Forgotten | Epoch | Boot | Doubt
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Entry).decode


def seal(entry: Entry) -> bytes:
    """Return an entry as it stands in the file."""
    body = _encode(entry)
    return _HEAD.pack(len(body), zlib.crc32(body)) + body


class Journal:
    """The file, and what it says of attempts that are not forgotten."""

    def __init__(self, path: Path, boot: str = "") -> None:
        self._path = path
        self._lock = Lock()
        self._boot = Boot("")
        self._first = b""
        """What must be durable before anything else is written."""
        self._doubtful: set[str] = set()
        self.is_torn = False
        """Whether a sync has failed: what was written since the one before may have a hole."""
        # Kept open: a data directory may be removed and made anew at the same path.
        self._folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.begun: dict[str, Begun] = {}
        self.pids: dict[str, list[Pid]] = {}
        self.ended: dict[str, Ended] = {}
        self.epoch = 0
        is_new = not path.exists()
        self._size = self._read()
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if is_new:
            os.fsync(self._folder)
        os.ftruncate(self._fd, self._size)
        if boot and boot != self._boot.id:
            self._boot = Boot(boot, bool(self._boot.id) or self._boot.is_in_doubt)
            self._first = seal(self._boot)
            with suppress(OSError):  # A full disk: nothing begins before there is room.
                self.write(b"")

    def is_in_doubt(self, attempt: str) -> bool:
        """Tell whether an attempt that is not known may have begun before the machine went down."""
        return self._boot.is_in_doubt or attempt in self._doubtful

    def settle(self, attempts: Iterable[str]) -> list[Entry]:
        """Return what to write once it is known which attempts there are: of others there is no
        doubt any more."""
        if not self._boot.is_in_doubt:
            return []
        unknown = tuple(name for name in attempts if not self.knows(name))
        entries: list[Entry] = [Doubt(unknown), Boot(self._boot.id)]
        for entry in entries:
            self.note(entry)
        return entries

    def _read(self) -> int:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return 0
        offset = 0
        while len(data) - offset >= _HEAD.size:
            length, checksum = _HEAD.unpack_from(data, offset)
            body = data[offset + _HEAD.size : offset + _HEAD.size + length]
            # A power loss may leave zeros where the last record was to be: an empty body, whose
            # checksum is zero as well.
            if length == 0 or len(body) < length or zlib.crc32(body) != checksum:
                break
            try:
                self.note(_decode(body))
            except msgspec.MsgspecError:
                break
            offset += _HEAD.size + length
        return offset

    def note(self, entry: Entry) -> None:
        """Take an entry into memory, without writing it."""
        match entry:
            case Begun():
                self.begun[entry.id] = entry
                self._doubtful.discard(entry.id)
            case Pid():
                self.pids.setdefault(entry.id, []).append(entry)
            case Ended():
                self.ended[entry.id] = entry
                self._doubtful.discard(entry.id)
                self.begun.pop(entry.id, None)
                self.pids.pop(entry.id, None)
            case Forgotten():
                self.ended.pop(entry.id, None)
            case Epoch():
                self.epoch = max(self.epoch, entry.number)
            case Boot():
                self._boot = entry
            case Doubt():
                self._doubtful = set(entry.ids)

    def knows(self, attempt: str) -> bool:
        """Tell whether the attempt was started and is not forgotten."""
        return attempt in self.begun or attempt in self.ended

    def write(self, data: bytes, *, durable: bool = True) -> None:
        """Append sealed entries. A failed write leaves no trace; after a failed sync nothing more
        is taken until ``compact`` has written all of it anew."""
        with self._lock:
            if self.is_torn:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            first, data = self._first, self._first + data
            try:
                if os.pwrite(self._fd, data, self._size) != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                os.ftruncate(self._fd, self._size)
                raise
            self._size += len(data)
            self._first = b""
        if durable or first:
            try:
                os.fdatasync(self._fd)
            except OSError:
                # The kernel may have dropped what it could not write, and tells so only once.
                self.is_torn = True
                raise

    @property
    def wants_compaction(self) -> bool:
        """Tell whether most of a large file is about forgotten attempts."""
        live = 300 * (len(self.begun) * 2 + len(self.ended))
        return self._size > COMPACT_BYTES and self._size > 4 * live

    def compact(self) -> None:
        """Rewrite the file with what is still needed. No write may be under way."""
        entries: list[Entry] = [self._boot, Doubt(tuple(self._doubtful)), Epoch(self.epoch)]
        entries += [*self.begun.values(), *self.ended.values()]
        entries += [pid for pids in self.pids.values() for pid in pids]
        data = b"".join(map(seal, entries))
        spare, folder = f"{self._path.name}.new", self._folder
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        fd = os.open(spare, flags, 0o600, dir_fd=folder)
        try:
            if os.write(fd, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(fd)
            os.rename(spare, self._path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.close(fd)
            raise
        os.close(self._fd)
        self._fd, self._size, self._first = fd, len(data), b""
        os.fsync(folder)
        self.is_torn = False

    def end(self) -> None:
        """Note that nothing runs and all is on record: the machine may go down."""
        self.write(seal(Boot("", self._boot.is_in_doubt)))

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)
        os.close(self._folder)
