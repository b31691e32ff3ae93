"""What Volcano writes into a PodGroup, as we read and count it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tiphys.api.gang_metrics import GangMetrics
from tiphys.control.waits import Waits
from tiphys.ports import GANG_GONE, GangChanged
from tiphys.runtimes.kubernetes_gangs import Look

BLOCKED = {
    "type": "Unschedulable",
    "status": "True",
    "reason": "NotEnoughResources",
    "message": "2/3 tasks in gang unschedulable",
    "lastTransitionTime": "2026-01-01T00:00:02Z",
}
PLACED = {"type": "Scheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:01Z"}
CHANGE = GangChanged(
    id="",
    at=130.0,
    workflow_uid="u",
    gang="pg-u",
    queue="batch",
    size=3,
    was="Pending",
    phase="Running",
    made_at=100.0,
    members=("u.1", "u.2"),
)


@pytest.mark.parametrize(
    ("status", "look"),
    [
        ({}, Look("Pending")),
        ({"phase": "Inqueue", "conditions": [PLACED, BLOCKED]},
         Look("Inqueue", "NotEnoughResources", "2/3 tasks in gang unschedulable")),
        ({"phase": "Running", "conditions": [BLOCKED]}, Look("Running")),
        ({"phase": "Inqueue", "conditions": [PLACED]}, Look("Inqueue")),
    ],
)  # fmt: skip
def test_the_latest_condition_counts_as_long_as_the_group_waits(
    status: dict[str, Any], look: Look
) -> None:
    assert Look.of({"status": status}) == look


def test_a_group_is_counted_where_it_stands_and_its_wait_once() -> None:
    metrics = GangMetrics()

    waited = [metrics.take(CHANGE), metrics.take(CHANGE)]
    lines = list(metrics.lines())
    metrics.take(msgspec.structs.replace(CHANGE, was="Running", phase=GANG_GONE))

    assert waited == [30.0, None]
    assert 'volcano_pod_groups{queue_id="volcano:batch",phase="Running"} 1' in lines
    assert not any(line.startswith("volcano_pod_groups{") for line in metrics.lines())


def test_the_wait_of_a_group_that_was_over_before_volcano_said_that_it_ran_is_counted() -> None:
    metrics = GangMetrics()
    inqueue = msgspec.structs.replace(CHANGE, phase="Inqueue")
    gone = msgspec.structs.replace(CHANGE, was="Inqueue", phase=GANG_GONE)

    ran = [metrics.take(inqueue), metrics.take(msgspec.structs.replace(gone, began_at=101.0))]
    never_ran = [metrics.take(inqueue), metrics.take(gone)]

    assert ran == [None, 1.0]
    assert never_ran == [None, None]


def test_only_news_is_put_on_record() -> None:
    waits = Waits()

    first = waits.take(CHANGE)
    again = waits.take(msgspec.structs.replace(CHANGE, news=False))

    assert first is not None
    assert first.text == "pg-u of 3 in queue batch: Pending → Running"
    assert again is None
