"""What waits until attempts of an earlier process were heard of."""

from __future__ import annotations

import pytest

from tiphys.control.unheard import Unheard
from tiphys.engine import event as ev

STOP = ev.RunStopped(at=1.0, strategy=ev.Shutdown.STOP)
WOKEN = ev.Woken(at=1.0)
SUSPEND, RESUME = ev.RunSuspended(at=2.0), ev.RunResumed(at=3.0)


@pytest.fixture
def unheard() -> Unheard:
    """One run that waits to hear of two attempts."""
    made = Unheard()
    made.expect("run.1", "run")
    made.expect("run.2", "run")
    return made


@pytest.mark.parametrize("event", [STOP, WOKEN, ev.Woken(at=1.0, node="n")])
def test_what_may_end_nodes_waits_until_all_attempts_were_heard_of(
    unheard: Unheard, event: ev.Event
) -> None:
    assert unheard.hold("run", event)

    unheard.hear("run.2")
    assert unheard.take_due() == []
    unheard.hear("run.1")

    assert unheard.take_due() == [("run", event)]
    assert not unheard.hold("run", event)


def test_other_runs_do_not_wait(unheard: Unheard) -> None:
    assert not unheard.hold("other", STOP)


def test_what_ends_nothing_does_not_wait(unheard: Unheard) -> None:
    assert not unheard.hold("run", SUSPEND)
    assert not unheard.hold("run", ev.LocksGranted(at=1.0))


def test_what_people_say_after_a_stop_comes_after_it(unheard: Unheard) -> None:
    for event in (WOKEN, STOP, SUSPEND, RESUME):
        assert unheard.hold("run", event)

    unheard.hear("run.1")
    unheard.hear("run.2")

    assert [event for _, event in unheard.take_due()] == [WOKEN, STOP, SUSPEND, RESUME]


def test_news_of_attempts_that_nobody_asked_about_changes_nothing(unheard: Unheard) -> None:
    unheard.hold("run", STOP)

    unheard.hear("run.3")
    unheard.hear("other.1")

    assert not unheard.due


def test_a_run_waits_from_the_moment_it_is_taken_up() -> None:
    unheard = Unheard()
    unheard.enter("run")
    unheard.enter("other")

    assert unheard.hold("run", WOKEN)
    assert unheard.hold("other", WOKEN)
    unheard.expect("run.1", "run")
    unheard.entered()

    assert unheard.holds("other")
    assert unheard.take_due() == [("other", WOKEN)]
    assert not unheard.holds("other")
    assert unheard.holds("run")


def test_events_that_are_due_are_given_once(unheard: Unheard) -> None:
    unheard.hold("run", STOP)
    unheard.hear("run.1")
    unheard.hear("run.2")

    assert unheard.due
    assert unheard.take_due() == [("run", STOP)]
    assert not unheard.due
    assert unheard.take_due() == []
