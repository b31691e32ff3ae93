"""The schema is strict and made from the model."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from tiphys.spec import yaml
from tiphys.spec.schema import json_schema

GOOD = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: w-}
spec:
  entrypoint: a
  arguments: {parameters: [{name: p, value: 5, default: true}]}
  templates:
  - name: a
    retryStrategy: {limit: 3}
    inputs: {artifacts: [{name: x, path: /x, s3: {key: k}}]}
    container: {image: i, ports: [{containerPort: 80}], resources: {limits: {cpu: 1}}}
    dag: {tasks: [{name: t, inline: {suspend: {}}, withItems: [1, {a: b}]}]}
  volumeClaimTemplates:
  - metadata: {name: v}
    spec: {resources: {requests: {storage: 1Gi}}}
"""


def is_valid(text: str) -> bool:
    (document,) = yaml.load(text)
    return jsonschema_rs.validator_for(json_schema()).is_valid(document.value)


def test_a_good_document_is_valid() -> None:
    assert is_valid(GOOD)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("entrypoint:", "entryPoint:"),
        ("image: i", "image: 5"),
        ("kind: Workflow", "kind: Workflows"),
        ("argoproj.io/v1alpha1", "v1"),
        ("{key: k}", "{keys: k}"),
        ("{name: t, ", "{"),
        ("metadata: {generateName: w-}", "labels: {}"),
    ],
)
def test_a_bad_document_is_not_valid(old: str, new: str) -> None:
    assert old in GOOD
    assert not is_valid(GOOD.replace(old, new))


def test_every_object_forbids_unknown_fields_and_has_a_description() -> None:
    schema = json_schema()
    objects: list[dict[str, Any]] = [
        part for part in schema["$defs"].values() if "properties" in part
    ]

    assert len(objects) > 150
    assert all(part["additionalProperties"] is False for part in objects)
    assert all(part["description"] for part in objects)


def test_the_schema_is_itself_valid() -> None:
    assert jsonschema_rs.meta.is_valid(json_schema())
