"""All peers, in the order in which they are shown."""

from __future__ import annotations

from benchmarks.speed.peer import Peer
from benchmarks.speed.peers import library, server, shell, tiphys


def everybody() -> list[Peer]:
    """Give all peers."""
    return [*tiphys.peers(), *shell.peers(), *library.peers(), *server.peers()]
