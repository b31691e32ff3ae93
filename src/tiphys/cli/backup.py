"""``tiphys backup``: a copy of the store, also while a server writes to it, here or elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tiphys.cli.inputs import data_folder, settings
from tiphys.cli.names import elsewhere, server_option
from tiphys.errors import InvalidInputError


@click.command("backup")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE if there is one.")
@server_option
def command(file: Path, force: bool) -> None:
    """Copy the store to FILE: everything up to this moment, checked and safely on disk.

    A server may run meanwhile. Logs and artifacts are files of their own and are not in it. To
    restore, end the server and put FILE in the place of tiphys.db in the data directory, without
    tiphys.db-wal and tiphys.db-shm. A server elsewhere gives its copy to admins of all projects.
    """
    remote = elsewhere()
    if remote is not None:
        from tiphys.store.backup import keep_copy  # noqa: PLC0415

        size = keep_copy(remote.client.backup(), file, data_folder(), replace=force)
        sys.stdout.write(f"{file}: {size} bytes\n")
        return
    if settings().store.url:
        raise InvalidInputError("the store is in PostgreSQL: back it up with pg_dump")
    from tiphys.store.backup import back_up  # noqa: PLC0415

    size = back_up(data_folder(), file, replace=force)
    sys.stdout.write(f"{file}: {size} bytes\n")
