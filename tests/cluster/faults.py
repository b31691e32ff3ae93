"""An API server that fails: a proxy in front of the real one, on loopback, without TLS.

Each connection carries one request. Faults are told as rules: the first that fits a request takes
its place, as often as it says; everything else passes unchanged, exec's WebSockets too.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tests.cluster.rig.plane import ControlPlane

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(slots=True)
class Fault:
    """What happens to requests that fit."""

    fits: Callable[[str, str], bool]
    """Asked with method and target."""
    status: int = 0
    """The answer instead of the real one; 0 passes the request on."""
    reason: str = ""
    retry_after: int = 0
    times: int = 1
    after: bool = False
    """The request is done first: only its answer is lost, and the connection cut."""
    delay: float = 0.0
    cut_after: float = 0.0
    """Seconds after which the connection of a passed request is cut."""
    seen: int = 0


class Proxy:
    """Runs in a thread of its own; ``faults`` may be changed at any time."""

    def __init__(self, cluster: ControlPlane) -> None:
        self._target = cluster.settings.api_port
        self._tls = ssl.create_default_context(cafile=str(cluster.authority))
        self._token = cluster.settings.token
        self.faults: list[Fault] = []
        self.down = False
        self.requests: list[tuple[str, str]] = []
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.port = 0

    def __enter__(self) -> Proxy:
        self._thread.start()
        future = asyncio.run_coroutine_threadsafe(self._listen(), self._loop)
        self._server = future.result(30)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    def kubeconfig(self, folder: Path) -> str:
        """Write how the proxy is reached."""
        path = folder / "proxy-kubeconfig"
        server = {"server": f"http://127.0.0.1:{self.port}"}
        config = {
            "clusters": [{"name": "c", "cluster": server}],
            "users": [{"name": "u", "user": {"token": self._token}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        path.write_text(json.dumps(config))
        return str(path)

    def cut_all(self) -> None:
        """Cut every connection there is."""
        self._loop.call_soon_threadsafe(self._cut)

    def _cut(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def _end(self) -> None:
        self._server.close()
        self._cut()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        # Transports are closed by the loop, a moment later.
        await asyncio.sleep(0.1)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            # Cancelled only at the end; the streams of Python 3.11 would complain about that.
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                if not self.down:
                    await self._handle(reader, writer)
        finally:
            self._open.discard(writer)
            writer.transport.abort()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
        self.requests.append((method, target))
        fault = self._fault(method, target)
        body = await reader.readexactly(_length(head))
        if fault is not None:
            await asyncio.sleep(fault.delay)
        if fault is not None and fault.status and not fault.after:
            writer.write(_answer(fault))
            await writer.drain()
            writer.close()
            await writer.wait_closed()
            return
        await self._pass(head, body, (reader, writer), fault)

    def _fault(self, method: str, target: str) -> Fault | None:
        for fault in self.faults:
            if fault.seen < fault.times and fault.fits(method, target):
                fault.seen += 1
                return fault
        return None

    async def _pass(self, head: bytes, body: bytes, client: Streams, fault: Fault | None) -> None:
        reader, writer = client
        far_reader, far_writer = await asyncio.open_connection(
            "127.0.0.1", self._target, ssl=self._tls
        )
        self._open.add(far_writer)
        try:
            await self._carry(head + body, (reader, writer), (far_reader, far_writer), fault)
        finally:
            self._open.discard(far_writer)
            far_writer.transport.abort()

    async def _carry(
        self, request: bytes, client: Streams, server: Streams, fault: Fault | None
    ) -> None:
        (reader, writer), (far_reader, far_writer) = client, server
        upgrade = b"\r\nupgrade:" in request.lower()
        if not upgrade:
            request = request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
        far_writer.write(request)
        await far_writer.drain()
        if fault is not None and fault.after:
            await far_reader.read(1)
            return
        limit = fault.cut_after if fault is not None and fault.cut_after else None
        back = asyncio.create_task(_pump(far_reader, writer))
        forth = asyncio.create_task(_pump(reader, far_writer))
        await asyncio.wait({back, forth} if upgrade else {back}, timeout=limit)
        for task in (back, forth):
            task.cancel()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


def _answer(fault: Fault) -> bytes:
    status = {"kind": "Status", "status": "Failure", "message": "told to", "code": fault.status}
    body = json.dumps({**status, "reason": fault.reason}).encode()
    lines = [f"HTTP/1.1 {fault.status} Told", f"Content-Length: {len(body)}", "Connection: close"]
    if fault.retry_after:
        lines.append(f"Retry-After: {fault.retry_after}")
    return "\r\n".join([*lines, "", ""]).encode() + body
