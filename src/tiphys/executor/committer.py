"""Group commit: everything that waits becomes durable with one sync, off the loop's thread.

The loop adds entries, log streams and what to do afterwards; while one sync runs the next batch
gathers. Order inside a batch: logs first, then the entries, so that an ``Ended`` never
promises a log that is not there. Callbacks run on the loop's thread, from ``collect``, which calls
``between`` after each but the last: together they may take long. What nobody waits for goes along
with the next batch, or soon by itself.
"""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Iterable
from contextlib import suppress
from time import monotonic

import msgspec

from tiphys.executor.journal import Entry, Journal, seal
from tiphys.executor.stream import Stream
from tiphys.executor.thread import start_thread

Done = Callable[[OSError | None], None]
TRY_AGAIN = 1.0
OWED = 0.02
"""Seconds for which an entry that nobody waits for may be on its way to the disk."""


class _Batch(msgspec.Struct):
    data: list[bytes] = msgspec.field(default_factory=list)
    """In the order in which things happened."""
    loose: list[bytes] = msgspec.field(default_factory=list)
    """Those of the data that nobody waits for."""
    logs: list[Stream] = msgspec.field(default_factory=list)
    done: list[Done] = msgspec.field(default_factory=list)
    error: OSError | None = None


class Committer:
    """Makes journal entries durable in batches."""

    def __init__(self, journal: Journal, between: Callable[[], None] = lambda: None) -> None:
        self._journal = journal
        self._between = between
        self._next = _Batch()
        self._owed_since = 0.0
        """Since when an entry waits that is to be durable and that nobody waits for; 0 for none."""
        self._running = False
        self._work: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._finished: queue.SimpleQueue[_Batch] = queue.SimpleQueue()
        self.wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._thread = start_thread("committer", self._run)

    def add(self, entry: Entry, done: Done, logs: Iterable[Stream] = ()) -> None:
        """Make ``entry`` durable after ``logs``, finished here; then call ``done``."""
        self._next.data.append(seal(entry))
        self._next.done.append(done)
        self._next.logs += logs

    def note(self, entry: Entry) -> None:
        """Write ``entry`` with the next batch; nobody waits for it."""
        data = seal(entry)
        self._next.data.append(data)
        self._next.loose.append(data)

    def owe(self, entry: Entry) -> None:
        """Make ``entry`` durable soon; nobody waits for it."""
        self.note(entry)
        self._owed_since = self._owed_since or monotonic()

    def kick(self) -> None:
        """Hand over what waits, unless a batch is under way."""
        if self._running or not self._next.data:
            return
        if not self._next.done and self._owed_since and self.patience:
            return
        batch, self._next = self._next, _Batch()
        if not batch.done and not self._owed_since:
            self._write_loose(batch)
            return
        self._owed_since = 0.0
        self._running = True
        self._work.put(batch)

    @property
    def patience(self) -> float | None:
        """Return in how many seconds to kick for what is owed; None where nothing is."""
        if self._running or not self._owed_since:
            return None
        return max(0.0, self._owed_since + OWED - monotonic())

    def collect(self) -> None:
        """Run the callbacks of a finished batch; call when ``wake_fd`` is readable."""
        try:
            os.eventfd_read(self.wake_fd)
        except BlockingIOError:
            return
        while not self._finished.empty():
            batch = self._finished.get()
            self._running = False
            if batch.error is not None:
                self._take_back(batch)
            for number, done in enumerate(batch.done):
                if number:
                    self._between()
                done(batch.error)
        if not self._running and self._journal.wants_compaction:
            # On a full disk the old file goes on being used.
            with suppress(OSError):
                self._journal.compact()

    @property
    def idle(self) -> bool:
        """Tell whether nobody waits and nothing is under way."""
        return not self._running and not self._next.done

    def close(self) -> None:
        """Finish everything and end the thread."""
        if self._next.data:
            self._work.put(self._next)
        self._work.put(None)
        self._thread.join()
        os.close(self.wake_fd)

    def _take_back(self, batch: _Batch) -> None:
        # A full disk. Who waits for an entry adds it again; the others are tried again from here.
        self._next.data[:0] = batch.loose
        self._next.loose[:0] = batch.loose
        self._owed_since = monotonic() + TRY_AGAIN

    def _write_loose(self, batch: _Batch) -> None:
        # Records nobody waits for: a write without sync is enough, and a full disk is no loss.
        with suppress(OSError):
            self._journal.write(b"".join(batch.data), durable=False)

    def _run(self) -> None:
        while (batch := self._work.get()) is not None:
            try:
                self._commit(batch)
            except OSError as error:
                batch.error = error
            self._finished.put(batch)
            os.eventfd_write(self.wake_fd, 1)

    def _commit(self, batch: _Batch) -> None:
        for log in batch.logs:
            log.finish()
        self._journal.write(b"".join(batch.data))
