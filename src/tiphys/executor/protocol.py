"""What the executor and its client say to each other: length-prefixed msgpack over a Unix socket.

Plain data, no behaviour but framing, and without ``from __future__ import annotations``, for the
reason that `spec.model.base` gives. The first frame of a client is ``Hello``; the executor
answers ``Welcome`` or ``Refused`` and closes. After that the client sends ``Start``, ``Attach``,
``Stop`` and ``Ack``, the executor ``Batch``es of events. Both sides of one version only.
"""

import struct
from collections.abc import Iterator
from functools import cache

import msgspec

VERSION = 3
MAX_FRAME = 256 * 1024 * 1024
CHUNK = 64 * 1024
"""Bytes read at once; for much more the kernel would have to make room each time."""
VIEW = "view:"
PROGRESS_VARIABLE = "ARGO_PROGRESS_FILE"
"""Without a sandbox the executor says where; a container's own word goes before."""
_LENGTH = struct.Struct("<I")


class Record(msgspec.Struct, frozen=True, array_like=True):
    """Base of everything on the wire: arrays, so that field names cost nothing."""


class Mount(Record, frozen=True, array_like=True):
    """A file or folder of the host that a container sees at ``target``."""

    source: str
    target: str
    read_only: bool = False


class ContainerRun(Record, frozen=True, array_like=True):
    """One process to start, and when."""

    name: str
    argv: tuple[str, ...]
    env: dict[str, str]
    role: str = "main"
    """``init`` ones run one after another first, ``sidecar`` ones end when every ``main`` has."""
    cwd: str = ""
    after: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()
    uid: int | None = None
    gid: int | None = None
    retries: int = 0
    retry_wait: float = 0.0
    keep: bool = False
    """Whether somebody reads what it wrote to its own root: its upper layer stays until ``Ack``."""
    halt: tuple[str, ...] = ()
    """Where its processes belong to a container engine, the command that ends them; ``{grace}``
    in it stands for whole seconds."""
    writes: tuple[str, ...] = ()
    """Folders that it must be able to write to, where the others are read-only."""


class Limits(Record, frozen=True, array_like=True):
    """What an attempt may use; 0 is no limit."""

    memory_bytes: int = 0
    cpu_millis: int = 0
    pids: int = 0


class Attempt(Record, frozen=True, array_like=True):
    """Everything needed to run one node once. ``folder`` is its own, made when there is something
    to put into it."""

    id: str
    folder: str
    containers: tuple[ContainerRun, ...]
    isolation: str = "process"
    deadline: float | None = None
    grace: float = 30.0
    limits: Limits = Limits()
    progress: str = ""
    """Path of the file the task writes N/M to; after ``VIEW``, one in its own root, or in its room
    where it has none."""
    log_cap: int = 256 * 1024 * 1024


class ContainerExit(Record, frozen=True, array_like=True):
    """How a container ended; ``started_at`` is None where it never ran."""

    name: str
    code: int | None = None
    started_at: float | None = None
    finished_at: float | None = None
    error: str = ""
    """Why it could not be started."""
    oom: bool = False


class Hello(Record, frozen=True, array_like=True, tag=True):
    """The first frame: who the client is. An older epoch than one seen before is refused."""

    version: int
    epoch: int


class Start(Record, frozen=True, array_like=True, tag=True):
    """Start each attempt whose id was never started."""

    attempts: tuple[Attempt, ...]


class Attach(Record, frozen=True, array_like=True, tag=True):
    """Report on these: ``Started``, ``Ended`` or ``Unknown`` for each. One that is not known has
    ended as lost where it may have begun before the machine went down."""

    ids: tuple[str, ...]
    are_ours: bool = False
    """Whether the client itself ordered them, and so since the machine is up."""


class Stop(Record, frozen=True, array_like=True, tag=True):
    """End these: SIGTERM, then SIGKILL after ``grace`` seconds."""

    ids: tuple[str, ...]
    grace: float


class Ack(Record, frozen=True, array_like=True, tag=True):
    """The ends of these are recorded elsewhere: they may be forgotten here."""

    ids: tuple[str, ...]


class Keep(Record, frozen=True, array_like=True, tag=True):
    """Nobody cares about any attempt but these: what else runs is ended, what else ended is
    forgotten. A server says this once it has taken everything up."""

    ids: tuple[str, ...]


class Probe(Record, frozen=True, array_like=True, tag=True):
    """Run a command beside a running container, in its own view of the files."""

    id: str
    container: str
    argv: tuple[str, ...]
    number: int
    timeout: float = 1.0


class Welcome(Record, frozen=True, array_like=True, tag=True):
    """The executor takes the client."""

    version: int
    pid: int
    sandbox: str
    """``overlay``, ``read-only``, or empty where none can be made; ``why`` not a better one."""
    why: str = ""


class Refused(Record, frozen=True, array_like=True, tag=True):
    """The executor does not take the client."""

    reason: str
    leaves: bool = False
    """Whether it ends now, to make room for another."""


class Started(Record, frozen=True, array_like=True, tag=True):
    """The first main process of the attempt exists."""

    id: str
    at: float


class Progressed(Record, frozen=True, array_like=True, tag=True):
    """The progress file says something new."""

    id: str
    at: float
    text: str


class Ended(Record, frozen=True, array_like=True, tag=True):
    """The attempt is over, durably."""

    id: str
    at: float
    containers: tuple[ContainerExit, ...] = ()
    reason: str = ""
    """Empty, ``deadline``, ``stopped`` or ``lost``."""
    cpu_seconds: float = 0.0
    memory_bytes: int = 0
    message: str = ""
    folder: str = ""


class Unknown(Record, frozen=True, array_like=True, tag=True):
    """No such attempt was ever started here."""

    id: str


class Probed(Record, frozen=True, array_like=True, tag=True):
    """How a probe's command ended; None where it could not run or took too long."""

    number: int
    code: int | None


Event = Started | Progressed | Ended | Unknown | Probed


class Batch(Record, frozen=True, array_like=True, tag=True):
    """Several events at once."""

    events: tuple[Event, ...]


Request = Hello | Start | Attach | Stop | Ack | Keep | Probe
Reply = Welcome | Refused | Batch

_encode = msgspec.msgpack.Encoder().encode


@cache
def request_decoder() -> msgspec.msgpack.Decoder[Request]:
    """Give what the executor reads with."""
    return msgspec.msgpack.Decoder(Request)


@cache
def reply_decoder() -> msgspec.msgpack.Decoder[Reply]:
    """Give what a client reads with; either side needs only one."""
    return msgspec.msgpack.Decoder(Reply)


def frame(message: Request | Reply) -> bytes:
    """Return the bytes of one message, length first."""
    body = _encode(message)
    return _LENGTH.pack(len(body)) + body


class Frames:
    """Cuts a stream of bytes into the bodies of frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes | memoryview) -> Iterator[bytes]:
        """Take bytes as they arrive; give each frame that is complete."""
        self._buffer += data
        start = 0
        while len(self._buffer) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer, start)
            if length > MAX_FRAME:
                raise ValueError(f"frame of {length} bytes")
            end = start + _LENGTH.size + length
            if len(self._buffer) < end:
                break
            yield bytes(self._buffer[start + _LENGTH.size : end])
            start = end
        if start:
            del self._buffer[:start]
