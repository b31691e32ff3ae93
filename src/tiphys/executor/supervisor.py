"""Runs attempts: performs what their lives ask for, reaps, sweeps survivors, keeps time.

Single-threaded: called from the server's loop with requests, SIGCHLD and timers; says what happened
through ``report``. An attempt goes: Begun written → processes → nothing of it runs any more →
logs and Ended durable → reported; without logs, reported and soon durable. Decisions about order
belong to ``life``.
"""

from __future__ import annotations

import heapq
import os
import resource
import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from time import monotonic

import msgspec

from tiphys.executor import birth, halt, linux, survivors
from tiphys.executor.birth import Cradle, NeverLivedError
from tiphys.executor.clock import now
from tiphys.executor.committer import Committer
from tiphys.executor.group import Group, Groups
from tiphys.executor.journal import Begun, Forgotten, Journal, Pid
from tiphys.executor.life import CANNOT_START, Action, Finish, Launch, Life, Terminate
from tiphys.executor.place import place_of
from tiphys.executor.protocol import (
    Attempt,
    ContainerExit,
    ContainerRun,
    Ended,
    Event,
    Limits,
    Probe,
    Probed,
    Progressed,
    Started,
    Unknown,
)
from tiphys.executor.relay import Relay
from tiphys.executor.rooms import Rooms, progress_of
from tiphys.executor.slots import Slot, Slots
from tiphys.executor.spawn import (
    NO_VIEW,
    SpawnError,
    can_be_born,
    reason,
    spawn,
    spawn_beside,
)
from tiphys.executor.stream import Stream
from tiphys.executor.watch import Watch

SWEEP_AGAIN = 0.02
RETRY_COMMIT = 1.0
TICK = 0.2
HALT_AGAIN = 0.3
ENGINE_PATIENCE = 20.0
IN_DOUBT = "executor lost: the machine went down, and nobody knows whether this attempt had begun"


class Running(msgspec.Struct):
    """An attempt between its Begun and its Ended."""

    attempt: Attempt
    life: Life
    runs: dict[str, ContainerRun]
    watch: Watch
    halts: bool = False
    """Whether its processes belong to a container engine."""
    group: Group | None = None
    pids: dict[str, int] = msgspec.field(default_factory=dict)
    sessions: set[int] = msgspec.field(default_factory=set)
    namespaces: set[int] = msgspec.field(default_factory=set)
    slots: dict[str, Slot] = msgspec.field(default_factory=dict)
    room: str = ""
    began: dict[str, float] = msgspec.field(default_factory=dict)
    exits: dict[str, ContainerExit] = msgspec.field(default_factory=dict)
    reason: str = ""
    cpu_seconds: float = 0.0
    memory_bytes: int = 0
    started: bool = False
    started_at: float = 0.0
    halting: set[str] = msgspec.field(default_factory=set)
    """Containers of an engine that are being ended."""
    cut_off: set[str] = msgspec.field(default_factory=set)
    """Containers of an engine whose client was killed: they may still run."""


