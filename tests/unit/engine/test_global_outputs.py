"""Values of the whole run: parameters, metadata, global outputs."""

from __future__ import annotations

from tiphys.engine.node import Phase
from tiphys.testing.flow import FAIL, cast, finished, flow
from tiphys.testing.harness import Harness, Outcome

SHOW = """
- name: show
  inputs: {parameters: [{name: m}]}
  container: {image: x, command: [x]}
"""
GLOBAL = (
    """
- name: main
  steps:
  - [{name: a, template: give}]
  - - name: b
      template: show
      arguments: {parameters: [{name: m, value: "{{workflow.outputs.parameters.all}}"}]}
- name: give
  outputs: {parameters: [{name: p, globalName: all, valueFrom: {path: /p}}]}
  container: {image: x, command: [x]}
"""
    + SHOW
)


def shown(harness: Harness, name: str) -> str | None:
    inputs = harness.node(name).inputs
    assert inputs is not None
    return inputs.parameters[0].value


def outputs(harness: Harness) -> dict[str, str | None]:
    found = harness.run.outputs
    return {p.name: p.value for p in found.parameters} if found is not None else {}


def test_a_global_output_is_known_to_the_steps_after_and_to_the_run() -> None:
    harness = finished(GLOBAL, {"a": Outcome(parameters={"p": "7"})})

    assert shown(harness, "wf[1].b") == "7"
    assert outputs(harness) == {"all": "7"}


def test_the_later_writer_of_a_global_output_wins() -> None:
    harness = finished(
        """
    - name: main
      steps:
      - [{name: a, template: give}]
      - [{name: b, template: give}]
    - name: give
      outputs: {parameters: [{name: p, globalName: all, valueFrom: {path: /p}}]}
      container: {image: x, command: [x]}
    """,
        {"a": Outcome(parameters={"p": "1"}), "b": Outcome(parameters={"p": "2"})},
    )

    assert outputs(harness) == {"all": "2"}


def test_a_global_output_of_a_task_reaches_its_dependants() -> None:
    harness = finished(
        """
    - name: main
      dag:
        tasks:
        - {name: a, template: give}
        - name: b
          template: show
          depends: a
          arguments: {parameters: [{name: m, value: "{{workflow.outputs.parameters.all}}"}]}
    - name: give
      outputs: {parameters: [{name: p, globalName: all, valueFrom: {path: /p}}]}
      container: {image: x, command: [x]}
    """
        + SHOW.replace("\n", "\n    "),
        {"a": Outcome(parameters={"p": "7"})},
    )

    assert shown(harness, "wf.b") == "7"


def test_a_steps_template_can_make_its_output_global() -> None:
    harness = finished(
        """
    - name: main
      outputs:
        parameters:
        - {name: p, globalName: all, valueFrom: {parameter: "{{steps.a.outputs.parameters.x}}"}}
      steps:
      - [{name: a, template: leaf}]
    """,
        {"a": Outcome(parameters={"x": "7"})},
    )

    assert outputs(harness) == {"all": "7"}


def test_the_name_of_a_global_output_may_be_a_tag() -> None:
    harness = finished(
        """
    - name: main
      steps:
      - - name: a
          template: give
          withItems: [x, z]
          arguments: {parameters: [{name: n1, value: "{{item}}"}]}
    - name: give
      inputs: {parameters: [{name: n1}]}
      outputs:
        parameters: [{name: p, globalName: "out-{{inputs.parameters.n1}}", valueFrom: {path: /p}}]
      container: {image: x, command: [x]}
    """,
        {"give": Outcome(parameters={"p": "7"})},
    )

    assert outputs(harness) == {"out-x": "7", "out-z": "7"}


def test_the_exit_handler_sees_global_outputs() -> None:
    harness = finished(
        GLOBAL.replace(
            "- name: show",
            "- name: bye\n  inputs: {parameters: [{name: m, value: "
            '"{{workflow.outputs.parameters.all}}"}]}\n  container: {image: x, command: [x]}\n'
            "- name: show",
        ),
        {"a": Outcome(parameters={"p": "7"})},
        spec="onExit: bye",
    )

    assert shown(harness, "wf.onExit") == "7"


