"""What waits for a server elsewhere outlasts its restart: it tries again, and says so once.

Only for what may be asked twice. What would fail again (a workflow that is not there, a token that
is not taken) is raised at once, and so is every error of a server that never answered, and the last
one when the patience is at its end.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from tiphys.cli.failure import visible
from tiphys.client import AnswerError, Client
from tiphys.client.model import Update
from tiphys.errors import StoreError, TiphysError

T = TypeVar("T")
PATIENCE = 300.0
"""Seconds without an answer after which a server is given up."""
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0
ENDED = frozenset({"succeeded", "failed", "error"})


class Patience:
    """How long a server is away, and what is left of the time that it is given."""

    def __init__(self, seconds: float = PATIENCE) -> None:
        self._seconds, self._pause = seconds, FIRST_PAUSE
        self._since: float | None = None
        self._met = False

    def end(self) -> None:
        """The server answers."""
        self._met, self._since, self._pause = True, None, FIRST_PAUSE

    def wait(self, error: TiphysError) -> None:
        """Pause before another try, or raise ``error``."""
        now = time.monotonic()
        since = now if self._since is None else self._since
        if not (self._met and _passes(error)) or now - since >= self._seconds:
            raise error
        if self._since is None:
            self._since = now
            sys.stderr.write(f"the server is away, trying again: {visible(str(error))}\n")
        time.sleep(self._pause)
        self._pause = min(LONGEST_PAUSE, self._pause * 2)


def _passes(error: TiphysError) -> bool:
    """Whether the same question may be answered later."""
    if isinstance(error, AnswerError):
        return not 400 <= error.status < 500
    return isinstance(error, StoreError)


def ask(question: Callable[[], T], patience: Patience) -> T:
    """Ask until there is an answer."""
    while True:
        try:
            answer = question()
        except TiphysError as error:
            patience.wait(error)
        else:
            patience.end()
            return answer


def updates(client: Client, key: str, patience: Patience) -> Iterator[Update]:
    """Yield what becomes of a workflow, to its end; a stream that breaks off is opened again."""
    while True:
        broken: TiphysError = AnswerError("the stream ended before the workflow did")
        try:
            for update in client.watch(key):
                patience.end()
                yield update
                if update.status in ENDED:
                    return
        except TiphysError as error:
            broken = error
        patience.wait(broken)
