"""``tiphys watch`` of a server elsewhere: what changes, line by line, and the tree at the end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from tiphys.cli.failure import FAILED, visible
from tiphys.cli.get import print_workflow
from tiphys.cli.patience import ask, updates
from tiphys.cli.remote import Remote
from tiphys.cli.remote_view import nodes_of, row_of
from tiphys.cli.symbol import symbol
from tiphys.engine.node import Phase


def watch_each(remote: Remote, workflows: Sequence[str], namespace: str) -> int:
    """Show one after another; give the exit code."""
    code = 0
    for name in workflows:
        row = ask(partial(remote.find, name, namespace), remote.patience)
        if _watch(remote, row["id"]) != "succeeded":
            code = FAILED
        found = ask(partial(remote.object, row["uid"], row["namespace"]), remote.patience)
        print_workflow(row_of(found), nodes_of(found))
    return code


def _watch(remote: Remote, key: str) -> str:
    """Print what changes until the end, and give it."""
    known: dict[str, str] = {}
    status = ""
    for update in updates(remote.client, key, remote.patience):
        status = update.status
        for node in update.nodes:
            if known.get(node.id) != node.phase:
                known[node.id] = node.phase
                line = f"{symbol(Phase(node.phase))} {visible(node.display_name)} {node.phase}"
                sys.stderr.write(f"{line}\n")
    return status