class Supervisor:
    """Every attempt of this executor."""

    def __init__(
        self,
        journal: Journal,
        committer: Committer,
        slots: Slots | None,
        rooms: Rooms,
        groups: Groups,
        report: Callable[[Event], None],
    ) -> None:
        self._journal = journal
        self._committer = committer
        self._sandbox = slots.sandbox if slots is not None else None
        self._report = report
        self.between: Callable[[], None] = lambda: None
        """Called between two starts, as many together take long."""
        self.withdraw: Callable[[str], None] = lambda _: None
        """Called with an attempt whose beginning, if it was not told yet, is not to be told."""
        self._groups = groups
        self.relay = Relay()
        self._slots = slots
        self._rooms = rooms
        self._boot = survivors.boot_id()
        self._running: dict[str, Running] = {}
        self._owners: dict[int, tuple[Running, str]] = {}
        self._probes: dict[int, int] = {}
        self._halts: dict[int, tuple[Running, str, float]] = {}
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._ticking = False
        self._peak = 0
        self._bare: set[str] = set()
        """Ended attempts of which no container's root was kept."""
        self._unwanted: set[str] = set()
        """Running attempts that are being ended because nobody cares about them."""

    @property
    def idle(self) -> bool:
        """Tell whether nothing runs and all is durable."""
        return not self._running and self._committer.idle

    @property
    def count(self) -> int:
        """How many attempts run."""
        return len(self._running)

    # --- requests -------------------------------------------------------------------------

    def start(self, attempts: Iterable[Attempt]) -> None:
        """Start each attempt that was never started; the others are left as they are."""
        fresh = []
        for attempt in attempts:
            if self._journal.knows(attempt.id):
                if attempt.id in self._journal.ended:
                    self._report(self._journal.ended[attempt.id])
                continue
            halts = tuple(run.halt for run in attempt.containers if run.halt)
            begun = Begun(attempt.id, attempt.folder, attempt.isolation, now(), halts)
            self._journal.note(begun)
            life = Life.of(attempt.containers)
            runs = {run.name: run for run in attempt.containers}
            running = Running(attempt, life, runs, Watch(attempt, self.relay), bool(halts))
            self._running[attempt.id] = running
            fresh.append(running)
        self._begin(fresh)

    def attend(self, attempt: str, *, is_ours: bool) -> None:
        """Say what has become of an attempt; ``is_ours``: whoever asks has ordered it."""
        running = self._running.get(attempt)
        if attempt in self._journal.ended:
            self._report(self._journal.ended[attempt])
        elif running is not None:
            self.withdraw(attempt)
            self._report(Started(attempt, running.started_at or now()))
        elif self._journal.is_in_doubt(attempt) and not is_ours:
            self._bare.add(attempt)
            self._commit_end(Ended(attempt, now(), reason="lost", message=IN_DOUBT), [])
        else:
            self._report(Unknown(attempt))

    def stop(self, attempts: Iterable[str], grace: float) -> None:
        """Have attempts end."""
        for name in attempts:
            running = self._running.get(name)
            if running is not None:
                self._stop(running, "stopped", grace)

    def forget(self, attempts: Iterable[str]) -> None:
        """Drop ended attempts, with the private roots of their containers."""
        for name in attempts:
            ended = self._journal.ended.get(name)
            if ended is None:
                continue
            self._journal.note(Forgotten(name))
            self._committer.note(Forgotten(name))
            if name in self._bare:
                self._bare.discard(name)
            else:
                self._discard(ended.folder)

    def keep(self, attempts: Iterable[str]) -> None:
        """End and forget all attempts but these."""
        wanted = set(attempts)
        for entry in self._journal.settle(wanted):
            self._committer.owe(entry)
        for name, running in list(self._running.items()):
            if name not in wanted:
                self._unwanted.add(name)
                self._stop(running, "stopped", 0.0)
        self.forget([name for name in self._journal.ended if name not in wanted])

    def probe(self, request: Probe) -> None:
        """Run a command beside a container and report how it ended."""
        running = self._running.get(request.id)
        pid = running.pids.get(request.container) if running else None
        if running is None or pid is None:
            self._report(Probed(request.number, None))
            return
        sandbox = self._sandbox if running.attempt.isolation == "sandbox" else None
        self._groups.come_home()
        try:
            child = spawn_beside(running.runs[request.container], request.argv, pid, sandbox)
        except SpawnError:
            self._report(Probed(request.number, None))
            return
        self._probes[child] = request.number
        self._later(request.timeout, lambda: self._end_probe(child))

    def _end_probe(self, pid: int) -> None:
        if pid in self._probes:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)

    def _discard(self, folder: str) -> None:
        """Remove the kept roots of an ended attempt's containers."""
        if self._slots is None:
            return
        with suppress(OSError):
            for entry in os.scandir(folder):
                if entry.name.endswith(".root"):
                    self._slots.remove(entry.path)

    def _put_away(self, running: Running) -> None:
        """Keep what somebody will read of the containers' roots; take back the rest."""
        assert self._slots is not None
        for name, slot in running.slots.items():
            if running.runs[name].keep:
                with suppress(OSError):
                    self._slots.hand_over(slot, str(place_of(running.attempt.folder, name)))
            else:
                self._slots.give_back(slot)

    def _keeps_roots(self, running: Running) -> bool:
        return any(running.runs[name].keep for name in running.slots)

    def record_lost(self) -> None:
        """Record as lost what an executor before this one had begun and not ended."""
        for begun in list(self._journal.begun.values()):
            message = "executor lost: the process that ran this attempt is gone"
            ended = Ended(begun.id, now(), reason="lost", message=message, folder=begun.folder)
            self._commit_end(ended, [])

    def warm_up(self) -> None:
        """Try what the first task needs while nobody waits for it: to be born in a group; or to go
        into one and back, for which the kernel needs long after a rest."""
        if birth.is_possible() and self._groups.try_birth():
            return
        group = self._groups.take(Limits())
        if group is not None:
            with suppress(OSError):
                self._groups.enter(group)
            self._groups.give_back(group)

    def rest(self) -> None:
        """Be where nothing of ours is limited or ended, before a rest."""
        self._groups.rest()

    # --- time -----------------------------------------------------------------------------

    def next_timer(self) -> float | None:
        """Return in how many seconds ``run_timers`` has something to do."""
        return max(0.0, self._timers[0][0] - monotonic()) if self._timers else None

    def run_timers(self) -> None:
        """Do what is due."""
        while self._timers and self._timers[0][0] <= monotonic():
            heapq.heappop(self._timers)[2]()

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (monotonic() + seconds, next(self._numbers), action))

    def _tick(self) -> None:
        for running in self._running.values():
            self._measure(running)
            text = running.watch.look()
            if text:
                self._report(Progressed(running.attempt.id, now(), text))
        self._ticking = bool(self._running)
        if self._ticking:
            self._later(TICK, self._tick)

    def _measure(self, running: Running) -> None:
        """Note how much memory the processes have used so far: of those that use less than we do,
        what the kernel says at their end is our own figure."""
        if running.group is None or not running.group.limited:
            pids = running.pids.values()
            peak = sum(linux.peak_memory(pid) for pid in pids if birth.has_begun(pid))
            running.memory_bytes = max(running.memory_bytes, peak)

    # --- the way of an attempt ------------------------------------------------------------

    def _begin(self, fresh: Sequence[Running]) -> None:
        # Stopped before it could begin: its end is on the way.
        fresh = [running for running in fresh if not running.life.finished]
        if not fresh:
            return
        try:
            self._committer.write(self._journal.begun[running.attempt.id] for running in fresh)
        except OSError:
            # Not on record, so nothing is started: tried again until there is room, or nobody
            # wants it any more.
            self._later(RETRY_COMMIT, lambda: self._begin(fresh))
            return
        for number, running in enumerate(fresh):
            if number:
                self.between()
            self._begin_one(running)

    def _begin_one(self, running: Running) -> None:
        attempt = running.attempt
        if not running.halts:
            running.group = self._groups.take(attempt.limits)
        if attempt.deadline is not None:
            self._later(attempt.deadline, lambda: self._stop(running, "deadline", attempt.grace))
        if not self._ticking:
            self._ticking = True
            self._later(TICK, self._tick)
        self._perform(running, running.life.begin())

    def _perform(self, running: Running, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Launch(name=name, wait=0.0):
                    self._launch(running, name)
                case Launch(name=name, wait=wait):
                    self._later(wait, partial(self._launch, running, name))
                case Terminate(names=names):
                    self._terminate(running, names, running.attempt.grace)
                case Finish():
                    self._finish(running)

    def _launch(self, running: Running, name: str) -> None:
        if running.life.launched(name):
            running.began.setdefault(name, now())
            self._start(running, name)

    def _start(self, running: Running, name: str) -> None:
        run, attempt = running.runs[name], running.attempt
        try:
            pid = self._spawn(running, run, self._cradle_of(running, run))
        except NeverLivedError:
            self._start_again(running, name)
            return
        except (SpawnError, OSError) as error:
            self._note_exit(running, name, CANNOT_START, str(error))
            return
        finally:
            group = running.group
            if group is None or group.limited or group.is_worn:
                # We would be limited, or ended, too.
                self._groups.rest()
        running.pids[name] = pid
        running.sessions.add(pid)
        self._owners[pid] = (running, name)
        entry = Pid(attempt.id, name, pid, survivors.uptime(), self._boot)
        self._journal.note(entry)
        self._committer.note(entry)
        if not running.started and run.role == "main":
            running.started, running.started_at = True, now()
            self._report(Started(attempt.id, running.started_at))

    def _start_again(self, running: Running, name: str) -> None:
        """Go on from a process that was killed before it did anything: start it in another way, if
        the kernel may have done it for what once happened in the group."""
        group = running.group
        wanted = not (running.reason or running.life.stopping or running.life.ending)
        if wanted and group is not None and not group.is_worn:
            group.is_worn = True
            self._start(running, name)
        else:
            self._note_exit(running, name, 128 + signal.SIGKILL, "")

    def _cradle_of(self, running: Running, run: ContainerRun) -> Cradle | None:
        """Return where a container is born; None where it is started in another way, as we are."""
        if not can_be_born(run):
            self._groups.enter(running.group)
            return None
        limited = running.group is not None and running.group.limited
        # What becomes of one container decides about the others.
        return Cradle(self._groups.cradle(running.group), limited or len(running.runs) > 1)

    def has_begun(self, attempt: str) -> bool:
        """Tell whether what was started for an attempt has become its programs."""
        running = self._running.get(attempt)
        return running is None or all(map(birth.has_begun, running.pids.values()))

    def _spawn(self, running: Running, run: ContainerRun, cradle: Cradle | None) -> int:
        attempt = running.attempt
        pipes = running.watch.pipes(run)
        if attempt.isolation == "process" and not running.room:
            running.room = self._rooms.take()
            running.watch.follow_to(progress_of(running.room))
        if attempt.isolation != "sandbox":
            return spawn(run, running.room, pipes, None, NO_VIEW, cradle)[0]
        if self._slots is None:
            raise SpawnError("sandboxes cannot be made on this machine")
        try:
            slot = running.slots.get(run.name) or self._slots.take()
        except OSError as error:
            raise SpawnError(f"cannot make a sandbox: {error}") from error
        running.slots[run.name] = slot
        running.watch.follow_into(slot.upper, run)
        assert self._sandbox is not None
        openings = self._sandbox.prepare_openings(run, slot.upper)
        slot.stubs += [stub for opening in openings for stub in opening.stubs]
        view = (slot.namespace, openings)
        pid, number = spawn(run, "", pipes, self._sandbox, view, cradle)
        running.namespaces.add(number)
        return pid

    def _stop(self, running: Running, reason: str, grace: float) -> None:
        if self._running.get(running.attempt.id) is not running or running.life.finished:
            return
        running.reason = running.reason or reason
        actions = running.life.stop()
        for action in actions:
            if isinstance(action, Terminate):
                self._terminate(running, action.names, grace)
            else:
                self._perform(running, [action])

    def _terminate(self, running: Running, names: tuple[str, ...], grace: float) -> None:
        if running.halts:
            for name in names:
                self._halt(running, name, grace)
            # The engine keeps to the grace itself; this is for one that hangs.
            self._later(grace + ENGINE_PATIENCE, lambda: self._kill(running, names))
            return
        for name in names:
            self._signal(running.pids.get(name), signal.SIGTERM if grace > 0 else signal.SIGKILL)
        if grace > 0:
            self._later(grace, lambda: self._kill(running, names))

    def _kill(self, running: Running, names: tuple[str, ...]) -> None:
        for name in names:
            self._signal(running.pids.get(name), signal.SIGKILL)

    def _halt(self, running: Running, name: str, grace: float) -> None:
        if name in running.halting:
            return
        self._groups.come_home()
        try:
            pid = halt.begin(running.runs[name], grace)
        except SpawnError:
            self._signal(running.pids.get(name), signal.SIGKILL)
            return
        running.halting.add(name)
        self._halts[pid] = (running, name, grace)

    def _halted(self, pid: int, code: int) -> None:
        running, name, grace = self._halts.pop(pid)
        running.halting.discard(name)
        if code and name in running.pids:
            self._signal(running.pids[name], signal.SIGTERM)
            self._later(HALT_AGAIN, lambda: self._halt_again(running, name, grace))

    def _halt_again(self, running: Running, name: str, grace: float) -> None:
        if name in running.pids:
            self._halt(running, name, grace)

    def _signal(self, pid: int | None, number: signal.Signals) -> None:
        # A child that is not reaped yet keeps its pid, and its group keeps its number.
        if pid is not None and pid in self._owners:
            with suppress(ProcessLookupError, PermissionError):
                if birth.has_begun(pid):
                    os.killpg(pid, number)
                else:  # It may have no process group yet.
                    os.kill(pid, number)

    def reap(self) -> None:
        """Take every child that has ended."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            owner = self._owners.pop(pid, None)
            if owner is None:
                code = os.waitstatus_to_exitcode(status)
                if pid in self._probes:
                    self._report(Probed(self._probes.pop(pid), code))
                elif pid in self._halts:
                    self._halted(pid, code)
                continue
            self._take_exit(*owner, pid, os.waitstatus_to_exitcode(status), usage)

    def _take_exit(
        self, running: Running, name: str, pid: int, code: int, usage: resource.struct_rusage
    ) -> None:
        running.cpu_seconds += usage.ru_utime + usage.ru_stime
        if self._is_its_own(usage.ru_maxrss):
            running.memory_bytes = max(running.memory_bytes, usage.ru_maxrss * 1024)
        del running.pids[name]
        if code < 0 and running.runs[name].halt:
            running.cut_off.add(name)
        error = birth.failure(pid) if code else None
        if isinstance(error, NeverLivedError) and code == -signal.SIGKILL:
            self._start_again(running, name)
        elif error is None or isinstance(error, NeverLivedError):
            self._note_exit(running, name, 128 - code if code < 0 else code, "")
        else:
            if name not in running.exits:  # No earlier try began.
                self.withdraw(running.attempt.id)
            self._note_exit(running, name, CANNOT_START, reason(running.runs[name], error))

    def _is_its_own(self, kib: int) -> bool:
        """Tell whether a child's peak of memory is its own: it begins with ours."""
        if kib > self._peak:
            self._peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return kib > self._peak

    def _note_exit(self, running: Running, name: str, code: int, error: str) -> None:
        oom = running.group is not None and code == 137 and running.group.ran_out_of_memory()
        running.exits[name] = ContainerExit(name, code, running.began[name], now(), error, oom)
        actions = running.life.exited(name, code)
        if actions:
            self._perform(running, actions)
        elif not running.life.finished:
            self._sweep(running)

    def _sweep(self, running: Running) -> bool:
        """End processes that the containers left behind; tell whether there were any."""
        if running.halts:
            for name in running.cut_off:
                self._halt(running, name, 0.0)
            running.cut_off.clear()
            return bool(running.halting)
        if running.group is not None and not running.pids:
            return self._groups.kill(running.group)
        found = False
        for pid in survivors.children():
            if self._is_foreign(pid) and self._is_of(running, pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                found = True
        return found

    def _is_foreign(self, pid: int) -> bool:
        """Tell whether a child came home from somewhere, rather than being started by us."""
        return not (pid in self._owners or pid in self._probes or pid in self._halts)

    def _is_of(self, running: Running, pid: int) -> bool:
        if len(running.runs) > 1 and running.pids:
            # Others of the attempt still run: only what is surely of an ended one may go.
            leader = survivors.session(pid)
            return leader in running.sessions and leader not in running.pids.values()
        return (
            survivors.attempt_of(pid) == running.attempt.id
            or survivors.session(pid) in running.sessions
            or survivors.namespace(pid) in running.namespaces
        )

    def _finish(self, running: Running) -> None:
        if self._sweep(running):
            self.reap()
            self._later(SWEEP_AGAIN, lambda: self._finish(running))
            return
        attempt = running.attempt
        if running.group is not None:
            cpu, memory = running.group.usage()
            running.cpu_seconds = max(cpu, running.cpu_seconds)
            running.memory_bytes = max(memory, running.memory_bytes)
            self._groups.give_back(running.group)
        exits = [running.exits.get(name) or ContainerExit(name) for name in running.runs]
        ended = Ended(
            attempt.id,
            now(),
            tuple(exits),
            running.reason,
            running.cpu_seconds,
            running.memory_bytes,
            folder=attempt.folder,
        )
        if not self._keeps_roots(running):
            self._bare.add(attempt.id)
        if running.slots:
            self._put_away(running)
        if running.room:
            self._rooms.give_back(running.room, attempt.folder)
        self._commit_end(ended, running.watch.close())

    def _commit_end(self, ended: Ended, logs: Sequence[Stream]) -> None:
        if not logs:
            # It promises nothing that could be lost, and whoever hears of it puts it on record
            # as well: our own record need not be waited for.
            self._committer.owe(ended)
            self._tell_end(ended)
            return

        def done(error: OSError | None) -> None:
            if error is not None:
                # A full disk: the end is kept here and tried again until it is on disk.
                self._later(RETRY_COMMIT, lambda: self._commit_end(ended, logs))
                return
            self._tell_end(ended)

        self._committer.add(ended, done, logs)

    def _tell_end(self, ended: Ended) -> None:
        self._journal.note(ended)
        self._running.pop(ended.id, None)
        if ended.id in self._unwanted:
            self._unwanted.discard(ended.id)
            self.forget((ended.id,))
            return
        self._report(ended)

    def close(self, *, at_home: bool) -> None:
        """Remove what is ours and of no more use; in the data directory only if it is ours."""
        if self._slots is not None:
            self._slots.close(at_home=at_home)
        if at_home:
            self._rooms.close()
        self._groups.close()
