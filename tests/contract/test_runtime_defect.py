"""A defect in the handling of files ends the task in Error; nobody waits for it for ever."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.contract.machine import Machine, shell
from tiphys.artifacts import ArtifactConfig, Repositories
from tiphys.spec import model


class Defective(Repositories):
    """Raises what nobody expects."""

    def load(self, *_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("a defect")

    def save(self, *_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("a defect")


RAW = model.Artifact(name="raw", path="/tmp/raw", raw=model.RawArtifact(data="text"))
MADE = model.Artifact(name="made", path="/tmp/made")


BEFORE_AND_AFTER = pytest.mark.parametrize(
    "template",
    [
        shell("true", inputs=model.Inputs(artifacts=(RAW,))),
        shell("echo x > /tmp/made", model.Outputs(artifacts=(MADE,))),
    ],
    ids=["before the start", "after the end"],
)


@BEFORE_AND_AFTER
def test_a_defect_of_ours_is_told(template: model.Template, tmp_path: Path) -> None:
    machine = Machine(tmp_path / "data", "sandbox")
    machine.artifacts = Defective(
        root=tmp_path / "artifacts", config=ArtifactConfig(), secrets=lambda *_: b""
    )
    with machine:
        if not machine.usable:
            pytest.skip(machine.why)

        end = machine.run(template)

    assert end.phase == "Error"
    assert "ZeroDivisionError: a defect" in end.message


@BEFORE_AND_AFTER
def test_a_module_that_cannot_be_loaded_is_told(
    template: model.Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in an installation that is being replaced under a running server.
    monkeypatch.setitem(sys.modules, "tiphys.runtimes.staging", None)
    with Machine(tmp_path / "data", "sandbox") as machine:
        if not machine.usable:
            pytest.skip(machine.why)

        end = machine.run(template)

    assert end.phase == "Error"
    assert "tiphys.runtimes.staging" in end.message
