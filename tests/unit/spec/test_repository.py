"""Which entry of which config map describes the artifact repository of a workflow."""

from __future__ import annotations

import pytest

from tiphys.spec import model
from tiphys.spec.repository import DEFAULT_ANNOTATION, DEFAULT_CONFIG_MAP, repository_text


def config_map(name: str, data: dict[str, str], default: str = "") -> model.ConfigMap:
    annotations = {DEFAULT_ANNOTATION: default} if default else {}
    return model.ConfigMap(metadata=model.ObjectMeta(name=name, annotations=annotations), data=data)


MAPS = {
    ("team", DEFAULT_CONFIG_MAP): config_map(DEFAULT_CONFIG_MAP, {"a": "A", "b": "B"}, "b"),
    ("team", "mine"): config_map("mine", {"c": "C"}),
    ("bare", DEFAULT_CONFIG_MAP): config_map(DEFAULT_CONFIG_MAP, {"a": "A"}),
}


@pytest.mark.parametrize(
    ("namespace", "ref", "expected"),
    [
        ("team", None, "B"),
        ("team", model.ArtifactRepositoryRef(), "B"),
        ("team", model.ArtifactRepositoryRef(key="a"), "A"),
        ("team", model.ArtifactRepositoryRef(config_map="mine", key="c"), "C"),
        ("team", model.ArtifactRepositoryRef(config_map="mine"), ""),
        ("bare", None, ""),
        ("other", None, ""),
    ],
)
def test_the_ref_comes_first_and_the_annotation_fills_in(
    namespace: str, ref: model.ArtifactRepositoryRef | None, expected: str
) -> None:
    assert repository_text(MAPS, namespace, ref) == expected
