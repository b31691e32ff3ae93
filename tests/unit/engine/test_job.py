"""Volcano Jobs and JobFlows in the one engine."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiphys.engine import event as ev
from tiphys.engine.node import Node
from tiphys.testing.flow import FAIL, cast
from tiphys.testing.harness import NOON, Harness, Outcome, Play, succeed

LONG = Outcome(seconds=100.0)


def task(name: str, replicas: int = 1, more: str = "", restart: str = "Never") -> str:
    return f"""\
- name: {name}
  replicas: {replicas}
{indent(dedent(more).strip(), "  ")}
  template:
    spec:
      restartPolicy: {restart}
      containers: [{{name: c, image: x, command: [x]}}]
"""


def job(*tasks: str, spec: str = "") -> str:
    head = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: wf}\nspec:\n"
    return head + indent(dedent(spec).strip("\n") + "\ntasks:\n" + "".join(tasks), "  ")


def flow(steps: str, templates: str = "a b c d e", annotation: str = "") -> str:
    documents = [
        f"apiVersion: flow.volcano.sh/v1alpha1\nkind: JobTemplate\nmetadata: {{name: {name}}}\n"
        f"spec:\n  tasks:\n{indent(task('t'), '  ')}"
        for name in templates.split()
    ]
    meta = "metadata:\n  name: wf\n"
    if annotation:
        meta += "  annotations:\n    tiphys.dev/flow: |\n" + indent(dedent(annotation), " " * 6)
    head = f"apiVersion: flow.volcano.sh/v1alpha1\nkind: JobFlow\n{meta}\nspec:\n  flows:\n"
    return "---\n".join([*documents, head + indent(dedent(steps).strip("\n"), "  ")])


def played(text: str, play: Play = succeed) -> Harness:
    harness = Harness(text, play).start()
    harness.finish()
    return harness


def phases(harness: Harness) -> dict[str, str]:
    return {node.name: str(node.phase) for node in harness.run.nodes.values()}


def record(harness: Harness, name: str = "wf") -> tuple[str, int]:
    node = harness.run.node_named(name)
    assert node is not None
    assert node.ours.job is not None
    return node.ours.job.phase, node.ours.job.retries


def test_each_replica_of_each_task_is_a_pod_of_the_job() -> None:
    harness = played(job(task("ps", 2), task("worker", 3)))

    assert harness.run.phase == "Succeeded"
    assert harness.run.nodes["wf"].type == "Job"
    assert sorted(harness.started) == [
        "wf.ps-0", "wf.ps-1", "wf.worker-0", "wf.worker-1", "wf.worker-2",
    ]  # fmt: skip
    assert record(harness) == ("Completed", 0)


def test_a_job_fails_once_all_ended_and_too_few_succeeded() -> None:
    harness = played(job(task("w", 4), spec="minAvailable: 4"), cast({"w-1": FAIL}))

    assert harness.run.phase == "Failed"
    assert harness.run.message == "1 of 4 pods failed"
    assert record(harness) == ("Failed", 0)


def test_a_job_completes_with_enough_and_the_rest_is_stopped() -> None:
    play = cast({"w-2": LONG})
    harness = played(job(task("w", 3), spec="minSuccess: 2"), play)

    assert harness.run.phase == "Succeeded"
    assert phases(harness)["wf.w-2"] == "Failed"
    assert harness.run.finished_at == NOON + 1


def test_the_minimum_of_each_task_counts() -> None:
    text = job(task("a", 2, "minAvailable: 1"), task("b", 2, "minAvailable: 1"))

    good = played(text, cast({"a-0": FAIL, "b-1": FAIL}))
    bad = played(text, cast({"a-0": FAIL, "a-1": FAIL}))

    assert (good.run.phase, bad.run.phase) == ("Succeeded", "Failed")


def test_a_task_waits_until_what_it_depends_on_runs() -> None:
    text = job(task("server", 2), task("client", 1, "dependsOn: {name: [server]}"))
    harness = played(text, cast({"server-0": LONG, "server-1": LONG}))

    assert harness.run.phase == "Succeeded"
    assert harness.started == ["wf.server-0", "wf.server-1", "wf.client-0"]
    client = harness.run.node_named("wf.client-0")
    server = harness.run.node_named("wf.server-0")
    assert client is not None
    assert server is not None
    assert (client.finished_at or 0) < (server.finished_at or 0)


@pytest.mark.parametrize(
    ("action", "phase", "stands"),
    [
        ("AbortJob", "Failed", "Aborted"),
        ("TerminateJob", "Failed", "Terminated"),
        ("CompleteJob", "Succeeded", "Completed"),
    ],
)
def test_a_policy_ends_the_job(action: str, phase: str, stands: str) -> None:
    text = job(task("w", 2), spec=f"policies: [{{event: PodFailed, action: {action}}}]")
    harness = played(text, cast({"w-0": FAIL, "w-1": LONG}))

    assert harness.run.phase == phase
    assert record(harness)[0] == stands
    assert phases(harness)["wf.w-1"] == "Failed"


def test_restart_job_starts_every_pod_again_and_fails_at_max_retry() -> None:
    text = job(task("w", 2), spec="maxRetry: 3\npolicies: [{event: PodFailed, action: RestartJob}]")

    healed = played(text, cast({"w-0": [FAIL, Outcome()], "w-1": LONG}))
    stuck = played(text, cast({"w-0": FAIL, "w-1": LONG}))

    assert healed.run.phase == "Succeeded"
    assert record(healed) == ("Completed", 1)
    assert healed.started == ["wf.w-0", "wf.w-1", "wf.w-0(1)", "wf.w-1(1)"]
    assert stuck.run.phase == "Failed"
    assert record(stuck) == ("Failed", 3)


def test_restart_task_and_pod_leave_the_others_alone() -> None:
    rule = "policies: [{{event: PodFailed, action: {}}}]"
    play = cast({"w-0": [FAIL, Outcome()], "w-1": LONG, "x-0": LONG})

    by_task = played(job(task("w", 2, rule.format("RestartTask")), task("x")), play)
    by_pod = played(job(task("w", 2, rule.format("RestartPod")), task("x")), play)

    assert by_task.started == ["wf.w-0", "wf.w-1", "wf.x-0", "wf.w-0(1)", "wf.w-1(1)"]
    assert by_pod.started == ["wf.w-0", "wf.w-1", "wf.x-0", "wf.w-0(1)"]
    assert (by_task.run.phase, by_pod.run.phase) == ("Succeeded", "Succeeded")


def test_the_policy_of_the_task_wins_and_exit_codes_are_told_apart() -> None:
    text = job(
        task("w", 1, "policies: [{exitCode: 1, action: CompleteJob}]"),
        spec="policies: [{event: PodFailed, action: AbortJob}]",
    )

    one = played(text, cast({"w-0": FAIL}))
    two = played(text, cast({"w-0": Outcome(phase="Failed", exit_code=2)}))

    assert (record(one)[0], record(two)[0]) == ("Completed", "Aborted")


def test_task_completed_can_complete_the_job() -> None:
    rule = "policies: [{event: TaskCompleted, action: CompleteJob}]"
    harness = played(job(task("main", 1, rule), task("helper", 2)), cast({"helper": LONG}))
    harness.play = cast({"helper-0": LONG, "helper-1": LONG})
    harness.start().finish()

    assert harness.run.phase == "Succeeded"
    assert phases(harness)["wf.helper-1"] == "Failed"


def test_a_policy_with_a_timeout_waits_and_looks_again() -> None:
    rule = "policies: [{event: PodRunning, action: AbortJob, timeout: 10s}]"

    slow = played(job(task("w", 1, rule)), cast({"w-0": LONG}))
    fast = played(job(task("w", 1, rule)), cast({"w-0": Outcome(seconds=5)}))

    assert record(slow)[0] == "Aborted"
    assert record(fast)[0] == "Completed"


def test_a_container_is_started_again_in_its_pod_and_rests_in_between() -> None:
    text = job(task("w", 1, restart="OnFailure"))
    harness = played(text, cast({"w-0": [FAIL, FAIL, Outcome()]}))

    assert harness.run.phase == "Succeeded"
    assert harness.started == ["wf.w-0", "wf.w-0(1)", "wf.w-0(2)"]
    assert harness.now - NOON == pytest.approx(13, abs=1)
    assert record(harness) == ("Completed", 0)


def test_a_container_that_keeps_failing_fails_its_pod() -> None:
    harness = played(job(task("w", 1, restart="OnFailure")), cast({"w-0": FAIL}))

    assert harness.run.phase == "Failed"
    assert len(harness.started) == 4


def test_the_diamond_runs_in_order() -> None:
    harness = played(
        flow("""
        - name: a
        - name: b
          dependsOn: {targets: [a]}
        - name: c
          dependsOn: {targets: [b]}
        - name: d
          dependsOn: {targets: [b]}
        - name: e
          dependsOn: {targets: [c, d]}
        """)
    )

    assert harness.run.phase == "Succeeded"
    assert harness.started == ["wf.a.t-0", "wf.b.t-0", "wf.c.t-0", "wf.d.t-0", "wf.e.t-0"]


def test_an_aborted_job_fails_its_flow_and_siblings_go_on() -> None:
    text = flow("- name: a\n- name: b\n- name: c\n  dependsOn: {targets: [a]}")
    text = text.replace(
        "spec:\n  tasks:", "spec:\n  policies: [{event: PodFailed, action: AbortJob}]\n  tasks:"
    )
    harness = Harness(text)
    harness.play = lambda node, _: FAIL if node.name == "wf.a.t-0" else Outcome(seconds=50)
    harness.start().finish()

    assert harness.run.phase == "Failed"
    assert phases(harness)["wf.b"] == "Succeeded"
    assert phases(harness)["wf.c"] == "Omitted"


def test_a_patch_changes_the_template_for_its_step() -> None:
    harness = played(
        flow("""
        - name: a
          patch: {jobSpec: {tasks: [{name: t, replicas: 3}]}}
        - name: b
          patch: {spec: {tasks: [{name: t, replicas: 2}]}}
        - name: c
        """)
    )

    assert sorted(harness.started) == [
        "wf.a.t-0", "wf.a.t-1", "wf.a.t-2", "wf.b.t-0", "wf.b.t-1", "wf.c.t-0",
    ]  # fmt: skip


def test_conditions_switches_loops_and_retries_are_written_in_the_annotation() -> None:
    harness = Harness(
        flow(
            """
            - name: a
            - name: b
              dependsOn: {targets: [a]}
            - name: c
              dependsOn: {targets: [a]}
            - name: d
              dependsOn: {targets: [a]}
            - name: e
            """,
            annotation="""\
            parameters: {where: eu}
            steps:
              a: {switch: {value: "{{workflow.parameters.where}}", cases: {eu: [b], us: [c]}}}
              d: {for: {items: [north, south]}}
              e: {retry: {limit: 1}}
            """,
        )
    )
    harness.play = lambda node, _: FAIL if node.name == "wf.e(0).t-0" else Outcome()
    harness.start().finish()

    found = phases(harness)
    assert harness.run.phase == "Succeeded"
    assert found["wf.b"] == "Succeeded"
    assert found["wf.c"] == "Skipped"
    assert found["wf.d(0:north)"] == found["wf.d(1:south)"] == "Succeeded"
    assert (found["wf.e(0)"], found["wf.e(1)"]) == ("Failed", "Succeeded")


def test_until_repeats_a_step_as_often_as_its_limit() -> None:
    text = flow("- name: a", annotation="steps:\n  a: {for: {until: '1 == 2', limit: 3}}\n")
    harness = played(text)

    assert harness.run.phase == "Succeeded"
    assert len(harness.started) == 3


@settings(deadline=None)
@given(stops=st.sets(st.integers(0, 40), max_size=6), seed=st.integers(0, 3))
def test_a_flow_is_taken_up_at_any_moment(stops: set[int], seed: int) -> None:
    rule = "policies: [{event: PodFailed, action: RestartJob}]"
    text = flow("- name: a\n- name: b\n  dependsOn: {targets: [a]}")
    text = text.replace("spec:\n  tasks:", f"spec:\n  {rule}\n  tasks:").replace(
        "replicas: 1", "replicas: 2"
    )

    def play(node: Node, _: object) -> Outcome:
        return FAIL if node.name == f"wf.a.t-{seed}" else Outcome(seconds=1 + seed)

    harness = Harness(text, play).start()
    for moment in range(200):
        if moment in stops:
            harness.take_up()
        if not harness.advance():
            break

    assert harness.run.phase == "Succeeded"
    expected = played(text, play)
    assert phases(harness) == phases(expected)
    assert sorted(harness.started) == sorted(expected.started)


PROBED = """
- name: a
- name: b
  dependsOn:
    targets: [a]
    probe: {PROBE}
