"""Names that the containers of a pod know."""

from __future__ import annotations

from pathlib import Path

from tiphys.runtimes.hosts import hosts_text, write_hosts
from tiphys.spec import model

ALIASES = (
    model.HostAlias(ip="127.70.0.1", hostnames=("one.job", "one")),
    model.HostAlias(ip="127.70.0.2", hostnames=("two",)),
)


def test_aliases_stand_below_the_machines_own_names(tmp_path: Path) -> None:
    machine = tmp_path / "hosts"
    machine.write_text("127.0.0.1 localhost\n")

    lines = hosts_text(ALIASES, machine).splitlines()

    assert lines[0] == "127.0.0.1 localhost"
    assert lines[-2:] == ["127.70.0.1\tone.job\tone", "127.70.0.2\ttwo"]


def test_a_machine_without_names_is_no_reason_to_fail(tmp_path: Path) -> None:
    assert hosts_text(ALIASES, tmp_path / "none").endswith("127.70.0.2\ttwo\n")


def test_a_name_cannot_begin_another_line(tmp_path: Path) -> None:
    bad = model.HostAlias(ip="127.70.0.1", hostnames=("a\n6.6.6.6 bank",))

    assert hosts_text((bad,), tmp_path / "none").splitlines()[-1] == "127.70.0.1\ta6.6.6.6bank"


def test_the_containers_of_a_pod_share_one_file(tmp_path: Path) -> None:
    path = write_hosts(ALIASES, tmp_path)
    first = path.stat().st_ino

    assert write_hosts(ALIASES, tmp_path).stat().st_ino == first
