"""The samples that ship: sound for us, and of the sizes that they speak of."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tiphys.spec.lint import lint

SAMPLES = Path(__file__).resolve().parents[3] / "deploy/samples"
SIZES = {"single-task": 1, "campaign": 3, "directive": 5, "ray-job": 1}


def test_there_is_a_sample_of_each_kind() -> None:
    assert {path.stem for path in SAMPLES.glob("*.yaml")} == set(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_a_sample_is_sound_and_starts_as_one(name: str) -> None:
    path = SAMPLES / f"{name}.yaml"

    problems = lint([(path.name, path.read_bytes())])
    job = yaml.safe_load(path.read_text())

    assert list(problems) == []
    replicas = [task["replicas"] for task in job["spec"]["tasks"]]
    assert job["spec"]["minAvailable"] == sum(replicas) == SIZES[name]
    assert job["spec"]["queue"] in ("interactive", "batch", "analytics")
