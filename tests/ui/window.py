"""A window of the browser that is strict about the page in it.

Whatever a page says on the console as an error, every exception and every breach of its own content
security policy fails the test that caused it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.contract.api_server import ADMIN, ApiServer

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "ui/node_modules/axe-core/axe.min.js"
PICTURES = ROOT / "docs/ui"
PATIENCE = 30_000
"""Milliseconds that anything on a page may take on a busy machine."""
_BREACHES = """
window.breaches = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.breaches.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


class Window:
    """A page, and what went wrong on it."""

    def __init__(self, page: Any, server: ApiServer) -> None:
        self.page, self.server = page, server
        self.complaints: list[str] = []
        self.forgiven: tuple[str, ...] = ()
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(f"exception: {error}"))

    def _said(self, message: Any) -> None:
        forgiven = (*self.forgiven, "net::ERR_NETWORK_CHANGED")
        if message.type == "error" and not any(each in message.text for each in forgiven):
            self.complaints.append(f"console: {message.text}")

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    def go(self, path: str) -> None:
        """Open an address of the server."""
        self.page.goto(self.address + path)

    def sees(self, text: str, *, exact: bool = True) -> Any:
        """Wait until a text can be seen; give where."""
        found = self.page.get_by_text(text, exact=exact).first
        found.wait_for(state="visible")
        return found

    def heading(self, text: str) -> Any:
        """Wait for a page's heading."""
        found = self.page.get_by_role("heading", name=text, level=1)
        found.wait_for(state="visible")
        return found

    def button(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name, exact=True)

    def dialog_has_focus(self) -> None:
        """Wait until keys belong to a dialog."""
        self.page.wait_for_function("document.activeElement?.closest('[role=dialog]') !== null")

    def breaches(self) -> list[str]:
        """Give what the page's policy kept it from."""
        return list(self.page.evaluate("window.breaches ?? []"))

    def overflows(self) -> bool:
        """Tell whether the page is wider than the window."""
        return bool(
            self.page.evaluate(
                "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            )
        )

    def violations(self) -> list[str]:
        """List what axe finds: WCAG 2.2 A and AA."""
        if not AXE.is_file():
            raise AssertionError("axe-core is not there: scripts/ui installs it")
        self.page.evaluate(AXE.read_text("utf-8"))
        tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
        found = self.page.evaluate(
            "(tags) => axe.run(document, {runOnly: {type: 'tag', values: tags}})", tags
        )
        return [
            f"{each['id']}: {node['target']} {node['failureSummary']}"
            for each in found["violations"]
            for node in each["nodes"]
        ]

    def picture(self, name: str) -> None:
        """Take a picture where TIPHYS_SCREENSHOTS is set: 1 for docs/ui, or another folder."""
        wanted = os.environ.get("TIPHYS_SCREENSHOTS")
        if wanted:
            folder = PICTURES if wanted == "1" else Path(wanted)
            folder.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=folder / f"{name}.png", animations="disabled")

    def picture_both(self, name: str) -> None:
        """Take a picture, and one in the dark beside it where they go to another folder."""
        self.picture(name)
        if os.environ.get("TIPHYS_SCREENSHOTS", "1") != "1":
            self.page.emulate_media(color_scheme="dark")
            self.picture(f"{name}-dark")
            self.page.emulate_media(color_scheme="light")


def _fetch_beside(route: Any) -> None:
    """Fetch a file of the pages without the browser's own network.

    Chromium drops what it is loading when an interface of the machine comes or goes, as it does
    while container tests run beside these; a page without its script cannot be tested.
    """
    # A connection that was kept may end just as it is used again: the next try opens a new one.
    route.fulfill(response=route.fetch(max_retries=5))


@contextmanager
def open_window(
    browser: Any,
    server: ApiServer,
    *,
    width: int = 1440,
    height: int = 900,
    scheme: str = "light",
    token: str | None = ADMIN,
) -> Iterator[Window]:
    """Open a window; signed in, unless the token is None."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        locale="en-GB",
        timezone_id="UTC",
        reduced_motion="reduce",
    )
    try:
        context.set_default_timeout(PATIENCE)
        context.add_init_script(_BREACHES)
        if token is not None:
            context.add_init_script(f"sessionStorage.setItem('tiphys.token', '{token}')")
        context.route("**/assets/**", _fetch_beside)
        made = Window(context.new_page(), server)
        yield made
        assert not made.breaches(), made.breaches()
        assert not made.complaints, made.complaints
    finally:
        context.unroute_all(behavior="ignoreErrors")
        context.close()
