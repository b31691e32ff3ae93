"""Stores of every released version, as that version wrote them (``dumps/``)."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tiphys.store import Store, WorkflowFilter
from tiphys.store.sqlite import NAME

DUMPS = Path(__file__).with_name("dumps")
VERSIONS = sorted(int(path.stem.rpartition("-")[2]) for path in DUMPS.glob("sqlite-*.sql"))


def dump_of(version: int) -> str:
    """Give the statements that make a store of a version."""
    return (DUMPS / f"sqlite-{version}.sql").read_text()


def restore(version: int, folder: Path) -> None:
    """Make a store of a version in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(folder / NAME)
    connection.executescript(dump_of(version))
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
