"""A name that is taken, and crashes around it: one workflow has it, and nobody else is harmed."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.chaos.flow import stages
from tests.chaos.helm import FULL, Helm, seed_of_run
from tiphys.errors import TiphysError
from tiphys.testing.ledger import Ledger

ROUNDS = 20 if FULL else 3
AT_ONCE = 8


def _hand_in(helm: Helm, flow: dict[str, Any]) -> str:
    """Submit; give the code of the refusal, or nothing."""
    try:
        helm.hand_in(flow)
    except TiphysError as error:
        return error.code
    return ""


def test_of_many_with_one_name_one_is_taken_and_the_server_goes_on(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    other, others = stages("other", ledger, count=3, width=5)
    flow, keys = _stage("same", ledger)
    with Helm(tmp_path) as helm:
        served = helm.up()
        helm.hand_in(other)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            codes = list(pool.map(lambda _: _hand_in(helm, flow), range(AT_ONCE)))

        assert sorted(codes) == ["", *["conflict"] * (AT_ONCE - 1)]
        assert helm.ask("wait", key="same")["phase"] == "Succeeded"
        assert helm.ask("wait", key="other")["phase"] == "Succeeded"
        assert _hand_in(helm, flow) == "conflict", "the name of one that has ended is taken, too"
        assert served.process.poll() is None
        assert ledger.problems([*others, *keys]) == []


def test_who_submits_again_after_a_crash_never_runs_it_twice(
    tmp_path: Path, record_property: Any
) -> None:
    seed = seed_of_run()
    chance = random.Random(seed)
    ledger = Ledger(tmp_path / "ledger")
    keys: list[str] = []
    refused = 0
    with Helm(tmp_path) as helm:
        for number in range(ROUNDS):
            flow, own = _stage(f"r{number}", ledger)
            keys += own
            served = helm.up()
            first = threading.Thread(target=_try, args=(helm, flow))
            first.start()
            time.sleep(chance.choice([0.0, 0.02, 0.1, 0.3]))
            served.kill()
            first.join()
            again = helm.up()

            code = _hand_in(helm, flow)

            refused += bool(code)
            assert code in {"", "conflict"}, f"seed {seed}, round {number}"
            assert helm.ask("wait", key=f"r{number}")["phase"] == "Succeeded", f"seed {seed}"
            again.end()
        assert ledger.problems(keys) == [], f"seed {seed}"
    record_property("stored before the crash", f"{refused} of {ROUNDS}")


def _try(helm: Helm, flow: dict[str, Any]) -> None:
    try:
        helm.hand_in(flow)
    except (TiphysError, OSError, AssertionError):
        return


def _stage(name: str, ledger: Ledger) -> tuple[dict[str, Any], list[str]]:
    """Give a workflow of two tasks with keys of their own: one ledger is kept for all."""
    flow, keys = stages(name, ledger, count=1, width=2)
    ((step,),) = flow["spec"]["templates"][0]["steps"]
    (parameter,) = step["arguments"]["parameters"]
    parameter["value"] = f"{name}-{parameter['value']}"
    return flow, [f"{name}-{key}" for key in keys]
