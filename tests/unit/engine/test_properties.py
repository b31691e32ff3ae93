"""What must hold for every workflow, whatever its leaves do and whenever they do it."""

from __future__ import annotations

import json
import os
from collections import Counter
from random import Random
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiphys.engine import event as ev
from tiphys.engine.again import plan_retry, reopen
from tiphys.engine.lifecycle import Effects, begin, step
from tiphys.engine.node import ACTIVE, FULFILLED, Node, NodeType, Phase
from tiphys.engine.resubmit import Memoized, plan_resubmit
from tiphys.engine.run import Run
from tiphys.engine.selector import parse_selector
from tiphys.spec import model
from tiphys.spec.merge import resolve_spec
from tiphys.testing.harness import NOON, Harness, Outcome, Play, load

CHILDREN = {NodeType.POD, NodeType.STEPS, NodeType.DAG}
RESULTS = ("Succeeded", "Failed", "Errored", "Skipped", "Omitted")
BROKEN = {
    "name": "broken",
    "inputs": {"parameters": [{"name": "nobody-gives-it"}]},
    "container": {"image": "x", "command": ["x"]},
}
POLICIES = ("Always", "OnFailure", "OnError")

# The gate looks at the same examples every time; TIPHYS_EXAMPLES=5000 looks for new ones.
EXAMPLES = os.environ.get("TIPHYS_EXAMPLES")
QUICK = settings(
    max_examples=int(EXAMPLES or 80),
    derandomize=EXAMPLES is None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)


# --- random workflows -------------------------------------------------------------------------


@st.composite
def leaves(draw: st.DrawFn, name: str, *, races: bool) -> dict[str, Any]:
    leaf: dict[str, Any] = {"name": name, "container": {"image": "x", "command": ["x"]}}
    if draw(st.booleans()):
        retry: dict[str, Any] = {"limit": draw(st.integers(0, 2))}
        retry["retryPolicy"] = draw(st.sampled_from(POLICIES))
        if draw(st.booleans()):
            retry["backoff"] = {"duration": "2s", "factor": 2}
        leaf["retryStrategy"] = retry
    if draw(st.integers(0, 3)) == 0:
        leaf["synchronization"] = {"mutexes": [{"name": draw(st.sampled_from("mk"))}]}
    if races and draw(st.integers(0, 7)) == 0:
        leaf["timeout"] = "3s"
    return leaf


@st.composite
def holders(draw: st.DrawFn, name: str, templates: list[str], *, rule: bool) -> dict[str, Any]:
    """Give one step or task; ``rule`` lets it go on after failures."""
    holder: dict[str, Any] = {"name": name, "template": draw(st.sampled_from(templates))}
    if draw(st.integers(0, 15)) == 0:
        holder["template"] = "broken"
    kind = draw(st.integers(0, 5))
    if kind == 0:
        holder["withItems"] = draw(st.lists(st.sampled_from(["u", "v", 3]), min_size=1, max_size=3))
        if draw(st.booleans()):
            holder["when"] = "'{{item}}' != u"
    elif kind == 1:
        holder["when"] = draw(st.sampled_from(["true", "false", "{{workflow.name}} == wf"]))
    elif kind == 2:
        holder["withParam"] = draw(st.sampled_from(["[]", "[1]", "nothing"]))
    if rule and draw(st.booleans()):
        holder["continueOn"] = {"failed": draw(st.booleans()), "error": draw(st.booleans())}
    if draw(st.integers(0, 5)) == 0:
        holder["hooks"] = draw(hooks(templates))
    return holder


