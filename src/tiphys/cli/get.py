"""``tiphys get``: one workflow and its nodes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tiphys.cli.failure import visible
from tiphys.cli.names import (
    elsewhere,
    namespace_of,
    namespace_option,
    server_option,
    workflow_argument,
)
from tiphys.cli.symbol import phase_colour, symbol
from tiphys.cli.text import Paint, columns, moment, short_duration, wants_colour
from tiphys.cli.tree import draw, plant
from tiphys.cli.watch.summary import output_values
from tiphys.engine.node import Node, NodeType, pod_of
from tiphys.executor.clock import now
from tiphys.spec.model import Workflow

if TYPE_CHECKING:
    from tiphys.cli.remote import Remote
    from tiphys.store import Store, WorkflowRow

_KIND, _MANIFEST = "tiphys.dev/kind", "tiphys.dev/manifest"
"""Of a workflow that was a JobFlow or a Job: which, and as it was given."""
_FORMS = click.Choice(["json", "yaml", "wide", "short", "name"])


@click.command("get")
@workflow_argument(many=True)
@namespace_option
@server_option
@click.option("-o", "--output", type=_FORMS, help="Another form.")
@click.option("--no-color", is_flag=True, help="No colours.")
def command(
    workflows: tuple[str, ...], namespace: str | None, output: str | None, no_color: bool
) -> None:
    """Show WORKFLOW… with all nodes. A name, a uid, or @latest."""
    from tiphys.cli.stored import nodes_of, open_store  # noqa: PLC0415

    remote = elsewhere()
    if remote is not None:
        _show_remote(remote, workflows, namespace_of(namespace), output, plain=no_color)
        return
    with open_store() as store:
        found = [store.workflow(key, namespace=namespace_of(namespace)) for key in workflows]
        if output == "name":
            sys.stdout.write("".join(f"{row.name}\n" for row in found))
            return
        pairs = [(row, nodes_of(store, row.uid)) for row in found]
        flows = {row.uid: _flow(store, row, nodes) for row, nodes in pairs if output is None}
    if output in {"json", "yaml"}:
        from tiphys.cli.output import print_objects  # noqa: PLC0415
        from tiphys.wire.volcano import shown_object  # noqa: PLC0415

        print_objects([shown_object(row, nodes) for row, nodes in pairs], output)
        return
    for row, nodes in pairs:
        print_workflow(row, nodes, wide=output == "wide", short=output == "short", plain=no_color)
        print_flow(flows.get(row.uid))


def _flow(store: Store, row: WorkflowRow, nodes: Sequence[Node]) -> Mapping[str, Any] | None:
    if _KIND not in row.labels:
        return None
    from tiphys.control.insight import describe_flow  # noqa: PLC0415 - few workflows were flows

    return describe_flow(store, row, nodes)


def print_flow(flow: Mapping[str, Any] | None) -> None:
    """Print what is to be said of a JobFlow besides its nodes."""
    if flow is not None:
        from tiphys.cli.flow import flow_lines  # noqa: PLC0415 - few workflows were flows

        sys.stdout.write("".join(f"{line}\n" for line in flow_lines(flow)))


def _show_remote(
    remote: Remote, workflows: Sequence[str], namespace: str, output: str | None, *, plain: bool
) -> None:
    """Show workflows of a server elsewhere."""
    from tiphys.cli import remote_view  # noqa: PLC0415

    found = [remote.object(key, namespace) for key in workflows]
    if output in {"json", "yaml"}:
        from tiphys.cli.output import print_objects  # noqa: PLC0415

        print_objects([_as_given(remote, each) for each in found], output)
        return
    for each in found:
        row, nodes = remote_view.row_of(each), remote_view.nodes_of(each)
        if output == "name":
            sys.stdout.write(f"{row.name}\n")
        else:
            wide, short = output == "wide", output == "short"
            print_workflow(row, nodes, wide=wide, short=short, plain=plain)
            if _KIND in row.labels and output is None:
                print_flow(remote.flow(row.uid))


def _as_given(remote: Remote, found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give a JobFlow or a Job in the shape in which it was given; others are as they are."""
    meta = found["metadata"]
    given: str = (meta.get("annotations") or {}).get(_MANIFEST, "")
    flow = remote.flow(meta["uid"]) if given else None
    if flow is None:
        return found
    value: dict[str, Any] = msgspec.json.decode(given)
    own = {key: meta[key] for key in ("name", "namespace", "uid", "creationTimestamp")}
    return {**value, "metadata": {**value.get("metadata", {}), **own}, "status": flow["status"]}


