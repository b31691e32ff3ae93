"""``tiphys watch`` of a server elsewhere: what changes, line by line, and the tree at the end."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tiphys.cli.failure import FAILED, visible
from tiphys.cli.get import print_workflow
from tiphys.cli.remote import Remote
from tiphys.cli.remote_view import nodes_of, row_of
from tiphys.cli.symbol import symbol
from tiphys.engine.node import Phase

_ENDED = frozenset({"succeeded", "failed", "error"})


def watch_each(remote: Remote, workflows: Sequence[str], namespace: str) -> int:
    """Show one after another; give the exit code."""
    code = 0
    for name in workflows:
        row = remote.find(name, namespace)
        if _watch(remote, row["id"]) != "succeeded":
            code = FAILED
        found = remote.object(row["uid"], row["namespace"])
        print_workflow(row_of(found), nodes_of(found))
    return code


def _watch(remote: Remote, key: str) -> str:
    """Print what changes until the end; a stream that breaks off is opened again."""
    known: dict[str, str] = {}
    while True:
        for update in remote.client.watch(key):
            for node in update.nodes:
                if known.get(node.id) != node.phase:
                    known[node.id] = node.phase
                    line = f"{symbol(Phase(node.phase))} {visible(node.display_name)} {node.phase}"
                    sys.stderr.write(f"{line}\n")
            if update.status in _ENDED:
                return update.status
