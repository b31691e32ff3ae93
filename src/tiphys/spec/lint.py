"""All problems of a set of files, and four ways to write them down.

``text`` for people, ``json`` for programs, ``github`` for annotations in a pull request, ``sarif``
for code scanners. The command line prints what these functions return.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tiphys.errors import Problem
from tiphys.spec.library import DEFAULT_NAMESPACE, Library
from tiphys.spec.parse import Bundle, parse_files
from tiphys.spec.validate import (
    validate_cron_workflow,
    validate_workflow,
    validate_workflow_template,
)

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def lint(
    files: Iterable[tuple[str, bytes | str]],
    *,
    strict: bool = True,
    library: Library | None = None,
    namespace: str = DEFAULT_NAMESPACE,
) -> list[Problem]:
    """List the problems of all files together, by file and line.

    The files may refer to each other and to what ``library`` holds. ``strict`` makes unknown
    fields errors.
    """
    base = library or Library(namespace=namespace)
    bundle = parse_files(files, strict=strict, library=base, salvage=True)
    deeper = validate_bundle(bundle, base.extended(bundle), lint=True)
    problems = [*bundle.problems, *_without_echoes(deeper, bundle.errors)]
    return sorted(problems, key=lambda each: (each.file, each.line, each.column))


def _without_echoes(found: Iterable[Problem], known: Iterable[Problem]) -> list[Problem]:
    """Leave out what is only said because a value of a wrong type was left out before."""
    places = [(each.file, each.path) for each in known if each.path]
    return [
        problem
        for problem in found
        if not any(file == problem.file and _overlap(path, problem.path) for file, path in places)
    ]


def _overlap(one: str, other: str) -> bool:
    """Whether one of two paths leads to the other."""
    short, long = sorted((one, other), key=len)
    return long.startswith(short) and long[len(short) : len(short) + 1] in ("", ".", "[")


def validate_bundle(bundle: Bundle, library: Library, *, lint: bool = False) -> list[Problem]:
    """List the problems of all documents of a bundle."""
    problems: list[Problem] = []
    for workflow in bundle.workflows:
        problems += validate_workflow(workflow.value, library, workflow.document, lint=lint)
    for template in bundle.workflow_templates:
        problems += validate_workflow_template(template.value, library, template.document)
    for cluster in bundle.cluster_workflow_templates:
        problems += validate_workflow_template(cluster.value, library, cluster.document)
    for cron in bundle.cron_workflows:
        problems += validate_cron_workflow(cron.value, library, cron.document)
    return problems


def has_errors(problems: Iterable[Problem]) -> bool:
    """Tell whether anything is more than a warning."""
    return any(not problem.warning for problem in problems)


def format_problems(problems: Sequence[Problem], form: str = "text") -> str:
    """Write problems as ``text``, ``json``, ``github`` or ``sarif``."""
    return FORMATS[form](problems)


def _text(problems: Sequence[Problem]) -> str:
    lines = []
    for problem in problems:
        kind = "warning: " if problem.warning else ""
        lines.append(kind + _escaped(str(problem)))
    errors = sum(not problem.warning for problem in problems)
    lines.append(f"{_count(errors, 'error')}, {_count(len(problems) - errors, 'warning')}")
    return "\n".join(lines)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _escaped(text: str) -> str:
    """Make control characters visible: a file's text must not steer the terminal."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _json(problems: Sequence[Problem]) -> str:
    return json.dumps([as_dict(problem) for problem in problems], indent=2)


def as_dict(problem: Problem) -> dict[str, Any]:
    """Give a problem as plain data; what is not known is left out."""
    fields: dict[str, Any] = {
        "severity": "warning" if problem.warning else "error",
        "code": problem.code,
        "message": problem.message,
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "path": problem.path,
        "hint": problem.hint,
    }
    return {key: value for key, value in fields.items() if value}


def _github(problems: Sequence[Problem]) -> str:
    lines = []
    for problem in problems:
        kind = "warning" if problem.warning else "error"
        place = f"file={_property(problem.file)}"
        if problem.line:
            place += f",line={problem.line},col={problem.column}"
        title = _property(problem.code)
        lines.append(f"::{kind} {place},title={title}::{_data(_sentence(problem))}")
    return "\n".join(lines)


def _sentence(problem: Problem) -> str:
    text = f"{problem.path}: {problem.message}" if problem.path else problem.message
    return f"{text} ({problem.hint})" if problem.hint else text


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _sarif(problems: Sequence[Problem]) -> str:
    codes = sorted({problem.code for problem in problems})
    driver = {
        "name": "tiphys",
        "rules": [{"id": code, "name": code.title().replace("_", "")} for code in codes],
    }
    run = {"tool": {"driver": driver}, "results": [_sarif_result(each) for each in problems]}
    return json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _sarif_result(problem: Problem) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": problem.file}}
    if problem.line:
        place["region"] = {"startLine": problem.line, "startColumn": problem.column}
    return {
        "ruleId": problem.code,
        "level": "warning" if problem.warning else "error",
        "message": {"text": _sentence(problem)},
        "locations": [{"physicalLocation": place}],
    }


FORMATS: Mapping[str, Callable[[Sequence[Problem]], str]] = {
    "text": _text,
    "json": _json,
    "github": _github,
    "sarif": _sarif,
}