"""


def test_a_probe_of_a_phase_lets_the_next_step_start_before_the_first_has_ended() -> None:
    text = flow(PROBED.replace("PROBE", "taskStatusList: [{taskName: t, phase: Running}]"))
    harness = Harness(text)
    harness.play = lambda node, _: LONG if node.name == "wf.a.t-0" else Outcome()
    harness.start().finish()

    assert harness.run.phase == "Succeeded"
    first, second = harness.node("wf.a"), harness.node("wf.b")
    assert (second.finished_at or 0) < (first.finished_at or 0)


def test_a_service_is_asked_by_a_node_of_its_own() -> None:
    text = flow(PROBED.replace("PROBE", "tcpSocketList: [{taskName: t, port: 80}]"))
    harness = Harness(text)
    harness.play = lambda node, _: LONG if node.name == "wf.a.t-0" else Outcome(seconds=5)
    harness.start().finish()

    assert harness.node("wf.b.ready-a").type == "Probe"
    assert harness.node("wf.b").started_at == NOON + 5


def test_a_job_that_ends_well_before_its_services_answer_is_good_enough() -> None:
    text = flow(PROBED.replace("PROBE", "tcpSocketList: [{taskName: t, port: 80}]"))
    harness = Harness(text)
    harness.play = lambda node, _: LONG if node.type == "Probe" else Outcome()
    harness.start().finish()

    assert harness.run.phase == "Succeeded"
    assert harness.node("wf.b.ready-a").phase == "Failed"
    assert harness.node("wf.b").phase == "Succeeded"


def test_a_job_that_fails_before_its_services_answer_ends_the_flow() -> None:
    text = flow(PROBED.replace("PROBE", "tcpSocketList: [{taskName: t, port: 80}]"))
    harness = Harness(text)
    harness.play = lambda node, _: LONG if node.type == "Probe" else FAIL
    harness.start().finish()

    assert harness.run.phase == "Failed"
    assert harness.node("wf.b").phase == "Omitted"


@settings(deadline=None)
@given(stops=st.sets(st.integers(0, 30), max_size=5))
def test_a_probed_flow_is_taken_up_at_any_moment(stops: set[int]) -> None:
    text = flow(PROBED.replace("PROBE", "tcpSocketList: [{taskName: t, port: 80}]"))
    harness = Harness(text)
    harness.play = lambda node, _: Outcome(seconds=20 if node.name == "wf.a.t-0" else 3)
    harness.start()
    for moment in range(100):
        if moment in stops:
            harness.take_up()
        if not harness.advance():
            break

    assert harness.run.phase == "Succeeded"
    assert sorted(harness.started) == ["wf.a.t-0", "wf.b.ready-a", "wf.b.t-0"]


def test_a_pod_that_cannot_be_started_ends_its_job_and_says_why() -> None:
    harness = played(job(task("w", 2), spec="priorityClassName: none-such"))

    assert harness.run.phase == "Error"
    assert "no PriorityClass with name none-such was found" in harness.node("wf").message
    assert record(harness) == ("Failed", 0)
    assert harness.started == []


def test_every_event_does_not_mean_that_a_pod_waits_or_runs() -> None:
    text = job(task("w", 2), spec="policies: [{event: '*', action: AbortJob}]")

    good = played(job(task("w", 2), spec="policies: [{event: '*', action: CompleteJob}]"))
    bad = played(text, cast({"w-0": FAIL, "w-1": LONG}))

    assert good.started == ["wf.w-0", "wf.w-1"]
    assert record(good) == ("Completed", 0)
    assert record(bad) == ("Aborted", 0)
    assert bad.run.message == "AbortJob after PodFailed of w-0"


def evicted(spec: str) -> Harness:
    """Give a Job of two pods, one of which had to make room while both ran."""
    harness = Harness(job(task("w", 2), spec=spec), cast({"w-0": LONG, "w-1": LONG})).start()
    while harness.node("wf").phase != "Running":
        harness.advance()
    node = harness.node("wf.w-0")
    harness.send(
        ev.NodePreempted(
            at=harness.now, node=node.id, attempt=node.ours.attempt, message="made room"
        )
    )
    harness.finish()
    return harness


def test_a_pod_that_made_room_runs_again_unless_a_policy_says_otherwise() -> None:
    plain = evicted("maxRetry: 3")
    restarted = evicted("policies: [{event: PodEvicted, action: RestartJob}]")
    aborted = evicted("policies: [{event: PodEvicted, action: AbortJob}]")

    assert (plain.run.phase, record(plain)) == ("Succeeded", ("Completed", 0))
    assert (restarted.run.phase, record(restarted)) == ("Succeeded", ("Completed", 1))
    assert "wf.w-1(1)" in restarted.started
    assert record(aborted) == ("Aborted", 0)
