"""Stores of every released version, as that version wrote them (``dumps/``).

A step that leaves the tables as they are needs no dump of its own: the one before it, with the
later number, is such a store.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tiphys.store import Store, WorkflowFilter
from tiphys.store.schema import VERSION
from tiphys.store.sqlite import NAME

DUMPS = Path(__file__).with_name("dumps")
VERSIONS = list(range(1, VERSION))
_DUMPED = [int(path.stem.rpartition("-")[2]) for path in DUMPS.glob("sqlite-*.sql")]


def dump_of(version: int) -> tuple[int, str]:
    """Give the latest dump up to a version, and of which version it is."""
    found = max(each for each in _DUMPED if each <= version)
    return found, (DUMPS / f"sqlite-{found}.sql").read_text()


def restore(version: int, folder: Path) -> None:
    """Make a store of a version in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(folder / NAME)
    connection.executescript(dump_of(version)[1])
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


def everything(store: Store) -> dict[str, object]:
    """Give all that the dumps hold, as a store of today shows it."""
    rows = store.workflows(limit=-1, newest_first=False)
    return {
        "rows": [store.workflow(row.uid) for row in rows],
        "nodes": [list(store.nodes(row.uid)) for row in rows],
        "events": [store.events(uid) for uid in ("", *(row.uid for row in rows))],
        "memo": store.memo("argo", "c", "k"),
        "objects": store.objects(),
        "labelled": [row.uid for row in store.workflows(WorkflowFilter(label_selector="n=2"))],
    }
