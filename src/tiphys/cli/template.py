"""``tiphys template``: templates kept for later workflows.

Looking reads the store; changes are made by the server of the data directory, or by this process
where none is running.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from tiphys.cli.cron import ask, counter
from tiphys.cli.inputs import read_files, settings
from tiphys.cli.lint import command as lint
from tiphys.cli.names import namespace_of, namespace_option, server_option
from tiphys.cli.text import short_duration
from tiphys.errors import NotFoundError
from tiphys.executor.clock import now

if TYPE_CHECKING:
    from tiphys.store import ObjectRow

_NAMES = click.argument("names", nargs=-1, required=True, metavar="TEMPLATE…")
_FILES = click.argument("files", nargs=-1, required=True, metavar="FILE…")
_CLUSTER = click.option("--cluster", is_flag=True, help="ClusterWorkflowTemplates: for all.")
_JOBS = click.option("--jobs", is_flag=True, help="Volcano's JobTemplates.")
_NAMESPACED, _FOR_ALL, _OF_JOBS = "WorkflowTemplate", "ClusterWorkflowTemplate", "JobTemplate"


@click.group("template")
def command() -> None:
    """Show and change templates that workflows refer to."""


command.add_command(lint, "lint")


@command.command("create")
@_FILES
@namespace_option
@server_option
def create(files: tuple[str, ...], namespace: str | None) -> None:
    """Keep the templates in FILE…: WorkflowTemplates, ClusterWorkflowTemplates, JobTemplates."""
    _save(files, namespace, "created", new=True)


@command.command("update")
@_FILES
@namespace_option
@server_option
def update(files: tuple[str, ...], namespace: str | None) -> None:
    """Put the templates in FILE… in the place of their older selves."""
    _save(files, namespace, "updated", new=False)


def _save(files: tuple[str, ...], namespace: str | None, word: str, *, new: bool) -> None:
    from tiphys.control.server import pack_files  # noqa: PLC0415

    packed = pack_files(read_files(files))
    usual = settings().namespace
    for name in ask("template-save", files=packed, namespace=namespace or "", usual=usual, new=new):
        sys.stdout.write(f"template {name} {word}\n")


@command.command("delete")
@_NAMES
@namespace_option
@server_option
@_CLUSTER
@_JOBS
def delete(names: tuple[str, ...], namespace: str | None, cluster: bool, jobs: bool) -> None:
    """Delete TEMPLATE…; workflows that began with them keep theirs."""
    own = namespace_of(namespace)
    for name in names:
        ask("template-delete", namespace=own, name=name, cluster=cluster, jobs=jobs)
        sys.stdout.write(f"template {name} deleted\n")


@command.command("list")
@namespace_option
@server_option
@click.option("-A", "--all-namespaces", "every", is_flag=True, help="Of every namespace.")
@_CLUSTER
@_JOBS
@click.option("-o", "--output", "form", type=click.Choice(["wide", "name"]), help="A form.")
def list_templates(
    namespace: str | None, every: bool, cluster: bool, jobs: bool, form: str | None
) -> None:
    """List templates."""
    from tiphys.cli.output import print_table  # noqa: PLC0415

    rows = _rows(namespace_of(namespace), _kind(cluster=cluster, jobs=jobs), every=every)
    if form == "name":
        sys.stdout.write("".join(f"{row.name}\n" for row in rows))
    elif not rows:
        sys.stderr.write("no templates found\n")
    else:
        head = ["NAMESPACE", "NAME", "AGE"] if every else ["NAME", "AGE"]
        at = now()
        cells = [[row.namespace, row.name, short_duration(at - row.at)] for row in rows]
        print_table(head, cells if every else [each[1:] for each in cells])


@command.command("get")
@_NAMES
@namespace_option
@server_option
@_CLUSTER
@_JOBS
@click.option(
    "-o", "--output", "form", type=click.Choice(["json", "yaml"]), default="yaml", help="A form."
)
def get(
    names: tuple[str, ...], namespace: str | None, cluster: bool, jobs: bool, form: str
) -> None:
    """Print TEMPLATE…."""
    from tiphys.cli.output import print_objects  # noqa: PLC0415

    kind = _kind(cluster=cluster, jobs=jobs)
    known = {row.name: row.body for row in _rows(namespace_of(namespace), kind)}
    bodies: list[Any] = []
    for name in names:
        if name not in known:
            raise NotFoundError(f"there is no template {name!r}")
        bodies.append(known[name])
    print_objects(bodies, form)


def _kind(*, cluster: bool, jobs: bool) -> str:
    if cluster and jobs:
        raise click.UsageError("JobTemplates are of a namespace: --jobs does not go with --cluster")
    if cluster:
        return _FOR_ALL
    return _OF_JOBS if jobs else _NAMESPACED


def _rows(namespace: str, kind: str, *, every: bool = False) -> list[ObjectRow]:
    remote = counter()
    if remote is not None:
        return remote.templates(namespace, kind, every=every)
    from tiphys.cli.stored import open_store  # noqa: PLC0415

    try:
        with open_store() as store:
            rows = store.objects(kind)
    except NotFoundError:
        return []
    return [row for row in rows if kind == _FOR_ALL or every or row.namespace == namespace]
