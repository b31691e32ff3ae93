"""Retries: attempts, limits, policies, backoff, expressions, and what a retried node shows."""

from __future__ import annotations

import pytest

from tiphys.core.name import fnv1a32
from tiphys.engine.node import NodeType, Phase
from tiphys.spec import model
from tiphys.testing.flow import ERROR, FAIL, cast, finished, flow
from tiphys.testing.harness import Harness, Outcome


def retried(strategy: str) -> str:
    return f"""
- name: main
  retryStrategy: {strategy}
  container: {{image: x, command: [x]}}
"""


def attempts(harness: Harness) -> list[str]:
    return [name for name in harness.started if name.startswith("wf(")]


def test_a_retried_leaf_is_a_node_above_its_attempts() -> None:
    harness = finished(retried("{limit: 2}"), {"wf": [FAIL, Outcome()]})

    root, first, second = harness.node("wf"), harness.node("wf(0)"), harness.node("wf(1)")
    assert (root.type, root.phase) == (NodeType.RETRY, Phase.SUCCEEDED)
    assert (first.type, first.phase) == (NodeType.POD, Phase.FAILED)
    assert second.phase is Phase.SUCCEEDED
    assert harness.run.children["wf"] == [first.id, second.id]
    assert first.node_flag is not None
    assert first.node_flag.retried
    assert harness.run.phase == "Succeeded"


def test_the_limit_does_not_count_the_first_attempt() -> None:
    harness = finished(retried("{limit: 2}"), {"wf": FAIL})

    assert attempts(harness) == ["wf(0)", "wf(1)", "wf(2)"]
    assert (harness.node("wf").phase, harness.node("wf").message) == (
        Phase.FAILED,
        "No more retries left",
    )
    assert (harness.run.phase, harness.run.message) == ("Failed", "No more retries left")


def test_a_limit_of_zero_gives_one_attempt() -> None:
    assert attempts(finished(retried("{limit: 0}"), {"wf": FAIL})) == ["wf(0)"]


def test_no_limit_retries_until_success() -> None:
    harness = finished(retried("{}"), {"wf": [FAIL] * 7 + [Outcome()]})

    assert len(attempts(harness)) == 8
    assert harness.run.phase == "Succeeded"


@pytest.mark.parametrize(
    ("strategy", "outcome", "number"),
    [
        ("{limit: 1}", FAIL, 2),
        ("{limit: 1}", ERROR, 1),
        ("{limit: 1, retryPolicy: OnFailure}", ERROR, 1),
        ("{limit: 1, retryPolicy: OnError}", ERROR, 2),
        ("{limit: 1, retryPolicy: OnError}", FAIL, 1),
        ("{limit: 1, retryPolicy: Always}", ERROR, 2),
        ("{limit: 1, retryPolicy: Always}", FAIL, 2),
        ("{limit: 1, expression: 'true'}", ERROR, 2),
        ("{limit: 1, expression: 'true', retryPolicy: OnFailure}", ERROR, 1),
        ("{limit: 1, retryPolicy: OnTransientError}", FAIL, 1),
        (
            "{limit: 1, retryPolicy: OnTransientError}",
            Outcome(phase="Error", message="read: connection reset by peer"),
            2,
        ),
    ],
)
def test_the_policy_says_which_ends_are_retried(
    strategy: str, outcome: Outcome, number: int
) -> None:
    harness = finished(retried(strategy), {"wf": outcome})

    assert len(attempts(harness)) == number
    assert harness.run.phase == outcome.phase


def test_an_end_that_the_policy_does_not_retry_keeps_its_message() -> None:
    harness = finished(retried("{limit: 3}"), {"wf": ERROR})

    assert (harness.run.phase, harness.run.message) == ("Error", ERROR.message)


def test_an_unknown_policy_is_an_error() -> None:
    harness = finished(retried("{limit: 3, retryPolicy: Sometimes}"), {"wf": FAIL})

    assert harness.run.phase == "Error"
    assert "Sometimes is not a valid RetryPolicy" in harness.run.message


def test_the_expression_decides_with_the_last_attempt_in_view() -> None:
    strategy = (
        "{limit: 9, expression: \"asInt(lastRetry.exitCode) > 1 && lastRetry.status == 'Failed'\"}"
    )
    again = Outcome(phase="Failed", exit_code=2)
    harness = finished(retried(strategy), {"wf": [again, again, FAIL]})

    assert len(attempts(harness)) == 3
    assert harness.node("wf").message == "retryStrategy.expression evaluated to false"


def test_the_expression_sees_retries_duration_and_message() -> None:
    strategy = (
        "{expression: \"asInt(retries) < 2 && lastRetry.duration == '4' "
        "&& lastRetry.message contains 'Error'\"}"
    )
    slow = Outcome(phase="Failed", seconds=4, message="main: Error (exit code 1)")

    assert len(attempts(finished(retried(strategy), {"wf": slow}))) == 3


