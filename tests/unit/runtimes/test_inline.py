"""Leaves that need no process: requests to a real server on the loopback, and lists of keys."""

from __future__ import annotations

import asyncio
import base64
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tiphys.artifacts import ArtifactConfig, Repositories
from tiphys.ports import Runtime, RuntimeEvent, Task, TaskEnded, TaskStarted
from tiphys.runtimes.inline import InlineRuntime
from tiphys.runtimes.router import is_inline
from tiphys.spec import model

T = TypeVar("T")
PATIENCE = 30.0
LOOPBACK = ("127.0.0.0/8",)


# --- the other end ---------------------------------------------------------------------------


@dataclass
class Answer:
    """What the server says."""

    status: int = 200
    body: bytes = b"hello"
    headers: tuple[tuple[str, str], ...] = ()
    promised: int | None = None
    """A length that is not the real one."""
    silent: bool = False
    """Says nothing until the site is let go."""


@dataclass
class Asked:
    """What the server was asked."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]


@dataclass
class Site:
    url: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    reached: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)


class Handler(BaseHTTPRequestHandler):
    site: Site

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.site.asked.append(Asked(self.command, self.path, self.headers.items(), body))
        found = self.site.answers.get(self.path, Answer())
        self.site.reached.set()
        if found.silent:
            self.site.let_go.wait(PATIENCE)
            return
        self.send_response(found.status)
        for name, value in found.headers:
            self.send_header(name, value)
        length = len(found.body) if found.promised is None else found.promised
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(found.body)

    do_GET = do_PUT = do_POST = do_HEAD = answer  # noqa: N815 - the library looks for these

    def log_message(self, *_: object) -> None:
        """Stay silent."""


class Quiet(ThreadingHTTPServer):
    daemon_threads = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent: connections are broken on purpose."""


@pytest.fixture
def make_site() -> Iterator[Callable[..., Site]]:
    servers = []

    def make(tls: ssl.SSLContext | None = None) -> Site:
        site = Site()
        server = Quiet(("127.0.0.1", 0), type("SiteHandler", (Handler,), {"site": site}))
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        site.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((site, server, thread))
        return site

    yield make
    for site, server, thread in servers:
        site.let_go.set()
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def site(make_site: Callable[..., Site]) -> Site:
    return make_site()


# --- our end ---------------------------------------------------------------------------------


