"""References to artifacts: from steps, inputs, expressions; optional and missing ones."""

from __future__ import annotations

from tiphys.engine.node import Phase
from tiphys.spec import model
from tiphys.testing.flow import finished
from tiphys.testing.harness import Harness, Outcome

MADE = Outcome(artifacts={"out": "runs/a/out.tgz"})
TAKE = """
- name: take
  inputs: {artifacts: [{name: in, path: /in}]}
  container: {image: x, command: [x]}
- name: maybe
  inputs: {artifacts: [{name: in, path: /in, optional: true}]}
  container: {image: x, command: [x]}
"""


def steps(argument: str, *, taker: str = "take", when: str = "") -> str:
    condition = f', when: "{when}"' if when else ""
    return f"""
- name: main
  steps:
  - [{{name: a, template: leaf{condition}}}]
  - - name: b
      template: {taker}
      arguments: {{artifacts: [{{name: in, {argument}}}]}}
{TAKE}"""


def taken(harness: Harness, name: str = "wf[1].b") -> model.Artifact:
    inputs = harness.node(name).inputs
    assert inputs is not None
    return inputs.artifacts[0]


def key(artifact: model.Artifact) -> str:
    assert artifact.s3 is not None
    return artifact.s3.key


def test_an_artifact_reaches_the_step_that_takes_it_under_its_own_name_and_path() -> None:
    harness = finished(steps('from: "{{steps.a.outputs.artifacts.out}}"'), {"a": MADE})

    artifact = taken(harness)
    assert (artifact.name, artifact.path, key(artifact)) == ("in", "/in", "runs/a/out.tgz")


def test_a_part_of_an_artifact_can_be_taken() -> None:
    harness = finished(
        steps('from: "{{steps.a.outputs.artifacts.out}}", subPath: "{{workflow.name}}/x"'),
        {"a": MADE},
    )

    assert key(taken(harness)) == "runs/a/out.tgz/wf/x"


def test_an_expression_can_choose_the_artifact() -> None:
    text = steps(
        "fromExpression: \"steps.a.outputs.result == 'yes' ? "
        'steps.a.outputs.artifacts.out : steps.a.outputs.artifacts.other"'
    )
    made = {"out": "one", "other": "two"}

    yes = finished(text, {"a": Outcome(result="yes", artifacts=made)})
    no = finished(text, {"a": Outcome(result="no", artifacts=made)})

    assert (key(taken(yes)), key(taken(no))) == ("one", "two")


def test_a_missing_artifact_is_an_error() -> None:
    harness = finished(steps('from: "{{steps.a.outputs.artifacts.nothing}}"'), {"a": MADE})

    group = harness.node("wf[1]")
    assert group.phase is Phase.ERROR
    assert group.message.startswith("failed to resolve references: unable to resolve references: ")
    assert harness.run.phase == "Failed"


def test_a_missing_artifact_that_is_optional_is_left_out() -> None:
    harness = finished(
        steps('from: "{{steps.a.outputs.artifacts.nothing}}", optional: true', taker="maybe")
    )

    assert harness.node("wf[1].b").phase is Phase.SUCCEEDED
    assert taken(harness).s3 is None


def test_the_artifact_of_a_skipped_step_is_missing() -> None:
    must = finished(steps('from: "{{steps.a.outputs.artifacts.out}}"', when="false"))
    may = finished(
        steps(
            'from: "{{steps.a.outputs.artifacts.out}}", optional: true', taker="maybe", when="false"
        )
    )

    assert must.run.phase == "Failed"
    assert may.run.phase == "Succeeded"


def test_an_artifact_of_an_input_can_be_passed_on() -> None:
    harness = finished(
        """
    - name: main
      inputs: {artifacts: [{name: given, s3: {key: from-outside}}]}
      steps:
      - - name: b
          template: take
          arguments: {artifacts: [{name: in, from: "{{inputs.artifacts.given}}"}]}
    """
        + TAKE.replace("\n", "\n    ")
    )

    assert key(taken(harness, "wf[0].b")) == "from-outside"


def test_an_artifact_that_is_not_given_is_an_error() -> None:
    harness = finished("- name: main\n  steps: [[{name: b, template: take}]]\n" + TAKE)

    assert harness.node("wf[0].b").message == "inputs.artifacts.in was not supplied"
    assert harness.run.phase == "Failed"


DAG = (
    """
- name: main
  outputs:
    artifacts:
    - {name: mine, from: "{{tasks.a.outputs.artifacts.out}}"}
    - {name: none, from: "{{tasks.a.outputs.artifacts.absent}}", optional: true}
  dag:
    tasks:
    - {name: a, template: leaf}
    - name: b
      template: take
      depends: a
      arguments: {artifacts: [{name: in, from: "{{tasks.a.outputs.artifacts.out}}"}]}
"""
    + TAKE
)


def test_artifacts_pass_between_tasks_and_out_of_a_dag() -> None:
    harness = finished(DAG, {"a": MADE})

    assert key(taken(harness, "wf.b")) == "runs/a/out.tgz"
    outputs = harness.node("wf").outputs
    assert outputs is not None
    assert [(a.name, key(a)) for a in outputs.artifacts] == [("mine", "runs/a/out.tgz")]


def test_an_artifact_that_a_dag_must_give_and_cannot_is_an_error() -> None:
    harness = finished(DAG.replace(", optional: true", ""), {"a": MADE})

    assert harness.run.phase == "Error"
    assert "unable to resolve outputs from scope" in harness.run.message


def test_a_missing_artifact_is_an_error_of_its_task_alone() -> None:
    harness = finished(DAG.replace("depends: a\n", "depends: a\n"), {"a": Outcome()})

    assert harness.node("wf.b").phase is Phase.ERROR
    assert "Unable to resolve" in harness.node("wf.b").message
    assert harness.run.phase == "Error"


def test_a_global_artifact_belongs_to_the_run_and_can_be_taken() -> None:
    harness = finished(
        """
    - name: main
      steps:
      - [{name: a, template: give}]
      - - name: b
          template: take
          arguments: {artifacts: [{name: in, from: "{{workflow.outputs.artifacts.all}}"}]}
    - name: give
      outputs: {artifacts: [{name: out, globalName: all, path: /out}]}
      container: {image: x, command: [x]}
    """
        + TAKE.replace("\n", "\n    "),
        {"a": MADE},
    )

    assert key(taken(harness)) == "runs/a/out.tgz"
    assert harness.run.outputs is not None
    assert [a.name for a in harness.run.outputs.artifacts] == ["all"]


def test_artifacts_of_a_retried_step_are_those_of_the_last_attempt() -> None:
    text = steps('from: "{{steps.a.outputs.artifacts.out}}"').replace(
        "template: leaf", "template: again"
    )
    text += "- name: again\n  retryStrategy: {limit: 1}\n  container: {image: x, command: [x]}\n"
    first = Outcome(phase="Failed", artifacts={"out": "first"})
    harness = finished(text, {"a": [first, Outcome(artifacts={"out": "second"})]})

    assert key(taken(harness)) == "second"


def test_an_exit_handler_gets_the_artifacts_of_its_step() -> None:
    harness = finished(
        """
    - name: main
      steps:
      - - name: a
          template: leaf
          hooks:
            exit:
              template: take
              arguments: {artifacts: [{name: in, from: "{{steps.a.outputs.artifacts.out}}"}]}
    """
        + TAKE.replace("\n", "\n    "),
        {"a": MADE},
    )

    assert key(taken(harness, "wf[0].a.onExit")) == "runs/a/out.tgz"
