"""What people do on the pages beside watching: many at once, schedules, comparing, large graphs."""

from __future__ import annotations

import json
import re
import secrets
from pathlib import Path
from typing import Any

import pytest

from tests.contract.api_server import ApiServer
from tests.ui.bench import Bench
from tests.ui.flows import DIAMOND, GATED

CRON = """\
apiVersion: argoproj.io/v1alpha1
kind: CronWorkflow
metadata: {name: nightly}
spec:
  schedules: ["30 2 * * *"]
  timezone: UTC
  suspend: true
  workflowSpec:
    entrypoint: main
    templates:
    - {name: main, container: {image: any, command: [echo, "{{workflow.scheduledTime}}"]}}
"""


@pytest.fixture
def tag() -> str:
    """A name that nothing else has, also where a test is tried once more."""
    return f"x{secrets.token_hex(3)}"


def test_the_dashboard_is_told_through_one_connection(
    window: Any, tmp_path: Path, tag: str
) -> None:
    gate = tmp_path / "gate"
    asked: list[str] = []
    sockets: list[str] = []
    window.page.on("request", lambda request: asked.append(request.url))
    window.page.on("websocket", lambda socket: sockets.append(socket.url))
    window.go("/")
    window.page.get_by_role("status").get_by_text("live").wait_for()
    asked.clear()

    workflow = window.server.submit(GATED.replace("GATE", str(gate)), name=tag)
    window.page.get_by_role("table", name="Running workflows").get_by_text(tag).wait_for()
    window.page.get_by_role("link", name=re.compile("^Running 1$")).wait_for()
    gate.touch()
    window.server.wait(workflow)

    window.page.get_by_role("table", name="Ended workflows").get_by_text(tag).wait_for()
    window.page.get_by_role("link", name=re.compile("^Running 0$")).wait_for()
    assert [url for url in asked if "/api/" in url] == []
    assert len(sockets) == 1


def _deed(window: Any, name: str, count: int) -> None:
    """Mark all rows in view and do something with them."""
    window.page.get_by_role("checkbox", name="Mark the rows in view").check()
    window.button(f"{name} {count}").click()
    window.page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()
    window.page.get_by_role("toolbar").wait_for(state="detached")


def test_many_are_suspended_resumed_stopped_and_retried(
    window: Any, tmp_path: Path, tag: str
) -> None:
    gate = tmp_path / "gate"
    flow = GATED.replace("GATE", str(gate))
    made = [window.server.submit(flow, name=f"{tag}-{n}") for n in range(2)]
    for workflow in made:
        window.server.wait_node(workflow, "first", "running")
    window.go(f"/workflows?name={tag}-")
    window.sees("2 workflows")

    _deed(window, "Suspend", 2)
    rows = window.page.get_by_role("rowgroup", name="Rows")
    rows.get_by_text("suspended").nth(1).wait_for()
    _deed(window, "Resume", 2)
    rows.get_by_text("running").nth(1).wait_for()
    _deed(window, "Stop", 2)
    rows.get_by_text("failed", exact=True).nth(1).wait_for()
    gate.touch()
    _deed(window, "Retry", 2)

    assert [window.server.wait(each, "succeeded")["status"] for each in made] == ["succeeded"] * 2


def test_two_marked_runs_are_compared(window: Any, tag: str) -> None:
    for greeting in ("ahoy", "hello"):
        made = window.server.submit(DIAMOND, name=tag, parameters={"greeting": greeting})
        window.server.wait(made)
    window.go(f"/workflows?name={tag}")
    window.sees("2 workflows")

    window.page.get_by_role("checkbox", name="Mark the rows in view").check()
    window.page.get_by_role("link", name="Compare").click()

    window.heading("Compare runs")
    window.page.get_by_role("row", name=re.compile("greeting.*hello.*ahoy")).wait_for()
    window.sees("Node by node", exact=False)
    assert re.search(r"a=wf-.+&b=wf-", window.page.url)


def test_days_of_the_calendar_are_filled_back(window: Any, server: ApiServer, tag: str) -> None:
    body = {"project_id": "default", "schedule_yaml": CRON.replace("nightly", tag)}
    assert server.post("/schedules", body).status == 201
    window.go(f"/schedules?schedule=default%2F{tag}")
    calendar = window.page.get_by_role("region", name="Calendar")
    calendar.get_by_role("button", name="Month before").click()
    days = calendar.locator(".calendar-day:not(.calendar-other)")
    days.nth(9).get_by_text("1 slots", exact=True).wait_for(state="attached")

    days.nth(9).click()
    days.nth(10).click()
    window.button("Fill back").click()

    window.sees("2 succeeded, 0 failed, 0 running, of 2")
    days.nth(10).get_by_text("1 slots, 1 succeeded").wait_for(state="attached")


