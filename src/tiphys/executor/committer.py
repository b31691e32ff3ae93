"""Group commit: everything that waits becomes durable with one sync, off the loop's thread.

The loop adds entries, log streams and what to do afterwards; while one sync runs the next batch
gathers. Order inside a batch: logs first, then the entries, so that an ``Ended`` never
promises a log that is not there. Callbacks run on the loop's thread, from ``collect``.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

import msgspec

from tiphys.executor.journal import Entry, Journal, seal
from tiphys.executor.stream import Stream

Done = Callable[[OSError | None], None]


class _Batch(msgspec.Struct):
    data: list[bytes] = msgspec.field(default_factory=list)
    logs: list[Stream] = msgspec.field(default_factory=list)
    done: list[Done] = msgspec.field(default_factory=list)
    error: OSError | None = None


class Committer:
    """Makes journal entries durable in batches."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._next = _Batch()
        self._loose: list[bytes] = []
        self._running = False
        self._work: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._finished: queue.SimpleQueue[_Batch] = queue.SimpleQueue()
        self.wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._thread = threading.Thread(target=self._run, name="committer", daemon=True)
        self._thread.start()

    def add(self, entry: Entry, done: Done, logs: Iterable[Stream] = ()) -> None:
        """Make ``entry`` durable after ``logs``, finished here; then call ``done``."""
        self._next.data.append(seal(entry))
        self._next.done.append(done)
        self._next.logs += logs

    def note(self, entry: Entry) -> None:
        """Write ``entry`` with the next batch; nobody waits for it."""
        self._loose.append(seal(entry))

    def kick(self) -> None:
        """Hand over what waits, unless a batch is under way."""
        if self._running or not self._next.done:
            if self._loose and not self._running:
                self._flush_loose()
            return
        batch, self._next = self._next, _Batch()
        batch.data[:0] = self._loose
        self._loose = []
        self._running = True
        self._work.put(batch)

    def collect(self) -> None:
        """Run the callbacks of a finished batch; call when ``wake_fd`` is readable."""
        try:
            os.eventfd_read(self.wake_fd)
        except BlockingIOError:
            return
        while not self._finished.empty():
            batch = self._finished.get()
            self._running = False
            for done in batch.done:
                done(batch.error)
        if not self._running and self._journal.wants_compaction:
            # On a full disk the old file goes on being used.
            with suppress(OSError):
                self._journal.compact()

    @property
    def idle(self) -> bool:
        """Tell whether nothing waits and nothing is under way."""
        return not self._running and not self._next.done

    def close(self) -> None:
        """Finish what was handed over and end the thread."""
        self._work.put(None)
        self._thread.join()
        os.close(self.wake_fd)

    def _flush_loose(self) -> None:
        # Records nobody waits for: a write without sync is enough, and a full disk is no loss.
        data, self._loose = b"".join(self._loose), []
        try:
            self._journal.write(data, durable=False)
        except OSError:
            return

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
