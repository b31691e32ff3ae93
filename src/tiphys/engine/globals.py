"""The values that every template of a run can see.

``workflow.name``, ``workflow.parameters.x`` …
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from tiphys.engine.resolve import UnresolvedError
from tiphys.engine.scope import timestamp
from tiphys.engine.shield import shield, unshield
from tiphys.errors import ExpressionError
from tiphys.spec import expression, model
from tiphys.spec.mark import free_of_marks
from tiphys.spec.template import compile_template, expand

if TYPE_CHECKING:
    from tiphys.engine.run import Run

_STRFTIME = "ABCDFHIMRSTUVWXYZabcdehjklmnpruvwxyz"
replace = msgspec.structs.replace


def set_globals(run: Run) -> None:
    """Work out the globals, and resolve them in the spec itself (its templates left alone).

    Raises UnresolvedError.
    """
    own = run.globals
    own |= _fixed(run)
    _resolve_spec(run)
    for parameter in run.spec.arguments.parameters:
        own[f"workflow.parameters.{parameter.name}"] = shield(_value(run, parameter))
    parameters = shield(msgspec.json.encode(run.spec.arguments.parameters).decode())
    own["workflow.parameters"] = own["workflow.parameters.json"] = parameters
    set_metadata(run)
    _resolve_spec(run)
    # After the spec is resolved: an exit handler's arguments must see the status of their time.
    own["workflow.duration"] = "0.000000"
    own["workflow.status"] = "Running"


def _fixed(run: Run) -> dict[str, str]:
    created = timestamp(run.created_at)
    found = {
        "workflow.name": run.name,
        "workflow.namespace": run.namespace,
        "workflow.mainEntrypoint": run.spec.entrypoint,
        "workflow.serviceAccountName": run.spec.service_account_name,
        "workflow.uid": run.uid,
        "workflow.creationTimestamp": created,
        "workflow.creationTimestamp.RFC3339": created,
        "workflow.creationTimestamp.s": str(int(run.created_at)),
    }
    at = datetime.fromtimestamp(int(run.created_at), UTC)
    for letter in _STRFTIME:
        found.setdefault(f"workflow.creationTimestamp.{letter}", at.strftime(f"%{letter}"))
    if run.spec.priority is not None:
        found["workflow.priority"] = str(run.spec.priority)
    scheduled = run.annotations.get("workflows.argoproj.io/scheduled-time")
    if scheduled is not None:
        found["workflow.scheduledTime"] = scheduled
    return found


def _value(run: Run, parameter: model.Parameter) -> str:
    if parameter.value is not None:
        return parameter.value
    source = parameter.value_from
    ref = source.config_map_key_ref if source is not None else None
    if source is not None and ref is not None:
        found = run.library.config_value(ref.name, ref.key, namespace=run.namespace)
        found = source.default if found is None else found
        if found is None:
            raise UnresolvedError(
                f"failed to set global parameter {parameter.name} from configmap with name "
                f"{ref.name} and key {ref.key}: not found"
            )
        return found
    if parameter.default is not None:
        return parameter.default
    raise UnresolvedError(
        "either value or valueFrom must be specified in order to set global parameter "
        f"{parameter.name}"
    )


def set_metadata(run: Run) -> None:
    """Take over labels and annotations that the spec asks for, and make all of them known."""
    extra = run.spec.workflow_metadata
    if extra is not None:
        run.labels |= free_of_marks(extra.labels)
        run.annotations |= free_of_marks(extra.annotations)
        sources = extra.labels_from.items()
        named = {name: _label(run, name, source.expression) for name, source in sources}
        run.labels |= free_of_marks(named)
        run.header_changed = True
    own = run.globals
    for kind, found in (("labels", run.labels), ("annotations", run.annotations)):
        text = shield(msgspec.json.encode(found, order="sorted").decode())
        own[f"workflow.{kind}"] = own[f"workflow.{kind}.json"] = text
        for key, value in found.items():
            own[f"workflow.{kind}.{key}"] = shield(value)


def _label(run: Run, name: str, text: str) -> str:
    try:
        found = expression.compile_expression(text).evaluate(expand(run.globals))
    except ExpressionError as error:
        raise UnresolvedError(f"failed to evaluate label {name!r}: {error}") from None
    if not isinstance(found, str):
        raise UnresolvedError(f"label {name!r}: expression {text!r} must give a string")
    return unshield(found)


def _resolve_spec(run: Run) -> None:
    bare = replace(run.spec, templates=(), template_defaults=None)
    text = msgspec.json.encode(bare).decode()
    if "{{" not in text:
        return
    try:
        rendered = compile_template(text).render(run.globals, allow_unresolved=True, json_text=True)
    except ExpressionError as error:
        raise UnresolvedError(str(error)) from None
    resolved = msgspec.json.decode(unshield(rendered), type=model.WorkflowSpec)
    run.spec = replace(
        resolved, templates=run.spec.templates, template_defaults=run.spec.template_defaults
    )