def test_the_keyboard_alone_finds_a_run_and_reads_its_log(window: Any, tag: str) -> None:
    for name in (f"{tag}-0", f"{tag}-1"):
        window.server.wait(window.server.submit(DIAMOND, name=name))
    keyboard = window.page.keyboard
    window.go("/")
    window.heading("Dashboard")

    keyboard.press("g")
    keyboard.press("w")
    window.heading("Workflows")
    keyboard.press("/")
    keyboard.type(tag)
    keyboard.press("Escape")
    window.page.wait_for_url(re.compile(f"name={tag}(&|$)"))
    window.sees("2 workflows")
    keyboard.press("j")
    keyboard.press("j")
    window.page.locator(".list-current", has_text=f"{tag}-0").wait_for()
    keyboard.press("o")
    window.heading(f"{tag}-0")
    window.page.get_by_role("group", name="a, succeeded", exact=True).wait_for()
    focused = "() => document.activeElement?.getAttribute('aria-label') ?? ''"
    _tab_until(window, focused, "a, succeeded")
    keyboard.press("Enter")
    window.page.get_by_role("tab", name="Log").wait_for()
    _tab_until(window, "() => document.activeElement?.textContent ?? ''", "About")
    keyboard.press("ArrowRight")

    window.page.get_by_role("log").get_by_text("line 5").wait_for()
    keyboard.press("Escape")
    window.page.get_by_role("log").wait_for(state="detached")


def _tab_until(window: Any, told: str, wanted: str) -> None:
    seen = []
    for _ in range(80):
        window.page.keyboard.press("Tab")
        seen.append(window.page.evaluate(told))
        if seen[-1] == wanted:
            return
    raise AssertionError(f"{wanted!r} is not reached: {seen}")


def test_a_large_graph_is_seen_as_a_whole_and_entered_by_a_click(window: Any) -> None:
    tasks = [
        {"name": f"t{n}", "template": "work", **({"dependencies": [f"t{n // 3}"]} if n else {})}
        for n in range(700)
    ]
    work = {"name": "work", "container": {"image": "any", "command": ["true"]}}
    spec = {
        "entrypoint": "main",
        "suspend": True,
        "templates": [{"name": "main", "dag": {"tasks": tasks}}, work],
    }
    text = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "spec": spec}
    text["metadata"] = {"generateName": "large-"}
    workflow = window.server.submit(json.dumps(text), name="large")
    window.go(f"/workflows/{workflow}")
    window.page.get_by_role("group", name="t0, planned", exact=True).wait_for()
    window.page.get_by_role("img", name="Small map").wait_for()
    assert window.page.locator(".unit").count() < 700

    window.button("Show all").click()
    window.page.locator(".terrain[data-far=true]").wait_for(state="attached")
    window.page.locator(".unit").first.wait_for(state="detached")
    pane = window.page.locator(".react-flow")
    box = pane.bounding_box()
    _click_on_paint(window, box)

    window.page.locator(".unit").first.wait_for()
    window.page.get_by_role("img", name="Small map").click(position={"x": 20, "y": 60})
    assert window.violations() == []


def _click_on_paint(window: Any, box: dict[str, float]) -> None:
    """Click where the canvas has a box: on the first pixel of a solid colour."""
    point = window.page.evaluate(
        """() => {
          const canvas = document.querySelector("canvas.terrain");
          const {width, height} = canvas;
          const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
          const scale = width / canvas.clientWidth;
          const solid = (x, y) => data[4 * (y * width + x) + 3] === 255;
          for (let x = Math.round(width / 2); x < width - 4; x++) {
            for (let y = Math.round(height / 2); y < height - 4; y++) {
              if (solid(x, y) && solid(x + 3, y) && solid(x, y + 3)) {
                return {x: (x + 1) / scale, y: (y + 2) / scale};
              }
            }
          }
          return null;
        }"""
    )
    assert point is not None
    window.page.mouse.click(box["x"] + point["x"], box["y"] + point["y"])


def test_what_is_written_is_kept_as_a_template_and_run(window: Any, server: ApiServer) -> None:
    bench = Bench(window)
    bench.write(DIAMOND)
    bench.node("a")

    window.button("Save as template").click()
    dialog = window.page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("kept-diamond")
    dialog.get_by_role("button", name="Save", exact=True).click()

    window.heading("Templates")
    window.page.get_by_role("link", name="Submit kept-diamond").click()
    window.heading("Submit")
    window.button("Submit").click()
    window.page.wait_for_url(re.compile("/workflows/wf-"))
    made = server.wait(window.page.url.rpartition("/")[2])
    assert made["status"] == "succeeded"
    manifest = server.get("/templates/default/kept-diamond").data["manifest"]
    assert manifest["kind"] == "WorkflowTemplate"


def test_a_simulation_knows_the_queue(
    window: Any, server: ApiServer, tmp_path: Path, tag: str
) -> None:
    assert server.post("/queues", {"name": tag, "quota_cpu": "100m"}).status == 201
    gate = tmp_path / "gate"
    hungry = GATED.replace("GATE", str(gate)).replace(
        "- name: wait\n    container:",
        "- name: wait\n    container:\n      resources: {requests: {cpu: 100m}}",
    )
    holder = server.submit(hungry, name="holder", queue_id=f"q-{tag}")
    server.wait_node(holder, "first", "running")
    try:
        Bench(window).write(hungry)
        window.button("Submit…").click()
        window.heading("Submit")
        window.button("Simulate").click()
        table = window.page.get_by_role("table", name="Predicted schedule")
        at_once = table.get_by_role("cell", name=re.compile("^from 0 s"))
        at_once.wait_for()

        window.page.get_by_role("combobox", name="Queue").click()
        window.page.get_by_role("option", name=tag).click()
        window.button("Simulate").click()

        # The holder's minute comes first now, for both tasks.
        table.get_by_role("cell", name=re.compile("^from (?!0 s)")).nth(1).wait_for()
    finally:
        gate.touch()
        server.wait(holder)
