"""Where templates come from: references, workflow templates, defaults."""

from __future__ import annotations

import pytest

from tiphys.engine.node import NodeType, Phase
from tiphys.spec import model
from tiphys.testing.flow import FAIL, cast, finished, flow
from tiphys.testing.harness import Harness, Outcome, load

LIBRARY = """
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: lib}
spec:
  entrypoint: hello
  arguments: {parameters: [{name: who, value: lib}]}
  templates:
  - name: hello
    inputs: {parameters: [{name: who}]}
    container: {image: x, command: [x]}
  - name: calls
    steps: [[{name: in, template: leaf}]]
  - name: leaf
    container: {image: from-lib, command: [x]}
---
apiVersion: argoproj.io/v1alpha1
kind: ClusterWorkflowTemplate
metadata: {name: everywhere}
spec:
  templates:
  - {name: far, container: {image: x, command: [x]}}
"""


def test_a_template_of_a_workflow_template_can_be_called() -> None:
    harness = finished(
        """
    - name: main
      steps:
      - [{name: a, templateRef: {name: lib, template: calls}}]
      - [{name: b, templateRef: {name: everywhere, template: far, clusterScope: true}}]
    """,
        docs=LIBRARY,
    )

    a = harness.node("wf[0].a")
    assert a.template_ref == model.TemplateRef(name="lib", template="calls")
    assert a.template_scope == "local/wf"
    assert harness.node("wf[0].a[0].in").template_scope == "namespaced/lib"
    assert harness.run.phase == "Succeeded"


def test_plain_names_inside_of_a_referenced_template_are_looked_up_there() -> None:
    images = []

    def note(_node: object, template: model.Template) -> Outcome:
        assert template.container is not None
        images.append(template.container.image)
        return Outcome()

    text = flow(
        "- name: main\n  steps: [[{name: a, templateRef: {name: lib, template: calls}}]]",
        docs=LIBRARY,
    )
    Harness(text, note).finish()

    assert images == ["from-lib"]


def test_a_reference_to_nothing_is_an_error() -> None:
    for ref in ("{name: nobody, template: x}", "{name: lib, template: nobody}"):
        harness = finished(
            f"- name: main\n  steps: [[{{name: a, templateRef: {ref}}}]]", docs=LIBRARY
        )
        assert harness.node("wf[0].a").phase is Phase.ERROR
        assert "not found" in harness.node("wf[0].a").message
        assert harness.run.phase == "Failed"


def test_a_hook_may_refer_to_a_template_of_the_library() -> None:
    harness = finished(
        """
    - name: main
      container: {image: x, command: [x]}
    """,
        spec="hooks: {exit: {templateRef: {name: lib, template: calls}}}",
        docs=LIBRARY,
    )

    assert harness.node("wf.onExit[0].in").phase is Phase.SUCCEEDED


REF = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: wf}
spec:
  workflowTemplateRef: {name: lib}
"""


def shown(harness: Harness) -> str | None:
    inputs = harness.node("wf").inputs
    assert inputs is not None
    return inputs.parameters[0].value


def test_a_workflow_may_be_nothing_but_a_reference() -> None:
    harness = Harness(REF + "---" + LIBRARY)
    harness.finish()

    assert shown(harness) == "lib"
    assert harness.run.phase == "Succeeded"


def test_arguments_of_the_workflow_win_over_those_of_its_template() -> None:
    own = REF + "  arguments: {parameters: [{name: who, value: me}]}\n---" + LIBRARY
    harness = Harness(own)
    harness.finish()

    assert shown(harness) == "me"


def test_the_workflow_may_choose_another_entrypoint_of_its_template() -> None:
    harness = Harness(REF + "  entrypoint: calls\n---" + LIBRARY)
    harness.finish()

    assert harness.node("wf[0].in").phase is Phase.SUCCEEDED


STEPS = """
- name: main
  steps: [[{name: a, template: leaf}]]
"""


def test_defaults_hold_for_every_template_steps_included() -> None:
    harness = finished(STEPS, {"leaf": FAIL}, spec="templateDefaults: {retryStrategy: {limit: 1}}")

    assert harness.node("wf").type is NodeType.RETRY
    assert harness.node("wf(1)[0].a").type is NodeType.RETRY
    assert len(harness.started) == 4


def test_what_a_template_says_itself_wins_over_the_defaults() -> None:
    harness = finished(
        "- name: main\n  retryStrategy: {limit: 0}\n  container: {image: x, command: [x]}",
        {"wf": FAIL},
        spec="templateDefaults: {retryStrategy: {limit: 5}, timeout: 9s}",
    )

    assert harness.started == ["wf(0)"]


def test_the_defaults_of_one_kind_do_not_touch_another() -> None:
    seen = []

    def note(_node: object, template: model.Template) -> Outcome:
        seen.append(template)
        return Outcome()

    text = flow(
        """
    - name: main
      steps: [[{name: a, template: leaf}, {name: b, template: script}]]
    - name: script
      script: {image: x, command: [sh], source: "true"}
    """,
        spec="templateDefaults: {container: {workingDir: /w}}",
    )
    Harness(text, note).finish()

    assert seen[0].container is not None
    assert seen[0].container.working_dir == "/w"
    assert seen[1].container is None


def test_defaults_give_a_timeout_to_leaves() -> None:
    harness = finished(
        "- name: main\n  container: {image: x, command: [x]}",
        {"wf": Outcome(seconds=99)},
        spec="templateDefaults: {timeout: 9s}",
    )

    assert harness.run.phase == "Failed"
    assert harness.now == harness.run.created_at + 9


def test_an_entrypoint_that_does_not_exist_is_an_error() -> None:
    harness = finished("- name: main\n  steps: []", spec="entrypoint: nobody")

    assert harness.run.phase == "Error"
    assert harness.run.message.startswith("error in entry template execution: ")
    assert harness.node("wf").phase is Phase.ERROR


def test_a_template_of_no_kind_is_an_error() -> None:
    run = load(flow("- name: main\n  steps: [[{name: a, template: empty}]]\n- name: empty"))
    harness = Harness(run, cast({}))
    harness.finish()

    assert harness.node("wf[0].a").phase is Phase.ERROR
    assert harness.run.phase == "Failed"


def test_an_artifact_repository_that_does_not_exist_is_an_error() -> None:
    harness = finished(STEPS, spec="artifactRepositoryRef: {configMap: nobody, key: k}")

    assert harness.run.phase == "Error"
    assert harness.run.message.startswith("failed to resolve artifact repository: ")


@pytest.mark.parametrize(
    ("template", "kind"),
    [
        ("container: {image: x, command: [x]}", NodeType.POD),
        ('script: {image: x, command: [sh], source: "true"}', NodeType.POD),
        ("resource: {action: get, manifest: '{}'}", NodeType.POD),
        (
            "data: {source: {artifactPaths: {name: d, s3: {key: k}}}}",
            NodeType.POD,
        ),
        ("containerSet: {containers: [{name: main, image: x}]}", NodeType.POD),
        ("http: {url: http://127.0.0.1/}", NodeType.HTTP),
        ("plugin: {hello: {}}", NodeType.PLUGIN),
        ("suspend: {duration: 1s}", NodeType.SUSPEND),
        ("steps: [[{name: a, template: leaf}]]", NodeType.STEPS),
        ("dag: {tasks: [{name: a, template: leaf}]}", NodeType.DAG),
    ],
)
def test_each_kind_of_template_has_its_type_of_node(template: str, kind: NodeType) -> None:
    harness = finished(f"- name: main\n  {template}")

    assert harness.node("wf").type is kind
    assert harness.run.phase == "Succeeded"
