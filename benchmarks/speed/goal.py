"""What Tiphys is held to, and whether the measurements reach it.

Ratios compare whole commands. Beside each stands what is left of it when an engine is taken at its
best, without any start-up, while Tiphys keeps its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from benchmarks.speed.case import CASES
from benchmarks.speed.record import Summary

Rows = Mapping[str, Mapping[str, Summary]]
OURS = "Tiphys, process"
BOXED = "Tiphys, sandbox"
ENGINE = "Tiphys, engine alone"
LIMIT = "xargs -P8"
SMALL_NODES = 1_000
"""The size that the cost of a node is compared with: see programs/run_nodes.py."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One goal beside what was measured."""

    what: str
    goal: str
    found: str
    reached: bool | None
    """None where there is nothing to reach."""


WORDS = {True: "reached", False: "**missed**", None: ""}


def section(rows: Rows, engines: Set[str]) -> Iterator[str]:
    """Give the section about the goals; ``engines`` names the durable ones that are not ours."""
    yield "\n## Goals\n\n"
    if any(_is_small(name, each) for name, every in rows.items() for each in every.values()):
        yield "Some of Tiphys' own cases ran in a small form: no verdict on those means much.\n\n"
    yield "| | goal | measured | |\n|---|---|---|---|\n"
    for verdict in verdicts(rows, engines):
        word = WORDS[verdict.reached]
        yield f"| {verdict.what} | {verdict.goal} | {verdict.found} | {word} |\n"


def _is_small(case: str, row: Summary) -> bool:
    return row.peer.startswith("Tiphys") and row.size < CASES[case].size


def verdicts(rows: Rows, engines: Set[str]) -> Iterator[Verdict]:
    """Judge every goal that can be judged."""
    for name, what in (("fan-out", "Fan-out"), ("wide", "Wide fan-out"), ("layers", "Layers")):
        yield from _rates(what, rows.get(name, {}), engines)
    yield from _chain(rows.get("chain", {}))
    if (row := rows.get("hello", {}).get(OURS)) is not None:
        ms = row.seconds * 1000
        yield Verdict("Hello, cold", "≤ 300 ms", f"{ms:.0f} ms", ms <= 300)
    yield from _nodes(rows.get("nodes", {}).get(ENGINE))
    if (row := rows.get("flows", {}).get(OURS)) is not None:
        minute = row.rate * 60
        yield Verdict(
            "Workflows through the API", "≥ 2,100 a minute", f"{minute:,.0f}", minute >= 2100
        )


def _rates(what: str, rows: Mapping[str, Summary], engines: Set[str]) -> Iterator[Verdict]:
    ours = rows.get(OURS)
    if ours is None:
        return
    if (limit := rows.get(LIMIT)) is not None:
        ratio = ours.rate / limit.rate
        yield Verdict(f"{what} to xargs", "≥ 0.5", f"{ratio:.2f}", ratio >= 0.5)
    others = [row for name, row in rows.items() if name in engines]
    if others:
        fastest = max(others, key=lambda row: row.rate)
        ratio = ours.rate / fastest.rate
        found = f"{ratio:.1f} times {fastest.peer}"
        yield Verdict(f"{what} to the fastest durable engine", "≥ 5", found, ratio >= 5)
        fastest = max(others, key=lambda row: row.bare_rate)
        found = f"{ours.rate / fastest.bare_rate:.1f} times {fastest.peer}"
        yield Verdict(f"{what}, our start-up counted and theirs not", "", found, None)
    if (boxed := rows.get(BOXED)) is not None:
        share = boxed.rate / ours.rate
        yield Verdict(f"{what}: the sandbox's cost", "stated", f"{share:.2f} of the rate", None)


def _chain(rows: Mapping[str, Summary]) -> Iterator[Verdict]:
    if (row := rows.get(OURS)) is not None:
        step = row.seconds / row.size * 1000
        yield Verdict("Chain, start-up included", "≤ 5 ms a step", f"{step:.1f} ms", step <= 5)


def _nodes(row: Summary | None) -> Iterator[Verdict]:
    if row is None:
        return
    what = f"{row.width:,} nodes"
    cpu, gib = row.told["cpu"], row.memory / 2**30
    growth = row.told["each"] / row.told["each_small"]
    yield Verdict(f"{what}: CPU of the engine", "≤ 60 s", f"{cpu:.1f} s", cpu <= 60)
    yield Verdict(f"{what}: memory", "≤ 1.5 GiB", f"{gib:.2f} GiB", gib <= 1.5)
    yield Verdict(
        f"{what}: CPU of a node beside {SMALL_NODES:,}", "≤ 1.5", f"{growth:.2f}", growth <= 1.5
    )
