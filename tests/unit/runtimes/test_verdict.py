"""Phases and messages are Argo's."""

from __future__ import annotations

import pytest

from tiphys.executor.protocol import Attempt, ContainerExit, ContainerRun, Ended
from tiphys.runtimes.verdict import DEADLINE, judge, members

ROLES = {"i": "init", "main": "main", "b": "main", "s": "sidecar"}


def judged(*exits: ContainerExit, reason: str = "", message: str = "") -> tuple[str, str]:
    runs = tuple(ContainerRun(e.name, ("x",), {}, ROLES[e.name]) for e in exits)
    return judge(Attempt("a.1", "/f", runs), Ended("a.1", 9.0, exits, reason, message=message))


def ended(
    name: str, code: int | None, at: float = 1.0, error: str = "", *, oom: bool = False
) -> ContainerExit:
    return ContainerExit(name, code, 0.0, at, error, oom)


@pytest.mark.parametrize(
    ("exits", "expected"),
    [
        ((ended("main", 0),), ("Succeeded", "")),
        ((ended("main", 1),), ("Failed", "main: Error (exit code 1)")),
        ((ended("main", 64, error="why"),), ("Failed", "main: Error (exit code 64): why")),
        ((ended("main", 137, oom=True),), ("Failed", "main: OOMKilled (exit code 137)")),
        ((ended("main", 0), ended("s", 143)), ("Succeeded", "")),
        ((ended("main", 0), ended("s", 137)), ("Succeeded", "")),
        ((ended("main", 0), ended("s", 2)), ("Failed", "s: Error (exit code 2)")),
        ((ended("main", 3), ended("s", 2)), ("Failed", "main: Error (exit code 3)")),
        ((ended("i", 2), ended("main", None)), ("Failed", "i: Error (exit code 2)")),
        ((ended("main", 143, 2.0), ended("b", 5, 1.0)), ("Failed", "b: Error (exit code 5)")),
        ((ended("main", None),), ("Failed", "stopped before it began")),
    ],
)
def test_the_first_failure_in_argos_order_gives_the_message(
    exits: tuple[ContainerExit, ...], expected: tuple[str, str]
) -> None:
    assert judged(*exits) == expected


def test_a_deadline_has_kubernetes_message() -> None:
    assert judged(ended("main", 143), reason="deadline") == ("Failed", DEADLINE)


def test_a_lost_attempt_is_an_error() -> None:
    assert judged(reason="lost", message="executor lost: x") == ("Error", "executor lost: x")


def test_members_of_a_set_have_phases_of_their_own() -> None:
    exits = (ended("main", 0), ended("b", 64, error="why"), ended("s", None))

    found = members(Ended("a.1", 9.0, exits), ["main", "b", "s"])

    assert [(m.name, m.phase, m.exit_code) for m in found] == [
        ("main", "Succeeded", 0),
        ("b", "Error", 64),
        ("s", "Omitted", None),
    ]
