"""When a daemon is ready: its readiness probe, asked again and again until it passes.

HTTP and TCP probes go to this machine's own loopback, commands run beside the container through
the executor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

from tiphys.executor import protocol
from tiphys.runtimes.translate import MAIN, Plan
from tiphys.spec import model

if TYPE_CHECKING:
    from tiphys.runtimes.engine import Engine

LOOPBACK = "127.0.0.1"
_FASTEST = 0.05


def probe_of(template: model.Template) -> model.Probe | None:
    """Return the readiness probe of a template's main container."""
    main = template.script or template.container
    if main is not None:
        return main.readiness_probe
    if template.container_set is not None:
        probes = [node.readiness_probe for node in template.container_set.containers]
        return next((probe for probe in probes if probe is not None), None)
    return None


class Probes:
    """Runs readiness probes."""

    def __init__(self, send: Callable[[protocol.Request], bool]) -> None:
        self.engine: Engine | None = None
        """Where containers run in an engine, the one to ask for a command beside them."""
        self._send = send
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[int | None]] = {}
        self._closed = asyncio.Event()

    def answer(self, event: protocol.Probed) -> None:
        """Take the end of a probe's command."""
        future = self._waiting.pop(event.number, None)
        if future is not None and not future.done():
            future.set_result(event.code)

    def close(self) -> None:
        """Give up waiting."""
        self._closed.set()
        for future in self._waiting.values():
            future.cancel()

    async def wait(self, plan: Plan, probe: model.Probe, runs: Callable[[], bool]) -> bool:
        """Return True when the probe has passed, False when the task is over before."""
        await self._pause(float(probe.initial_delay_seconds or 0))
        needed, passed = probe.success_threshold or 1, 0
        period = float(probe.period_seconds or 10)
        # The first answers are asked for quickly: a laptop's daemon is up in no time.
        pause = _FASTEST
        while runs() and not self._closed.is_set():
            passed = passed + 1 if await self._ask(plan, probe) else 0
            if passed >= needed:
                return True
            await self._pause(min(pause, period))
            pause *= 1.5
        return False

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closed.wait(), seconds)

    async def _ask(self, plan: Plan, probe: model.Probe) -> bool:
        timeout = float(probe.timeout_seconds or 1)
        try:
            async with asyncio.timeout(timeout + 1):
                if probe.exec is not None:
                    return await self._command(plan, probe.exec.command, timeout)
                if probe.http_get is not None:
                    return await _http(plan, probe.http_get)
                if probe.tcp_socket is not None:
                    return await _tcp(plan, probe.tcp_socket)
        except (OSError, TimeoutError, asyncio.CancelledError, ValueError, EOFError):
            return False
        return True

    async def _command(self, plan: Plan, argv: tuple[str, ...], seconds: float) -> bool:
        number = next(self._numbers)
        future: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        if self.engine is not None:
            argv = self.engine.beside(plan.task.id, MAIN, argv)
        self._send(protocol.Probe(plan.task.id, MAIN, argv, number, seconds))
        return await future == 0


def _port(plan: Plan, port: int | str) -> int:
    if isinstance(port, int) or port.isdigit():
        return int(port)
    main = plan.task.template.script or plan.task.template.container
    for known in main.ports if main is not None else ():
        if known.name == port:
            return known.container_port
    raise ValueError(f"no port {port}")


async def _tcp(plan: Plan, action: model.TCPSocketAction) -> bool:
    address = action.host or LOOPBACK
    _, writer = await asyncio.open_connection(address, _port(plan, action.port))
    writer.close()
    await writer.wait_closed()
    return True


async def _http(plan: Plan, action: model.HTTPGetAction) -> bool:
    secure = action.scheme.upper() == "HTTPS"
    address, port = action.host or LOOPBACK, _port(plan, action.port)
    context = _no_check() if secure else None
    reader, writer = await asyncio.open_connection(address, port, ssl=context)
    try:
        lines = [f"GET {action.path or '/'} HTTP/1.0", f"Host: {address}:{port}"]
        lines += [f"{header.name}: {header.value}" for header in action.http_headers]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        status = (await reader.readline()).split()
        return len(status) > 1 and 200 <= int(status[1]) < 400
    finally:
        writer.close()


def _no_check() -> object:
    import ssl  # noqa: PLC0415 - rare, and slow to import

    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
