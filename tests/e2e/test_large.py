"""Large workflows come to their end: a wide one and a long one, through real processes and without.

With processes it is the whole of Tiphys and takes half a minute for the wide one; with a runtime
that does nothing it is the loop, the engine, the scheduler and the store.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tiphys.control.host import SystemClock
from tiphys.control.loop import Control
from tiphys.control.planning import Planning
from tiphys.control.record import Ledger, row_of
from tiphys.control.server import Quiet
from tiphys.engine import event as ev
from tiphys.engine.run import Run
from tiphys.scheduling import Resources
from tiphys.store import Store
from tiphys.testing.harness import load
from tiphys.testing.idle import IdleRuntime

TIPHYS = Path(sys.executable).with_name("tiphys")
WIDE = 10_000
LONG = 1_000


def _workflow(main: dict[str, Any]) -> str:
    leaf = {"name": "leaf", "container": {"image": "x", "command": ["/bin/true"]}}
    return json.dumps(
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Workflow",
            "metadata": {"name": "large"},
            "spec": {"entrypoint": "main", "templates": [{"name": "main"} | main, leaf]},
        }
    )


def _fan_out() -> tuple[str, int]:
    """Give a loop of no-ops, and how many nodes it makes: the loop, its group, and the leaves."""
    loop = {"name": "a", "template": "leaf", "withSequence": {"count": str(WIDE)}}
    return _workflow({"steps": [[loop]]}), WIDE + 2


def _chain() -> tuple[str, int]:
    """Give no-ops that wait for one another, and how many nodes they make with their DAG."""
    tasks = [{"name": "t0", "template": "leaf"}]
    tasks += [
        {"name": f"t{number}", "template": "leaf", "depends": f"t{number - 1}"}
        for number in range(1, LONG)
    ]
    return _workflow({"dag": {"tasks": tasks}}), LONG + 1


SHAPES = {"a fan-out of 10,000": _fan_out, "a chain of 1,000": _chain}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_large_workflow_of_real_processes_succeeds(shape: str, tmp_path: Path) -> None:
    text, size = SHAPES[shape]()
    (tmp_path / "large.json").write_text(text)

    done = subprocess.run(
        [TIPHYS, "run", "-q", "--runtime", "process", "-o", "json", "large.json"],
        capture_output=True,
        env={**os.environ, "HOME": str(tmp_path), "TIPHYS_DATA_DIR": str(tmp_path / "data")},
        cwd=tmp_path,
        timeout=280,
        check=False,
    )

    status = json.loads(done.stdout)["status"]
    assert (status["phase"], done.returncode) == ("Succeeded", 0)
    assert len(status["nodes"]) == size
    assert {node["phase"] for node in status["nodes"].values()} == {"Succeeded"}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_large_workflow_on_a_runtime_that_does_nothing_is_all_on_record(
    shape: str, tmp_path: Path
) -> None:
    text, size = SHAPES[shape]()
    run = load(text)

    started = asyncio.run(_play(run, tmp_path))

    assert started == {"a fan-out of 10,000": WIDE, "a chain of 1,000": LONG}[shape]
    with Store.open(tmp_path, owner=False) as store:
        assert store.workflow(run.uid).phase == "Succeeded"
        assert store.node_phases(run.uid) == {"Succeeded": size}


async def _play(run: Run, folder: Path) -> int:
    """Run to the end with a real store; give how many tasks were started."""
    clock = SystemClock()
    runtime = IdleRuntime(clock)
    ledger = Ledger(Store.open(folder, owner=True))
    control = Control(
        ledger=ledger,
        runtime=runtime,
        planning=Planning(Resources(cpu=4000, memory=2**32, pods=64)),
        clock=clock,
        watcher=Quiet(),
    )
    await control.open()
    ledger.submit(row_of(run, manifest=run.workflow, library=b"{}", source=""))
    control.add(run)
    control.send(run.uid, ev.RunStarted(at=clock.now()))
    turning = asyncio.create_task(control.serve())
    await asyncio.wait(
        {turning, asyncio.create_task(control.ended(run.uid))},
        return_when=asyncio.FIRST_COMPLETED,
    )
    turning.cancel()
    await asyncio.wait({turning})
    await control.close()
    ledger.close()
    return runtime.started
