"""Random questions of each language, the same for the same seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

_LITERALS = [
    "1", "2", "0", "-3", "1.5", "2.0", '"a"', "'b c'", '"5"', "true", "false", "nil", "[]",
    "[1,2,3]", '["a","b"]', "{a: 1}", '[1,"a",nil]', "[{a: 1}, {a: 2}]", "1..4",
]  # fmt: skip
_NAMES = [
    "inputs.parameters.x", "inputs.parameters.name", "item", "retries", "workflow.name",
    'steps["a-b"].outputs.result', "inputs.parameters.missing", "inputs", "nope",
    "workflow.priority",
]  # fmt: skip
# keys, values and toPairs are left out: Go gives them in another order on each run.
# "sort" is left out: of what is no list it makes a nil list, and we have but one nil.
_UNARY_CALLS = [
    "len", "string", "int", "float", "toJSON", "fromJSON", "upper", "lower", "trim", "type", "abs",
    "ceil", "floor", "round", "first", "last", "reverse", "uniq",
    "flatten", "sum", "max", "min", "mean", "median", "toBase64", "fromBase64", 
    "fromPairs", "asInt", "asFloat", "toJson", "count", "bitnot", "duration", "date",
    "sprig.toJson", "sprig.toString", "sprig.int", "sprig.float64", "sprig.empty", "sprig.upper",
    "sprig.quote", "sprig.first",
]  # fmt: skip
_BINARY_CALLS = [
    "split", "join", "replace", "repeat", "indexOf", "hasPrefix", "take", "concat", "get",
    "trimPrefix", "max", "min", "bitand", "bitshl", "splitAfter", "lastIndexOf", "sprig.add",
    "sprig.default", "sprig.join", "sprig.trunc", "sprig.append", "sprig.has", "sprig.contains",
    "sprig.splitList", "sprig.mul", "sprig.div", "sprig.hasKey", "sprig.get", "sprig.dict",
    "sprig.max", "sprig.round",
]  # fmt: skip
_LOOPS = [
    "filter", "map", "any", "all", "none", "one", "count", "find", "findIndex", "findLast",
    "findLastIndex", "groupBy", "sortBy", "sum", "reduce",
]  # fmt: skip
_OPERATORS = [
    "+", "-", "*", "/", "%", "**", "==", "!=", "<", ">", "<=", ">=", "&&", "||", "and", "or",
    "in", "not in", "contains", "startsWith", "endsWith", "matches", "??", "..", "not contains",
]  # fmt: skip
# "true" alone is left out: expr-lang's optimizer gives findLast a wrong result for it.
_PREDICATES = [
    "# > 1", '# == "a"', "#", ".a", "#.a", ".a > 1", "# % 2 == 0", "len(#)", "string(#)",
    "#index", "# + 1", "{let q = #; q}", "#acc + #",
]  # fmt: skip


def expressions(seed: int, count: int) -> list[str]:
    """Make expr-lang expressions, most of which mean something."""
    chance = random.Random(seed)
    return [_expression(chance, chance.randint(1, 4)) for _ in range(count)]


def _expression(chance: random.Random, depth: int) -> str:
    if depth <= 0 or chance.random() < 0.12:
        return chance.choice(_LITERALS if chance.random() < 0.6 else _NAMES)
    shapes, weights = zip(*_SHAPES, strict=True)
    shape: Callable[[random.Random, Callable[[], str]], str]
    shape = chance.choices(shapes, weights)[0]
    return shape(chance, lambda: _expression(chance, depth - 1))


Inner = Callable[[], str]


def _loop(chance: random.Random, inner: Inner) -> str:
    source = chance.choice(
        ["[1,2,3]", 'split(inputs.parameters.name, " ")', "[{a: 1}, {a: 2}]", inner()]
    )
    body = (
        chance.choice(_PREDICATES)
        if chance.random() < 0.3
        else f"# {chance.choice(_OPERATORS)} {inner()}"
    )
    return f"{chance.choice(_LOOPS)}({source}, {body})"


def _slice(chance: random.Random, inner: Inner) -> str:
    start, stop = chance.choice(["0", "1", "-1", ""]), chance.choice(["2", "-1", "", inner()])
    return f"{inner()}[{start}:{stop}]"


_SHAPES: list[tuple[Callable[[random.Random, Inner], str], int]] = [
    (lambda c, inner: f"({inner()})", 5),
    (lambda c, inner: c.choice(["-", "!", "not ", "+"]) + inner(), 5),
    (lambda c, inner: f"{inner()} {c.choice(_OPERATORS)} {inner()}", 26),
    (lambda c, inner: f"{inner()} ? {inner()} : {inner()}", 8),
    (lambda c, inner: f"{c.choice(_UNARY_CALLS)}({inner()})", 12),
    (lambda c, inner: f"{c.choice(_BINARY_CALLS)}({inner()}, {inner()})", 8),
    (_loop, 10),
    (lambda c, inner: f"{inner()}[{inner()}]", 4),
    (_slice, 3),
    (lambda c, inner: inner() + c.choice([".a", "?.a", ".parameters", "?.zz"]), 2),
    (lambda c, inner: f"let v{c.randint(0, 3)} = {inner()}; {inner()}", 2),
    (lambda c, inner: f"{inner()} | {c.choice(_UNARY_CALLS)}()", 2),
    (lambda c, inner: f"if {inner()} {{ {inner()} }} else {{ {inner()} }}", 2),
]

_WORDS = [
    "foo", "bar", "true", "false", "1", "2", "2.5", "0x1F", "'a b'", '"x"', "==", "!=", "<", ">",
    "<=", ">=", "&&", "||", "!", "-", "+", "*", "/", "%", "**", "in", "(", ")", "(1,2)", "=~",
    "!~", "?", ":", "??", "&", "|", "^", "<<", ">>", "~", ",", "[a-b]", "'2020-01-01'", "a.B",
    "a.b", "a_b", "foo-bar", ".5", "1.2.3", "==", "&&", "hello", "é", "[", '"', "@", "#", "IN",
    "'10:30AM'", "'[a'", "''", "$x", "a.",
]  # fmt: skip
_WHEN_OPERATORS = [
    "==", "!=", "<", ">", "<=", ">=", "&&", "||", "+", "-", "*", "/", "%", "**", "&", "|", "^",
    "<<", ">>", "==", "&&", "||", "??", "=~",
]  # fmt: skip


def conditions(seed: int, count: int) -> list[str]:
    """Make texts of ``when``, some of them a salad of words."""
    chance = random.Random(seed)
    made: list[str] = []
    while len(made) < count:
        if chance.random() < 0.4:
            glue = chance.choice([" ", ""])
            made.append(glue.join(chance.choices(_WORDS, k=chance.randint(1, 6))))
        else:
            made.append(_condition(chance, chance.randint(1, 4)))
    return made


def _condition(chance: random.Random, depth: int) -> str:
    def inner() -> str:
        return _condition(chance, depth - 1)

    kind = chance.random()
    if depth <= 0 or kind < 0.25:
        return chance.choice(
            ["foo", "bar", "true", "false", "1", "2", "2.5", "'a b'", '"foo"', "-1", "10", "0"]
        )
    if kind < 0.42:
        return chance.choice(["({})", "!{}", "-{}"]).format(inner())
    if kind < 0.45:
        return f"{inner()} in (1, foo, {inner()})"
    if kind < 0.5:
        return f"{inner()} ? {inner()} : {inner()}"
    space = chance.choice([" ", ""])
    return f"{inner()}{space}{chance.choice(_WHEN_OPERATORS)}{space}{inner()}"


_ATOMS = [
    "a", "b", ".", "[ab]", "[^a]", "\\d", "\\w", "\\s", "(a|b)", "(?:ab)", "^", "$", "\\b", "\\B",
    "x*", "(a*)", "[[:alpha:]]", "\\.", "(?i)A", "[a-c-]", "é", "\\pL", "(?i:B)", "(?s:.)",
    "(?m:^a$)", "a{2}", "a{1,2}", "(ab){0,2}", "\\x41", "[\\d_]", "|", "\\Qa.b\\E", "(?P<n>a)",
]  # fmt: skip
_REPEATS = ["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,}", "{,2}"]
_TEXTS = [
    "", "a", "b", "ab", "aab", "abab", "a\nb", "1a", "A.b", "é", "xyz", "a b", "_", "aaa",
    "abcabc", "B", "a.b", "\n", "Aa1 _x",
]  # fmt: skip


def patterns(seed: int, count: int) -> list[tuple[str, str]]:
    """Make regular expressions, each with a text."""
    chance = random.Random(seed)
    return [
        (
            "".join(
                chance.choice(_ATOMS) + chance.choice(_REPEATS) for _ in range(chance.randint(1, 4))
            ),
            chance.choice(_TEXTS),
        )
        for _ in range(count)
    ]


_TAGS = [
    "inputs.parameters.x", " inputs.parameters.x ", "workflow.name", "inputs.parameters.quote",
    "item", "item.k", "missing", "steps.b.outputs.result", "tasks.x.outputs.result",
    "inputs.parameters.tagged", "inputs.parameters.{{tag", "retries", "lastRetry.exitCode",
    "workflow.status", "empty", "steps.q.outputs.artifacts.z", "inputs.parameters.json", "",
    "=inputs.parameters.x", "=asInt(inputs.parameters.x) + 1", "=inputs.parameters.quote",
    "=inputs.parameters.missing", "=missing", '=missing ?? "d"',
    '=inputs?.parameters?.missing ?? "d"', "=item.k", "=item", "=item.zz", "=asInt(item.n) / 2",
    '={"a": inputs.parameters.x}', '=[1, 2.5, "<x>"]',
    '=jsonpath(inputs.parameters.json, "$.a[1]")', "=fromJSON(inputs.parameters.json)", "=retries",
    "=asInt(retries) > 1", "=lastRetry.exitCode ?? 1", '=lastRetry.status == "x"',
    "=workflow.status", '=workflow.status == "Failed" ? "a" : "b"',
    '=workflow.name + "-" + steps.a.outputs.result', "=steps['a-b'].outputs.parameters.p",
    '=steps["zz"].outputs.result', "=1 +", '=1 + "a"', "=true", "=1.0", "=1e21", "=nil",
    '=sprig.trim(" x ")', "=toJson({a: inputs.parameters.quote})", "=upper(workflow.name)",
    "=workflow.failures", "= inputs.parameters.x ", '=workflow.name == "wf" && 2 > 1', "=2 < 1",
    "=tasks.a.outputs.result", "=groupBy([1],#)", "=empty", '="a\nb"', "=map([1,2], # + 1)",
    "=foo.item",
    "=map([{item: 1}], .item)",
    "=[{retries: workflow.name}] | map(.retries)", "=len(inputs.parameters)",
]  # fmt: skip
_VALUES = {
    "inputs.parameters.x": "5",
    "inputs.parameters.quote": 'say "hi" <b>\\ é\n\t',
    "inputs.parameters.json": '{"a":[1,"<"]}',
    "inputs.parameters.tagged": "{{workflow.name}}",
    "steps.a.outputs.result": "ok",
    "steps.a-b.outputs.parameters.p": "v",
    "workflow.name": "wf",
    "item": '{"k":"v"}',
    "item.k": "v",
    "item.n": "3",
    "tag": "x",
    "empty": "",
}


def templates(seed: int, count: int) -> list[dict[str, object]]:
    """Make questions about texts with tags, with some of the values left out."""
    chance = random.Random(seed)
    return [_template(chance) for _ in range(count)]


def _template(chance: random.Random) -> dict[str, object]:
    body = "".join(
        chance.choice(["", " ", 'a"b', "<x>", "\n", "}}", "{"]) + "{{" + chance.choice(_TAGS) + "}}"
        for _ in range(chance.randint(1, 3))
    )
    text = json.dumps({"k": body}, ensure_ascii=chance.random() < 0.5)
    if chance.random() < 0.5:
        # Go writes these three as escapes, so that is how tags arrive.
        text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return {
        "kind": "template",
        "text": text,
        "values": {key: value for key, value in _VALUES.items() if chance.random() < 0.8},
        "allow": chance.random() < 0.5,
        "strict": ["steps", "tasks"] if chance.random() < 0.25 else [],
    }
