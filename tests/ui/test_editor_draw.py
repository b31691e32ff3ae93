"""Drawing a workflow."""

from __future__ import annotations

import re

import yaml

from tests.contract.api_server import ApiServer
from tests.ui.bench import Bench
from tests.ui.window import Window


def test_a_diamond_that_is_drawn_is_submitted_and_succeeds(
    window: Window, server: ApiServer
) -> None:
    bench = Bench(window)
    bench.add("Container", "first")
    for name in ("left", "right", "last"):
        bench.use("container", name)
    edges = [("first", "left"), ("first", "right"), ("left", "last"), ("right", "last")]
    for source, target in edges:
        bench.connect(source, target)
    tasks = yaml.safe_load(bench.text())["spec"]["templates"][0]["dag"]["tasks"]
    assert {each["name"]: each.get("depends") for each in tasks} == {
        "first": None,
        "left": "first",
        "right": "first",
        "last": "left && right",
    }
    window.sees("No problems found")
    bench.settle()
    window.picture("editor")

    window.button("Submit…").click()
    window.heading("Submit")
    window.button("Submit").click()
    window.page.wait_for_url(re.compile("/workflows/wf-"))

    made = server.wait(window.page.url.rpartition("/")[2])
    assert made["status"] == "succeeded"
    ran = {each["display_name"] for each in made["nodes"]}
    assert {"first", "left", "right", "last"} <= ran


def test_an_arrow_and_a_box_are_taken_away_with_the_keyboard(window: Window) -> None:
    bench = Bench(window, "/editor?example=diamond")
    bench.edge("plan", "hull").focus()
    window.page.keyboard.press("Enter")
    window.page.keyboard.press("Delete")
    bench.page.locator('.react-flow__edge[data-id="plan→hull"]').wait_for(state="detached")

    bench.node("mast").focus()
    window.page.keyboard.press("Enter")
    window.page.keyboard.press("Delete")
    bench.page.locator('.react-flow__node[data-id="mast"]').wait_for(state="detached")

    assert bench.nodes() == ["hull", "oars", "plan", "sail"]
    assert "depends: hull && oars\n" in bench.text()


def test_a_circle_is_refused_with_words(window: Window) -> None:
    bench = Bench(window, "/editor?example=diamond")
    bench.node("plan").click()
    waits = window.page.get_by_role("combobox", name="Waits for")
    waits.click()
    window.page.get_by_role("option", name="sail").click()

    window.sees("they would wait for each other", exact=False)
    assert bench.nodes() == ["hull", "mast", "oars", "plan", "sail"]


def test_one_container_becomes_a_graph(window: Window) -> None:
    bench = Bench(window, "/editor?example=hello")
    bench.node("greet")

    bench.page.get_by_role("group", name="Add").get_by_role("button", name="Script").click()

    bench.edge("greet", "script")
    read = yaml.safe_load(bench.text())
    assert read["spec"]["entrypoint"] == "main"
    assert bench.text().startswith("# The smallest workflow")
    window.button("Undo").click()
    bench.page.locator('.react-flow__node[data-id="script"]').wait_for(state="detached")
    assert bench.nodes() == ["greet"]


def test_a_kind_that_is_dropped_on_a_box_runs_after_it(window: Window) -> None:
    bench = Bench(window, "/editor?example=diamond")
    bench.settle()
    bench.page.get_by_role("group", name="Add").get_by_role("button", name="Suspend").drag_to(
        bench.node("sail")
    )

    bench.edge("sail", "suspend")
    assert "suspend: {}\n" in bench.text()


def test_a_job_flow_that_is_drawn_runs_too(window: Window, server: ApiServer) -> None:
    bench = Bench(window)
    window.button("New").click()
    window.page.get_by_role("menuitem", name="Empty JobFlow").click()
    bench.wait_text("kind: JobFlow")
    adding = bench.page.get_by_role("button", name="Job", exact=True)
    adding.click()
    bench.name("unload")
    adding.click()
    bench.name("rest")

    bench.edge("unload", "rest")
    flow, *templates = yaml.safe_load_all(bench.text())
    assert flow["spec"]["flows"] == [
        {"name": "unload"},
        {"name": "rest", "dependsOn": {"targets": ["unload"]}},
    ]
    assert [each["kind"] for each in templates] == ["JobTemplate", "JobTemplate"]
    bench.node("rest").click()
    image = bench.field("Image")
    image.fill("alpine:3")
    image.press("Enter")
    assert bench.wait_text("image: alpine:3").count("image: busybox") == 1
    bench.write(bench.text().replace("- name: unload\n", "# By hand.\n    - name: unload\n", 1))
    bench.edge("unload", "rest")
    window.sees("No problems found")

    window.button("Submit…").click()
    window.heading("Submit")
    window.button("Submit").click()
    window.page.wait_for_url(re.compile("/workflows/wf-"))
    assert server.wait(window.page.url.rpartition("/")[2])["status"] == "succeeded"
