"""Our schedules against robfig/cron v3 itself: thousands of texts, instants and zones."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.cron.oracle import ZONES, ask, built_oracle, instant, odd, sound
from tiphys.core.cron import parse_schedule
from tiphys.errors import InvalidInputError

ROW = 6
"""So many slots behind each other are compared."""


@pytest.fixture(scope="module")
def oracle() -> Path:
    return built_oracle()


def question(spec: str, at: float) -> dict[str, Any]:
    return {"spec": spec, "nano": int(at * 2) * 500_000_000, "count": ROW}


def ours(spec: str, at: float) -> list[int] | None:
    try:
        schedule = parse_schedule(spec)
    except InvalidInputError:
        return None
    found: list[int] = []
    while len(found) < ROW:
        slot = schedule.next(found[-1] if found else at)
        found.append(slot or 0)
        if slot is None:
            break
    return found


def differences(oracle: Path, asked: list[tuple[str, float]]) -> list[str]:
    answers = ask(oracle, [question(spec, at) for spec, at in asked])
    return [
        f"{spec!r} behind {at}: theirs {theirs}, ours {ours(spec, at)}"
        for (spec, at), theirs in zip(asked, answers, strict=True)
        if ours(spec, at) != (None if "error" in theirs else theirs["times"])
    ]


@pytest.mark.parametrize("seed", range(4))
def test_schedules_are_due_when_the_real_library_says(oracle: Path, seed: int) -> None:
    chance = random.Random(seed)
    prefixes = ("TZ=", "CRON_TZ=")
    asked = [
        (f"{chance.choice(prefixes)}{chance.choice(ZONES)} {sound(chance)}", instant(chance))
        for _ in range(1500)
    ]

    assert differences(oracle, asked) == []


def test_schedules_without_a_zone_are_due_when_the_real_library_says(oracle: Path) -> None:
    chance = random.Random(99)

    assert differences(oracle, [(sound(chance), instant(chance)) for _ in range(1000)]) == []


def test_the_same_odd_texts_are_taken_and_refused(oracle: Path) -> None:
    chance = random.Random(7)
    chosen = [
        "",
        "@",
        "@hourly ",
        " @hourly",
        "@every",
        "@every  1h",
        "@every 1h ",
        "@every 1x",
        "@Hourly",
        "TZ=UTC",
        "TZ= * * * * *",
        "TZ=UTC  @hourly ",
        "TZ=Nowhere/Land * * * * *",
        "TZ=../etc * * * * *",
        "tz=UTC * * * * *",
        "CRON_TZ=UTC TZ=UTC * * * * *",
        "0 0 30 2 *",
        "0 0 29 2 *",
        "*/2 * */2 * 1",
        "0 0 */1 * 1",
        "0 0 ? * 1",
        "0 0 1-31 * 1",
        "* * * * 7",
        "60 * * * *",
        "* * 0 * *",
        "*/100 * * * *",
        "99999999999999999999 * * * *",
        "*/99999999999999999999 * * * *",
        "\u00a00 0 * * *",
        "0\x1c0 * * *",
        "١ * * * *",
    ]
    texts = chosen + [odd(chance) for _ in range(2000)]

    assert differences(oracle, [(text, instant(chance)) for text in texts]) == []
