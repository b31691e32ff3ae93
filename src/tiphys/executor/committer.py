"""Group commit: everything that waits becomes durable with one sync, off the loop's thread.

The loop adds entries, log streams and what to do afterwards; while one sync runs the next batch
gathers. Order inside a batch: logs first, then the entries, so that an ``Ended`` never
promises a log that is not there. Callbacks run on the loop's thread, from ``collect``. What nobody
waits for is written by the loop itself, in the order in which it happened, and becomes durable with
the next batch, or soon by itself.
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
    logs: list[Stream] = msgspec.field(default_factory=list)
    done: list[Done] = msgspec.field(default_factory=list)
    error: OSError | None = None


class Committer:
    """Makes journal entries durable in batches."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._next = _Batch()
        self._loose: list[bytes] = []
        """Entries that nobody waits for and that are not written yet."""
        self._owed_since = 0.0
        """Since when an entry waits that is to be durable and that nobody waits for; 0 for none."""
        self._not_before = 0.0
        """When the disk is tried again that took nothing."""
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
        """Write ``entry`` at the next kick; nobody waits for it."""
        self._loose.append(seal(entry))

    def owe(self, entry: Entry) -> None:
        """Make ``entry`` durable soon; nobody waits for it."""
        self.note(entry)
        self._owed_since = self._owed_since or monotonic()

    def write(self, entries: Iterable[Entry]) -> None:
        """Write ``entries`` now, which a crash of ours does not undo, and make them durable soon.

        Raises OSError where there is no room: then they are not written.
        """
        self._journal.write(b"".join([*self._loose, *map(seal, entries)]), durable=False)
        self._loose.clear()
        self._owed_since = self._owed_since or monotonic()

    def kick(self) -> bool:
        """Hand over what waits, unless a batch is under way; tell whether one was handed over."""
        is_awaited = bool(self._next.done)
        if self._running or (self.patience and not is_awaited):
            return False
        is_fine = self._mend() and self._write_loose()
        self._not_before = 0.0 if is_fine else monotonic() + TRY_AGAIN
        if not is_awaited and not (is_fine and self._owed_since):
            return False
        if is_fine:
            self._owed_since = 0.0
        batch, self._next = self._next, _Batch()
        self._running = True
        self._work.put(batch)
        return True

    @property
    def patience(self) -> float | None:
        """Return in how many seconds to kick for what nobody waits for; None where nothing is."""
        if self._running or not (self._owed_since or self._not_before):
            return None
        due = self._owed_since + OWED if self._owed_since else 0.0
        return max(0.0, due - monotonic(), self._not_before - monotonic())

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
                # Who waits for an entry adds it again; the others are synced again from here.
                self._owed_since = monotonic()
                self._not_before = self._owed_since + TRY_AGAIN
            for done in batch.done:
                done(batch.error)
        if not self._running and self._journal.wants_compaction:
            # On a full disk the old file goes on being used.
            with suppress(OSError):
                self._journal.compact()

    @property
    def idle(self) -> bool:
        """Tell whether nobody waits, nothing is under way and nothing is owed."""
        return not (self._running or self._next.done or self._owed_since)

    def close(self) -> bool:
        """Finish everything and end the thread; tell whether all is durable."""
        is_fine = self._write_loose()
        last = self._next
        if last.data or self._owed_since:
            self._work.put(last)
        self._work.put(None)
        self._thread.join()
        os.close(self.wake_fd)
        return is_fine and last.error is None and not self._journal.is_torn

    def _mend(self) -> bool:
        """Write the journal anew where a sync has failed; tell whether it is whole."""
        if self._journal.is_torn:
            with suppress(OSError):
                self._journal.compact()
        return not self._journal.is_torn

    def _write_loose(self) -> bool:
        """Write what nobody waits for; False on a full disk, where it is tried again."""
        if self._loose:
            try:
                self._journal.write(b"".join(self._loose), durable=False)
            except OSError:
                return False
            self._loose.clear()
        return True

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
