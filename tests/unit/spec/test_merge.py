"""Specifications are laid over each other as Kubernetes and Argo do."""

from __future__ import annotations

import pytest

from tiphys.errors import NotFoundError
from tiphys.spec.library import Library
from tiphys.spec.merge import apply_template_defaults, merge, resolve_spec
from tiphys.spec.model import Container, EnvVar, Template, Workflow, WorkflowSpec
from tiphys.spec.parse import parse_text


def spec_of(text: str) -> WorkflowSpec:
    bundle = parse_text(f"apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec:\n{text}")
    bundle.raise_errors()
    return bundle.workflows[0].value.spec


def test_a_field_that_is_set_wins_and_mappings_are_joined() -> None:
    low = spec_of("  entrypoint: a\n  priority: 1\n  nodeSelector: {a: '1', b: '1'}\n")
    high = spec_of("  entrypoint: b\n  nodeSelector: {b: '2'}\n")

    merged = merge(low, high)

    assert (merged.entrypoint, merged.priority) == ("b", 1)
    assert merged.node_selector == {"a": "1", "b": "2"}


def test_lists_with_a_key_are_joined_by_it_and_others_replaced() -> None:
    low = Container(image="i", args=("1", "2"), env=(EnvVar(name="A", value="1"), EnvVar(name="B")))
    high = Container(args=("3",), env=(EnvVar(name="C"), EnvVar(name="A", value="2")))

    merged = merge(low, high)

    assert merged.args == ("3",)
    assert [(each.name, each.value) for each in merged.env] == [("C", ""), ("A", "2"), ("B", "")]


def test_an_item_that_stands_before_a_shared_one_stays_before_it() -> None:
    low = Container(env=(EnvVar(name="B"), EnvVar(name="A")))
    high = Container(env=(EnvVar(name="A", value="x"),))

    assert [each.name for each in merge(low, high).env] == ["B", "A"]


def test_hooks_are_taken_whole() -> None:
    low = spec_of("  hooks: {exit: {template: a, expression: 'true'}, r: {template: r}}\n")
    high = spec_of("  hooks: {exit: {template: b}}\n")

    merged = merge(low, high)

    assert merged.hooks["exit"].template == "b"
    assert merged.hooks["exit"].expression == ""
    assert merged.hooks["r"].template == "r"


TEMPLATE = """
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: t}
spec:
  entrypoint: main
  suspend: true
  arguments:
    parameters:
    - {name: a, value: from-template}
    - {name: b, valueFrom: {configMapKeyRef: {name: c, key: k}}}
    - {name: c}
  templates:
  - {name: main, container: {image: x}}
"""


def test_a_workflow_is_laid_over_its_template_and_that_over_the_defaults() -> None:
    library = Library.of(parse_text(TEMPLATE))
    spec = spec_of(
        "  workflowTemplateRef: {name: t}\n  priority: 5\n"
        "  arguments: {parameters: [{name: b, value: mine}, {name: d, value: new}]}\n"
    )
    defaults = WorkflowSpec(priority=1, service_account_name="sa", entrypoint="other")

    merged = resolve_spec(Workflow(spec=spec), library, defaults)

    assert (merged.entrypoint, merged.priority, merged.service_account_name) == ("main", 5, "sa")
    assert merged.suspend is None
    values = {each.name: each.value for each in merged.arguments.parameters}
    assert values == {"a": "from-template", "b": "mine", "c": None, "d": "new"}
    assert all(each.value_from is None for each in merged.arguments.parameters)


def test_a_missing_template_is_not_found() -> None:
    spec = spec_of("  workflowTemplateRef: {name: nowhere, clusterScope: true}\n")

    with pytest.raises(NotFoundError, match="ClusterWorkflowTemplate 'nowhere'"):
        resolve_spec(Workflow(spec=spec), Library())


def test_template_defaults_fill_in_what_fits_the_type() -> None:
    defaults = spec_of(
        "  templateDefaults:\n    timeout: 30s\n    container: {imagePullPolicy: Never}\n"
        "    script: {image: python, source: x}\n    retryStrategy: {limit: 2}\n"
    ).template_defaults
    template = Template(name="a", container=Container(image="x"))

    merged = apply_template_defaults(template, defaults)

    assert merged.container == Container(image="x", image_pull_policy="Never")
    assert merged.script is None
    assert merged.name == "a"
    assert merged.timeout == "30s"
    assert merged.retry_strategy
    assert merged.retry_strategy.limit == "2"


def test_without_defaults_a_template_stays_what_it_is() -> None:
    template = Template(name="a")

    assert apply_template_defaults(template, None) is template
