"""Logging in with a certified provider (npm's ``oidc-provider``) that insists on PKCE.

It is kept in a cache outside of the repository. Its pages are filled in as a browser does it.
"""

from __future__ import annotations

import base64
import fcntl
import http.client
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urljoin, urlsplit

import pytest

from tests.contract.api_server import ADMIN, ApiServer
from tests.integration.api.oidc_provider import free_port
from tests.integration.api.test_oidc import Browser

VERSION = "8.8.1"
SECRET = "the secret of the client"
SCRIPT = Path(__file__).with_name("certified_provider.mjs")
_PATIENCE = 240


def installed() -> Path:
    """Give a folder that has the provider; skip where it cannot be had."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("there is no Node.js here")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tiphys"
    base.mkdir(parents=True, exist_ok=True)
    home = base / f"oidc-provider-{VERSION}"
    with home.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "ready").exists():
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir()
            words = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(home)]
            try:
                subprocess.run(
                    [*words, f"oidc-provider@{VERSION}"],
                    capture_output=True,
                    check=True,
                    timeout=_PATIENCE,
                )
            except (OSError, subprocess.SubprocessError) as error:
                pytest.skip(f"the provider cannot be installed here: {error}")
            (home / "ready").touch()
    return home


class World(NamedTuple):
    server: ApiServer
    issuer: str


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home = installed()
    folder = tmp_path_factory.mktemp("certified")
    port, ours = free_port(), free_port()
    script = home / "provider.mjs"
    script.write_text(SCRIPT.read_text())  # Node looks for packages beside the script.
    back = f"http://127.0.0.1:{ours}/auth/callback"
    process = subprocess.Popen(
        ["node", str(script), str(port), back, SECRET],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert "ready" in process.stdout.readline()
        issuer = f"http://127.0.0.1:{port}"
        rules = [{"value": "argonauts", "role": "member", "project": "argonauts"}]
        oidc = {
            "issuer": issuer,
            "clientId": "tiphys",
            "scopes": ["email", "groups"],
            "rules": rules,
        }
        text = {"isolation": "process", "lingerSeconds": 0.5, "oidc": oidc}
        (folder / "oidc.yaml").write_text(json.dumps(text))
        environment = {
            "TIPHYS_ADMIN_TOKEN": ADMIN,
            "TIPHYS_OIDC_CLIENT_SECRET": SECRET,
            "TIPHYS_PORT": str(ours),
        }
        with ApiServer(folder, "--config", "oidc.yaml", environment=environment) as server:
            yield World(server, issuer)
    finally:
        process.terminate()
        process.wait(30)
        if process.stdout is not None:
            process.stdout.close()


def authorize(issuer: str, address: str, login: str) -> str:
    """Fill in the provider's pages until it sends us back; give the address."""
    cookies: dict[str, str] = {}
    form: dict[str, str] | None = None
    for _ in range(20):
        parts = urlsplit(address)
        if f"{parts.scheme}://{parts.netloc}" != issuer:
            return address
        connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        headers = {"Cookie": "; ".join(f"{k}={v}" for k, v in cookies.items())}
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        body = urlencode(form) if form is not None else None
        connection.request("POST" if form else "GET", f"{parts.path}?{parts.query}", body, headers)
        response = connection.getresponse()
        page = response.read().decode()
        for name, value in response.getheaders():
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                cookies[key] = rest.partition(";")[0]
        connection.close()
        if response.status in {302, 303}:
            address, form = urljoin(address, response.headers["Location"]), None
            continue
        assert response.status == 200, page
        (prompt,) = re.findall(r'name="prompt" value="(\w+)"', page)
        (action,) = re.findall(r'action="([^"]+)"', page)
        address = urljoin(address, action)
        form = {"prompt": prompt, "login": login, "password": "any"}
    raise AssertionError("the provider's pages have no end")


def test_a_provider_that_insists_on_pkce_lets_people_in(world: World) -> None:
    browser = Browser(world.server)

    back = authorize(world.issuer, browser.begin(), "jason")
    answer = browser.come_back(back)

    assert answer.status == 303, answer.raw
    who = browser.ask("GET", "/api/v1/whoami").data
    assert (who["name"], who["role"], who["project_id"]) == (
        "jason@argo.example",
        "member",
        "argonauts",
    )


def test_a_code_without_its_verifier_is_worth_nothing(world: World) -> None:
    browser = Browser(world.server)
    back = authorize(world.issuer, browser.begin(), "jason")
    away = json.loads(base64.urlsafe_b64decode(browser.cookies["tiphys_login"]))
    stolen = json.dumps({**away, "verifier": "x" * 43}).encode()
    browser.cookies["tiphys_login"] = base64.urlsafe_b64encode(stolen).decode()

    answer = browser.come_back(back)

    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert "invalid_grant" in answer.body["message"]
    assert "tiphys_session" not in browser.cookies
