"""The text and the graph of the editor are one: what changes here changes there."""

from __future__ import annotations

import yaml

from tests.ui.bench import Bench
from tests.ui.window import Window

COMMENTED = """\
# The voyage of one ship.
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: "voyage-"}   # quoted, and in braces
spec:
  entrypoint: main

  templates:
  - name: main
    dag:
      tasks:
      - {name: build, template: work}
      # Nobody sails before the ship is built.
      - name: sail
        dependencies: [ build ]
        template: 'work'   # single quotes

  - name: work
    container:
      image: busybox
      command: [sh, -c]
      args: ["echo {{workflow.name}}"]
"""


def test_what_is_written_is_drawn(window: Window) -> None:
    bench = Bench(window)

    bench.write(COMMENTED)

    bench.edge("build", "sail")
    assert bench.nodes() == ["build", "sail"]


def test_what_is_drawn_is_written_and_the_rest_stays_as_it_was(window: Window) -> None:
    bench = Bench(window)
    bench.write(COMMENTED)
    bench.node("sail").click()
    bench.page.get_by_role("group", name="Add after sail").get_by_role(
        "button", name="Suspend"
    ).click()
    bench.name("rest")

    expected = COMMENTED.replace(
        "        template: 'work'   # single quotes\n",
        "        template: 'work'   # single quotes\n"
        "      - name: rest\n"
        "        dependencies: [sail]\n"
        "        template: suspend\n",
    )
    assert bench.text() == expected + "\n  - name: suspend\n    suspend: {}\n"

    bench.node("build").click()
    image = bench.field("Image")
    image.fill("alpine:3")
    image.press("Enter")
    bench.wait_text("      image: alpine:3\n")
    bench.node("build").click()
    bench.name("shipyard")
    text = bench.wait_text("dependencies: [ shipyard ]")
    back = text.replace("shipyard", "build").replace("alpine:3", "busybox")
    assert back == expected + "\n  - name: suspend\n    suspend: {}\n"


def test_undo_goes_back_over_both_sides(window: Window) -> None:
    bench = Bench(window)
    bench.write(COMMENTED)
    bench.edge("build", "sail")
    bench.node("sail").focus()
    window.page.keyboard.press("Enter")
    window.page.keyboard.press("Delete")
    bench.page.locator('.react-flow__node[data-id="sail"]').wait_for(state="detached")

    window.button("Undo").click()
    bench.edge("build", "sail")
    assert bench.text() == COMMENTED

    window.button("Redo").click()
    bench.page.locator('.react-flow__node[data-id="sail"]').wait_for(state="detached")
    assert "# Nobody sails before the ship is built." in bench.text()


def test_a_text_that_is_not_yaml_keeps_the_graph_until_it_is_mended(window: Window) -> None:
    bench = Bench(window)
    bench.write(COMMENTED)
    bench.edge("build", "sail")

    window.page.keyboard.press("Control+Home")
    window.page.keyboard.type("not: yaml: at all")
    window.page.keyboard.press("Enter")

    window.sees("The graph shows how it was before", exact=False)
    assert bench.nodes() == ["build", "sail"]
    assert window.button("Container").is_disabled()
    window.page.keyboard.press("Control+Home")
    window.page.keyboard.press("Control+Shift+k")  # Takes the line away.
    window.page.get_by_text("The graph shows how it was before").wait_for(state="detached")
    assert bench.text() == COMMENTED


def test_the_words_of_the_server_stand_at_their_line(window: Window) -> None:
    bench = Bench(window)
    bench.write(COMMENTED.replace("{name: build, template: work}", "{name: build, template: worc}"))

    problem = window.page.get_by_role("button", name="there is no template 'worc'", exact=False)
    problem.wait_for(state="visible")
    assert problem.inner_text().split()[0] == "12"
    assert window.page.locator(".cm-lintRange-error").inner_text() == "worc"
    box = bench.node("build").locator(".has-problems")
    box.wait_for(state="visible")

    problem.click()
    focused = "document.activeElement.getAttribute('aria-label')"
    assert window.page.evaluate(focused) == "Workflow as YAML"
    window.picture("editor-problem")


def test_keys_and_variables_are_suggested(window: Window) -> None:
    bench = Bench(window)
    bench.write(COMMENTED)
    window.page.keyboard.press("Control+End")
    window.page.keyboard.type("      imageP")
    window.page.keyboard.press("Control+Space")
    option = window.page.get_by_role("option", name="imagePullPolicy", exact=False)
    option.click()
    bench.wait_text("      imagePullPolicy: ")

    window.page.keyboard.type('"{{workflow.na')
    named = window.page.get_by_role("option", name="workflow.name", exact=False).first
    named.click()
    bench.wait_text('imagePullPolicy: "{{workflow.name}}"')


def test_fields_write_loops_conditions_and_resources(window: Window) -> None:
    bench = Bench(window)
    bench.write(COMMENTED)
    bench.node("sail").click()

    when = bench.field("When")
    when.fill("{{tasks.build.status}} == Succeeded")
    when.press("Enter")
    bench.wait_text('when: "{{tasks.build.status}} == Succeeded"')
    window.page.locator(".form-pane").get_by_role("combobox", name="Loop").click()
    window.page.get_by_role("option", name="withSequence", exact=False).click()
    bench.wait_text("withSequence:")
    cpu = bench.field("CPU")
    cpu.fill("500m")
    cpu.press("Enter")
    bench.wait_text("cpu: 500m")

    read = yaml.safe_load(bench.text())
    [_, task] = read["spec"]["templates"][0]["dag"]["tasks"]
    assert task["withSequence"] == {"count": "3"}
    container = read["spec"]["templates"][1]["container"]
    assert container["resources"] == {"requests": {"cpu": "500m"}}
    assert "template: 'work'   # single quotes\n" in bench.text()
    window.sees("No problems found")


def test_examples_of_each_shape_are_drawn_without_problems(window: Window) -> None:
    for name in ("hello", "conditional", "container-set", "jobflow"):
        bench = Bench(window, f"/editor?example={name}")
        bench.page.locator(".react-flow__node").first.wait_for(state="visible")
        window.sees("No problems found")


def test_names_are_never_markup(window: Window) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    bench = Bench(window)
    bench.write(COMMENTED.replace("name: build,", f"name: '{hostile}',"))

    box = bench.node(hostile)
    assert box.locator(".task-name").inner_text() == hostile
    assert window.page.locator("img[src=x]").count() == 0
