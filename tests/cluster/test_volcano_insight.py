"""What the real Volcano says of a gang, as events, numbers, log records and reasons."""

from __future__ import annotations

from tests.cluster.deck import Deck
from tests.cluster.test_volcano import LAYER, cpu_of_node
from tiphys.client import calls


def test_a_gang_that_cannot_be_placed_tells_why(deck: Deck) -> None:
    queue = deck.queue("short")
    request = f"{cpu_of_node(deck.helm) * 2 // 5}m"
    run = deck.submit(LAYER.replace("CPU", request), queue)

    def reasons() -> list[str]:
        return [row.reason for row in deck.client.do(calls.explain(run))]

    deck.until(lambda: any("minAvailable" in each for each in reasons()), "Volcano's reason")
    told = reasons()
    status = deck.client.do(calls.get_queue_status(f"q-volcano:{queue}"))
    numbers = deck.metrics()
    running = deck.pods(run, "Running")
    deck.client.do(calls.terminate(run))
    deck.ended(run)
    deck.until(lambda: not deck.groups(), "the end of the group")
    deck.until(lambda: f'queue_id="volcano:{queue}",phase="Deleted"' in deck.metrics(), "its end")

    assert all(f"its gang of 3 waits in Volcano's queue {queue}: " in each for each in told)
    assert {row.reason for row in status.waiting} == set(told)
    assert f'volcano_pod_groups{{queue_id="volcano:{queue}",phase=' in numbers
    assert running == []
    events = [e for e in deck.client.do(calls.get_events(run)) if e.kind == "PodGroup"]
    assert any(f"of 3 in queue {queue}: " in e.text and "minAvailable" in e.text for e in events)
    uid = run.removeprefix("wf-")
    records = [each for each in deck.said("gang_changed") if each["workflow_id"] == uid]
    assert [each["phase"] for each in records][-1] == "Deleted"
    assert any("minAvailable" in each["why"] for each in records)
    assert {(each["queue"], each["gang"]) for each in records} == {(queue, records[0]["gang"])}


def test_a_gang_that_runs_is_counted_with_its_wait(deck: Deck) -> None:
    queue = deck.queue("quick")

    run = deck.ended(deck.submit(LAYER.replace("CPU", "10m"), queue))
    deck.until(lambda: not deck.groups(), "the end of the group")

    assert run.status == "succeeded"
    deck.until(
        lambda: f'queue_gang_wait_seconds_count{{queue_id="volcano:{queue}"}} 1' in deck.metrics(),
        "the gang's wait",
    )


def test_a_group_that_a_dead_server_left_behind_is_removed_by_the_next(deck: Deck) -> None:
    run = deck.ended(deck.submit(LAYER.replace("CPU", "10m")))
    deck.until(lambda: not deck.groups(), "the end of the group")
    (owner,) = {pod["metadata"]["labels"]["tiphys.dev/owner"] for pod in deck.pods(run.id)}
    labels = {"tiphys.dev/owner": owner, "workflow-id": run.id.removeprefix("wf-")}
    left = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "pg-left", "namespace": deck.namespace, "labels": labels},
        "spec": {"minMember": 3},
    }
    deck.api.apply(left)

    deck.stop()
    deck.start()

    deck.until(lambda: not deck.groups(), "the end of what was left")
