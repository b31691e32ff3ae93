"""Bring the tables of PostgreSQL to this program's version; refuse those of a newer one."""

from __future__ import annotations

import psycopg

from tiphys.errors import NotFoundError
from tiphys.store.link import Link
from tiphys.store.migrate import check_version, refuse_newer, statements
from tiphys.store.postgres_schema import NAME_INDEX, STEPS

_HAS_VERSION = "SELECT to_regclass('version') IS NOT NULL"
_VERSION = "SELECT version FROM version"
_HAS_NAMES = "SELECT 1 FROM pg_class WHERE oid = to_regclass('workflows_by_part')"
_CAN = "SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'"
_SET_VERSION = "UPDATE version SET version = ?"


def version_of(connection: Link) -> int:
    """Tell how many steps the store has taken; 0 for a new one."""
    if not connection.execute(_HAS_VERSION).fetchone()[0]:
        return 0
    return int(connection.execute(_VERSION).fetchone()[0])


def migrate(connection: Link, label: str) -> None:
    """Take the steps that are missing, within the caller's transaction."""
    version = version_of(connection)
    refuse_newer(version, len(STEPS), label)
    if version < len(STEPS):
        for step in STEPS[version:]:
            for statement in statements(step):
                connection.execute(statement)
        connection.execute(_SET_VERSION, (len(STEPS),))
    _index_names(connection)


def _index_names(connection: Link) -> None:
    """Make the index of parts of names, where the server has the extension and we may use it."""
    if connection.execute(_HAS_NAMES).fetchone() or not connection.execute(_CAN).fetchone():
        return
    connection.execute("SAVEPOINT names")
    try:
        for statement in statements(NAME_INDEX):
            connection.execute(statement)
    except psycopg.errors.InsufficientPrivilege:
        connection.execute("ROLLBACK TO SAVEPOINT names")
    connection.execute("RELEASE SAVEPOINT names")


def check_readable(connection: Link, label: str) -> None:
    """Raise unless the tables are exactly those that this program reads."""
    version = version_of(connection)
    if version == 0:
        raise NotFoundError(f"there is no store in {label}")
    check_version(version, len(STEPS), label)
