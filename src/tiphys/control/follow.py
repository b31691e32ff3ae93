"""Following workflows that another process runs, by what it puts on record."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tiphys.control.absence import EVERY, Absence
from tiphys.control.door import knock
from tiphys.control.recover import load
from tiphys.wire.node import decode_node

if TYPE_CHECKING:
    from tiphys.control.turn import Watcher
    from tiphys.engine.run import Run
    from tiphys.store import Store
    from tiphys.store.lock import FolderLock


async def follow(
    data: Path, store: Store, uids: Sequence[str], watcher: Watcher, patience: float = 0.0
) -> FolderLock | None:
    """Show ``watcher`` what happens until all are over.

    Gives the folder's lock where nobody runs them any more, and nobody came back in ``patience``.
    """
    absence = Absence(data, watcher.note, patience)
    runs: dict[str, Run] = {}
    bodies: dict[str, dict[str, bytes]] = {uid: {} for uid in uids}
    while True:
        for uid in uids:
            _look(store, uid, runs, bodies[uid], watcher)
        if all(run.ended for run in runs.values()):
            return None
        caller = await asyncio.to_thread(knock, data)
        if caller is not None:
            caller.close()
            absence.end()
            await asyncio.sleep(EVERY)
            continue
        lock = await absence.pass_by()
        if lock is not None:
            return lock


def _look(
    store: Store, uid: str, runs: dict[str, Run], bodies: dict[str, bytes], watcher: Watcher
) -> None:
    known = runs.get(uid)
    if known is not None and known.ended:
        return
    run = load(store.workflow(uid))
    if known is not None:
        run.nodes, run.children, run.ids = known.nodes, known.children, known.ids
    changed = []
    for row in store.nodes(uid):
        if bodies.get(row.id) == row.body:
            continue
        bodies[row.id] = row.body
        node = decode_node(row.body)
        if node.id not in run.nodes:
            run.ids[node.name] = node.id
            for parent in node.ours.parents:
                run.children.setdefault(parent, []).append(node.id)
        run.nodes[node.id] = node
        changed.append(node)
    if changed:
        watcher.nodes(run, changed)
    if known is None or known.phase != run.phase:
        watcher.workflow(run)
    runs[uid] = run
