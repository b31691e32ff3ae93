"""Control groups: limits, measured use, and the certain end of every survivor.

One group per attempt, below the executor's own group and never beside it, so that limits set on
the executor hold for its tasks too. Version 2 is used for ending (``cgroup.kill``) wherever it is
mounted, and for limits where its controllers can be handed down; else version 1 controllers are
used, one folder each, only those that a limit asks for. A group without limits serves one attempt
after another, as the kernel takes its time to make one. Processes are born in their groups; where
that cannot be, the executor goes in for each start, and as each way from group to group takes time
too, it rests in the one that the next attempt gets. Where nothing is writable there are no groups,
and ``survivors`` does what it can.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from itertools import count

from tiphys.executor import birth
from tiphys.executor.protocol import Limits

_PERIOD = 100_000
"""Microseconds; the kernel's default."""
KEPT = 64
"""More than run at once on one machine, as a rule."""
_NONE = Limits()
_BARE = 2
"""Links to a folder without folders in it."""
_SOME = 4096
"""Bytes read of the list of a group's processes; who ends these comes back for the others."""


class Door:
    """Who is in a group, and the way into it; kept open, as each attempt comes by three times."""

    def __init__(self, kind: str, folder: str) -> None:
        self._folder = folder
        self._path = f"{folder}/cgroup.procs"
        # An open file of version 1 may tell what was true a second ago.
        self._is_kept = kind == "unified"
        self._descriptor = self._inside = -1

    def enter(self) -> None:
        """Go in."""
        if self._is_kept:
            os.pwrite(self._open(), b"0", 0)
        else:
            _write(self._path, "0")

    def pids(self) -> list[str]:
        """Return who is inside, or some of them."""
        if not self._is_kept:
            return _read(self._path).split()
        try:
            return os.fsdecode(os.pread(self._open(), _SOME, 0)).split()
        except OSError:
            return []

    def has_rooms(self) -> bool:
        """Tell whether groups were made in this one."""
        if not self._is_kept:
            return _has_folders(self._folder)
        try:
            return os.fstat(self.folder).st_nlink > _BARE
        except OSError:  # Too many open files.
            return _has_folders(self._folder)

    @property
    def folder(self) -> int:
        """The folder, open: by it a process is born inside."""
        if self._inside < 0:
            self._inside = os.open(self._folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        return self._inside

    def close(self) -> None:
        """Let go of it."""
        for descriptor in (self._descriptor, self._inside):
            if descriptor >= 0:
                os.close(descriptor)
        self._descriptor = self._inside = -1

    def _open(self) -> int:
        if self._descriptor < 0:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        return self._descriptor


class Group:
    """The control group of one attempt: a folder in each hierarchy that it needs."""

    def __init__(self, folders: dict[str, str], *, limited: bool) -> None:
        self.folders = folders
        """Its folder in each hierarchy."""
        self._doors = {kind: Door(kind, folder) for kind, folder in folders.items()}
        self.limited = limited
        self._is_bare = True
        """Whether there were no groups in it when it was last found empty."""
        self.is_worn = False
        """Whether ``cgroup.kill`` was written: whoever is born in it later from without is ended at
        once (see ``birth.holds``)."""

    @property
    def kinds(self) -> frozenset[str]:
        """Return the hierarchies in which it has a folder."""
        return frozenset(self.folders)

    @property
    def cradle(self) -> int:
        """Its open folder, where processes can be born in it; else -1."""
        if self.is_worn or len(self._doors) > 1 or "unified" not in self._doors:
            return -1
        return self._doors["unified"].folder

    def enter(self) -> None:
        """Go in."""
        for door in self._doors.values():
            door.enter()

    def kill(self) -> bool:
        """SIGKILL everything inside; tell whether there was anything."""
        found, self._is_bare = False, True
        for kind, folder in self.folders.items():
            door = self._doors[kind]
            pids = door.pids()
            if not pids and door.has_rooms():
                self._is_bare = False
                pids = _pids_below(folder)
            if not pids:
                continue
            found = self.is_worn = True
            try:
                _write(f"{folder}/cgroup.kill", "1")
            except OSError:
                for pid in pids:
                    with suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
        return found

    def ran_out_of_memory(self) -> bool:
        """Tell whether the kernel killed something for the memory limit."""
        folder = self.folders.get("memory") or self.folders.get("unified", "")
        for name in ("memory.events", "memory.oom_control"):
            for line in _read(f"{folder}/{name}").splitlines():
                key, _, value = line.partition(" ")
                if key == "oom_kill" and value != "0":
                    return True
        return False

    def usage(self) -> tuple[float, int]:
        """Return CPU seconds and the highest memory use in bytes; zeros where not measured."""
        if not self.limited:
            return 0.0, 0
        seconds = 0.0
        for line in _read(f"{self.folders.get('unified', '')}/cpu.stat").splitlines():
            if line.startswith("usage_usec "):
                seconds = int(line.split()[1]) / 1e6
        folder = self.folders.get("memory") or self.folders.get("unified", "")
        for name in ("memory.peak", "memory.max_usage_in_bytes"):
            text = _read(f"{folder}/{name}").strip()
            if text.isdigit():
                return seconds, int(text)
        return seconds, 0

    @property
    def is_as_new(self) -> bool:
        """Tell whether nothing is left of its attempt, of which nothing was found to be ended."""
        return not self.limited and self._is_bare and not self.is_worn

    def remove(self) -> None:
        """Give it back."""
        for kind, folder in self.folders.items():
            self._doors[kind].close()
            for path in (*_folders_below(folder), folder):
                with suppress(OSError):
                    os.rmdir(path)


class Groups:
    """Makes control groups below the executor's own."""

    def __init__(self, name: str) -> None:
        self._spare: list[Group] = []
        self._inside: Group | None = None
        self._resting: Group | None = None
        """The empty group in which we rest, or did; the next attempt without limits gets it."""
        self._bears = False
        """Whether processes can be born in groups from where we are at home."""
        self._numbers = count()
        self._homes: dict[str, str] = {}
        self._made: set[str] = set()
        own = own_groups()
        self._own = {kind: Door(kind, folder) for kind, folder in own.items()}
        for kind, folder in own.items():
            home = f"{folder}/{name}"
            if os.path.isdir(home) or os.access(folder, os.W_OK):
                self._homes[kind] = home
        self._v2_controllers = self._hand_down()

    def _hand_down(self) -> set[str]:
        """Find out which version 2 controllers our groups can use."""
        home = self._homes.get("unified")
        if home is None or not self._make_home("unified"):
            return set()
        wanted = {"memory", "cpu", "pids"} & set(_read(f"{home}/cgroup.controllers").split())
        for controller in tuple(wanted):
            try:
                _write(f"{home}/cgroup.subtree_control", f"+{controller}")
            except OSError:
                wanted.discard(controller)
        return wanted

    def _make_home(self, kind: str) -> bool:
        if kind in self._made:
            return True
        home = self._homes.get(kind)
        if home is None:
            return False
        try:
            os.makedirs(home, exist_ok=True)
        except OSError:
            del self._homes[kind]
            return False
        self._made.add(kind)
        return True

    def enter(self, group: Group | None) -> None:
        """Be in ``group``, or at home for None: what is started now is born there.

        A process put in after its start may have had children before. From group to group there is
        a direct way; ``rest`` ends the journey.
        """
        if group is None or (self._inside is not None and self._inside.kinds != group.kinds):
            self.come_home()
        if group is None or group is self._inside:
            return
        before, self._inside = self._inside, group
        try:
            group.enter()
        except OSError:
            self._leave(before)
            raise

    def try_birth(self) -> bool:
        """Tell whether a process can be born in a group of ours; asked before ``cradle``."""
        group = None if self._bears else self._make(_NONE)  # A new one: it is about us.
        if group is not None:
            self.come_home()
            with suppress(OSError):
                self._bears = group.cradle >= 0 and birth.holds(group.cradle)
            group.is_worn = not self._bears
            self.give_back(group)
        return self._bears

    def cradle(self, group: Group | None) -> int:
        """Come home if a process can be born in ``group`` from there, and return its open folder;
        else go in, where it is born in any case, and return -1."""
        folder = group.cradle if self._bears and group is not None else -1
        if folder < 0:
            self.enter(group)
        else:
            self.come_home()
        return folder

    def rest(self) -> None:
        """Be in no attempt's group: to end one of these would be to end ourselves."""
        if self._bears:
            self.come_home()
        if self._inside is None or self._inside is self._resting:
            return
        group = self.take(_NONE)
        try:
            self.enter(group)
        except OSError:
            self.come_home()
        if group is None or self._inside is group:
            self._resting = group
        else:
            group.remove()

    def come_home(self) -> None:
        """Be where this process was started: what belongs to no attempt is born there."""
        if self._inside is not None:
            self._leave(None)
        if self._resting is not None:
            self._spare.append(self._resting)
            self._resting = None

    def _be_outside(self, group: Group) -> None:
        if self._inside is group:
            self.rest()

    def _leave(self, before: Group | None) -> None:
        kinds = {kind for group in (self._inside, before) if group for kind in group.kinds}
        self._inside = None
        try:
            for kind in kinds:
                self._own[kind].enter()
        except OSError:
            os._exit(70)

    def kill(self, group: Group) -> bool:
        """SIGKILL everything in a group; tell whether there was anything."""
        self._be_outside(group)
        return group.kill()

    def take(self, limits: Limits) -> Group | None:
        """Return an empty group with these limits; None where none is possible."""
        if limits == _NONE:
            group, self._resting = self._resting, None
            if group is not None or self._spare:
                return group or self._spare.pop()
        return self._make(limits)

    def give_back(self, group: Group) -> None:
        """Take back a group in which nothing runs any more."""
        self._be_outside(group)
        # What was counted in it cannot be set back.
        counts = "memory" in self._v2_controllers and group.ran_out_of_memory()
        if not group.is_as_new or counts or len(self._spare) >= KEPT:
            group.remove()
        else:
            self._spare.append(group)

    def _make(self, limits: Limits) -> Group | None:
        name = f"{os.getpid()}-{next(self._numbers)}"
        folders: dict[str, str] = {}
        wanted = {
            "memory": limits.memory_bytes,
            "cpu": limits.cpu_millis,
            "pids": limits.pids,
        }
        needed = {kind for kind, amount in wanted.items() if amount}
        for kind in ("unified", *sorted(needed - self._v2_controllers)):
            if not self._make_home(kind):
                continue
            folder = f"{self._homes[kind]}/{name}"
            try:
                os.mkdir(folder)
            except FileExistsError:
                return self._make(limits)  # Of another executor with our number: the next name.
            except OSError:
                continue
            folders[kind] = folder
        for kind in needed:
            if kind in self._v2_controllers and "unified" in folders:
                _limit_v2(folders["unified"], kind, wanted[kind])
            elif kind in folders:
                _limit_v1(folders[kind], kind, wanted[kind])
        return Group(folders, limited=bool(needed)) if folders else None

    def end_all(self) -> None:
        """Kill what is in groups that an earlier executor left, and remove them."""
        for kind, home in self._homes.items():
            for path in _folders_in(home):
                group = Group({kind: path}, limited=False)
                group.kill()
                group.remove()

    def close(self) -> None:
        """Remove our own folders."""
        self.come_home()
        for home in self._homes.values():
            for path in (*_folders_below(home), home):
                with suppress(OSError):
                    os.rmdir(path)


def _pids_below(folder: str) -> list[str]:
    """Return who is in groups that an attempt has made in its own."""
    found = (_read(f"{path}/cgroup.procs").split() for path in _folders_below(folder))
    return [pid for pids in found for pid in pids]


def _folders_below(folder: str) -> list[str]:
    """Return all folders in a folder, the deepest first."""
    if not _has_folders(folder):
        return []
    return [path for path, _, _ in os.walk(folder, topdown=False)][:-1]


def _has_folders(folder: str) -> bool:
    try:
        return os.stat(folder).st_nlink > _BARE
    except OSError:
        return False


def _folders_in(home: str) -> list[str]:
    try:
        return [entry.path for entry in os.scandir(home) if entry.is_dir()]
    except OSError:
        return []


def own_groups() -> dict[str, str]:
    """Return the folder of this process's own group in each hierarchy: ``memory``, ``unified``…"""
    mounts = hierarchies(_read("/proc/self/mountinfo"))
    found: dict[str, str] = {}
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for kind in controllers.split(",") if controllers else ["unified"]:
            if kind in mounts and kind in ("memory", "cpu", "pids", "unified"):
                point, root = mounts[kind]
                inner = os.path.relpath(path, root) if root != "/" else path.lstrip("/")
                if not inner.startswith(".."):
                    found[kind] = os.path.normpath(f"{point}/{inner}")
    return found


def hierarchies(mountinfo: str) -> dict[str, tuple[str, str]]:
    """Return (mount point, root) by controller."""
    found: dict[str, tuple[str, str]] = {}
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        fields = left.split(" ")
        if kind == "cgroup2":
            found["unified"] = (fields[4], fields[3])
        elif kind == "cgroup":
            for option in options.split(","):
                found[option] = (fields[4], fields[3])
    return found


def _limit_v2(folder: str, kind: str, amount: int) -> None:
    values = {
        "memory": [("memory.max", str(amount)), ("memory.swap.max", "0")],
        "cpu": [("cpu.max", f"{amount * _PERIOD // 1000} {_PERIOD}")],
        "pids": [("pids.max", str(amount))],
    }
    for name, value in values[kind]:
        with suppress(OSError):
            _write(f"{folder}/{name}", value)


def _limit_v1(folder: str, kind: str, amount: int) -> None:
    values = {
        "memory": [
            ("memory.limit_in_bytes", str(amount)),
            ("memory.memsw.limit_in_bytes", str(amount)),
        ],
        "cpu": [
            ("cpu.cfs_period_us", str(_PERIOD)),
            ("cpu.cfs_quota_us", str(max(1000, amount * _PERIOD // 1000))),
        ],
        "pids": [("pids.max", str(amount))],
    }
    for name, value in values[kind]:
        with suppress(OSError):
            _write(f"{folder}/{name}", value)


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _read(path: str) -> str:
    # Without a file object: it is read for every attempt.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        pieces = []
        while piece := os.read(descriptor, 65536):
            pieces.append(piece)
        return os.fsdecode(b"".join(pieces))
    except OSError:
        return ""
    finally:
        os.close(descriptor)
