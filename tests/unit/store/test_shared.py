"""A spec that is the end of its manifest is kept once, and damage to it stops nobody else."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tiphys.store import Batch, Store, WorkflowRow
from tiphys.store.sqlite import NAME

SPEC = b'{"entrypoint":"main"}'
MANIFEST = b'{"kind":"Workflow","spec":' + SPEC + b"}"


def row(name: str, manifest: bytes) -> WorkflowRow:
    return WorkflowRow(
        uid=name, name=name, namespace="n", created_at=1.0, manifest=manifest, spec=SPEC
    )


def kept(folder: Path) -> list[bytes]:
    with closing(sqlite3.connect(folder / NAME)) as connection:
        found = connection.execute("SELECT spec FROM documents ORDER BY workflow").fetchall()
    return [each for (each,) in found]


def test_only_the_length_of_a_spec_is_kept_beside_the_manifest_that_ends_with_it(
    tmp_path: Path,
) -> None:
    with Store.open(tmp_path, owner=True) as store:
        store.commit(Batch(submitted=[row("same", MANIFEST), row("other", b'{"spec":{}}')]))

        assert [each.spec for each in store.unfinished()] == [SPEC, SPEC]

    assert kept(tmp_path) == [str(len(SPEC)).encode(), SPEC]


def test_a_length_that_can_be_none_harms_no_other_workflow(tmp_path: Path) -> None:
    with Store.open(tmp_path, owner=True) as store:
        store.commit(Batch(submitted=[row("damaged", MANIFEST), row("sound", MANIFEST)]))
    with closing(sqlite3.connect(tmp_path / NAME)) as connection:
        connection.execute("UPDATE documents SET spec = ? WHERE workflow = 1", (b"9" * 5000,))
        connection.commit()

    with Store.open(tmp_path, owner=True) as store:
        assert [each.spec for each in store.unfinished()] == [b"9" * 5000, SPEC]
