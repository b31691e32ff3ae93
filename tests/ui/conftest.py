"""A real browser (Debian's Chromium, by Playwright) before a real server."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.contract.api_server import ApiServer
from tests.ui.window import Window, open_window

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "src/tiphys/api/static/index.html"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser() -> str | None:
    """Give the path of a browser that Playwright can drive."""
    given = os.environ.get("TIPHYS_CHROMIUM")
    return given or next((path for name in NAMES if (path := shutil.which(name))), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for the tests of one file.

    Not of the whole process: Playwright keeps an event loop running in this thread, and other
    tests bring their own.
    """
    found = find_browser()
    if found is None:
        pytest.skip("there is no Chromium on this machine (apt install chromium)")
    if not BUILT.is_file():
        pytest.skip("the web pages are not built (make ui)")
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield made
        made.close()


@pytest.fixture(scope="module")
def server(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A server for the tests of one file."""
    with ApiServer(tmp_path_factory.mktemp("server")) as made:
        yield made


@pytest.fixture
def windows(browser: Any, server: ApiServer) -> Iterator[Any]:
    """Open windows of any size and theme; each must end without errors of its own."""
    with ExitStack() as stack:

        def open_one(**how: Any) -> Window:
            return stack.enter_context(open_window(browser, server, **how))

        yield open_one


@pytest.fixture
def window(windows: Any) -> Window:
    """One window of a common size, signed in."""
    made: Window = windows()
    return made
