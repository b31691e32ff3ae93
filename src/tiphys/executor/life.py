"""The life of one attempt: which of its containers starts when, and when all is over.

Pure: exits and stops come in, actions come out; ``supervisor`` performs them. Init containers run
one after another; then every main whose ``after`` names have succeeded, beside all sidecars. The
first main that fails has the others told to end and those that wait omitted. When no main is left,
sidecars are told to end; when nothing runs any more the attempt is finished.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from tiphys.executor.protocol import ContainerRun

CANNOT_START = 64
"""Argo's exit code for a command that cannot be started; trying again would not help."""
WAITING, RUNNING, RESTING, DONE, OMITTED = "waiting", "running", "resting", "done", "omitted"


class Launch(msgspec.Struct, frozen=True):
    """Start a container, ``wait`` seconds from now."""

    name: str
    wait: float = 0.0


class Terminate(msgspec.Struct, frozen=True):
    """Send SIGTERM to these now, SIGKILL after the grace period."""

    names: tuple[str, ...]


class Finish(msgspec.Struct, frozen=True):
    """Nothing runs and nothing will."""


Action = Launch | Terminate | Finish


class _Member(msgspec.Struct):
    run: ContainerRun
    state: str = WAITING
    code: int | None = None
    tries: int = 0


class Life(msgspec.Struct):
    """Where each container of one attempt stands."""

    members: dict[str, _Member]
    roles: dict[str, list[_Member]]
    stopping: bool = False
    ending: bool = False
    finished: bool = False

    @classmethod
    def of(cls, containers: Sequence[ContainerRun]) -> Life:
        """Return the life of an attempt that has not begun."""
        members = {run.name: _Member(run) for run in containers}
        roles: dict[str, list[_Member]] = {"init": [], "main": [], "sidecar": []}
        for member in members.values():
            roles[member.run.role].append(member)
        return cls(members, roles)

    def begin(self) -> list[Action]:
        """Return what to start first."""
        return self._advance()

    def exited(self, name: str, code: int | None) -> list[Action]:
        """Take the exit of a running container (None where it could not be started)."""
        member = self.members[name]
        member.code = code
        if self._tries_again(member):
            member.state = RESTING
            member.tries += 1
            return [Launch(name, member.run.retry_wait)]
        member.state = DONE
        if len(self.members) == 1:  # As in most attempts.
            self.finished = True
            return [Finish()]
        if member.run.role == "main" and code != 0 and not self.stopping:
            # As in Argo: the first main that fails takes the others with it.
            self._omit_waiting()
            others = self._names(RUNNING)
            if others and not self.ending:
                self.ending = True
                return [Terminate(others)]
        return self._advance()

    def launched(self, name: str) -> bool:
        """Note that ``name`` is about to start; False where it must not any more."""
        member = self.members[name]
        if self.stopping or self.ending or member.state not in (WAITING, RESTING):
            return False
        member.state = RUNNING
        return True

    def stop(self) -> list[Action]:
        """End everything: what waits never starts, what runs is told to end."""
        if self.stopping or self.finished:
            return []
        self.stopping = True
        self._omit_waiting()
        running = self._names(RUNNING)
        if running:
            return [Terminate(running)]
        return self._advance()

    def omitted(self) -> tuple[str, ...]:
        """Return the containers that never started."""
        return self._names(OMITTED)

    def _tries_again(self, member: _Member) -> bool:
        failed = member.code not in (0, CANNOT_START)
        return failed and not (self.stopping or self.ending) and member.tries < member.run.retries

    def _names(
        self, state: str, roles: Iterable[str] = ("init", "main", "sidecar")
    ) -> tuple[str, ...]:
        return tuple(
            name
            for name, member in self.members.items()
            if member.state == state and member.run.role in roles
        )

    def _advance(self) -> list[Action]:
        inits = self.roles["init"]
        if inits:
            if any(member.state == DONE and member.code != 0 for member in inits):
                self._omit_waiting()
            elif any(member.state in (RUNNING, RESTING) for member in inits):
                return []
            for member in inits:
                if member.state == WAITING:
                    return [Launch(member.run.name)]
        return self._launch_mains() or self._wind_down()

    def _omit_waiting(self) -> None:
        for member in self.members.values():
            if member.state == WAITING:
                member.state = OMITTED
            elif member.state == RESTING:
                member.state = DONE

    def _launch_mains(self) -> list[Action]:
        waiting = [member for member in self.roles["main"] if member.state == WAITING]
        if not waiting:
            return []
        changed = len(self.members) > 1
        while changed:
            # An omission may omit the next in line, so go round until nothing changes.
            changed = False
            for member in waiting:
                if member.state == WAITING and self._dependency_failed(member):
                    member.state = OMITTED
                    changed = True
        ready = [
            Launch(member.run.name)
            for member in waiting
            if member.state == WAITING and self._dependencies_met(member)
        ]
        if not ready:
            return []
        sidecars = [m for m in self.roles["sidecar"] if m.state == WAITING]
        if not sidecars or any(m.state in (RUNNING, RESTING, DONE) for m in self.roles["main"]):
            return [*ready]
        return [*(Launch(member.run.name) for member in sidecars), *ready]

    def _dependency_failed(self, member: _Member) -> bool:
        return any(
            each.state == OMITTED or (each.state == DONE and each.code != 0)
            for each in self._before(member)
        )

    def _dependencies_met(self, member: _Member) -> bool:
        return all(each.state == DONE and each.code == 0 for each in self._before(member))

    def _before(self, member: _Member) -> list[_Member]:
        return [self.members[name] for name in member.run.after if name in self.members]

    def _wind_down(self) -> list[Action]:
        if any(m.state in (WAITING, RUNNING, RESTING) for m in self.roles["main"]):
            return []
        running = self._names(RUNNING)
        if not running:
            self._omit_waiting()
            self.finished = True
            return [Finish()]
        if self.ending or self.stopping:
            return []
        self.ending = True
        return [Terminate(running)]
