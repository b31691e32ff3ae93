"""Where control groups are, from what the kernel says of them."""

from __future__ import annotations

from tiphys.executor.group import hierarchies

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
