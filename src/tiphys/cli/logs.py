"""``tiphys logs``: what tasks wrote, in the order in which they wrote it."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from tiphys.cli.inputs import data_folder, settings
from tiphys.cli.merge import NodeLine, follow, merged
from tiphys.cli.names import (
    elsewhere,
    namespace_of,
    namespace_option,
    seconds,
    server_option,
    workflow_argument,
)
from tiphys.cli.text import Paint, printable, rfc3339, wants_colour
from tiphys.engine.node import Node, pod_of
from tiphys.errors import NotFoundError
from tiphys.executor.clock import now

if TYPE_CHECKING:
    from pathlib import Path

    from tiphys.cli.remote import Remote
    from tiphys.runtimes.archive import Read
    from tiphys.spec import model
    from tiphys.store import Store, WorkflowRow

_COLOURS = ("cyan", "green", "yellow", "blue", "magenta")


@click.command("logs")
@workflow_argument()
@click.argument("nodes", nargs=-1, metavar="[NODE…]")
@namespace_option
@server_option
@click.option("-f", "--follow", is_flag=True, help="Go on until the workflow has ended.")
@click.option("--tail", type=click.IntRange(min=0), help="Only the last so many lines.")
@click.option("--since", default="", metavar="DURATION", help="Only lines written since.")
@click.option("--timestamps", is_flag=True, help="When each line was written.")
@click.option("-c", "--container", help="Only of this container.")
@click.option("--no-color", is_flag=True, help="No colours.")
def command(workflow: str, nodes: tuple[str, ...], **given: Any) -> None:
    """Print the logs of WORKFLOW, or of some of its nodes: by name, id, or pod name."""
    from tiphys.cli.stored import nodes_of, open_store  # noqa: PLC0415

    paint = Paint(not given["no_color"] and wants_colour(os.environ, terminal=sys.stdout.isatty()))
    remote = elsewhere()
    if remote is not None:
        _print_remote(remote, workflow, nodes, paint, given)
        return
    data = data_folder()
    with open_store() as store:
        row = store.workflow(workflow, namespace=namespace_of(given["namespace"]))
        every = nodes_of(store, row.uid)
        wanted = choose_nodes(row.name, every, nodes)
        form = Form(row.name, paint, prefixed=not nodes, timestamps=given["timestamps"])
        since = now() - seconds(given["since"]) if given["since"] else 0.0
        if given["follow"]:
            source = _Source(store, row, nodes)
            lines = follow(data, row.uid, source, given["container"], _kept(data, row))
        else:
            lines = merged(data, row.uid, wanted, given["container"], _kept(data, row))
        lines = (line for line in lines if line.line.at >= since)
        if given["tail"] is not None and not given["follow"]:
            lines = iter(deque(lines, maxlen=given["tail"]))
        if not _print(lines, form) and given["container"]:
            nodes_now = choose_nodes(row.name, nodes_of(store, row.uid), nodes)
            check_container(given["container"], _containers(data, row.uid, nodes_now))


def _containers(data: Path, uid: str, nodes: Iterable[Node]) -> set[str]:
    """Give the containers that have a log, here or kept as an artifact."""
    from tiphys.cli.attempt import attempt_folder  # noqa: PLC0415
    from tiphys.runtimes.archive import archived_logs  # noqa: PLC0415
    from tiphys.runtimes.logs import containers_of  # noqa: PLC0415

    found: set[str] = set()
    for node in nodes:
        found.update(containers_of(attempt_folder(data, uid, node.ours.attempt)))
        found.update(archived_logs(node))
    return found


def check_container(wanted: str, known: Iterable[str]) -> None:
    """Raise NotFoundError where others have a log, and none has one of that name."""
    names = sorted(known)
    if names and wanted not in names:
        raise NotFoundError(f"there is no container {wanted!r}; there are: {', '.join(names)}")


def _print_remote(
    remote: Remote, workflow: str, nodes: Sequence[str], paint: Paint, given: dict[str, Any]
) -> None:
    """Print the logs of a server elsewhere."""
    from tiphys.cli.remote_logs import RemoteLogs  # noqa: PLC0415
    from tiphys.cli.remote_view import nodes_of  # noqa: PLC0415

    found = remote.object(workflow, namespace_of(given["namespace"]))
    meta = found["metadata"]
    form = Form(meta["name"], paint, prefixed=not nodes, timestamps=given["timestamps"])
    logs = RemoteLogs(remote, meta["uid"], given["container"])
    if given["follow"]:
        lines = logs.follow(meta["namespace"], nodes)
    else:
        lines = logs.merged(choose_nodes(meta["name"], nodes_of(found), nodes))
    since = now() - seconds(given["since"]) if given["since"] else 0.0
    lines = (line for line in lines if line.line.at >= since)
    if given["tail"] is not None and not given["follow"]:
        lines = iter(deque(lines, maxlen=given["tail"]))
    if not _print(lines, form) and given["container"]:
        check_container(given["container"], logs.containers)


def _kept(data: Path, row: WorkflowRow) -> Read:
    """Give what reads logs that are kept as artifacts; it is made ready when first needed."""

    def read(artifact: model.Artifact) -> Iterator[bytes]:
        from tiphys.control.artifact import Artifacts  # noqa: PLC0415 - slow, and seldom needed
        from tiphys.control.host import HostResources  # noqa: PLC0415
        from tiphys.control.secrets import SecretFolder  # noqa: PLC0415

        resources = HostResources(SecretFolder(data / "secrets"))
        return Artifacts(data, settings(), resources).read(artifact, namespace=row.namespace)

    return read


@dataclass(slots=True)
class _Source:
    """Looks again what nodes there are, for ``--follow``."""

    store: Store
    row: WorkflowRow
    names: Sequence[str]

    def __call__(self) -> tuple[list[Node], bool]:
        """Give the nodes, and whether the workflow is over."""
        from tiphys.cli.stored import nodes_of  # noqa: PLC0415

        # The phase first: nodes that end in between are then read once more.
        row = self.store.workflow(self.row.uid)
        nodes = nodes_of(self.store, row.uid)
        chosen = [node for node in nodes if _matches(self.row.name, node, self.names)]
        return chosen, row.phase in {"Succeeded", "Failed", "Error"}


def choose_nodes(workflow: str, nodes: Iterable[Node], names: Sequence[str]) -> list[Node]:
    """Give the nodes that are meant; NotFoundError where a name means none."""
    chosen = [node for node in nodes if node.ours.attempt and _matches(workflow, node, names)]
    for name in names:
        if not any(_matches(workflow, node, (name,)) for node in nodes):
            raise NotFoundError(f"there is no node {name!r} in {workflow}; see tiphys get")
    return chosen


def _matches(workflow: str, node: Node, names: Sequence[str]) -> bool:
    if not names:
        return True
    own = {node.id, node.name, node.display_name, pod_of(workflow, node), *_job_of(workflow, node)}
    # Of a retry or a loop all attempts and items are meant.
    return any(
        name in own or any(each.startswith(f"{name}(") for each in (node.name, node.display_name))
        for name in names
    )


def _job_of(workflow: str, node: Node) -> Sequence[str]:
    """Give the names of the Volcano Job that a pod is of: its pods are meant by each of them."""
    if not node.ours.pod:
        return ()
    job = node.name.rpartition(".")[0]
    replica = node.display_name.partition("(")[0]
    return job, job.removeprefix(f"{workflow}."), node.ours.pod.removesuffix(f"-{replica}")


@dataclass(slots=True)
class Form:
    """How a line is written."""

    workflow: str
    paint: Paint
    prefixed: bool
    timestamps: bool

    def write(self, found: NodeLine) -> str:
        """Write one line."""
        line, node = found.line, found.node
        parts = [rfc3339(line.at)] if self.timestamps else []
        if self.prefixed:
            name = node.name.removeprefix(self.workflow).lstrip(".") or node.name
            if line.container != "main":
                name += f"/{line.container}"
            colour = _COLOURS[sum(name.encode()) % len(_COLOURS)]
            parts.append(self.paint(f"{name}:", colour))
        parts.append(printable(line.text) if self.paint.on else line.text)
        return " ".join(parts)


def _print(lines: Iterator[NodeLine], form: Form) -> int:
    """Print lines; give how many there were."""
    count = 0
    for line in lines:
        sys.stdout.write(form.write(line) + "\n")
        count += 1
        if line.last:
            sys.stdout.flush()
    sys.stdout.flush()
    return count
