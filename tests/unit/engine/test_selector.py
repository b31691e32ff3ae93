"""Node field selectors: which nodes a person means."""

from __future__ import annotations

import pytest

from tiphys.engine.node import Node, NodeType, Ours, Phase
from tiphys.engine.selector import parse_selector
from tiphys.errors import InvalidInputError
from tiphys.spec import model


def node(**changed: object) -> Node:
    values: dict[str, object] = {
        "id": "wf-123",
        "name": "wf.task",
        "display_name": "task",
        "type": NodeType.POD,
        "template_name": "leaf",
        "phase": Phase.FAILED,
        "inputs": model.Inputs(
            parameters=(
                model.Parameter(name="colour", value="a,b=c"),
                model.Parameter(name="a.b", value="x"),
                model.Parameter(name="none"),
            )
        ),
        "ours": Ours(),
    }
    return Node(**(values | changed))  # type: ignore[arg-type]


REF = model.TemplateRef(name="library", template="greet")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "id=wf-123",
        "id==wf-123",
        "name=wf.task",
        "displayName=task",
        "displayName!=other",
        "templateName=leaf",
        "phase=Failed",
        "phase!=Succeeded,displayName=task",
        " phase = Failed , displayName = task ",
        ",phase=Failed,",
        r"inputs.parameters.colour.value=a\,b\=c",
        "inputs.parameters.a.b.value=x",
        "inputs.parameters.none.value=",
        "inputs.parameters.missing.value!=x",
        "templateRef.name=",
    ],
)
def test_a_selector_matches_the_node_it_describes(text: str) -> None:
    assert parse_selector(text).matches(node())


@pytest.mark.parametrize(
    "text",
    [
        "id=321",
        "id!=wf-123",
        "phase=Failed,displayName=other",
        "inputs.parameters.missing.value=x",
        "templateRef.name=library",
    ],
)
def test_a_selector_passes_over_other_nodes(text: str) -> None:
    assert not parse_selector(text).matches(node())


def test_the_template_of_another_object_counts_as_the_nodes_template() -> None:
    referring = node(template_name="", template_ref=REF)

    assert parse_selector("templateName=greet").matches(referring)
    assert parse_selector("templateRef.name=library").matches(referring)
    assert parse_selector("templateRef.template=greet").matches(referring)


def test_a_node_without_inputs_has_empty_inputs() -> None:
    assert parse_selector("inputs.parameters.x.value=").matches(node(inputs=None))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("foo=bar", "displayName, name, id, templateName, phase"),
        ("inputs.parameters.x=1", r"inputs.parameters.NAME.value"),
        ("phase", "FIELD=VALUE"),
        ("phase=Failed=now", "equals sign"),
        ("phase=a\\b", "backslash"),
        ("phase=a\\", "backslash"),
        ("=x", "the fields are"),
    ],
)
def test_a_selector_that_cannot_be_read_says_what_is_allowed(text: str, hint: str) -> None:
    with pytest.raises(InvalidInputError, match=hint):
        parse_selector(text)
