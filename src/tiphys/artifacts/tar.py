"""Reading tar archives from people we do not know.

A walker of our own, because the library's loads long names and extended headers of any size into
memory and follows some numbers of a header blindly. Understood: the old, ustar, pax and GNU forms
with long names. Refused: sparse files, devices, pipes, anything unknown.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Protocol

from tiphys.artifacts.copying import CHUNK
from tiphys.errors import ArtifactError, ArtifactUnsafeError

_BLOCK = 512
_MAX_EXTENDED = 1 << 20
"""Bytes of one extended header; real ones have a few hundred."""
_MAX_HEADERS = 64
"""Extended headers before one entry."""
_NAMES = {b"L": "path", b"K": "linkpath"}
_GLOBAL, _LOCAL = b"g", b"x"


class Reader(Protocol):
    """A stream to read from."""

    def read(self, size: int, /) -> bytes:
        """Give up to ``size`` bytes, none at the end."""


@dataclass(frozen=True, slots=True)
class Member:
    """One entry: ``kind`` is the type letter of its header, a folder always ``5``."""

    name: str
    kind: str
    size: int
    mode: int
    mtime: float
    target: str


class TarReader:
    """Yields the members of a stream; the bytes of the current one come from `contents`."""

    def __init__(self, stream: Reader) -> None:
        self._stream = stream
        self._left = 0
        self._padding = 0
        self._globals: dict[str, str] = {}

    def __iter__(self) -> Iterator[Member]:
        """Yield each member. What was not read of one is skipped."""
        while (member := self.next()) is not None:
            yield member

    def next(self) -> Member | None:
        """Give the next member, None at the end."""
        extended: dict[str, str] = {}
        for _ in range(_MAX_HEADERS):
            self._skip()
            block = self._block()
            if block is None:
                return None
            kind, size = block[156:157], _number(block[124:136])
            if kind in (_LOCAL, _GLOBAL):
                records = _records(self._extended(size))
                (self._globals if kind == _GLOBAL else extended).update(records)
            elif kind in _NAMES:
                extended[_NAMES[kind]] = _text(self._extended(size).rstrip(b"\0"))
            else:
                return self._member(block, {**self._globals, **extended})
        raise ArtifactUnsafeError("too many extended headers in a row")

    def contents(self) -> Iterator[bytes]:
        """Yield the bytes of the current member."""
        while self._left:
            chunk = self._stream.read(min(self._left, CHUNK))
            if not chunk:
                raise ArtifactError("the archive ends too early")
            self._left -= len(chunk)
            yield chunk

    def _member(self, block: bytes, extended: dict[str, str]) -> Member:
        if any(name.startswith("GNU.sparse") for name in extended):
            raise ArtifactUnsafeError("a sparse file")
        size = _decimal(extended["size"]) if "size" in extended else _number(block[124:136])
        name = extended.get("path") or _name(block)
        kind = _text(block[156:157]).replace("\0", "0").replace("7", "0")
        if kind == "0" and name.endswith("/"):
            kind = "5"
        self._expect(size if kind == "0" else 0)
        return Member(
            name=name,
            kind=kind,
            size=self._left,
            mode=_number(block[100:108]),
            mtime=_time(extended.get("mtime")) or float(_number(block[136:148])),
            target=extended.get("linkpath") or _text(_until_nul(block[157:257])),
        )

    def _block(self) -> bytes | None:
        block = self._read(_BLOCK, optional=True)
        if not block or not any(block):
            return None
        stated = _number(block[148:156])
        if stated != sum(block[:148]) + sum(block[156:]) + 8 * 32:
            raise ArtifactError("not a tar archive: a header's checksum is wrong")
        return block

    def _extended(self, size: int) -> bytes:
        if size > _MAX_EXTENDED:
            raise ArtifactUnsafeError("an extended header that is far too long")
        self._expect(size)
        return b"".join(self.contents())

    def _expect(self, size: int) -> None:
        self._left, self._padding = size, -size % _BLOCK

    def _skip(self) -> None:
        for _ in self.contents():
            pass
        self._read(self._padding)
        self._padding = 0

    def _read(self, size: int, *, optional: bool = False) -> bytes:
        parts = []
        missing = size
        while missing and (part := self._stream.read(missing)):
            parts.append(part)
            missing -= len(part)
        if missing and not (optional and missing == size):
            raise ArtifactError("the archive ends too early")
        return b"".join(parts)


class GzipStream:
    """Decompresses a file, several gzip members included, never more than asked for."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._packed = b""
        self._unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def read(self, size: int, /) -> bytes:
        """Give up to ``size`` bytes, none at the end."""
        try:
            return self._next(size)
        except zlib.error as error:
            raise ArtifactError(f"the archive is damaged: {error}") from error

    def _next(self, size: int) -> bytes:
        while True:
            if self._unpacker.eof:
                self._packed = self._unpacker.unused_data or self._file.read(CHUNK)
                if not self._packed.startswith(b"\x1f"):
                    return b""
                self._unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
            if not self._packed:
                self._packed = self._file.read(CHUNK)
            fed = self._packed
            data = self._unpacker.decompress(fed, size)
            self._packed = self._unpacker.unconsumed_tail
            if data:
                return data
            if not fed and not self._unpacker.eof:
                raise ArtifactError("the archive ends too early")


def _name(block: bytes) -> str:
    name = _until_nul(block[:100])
    prefix = _until_nul(block[345:500]) if block[257:263] == b"ustar\0" else b""
    return _text(prefix + b"/" + name if prefix else name)


def _until_nul(field: bytes) -> bytes:
    return field.split(b"\0", 1)[0]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _number(field: bytes) -> int:
    """Read an octal field, or a binary one whose first bit is set."""
    if field[0] & 0x80:
        value = int.from_bytes(field, "big") - (1 << (8 * len(field) - 1))
        if field[0] & 0x40:
            raise ArtifactUnsafeError("a negative number in a header")
    else:
        text = field.strip(b" \0") or b"0"
        if not text.isdigit() or b"8" in text or b"9" in text:
            raise ArtifactError("not a tar archive: a header's number is wrong")
        value = int(text, 8)
    if value >= 1 << 62:
        raise ArtifactUnsafeError("a number in a header that is far too large")
    return value


def _decimal(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise ArtifactUnsafeError("an extended header with a wrong size")
    return int(text)


def _time(text: str | None) -> float:
    """Read a time of a pax header; one that makes no sense is no time."""
    try:
        value = float(text or 0)
    except ValueError:
        return 0.0
    return value if 0 <= value < 2.0**40 else 0.0


def _records(data: bytes) -> dict[str, str]:
    """Read the ``length key=value`` lines of a pax header."""
    records = {}
    at = 0
    while at < len(data) and data[at]:
        digits = data[at : at + 20].split(b" ", 1)[0]
        length = _decimal(_text(digits))
        line = data[at + len(digits) + 1 : at + length]
        if length <= len(digits) + 1 or at + length > len(data) or not line.endswith(b"\n"):
            raise ArtifactUnsafeError("an extended header that does not add up")
        key, separator, value = line[:-1].partition(b"=")
        if not separator:
            raise ArtifactUnsafeError("an extended header without a value")
        records[_text(key)] = _text(value)
        at += length
    return records
