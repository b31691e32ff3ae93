"""Real Argo workflows, run by the installed command and compared with what Argo 4.0.2 recorded.

The cases, their recorded results and the comparison itself (check.py) lie beside this repository,
in ``../shared/conformance``: nothing of them is copied. One test is one case.

A recorded result holds exactly, or the case stands in ``WEAKER``: there the recording depends on
something outside of us, and the table says on what, and which differences are therefore allowed.
Everything that is not named there must be equal for these cases too.

``cases`` and ``expected`` beside this file are ours, in the same form (``check.py --cases`` takes
them too): features that no recorded case shows, with the nodes that Argo's rules give them.
"""

from __future__ import annotations

import argparse
import fcntl
import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "conformance"
OURS = Path(__file__).resolve().parent / "cases"
ABSENT = "the recorded cases (../shared/conformance) are not on this machine"
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
_UNLUCKY = r"phase: Failed, expected Succeeded"
WEAKER = {
    "functional-json-argument": Weaker(
        "the recorded image had no jq (exit code 127); most machines have it", _SUCCEEDED_INSTEAD
    ),
    "testdata-subprocess-workflow": Weaker(
        "the recorded image had no ps (exit code 127); most machines have it", _SUCCEEDED_INSTEAD
    ),
    "retry-on-error": Weaker(
        "fails 4 times of 5, with 3 attempts: half of all runs fail", _UNLUCKY
    ),
    "resubmit": Weaker(
        "eight pods that fail once in three: one run in 25 succeeds",
        r"phase: Succeeded, expected Failed",
    ),
    **dict.fromkeys(
        (
            "functional-retry-script",
            "retry-container",
            "retry-script",
            "workflow-template-retry-with-steps",
        ),
        Weaker("fails 2 times of 3, with 11 attempts: one pod in 86 fails for good", _UNLUCKY),
    ),
}
# Cases that sleep for ten seconds or more. They cost time and no work, so all of them begin with
# the first test, beside the others, and are looked at last.
SLEEPERS = (
    "dag-disable-failfast",
    "dag-task-level-timeout",
    "default-pdb-support",
    "expectedfailures-dag-disable-failfast",
    "expectedfailures-dag-disbale-failfast-2",
    "loops-param-result",
    "parallelism-limit",
    "parallelism-nested-dag",
    "parallelism-nested-workflow",
    "parallelism-template-limit",
    "step-level-timeout",
    "testdata-sleepy-workflow",
    "timeouts-step",
)
SLOW = {"parallelism-nested-workflow": "sleeps for two minutes: set TIPHYS_SLOW=1 to run it"}


def _names(folder: Path) -> list[str]:
    """List the cases of a folder, those that sleep behind all others."""
    names = [path.stem for path in folder.glob("*.yaml")]
    return sorted(names, key=lambda name: (name in SLEEPERS, name))


def _is_left_out(name: str) -> bool:
    return name in SLOW and not os.environ.get("TIPHYS_SLOW")


@pytest.fixture(scope="session")
def check() -> Any:
    """Give check.py as a module."""
    source = SHARED / "check.py"
    if not source.exists():
        pytest.skip(ABSENT)
    if not TIPHYS.exists():
        pytest.skip("tiphys is not installed beside this Python")
    spec = importlib.util.spec_from_file_location("conformance_check", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _run(check: Any, folder: Path, name: str) -> list[str]:
    """Run one case as check.py does, and list where it differs from what is expected."""
    options = argparse.Namespace(cases=folder, tiphys=str(TIPHYS), timeout=280.0)
    found: list[str] = check.run(folder / f"{name}.yaml", options)
    return found


class Ahead:
    """Runs cases ahead of their tests, in threads of whichever worker came first.

    The workers of pytest-xdist share a folder. A case's lock is held while it runs, so that the
    test waits for the lock and then reads the result, in whatever worker it is.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pool = ThreadPoolExecutor(len(SLEEPERS))

    def begin(self, check: Any, names: Iterable[str]) -> None:
        """Start the cases, unless another worker has."""
        with (self._folder / "begun").open("a+") as begun:
            fcntl.flock(begun, fcntl.LOCK_EX)
            if os.fstat(begun.fileno()).st_size:
                return
            for name in names:
                lock = (self._folder / f"{name}.lock").open("w")
                fcntl.flock(lock, fcntl.LOCK_EX)
                self._pool.submit(self._run, check, name, lock)
            begun.write("yes")

    def _run(self, check: Any, name: str, lock: TextIO) -> None:
        with lock:
            found = _run(check, SHARED / "cases", name)
            (self._folder / f"{name}.json").write_text(json.dumps(found))

    def result(self, name: str) -> list[str]:
        """Wait for a case and give how it differs from the recording."""
        with (self._folder / f"{name}.lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
        found: list[str] = json.loads((self._folder / f"{name}.json").read_text())
        return found

    def close(self) -> None:
        """Wait for what was started here."""
        self._pool.shutdown(wait=True, cancel_futures=True)


@pytest.fixture(scope="session")
def ahead(
    check: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ahead]:
    """Have the cases that sleep and were asked for begun."""
    base = tmp_path_factory.getbasetemp()
    # A worker's folder lies in one that all workers share.
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "ahead"
    folder.mkdir(exist_ok=True)
    asked = {item.callspec.id for item in request.session.items if hasattr(item, "callspec")}
    cases = Ahead(folder)
    cases.begin(check, [name for name in SLEEPERS if name in asked and not _is_left_out(name)])
    yield cases
    cases.close()


RECORDED: list[Any] = [*_names(SHARED / "cases")]
if not RECORDED:
    RECORDED = [pytest.param("none", marks=pytest.mark.skip(ABSENT))]


@pytest.mark.parametrize("name", RECORDED)
def test_a_workflow_ends_as_argo_recorded_it(name: str, check: Any, ahead: Ahead) -> None:
    if _is_left_out(name):
        pytest.skip(SLOW[name])
    allowed = WEAKER[name].allowed if name in WEAKER else r"(?!)"

    differences = ahead.result(name) if name in SLEEPERS else _run(check, SHARED / "cases", name)

    assert [line for line in differences if not re.fullmatch(allowed, line)] == []


@pytest.mark.parametrize("name", _names(OURS))
def test_a_workflow_of_ours_ends_as_argos_rules_have_it(name: str, check: Any) -> None:
    assert _run(check, OURS, name) == []


def test_every_case_has_its_expected_nodes() -> None:
    expected = {path.stem for path in (OURS.parent / "expected").glob("*.json")}

    assert expected == set(_names(OURS))


def test_only_known_cases_are_excused() -> None:
    if not SHARED.exists():
        pytest.skip(ABSENT)

    assert {*WEAKER, *SLEEPERS, *SLOW} <= set(_names(SHARED / "cases"))
