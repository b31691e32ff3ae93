"""Queues of the settings and of the store, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tiphys.cli.app import run
from tiphys.control import queues as subject
from tiphys.control.door import Door
from tiphys.control.queues import perform_alone, queue_handlers, queues_in_force
from tiphys.control.record import row_of
from tiphys.control.submit import Overrides, Submission, freeze, prepare, read_files
from tiphys.engine.lifecycle import begin
from tiphys.engine.run import Run
from tiphys.errors import ConflictError, InvalidInputError, NotFoundError
from tiphys.scheduling import Queue, QueueState, QueueTree, Resources, Scheduler
from tiphys.scheduling.queue_file import queue_dict, read_queue, read_queue_list
from tiphys.spec.library import Library
from tiphys.store import Batch, ObjectRow, Store, WorkflowRow

CAPACITY = Resources(cpu=64_000, memory=256 << 30)
CONFIGURED = [Queue(name="night", weight=2)]


class Queues:
    """The command's work over a store of its own."""

    def __init__(self, data: Path) -> None:
        self.data = data

    def __call__(self, op: str, **arguments: Any) -> Any:
        return perform_alone(self.data, CONFIGURED, CAPACITY, op, arguments, now=1.0)

    def create(self, name: str, **spec: Any) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self("queue-save", queue={"name": name, **spec}, new=True)
        return found


@pytest.fixture
def queues(tmp_path: Path) -> Queues:
    return Queues(tmp_path)


def workflow_in(queues: Queues, queue: str) -> None:
    with Store.open(queues.data, owner=True) as store:
        row = WorkflowRow(uid="u", name="w", namespace="n", created_at=0.0, queue=queue)
        store.commit(Batch(submitted=[row]))


def test_looking_makes_no_store(queues: Queues) -> None:
    found = queues("queue-list")

    assert [(q["name"], q["source"]) for q in found] == [
        ("night", "config"),
        ("default", "built-in"),
    ]
    assert list(queues.data.iterdir()) == []


def test_a_created_queue_is_kept(queues: Queues) -> None:
    queues.create("day", deserved={"cpu": "8", "memory": "16Gi"}, slaSeconds=60)

    shown = queues("queue-get", name="day")

    assert shown["deserved"] == {"cpu": "8", "memory": "16Gi"}
    assert (shown["source"], shown["state"], shown["slaSeconds"]) == ("store", "Open", 60.0)
    tree, warning = queues_in_force(queues.data, CONFIGURED, CAPACITY)
    assert tree.queues["day"].deserved == Resources(cpu=8000, memory=16 << 30)
    assert warning == ""


def test_a_preset_is_where_a_queue_begins(queues: Queues) -> None:
    shown = queues.create("mine", preset="analytics", weight=5)

    assert (shown["weight"], shown["state"]) == (5, "Closed")
    assert shown["capability"] == {"cpu": "32", "memory": "64Gi"}


def test_a_stored_queue_takes_the_place_of_a_configured_one(queues: Queues) -> None:
    queues("queue-save", queue={"name": "night", "weight": 9})
    assert queues("queue-get", name="night")["weight"] == 9

    queues("queue-delete", name="night")

    assert queues("queue-get", name="night")["weight"] == 2


def test_closing_and_opening_is_kept(queues: Queues) -> None:
    queues("queue-state", name="night", state="Closed")
    tree, _ = queues_in_force(queues.data, CONFIGURED, CAPACITY)
    assert tree.queues["night"].state is QueueState.CLOSED

    queues("queue-state", name="night", state="Open")

    assert queues("queue-get", name="night")["state"] == "Open"


def test_a_queue_below_a_closed_one_is_shown_closed_and_stays_open_itself(queues: Queues) -> None:
    queues.create("top")
    queues.create("leaf", parent="top")

    queues("queue-state", name="top", state="Closed")

    shown = queues("queue-get", name="leaf")
    assert (shown["state"], shown["effective"]) == ("Open", "Closed")


