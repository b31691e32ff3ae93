"""Label selectors."""

from __future__ import annotations

import pytest

from tiphys.errors import InvalidInputError
from tiphys.store.selector import Requirement, parse_selector

READ = [
    ("", ()),
    (" , ", ()),
    ("a=b", (Requirement("a", True, ("b",)),)),
    ("a==b", (Requirement("a", True, ("b",)),)),
    ("a=", (Requirement("a", True, ("",)),)),
    ("a != b", (Requirement("a", False, ("b",)),)),
    ("example.com/a-b.c=1.2_3", (Requirement("example.com/a-b.c", True, ("1.2_3",)),)),
    ("a in (x, y ,z)", (Requirement("a", True, ("x", "y", "z")),)),
    ("a notin (x)", (Requirement("a", False, ("x",)),)),
    ("a", (Requirement("a", True),)),
    ("!a", (Requirement("a", False),)),
    ("in", (Requirement("in", True),)),
    (
        "a=b,c in (d,e),!f",
        (
            Requirement("a", True, ("b",)),
            Requirement("c", True, ("d", "e")),
            Requirement("f", False),
        ),
    ),
]


@pytest.mark.parametrize(("text", "expected"), READ)
def test_a_selector_reads_as_kubectl_reads_it(text: str, expected: tuple[Requirement, ...]) -> None:
    assert parse_selector(text) == expected


@pytest.mark.parametrize(
    "text", ["a b", "=b", "a=b c", "a in x", "a in (x", "a in ('x')", "-a", "a>1", "a;DROP", "é=1"]
)
def test_what_is_no_selector_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidInputError, match="label selector: cannot read"):
        parse_selector(text)
