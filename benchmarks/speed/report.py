"""Turns measurements into benchmarks/RESULTS.md.

Nothing in it names the machine: only what matters for the figures (cores, memory, versions).
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from benchmarks.speed import goal
from benchmarks.speed.case import CASES, FLOWS, HELLO, NODES, Case
from benchmarks.speed.measure import Measurement
from benchmarks.speed.peer import Peer
from benchmarks.speed.record import Found, Result, Summary, summarise

LIMIT = "xargs -P8"
HEAD = """# How fast Tiphys is

Written by `make bench` on {day}: {cores} cores, {memory:.0f} GiB of memory, Python {python}, \
{rounds}.{load}
Everything ran on this one machine, interleaved: each round runs every peer once before the next
begins, in another order. Times of other machines, and of other days on this one, mean nothing
beside these; ratios do. A task is one `/bin/true`; at most 8 run at once.

- **tasks/s** is the median of the rounds over the whole command, start-up included, as a person
  waits for it. ¹: the peer needs a server; the server's own start and end are left out (but for
  Hello). With many workflows only the time between the first request and the last end counts.
- **spread** is the slowest and the fastest round.
- **bare** is the same without any start-up, where the peer can tell.
- **CPU** is user and system time of all processes for each task, the tasks themselves included.
- **memory** is the peak of the resident sizes of all processes together; pages that they share
  count in each.
- **durable**: `durable` survives a power cut at every step; `files` and `log` remember what has
  ended in files that are not flushed; `none` forgets.
"""
TABLE = """
| | durable | tasks | tasks/s | spread | bare | × xargs | × fastest durable engine | CPU, ms/task \
| memory, MiB |
|---|---|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Sheet:
    """All that a report is made of."""

    peers: list[Peer]
    found: list[Found]
    results: list[Result]

    def of(self, case: Case) -> dict[str, Summary | str]:
        """Give the summaries of a case by the peer's name."""
        answer: dict[str, Summary | str] = {}
        for peer in self.peers:
            mine = [r for r in self.results if (r.peer, r.case) == (peer.name, case.name)]
            if mine:
                answer[peer.name] = summarise(mine, _counted(case))
        return answer

    def peer(self, name: str) -> Peer:
        """Find a peer."""
        return next(each for each in self.peers if each.name == name)


def _counted(case: Case) -> Callable[[Measurement], float]:
    """Say what of the time counts in a case."""
    if case is HELLO:
        return lambda taken: taken.seconds
    if case is FLOWS:
        return lambda taken: taken.work or taken.seconds
    return lambda taken: taken.served


def write(sheet: Sheet) -> str:
    """Give the text of the report."""
    every = {name: sheet.of(case) for name, case in CASES.items()}
    engines = {peer.name for peer in sheet.peers if peer.is_engine}
    good = {name: _good(rows) for name, rows in every.items()}
    parts = [_head(sheet), *goal.section(good, engines)]
    for name, case in CASES.items():
        if every[name]:
            parts.append(f"\n## {case.title}\n")
            tables = {HELLO: _hello, NODES: _nodes}
            parts += tables.get(case, _table)(sheet, every[name])
    parts += _versions(sheet)
    parts += _commands(every)
    return "".join(parts)


def _good(rows: Mapping[str, Summary | str]) -> dict[str, Summary]:
    return {name: row for name, row in rows.items() if isinstance(row, Summary)}


def _head(sheet: Sheet) -> str:
    counts: dict[tuple[str, str], int] = {}
    for each in sheet.results:
        counts[each.peer, each.case] = counts.get((each.peer, each.case), 0) + 1
    rounds = max(counts.values(), default=0)
    cores = len(os.sched_getaffinity(0))
    return HEAD.format(
        day=date.today().isoformat(),  # noqa: DTZ011 - the day where it was run
        cores=cores,
        memory=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30,
        python=platform.python_version(),
        rounds="1 round" if rounds == 1 else f"{rounds} rounds",
        load=_load(sheet, cores),
    )


def _load(sheet: Sheet, cores: int) -> str:
    """Warn if the machine had other things to do."""
    before = max((float(each.version) for each in sheet.found if each.peer == LOAD), default=0.0)
    if before <= cores / 2:
        return ""
    return f"\n**The machine was busy: a load of {before:.1f} before the run began.**"


