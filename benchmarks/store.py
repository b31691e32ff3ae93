"""Measures lists and counts of a large store.

    python benchmarks/store.py [--stored 1000000] [--postgres URL]

Workflows are written in large batches without waiting for the disk, by the store's own code; then
each kind of question is asked many times with changing values. The goal is a p99 of 50 ms with a
million workflows. What only a walk over rows can answer (whole counts of parts of names, far pages
of them) is shown too: the API asks for such counts up to a bound, and counts the rest behind.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from tiphys.store import Batch, Store, WorkflowFilter, WorkflowRow
from tiphys.store.writer import Writer

STEP = 10_000
ROUNDS = 200
GOAL = 50.0
BEGIN = 1.7e9
WORDS = ("train", "etl", "report", "backup", "ingest", "score", "render", "build", "deploy", "sync")
PHASES = ("Succeeded",) * 85 + ("Failed",) * 10 + ("Error",) * 4 + ("Running",)
DOCUMENT = b'{"kind":"Workflow","spec":{"entrypoint":"main"}}' * 10

Choose = random.Random
Question = Callable[[Store, Choose], object]


def row(number: int, choose: Choose) -> WorkflowRow:
    """Give one workflow."""
    word = choose.choice(WORDS)
    at = BEGIN + number * 3
    return WorkflowRow(
        uid=str(uuid.UUID(int=choose.getrandbits(128))),
        name=f"{word}-{number:x}",
        namespace=f"project-{number % 20}",
        phase=choose.choice(PHASES),
        created_at=at,
        started_at=at,
        finished_at=at + 60,
        queue=f"queue-{choose.randrange(8)}",
        progress="3/3",
        labels={"tiphys.dev/name": word, "team": f"t{number % 7}"},
        manifest=DOCUMENT,
        spec=DOCUMENT,
        library=b"{}",
    )


def fill(store: Store, count: int) -> list[str]:
    """Write workflows; give some of their uids."""
    choose = random.Random(1)
    if isinstance(store._writer, Writer):
        store._writer._connection.execute("PRAGMA synchronous = OFF")
    uids = []
    for first in range(0, count, STEP):
        rows = [row(number, choose) for number in range(first, min(count, first + STEP))]
        store.commit(Batch(submitted=rows))
        uids += [each.uid for each in rows[::1000]]
    return uids


def listed(**wanted: Callable[[Choose], object]) -> Question:
    """Ask for the first page of a list, with values that change."""

    def ask(store: Store, choose: Choose) -> object:
        given = {key: value(choose) for key, value in wanted.items()}
        return store.workflows(WorkflowFilter(**given), limit=20)  # type: ignore[arg-type]

    return ask


def counted(**wanted: Callable[[Choose], object]) -> Question:
    """Ask for the number of a list."""

    def ask(store: Store, choose: Choose) -> object:
        given = {key: value(choose) for key, value in wanted.items()}
        return store.count_workflows(WorkflowFilter(**given))  # type: ignore[arg-type]

    return ask


def bounded(**wanted: Callable[[Choose], object]) -> Question:
    """Ask for the number of a list as the API does first."""

    def ask(store: Store, choose: Choose) -> object:
        given = {key: value(choose) for key, value in wanted.items()}
        return store.count_up_to(10_000, WorkflowFilter(**given))  # type: ignore[arg-type]

    return ask


def paged(depth: int, **wanted: Callable[[Choose], object]) -> Question:
    """Ask for a page anywhere within ``depth`` rows."""

    def ask(store: Store, choose: Choose) -> object:
        given = {key: value(choose) for key, value in wanted.items()}
        offset = choose.randrange(max(1, depth // 20)) * 20
        return store.workflows(WorkflowFilter(**given), limit=20, offset=offset)  # type: ignore[arg-type]

    return ask


def questions(count: int, uids: list[str]) -> dict[str, Question]:
    """Give all that is asked, by name."""
    project = {"namespace": lambda c: f"project-{c.randrange(20)}"}
    queue = {"queue": lambda c: f"queue-{c.randrange(8)}"}
    failed = {"phases": lambda _: ("Failed",)}
    ended = {"phases": lambda _: ("Succeeded", "Failed", "Error")}
    pending = {"phases": lambda _: ("", "Pending")}
    rare = {"name_contains": lambda c: f"{c.choice(WORDS)[2:]}-{c.randrange(count):x}"}
    common = {"name_contains": lambda c: c.choice(WORDS)}
    nowhere = {"name_contains": lambda c: f"zz{c.randrange(1000)}"}
    since = {"since": lambda c: BEGIN + c.randrange(count) * 3}
    day = {"since": lambda _: BEGIN + count, "before": lambda _: BEGIN + count + 86400}
    label = {"label_selector": lambda c: f"team=t{c.randrange(7)}"}
    return {
        "get": lambda store, choose: store.workflow(choose.choice(uids)),
        "list": listed(),
        "list project": listed(**project),
        "list failed": listed(**failed),
        "list ended": listed(**ended),
        "list project, failed": listed(**project, **failed),
        "list project, pending": listed(**project, **pending),
        "list queue": listed(**queue),
        "list queue, failed": listed(**queue, **failed),
        "list name, rare": listed(**rare),
        "list name, common": listed(**common),
        "list name, nowhere": listed(**nowhere),
        "list project, name": listed(**project, **rare),
        "list since": listed(**since),
        "list project, a day": listed(**project, **day),
        "list label": listed(**label),
        "any page": paged(count),
        "any page of project": paged(count // 20, **project),
        "any page of ended": paged(count, **ended),
        "any page of queue": paged(count // 8, **queue),
        "any page of two statuses": paged(count // 7, phases=lambda _: ("Failed", "Error")),
        "any page, project, ended": paged(count // 20, **project, **ended),
        "any page, project, queue": paged(count // 160, **project, **queue),
        "any page of label": paged(count // 7, **label),
        "count": counted(),
        "count project, failed": counted(**project, **failed),
        "count queue": counted(**queue),
        "count name, rare": counted(**rare),
        "count project, a day": counted(**project, **day),
        "count since": counted(**since),
        "count label": counted(**label),
        "bounded, name, common": bounded(**common),
        "bounded, label, project": bounded(**label, **project),
        "bounded, label, failed": bounded(**label, **failed),
    }


def dear(count: int) -> dict[str, Question]:
    """Give what only a walk over the rows can answer."""
    label: dict[str, Callable[[Choose], object]] = {
        "label_selector": lambda c: f"team=t{c.randrange(7)}"
    }
    common: dict[str, Callable[[Choose], object]] = {"name_contains": lambda c: c.choice(WORDS)}
    return {
        "count name, common": counted(**common),
        "count label, failed": counted(**label, phases=lambda _: ("Failed",)),
        "any page of name, common": paged(count // 10, **common),
    }


def measure(store: Store, name: str, ask: Question, rounds: int) -> float:
    """Ask many times; print and give the p99 in milliseconds."""
    choose = random.Random(2)
    ask(store, choose)
    took, spent = [], []
    for _ in range(rounds):
        begun, before = time.perf_counter(), time.thread_time()
        ask(store, choose)
        spent.append((time.thread_time() - before) * 1000)
        took.append((time.perf_counter() - begun) * 1000)
    half, most, cpu = _part(took, 0.5), _part(took, 0.99), _part(spent, 0.99)
    # The CPU is what a busy machine cannot hide; PostgreSQL's is not in it.
    print(f"{name:<24} p50 {half:7.2f} ms   p99 {most:7.2f} ms   p99 of CPU {cpu:7.2f} ms")
    return most


def _part(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def run(folder: Path, url: str, count: int) -> None:
    """Fill a store and ask it."""
    with Store.open(folder, owner=True, url=url) as store:
        begun = time.perf_counter()
        uids = fill(store, count)
        print(f"{count} workflows written in {time.perf_counter() - begun:.0f} s")
    with Store.open(folder, owner=False, url=url) as store:
        worst = max(
            measure(store, name, ask, ROUNDS) for name, ask in questions(count, uids).items()
        )
        print(f"worst p99 {worst:.1f} ms; the goal is {GOAL:.0f} ms")
        for name, ask in dear(count).items():
            measure(store, name, ask, 10)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--stored", type=int, default=1_000_000)
    parser.add_argument("--postgres", default="", metavar="URL", help="An empty database.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), given.postgres, given.stored)


if __name__ == "__main__":
    main()
