"""Commands inside of containers (``kubectl exec``), over a WebSocket.

Files go in and out this way: the kubelet carries it, so it works wherever logs can be read.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from tiphys.errors import ClusterError
from tiphys.kube.access import Access
from tiphys.kube.client import unreachable

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

_STDIN, _STDOUT, _STDERR, _STATUS, _CLOSE = 0, 1, 2, 3, 255
_PROTOCOL = "v5.channel.k8s.io"
"""The first version in which the end of the input can be told."""
_PIECE = 256 * 1024


class ExecError(ClusterError):
    """The command ended with a code other than 0."""

    code = "cluster_error"


async def execute(
    access: Access,
    pod: str,
    command: Sequence[str],
    *,
    container: str,
    stdin: AsyncIterator[bytes] | None = None,
    stdout: Callable[[bytes], None] | None = None,
) -> None:
    """Run a command to its end in a container of ``pod`` (its path); raise ClusterError."""
    # Slow to load, and few tasks need it.
    from websockets.asyncio.client import connect  # noqa: PLC0415
    from websockets.exceptions import WebSocketException  # noqa: PLC0415
    from websockets.typing import Subprotocol  # noqa: PLC0415

    query = [("container", container), ("stdout", "true"), ("stderr", "true")]
    query += [("stdin", "true")] if stdin is not None else []
    query += [("command", word) for word in command]
    server = access.server.replace("http", "ws", 1).rstrip("/")
    try:
        async with connect(
            f"{server}{quote(pod)}/exec?{urlencode(query)}",
            ssl=access.tls,
            subprotocols=[Subprotocol(_PROTOCOL)],
            additional_headers=access.credential.headers(),
            proxy=None,
            compression=None,
            max_size=None,
        ) as socket:
            if stdin is not None:
                await _feed(socket, stdin)
            await _drain(socket, stdout)
    except (OSError, TimeoutError, WebSocketException) as error:
        raise unreachable(access, error) from error


async def _feed(socket: ClientConnection, stdin: AsyncIterator[bytes]) -> None:
    async for data in stdin:
        for start in range(0, len(data), _PIECE):
            await socket.send(bytes((_STDIN,)) + data[start : start + _PIECE])
    await socket.send(bytes((_CLOSE, _STDIN)))


async def _drain(socket: ClientConnection, stdout: Callable[[bytes], None] | None) -> None:
    said = b""
    async for message in socket:
        data = message.encode() if isinstance(message, str) else message
        if not data:
            continue
        channel, data = data[0], data[1:]
        if channel == _STDOUT and stdout is not None:
            stdout(data)
        elif channel == _STDERR:
            said = (said + data)[-1000:]
        elif channel == _STATUS:
            _check(data, said)
            return
    raise ConnectionResetError("the command's end was not told")


def _check(data: bytes, said: bytes) -> None:
    status = json.loads(data)
    if status.get("status") != "Success":
        message = f"{status.get('message', 'failed')}: {said.decode(errors='replace').strip()}"
        raise ExecError(message.strip(": "), status=500, reason=str(status.get("reason") or ""))
