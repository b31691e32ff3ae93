"""Other looks at a workflow: text, graph, timeline, events, comparison, and lint of a text."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec
import yaml
from fastapi import Depends, Query
from starlette.responses import Response

from tiphys.api import bodies, shapes
from tiphys.api.context import ApiContext
from tiphys.api.deps import Context, Who, body_of, find_workflow
from tiphys.api.document import answers, routes, takes
from tiphys.api.envelope import answer, instant
from tiphys.api.problems import RequestError, problem_json
from tiphys.api.shapes import Bar, Envelope, Event, Graph, Report, Why
from tiphys.api.view import duration, kind_of, kinds_of, status_of, summary, type_of
from tiphys.engine.node import Node
from tiphys.errors import NotFoundError
from tiphys.ports import LOCAL
from tiphys.service.access import Role
from tiphys.service.audit import SOURCE
from tiphys.service.imagine import kept_jobs
from tiphys.service.present import present_of
from tiphys.service.submission import visible
from tiphys.spec import lint as linting
from tiphys.spec import model
from tiphys.store import Store, WorkflowRow
from tiphys.wire.node import decode_node

first = routes("/workflows", "workflows")
"""Paths that must be looked at before ``/workflows/{id}``."""
router = routes("/workflows/{workflow_id}", "workflows")


@first.post(
    "/lint",
    summary="Look a text over",
    responses=answers(Envelope[Report], 415, 422),
    openapi_extra=takes(bodies.Lint),
)
def lint(
    context: Context, who: Who, body: Annotated[bodies.Lint, Depends(body_of(bodies.Lint))]
) -> Response:
    """List all problems of a text with line and column; nothing is kept."""
    project = body.project_id or who.project or context.config.namespace
    context.projects.find(who, project)
    problems = linting.lint(
        [("workflow.yaml", body.workflow_yaml)],
        strict=body.strict,
        library=visible(context.host.library, project),
    )
    shown = [problem_json(problem) for problem in problems]
    return answer({"valid": not linting.has_errors(problems), "problems": shown})


@first.post(
    "/simulate",
    summary="Predict a schedule",
    responses=answers(Envelope[shapes.Simulation], 403, 415, 422),
    openapi_extra=takes(bodies.Simulate),
)
async def simulate(
    context: Context,
    who: Who,
    body: Annotated[bodies.Simulate, Depends(body_of(bodies.Simulate))],
) -> Response:
    """Play a workflow through beside what waits and runs now, or on an idle machine; none is run.

    Tasks take what their templates took before in the project. Of what others have there it shows
    nothing but the room that it takes.
    """
    project = body.project_id or who.project or context.config.namespace
    who.require(Role.MEMBER, project)
    present = present_of(context.host, body.default_seconds)
    present |= {"queue": await _queue(context, body), "priority": body.priority_number()}
    present["known_seconds"] = context.host.control.known_seconds(project)
    if body.idle:
        present["tasks"] = []
    if "JobFlow" in body.workflow_yaml:
        present |= kept_jobs(visible(context.host.library, project))
    return answer(
        await context.imagination.simulate(
            body.workflow_yaml, body.parameters, body.default_seconds, present
        )
    )


async def _queue(context: ApiContext, body: bodies.Simulate) -> str:
    """Give the name of the queue that is asked for, "" for none."""
    try:
        return await context.queues.choose(body.queue_id, LOCAL) if body.queue_id else ""
    except NotFoundError as error:
        wrong = [{"path": "queue_id", "message": str(error)}]
        raise RequestError("invalid_input", str(error), wrong) from None


@first.get("/compare", summary="Compare two workflows", responses=answers(Envelope[dict[str, Any]]))
def compare(context: Context, who: Who, a: str, b: str) -> Response:
    """Give the difference of specs and parameters, and the durations node by node."""
    one = find_workflow(context, who, a, Role.VIEWER)
    other = find_workflow(context, who, b, Role.VIEWER)
    return answer(
        {
            "a": summary(one),
            "b": summary(other),
            "spec_diff": _spec_diff(one, other),
            "parameters": _parameter_diff(one, other),
            "nodes": _node_diff(context.store, one, other),
        }
    )


def _spec_diff(one: WorkflowRow, other: WorkflowRow) -> list[str]:
    a, b = (_as_yaml(_plain_spec(row)).splitlines() for row in (one, other))
    return list(difflib.unified_diff(a, b, one.name, other.name, lineterm="", n=2))[:10_000]


def _plain_spec(row: WorkflowRow) -> dict[str, Any]:
    """Give what a spec says: some are stored with fields that are there, and empty."""
    spec = msgspec.json.decode(row.spec, type=dict[str, Any])
    return {name: value for name, value in spec.items() if value not in ({}, [])}


def _parameter_diff(one: WorkflowRow, other: WorkflowRow) -> list[dict[str, Any]]:
    values = [_parameters(row) for row in (one, other)]
    return [
        {"name": name, "a": values[0].get(name), "b": values[1].get(name)}
        for name in sorted(values[0].keys() | values[1].keys())
        if values[0].get(name) != values[1].get(name)
    ]


def _parameters(row: WorkflowRow) -> dict[str, str | None]:
    spec = msgspec.json.decode(row.spec, type=model.WorkflowSpec)
    return {each.name: each.value for each in spec.arguments.parameters}


def _node_diff(store: Store, one: WorkflowRow, other: WorkflowRow) -> list[dict[str, Any]]:
    """Nodes are the same if their names are, the workflow's own at the start left out."""
    sides = [{_place(row, node): node for node in _nodes(store, row)} for row in (one, other)]
    return [
        {"name": place, "a": _took(sides[0].get(place)), "b": _took(sides[1].get(place))}
        for place in dict.fromkeys([*sides[0], *sides[1]])
    ]


