"""Every type of the model keeps its promises."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from msgspec import inspect, structs

from tiphys.spec import model
from tiphys.spec.report import Report
from tiphys.spec.shape import fields_of
from tiphys.spec.walk import read

CLASSES = [
    each
    for each in vars(model).values()
    if isinstance(each, type) and issubclass(each, model.Model) and each is not model.Model
]

PLAIN: dict[type, object] = {
    inspect.StrType: "x",
    inspect.IntType: 7,
    inspect.BoolType: True,
    inspect.FloatType: 1.5,
}


def filled(cls: Any, depth: int = 0) -> Any:
    """Make a value with something in every field, a few levels deep."""
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    fields = [each for each in info.fields if each.required or depth < 3]
    return msgspec.convert({each.encode_name: example(each.type, depth) for each in fields}, cls)


def example(info: inspect.Type, depth: int) -> object:
    if isinstance(info, inspect.Metadata):
        return example(info.type, depth)
    if isinstance(info, inspect.UnionType):
        present = [each for each in info.types if not isinstance(each, inspect.NoneType)]
        return example(present[0], depth)
    if isinstance(info, inspect.StructType):
        return msgspec.to_builtins(filled(info.cls, depth + 1))
    if isinstance(info, inspect.VarTupleType):
        return [example(info.item_type, depth)] if depth < 3 else []
    if isinstance(info, inspect.DictType):
        return {"key": example(info.value_type, depth)} if depth < 3 else {}
    plain = {
        inspect.StrType: "x",
        inspect.IntType: 7,
        inspect.BoolType: True,
        inspect.FloatType: 1.5,
    }
    return plain.get(type(info), {"any": [1]})


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_full_value_survives_json(cls: type[model.Model]) -> None:
    value = filled(cls)

    assert msgspec.json.decode(msgspec.json.encode(value), type=cls) == value


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_values_are_frozen_and_attributes_are_snake_case(cls: type[model.Model]) -> None:
    config = cls.__struct_config__

    assert config.frozen
    assert config.omit_defaults
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in cls.__struct_fields__)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_the_walk_knows_every_type_of_the_model(cls: type[model.Model]) -> None:

    value = filled(cls)
    report = Report()

    assert read(msgspec.to_builtins(value), cls, report) == value
    assert report.problems == []


def test_json_names_are_argo_s() -> None:
    names = fields_of(model.Template).keys()

    assert {"retryStrategy", "podSpecPatch", "containerSet", "failFast", "http"} <= names
    assert "hostIP" in fields_of(model.ContainerPort)
    assert "from" in fields_of(model.Artifact)
    assert "podGC" in fields_of(model.WorkflowSpec)
    assert "downwardAPI" in fields_of(model.Volume)


def test_documents_always_say_their_kind_in_json() -> None:
    plain = msgspec.json.decode(msgspec.json.encode(model.WorkflowTemplate()))

    assert plain == {"apiVersion": "argoproj.io/v1alpha1", "kind": "WorkflowTemplate"}


def test_a_changed_copy_leaves_the_old_value_alone() -> None:
    old = model.Parameter(name="a")

    new = structs.replace(old, value="x")

    assert (old.value, new.value) == (None, "x")