def test_a_name_twice_is_refused(queues: Queues) -> None:
    with pytest.raises(ConflictError, match="night exists already"):
        queues.create("night")


def test_an_unknown_queue_is_not_found(queues: Queues) -> None:
    for op in ("queue-get", "queue-delete"):
        with pytest.raises(NotFoundError, match="no queue 'x'"):
            queues(op, name="x")


def test_a_mistake_changes_nothing(queues: Queues) -> None:
    with pytest.raises(InvalidInputError, match="no parent queue nowhere"):
        queues.create("day", parent="nowhere")

    assert [q["name"] for q in queues("queue-list")] == ["night", "default"]


@pytest.mark.parametrize(("name", "whose"), [("night", "configuration"), ("default", "Tiphys")])
def test_what_was_not_created_here_cannot_be_deleted(name: str, whose: str, queues: Queues) -> None:
    with pytest.raises(ConflictError, match=whose):
        queues("queue-delete", name=name)


def test_a_queue_with_unfinished_workflows_is_kept(queues: Queues) -> None:
    queues.create("day")
    workflow_in(queues, "day")

    with pytest.raises(ConflictError, match="1 unfinished"):
        queues("queue-delete", name="day")
    with pytest.raises(ConflictError, match="cannot have queues below it"):
        queues.create("below", parent="day")


GREEDY = {"requests": {"cpu": "1"}}
POD = {"image": "x", "command": ["true"], "resources": GREEDY}
TASK = {"name": "main", "container": POD}
IN_DAY = {"tiphys.dev/queue": "day"}
INLINE = {"metadata": {"labels": IN_DAY}, "container": POD}
STEPS = {"name": "main", "steps": [[{"name": "a", "templateRef": {"name": "t", "template": "x"}}]]}


def template(name: str, marked: dict[str, Any]) -> dict[str, Any]:
    meta = {"name": name, "namespace": "default"}
    return {**kind("WorkflowTemplate"), "metadata": meta, "spec": {"templates": [marked]}}


def kind(name: str) -> dict[str, Any]:
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": name}


def workflow(*templates: dict[str, Any], **spec: Any) -> dict[str, Any]:
    whole = {"entrypoint": "main", "templates": list(templates), **spec}
    return {**kind("Workflow"), "metadata": {"name": "w"}, "spec": whole}


JOB = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "w"},
    "spec": {
        "queue": "day",
        "tasks": [
            {
                "name": "t",
                "replicas": 1,
                "template": {"spec": {"containers": [{**POD, "name": "c"}]}},
            }
        ],
    },
}
WAYS = {
    "its template": [workflow({**TASK, "metadata": {"labels": IN_DAY}})],
    "its pods": [workflow(TASK, podMetadata={"annotations": IN_DAY})],
    "a template it refers to": [
        template("t", {**TASK, "name": "x", "metadata": {"annotations": IN_DAY}}),
        workflow(STEPS),
    ],
    "an inline template": [
        workflow({"name": "main", "steps": [[{"name": "a", "inline": INLINE}]]})
    ],
    "a Volcano Job": [JOB],
}


def run_of(documents: list[dict[str, Any]]) -> tuple[Run, Submission, Library]:
    text = b"\n---\n".join(msgspec.json.encode(each) for each in documents)
    bundle = read_files([("f.yaml", text)])
    library = Library.of(bundle)
    ready = prepare(bundle.workflows[0], library, Overrides())
    run = begin(ready.workflow, ready.spec, library, uid="u", created_at=0.0)
    return run, ready, library


