"""``tiphys list``: workflows, newest first."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from tiphys.cli.failure import visible
from tiphys.cli.get import status_of
from tiphys.cli.names import elsewhere, namespace_of, namespace_option, seconds, server_option
from tiphys.cli.output import print_object, print_table
from tiphys.cli.text import rfc3339_seconds, short_duration
from tiphys.errors import NotFoundError
from tiphys.executor.clock import now

if TYPE_CHECKING:
    from tiphys.cli.remote import Remote
    from tiphys.store import WorkflowFilter, WorkflowSummary

_PHASES = ("Pending", "Running", "Succeeded", "Failed", "Error")
_FIELDS = (
    "metadata,items.metadata,items.spec.priority,items.spec.podPriorityClassName,"
    "items.spec.suspend,items.status.phase,"
    "items.status.message,items.status.progress,items.status.startedAt,items.status.finishedAt"
)
_FORMS = click.Choice(["json", "yaml", "wide", "name"])


@click.command("list")
@namespace_option
@server_option
@click.option("-A", "--all-namespaces", is_flag=True, help="Of every namespace.")
@click.option("--status", default="", metavar="PHASE,…", help="Only in these phases.")
@click.option("--completed", is_flag=True, help="Only those that have ended.")
@click.option("--running", is_flag=True, help="Only those that have not ended.")
@click.option("-l", "--selector", default="", help="Only with these labels.")
@click.option("--prefix", default="", help="Only names that begin so.")
@click.option("--since", default="", metavar="DURATION", help="Only made since, such as 2h or 3d.")
@click.option("--older", default="", metavar="DURATION", help="Only ended longer ago.")
@click.option("--limit", type=click.IntRange(min=0), default=0, help="At most so many; 0: all.")
@click.option("--no-headers", is_flag=True, help="No line above the columns.")
@click.option("-o", "--output", type=_FORMS, help="Another form.")
def command(**given: Any) -> None:
    """List workflows, the newest first."""
    from tiphys.cli.stored import open_store  # noqa: PLC0415

    limit: int | None = given["limit"] or None
    remote = elsewhere()
    if remote is not None:
        _print(list(islice(remote_rows(remote, given), limit)), given)
        return
    wanted = workflow_filter(given)
    try:
        with open_store() as store:
            rows = store.workflows(wanted, limit=-1 if given["prefix"] or not limit else limit)
    except NotFoundError:
        rows = []
    _print([row for row in rows if row.name.startswith(given["prefix"])][:limit], given)


def remote_rows(remote: Remote, given: dict[str, Any]) -> Iterator[WorkflowSummary]:
    """Give the workflows of a server elsewhere that the options describe."""
    from tiphys.cli.remote_view import row_of  # noqa: PLC0415

    phases = _phases(given["status"], completed=given["completed"], running=given["running"])
    at = now()
    since = at - seconds(given["since"]) if given.get("since") else float("-inf")
    before = at - seconds(given["older"]) if given["older"] else float("inf")
    namespace = "" if given["all_namespaces"] else given["namespace"] or remote.project()
    for found in remote.objects(namespace, selector=given["selector"], fields=_FIELDS):
        row = row_of(found)
        old_enough = not given["older"] or (row.finished_at or at) < before
        chosen = (not phases or row.phase in phases) and row.name.startswith(given["prefix"])
        if chosen and old_enough and row.created_at >= since:
            yield row


def workflow_filter(given: dict[str, Any]) -> WorkflowFilter:
    """Make the filter that the options of ``list`` and ``delete`` describe."""
    from tiphys.store import WorkflowFilter  # noqa: PLC0415

    at = now()
    return WorkflowFilter(
        phases=_phases(given["status"], completed=given["completed"], running=given["running"]),
        namespace="" if given["all_namespaces"] else namespace_of(given["namespace"]),
        name_contains=given["prefix"],
        label_selector=given["selector"],
        since=at - seconds(given["since"]) if given["since"] else None,
        finished_before=at - seconds(given["older"]) if given["older"] else None,
    )


def _phases(text: str, *, completed: bool, running: bool) -> tuple[str, ...]:
    chosen = [word.strip().capitalize() for word in text.split(",") if word.strip()]
    unknown = [word for word in chosen if word not in _PHASES]
    if unknown:
        raise click.UsageError(f"--status {unknown[0]}: expected some of {', '.join(_PHASES)}")
    if completed:
        chosen += ["Succeeded", "Failed", "Error"]
    if running:
        chosen += ["Pending", "Running"]
    # A workflow that has not begun has no phase at all.
    return (*chosen, "") if "Pending" in chosen else tuple(chosen)


def _print(rows: Sequence[WorkflowSummary], given: dict[str, Any]) -> None:
    form = given["output"]
    if form == "name":
        sys.stdout.write("".join(f"{row.name}\n" for row in rows))
    elif form in {"json", "yaml"}:
        items = [summary_object(row) for row in rows]
        print_object({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}, form)
    elif not rows:
        sys.stderr.write("no workflows found\n")
    else:
        head, cells = _table(rows, wide=form == "wide", namespaces=given["all_namespaces"])
        if given["no_headers"]:
            print_table(cells[0], cells[1:])
        else:
            print_table(head, cells)


def _table(
    rows: Sequence[WorkflowSummary], *, wide: bool, namespaces: bool
) -> tuple[list[str], list[list[str]]]:
    head = ["NAME", "STATUS", "AGE", "DURATION", "PRIORITY", "MESSAGE"]
    at = now()
    cells = [_cells(row, at) for row in rows]
    if wide:
        head += ["PROGRESS", "SOURCE"]
        for row, each in zip(rows, cells, strict=True):
            each += [row.progress, visible(row.source)]
    if namespaces:
        head.insert(0, "NAMESPACE")
        for row, each in zip(rows, cells, strict=True):
            each.insert(0, row.namespace)
    return head, cells


def _cells(row: WorkflowSummary, at: float) -> list[str]:
    duration = ""
    if row.started_at is not None:
        duration = short_duration((row.finished_at or at) - row.started_at)
    message = visible(row.quarantine or row.message)
    age = short_duration(at - row.created_at)
    return [row.name, status_of(row), age, duration, str(row.priority), message]


def summary_object(row: WorkflowSummary) -> dict[str, Any]:
    """Give a workflow in Argo's shape, without spec and nodes: a list must stay small."""
    metadata: dict[str, Any] = {
        "name": row.name,
        "namespace": row.namespace,
        "uid": row.uid,
        "creationTimestamp": rfc3339_seconds(row.created_at),
        "labels": row.labels,
        "annotations": row.annotations,
    }
    status: dict[str, Any] = {
        "phase": row.phase,
        "message": row.message,
        "progress": row.progress,
        "startedAt": rfc3339_seconds(row.started_at) if row.started_at is not None else "",
        "finishedAt": rfc3339_seconds(row.finished_at) if row.finished_at is not None else "",
    }
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {key: value for key, value in metadata.items() if value},
        "status": {key: value for key, value in status.items() if value},
    }
