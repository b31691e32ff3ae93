"""What holds whatever happens: limits, gangs, guarantees, fairness, progress, determinism."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from tiphys.scheduling import (
    Gang,
    Preempt,
    Queue,
    QueueTree,
    Resources,
    Rule,
    Scheduler,
    Work,
    WorkId,
)
from tiphys.scheduling.plan import Plan

CAPACITY = Resources(cpu=16, memory=32)
LEAVES = ("a", "b", "c")


def _amounts(most: int) -> st.SearchStrategy[Resources]:
    return st.builds(lambda cpu: Resources(cpu=cpu), st.integers(0, most))


@st.composite
def trees(draw: st.DrawFn, *, stopping: bool = True) -> QueueTree:
    """A small tree: two queues under ``top`` and one beside it, with limits that make sense."""
    queues = [Queue(name="top", capability=Resources(cpu=draw(st.integers(8, 16))))]
    for name in LEAVES:
        fair = draw(st.booleans())
        guarantee = draw(st.integers(0, 2))
        deserved = draw(st.one_of(st.none(), st.integers(guarantee, 6)))
        limit = draw(st.one_of(st.none(), st.integers(max(deserved or 0, guarantee, 4), 16)))
        queues.append(
            Queue(
                name=name,
                parent="top" if name != "c" else "root",
                weight=draw(st.integers(1, 3)),
                priority=draw(st.integers(0, 1)),
                guarantee=Resources(cpu=guarantee) if guarantee else Resources(),
                deserved=Resources(cpu=deserved) if deserved is not None else Resources(),
                capability=Resources(cpu=limit) if limit is not None else Resources(),
                preempt=draw(st.sampled_from(Preempt)) if stopping else Preempt.NEVER,
                reclaim=draw(st.booleans()) if stopping else False,
                reclaimable=draw(st.booleans()),
                strict=draw(st.booleans()) if not stopping and not fair else False,
                fair=fair,
            )
        )
    return QueueTree(queues)


@st.composite
def works(draw: st.DrawFn, index: int) -> Work:
    """A work that fits the least queue."""
    return Work(
        id=WorkId(f"w{index}"),
        queue=draw(st.sampled_from(LEAVES)),
        requests=Resources(cpu=draw(st.integers(1, 4)), memory=draw(st.integers(0, 6))).positive(),
        priority=draw(st.integers(0, 2)),
        created_at=float(index),
        workflow=draw(st.sampled_from(("", "x", "y"))),
        rank=float(draw(st.integers(0, 3))),
        expected_seconds=draw(st.one_of(st.none(), st.floats(1, 100))),
    )


@dataclass
class World:
    """A scheduler with an honest book of its own beside it."""

    tree: QueueTree
    scheduler: Scheduler
    works: dict[WorkId, Work] = field(default_factory=dict)
    running: dict[WorkId, Work] = field(default_factory=dict)
    stopping: set[WorkId] = field(default_factory=set)
    plans: list[Plan] = field(default_factory=list)
    now: float = 0.0

    def submit(self, work: Work) -> None:
        assert self.scheduler.submit(work) is None
        self.works[work.id] = work

    def plan(self) -> Plan:
        self.now += 1.0
        before = dict(self.running)
        plan = self.scheduler.plan(self.now)
        for work_id in plan.starts:
            assert work_id not in self.running
            self.running[work_id] = self.works[work_id]
        for preemption in plan.preempts:
            self.check_preemption(
                before, preemption.victim, preemption.beneficiary, preemption.rule
            )
            self.stopping.add(preemption.victim)
        self.plans.append(plan)
        self.check_limits()
        return plan

    def finish(self, work_id: WorkId) -> None:
        work = self.running.pop(work_id)
        self.scheduler.finished(work_id)
        if work_id in self.stopping:
            self.stopping.discard(work_id)
            self.submit(work)

    def used(self, queue: str) -> Counter[str]:
        total: Counter[str] = Counter()
        for work in self.running.values():
            if queue in self.tree.path(work.queue):
                total.update(work.requests.to_dict())
        return total

    def check_limits(self) -> None:
        assert set(self.scheduler.running()) == set(self.running)
        for name, queue in self.tree.queues.items():
            used = self.used(name)
            assert dict(+used) == self.scheduler.used(name).to_dict()
            limit = CAPACITY if name == "root" else queue.capability
            for resource, most in limit.items:
                assert used[resource] <= most, (name, resource)
        # What is guaranteed and unused is still free.
        free = CAPACITY.get("cpu") - self.used("root")["cpu"]
        unused = sum(
            max(0, self.tree.queues[name].guarantee.get("cpu") - self.used(name)["cpu"])
            for name in LEAVES
        )
        assert free >= unused

    def check_preemption(
        self, before: dict[WorkId, Work], victim_id: WorkId, newcomer_id: WorkId, rule: Rule
    ) -> None:
        victim, newcomer = before[victim_id], self.works[newcomer_id]
        theirs, mine = self.tree.queues[victim.queue], self.tree.queues[newcomer.queue]
        assert victim.preemptable
        assert victim_id not in self.stopping
        match rule:
            case Rule.PRIORITY:
                assert victim.queue == newcomer.queue
                newer = mine.preempt is Preempt.LOWER_OR_NEWER
                assert victim.priority < newcomer.priority or (
                    newer
                    and victim.priority == newcomer.priority
                    and newcomer.created_at < victim.created_at
                )
            case Rule.RECLAIM:
                assert victim.queue != newcomer.queue
                assert theirs.reclaimable
                assert mine.reclaim
            case Rule.SLA:
                assert newcomer.priority >= victim.priority


@st.composite
def histories(draw: st.DrawFn, *, stopping: bool = True) -> tuple[QueueTree, list[object]]:
    """A tree and what happens to it: works that come, ends, withdrawals, plans."""
    tree = draw(trees(stopping=stopping))
    events: list[object] = []
    for index in range(draw(st.integers(1, 25))):
        events.append(draw(works(index)))
        events.extend(draw(st.lists(st.sampled_from(("plan", "finish", "withdraw")), max_size=3)))
    return tree, events


def play(tree: QueueTree, events: list[object]) -> World:
    world = World(tree, Scheduler(CAPACITY, tree, patience_seconds=50.0))
    for event in events:
        if isinstance(event, Work):
            world.submit(event)
        elif event == "plan":
            world.plan()
        elif event == "finish" and world.running:
            world.finish(next(iter(world.running)))
        elif event == "withdraw" and world.scheduler.waiting():
            gone = world.scheduler.waiting()[-1]
            world.scheduler.withdraw(gone)
            del world.works[gone]
    return world


@given(histories())
@settings(max_examples=80, deadline=None)
def test_limits_guarantees_and_preemption_rules_always_hold(
    history: tuple[QueueTree, list[object]],
) -> None:
    world = play(*history)

    for _ in range(5):
        world.plan()


@given(histories())
@settings(max_examples=40, deadline=None)
def test_the_same_events_give_the_same_plans(history: tuple[QueueTree, list[object]]) -> None:
    assert play(*history).plans == play(*history).plans


@given(histories(stopping=False))
@settings(max_examples=80, deadline=None)
def test_everything_that_can_start_starts(history: tuple[QueueTree, list[object]]) -> None:
    world = play(*history)

    # Without new arrivals each round that ends all running work must start something.
    for _ in range(len(world.works) + 2):
        for work_id in list(world.running):
            world.finish(work_id)
        world.now += 100.0
        world.plan()
        if not world.scheduler.waiting():
            break

    stuck = [world.works[work_id] for work_id in world.scheduler.waiting()]
    assert all(
        not world.scheduler.largest(w.queue).get("cpu") >= w.requests.get("cpu") for w in stuck
    )


@given(histories())
@settings(max_examples=40, deadline=None)
def test_every_wait_has_a_reason(history: tuple[QueueTree, list[object]]) -> None:
    world = play(*history)
    world.plan()

    for work_id in world.scheduler.waiting():
        wait = world.scheduler.reason(work_id, world.now)
        assert wait is not None
        assert wait.text


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(0, 2)), max_size=6),
    st.integers(4, 16),
)
@settings(max_examples=60, deadline=None)
def test_gangs_start_whole_or_not_at_all(gangs: list[tuple[int, int, int]], capacity: int) -> None:
    scheduler = Scheduler(Resources(cpu=capacity))
    for index, (least, cpu, surplus) in enumerate(gangs):
        name = f"g{index}"
        scheduler.declare(Gang(name=name, min_member=least))
        for member in range(least + surplus):
            scheduler.submit(
                Work(id=WorkId(f"{name}.{member}"), requests=Resources(cpu=cpu), group=name)
            )

    started: Counter[str] = Counter()
    for now in range(20):
        plan = scheduler.plan(float(now))
        fresh = Counter(work_id.partition(".")[0] for work_id in plan.starts)
        for name, count in fresh.items():
            if not started[name]:
                assert count >= gangs[int(name[1:])][0]
        started.update(fresh)
        for work_id in plan.starts[: now % 3]:
            scheduler.finished(work_id)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=4))
@settings(max_examples=40, deadline=None)
def test_queues_share_the_dominant_resource_fairly(demands: list[tuple[int, int]]) -> None:
    """Sharing incentive and freedom from envy, up to the size of one work."""
    cpu, memory = 240, 240
    tree = QueueTree([Queue(name=f"q{i}") for i in range(len(demands))])
    scheduler = Scheduler(Resources(cpu=cpu, memory=memory), tree)
    for index, (need_cpu, need_memory) in enumerate(demands):
        requests = Resources(cpu=need_cpu, memory=need_memory)
        for member in range(240):
            scheduler.submit(
                Work(id=WorkId(f"{index}.{member}"), queue=f"q{index}", requests=requests)
            )

    tasks = Counter(int(work_id.partition(".")[0]) for work_id in scheduler.plan(0.0).starts)

    def dominant(index: int, count: int) -> float:
        return count * max(demands[index][0] / cpu, demands[index][1] / memory)

    largest = max(dominant(i, 1) for i in range(len(demands)))
    for index, (need_cpu, need_memory) in enumerate(demands):
        assert dominant(index, tasks[index]) + 2 * largest >= 1 / len(demands)
        for other, (their_cpu, their_memory) in enumerate(demands):
            bundle = min(
                tasks[other] * their_cpu // need_cpu, tasks[other] * their_memory // need_memory
            )
            slack = 2 + int(2 * largest / dominant(index, 1))
            assert tasks[index] + slack >= bundle, (index, other)
