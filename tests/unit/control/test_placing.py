"""What a run's nodes are to the scheduler."""

from __future__ import annotations

import pytest

from tiphys.control.placing import choice_of, estimate_key, facts_of, foresight_of, observe_node
from tiphys.control.task import layer_of
from tiphys.engine import command as cm
from tiphys.engine import event as ev
from tiphys.engine.lifecycle import step, take_effects
from tiphys.engine.run import Run
from tiphys.errors import InvalidInputError
from tiphys.ports import CRON_LABEL
from tiphys.scheduling import Resources
from tiphys.scheduling.admission import Unit
from tiphys.scheduling.estimate import Memory
from tiphys.testing.flow import flow
from tiphys.testing.harness import NOON, Harness, load

LOOP = """
- name: main
  dag:
    tasks:
    - {name: a, template: leaf}
    - {name: b, template: tried, withSequence: {count: "3"}}
    - {name: c, template: gpu}
- name: tried
  retryStrategy: {limit: 2}
  container: {image: x, command: [x], resources: {requests: {cpu: 500m}}}
- name: gpu
  metadata: {labels: {kueue.x-k8s.io/queue-name: gpus}}
  priorityClassName: high
  container: {image: x, command: [x]}
- name: high
  container: {image: x, command: [x]}
"""


def started(text: str) -> tuple[Run, dict[str, cm.StartNode]]:
    run = load(text)
    step(run, ev.RunStarted(at=NOON))
    commands = take_effects(run).commands
    starts = [each for each in commands if isinstance(each, cm.StartNode)]
    return run, {run.nodes[each.node].name: each for each in starts}


def test_requests_age_and_names_of_a_node() -> None:
    run, starts = started(flow(LOOP))

    found = facts_of(run, starts["wf.b(1:1)(0)"], NOON)

    assert found.id == f"uid.{starts['wf.b(1:1)(0)'].attempt}"
    assert found.requests == Resources(cpu=500, pods=1)
    assert (found.queued_at, found.workflow_created_at) == (NOON, NOON)
    assert (found.role, found.queue, found.priority) == ("tried", "", None)


PATCHED = """
- name: main
  steps: [[{name: a, template: plain}, {name: b, template: own}, {name: c, template: torn}]]
- name: plain
  container: {image: x, command: [x], resources: {requests: {cpu: 500m, memory: 1Gi}}}
- name: own
  podSpecPatch: "containers: [{name: main, resources: {requests: {memory: null, cpu: 1}}}]"
  container: {image: x, command: [x], resources: {limits: {cpu: 2}}}
- name: torn
  podSpecPatch: "containers: 5"
  container: {image: x, command: [x], resources: {requests: {cpu: 250m}}}
"""
FOR_ALL = """
podSpecPatch: |
  containers: [{name: main, resources: {limits: {cpu: 4}, requests: {memory: 3Gi}}}]
"""


def test_what_a_patch_asks_for_counts() -> None:
    run, starts = started(flow(PATCHED, spec=FOR_ALL))

    def asked(name: str) -> Resources:
        return facts_of(run, starts[f"wf[0].{name}"], NOON).requests

    assert asked("a") == Resources(cpu=500, memory=3 * 2**30, pods=1)
    assert asked("b") == Resources(cpu=1000, pods=1)


def test_a_patch_that_cannot_be_read_is_left_to_the_start_of_its_task() -> None:
    run, starts = started(flow(PATCHED))

    assert facts_of(run, starts["wf[0].c"], NOON).requests == Resources(cpu=250, pods=1)
    assert facts_of(run, starts["wf[0].a"], NOON).requests.get("memory") == 2**30


def test_a_template_may_choose_its_own_queue_and_priority() -> None:
    run, starts = started(flow(LOOP))

    found = facts_of(run, starts["wf.c"], NOON)

    assert (found.queue, found.priority) == ("gpus", 100)


def test_what_a_node_asks_for_is_its_own_templates_word_however_often_it_was_read() -> None:
    run, starts = started(flow(LOOP))
    memory = Memory()
    foresight = foresight_of(run, memory)

    for command in [*starts.values(), *reversed(starts.values())]:
        known = facts_of(run, command, NOON, memory, foresight)
        anew = facts_of(run, command, NOON)
        asked = (known.requests, known.queue, known.priority)
        assert asked == (anew.requests, anew.queue, anew.priority)


def test_items_of_a_loop_are_one_layer_with_or_without_retries() -> None:
    run, starts = started(flow(LOOP))

    layers = {name: layer_of(run, run.nodes[each.node]) for name, each in starts.items()}

    assert layers["wf.b(0:0)(0)"] == layers["wf.b(2:2)(0)"] == "wf.b"
    assert layers["wf.a"] == layers["wf.c"] == "wf"


def test_durations_are_learnt_per_template_of_a_family() -> None:
    memory = Memory()
    harness = Harness(flow(LOOP))
    run = harness.finish()

    for node in run.nodes.values():
        observe_node(run, node, memory)

    node = next(n for n in run.nodes.values() if n.template_name == "tried")
    assert estimate_key(run, node) == "default:wf/tried"
    found = memory.expect("default:wf/tried")
    assert found is not None
    assert (found.seconds, found.count) == (1.0, 3)
    assert memory.expect("default:wf/main") is None


def test_workflows_of_a_schedule_are_one_family_whatever_their_slots() -> None:
    meta = f"metadata: {{name: nightly-1700000000, labels: {{{CRON_LABEL}: nightly}}}}"

    run, starts = started(flow(LOOP).replace("metadata: {name: wf}", meta))

    node = next(run.nodes[each.node] for name, each in starts.items() if name.endswith(".a"))
    assert estimate_key(run, node) == "default:nightly/leaf"


def test_a_run_chooses_by_its_metadata() -> None:
    text = flow(LOOP, spec="priority: 42").replace(
        "metadata: {name: wf}",
        "metadata: {name: wf, labels: {kueue.x-k8s.io/queue-name: night}, "
        "annotations: {kueue.k8s.io/max-resources: cpu=2}}",
    )

    found = choice_of(load(text))

    assert (found.queue, found.priority, found.unit) == ("night", 42, Unit.WORKFLOW)
    assert found.most == Resources(cpu=2000)


def test_a_run_whose_metadata_makes_no_sense_is_refused() -> None:
    text = flow(LOOP).replace(
        "metadata: {name: wf}",
        "metadata: {name: wf, annotations: {tiphys.dev/admission: galaxy}}",
    )

    with pytest.raises(InvalidInputError, match="none of pod, layer, workflow"):
        choice_of(load(text))
