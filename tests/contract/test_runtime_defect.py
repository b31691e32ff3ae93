"""A defect in the handling of files ends the task in Error; nobody waits for it for ever."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    "template",
    [
        shell("true", inputs=model.Inputs(artifacts=(RAW,))),
        shell("echo x > /tmp/made", model.Outputs(artifacts=(MADE,))),
    ],
    ids=["before the start", "after the end"],
)
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
