"""Running vectors: choose the reader by family, lay each case over the common part, compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tiphys.errors import InvalidInputError
from tiphys.simulate.vectors import kueue, volcano
from tiphys.simulate.vectors.verdict import UnreadableError, compare

Reader = Callable[[Mapping[str, Any]], Any]
READERS: Mapping[str, Reader] = {**volcano.READERS, **kueue.READERS}


@dataclass(slots=True)
class Result:
    """How one vector fared."""

    name: str
    problems: list[str] = field(default_factory=list)
    cases: int = 0

    @property
    def holds(self) -> bool:
        """Whether every decision was as expected."""
        return not self.problems and self.cases > 0

    def line(self) -> str:
        """One line for people."""
        if self.holds:
            return f"ok    {self.name} ({self.cases} case{'s' if self.cases > 1 else ''})"
        return f"FAIL  {self.name}: " + "; ".join(self.problems or ["nothing to check"])


def check_file(path: Path) -> Iterator[Result]:
    """Check each vector of a file."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path}: {error}") from error
    if not isinstance(document, Mapping) or not isinstance(document.get("vectors"), list):
        raise InvalidInputError(f"{path}: no vectors")
    for vector in document["vectors"]:
        yield check(vector)


def check(vector: Mapping[str, Any]) -> Result:
    """Check one vector."""
    result = Result(str(vector.get("id", "?")))
    reader = _reader(str(vector.get("family", "")))
    if reader is None:
        result.problems.append(f"family {vector.get('family')!r} is not known")
        return result
    for situation, expected in situations(vector):
        result.cases += 1
        try:
            result.problems += compare(expected, reader(situation))
        except (UnreadableError, LookupError, TypeError, ValueError) as error:
            result.problems.append(f"not understood: {type(error).__name__}: {error}")
    return result


def _reader(family: str) -> Reader | None:
    """The reader of the family or of the nearest one above it: ``a.b.c``, ``a.b``, ``a``."""
    while family:
        if family in READERS:
            return READERS[family]
        family = family.rpartition(".")[0]
    return None


_FRAME = frozenset({"given", "cases", "expect", "also", "expect_rules", "id", "kind", "why"})


def situations(vector: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Give each situation of a vector with what is expected of it."""
    common = {key: value for key, value in vector.items() if key not in _FRAME}
    common |= vector.get("given") or {}
    if "expect" in vector:
        yield {**common, "expect": vector["expect"]}, vector["expect"]
    for case in (*vector.get("cases", ()), *vector.get("also", ())):
        own = {key: value for key, value in case.items() if key not in ("given", "expect")}
        situation = merged(merged(common, case.get("given") or {}), own)
        yield {**situation, "expect": case["expect"]}, case["expect"]
    for rule in vector.get("expect_rules", ()):
        yield {**common, **rule, "rule": True}, {"victim": rule["victim"]}


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Lay ``above`` over ``below``; mappings of the same key are merged one level deep."""
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        joined = key in ("nodes", "queues", "pgs")
        if joined and isinstance(old, Mapping) and isinstance(value, Mapping):
            result[key] = {**old, **value}
        else:
            result[key] = value
    return result
