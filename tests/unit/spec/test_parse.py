"""Files become documents, and every problem of every file is told at once."""

from __future__ import annotations

import msgspec
import pytest

from tiphys.errors import SpecError
from tiphys.spec.model import Parameter, Workflow
from tiphys.spec.parse import Bundle, parse_files, parse_text, parse_value

HEAD = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\n"


def errors_of(bundle: Bundle) -> list[tuple[str, str, int, int]]:
    return [(each.code, each.path, each.line, each.column) for each in bundle.errors]


def test_documents_of_all_kinds_are_sorted_by_kind() -> None:
    kinds = {
        "Workflow": "argoproj.io/v1alpha1",
        "WorkflowTemplate": "argoproj.io/v1alpha1",
        "ClusterWorkflowTemplate": "argoproj.io/v1alpha1",
        "CronWorkflow": "argoproj.io/v1alpha1",
        "ConfigMap": "v1",
        "Secret": "v1",
        "PersistentVolumeClaim": "v1",
        "JobSet": "jobset.x-k8s.io/v1alpha2",
    }
    texts = [f"apiVersion: {kinds[kind]}\nkind: {kind}\nmetadata: {{name: x}}\n" for kind in kinds]

    bundle = parse_files([("a.yaml", "---\n".join(texts[:4])), ("b.yaml", "---\n".join(texts[4:]))])

    assert bundle.problems == ()
    assert [each.value.metadata.name for each in bundle.workflows] == ["x"]
    assert len(bundle.workflow_templates) == 1
    assert len(bundle.cluster_workflow_templates) == 1
    assert len(bundle.cron_workflows) == 1
    assert len(bundle.config_maps) == 1
    assert len(bundle.secrets) == 1
    assert len(bundle.volume_claims) == 1
    assert [each.value["kind"] for each in bundle.others] == ["JobSet"]
    assert bundle.volume_claims[0].document.file == "b.yaml"


def test_a_list_is_unfolded_and_its_items_keep_their_lines() -> None:
    text = (
        "kind: List\napiVersion: v1\nitems:\n- apiVersion: argoproj.io/v1alpha1\n"
        "  kind: Workflow\n  spec: {entrypont: a}\n"
    )

    bundle = parse_text(text, strict=True)

    assert errors_of(bundle) == [("unknown_field", "spec.entrypont", 6, 10)]


def test_keys_that_are_booleans_are_found_inside_of_a_list_too() -> None:
    item = "- apiVersion: argoproj.io/v1alpha1\n  kind: Workflow\n  spec: {nodeSelector: {on: a}}\n"

    bundle = parse_text(f"kind: List\napiVersion: v1\nitems:\n{item}")

    assert errors_of(bundle) == [("invalid_spec", "spec.nodeSelector.on", 6, 25)]


def test_all_problems_of_all_files_are_told_at_once() -> None:
    bad = HEAD + "spec:\n  entrypoint: [a]\n  parallelism: many\n  templates: {}\n  suspend: 1\n"

    bundle = parse_files([("bad.yaml", bad), ("worse.yaml", "a: ["), ("dup.yaml", "a: 1\na: 2")])

    assert errors_of(bundle) == [
        ("invalid_spec", "spec.entrypoint", 5, 15),
        ("invalid_spec", "spec.parallelism", 6, 16),
        ("invalid_spec", "spec.templates", 7, 14),
        ("invalid_spec", "spec.suspend", 8, 12),
        ("parse_error", "", 2, 1),
        ("duplicate_key", "", 2, 1),
    ]
    with pytest.raises(SpecError) as caught:
        bundle.raise_errors()
    assert len(caught.value.problems) == 6


def test_an_unknown_field_is_a_warning_with_a_hint_and_an_error_when_strict() -> None:
    text = HEAD + "spec:\n  entryPoint: a\n"

    (relaxed,) = parse_text(text).problems
    (strict,) = parse_text(text, strict=True).problems

    assert (relaxed.code, relaxed.warning, relaxed.line, relaxed.column) == (
        "unknown_field",
        True,
        5,
        3,
    )
    assert relaxed.hint == "did you mean 'entrypoint'?"
    assert not strict.warning


def test_a_missing_field_is_named() -> None:
    text = (
        HEAD + "spec:\n  templates:\n  - container:\n      image: x\n      env:\n      - value: a\n"
    )

    assert errors_of(parse_text(text)) == [
        ("invalid_spec", "spec.templates[0].container.env[0].name", 9, 9)
    ]


@pytest.mark.parametrize("word", ["n", "y", "on", "off", "no", "yes"])
def test_a_name_that_yaml_takes_for_a_boolean_must_be_quoted(word: str) -> None:
    text = HEAD + f"spec:\n  templates:\n  - name: {word}\n"

    (problem,) = parse_text(text).errors

    assert (problem.line, problem.column) == (6, 11)
    assert f"{word!r}, which YAML takes for a boolean" in problem.message
    assert problem.hint == f'quote it: "{word}"'


def test_a_key_that_yaml_takes_for_a_boolean_must_be_quoted() -> None:
    text = HEAD + "spec:\n  nodeSelector:\n    on: a\n"

    (problem,) = parse_text(text).errors

    assert (problem.path, problem.line, problem.hint) == (
        "spec.nodeSelector.on",
        6,
        'quote it: "on"',
    )


