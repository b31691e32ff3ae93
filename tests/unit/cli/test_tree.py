"""``tiphys get``: the tree as argo draws it, over nodes that the real engine made."""

from __future__ import annotations

from tiphys.cli.get import header_lines, tree_lines
from tiphys.cli.text import Paint
from tiphys.cli.tree import draw, plant
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.spec import model
from tiphys.store import WorkflowRow
from tiphys.testing.harness import Harness, Outcome

HEAD = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: wf}
spec:
  entrypoint: main
  templates:
  - name: leaf
    container: {image: x, command: [x]}
"""


def nodes_of(run: Run) -> list[Node]:
    return sorted(run.nodes.values(), key=lambda node: node.ours.seq)


def drawn(run: Run) -> list[str]:
    forest = plant(nodes_of(run))
    return [
        f"{lead}{node.display_name}" for root in forest[""] for lead, node in draw(forest, root)
    ]


def fail_often(node: Node, _: model.Template) -> Outcome:
    failed = node.name in {"wf.often(0)", "wf.often(1)"}
    return Outcome(phase="Failed" if failed else "Succeeded")


def fail_slowly(_: Node, __: model.Template) -> Outcome:
    return Outcome(phase="Failed", message="oh", seconds=65.0)


def test_steps_that_run_together_are_joined() -> None:
    text = """
  - name: main
    steps:
    - - {name: a, template: leaf}
    - - {name: b, template: leaf}
      - {name: c, template: leaf}
      - {name: d, template: leaf}
"""

    run = Harness(HEAD + text).finish()

    assert drawn(run) == [" wf", " ├───a", " └─┬─b", "   ├─c", "   └─d"]


def test_steps_below_steps_are_indented() -> None:
    text = """
  - name: main
    steps:
    - - {name: a, template: inner}
    - - {name: b, template: leaf}
  - name: inner
    steps:
    - - {name: c, template: leaf}
      - {name: d, template: leaf}
"""

    run = Harness(HEAD + text).finish()

    assert drawn(run) == [" wf", " ├───a", " │   └─┬─c", " │     └─d", " └───b"]


def test_a_retry_is_shown_once_it_has_a_second_attempt() -> None:
    text = """
  - name: main
    dag:
      tasks:
      - {name: once, template: again}
      - {name: often, template: again, depends: once}
  - name: again
    retryStrategy: {limit: "5"}
    container: {image: x, command: [x]}
"""

    run = Harness(HEAD + text, fail_often).finish()

    assert drawn(run) == [
        " wf",
        " ├─once(0)",
        " └─often",
        "   ├─often(0)",
        "   ├─often(1)",
        "   └─often(2)",
    ]


def test_omitted_tasks_and_groups_of_items_are_left_out() -> None:
    text = """
  - name: main
    dag:
      tasks:
      - {name: a, template: leaf, withItems: [x, z]}
      - {name: b, template: leaf, depends: a.Failed}
"""

    run = Harness(HEAD + text).finish()

    assert drawn(run) == [" wf", " ├─a(0:x)", " └─a(1:z)"]


def test_the_exit_handler_is_a_tree_of_its_own() -> None:
    text = """
  - name: main
    container: {image: x, command: [x]}
"""

    run = Harness(
        HEAD.replace("entrypoint: main", "entrypoint: main\n  onExit: leaf") + text
    ).finish()

    assert drawn(run) == [" wf", " wf.onExit"]


def test_a_tree_deeper_than_pythons_stack_is_drawn() -> None:
    run = Harness(HEAD.replace("name: leaf", "name: main")).finish()
    (root,) = nodes_of(run)
    chain = {"": [root]}
    for depth in range(5000):
        below = Node(
            id=f"n{depth}", name=f"n{depth}", type=root.type, phase=root.phase, ours=root.ours
        )
        chain[root.id if depth == 0 else f"n{depth - 1}"] = [below]

    assert sum(1 for _ in draw(chain, root)) == 5001


def test_a_row_names_template_pod_time_and_message() -> None:
    text = """
  - name: main
    steps:
    - - {name: a, template: leaf}
"""
    run = Harness(HEAD + text, fail_slowly).finish()
    row = WorkflowRow(uid="uid", name="wf", namespace="default", created_at=0.0)

    lines = tree_lines(row, nodes_of(run), Paint(False), wide=False)

    assert lines[0].split() == ["STEP", "TEMPLATE", "PODNAME", "DURATION", "MESSAGE"]
    words = lines[2].split()
    assert words[:3] == ["└───✖", "a", "leaf"]
    assert words[3].startswith("wf-leaf-")
    assert words[4:] == ["1m5s", "oh"]


def test_the_head_shows_parameters_and_cannot_be_forged() -> None:
    row = WorkflowRow(
        uid="uid",
        name="wf",
        namespace="default",
        created_at=0.0,
        phase="Running",
        suspended=True,
        message="two\nlines",
        manifest=b'{"spec": {"arguments": {"parameters": [{"name": "p", "value": "v"}]}}}',
        outputs=b'{"parameters": [{"name": "o", "value": "w"}]}',
    )

    fields = [line.split(None, 1) for line in header_lines(row)]

    assert ["Status:", "Running (Suspended)"] in fields
    assert ["Message:", "two\\nlines"] in fields
    assert ["p:", "v"] in fields
    assert ["o:", "w"] in fields