class Known:
    """The secrets of the tests."""

    def config_map(self, namespace: str, name: str) -> Mapping[str, str] | None:
        return None

    def secret(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        values = {"token": b"s3cret\n", "odd": b"s3\ncret"}
        return values if (namespace, name) == ("default", "sec") else None


class Desk:
    """Takes events in, and waits for them."""

    def __init__(self) -> None:
        self.events: list[RuntimeEvent] = []
        self._news = asyncio.Event()

    def take(self, events: Sequence[RuntimeEvent]) -> None:
        self.events += events
        self._news.set()

    async def wait_for(self, kind: type[T], name: str = "uid.1") -> T:
        async with asyncio.timeout(PATIENCE):
            while True:
                self._news.clear()
                for event in self.events:
                    if isinstance(event, kind) and event.id == name:
                        return event
                await self._news.wait()


def task(template: model.Template, number: int = 1, deadline: float | None = None) -> Task:
    return Task(
        id=f"uid.{number}",
        workflow="wf",
        namespace="default",
        workflow_uid="uid",
        node_id="wf",
        node_name="wf",
        template=template,
        capture_result=True,
        deadline=deadline,
    )


def http(url: str, **given: Any) -> model.Template:
    return model.Template(name="t", http=model.HTTP(url=url, **given))


@asynccontextmanager
async def opened(
    allow: Sequence[str] = LOOPBACK, artifacts: Repositories | None = None
) -> Any:  # an async iterator of (runtime, desk)
    runtime: Runtime = InlineRuntime(resources=Known(), artifacts=artifacts, allow=allow)
    desk = Desk()
    await runtime.open(desk.take)
    try:
        yield runtime, desk
    finally:
        await runtime.close()


def run(template: model.Template, deadline: float | None = None, **given: Any) -> TaskEnded:
    """Run one leaf to its end."""

    async def main() -> TaskEnded:
        async with opened(**given) as (runtime, desk):
            await runtime.start([task(template, deadline=deadline)])
            ended: TaskEnded = await desk.wait_for(TaskEnded)
            return ended

    return asyncio.run(main())


def result(end: TaskEnded) -> str | None:
    return end.outputs.result if end.outputs is not None else None


# --- requests --------------------------------------------------------------------------------


def test_the_body_of_an_answer_is_the_result(site: Site) -> None:
    end = run(http(site.url + "/x"))

    assert (end.phase, end.message, result(end)) == ("Succeeded", "", "hello")
    assert (site.asked[0].method, site.asked[0].path) == ("GET", "/x")


def test_a_request_is_reported_as_started_before_it_ends(site: Site) -> None:
    async def main() -> list[type]:
        async with opened() as (runtime, desk):
            await runtime.start([task(http(site.url))])
            await desk.wait_for(TaskEnded)
            return [type(event) for event in desk.events]

    assert asyncio.run(main()) == [TaskStarted, TaskEnded]


def test_method_headers_and_body_are_sent(site: Site) -> None:
    headers = (
        model.HTTPHeader(name="X-One", value="1"),
        model.HTTPHeader(name="x-one", value="2"),
        model.HTTPHeader(name="Host", value="elsewhere.example"),
        model.HTTPHeader(name="X-Word", value="grün"),
    )

    run(http(site.url, method="POST", headers=headers, body="some text"))

    asked = site.asked[0]
    assert (asked.method, asked.body) == ("POST", b"some text")
    assert asked.all("X-One") == ["1, 2"]
    assert asked.all("Host") == ["elsewhere.example"]
    assert asked.all("X-Word")[0].encode("latin-1").decode() == "grün"


def test_a_body_may_be_given_as_bytes(site: Site) -> None:
    source = model.HTTPBodySource(bytes=base64.b64encode(b"\x00\xff").decode())

    run(http(site.url, method="PUT", body_from=source))

    assert site.asked[0].body == b"\x00\xff"


def test_bytes_that_are_not_base64_fail(site: Site) -> None:
    end = run(http(site.url, body_from=model.HTTPBodySource(bytes="*")))

    assert (end.phase, end.message) == ("Failed", "bodyFrom.bytes is not base64")
    assert site.asked == []


def from_secret(key: str, *, optional: bool = False) -> tuple[model.HTTPHeader, ...]:
    ref = model.SecretKeySelector(name="sec", key=key, optional=optional)
    source = model.HTTPHeaderSource(secret_key_ref=ref)
    return (model.HTTPHeader(name="Authorization", value_from=source),)


def test_a_header_may_come_from_a_secret(site: Site) -> None:
    run(http(site.url, headers=from_secret("token")))

    assert site.asked[0].all("Authorization") == ["s3cret"]


def test_a_secret_that_is_not_there_fails(site: Site) -> None:
    end = run(http(site.url, headers=from_secret("nobody")))

    assert end.phase == "Failed"
    assert end.message == "header Authorization: secret sec has no key nobody"


def test_an_optional_secret_that_is_not_there_sends_no_header(site: Site) -> None:
    end = run(http(site.url, headers=from_secret("nobody", optional=True)))

    assert end.phase == "Succeeded"
    assert site.asked[0].all("Authorization") == []


def test_a_secret_that_cannot_be_a_header_is_not_shown(site: Site) -> None:
    end = run(http(site.url, headers=from_secret("odd")))

    assert end.phase == "Failed"
    assert "s3" not in end.message


def test_a_header_name_that_is_none_fails(site: Site) -> None:
    end = run(http(site.url, headers=(model.HTTPHeader(name="a b", value="x"),)))

    assert (end.phase, site.asked) == ("Failed", [])


def test_user_and_password_of_a_url_become_a_header(site: Site) -> None:
    run(http(site.url.replace("http://", "http://ann:hush@")))

    login = base64.b64encode(b"ann:hush").decode()
    assert site.asked[0].all("Authorization") == [f"Basic {login}"]


def test_letters_that_a_url_cannot_hold_are_escaped(site: Site) -> None:
    run(http(site.url + "/a b/ü?q=ä"))

    assert site.asked[0].path == "/a%20b/%C3%BC?q=%C3%A4"


@pytest.mark.parametrize("url", ["", "nowhere", "ftp://127.0.0.1/x", "http://127.0.0.1:1/\n"])
def test_what_is_no_url_fails(url: str) -> None:
    assert run(http(url)).phase == "Failed"


def test_an_answer_that_is_no_text_is_still_a_result(site: Site) -> None:
    site.answers["/"] = Answer(body=b"a\xffb")

    assert result(run(http(site.url + "/"))) == "a\ufffdb"


def test_the_answer_to_a_head_request_is_empty(site: Site) -> None:
    end = run(http(site.url, method="HEAD"))

    assert (end.phase, result(end)) == ("Succeeded", "")


# --- success ---------------------------------------------------------------------------------


def test_an_answer_of_another_kind_than_2xx_fails_with_its_body(site: Site) -> None:
    site.answers["/no"] = Answer(status=404, body=b"not here")

    end = run(http(site.url + "/no"))

    assert (end.phase, end.message) == ("Failed", "received non-2xx response code: 404")
    assert result(end) == "not here"


@pytest.mark.parametrize(
    "condition",
    [
        "response.statusCode == 404",
        'response.body contains "here"',
        'response.headers["X-Kind"][0] == "odd"',
        'request.method == "POST" && request.body == "x"',
        "len(request.bodyBytes) == 1",
    ],
)
def test_a_condition_decides_what_success_is(site: Site, condition: str) -> None:
    site.answers["/no"] = Answer(status=404, body=b"not here", headers=(("x-kind", "odd"),))

    end = run(http(site.url + "/no", method="POST", body="x", success_condition=condition))

    assert (end.phase, end.message, result(end)) == ("Succeeded", "", "not here")


def test_a_condition_that_is_false_fails(site: Site) -> None:
    condition = "response.statusCode == 201"

    end = run(http(site.url, success_condition=condition))

    assert end.phase == "Failed"
    assert end.message == "successCondition 'response.statusCode == 201' evaluated false"


@pytest.mark.parametrize("condition", ["response.", "response.statusCode", "nobody.knows == 1"])
def test_a_condition_that_says_neither_true_nor_false_fails(site: Site, condition: str) -> None:
    end = run(http(site.url, success_condition=condition))

    assert end.phase == "Failed"
    assert end.message


# --- limits ----------------------------------------------------------------------------------


def test_an_answer_of_a_mebibyte_is_taken_and_a_larger_one_is_refused(site: Site) -> None:
    site.answers["/fits"] = Answer(body=b"x" * (1 << 20))
    site.answers["/large"] = Answer(body=b"x" * ((1 << 20) + 1))

    assert len(result(run(http(site.url + "/fits"))) or "") == 1 << 20
    end = run(http(site.url + "/large"))

    assert (end.phase, end.message) == ("Error", "the response is larger than 1048576 bytes")
    assert end.outputs is None


def test_an_answer_that_breaks_off_fails(site: Site) -> None:
    site.answers["/"] = Answer(body=b"half", promised=8)

    end = run(http(site.url + "/"))

    assert (end.phase, end.outputs) == ("Failed", None)
    assert "broke off" in end.message


def test_an_answer_that_does_not_come_in_time_fails(site: Site) -> None:
    site.answers["/"] = Answer(silent=True)

    end = run(http(site.url + "/", timeout_seconds=1))

    assert (end.phase, end.message) == ("Failed", "no answer within 1s")


def test_the_deadline_of_the_node_counts_as_well(site: Site) -> None:
    site.answers["/"] = Answer(silent=True)

    end = run(http(site.url + "/"), deadline=0.2)

    assert end.phase == "Failed"
    assert end.message == "Pod was active on the node longer than the specified deadline"


def test_nobody_who_answers_fails() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    end = run(http(f"http://127.0.0.1:{port}/x?token=hush"))

    assert end.phase == "Failed"
    assert f"http://127.0.0.1:{port}/x" in end.message
    assert "hush" not in end.message


# --- where requests may go -------------------------------------------------------------------


def test_an_address_that_is_not_allowed_is_refused(site: Site) -> None:
    end = run(http(site.url), allow=())

    assert end.phase == "Error"
    assert "egress.allow" in end.message
    assert site.asked == []


def test_a_redirect_is_followed_but_takes_no_secret_elsewhere(
    site: Site, make_site: Callable[..., Site]
) -> None:
    other = make_site()
    site.answers["/go"] = Answer(status=302, headers=(("Location", other.url + "/there"),))

    end = run(http(site.url + "/go", method="POST", body="x", headers=from_secret("token")))

    assert (end.phase, result(end)) == ("Succeeded", "hello")
    assert (other.asked[0].method, other.asked[0].path) == ("GET", "/there")
    assert other.asked[0].all("Authorization") == []


def test_a_redirect_to_an_address_that_is_not_allowed_is_refused(site: Site) -> None:
    site.answers["/go"] = Answer(status=302, headers=(("Location", "http://169.254.169.254/"),))

    end = run(http(site.url + "/go"))

    assert end.phase == "Error"
    assert "169.254.169.254" in end.message


@pytest.fixture
def secure(tmp_path: Path, make_site: Callable[..., Site]) -> Site:
    """A server with a certificate that nobody trusts."""
    if shutil.which("openssl") is None:
        pytest.skip("the openssl command is missing")
    key, certificate = str(tmp_path / "key"), str(tmp_path / "cert")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=x"]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return make_site(context)


def test_a_certificate_that_nobody_trusts_fails(secure: Site) -> None:
    end = run(http(secure.url))

    assert end.phase == "Failed"
    assert "certificate" in end.message
    assert secure.asked == []


def test_a_certificate_is_not_looked_at_where_the_template_says_so(secure: Site) -> None:
    end = run(http(secure.url, insecure_skip_verify=True))

    assert (end.phase, result(end)) == ("Succeeded", "hello")


# --- the life of an attempt ------------------------------------------------------------------


async def reached(site: Site) -> None:
    assert await asyncio.to_thread(site.reached.wait, PATIENCE)


def test_a_request_can_be_stopped(site: Site) -> None:
    site.answers["/"] = Answer(silent=True)

    async def main() -> TaskEnded:
        async with opened() as (runtime, desk):
            await runtime.start([task(http(site.url + "/"))])
            await reached(site)
            await runtime.stop(["uid.1"], grace=30)
            ended: TaskEnded = await desk.wait_for(TaskEnded)
            return ended

    end = asyncio.run(main())

    assert (end.phase, end.stopped) == ("Failed", True)


def test_a_request_that_has_not_begun_can_be_stopped(site: Site) -> None:
    async def main() -> TaskEnded:
        async with opened() as (runtime, desk):
            await runtime.start([task(http(site.url + "/"))])
            await runtime.stop(["uid.1"], grace=30)
            ended: TaskEnded = await desk.wait_for(TaskEnded)
            return ended

    assert asyncio.run(main()).stopped
    assert site.asked == []


def test_stopping_what_has_ended_or_was_never_there_does_nothing(site: Site) -> None:
    async def main() -> list[type]:
        async with opened() as (runtime, desk):
            await runtime.start([task(http(site.url + "/"))])
            await desk.wait_for(TaskEnded)
            await runtime.stop(["uid.1", "uid.9"], grace=0)
            return [type(event) for event in desk.events]

    assert asyncio.run(main()) == [TaskStarted, TaskEnded]


def test_a_task_is_started_once(site: Site) -> None:
    async def main() -> None:
        async with opened() as (runtime, desk):
            await runtime.start([task(http(site.url))])
            await desk.wait_for(TaskEnded)
            await runtime.start([task(http(site.url)), task(http(site.url), 2)])
            await desk.wait_for(TaskEnded, "uid.2")
            await runtime.acknowledge(["uid.1", "uid.2"])

    asyncio.run(main())

    assert len(site.asked) == 2


def test_a_request_of_an_earlier_server_is_lost(site: Site) -> None:
    async def main() -> TaskEnded:
        async with opened() as (runtime, desk):
            await runtime.attach([task(http(site.url))])
            ended: TaskEnded = await desk.wait_for(TaskEnded)
            return ended

    end = asyncio.run(main())

    assert (end.phase, end.lost, end.outputs) == ("Error", True, None)
    assert "the server was restarted during the request" in end.message
    assert site.asked == []


def test_closing_breaks_requests_off_without_a_word(site: Site) -> None:
    site.answers["/"] = Answer(silent=True)
    events: list[type] = []

    async def main() -> None:
        async with opened() as (runtime, desk):
            await runtime.start([task(http(site.url + "/"))])
            await reached(site)
        events.extend(type(event) for event in desk.events)

    asyncio.run(main())

    assert events == [TaskStarted]


def test_many_requests_go_on_at_once(site: Site) -> None:
    async def main() -> set[str]:
        async with opened() as (runtime, desk):
            await runtime.start([task(http(f"{site.url}/{n}"), n) for n in range(100)])
            return {(await desk.wait_for(TaskEnded, f"uid.{n}")).phase for n in range(100)}

    assert asyncio.run(main()) == {"Succeeded"}
    assert len(site.asked) == 100


# --- data ------------------------------------------------------------------------------------


@pytest.fixture
def repositories(tmp_path: Path) -> Repositories:
    found = Repositories(
        root=tmp_path / "root", config=ArtifactConfig(durable=False), secrets=lambda *_: b""
    )
    for name in ("a.py", "b.pdf", "deep/c.py", "deep/<d>.pdf"):
        place = model.Artifact(name="x", local=model.LocalArtifact(key=f"files/{name}"))
        found.save_bytes(iter([b"x"]), place, namespace="default")
    return found


def data(*expressions: str, key: str = "files") -> model.Template:
    paths = model.ArtifactPaths(name="in", local=model.LocalArtifact(key=key))
    return model.Template(
        name="t",
        data=model.Data(
            source=model.DataSource(artifact_paths=paths),
            transformation=tuple(model.TransformationStep(expression=e) for e in expressions),
        ),
    )


def test_data_is_a_list_of_keys_put_through_expressions_in_order(
    repositories: Repositories,
) -> None:
    end = run(
        data("filter(data, {# endsWith '.py'})", "map(data, {# + '.bak'})"),
        artifacts=repositories,
    )

    assert end.phase == "Succeeded"
    assert end.outputs == model.Outputs(
        result='["files/a.py.bak","files/deep/c.py.bak"]', exit_code="0"
    )


def test_the_result_is_json_as_go_writes_it(repositories: Repositories) -> None:
    end = run(data("filter(data, {# contains '<'})"), artifacts=repositories)

    assert result(end) == '["files/deep/\\u003cd\\u003e.pdf"]'


def test_an_expression_may_turn_the_list_into_something_else(repositories: Repositories) -> None:
    assert result(run(data("len(data)"), artifacts=repositories)) == "4"


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (data("filter(data"), "transformation[0]"),
        (data("data", "nobody"), "transformation[1]"),
        (data(key="nowhere"), "nowhere"),
        (model.Template(name="t", data=model.Data()), "artifactPaths"),
    ],
)
def test_data_that_cannot_be_had_fails(
    repositories: Repositories, template: model.Template, why: str
) -> None:
    end = run(template, artifacts=repositories)

    assert end.phase == "Failed"
    assert why in end.message


