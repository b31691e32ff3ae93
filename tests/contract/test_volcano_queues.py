"""Opening and closing a queue of a Volcano that loses orders, or takes none."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.contract.kube_server import Told, answering, write_access
from tiphys.control import volcano_queues
from tiphys.control.volcano_queues import VolcanoQueues
from tiphys.errors import ConflictError
from tiphys.runtimes.kubernetes_config import KubernetesConfig


class Volcano:
    """Has one open queue. The order of its last word closes it; those before come to nothing."""

    def __init__(self, *answers: int) -> None:
        self.answers = answers
        """What it says when asked whether an order is still there."""
        self.orders = 0

    def answer(self, method: str, path: str) -> Told:
        if "/commands" in path and method == "POST":
            self.orders += 1
            return Told(201, json.dumps({"metadata": {"name": f"o{self.orders}"}}).encode())
        if "/commands" in path:
            return Told(self.answers[self.orders - 1], b'{"message": "no", "metadata": {}}')
        state = "Closed" if self.orders > len(self.answers) else "Open"
        queue = {"metadata": {"name": "q", "uid": "u"}, "spec": {}, "status": {"state": state}}
        return Told(body=json.dumps(queue).encode())


def close(volcano: Volcano, folder: Path) -> str:
    async def closing(kubeconfig: str) -> str:
        queues = VolcanoQueues(KubernetesConfig(kubeconfig=kubeconfig))
        try:
            found = await queues.set_state("q", "Closed")
            return str(found["status"]["state"])
        finally:
            await queues.close()

    with answering(volcano.answer) as server:
        return asyncio.run(closing(write_access(folder, server)))


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(volcano_queues, "_LOOK", 0.005)
    monkeypatch.setattr(volcano_queues, "PATIENCE", 0.3)


def test_an_order_that_was_taken_and_came_to_nothing_is_given_again(tmp_path: Path) -> None:
    volcano = Volcano(404)

    state = close(volcano, tmp_path)

    assert (state, volcano.orders) == ("Closed", 2)


@pytest.mark.parametrize("answer", [200, 403])
def test_an_order_that_waits_or_cannot_be_seen_is_given_once(tmp_path: Path, answer: int) -> None:
    volcano = Volcano(answer)

    with pytest.raises(ConflictError, match="has not made queue q closed: is it running"):
        close(volcano, tmp_path)

    assert volcano.orders == 1
