"""The editor and the form for those who use no mouse, a small window or a screen reader."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.contract.api_server import ApiServer
from tests.ui.bench import Bench
from tests.ui.window import Window


def focused(window: Window) -> str:
    """Give the name of what has the focus."""
    return str(
        window.page.evaluate(
            """() => {
              const at = document.activeElement;
              const label = at?.labels?.[0]?.textContent;
              return label ?? at?.getAttribute("aria-label") ?? at?.textContent ?? "";
            }"""
        )
    )


def tab_to(window: Window, name: str, key: str = "Tab") -> None:
    """Press a key until what has that name has the focus."""
    seen = []
    for _ in range(80):
        window.page.keyboard.press(key)
        seen.append(focused(window))
        if seen[-1].removesuffix(" *").strip() == name:
            return
    raise AssertionError(f"{name!r} is not reached by {key}: {seen}")


def test_the_keyboard_alone_draws_and_submits(window: Window, server: ApiServer) -> None:
    bench = Bench(window)
    keyboard = window.page.keyboard
    window.page.get_by_role("heading", name="Editor").wait_for()

    tab_to(window, "Container")
    keyboard.press("Enter")
    bench.node("container")
    tab_to(window, "Name")
    keyboard.press("Control+a")
    keyboard.type("first")
    keyboard.press("Enter")
    bench.node("first")

    tab_to(window, "Script", "Shift+Tab")
    keyboard.press("Enter")
    bench.edge("first", "script")

    tab_to(window, "Submit…", "Shift+Tab")
    keyboard.press("Enter")
    window.heading("Submit")
    tab_to(window, "Name")
    keyboard.press("Enter")
    window.page.wait_for_url(re.compile("/workflows/wf-"))
    made = server.wait(window.page.url.rpartition("/")[2])
    assert made["status"] == "succeeded"


def test_the_text_can_be_left_with_the_keyboard(window: Window) -> None:
    bench = Bench(window)
    bench.page.get_by_role("textbox", name="Workflow as YAML").click()
    before = bench.page.locator(".cm-content").inner_text()

    window.page.keyboard.press("Escape")
    window.page.keyboard.press("Tab")

    assert focused(window) != "Workflow as YAML"
    assert bench.page.locator(".cm-content").inner_text() == before


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_editor(windows: Any, scheme: str) -> None:
    window = windows(scheme=scheme)
    bench = Bench(window, "/editor?example=diamond")
    bench.node("oars").click()
    window.sees("No problems found")
    bench.settle()

    window.picture(f"editor-{scheme}")
    assert window.violations() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_form(windows: Any, scheme: str) -> None:
    window = windows(scheme=scheme)
    window.go("/submit?example=hello")
    window.button("Simulate").click()
    window.sees("for 1 task", exact=False)

    window.picture(f"submit-{scheme}")
    assert window.violations() == []


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (375, 740)])
def test_no_window_is_too_small_for_the_pages(windows: Any, width: int, height: int) -> None:
    window = windows(width=width, height=height)
    bench = Bench(window, "/editor?example=diamond")
    bench.node("plan")
    bench.settle()
    assert not window.overflows()
    window.picture_both(f"editor-{width}")

    window.go("/submit?example=diamond")
    window.button("Simulate").click()
    window.sees("for 8 tasks", exact=False)
    assert not window.overflows()
    window.picture_both(f"submit-{width}")


def test_a_small_window_shows_one_side_at_a_time(windows: Any) -> None:
    window = windows(width=375, height=740)
    bench = Bench(window, "/editor?example=diamond")
    bench.node("plan")

    window.page.get_by_text("YAML", exact=True).click()
    window.page.locator(".cm-content").wait_for(state="visible")
    assert not window.page.locator(".graph-pane").is_visible()
    assert not window.overflows()
    assert window.violations() == []
