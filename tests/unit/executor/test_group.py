"""Control groups: where they are, from what the kernel says of them, and who is ended in them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tiphys.executor.group import Group, Groups, hierarchies
from tiphys.executor.protocol import Limits

MOUNTINFO = """
30 22 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro
31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
33 30 0:29 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
""".strip()


def test_every_controller_is_found_where_it_is_mounted() -> None:
    found = hierarchies(MOUNTINFO)

    assert found["unified"] == ("/sys/fs/cgroup/unified", "/")
    assert found["cpu"] == found["cpuacct"] == ("/sys/fs/cgroup/cpu,cpuacct", "/")
    assert found["memory"] == ("/sys/fs/cgroup/memory", "/docker/abc")


@pytest.fixture
def groups() -> Iterator[Groups]:
    """Give real control groups, below our own."""
    made = Groups(f"tiphys-test-{os.getpid()}")
    yield made
    made.close()


def test_who_moved_into_a_group_below_is_ended_and_that_group_is_not_used_again(
    groups: Groups,
) -> None:
    group = groups.take(Limits())
    if group is None:
        pytest.skip("no control group can be made here")
    inner = Path(next(iter(group.folders.values())), "deeper/still")
    inner.mkdir(parents=True)
    with subprocess.Popen(["sleep", "30"]) as process:
        (inner / "cgroup.procs").write_text(str(process.pid))

        assert groups.kill(group)

        assert process.wait(30) == -signal.SIGKILL
    assert not groups.kill(group)
    groups.give_back(group)
    assert not inner.parent.parent.exists()
    assert groups.take(Limits()) is not group


def test_a_group_of_which_nothing_is_left_serves_again(groups: Groups) -> None:
    group = groups.take(Limits())
    if group is None:
        pytest.skip("no control group can be made here")

    groups.enter(group)
    groups.give_back(group)

    # Whoever enters goes elsewhere before a group is ended or given back.
    assert not group.kill()
    assert group in (groups.take(Limits()), groups.take(Limits()))


def test_who_rests_does_so_in_the_group_that_is_taken_next(groups: Groups) -> None:
    first = groups.take(Limits())
    if first is None:
        pytest.skip("no control group can be made here")
    at_home = _own_group()

    groups.enter(first)
    groups.rest()
    resting = _own_group()
    groups.rest()

    assert resting not in (at_home, _name(first))
    assert _own_group() == resting
    following = groups.take(Limits())
    assert following is not None
    assert _name(following) == resting
    # Now it is somebody's: there is another one for us.
    groups.rest()
    assert _own_group() not in (at_home, _name(first), resting)
    groups.come_home()
    assert _own_group() == at_home


def test_who_is_in_a_group_with_limits_rests_elsewhere(groups: Groups) -> None:
    limited = groups.take(Limits(pids=100))
    if limited is None or not limited.limited:
        pytest.skip("no control group can be made here")

    groups.enter(limited)
    groups.rest()

    assert not limited.kill()
    groups.give_back(limited)
    assert not any(os.path.exists(folder) for folder in limited.folders.values())


def _own_group() -> str:
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    return next(line.rpartition("/")[2] for line in lines if line.startswith("0::"))


def _name(group: Group) -> str:
    return os.path.basename(next(iter(group.folders.values())))
