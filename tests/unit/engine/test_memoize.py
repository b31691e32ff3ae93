"""Memory of outputs."""

from __future__ import annotations

import pytest

from tiphys.engine import event as ev
from tiphys.engine.node import NodeType, Phase
from tiphys.spec import model
from tiphys.testing.flow import FAIL, cast, finished, flow
from tiphys.testing.harness import Harness, Outcome

LEAF = "container: {image: x, command: [x]}"
STEPS = "steps: [[{name: x, template: leaf}]]"
DAG = "dag: {tasks: [{name: x, template: leaf}]}"


def twice(template: str = LEAF, *, memo: str = "") -> str:
    return f"""
- name: main
  steps:
  - [{{name: a, template: known}}]
  - [{{name: b, template: known}}]
- name: known
  memoize: {{key: k-1, cache: {{configMap: {{name: c}}}}{memo}}}
  {template}
"""


@pytest.mark.parametrize(
    ("template", "kind"), [(LEAF, NodeType.POD), (STEPS, NodeType.STEPS), (DAG, NodeType.DAG)]
)
def test_what_was_done_once_is_not_done_again(template: str, kind: NodeType) -> None:
    harness = finished(twice(template), {"leaf": Outcome(parameters={"p": "1"})})

    first, second = harness.node("wf[0].a"), harness.node("wf[1].b")
    assert len(harness.started) == 1
    assert (second.phase, second.type) == (Phase.SUCCEEDED, kind)
    assert first.memoization_status is not None
    assert second.memoization_status is not None
    assert (first.memoization_status.hit, second.memoization_status.hit) == (False, True)
    assert second.memoization_status.key == "k-1"
    assert harness.run.phase == "Succeeded"


def test_remembered_outputs_are_outputs() -> None:
    harness = finished(
        twice().replace(
            "- [{name: b, template: known}]",
            "- [{name: b, template: known}]\n"
            "  - - {name: c, template: show, arguments: {parameters: "
            '[{name: m, value: "{{steps.b.outputs.parameters.p}}"}]}}',
        )
        + "- name: show\n  inputs: {parameters: [{name: m}]}\n  "
        + LEAF,
        {"known": Outcome(parameters={"p": "7"})},
    )

    inputs = harness.node("wf[2].c").inputs
    assert inputs is not None
    assert inputs.parameters[0].value == "7"


def test_a_failure_is_not_remembered() -> None:
    text = twice().replace("template: known}]", "template: known, continueOn: {failed: true}}]")
    harness = finished(text, {"a": FAIL})

    assert harness.started == ["wf[0].a", "wf[1].b"]


def test_different_keys_are_different_memories() -> None:
    harness = finished("""
    - name: main
      steps:
      - - name: a
          template: known
          withItems: [1, 2]
          arguments: {parameters: [{name: i, value: "{{item}}"}]}
      - - name: b
          template: known
          withItems: [2, 3]
          arguments: {parameters: [{name: i, value: "{{item}}"}]}
    - name: known
      inputs: {parameters: [{name: i}]}
      memoize: {key: "k-{{inputs.parameters.i}}", cache: {configMap: {name: c}}}
      container: {image: x, command: [x]}
    """)

    assert harness.started == ["wf[0].a(0:1)", "wf[0].a(1:2)", "wf[1].b(1:3)"]


def test_an_age_that_is_none_is_an_error() -> None:
    harness = finished(twice(memo=", maxAge: old"))

    assert harness.node("wf[0].a").phase is Phase.ERROR
    assert harness.node("wf[0].a").message.startswith("invalid maxAge: ")
    assert harness.run.phase == "Failed"


def test_a_retried_leaf_is_remembered_as_a_whole() -> None:
    template = f"retryStrategy: {{limit: 1}}\n  {LEAF}"
    harness = finished(twice(template), {"a": [FAIL, Outcome()]})

    assert harness.started == ["wf[0].a(0)", "wf[0].a(1)"]
    assert harness.node("wf[1].b").type is NodeType.RETRY
    assert harness.run.phase == "Succeeded"


def test_what_follows_a_remembered_template_hangs_below_it() -> None:
    text = twice(STEPS).replace(
        "- [{name: b, template: known}]",
        "- [{name: b, template: known}]\n  - [{name: c, template: leaf}]",
    )
    harness = finished(text)

    assert harness.run.children[harness.node("wf[1].b").id] == [harness.node("wf[2]").id]


def test_memory_is_asked_after_the_lock_is_had() -> None:
    text = """
    - name: main
      dag:
        tasks:
        - {name: a, template: known, withItems: [1, 2]}
    - name: known
      synchronization: {mutexes: [{name: m}]}
      memoize: {key: k, cache: {configMap: {name: c}}}
      container: {image: x, command: [x]}
    """
    harness = finished(text)

    assert harness.started == ["wf.a(0:1)"]
    status = harness.node("wf.a(1:2)").memoization_status
    assert status is not None
    assert status.hit
    assert harness.run.phase == "Succeeded"


def test_memory_may_answer_for_the_entrypoint() -> None:
    harness = Harness(
        flow(f"- name: main\n  memoize: {{key: k, cache: {{configMap: {{name: c}}}}}}\n  {LEAF}"),
        cast({}),
        slots=0,
    )
    harness._memos[("c", "k")] = model.Outputs(result="old")
    harness.start()

    assert harness.run.phase == "Succeeded"
    outputs = harness.node("wf").outputs
    assert outputs is not None
    assert outputs.result == "old"


def test_an_answer_that_comes_twice_changes_nothing() -> None:
    harness = Harness(flow(twice()), slots=0).start()
    node = harness.node("wf[0].a")

    harness.send(ev.MemoRead(at=harness.now, node=node.id, hit=True, outputs=model.Outputs()))

    assert node.phase is Phase.PENDING
    assert node.memoization_status is not None
    assert not node.memoization_status.hit
