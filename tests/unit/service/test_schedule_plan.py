"""Which slots are run: by hand-picked cases, and by a virtual clock through random restarts."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tiphys.core.cron import utc
from tiphys.errors import ExpressionError
from tiphys.service.schedule_child import backfill_child_name, child, child_name
from tiphys.service.schedule_plan import (
    LATE,
    Memory,
    Timetable,
    is_over,
    may_run,
    take_due,
    timetable,
)
from tiphys.service.schedule_state import SINCE, Cron, Status, read_row, write_row
from tiphys.spec import model
from tiphys.wire.argo import timestamp

NOON = int(datetime(2026, 11, 15, 12, tzinfo=UTC).timestamp())
HOUR = 3600.0


def cron(
    *schedules: str, last: float | None = None, since: float = NOON - 86400, **spec: object
) -> Cron:
    made = model.CronWorkflowSpec(schedules=schedules)
    meta = model.ObjectMeta(
        name="c", namespace="default", labels={"team": "a"}, annotations={SINCE: timestamp(since)}
    )
    manifest = model.CronWorkflow(metadata=meta, spec=msgspec.structs.replace(made, **spec))
    time = None if last is None else timestamp(last)
    return Cron(manifest=manifest, status=Status(last_scheduled_time=time))


def due(made: Cron, *, seen: float, now: float, look_back: bool = False) -> list[int]:
    return take_due(made, timetable(made.spec, utc), Memory(seen, look_back), now)


def test_a_slot_is_due_when_its_time_comes_and_not_before() -> None:
    hourly = cron("0 * * * *")

    assert due(hourly, seen=NOON - 60, now=NOON - 0.001) == []
    assert due(hourly, seen=NOON - 60, now=NOON) == [NOON]
    assert due(hourly, seen=NOON, now=NOON + 60) == []


def test_a_slot_that_was_run_is_not_run_again() -> None:
    assert due(cron("0 * * * *", last=NOON), seen=NOON - 60, now=NOON + 1) == []


def test_slots_of_several_schedules_are_run_in_order_and_once() -> None:
    made = cron("0 * * * *", "0 12 * * *", "@every 30s", last=NOON - 30)

    assert due(made, seen=NOON - 1, now=NOON + 30) == [NOON, NOON + 30]


def test_of_slots_that_we_slept_through_the_latest_is_run() -> None:
    assert due(cron("* * * * *"), seen=NOON - 8 * HOUR, now=NOON + 59)[-1] == NOON
    assert due(cron("0 * * * *"), seen=NOON - 8 * HOUR, now=NOON + 1800) == [NOON]


def test_a_missed_slot_is_let_go_without_a_deadline() -> None:
    assert (
        due(cron("0 * * * *", last=NOON - HOUR), seen=NOON + 9, now=NOON + 9, look_back=True) == []
    )


@pytest.mark.parametrize(("late", "found"), [(9, [NOON]), (29, [NOON]), (30, []), (600, [])])
def test_the_latest_missed_slot_is_run_within_its_deadline(late: int, found: list[int]) -> None:
    made = cron("*/20 * * * *", last=NOON - HOUR, starting_deadline_seconds=30)
    now = NOON + late

    assert due(made, seen=now, now=now, look_back=True) == found
    assert due(made, seen=now, now=now) == []


def test_a_slot_before_the_schedule_was_set_is_nobodys() -> None:
    made = cron("0 * * * *", since=NOON + 5, starting_deadline_seconds=600)

    assert due(made, seen=NOON + 9, now=NOON + 9, look_back=True) == []


def test_a_year_away_costs_little_and_finds_the_latest() -> None:
    made = cron("* * * * *", last=NOON - 400 * 86400, starting_deadline_seconds=400 * 86400)

    assert due(made, seen=NOON + 5, now=NOON + 5, look_back=True) == [NOON]


def test_what_is_kept_comes_back_the_same() -> None:
    made = cron("0 * * * *", last=NOON, when="{{=cronworkflow.failed}} < 3")

    assert read_row(write_row(made, NOON)) == made


# --- conditions -----------------------------------------------------------------------------

WAIT = (
    "{{= cronworkflow.lastScheduledTime == nil"
    " || (now() - cronworkflow.lastScheduledTime).Seconds() > 30 }}"
)


@pytest.mark.parametrize(
    ("when", "last", "found"),
    [
        ("", None, True),
        (WAIT, None, True),
        (WAIT, NOON - 10, False),
        (WAIT, NOON - 31, True),
        ("{{= cronworkflow.failed }} < 1", None, True),
        ("{{= cronworkflow.succeeded > 0 }}", None, False),
        ("'{{cronworkflow.name}}' == 'c'", None, True),
        ("'{{cronworkflow.namespace}}' != 'default'", None, False),
    ],
)
def test_when_decides(when: str, last: float | None, found: bool) -> None:
    assert may_run(cron("@hourly", last=last, when=when), NOON) is found


@pytest.mark.parametrize(
    "when", ["{{nothing}}", "{{=1 +}}", "bare == bare", "{{cronworkflow.name}} == c", "1 + 1"]
)
def test_a_when_that_cannot_be_decided_is_an_error(when: str) -> None:
    with pytest.raises(ExpressionError):
        may_run(cron("@hourly", when=when), NOON)


def test_a_stop_strategy_counts() -> None:
    strategy = model.StopStrategy(expression="cronworkflow.failed >= 2")
    made = cron("@hourly", stop_strategy=strategy)

    assert not is_over(made.with_status(Status(failed=1)))
    assert is_over(made.with_status(Status(failed=2)))


# --- workflows ------------------------------------------------------------------------------


def test_a_workflow_is_named_after_its_slot_and_marked() -> None:
    meta = model.ObjectMeta(labels={"a": "b"}, annotations={"c": "d"})
    made = child(cron("@hourly", workflow_metadata=meta), NOON, name=child_name("c", NOON))

    assert made.metadata.name == f"c-{NOON}"
    assert made.metadata.labels == {"workflows.argoproj.io/cron-workflow": "c", "a": "b"}
    assert made.metadata.annotations["workflows.argoproj.io/scheduled-time"] == timestamp(NOON)
    assert made.metadata.annotations["c"] == "d"
    assert made.metadata.owner_references[0].kind == "CronWorkflow"


def test_names_in_backfills_fit_and_differ() -> None:
    long = "c" * 52
    names = [backfill_child_name(long, each, NOON) for each in ("one", "two")]

    assert all(len(name) <= 63 for name in names)
    assert len(set(names)) == 2
    assert backfill_child_name("c", "one", NOON) == f"c-one-{NOON}"


# --- a virtual clock ------------------------------------------------------------------------

STARTS = int(datetime(2026, 3, 28, tzinfo=UTC).timestamp())
"""The clocks of Europe change a day later."""
_MINUTES = st.sampled_from(["*", "*/7", "0", "30", "0,15,59", "5-20/5"])
_HOURS = st.sampled_from(["*", "*", "*/3", "2", "1-3"])
_DAYS = st.sampled_from(["*", "*", "29", "*/2"])
_WEEKDAYS = st.sampled_from(["*", "*", "sun", "1-5"])
SPECS = st.one_of(
    st.tuples(_MINUTES, _HOURS, _DAYS, st.just("*"), _WEEKDAYS).map(" ".join),
    st.sampled_from(["@hourly", "@every 7m", "@every 1h13m", "@every 20s"]),
)


@dataclass
class World:
    """A cron workflow on a disk, and a server that comes and goes."""

    stored: Cron
    """What is on record."""
    table: Timetable
    ran: list[int] = field(default_factory=list)
    memory: Memory | None = None
    began: float = 0.0
    looked: float = 0.0

    def start(self, now: float) -> None:
        self.memory, self.began, self.looked = Memory(now), now, now

    def crash(self) -> None:
        self.memory = None

    def tick(self, now: float, *, dies: bool) -> None:
        """Look at the clock; a server that dies does so after it decided, before it commits."""
        assert self.memory is not None
        slots = take_due(self.stored, self.table, self.memory, now)
        if dies:
            self.crash()
            return
        before, self.looked = self.looked, now
        since = self.stored.since
        for slot in slots:
            missed = slot <= before
            deadline = self.stored.spec.starting_deadline_seconds
            assert not missed or (deadline is not None and now < slot + deadline), "too late"
            self.commit(slot)
        self.check(before, now, since)

    def commit(self, slot: int) -> None:
        assert slot not in self.ran, "a slot was run twice"
        assert not self.ran or slot > self.ran[-1], "a slot was run after a later one"
        self.ran.append(slot)
        status = Status(last_scheduled_time=timestamp(slot))
        self.stored = self.stored.with_status(status)

    def check(self, before: float, now: float, since: float) -> None:
        """Nothing that came due under our eyes, or within its deadline, may be lost."""
        if now - before <= LATE:
            watched = self.table.slots(max(before, since), now, since)
            assert set(watched) <= set(self.ran), "a slot was lost under our eyes"
        latest = self.table.latest(since, now, since)
        deadline = self.stored.spec.starting_deadline_seconds
        if latest is None or latest in self.ran:
            return
        assert latest <= self.began, "the latest slot was lost under our eyes"
        assert deadline is None or now >= latest + deadline, "a slot was lost within its deadline"


MOVES = st.lists(
    st.tuples(
        st.sampled_from(["tick", "tick", "tick", "die", "crash", "start"]),
        st.one_of(st.floats(0.1, 90), st.floats(60, 7200), st.floats(3600, 90000)),
    ),
    max_size=60,
)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(SPECS, min_size=1, max_size=3),
    st.sampled_from(["", "Europe/Berlin", "America/Sao_Paulo"]),
    st.sampled_from([None, 0, 30, 600, 7200]),
    MOVES,
)
def test_no_slot_is_run_twice_and_none_within_its_deadline_is_lost(
    specs: list[str], zone: str, deadline: int | None, moves: list[tuple[str, float]]
) -> None:
    made = cron(*specs, since=STARTS, timezone=zone, starting_deadline_seconds=deadline)
    world = World(made, timetable(made.spec, utc))
    now = float(STARTS)
    world.start(now)

    for move, pause in moves:
        now += pause
        if world.memory is None:
            world.start(now)
            world.tick(now, dies=move == "die")
        elif move == "crash":
            world.crash()
        else:
            world.tick(now, dies=move == "die")

    event(f"ran {min(len(world.ran), 20)} slots")
    assert all(_is_slot(world.stored, slot) for slot in world.ran)


def _is_slot(made: Cron, slot: int) -> bool:
    """Tell by another way: a slot is what comes next a second before it."""
    anchored = [each for each in made.spec.schedules if each.startswith("@every")]
    plain = tuple(each for each in made.spec.schedules if not each.startswith("@every"))
    table = timetable(msgspec.structs.replace(made.spec, schedules=plain), utc)
    return bool(anchored) or table.next(slot - 1, 0.0) == slot


def test_a_server_that_never_leaves_runs_every_slot_of_a_week() -> None:
    made = cron("*/20 * * * *", since=STARTS, timezone="Europe/Berlin")
    world = World(made, timetable(made.spec, utc))
    world.start(float(STARTS))

    for minute in range(1, 7 * 24 * 60 + 1):
        world.tick(STARTS + minute * 60.0, dies=False)

    begin = datetime.fromtimestamp(STARTS, UTC)
    wanted = [begin + timedelta(minutes=20 * number) for number in range(1, 7 * 24 * 3 + 1)]
    assert world.ran == [int(at.timestamp()) for at in wanted]
