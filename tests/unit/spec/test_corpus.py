"""The recorded cases: what Argo ran is accepted, what it refused is refused."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from tiphys.spec.library import Library
from tiphys.spec.lint import has_errors, validate_bundle
from tiphys.spec.parse import Bundle, parse_files

CONFORMANCE = Path(__file__).parents[4] / "shared" / "conformance"
CASES = sorted(CONFORMANCE.glob("cases/*.yaml"))
# Refused for want of a database or an artifact store, which no file can tell.
SURROUNDINGS = frozenset(
    {
        "synchronization-db-mutex-wf-level-1",
        "synchronization-db-semaphore-wf-level",
        "testdata-artifact-repository-ref",
    }
)

pytestmark = pytest.mark.skipif(not CASES, reason="the conformance cases are not here")


def bundle_of(case: Path) -> Bundle:
    listed = case.with_suffix(".fixtures")
    names = listed.read_text().split() if listed.exists() else []
    files = [*(CONFORMANCE / "fixtures" / name for name in names), case]
    return parse_files([(file.name, file.read_bytes()) for file in files])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_what_argo_refuses_is_refused_and_nothing_else(case: Path) -> None:
    expected = json.loads((CONFORMANCE / "expected" / f"{case.stem}.json").read_text())
    refused = expected.get("nodes") == {} and case.stem not in SURROUNDINGS
    bundle = bundle_of(case)

    problems = [*bundle.problems, *validate_bundle(bundle, Library.of(bundle))]

    assert has_errors(problems) is refused, "\n".join(str(each) for each in problems)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_case_survives_json(case: Path) -> None:
    for workflow in bundle_of(case).workflows:
        encoded = msgspec.json.encode(workflow.value)

        assert msgspec.json.decode(encoded, type=type(workflow.value)) == workflow.value
