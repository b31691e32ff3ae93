"""Schedules: what they mean, without a clock."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiphys.core.cron import Every, parse_schedule
from tiphys.errors import InvalidInputError

BERLIN = ZoneInfo("Europe/Berlin")


def berlin(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=BERLIN).timestamp())


def slots(schedule: str, begin: str, count: int) -> list[str]:
    read = parse_schedule(schedule, timezone="Europe/Berlin")
    found: list[int] = []
    for _ in range(count):
        slot = read.next(found[-1] if found else berlin(begin))
        assert slot is not None
        found.append(slot)
    return [datetime.fromtimestamp(slot, BERLIN).isoformat() for slot in found]


def test_a_slot_is_behind_the_instant_that_is_asked_about() -> None:
    assert parse_schedule("* * * * *").next(60) == 120
    assert parse_schedule("* * * * *").next(60.5) == 120
    assert parse_schedule("* * * * *").next(59.5) == 60


def test_an_hour_that_the_clocks_skip_has_no_slots() -> None:
    assert slots("30 2 * * *", "2026-03-28 12:00", 2) == [
        "2026-03-30T02:30:00+02:00",
        "2026-03-31T02:30:00+02:00",
    ]


def test_an_hour_that_the_clocks_repeat_has_its_slots_twice() -> None:
    assert slots("30 2 * * *", "2026-10-24 12:00", 3) == [
        "2026-10-25T02:30:00+02:00",
        "2026-10-25T02:30:00+01:00",
        "2026-10-26T02:30:00+01:00",
    ]


def test_one_of_both_day_fields_is_enough_unless_one_has_a_star() -> None:
    both = slots("0 0 13 * fri", "2026-11-01 00:00", 3)
    star = slots("0 0 ? * fri", "2026-11-01 00:00", 2)

    assert [slot[:10] for slot in both] == ["2026-11-06", "2026-11-13", "2026-11-20"]
    assert [slot[:10] for slot in star] == ["2026-11-06", "2026-11-13"]


def test_a_star_with_a_step_is_no_star() -> None:
    found = slots("0 0 */2 * sat", "2026-11-01 00:00", 4)

    assert [slot[:10] for slot in found] == ["2026-11-03", "2026-11-05", "2026-11-07", "2026-11-09"]


def test_what_never_comes_is_never_due() -> None:
    assert parse_schedule("0 0 30 2 *").next(0) is None
    assert parse_schedule(", * * * *").next(0) is None


def test_a_zone_that_lost_a_day_does_not_keep_us_forever() -> None:
    schedule = parse_schedule("*/17 ? 26-27 11-12 TUE", timezone="Pacific/Apia")

    assert schedule.next(1_325_202_590) is None
    assert schedule.next(1_325_500_000) is not None


def test_spans_are_whole_seconds_and_at_least_one() -> None:
    assert parse_schedule("@every 1h30m") == Every(5400)
    assert parse_schedule("@every 1.9s") == Every(1)
    assert parse_schedule("@every -5s") == Every(1)


def test_without_a_zone_the_machines_counts() -> None:
    assert parse_schedule("0 12 * * *", local=lambda _: 3600).next(0) == 11 * 3600
    assert parse_schedule("TZ=Local 0 12 * * *", local=lambda _: 3600).next(0) == 11 * 3600
    assert parse_schedule("TZ=UTC 0 12 * * *", local=lambda _: 3600).next(0) == 12 * 3600


@pytest.mark.parametrize(
    ("text", "zone", "problem"),
    [
        ("* * * *", "", "expected 5 fields"),
        ("60 * * * *", "", "ends behind 59"),
        ("* * 0 * *", "", "begins before 1"),
        ("5-1 * * * *", "", "runs backwards"),
        ("*/0 * * * *", "", "no step above 0"),
        ("@reboot", "", "is none of @yearly"),
        ("@every soon", "", "not a duration"),
        ("* * * * *", "Mars/Base", "no time zone 'Mars/Base'"),
        ("TZ=UTC * * * * *", "UTC", "given twice"),
        ("TZ=UTC", "", "nothing behind the time zone"),
        ("*" * 2000, "", "too long"),
    ],
)
def test_what_is_wrong_is_told(text: str, zone: str, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        parse_schedule(text, timezone=zone)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_no_text_does_anything_but_parse_or_fail(text: str) -> None:
    try:
        schedule = parse_schedule(text)
    except InvalidInputError:
        return
    slot = schedule.next(1_700_000_000)
    assert slot is None or slot > 1_700_000_000