@st.composite
def hooks(draw: st.DrawFn, templates: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if draw(st.booleans()):
        found["exit"] = {"template": draw(st.sampled_from(templates))}
    if draw(st.booleans()):
        when = draw(st.sampled_from(["true", "false", "workflow.status == 'Running'"]))
        found["any"] = {"template": draw(st.sampled_from(templates)), "expression": when}
    return found


@st.composite
def steps_templates(draw: st.DrawFn, name: str, templates: list[str]) -> dict[str, Any]:
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    groups = [
        [draw(holders(f"s{i}-{j}", templates, rule=True)) for j in range(size)]
        for i, size in enumerate(sizes)
    ]
    return {"name": name, "steps": groups}


@st.composite
def dag_templates(draw: st.DrawFn, name: str, templates: list[str]) -> dict[str, Any]:
    tasks: list[dict[str, Any]] = []
    depends = draw(st.booleans())
    for index in range(draw(st.integers(1, 5))):
        task = draw(holders(f"t{index}", templates, rule=not depends))
        before = [f"t{i}" for i in range(index)]
        needs = draw(st.lists(st.sampled_from(before), unique=True, max_size=3)) if before else []
        if needs and depends:
            terms = [_term(draw, need) for need in needs]
            task["depends"] = draw(st.sampled_from([" && ", " || "])).join(terms)
        elif needs:
            task["dependencies"] = needs
        tasks.append(task)
    dag: dict[str, Any] = {"tasks": tasks}
    if draw(st.integers(0, 3)) == 0:
        dag["failFast"] = False
    return {"name": name, "dag": dag}


def _term(draw: st.DrawFn, need: str) -> str:
    result = draw(st.sampled_from(("", *RESULTS)))
    text = f"{need}.{result}" if result else need
    return f"!{text}" if draw(st.integers(0, 3)) == 0 else text


@st.composite
def workflows(draw: st.DrawFn, *, races: bool = True) -> dict[str, Any]:
    """Give a workflow; without ``races`` its outcome does not depend on who comes first."""
    templates = [draw(leaves(f"leaf{i}", races=races)) for i in range(2)]
    names = [str(each["name"]) for each in templates]
    for index in range(draw(st.integers(1, 3))):
        make = draw(st.sampled_from([steps_templates, dag_templates]))
        template = draw(make(f"c{index}", names))
        if draw(st.integers(0, 3)) == 0:
            template["parallelism"] = draw(st.integers(1, 2))
        if races and draw(st.integers(0, 5)) == 0:
            template["failFast"] = True
        if draw(st.integers(0, 5)) == 0:
            template["retryStrategy"] = {"limit": 1}
        if draw(st.integers(0, 7)) == 0:
            template["synchronization"] = {"mutexes": [{"name": f"of-{index}"}]}
        templates.append(template)
        names.append(template["name"])
    templates.append(BROKEN)
    spec: dict[str, Any] = {"entrypoint": names[-1], "templates": templates}
    if draw(st.integers(0, 3)) == 0:
        spec["parallelism"] = draw(st.integers(1, 3))
    if draw(st.integers(0, 5)) == 0:
        spec["onExit"] = draw(st.sampled_from(names))
    if races and draw(st.integers(0, 7)) == 0:
        spec["activeDeadlineSeconds"] = draw(st.integers(0, 6))
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "wf"},
        "spec": spec,
    }


def by_chance(seed: int) -> Play:
    """Give each leaf an outcome that depends on its name alone."""

    def play(node: Node, _: model.Template) -> Outcome:
        chance = Random(f"{seed} {node.name}")
        phase = chance.choices(("Succeeded", "Failed", "Error"), (6, 2, 1))[0]
        return Outcome(phase=phase, seconds=chance.choice((0, 1, 1, 2, 5)))

    return play


SEEDS = st.integers(0, 1_000_000)


# --- invariants -------------------------------------------------------------------------------


class Watch:
    """Looks at a run after every step."""

    def __init__(self, workflow: dict[str, Any]) -> None:
        spec = workflow["spec"]
        self.most = spec.get("parallelism")
        self.most_of = {
            t["name"]: t["parallelism"] for t in spec["templates"] if "parallelism" in t
        }
        self.ended: dict[str, tuple[Phase, float | None]] = {}

    def __call__(self, harness: Harness, effects: Effects) -> None:
        for node in effects.nodes:
            self._final(node)
        self._room(harness.run)

    def _final(self, node: Node) -> None:
        known = self.ended.get(node.id)
        if known is not None:
            assert (node.phase, node.finished_at) == known, f"{node.name} changed after its end"
        if node.phase in FULFILLED:
            self.ended[node.id] = (node.phase, node.finished_at)

    def _room(self, run: Run) -> None:
        active = [n for n in run.nodes.values() if n.phase in ACTIVE and n.type in CHILDREN]
        # A pod that waits for a lock has not been asked for yet.
        pods = [n.name for n in active if n.type is NodeType.POD and n.ours.attempt]
        assert self.most is None or len(pods) <= self.most, f"too many pods: {pods}"
        for boundary, number in Counter(n.boundary_id for n in active if not n.hooked).items():
            template = run.nodes[boundary].template_name if boundary else ""
            assert number <= self.most_of.get(template, number), f"too many below {boundary}"


def outcome_of(run: Run) -> dict[str, str]:
    return {node.name: str(node.phase) for node in run.nodes.values()} | {"": run.phase}


@QUICK
@given(workflows(), SEEDS)
def test_every_run_ends_nothing_starts_twice_and_an_end_is_final(
    workflow: dict[str, Any], seed: int
) -> None:
    harness = Harness(json.dumps(workflow), by_chance(seed))
    harness.observers.append(Watch(workflow))

    run = harness.finish(limit=5_000)

    assert run.ended
    assert max(Counter(harness.started).values(), default=0) <= 1
    assert all(node.phase in FULFILLED for node in run.nodes.values())
    assert run.active_pods == 0
    assert all(counts.children == 0 for counts in run.counts.values())


@QUICK
@given(workflows(), SEEDS, st.integers(1, 2))
def test_every_run_ends_on_a_machine_with_little_room(
    workflow: dict[str, Any], seed: int, slots: int
) -> None:
    harness = Harness(json.dumps(workflow), by_chance(seed), slots=slots)

    assert harness.finish(limit=5_000).ended


