"""The host's door: a Unix socket at which other processes of the same user ask for things.

One JSON object a line each way. ``ask`` is the client's side; it says None where nobody is at home.
File permissions are the lock: the socket lies in the data directory, mode 600.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from tiphys import errors
from tiphys.errors import TiphysError

Handler = Callable[[Mapping[str, Any]], Awaitable[Any]]
LIMIT = 64 * 1024 * 1024
PATIENCE = 1.0
_NAME = "door"
_GONE = "the server went away before it answered"


class GoneError(errors.ConflictError):
    """The host ended before it answered; what was asked for may have been done or not."""


class Reply(msgspec.Struct, omit_defaults=True):
    """An answer: ``data``, or what went wrong."""

    data: Any = None
    code: str = ""
    message: str = ""
    problems: list[dict[str, Any]] = []
    workflows: list[Any] = []


class Door:
    """The host's side."""

    def __init__(self, folder: Path, handlers: Mapping[str, Handler]) -> None:
        self._path = folder / _NAME
        self._handlers = handlers
        self._server: asyncio.Server | None = None
        self._answering: set[asyncio.Task[Any]] = set()
        self._inode = 0

    async def open(self) -> None:
        """Listen; a socket that a dead process left behind is replaced."""
        self._path.unlink(missing_ok=True)
        # The path of a socket is limited to 108 bytes: bind it by its folder.
        folder = os.open(self._path.parent, os.O_PATH | os.O_DIRECTORY)
        try:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.bind(f"/proc/self/fd/{folder}/{_NAME}")
        finally:
            os.close(folder)
        self._path.chmod(0o600)
        self._inode = self._path.stat().st_ino
        sock.setblocking(False)
        self._server = await asyncio.start_unix_server(self._serve, sock=sock, limit=LIMIT)

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            with suppress(FileNotFoundError):
                # Another host may have come after us: its socket is not ours to remove.
                if self._path.stat().st_ino == self._inode:
                    self._path.unlink()
        if self._answering:
            # Whoever asked gets an answer, be it that we end.
            await asyncio.wait(self._answering, timeout=PATIENCE)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                task = asyncio.current_task()
                assert task is not None
                self._answering.add(task)
                try:
                    reply = await self._answer(line)
                    writer.write(msgspec.json.encode(reply) + b"\n")
                    await writer.drain()
                finally:
                    self._answering.discard(task)
        except (ConnectionError, asyncio.LimitOverrunError, ValueError, asyncio.CancelledError):
            pass  # The caller went away, or the host does.
        finally:
            writer.close()

    async def _answer(self, line: bytes) -> Reply:
        try:
            request = msgspec.json.decode(line, type=dict[str, Any])
            handler = self._handlers[request.pop("op")]
            return Reply(data=await handler(request))
        except TiphysError as error:
            problems = [msgspec.to_builtins(p) for p in getattr(error, "problems", ())]
            workflows = list(getattr(error, "workflows", ()))
            return Reply(
                code=error.code, message=str(error), problems=problems, workflows=workflows
            )
        except (KeyError, TypeError, msgspec.MsgspecError) as error:
            return Reply(code="invalid_input", message=f"the request cannot be read: {error!r}")


class Caller:
    """A client's side: one connection, one question after another."""

    def __init__(self, sock: socket.socket) -> None:
        self._file = sock.makefile("rwb")
        self._socket = sock

    def ask(self, op: str, **arguments: Any) -> Any:
        """Ask, and give the answer's data or raise what went wrong."""
        try:
            self._file.write(msgspec.json.encode({"op": op, **arguments}) + b"\n")
            self._file.flush()
            line = self._file.readline()
        except ConnectionError as error:
            raise GoneError(_GONE) from error
        if not line.endswith(b"\n"):
            raise GoneError(_GONE)
        reply = msgspec.json.decode(line, type=Reply)
        if reply.code:
            raise _raised(reply)
        return reply.data

    def close(self) -> None:
        """Hang up."""
        with suppress(ConnectionError):  # What could not be sent is of no use any more.
            self._file.close()
        self._socket.close()


def knock(folder: Path) -> Caller | None:
    """Give a connection to the host of ``folder``; None where there is none."""
    try:
        descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    except FileNotFoundError:
        return None
    try:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.connect(f"/proc/self/fd/{descriptor}/{_NAME}")
    except (FileNotFoundError, ConnectionRefusedError):
        sock.close()
        return None
    finally:
        os.close(descriptor)
    return Caller(sock)


KINDS: Mapping[str, type[TiphysError]] = {
    "not_found": errors.NotFoundError,
    "conflict": errors.ConflictError,
    "name_taken": errors.ConflictError,
    "invalid_input": errors.InvalidInputError,
    "storage_full": errors.StoreFullError,
}


def _raised(reply: Reply) -> TiphysError:
    if reply.problems:
        return errors.SpecError([errors.Problem(**each) for each in reply.problems])
    return KINDS.get(reply.code, TiphysError)(reply.message)
