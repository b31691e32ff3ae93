"""What goes wrong between us and a cluster where nobody waits for an answer: one line in the log.

Whoever follows or orders something in the background must neither end of a mistake nor keep it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tiphys.errors import ClusterError, TiphysError

log = logging.getLogger("tiphys.cluster")


@contextmanager
def going_on(what: str) -> Iterator[None]:
    """Take a piece of news; a defect of ours in doing so is noted, and the next one is taken."""
    try:
        yield
    except Exception:
        log.exception("%s could not be taken in", what)


class Try:
    """Something that a cluster is asked to do; ``done`` tells afterwards whether it did.

    A refusal is noted with the verb and the object. That the object is gone is none.
    """

    def __init__(self, verb: str, thing: str) -> None:
        self._what = f"{verb} {thing}"
        self.done = False

    def __enter__(self) -> Try:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        self.done = error is None or (isinstance(error, ClusterError) and error.status == 404)
        if self.done:
            return True
        if not isinstance(error, TiphysError | OSError):
            return False
        log.warning("cannot %s: %s", self._what, error)
        return True


def tell_defect(task: asyncio.Task[Any]) -> None:
    """Note that a task of the background ended by a defect; called when it is done."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        log.error("a task in the background ended: %s: %s", type(error).__name__, error)