@QUICK
@given(workflows(), SEEDS)
def test_the_history_of_a_run_gives_the_same_nodes_again(
    workflow: dict[str, Any], seed: int
) -> None:
    text = json.dumps(workflow)
    harness = Harness(text, by_chance(seed))
    harness.finish(limit=5_000)
    fresh = load(text)

    for event in harness.history:
        step(fresh, event)

    assert written(fresh) == written(harness.run)
    assert fresh.children == harness.run.children
    assert (fresh.phase, fresh.message) == (harness.run.phase, harness.run.message)


def written(run: Run) -> list[object]:
    nodes = msgspec.json.decode(msgspec.json.encode(list(run.nodes.values())))
    for node in nodes:
        node["ours"].pop("admitted", None)
    return list(nodes)


@QUICK
@given(workflows(races=False), SEEDS, st.sets(st.integers(0, 40), min_size=1, max_size=6))
def test_a_run_that_is_taken_up_again_ends_as_if_nothing_had_happened(
    workflow: dict[str, Any], seed: int, moments: set[int]
) -> None:
    text = json.dumps(workflow)
    undisturbed = Harness(text, by_chance(seed))
    undisturbed.finish(limit=5_000)

    harness = Harness(text, by_chance(seed)).start()
    moment = 0
    while True:
        if moment in moments and not harness.run.ended:
            harness.take_up()
        moment += 1
        if not harness.advance():
            break

    assert max(Counter(harness.started).values(), default=0) <= 1
    assert outcome_of(harness.run) == outcome_of(undisturbed.run)


@QUICK
@given(workflows(), SEEDS, st.integers(0, 20), st.sampled_from(["Stop", "Terminate"]))
def test_a_run_that_is_told_to_end_does_so_and_leaves_nothing_active(
    workflow: dict[str, Any], seed: int, moment: int, strategy: str
) -> None:
    harness = Harness(json.dumps(workflow), by_chance(seed)).start()
    while moment > 0 and harness.advance():
        moment -= 1
    before = set(harness.started)
    told = not harness.run.ended

    harness.send(ev.RunStopped(at=harness.now, strategy=ev.Shutdown(strategy)))
    run = harness.finish(limit=5_000)

    assert run.ended
    assert all(node.phase in FULFILLED for node in run.nodes.values())
    assert run.finished_at is not None
    if told and strategy == "Terminate":
        assert run.finished_at == harness.run.now or run.finished_at >= NOON
        assert set(harness.started) == before


LATER = 1000.0


@QUICK
@given(workflows(), SEEDS)
def test_a_run_that_is_tried_again_ends_and_starts_nothing_that_had_succeeded(
    workflow: dict[str, Any], seed: int
) -> None:
    first = Harness(json.dumps(workflow), by_chance(seed))
    run = first.finish(limit=5_000)
    now = first.now + LATER
    chosen = Random(seed).choice(sorted(run.nodes))
    plan = plan_retry(
        run.nodes.values(),
        name=run.name,
        phase=run.phase,
        now=now,
        restart_successful=True,
        selector=parse_selector(f"id={chosen}"),
    )
    fresh = fresh_run(run, run.workflow, now)
    fresh.starts, fresh.outputs = run.starts, run.outputs
    reopen(fresh, plan.kept, now=now, reset=plan.reset, removed=plan.removed)
    again = Harness(fresh, by_chance(seed + 1))
    again.now = now

    again.finish(limit=5_000)

    done = {node.name for node in plan.kept if node.phase is Phase.SUCCEEDED}
    used = {node.ours.attempt for node in run.nodes.values()}
    parents = {parent for node in fresh.nodes.values() for parent in node.ours.parents}
    assert chosen in plan.removed
    assert fresh.ended
    assert all(node.phase in FULFILLED for node in fresh.nodes.values())
    assert parents <= set(fresh.nodes)
    assert done.isdisjoint(again.started)
    assert max(Counter(again.started).values(), default=0) <= 1
    assert used.isdisjoint(again.node(name).ours.attempt for name in again.started)


@QUICK
@given(workflows(), SEEDS)
def test_a_memoized_copy_of_a_run_ends_and_starts_nothing_that_was_taken_over(
    workflow: dict[str, Any], seed: int
) -> None:
    first = Harness(json.dumps(workflow), by_chance(seed))
    run = first.finish(limit=5_000)
    now = first.now + LATER
    old = Memoized(nodes=run.nodes.values(), phase="Failed", suffix="x7k2p", now=now)
    made, nodes = plan_resubmit(run.workflow, memoized=old)
    fresh = fresh_run(run, made, now)
    reopen(fresh, nodes, now=now)
    copy = Harness(fresh, by_chance(seed + 1))
    copy.now = now

    copy.finish(limit=5_000)

    assert fresh.ended
    assert all(node.phase in FULFILLED for node in fresh.nodes.values())
    assert {node.name for node in nodes}.isdisjoint(copy.started)


def fresh_run(run: Run, workflow: model.Workflow, now: float) -> Run:
    spec = resolve_spec(workflow, run.library)
    return begin(workflow, spec, run.library, uid=run.uid, created_at=now)
