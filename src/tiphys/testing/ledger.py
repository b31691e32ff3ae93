"""The ledger: what tasks themselves say that they did, kept outside Tiphys, as the oracle of tests.

Each task appends and syncs one line as it begins and one as it ends. The order of the lines is the
order of what happened, whoever crashed meanwhile, so that lost, doubled and overlapping work shows
whatever the store says. Log lines carry numbers, so that a gap in a log shows too. Reads and writes
text only: it starts nothing and knows neither store nor engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

BEGAN, ENDED = "start", "end"
LOG_WORD = "numbered"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line: what an attempt of a node has done."""

    word: str
    node: str
    attempt: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """One file, and the shell lines with which tasks write to it."""

    path: Path
    seen_as: str = ""
    """The file's path as tasks see it, where that is another one."""

    def script(self, node: str, work: str = "", *, lines: int = 0) -> str:
        """Give the shell script of a task: enter the start, log numbered lines, work, the end."""
        parts = [self._enter(BEGAN, node)]
        parts += [f"echo {LOG_WORD} {node} {number}" for number in range(1, lines + 1)]
        parts += [work] if work else []
        parts += [self._enter(ENDED, node)]
        return "; ".join(parts)

    def _enter(self, word: str, node: str) -> str:
        file = f"'{self.seen_as or self.path}'"
        # One write of one short line to a file opened for appending: lines never mix.
        return f'echo "{word} {node} $TIPHYS_ATTEMPT_ID" >> {file}; sync {file}'

    def entries(self) -> list[Entry]:
        """Read all lines, in the order in which they were written."""
        if not self.path.exists():
            return []
        return [Entry(*line.split()) for line in self.path.read_text().splitlines()]

    def problems(self, nodes: Iterable[str], *, lost: Collection[str] = ()) -> list[str]:
        """Say what must not be. ``lost`` are attempts that were ended from outside, on purpose."""
        entries = self.entries()
        return [
            *_doubled(entries),
            *_unfinished(entries, nodes, lost),
            *_run_again(entries),
            *_overlapping(entries),
        ]


def _doubled(entries: Sequence[Entry]) -> Iterable[str]:
    for entry, times in Counter(entries).items():
        if times > 1:
            yield f"attempt {entry.attempt} of {entry.node} has {times} lines {entry.word!r}"


def _unfinished(
    entries: Sequence[Entry], nodes: Iterable[str], lost: Collection[str]
) -> Iterable[str]:
    began = {(e.node, e.attempt) for e in entries if e.word == BEGAN}
    ended = {(e.node, e.attempt) for e in entries if e.word == ENDED}
    for node, attempt in sorted(began - ended):
        if attempt not in lost:
            yield f"attempt {attempt} of {node} began and never ended"
    for node, attempt in sorted(ended - began):
        yield f"attempt {attempt} of {node} ended and never began"
    done = {node for node, _ in ended}
    for node in nodes:
        if node not in done:
            yield f"{node} was never done"


def _run_again(entries: Sequence[Entry]) -> Iterable[str]:
    done: set[str] = set()
    for entry in entries:
        if entry.word == ENDED:
            done.add(entry.node)
        elif entry.word == BEGAN and entry.node in done:
            yield f"{entry.node} was done, and run again by attempt {entry.attempt}"


def _overlapping(entries: Sequence[Entry]) -> Iterable[str]:
    """Find lines of an attempt behind the first line of the node's next attempt."""
    newest: dict[str, str] = {}
    past: set[tuple[str, str]] = set()
    for entry in entries:
        before = newest.get(entry.node)
        if before is not None and before != entry.attempt:
            past.add((entry.node, before))
        if (entry.node, entry.attempt) in past:
            yield f"attempt {entry.attempt} of {entry.node} ran beside a later one"
        else:
            newest[entry.node] = entry.attempt


def log_problems(text: str, nodes: Iterable[str], *, lines: int) -> list[str]:
    """Find gaps, repeats and disorder in numbered lines; other text is left aside."""
    found: dict[str, list[int]] = {}
    for line in text.splitlines():
        _, word, rest = line.partition(f"{LOG_WORD} ")
        fields = rest.split()
        if word and len(fields) == 2 and fields[1].isdigit():
            found.setdefault(fields[0], []).append(int(fields[1]))
    expected = list(range(1, lines + 1))
    return [
        f"the log of {node} has lines {found.get(node, [])} of {lines}"
        for node in nodes
        if found.get(node, []) != expected
    ]
