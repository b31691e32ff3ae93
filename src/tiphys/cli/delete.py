"""``tiphys delete``: forgets workflows, with their nodes and logs, and artifacts as they say."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tiphys.cli.inputs import data_folder, settings
from tiphys.cli.listing import remote_rows, workflow_filter
from tiphys.cli.names import (
    elsewhere,
    namespace_of,
    namespace_option,
    server_option,
    workflow_argument,
)
from tiphys.errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from tiphys.cli.remote import Remote
    from tiphys.store import Store, WorkflowSummary

_ENDED = frozenset({"Succeeded", "Failed", "Error"})


@click.command("delete")
@workflow_argument(many=True, required=False)
@namespace_option
@server_option
@click.option("-A", "--all-namespaces", is_flag=True, help="With --all: of every namespace.")
@click.option("--all", "everything", is_flag=True, help="All that have ended.")
@click.option("--completed", is_flag=True, help="The same as --all, as in argo.")
@click.option("--status", default="", metavar="PHASE,…", help="Those in these phases.")
@click.option("-l", "--selector", default="", help="Those with these labels.")
@click.option("--prefix", default="", help="Those whose names begin so.")
@click.option("--older", default="", metavar="DURATION", help="Those that ended longer ago.")
@click.option("--force", is_flag=True, help="Also such as never ended, or whose artifacts stay.")
@click.option("--dry-run", is_flag=True, help="Only tell which.")
def command(workflows: tuple[str, ...], **given: Any) -> None:
    """Delete WORKFLOW… or all that the options choose.

    Artifacts stay where they are unless the workflow's artifactGC says otherwise.
    """
    chooses = any(given[key] for key in ("everything", "completed", "status", "older"))
    if not (workflows or chooses or given["selector"] or given["prefix"]):
        raise click.UsageError("name workflows, or choose some with --all, --status, --older …")
    remote = elsewhere()
    if remote is not None:
        _delete_remote(remote, workflows, given)
        return
    from tiphys.control.garbage import KIND  # noqa: PLC0415
    from tiphys.store import Store  # noqa: PLC0415

    data = data_folder()
    if not (data.is_dir() or settings().store.url):
        raise NotFoundError(f"there is no store in {data}")
    with Store.open(data, owner=False, url=settings().store.url) as store:
        chosen = _chosen(store, workflows, given)
        marked = {mark.name for mark in store.objects(KIND)}
    if not given["dry_run"]:
        _delete(data, chosen, marked, force=given["force"])
    _tell([row.name for row in chosen], given)


def _tell(names: Sequence[str], given: dict[str, Any]) -> None:
    word = "would be deleted" if given["dry_run"] else "deleted"
    sys.stdout.write("".join(f"{name} {word}\n" for name in names))
    if not names:
        sys.stderr.write("no workflows found\n")


def _delete_remote(remote: Remote, workflows: Sequence[str], given: dict[str, Any]) -> None:
    """Delete workflows of a server elsewhere."""
    if workflows:
        rows = [remote.find(name, namespace_of(given["namespace"])) for name in workflows]
    else:
        found = remote_rows(remote, {**given, "since": "", "running": False})
        rows = [{"name": r.name, "namespace": r.namespace, "phase": r.phase} for r in found]
        rows = [row for row in rows if row["phase"] in _ENDED or given["force"]]
    for row in rows:
        if row["phase"] not in _ENDED and not given["force"]:
            raise ConflictError(f"{row['name']} has not ended; --force deletes it all the same")
    for row in () if given["dry_run"] else rows:
        remote.delete(row["name"], row["namespace"])
    _tell([row["name"] for row in rows], given)


def _chosen(store: Store, names: Sequence[str], given: dict[str, Any]) -> Sequence[WorkflowSummary]:
    if names:
        namespace = namespace_of(given["namespace"])
        named = [store.workflow(name, namespace=namespace) for name in names]
        for row in named:
            if row.phase not in _ENDED and not given["force"]:
                raise ConflictError(f"{row.name} has not ended; --force deletes it all the same")
        return named
    wanted = workflow_filter({**given, "since": "", "running": False})
    rows = store.workflows(wanted, limit=-1)
    return [
        row
        for row in rows
        if row.name.startswith(given["prefix"]) and (row.phase in _ENDED or given["force"])
    ]


def _delete(
    data: Path, chosen: Sequence[WorkflowSummary], marked: Collection[str], *, force: bool
) -> None:
    """Delete what has ended in one go; one by one what has not, what a server keeps, what Volcano
    keeps, and what is marked because artifacts go with it."""
    from tiphys.cli.life import perform_here  # noqa: PLC0415
    from tiphys.control.door import knock  # noqa: PLC0415
    from tiphys.control.leftover import clearing  # noqa: PLC0415
    from tiphys.store import Batch, Store  # noqa: PLC0415

    caller = knock(data)
    if caller is not None:
        caller.close()
    singly = [
        row
        for row in chosen
        if caller is not None
        or row.phase not in _ENDED
        or row.uid in marked
        or clearing(row.uid, row.name, row.namespace, row.labels) is not None
    ]
    for row in singly:
        perform_here("delete", key=row.uid, force=True, abandon=force)
    together = [row for row in chosen if row not in singly]
    if not together:
        return
    with Store.open(data, owner=True, url=settings().store.url) as store:
        store.commit(Batch(deleted=[row.uid for row in together]))
        for row in together:
            # After the commit: logs without a workflow are only lost room, the other way round
            # they would be lost logs.
            shutil.rmtree(data / "attempts" / row.uid, ignore_errors=True)
        while store.sweep():
            pass
