"""A server that is killed in the middle of a JobFlow: no Job is lost, run twice or restarted."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

from tests.chaos.flow import LINES
from tests.chaos.helm import Helm, seed_of_run
from tiphys.testing.ledger import Ledger, log_problems
from tiphys.testing.volcano import Document, flow, step, task, template, text

Record = Callable[[str, object], None]
JOBS, REPLICAS, WIDTH = 60, 3, 3


def _documents(ledger: Ledger) -> tuple[list[Document], list[str]]:
    """Give a flow of gangs whose pods keep the ledger, and the keys of all pods."""
    documents = [
        flow(
            "many", [step(f"j{n}", *([f"j{n - WIDTH}"] if n >= WIDTH else [])) for n in range(JOBS)]
        )
    ]
    for number in range(JOBS):
        # They take a while, so that some run through each crash.
        script = ledger.script(f"j{number}-$VC_TASK_INDEX", "sleep 0.4", lines=LINES)
        documents.append(template(f"j{number}", task("t", script, REPLICAS), plugins={"env": []}))
    return documents, [f"j{number}-{index}" for number in range(JOBS) for index in range(REPLICAS)]


def test_killing_the_server_in_the_middle_of_a_flow_loses_nothing(
    tmp_path: Path, record_property: Record
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    documents, keys = _documents(ledger)
    path = tmp_path / "flow.json"
    path.write_text(text(documents))
    seed = seed_of_run()
    record_property("seed", seed)
    dice = random.Random(seed)

    with Helm(tmp_path) as helm:
        served = helm.up()
        submitted = helm("submit", str(path))
        seen = []
        for _ in range(6):
            time.sleep(dice.uniform(0, 0.5))
            served.kill()
            seen.append(len(ledger.entries()))
            served = helm.up()
        record_property(f"of {2 * len(keys)} ledger lines there were at the kills", seen)
        waited = helm("wait", "many")
        status = helm.result("many")["status"]

        assert submitted.returncode == 0, submitted.stderr
        assert waited.returncode == 0, f"seed {seed}: {waited.stderr}"
        assert ledger.problems(keys) == [], f"seed {seed}"
        assert log_problems(helm("logs", "many").stdout, keys, lines=LINES) == [], f"seed {seed}"
        assert status["state"] == {"phase": "Succeed"}, f"seed {seed}"
        assert len(status["completedJobs"]) == JOBS, f"seed {seed}"
        assert {each["restartCount"] for each in status["jobStatusList"]} == {0}, f"seed {seed}"
        assert helm.integrity() == "ok", f"seed {seed}"
        assert helm.tasks() == [], f"seed {seed}"
