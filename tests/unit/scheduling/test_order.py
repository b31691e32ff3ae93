"""Durations, critical paths, plans ahead, units of admission, amounts."""

from __future__ import annotations

import pytest

from tiphys.errors import InvalidInputError
from tiphys.scheduling import Resources, Work, WorkId, clamp
from tiphys.scheduling.admission import Unit, layer, queue_of, reservation, unit_of
from tiphys.scheduling.critical_path import critical_path, ranks
from tiphys.scheduling.estimate import KEPT, SAVE_SECONDS, History, Memory, estimate, key_of
from tiphys.scheduling.list_plan import Graph, best_plan, best_ranks, makespan

DIAMOND = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}
SECONDS = {"a": 1.0, "b": 5.0, "c": 2.0, "d": 1.0}


def test_a_rank_is_the_longest_way_to_the_end() -> None:
    assert ranks(DIAMOND, SECONDS) == {"a": 7.0, "b": 6.0, "c": 3.0, "d": 1.0}
    assert critical_path(DIAMOND, SECONDS) == 7.0


def test_ranks_are_the_same_whether_tasks_share_their_list_of_parents_or_have_equal_ones() -> None:
    shared = ("a", "b")
    own = [list(shared) for _ in range(2)]
    seconds = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "e": 5.0}

    found = [
        ranks({"a": (), "b": (), "c": one, "d": other, "e": ("c", "d")}, seconds)
        for one, other in ((shared, shared), own)
    ]

    assert found == [{"a": 10.0, "b": 11.0, "c": 8.0, "d": 9.0, "e": 5.0}] * 2


def test_tasks_in_a_circle_have_no_rank() -> None:
    with pytest.raises(InvalidInputError, match="circle"):
        ranks({"a": ("b",), "b": ("a",)}, {})


def test_a_plan_ahead_respects_order_and_room() -> None:
    needs = dict.fromkeys(DIAMOND, (("cpu", 1),))
    graph = Graph(DIAMOND, SECONDS, needs)

    plan = best_plan(graph, Resources(cpu=2))

    assert makespan(graph, plan) == 7.0
    assert plan["d"] == 6.0
    found = best_ranks(graph, Resources(cpu=2))
    assert found["a"] > found["b"] > found["d"]


def test_a_plan_ahead_finds_what_first_come_first_served_does_not() -> None:
    parents = {"s1": (), "s2": (), "long": (), "tail": ("long",)}
    seconds = {"s1": 3.0, "s2": 3.0, "long": 3.0, "tail": 3.0}
    graph = Graph(parents, seconds, dict.fromkeys(parents, (("cpu", 1),)))

    assert makespan(graph, best_plan(graph, Resources(cpu=2))) == 6.0


def test_one_hung_run_does_not_spoil_the_estimate() -> None:
    found = estimate([10.0, 11.0, 9.0, 10.0, 5000.0])

    assert found.seconds == 10.0
    assert found.high < 15.0


def test_an_estimate_follows_a_change() -> None:
    history = History()
    for _ in range(KEPT):
        history.observe("t", 100.0)
    for _ in range(KEPT):
        history.observe("t", 10.0)

    found = history.expect("t")

    assert found is not None
    assert found.seconds == 10.0
    assert found.count == KEPT
    assert history.expect("unknown") is None


def test_the_unit_of_admission_is_read_from_option_then_annotation() -> None:
    assert unit_of({}) is Unit.POD
    assert unit_of({"tiphys.dev/admission": "layer"}) is Unit.LAYER
    assert unit_of({"tiphys.dev/admission": "layer"}, "workflow") is Unit.WORKFLOW
    assert unit_of({"kueue.k8s.io/max-resources": "cpu: 4"}) is Unit.WORKFLOW
    with pytest.raises(InvalidInputError, match="none of pod, layer, workflow"):
        unit_of({"tiphys.dev/admission": "node"})


def test_a_layer_is_a_gang_of_all_its_works() -> None:
    works = [Work(id=WorkId(f"w{i}"), requests=Resources(cpu=1)) for i in range(3)]

    gang, members = layer("wf-L1", works)

    assert gang is not None
    assert (gang.min_member, gang.min_resources) == (3, Resources(cpu=3))
    assert {work.group for work in members} == {"wf-L1"}
    assert layer("wf-L2", works[:1]) == (None, (works[0],))


def test_a_workflow_as_a_unit_is_one_reservation_in_line() -> None:
    work = reservation("wf", "batch", Resources(cpu=4), created_at=7.0)

    assert (work.workflow, work.queue, work.created_at) == ("wf", "batch", 7.0)
    assert work.requests == Resources(cpu=4)


def test_the_queue_of_a_workflow_is_what_its_cluster_would_read() -> None:
    assert queue_of({}, {}) == "default"
    assert queue_of({"kueue.x-k8s.io/queue-name": "k"}, {}) == "k"
    assert queue_of({}, {"scheduling.volcano.sh/queue-name": "v"}) == "v"
    assert queue_of({}, {"tiphys.dev/queue": "t"}, "option") == "option"


def test_a_request_larger_than_the_machine_is_cut_with_words() -> None:
    cut, warnings = clamp(Resources(cpu=8000, gpu=1, memory=10), Resources(cpu=4000, memory=20))

    assert cut == Resources(cpu=4000, memory=10)
    assert warnings == ("asks for 8 cpu, has 4 cpu", "asks for 1 gpu, has 0 gpu")


def test_a_request_that_fits_is_left_alone() -> None:
    asked = Resources(cpu=1000)

    assert clamp(asked, Resources(cpu=4000)) == (asked, ())


def test_a_memory_answers_from_what_was_stored() -> None:
    memory = Memory()
    for seconds in (9.0, 10.0, 11.0):
        memory.observe(key_of("work", "night"), seconds)

    again = Memory(memory.take_changed(5.0))

    assert again.seconds("night/work") == 10.0
    assert again.seconds("work") is None


def test_a_memory_is_saved_now_and_then_and_only_what_changed() -> None:
    memory = Memory()
    assert not memory.due(1000.0)
    memory.observe("a", 1.0)
    assert memory.due(1000.0)
    assert [name for name, _ in memory.take_changed(1000.0)] == ["a"]

    memory.observe("b", 1.0)

    assert not memory.due(1000.0 + SAVE_SECONDS / 2)
    assert memory.due(1000.0 + SAVE_SECONDS)
    assert [name for name, _ in memory.take_changed(2000.0)] == ["b"]


def test_what_is_expected_follows_what_happens() -> None:
    memory = Memory()
    memory.observe("a", 1.0)
    assert memory.seconds("a") == 1.0

    for _ in range(2 * KEPT):
        memory.observe("a", 5.0)

    assert memory.seconds("a") == 5.0


def test_a_stored_estimate_that_cannot_be_read_is_a_lost_guess() -> None:
    assert Memory([("a", b"not json")]).seconds("a") is None
