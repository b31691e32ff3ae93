"""Daemons: they count as done once they serve, and end with what bounds them."""

from __future__ import annotations

from tiphys.engine import event as ev
from tiphys.engine.node import Phase
from tiphys.testing.flow import FAIL, READY, cast, finished, flow
from tiphys.testing.harness import Harness, Outcome

STEPS = """
- name: main
  steps:
  - [{name: server, template: server}]
  - - name: client
      template: show
      arguments: {parameters: [{name: m, value: "{{steps.server.ip}}"}]}
- name: server
  daemon: true
  container: {image: x, command: [x]}
- name: show
  inputs: {parameters: [{name: m}]}
  container: {image: x, command: [x]}
"""
DAG = """
- name: main
  dag:
    tasks:
    - {name: server, template: server}
    - {name: client, template: leaf, depends: server}
- name: server
  daemon: true
  container: {image: x, command: [x]}
"""


def test_the_next_step_starts_when_the_daemon_serves_and_knows_its_address() -> None:
    harness = finished(STEPS, {"server": Outcome(ready=True, seconds=5)})

    client = harness.node("wf[1].client")
    assert client.started_at == harness.run.created_at + 5
    assert client.inputs is not None
    assert client.inputs.parameters[0].value == "127.0.0.1"
    assert harness.run.phase == "Succeeded"


def test_a_daemon_ends_with_the_template_that_started_it_and_has_succeeded() -> None:
    for templates in (STEPS, DAG):
        harness = finished(templates, {"server": READY})
        server = next(n for n in harness.run.nodes.values() if n.display_name == "server")

        assert server.phase is Phase.SUCCEEDED
        assert server.daemoned is None
        assert (server.id, server.ours.attempt) in harness.stopped
        assert harness.run.phase == "Succeeded"


def test_a_daemon_ends_when_its_template_fails() -> None:
    for templates in (STEPS, DAG):
        harness = finished(templates, {"server": READY, "client": FAIL})
        server = next(n for n in harness.run.nodes.values() if n.display_name == "server")

        assert server.phase is Phase.SUCCEEDED
        assert harness.run.phase == "Failed"


def test_a_daemon_is_pending_until_it_serves() -> None:
    harness = Harness(flow(STEPS), cast({"server": READY})).start()
    harness.advance()

    assert harness.node("wf[0].server").phase is Phase.PENDING


def test_a_daemon_that_ends_by_itself_has_failed() -> None:
    harness = finished(STEPS, {"server": Outcome()})

    assert harness.node("wf[0].server").phase is Phase.FAILED
    assert harness.run.phase == "Failed"


def test_a_daemon_that_dies_later_fails_but_its_step_is_past() -> None:
    harness = Harness(flow(STEPS), cast({"server": READY, "client": Outcome(seconds=9)})).start()
    while "wf[1].client" not in harness.started:
        harness.advance()
    server = harness.node("wf[0].server")

    harness.send(
        ev.NodeEnded(at=harness.now, node=server.id, attempt=server.ours.attempt, phase="Failed")
    )
    harness.finish()

    assert server.phase is Phase.FAILED
    assert harness.node("wf[0]").phase is Phase.SUCCEEDED
    assert harness.run.phase == "Succeeded"


def test_a_task_can_depend_on_a_daemon() -> None:
    harness = finished(
        DAG.replace("depends: server", "depends: server.Daemoned"), {"server": READY}
    )

    assert harness.started == ["wf.server", "wf.client"]
    assert harness.run.phase == "Succeeded"


def test_a_retried_daemon_is_started_again_until_it_serves() -> None:
    templates = STEPS.replace("daemon: true", "daemon: true\n  retryStrategy: {limit: 2}")
    harness = finished(templates, {"server": [FAIL, READY]})

    assert harness.started == ["wf[0].server(0)", "wf[0].server(1)", "wf[1].client"]
    assert harness.node("wf[0].server(1)").phase is Phase.SUCCEEDED
    assert harness.node("wf[0].server").phase is Phase.SUCCEEDED
    assert harness.run.phase == "Succeeded"


def test_a_nested_template_ends_its_daemons_before_what_follows() -> None:
    harness = Harness(
        flow("""
    - name: main
      steps:
      - [{name: a, template: inner}]
      - [{name: b, template: leaf}]
    - name: inner
      steps:
      - [{name: server, template: server}]
    - name: server
      daemon: true
      container: {image: x, command: [x]}
    """),
        cast({"server": READY, "b": Outcome(seconds=60)}),
    )
    harness.finish()

    server = harness.node("wf[0].a[0].server")
    assert server.phase is Phase.SUCCEEDED
    assert server.finished_at == harness.run.created_at + 1


def test_stopping_ends_a_daemon() -> None:
    harness = Harness(flow(STEPS), cast({"server": READY, "client": Outcome(seconds=60)})).start()
    while "wf[1].client" not in harness.started:
        harness.advance()

    harness.send(ev.RunStopped(at=harness.now, strategy=ev.Shutdown.TERMINATE))

    assert harness.run.phase == "Failed"
    assert harness.node("wf[0].server").ended
    assert len(harness.stopped) == 2


def test_a_daemon_as_entrypoint_ends_with_the_run() -> None:
    harness = finished(
        "- name: main\n  daemon: true\n  container: {image: x, command: [x]}", {"wf": READY}
    )

    assert harness.run.phase == "Succeeded"
    assert harness.node("wf").phase is Phase.SUCCEEDED


def test_a_daemon_survives_being_taken_up_again() -> None:
    harness = Harness(flow(STEPS), cast({"server": READY, "client": Outcome(seconds=9)})).start()
    while "wf[1].client" not in harness.started:
        harness.advance()

    harness.take_up()
    harness.finish()

    server = harness.node("wf[0].server")
    assert server.phase is Phase.SUCCEEDED
    assert (server.id, server.ours.attempt) in harness.stopped
    assert harness.started == ["wf[0].server", "wf[1].client"]
    assert harness.run.phase == "Succeeded"
