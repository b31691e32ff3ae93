"""The ``depends`` of a DAG task: a condition over the results of other tasks.

Argo rewrites the text (bare names become three results, dashes become underscores) and gives it to
expr-lang. So do we, but each task gets a name of our own making, so that ``a-b`` and ``a_b``, or a
name that starts with a digit, cannot collide with anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from tiphys.errors import ExpressionError, ExpressionLimitError
from tiphys.spec.expression.fault import MAX_CONDITION
from tiphys.spec.expression.program import Program, compile_expression

RESULTS: Final = frozenset(
    [
        "Succeeded",
        "Failed",
        "Errored",
        "Skipped",
        "Omitted",
        "Daemoned",
        "AnySucceeded",
        "AllFailed",
    ]
)
BARE: Final = ("Succeeded", "Skipped", "Daemoned")
"""What a task's name alone means."""
_REFERENCE = re.compile(r"([a-zA-Z0-9][-a-zA-Z0-9]*?)\.([A-Z][a-zA-Z]+)|([a-zA-Z0-9][-a-zA-Z0-9]*)")


@dataclass(frozen=True, slots=True, eq=False)
class Depends:
    """A parsed condition."""

    text: str
    tasks: tuple[str, ...]
    """Names as written, in order of appearance, each once."""
    references: tuple[tuple[str, str], ...]
    """Each ``(task, result)`` as written, in order; the result is "" for a bare name."""
    program: Program = field(repr=False)

    def evaluate(self, has: Callable[[str, str], bool]) -> bool:
        """Decide, asking ``has(task, "Succeeded")`` for each result that the text names."""
        environment: dict[str, dict[str, bool]] = {}
        for task, result in self.references:
            known = environment.setdefault(f"t{self.tasks.index(task)}", {})
            for name in (result,) if result else BARE:
                if name not in known:
                    known[name] = has(task, name)
        answer = self.program.evaluate(environment)
        if not isinstance(answer, bool):
            raise ExpressionError(
                f"unable to evaluate expression '{self.text}': unable to cast expression result "
                f"'{answer}' to bool"
            )
        return answer


@lru_cache(maxsize=4096)
def parse_depends(text: str) -> Depends:
    """Parse the text of ``depends``."""
    if len(text) > MAX_CONDITION:
        raise ExpressionLimitError(f"depends of {len(text)} characters exceeds {MAX_CONDITION}")
    references = tuple(_references(text))
    tasks = tuple(dict.fromkeys(task for task, _ in references))
    numbers = {task: number for number, task in enumerate(tasks)}

    def rewrite(match: re.Match[str]) -> str:
        if match[1]:
            return f"t{numbers[match[1]]}.{match[2]}"
        name = f"t{numbers[match[3]]}"
        return "(" + " || ".join(f"{name}.{result}" for result in BARE) + ")"

    try:
        program = compile_expression(_REFERENCE.sub(rewrite, text))
    except ExpressionLimitError:
        raise
    except ExpressionError as error:
        reason = str(error).partition("\n")[0]
        raise ExpressionError(f"unable to evaluate expression '{text}': {reason}") from None
    return Depends(text, tasks, references, program)


def _references(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for match in _REFERENCE.finditer(text):
        task, result = match[1] or match[3], match[2] or ""
        if result and result not in RESULTS:
            raise ExpressionError(f"task result '{result}' for task '{task}' is invalid")
        found.append((task, result))
    return found
