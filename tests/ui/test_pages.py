"""Every page: looks, access for all, sizes, themes. Pictures of them go to docs/ui."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.api_server import ApiServer
from tests.ui.flows import BUSY, DIAMOND, FAILING, PAUSING

CRON = """\
apiVersion: argoproj.io/v1alpha1
kind: CronWorkflow
metadata: {name: nightly}
spec:
  schedules: ["30 2 * * *"]
  timezone: UTC
  suspend: false
  workflowSpec:
    entrypoint: main
    templates:
    - {name: main, container: {image: any, command: [echo, hi]}}
"""
TEMPLATE = """\
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: greet}
spec:
  entrypoint: main
  templates:
  - {name: main, container: {image: any, command: [echo, hi]}}
"""


@pytest.fixture(scope="module")
def places(server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Fill a server with one of everything; give the address of each page."""
    folder = tmp_path_factory.mktemp("work")
    failing = FAILING.replace("OUT", str(folder / "out")).replace("MARK", str(folder / "mark"))
    gate = folder / "gate"
    batch = {
        "name": "batch",
        "parent": "team",
        "quota_cpu": "300m",
        "quota_memory": "1Gi",
        "guarantee": {"cpu": "100m"},
        "capability": {"cpu": "600m"},
        "sla_seconds": 60,
    }
    assert server.post("/queues", {"name": "team", "quota_cpu": "800m"}).status == 201
    assert server.post("/queues", batch).status == 201
    assert server.post("/schedules", {"project_id": "default", "schedule_yaml": CRON}).status == 201
    template = {"project_id": "default", "template_yaml": TEMPLATE}
    assert server.post("/templates", template).status == 201
    failed = server.submit(failing, name="nightly-etl", queue_id="q-batch", priority="high")
    good = server.submit(DIAMOND, name="diamond")
    again = server.submit(DIAMOND, name="diamond", parameters={"greeting": "hello"})
    server.submit(PAUSING, name="release-approval")
    for each in (failed, good, again):
        server.wait(each)
    load = server.wait_node(failed, "load", "failed")["id"]
    busy = BUSY.replace("GATE", str(gate)).replace("CPU", "200m")
    live = [server.submit(busy, name=f"train-{n}", queue_id="q-batch") for n in range(4)]
    yield {
        "dashboard": "/",
        "workflows": "/workflows",
        "workflow": f"/workflows/{failed}",
        "node": f"/workflows/{failed}?node={load}&panel=log",
        "timeline": f"/workflows/{failed}?tab=timeline",
        "yaml": f"/workflows/{good}?tab=yaml",
        "compare": f"/compare?a={good}&b={again}",
        "queues": "/queues?queue=q-batch",
        "schedules": "/schedules?schedule=default%2Fnightly",
        "templates": "/templates?template=default%2Fgreet",
        "settings": "/settings?tab=audit",
    }
    gate.touch()
    for each in live:
        server.wait(each)


SIGNS = {
    "dashboard": "nightly-etl",
    "workflows": "nightly-etl",
    "workflow": "fetch",
    "node": "oh no",
    "timeline": "fan(11:11)",
    "yaml": "# A diamond, as in the books.",
    "compare": "greeting",
    "queues": "borrowing",
    "schedules": "Next runs",
    "templates": "entrypoint",
    "settings": "submit",
}
"""What can be read on a page once it is there."""


DRAWN = """async () => {
  const isDrawn = (chart) => chart.querySelector("canvas") !== null;
  for (let tries = 0; tries < 600; tries++) {
    if ([...document.querySelectorAll("figure.chart")].every(isDrawn)) break;
    await new Promise(requestAnimationFrame);
  }
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
}"""
"""Charts are drawn when their size is known, a frame or two after their page."""


def _open(window: Any, places: dict[str, str], name: str) -> None:
    window.go(places[name])
    window.sees(SIGNS[name], exact=name != "queues")
    window.page.wait_for_load_state("networkidle")
    window.page.evaluate(DRAWN)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_free_of_barriers(windows: Any, places: dict[str, str], scheme: str) -> None:
    window = windows(scheme=scheme)
    found = {}

    for name in places:
        _open(window, places, name)
        window.picture(f"{name}-{scheme}")
        if broken := window.violations():
            found[name] = broken

    assert found == {}


@pytest.mark.parametrize("width", [1024, 375])
def test_no_page_is_wider_than_the_window(windows: Any, places: dict[str, str], width: int) -> None:
    window = windows(width=width, height=800)
    wide = []

    for name in places:
        _open(window, places, name)
        window.picture_both(f"{name}-{width}")
        if window.overflows():
            wide.append(name)

    assert wide == []


def test_the_login_is_free_of_barriers_and_refuses_a_wrong_token(windows: Any) -> None:
    window = windows(token=None)
    window.forgiven = ("401",)
    window.go("/workflows?status=failed")
    window.sees("Sign in")
    assert window.violations() == []

    window.page.get_by_role("textbox", name="Token").fill("not-a-token")
    window.button("Sign in").click()

    window.sees("does not hold", exact=False)
    window.sees("req-", exact=False)
    window.picture("login")


def test_a_link_leads_to_where_it_points_after_the_login(windows: Any, places: Any) -> None:
    window = windows(token=None)
    window.go("/workflows?status=failed")

    window.page.get_by_role("textbox", name="Token").fill("first-admin-token-of-the-tests")
    window.button("Sign in").click()

    window.heading("Workflows")
    window.sees("nightly-etl")
    window.sees("1 workflow")


def test_an_address_without_a_page_says_so(window: Any) -> None:
    window.go("/queues/nothing/here")

    window.heading("There is no page here")


def test_the_pages_are_in_the_package_and_hold_no_foreign_address(server: ApiServer) -> None:
    page = server.ask("GET", "/", token=None)

    policy = page.headers["content-security-policy"]
    assert "unsafe-inline" not in policy
    assert "unsafe-eval" not in policy
    assert page.status == 200
    text = page.raw.decode()
    assert "http://" not in text
    assert "https://" not in text


def test_files_with_a_hash_in_their_name_may_be_kept_forever(server: ApiServer) -> None:
    text = server.ask("GET", "/", token=None).raw.decode()
    script = text.partition('src="')[2].partition('"')[0]

    answer = server.ask("GET", script, token=None, headers={"Accept-Encoding": "gzip"})

    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["content-encoding"] == "gzip"
    tag = answer.headers["etag"]
    again = server.ask("GET", script, token=None, headers={"If-None-Match": tag})
    assert again.status == 304


def test_pictures_are_small() -> None:
    folder = Path(__file__).resolve().parents[2] / "docs/ui"

    large = [path.name for path in folder.glob("*.png") if path.stat().st_size > 200_000]

    assert large == []
