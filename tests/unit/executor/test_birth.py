"""Processes that are born in their groups: where they are, how they are told, and how they end."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tiphys.executor import birth
from tiphys.executor.birth import Cradle, NeverLivedError
from tiphys.executor.group import Group, Groups
from tiphys.executor.protocol import Limits

if not birth.is_possible():
    pytest.skip(f"not on this machine: {birth.why_not()}", allow_module_level=True)

SHELL = ("sh", "-c")


def bear(script: str, standard: int = 2, cradle: Cradle | None = None) -> int:
    descriptors = (standard, standard, standard)
    return birth.bear("/bin/sh", (*SHELL, script), {}, "/", descriptors, cradle or Cradle())


def code_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.fixture
def groups() -> Iterator[Groups]:
    made = Groups(f"tiphys-birth-{os.getpid()}")
    yield made
    made.close()


@pytest.fixture
def group(groups: Groups) -> Iterator[Group]:
    """Give a group in which processes can be born."""
    made = groups.take(Limits())
    if made is None or made.cradle < 0:
        pytest.skip("no control group of version 2 can be made here")
    yield made
    made.kill()
    remove(made)


def remove(group: Group) -> None:
    """Remove a group; who was ended leaves it a moment after its end."""
    end = time.monotonic() + 30
    while any(map(os.path.exists, group.folders.values())):
        assert time.monotonic() < end, "the group does not go away"
        group.remove()


@pytest.fixture
def frozen(group: Group) -> Group:
    """Give a group in which nothing moves: who is born there does not become anything."""
    Path(group.folders["unified"], "cgroup.freeze").write_text("1")
    return group


@pytest.mark.parametrize("waits", [False, True])
def test_a_process_and_its_children_are_in_the_group_from_the_first(
    group: Group, waits: bool
) -> None:
    reader, writer = os.pipe2(os.O_CLOEXEC)
    before = Path("/proc/self/cgroup").read_text()

    pid = bear("cat /proc/self/cgroup", writer, Cradle(group.cradle, waits))
    os.close(writer)
    with open(reader) as file:
        seen = file.read().splitlines()

    assert code_of(pid) == 0
    name = os.path.basename(group.folders["unified"])
    assert [line.rpartition("/")[2] for line in seen if line.startswith("0::")] == [name]
    # Of other hierarchies nothing is changed, and we were in it at no time.
    assert {line for line in seen if not line.startswith("0::")} < set(before.splitlines())
    assert Path("/proc/self/cgroup").read_text() == before


def test_a_group_that_is_gone_is_an_error(group: Group) -> None:
    cradle = Cradle(group.cradle)
    os.rmdir(group.folders["unified"])

    with pytest.raises(OSError, match="No such") as caught:
        bear("true", cradle=cradle)
    assert caught.value.errno in (errno.ENOENT, errno.ENODEV)


def test_nobody_waits_for_one_on_the_way_and_it_can_be_ended(frozen: Group) -> None:
    pid = bear("exit 3", cradle=Cradle(frozen.cradle))

    assert not birth.has_begun(pid)
    assert os.waitpid(pid, os.WNOHANG) == (0, 0)
    assert frozen.kill()
    assert code_of(pid) == -signal.SIGKILL
    assert not birth.has_begun(pid)
    assert isinstance(birth.failure(pid), NeverLivedError)
    assert birth.failure(pid) is None


def test_many_on_the_way_each_become_what_they_are_for(frozen: Group, tmp_path: Path) -> None:
    many = range(200)
    pids = [
        bear(f"echo {n} > {tmp_path}/{n}; exit {n}", cradle=Cradle(frozen.cradle)) for n in many
    ]
    others = [bear(f"exit {number}") for number in many]
    # What is freed and taken again while they are on the way must not be what they begin with.
    rubbish = [bytes([number]) * 5000 for number in many]

    assert [code_of(pid) for pid in others] == [*many]
    assert not any(birth.has_begun(pid) for pid in pids)
    Path(frozen.folders["unified"], "cgroup.freeze").write_text("0")
    assert [code_of(pid) for pid in pids] == [*many]
    assert [(tmp_path / str(number)).read_text() for number in many] == [f"{n}\n" for n in many]
    assert all(birth.has_begun(pid) for pid in pids)
    assert len(rubbish) == len(many)


def test_whoever_was_ended_by_its_group_has_worn_it(group: Group) -> None:
    pid = bear("sleep 60", cradle=Cradle(group.cradle))
    assert group.is_as_new

    assert group.kill()
    assert code_of(pid) == -signal.SIGKILL

    assert (group.cradle, group.is_as_new, group.kill()) == (-1, False, False)


def test_a_worn_group_is_entered_and_not_used_again(groups: Groups) -> None:
    group = groups.take(Limits())
    if group is None or not groups.try_birth():
        pytest.skip("no control group of version 2 can be made here")
    ended = bear("sleep 60", cradle=Cradle(groups.cradle(group)))
    groups.kill(group)
    assert code_of(ended) == -signal.SIGKILL

    inside = groups.cradle(group)
    pid = bear("exit 3", cradle=Cradle(inside))

    assert (inside, code_of(pid)) == (-1, 3)
    groups.rest()
    fresh = groups.take(Limits())
    assert fresh is not None
    folder = groups.cradle(fresh)
    assert folder >= 0
    assert code_of(bear("exit 4", cradle=Cradle(folder))) == 4
    groups.give_back(fresh)
    groups.give_back(group)
    remove(group)
    assert group not in [groups.take(Limits()) for _ in range(5)]


def test_what_is_started_from_a_group_where_somebody_was_ended_lives(group: Group) -> None:
    ended = bear("sleep 60", cradle=Cradle(group.cradle))
    assert group.kill()
    assert code_of(ended) == -signal.SIGKILL
    code = """
