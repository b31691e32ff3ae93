"""Tasks that write without end: the server's memory stays flat, and the tail can be read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.flow import shell, workflow
from tests.chaos.helm import FULL, Helm, Served

MEBIBYTES = 1024 if FULL else 64
GROWTH = 50 << 20
pytestmark = pytest.mark.timeout(1800 if FULL else 300)
LINE = "a line of sixty-four bytes, written again and again and agai"


class Memory(threading.Thread):
    """Watches how much memory processes use."""

    def __init__(self, pids: list[int]) -> None:
        super().__init__(daemon=True)
        self._pids = pids
        self._over = threading.Event()
        self.first = {pid: _resident(pid) for pid in pids}
        self.most = dict(self.first)

    def run(self) -> None:
        """Look until told to end."""
        while not self._over.wait(0.05):
            for pid in self._pids:
                self.most[pid] = max(self.most[pid], _resident(pid))

    def growth(self) -> int:
        """End, and give by how much the one that grew most has grown."""
        self._over.set()
        self.join()
        return max(self.most[pid] - self.first[pid] for pid in self._pids)


def _resident(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * 4096


@pytest.fixture
def helm(tmp_path: Path) -> Iterator[Helm]:
    with Helm(tmp_path) as made:
        yield made


def _flood(helm: Helm, server: Served, name: str, script: str) -> int:
    """Run one task; give by how much server and executor grew."""
    memory = Memory([server.process.pid, *helm.executors()])
    memory.start()
    task = {**shell("main", script), "inputs": {}}
    helm.hand_in(workflow(name, [task]))
    assert helm.ask("wait", key=name)["phase"] == "Succeeded"
    return memory.growth()


def test_a_flood_leaves_the_memory_flat_and_the_tail_readable(
    helm: Helm, record_property: Any
) -> None:
    server = helm.up()
    script = f"yes '{LINE}' | head -c {MEBIBYTES}M; echo; echo the end"

    grown = _flood(helm, server, "flood", script)

    tail = helm("logs", "flood", "--tail", "2")
    record_property("written", f"{MEBIBYTES} MiB")
    record_property("grown by", f"{grown / 2**20:.1f} MiB")
    assert tail.stdout.splitlines()[-1].endswith("the end")
    assert grown < GROWTH


def test_one_long_line_of_ten_mebibytes(helm: Helm, record_property: Any) -> None:
    server = helm.up()
    script = "head -c 10485760 /dev/zero | tr '\\0' x; echo; echo the end"

    grown = _flood(helm, server, "long", script)

    tail = helm("logs", "long", "--tail", "1")
    record_property("grown by", f"{grown / 2**20:.1f} MiB")
    assert tail.stdout.splitlines()[-1].endswith("the end")
    assert grown < GROWTH


def test_nuls_escapes_and_broken_text_leave_the_other_lines_readable(helm: Helm) -> None:
    server = helm.up()
    script = r"printf 'a\0b\n'; printf '\033[31mred\033[0m \033]0;title\007\n'; printf '\377\n'"

    _flood(helm, server, "odd", f"{script}; echo the end")

    lines = helm("logs", "odd", "--no-color").stdout.split("\n")
    assert len(lines) == 5
    assert lines[0].startswith("odd: a")
    assert "red" in lines[1]
    assert lines[3:] == ["odd: the end", ""]
