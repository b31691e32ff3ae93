"""Locations and keys."""

from __future__ import annotations

import pytest

from tiphys.artifacts import location
from tiphys.errors import ArtifactError
from tiphys.spec import model

HOME = model.ArtifactLocation(
    s3=model.S3Artifact(endpoint="s3.example.org", bucket="b", key="{{workflow.name}}")
)


def artifact(**place: object) -> model.Artifact:
    return model.Artifact(name="x", **place)  # type: ignore[arg-type]


def test_a_key_alone_takes_the_rest_from_the_repository() -> None:
    found = location.relocate(artifact(gcs=model.GCSArtifact(key="k")), HOME, "k")

    assert found.gcs is None
    assert found.s3 == model.S3Artifact(endpoint="s3.example.org", bucket="b", key="k")
    assert found.name == "x"


@pytest.mark.parametrize(
    ("place", "whole"),
    [
        ({"s3": model.S3Artifact(endpoint="e", bucket="b", key="k")}, True),
        ({"s3": model.S3Artifact(bucket="b", key="k")}, False),
        ({"s3": model.S3Artifact(key="k")}, False),
        ({"local": model.LocalArtifact(key="k")}, True),
        ({"local": model.LocalArtifact()}, False),
        ({"raw": model.RawArtifact(data="")}, True),
        ({"http": model.HTTPArtifact(url="http://x")}, True),
        ({"git": model.GitArtifact(repo="r")}, True),
        ({}, False),
    ],
)
def test_a_location_is_whole_when_nothing_is_missing(place: dict[str, object], whole: bool) -> None:
    assert location.is_whole(artifact(**place)) is whole


def test_a_sub_path_is_joined_to_the_key() -> None:
    found = location.append_to_key(artifact(local=model.LocalArtifact(key="a/b")), "c/./d")

    assert location.key_of(found) == "a/b/c/d"


def test_the_key_of_a_url_is_its_path() -> None:
    found = artifact(http=model.HTTPArtifact(url="http://host:1/a?q"))

    assert location.key_of(found) == "/a"
    assert location.append_to_key(found, "b").http == model.HTTPArtifact(url="http://host:1/a/b?q")


def test_git_and_raw_have_no_key_to_change() -> None:
    with pytest.raises(ArtifactError, match="no key"):
        location.append_to_key(artifact(git=model.GitArtifact(repo="r")), "x")
