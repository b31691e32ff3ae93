"""Which container of an attempt starts when."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tiphys.executor.life import CANNOT_START, Action, Finish, Launch, Life, Terminate
from tiphys.executor.protocol import ContainerRun


def run(
    name: str, role: str = "main", after: tuple[str, ...] = (), retries: int = 0
) -> ContainerRun:
    return ContainerRun(name, ("x",), {}, role, after=after, retries=retries)


def begin(*runs: ContainerRun) -> tuple[Life, list[Action]]:
    life = Life.of(runs)
    return life, perform(life, life.begin())


def perform(life: Life, actions: list[Action]) -> list[Action]:
    """Launch what is to be launched, as the supervisor does."""
    return [a for a in actions if not isinstance(a, Launch) or life.launched(a.name)]


def test_one_container_starts_and_its_end_is_the_end() -> None:
    life, first = begin(run("main"))

    assert first == [Launch("main")]
    assert life.exited("main", 0) == [Finish()]


def test_init_containers_start_one_after_another_then_mains_with_sidecars() -> None:
    life, first = begin(run("a", "init"), run("b", "init"), run("main"), run("s", "sidecar"))

    assert first == [Launch("a")]
    assert perform(life, life.exited("a", 0)) == [Launch("b")]
    assert perform(life, life.exited("b", 0)) == [Launch("s"), Launch("main")]


def test_a_failed_init_container_ends_it_all() -> None:
    life, _ = begin(run("a", "init"), run("b", "init"), run("main"))

    assert life.exited("a", 1) == [Finish()]
    assert life.omitted() == ("b", "main")


def test_sidecars_are_told_to_end_after_the_last_main() -> None:
    life, _ = begin(run("main"), run("s", "sidecar"))

    assert life.exited("main", 0) == [Terminate(("s",))]
    assert life.exited("s", 143) == [Finish()]


def test_a_sidecar_that_ends_early_does_not_end_the_attempt() -> None:
    life, _ = begin(run("main"), run("s", "sidecar"))

    assert life.exited("s", 1) == []
    assert life.exited("main", 0) == [Finish()]


def test_a_main_starts_when_all_it_waits_for_have_succeeded() -> None:
    life, first = begin(run("a"), run("b"), run("c", after=("a", "b")))

    assert first == [Launch("a"), Launch("b")]
    assert perform(life, life.exited("a", 0)) == []
    assert perform(life, life.exited("b", 0)) == [Launch("c")]


def test_the_first_main_that_fails_takes_the_others_with_it() -> None:
    life, _ = begin(run("a"), run("b"), run("c", after=("a",)))

    assert life.exited("a", 1) == [Terminate(("b",))]
    assert life.exited("b", 143) == [Finish()]
    assert life.omitted() == ("c",)


def test_a_failed_container_with_retries_left_starts_again() -> None:
    life, _ = begin(run("main", retries=1))

    assert perform(life, life.exited("main", 1)) == [Launch("main")]
    assert life.exited("main", 1) == [Finish()]


def test_what_cannot_be_started_is_not_tried_again() -> None:
    life, _ = begin(run("main", retries=5))

    assert life.exited("main", CANNOT_START) == [Finish()]


def test_a_stop_ends_what_runs_and_nothing_new_starts() -> None:
    life, _ = begin(run("a"), run("b", after=("a",)))

    assert life.stop() == [Terminate(("a",))]
    assert life.stop() == []
    assert life.exited("a", 0) == [Finish()]
    assert life.omitted() == ("b",)


def test_a_stop_while_a_retry_waits_is_the_end() -> None:
    life, _ = begin(run("main", retries=1))
    life.exited("main", 1)

    assert life.stop() == [Finish()]
    assert not life.launched("main")


names = st.sampled_from("abcd")
codes = st.sampled_from([0, 0, 0, 1, 64, 143])


@st.composite
def attempts(draw: st.DrawFn) -> list[ContainerRun]:
    runs: list[ContainerRun] = []
    for index in range(draw(st.integers(1, 6))):
        role = draw(st.sampled_from(["init", "main", "main", "sidecar"]))
        earlier = [r.name for r in runs if r.role == "main"]
        after = tuple(draw(st.lists(st.sampled_from(earlier), unique=True))) if earlier else ()
        retries = draw(st.integers(0, 2))
        runs.append(run(f"c{index}", role, after if role == "main" else (), retries))
    return [*runs, run("last")]


@given(attempts(), st.data())
def test_every_attempt_ends_once_and_nothing_runs_after_it(
    runs: list[ContainerRun], data: st.DataObject
) -> None:
    life = Life.of(runs)
    running: list[str] = []
    finished = 0
    pending = list(life.begin())
    stops = data.draw(st.integers(0, 20))
    for step in range(200):
        for action in pending:
            if isinstance(action, Launch) and life.launched(action.name):
                running.append(action.name)
            finished += isinstance(action, Finish)
        if finished:
            break
        if step == stops:
            pending = life.stop()
            continue
        assert running, "nothing runs and it is not over"
        name = data.draw(st.sampled_from(sorted(running)))
        running.remove(name)
        pending = life.exited(name, data.draw(codes))

    assert finished == 1
    assert running == []
