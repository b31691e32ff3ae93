"""The form for submitting."""

from __future__ import annotations

import re
from typing import Any

from tests.contract.api_server import ApiServer
from tests.ui.bench import Bench
from tests.ui.window import Window

GREETING = """\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  generateName: greeting-
spec:
  entrypoint: main
  arguments:
    parameters:
    - name: who
      description: Whom to greet
      value: world
      enum: [world, moon]
    - name: often
      default: "1"
    - name: how
  templates:
  - name: main
    container:
      image: busybox
      command: [echo]
      args: ["{{workflow.parameters.how}} {{workflow.parameters.who}}"]
"""
KEPT = """\
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: kept}
spec:
  entrypoint: main
  arguments:
    parameters: [{name: port, value: Iolcus}]
  templates:
  - name: main
    container: {image: busybox, command: [echo, "{{workflow.parameters.port}}"]}
"""


def submitted(window: Window, server: ApiServer) -> dict[str, object]:
    """Wait for the page of what was submitted, and for its end."""
    window.page.wait_for_url(re.compile("/workflows/wf-"))
    found: dict[str, object] = server.wait(window.page.url.rpartition("/")[2])
    return found


def _is_submission(request: Any) -> bool:
    return request.method == "POST" and str(request.url).endswith("/api/v1/workflows")


def output(server: ApiServer, workflow: dict[str, object], name: str = "") -> str:
    nodes = workflow["nodes"]
    assert isinstance(nodes, list)
    [node] = [each for each in nodes if each["type"] == "container" and name in each["name"]]
    path = f"/workflows/{workflow['id']}/nodes/{node['id']}/output"
    return str(server.get(path).data["stdout"])


def test_the_form_asks_for_the_parameters_of_the_workflow(
    window: Window, server: ApiServer
) -> None:
    Bench(window).write(GREETING)
    window.sees("No problems found")
    window.button("Submit…").click()
    window.heading("Submit")
    page = window.page
    window.sees("Whom to greet")

    window.button("Submit").click()
    window.sees("needs a value")
    page.get_by_role("combobox", name="who").click()
    page.get_by_role("option", name="moon").click()
    page.get_by_role("textbox", name="how").fill("good night")
    page.get_by_role("textbox", name="Name").fill("evening")
    page.get_by_role("combobox", name="Priority").fill("high")
    page.get_by_placeholder("as usual: local").wait_for()
    with page.expect_request(_is_submission) as sent:
        window.button("Submit").click()

    assert sent.value.post_data_json["scheduler"] is None  # It is the server's to choose.
    made = submitted(window, server)
    assert (made["status"], made["name"], made["priority"]) == ("succeeded", "evening", 100)
    assert output(server, made) == "good night moon\n"


def test_a_simulation_tells_start_end_and_every_bar(window: Window) -> None:
    window.go("/submit?example=diamond")
    window.button("Simulate").click()

    window.sees("3 min 0 s for 8 tasks", exact=False)
    table = window.page.get_by_role("table", name="Predicted schedule")
    assert table.get_by_role("row").count() == 8
    assert table.get_by_role("row").first.inner_text().split("\n")[0] == "plan"
    window.picture("submit")


def test_what_the_server_refuses_stands_at_its_line(window: Window) -> None:
    window.forgiven = ("422",)
    Bench(window).write(GREETING.replace("entrypoint: main", "entrypoint: mian"))
    window.page.get_by_role("button", name="mian", exact=False).wait_for(state="visible")
    window.button("Submit…").click()
    window.heading("Submit")
    window.page.get_by_role("textbox", name="how").fill("hi")
    window.button("Submit").click()

    window.sees("It was not submitted")
    marked = window.page.locator(".cm-lintRange-error").first
    marked.wait_for(state="visible")
    assert "mian" in marked.inner_text()


def test_a_file_is_submitted(window: Window, server: ApiServer) -> None:
    window.go("/submit?from=file")
    window.sees("Nothing to submit yet")
    window.page.locator("input[type=file]").set_input_files(
        files=[{"name": "w.yaml", "mimeType": "text/yaml", "buffer": GREETING.encode()}]
    )
    window.page.get_by_role("textbox", name="how").fill("hello")
    window.page.get_by_role("combobox", name="Scheduler").click()
    window.page.get_by_role("option", name="local", exact=True).click()
    with window.page.expect_request(_is_submission) as sent:
        window.button("Submit").click()

    assert sent.value.post_data_json["scheduler"] == "local"
    assert output(server, submitted(window, server)) == "hello world\n"


def test_a_template_is_submitted_with_its_own_parameters(window: Window, server: ApiServer) -> None:
    body = {"template_yaml": KEPT, "project_id": "default"}
    assert server.post("/templates", body).status == 201
    window.go("/submit?template=default/kept")
    port = window.page.get_by_role("textbox", name="port")
    port.wait_for(state="visible")
    assert port.input_value() == "Iolcus"
    window.button("Simulate").click()
    window.sees("for 1 task", exact=False)

    port.fill("Colchis")
    window.button("Submit").click()

    assert output(server, submitted(window, server)) == "Colchis\n"
