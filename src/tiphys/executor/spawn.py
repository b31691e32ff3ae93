"""Start one process: in its own session, its output into pipes.

By ``birth`` where that can be: then, as a rule, nobody waits for the child, and what keeps it from
becoming its program is known when it has ended (``birth.failure``). Else by ``posix_spawn``, half
as dear as ``subprocess``, which is here for what the others cannot: to become another user; and for
probes. For ``posix_spawn`` folder and umask are set on our side for the time of a start: only the
loop's thread may come here, and other threads use whole paths. A program is the first one on the
path that may be run, as for Argo. The supervisor waits for every child itself. The words of the
errors are those that Argo's users know.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import cache
from typing import Any

from tiphys.executor import birth, files
from tiphys.executor.birth import Cradle, NeverLivedError
from tiphys.executor.opening import Opening
from tiphys.executor.protocol import PROGRESS_VARIABLE, ContainerRun
from tiphys.executor.rooms import progress_of, work_of
from tiphys.executor.sandbox import Sandbox

View = tuple[int, Sequence[Opening]]
"""The namespace of a sandbox, and the folders that are opened in it for this container."""
NO_VIEW: View = (-1, ())
_UMASK = 0o022
_SIGNALS = signal.valid_signals()
"""Tasks begin with each of them as it is by default, whatever Python or whoever started us ignores.
Of one that is not named posix_spawn asks first how it is."""


class SpawnError(Exception):
    """The process could not be started."""


class _Child(subprocess.Popen[bytes]):
    def __del__(self, _maxsize: Any = None, _warn: Any = None) -> None:
        """Say nothing: the supervisor reaps the process, not this object."""


def can_be_born(run: ContainerRun) -> bool:
    """Tell whether ``spawn`` can start it in a ``Cradle``."""
    return run.uid is None and run.gid is None and birth.is_possible()


def spawn(
    run: ContainerRun,
    room: str,
    pipes: tuple[int, int],
    sandbox: Sandbox | None,
    view: View,
    cradle: Cradle | None,
) -> tuple[int, int]:
    """Start ``run``, without a sandbox in ``room``; return its pid, which is also its session and
    process group (soon, where it has a cradle), and the number of its mount namespace, 0 for that
    of the executor."""
    if run.uid is not None:
        # Who opens /dev/stdout again needs the right to: the pipe goes to the user who writes.
        for pipe in pipes:
            with suppress(OSError):
                os.fchown(pipe, run.uid, -1)
    try:
        if sandbox is None:
            cwd = run.cwd or (work_of(room) if room else "/")
            return _execute(run, cwd, pipes, room, cradle), 0
        namespace, openings = view
        sandbox.withhold_rights()
        with sandbox.entered(namespace, run.mounts, run.cwd, openings) as number:
            return _execute(run, run.cwd or "/", pipes, "", cradle), number
    except NeverLivedError:
        raise
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise SpawnError(reason(run, error)) from error


def spawn_beside(
    run: ContainerRun, argv: tuple[str, ...], pid: int, sandbox: Sandbox | None
) -> int:
    """Start a command in the view of ``run``, whose process is ``pid``; return its own pid."""
    view: Any = nullcontext() if sandbox is None else sandbox.beside(pid)
    try:
        with view:
            child = _Child(
                argv,
                stdin=_nothing(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=run.env,
                cwd=run.cwd or "/",
                umask=_UMASK,
                start_new_session=True,
            )
    except (OSError, ValueError) as error:
        raise SpawnError(reason(run, error)) from error
    return child.pid


@cache
def _nothing() -> int:
    """Return what tasks read: opened once, not for each of them."""
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)


def _execute(
    run: ContainerRun, cwd: str, pipes: tuple[int, int], room: str, cradle: Cradle | None
) -> int:
    env = {PROGRESS_VARIABLE: progress_of(room), **run.env} if room else run.env
    if "" in env or "=" in "".join(env):
        raise ValueError("illegal environment variable name")
    if cradle is not None:
        path = _find(run.argv[0], env, cwd)
        return birth.bear(path, run.argv, env, cwd, (_nothing(), *pipes), cradle)
    if run.uid is None and run.gid is None:
        pid = _spawn_here(run.argv, env, cwd, pipes)
    else:
        pid = _spawn_as(run, env, cwd, pipes)
    files.give_usual_limit(pid)
    return pid


def _spawn_here(
    argv: tuple[str, ...], env: Mapping[str, str], cwd: str, pipes: tuple[int, int]
) -> int:
    os.chdir(cwd)
    before = os.umask(_UMASK)
    try:
        # All our own files are closed by the exec.
        return os.posix_spawn(
            _find(argv[0], env, cwd),
            argv,
            env,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, _nothing(), 0),
                (os.POSIX_SPAWN_DUP2, pipes[0], 1),
                (os.POSIX_SPAWN_DUP2, pipes[1], 2),
            ],
            setsid=True,
            setsigdef=_SIGNALS,
        )
    finally:
        os.umask(before)
        os.chdir("/")


def _find(command: str, env: Mapping[str, str], cwd: str) -> str:
    if "/" in command:
        return command
    # What is not found from the root is from the working directory: not ours, but the child's.
    found = [os.path.join("/", cwd, folder, command) for folder in os.get_exec_path(env)]
    for path in found:
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    os.stat(cwd)  # What is missing may be that.
    number = errno.EACCES if any(map(os.path.isfile, found)) else errno.ENOENT
    raise OSError(number, os.strerror(number), command)


def _spawn_as(run: ContainerRun, env: Mapping[str, str], cwd: str, pipes: tuple[int, int]) -> int:
    return _Child(
        run.argv,
        stdin=_nothing(),
        stdout=pipes[0],
        stderr=pipes[1],
        env=env,
        cwd=cwd,
        umask=_UMASK,
        start_new_session=True,
        user=run.uid,
        group=run.gid if run.gid is not None else run.uid,
        extra_groups=None if run.uid is None else [],
    ).pid


def reason(run: ContainerRun, error: Exception) -> str:
    """Return in Argo's words why a program could not be started."""
    if not isinstance(error, OSError):
        # An argument with a NUL in it, for instance.
        return f"failed to start command: {error}"
    command = run.argv[0] if run.argv else ""
    missing = isinstance(error, FileNotFoundError) and error.filename == command
    if missing:
        known = f"stat {command}: no such file or directory"
        why = known if "/" in command else "executable file not found in $PATH"
        return f'failed to find name in PATH: exec: "{command}": {why}'
    what = error.filename if isinstance(error.filename, str) else command
    return f"cannot start {what}: {error.strerror}"
