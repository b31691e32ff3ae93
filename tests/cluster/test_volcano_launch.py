"""The launcher and the real Volcano: gangs that start whole or not at all."""

from __future__ import annotations

import signal

from tests.cluster.deck import Deck
from tests.cluster.helm import Json
from tests.cluster.test_volcano import cpu_of_node
from tiphys.client import calls

VOLCANO = ("--scheduler", "volcano", "--image", "alpine:3.23")


def test_a_campaign_is_one_gang_of_three(deck: Deck) -> None:
    queue = deck.queue("campaign")

    done = deck.helm(
        "launch", "--kind", "campaign", *VOLCANO, "--queue", queue, "--cpu", "10m",
        "--", "sh", "-c", "echo {agent} of $AGENT",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    run = deck.workflow(done.stdout.strip())
    assert (run.status, run.scheduler, run.queue_id) == (
        "succeeded", "volcano", f"q-volcano:{queue}",
    )  # fmt: skip
    logs = {
        deck.client.do(calls.get_output(run.id, node.id)).stdout.strip()
        for node in run.nodes
        if node.type not in ("job", "steps", "dag")
    }
    assert logs == {f"{name} of {name}" for name in ("content", "design", "analytics")}


def test_a_gang_without_room_waits_whole_and_ctrl_c_ends_it(deck: Deck) -> None:
    request = f"{cpu_of_node(deck.helm) * 2 // 5}m"
    words = ("--size", "3", *VOLCANO, "--cpu", request, "--", "sleep", "600")
    process = deck.helm.begin("launch", *words)
    assert process.stdout is not None
    run = process.stdout.readline().strip()

    def reasons() -> list[str]:
        return [row.reason for row in deck.client.do(calls.explain(run))]

    deck.until(lambda: any("Volcano's queue default" in each for each in reasons()), "the reason")
    deck.until(lambda: any(_is_of(group, run) for group in deck.groups()), "the group")
    running = deck.pods(run, "Running")
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[0]

    assert running == []
    assert process.returncode == 130, said
    assert deck.workflow(run).status == "failed"
    deck.until(lambda: not deck.pods(run), "the end of its pods")


def _is_of(group: Json, run: str) -> bool:
    labels, size = group["metadata"]["labels"], group["spec"]["minMember"]
    return (labels.get("workflow-id"), size) == (run.removeprefix("wf-"), 3)
