"""Queues as Volcano's manifests, and the files that ship."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tiphys.errors import InvalidInputError
from tiphys.scheduling.queue_manifest import (
    change_of,
    manifest_of,
    plan_of,
    preset_manifests,
    spec_of,
)

ROOT = Path(__file__).resolve().parents[3]


def test_what_a_server_makes_is_what_ships_as_a_file() -> None:
    shipped = list(yaml.safe_load_all((ROOT / "deploy/queues.yaml").read_text()))

    assert preset_manifests() == shipped


def test_a_plan_goes_to_volcano_and_comes_back() -> None:
    plan = {
        "name": "night",
        "parent": "root",
        "weight": 3,
        "priority": 5,
        "reclaimable": False,
        "strict": True,
        "capability": {"cpu": "4"},
        "deserved": {"cpu": "2"},
        "guarantee": {"cpu": "1"},
    }

    thing = manifest_of("night", spec_of(plan))

    assert thing["spec"]["guarantee"] == {"resource": {"cpu": "1"}}
    assert plan_of(thing) == {**plan, "state": "Open"}


@pytest.mark.parametrize("word", ["maxParallel", "borrowingLimit", "preempt", "fair", "colour"])
def test_what_volcano_has_no_word_for_is_refused(word: str) -> None:
    with pytest.raises(InvalidInputError, match=word):
        spec_of({"name": "q", word: 1})


@pytest.mark.parametrize("weight", [0, 65536])
def test_a_weight_beyond_volcanos_range_is_refused(weight: int) -> None:
    with pytest.raises(InvalidInputError, match="weight"):
        spec_of({"name": "q", "weight": weight})


def test_a_change_removes_amounts_that_are_not_in_it() -> None:
    known = {"spec": {"capability": {"cpu": "2", "memory": "1Gi"}, "weight": 4}}

    assert change_of(known, {"capability": {"cpu": "1"}}) == {
        "capability": {"cpu": "1", "memory": None}
    }
