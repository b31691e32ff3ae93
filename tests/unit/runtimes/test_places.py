"""Paths of the host that tasks without a sandbox use: shared, waited for, and always given back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tiphys.errors import RuntimeFailure
from tiphys.executor.protocol import Mount
from tiphys.runtimes.places import Places, TakenError


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "placed")


def mount(tmp_path: Path, target: str, source: str = "volume") -> Mount:
    (tmp_path / source).mkdir(exist_ok=True)
    return Mount(str(tmp_path / source), str(tmp_path / target))


def test_the_last_of_those_who_share_a_path_takes_it_away(places: Places, tmp_path: Path) -> None:
    shared = mount(tmp_path, "data")
    places.claim("a", [shared])
    places.claim("b", [shared])

    places.release("a")
    assert os.readlink(tmp_path / "data") == shared.source

    places.release("b")
    assert not os.path.lexists(tmp_path / "data")


def test_a_path_that_leads_elsewhere_for_another_is_taken(places: Places, tmp_path: Path) -> None:
    places.claim("a", [mount(tmp_path, "in", "one")])

    with pytest.raises(TakenError) as caught:
        places.claim("b", [mount(tmp_path, "in", "two")])

    assert caught.value.holders == {"a"}
    places.release("a")
    places.claim("b", [mount(tmp_path, "in", "two")])
    assert os.readlink(tmp_path / "in") == str(tmp_path / "two")


def test_a_claim_that_cannot_be_met_places_nothing(places: Places, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")

    with pytest.raises(RuntimeFailure, match="exists on this machine"):
        places.claim("a", [mount(tmp_path, "free"), mount(tmp_path, "mine")])

    assert not os.path.lexists(tmp_path / "free")
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "placed").exists()


def test_folders_go_with_the_last_who_needs_them(places: Places, tmp_path: Path) -> None:
    places.claim("a", [mount(tmp_path, "new/one")])
    places.claim("b", [mount(tmp_path, "new/two")])

    places.release("a")
    assert os.listdir(tmp_path / "new") == ["two"]

    places.release("b")
    assert not (tmp_path / "new").exists()


def test_a_volume_may_be_placed_inside_another(places: Places, tmp_path: Path) -> None:
    outer, inner = mount(tmp_path, "v", "outer"), mount(tmp_path, "v/deep/in", "inner")
    places.claim("a", [outer, inner])

    assert os.path.samefile(tmp_path / "v" / "deep" / "in", tmp_path / "inner")

    places.release("a")
    assert os.listdir(tmp_path / "outer") == []
    assert not os.path.lexists(tmp_path / "v")


def test_claims_outlive_the_process_that_made_them(places: Places, tmp_path: Path) -> None:
    shared = mount(tmp_path, "new/data")
    places.claim("a", [shared])
    places.claim("b", [shared])

    following = Places(tmp_path / "placed")
    following.release("a")
    assert (tmp_path / "new" / "data").is_symlink()

    following.keep(["c"])
    assert not (tmp_path / "new").exists()


def test_a_claim_cut_short_before_its_links_is_finished(places: Places, tmp_path: Path) -> None:
    wanted = mount(tmp_path, "new/data")
    places.claim("a", [wanted])
    os.unlink(tmp_path / "new" / "data")
    os.rmdir(tmp_path / "new")

    following = Places(tmp_path / "placed")
    following.claim("a", [wanted])
    assert os.readlink(tmp_path / "new" / "data") == wanted.source

    following.release("a")
    assert not (tmp_path / "new").exists()
    assert os.listdir(tmp_path / "placed") == []


def test_what_somebody_put_in_the_place_meanwhile_is_left_alone(
    places: Places, tmp_path: Path
) -> None:
    places.claim("a", [mount(tmp_path, "data")])
    os.unlink(tmp_path / "data")
    (tmp_path / "data").write_text("mine")

    places.release("a")

    assert (tmp_path / "data").read_text() == "mine"