LOAD = "load before the run"
"""Stands among what was found as if it were a peer."""


def _table(sheet: Sheet, rows: Mapping[str, Summary | str]) -> Iterator[str]:
    yield TABLE
    limit = rows.get(LIMIT)
    fastest = fastest_engine(sheet, rows)
    for name, row in rows.items():
        state = sheet.peer(name).state
        if isinstance(row, str):
            yield f"| {name} | {state} | {_short(row)} ||||||||\n"
            continue
        mark = "¹" if sheet.peer(name).served else ""
        ends = f"{_number(row.size / row.most)}–{_number(row.size / row.least)}"
        if row.failed:
            ends += f" ({row.rounds} of several: {_short(row.failed)})"
        bare = _number(row.size / row.work) if row.work else "–"
        to_limit = _ratio(row, limit)
        to_engine = _ratio(row, fastest)
        yield (
            f"| {name} | {state} | {_shape(row)} | {_number(row.rate)}{mark} | {ends} | {bare} "
            f"| {to_limit} | {to_engine} | {row.cpu / row.size * 1000:.2f} | {_memory(row)} |\n"
        )


def _hello(sheet: Sheet, rows: Mapping[str, Summary | str]) -> Iterator[str]:
    yield "\n| | durable | ms | spread, ms | CPU, ms | memory, MiB |\n|---|---|---|---|---|---|\n"
    for name, row in rows.items():
        state = sheet.peer(name).state
        if isinstance(row, str):
            yield f"| {name} | {state} | {_short(row)} ||||\n"
            continue
        ends = f"{_number(row.least * 1000)}–{_number(row.most * 1000)}"
        yield (
            f"| {name} | {state} | {_number(row.seconds * 1000)} | {ends} "
            f"| {_number(row.cpu * 1000)} | {_memory(row)} |\n"
        )


def _nodes(sheet: Sheet, rows: Mapping[str, Summary | str]) -> Iterator[str]:
    yield "\n| | nodes | CPU, s | CPU, µs/node | the same with 1,000 nodes | memory, MiB |\n"
    yield "|---|---|---|---|---|---|\n"
    for name, row in rows.items():
        if isinstance(row, str):
            yield f"| {name} | {_short(row)} |||||\n"
            continue
        each, small = row.told["each"] * 1e6, row.told["each_small"] * 1e6
        yield (
            f"| {name} | {row.size:,} | {row.told['cpu']:.1f} | {each:.0f} | {small:.0f} "
            f"| {_memory(row)} |\n"
        )


def fastest_engine(sheet: Sheet, rows: Mapping[str, Summary | str]) -> Summary | None:
    """Give the fastest durable engine that is not Tiphys."""
    engines = [row for name, row in _good(rows).items() if sheet.peer(name).is_engine]
    return max(engines, key=lambda row: row.rate, default=None)


def _ratio(row: Summary, other: Summary | str | None) -> str:
    if not isinstance(other, Summary):
        return "–"
    return f"{row.rate / other.rate:.2f}"


def _shape(row: Summary) -> str:
    return f"{row.size:,}" if row.depth == 1 else f"{row.depth} × {row.width}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _memory(row: Summary) -> str:
    return f"{row.memory / 2**20:,.0f}"


def _short(text: str) -> str:
    """Make one cell of a table out of a message."""
    return " ".join(text.split()).replace("|", "/")[:120]


def _versions(sheet: Sheet) -> Iterator[str]:
    yield "\n## Versions, and what could not be had\n\n| | version | note |\n|---|---|---|\n"
    for entry in sheet.found:
        if entry.peer == LOAD:
            continue
        note = sheet.peer(entry.peer).note
        version = f"not measured: {_short(entry.missing)}" if entry.missing else entry.version
        yield f"| {entry.peer} | {version} | {note} |\n"


def _commands(every: Mapping[str, Mapping[str, Summary | str]]) -> Iterator[str]:
    yield "\n## Command lines\n\n`programs/` is benchmarks/speed/programs; PEERS is the folder of "
    yield "the peers' own environments.\n\n```\n"
    for case, rows in every.items():
        for name, row in _good(rows).items():
            yield f"{case:8} {name:34} {row.words}\n"
    yield "```\n"
