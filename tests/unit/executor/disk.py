"""A journal whose disk can be full, and what has it written."""

from __future__ import annotations

import errno
import select

from tiphys.executor.committer import Committer
from tiphys.executor.journal import Journal

PATIENCE = 30


class Disk(Journal):
    """A journal whose disk can be full, and that counts its syncs."""

    full = False
    syncs = 0

    def write(self, data: bytes, *, durable: bool = True) -> None:
        """Write, if there is room."""
        if self.full:
            raise OSError(errno.ENOSPC, "full")
        self.syncs += durable
        super().write(data, durable=durable)


def work(committer: Committer) -> None:
    """Have one batch written, and its callbacks run."""
    if committer.kick():
        select.select([committer.wake_fd], [], [], PATIENCE)
        committer.collect()
