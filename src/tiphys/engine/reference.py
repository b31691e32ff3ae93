"""Resolving what a step or task takes from its siblings: tags first, then artifacts.

Where Argo would wait forever for an output that can never come (that of a skipped or failed
sibling), an ``UnresolvedError`` says so, except where Argo 4.1 has an answer: the producer's
default, the consumer's default for an argument that is nothing but the reference, nil inside of an
expression.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from tiphys.engine.hook import resolved_artifacts
from tiphys.engine.loop import expands, passes
from tiphys.engine.resolve import UnresolvedError
from tiphys.engine.scope import Scope
from tiphys.engine.shield import shield, unshield
from tiphys.errors import ExpressionError
from tiphys.spec import model
from tiphys.spec.template import compile_template, tags_of

S = TypeVar("S", model.WorkflowStep, model.DAGTask)
STRICT = ("steps", "tasks")
replace = msgspec.structs.replace


def resolve_step(step: S, scope: Scope, absent: Callable[[str], bool]) -> S:
    """Give ``step`` with everything resolved that its siblings and the run give.

    ``absent`` tells of a tag whether its value can never come because the sibling was passed over.
    """
    bare = replace(_drop_absent(step, scope, absent), hooks={})
    text = msgspec.json.encode(bare).decode()
    if "{{" not in text:
        resolved = bare
    else:
        try:
            rendered = compile_template(text).render(
                scope, allow_unresolved=True, json_text=True, strict_prefixes=STRICT
            )
        except ExpressionError as error:
            raise UnresolvedError(
                f"{error}: the output it refers to does not exist"
                if "failed to resolve" in str(error) or "is missing" in str(error)
                else str(error)
            ) from None
        if not expands(step):
            rendered = unshield(rendered)
        resolved = msgspec.json.decode(rendered, type=type(step))
    resolved = replace(resolved, hooks=step.hooks)
    if not _will_run(resolved) or not resolved.arguments.artifacts:
        return resolved
    artifacts = resolved_artifacts(resolved.arguments.artifacts, scope)
    return replace(resolved, arguments=replace(resolved.arguments, artifacts=artifacts))


def _will_run(step: model.WorkflowStep | model.DAGTask) -> bool:
    try:
        return passes(step.when)
    except ExpressionError as error:
        if expands(step):
            return True  # The condition may need the item.
        raise UnresolvedError(str(error)) from None


def _drop_absent(step: S, scope: Scope, absent: Callable[[str], bool]) -> S:
    """Empty arguments that are nothing but an output that can never come.

    The consumer's default stands in; where it has none, the reason is in the description.
    """
    parameters = step.arguments.parameters
    if not any(_is_absent(p.value, scope, absent) for p in parameters):
        return step
    emptied = tuple(
        replace(p, value=None, description=shield(f"{(p.value or '').strip()} {ABSENT}"))
        if _is_absent(p.value, scope, absent)
        else p
        for p in parameters
    )
    return replace(step, arguments=replace(step.arguments, parameters=emptied))


ABSENT = "is absent: the node that it comes from was skipped, and there is no default"


def _is_absent(value: str | None, scope: Scope, absent: Callable[[str], bool]) -> bool:
    if value is None or "{{" not in value:
        return False
    text = value.strip()
    if not (text.startswith("{{") and text.endswith("}}")) or text.startswith("{{="):
        return False
    tags = tags_of(text)
    if len(tags) != 1 or f"{{{{{next(iter(tags))}}}}}" != text.replace(" ", ""):
        return False
    tag = next(iter(tags))
    return tag.partition(".")[0] in STRICT and scope.get(tag) is None and absent(tag)
