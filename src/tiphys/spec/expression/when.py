"""``when``: govaluate on a text whose tags are already replaced, with barewords as strings.

The stages follow govaluate, because its oddities decide what a condition means: tokens are checked
against a table of allowed neighbours, operators are planned to the right and then turned around,
numbers are float64, and a quoted string that looks like a date is its Unix time.
"""

from __future__ import annotations

from functools import lru_cache

from tiphys.errors import ExpressionError, ExpressionLimitError
from tiphys.spec.expression.condition import evaluate, plan, with_patterns
from tiphys.spec.expression.fault import MAX_CONDITION, Fault, LimitFault
from tiphys.spec.expression.goformat import text_of
from tiphys.spec.expression.word import check_order, read_words, words_as_strings

_HINT = ' (hint: try wrapping the affected expression in quotes ("))'


def evaluate_when(text: str) -> bool:
    """Decide whether a step with this ``when`` runs; the empty text is true."""
    if text == "":
        return True
    if len(text) > MAX_CONDITION:
        raise ExpressionLimitError(f"when of {len(text)} characters exceeds {MAX_CONDITION}")
    answer = _evaluate(text)
    if isinstance(answer, ExpressionError):
        raise type(answer)(str(answer))
    return answer


@lru_cache(maxsize=1024)
def _evaluate(text: str) -> bool | ExpressionError:
    # An error is returned, not raised, so that the cache keeps it too.
    doing = "Invalid 'when' expression"
    try:
        words = read_words(text)
        check_order(words)
        words = with_patterns(words)
        doing = "Failed to parse 'when' expression"
        strings = words_as_strings(words)
        check_order(strings)
        stage = plan(strings)
        doing = "Failed to evaluate 'when' expresion"
        result = evaluate(stage)
    except LimitFault as fault:
        return fault.error(text)
    except Fault as fault:
        hint = _HINT if "Invalid token" in fault.message else ""
        return ExpressionError(f"{doing} '{text}': {fault.message}{hint}")
    except RecursionError:
        return ExpressionLimitError(f"{doing} '{text}': nested too deeply")
    if not isinstance(result, bool):
        return ExpressionError(f"Expected boolean evaluation for '{text}'. Got {text_of(result)}")
    return result
