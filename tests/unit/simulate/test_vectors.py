"""Every scheduling vector's decision is reproduced, and a wrong decision is noticed."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tiphys.errors import InvalidInputError
from tiphys.simulate.vectors.__main__ import main
from tiphys.simulate.vectors.check import check, check_file

OWN = Path(__file__).with_name("more_vectors.yaml")
SHARED = Path(__file__).parents[4] / "shared" / "scheduling" / "vectors.yaml"


def _vectors(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    vectors: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))["vectors"]
    return vectors


ALL = [*_vectors(SHARED), *_vectors(OWN)]


@pytest.mark.parametrize("vector", ALL, ids=[vector["id"] for vector in ALL])
def test_the_decision_is_reproduced(vector: dict[str, Any]) -> None:
    result = check(vector)

    assert result.holds, result.line()


@pytest.mark.skipif(not SHARED.exists(), reason="the shared vectors are not here")
def test_the_command_exits_0_when_all_hold(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(SHARED)]) == 0
    assert capsys.readouterr().out.count("\n") == len(_vectors(SHARED)) + 1


def test_a_wrong_decision_fails_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors = _vectors(OWN)
    vectors[0]["expect"] = {"bind_count": 7}
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump({"vectors": vectors[:2]}))

    assert main([str(file)]) == 1
    assert "FAIL  GANG-selector: bind_count: expected 7, got 1" in capsys.readouterr().out


def _with(vector_id: str, **given: Any) -> dict[str, Any]:
    vector = copy.deepcopy(next(v for v in ALL if v["id"] == vector_id))
    vector["given"] |= given
    return vector


def test_a_vector_that_expects_no_eviction_is_not_hollow() -> None:
    freed = _with(
        "CAP-not-reclaimable",
        queues={"a": {"deserved": {"cpu": 2}}, "b": {"deserved": {"cpu": 2}}},
    )

    assert not check(freed).holds


def test_an_unknown_family_does_not_hold() -> None:
    result = check({"id": "X", "family": "slurm.backfill", "expect": {}})

    assert not result.holds
    assert "not known" in result.line()


def test_an_expectation_nobody_understands_does_not_hold() -> None:
    vector = _with("PREE-idle")
    vector["expect"] = {"colour": "blue"}

    assert "not understood" in check(vector).line()


def test_reclaim_from_an_open_queue_evicts_where_a_closed_one_may_not() -> None:
    vector = {
        "id": "X",
        "family": "volcano.reclaim",
        "cases": [
            {"given": {"reclaimer_queue_state": "Closed"}, "expect": {"evict_count": 0}},
            {"given": {"reclaimer_queue_state": "Open"}, "expect": {"evict_count": 1}},
        ],
    }

    assert check(vector).holds


def test_a_file_without_vectors_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "none.yaml"
    file.write_text("a: 1")

    with pytest.raises(InvalidInputError, match="no vectors"):
        list(check_file(file))
