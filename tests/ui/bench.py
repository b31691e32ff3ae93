"""The editor as a person meets it: boxes, handles, the text, the fields."""

from __future__ import annotations

from typing import Any

from tests.ui.window import Window

NODE = '.react-flow__node[data-id="{}"]'


class Bench:
    """The editor in a window."""

    def __init__(self, window: Window, path: str = "/editor") -> None:
        self.window, self.page = window, window.page
        window.go(path)
        window.heading("Editor")
        self.page.locator(".cm-content").wait_for(state="attached")

    def text(self) -> str:
        """Give the whole text of the editor, whatever part of it is on the screen."""
        return str(self.page.evaluate("sessionStorage.getItem('tiphys.draft') ?? ''"))

    def wait_text(self, part: str) -> str:
        """Wait until the text has this part."""
        self.page.wait_for_function(
            "(part) => (sessionStorage.getItem('tiphys.draft') ?? '').includes(part)", arg=part
        )
        return self.text()

    def write(self, text: str) -> None:
        """Paste a text over everything that is there."""
        code = self.page.get_by_role("textbox", name="Workflow as YAML")
        code.click()
        self.page.keyboard.press("Control+a")
        code.evaluate(
            """(at, text) => {
              const clipboardData = new DataTransfer();
              clipboardData.setData("text/plain", text);
              const how = {clipboardData, bubbles: true, cancelable: true};
              at.dispatchEvent(new ClipboardEvent("paste", how));
            }""",
            text,
        )
        self.wait_text(text)

    def node(self, name: str) -> Any:
        """Wait for a box."""
        found = self.page.locator(NODE.format(name))
        found.wait_for(state="visible")
        return found

    def nodes(self) -> list[str]:
        """List the boxes."""
        found = self.page.locator(".react-flow__node")
        return sorted(str(each.get_attribute("data-id")) for each in found.all())

    def edge(self, source: str, target: str) -> Any:
        """Wait for an arrow."""
        found = self.page.locator(f'.react-flow__edge[data-id="{source}→{target}"]')
        found.wait_for(state="attached")
        return found

    def add(self, kind: str, name: str) -> None:
        """Add a box of a kind beside the others and give it a name."""
        self.page.locator(".react-flow__pane").click(position={"x": 12, "y": 12})
        self.page.get_by_role("group", name="Add").get_by_role("button", name=kind).click()
        self.name(name)

    def use(self, template: str, name: str) -> None:
        """Add a box that runs a template which is there."""
        self.page.locator(".react-flow__pane").click(position={"x": 12, "y": 12})
        self.window.button("Use a template").click()
        self.page.get_by_role("menuitem", name=template, exact=False).first.click()
        self.name(name)

    def name(self, name: str) -> None:
        """Give the chosen box a name."""
        field = self.field("Name")
        field.fill(name)
        field.press("Enter")
        self.node(name)

    def field(self, label: str) -> Any:
        """Find a field of what is chosen."""
        return self.page.locator(".form-pane").get_by_role("textbox", name=label, exact=True)

    def connect(self, source: str, target: str) -> None:
        """Draw an arrow with the mouse."""
        self.settle()
        start = self.node(source).locator(".react-flow__handle.source").bounding_box()
        end = self.node(target).locator(".react-flow__handle.target").bounding_box()
        mouse = self.page.mouse
        mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
        mouse.down()
        mouse.move(end["x"] + 40, end["y"] - 20, steps=5)
        mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=5)
        mouse.up()
        self.edge(source, target)

    def settle(self) -> None:
        """Wait until the graph is laid out and its boxes stand still for a few frames."""
        self.page.locator('.graph-pane[aria-busy="false"]').wait_for(state="visible")
        self.page.evaluate(
            """async () => {
              const places = () => [...document.querySelectorAll(".react-flow__node")]
                .map((each) => JSON.stringify(each.getBoundingClientRect())).join();
              let still = 0;
              let before = "";
              for (let tries = 0; tries < 600 && still < 6; tries++) {
                await new Promise(requestAnimationFrame);
                const now = places();
                still = now === before ? still + 1 : 0;
                before = now;
              }
            }"""
        )
