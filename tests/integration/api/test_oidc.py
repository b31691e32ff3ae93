"""Logging in with a real OpenID Connect provider, in a process of its own."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.contract.api_server import ADMIN, Answer, ApiServer, flow
from tests.integration.api.oidc_provider import OidcProvider, free_port, interpreter, provider
from tiphys.service.oidc import fits

CLIENT, SECRET = "tiphys", "canary of the client"
ENVIRONMENT = {"TIPHYS_ADMIN_TOKEN": ADMIN, "TIPHYS_OIDC_CLIENT_SECRET": SECRET}
RULES = [
    {"value": "platform", "role": "admin", "project": "*"},
    {"value": "argonauts", "role": "member", "project": "argonauts"},
    {"value": "smiths", "role": "viewer", "project": "smiths"},
]


class World(NamedTuple):
    server: ApiServer
    provider: OidcProvider


class Browser:
    """What a browser does with cookies, for one server."""

    def __init__(self, server: ApiServer) -> None:
        self.server, self.cookies = server, dict[str, str]()
        self.flags: dict[str, str] = {}

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        sent = {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items()), **headers}
        answer = self.server.ask(method, path, body, token=None, headers=sent)
        for cookie in answer.headers.get("set-cookie", "").split(", tiphys"):
            name, _, rest = cookie.removeprefix("tiphys").partition("=")
            value, _, flags = rest.partition(";")
            if rest:
                self.cookies[f"tiphys{name}"] = value.strip('"')
                self.flags[f"tiphys{name}"] = flags.lower()
        return answer

    def begin(self, query: str = "") -> str:
        """Go to the log-in; give the provider's address."""
        answer = self.ask("GET", f"/auth/login{query}")
        assert answer.status == 302, answer.raw
        return answer.headers["location"]

    def come_back(self, address: str) -> Answer:
        parts = urlsplit(address)
        assert (parts.path, parts.netloc) == ("/auth/callback", f"127.0.0.1:{self.server.port}")
        return self.ask("GET", f"{parts.path}?{parts.query}")

    def log_in(self, where: OidcProvider, subject: str, query: str = "") -> Answer:
        return self.come_back(where.authorize(self.begin(query), subject))


@pytest.fixture(scope="module")
def python() -> Path:
    try:
        return interpreter()
    except RuntimeError as error:
        pytest.skip(f"the OIDC provider cannot be installed here: {error}")


def settings(folder: Path, issuer: str, **more: Any) -> None:
    oidc = {"issuer": issuer, "clientId": CLIENT, "rules": RULES, **more}
    text = {"isolation": "process", "lingerSeconds": 0.5, "oidc": oidc}
    (folder / "oidc.yaml").write_text(json.dumps(text))


