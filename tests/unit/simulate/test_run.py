"""The virtual clock, its reports and pictures."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.errors import InvalidInputError
from tiphys.scheduling import Preempt, Queue, QueueTree, Resources
from tiphys.scheduling.estimate import History
from tiphys.simulate.bound import lower_bound, possible
from tiphys.simulate.command import (
    Load,
    Trace,
    load_queues,
    parse_capacity,
    parse_trace,
    simulate,
)
from tiphys.simulate.gantt import gantt_json, gantt_svg, gantt_text
from tiphys.simulate.report import Report, compare_text, report_text, summarize
from tiphys.simulate.run import run
from tiphys.simulate.task import Task, planned, template_of

ONE = Resources(cpu=1000)
TWO = Resources(cpu=2000)

WORKFLOW = """\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  name: flow
  annotations: {tiphys.dev/queue: night}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - name: first
        template: work
    - - name: fan
        template: work
        withSequence: {count: "4"}
  - name: work
    container: {image: x, command: [x], resources: {requests: {cpu: 1}}}
"""


def task(name: str, seconds: float = 10.0, *parents: str, **fields: object) -> Task:
    return Task(id=name, seconds=seconds, requests=ONE, parents=parents, **fields)  # type: ignore[arg-type]


def test_tasks_start_when_their_parents_have_ended() -> None:
    outcome = run([task("a"), task("b", 5.0, "a"), task("c", 5.0, "a")], TWO)

    assert outcome.makespan == 15.0
    assert outcome.records["b"].started_at == outcome.records["c"].started_at == 10.0


def test_the_machine_is_never_fuller_than_it_is() -> None:
    outcome = run([task(f"t{i}", 7.0) for i in range(5)], TWO)

    assert outcome.makespan == 21.0
    assert summarize(outcome).utilisation == {"cpu": pytest.approx(35 / 42)}


def test_a_stopped_task_queues_again_with_its_age_and_loses_its_progress() -> None:
    queues = QueueTree([Queue(name="default", preempt=Preempt.LOWER_PRIORITY)])
    low = task("low", 100.0, priority=1)
    high = task("high", 10.0, priority=100, arrives_at=50.0)

    outcome = run([low, high], ONE, queues)

    assert outcome.records["low"].preempted == 1
    assert outcome.records["high"].started_at == 50.0
    assert outcome.records["low"].ended_at == 160.0
    assert [p.text for _, p in outcome.preemptions] == [
        "low stops for high: it has a higher priority in the same queue"
    ]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 30),  # seconds
            st.integers(0, 5000),  # cpu, which may be more than the machine has
            st.integers(0, 40),  # arrival
            st.integers(1, 3),  # priority
        ),
        min_size=1,
        max_size=12,
    )
)
def test_no_figure_is_beyond_what_a_machine_and_a_clock_can_do(
    rows: list[tuple[int, int, int, int]],
) -> None:
    queues = QueueTree([Queue(name="default", preempt=Preempt.LOWER_PRIORITY)])
    tasks = [
        Task(
            id=f"t{number}",
            seconds=float(seconds),
            requests=Resources(cpu=cpu),
            arrives_at=float(at),
            priority=priority,
        )
        for number, (seconds, cpu, at, priority) in enumerate(rows)
    ]

    report = summarize(run(tasks, TWO, queues))

    assert all(0 <= part <= 1 + 1e-9 for part in report.utilisation.values())
    assert report.lower_bound <= report.makespan + 1e-9
    assert all(0 <= queue.wait_max <= report.makespan for queue in report.queues.values())


def simulated(spec: str, **given: Any) -> Report:
    """Give the report of a workflow on a machine of two cores; each task takes ten seconds."""
    head = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: flow}\nspec:\n"
    load = Load(files=[("flow.yaml", (head + spec).encode())], default_seconds=10.0, **given)
    queues = QueueTree([Queue(name="default", preempt=Preempt.LOWER_PRIORITY)])
    return simulate(TWO, load, queues).report


WORK = "  - {name: work, container: {image: x, command: [x], resources: {requests: {cpu: 2}}}}\n"


def test_work_that_a_deadline_kept_from_ending_is_in_no_bound() -> None:
    tasks = "[{name: a, template: work}, {name: b, template: work}, {name: c, template: work}]"
    text = f"  entrypoint: main\n  activeDeadlineSeconds: 15\n  templates:\n{WORK}"

    report = simulated(f"{text}  - {{name: main, dag: {{tasks: {tasks}}}}}\n")

    assert report.makespan == 15.0
    assert report.lower_bound <= 15.0


def test_a_pause_at_the_end_of_a_workflow_takes_its_time() -> None:
    steps = "[[{name: a, template: work}], [{name: b, template: pause}]]"
    text = f"  entrypoint: main\n  templates:\n{WORK}  - {{name: main, steps: {steps}}}\n"

    report = simulated(f"{text}  - {{name: pause, suspend: {{duration: 50s}}}}\n")

    assert (report.makespan, report.lower_bound) == (60.0, 60.0)


def test_a_task_that_made_room_is_one_task_and_waited_from_the_beginning(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    entry = {"id": "x", "category": "c", "parents": [], "seconds": 10, "cores": 2}
    file.write_text(json.dumps({"name": "high", "tasks": [entry]}))
    text = f"  entrypoint: work\n  priority: 1\n  templates:\n{WORK}"

    report = simulated(text, traces=[Trace(file, at=5.0)])

    assert report.preemptions == 1
    assert report.queues["default"].tasks == 2
    assert (report.queues["default"].wait_max, report.makespan) == (15.0, 25.0)
    assert report.lower_bound == 20.0


@pytest.mark.parametrize("wrong", [{"seconds": -1}, {"seconds": math.nan}, {"cores": -2}])
def test_a_trace_with_less_than_nothing_is_refused(tmp_path: Path, wrong: dict[str, float]) -> None:
    file = tmp_path / "t.json"
    entry = {"id": "x", "category": "c", "parents": [], "seconds": 1, **wrong}
    file.write_text(json.dumps({"name": "t", "tasks": [entry]}))

    with pytest.raises(InvalidInputError, match="less than nothing"):
        simulate(ONE, Load(traces=[Trace(file)]))


def test_nothing_arrives_before_the_beginning() -> None:
    with pytest.raises(InvalidInputError, match="before the beginning"):
        parse_trace("t.json,at=-10m")


@pytest.mark.parametrize("text", ["cpu=0", "cpu=-1", "cpu=4,memory=0"])
def test_a_machine_of_nothing_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="a machine has more than"):
        parse_capacity(text)


def test_a_missed_service_level_is_counted() -> None:
    queues = QueueTree([Queue(name="default", sla_seconds=5.0)])

    report = summarize(run([task("a"), task("b")], ONE, queues))

    assert report.queues["default"].sla_misses == 1
    assert report.queues["default"].wait_max == 10.0


def test_a_task_for_an_unknown_queue_is_reported_as_never_started() -> None:
    outcome = run([task("a", queue="nowhere")], ONE)

    assert outcome.stuck == {"a": "there is no queue nowhere that takes work"}


def test_an_unknown_parent_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="no task z"):
        run([task("a", 1.0, "z")], ONE)


def test_gangs_of_tasks_start_together() -> None:
    tasks = [task("x"), task("g1", gang="g"), task("g2", gang="g")]

    outcome = run(tasks, TWO)

    assert outcome.records["g1"].started_at == outcome.records["g2"].started_at == 10.0


def test_the_same_tasks_give_the_same_outcome() -> None:
    tasks = [task(f"t{i}", float(i % 4 + 1), priority=i % 3) for i in range(30)]

    assert gantt_json(run(tasks, TWO)) == gantt_json(run(tasks, TWO))


def test_whole_waves_heads_and_tails_are_proofs_that_no_plan_is_shorter() -> None:
    wave = [task(f"t{i}") for i in range(3)]
    assert lower_bound(wave, TWO) == 15.0
    assert not possible(wave, TWO, 19.9)
    assert possible(wave, TWO, 20.0)

    chain = [task("head"), *(task(f"m{i}", 10.0, "head") for i in range(4))]
    assert not possible(chain, TWO, 29.9)
    assert possible(chain, TWO, 30.0)


CHAIN = b"""
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: chain}
spec:
  entrypoint: main
  templates:
  - name: main
    dag:
      tasks:
      - {name: a, template: leaf}
      - {name: b, template: sub, depends: a}
      - {name: c, template: leaf, depends: b}
  - name: sub
    steps: [[{name: p, template: leaf}, {name: q, template: leaf}], [{name: r, template: leaf}]]
  - name: leaf
    container: {image: x, command: [x], resources: {requests: {cpu: 100m}}}