def test_a_broken_expression_is_an_error_not_a_hang() -> None:
    harness = finished(retried("{limit: 9, expression: 'nobody.knows > 1'}"), {"wf": FAIL})

    assert harness.run.phase == "Error"


def starts(harness: Harness) -> list[float]:
    found = [harness.node(name).started_at for name in attempts(harness)]
    return [(at or 0.0) - harness.run.created_at for at in found]


@pytest.mark.parametrize(
    ("backoff", "expected"),
    [
        ("{duration: 10s}", [0, 11, 22, 33]),
        ("{duration: '10'}", [0, 11, 22, 33]),
        ("{duration: 10s, factor: 2}", [0, 11, 32, 73]),
        ("{duration: 10s, factor: 2, cap: 15s}", [0, 11, 27, 43]),
        ("{duration: 1m, factor: 0}", [0, 61, 122, 183]),
    ],
)
def test_attempts_wait_for_their_backoff(backoff: str, expected: list[float]) -> None:
    harness = finished(retried(f"{{limit: 3, backoff: {backoff}}}"), {"wf": FAIL})

    assert starts(harness) == expected


def test_the_wait_is_shown() -> None:
    harness = Harness(flow(retried("{limit: 3, backoff: {duration: 90s}}")), cast({"wf": FAIL}))
    harness.start()
    while harness.node("wf(0)").phase is not Phase.FAILED:
        harness.advance()

    assert harness.node("wf").message == "Backoff for 1 minute 30 seconds"
    assert harness.node("wf").phase is Phase.RUNNING


def test_without_a_limit_there_is_no_wait() -> None:
    harness = finished(retried("{backoff: {duration: 10s}}"), {"wf": [FAIL, FAIL, Outcome()]})

    assert starts(harness) == [0, 1, 2]


def test_there_is_no_wait_before_the_end() -> None:
    harness = finished(retried("{limit: 0, backoff: {duration: 1h}}"), {"wf": FAIL})

    assert harness.run.finished_at == harness.run.created_at + 1


def test_the_time_for_retries_can_be_limited() -> None:
    strategy = "{limit: 9, backoff: {duration: 10s, factor: 2, maxDuration: 40s}}"
    harness = finished(retried(strategy), {"wf": FAIL})

    assert starts(harness) == [0, 11, 32]
    assert harness.node("wf").message == "Backoff would exceed max duration limit"


def test_an_attempt_may_not_outlive_the_time_for_retries() -> None:
    strategy = "{limit: 9, backoff: {duration: 1s, maxDuration: 20s}}"
    slow = Outcome(phase="Failed", seconds=15)
    harness = finished(retried(strategy), {"wf": slow})

    assert starts(harness) == [0, 16]
    assert harness.node("wf").phase is Phase.FAILED
    assert harness.now == harness.run.created_at + 20


def test_a_backoff_without_a_duration_is_an_error() -> None:
    harness = finished(retried("{limit: 9, backoff: {factor: 2}}"), {"wf": FAIL})

    assert harness.run.phase == "Error"
    assert "no base duration specified for retryStrategy" in harness.run.message


def test_steps_are_retried_as_a_whole() -> None:
    harness = finished(
        """
    - name: main
      retryStrategy: {limit: 1}
      steps:
      - [{name: a, template: leaf}]
    """,
        {"leaf": FAIL},
    )

    assert harness.phases() == {
        "wf": "Failed",
        "wf(0)": "Failed",
        "wf(0)[0]": "Failed",
        "wf(0)[0].a": "Failed",
        "wf(1)": "Failed",
        "wf(1)[0]": "Failed",
        "wf(1)[0].a": "Failed",
    }
    assert harness.node("wf(0)").type is NodeType.STEPS


def test_a_dag_is_retried_as_a_whole() -> None:
    harness = Harness(
        flow("""
    - name: main
      retryStrategy: {limit: 1}
      dag:
        tasks:
        - {name: a, template: leaf}
        - {name: b, template: leaf, depends: a}
    """),
        lambda node, _: FAIL if node.name == "wf(0).a" else Outcome(),
    )
    harness.finish()

    assert harness.node("wf(0).b").phase is Phase.OMITTED
    assert harness.node("wf(1).b").phase is Phase.SUCCEEDED
    assert harness.run.phase == "Succeeded"