def test_global_outputs_survive_being_taken_up_again() -> None:
    harness = Harness(flow(GLOBAL), cast({"a": Outcome(parameters={"p": "7"})})).start()
    while harness.node("wf[0].a").phase is not Phase.SUCCEEDED:
        harness.advance()

    harness.take_up()
    harness.finish()

    assert outputs(harness) == {"all": "7"}
    assert harness.run.phase == "Succeeded"


def test_parameters_of_the_workflow_are_known_everywhere() -> None:
    harness = finished(
        f"""
- name: main
  steps:
  - - name: a
      template: show
      arguments: 
        parameters: [{{name: m, value: "{{{{workflow.parameters.who}}}} {{{{workflow.name}}}}"}}]
{SHOW}""",
        spec="arguments: {parameters: [{name: who, value: me}]}",
    )

    assert shown(harness, "wf[0].a") == "me wf"


def test_a_parameter_of_the_workflow_may_come_from_a_config_map() -> None:
    docs = """
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: c}
    data: {k: v}
    """
    spec = """
    arguments:
      parameters:
      - {name: who, valueFrom: {configMapKeyRef: {name: c, key: KEY}}}
    """
    templates = (
        "- name: main\n  inputs: {parameters: [{name: who}]}\n  container: {image: x, command: [x]}"
    )
    found = finished(templates, spec=spec.replace("KEY", "k"), docs=docs)
    missing = finished(templates, spec=spec.replace("KEY", "absent"), docs=docs)

    assert shown(found, "wf") == "v"
    assert missing.run.phase == "Failed"
    assert "who" in missing.run.message


def test_labels_of_the_workflow_are_known_and_may_be_computed() -> None:
    harness = finished(
        "- name: main\n  inputs: {parameters: [{name: m, value: "
        '"{{workflow.labels.team}} {{workflow.labels.made}}"}]}\n'
        "  container: {image: x, command: [x]}",
        spec="""
        arguments: {parameters: [{name: who, value: me}]}
        workflowMetadata:
          labels: {team: blue}
          labelsFrom: {made: {expression: "workflow.parameters.who + '-1'"}}
        """,
    )

    assert shown(harness, "wf") == "blue me-1"
    assert harness.run.labels["made"] == "me-1"


def test_the_phase_of_a_run_is_a_label_of_it() -> None:
    harness = finished("- name: main\n  container: {image: x, command: [x]}", {"wf": FAIL})

    assert harness.run.labels["workflows.argoproj.io/phase"] == "Failed"
    assert harness.run.labels["workflows.argoproj.io/completed"] == "true"


def test_an_input_takes_the_argument_before_its_value_before_its_default() -> None:
    templates = """
    - name: main
      steps:
      - - {name: a, template: t1, arguments: {parameters: [{name: m, value: given}]}}
        - {name: b, template: t1}
        - {name: c, template: t2}
    - name: t1
      inputs: {parameters: [{name: m, value: own, default: last}]}
      container: {image: x, command: [x]}
    - name: t2
      inputs: {parameters: [{name: m, default: last}]}
      container: {image: x, command: [x]}
    """
    harness = finished(templates)

    assert [shown(harness, f"wf[0].{name}") for name in "abc"] == ["given", "own", "last"]


def test_a_metric_is_emitted_once_for_each_end() -> None:
    harness = finished(
        """
    - name: main
      metrics:
        prometheus:
        - name: ends
          help: how it went
          labels: [{key: status, value: "{{status}}"}]
          counter: {value: "1"}
        - {name: skipped, help: never, when: "{{status}} == Failed", counter: {value: "1"}}
      container: {image: x, command: [x]}
    """
    )

    assert [(m.name, m.value, m.labels) for m in harness.metrics] == [
        ("ends", 1.0, (("status", "Succeeded"),))
    ]
    assert harness.run.phase == "Succeeded"


def test_a_broken_metric_does_not_fail_the_node() -> None:
    harness = finished(
        """
    - name: main
      metrics: {prometheus: [{name: bad, help: h, gauge: {value: "{{nobody}}"}}]}
      container: {image: x, command: [x]}
    """
    )

    assert harness.run.phase == "Succeeded"
    assert harness.metrics == []
