"""The measurements of a run, one JSON line each, kept as they come.

A run takes long and may be cut: what was measured until then is not lost, and the report is made
from the file alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks.speed.measure import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """That a peer is there, or why it is not."""

    peer: str
    version: str = ""
    missing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One run of one case by one peer."""

    peer: str
    case: str
    width: int
    depth: int
    words: str
    """The command line, without what is peculiar to this machine."""
    measurement: Measurement | None = None
    failed: str = ""


class Record:
    """A file with everything that was found and measured."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self) -> None:
        """Start anew."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text("")

    def add(self, entry: Found | Result) -> None:
        """Write one entry."""
        with self._path.open("a") as file:
            file.write(json.dumps({"kind": type(entry).__name__, **asdict(entry)}) + "\n")

    def read(self) -> tuple[list[Found], list[Result]]:
        """Give all entries."""
        found: list[Found] = []
        results: list[Result] = []
        for line in self._path.read_text().splitlines():
            entry = json.loads(line)
            if entry.pop("kind") == "Found":
                found.append(Found(**entry))
            else:
                taken = entry.pop("measurement")
                measured = Measurement(**taken) if taken else None
                results.append(Result(**entry, measurement=measured))
        return found, results


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What all rounds of one case by one peer say together."""

    peer: str
    width: int
    depth: int
    words: str
    rounds: int
    seconds: float
    """The median of what counts: the whole command, but for servers that must run first."""
    least: float
    most: float
    work: float | None
    """The median without start-up."""
    cpu: float
    memory: float
    told: dict[str, float]
    failed: str = ""

    @property
    def size(self) -> int:
        """How many tasks were run."""
        return self.width * self.depth

    @property
    def rate(self) -> float:
        """Tasks a second."""
        return self.size / self.seconds

    @property
    def bare_rate(self) -> float:
        """Tasks a second without any start-up, where that is known."""
        return self.size / min(self.seconds, self.work or self.seconds)


def summarise(results: Iterable[Result], count: Callable[[Measurement], float]) -> Summary | str:
    """Join the rounds; ``count`` gives the time that counts. Give the reason if all failed."""
    rounds = list(results)
    taken = [each.measurement for each in rounds if each.measurement is not None]
    failed = next((each.failed for each in rounds if each.failed), "")
    if not taken:
        return failed or "not run"
    work = [each.work for each in taken if each.work is not None]
    counted = [count(each) for each in taken]
    first = rounds[0]
    return Summary(
        peer=first.peer,
        width=first.width,
        depth=first.depth,
        words=first.words,
        rounds=len(taken),
        seconds=median(counted),
        least=min(counted),
        most=max(counted),
        work=median(work) if work else None,
        cpu=median(each.cpu for each in taken),
        memory=median(each.memory for each in taken),
        told=_medians([each.told for each in taken]),
        failed=failed,
    )


def _medians(told: list[dict[str, float]]) -> dict[str, float]:
    return {key: median(each[key] for each in told if key in each) for key in told[0]}
