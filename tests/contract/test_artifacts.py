"""One suite over every artifact repository that can be written: local and S3.

S3 is a real server on the loopback, started for the module.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import os
import socket
import stat
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from tiphys.artifacts import (
    ArtifactConfig,
    ArtifactRepository,
    Egress,
    Limits,
    Repositories,
    append_to_key,
    collect,
    is_due,
    key_of,
)
from tiphys.errors import ArtifactError, ArtifactNotFoundError, ArtifactUnsafeError
from tiphys.spec import model

SPACE = "default"
SECRETS = {"access": b"test\n", "secret": b"test"}
NONE = model.ArchiveStrategy(none=model.NoneStrategy())
ZIP = model.ArchiveStrategy(zip=model.ZipStrategy())
TAR = model.ArchiveStrategy(tar=model.TarStrategy(compression_level=0))


def read_secret(_namespace: str, _name: str, key: str) -> bytes:
    return SECRETS[key]


@pytest.fixture(scope="module")
def s3_endpoint() -> Iterator[str]:
    server_module = pytest.importorskip("moto.server", reason="moto is not installed")
    pytest.importorskip("obstore", reason="obstore is not installed")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    connection = http.client.HTTPConnection(host, port)
    connection.request("PUT", "/bucket")
    assert connection.getresponse().status == 200
    connection.close()
    yield f"{host}:{port}"
    server.stop()


def s3_repository(endpoint: str) -> ArtifactRepository:
    text = {
        "s3": {
            "endpoint": endpoint,
            "bucket": "bucket",
            "insecure": True,
            "keyFormat": "runs/{{workflow.name}}/{{pod.name}}",
            "accessKeySecret": {"name": "s3", "key": "access"},
            "secretKeySecret": {"name": "s3", "key": "secret"},
        }
    }
    return msgspec.convert(text, ArtifactRepository)


@dataclass
class Storage:
    """What a test works with: a repository and a fresh corner of it."""

    repositories: Repositories
    folder: str
    tmp: Path

    def place(self, name: str = "out", **fields: object) -> model.Artifact:
        artifact = model.Artifact(name=name, path=f"/tmp/{name}", **fields)  # type: ignore[arg-type]
        return self.repositories.resolve(artifact, namespace=SPACE, default_key=self.folder)

    def save(self, path: Path, **fields: object) -> model.Artifact:
        return self.repositories.save(path, self.place(**fields), namespace=SPACE)  # type: ignore[arg-type]

    def load(self, artifact: model.Artifact, name: str = "in") -> Path:
        self.repositories.load(artifact, self.tmp / name, namespace=SPACE)
        return self.tmp / name

    def bytes(self, artifact: model.Artifact) -> bytes:
        return b"".join(self.repositories.read(artifact, namespace=SPACE))


@pytest.fixture(params=["local", "s3"])
def make_storage(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Storage]:
    def make(**settings: object) -> Storage:
        home = ArtifactRepository()
        if request.param == "s3":
            home = s3_repository(request.getfixturevalue("s3_endpoint"))
        config = ArtifactConfig(artifact_repository=home, durable=False, **settings)  # type: ignore[arg-type]
        made = Repositories(root=tmp_path / "root", config=config, secrets=read_secret)
        return Storage(made, f"wf/{tmp_path.name}", tmp_path)

    return make


@pytest.fixture
def storage(make_storage: Callable[..., Storage]) -> Storage:
    return make_storage()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = tmp_path / "source"
    (top / "sub").mkdir(parents=True)
    (top / "a").write_text("a")
    (top / "sub" / "b").write_bytes(os.urandom(100_000))
    (top / "sub" / "run").write_text("#!/bin/sh\n")
    (top / "sub" / "run").chmod(0o755)
    os.symlink("../a", top / "sub" / "link")
    return top


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "out"
    path.write_text("text")
    path.chmod(0o750)
    return path


def test_a_file_comes_back_with_its_mode(storage: Storage, text: Path) -> None:
    saved = storage.save(text)

    loaded = storage.load(saved)
    assert loaded.read_text() == "text"
    assert stat.S_IMODE(loaded.stat().st_mode) == 0o750


def test_the_key_is_argos(storage: Storage, text: Path) -> None:
    assert key_of(storage.save(text)) == f"{storage.folder}/out.tgz"
    assert key_of(storage.save(text, archive=ZIP)) == f"{storage.folder}/out.zip"
    assert key_of(storage.save(text, archive=NONE)) == f"{storage.folder}/out"


def test_a_folder_comes_back_with_its_links(storage: Storage, folder: Path) -> None:
    loaded = storage.load(storage.save(folder))

    assert sorted(os.listdir(loaded / "sub")) == ["b", "link", "run"]
    assert (loaded / "sub" / "b").read_bytes() == (folder / "sub" / "b").read_bytes()
    assert os.readlink(loaded / "sub" / "link") == "../a"
    assert (loaded / "sub" / "run").stat().st_mode & 0o111


def test_a_link_out_of_a_saved_folder_is_refused_when_it_is_loaded(
    storage: Storage, folder: Path
) -> None:
    os.symlink("/etc/passwd", folder / "passwd")
    saved = storage.save(folder)

    with pytest.raises(ArtifactUnsafeError):
        storage.load(saved)

    assert not (storage.tmp / "in").exists()


def test_an_archive_read_as_it_is_stored_is_a_tarball(storage: Storage, text: Path) -> None:
    data = storage.bytes(storage.save(text))

    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        assert archive.getnames() == ["out"]


def test_an_archive_loaded_without_unpacking_stays_a_tarball(storage: Storage, text: Path) -> None:
    saved = storage.save(text)

    loaded = storage.load(msgspec.structs.replace(saved, archive=NONE))
    with tarfile.open(loaded, "r:gz") as archive:
        assert archive.getnames() == ["out"]


def test_a_tarball_stored_as_it_is_is_unpacked_when_loaded(
    storage: Storage, tmp_path: Path
) -> None:
    source = tmp_path / "out"
    source.write_text("inside")
    with tarfile.open(tmp_path / "ball", "w:gz") as archive:
        archive.add(source, "any")
    saved = storage.save(tmp_path / "ball", archive=NONE)

    loaded = storage.load(msgspec.structs.replace(saved, archive=None))
    assert loaded.read_text() == "inside"


def test_a_compression_level_of_zero_only_packs(storage: Storage, folder: Path) -> None:
    saved = storage.save(folder, archive=TAR)

    assert len(storage.bytes(saved)) > 100_000
    assert (storage.load(saved) / "a").read_text() == "a"


def test_a_plain_file_is_stored_as_it_is(storage: Storage, text: Path) -> None:
    saved = storage.save(text, archive=NONE)

    assert storage.bytes(saved) == b"text"
    assert storage.load(saved).read_text() == "text"


def test_a_plain_folder_is_stored_file_by_file(storage: Storage, folder: Path) -> None:
    saved = storage.save(folder, archive=NONE)

    keys = storage.repositories.list_keys(saved, namespace=SPACE)
    assert keys == [f"{key_of(saved)}/{name}" for name in ("a", "sub/b", "sub/run")]
    assert (storage.load(saved) / "sub" / "b").stat().st_size == 100_000


def test_a_sub_path_of_a_plain_folder_is_loaded_alone(storage: Storage, folder: Path) -> None:
    saved = storage.save(folder, archive=NONE)

    assert storage.load(append_to_key(saved, "a"), "file").read_text() == "a"
    assert sorted(os.listdir(storage.load(append_to_key(saved, "sub"), "dir"))) == ["b", "run"]


def test_a_zip_archive_is_packed_and_unpacked(storage: Storage, folder: Path) -> None:
    saved = storage.save(folder, archive=ZIP)

    with zipfile.ZipFile(io.BytesIO(storage.bytes(saved))) as archive:
        assert sorted(archive.namelist()) == ["out/a", "out/sub/b", "out/sub/run"]
    assert (storage.load(saved) / "a").read_text() == "a"


def test_an_empty_file_comes_back(storage: Storage, tmp_path: Path) -> None:
    (tmp_path / "out").touch()

    assert storage.load(storage.save(tmp_path / "out"), "x").read_bytes() == b""
    assert storage.load(storage.save(tmp_path / "out", archive=NONE), "y").read_bytes() == b""


def test_a_large_file_comes_back(storage: Storage, tmp_path: Path) -> None:
    data = os.urandom(1 << 20) * 12
    (tmp_path / "out").write_bytes(data)

    assert storage.load(storage.save(tmp_path / "out", archive=NONE)).read_bytes() == data


def test_a_key_alone_is_completed_by_the_repository(storage: Storage, text: Path) -> None:
    key = f"{storage.folder}/mine.tgz"
    saved = storage.save(text, s3=model.S3Artifact(key=key))

    again = storage.place("other", s3=model.S3Artifact(key=key))
    assert key_of(saved) == key
    assert storage.load(again).read_text() == "text"


def test_saving_again_replaces_what_was_there(storage: Storage, text: Path) -> None:
    storage.save(text)
    text.write_text("newer")

    assert storage.load(storage.save(text)).read_text() == "newer"


def test_what_is_missing_is_not_found(storage: Storage, tmp_path: Path) -> None:
    with pytest.raises(ArtifactNotFoundError):
        storage.load(storage.place("missing"))
    with pytest.raises(ArtifactNotFoundError):
        storage.bytes(storage.place("missing"))
    with pytest.raises(ArtifactNotFoundError):
        storage.save(tmp_path / "missing")

    assert not (storage.tmp / "in").exists()


def test_the_mode_of_an_artifact_is_set(storage: Storage, text: Path) -> None:
    saved = msgspec.structs.replace(storage.save(text), mode=0o444)

    assert stat.S_IMODE(storage.load(saved).stat().st_mode) == 0o444


def test_a_mode_may_go_down_the_tree(storage: Storage, folder: Path) -> None:
    saved = msgspec.structs.replace(storage.save(folder), mode=0o700, recurse_mode=True)

    loaded = storage.load(saved)
    assert stat.S_IMODE((loaded / "sub").stat().st_mode) == 0o700
    assert stat.S_IMODE((loaded / "sub" / "b").stat().st_mode) == 0o700


def test_a_link_is_not_followed_when_an_artifact_is_saved(storage: Storage, tmp_path: Path) -> None:
    os.symlink("/etc/passwd", tmp_path / "out")

    with pytest.raises(ArtifactUnsafeError):
        storage.save(tmp_path / "out")


def test_a_path_of_another_root_stays_in_that_root(storage: Storage, tmp_path: Path) -> None:
    root = tmp_path / "root-of-task"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "passwd").write_text("the task's own")
    os.symlink("/etc/passwd", root / "out")

    saved = storage.repositories.save(Path("/out"), storage.place(), namespace=SPACE, root=root)
    assert storage.load(saved).read_text() == "the task's own"


def test_a_destination_of_another_root_stays_in_that_root(
    storage: Storage, text: Path, folder: Path, tmp_path: Path
) -> None:
    root, outside = tmp_path / "volume", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    os.symlink(outside, root / "absolute")
    os.symlink("../outside", root / "relative")
    os.symlink(outside / "file", root / "file")
    for number, path in enumerate((text, folder)):
        saved = storage.save(path)
        for place in (f"absolute/x{number}", f"relative/x{number}", f"new/x/{number}", "file"):
            with contextlib.suppress(ArtifactError):
                storage.repositories.load(saved, Path("/", place), namespace=SPACE, root=root)

    assert os.listdir(outside) == []
    assert (root / "new" / "x" / "0").read_text() == "text"
    assert (root / "new" / "x" / "1" / "a").read_text() == "a"


def test_a_file_at_the_destination_is_replaced(storage: Storage, text: Path) -> None:
    (storage.tmp / "in").write_text("old")

    assert storage.load(storage.save(text)).read_text() == "text"


def test_a_folder_at_the_destination_is_left_alone(storage: Storage, folder: Path) -> None:
    (storage.tmp / "in").mkdir()
    (storage.tmp / "in" / "kept").write_text("kept")
    saved = storage.save(folder)

    with pytest.raises(ArtifactError):
        storage.load(saved)

    assert os.listdir(storage.tmp / "in") == ["kept"]


def test_an_artifact_beyond_the_caps_is_not_loaded(
    make_storage: Callable[..., Storage], folder: Path
) -> None:
    large, small = make_storage(), make_storage(limits=Limits(max_bytes=50_000))

    for archive in (None, NONE, ZIP):
        saved = large.save(folder, archive=archive)
        with pytest.raises(ArtifactUnsafeError):
            small.load(saved)

    assert not (small.tmp / "in").exists()


def test_an_artifact_beyond_the_caps_is_not_saved(
    make_storage: Callable[..., Storage], folder: Path, text: Path
) -> None:
    storage = make_storage(limits=Limits(max_bytes=50_000))
    os.truncate(text, 1 << 40)

    for path in (text, folder):
        with pytest.raises(ArtifactUnsafeError):
            storage.save(path)


def test_a_deleted_artifact_is_gone(storage: Storage, text: Path, folder: Path) -> None:
    for saved in (storage.save(text), storage.save(folder, archive=NONE)):
        storage.repositories.delete(saved, namespace=SPACE)
        storage.repositories.delete(saved, namespace=SPACE)

        with pytest.raises(ArtifactNotFoundError):
            storage.load(saved)


def test_garbage_collection_reports_on_each_artifact(storage: Storage, text: Path) -> None:
    saved = storage.save(text)
    raw = model.Artifact(name="raw", raw=model.RawArtifact(data="x"))

    report = collect(storage.repositories, [raw, saved], namespace=SPACE)

    assert [(item.name, item.deleted) for item in report] == [("raw", False), ("out", True)]


def test_the_own_strategy_of_an_artifact_comes_first(storage: Storage, text: Path) -> None:
    saved = storage.save(text)
    kept = msgspec.structs.replace(saved, artifact_gc=model.ArtifactGC(strategy="Never"))
    workflow = model.ArtifactGC(strategy="OnWorkflowDeletion")

    assert is_due(saved, workflow, "OnWorkflowDeletion")
    assert not is_due(saved, workflow, "OnWorkflowCompletion")
    assert not is_due(kept, workflow, "OnWorkflowDeletion")
    assert not is_due(saved, None, "OnWorkflowDeletion")


def test_keys_below_a_prefix_are_listed(storage: Storage, folder: Path) -> None:
    saved = storage.save(folder, archive=NONE)

    keys = storage.repositories.list_keys(saved, "sub", namespace=SPACE)
    assert keys == [f"{key_of(saved)}/sub/b", f"{key_of(saved)}/sub/run"]


def test_a_folder_without_keys_is_not_found(storage: Storage) -> None:
    with pytest.raises(ArtifactNotFoundError, match="no key found"):
        storage.repositories.list_keys(storage.place("missing"), namespace=SPACE)


def test_an_unusable_key_is_refused(storage: Storage, text: Path) -> None:
    with pytest.raises(ArtifactError):
        storage.save(text, s3=model.S3Artifact(key="a/../../b"))


def test_a_repository_may_be_named_by_a_template(storage: Storage, text: Path) -> None:
    location = storage.repositories.repository(SPACE).location()
    artifact = model.Artifact(name="out", path="/tmp/out")

    resolved = storage.repositories.resolve(
        artifact, namespace=SPACE, repository=location, default_key=storage.folder
    )
    assert resolved == storage.place()


def test_a_bucket_that_is_not_ours_needs_the_policys_consent(
    s3_endpoint: str, tmp_path: Path
) -> None:
    config = ArtifactConfig(durable=False)
    repositories = Repositories(root=tmp_path / "root", config=config, secrets=read_secret)
    place = s3_repository(s3_endpoint).location().s3
    assert place is not None
    artifact = model.Artifact(name="x", s3=msgspec.structs.replace(place, key="k"))

    with pytest.raises(ArtifactError) as caught:
        repositories.load(artifact, tmp_path / "in", namespace=SPACE)

    assert caught.value.code == "egress_denied"


@pytest.mark.parametrize("allowed", [False, True])
def test_this_machines_log_in_is_not_for_a_bucket_that_a_workflow_names_unless_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: bool
) -> None:
    canary = "canary-session-token"
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, canary)
    seen: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=_note_requests, args=(listener, seen))
    thread.start()
    endpoint = f"127.0.0.1:{listener.getsockname()[1]}"
    config = ArtifactConfig(egress=Egress(allow=("127.0.0.1",)), allow_machine_credentials=allowed)
    repositories = Repositories(root=tmp_path / "root", config=config, secrets=read_secret)
    place = model.S3Artifact(
        endpoint=endpoint, bucket="b", key="k", insecure=True, use_sdk_creds=True
    )

    with pytest.raises(ArtifactError):
        repositories.load(model.Artifact(name="x", s3=place), tmp_path / "in", namespace=SPACE)

    listener.close()
    thread.join()
    assert [canary.encode() in request for request in seen] == [allowed, allowed]


def _note_requests(listener: socket.socket, seen: list[bytes]) -> None:
    """Answer two requests (the object, then the objects below it) with: no such thing."""
    for _ in range(2):
        connection, _ = listener.accept()
        with connection:
            seen.append(connection.recv(65536))
            connection.sendall(
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )


def test_a_missing_bucket_is_made_when_the_location_says_so(
    s3_endpoint: str, tmp_path: Path
) -> None:
    place = s3_repository(s3_endpoint).s3
    assert place is not None
    made = model.CreateS3BucketOptions()
    place = msgspec.structs.replace(
        place, bucket="new-bucket", region="eu-west-1", create_bucket_if_not_present=made
    )
    config = ArtifactConfig(artifact_repository=ArtifactRepository(s3=place))
    repositories = Repositories(root=tmp_path / "root", config=config, secrets=read_secret)
    (tmp_path / "out").write_text("text")
    artifact = model.Artifact(name="out", path="/out")
    resolved = repositories.resolve(artifact, namespace=SPACE, default_key="w/p")
    for _ in range(2):
        repositories.save(tmp_path / "out", resolved, namespace=SPACE)

    repositories.load(resolved, tmp_path / "in", namespace=SPACE)
    assert (tmp_path / "in").read_text() == "text"


def test_a_plain_folder_is_read_as_a_tarball(storage: Storage, folder: Path) -> None:
    data = storage.bytes(storage.save(folder, archive=NONE))

    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        assert "out/sub/b" in archive.getnames()
