"""Views kept for use again: of one whose container changed nothing, nothing has to be made anew.

A slot is a folder (upper, work, merged) and, once built, its mount namespace. After its container
has ended it goes one of three ways: untouched, it waits for the next; written to, its folder is
cleared in the background and waits unbuilt; wanted for its files, the folder moves to the attempt.
Untouched means all of: the base folders are the same to the nanosecond, ``/dev/shm`` is empty, and
the table of mounts is the same.
"""

from __future__ import annotations

import os
import queue
import select
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Thread

import msgspec

from tiphys.executor.opening import remove_stubs
from tiphys.executor.sandbox import SCRIPT, Sandbox
from tiphys.executor.thread import start_thread
from tiphys.executor.tree import clear_tree, remove_tree

_STAGING = os.path.dirname(SCRIPT)
KEPT = 64
"""More than run at once on one machine, as a rule."""


class Slot(msgspec.Struct):
    """One view."""

    path: str
    namespace: int = -1
    table: int = -1
    shared: int = -1
    state: object = None
    stubs: list[str] = msgspec.field(default_factory=list)
    """What lies in its upper layer only to be mounted on."""

    @property
    def upper(self) -> str:
        """Return where the container's writes land."""
        return f"{self.path}/upper"


class Slots:
    """All views of one executor."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self.sandbox = sandbox
        self._folder = folder
        self._built: list[Slot] = []
        self._cleared: queue.SimpleQueue[Slot] = queue.SimpleQueue()
        self._work: queue.SimpleQueue[Slot | str | None] = queue.SimpleQueue()
        self._numbers = count()
        self._thread: Thread | None = None
        clear_tree(str(folder))

    def take(self) -> Slot:
        """Return a built slot with nothing in it."""
        if self._built:
            return self._built.pop()
        try:
            slot = self._cleared.get_nowait()
        except queue.Empty:
            slot = Slot(str(self._folder / str(next(self._numbers))))
        slot.namespace = self.sandbox.build(slot.path)
        slot.table, slot.shared = self.sandbox.open_signs(slot.namespace)
        slot.state = _state(slot)
        return slot

    def give_back(self, slot: Slot) -> None:
        """Take back a slot in which nothing runs any more."""
        if len(self._built) < KEPT and self._is_untouched(slot):
            self._built.append(slot)
            return
        _unbuild(slot)
        slot.stubs = []
        self._clear_later(slot)

    def hand_over(self, slot: Slot, target: str) -> None:
        """Move a slot's folder, with all that its container wrote, to ``target``."""
        _unbuild(slot)
        remove_stubs(slot.stubs)
        remove_tree(target)
        os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
        try:
            os.rename(slot.path, target)
        except OSError:
            # Views lie on another file system where the data directory's cannot carry them.
            os.symlink(slot.path, target)

    def remove(self, path: str) -> None:
        """Delete a folder some time soon."""
        self._clear_later(path)

    def _clear_later(self, item: Slot | str) -> None:
        self._work.put(item)
        if self._thread is None:
            with suppress(RuntimeError):  # No room for one: the next item tries again.
                self._thread = start_thread("slots", self._run)

    def close(self, *, at_home: bool) -> None:
        """Finish what is being cleared and remove all views, if their folder is still ours."""
        for slot in self._built:
            _unbuild(slot)
        self._work.put(None)
        if self._thread is None:
            self._run()
        else:
            self._thread.join()
        if at_home:
            with suppress(OSError):
                remove_tree(str(self._folder))

    def _is_untouched(self, slot: Slot) -> bool:
        try:
            # The cheap question first: a task that wrote a file has mostly answered it.
            if slot.state != _state(slot):
                return False
            return not os.listdir(slot.shared) and not _is_mounted_to(slot)
        except OSError:
            return False

    def _run(self) -> None:
        while (item := self._work.get()) is not None:
            # What cannot be removed stays until the next executor clears the whole folder.
            with suppress(OSError):
                if isinstance(item, str):
                    _remove(item)
                    continue
                clear_tree(item.path)
                self._cleared.put(item)


def _remove(path: str) -> None:
    if os.path.islink(path):
        remove_tree(os.readlink(path))
        os.unlink(path)
    else:
        remove_tree(path)


def _is_mounted_to(slot: Slot) -> bool:
    """Tell whether the table of mounts has changed since it was opened."""
    poll = select.poll()
    poll.register(slot.table, select.POLLPRI)
    return bool(poll.poll(0))


def _unbuild(slot: Slot) -> None:
    for descriptor in (slot.namespace, slot.table, slot.shared):
        if descriptor >= 0:
            os.close(descriptor)
    slot.namespace = slot.table = slot.shared = -1


def _state(slot: Slot) -> object:
    """Return what tells a touched upper layer from an untouched one."""
    paths = [slot.upper + path for path in ("", "/argo", _STAGING, SCRIPT)]
    paths += [entry.path for entry in os.scandir(slot.upper)]
    with suppress(FileNotFoundError):
        paths += [f"{entry.path}/upper" for entry in os.scandir(f"{slot.path}/more")]
    found = [os.lstat(path) for path in paths]
    return [(status.st_ino, status.st_ctime_ns) for status in found]
