"""The expression languages of Argo files: expr-lang, govaluate's ``when``, and ``depends``.

Pure and bounded: no ``eval``, no reach into Python objects, limits on size, depth, steps and the
length of strings (``fault``). The world comes in through ``Host``. Tags in texts are the business
of ``tiphys.spec.template``, which stands on this package.

Most workflows have no expression at all, and the languages take longer to load than such a workflow
takes to run. So each name is loaded at its first use: import the package
(``from tiphys.spec import expression``), not names from it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiphys.spec.expression.depends import Depends, parse_depends
    from tiphys.spec.expression.fault import Fault
    from tiphys.spec.expression.function import ARGO_FUNCTIONS
    from tiphys.spec.expression.goformat import quote, text_of
    from tiphys.spec.expression.gojson import dump
    from tiphys.spec.expression.host import DEFAULT_HOST, Host
    from tiphys.spec.expression.jsonpath import json_path
    from tiphys.spec.expression.lexer import tokenize
    from tiphys.spec.expression.program import Program, compile_expression
    from tiphys.spec.expression.value import Value
    from tiphys.spec.expression.when import evaluate_when

__all__ = [
    "ARGO_FUNCTIONS",
    "DEFAULT_HOST",
    "Depends",
    "Fault",
    "Host",
    "Program",
    "Value",
    "compile_expression",
    "dump",
    "evaluate_when",
    "json_path",
    "parse_depends",
    "quote",
    "text_of",
    "tokenize",
]

_PLACES = {
    "ARGO_FUNCTIONS": "function",
    "DEFAULT_HOST": "host",
    "Depends": "depends",
    "Fault": "fault",
    "Host": "host",
    "Program": "program",
    "Value": "value",
    "compile_expression": "program",
    "dump": "gojson",
    "evaluate_when": "when",
    "json_path": "jsonpath",
    "parse_depends": "depends",
    "quote": "goformat",
    "text_of": "goformat",
    "tokenize": "lexer",
}


def __getattr__(name: str) -> Any:
    """Load a name at its first use."""
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{place}"), name)
    globals()[name] = found
    return found
