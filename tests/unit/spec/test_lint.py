"""Lint finds the problems of files together and writes them in four ways."""

from __future__ import annotations

import json

import pytest

from tiphys.errors import Problem
from tiphys.spec.library import Library
from tiphys.spec.lint import format_problems, has_errors, lint
from tiphys.spec.parse import parse_text

WORKFLOW = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: w}
spec:
  entrypoint: main
  arguments: {parameters: [{name: later}]}
  templates:
  - name: main
    steps: [[{name: s, templateRef: {name: t, template: a}}]]
"""
TEMPLATE = """
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: t}
spec: {templates: [{name: a, suspend: {}}]}
"""
PROBLEMS = [
    Problem(
        code="unknown_field",
        message="there is no field 'x'",
        path="spec.x",
        line=3,
        column=5,
        file="a,b.yaml",
        hint="did you mean 'y'?",
    ),
    Problem(code="parse_error", message="100%\nbad \x1b[31m", file="c.yaml", warning=True),
]


def test_files_may_refer_to_each_other_in_any_order() -> None:
    assert lint([("w.yaml", WORKFLOW), ("t.yaml", TEMPLATE)]) == []


def test_files_may_refer_to_what_is_known_already() -> None:
    library = Library.of(parse_text(TEMPLATE))

    assert lint([("w.yaml", WORKFLOW)], library=library) == []
    assert has_errors(lint([("w.yaml", WORKFLOW)]))


def test_unknown_fields_are_errors_when_strict_and_warnings_otherwise() -> None:
    text = TEMPLATE.replace("spec: {", "spec: {entrypont: a, ")

    assert has_errors(lint([("t.yaml", text)]))
    assert not has_errors(lint([("t.yaml", text)], strict=False))


def test_problems_come_by_file_and_line() -> None:
    bad = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec: {entrypoint: a, x: 1}\n"

    found = lint([("b.yaml", bad), ("a.yaml", "a: [")])

    places = [(each.file, each.line, each.column) for each in found]
    assert places == sorted(places)
    assert {file for file, _, _ in places} == {"a.yaml", "b.yaml"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"a: \x00", "parse_error"),
        (b"a: \xff", "parse_error"),
        (b"[" * 100_000, "yaml_limit"),
        (b"a: 1\na: 1", "duplicate_key"),
        (b"a: !x 1", "yaml_tag"),
        (WORKFLOW.replace("entrypoint", "entrypont").encode(), "unknown_field"),
        (WORKFLOW.replace("name: s,", "name: n,").encode(), "invalid_spec"),
        (
            WORKFLOW.replace("name: s,", "name: s, withSequence: {count: 1000000000},").encode(),
            "fanout_limit",
        ),
        (WORKFLOW.replace("name: s,", "name: s, when: 'a ==',").encode(), "expression_error"),
        (
            WORKFLOW.replace("name: s,", f"name: s, when: '{'(' * 9000}',").encode(),
            "expression_limit",
        ),
    ],
)
def test_each_kind_of_bad_input_has_its_code_and_a_line(text: bytes, code: str) -> None:
    found = lint([("f.yaml", text), ("t.yaml", TEMPLATE)])

    places = {each.code: (each.line, each.column) for each in found}
    assert code in places
    assert min(places[code]) >= 1


def test_text_is_for_people_and_cannot_steer_their_terminal() -> None:
    assert format_problems(PROBLEMS, "text").splitlines() == [
        "a,b.yaml:3:5: spec.x: there is no field 'x' (did you mean 'y'?) [unknown_field]",
        "warning: c.yaml: 100%\\nbad \\x1b[31m [parse_error]",
        "1 error, 1 warning",
    ]


def test_json_is_a_list_without_empty_fields() -> None:
    first, second = json.loads(format_problems(PROBLEMS, "json"))

    assert first["severity"] == "error"
    assert (first["line"], first["column"], first["path"]) == (3, 5, "spec.x")
    assert second == {
        "severity": "warning",
        "code": "parse_error",
        "message": "100%\nbad \x1b[31m",
        "file": "c.yaml",
    }


def test_github_annotations_escape_what_they_must() -> None:
    assert format_problems(PROBLEMS, "github").splitlines() == [
        "::error file=a%2Cb.yaml,line=3,col=5,title=unknown_field::"
        "spec.x: there is no field 'x' (did you mean 'y'?)",
        "::warning file=c.yaml,title=parse_error::100%25%0Abad \x1b[31m",
    ]


def test_sarif_names_rules_results_and_places() -> None:
    (run,) = json.loads(format_problems(PROBLEMS, "sarif"))["runs"]

    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        "parse_error",
        "unknown_field",
    ]
    assert [result["level"] for result in run["results"]] == ["error", "warning"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 3, "startColumn": 5}
    assert "region" not in run["results"][1]["locations"][0]["physicalLocation"]


def test_wrong_types_do_not_hide_the_other_mistakes_of_a_file() -> None:
    text = """\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: x-}
spec:
  entrypoint: main
  parallelism: many
  templates:
  - name: main
    steps:
    - - {name: a, template: nowhere}
    - - {name: b, template: work, when: "1 == ("}
  - name: work
    container: {image: 7, command: ['{{inputs.parameters.none}}']}
"""

    problems = lint([("x.yaml", text)])

    assert [(problem.line, problem.code) for problem in problems] == [
        (6, "invalid_spec"),
        (10, "invalid_spec"),
        (11, "expression_error"),
        (13, "invalid_spec"),
        (13, "invalid_spec"),
    ], problems
