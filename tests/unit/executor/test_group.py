"""Control groups: where they are, from what the kernel says of them, and who is ended in them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tiphys.executor.group import Groups, hierarchies
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
    inner = Path(next(iter(group.folders)), "deeper/still")
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

    # Whoever enters comes home before a group is ended or given back.
    assert not group.kill()
    assert groups.take(Limits()) is group