def print_workflow(
    row: WorkflowRow,
    nodes: Iterable[Node],
    *,
    wide: bool = False,
    short: bool = False,
    plain: bool = False,
) -> None:
    """Print a workflow the way ``argo get`` does; ``short``: the nodes only."""
    paint = Paint(not plain and wants_colour(os.environ, terminal=sys.stdout.isatty()))
    lines = [] if short else list(header_lines(row))
    drawn = tree_lines(row, list(nodes), paint, wide=wide)
    if drawn:
        lines += drawn if short else ["", *drawn]
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def header_lines(row: WorkflowRow) -> Iterator[str]:
    """Give what is to be said about the workflow itself."""
    yield _field("Name", row.name)
    yield _field("Namespace", row.namespace)
    yield _field("Status", status_of(row))
    if row.message:
        yield _field("Message", row.message)
    if row.quarantine:
        yield _field("Quarantined", row.quarantine)
    yield _field("Created", moment(row.created_at))
    if row.started_at is not None:
        yield _field("Started", moment(row.started_at))
        if row.finished_at is not None:
            yield _field("Finished", moment(row.finished_at))
        yield _field("Duration", short_duration((row.finished_at or now()) - row.started_at))
    if row.progress:
        yield _field("Progress", row.progress)
    yield from _values("Parameters", _arguments(row.manifest))
    yield from _values("Output Parameters", output_values(row.outputs))


def status_of(row: Any) -> str:
    """Give the phase, or that it is suspended."""
    if row.suspended and row.phase in {"", "Pending", "Running"}:
        return f"{row.phase or 'Pending'} (Suspended)"
    return row.phase or "Pending"


def _field(name: str, value: str) -> str:
    return f"{name + ':':<20} {visible(value)}"


def _values(title: str, pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    if pairs:
        yield f"{title}:"
        for name, value in pairs:
            yield _field(f"  {name}", value)


def _arguments(manifest: bytes) -> list[tuple[str, str]]:
    try:
        value = msgspec.json.decode(manifest, type=Workflow)
    except msgspec.MsgspecError:
        return []  # A damaged row: what can be read of it is shown.
    found = value.spec.arguments.parameters
    return [(each.name, each.value) for each in found if each.value is not None]


def tree_lines(row: WorkflowRow, nodes: Sequence[Node], paint: Paint, *, wide: bool) -> list[str]:
    """Give the table of nodes, as a tree; nothing where no node exists yet."""
    forest = plant(nodes)
    trees = [list(draw(forest, root)) for root in forest[""]]
    if not trees:
        return []
    head = ["STEP", "TEMPLATE", "PODNAME", "DURATION", "MESSAGE"]
    if wide:
        head += ["ARTIFACTS", "CPU", "MEMORY"]
    rows = [head]
    for number, tree in enumerate(trees):
        if number:
            rows.append([""])
        rows += [_cells(row.name, lead, node, paint, wide=wide) for lead, node in tree]
    return columns(rows)


def _cells(workflow: str, lead: str, node: Node, paint: Paint, *, wide: bool) -> list[str]:
    step = f"{lead}{paint(symbol(node.phase), phase_colour(node.phase))} {node.display_name}"
    ref = node.template_ref
    template = f"{ref.name}/{ref.template}" if ref else node.template_name
    pod = duration = ""
    if node.type is NodeType.POD:
        pod = pod_of(workflow, node)
        duration = _duration(node)
    cells = [step, template, pod, duration, visible(node.message)]
    return [*cells, *_measures(node)] if wide else cells


def _duration(node: Node) -> str:
    if node.started_at is None:
        return ""
    return short_duration((node.finished_at or now()) - node.started_at)


def _measures(node: Node) -> list[str]:
    artifacts = node.outputs.artifacts if node.outputs else ()
    used = node.ours
    return [
        ",".join(artifact.name for artifact in artifacts),
        f"{used.cpu_seconds:.2f}s" if used.cpu_seconds else "",
        f"{used.memory_bytes / 2**20:.1f}Mi" if used.memory_bytes else "",
    ]
