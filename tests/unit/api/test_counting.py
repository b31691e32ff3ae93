"""A list that is dear to count is answered at once and counted behind."""

from __future__ import annotations

import time
from pathlib import Path

from tiphys.api.counting import Counts
from tiphys.store import Batch, Store, WorkflowFilter, WorkflowRow

NAMED = WorkflowFilter(name_contains="w")


def _filled(folder: Path, count: int) -> Store:
    store = Store.open(folder, owner=True)
    rows = [
        WorkflowRow(uid=f"uid-{i}", name=f"w-{i}", namespace="argo", created_at=float(i))
        for i in range(count)
    ]
    store.commit(Batch(submitted=rows))
    return store


def test_the_first_answer_is_a_bound_and_a_later_one_is_exact(tmp_path: Path) -> None:
    counts = Counts(bound=10)
    with _filled(tmp_path, 50) as store:
        first = counts.count(store, NAMED, found=20, start=0, limit=20)

        last = first
        until = time.monotonic() + 30
        while not last[1] and time.monotonic() < until:
            last = counts.count(store, NAMED, found=20, start=0, limit=20)

    assert first == (20, False)
    assert last == (50, True)


def test_the_last_page_and_what_is_tallied_need_no_bound(tmp_path: Path) -> None:
    counts = Counts(bound=10)
    with _filled(tmp_path, 50) as store:
        assert counts.count(store, NAMED, found=10, start=40, limit=20) == (50, True)
        assert counts.count(store, WorkflowFilter(), found=20, start=0, limit=20) == (50, True)


def test_a_page_behind_the_last_one_tells_how_many_there_are(tmp_path: Path) -> None:
    counts = Counts(bound=100)
    with _filled(tmp_path, 50) as store:
        assert counts.count(store, NAMED, found=0, start=1980, limit=20) == (50, True)
        assert counts.count(store, WorkflowFilter(), found=0, start=60, limit=20) == (50, True)


def test_a_page_that_was_found_empty_corrects_an_older_count(tmp_path: Path) -> None:
    counts = Counts(bound=10)
    with _filled(tmp_path, 50) as store:
        until = time.monotonic() + 30
        while counts.count(store, NAMED, found=20, start=0, limit=20) != (50, True):
            assert time.monotonic() < until

        assert counts.count(store, NAMED, found=0, start=40, limit=20) == (40, True)
