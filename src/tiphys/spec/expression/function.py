"""The functions Argo adds to every expression: asInt, asFloat, jsonpath, toJson and sprig."""

from __future__ import annotations

from typing import Final

from tiphys.spec.expression import builtin, gojson, jsonpath
from tiphys.spec.expression.sprig import SPRIG
from tiphys.spec.expression.value import Function, Value


def _json_path(text: Value, path: Value) -> Value:
    return jsonpath.query(builtin.string(path), gojson.load(builtin.string(text)))


ARGO_FUNCTIONS: Final[dict[str, Value]] = {
    "asInt": Function("asInt", builtin.integer),
    "asFloat": Function("asFloat", builtin.floating),
    "jsonpath": Function("jsonpath", _json_path),
    "toJson": Function("toJson", gojson.dump),
    "sprig": SPRIG,
}
