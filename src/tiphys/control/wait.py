"""Waiting for the end of one workflow, whatever becomes of the server that runs it.

The server is asked; one that restarts is waited for and asked again. With none, the work is done
here.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tiphys.config import Config
from tiphys.control.absence import PATIENCE, Absence
from tiphys.control.door import Caller, GoneError, knock
from tiphys.control.server import perform_here, shown
from tiphys.control.turn import Watcher
from tiphys.store import Store, WorkflowRow
from tiphys.store.row import FINISHED


async def wait_for_end(
    data: Path,
    config: Config,
    watcher: Watcher,
    key: str,
    namespace: str = "",
    *,
    patience: float = PATIENCE,
) -> dict[str, Any]:
    """Give a workflow when it has ended."""
    absence = Absence(data, watcher.note, patience)
    found: WorkflowRow | None = None
    while True:
        caller = await asyncio.to_thread(knock, data)
        if caller is not None:
            absence.end()
            # Once: "@latest" may be another one after the restart.
            found = found or _look(data, config, key, namespace)
            answer = await asyncio.to_thread(_ask, caller, found.uid)
            if answer is not None:
                return answer
            continue
        lock = await absence.pass_by()
        if lock is not None:
            wanted = {"key": key, "namespace": namespace} if found is None else {"key": found.uid}
            return await perform_here(data, config, watcher, "wait", wanted, lock)  # type: ignore[no-any-return]
        if found is not None:
            found = _look(data, config, found.uid)
            if found.phase in FINISHED:
                return shown(found)


def _look(data: Path, config: Config, key: str, namespace: str = "") -> WorkflowRow:
    with Store.open(data, owner=False, url=config.store.url) as store:
        return store.workflow(key, namespace=namespace)


def _ask(caller: Caller, uid: str) -> dict[str, Any] | None:
    """Have the server tell when it is over; None where it went away before."""
    try:
        answer: dict[str, Any] = caller.ask("wait", key=uid)
        return answer
    except GoneError:
        return None
    finally:
        caller.close()