import os, sys
from tiphys.executor import birth
from tiphys.executor.group import Groups
from tiphys.executor.protocol import Limits
with open(sys.argv[1] + "/cgroup.procs", "w") as file:
    file.write("0")
groups = Groups("inner")
groups.try_birth()  # The answer depends on the kernel.
group = groups.take(Limits())
cradle = birth.Cradle(groups.cradle(group))
words = ("sh", "-c", "grep -q /inner/ /proc/self/cgroup && exit 3")
pid = birth.bear("/bin/sh", words, {}, "/", (0, 1, 2), cradle)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
groups.rest()
groups.give_back(group)
groups.close()
"""
    words = [sys.executable, "-c", code, group.folders["unified"]]
    done = subprocess.run(words, check=True, capture_output=True, text=True)

    assert done.stdout == "3\n"


def test_a_failure_is_told_at_once_where_one_waits() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        birth.bear("/none/it", ("it",), {}, "/", (2, 2, 2), Cradle(waits=True))

    assert caught.value.filename == "/none/it"
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_why_one_failed_is_told_once_and_to_who_asks_for_that_one() -> None:
    missing = birth.bear("/none/it", ("it",), {}, "/", (2, 2, 2), Cradle())
    lost = birth.bear("/bin/sh", SHELL, {}, "/none", (2, 2, 2), Cradle())
    own = bear("exit 127")

    assert [code_of(pid) for pid in (lost, missing, own)] == [127] * 3
    error = birth.failure(lost)
    assert isinstance(error, FileNotFoundError)
    assert error.filename == "/none"
    assert birth.failure(own) is None
    assert str(birth.failure(missing)) == "[Errno 2] No such file or directory: '/none/it'"
    assert birth.failure(missing) is None


def test_the_limit_that_we_were_given_is_given_on() -> None:
    code = """
import os
from tiphys.executor import birth, files
files.raise_limit()
words = ("sh", "-c", "ulimit -n; ulimit -Hn")
pid = birth.bear("/bin/sh", words, {}, "/", (0, 1, 2), birth.Cradle())
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard)),
    )

    assert done.stdout.split() == ["100", str(hard) if hard >= 0 else "unlimited"]


def test_it_can_be_turned_off() -> None:
    code = "from tiphys.executor import birth; print(birth.why_not())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, birth.VARIABLE: birth.PLAIN},
    )

    assert done.stdout == "TIPHYS_SPAWN is plain\n"
