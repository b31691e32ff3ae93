"""The local repository keeps content by namespace and key."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from tiphys.artifacts.local import LocalStore
from tiphys.errors import ArtifactError, ArtifactNotFoundError, ArtifactUnsafeError

SPACE = "default"


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "repository", durable=False)


def put(store: LocalStore, key: str, path: Path, *, packed: bool = False) -> None:
    source = os.open(path, os.O_RDONLY)
    try:
        if packed:
            store.put_packed(SPACE, key, source, path.name)
        else:
            store.put(SPACE, key, source)
    finally:
        os.close(source)


def make(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_file_lies_under_its_namespace_and_key(store: LocalStore, tmp_path: Path) -> None:
    put(store, "a/b.txt", make(tmp_path / "f", "text"))

    assert (tmp_path / "repository" / SPACE / "a" / "b.txt").read_text() == "text"


def test_a_packed_file_keeps_the_name_it_had(store: LocalStore, tmp_path: Path) -> None:
    put(store, "w/p/out.tgz", make(tmp_path / "result.txt", "text"), packed=True)

    found = store.find(SPACE, "w/p/out.tgz")
    assert found.packed
    assert found.name == "result.txt"


def test_a_key_is_not_found_in_another_namespace(store: LocalStore, tmp_path: Path) -> None:
    put(store, "a", make(tmp_path / "f", "text"))

    with pytest.raises(ArtifactNotFoundError):
        store.find("other", "a")


@pytest.mark.parametrize("key", ["../x", "a/../../x", "a\0b", "x" * 5000])
def test_a_key_that_leaves_its_namespace_is_refused(store: LocalStore, key: str) -> None:
    with pytest.raises(ArtifactUnsafeError):
        store.find(SPACE, key)


@pytest.mark.parametrize("namespace", ["", "..", ".staging", "a/b", "A", "a\n"])
def test_what_is_not_a_namespace_is_refused(store: LocalStore, namespace: str) -> None:
    with pytest.raises(ArtifactUnsafeError):
        store.find(namespace, "a")


def test_a_key_cannot_reach_into_a_packed_folder(store: LocalStore, tmp_path: Path) -> None:
    put(store, "out.tgz", make(tmp_path / "folder" / "inner", "text").parent, packed=True)

    with pytest.raises(ArtifactNotFoundError):
        store.find(SPACE, "out.tgz%tgz/inner")


def test_a_percent_sign_of_a_key_comes_back(store: LocalStore, tmp_path: Path) -> None:
    put(store, "a%25/b%tgz", make(tmp_path / "f", "text"))

    assert store.list_keys(SPACE, "") == ["a%25/b%tgz"]
    assert not store.find(SPACE, "a%25/b%tgz").packed


def test_the_newest_content_of_a_key_counts(store: LocalStore, tmp_path: Path) -> None:
    for packed, text in ((True, "1"), (True, "2"), (False, "3"), (False, "4"), (True, "5")):
        put(store, "k", make(tmp_path / "f", text), packed=packed)

        found = store.find(SPACE, "k")
        assert (found.packed, found.path.read_text()) == (packed, text)


def test_a_saved_folder_joins_the_keys_below(store: LocalStore, tmp_path: Path) -> None:
    put(store, "k", make(tmp_path / "one" / "a", "1").parent)
    put(store, "k", make(tmp_path / "two" / "sub" / "b", "2").parent.parent)

    assert store.list_keys(SPACE, "k") == ["k/a", "k/sub/b"]


def test_a_packed_key_leaves_the_keys_below_alone(store: LocalStore, tmp_path: Path) -> None:
    put(store, "k/a", make(tmp_path / "f", "1"))
    put(store, "k", make(tmp_path / "f", "2"), packed=True)
    store.delete(SPACE, "k")

    assert store.list_keys(SPACE, "") == ["k/a"]


def test_a_key_cannot_be_a_file_and_a_folder_at_once(store: LocalStore, tmp_path: Path) -> None:
    put(store, "k/a", make(tmp_path / "f", "1"))
    put(store, "x", make(tmp_path / "f", "1"))

    with pytest.raises(ArtifactError, match="at once"):
        put(store, "k", tmp_path / "f")
    with pytest.raises(ArtifactError, match="at once"):
        put(store, "x/y", tmp_path / "f")


def test_links_of_a_plain_folder_are_left_out(store: LocalStore, tmp_path: Path) -> None:
    make(tmp_path / "folder" / "file", "text")
    os.symlink("/etc/passwd", tmp_path / "folder" / "link")
    put(store, "k", tmp_path / "folder")

    assert store.list_keys(SPACE, "k") == ["k/file"]


def test_pipes_and_sockets_are_left_out(store: LocalStore, tmp_path: Path) -> None:
    make(tmp_path / "folder" / "file", "text")
    os.mkfifo(tmp_path / "folder" / "pipe")
    put(store, "k", tmp_path / "folder", packed=True)

    assert os.listdir(store.find(SPACE, "k").path) == ["file"]


def test_set_user_id_is_not_kept(store: LocalStore, tmp_path: Path) -> None:
    make(tmp_path / "f", "x").chmod(0o4755)
    put(store, "k", tmp_path / "f", packed=True)

    assert stat.S_IMODE(store.find(SPACE, "k").path.stat().st_mode) == 0o755


def test_a_shared_file_is_the_same_file(store: LocalStore, tmp_path: Path) -> None:
    path = make(tmp_path / "f", "text")
    source = os.open(path, os.O_RDONLY)
    store.put_packed(SPACE, "k", source, "f", link_from=path)
    os.close(source)

    assert store.find(SPACE, "k").path.stat().st_ino == path.stat().st_ino


def test_a_file_swapped_after_it_was_opened_is_not_shared(
    store: LocalStore, tmp_path: Path
) -> None:
    path = make(tmp_path / "f", "first")
    source = os.open(path, os.O_RDONLY)
    path.unlink()
    make(path, "second")
    store.put_packed(SPACE, "k", source, "f", link_from=path)
    os.close(source)

    assert store.find(SPACE, "k").path.read_text() == "first"


def test_deleting_tidies_up_and_may_be_repeated(store: LocalStore, tmp_path: Path) -> None:
    put(store, "a/b/c", make(tmp_path / "f", "text"))
    store.delete(SPACE, "a/b/c")
    store.delete(SPACE, "a/b/c")

    assert os.listdir(tmp_path / "repository" / SPACE) == []
    assert os.listdir(tmp_path / "repository" / ".staging") == []


def test_a_folder_and_a_file_may_replace_each_other_when_packed(
    store: LocalStore, tmp_path: Path
) -> None:
    tree = make(tmp_path / "folder" / "file", "text").parent
    for path in (tree, tmp_path / "folder" / "file", tree, tree):
        put(store, "k", path, packed=True)

        assert store.find(SPACE, "k").path.is_dir() is path.is_dir()
    assert os.listdir(tmp_path / "repository" / ".staging") == []


def test_what_a_dead_writer_left_is_swept(store: LocalStore, tmp_path: Path) -> None:
    with store.temporary() as lent:
        make(lent / "left", "x")
        old = lent.parent / "old"
        lent.rename(old)
    os.utime(old, (1000, 1000))
    make(lent.parent / "young", "x")

    assert store.sweep(before=2000) == 1
    assert os.listdir(lent.parent) == ["young"]


def test_a_durable_store_keeps_files_and_large_folders(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "repository")
    for number in range(40):
        make(tmp_path / "folder" / str(number), "text")
    put(store, "packed", tmp_path / "folder", packed=True)
    put(store, "plain", tmp_path / "folder")
    put(store, "file", tmp_path / "folder" / "1")
    store.put_chunks(SPACE, "chunks", iter([b"a", b"b"]))

    assert len(os.listdir(store.find(SPACE, "packed").path)) == 40
    assert len(store.list_keys(SPACE, "plain")) == 40
    assert store.find(SPACE, "chunks").path.read_bytes() == b"ab"


def test_many_threads_may_write_and_delete_the_same_keys(store: LocalStore, tmp_path: Path) -> None:
    path = make(tmp_path / "f", "text")
    problems: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(30):
                put(store, f"a/b/{turn % 3}", path, packed=bool(number % 2))
                store.delete(SPACE, f"a/b/{(turn + 1) % 3}")
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert problems == []
    assert os.listdir(tmp_path / "repository" / ".staging") == []
