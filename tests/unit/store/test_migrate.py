"""Stores of every released version become those of today, with all they hold."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.unit.store.dumped import VERSIONS, dump_of, everything, restore

from tiphys.errors import StoreVersionError
from tiphys.store import Batch, Store, WorkflowFilter, WorkflowHeader
from tiphys.store import postgres_schema as postgres
from tiphys.store.schema import STEPS
from tiphys.store.sqlite import NAME


@pytest.mark.parametrize("version", VERSIONS)
def test_there_is_a_dump_of_every_version_that_has_tables_of_its_own(version: int) -> None:
    dumped, _ = dump_of(version)

    assert not any(STEPS[dumped:version])


def test_both_databases_have_the_same_steps() -> None:
    assert len(STEPS) == len(postgres.STEPS)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_store_of_an_earlier_version_is_upgraded_with_all_it_holds(
    tmp_path: Path, version: int
) -> None:
    restore(version, tmp_path)

    with Store.open(tmp_path, owner=True) as store:
        found = everything(store)
        epoch = store.epoch

    rows = found["rows"]
    assert isinstance(rows, list)
    assert [row.name for row in rows] == ["nightly-0", "nightly-1", "nightly-2", "nightly-4"]
    assert [row.phase for row in rows] == ["Succeeded", "Running", "Failed", ""]
    assert rows[2].message == 'it\'s "quoted"; über\n'
    assert (rows[0].outputs, rows[0].finished_at) == (b'{"result":"1"}', 200.5)
    assert (rows[1].suspended, rows[1].labels) == (True, {"team": "x", "n": "1"})
    assert [len(nodes) for nodes in found["nodes"]] == [3, 3, 0, 0]  # type: ignore[attr-defined]
    assert [len(some) for some in found["events"]] == [1, 1, 0, 0, 0]  # type: ignore[attr-defined]
    assert found["memo"] is not None
    assert found["labelled"] == ["uid-2"]
    assert epoch == 2


@pytest.mark.parametrize("version", VERSIONS)
def test_an_upgraded_store_is_counted_searched_and_changed(tmp_path: Path, version: int) -> None:
    restore(version, tmp_path)
    with Store.open(tmp_path, owner=True) as store:
        before = store.count_by_phase()
        named = [row.uid for row in store.workflows(WorkflowFilter(name_contains="ightly-2"))]
        changed = WorkflowHeader(uid="uid-1", phase="Succeeded", finished_at=300.0)

        store.commit(Batch(headers=[changed], deleted=["uid-2"]))

        assert before == {"Succeeded": 1, "Running": 1, "Failed": 1, "": 1}
        assert named == ["uid-2"]
        assert store.count_by_phase() == {"Succeeded": 2, "": 1}
        assert store.workflows(WorkflowFilter(name_contains="ightly-2")) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_reader_leaves_an_earlier_version_to_its_owner(tmp_path: Path, version: int) -> None:
    restore(version, tmp_path)

    with pytest.raises(StoreVersionError, match="older Tiphys"):
        Store.open(tmp_path, owner=False)

    connection = sqlite3.connect(tmp_path / NAME)
    assert connection.execute("PRAGMA user_version").fetchone() == (version,)
    connection.close()


def test_an_upgrade_that_fails_changes_nothing(tmp_path: Path) -> None:
    restore(1, tmp_path)
    connection = sqlite3.connect(tmp_path / NAME)
    connection.execute("CREATE TABLE tallies (in_the_way)")
    connection.commit()
    before = list(connection.iterdump())

    with pytest.raises(Exception, match="tallies"):
        Store.open(tmp_path, owner=True)

    assert list(connection.iterdump()) == before
    connection.close()


def test_tallies_agree_with_what_is_counted_after_many_changes(tmp_path: Path) -> None:
    restore(1, tmp_path)
    with Store.open(tmp_path, owner=True) as store:
        for phase in ("Running", "Running", "Failed", "Running", "Error", "Succeeded"):
            store.commit(
                Batch(headers=[WorkflowHeader(uid="uid-0", phase=phase, queue=f"q-{phase}")])
            )

        # A date makes the store count rows; without it, it adds tallies.
        assert store.count_by_phase() == store.count_by_phase(WorkflowFilter(since=0.0))
        for queue in ("q-Running", "q-Succeeded", "team-a"):
            wanted = WorkflowFilter(queue=queue)
            assert store.count_workflows(wanted) == len(store.workflows(wanted))
