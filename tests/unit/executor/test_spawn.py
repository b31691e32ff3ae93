"""How a program is found and what its process begins with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tiphys.executor.protocol import ContainerRun
from tiphys.executor.spawn import NO_VIEW, SpawnError, spawn


def run(*argv: str, path: str = os.defpath, cwd: str = "/") -> str:
    """Give what a process writes, after it has ended well."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    try:
        container = ContainerRun("main", argv, {"PATH": path}, cwd=cwd)
        pid, _ = spawn(container, "", (writer, writer), None, NO_VIEW)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        os.close(writer)
        writer = -1
        return os.read(reader, 65536).decode()
    finally:
        for fd in (reader, writer):
            if fd >= 0:
                os.close(fd)


def program(path: Path, text: str = "echo found", mode: int = 0o755) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(mode)
    return path


def test_a_program_is_looked_for_along_the_path(tmp_path: Path) -> None:
    program(tmp_path / "first" / "it", mode=0o644)
    (tmp_path / "second" / "it").mkdir(parents=True)
    program(tmp_path / "third" / "it")
    path = ":".join(str(tmp_path / name) for name in ("none", "first", "second", "third"))

    assert run("it", path=path) == "found\n"


def test_an_empty_part_of_the_path_is_the_working_directory(tmp_path: Path) -> None:
    program(tmp_path / "it")

    assert run("it", path=":/none", cwd=str(tmp_path)) == "found\n"


def test_a_name_with_a_slash_is_a_path_from_the_working_directory(tmp_path: Path) -> None:
    program(tmp_path / "it")

    assert run("./it", path="/none", cwd=str(tmp_path)) == "found\n"


def test_a_file_that_may_not_be_run_is_told_from_one_that_is_not_there(tmp_path: Path) -> None:
    program(tmp_path / "it", mode=0o644)

    with pytest.raises(SpawnError, match="cannot start it: Permission denied"):
        run("it", path=str(tmp_path))
    with pytest.raises(SpawnError, match='"other": executable file not found in'):
        run("other", path=str(tmp_path))


def test_a_working_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpawnError, match=r"cannot start .*/none: No such file or directory"):
        run("true", cwd=str(tmp_path / "none"))


def test_a_process_begins_in_its_own_session_with_nothing_ignored(tmp_path: Path) -> None:
    before = (os.getcwd(), os.umask(0o077))
    handler = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    try:
        script = "umask; pwd; cut -d' ' -f6 /proc/$$/stat; echo $$"
        words = run("sh", "-c", script, cwd=str(tmp_path)).split()
        masks = run("grep", "-E", "Sig(Ign|Blk)", "/proc/self/status").split()

        assert words[:2] == ["0022", str(tmp_path)]
        assert words[2] == words[3]
        assert int(masks[1], 16) == 0
        ignored = int(masks[3], 16)
        assert not any(ignored >> (number - 1) & 1 for number in signal.valid_signals())
        assert os.umask(0o077) == 0o077
    finally:
        signal.signal(signal.SIGUSR2, handler)
        os.chdir(before[0])
        os.umask(before[1])


def test_what_an_executor_of_short_turns_starts_has_turns_as_usual() -> None:
    if os.uname().machine != "x86_64" or os.getpriority(os.PRIO_PROCESS, 0) < 0:
        pytest.skip("the wish is not made on this machine, or not with this priority")
    ask = "import os; print(os.sched_getscheduler(0) & os.SCHED_RESET_ON_FORK)"
    code = f"""
import subprocess, sys
from tiphys.executor.linux import take_short_turns
print(take_short_turns(100_000), flush=True)
{ask}
subprocess.run([sys.executable, "-c", {ask!r}], check=True)
"""
    said = subprocess.run(
        [sys.executable, "-u", "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()

    assert said == ["True", str(os.SCHED_RESET_ON_FORK), "0"]


def test_a_priority_that_tasks_should_inherit_is_left_alone() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may raise a priority")
    code = """
import os
from tiphys.executor.linux import take_short_turns
os.nice(-5)
print(take_short_turns(100_000), os.sched_getscheduler(0))
"""
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert said.stdout.split() == ["False", str(os.SCHED_OTHER)]
