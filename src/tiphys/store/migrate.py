"""Bring the tables of SQLite to this program's version; refuse those of a newer one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tiphys.errors import StoreVersionError
from tiphys.store.link import Link
from tiphys.store.schema import NAME_INDEX, STEPS, VERSION

_HAS_NAMES = "SELECT 1 FROM sqlite_master WHERE name = 'names'"


def version_of(connection: Link) -> int:
    """Tell how many steps the store has taken; 0 for a new one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: Link, path: Path) -> None:
    """Take the steps that are missing, within the caller's transaction."""
    version = version_of(connection)
    refuse_newer(version, VERSION, str(path))
    if version < VERSION:
        for step in STEPS[version:]:
            for statement in statements(step):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    if not connection.execute(_HAS_NAMES).fetchone():
        _index_names(connection)


def _index_names(connection: Link) -> None:
    """Make the index of parts of names, unless this SQLite was built without it."""
    create, *rest = statements(NAME_INDEX)
    try:
        connection.execute(create)
    except connection.damage:
        return
    for statement in rest:
        connection.execute(statement)


def check_readable(connection: Link, path: Path) -> None:
    """Raise unless the tables are exactly those that this program reads."""
    check_version(version_of(connection), VERSION, str(path))


def statements(step: str) -> Iterator[str]:
    """Give the statements of a step; each but the last ends with a semicolon and a line."""
    for statement in step.split(";\n"):
        if statement.strip():
            yield statement


def check_version(version: int, known: int, label: str) -> None:
    """Raise unless a store of ``version`` can be read by a program that knows ``known``."""
    refuse_newer(version, known, label)
    if version < known:
        raise StoreVersionError(
            f"{label} was written by an older Tiphys (its version is {version}, not {known});"
            " the next server or run on it brings it up to date"
        )


def refuse_newer(version: int, known: int, label: str) -> None:
    """Raise where a newer program was here: what it wrote is not ours to judge."""
    if version > known:
        raise StoreVersionError(
            f"{label} was written by a newer Tiphys: its version is {version},"
            f" this program knows up to {known}; nothing was changed"
        )