def _place(row: WorkflowRow, node: Node) -> str:
    return node.name.removeprefix(row.name).lstrip(".") or "(workflow)"


def _took(node: Node | None) -> dict[str, Any] | None:
    if node is None:
        return None
    took = None
    if node.finished_at is not None:
        took = duration(node.started_at, node.finished_at, 0.0)
    return {"id": node.id, "status": status_of(node.phase), "duration": took}


def _nodes(store: Store, row: WorkflowRow) -> Iterator[Node]:
    return (decode_node(each.body) for each in store.nodes(row.uid))


@router.get(
    "/yaml",
    summary="The submitted text",
    responses={
        **answers(Envelope[str]),
        200: {
            "description": "YAML",
            "content": {"application/yaml": {"example": bodies.EXAMPLE_YAML}},
        },
    },
)
def get_yaml(context: Context, who: Who, workflow_id: str) -> Response:
    """Give the text as submitted here; for one that came another way, its manifest as YAML."""
    row = find_workflow(context, who, workflow_id, Role.VIEWER)
    events = context.store.events(row.uid, limit=10)
    text = next((event.text for event in events if event.kind == SOURCE), "")
    text = text or _as_yaml(msgspec.json.decode(row.manifest))
    return Response(text, media_type="application/yaml")


def _as_yaml(value: Any) -> str:
    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
    return text


@router.get("/graph", summary="Planned and actual graph", responses=answers(Envelope[Graph]))
def get_graph(context: Context, who: Who, workflow_id: str) -> Response:
    """Give the steps and tasks as written down, and the nodes as they came to be."""
    row = find_workflow(context, who, workflow_id, Role.VIEWER)
    spec = msgspec.json.decode(row.spec, type=model.WorkflowSpec)
    templates = {each.name: each for each in spec.templates}
    nodes, edges = [], []
    for node in _nodes(context.store, row):
        nodes.append(
            {
                "id": node.id,
                "name": node.display_name or node.name,
                "type": type_of(node, templates.get(node.template_name)),
                "status": status_of(node.phase),
                "template": node.template_name or None,
                "boundary_id": node.boundary_id or None,
            }
        )
        edges += [{"source": parent, "target": node.id} for parent in node.ours.parents]
    return answer({"planned": _planned(spec), "actual": {"nodes": nodes, "edges": edges}})


