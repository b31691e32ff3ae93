"""Plain lines and summaries, over runs of the real engine."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec

from tiphys.cli.attempt import attempt_folder
from tiphys.cli.merge import merged
from tiphys.cli.text import Paint
from tiphys.cli.watch.plain import PlainWatch
from tiphys.cli.watch.summary import failed_nodes, summary_lines
from tiphys.engine.lifecycle import Effects
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.spec import model
from tiphys.store import WorkflowRow
from tiphys.testing.harness import Harness, Outcome

STEPS = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: wf}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: a, template: leaf}
    - - {name: b, template: flaky}
      - {name: c, template: leaf, when: "1 == 2"}
  - name: leaf
    container: {image: x, command: [x]}
  - name: flaky
    retryStrategy: {limit: "1"}
    container: {image: x, command: [x]}
"""
ROW = WorkflowRow(
    uid="uid",
    name="wf",
    namespace="default",
    phase="Failed",
    message="oh",
    created_at=0.0,
    started_at=0.0,
    finished_at=2.0,
    outputs=msgspec.json.encode({"parameters": [{"name": "out", "value": "1"}]}),
)


def fail_flaky(node: Node, _: model.Template) -> Outcome:
    if ".b" in node.name:
        return Outcome(phase="Failed", message="Error (exit code 1)")
    return Outcome()


def watched(*, quiet: bool = False) -> tuple[Run, list[str]]:
    out = io.StringIO()
    watch = PlainWatch(out, None, Paint(False), Path("/nowhere"), quiet=quiet)
    harness = Harness(STEPS, fail_flaky)

    def tell(seen: Harness, effects: Effects) -> None:
        watch.workflow(seen.run)
        watch.nodes(seen.run, list(effects.nodes))

    harness.observers.append(tell)
    harness.finish()
    return harness.run, [line.split(" ", 1)[1] for line in out.getvalue().splitlines()]


def test_plain_lines_tell_each_change_of_a_task_once() -> None:
    _, lines = watched()

    assert lines[0] == "wf Running"
    assert [line for line in lines if line.startswith("wf[0].a ")] == [
        "wf[0].a Running",
        "wf[0].a Succeeded",
    ]
    assert "wf[1].b(0) Failed Error (exit code 1)" in lines
    assert "wf[1].c Skipped when '1 == 2' evaluated false" in lines


def test_quiet_tells_nothing_of_it() -> None:
    _, lines = watched(quiet=True)

    assert lines == []


def test_of_several_attempts_the_last_one_counts_as_failed() -> None:
    run, _ = watched()

    assert [node.name for node in failed_nodes(list(run.nodes.values()))] == ["wf[1].b(1)"]


AGAIN = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: wf}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: whole, template: whole}
    - - {name: last, template: leaf}
  - name: whole
    retryStrategy: {limit: "2"}
    steps:
    - - {name: part, template: flaky, withItems: [one, two]}
  - name: flaky
    retryStrategy: {limit: "1"}
    container: {image: x, command: [x]}
  - name: leaf
    container: {image: x, command: [x]}
"""


JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: wf}
spec:
  maxRetry: 2
  policies: [{event: PodFailed, action: RestartJob}]
  tasks:
  - {name: t, replicas: 1, template: {spec: {containers: [{name: c, image: x, command: [x]}]}}}
"""


def failing(*parts: str, text: str = AGAIN) -> Harness:
    """Give the end of a run in which all leaves fail that have one of these in their names."""

    def outcome(node: Node, _: model.Template) -> Outcome:
        failed = any(part in node.name for part in parts)
        return Outcome(phase="Failed", message="no") if failed else Outcome()

    harness = Harness(text, outcome)
    harness.finish()
    return harness


def failed_names(harness: Harness) -> list[str]:
    return [node.name for node in failed_nodes(list(harness.run.nodes.values()))]


def test_what_failed_in_an_attempt_at_steps_that_went_well_later_is_not_named() -> None:
    harness = failing("whole(0)", ".last")

    assert harness.run.phase == "Failed"
    assert failed_names(harness) == ["wf[1].last"]


def test_of_steps_that_failed_each_time_the_last_attempt_is_named_whole() -> None:
    harness = failing("part(0:one)", "part(1:two)")

    assert failed_names(harness) == [
        "wf[0].whole(2)[0].part(0:one)(1)",
        "wf[0].whole(2)[0].part(1:two)(1)",
    ]


def test_of_the_pods_of_a_job_that_was_restarted_the_last_ones_are_named() -> None:
    harness = failing("t-0", text=JOB)

    pods = [name for name in (node.name for node in harness.run.nodes.values()) if "t-0" in name]
    assert len(pods) > 1
    assert failed_names(harness) == pods[-1:]


def test_the_summary_shows_the_last_lines_of_what_failed(tmp_path: Path) -> None:
    run, _ = watched()
    (failed,) = failed_nodes(list(run.nodes.values()))
    folder = attempt_folder(tmp_path, "uid", failed.ours.attempt)
    folder.mkdir(parents=True)
    (folder / "main.stderr").write_text("".join(f"line {n}\n" for n in range(30)))

    lines = summary_lines(ROW, list(run.nodes.values()), tmp_path, Paint(False))

    assert lines[0] == "✖ wf Failed in 2.0s: oh"
    assert "  out = 1" in lines
    assert "✖ wf[1].b(1): Error (exit code 1)" in lines
    assert [line for line in lines if "│" in line] == [f"  │ line {n}" for n in range(20, 30)]
    assert lines[-1] == "      tiphys logs wf"


def test_logs_of_many_nodes_come_in_the_order_of_time(
    tmp_path: Path,
) -> None:
    run, _ = watched()
    nodes = [node for node in run.nodes.values() if node.ours.attempt]
    for node in nodes:
        folder = attempt_folder(tmp_path, "uid", node.ours.attempt)
        folder.mkdir(parents=True)
        (folder / "main.stdout").write_text(f"{node.name}\nend\n")

    found = list(merged(tmp_path, "uid", nodes))

    assert len(found) == 2 * len(nodes)
    times = [each.line.at for each in found]
    assert times == sorted(times)