@pytest.fixture(scope="module")
def world(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("oidc")
    with provider(python, "--require-nonce", "true") as found:
        found.add_user("jason", email="jason@argo.example", groups=["crew", "argonauts"])
        found.add_user("hephaestus", email="h@forge.example", groups=["smiths", "argonauts"])
        found.add_user("athena", email="athena@olympus.example", groups=["platform"])
        found.add_user("stranger", email="stranger@example.org", groups=["others"])
        settings(folder, found.issuer)
        with ApiServer(folder, "--config", "oidc.yaml", environment=ENVIRONMENT) as server:
            yield World(server, found)


@pytest.fixture
def browser(world: World) -> Browser:
    return Browser(world.server)


def test_a_log_in_begins_with_state_nonce_and_pkce(world: World, browser: Browser) -> None:
    query = parse_qs(urlsplit(browser.begin()).query)

    assert query["response_type"] == ["code"]
    assert query["code_challenge_method"] == ["S256"]
    assert all(len(query[name][0]) >= 32 for name in ("state", "nonce", "code_challenge"))
    assert "httponly" in browser.flags["tiphys_login"]
    assert "samesite=lax" in browser.flags["tiphys_login"]


def test_a_group_gives_a_role_in_a_project(world: World, browser: Browser) -> None:
    answer = browser.log_in(world.provider, "jason", "?next=/workflows")

    assert answer.status == 303, answer.raw
    assert answer.headers["location"] == "/workflows"
    who = browser.ask("GET", "/api/v1/whoami").data
    assert who["name"] == "jason@argo.example"
    assert (who["role"], who["project_id"]) == ("member", "argonauts")
    assert who["expires_at"]
    assert "httponly" in browser.flags["tiphys_session"]
    assert "samesite=lax" in browser.flags["tiphys_session"]


def test_of_several_projects_one_can_be_chosen(world: World, browser: Browser) -> None:
    browser.log_in(world.provider, "hephaestus", "?project=smiths")

    who = browser.ask("GET", "/api/v1/whoami").data
    assert (who["role"], who["project_id"]) == ("viewer", "smiths")


def test_a_project_that_no_group_gives_cannot_be_chosen(world: World, browser: Browser) -> None:
    browser.log_in(world.provider, "jason", "?project=smiths")

    assert browser.ask("GET", "/api/v1/whoami").data["project_id"] == "argonauts"


def test_who_fits_no_rule_stays_out(world: World, browser: Browser) -> None:
    answer = browser.log_in(world.provider, "stranger")

    assert (answer.status, answer.code) == (403, "forbidden")
    assert "tiphys_session" not in browser.cookies


def test_a_session_submits_and_sees_only_its_own_project(world: World, browser: Browser) -> None:
    browser.log_in(world.provider, "jason")
    body = {"name": "x", "project_id": "argonauts", "workflow_yaml": flow("true")}

    made = browser.ask("POST", "/api/v1/workflows", body, Origin=browser.origin)

    assert made.status == 201, made.raw
    theirs = {**body, "project_id": "smiths"}
    refused = browser.ask("POST", "/api/v1/workflows", theirs, Origin=browser.origin)
    assert (refused.status, refused.code) == (404, "not_found")
    shown = world.server.get(f"/workflows/{made.data['id']}").data
    assert shown["created_by"] == "jason@argo.example"


@pytest.mark.parametrize("origin", [None, "https://evil.example", "null"])
def test_a_page_of_another_site_changes_nothing_with_the_cookie(
    world: World, browser: Browser, origin: str | None
) -> None:
    browser.log_in(world.provider, "athena")
    headers = {} if origin is None else {"Origin": origin}

    answer = browser.ask("POST", "/api/v1/projects", {"id": "stolen"}, **headers)

    assert (answer.status, answer.code) == (403, "bad_origin")


def test_a_browser_that_tells_the_site_needs_no_origin(world: World, browser: Browser) -> None:
    browser.log_in(world.provider, "athena")

    answer = browser.ask("POST", "/api/v1/tickets", **{"Sec-Fetch-Site": "same-origin"})

    assert answer.status == 201


def test_a_session_opens_streams_from_our_own_page_alone(world: World, browser: Browser) -> None:
    workflow = world.server.submit(flow("true"))
    world.server.wait(workflow)
    browser.log_in(world.provider, "athena")
    cookie = f"tiphys_session={browser.cookies['tiphys_session']}"
    address = f"ws://127.0.0.1:{world.server.port}/api/v1/workflows/{workflow}/watch"

    with connect(
        address, additional_headers={"Cookie": cookie, "Origin": browser.origin}
    ) as stream:
        assert '"status":"succeeded"' in str(stream.recv(timeout=30))
    with connect(address, additional_headers={"Cookie": cookie}) as stream:
        with pytest.raises(ConnectionClosed):
            stream.recv(timeout=30)
        assert stream.protocol.close_code == 4403


def test_logging_out_ends_the_session_at_once(world: World, browser: Browser) -> None:
    browser.log_in(world.provider, "jason")
    secret = browser.cookies["tiphys_session"]

    answer = browser.ask("POST", "/auth/logout", Origin=browser.origin)

    assert answer.data["logout_url"].startswith(f"{world.provider.issuer}/oauth2/end_session?")
    assert browser.cookies["tiphys_session"] == ""
    browser.cookies["tiphys_session"] = secret
    assert browser.ask("GET", "/api/v1/whoami").status == 401


def test_a_log_in_cannot_be_forced_upon_another_browser(world: World, browser: Browser) -> None:
    back = world.provider.authorize(Browser(world.server).begin(), "jason")

    without = browser.come_back(back)
    browser.begin()
    other = browser.come_back(back)

    assert (without.status, without.code) == (401, "unauthenticated")
    assert (other.status, other.code) == (401, "unauthenticated")
    assert "tiphys_session" not in browser.cookies


def test_a_code_is_good_once(world: World, browser: Browser) -> None:
    address = browser.begin()
    cookies = dict(browser.cookies)
    back = world.provider.authorize(address, "jason")
    assert browser.come_back(back).status == 303
    browser.cookies = cookies

    assert browser.come_back(back).status == 401


def test_a_token_made_for_another_log_in_is_refused(world: World, browser: Browser) -> None:
    """The nonce ties the provider's token to the browser that asked for it."""
    address = browser.begin()
    query = {**{k: v[0] for k, v in parse_qs(urlsplit(address).query).items()}, "nonce": "other"}

    answer = browser.come_back(
        world.provider.authorize(
            f"{world.provider.issuer}/oauth2/authorize?{urlencode(query)}", "jason"
        )
    )

    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert "nonce" in answer.body["message"]


def test_a_refusal_of_the_provider_is_told(world: World, browser: Browser) -> None:
    state = parse_qs(urlsplit(browser.begin()).query)["state"][0]

    answer = browser.ask("GET", f"/auth/callback?error=access_denied&state={state}")

    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert "access_denied" in answer.body["message"]


@pytest.mark.parametrize(
    "place", ["//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:1", "x"]
)
def test_nobody_is_sent_elsewhere_afterwards(world: World, browser: Browser, place: str) -> None:
    answer = browser.log_in(world.provider, "jason", f"?{urlencode({'next': place})}")

    assert answer.headers["location"] == "/"


def test_a_token_of_the_provider_is_a_bearer_token(world: World) -> None:
    token = world.provider.token(CLIENT, "jason")

    who = world.server.get("/whoami", token=token).data

    assert (who["name"], who["role"], who["project_id"]) == (
        "jason@argo.example",
        "member",
        "argonauts",
    )
    assert world.server.post("/tokens", {"name": "x", "role": "viewer"}, token=token).status == 403


def test_a_token_meant_for_another_client_is_refused(world: World) -> None:
    token = world.provider.token("another-client", "athena")

    answer = world.server.get("/whoami", token=token)

    assert (answer.status, answer.code) == (401, "unauthenticated")


def altered(token: str, **claims: Any) -> list[str]:
    """Give forged tokens: other claims under the old signature, no signature, a chosen one."""
    head, body, signature = token.split(".")

    def packed(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    known = json.loads(base64.urlsafe_b64decode(body + "=="))
    forged = packed({**known, **claims})
    return [
        f"{head}.{forged}.{signature}",
        f"{packed({'alg': 'none'})}.{forged}.",
        f"{packed({'alg': 'HS256'})}.{forged}.{signature}",
        "a.b.c",
        "..",
        f"{head}.{body}.",
    ]


def test_forged_tokens_are_refused(world: World) -> None:
    token = world.provider.token(CLIENT, "jason")

    for each in altered(token, groups=["platform"]):
        answer = world.server.get("/whoami", token=each)
        assert (answer.status, answer.code) == (401, "unauthenticated"), each


def test_a_session_is_no_bearer_token_and_the_other_way_round(
    world: World, browser: Browser
) -> None:
    browser.log_in(world.provider, "athena")
    secret = browser.cookies["tiphys_session"]
    token = world.server.make_token("viewer", None)

    assert world.server.get("/whoami", token=secret).status == 401
    browser.cookies["tiphys_session"] = token
    assert browser.ask("GET", "/api/v1/whoami").status == 401


def test_log_ins_are_audited_and_sessions_are_not_listed_as_tokens(
    world: World, browser: Browser
) -> None:
    browser.log_in(world.provider, "athena")

    entries = world.server.get("/audit?limit=1000").data
    assert ("athena@olympus.example", "log in") in {(e["actor"], e["action"]) for e in entries}
    assert not [t for t in world.server.get("/tokens").data if t["id"].startswith("ses-")]


def test_no_secret_of_a_log_in_is_left_anywhere(world: World, browser: Browser) -> None:
    browser.log_in(world.provider, "jason")
    canaries = [SECRET.encode(), browser.cookies["tiphys_session"].encode()]

    files = [path for path in world.server.data.rglob("*") if path.is_file()]
    texts = [path.read_bytes() for path in files] + [world.server.said.encode()]
    assert not [text for text in texts for canary in canaries if canary in text]


def test_people_are_told_how_they_can_log_in(world: World) -> None:
    found = world.server.ask("GET", "/auth/methods", token=None).data

    assert found == {
        "token": True,
        "oidc": {"url": "/auth/login", "issuer": world.provider.issuer},
    }


def test_sessions_survive_a_restart_and_so_does_a_provider_that_is_away(
    python: Path, tmp_path: Path
) -> None:
    port = free_port()
    settings(tmp_path, f"http://127.0.0.1:{port}")
    with ApiServer(tmp_path, "--config", "oidc.yaml", environment=ENVIRONMENT) as server:
        away = Browser(server).ask("GET", "/auth/login")
        assert (away.status, away.code) == (503, "provider_unavailable")
        with provider(python, port=port) as found:
            found.add_user("jason", email="jason@argo.example", groups=["argonauts"])
            browser = logged_in(server, found)
            server.restart()
            assert browser.ask("GET", "/api/v1/whoami").data["name"] == "jason@argo.example"


def logged_in(server: ApiServer, found: OidcProvider) -> Browser:
    """Log in as soon as the server asks the provider again."""
    for _ in range(600):
        browser = Browser(server)
        if browser.ask("GET", "/auth/login").status == 302:
            browser.log_in(found, "jason")
            return browser
        time.sleep(0.1)
    raise AssertionError("the provider was never asked again")


def test_settings_without_rules_are_refused(tmp_path: Path) -> None:
    (tmp_path / "oidc.yaml").write_text("oidc: {issuer: https://id.example, clientId: t}\n")
    server = ApiServer(tmp_path, "--config", "oidc.yaml")

    assert server.process.wait(60) == 2
    server.stop()
    assert "rules" in server.said


@pytest.mark.parametrize(
    ("claims", "claim", "value", "wanted"),
    [
        ({"groups": ["a", "b"]}, "groups", "b", True),
        ({"groups": "b"}, "groups", "b", True),
        ({"groups": ["ab"]}, "groups", "b", False),
        ({"groups": []}, "groups", "*", False),
        ({"groups": ["a"]}, "groups", "*", True),
        ({}, "groups", "*", False),
        ({"realm_access": {"roles": ["x"]}}, "realm_access.roles", "x", True),
        ({"realm_access": "x"}, "realm_access.roles", "x", False),
        ({"admin": True}, "admin", "true", True),
        ({"admin": False}, "admin", "*", False),
        ({"level": 3}, "level", "3", True),
        ({"email": "a@b", "email_verified": False}, "email", "a@b", False),
        ({"email": "a@b", "email_verified": True}, "email", "a@b", True),
    ],
)
def test_a_rule_fits_a_claim_that_is_or_holds_its_value(
    claims: dict[str, Any], claim: str, value: str, wanted: bool
) -> None:
    assert fits(claims, claim, value) is wanted