def _planned(spec: model.WorkflowSpec) -> dict[str, Any]:
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, str]] = []
    types = {each.name: _kind_of(each) for each in spec.templates}
    for template in spec.templates:
        before: list[str] = []
        for group in template.steps or ():
            now = [_call(template.name, step, types) for step in group]
            edges += [{"source": a, "target": b["id"]} for a in before for b in now]
            nodes += now
            before = [each["id"] for each in now]
        for task in template.dag.tasks if template.dag else ():
            call = _call(template.name, task, types)
            nodes.append(call)
            edges += [
                {"source": f"{template.name}/{name}", "target": call["id"]}
                for name in dependencies_of(task)
            ]
    ends = {"entrypoint": spec.entrypoint or None, "on_exit": spec.on_exit or None}
    return {**ends, "nodes": nodes, "edges": edges}


_KINDS = ("steps", "dag", "suspend", "http", "plugin", "script", "resource", "data")


def _kind_of(template: model.Template) -> str:
    if template.container_set is not None:
        return "container-set"
    if template.volcano_job is not None:
        return "job"
    found = (kind for kind in _KINDS if getattr(template, kind) is not None)
    return next(found, "container")


def _call(
    template: str, step: model.WorkflowStep | model.DAGTask, types: Mapping[str, str]
) -> dict[str, Any]:
    called = step.template_ref.template if step.template_ref else step.template
    loops = (step.with_items, step.with_param, step.with_sequence)
    return {
        "type": types.get(called or "") if not step.template_ref else None,
        "loop": any(bool(each) for each in loops),
        "when": step.when or None,
        "id": f"{template}/{step.name}",
        "name": step.name,
        "template": template,
        "calls": called or "(inline)",
    }


def dependencies_of(task: model.DAGTask) -> list[str]:
    """Give the names of the tasks that a task comes after."""
    if not task.depends:
        return list(task.dependencies)
    from tiphys.spec.expression.depends import parse_depends  # noqa: PLC0415

    return list(parse_depends(task.depends).tasks)


@router.get("/explain", summary="Why nodes wait", responses=answers(Envelope[list[Why]]))
async def explain(context: Context, who: Who, workflow_id: str) -> Response:
    """Tell for each node that waits why it does, and when it is expected to start."""
    row = find_workflow(context, who, workflow_id, Role.VIEWER)
    return answer(
        [
            {
                "node_id": each["node"] or None,
                "name": each["name"],
                "reason": each["text"],
                "detail": each.get("data"),
                "expected_start": instant(each.get("expected_start")),
            }
            for each in context.queues.explain(row.uid, who)
        ]
    )


@router.get("/timeline", summary="Gantt data", responses=answers(Envelope[list[Bar]]))
def get_timeline(context: Context, who: Who, workflow_id: str) -> Response:
    """Give when each node was queued, started and ended."""
    row = find_workflow(context, who, workflow_id, Role.VIEWER)
    now = context.host.clock.now()
    kinds = kinds_of(row.spec)
    bars = [
        {
            "id": node.id,
            "name": node.display_name or node.name,
            "type": kind_of(node, kinds),
            "status": status_of(node.phase),
            "queued_at": instant(node.ours.queued_at),
            "start_time": instant(node.ours.began_at or node.started_at),
            "end_time": instant(node.finished_at),
            "duration": duration(node.ours.began_at or node.started_at, node.finished_at, now),
        }
        for node in _nodes(context.store, row)
    ]
    return answer(bars)


@router.get("/events", summary="What happened", responses=answers(Envelope[list[Event]]))
def get_events(
    context: Context,
    who: Who,
    workflow_id: str,
    after: Annotated[int, Query(ge=0, lt=2**63, description="The last number seen.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Response:
    """Give what was done with a workflow, and remarks of the scheduler, the oldest first."""
    row = find_workflow(context, who, workflow_id, Role.VIEWER)
    events = context.store.events(row.uid, after=after, limit=limit + 1)
    shown = [
        {
            "number": event.number,
            "at": instant(event.at),
            "kind": event.kind,
            "node": event.node,
            "text": event.text,
        }
        for event in events
        if event.kind != SOURCE
    ]
    return answer(shown[:limit])
