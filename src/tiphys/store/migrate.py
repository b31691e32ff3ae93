"""Bring the tables to this program's version; refuse those of a newer one."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tiphys.errors import StoreVersionError
from tiphys.store.schema import STEPS, VERSION


def version_of(connection: sqlite3.Connection) -> int:
    """Tell how many steps the store has taken; 0 for a new one."""
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return found


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Take the steps that are missing, within the caller's transaction."""
    version = version_of(connection)
    if version > VERSION:
        raise StoreVersionError(_newer(path, version))
    if version == VERSION:
        return
    for step in STEPS[version:]:
        for statement in step.split(";\n"):
            if statement.strip():
                connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def check_readable(connection: sqlite3.Connection, path: Path) -> None:
    """Raise unless the tables are exactly those that this program reads."""
    version = version_of(connection)
    if version > VERSION:
        raise StoreVersionError(_newer(path, version))
    if version < VERSION:
        raise StoreVersionError(
            f"{path} was written by an older Tiphys (its version is {version}, not {VERSION});"
            " the next server or run on it brings it up to date"
        )


def _newer(path: Path, version: int) -> str:
    return (
        f"{path} was written by a newer Tiphys: its version is {version},"
        f" this program knows up to {VERSION}; nothing was changed"
    )
