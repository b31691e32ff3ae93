"""Our expressions against Argo's own Go libraries, on thousands of cases.

Values and whether there is an error must agree everywhere; for tags in templates and for ``when``
the texts of errors too, since users read those. What differs on purpose is listed in
``DIFFERENT`` or made equal in ``_comparable``, each with its reason.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from tests.oracle.expression import generator
from tests.oracle.expression.oracle import HERE, Answer, Question, ask, built_oracle, lines
from tiphys.errors import ExpressionError
from tiphys.spec.expression import compile_expression, evaluate_when, parse_depends
from tiphys.spec.expression import regex as our_regex
from tiphys.spec.expression.depends import RESULTS
from tiphys.spec.expression.fault import Fault
from tiphys.spec.expression.goformat import text_of
from tiphys.spec.expression.gojson import dump
from tiphys.spec.template import compile_template, expand

pytestmark = pytest.mark.slow

VALUES: dict[str, str] = {
    "inputs.parameters.x": "5",
    "inputs.parameters.name": "hello world",
    "inputs.parameters.json": '{"a":[1,2,{"b":"c"}],"d":null}',
    "inputs.parameters.list": "[3,1,2]",
    "steps.a-b.outputs.result": "ok",
    "item": "7",
    "retries": "2",
    "workflow.name": "wf",
    "workflow.priority": "3",
}
# The Go library writes the bytes of é one by one, as if each were a character.
DIFFERENT = frozenset({'sprig.nospace("é a")', 'sprig.initials("élan vital")'})
Outcome = tuple[str, object, str]


@pytest.fixture(scope="module")
def oracle() -> Path:
    return built_oracle()


def _ours(text: str, values: dict[str, str]) -> Outcome:
    try:
        result = compile_expression(text).evaluate(expand(values))
    except ExpressionError as error:
        return ("error", None, str(error))
    try:
        return ("value", json.loads(dump(result)), text_of(result))
    except Fault as fault:
        return ("value", f"unmarshalable: {fault.message}", text_of(result))


def _theirs(answer: Answer) -> Outcome:
    if "error" in answer:
        return ("error", None, answer["error"])
    return ("value", answer["value"], answer["shown"])


def _comparable(outcome: Outcome) -> object:
    kind, value, shown = outcome
    if kind == "error":
        return kind
    if value is None:
        # A nil list prints as [] in Go; we have one nil.
        return (kind, None)
    # Half a character is one surrogate here and one bad byte there; both end as U+FFFD.
    shown = shown.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return (kind, value, shown)


def _agree(ours: Outcome, theirs: Outcome) -> bool:
    if _comparable(ours) == _comparable(theirs):
        return True
    a, b = ours[1], theirs[1]
    # A power with a fraction may differ in the last digit: Go has its own exp on this processor.
    return isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=1e-14)


def _compare(oracle: Path, texts: list[str], values: dict[str, str]) -> list[str]:
    questions: list[Question] = [
        {"kind": "expression", "text": text, "values": values} for text in texts
    ]
    answers = ask(oracle, questions)
    return [
        f"{text}\n  theirs {_theirs(answer)}\n  ours   {_ours(text, values)}"
        for text, answer in zip(texts, answers, strict=True)
        if _agree(_ours(text, values), _theirs(answer)) == (text in DIFFERENT)
    ]


@pytest.mark.parametrize("name", ["expressions.txt", "sprig.txt", "dates.txt"])
def test_chosen_expressions_give_what_the_real_libraries_give(oracle: Path, name: str) -> None:
    assert _compare(oracle, lines(name), VALUES) == []


@pytest.mark.parametrize("seed", range(3))
def test_generated_expressions_give_what_expr_lang_gives(oracle: Path, seed: int) -> None:
    texts = generator.expressions(seed, 3000)

    assert _compare(oracle, texts, VALUES) == []


def test_paths_find_what_the_real_library_finds(oracle: Path) -> None:
    values = {"data": (HERE / "paths.json").read_text()}
    texts = [f"jsonpath(data, {json.dumps(path)})" for path in lines("paths.txt")]

    assert _compare(oracle, texts, values) == []


@pytest.mark.parametrize("seed", range(2))
def test_generated_patterns_match_as_in_go(oracle: Path, seed: int) -> None:
    cases = generator.patterns(seed, 2000)
    asked = ["t matches p", "sprig.mustRegexFindAll(p, t, -1)"]
    questions: list[Question] = [
        {"kind": "expression", "text": text, "values": {"p": pattern, "t": source}}
        for pattern, source in cases
        for text in asked
    ]
    answers = ask(oracle, questions)

    differing = [
        question["values"]
        for question, answer in zip(questions, answers, strict=True)
        if _pattern_answer(question) != (answer.get("value") if "error" not in answer else "error")
    ]
    assert differing == []


def _pattern_answer(question: Question) -> object:
    pattern, text = question["values"]["p"], question["values"]["t"]
    try:
        if question["text"] == "t matches p":
            return our_regex.matches(pattern, text)
        found = [text[match.start : match.end] for match in our_regex.find_all(pattern, text)]
    except Fault:
        return "error"
    return found or None


@pytest.mark.parametrize("seed", range(2))
def test_generated_conditions_decide_and_complain_as_govaluate(oracle: Path, seed: int) -> None:
    texts = generator.conditions(seed, 3000)
    answers = ask(oracle, [{"kind": "when", "text": text} for text in texts])

    differing = [
        (text, answer, ours)
        for text, answer in zip(texts, answers, strict=True)
        if not _same_decision(text, answer, ours := _decision(text))
    ]
    assert differing == []


def _decision(text: str) -> bool | str:
    try:
        return evaluate_when(text)
    except ExpressionError as error:
        return str(error)


def _same_decision(text: str, answer: Answer, ours: bool | str) -> bool:
    if "error" in answer:
        # A panic of govaluate has no text that would help anybody.
        return isinstance(ours, str) and (
            answer["error"].startswith("panic") or answer["error"] in ours
        )
    if isinstance(answer["value"], bool):
        return ours is answer["value"]
    return ours == f"Expected boolean evaluation for '{text}'. Got {answer['shown']}"


@pytest.mark.parametrize("seed", range(2))
def test_generated_templates_render_as_in_argo(oracle: Path, seed: int) -> None:
    questions = generator.templates(seed, 3000)
    answers = ask(oracle, questions)

    differing = [
        (question, answer, ours)
        for question, answer in zip(questions, answers, strict=True)
        if (ours := _rendered(question))
        != (answer["error"] if "error" in answer else json.loads(answer["value"]))
    ]
    assert differing == []


def _rendered(question: Question) -> object:
    strict = tuple(question["strict"])
    try:
        text = compile_template(question["text"]).render(
            question["values"],
            allow_unresolved=question["allow"] or bool(strict),
            json_text=True,
            strict_prefixes=strict,
        )
    except ExpressionError as error:
        # Our code stands behind Argo's words.
        return str(error).replace(f" [{error.code}]", "", 1)
    return json.loads(text)


def test_generated_dependencies_decide_as_in_argo(oracle: Path) -> None:
    chance = random.Random(0)
    cases = [_dependency(chance) for _ in range(1000)]
    answers = ask(oracle, cases)

    for question, answer in zip(cases, answers, strict=True):
        assert "error" not in answer, answer
        assert _depended(question) is answer["value"], question


def _depended(question: Question) -> bool:
    found = question["values"]
    return parse_depends(question["text"]).evaluate(lambda task, result: result in found[task])


def _dependency(chance: random.Random) -> Question:
    tasks = ["a", "B", "step-one", "c-2"]
    values = {task: chance.sample(sorted(RESULTS), k=chance.randint(0, 3)) for task in tasks}
    text = _clause(chance, tasks, 3)
    return {"kind": "depends", "text": text, "values": values}


def _clause(chance: random.Random, tasks: list[str], depth: int) -> str:
    if depth == 0 or chance.random() < 0.3:
        return f"{chance.choice(tasks)}.{chance.choice(sorted(RESULTS))}"
    left, right = (_clause(chance, tasks, depth - 1) for _ in range(2))
    return chance.choice([f"({left})", f"!({left})", f"{left} && {right}", f"{left} || {right}"])
