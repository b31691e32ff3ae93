"""Containers of an engine: real images, run by podman or docker through its command line.

The executor starts ``podman run`` as it starts any process, so order, retries, logs, deadlines and
the journal are what they are without an engine. Different are the command (``wrap``), how it is
ended (``podman stop``: the processes are not the executor's), and what is asked of the container
after its end: its state (``settle``) and its files (``EngineView``). The container of an attempt is
named after it and stays until the end is on record, so that a server that comes back finds it.

Variables go through a file that only the user can read, never through arguments, and never through
the environment of the engine's program, which would obey some of them.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from tiphys.core import quantity
from tiphys.errors import InvalidInputError, RuntimeFailure
from tiphys.executor.protocol import Attempt, ContainerExit, ContainerRun, Ended
from tiphys.executor.tree import remove_tree
from tiphys.spec import model

PATIENCE = 120.0
"""Seconds that one call of the engine may take."""
REMOVALS = 3
"""Tries to remove a container: the engine may still be clearing up after it."""
PASSED = ("PATH", "HOME", "USER", "LANG", "TMPDIR", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
_PULL = {"Always": "always", "Never": "never", "IfNotPresent": "missing"}
_NO_CONTAINER = 125
_INIT_FAILED = (
    r"ERROR \(catatonit:\d+\): failed to exec pid1: .*|\[FATAL tini \(\d+\)\] exec .* failed: .*"
)
_RUN_OR_START = (
    '"$0" container inspect "$1" >/dev/null 2>&1 && exec "$0" start --attach "$1"; '
    'shift; exec "$0" "$@"'
)
_STATE = (
    "{{.Name}}\t{{.State.Status}}\t{{.State.ExitCode}}\t{{.State.OOMKilled}}\t{{.State.StartedAt}}"
)


class Dialect(msgspec.Struct, frozen=True):
    """What one engine calls otherwise than the other."""

    run: tuple[str, ...]
    """Options with which it passes output on and keeps none of it."""
    copy: tuple[str, ...]
    remove: tuple[str, ...]


_DIALECTS = {
    "podman": Dialect(
        ("--log-driver", "passthrough"), ("cp",), ("rm", "--force", "--ignore", "--time", "0")
    ),
    "docker": Dialect(("--log-driver", "none"), ("cp", "--follow-link"), ("rm", "--force")),
}


class State(msgspec.Struct, frozen=True):
    """What the engine says of a container."""

    started: bool
    code: int
    oom: bool


class Engine:
    """One container engine of this machine."""

    def __init__(self, name: str, program: str, owner: str) -> None:
        self.name = name
        self._dialect = _DIALECTS[name]
        self._program = program
        self._owner = owner

    @classmethod
    def find(cls, name: str, owner: str) -> Engine:
        """Return the engine; RuntimeFailure says why it cannot be used. ``owner`` names us."""
        from shutil import which  # noqa: PLC0415 - large, and most runs need no engine

        program = which(name)
        if program is None:
            raise RuntimeFailure(f"{name} is not on the PATH: install it, or choose sandbox")
        engine = cls(name, program, owner)
        done = engine.call("ps", "-q", "--last", "1")
        if done.returncode:
            raise RuntimeFailure(f"{name} does not work here: {_last_line(done.stderr)}")
        return engine

    def container(self, attempt: str, name: str) -> str:
        """Return the engine's name for a container of an attempt."""
        return re.sub(r"[^A-Za-z0-9_.-]", "_", f"tiphys-{self._owner}-{attempt}-{name}")

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the engine's program and wait for it."""
        try:
            return subprocess.run(
                [self._program, *words],
                capture_output=True,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise RuntimeFailure(
                f"{self.name} {words[0]} did not end within {PATIENCE:.0f}s"
            ) from None

    # --- before the start -----------------------------------------------------------------

    def wrap(
        self, run: ContainerRun, container: model.Container, attempt: str, folder: Path, pids: int
    ) -> ContainerRun:
        """Return ``run`` as a command of the engine; its variables are written to a file."""
        name = self.container(attempt, run.name)
        words = [self._program, "run", "--name", name, "--network", "host"]
        words += [*self._dialect.run, "--label", f"tiphys.owner={self._owner}"]
        words += ["--env-file", str(write_variables(folder, run))]
        words += [*_mount_words(run), *_limit_words(container, pids), *_user_words(run)]
        if container.image_pull_policy in _PULL:
            words += ["--pull", _PULL[container.image_pull_policy]]
        if container.working_dir:
            words += ["--workdir", container.working_dir]
        if self.name != "podman" or _has_init():
            words.append("--init")
        security = container.security_context
        if security is not None and security.privileged:
            words.append("--privileged")
        words += _command_words(container, run)
        if run.retries:
            # Another try goes on in the same container: what the first one wrote is there.
            words = ["/bin/sh", "-c", _RUN_OR_START, self._program, name, *words[1:]]
        return msgspec.structs.replace(
            run,
            argv=tuple(words),
            env=_own_environment(attempt),
            cwd="/",
            mounts=(),
            uid=None,
            gid=None,
            keep=False,
            halt=(self._program, "stop", "-t", "{grace}", name),
        )

    def beside(self, attempt: str, name: str, argv: Iterable[str]) -> tuple[str, ...]:
        """Return the command that runs another one in a container."""
        return (self._program, "exec", self.container(attempt, name), *argv)

    # --- after the end --------------------------------------------------------------------

    def settle(self, attempt: Attempt, ended: Ended, folder: Path) -> Ended:
        """Return the end with what only the engine knows: what never started, what ran out.

        The file of variables has served and goes: it may hold secrets.
        """
        remove_tree(str(folder / "env"))
        names = {self.container(attempt.id, exit_.name): exit_ for exit_ in ended.containers}
        states = self._states(names)
        runs = {run.name: run for run in attempt.containers}
        exits = [
            _settled(exit_, states.get(name), runs[exit_.name], folder)
            for name, exit_ in names.items()
        ]
        # The processes were not the executor's: what it measured was the engine's own program.
        return msgspec.structs.replace(
            ended, containers=tuple(exits), cpu_seconds=0.0, memory_bytes=0
        )

    def _states(self, names: Iterable[str]) -> dict[str, State]:
        done = self.call("container", "inspect", "--format", _STATE, *names)
        found = {}
        for line in done.stdout.splitlines():
            if line.count("\t") != _STATE.count("\t"):
                # Docker answers with an empty line where there is no such container.
                continue
            name, status, code, oom, started = line.split("\t")
            began = status not in ("created", "initialized") and not started.startswith("0001-")
            found[name.lstrip("/")] = State(began, int(code), oom == "true")
        return found

    def remove(self, attempt: Attempt) -> None:
        """Delete the containers of an attempt whose end is on record."""
        names = [self.container(attempt.id, run.name) for run in attempt.containers]
        for _ in range(REMOVALS):
            if self.call(*self._dialect.remove, "--volumes", *names).returncode == 0:
                return

    def copy_out(self, container: str, path: str, target: Path) -> subprocess.CompletedProcess[str]:
        """Copy what a container has at ``path``."""
        return self.call(*self._dialect.copy, f"{container}:{path}", str(target))


class EngineView:
    """The files of a container that has ended; as ``view.View``."""

    def __init__(self, engine: Engine, container: str) -> None:
        self._engine = engine
        self._container = container

    def open_place(self, path: str, spare: Path) -> Path | None:
        """Copy what the container has at ``path`` to ``spare``; None where there is nothing.

        The engine follows links inside the container and never out of it.
        """
        spare.parent.mkdir(parents=True, exist_ok=True)
        done = self._engine.copy_out(self._container, path, spare)
        if done.returncode == 0:
            return spare
        words = done.stderr.lower()
        if any(text in words for text in ("no such file", "could not be found", "could not find")):
            return None
        raise OSError(5, _last_line(done.stderr), path)

    def within(self, place: Path) -> tuple[Path | None, Path, bool]:
        """Tell that a place is a copy, which nobody else can write to."""
        return None, place, True


def write_variables(folder: Path, run: ContainerRun) -> Path:
    """Write the variables of a container where only this user can read them."""
    for name, value in run.env.items():
        if "\n" in value or "\r" in value:
            raise RuntimeFailure(
                f"the variable {name} has several lines: an engine takes it only as a mounted file"
            )
    home = folder / "env"
    folder.mkdir(parents=True, exist_ok=True)
    home.mkdir(mode=0o700, exist_ok=True)
    path = home / run.name
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
        file.writelines(f"{name}={value}\n" for name, value in run.env.items())
    return path


def _own_environment(attempt: str) -> dict[str, str]:
    """Return what the engine's own program sees: of ours, what says where it keeps its things."""
    prefixes = ("CONTAINERS_", "CONTAINER_", "DOCKER_", "STORAGE_", "REGISTRY_")
    own = {k: v for k, v in os.environ.items() if k in PASSED or k.startswith(prefixes)}
    return own | {"TIPHYS_ATTEMPT_ID": attempt}


def _has_init() -> bool:
    """Tell whether podman can put a first process into containers.

    Without one the task itself is the first, to which a SIGTERM means nothing by default: it would
    end only after its grace.
    """
    places = ("/usr/libexec/podman", "/usr/local/libexec/podman", "/usr/lib/podman", "/usr/bin")
    return any(os.access(f"{place}/catatonit", os.X_OK) for place in places)


def _command_words(container: model.Container, run: ContainerRun) -> Sequence[str]:
    if not container.image:
        raise RuntimeFailure(f'container "{run.name}" has no image')
    if not container.command:
        return (container.image, *run.argv)
    return ("--entrypoint", run.argv[0], container.image, *run.argv[1:])


def _mount_words(run: ContainerRun) -> list[str]:
    words = []
    for mount in run.mounts:
        if ":" in mount.source + mount.target:
            raise RuntimeFailure(f"{mount.target}: a colon in the path of a mount")
        mode = ":ro" if mount.read_only else ""
        words += ["--volume", f"{mount.source}:{mount.target}{mode}"]
    return words


def _limit_words(container: model.Container, pids: int) -> list[str]:
    limits = container.resources.limits
    words = ["--pids-limit", str(pids)] if pids else []
    try:
        if "memory" in limits:
            words += ["--memory", f"{quantity.bytes_of(limits['memory'])}b"]
        if "cpu" in limits:
            words += ["--cpus", str(quantity.cpu_millis(limits["cpu"]) / 1000)]
    except InvalidInputError as error:
        raise RuntimeFailure(f"resources: {error}") from error
    return words


def without_mounts(run: ContainerRun, sources: set[str]) -> ContainerRun:
    """Return a wrapped ``run`` that does not show these files or folders of the host."""
    words: list[str] = []
    for word in run.argv:
        if words and words[-1] == "--volume" and word.partition(":")[0] in sources:
            words.pop()
        else:
            words.append(word)
    return msgspec.structs.replace(run, argv=tuple(words))


def _user_words(run: ContainerRun) -> list[str]:
    if run.uid is None:
        return []
    return ["--user", f"{run.uid}" if run.gid is None else f"{run.uid}:{run.gid}"]


def _settled(
    exit_: ContainerExit, state: State | None, run: ContainerRun, folder: Path
) -> ContainerExit:
    if not exit_.code:
        return exit_
    error = _last_line(_tail(folder / f"{exit_.name}.stderr"))
    if state is not None and state.started:
        if exit_.code in (1, 126, 127) and re.fullmatch(_INIT_FAILED, error):
            return _not_found(exit_, run, error)
        return msgspec.structs.replace(exit_, code=state.code, oom=state.oom)
    if exit_.code in (126, 127):
        return _not_found(exit_, run, error)
    # The engine itself has failed; what it said of that is the last of the log.
    return msgspec.structs.replace(exit_, error=error if exit_.code == _NO_CONTAINER else "")


def _not_found(exit_: ContainerExit, run: ContainerRun, error: str) -> ContainerExit:
    """Return the end of what could not be executed, as Argo's executor would tell it: with 64."""
    from tiphys.executor.life import CANNOT_START  # noqa: PLC0415 - the rest is the executor's own

    command = run.argv[run.argv.index("--entrypoint") + 1] if "--entrypoint" in run.argv else ""
    known = "not found" in error or "no such file" in error.lower()
    if command and known:
        reason = f"stat {command}: no such file or directory"
        why = reason if "/" in command else "executable file not found in $PATH"
        error = f'failed to find name in PATH: exec: "{command}": {why}'
    return msgspec.structs.replace(exit_, code=CANNOT_START, error=error)


def _tail(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
            return file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def _last_line(text: str) -> str:
    # Docker adds a line about its own help to whatever went wrong.
    lines = [line for line in text.splitlines() if line.strip() and "docker run --help" not in line]
    return lines[-1].strip()[:500] if lines else ""
