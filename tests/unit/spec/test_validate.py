"""Everything that Argo refuses is refused, at its place, and nothing else."""

from __future__ import annotations

import textwrap

import pytest

from tiphys.errors import Problem
from tiphys.spec.library import Library
from tiphys.spec.model import WorkflowSpec
from tiphys.spec.parse import parse_text
from tiphys.spec.validate import (
    validate_workflow,
)

HEAD = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: w}
spec:
  entrypoint: main
"""

WORK = """
  - name: work
    inputs:
      parameters:
      - {name: a}
      - {name: b, default: x}
    container: {image: i, args: ["{{inputs.parameters.a}}"]}
    outputs:
      parameters:
      - {name: p, valueFrom: {path: /p}}
"""


def problems_of(body: str, *, lint: bool = False) -> list[Problem]:
    """Check a workflow whose spec is ``body`` (without the entrypoint ``main``)."""
    bundle = parse_text(HEAD + textwrap.indent(textwrap.dedent(body), "  "))
    bundle.raise_errors()
    (workflow,) = bundle.workflows
    return validate_workflow(workflow.value, Library(), workflow.document, lint=lint)


def errors_of(body: str, *, lint: bool = False) -> list[tuple[str, str]]:
    """Give path and message of each error."""
    found = problems_of(body, lint=lint)
    return [(each.path.removeprefix("spec."), each.message) for each in found if not each.warning]


def paths_of(body: str) -> list[str]:
    return [path for path, _ in errors_of(body)]


def block(template: str) -> str:
    """Give a spec with ``main`` made of the fields of ``template``, and ``work``."""
    fields = textwrap.indent(textwrap.dedent(template).strip("\n"), "  ")
    return f"templates:\n- name: main\n{fields}\n{textwrap.dedent(WORK).strip()}\n"


def test_a_sound_workflow_has_no_problems() -> None:
    body = block(
        """
        inputs: {parameters: [{name: in, value: v}]}
        steps:
        - - name: one
            template: work
            arguments: {parameters: [{name: a, value: "{{inputs.parameters.in}}"}]}
        - - name: two
            template: work
            when: "{{steps.one.status}} == Succeeded"
            withItems: [{k: 1}, {k: 2}]
            arguments:
              parameters: [{name: a, value: "{{steps.one.outputs.parameters.p}}{{item.k}}"}]
        outputs: {parameters: [{name: o, valueFrom: {parameter: "{{steps.one.outputs.result}}"}}]}
        """
    )

    assert problems_of(body) == []


def test_every_problem_of_a_workflow_is_told_with_its_place() -> None:
    found = problems_of(
        """
        onExit: nowhere
        templates:
        - name: main
          steps:
          - - {name: a, template: wrok}
            - {name: a, template: work}
        - {name: work, container: {image: i, args: ["{{inputs.parameters.x}}"]}}
        - {name: none}
        """
    )

    assert [(each.path, each.line, each.hint) for each in found] == [
        ("spec.onExit", 8, ""),
        ("spec.templates[0].steps[0][0].template", 12, "did you mean 'work'?"),
        ("spec.templates[0].steps[0][1].name", 13, ""),
        ("spec.templates[1].container.args[0]", 14, ""),
        (
            "spec.templates[2]",
            15,
            "choose one of container, containerSet, steps, script, resource, dag, suspend, data, "
            "http, plugin",
        ),
    ]


@pytest.mark.parametrize(
    ("metadata", "path"),
    [
        (f"{{name: {'a' * 64}}}", "metadata.name"),
        ("{name: Upper}", "metadata.name"),
        ("{generateName: Upper-}", "metadata.generateName"),
    ],
)
def test_a_bad_object_name_is_refused(metadata: str, path: str) -> None:
    text = (
        f"apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {metadata}\n"
        "spec: {entrypoint: a, templates: [{name: a, suspend: {}}]}\n"
    )
    (workflow,) = parse_text(text).workflows

    found = validate_workflow(workflow.value, Library(), workflow.document)

    assert [each.path for each in found] == [path]


def test_a_workflow_without_a_name_is_warned_of_for_it_gets_one_when_it_runs() -> None:
    text = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {}\n"
        "spec: {entrypoint: a, templates: [{name: a, suspend: {}}]}\n"
    )
    (workflow,) = parse_text(text).workflows

    found = validate_workflow(workflow.value, Library(), workflow.document)

    assert [(each.path, each.warning) for each in found] == [("metadata", True)]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ("templates: [{name: other, suspend: {}}]", "entrypoint"),
        ("templates: [{name: main, suspend: {}}, {name: main, suspend: {}}]", "templates[1].name"),
        ("templates: [{name: main, suspend: {}}, {name: a_b, suspend: {}}]", "templates[1].name"),
        ("templates: [{name: main, suspend: {}, container: {image: a}}]", "templates[0]"),
        ("templates: [{name: main, container: {}}]", "templates[0].container"),
        ("templates: [{name: main, script: {source: a}}]", "templates[0].script"),
        ("templates: [{name: main, suspend: {}}]\npodGC: {strategy: OnPod}", "podGC.strategy"),
        ("templates: [{name: main, suspend: {}}]\nhooks: {x: {template: main}}", "hooks.x"),
        (
            "templates: [{name: main, suspend: {}}]\narguments: {parameters: [{name: a}]}",
            "arguments.parameters[0]",
        ),
        (
            "templates: [{name: main, suspend: {}}]\n"
            "arguments: {parameters: [{name: a, value: z, enum: [b, c]}]}",
            "arguments.parameters[0].value",
        ),
        (
            "templates: [{name: main, suspend: {}}]\n"
            "arguments: {parameters: [{name: a, value: z, enum: []}]}",
            "arguments.parameters[0].enum",
        ),
        (
            "templates: [{name: main, suspend: {}}]\n"
            "arguments: {parameters: [{name: a, value: z}, {name: a, value: z}]}",
            "arguments.parameters[1].name",
        ),
        (
            "templates: [{name: main, suspend: {}}]\n"
            "arguments: {parameters: [{name: a, valueFrom: {path: /x}}]}",
            "arguments.parameters[0].valueFrom",
        ),
        (
            "templates: [{name: main, suspend: {}}]\narguments: {artifacts: [{name: a}]}",
            "arguments.artifacts[0]",
        ),
        (
            "templates: [{name: main, suspend: {}}]\nsynchronization: {mutexes: [{}]}",
            "synchronization.mutexes[0]",
        ),
        (
            "templates: [{name: main, suspend: {}}]\nsynchronization: {semaphores: [{}]}",
            "synchronization.semaphores[0]",
        ),
    ],
)
def test_a_bad_spec_is_refused(body: str, path: str) -> None:
    assert paths_of(body) == [path]


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ("timeout: '30'", "timeout"),
        ("timeout: soon", "timeout"),
        ("activeDeadlineSeconds: -1", "activeDeadlineSeconds"),
        ("activeDeadlineSeconds: long", "activeDeadlineSeconds"),
        ("parallelism: 2", "parallelism"),
        ("retryStrategy: {retryPolicy: Sometimes}", "retryStrategy.retryPolicy"),
        ("retryStrategy: {limit: many}", "retryStrategy.limit"),
        ("retryStrategy: {expression: '1 +'}", "retryStrategy.expression"),
        ("retryStrategy: {backoff: {duration: x}}", "retryStrategy.backoff.duration"),
        ("memoize: {cache: {configMap: {name: c}}}", "memoize"),
        ("metrics: {prometheus: [{name: a-b, help: h}]}", "metrics.prometheus[0].name"),
        ("metrics: {prometheus: [{name: a, help: ''}]}", "metrics.prometheus[0].help"),
        (
            "metrics: {prometheus: [{name: a, help: h, gauge: {value: ''}}]}",
            "metrics.prometheus[0].gauge",
        ),
        (
            "inputs: {artifacts: [{name: a, path: /a, from: x, optional: true}]}",
            "inputs.artifacts[0].from",
        ),
        ("inputs: {artifacts: [{name: a, optional: true}]}", "inputs.artifacts[0]"),
        (
            "inputs: {artifacts: [{name: a, path: /a/../b, optional: true}]}",
            "inputs.artifacts[0].path",
        ),
        (
            "inputs: {artifacts: [{name: a, path: /a, git: {repo: ''}, optional: true}]}",
            "inputs.artifacts[0].git",
        ),
        ("outputs: {parameters: [{name: a}]}", "outputs.parameters[0]"),
        (
            "outputs: {parameters: [{name: a, value: x, valueFrom: {path: /a}}]}",
            "outputs.parameters[0]",
        ),
        ("outputs: {parameters: [{name: a, valueFrom: {}}]}", "outputs.parameters[0].valueFrom"),
        (
            "outputs: {parameters: [{name: a, valueFrom: {parameter: x}}]}",
            "outputs.parameters[0].valueFrom",
        ),
        (
            "outputs: {parameters: [{name: a, globalName: 'a b', valueFrom: {path: /a}}]}",
            "outputs.parameters[0].globalName",
        ),
        ("outputs: {artifacts: [{name: a}]}", "outputs.artifacts[0]"),
        ("volumes: []\ninitContainers: [{name: '', image: i}]", "initContainers[0]"),
    ],
)
def test_a_bad_container_template_is_refused(fields: str, path: str) -> None:
    body = "templates:\n- name: main\n  container: {image: i}\n" + textwrap.indent(fields, "  ")

    assert paths_of(body) == [f"templates[0].{path}"]


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        (
            "container: {image: i, volumeMounts: "
            "[{name: a, mountPath: /a}, {name: b, mountPath: /a}]}",
            "container.volumeMounts[1].mountPath",
        ),
        ("containerSet: {containers: []}", "containerSet.containers"),
        (
            "containerSet: {containers: [{name: a, image: i, dependencies: [b]}]}",
            "containerSet.containers[0].dependencies[0]",
        ),
        (
            "containerSet: {containers: [{name: a, image: i, dependencies: [b]}, "
            "{name: b, image: i, dependencies: [a]}]}",
            "containerSet.containers",
        ),
        (
            "containerSet: {containers: [{name: a, image: i}]}\n"
            "outputs: {parameters: [{name: a, valueFrom: {path: /a}}]}",
            "containerSet.containers",
        ),
        ("resource: {action: explode, manifest: 'a: 1'}", "resource.action"),
        ("resource: {action: create}", "resource"),
        ("resource: {action: create, manifest: 'a: ['}", "resource.manifest"),
        (
            "resource: {action: create, manifestFrom: {artifact: {name: x}}}",
            "resource.manifestFrom.artifact.name",
        ),
        ("suspend: {duration: soon}", "suspend.duration"),
        ("suspend: {}\ntimeout: 5s", "timeout"),
        ("dag: {tasks: []}", "dag.tasks"),
        ("steps: [[{name: a, template: main}]]\nactiveDeadlineSeconds: 5", "activeDeadlineSeconds"),
        ("steps: [[{name: a, template: main}]]\ntimeout: 5s", "timeout"),
        ("steps: [[{template: main}]]", "steps[0][0].name"),
        ("steps: [[{name: a.b, template: main}]]", "steps[0][0].name"),
        ("steps: [[{name: a}]]", "steps[0][0]"),
        ("steps: [[{name: a, template: main, inline: {suspend: {}}}]]", "steps[0][0]"),
        ("steps: [[{name: a, template: main, onExit: x}]]", "steps[0][0].onExit"),
        ("steps: [[{name: a, template: main, when: 'a =='}]]", "steps[0][0].when"),
        (
            "steps: [[{name: a, template: main, hooks: {h: {template: main}}}]]",
            "steps[0][0].hooks.h",
        ),
        ("steps: [[{name: a, template: main, withItems: [1], withParam: x}]]", "steps[0][0]"),
        (
            "steps: [[{name: a, template: main, withSequence: {count: 1, end: 2}}]]",
            "steps[0][0].withSequence",
        ),
        (
            "steps: [[{name: a, template: main, withSequence: {count: x}}]]",
            "steps[0][0].withSequence.count",
        ),
        ("steps: [[{name: a, inline: {}}]]", "steps[0][0].inline"),
    ],
)
def test_a_bad_template_is_refused(fields: str, path: str) -> None:
    body = "templates:\n- name: main\n" + textwrap.indent(fields, "  ")

    assert paths_of(body) == [f"templates[0].{path}"]


@pytest.mark.parametrize(
    "sequence",
    ["{count: 1000000000}", "{start: 1, end: 1000000000000000000}", "{start: 200000, end: 0}"],
)
def test_a_loop_of_too_many_numbers_is_refused_without_being_unrolled(sequence: str) -> None:
    step = f"{{name: a, template: main, withSequence: {sequence}}}"
    body = f"templates: [{{name: main, steps: [[{step}]]}}]"

    assert [each.code for each in problems_of(body)] == ["fanout_limit"]


def test_a_loop_of_too_many_items_is_refused() -> None:
    items = ",".join(["1"] * 100_001)
    body = (
        f"templates: [{{name: main, steps: [[{{name: a, template: main, withItems: [{items}]}}]]}}]"
    )

    assert [each.code for each in problems_of(body)] == ["fanout_limit"]


def test_arguments_must_fit_the_inputs_of_the_template() -> None:
    body = block(
        """
        steps:
        - - {name: one, template: work}
        - - name: two
            template: work
            arguments: {parameters: [{name: a, value: x}, {name: c, value: x}]}
        """
    )

    found = problems_of(body)

    assert [(each.path, each.warning) for each in found] == [
        ("spec.templates[0].steps[0][0].arguments", False),
        ("spec.templates[0].steps[1][0].arguments.parameters[1].name", True),
    ]


def test_the_entrypoint_needs_its_inputs_unless_they_may_come_later() -> None:
    body = "templates: [{name: main, inputs: {parameters: [{name: a}]}, container: {image: i}}]"

    assert paths_of(body) == ["entrypoint"]
    assert errors_of(body, lint=True) == []


@pytest.mark.parametrize(
    ("tag", "known"),
    [
        ("workflow.name", True),
        ("workflow.uid", True),
        ("workflow.parameters.g", True),
        ("workflow.parameters.x", False),
        ("workflow.labels.l", False),
        ("workflow.creationTimestamp.RFC3339", True),
        ("workflow.priority", False),
        ("workflow.nonsense", False),
        ("inputs.parameters.i", True),
        ("inputs.parameters.x", False),
        ("inputs.artifacts.f.path", True),
        ("outputs.parameters.o.path", True),
        ("pod.name", True),
        ("steps.a.outputs.result", False),
        ("tasks.a.outputs.result", False),
        ("item.k", False),
        ("my.own.tag", True),
        ("retries", True),
        ("=inputs.parameters.x", True),
        ("=1 +", False),
    ],
)
def test_a_tag_of_a_container_must_be_known(tag: str, known: bool) -> None:
    body = f"""
        arguments: {{parameters: [{{name: g, value: x}}]}}
        templates:
        - name: main
          inputs:
            parameters: [{{name: i, default: x}}]
            artifacts: [{{name: f, path: /f, optional: true}}]
          container: {{image: i, args: ["{{{{{tag}}}}}"]}}
        """

    assert (errors_of(body) == []) is known


def test_a_step_may_only_speak_of_steps_before_it() -> None:
    body = block(
        """
        steps:
        - - name: one
            template: work
            arguments: {parameters: [{name: a, value: "{{steps.two.outputs.result}}"}]}
        - - name: two
            template: work
            arguments: {parameters: [{name: a, value: "{{steps.one.outputs.result}}"}]}
        """
    )

    assert errors_of(body) == [
        (
            "templates[0].steps[0][0].arguments.parameters[0].value",
            "failed to resolve {{steps.two.outputs.result}}",
        )
    ]


def test_outputs_that_are_made_global_are_known_everywhere() -> None:
    body = """
        templates:
        - name: main
          steps: [[{name: a, template: give}], [{name: b, template: take}]]
        - name: give
          container: {image: i}
          outputs: {parameters: [{name: p, globalName: shared, valueFrom: {path: /p}}]}
        - name: take
          container:
            image: i
            args:
            - "{{workflow.outputs.parameters.shared}}"
            - "{{workflow.outputs.parameters.other}}"
        """

    assert paths_of(body) == ["templates[2].container.args[1]"]


def test_the_defaults_of_the_installation_count() -> None:
    text = HEAD.replace("entrypoint: main", "templates: [{name: main, container: {image: i}}]")
    (workflow,) = parse_text(text).workflows

    without = validate_workflow(workflow.value, Library(), workflow.document)
    found = validate_workflow(
        workflow.value, Library(), workflow.document, defaults=WorkflowSpec(entrypoint="main")
    )

    assert [each.path for each in without] == ["spec.entrypoint"]
    assert found == []


# --- amounts ------------------------------------------------------------------------------------

_BAD = 'resources: {requests: {cpu: "two"}, limits: {memory: 5 gigs, cpu: 500m}}'


@pytest.mark.parametrize(
    ("template", "place"),
    [
        (f"container: {{image: i, {_BAD}}}", "container"),
        (f"script: {{image: i, source: x, {_BAD}}}", "script"),
        (
            f"containerSet: {{containers: [{{name: main, image: i, {_BAD}}}]}}",
            "containerSet.containers[0]",
        ),
        (
            f"container: {{image: i}}\nsidecars: [{{name: s, image: i, {_BAD}}}]",
            "sidecars[0]",
        ),
        (
            f"container: {{image: i}}\ninitContainers: [{{name: s, image: i, {_BAD}}}]",
            "initContainers[0]",
        ),
    ],
)
def test_an_amount_that_cannot_be_read_is_found(template: str, place: str) -> None:
    found = errors_of(block(template), lint=True)

    where = f"templates[0].{place}.resources"
    how = "is not a quantity such as 1500m, 2Gi or 0.5"
    assert found == [
        (f"{where}.requests.cpu", f"'two' {how}"),
        (f"{where}.limits.memory", f"'5 gigs' {how}"),
    ]


def test_an_unreadable_amount_of_the_defaults_is_found() -> None:
    body = f"templateDefaults: {{container: {{{_BAD}}}}}\n"

    found = paths_of(body + block("container: {image: i}"))

    assert found == [
        "templateDefaults.container.resources.requests.cpu",
        "templateDefaults.container.resources.limits.memory",
    ]


def test_an_amount_with_tags_is_left_alone() -> None:
    asked = 'resources: {requests: {cpu: "{{inputs.parameters.cores}}", memory: 1.5Gi, pods: 1}}'
    given = "inputs: {parameters: [{name: cores, value: 1}]}"

    assert errors_of(block(f"{given}\ncontainer: {{image: i, {asked}}}")) == []


def test_an_unreadable_amount_is_told_with_its_place() -> None:
    (problem,) = problems_of(block("container: {image: i, resources: {limits: {cpu: two}}}"))

    assert (problem.line, problem.column) == (9, 53)