def test_a_number_for_text_must_be_quoted() -> None:
    (problem,) = parse_text(HEAD + "spec:\n  entrypoint: 1.0\n").errors

    assert problem.message == "expected text, found the number 1.0"
    assert problem.hint == 'quote it: "1.0"'


def test_parameter_values_may_be_numbers_and_booleans() -> None:
    text = HEAD + (
        "spec:\n  arguments:\n    parameters:\n"
        "    - {name: a, value: 1.50}\n    - {name: b, default: yes}\n"
        "    - {name: c, enum: [1, x]}\n"
    )

    (workflow,) = parse_text(text).workflows

    assert workflow.value.spec.arguments.parameters == (
        Parameter(name="a", value="1.5"),
        Parameter(name="b", default="true"),
        Parameter(name="c", enum=("1", "x")),
    )


def test_a_null_is_an_absent_value() -> None:
    text = (
        HEAD
        + "spec:\n  templates:\n  - {name: a, suspend: null, container: {image: x, args: [null]}}\n"
    )

    (workflow,) = parse_text(text).workflows

    (template,) = workflow.value.spec.templates
    assert template.suspend is None
    assert template.container
    assert template.container.args == ("",)


def test_whole_floats_are_whole_numbers() -> None:
    (workflow,) = parse_text(HEAD + "spec: {parallelism: 2.0}\n").workflows

    assert workflow.value.spec.parallelism == 2


def test_older_forms_are_upgraded_with_a_warning() -> None:
    text = (
        "apiVersion: argoproj.io/v1alpha1\nkind: CronWorkflow\nmetadata: {name: c}\nspec:\n"
        "  schedule: '* * * * *'\n  workflowSpec:\n    synchronization: {mutex: {name: m}}\n"
        "    templates:\n    - name: t\n      synchronization:\n"
        "        semaphore: {configMapKeyRef: {name: c, key: k}}\n"
    )

    bundle = parse_text(text)

    spec = bundle.cron_workflows[0].value.spec
    assert (spec.schedule, spec.schedules) == ("", ("* * * * *",))
    assert spec.workflow_spec.synchronization
    assert [each.name for each in spec.workflow_spec.synchronization.mutexes] == ["m"]
    locks = spec.workflow_spec.templates[0].synchronization
    assert locks
    assert locks.semaphore is None
    assert len(locks.semaphores) == 1
    assert [(each.line, each.warning) for each in bundle.problems] == [
        (5, True),
        (7, True),
        (11, True),
    ]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("just text", ""),
        ("- a", ""),
        ("spec: {}", "kind"),
        ("kind: Workflow\napiVersion: argoproj.io/v2", "apiVersion"),
    ],
)
def test_a_document_that_is_no_object_of_ours_is_refused(text: str, path: str) -> None:
    assert [each.path for each in parse_text(text).errors] == [path]


def test_a_misspelt_kind_is_remarked_on() -> None:
    bundle = parse_text("apiVersion: argoproj.io/v1alpha1\nkind: Workflows\n")

    (problem,) = bundle.problems
    assert problem.warning
    assert problem.hint == "did you mean 'Workflow'?"


def test_a_kind_of_the_same_name_of_another_project_is_left_alone() -> None:
    bundle = parse_text("apiVersion: example.com/v1\nkind: Workflow\nspec: {a: 1}\n")

    assert bundle.problems == ()
    assert len(bundle.others) == 1


def test_plain_data_from_an_api_is_read_the_same_way() -> None:
    data = {
        "metadata": {"name": "w"},
        "spec": {"arguments": {"parameters": [{"name": "a", "value": 5}]}},
    }

    workflow = parse_value(data, Workflow)

    assert workflow.spec.arguments.parameters[0].value == "5"
    with pytest.raises(SpecError) as caught:
        parse_value({"spec": {"entrypoint": 1, "templates": 2}}, Workflow)
    assert len(caught.value.problems) == 2


def test_plain_data_that_nests_too_deep_is_refused() -> None:
    data: object = []
    for _ in range(5000):
        data = [data]

    with pytest.raises(SpecError, match="yaml_limit"):
        parse_value({"spec": {"templates": data}}, Workflow)


def test_a_hostile_number_of_problems_is_cut_off() -> None:
    text = HEAD + "spec:\n" + "".join(f"  field{i}: 1\n" for i in range(5000))

    assert len(parse_text(text).problems) == 1000


def test_a_document_survives_json() -> None:
    text = HEAD + (
        "spec:\n  entrypoint: a\n  templates:\n  - name: a\n    steps:\n    - - name: b\n"
        "        template: c\n        withItems: [1, a, true, {k: [v]}, [1]]\n"
        "        arguments: {artifacts: [{name: x, from: '{{a}}'}]}\n"
    )
    (workflow,) = parse_text(text).workflows

    encoded = msgspec.json.encode(workflow.value)

    assert msgspec.json.decode(encoded, type=Workflow) == workflow.value
    plain = msgspec.json.decode(encoded)
    assert plain["apiVersion"] == "argoproj.io/v1alpha1"
    assert plain["spec"] == workflow.document.value["spec"]