@pytest.mark.parametrize("way", WAYS)
def test_a_queue_that_a_part_of_a_workflow_names_is_kept(queues: Queues, way: str) -> None:
    queues.create("day")
    queues.create("other")
    run, ready, library = run_of(WAYS[way])
    with Store.open(queues.data, owner=True) as store:
        row = row_of(run, manifest=ready.workflow, library=freeze(library))
        store.commit(Batch(submitted=[row]))

    with pytest.raises(ConflictError, match="queue day has work of 1 unfinished workflow"):
        queues("queue-delete", name="day")
    with pytest.raises(ConflictError, match="cannot have queues below it"):
        queues.create("below", parent="day")

    queues("queue-delete", name="other")
    assert "day" in [each["name"] for each in queues("queue-list")]


def test_a_queue_with_queues_below_it_is_kept(queues: Queues) -> None:
    queues.create("top")
    queues.create("leaf", parent="top")

    with pytest.raises(ConflictError, match="queues below it: leaf"):
        queues("queue-delete", name="top")


def test_no_queue_may_be_put_below_the_default_one(queues: Queues) -> None:
    with pytest.raises(InvalidInputError, match="cannot have queues below it"):
        queues.create("x", parent="default")


def test_quotas_above_the_machine_give_one_warning(queues: Queues) -> None:
    shown = queues.create("huge", deserved={"cpu": "100"})

    assert shown["warning"] == (
        "quotas of huge were scaled down: the machine has 64 cpu, 256Gi memory"
    )
    assert shown["deserved"] == {"cpu": "100"}


@pytest.mark.parametrize(
    "queue",
    [
        *read_queue_list({"queues": ["interactive", "batch", "analytics"]}),
        Queue(name="q", borrowing_limit=Resources(cpu=1), lending_limit=Resources(), strict=True),
        Queue(name="q", max_parallel=3, reclaim=True, capability=Resources(gpu=2, memory=1000)),
    ],
    ids=lambda queue: queue.name,
)
def test_what_is_written_reads_back_the_same(queue: Queue) -> None:
    assert read_queue(queue.name, queue_dict(queue)) == queue


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"wieght": 2}, "did you mean weight"),
        ({"preset": "huge"}, "none of interactive, batch, analytics"),
        ({"deserved": "8"}, "expected amounts"),
        ({"deserved": {"cpu": "lots"}}, "'lots' is not an amount"),
        ({"weight": "two"}, "weight"),
    ],
)
def test_mistakes_of_a_definition_are_told(spec: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        read_queue("q", spec)


class Office:
    """A host's part in queues, over a real store and scheduler."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.scheduler = Scheduler(CAPACITY)

    def runs(self) -> tuple[Run, ...]:
        return ()

    def keep(self, row: ObjectRow) -> None:
        self.store.commit(Batch(objects=[row]))

    def forget(self, kind: str, namespace: str, name: str) -> None:
        self.store.commit(Batch(objects_removed=[(kind, namespace, name)]))

    def queues_changed(self, tree: QueueTree) -> None:
        self.scheduler.queues_changed(tree)

    async def settle(self) -> None:
        """All is on record at once."""

    def now(self) -> float:
        return 1.0


def test_a_host_changes_its_queues_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIPHYS_DATA_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    async def serve() -> Office:
        with Store.open(tmp_path, owner=True) as store:
            office = Office(store)
            queues = subject.Queues(store, CONFIGURED, CAPACITY)
            door = Door(tmp_path, queue_handlers(queues, office))
            await door.open()
            try:
                words = ["queue", "create", "day", "--weight", "3"]
                assert await asyncio.to_thread(run, words) == 0
                assert await asyncio.to_thread(run, ["queue", "close", "day"]) == 0
                assert await asyncio.to_thread(run, ["queue", "get", "day"]) == 0
                assert await asyncio.to_thread(run, ["queue", "delete", "default"]) == 1
            finally:
                await door.close()
            return office

    office = asyncio.run(serve())

    assert office.scheduler.queues.queues["day"].state is QueueState.CLOSED
    assert "used:" in capsys.readouterr().out
    tree, _ = queues_in_force(tmp_path, CONFIGURED, CAPACITY)
    assert tree.queues["day"].weight == 3
