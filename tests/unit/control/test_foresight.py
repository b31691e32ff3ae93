"""What is expected of a run, told from its templates and what ran before."""

from __future__ import annotations

from tiphys.control.foresight import Foresight
from tiphys.control.placing import facts_of, family_of, foresight_of, observe_node
from tiphys.engine import command as cm
from tiphys.engine import event as ev
from tiphys.engine.lifecycle import step, take_effects
from tiphys.engine.run import Run
from tiphys.scheduling.estimate import Memory, key_of
from tiphys.testing.flow import flow
from tiphys.testing.harness import NOON, Harness, load

NESTED = """
- name: main
  steps:
  - - {name: first, template: leaf}
  - - {name: side, template: leaf}
    - {name: graph, template: graph}
  - - {name: last, template: leaf}
- name: graph
  dag:
    tasks:
    - {name: a, template: slow}
    - {name: b, template: leaf}
    - {name: c, template: leaf, depends: "a && b"}
    - {name: d, template: slow, withItems: [1, 2]}
- name: slow
  retryStrategy: {limit: 1}
  container: {image: x, command: [x]}
"""


def remembering(**seconds: float) -> Memory:
    memory = Memory()
    for name, value in seconds.items():
        memory.observe(key_of(name, "wf", "default"), value)
    return memory


def foresight(run: Run, memory: Memory) -> Foresight:
    return Foresight(run, memory, family_of(run.workflow))


def through(text: str, groups: int) -> Run:
    """Let the first step groups of a run end."""
    run = load(text)
    step(run, ev.RunStarted(at=NOON))
    for _ in range(groups):
        for command in take_effects(run).commands:
            if isinstance(command, cm.StartNode):
                ended = ev.NodeEnded(
                    at=NOON, node=command.node, attempt=command.attempt, phase="Succeeded"
                )
                step(run, ended)
    return run


def test_a_run_takes_as_long_as_its_longest_chain() -> None:
    run = load(flow(NESTED))

    assert foresight(run, remembering(leaf=1.0, slow=10.0)).seconds() == 1.0 + 11.0 + 1.0


def test_what_a_run_does_at_its_exit_takes_its_time_too() -> None:
    run = load(flow(NESTED, spec="onExit: slow"))

    assert foresight(run, remembering(leaf=1.0, slow=10.0)).seconds() == 13.0 + 10.0


def test_nothing_is_said_of_a_run_with_parts_that_never_ran() -> None:
    run = load(flow(NESTED))

    assert foresight(run, remembering(leaf=1.0)).seconds() is None


def test_the_rank_of_a_node_reaches_to_the_end_of_the_run() -> None:
    run = through(flow(NESTED), 1)
    seen = foresight(run, remembering(leaf=1.0, slow=10.0))

    def rank(name: str) -> float:
        node = run.node_named(name)
        assert node is not None
        return seen.rank(node)

    assert rank("wf[0].first") == 13.0
    assert rank("wf[1].side") == 2.0
    assert rank("wf[1].graph.a(0)") == 12.0
    assert rank("wf[1].graph.b") == 3.0
    assert rank("wf[1].graph.d(1:2)(0)") == 11.0


def test_facts_carry_rank_and_duration() -> None:
    run = load(flow(NESTED))
    step(run, ev.RunStarted(at=NOON))
    (start,) = [c for c in take_effects(run).commands if isinstance(c, cm.StartNode)]
    memory = remembering(leaf=1.0, slow=10.0)

    found = facts_of(run, start, NOON, memory, foresight_of(run, memory))

    assert (found.expected_seconds, found.rank) == (1.0, 13.0)


def test_a_template_that_calls_itself_is_measured_once() -> None:
    loop = """
- name: main
  steps:
  - - {name: work, template: leaf}
  - - {name: again, template: main, when: "false"}
"""
    run = load(flow(loop))

    assert foresight(run, remembering(leaf=2.0)).seconds() is None


def learnt_from(text: str) -> Memory:
    """What is remembered of a run each of whose leaves took a second."""
    memory, run = Memory(), Harness(text).finish()
    for node in run.nodes.values():
        observe_node(run, node, memory)
    return memory


TWICE = """
- name: main
  steps:
  - - {name: first, template: slow}
  - - {name: second, template: slow}
- name: slow
  retryStrategy: {limit: 1}
  container: {image: x, command: [x]}
"""


def test_a_template_is_known_in_other_workflows_by_what_it_says() -> None:
    memory = learnt_from(flow(NESTED))
    other = flow(TWICE).replace("image: x", "image: z")

    assert foresight(load(flow(TWICE), name="other"), memory).seconds() == 2.0
    assert foresight(load(other, name="other"), memory).seconds() is None


def test_nothing_is_known_of_what_ran_in_another_project() -> None:
    memory = learnt_from(flow(NESTED))
    foreign = flow(NESTED).replace("{name: wf}", "{name: wf, namespace: foreign}")

    for name in ("wf", "other"):
        assert foresight(load(foreign, name=name), memory).seconds() is None


def test_a_node_is_expected_to_take_what_its_template_took_elsewhere() -> None:
    memory = learnt_from(flow(NESTED))
    run = load(flow(TWICE), name="other")
    step(run, ev.RunStarted(at=NOON))
    (start,) = [c for c in take_effects(run).commands if isinstance(c, cm.StartNode)]

    assert facts_of(run, start, NOON, memory).expected_seconds == 1.0