def test_data_without_artifact_storage_fails() -> None:
    assert "no artifact storage" in run(data()).message


def test_listing_is_done_again_by_the_next_server(repositories: Repositories) -> None:
    async def main() -> TaskEnded:
        async with opened(artifacts=repositories) as (runtime, desk):
            await runtime.attach([task(data("len(data)"))])
            ended: TaskEnded = await desk.wait_for(TaskEnded)
            return ended

    assert result(asyncio.run(main())) == "4"


# --- what cannot be run here -----------------------------------------------------------------


def test_a_resource_says_that_it_needs_a_cluster() -> None:
    end = run(model.Template(name="t", resource=model.ResourceTemplate(action="create")))

    assert end.phase == "Error"
    assert end.message.startswith("resource templates need a Kubernetes cluster: ")


def test_a_plugin_says_which_one_is_missing() -> None:
    end = run(model.Template(name="t", plugin={"slack": {"text": "hi"}}))

    assert (end.phase, end.message) == ("Error", "no executor plugin is configured for slack")


def test_only_leaves_without_a_process_are_inline() -> None:
    assert is_inline(http("x"))
    assert is_inline(data())
    assert not is_inline(model.Template(name="t", container=model.Container()))
    assert not is_inline(model.Template(name="t", script=model.ScriptTemplate()))
