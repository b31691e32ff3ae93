"""A server that answers as it was told to: the far end of a client.

One answer after another, or by a function of method and path.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Told:
    """One answer."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    pieces: tuple[bytes, ...] | None = None
    """Sent as chunks in place of the body."""
    cut: bool = False
    """Whether the connection is closed before the end."""


class Server(ThreadingHTTPServer):
    """Keeps what it was asked."""

    daemon_threads = True

    def __init__(self, answer: Callable[[str, str], Told]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append((self.command, self.path, headers, body))
        told = self.server.answer(self.command, self.path)
        self.send_response(told.status)
        for name, value in told.headers.items():
            self.send_header(name, value)
        if told.pieces is None:
            self.send_header("Content-Length", str(len(told.body)))
            self.end_headers()
            self.wfile.write(told.body[: len(told.body) // 2] if told.cut else told.body)
        else:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in told.pieces:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if not told.cut:
                self.wfile.write(b"0\r\n\r\n")
        if told.cut:
            self.close_connection = True

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _answer  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def answering(answer: Callable[[str, str], Told]) -> Iterator[Server]:
    """Run a server that answers each request by itself."""
    server = Server(answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def serving(*answers: Told) -> Iterator[Server]:
    """Run a server with these answers."""
    left = list(answers)
    with answering(lambda method, path: left.pop(0)) as server:
        yield server


class Somewhere(Protocol):
    """What listens somewhere."""

    @property
    def address(self) -> str: ...


def write_access(folder: Path, server: Somewhere) -> str:
    """Write the kubeconfig of a server; give its path."""
    named = {
        "clusters": [{"name": "c", "cluster": {"server": server.address}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps({"current-context": "x", **named}))
    return str(path)
