"""Real Argo workflows, run by the installed command and compared with what Argo 4.0.2 recorded.

The cases, their recorded results and the comparison itself (check.py) lie beside this repository,
in ``../shared/conformance``: nothing of them is copied. One test is one case.

A recorded result holds exactly, or the case stands in ``WEAKER``: there the recording depends on
something outside of us, and the table says on what, and which differences are therefore allowed.
Everything that is not named there must be equal for these cases too.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "conformance"
TIPHYS = Path(sys.executable).with_name("tiphys")


class Weaker(NamedTuple):
    """Why a recorded result cannot be had here, and which differences that excuses."""

    reason: str
    allowed: str
    """Matches a whole line of what check.py reports."""


_SUCCEEDED_INSTEAD = (
    r"phase: Succeeded, expected Failed"
    r"|WF: exitCode = '0', expected '127'"
    r"|WF: phase = 'Succeeded', expected 'Failed'"
)
WEAKER = {
    "functional-json-argument": Weaker(
        "the recorded image had no jq (exit code 127); most machines have it", _SUCCEEDED_INSTEAD
    ),
    "testdata-subprocess-workflow": Weaker(
        "the recorded image had no ps (exit code 127); most machines have it", _SUCCEEDED_INSTEAD
    ),
    "retry-on-error": Weaker(
        "fails 4 times of 5, with 3 attempts: half of all runs fail",
        r"phase: Failed, expected Succeeded",
    ),
    "resubmit": Weaker(
        "eight pods that fail once in three: one run in 25 succeeds",
        r"phase: Succeeded, expected Failed",
    ),
}
# Seconds that a case sleeps by itself. Long ones come first, so that none is the last to begin.
SLEEPS: dict[str, int] = {}
SLOW = {"parallelism-nested-workflow": "sleeps for two minutes: set TIPHYS_SLOW=1 to run it"}


def _cases() -> list[str]:
    names = [path.stem for path in (SHARED / "cases").glob("*.yaml")]
    return sorted(names, key=lambda name: (-SLEEPS.get(name, 0), name))


def _parameters() -> list[Any]:
    return [
        pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in _cases()
    ]


@pytest.fixture(scope="session")
def check() -> Any:
    """Give check.py as a module."""
    source = SHARED / "check.py"
    if not source.exists():
        pytest.skip("the recorded cases (../shared/conformance) are not on this machine")
    if not TIPHYS.exists():
        pytest.skip("tiphys is not installed beside this Python")
    spec = importlib.util.spec_from_file_location("conformance_check", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _run(check: Any, name: str) -> list[str]:
    """Run one case as check.py does, and list where it differs from the recording."""
    options = argparse.Namespace(cases=SHARED / "cases", tiphys=str(TIPHYS), timeout=280.0)
    found: list[str] = check.run(options.cases / f"{name}.yaml", options)
    return found


@pytest.mark.parametrize("name", _parameters())
def test_a_workflow_ends_as_argo_recorded_it(name: str, check: Any) -> None:
    if name in SLOW and not os.environ.get("TIPHYS_SLOW"):
        pytest.skip(SLOW[name])
    allowed = WEAKER[name].allowed if name in WEAKER else r"(?!)"

    differences = _run(check, name)

    assert [line for line in differences if not re.fullmatch(allowed, line)] == []
