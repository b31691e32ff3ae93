"""The live tree: what stands below what, and what is shown when there is no room for all."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tiphys.cli.text import Paint
from tiphys.cli.watch.board import Board, lay_out
from tiphys.cli.watch.frame import footer, row_lines
from tiphys.engine.lifecycle import begin
from tiphys.engine.node import Node, NodeFlag, NodeType, Ours, Phase
from tiphys.engine.run import Run
from tiphys.spec import model
from tiphys.spec.library import Library


def make_run(name: str = "wf") -> Run:
    meta = model.ObjectMeta(name=name, namespace="default")
    spec = model.WorkflowSpec(entrypoint="main", templates=(model.Template(name="main"),))
    workflow = model.Workflow(metadata=meta, spec=spec)
    run = begin(workflow, spec, Library(), uid=f"uid-{name}", created_at=0.0)
    run.phase, run.started_at = "Running", 0.0
    return run


def make_node(
    name: str,
    kind: NodeType = NodeType.POD,
    phase: Phase = Phase.RUNNING,
    *,
    boundary: str = "",
    retried: bool = False,
    message: str = "",
) -> Node:
    short = name.removeprefix(boundary).lstrip(".") if boundary else name
    return Node(
        id=name,
        name=name,
        display_name=short.partition("].")[2] or short,
        type=kind,
        phase=phase,
        boundary_id=boundary,
        message=message,
        node_flag=NodeFlag(retried=True) if retried else None,
        started_at=0.0,
        ours=Ours(began_at=0.0),
    )


def drawn(board: Board, room: int = 50) -> list[str]:
    rows = lay_out(board.root, room)
    lines = row_lines(rows, at=1.0, tick=0, columns=100, paint=Paint(False))
    return [" ".join(line.split()) for line in lines]


def fan_out(count: int, *, running: int = 0, failed: int = 0, done: int = 0) -> Board:
    board, run = Board(), make_run()
    phases = [Phase.FAILED] * failed + [Phase.RUNNING] * running + [Phase.SUCCEEDED] * done
    phases += [Phase.PENDING] * (count - len(phases))
    nodes = [
        make_node(f"wf.loop({index}:{index})", phase=phase, boundary="wf")
        for index, phase in enumerate(phases)
    ]
    group = make_node("wf.loop", NodeType.TASK_GROUP, boundary="wf")
    board.see_nodes(run, [make_node("wf", NodeType.DAG), group, *nodes])
    return board


def test_the_entry_node_is_the_row_of_the_workflow() -> None:
    board, run = Board(), make_run()

    board.see_run(run)
    board.see_nodes(run, [make_node("wf")])

    assert drawn(board) == ["⠋ wf 1.0s Running"]


def test_groups_of_steps_are_not_shown() -> None:
    board, run = Board(), make_run()

    board.see_nodes(
        run,
        [
            make_node("wf", NodeType.STEPS),
            make_node("wf[0]", NodeType.STEP_GROUP, boundary="wf"),
            make_node("wf[0].a", boundary="wf", phase=Phase.SUCCEEDED),
            make_node("wf[1]", NodeType.STEP_GROUP, boundary="wf"),
            make_node("wf[1].b", boundary="wf"),
        ],
    )

    assert drawn(board)[1:] == ["├─ ✔ a 1.0s", "└─ ⠋ b 1.0s"]


def test_items_of_a_loop_over_steps_stand_below_one_row() -> None:
    board, run = Board(), make_run()

    board.see_nodes(
        run,
        [
            make_node("wf", NodeType.STEPS),
            make_node("wf[0].a(0:x)", boundary="wf", phase=Phase.SUCCEEDED),
            make_node("wf[0].a(1:y(2:z))", boundary="wf"),
        ],
    )

    assert drawn(board)[1:] == ["└─ ⠋ a 1/2", "├─ ✔ 0:x 1.0s", "└─ ⠋ 1:y(2:z) 1.0s"]


def test_a_loop_has_ended_when_its_items_have() -> None:
    board, run = Board(), make_run()
    items = [make_node(f"wf[0].a({i}:x)", boundary="wf") for i in range(2)]
    board.see_nodes(run, [make_node("wf", NodeType.STEPS), *items])

    items[0].phase, items[1].phase = Phase.SUCCEEDED, Phase.FAILED
    board.see_nodes(run, items)

    assert drawn(board)[1] == "└─ ✖ a 2/2"


def test_attempts_are_told_on_the_row_of_their_retry() -> None:
    board, run = Board(), make_run()

    board.see_nodes(
        run,
        [
            make_node("wf", NodeType.DAG),
            make_node("wf.a", NodeType.RETRY, boundary="wf"),
            make_node("wf.a(0)", boundary="wf", phase=Phase.FAILED, retried=True, message="oh"),
            make_node("wf.a(1)", boundary="wf", retried=True),
        ],
    )

    assert drawn(board)[1:] == ["└─ ⠋ a 1.0s attempt 2 last: oh"]
    assert board.total == 1


def test_attempts_that_have_nodes_of_their_own_are_shown() -> None:
    board, run = Board(), make_run()

    board.see_nodes(
        run,
        [
            make_node("wf", NodeType.RETRY),
            make_node("wf(0)", NodeType.STEPS, retried=True),
            make_node("wf(0)[0].a", boundary="wf(0)"),
        ],
    )

    assert drawn(board)[1:] == ["└─ ⠋ wf(0) 1.0s", "└─ ⠋ a 1.0s"]


def test_a_large_loop_shows_what_failed_and_what_runs_and_counts_the_rest() -> None:
    lines = drawn(fan_out(1000, failed=1, running=3, done=36), room=12)

    assert lines[1] == "└─ ⠋ loop 1.0s 37/1000"
    assert [line.split()[1] for line in lines[2:6]] == ["✖", "⠋", "⠋", "⠋"]
    assert lines[-1] == "└─ … 994 more: 958 waiting, 36 done"


def test_many_failures_do_not_hide_what_runs() -> None:
    lines = drawn(fan_out(1000, failed=500, running=2), room=12)

    assert sum("⠋" in line for line in lines[2:]) == 2


def test_small_branches_are_shown_whole_beside_a_large_one() -> None:
    board = fan_out(1000, running=100)
    run = make_run()
    board.see_nodes(run, [make_node("wf.small", NodeType.DAG, boundary="wf")])
    board.see_nodes(run, [make_node(f"wf.small.{i}", boundary="wf.small") for i in "ab"])

    lines = drawn(board, room=15)

    assert lines[-2:] == ["├─ ⠋ a 1.0s", "└─ ⠋ b 1.0s"]


def test_the_footer_counts_tasks_not_nodes() -> None:
    board = fan_out(10, running=1, done=4)

    line = footer(board, 5.0, 80, Paint(False))

    assert line.split()[1:] == ["4/10", "5.0s", "1", "running", "5", "waiting"]


def test_several_workflows_stand_side_by_side() -> None:
    board = Board()
    for name in ("a", "b"):
        board.see_run(make_run(name))

    assert drawn(board) == ["⠋ a 1.0s Running", "⠋ b 1.0s Running"]


@settings(max_examples=100, deadline=None)
@given(counts=st.tuples(*[st.integers(0, 40)] * 4), room=st.integers(3, 60))
def test_a_tree_fits_its_room_and_counts_nothing_twice(
    counts: tuple[int, int, int, int], room: int
) -> None:
    failed, running, done, _ = counts
    board = fan_out(sum(counts), failed=failed, running=running, done=done)

    rows = lay_out(board.root, room)

    assert 1 <= len(rows) <= room
    shown = [row.branch.number for row in rows if not row.hidden]
    assert len(shown) == len(set(shown))
    items = sum(row.hidden or row.branch.label != "wf" for row in rows) - 1
    assert items <= sum(counts)
