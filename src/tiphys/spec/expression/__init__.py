"""The expression languages of Argo files: expr-lang, govaluate's ``when``, and ``depends``.

Pure and bounded: no ``eval``, no reach into Python objects, limits on size, depth, steps and the
length of strings (``fault``). The world comes in through ``Host``. Tags in texts are the business
of ``tiphys.spec.template``, which stands on this package.
"""

from __future__ import annotations

from tiphys.spec.expression.depends import Depends, parse_depends
from tiphys.spec.expression.host import Host
from tiphys.spec.expression.program import Program, compile_expression
from tiphys.spec.expression.value import Value
from tiphys.spec.expression.when import evaluate_when

__all__ = [
    "Depends",
    "Host",
    "Program",
    "Value",
    "compile_expression",
    "evaluate_when",
    "parse_depends",
]
