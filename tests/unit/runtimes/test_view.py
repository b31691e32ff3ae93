"""Finding what a container saw, from its upper layer and the host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tiphys.executor.protocol import Mount
from tiphys.runtimes.view import View


@pytest.fixture
def upper(tmp_path: Path) -> Path:
    upper = tmp_path / "upper"
    upper.mkdir()
    return upper


def content(view: View, path: str, tmp_path: Path) -> str | None:
    place = view.open_place(path, tmp_path / "spare")
    return None if place is None else place.read_text()


def test_a_new_file_is_found_in_the_upper_layer(upper: Path, tmp_path: Path) -> None:
    (upper / "result.txt").write_text("new")

    assert content(View(upper, ()), "/result.txt", tmp_path) == "new"


def test_what_was_not_touched_is_the_hosts(upper: Path, tmp_path: Path) -> None:
    (tmp_path / "host").write_text("old")

    assert content(View(upper, ()), str(tmp_path / "host"), tmp_path) == "old"


def test_links_are_followed_as_the_container_would(upper: Path, tmp_path: Path) -> None:
    (tmp_path / "target").write_text("host's")
    inside = upper / str(tmp_path).lstrip("/")
    inside.mkdir(parents=True)
    (inside / "target").write_text("container's")
    os.symlink(tmp_path / "target", upper / "link")
    os.symlink("../../../../../../../link", inside / "dots")

    view = View(upper, ())

    assert content(view, "/link", tmp_path) == "container's"
    assert content(view, f"{tmp_path}/dots", tmp_path) == "container's"


def test_links_in_a_circle_lead_nowhere(upper: Path, tmp_path: Path) -> None:
    os.symlink("/b", upper / "a")
    os.symlink("/a", upper / "b")

    assert content(View(upper, ()), "/a", tmp_path) is None


def test_a_deleted_file_is_gone(upper: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a whiteout by hand")
    (tmp_path / "host").write_text("old")
    above = upper / str(tmp_path).lstrip("/")
    above.mkdir(parents=True)
    os.mknod(above / "host", 0o20000, os.makedev(0, 0))

    assert content(View(upper, ()), str(tmp_path / "host"), tmp_path) is None


def test_an_opaque_folder_hides_the_hosts(upper: Path, tmp_path: Path) -> None:
    (tmp_path / "host").write_text("old")
    above = upper / str(tmp_path).lstrip("/")
    above.mkdir(parents=True)
    os.setxattr(above, "user.overlay.opaque", b"y")

    assert content(View(upper, ()), str(tmp_path / "host"), tmp_path) is None


def test_a_path_inside_a_volume_is_read_from_the_volume(upper: Path, tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    (volume / "file").write_text("volume's")
    (upper / "mnt").mkdir()
    (upper / "mnt" / "file").write_text("hidden")

    view = View(upper, (Mount(str(volume), "/mnt"),))

    assert content(view, "/mnt/file", tmp_path) == "volume's"


def test_a_link_in_a_volume_stays_in_the_view(upper: Path, tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    os.symlink("/only-on-the-host", volume / "out")

    assert View(upper, (Mount(str(volume), "/mnt"),)).locate("/mnt/out") is None


def test_a_folder_of_both_is_put_together(upper: Path, tmp_path: Path) -> None:
    host = tmp_path / "folder"
    (host / "deep").mkdir(parents=True)
    (host / "old").touch()
    (host / "deep" / "old").touch()
    above = upper / str(host).lstrip("/")
    (above / "deep").mkdir(parents=True)
    (above / "deep" / "new").touch()

    place = View(upper, ()).open_place(str(host), tmp_path / "spare")

    assert place == tmp_path / "spare"
    found = sorted(str(p.relative_to(place)) for p in place.rglob("*"))
    assert found == ["deep", "deep/new", "deep/old", "old"]


def test_a_file_of_a_volume_is_to_be_opened_below_the_volume(tmp_path: Path) -> None:
    (tmp_path / "volume" / "sub").mkdir(parents=True)
    view = View(tmp_path / "upper", [Mount(str(tmp_path / "volume"), "/data")])

    inside = view.within(tmp_path / "volume" / "sub" / "f")
    itself = view.within(tmp_path / "volume")

    assert inside == (tmp_path / "volume", Path("/sub/f"), False)
    assert itself == (tmp_path / "volume", Path("/"), False)


def test_only_what_lies_in_the_upper_layer_is_the_attempts_own(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("x")
    view = View(tmp_path / "upper", [Mount(str(tmp_path / "input"), "/in")])

    assert view.within(tmp_path / "upper" / "f") == (None, tmp_path / "upper" / "f", True)
    assert view.within(tmp_path / "input") == (None, tmp_path / "input", False)
    assert view.within(Path("/etc/passwd")) == (None, Path("/etc/passwd"), False)
