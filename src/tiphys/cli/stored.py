"""The store as commands read it: beside whoever owns it, and never made by looking at it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from tiphys.cli.inputs import data_folder, settings
from tiphys.errors import TiphysError

if TYPE_CHECKING:
    from tiphys.engine.node import Node
    from tiphys.store import Store

LATEST = "@latest"


@contextmanager
def open_store() -> Iterator[Store]:
    """Open the store of the data directory for reading."""
    from tiphys.store import Store  # noqa: PLC0415

    with Store.open(data_folder(), owner=False, url=settings().store.url) as store:
        yield store


def nodes_of(store: Store, uid: str) -> list[Node]:
    """Give the nodes of a workflow in the order of their creation."""
    from tiphys.wire.node import decode_node  # noqa: PLC0415

    found = []
    for row in store.nodes(uid):
        try:
            found.append(decode_node(row.body))
        except msgspec.MsgspecError as error:
            sys.stderr.write(f"node {row.name} cannot be read and is left out: {error}\n")
    return found


def complete_names(begin: str) -> list[str]:
    """Give the names of workflows that begin with ``begin``, newest first, for the shell."""
    from tiphys.store import WorkflowFilter  # noqa: PLC0415

    try:
        with open_store() as store:
            found = store.workflows(WorkflowFilter(name_contains=begin), limit=200)
    except (TiphysError, OSError):
        return []
    names = [row.name for row in found if row.name.startswith(begin)]
    return [*names, *([LATEST] if LATEST.startswith(begin) else [])]
