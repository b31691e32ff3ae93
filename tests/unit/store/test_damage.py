"""Damaged rows and pages: one bad row must not take the others with it."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from tiphys.store import Batch, Store, WorkflowHeader, WorkflowRow
from tiphys.store.query import DOCUMENT_COLUMNS, SUMMARY_COLUMNS
from tiphys.store.sqlite import NAME


def rows(count: int) -> list[WorkflowRow]:
    return [
        WorkflowRow(
            uid=f"u{i}",
            name=f"w{i}",
            namespace="n",
            phase="Running",
            created_at=float(i),
            labels={"a": str(i)},
            manifest=b"{}",
        )
        for i in range(count)
    ]


def spoil(folder: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(folder / NAME)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    with connection:
        connection.execute(statement, values)
    connection.close()


JUNK: list[object] = ["{", "[]", '{"a": 1}', b"\xff\xfe\x00", 1e300, -5, "", "\x00"]


def test_any_column_of_a_row_may_be_damaged_and_the_others_are_read(tmp_path: Path) -> None:
    seed = 20260101
    choose = random.Random(seed)
    originals = rows(3)
    with Store.open(tmp_path, owner=True) as store:
        store.commit(Batch(submitted=originals))
    columns = [c for c in (*SUMMARY_COLUMNS, *DOCUMENT_COLUMNS) if c not in {"uid", "phase"}]

    for _ in range(150):
        column, value = choose.choice(columns), choose.choice(JUNK)
        document = column in DOCUMENT_COLUMNS
        table, key = ("documents", "workflow") if document else ("workflows", "number")
        kept = sqlite3.connect(tmp_path / NAME)
        before = kept.execute(f"SELECT {column} FROM {table} WHERE {key} = 2").fetchone()[0]
        kept.close()
        spoil(tmp_path, f"UPDATE {table} SET {column} = ? WHERE {key} = 2", value)
        with Store.open(tmp_path, owner=False) as reader:
            listed, unfinished = reader.workflows(), reader.unfinished()
        spoil(tmp_path, f"UPDATE {table} SET {column} = ? WHERE {key} = 2", before)

        context = f"seed {seed}: {column} = {value!r}"
        assert len(listed) == len(unfinished) == 3, context
        assert [row for row in unfinished if row.uid != "u1"] == [originals[0], originals[2]]


@pytest.mark.parametrize(
    ("column", "value"),
    [("labels", "{"), ("annotations", '{"a": 1}'), ("priority", "high"), ("message", b"\xff")],
)
def test_a_damaged_row_says_what_is_wrong_with_it(
    tmp_path: Path, column: str, value: object
) -> None:
    with Store.open(tmp_path, owner=True) as store:
        store.commit(Batch(submitted=rows(2)))
    spoil(tmp_path, f"UPDATE workflows SET {column} = ? WHERE uid = 'u1'", value)

    with Store.open(tmp_path, owner=False) as reader:
        sound, damaged = reader.unfinished()

    assert sound.quarantine == ""
    assert damaged.uid == "u1"
    assert damaged.quarantine.startswith(f"the stored row is damaged: {column}: ")


def test_text_that_is_no_utf_8_is_read_with_marks_in_its_place(tmp_path: Path) -> None:
    with Store.open(tmp_path, owner=True) as store:
        store.commit(Batch(submitted=rows(2)))
    spoil(tmp_path, "UPDATE workflows SET message = CAST(x'61ff' AS TEXT) WHERE uid = 'u1'")

    with Store.open(tmp_path, owner=False) as reader:
        messages = [
            [row.message for row in reader.workflows(newest_first=False)],
            [row.message for row in reader.unfinished()],
            [reader.workflow("w0").message, reader.workflow("w1").message],
        ]

    assert messages == [["", "a\ufffd"]] * 3


def test_a_workflow_with_damaged_labels_can_be_relabelled_and_deleted(tmp_path: Path) -> None:
    with Store.open(tmp_path, owner=True) as store:
        store.commit(Batch(submitted=rows(2)))
    spoil(tmp_path, "UPDATE workflows SET labels = '{'")

    with Store.open(tmp_path, owner=True) as store:
        header = WorkflowHeader(uid="u0", phase="Running", labels={"b": "1"})
        store.commit(Batch(headers=[header], deleted=["u1"]))
        (left,) = store.workflows()

    assert (left.uid, left.labels, left.quarantine) == ("u0", {"b": "1"}, "")


def test_a_damaged_page_costs_the_workflow_on_it_and_no_other(tmp_path: Path) -> None:
    submitted = rows(3)
    submitted[1].manifest = b"Z" * 40_000
    with Store.open(tmp_path, owner=True) as store:
        store.commit(Batch(submitted=submitted))
    path = tmp_path / NAME
    image = bytearray(path.read_bytes())
    # A long document goes on from page to page; its first four bytes name the next one.
    page = next(at for at in range(0, len(image), 4096) if set(image[at + 4 : at + 4096]) == {90})
    image[page : page + 4] = b"\xff\xff\xff\xf0"
    path.write_bytes(image)

    with Store.open(tmp_path, owner=False) as reader:
        before, damaged, behind = reader.unfinished()

    assert (before, behind) == (submitted[0], submitted[2])
    assert (damaged.uid, damaged.name, damaged.phase) == ("u1", "w1", "Running")
    assert damaged.quarantine.startswith("the store is damaged here: ")


def test_a_workflow_without_its_documents_is_quarantined(tmp_path: Path) -> None:
    with Store.open(tmp_path, owner=True) as store:
        store.commit(Batch(submitted=rows(2)))
    spoil(tmp_path, "DELETE FROM documents WHERE workflow = 2")

    with Store.open(tmp_path, owner=False) as reader:
        sound, damaged = reader.unfinished()

    assert sound.quarantine == ""
    assert "manifest" in damaged.quarantine
