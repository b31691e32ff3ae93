"""How a program is found and what its process begins with, by each way of starting one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tiphys.executor import birth
from tiphys.executor.birth import Cradle
from tiphys.executor.protocol import ContainerRun
from tiphys.executor.spawn import NO_VIEW, SpawnError, reason, spawn

Run = Callable[..., str]
"""Gives what a process writes, after it has ended well."""
WAYS = {"born": Cradle(), "waited for": Cradle(waits=True), "plain": None}


@pytest.fixture(params=WAYS)
def run(request: pytest.FixtureRequest) -> Run:
    cradle = WAYS[request.param]
    if cradle is not None and not birth.is_possible():
        pytest.skip(f"only plain starts on this machine: {birth.why_not()}")

    def start(*argv: str, path: str = os.defpath, cwd: str = "/", **env: str) -> str:
        reader, writer = os.pipe2(os.O_CLOEXEC)
        try:
            container = ContainerRun("main", argv, {"PATH": path, **env}, cwd=cwd)
            pid, _ = spawn(container, "", (writer, writer), None, NO_VIEW, cradle)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            error = birth.failure(pid)
            if error:
                assert (code, birth.failure(pid)) == (127, None)
                raise SpawnError(reason(container, error))
            assert code == 0
            os.close(writer)
            writer = -1
            return os.read(reader, 2**17).decode("utf-8", "surrogateescape")
        finally:
            for fd in (reader, writer):
                if fd >= 0:
                    os.close(fd)

    return start


def program(path: Path, text: str = "echo found", mode: int = 0o755) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(mode)
    return path


def test_a_program_is_looked_for_along_the_path(run: Run, tmp_path: Path) -> None:
    program(tmp_path / "first" / "it", mode=0o644)
    (tmp_path / "second" / "it").mkdir(parents=True)
    program(tmp_path / "third" / "it")
    path = ":".join(str(tmp_path / name) for name in ("none", "first", "second", "third"))

    assert run("it", path=path) == "found\n"


def test_an_empty_part_of_the_path_is_the_working_directory(run: Run, tmp_path: Path) -> None:
    program(tmp_path / "it")

    assert run("it", path=":/none", cwd=str(tmp_path)) == "found\n"


def test_a_name_with_a_slash_is_a_path_from_the_working_directory(run: Run, tmp_path: Path) -> None:
    program(tmp_path / "it")

    assert run("./it", path="/none", cwd=str(tmp_path)) == "found\n"


def test_a_file_that_may_not_be_run_is_told_from_one_that_is_not_there(
    run: Run, tmp_path: Path
) -> None:
    program(tmp_path / "it", mode=0o644)

    with pytest.raises(SpawnError, match="cannot start it: Permission denied"):
        run("it", path=str(tmp_path))
    with pytest.raises(SpawnError, match='"other": executable file not found in'):
        run("other", path=str(tmp_path))


def test_a_working_directory_that_is_not_there_is_named(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SpawnError, match=r"cannot start .*/none: No such file or directory"):
        run("true", cwd=str(tmp_path / "none"))


def test_a_process_begins_in_its_own_session_with_nothing_ignored(run: Run, tmp_path: Path) -> None:
    before = (os.getcwd(), os.umask(0o077))
    try:
        script = "umask; pwd; cut -d' ' -f6 /proc/$$/stat; echo $$"
        words = run("sh", "-c", script, cwd=str(tmp_path)).split()
        masks = run("grep", "-E", "Sig(Ign|Blk)", "/proc/self/status").split()

        assert words[:2] == ["0022", str(tmp_path)]
        assert words[2] == words[3]
        assert signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN
        assert int(masks[1], 16) == 0
        ignored = int(masks[3], 16)
        assert not any(ignored >> (number - 1) & 1 for number in signal.valid_signals())
        assert os.umask(0o077) == 0o077
    finally:
        os.chdir(before[0])
        os.umask(before[1])


def test_a_path_from_the_root_need_not_begin_with_a_slash(run: Run, tmp_path: Path) -> None:
    program(tmp_path / "it")

    assert run("it", path=".", cwd=str(tmp_path).lstrip("/")) == "found\n"


def test_a_program_that_cannot_be_run_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("echo no interpreter is named\n")
    (tmp_path / "text").chmod(0o755)
    (tmp_path / "lost").write_text("#!/none/sh\n")
    (tmp_path / "lost").chmod(0o755)

    with pytest.raises(SpawnError, match=r"cannot start .*/text: Exec format error"):
        run(str(tmp_path / "text"))
    with pytest.raises(SpawnError, match=r"lost: no such file or directory"):
        run(str(tmp_path / "lost"))
    with pytest.raises(SpawnError, match=r'exec: "/none/it": stat /none/it: no such file'):
        run("/none/it")


def test_words_that_no_process_can_be_given_are_refused(run: Run) -> None:
    with pytest.raises(SpawnError, match="embedded null"):
        run("echo", "a\0b")
    with pytest.raises(SpawnError, match="embedded null"):
        run("env", NAME="a\0b")
    with pytest.raises(SpawnError, match="illegal environment variable name"):
        run("env", **{"A=B": "c"})
    with pytest.raises(SpawnError, match=r"cannot start .*true: Argument list too long"):
        run("true", LONG="x" * 2**18)


def test_a_process_gets_its_words_as_they_are(run: Run) -> None:
    odd = "\udcff é 'a' $b"

    assert run("printf", "%s|", "", odd, "x" * 60000) == f"|{odd}|{'x' * 60000}|"
    assert run("printenv", "ODD", ODD=odd) == f"{odd}\n"
    assert run("env", path="/usr/bin", A="1", B="") == "PATH=/usr/bin\nA=1\nB=\n"
