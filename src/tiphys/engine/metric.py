"""Metrics that workflows define for themselves. A mistake in one is a note, never a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiphys.engine.command import EmitMetric
from tiphys.engine.scope import Overlay
from tiphys.engine.shield import shield, unshield
from tiphys.errors import ExpressionError
from tiphys.spec.template import compile_template

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tiphys.engine.node import Node
    from tiphys.engine.run import Run
    from tiphys.spec import model


def emit_for_node(run: Run, node: Node, metrics: model.Metrics) -> None:
    """Emit the metrics of the template of a node that has ended."""
    _emit(run, metrics, Overlay(_node_values(run, node), run.globals))


def emit_for_run(run: Run, status: str) -> None:
    """Emit the metrics of the whole run at its end."""
    if run.spec.metrics is not None:
        seconds = (run.finished_at or run.now) - (run.started_at or run.now)
        own = {"status": status, "duration": f"{seconds:f}", "workflow.status": status}
        _emit(run, run.spec.metrics, Overlay(own, run.globals))


def _node_values(run: Run, node: Node) -> dict[str, str]:
    seconds = (node.finished_at or run.now) - (node.started_at or run.now)
    values = {
        "status": str(node.phase),
        "duration": f"{seconds:f}",
        "resourcesDuration.cpu": str(int(node.ours.cpu_seconds)),
        "resourcesDuration.memory": "0",
    }
    children = run.children.get(node.id)
    if children:
        values["retries"] = str(len(children) - 1)
    if node.inputs is not None:
        for parameter in node.inputs.parameters:
            values[f"inputs.parameters.{parameter.name}"] = shield(parameter.value or "")
    if node.outputs is not None:
        if node.outputs.result is not None:
            values["outputs.result"] = shield(node.outputs.result)
        if node.outputs.exit_code is not None:
            values["exitCode"] = node.outputs.exit_code
        for parameter in node.outputs.parameters:
            values[f"outputs.parameters.{parameter.name}"] = shield(parameter.value or "")
    return values


def _emit(run: Run, metrics: model.Metrics, values: Mapping[str, str]) -> None:
    for each in metrics.prometheus:
        try:
            command = _command(each, values)
        except (ExpressionError, ValueError) as error:
            run.annotations["tiphys.dev/metric-error"] = f"{each.name}: {error}"[:300]
            continue
        if command is not None:
            run.emit(command)


def _command(metric: model.Prometheus, values: Mapping[str, str]) -> EmitMetric | None:
    def render(text: str) -> str:
        return unshield(compile_template(text).render(values, allow_unresolved=False))

    if metric.when:
        from tiphys.engine.loop import passes  # noqa: PLC0415 - loops are for few runs

        if not passes(render(metric.when)):
            return None
    shape = metric.counter or metric.gauge or metric.histogram
    if shape is None:
        return None
    kind = "counter" if metric.counter else "gauge" if metric.gauge else "histogram"
    return EmitMetric(
        name=metric.name,
        kind=kind,
        help=metric.help,
        value=float(render(shape.value)),
        labels=tuple((label.key, render(label.value)) for label in metric.labels),
        buckets=metric.histogram.buckets if metric.histogram else (),
        operation=(metric.gauge.operation if metric.gauge else "") or "",
    )
