"""``tiphys temporal report`` over real runs, and the worker's metrics."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio.client import Client

from tests.contract.api_server import ADMIN
from tests.integration.temporal.dev_server import free_port
from tests.integration.temporal.flows import How, RunJob
from tests.integration.temporal.rig import Rig, WorkerProcess, failure, job, wait_for
from tiphys.control.host import SystemClock

Workers = Callable[..., WorkerProcess]


def report(rig: Rig, before: str, after: str, *more: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "HOME": str(rig.folder),
        "TEMPORAL_ADDRESS": rig.temporal,
        "TIPHYS_SERVER": f"http://127.0.0.1:{rig.server.port}",
        "TIPHYS_TOKEN": ADMIN,
    }
    words = ["temporal", "report", "--before", before, "--after", after, *more]
    query = ["--query", f'TaskQueue = "{rig.queue}"']
    return subprocess.run(
        [sys.executable, "-m", "tiphys", *words, *query],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_two_spans_are_compared_by_what_both_sides_know(rig: Rig, worker: Workers) -> None:
    worker()
    begun = datetime.fromtimestamp(SystemClock().now(), UTC) - timedelta(seconds=1)

    async def story(client: Client) -> None:
        await (await rig.start(client, RunJob.run, job("true"), How())).result()
        await failure(await rig.start(client, RunJob.run, job("exit 1"), How()))

    rig.play(story)
    spans = (
        f"{(begun - timedelta(hours=2)).isoformat()}..{begun.isoformat()}",
        f"{begun.isoformat()}..",
    )

    def seen() -> Any:
        done = report(rig, *spans, "-o", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    # Visibility is written behind the workflows' backs.
    wait_for(lambda: bool(seen()["after"]["temporal"]["duration"]["count"] == 2), seen)
    found = seen()

    assert found["before"]["temporal"]["workflows"] == 0
    after = found["after"]
    assert (after["temporal"]["completed"], after["temporal"]["failed"]) == (1, 1)
    assert (after["tiphys"]["succeeded"], after["tiphys"]["failed"]) == (1, 1)
    assert after["tiphys"]["wait"]["count"] == 2
    assert after["tiphys"]["wait"]["p50"] > 0
    assert after["truncated"] is False
    shown = report(rig, *spans).stdout
    assert [line.split()[-2] for line in shown.splitlines() if "Temporal workflows" in line] == [
        "0"
    ]


def test_a_span_that_is_none_is_a_mistake_of_the_caller(rig: Rig) -> None:
    done = report(rig, "yesterday", "1h..now")

    assert done.returncode == 2
    assert "write it as A..B" in done.stderr


def test_wait_run_and_preemptions_are_metrics_of_the_worker(rig: Rig, worker: Workers) -> None:
    place = f"127.0.0.1:{free_port()}"
    worker(METRICS=place)

    async def story(client: Client) -> str:
        await (await rig.start(client, RunJob.run, job("true", queue="default"), How())).result()
        return await asyncio.to_thread(page, place)

    lines = rig.play(story).splitlines()

    wanted = (
        "tiphys_activity_wait_count",
        "tiphys_activity_run_count",
        "tiphys_activity_preemptions",
    )
    for name in wanted:
        assert any(line.startswith(name) and 'queue="default"' in line for line in lines), lines


def page(place: str) -> str:
    with urllib.request.urlopen(f"http://{place}/metrics") as answer:
        text: str = answer.read().decode()
    return text
