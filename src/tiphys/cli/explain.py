"""``tiphys explain``: why the nodes of a workflow wait, and when they may start.

The server of the data directory is asked, as it alone knows the line; with none running, the
answer is read from what is on record.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from tiphys.cli.failure import visible
from tiphys.cli.inputs import data_folder
from tiphys.cli.names import (
    elsewhere,
    namespace_of,
    namespace_option,
    server_option,
    workflow_argument,
)
from tiphys.cli.stored import open_store
from tiphys.cli.text import clock, short_duration
from tiphys.errors import InvalidInputError
from tiphys.executor.clock import now


@click.command("explain")
@workflow_argument()
@namespace_option
@server_option
@click.option("-o", "--output", "form", type=click.Choice(["json", "yaml"]), help="Another form.")
def command(workflow: str, namespace: str | None, form: str | None) -> None:
    """Say why the nodes of WORKFLOW wait: queue, gang, lock, dependency, pause."""
    rows = explained(workflow, namespace_of(namespace))
    if form is not None:
        from tiphys.cli.output import print_object  # noqa: PLC0415

        print_object(rows, form)
        return
    if not rows:
        sys.stderr.write(f"nothing of {workflow} waits\n")
        return
    _print(rows)


def explained(workflow: str, namespace: str) -> list[dict[str, Any]]:
    """Ask the server, or read what is on record."""
    remote = elsewhere()
    if remote is not None:
        return remote.explain(workflow, namespace)
    from tiphys.control.door import knock  # noqa: PLC0415

    caller = knock(data_folder())
    if caller is not None:
        try:
            found: list[dict[str, Any]] = caller.ask("explain", key=workflow, namespace=namespace)
        except InvalidInputError:
            pass  # A server of an older version, which has no such word.
        else:
            return found
        finally:
            caller.close()
    return _from_store(workflow, namespace)


def _from_store(workflow: str, namespace: str) -> list[dict[str, Any]]:
    from tiphys.control.explain import explain_run, stored_run  # noqa: PLC0415

    with open_store() as store:
        run = stored_run(store, store.workflow(workflow, namespace=namespace))
    return explain_run(run, None, now())


def _print(rows: Sequence[dict[str, Any]]) -> None:
    from tiphys.cli.output import print_table  # noqa: PLC0415

    cells = [
        [visible(row["name"]) or "…", visible(row["text"]), _when(row.get("expected_start"))]
        for row in rows
    ]
    print_table(["NODE", "WAITS BECAUSE", "EXPECTED START"], cells)


def _when(at: float | None) -> str:
    if at is None:
        return "-"
    left = at - now()
    return "now" if left < 1 else f"{clock(at)} (in {short_duration(left)})"
