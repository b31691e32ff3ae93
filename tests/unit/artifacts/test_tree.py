"""Whatever names, links and orders somebody chooses, a tree stays inside its folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiphys.artifacts.limits import Limits
from tiphys.artifacts.tree import TreeWriter, split_name
from tiphys.artifacts.unpack import landing
from tiphys.errors import ArtifactError, ArtifactUnsafeError

PARTS = st.sampled_from(["a", "b", "l", "m", "..", ".", "", "outside", "secret"])
PATHS = st.lists(PARTS, min_size=1, max_size=5).map("/".join)
ENTRIES = st.tuples(st.sampled_from(["file", "folder", "link", "hard"]), PATHS, PATHS)


@settings(max_examples=200, deadline=None)
@given(entries=st.lists(ENTRIES, max_size=8))
def test_no_sequence_of_entries_leaves_its_folder(entries: list[tuple[str, str, str]]) -> None:
    world = Path(tempfile.mkdtemp())
    try:
        (world / "outside").mkdir()
        (world / "outside" / "secret").write_text("secret")
        (world / "secret").write_text("secret")
        landed = _write(entries, world / "artifact")

        assert (world / "secret").read_text() == "secret"
        assert (world / "outside" / "secret").read_text() == "secret"
        assert (world / "secret").stat().st_nlink == 1
        assert sorted(os.listdir(world / "outside")) == ["secret"]
        expected = ["artifact", "outside", "secret"] if landed else ["outside", "secret"]
        assert sorted(os.listdir(world)) == expected
        for path in _links(world / "artifact"):
            assert path.resolve().is_relative_to((world / "artifact").resolve())
    finally:
        shutil.rmtree(world)


def _write(entries: list[tuple[str, str, str]], destination: Path) -> bool:
    try:
        with landing(destination, Limits()) as writer:
            for kind, name, target in entries:
                _write_entry(writer, kind, name, target)
    except ArtifactUnsafeError:
        return False
    return True


def _write_entry(writer: TreeWriter, kind: str, name: str, target: str) -> None:
    match kind:
        case "file":
            writer.file(name, iter([b"data"]), mode=0o644)
        case "folder":
            writer.directory(name)
        case "link":
            writer.symlink(name, target)
        case _:
            writer.hard_link(name, target)


def _links(tree: Path) -> list[Path]:
    return [
        Path(folder, name)
        for folder, folders, files in os.walk(tree)
        for name in [*folders, *files]
        if Path(folder, name).is_symlink()
    ]


def test_a_single_entry_lands_at_the_destination(tmp_path: Path) -> None:
    with landing(tmp_path / "x", Limits()) as writer:
        writer.file("only", iter([b"data"]), mode=0o640)

    assert (tmp_path / "x").read_bytes() == b"data"


def test_several_entries_become_a_folder(tmp_path: Path) -> None:
    with landing(tmp_path / "x", Limits()) as writer:
        writer.file("one", iter([b"1"]), mode=0o644)
        writer.file("two", iter([b"2"]), mode=0o644)

    assert sorted(os.listdir(tmp_path / "x")) == ["one", "two"]


def test_a_link_inside_its_folder_is_kept(tmp_path: Path) -> None:
    with landing(tmp_path / "x", Limits()) as writer:
        writer.symlink("top/sub/link", "../file")
        writer.file("top/file", iter([b"data"]), mode=0o644)

    assert os.readlink(tmp_path / "x" / "sub" / "link") == "../file"
    assert (tmp_path / "x" / "sub" / "link").read_bytes() == b"data"


def test_a_file_keeps_its_mode_but_is_not_writable_for_others(tmp_path: Path) -> None:
    with landing(tmp_path / "x", Limits()) as writer:
        writer.file("run", iter([b""]), mode=0o777)

    assert (tmp_path / "x").stat().st_mode & 0o7777 == 0o755


def test_nothing_is_left_when_the_source_breaks_off(tmp_path: Path) -> None:
    def broken() -> None:
        with landing(tmp_path / "x", Limits()) as writer:
            writer.file("one", iter([b"1"]), mode=0o644)
            raise ArtifactError("broken")

    with pytest.raises(ArtifactError, match="broken"):
        broken()

    assert os.listdir(tmp_path) == []


def test_an_existing_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "kept").write_text("kept")

    with pytest.raises(ArtifactError, match="not empty"), landing(tmp_path / "x", Limits()):
        pass

    assert (tmp_path / "x" / "kept").read_text() == "kept"


@pytest.mark.parametrize("name", ["/x", "../x", "a/../x", "x\0", "a/" * 300 + "x", "x" * 256])
def test_a_name_that_cannot_stay_inside_is_refused(name: str) -> None:
    with pytest.raises(ArtifactUnsafeError):
        split_name(name)


def test_dots_and_empty_parts_of_a_name_do_not_count() -> None:
    assert split_name("./a//b/.") == ("a", "b")
