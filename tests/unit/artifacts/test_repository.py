"""Resolving artifacts, and what `Repositories` does for every kind of storage."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import msgspec
import pytest

from tiphys.artifacts import (
    ArtifactConfig,
    ArtifactRepository,
    ConfigMapText,
    Repositories,
    key_of,
)
from tiphys.artifacts.beneath import _walk as walk_without_openat2
from tiphys.artifacts.reference import DEFAULT_ANNOTATION, ConfigMapReader, no_config_maps
from tiphys.errors import ArtifactError, ArtifactNotFoundError, ArtifactUnsafeError
from tiphys.spec import model

SPACE = "default"
PLACE = "{endpoint: s3.example.org, bucket: %s, keyFormat: 'k/{{workflow.name}}'}"
MAPS = {
    ("team", "artifact-repositories"): ConfigMapText(
        data={"one": f"s3: {PLACE % 'first'}", "two": f"archiveLogs: true\ns3: {PLACE % 'second'}"},
        annotations={DEFAULT_ANNOTATION: "two"},
    ),
    ("team", "mine"): ConfigMapText(data={"k": f"s3: {PLACE % 'mine'}", "bad": "oss: {}"}),
}


def make(tmp_path: Path, config_maps: ConfigMapReader = no_config_maps) -> Repositories:
    def secrets(_namespace: str, _name: str, key: str) -> bytes:
        raise KeyError(key)

    return Repositories(
        root=tmp_path / "root",
        config=ArtifactConfig(durable=False),
        secrets=secrets,
        config_maps=config_maps,
    )


def find(namespace: str, name: str) -> ConfigMapText | None:
    return MAPS.get((namespace, name))


def bucket(repository: ArtifactRepository) -> str:
    return repository.s3.bucket if repository.s3 is not None else ""


def ref(config_map: str = "", key: str = "") -> model.ArtifactRepositoryRef:
    return model.ArtifactRepositoryRef(config_map=config_map, key=key)


def test_without_a_ref_the_annotation_of_the_namespace_counts(tmp_path: Path) -> None:
    found = make(tmp_path, find).repository("team")

    assert bucket(found) == "second"
    assert found.archive_logs is True


def test_without_a_config_map_the_default_counts(tmp_path: Path) -> None:
    assert make(tmp_path, find).repository("other") == ArtifactRepository()


def test_a_ref_names_a_key_or_a_config_map_or_both(tmp_path: Path) -> None:
    repositories = make(tmp_path, find)

    assert bucket(repositories.repository("team", ref(key="one"))) == "first"
    assert bucket(repositories.repository("team", ref("mine", "k"))) == "mine"


@pytest.mark.parametrize("wrong", [ref("missing", "k"), ref("mine", "missing"), ref("mine")])
def test_a_ref_that_leads_nowhere_is_an_error(
    tmp_path: Path, wrong: model.ArtifactRepositoryRef
) -> None:
    with pytest.raises(ArtifactError, match="failed to find any artifact repository"):
        make(tmp_path, find).repository("team", wrong)


def test_a_repository_of_an_unknown_kind_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="oss"):
        make(tmp_path, find).repository("team", ref("mine", "bad"))


def test_the_location_of_a_repository_carries_its_key_format() -> None:
    text = {"s3": {"endpoint": "e", "bucket": "b", "keyPrefix": "old"}}
    repository = msgspec.convert(text, ArtifactRepository)

    assert key_of(repository.location()) == "old/{{workflow.name}}/{{pod.name}}"
    assert key_of(ArtifactRepository().location()) == "{{workflow.name}}/{{pod.name}}"


@pytest.mark.parametrize(
    ("text", "kind", "key"),
    [
        ({"gcs": {"bucket": "b", "keyFormat": "x"}}, "gcs", "x"),
        ({"azure": {"endpoint": "e", "container": "c", "blobNameFormat": "x"}}, "azure", "x"),
        ({"artifactory": {"repoURL": "http://h/r", "keyFormat": "x"}}, "artifactory", "/r/x"),
        ({"local": {"keyFormat": "x"}}, "local", "x"),
    ],
)
def test_every_kind_of_repository_gives_its_kind_of_location(
    text: dict[str, object], kind: str, key: str
) -> None:
    location = msgspec.convert(text, ArtifactRepository).location()

    assert getattr(location, kind) is not None
    assert key_of(location) == key


@pytest.mark.parametrize(
    ("key_format", "key"),
    [
        ("", "wf/pod/x.tgz"),
        ("fixed/place", "fixed/place/x.tgz"),
        ("{{workflow.name}}-{{pod.name}}", "w-p/x.tgz"),
        ("{{workflow.unknown}}", "wf/pod/x.tgz"),
    ],
)
def test_a_key_format_is_filled_or_else_the_default_counts(
    tmp_path: Path, key_format: str, key: str
) -> None:
    home = msgspec.convert({"local": {"keyFormat": key_format}}, ArtifactRepository)
    values = {"workflow.name": "w", "pod.name": "p"} if key_format else {}

    resolved = make(tmp_path).resolve(
        model.Artifact(name="x"),
        namespace=SPACE,
        repository=home,
        default_key="wf/pod",
        values=values,
    )
    assert key_of(resolved) == key


def test_an_archive_location_that_only_speaks_of_logs_names_no_place(tmp_path: Path) -> None:
    resolved = make(tmp_path).resolve(
        model.Artifact(name="x"),
        namespace=SPACE,
        repository=model.ArtifactLocation(archive_logs=True),
        default_key="wf/pod",
    )

    assert resolved.local == model.LocalArtifact(key="wf/pod/x.tgz")


def test_the_key_of_an_archive_location_is_the_folder(tmp_path: Path) -> None:
    home = model.ArtifactLocation(local=model.LocalArtifact(key="own/folder"))

    resolved = make(tmp_path).resolve(
        model.Artifact(name="x"), namespace=SPACE, repository=home, default_key="wf/pod"
    )
    assert key_of(resolved) == "own/folder/x.tgz"


def test_an_artifact_with_its_own_location_stays_as_it_is(tmp_path: Path) -> None:
    artifact = model.Artifact(name="x", http=model.HTTPArtifact(url="http://h/x"))

    assert make(tmp_path).resolve(artifact, namespace=SPACE, default_key="w/p") is artifact


def test_an_artifact_that_was_not_supplied_says_so(tmp_path: Path) -> None:
    with pytest.raises(ArtifactNotFoundError, match="required artifact 'x' not supplied"):
        make(tmp_path).resolve(model.Artifact(name="x"), namespace=SPACE)


@pytest.mark.parametrize("kind", ["oss", "hdfs", "plugin"])
def test_a_kind_that_is_not_supported_says_so(tmp_path: Path, kind: str) -> None:
    places: dict[str, object] = {
        "oss": model.OSSArtifact(endpoint="e", bucket="b", key="k"),
        "hdfs": model.HDFSArtifact(addresses=("a",), path="p"),
        "plugin": model.PluginArtifact(name="n", key="k"),
    }
    artifact = model.Artifact(name="x", **{kind: places[kind]})  # type: ignore[arg-type]

    with pytest.raises(ArtifactError, match=f"{kind} artifacts are not supported here"):
        make(tmp_path).load(artifact, tmp_path / "in", namespace=SPACE)


def test_raw_text_becomes_a_file(tmp_path: Path) -> None:
    artifact = model.Artifact(name="x", raw=model.RawArtifact(data="héllo"), mode=0o600)
    make(tmp_path).load(artifact, tmp_path / "deep" / "in", namespace=SPACE)

    assert (tmp_path / "deep" / "in").read_text() == "héllo"
    assert os.listdir(tmp_path / "deep") == ["in"]


def test_raw_text_cannot_be_saved(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    artifact = model.Artifact(name="x", raw=model.RawArtifact(data=""))

    with pytest.raises(ArtifactError, match="cannot be saved"):
        make(tmp_path).save(tmp_path / "out", artifact, namespace=SPACE)


def test_a_missing_secret_is_named(tmp_path: Path) -> None:
    selector = model.SecretKeySelector(name="creds", key="user")
    place = model.ArtifactoryArtifact(url="http://1.1.1.1/x", username_secret=selector)
    artifact = model.Artifact(name="x", artifactory=place)

    with pytest.raises(ArtifactError, match="secret creds has no key user"):
        make(tmp_path).load(artifact, tmp_path / "in", namespace=SPACE)


def test_without_obstore_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("obstore", "obstore.store", "obstore.exceptions"):
        monkeypatch.setitem(sys.modules, name, None)
    place = model.S3Artifact(endpoint="s3.example.org", bucket="b", key="k")

    with pytest.raises(ArtifactError, match=r"tiphys\[s3\]"):
        make(tmp_path).load(model.Artifact(name="x", s3=place), tmp_path / "in", namespace=SPACE)


@pytest.mark.parametrize("endpoint", ["1.1.1.1#@x", "1.1.1.1\\@x", "a@b", "a b", "http://", "x?y"])
def test_an_endpoint_that_can_be_read_in_two_ways_is_refused(tmp_path: Path, endpoint: str) -> None:
    place = model.S3Artifact(endpoint=endpoint, bucket="b", key="k")

    with pytest.raises(ArtifactError, match="is not an endpoint"):
        make(tmp_path).load(model.Artifact(name="x", s3=place), tmp_path / "in", namespace=SPACE)


@pytest.mark.parametrize(
    ("text", "expected"), [("", False), ("archiveLogs: true", True), ("archiveLogs: false", False)]
)
def test_a_repository_may_want_all_logs(tmp_path: Path, text: str, expected: bool) -> None:
    assert make(tmp_path).archives_logs(SPACE, text) is expected


def test_a_repository_may_be_given_as_text(tmp_path: Path) -> None:
    text = "local: {keyFormat: 'all/{{workflow.name}}/{{inputs.parameters.x}}'}"
    values = {"workflow.name": "wf", "inputs.parameters.x": "seven"}
    artifact = model.Artifact(name="out", path="/tmp/out")

    whole = make(tmp_path).resolve(
        artifact, namespace=SPACE, repository=text, default_key="wf/pod", values=values
    )

    assert key_of(whole) == "all/wf/seven/out.tgz"


def test_a_key_format_with_an_open_tag_gives_way_to_the_usual_key(tmp_path: Path) -> None:
    text = "local: {keyFormat: 'all/{{inputs.parameters.x}}'}"

    whole = make(tmp_path).resolve(
        model.Artifact(name="out"),
        namespace=SPACE,
        repository=text,
        default_key="wf/pod",
        values={"workflow.name": "wf"},
    )

    assert key_of(whole) == "wf/pod/out.tgz"


def test_a_repository_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="artifact repository"):
        make(tmp_path).resolve(
            model.Artifact(name="x"), namespace=SPACE, repository="s3: [", default_key="k"
        )


def test_a_file_of_ours_is_shared_and_not_copied(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    (tmp_path / "out").chmod(0o4775)
    artifact = model.Artifact(name="x", local=model.LocalArtifact(key="k"))

    make(tmp_path).save(tmp_path / "out", artifact, namespace=SPACE, may_link=True)

    stored = next((tmp_path / "root" / SPACE).iterdir())
    assert stored.samefile(tmp_path / "out")
    assert stat.S_IMODE(stored.stat().st_mode) == 0o755


def test_a_file_with_another_name_is_copied(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    os.link(tmp_path / "out", tmp_path / "other")
    artifact = model.Artifact(name="x", local=model.LocalArtifact(key="k"))

    make(tmp_path).save(tmp_path / "out", artifact, namespace=SPACE, may_link=True)

    stored = next((tmp_path / "root" / SPACE).iterdir())
    assert not stored.samefile(tmp_path / "out")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "out")
    artifact = model.Artifact(name="x", local=model.LocalArtifact(key="k"))

    with pytest.raises(ArtifactUnsafeError, match="not a regular file"):
        make(tmp_path).save(tmp_path / "out", artifact, namespace=SPACE)


def test_without_openat2_a_link_on_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_text("x")
    os.symlink("real", tmp_path / "link")
    base = os.open(tmp_path, os.O_RDONLY)
    try:
        opened = walk_without_openat2(base, "real/./file")
        assert os.read(opened, 10) == b"x"
        os.close(opened)
        with pytest.raises(OSError, match="Not a directory"):
            walk_without_openat2(base, "link/file")
        with pytest.raises(ArtifactUnsafeError):
            walk_without_openat2(base, "real/../real/file")
    finally:
        os.close(base)


def test_the_contents_of_one_namespace_are_not_those_of_another(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    repositories = make(tmp_path)
    artifact = model.Artifact(name="x", local=model.LocalArtifact(key="k"))
    repositories.save(tmp_path / "out", artifact, namespace="mine")

    for key in ("k", "../mine/k", "/../mine/k", "mine/k"):
        foreign = model.Artifact(name="x", local=model.LocalArtifact(key=key))
        with pytest.raises(ArtifactError):
            repositories.load(foreign, tmp_path / "in", namespace="theirs")
