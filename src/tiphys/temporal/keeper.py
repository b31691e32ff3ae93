"""Keeps the worker's own server for as long as the worker lives, and not a moment longer.

Run as a program with the server's command as its arguments. Its standard input is a pipe from the
worker, which nobody writes to: it ends when the worker does, however that happened, a SIGKILL
included. Then the server is asked to end; its tasks go on, and the next server takes them up.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import suppress

STOP_SECONDS = 20.0


def main(command: list[str]) -> int:
    """Run the command until it ends or nobody needs it; give its exit code."""
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    threading.Thread(target=_end_with_worker, args=(server,), daemon=True).start()
    return server.wait()


def _end_with_worker(server: subprocess.Popen[bytes]) -> None:
    while sys.stdin.buffer.read(4096):
        pass
    with suppress(ProcessLookupError):
        server.terminate()
    try:
        server.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
