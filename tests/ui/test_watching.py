"""What people do with workflows on the pages: watch, read logs, retry, resume, compare, search."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import Any

from tests.contract.api_server import ApiServer
from tests.ui.flows import BUSY, DIAMOND, EVIL, FAILING, GATED, HOSTILE, PAUSING


def _unit(window: Any, name: str, status: str) -> Any:
    """Wait until a box of the graph is in a state."""
    found = window.page.get_by_role("group", name=f"{name}, {status}", exact=True)
    found.wait_for(state="visible")
    return found


def test_a_running_workflow_is_watched_to_its_end(window: Any, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    workflow = window.server.submit(GATED.replace("GATE", str(gate)), name="gated")
    window.go(f"/workflows/{workflow}")
    _unit(window, "first", "running")
    _unit(window, "second", "planned").wait_for()
    _unit(window, "first", "running").click()
    story = window.page.get_by_role("region", name="Events of the node")
    story.get_by_role("row", name="queued").wait_for()
    story.get_by_role("row", name="started").wait_for()

    gate.touch()

    story.get_by_role("row", name="succeeded").wait_for()
    _unit(window, "first", "succeeded")
    _unit(window, "second", "succeeded")
    window.page.locator(".facts").get_by_text("succeeded").wait_for()


def test_a_log_follows_and_is_searched_in_colours_by_stream(window: Any, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    flow = GATED.replace("GATE", str(gate)).replace(
        "echo waiting", "printf '\\\\033[31mred\\\\033[0m one\\\\n'; echo wrong >&2"
    )
    workflow = window.server.submit(flow, name="logs")
    node = window.server.wait_node(workflow, "first", "running")["id"]
    window.go(f"/workflows/{workflow}?node={node}&panel=log")
    log = window.page.get_by_role("log")
    log.get_by_text("red", exact=True).wait_for()
    assert "fg-1" in log.get_by_text("red", exact=True).get_attribute("class")

    gate.touch()
    log.get_by_text("opened").wait_for()
    window.page.get_by_text("stderr", exact=True).click()

    log.get_by_text("wrong").wait_for()
    assert log.get_by_text("opened").count() == 0
    window.page.get_by_text("both", exact=True).click()
    window.page.get_by_role("textbox", name="Search the log").fill("open")
    window.sees("1/1")
    assert log.locator("mark").inner_text() == "open"


def test_a_log_is_downloaded_as_text(window: Any) -> None:
    workflow = window.server.submit(DIAMOND, name="download")
    node = window.server.wait_node(workflow, "a", "succeeded")["id"]
    window.go(f"/workflows/{workflow}?node={node}&panel=log")
    window.page.get_by_role("log").get_by_text("line 5").wait_for()

    with window.page.expect_download() as waiting:
        window.button("Download the log").click()

    text = waiting.value.path().read_text()
    assert "stdout ahoy from out" in text
    assert "stderr <b>err</b> line" in text


def test_a_failed_workflow_is_retried_from_where_it_failed(window: Any, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    flow = FAILING.replace("MARK", str(mark)).replace("OUT", str(tmp_path / "out"))
    workflow = window.server.submit(flow, name="fragile")
    window.server.wait(workflow, "failed")
    window.go(f"/workflows/{workflow}")
    _unit(window, "load", "failed")
    fan = _unit(window, "fan", "succeeded")
    assert fan.get_by_text("12").is_visible()
    failed = window.page.get_by_role("group", name="What failed")
    failed.get_by_text("exit code 3", exact=False).wait_for()
    failed.get_by_role("button", name="load").click()
    window.page.get_by_role("log").get_by_text("oh no").wait_for()

    mark.touch()
    window.button("Retry").click()
    window.page.get_by_role("dialog").get_by_role("button", name="Retry").click()

    _unit(window, "load", "succeeded")
    _unit(window, "report", "succeeded")
    assert window.server.wait(workflow)["status"] == "succeeded"


def test_a_run_that_succeeded_goes_again_from_a_chosen_node(window: Any, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.touch()
    workflow = window.server.submit(GATED.replace("GATE", str(gate)), name="again")
    window.server.wait(workflow, "succeeded")
    window.go(f"/workflows/{workflow}")
    _unit(window, "first", "succeeded").click()
    gate.unlink()

    window.button("Run again from here").click()
    window.page.get_by_role("dialog").get_by_role("button", name="Run again").click()

    _unit(window, "first", "running")
    _unit(window, "second", "planned")
    gate.touch()
    _unit(window, "second", "succeeded")
    assert window.server.wait(workflow)["status"] == "succeeded"


def test_a_loop_opens_into_its_copies(windows: Any, tmp_path: Path) -> None:
    window = windows(width=1024)
    flow = FAILING.replace("MARK", str(tmp_path / "mark")).replace("OUT", str(tmp_path / "out"))
    workflow = window.server.submit(flow, name="loop")
    window.server.wait(workflow, "failed")
    window.go(f"/workflows/{workflow}")
    _unit(window, "fan", "succeeded")
    assert window.page.get_by_text("fan(3:3)").count() == 0

    window.button("Expand fan").click()

    _unit(window, "fan(3:3)", "succeeded")
    window.button("Collapse fan").click()
    window.page.get_by_text("fan(3:3)").wait_for(state="detached")

    _unit(window, "load", "failed").click()
    window.page.get_by_role("complementary", name="Node").wait_for()
    # The panel takes the room where the box stood; the graph makes way.
    window.page.wait_for_function(
        """() => {
          const pane = document.querySelector(".graph").getBoundingClientRect();
          const box = document.querySelector(".unit-chosen")?.getBoundingClientRect();
          return box && box.left >= pane.left && box.right <= pane.right;
        }"""
    )


def test_a_pause_goes_on_with_the_value_that_is_given(window: Any) -> None:
    workflow = window.server.submit(PAUSING, name="approval")
    window.server.wait_node(workflow, "approve", "running")
    window.go(f"/workflows/{workflow}")
    _unit(window, "approve", "running")

    window.button("Resume").click()
    window.page.get_by_label("reason").fill("tests passed")
    window.page.get_by_role("dialog").get_by_role("button", name="Resume").click()

    _unit(window, "deploy", "succeeded")
    node = window.server.wait_node(workflow, "deploy", "succeeded")["id"]
    output = window.server.get(f"/workflows/{workflow}/nodes/{node}/output").data
    assert output["stdout"] == "because tests passed\n"


def test_a_workflow_is_resubmitted_with_another_parameter(window: Any) -> None:
    workflow = window.server.submit(DIAMOND, name="greeting", parameters={"greeting": "ahoy you"})
    window.server.wait(workflow)
    window.go(f"/workflows/{workflow}")
    window.page.locator(".facts").get_by_text("ahoy you").wait_for()

    window.button("Resubmit").click()
    greeting = window.page.get_by_role("textbox", name="greeting")
    greeting.wait_for()
    assert greeting.input_value() == "ahoy you"  # as it ran, not as its text says
    greeting.fill("hello")
    window.page.get_by_role("dialog").get_by_role("button", name="Resubmit").click()

    window.page.wait_for_url(re.compile(rf"/workflows/(?!{workflow})wf-"))
    again = window.page.url.rpartition("/")[2]
    node = window.server.wait_node(again, "a", "succeeded")["id"]
    output = window.server.get(f"/workflows/{again}/nodes/{node}/output").data
    assert "hello" in output["stdout"]


def test_nothing_that_a_task_writes_is_taken_for_markup(window: Any, tmp_path: Path) -> None:
    flow = EVIL.replace("OUT", str(tmp_path / "out"))
    workflow = window.server.submit(flow, name="evil", description=HOSTILE)
    (node,) = window.server.wait(workflow)["nodes"]
    window.go(f"/workflows/{workflow}?node={node['id']}&panel=log")
    window.page.get_by_role("log").get_by_text(HOSTILE).wait_for()
    window.page.locator(".facts").get_by_text(HOSTILE).wait_for()

    window.page.get_by_role("tab", name="In and out").click()
    assert window.page.locator("pre.value", has_text=HOSTILE).count() == 2
    window.button("Look at page").click()
    window.page.get_by_role("dialog").get_by_text(HOSTILE).wait_for()

    assert window.page.evaluate("window.hacked") is None


def test_a_larger_quota_lets_waiting_work_start(window: Any, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    busy = BUSY.replace("GATE", str(gate))
    made = window.server.post(
        "/queues", {"name": "tight", "quota_cpu": "300m", "quota_memory": "1Gi"}
    )
    assert made.status == 201, made.raw
    first = window.server.submit(busy.replace("CPU", "200m"), name="one", queue_id="q-tight")
    second = window.server.submit(busy.replace("CPU", "200m"), name="two", queue_id="q-tight")
    try:
        window.server.wait(first, "running")
        window.go("/queues?queue=q-tight")
        waiting = window.page.get_by_role("table", name="Waiting nodes")
        waiting.get_by_text("two", exact=False).first.wait_for()

        window.page.get_by_label("CPU quota").fill("800m")
        window.button("Save").click()

        window.sees("Nobody waits.")
        running = window.server.wait_node(
            second,
            window.server.get(f"/workflows/{second}").data["nodes"][0]["display_name"],
            "running",
        )
        assert running["status"] == "running"
    finally:
        gate.touch()
        window.server.wait(first)
        window.server.wait(second)


def test_rows_are_found_marked_and_deleted_by_the_keyboard(window: Any) -> None:
    tag = f"keys{secrets.token_hex(3)}"  # Of its own, also where the test is tried once more.
    for name in ("other", f"{tag}-0", f"{tag}-1", f"{tag}-2"):
        window.server.wait(window.server.submit(DIAMOND, name=name))
    window.go("/workflows")
    window.sees(f"{tag}-2")

    window.page.keyboard.press("/")
    window.page.keyboard.type(tag[:3], delay=300)  # Slower than the list follows.
    window.page.keyboard.type(tag[3:])
    window.page.keyboard.press("Escape")
    _searched(window, tag)
    window.sees("3 workflows")
    window.page.keyboard.press("j")
    window.page.keyboard.press("j")
    window.page.keyboard.press("x")
    window.sees("1 marked")
    window.button("Delete 1").focus()
    window.page.keyboard.press("Enter")
    window.sees("Delete 1 workflow?")
    window.dialog_has_focus()
    window.page.keyboard.press("Enter")

    window.sees("2 workflows")
    assert f"name={tag}" in window.page.url
    window.page.keyboard.press("k")
    window.page.keyboard.press("Enter")
    window.heading(f"{tag}-2")


def _searched(window: Any, name: str) -> None:
    """Wait until the list is one of this name: the address says so."""
    window.page.wait_for_url(re.compile(f"name={name}(&|$)"))
    assert window.page.get_by_role("textbox", name="Search by name").input_value() == name


def test_the_far_end_of_a_long_list_is_reached(window: Any) -> None:
    flow = DIAMOND.replace("  entrypoint: main", "  suspend: true\n  entrypoint: main")
    for number in range(230):
        window.server.submit(flow, name=f"long-{number}")
    window.go("/workflows?name=long-")
    window.sees("230 workflows")
    window.sees("long-229")
    assert window.page.locator(".list-row[data-row]").count() < 60

    rows = window.page.get_by_role("rowgroup", name="Rows")
    rows.evaluate("(box) => { box.scrollTop = box.scrollHeight; }")

    window.sees("long-0")
    assert window.page.get_by_text("long-229", exact=True).count() == 0
    rows.evaluate("(box) => { box.scrollTop = 0; }")
    window.sees("long-229")


def test_the_palette_leads_anywhere(window: Any) -> None:
    needle = window.server.submit(DIAMOND, name="needle")
    window.go("/settings")
    window.heading("Settings")

    window.page.keyboard.press("Control+k")
    window.page.keyboard.type("needle")
    field = window.page.get_by_label("Search pages, workflows and commands")
    assert field.input_value() == "needle"  # no letter was lost to the page below
    window.page.locator(".palette-row", has_text="needle").first.wait_for()
    window.page.keyboard.press("Enter")

    window.heading("needle")
    window.page.keyboard.press("g")
    window.page.keyboard.press("q")
    window.heading("Queues")
    window.page.keyboard.press("Control+k")
    window.page.keyboard.type(needle)
    window.page.get_by_role("option", name=f"Open the workflow {needle}").wait_for()
    window.page.keyboard.press("Enter")
    window.heading("needle")
    window.page.keyboard.press("?")
    window.sees("Next and previous row")


def test_the_theme_and_the_zone_are_kept(window: Any) -> None:
    window.go("/settings")
    window.heading("Settings")

    window.page.get_by_text("Dark", exact=True).click()
    window.page.get_by_role("combobox", name="Times in").fill("Asia/Tokyo")
    window.page.get_by_role("option", name="Asia/Tokyo").click()
    window.page.reload()
    window.heading("Settings")

    scheme = window.page.evaluate("document.documentElement.dataset.mantineColorScheme")
    assert scheme == "dark"
    assert window.page.get_by_role("combobox", name="Times in").input_value() == "Asia/Tokyo"


def test_a_token_is_made_shown_once_and_removed(window: Any, server: ApiServer) -> None:
    window.go("/settings?tab=tokens")

    window.button("New token").click()
    window.page.get_by_role("textbox", name="Name").fill("ci")
    window.button("Make").click()
    secret = window.page.locator(".secret").inner_text().strip()
    window.button("Done").click()

    assert server.get("/whoami", token=secret).data["name"] == "ci"
    window.button("Remove token ci").click()
    window.page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    window.page.get_by_text("ci", exact=True).wait_for(state="detached")
    assert server.get("/whoami", token=secret).status == 401
