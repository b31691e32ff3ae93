"""``tiphys queue``: the queues that workflows wait in.

Each subcommand asks the server of the data directory; with none running it works on the store.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from tiphys.cli.inputs import data_folder, read_files, settings
from tiphys.core.duration import format_duration, parse_duration_or_seconds
from tiphys.errors import InvalidInputError, NotFoundError

_FORMS = click.Choice(["json", "yaml", "wide", "name"])
_AMOUNTS = ("capability", "deserved", "guarantee", "borrowing_limit", "lending_limit")
_PLAN_KEYS = {
    "borrowing_limit": "borrowingLimit",
    "lending_limit": "lendingLimit",
    "max_parallel": "maxParallel",
    "sla": "slaSeconds",
}
NAME = click.argument("name", metavar="QUEUE")
NAMES = click.argument("names", nargs=-1, required=True, metavar="QUEUE…")


def _ask(op: str, **arguments: Any) -> Any:
    """Have it done by the server, or here where there is none."""
    from tiphys.control.door import knock  # noqa: PLC0415

    caller = knock(data_folder())
    if caller is None:
        return _alone(op, arguments)
    try:
        return caller.ask(op, **arguments)
    finally:
        caller.close()


def _alone(op: str, arguments: Mapping[str, Any]) -> Any:
    from tiphys.control.host import SystemClock, machine_capacity  # noqa: PLC0415
    from tiphys.control.queues import KIND, Queues, perform_queue, queue_row  # noqa: PLC0415
    from tiphys.scheduling import Queue  # noqa: PLC0415
    from tiphys.store import Batch, ObjectRow, Store, WorkflowFilter  # noqa: PLC0415

    class Empty:
        """Stands for a store that was never made: looking must not make it."""

        def objects(self, _: str | None = None) -> list[ObjectRow]:
            return []

        def count_workflows(self, _: WorkflowFilter = WorkflowFilter()) -> int:  # noqa: B008
            return 0

    def refuse(_: Any) -> None:
        raise AssertionError("looking changes nothing")

    config = settings()
    known, capacity = config.queue_list(), machine_capacity(config)
    if op in {"queue-list", "queue-get"}:
        try:
            with Store.open(data_folder(), owner=False) as store:
                queues = Queues(store, known, capacity)
                return perform_queue(queues, op, arguments, keep=refuse, forget=refuse)
        except NotFoundError:
            if (data_folder() / "tiphys.db").exists() or op == "queue-get" and store_exists():
                raise
            queues = Queues(Empty(), known, capacity)
            return perform_queue(queues, op, arguments, keep=refuse, forget=refuse)
    with Store.open(data_folder(), owner=True) as store:

        def keep(queue: Queue) -> None:
            store.commit(Batch(objects=[queue_row(queue, SystemClock().now())]))

        def forget(name: str) -> None:
            store.commit(Batch(objects_removed=[(KIND, "", name)]))

        return perform_queue(
            Queues(store, known, capacity), op, arguments, keep=keep, forget=forget
        )