"""


def test_the_chain_of_a_workflow_is_a_lower_bound_of_it() -> None:
    load = Load(files=[("chain.yaml", CHAIN)], default_seconds=10.0)

    report = simulate(TWO, load).report

    assert (report.makespan, report.lower_bound) == (40.0, 40.0)


@given(
    seconds=st.lists(st.integers(1, 20), min_size=1, max_size=12),
    parents=st.lists(st.integers(0, 20), min_size=12, max_size=12),
)
def test_what_a_plan_reaches_is_never_called_impossible(
    seconds: list[int], parents: list[int]
) -> None:
    tasks = [
        task(f"t{i}", float(each), *([f"t{parents[i] % i}"] if i and parents[i] > 10 else []))
        for i, each in enumerate(seconds)
    ]

    outcome = run(planned(tasks, TWO), TWO)

    assert possible(tasks, TWO, outcome.makespan)


def test_pictures_show_each_task() -> None:
    outcome = run([task("wf/a"), task("wf/b", 10.0, "wf/a")], ONE)

    assert gantt_text(outcome, width=20).splitlines() == [
        f"{'a':<28} " + "█" * 10,
        f"{'b':<28} " + " " * 10 + "█" * 10,
    ]
    svg = gantt_svg(outcome)
    assert svg.count("<title>") == 2
    assert "wf/b: queue default, waited 0.0s, ran 10.0s" in svg


def test_two_plans_stand_side_by_side() -> None:
    tasks = [task(f"t{i}") for i in range(4)]

    text = compare_text(summarize(run(tasks, ONE)), summarize(run(tasks, TWO)), ("small", "large"))

    assert "makespan" in text
    assert "-50.0%" in text


def test_a_report_says_how_far_it_is_from_the_bound() -> None:
    text = report_text(summarize(run([task(f"t{i}") for i in range(3)], TWO)))

    assert text.startswith("makespan     20.0s (+33.3% of the lower bound 15.0s)")


def test_capacity_is_read_from_the_command_line() -> None:
    assert parse_capacity("cpu=16,memory=64Gi") == Resources(cpu=16_000, memory=64 << 30)
    with pytest.raises(InvalidInputError, match="name=amount"):
        parse_capacity("16")


def test_a_queue_plan_is_fitted_to_the_machine(tmp_path: Path) -> None:
    file = tmp_path / "q.yaml"
    file.write_text("queues: {q: {deserved: {cpu: 8}}}")

    tree, warning = load_queues(file, Resources(cpu=4000))

    assert tree.queues["q"].deserved == Resources(cpu=4000)
    assert warning


def test_a_workflow_file_runs_through_the_real_engine(tmp_path: Path) -> None:
    file = tmp_path / "flow.yaml"
    file.write_text(WORKFLOW)
    history = History()
    history.observe("work", 30.0)
    queues = QueueTree([Queue(name="night", capability=TWO)])

    load = Load(files=[(str(file), file.read_bytes())], history=history)

    found = simulate(Resources(cpu=8000), load, queues)

    assert found.report.makespan == 90.0
    assert found.report.queues["night"].tasks == 5
    assert json.loads(found.json())["report"]["makespan"] == 90.0


def test_nothing_to_simulate_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match="nothing to simulate"):
        simulate(ONE, Load())


def test_a_trace_for_a_queue_that_is_not_there_is_refused(tmp_path: Path) -> None:
    load = Load(traces=[Trace(tmp_path / "t.json", queue="nowhere")])

    with pytest.raises(InvalidInputError, match="no queue 'nowhere' takes work"):
        simulate(ONE, load)


@pytest.mark.parametrize(
    ("category", "template"),
    [
        ("blastall_ID000002", "blastall"),
        ("fast2bfq_fast2bfq_HEP2_1_ID0000002", "fast2bfq"),
        ("NFCORE_ATACSEQ.FASTQC", "NFCORE_ATACSEQ.FASTQC"),
    ],
)
def test_the_template_is_found_behind_a_trace_category(category: str, template: str) -> None:
    assert template_of(category) == template