def test_what_follows_hangs_below_the_last_attempt() -> None:
    harness = finished(
        """
    - name: main
      steps:
      - [{name: a, template: again}]
      - [{name: b, template: leaf}]
    - name: again
      retryStrategy: {limit: 2}
      container: {image: x, command: [x]}
    """,
        {"a": [FAIL, Outcome()]},
    )

    last = harness.node("wf[0].a(1)")
    assert harness.run.children[last.id] == [harness.node("wf[1]").id]
    assert last.boundary_id == "wf"
    assert last.display_name == "a(1)"


def test_the_outputs_of_a_retried_step_are_those_of_its_last_attempt() -> None:
    harness = finished(
        """
    - name: main
      steps:
      - [{name: a, template: again}]
      - - name: b
          template: show
          arguments: {parameters: [{name: m, value: "{{steps.a.outputs.result}} {{steps.a.id}}"}]}
    - name: again
      retryStrategy: {limit: 2}
      container: {image: x, command: [x]}
    - name: show
      inputs: {parameters: [{name: m}]}
      container: {image: x, command: [x]}
    """,
        {"a": [Outcome(phase="Failed", result="bad"), Outcome(result="good")]},
    )

    inputs = harness.node("wf[1].b").inputs
    assert inputs is not None
    assert inputs.parameters[0].value == f"good {harness.node('wf[0].a(1)').id}"
    outputs = harness.node("wf[0].a").outputs
    assert outputs is not None
    assert outputs.result == "good"


def test_each_attempt_knows_its_number_and_the_attempt_before() -> None:
    seen = []

    def note(_node: object, template: model.Template) -> Outcome:
        assert template.container is not None
        seen.append(template.container.args[0])
        return Outcome(phase="Failed", exit_code=3)

    text = flow("""
    - name: main
      retryStrategy: {limit: 2}
      container:
        image: x
        command: [x]
        args: ["{{retries}} {{lastRetry.exitCode}} {{lastRetry.status}} {{lastRetry.duration}}"]
    """)
    Harness(text, note).finish()

    assert seen == ["0 0  0", "1 3 Failed 1", "2 3 Failed 1"]


def test_a_strategy_of_the_workflow_holds_for_every_template() -> None:
    harness = finished(
        """
    - name: main
      steps:
      - [{name: a, template: leaf}]
    """,
        {"leaf": FAIL},
        spec="retryStrategy: {limit: 1}",
    )

    # Steps are retried as well, so the leaf runs two times two.
    assert len(harness.started) == 4
    assert harness.node("wf").type is NodeType.RETRY
    assert harness.node("wf(0)[0].a").type is NodeType.RETRY


def test_the_limit_may_be_a_parameter() -> None:
    harness = finished(
        """
    - name: main
      inputs: {parameters: [{name: times, value: "1"}]}
      retryStrategy: {limit: "{{inputs.parameters.times}}"}
      container: {image: x, command: [x]}
    """,
        {"wf": FAIL},
    )

    assert len(attempts(harness)) == 2


def test_a_template_error_inside_of_a_retried_template_is_retried_only_on_error() -> None:
    templates = """
    - name: main
      retryStrategy: {limit: 1, retryPolicy: POLICY}
      outputs: {parameters: [{name: p, valueFrom: {parameter: "{{steps.a.outputs.parameters.x}}"}}]}
      steps:
      - [{name: a, template: leaf}]
    """

    failure = finished(templates.replace("POLICY", "OnFailure"))
    error = finished(templates.replace("POLICY", "OnError"))

    assert failure.started == ["wf(0)[0].a"]
    assert error.started == ["wf(0)[0].a", "wf(1)[0].a"]
    assert failure.run.phase == error.run.phase == "Error"


def arguments_of_attempts(argument: str) -> list[str]:
    """Run a retried step with ``argument``; give what its container got in each attempt."""
    seen = []

    def note(_node: object, template: model.Template) -> Outcome:
        assert template.container is not None
        seen.append(" ".join(template.container.args))
        return FAIL

    text = flow(f"""
    - name: main
      steps:
      - - name: a
          template: again
          arguments: {{parameters: [{{name: m, value: "given {{{{pod.name}}}}"}}]}}
    - name: again
      retryStrategy: {{limit: 1}}
      inputs: {{parameters: [{{name: m}}]}}
      container: {{image: x, command: [x], args: ["{argument}"]}}
    """)
    Harness(text, note).finish()
    return seen


def test_each_attempt_knows_its_pod() -> None:
    names = [f"wf-again-{fnv1a32(f'wf[0].a({number})')}" for number in range(2)]

    assert arguments_of_attempts("{{pod.name}}") == names
    assert arguments_of_attempts("{{inputs.parameters.m}}") == [f"given {n}" for n in names]


def test_the_name_of_the_node_is_that_of_the_step_in_every_attempt() -> None:
    assert arguments_of_attempts("{{node.name}}") == ["wf[0].a", "wf[0].a"]
