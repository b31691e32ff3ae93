"""What has to run at the same time fits on the machine together, or nothing of it ever ran."""

from __future__ import annotations

from tiphys.control.planning import Planning
from tiphys.control.task import attempt_id
from tiphys.engine import command as cm
from tiphys.engine import event as ev
from tiphys.engine.lifecycle import step, take_effects
from tiphys.engine.run import Run
from tiphys.scheduling import Queue, QueueTree, Resources
from tiphys.testing.flow import flow
from tiphys.testing.harness import NOON, load

TWO = Resources(cpu=2000, pods=8)


def task(name: str, cpu: int, replicas: int = 1, after: str = "") -> str:
    wait = f", dependsOn: {{name: [{after}]}}" if after else ""
    ask = f"resources: {{requests: {{cpu: {cpu}}}}}"
    pod = f"{{containers: [{{name: c, image: x, command: [x], {ask}}}]}}"
    return f"  - {{name: {name}, replicas: {replicas}{wait}, template: {{spec: {pod}}}}}\n"


def job(*tasks: str, least: str = "") -> str:
    head = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: wf}\n"
    return f"{head}spec:\n{least}  tasks:\n{''.join(tasks)}"


class Day:
    """A run on a machine of two cores."""

    def __init__(self, text: str, queues: QueueTree | None = None) -> None:
        self.run: Run = load(text)
        self.planning = Planning(TWO, queues)
        self.told: list[str] = []
        self.starts: dict[str, cm.StartNode] = {}

    def send(self, event: ev.Event) -> list[str]:
        """Let something happen; give the names of the nodes that start then."""
        step(self.run, event)
        for command in take_effects(self.run).commands:
            if isinstance(command, cm.StartNode):
                self.starts[attempt_id(self.run, command.attempt)] = command
                refusal, warnings = self.planning.submit(self.run, command, NOON)
                assert not refusal
                self.told += warnings
        begun = [self.starts[each].node for each in self.planning.plan(NOON).starts]
        return sorted(self.run.nodes[each].name for each in begun)


def test_a_gang_that_asks_for_more_than_there_is_starts_as_a_whole() -> None:
    day = Day(job(task("t", 1, replicas=4)))

    begun = day.send(ev.RunStarted(at=NOON))

    assert begun == [f"wf.t-{number}" for number in range(4)]
    assert set(day.told) == {"job-t asks for 4 cpu with its gang, has 2 cpu: cut down to fit"}
    assert day.planning.scheduler.used() == Resources(cpu=2000, pods=4)


def test_more_pods_than_the_machine_has_room_for_start_as_a_whole() -> None:
    day = Day(job(task("t", 0, replicas=20)))

    assert len(day.send(ev.RunStarted(at=NOON))) == 20


def test_a_gang_that_fits_gets_all_that_it_asks_for() -> None:
    tree = QueueTree([Queue(name="default", capability=Resources(cpu=1500))])
    day = Day(job(task("small", 0), task("big", 1)), tree)

    begun = day.send(ev.RunStarted(at=NOON))

    assert (begun, day.told) == (["wf.big-0", "wf.small-0"], [])
    assert day.planning.scheduler.used() == Resources(cpu=1000, pods=2)


def test_a_gang_that_is_larger_than_its_queue_waits_for_somebody_to_widen_it() -> None:
    tree = QueueTree([Queue(name="default", capability=Resources(cpu=1500))])
    day = Day(job(task("t", 1, replicas=2)), tree)

    assert day.send(ev.RunStarted(at=NOON)) == []
    assert day.told == []
    day.planning.queues_changed(QueueTree.default())
    assert len(day.planning.plan(NOON).starts) == 2


def test_only_the_least_of_a_job_has_to_fit() -> None:
    day = Day(job(task("t", 1, replicas=4), least="  minAvailable: 2\n"))

    begun = day.send(ev.RunStarted(at=NOON))

    assert (len(begun), day.told) == (2, [])
    assert day.planning.scheduler.used() == Resources(cpu=2000, pods=2)


def test_who_is_depended_on_may_use_the_whole_machine() -> None:
    day = Day(job(task("a", 1, replicas=40), task("b", 1, after="a"), least="  minAvailable: 1\n"))

    assert (len(day.send(ev.RunStarted(at=NOON))), day.told) == (2, [])


def test_devices_are_not_given_out_twice() -> None:
    gpu = QueueTree([Queue(name="default")])
    planning = Planning(Resources(cpu=2000, pods=8, gpu=2), gpu)
    day = Day(job(task("t", 0, replicas=4)).replace("cpu: 0", "gpu: 1"))
    day.planning = planning

    assert len(day.send(ev.RunStarted(at=NOON))) == 4
    assert planning.scheduler.used() == Resources(gpu=2, pods=4)


# --- daemons --------------------------------------------------------------------------------

DAEMON = """
- name: main
  steps:
  - - {name: db, template: db}
  - - {name: use, template: use}
    - {name: also, template: use}
- name: db
  daemon: true
  container: {image: x, command: [x], resources: {requests: {cpu: 4}}}
- name: use
  container: {image: x, command: [x], resources: {requests: {cpu: 1}}}
"""


def ready(day: Day, name: str) -> ev.NodeReady:
    node = next(node for node in day.run.nodes.values() if node.name == name)
    return ev.NodeReady(at=NOON, node=node.id, attempt=node.ours.attempt, ip="127.0.0.1")


def test_a_daemon_that_holds_the_whole_machine_lets_its_clients_through_one_by_one() -> None:
    day = Day(flow(DAEMON))

    assert day.send(ev.RunStarted(at=NOON)) == ["wf[0].db"]
    first = day.send(ready(day, "wf[0].db"))
    idle = day.planning.plan(NOON).starts
    (done,) = [key for key, each in day.starts.items() if day.run.nodes[each.node].name == first[0]]
    day.planning.finished(done)
    (second,) = day.planning.plan(NOON).starts

    assert first in (["wf[1].also"], ["wf[1].use"])
    assert idle == ()
    assert day.planning.notes == ["use needs more than daemons leave: it runs beside them"]
    assert day.run.nodes[day.starts[second].node].name not in first
    assert day.planning.scheduler.used() == Resources(cpu=2000)


def test_who_waits_for_others_than_daemons_waits_on() -> None:
    text = (
        DAEMON.replace("also, template: use", "also, template: long")
        + """
- name: long
  container: {image: x, command: [x], resources: {requests: {cpu: 0}}}
"""
    )
    day = Day(flow(text))
    day.send(ev.RunStarted(at=NOON))

    assert day.send(ready(day, "wf[0].db")) == ["wf[1].also"]
    assert day.planning.plan(NOON).starts == ()


def test_what_fits_beside_a_daemon_is_counted() -> None:
    day = Day(flow(DAEMON.replace("cpu: 4", "cpu: 1")))
    day.send(ev.RunStarted(at=NOON))

    assert len(day.send(ready(day, "wf[0].db"))) == 1
    assert day.planning.plan(NOON).starts == ()
    assert day.planning.scheduler.used() == Resources(cpu=2000, pods=1)
