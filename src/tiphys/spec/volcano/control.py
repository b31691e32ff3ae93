"""Control flow for JobFlows, which upstream has no fields for: it stands in an annotation.

An annotation and not new fields, because the API server prunes fields that the CRD does not know
and ``kubectl`` refuses them: so the file stays valid for plain Volcano, which ignores it
(docs/adr/0006-jobflow-control.md).

    metadata:
      annotations:
        tiphys.dev/flow: |
          parameters: {size: "3"}
          steps:
            b: {when: "{{workflow.parameters.size}} > 2", retry: {limit: 2, backoff: 5s}}
            c: {for: {items: [eu, us]}, parameters: {region: "{{item}}"}}
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

import msgspec

from tiphys.core.duration import parse_duration_or_seconds
from tiphys.errors import InvalidInputError, SpecError
from tiphys.spec import walk, yaml
from tiphys.spec.model import Model, ObjectMeta
from tiphys.spec.model.base import AnyString, Item, NumberText
from tiphys.spec.report import Report

ANNOTATION = "tiphys.dev/flow"


class Retry(Model, frozen=True, kw_only=True):
    """How often a step whose Job failed is run again."""

    limit: NumberText = "1"
    backoff: AnyString = ""
    factor: NumberText = "2"
    max: AnyString = ""
    """The longest that all attempts may take."""


class Loop(Model, frozen=True, kw_only=True):
    """A step run many times: for items, for numbers, or one after another until something holds."""

    items: tuple[Item, ...] | None = None
    count: NumberText | None = None
    start: NumberText | None = None
    end: NumberText | None = None
    until: str = ""
    limit: int = 10
    """Of ``until``: the most rounds."""


class Switch(Model, frozen=True, kw_only=True):
    """Which of some steps run, by a value: the others are skipped."""

    value: AnyString
    cases: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    default: tuple[str, ...] = ()


class Step(Model, frozen=True, kw_only=True):
    """What the annotation says about one step of the flow."""

    when: str = ""
    retry: Retry | None = None
    loop: Loop | None = msgspec.field(name="for", default=None)
    switch: Switch | None = None
    parameters: dict[str, AnyString] = msgspec.field(default_factory=dict)
    template: str = ""
    """Another JobTemplate than the one of the step's name."""
    continue_on_failure: bool = False


class Control(Model, frozen=True, kw_only=True):
    """The whole annotation."""

    parameters: dict[str, AnyString] = msgspec.field(default_factory=dict)
    steps: dict[str, Step] = msgspec.field(default_factory=dict)


def read_control(meta: ObjectMeta, steps: Mapping[str, Any], report: Report) -> Control:
    """Read the annotation; what is wrong with it is told at the place of the annotation."""
    text = meta.annotations.get(ANNOTATION)
    if not text:
        return Control()
    path = ("metadata", "annotations", ANNOTATION)
    try:
        documents = yaml.load(text, file="")
    except SpecError as error:
        report.add(path, f"the annotation is no YAML: {error.problems[0].message}")
        return Control()
    inner = Report()
    value = documents[0].value if documents else {}
    found = walk.read(value, Control, inner)
    for problem in inner.problems:
        report.add(path, f"{problem.path}: {problem.message}", code=problem.code, hint=problem.hint)
    if found is None:
        return Control()
    for name, step in found.steps.items():
        if name not in steps:
            hint = report.close_to(name, steps)
            report.add(path, f"steps.{name}: the flow has no such step", hint=hint)
        for message in _problems(step, steps):
            report.add(path, f"steps.{name}.{message}")
    return found


def _problems(step: Step, steps: Container[str]) -> Iterator[str]:
    """Say what is wrong with what is said about a step."""
    if step.retry is not None:
        if "{{" not in step.retry.limit and not step.retry.limit.isdecimal():
            yield f"retry.limit: {step.retry.limit[:40]!r} is not a whole number"
        yield from _duration_problems("retry.backoff", step.retry.backoff)
        yield from _duration_problems("retry.max", step.retry.max)
    if step.loop is not None:
        yield from _loop_problems(step.loop)
    if step.switch is not None:
        yield from _switch_problems(step.switch, steps)


def _duration_problems(field: str, text: str) -> Iterator[str]:
    try:
        if text:
            parse_duration_or_seconds(text)
    except InvalidInputError as error:
        yield f"{field}: {error}"


def _loop_problems(loop: Loop) -> Iterator[str]:
    kinds = {
        "items": loop.items is not None,
        "count": loop.count is not None,
        "end": loop.end is not None,
        "until": bool(loop.until),
    }
    if sum(kinds.values()) != 1:
        yield "for: a loop has either items, count, start and end, or until"
    elif loop.until and loop.limit < 1:
        yield "for.limit: a loop runs at least once"


def _switch_problems(switch: Switch, steps: Container[str]) -> Iterator[str]:
    for case in switch.cases:
        if "'" in case:
            yield f"switch.cases: {case[:40]!r} has a quote in it, which no case may have"
    chosen = [name for names in switch.cases.values() for name in names]
    for name in (*chosen, *switch.default):
        if name not in steps:
            yield f"switch: the flow has no step {name[:60]!r}"
