"""Pauses that a person ends: ``argo node set`` and ``argo stop --node-field-selector``."""

from __future__ import annotations

from typing import Any

import msgspec

from tiphys.api.argo.call import text_of
from tiphys.control.host import Host
from tiphys.engine.event import RunResumed
from tiphys.engine.node import Node, NodeType
from tiphys.engine.run import Run
from tiphys.engine.selector import parse_selector
from tiphys.errors import ConflictError, InvalidInputError
from tiphys.store import WorkflowRow

PHASES = frozenset({"Succeeded", "Failed", "Error"})


async def set_pauses(host: Host, row: WorkflowRow, body: dict[str, Any]) -> WorkflowRow:
    """Give the pauses that the request names outputs and a message; with a phase, end them."""
    phase = text_of(body, "phase")
    if phase and phase not in PHASES:
        raise InvalidInputError(f"{phase[:60]!r} is no phase that a pause can be set to")
    run = host.control.runs.get(row.uid)
    if run is None or run.ended:
        raise ConflictError(f"workflow {row.name} has ended already ({row.phase})")
    nodes = _meant(run, text_of(body, "nodeFieldSelector"))
    outputs = _outputs(text_of(body, "outputParameters"))
    for node in nodes:
        _check_outputs(node, outputs)
    if not (phase or outputs or text_of(body, "message")):
        raise InvalidInputError("there is nothing to set: give a phase, a message or outputs")
    event = RunResumed(
        at=host.clock.now(),
        nodes=tuple(node.id for node in nodes),
        outputs=outputs,
        phase=phase,
        message=text_of(body, "message"),
    )
    host.control.send(row.uid, event)
    await host.control.settle(row.uid)
    return host.store.workflow(row.uid)


def _meant(run: Run, text: str) -> list[Node]:
    selector = parse_selector(text)
    pauses = (run.nodes[each] for each in run.leaves)
    found = [n for n in pauses if n.type is NodeType.SUSPEND and selector.matches(n)]
    if not found:
        raise ConflictError(f"no pause of {run.name} matches {text[:200]!r}")
    return found


def _outputs(text: str) -> dict[str, str]:
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, str])
    except msgspec.MsgspecError as error:
        raise InvalidInputError(f"outputParameters: {error}") from None


def _check_outputs(node: Node, outputs: dict[str, str]) -> None:
    known = node.outputs.parameters if node.outputs is not None else ()
    open_names = {p.name for p in known if p.value_from is not None and p.value_from.supplied}
    for name in outputs:
        if name not in open_names:
            raise InvalidInputError(f"{node.display_name} does not wait for an output {name!r}")
