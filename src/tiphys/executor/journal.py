"""What was started and how it ended, append-only, so that a crash forgets nothing.

One file of records: length, checksum, msgpack. A ``Begun`` is written before its attempt's first
process exists, and soon durable: a crash of ours loses none, a power loss may lose the last ones.
So of a machine that went down in the midst of it, what the file does not know ``is_in_doubt``. An
``Ended`` with logs is durable before anybody hears of it; ``Pid`` is only written, since a power
loss ends the process anyway. The first record that does not check out is the torn end of the last
write: reading stops there and the rest is cut off. Knows nothing of processes or sockets. The loop
and the committer's thread may both write.
"""

from __future__ import annotations

import errno
import os
import struct
import zlib
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
    """Since when the machine is up, while attempts may begin; "" when an executor has ended."""

    id: str
    is_in_doubt: bool = False


Entry = Begun | Pid | Ended | Forgotten | Epoch | Boot
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
            self._boot = Boot(boot, is_in_doubt=bool(self._boot.id))
            self.write(seal(self._boot))

    @property
    def is_in_doubt(self) -> bool:
        """Whether the machine went down and may have taken records of the last beginnings along."""
        return self._boot.is_in_doubt

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
            case Pid():
                self.pids.setdefault(entry.id, []).append(entry)
            case Ended():
                self.ended[entry.id] = entry
                self.begun.pop(entry.id, None)
                self.pids.pop(entry.id, None)
            case Forgotten():
                self.ended.pop(entry.id, None)
            case Epoch():
                self.epoch = max(self.epoch, entry.number)
            case Boot():
                self._boot = entry

    def knows(self, attempt: str) -> bool:
        """Tell whether the attempt was started and is not forgotten."""
        return attempt in self.begun or attempt in self.ended

    def write(self, data: bytes, *, durable: bool = True) -> None:
        """Append sealed entries. A failed write leaves no trace, a failed sync may."""
        with self._lock:
            try:
                if os.pwrite(self._fd, data, self._size) != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                os.ftruncate(self._fd, self._size)
                raise
            self._size += len(data)
        if durable:
            os.fdatasync(self._fd)

    @property
    def wants_compaction(self) -> bool:
        """Tell whether most of a large file is about forgotten attempts."""
        live = 300 * (len(self.begun) * 2 + len(self.ended))
        return self._size > COMPACT_BYTES and self._size > 4 * live

    def compact(self) -> None:
        """Rewrite the file with what is still needed. No write may be under way."""
        entries: list[Entry] = [self._boot, Epoch(self.epoch)]
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
        os.fsync(folder)
        os.close(self._fd)
        self._fd, self._size = fd, len(data)

    def end(self) -> None:
        """Note that nothing runs and all is on record: the machine may go down."""
        self.write(seal(Boot("")))

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)
        os.close(self._folder)
