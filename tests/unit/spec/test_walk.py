"""The walk makes what msgspec would make of the same data, for every type of the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tiphys.config import Config
from tiphys.spec import shape as sh
from tiphys.spec import walk
from tiphys.spec.model import DAGTask, Model, Template, Workflow
from tiphys.spec.report import MAX_PROBLEMS, Report

PLAIN = {
    sh.TEXT: "text",
    sh.WHOLE: 7,
    sh.NUMBER: 7,
    sh.TRUTH: True,
    sh.EITHER: 7,
    sh.MARKED: "text",
    sh.ANYTHING: {"a": [1, {"b": None}]},
}


def types(above: type[Model] = Model) -> Iterator[type[Model]]:
    for cls in above.__subclasses__():
        yield cls
        yield from types(cls)


def sample(shape: sh.Shape, *, whole: bool = True) -> Any:
    """Give data of a shape: with every field, and with what must be in the Structs below."""
    if shape.kind == sh.STRUCT:
        fields = sh.fields_of(shape.inner).items()
        return {
            key: sample(field.info, whole=False) for key, field in fields if whole or field.required
        }
    if shape.kind == sh.ITEMS:
        return [sample(shape.inner, whole=whole)] * 2
    if shape.kind == sh.MAPPING:
        return {"key": sample(shape.inner, whole=whole)}
    return PLAIN[shape.kind]


@pytest.mark.parametrize("cls", sorted({*types()}, key=str), ids=lambda cls: cls.__qualname__)
def test_what_is_made_is_what_msgspec_would_make(cls: type[Model]) -> None:
    value, report = sample(sh.struct(cls)), Report()

    made = walk.read(value, cls, report)

    assert report.problems == []
    # Texts tell numbers and tuples from what is merely equal to them.
    assert repr(made) == repr(msgspec.convert(value, cls))


def test_a_whole_number_where_any_number_may_stand_becomes_one() -> None:
    config = walk.read({"graceSeconds": 3}, Config, Report())

    assert config is not None
    assert repr(config.grace_seconds) == "3.0"


def test_lists_become_tuples_also_those_of_any_values() -> None:
    value = {"name": "t", "dependencies": ["a", "b"], "withItems": [1, [2]]}

    task = walk.read(value, DAGTask, Report())

    assert task is not None
    assert (task.dependencies, task.with_items) == (("a", "b"), (1, [2]))


def test_nothing_is_made_where_something_is_missing() -> None:
    report = Report()

    assert walk.read({"name": "t", "container": {"env": [{}]}}, Template, report) is None
    assert [problem.path for problem in report.problems] == ["container.env[0].name"]


def test_a_damaged_document_keeps_what_is_sound() -> None:
    value = {"metadata": {"name": 7}, "spec": {"entrypoint": "main", "parallelism": "many"}}

    found = walk.salvage(value, Workflow)

    assert found is not None
    assert (found.metadata.name, found.spec.entrypoint, found.spec.parallelism) == (
        "",
        "main",
        None,
    )


def test_what_is_wrong_is_told_after_however_many_warnings() -> None:
    report = Report()
    value = {**{f"x{number}": 1 for number in range(MAX_PROBLEMS + 1)}, "parallelism": "many"}

    assert walk.read({"spec": value}, Workflow, report) is None
    assert [each.path for each in report.problems if not each.warning] == ["spec.parallelism"]
    assert len(report.problems) == MAX_PROBLEMS + 1


@pytest.mark.parametrize("value", [{"graceSeconds": 10**400}, {"images": {1: {}}}])
def test_what_no_file_can_say_is_refused_all_the_same(value: dict[str, Any]) -> None:
    report = Report()

    assert walk.read(value, Config, report) is None
    assert len(report.problems) == 1
