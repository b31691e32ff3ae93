"""Which news wait for others, and for how long."""

from __future__ import annotations

import pytest

from tiphys.executor import news
from tiphys.executor.news import BEGINNING_WAITS, CLOSE, END_WAITS, FLOCK, News
from tiphys.executor.protocol import Ended, Progressed, Started, Unknown


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(news, "monotonic", clock)
    return clock


def test_without_news_there_is_nothing_to_wait_for(clock: Clock) -> None:
    assert News().patience(running=5) is None


def test_a_beginning_waits_for_a_moment(clock: Clock) -> None:
    found = News()
    found.add(Started("a", 1.0))
    assert found.patience(running=1) == pytest.approx(BEGINNING_WAITS)

    clock.now += BEGINNING_WAITS

    assert found.patience(running=1) == 0.0
    assert found.take() == (Started("a", 1.0),)
    assert found.patience(running=1) is None


def test_a_beginning_is_kept_back_until_it_is_one(clock: Clock) -> None:
    begun = {"b"}
    found = News()
    found.has_begun = begun.__contains__
    for name in "ab":
        found.add(Started(name, 1.0))
    found.add(Ended("c", 1.0))

    assert found.take() == (Started("b", 1.0), Ended("c", 1.0))
    assert found.patience(running=1) == pytest.approx(BEGINNING_WAITS)
    clock.now += BEGINNING_WAITS
    assert found.take() == ()
    assert found.patience(running=1) == pytest.approx(BEGINNING_WAITS)
    begun.add("a")
    assert found.take() == (Started("a", 1.0),)
    assert found.patience(running=1) is None


def test_a_beginning_that_was_none_is_withdrawn(clock: Clock) -> None:
    found = News()
    for name in "ab":
        found.add(Started(name, 1.0))

    found.withdraw("a")
    found.add(Ended("a", 1.0))

    assert found.take() == (Started("b", 1.0), Ended("a", 1.0))


def test_a_single_end_goes_at_once_and_takes_beginnings_along(clock: Clock) -> None:
    found = News()
    found.add(Started("a", 1.0))
    found.add(Ended("a", 1.0))

    assert found.patience(running=100) == 0.0
    assert found.take() == (Started("a", 1.0), Ended("a", 1.0))


def test_ends_in_a_flock_wait_for_others_while_others_run(clock: Clock) -> None:
    found = News()
    found.add(Ended("a", 1.0))
    clock.now += END_WAITS / 3
    found.add(Ended("b", 1.0))

    assert found.patience(running=1) == pytest.approx(END_WAITS * 2 / 3)
    assert found.patience(running=0) == 0.0

    clock.now += END_WAITS
    assert found.patience(running=1) == 0.0


def test_a_whole_flock_goes_at_once(clock: Clock) -> None:
    found = News()
    for number in range(FLOCK):
        assert not found.is_flock
        found.add(Ended(f"a{number}", 1.0))

    assert found.is_flock
    assert found.patience(running=100) == 0.0


def test_ends_far_apart_do_not_wait(clock: Clock) -> None:
    found = News()
    for number in range(3):
        clock.now += CLOSE * 2
        found.add(Ended(f"a{number}", 1.0))
        assert found.patience(running=100) == 0.0
        found.take()


@pytest.mark.parametrize("event", [Progressed("a", 1.0, "1/2"), Unknown("a")])
def test_answers_go_at_once(clock: Clock, event: Progressed | Unknown) -> None:
    found = News()
    found.add(Started("b", 1.0))
    found.add(event)

    assert found.patience(running=100) == 0.0
    assert found.take() == (Started("b", 1.0), event)
