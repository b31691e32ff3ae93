"""How the server starts: its first token, its address, what it refuses, and what it documents."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.contract.api_server import ADMIN, ApiServer, flow, steps
from tiphys.api.app import all_routes
from tiphys.api.server import Bind, listen


def refused(folder: Path, *arguments: str, **environment: str) -> str:
    """Start a server that must not start, and give what it says."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("TIPHYS_")}
    done = subprocess.run(
        [sys.executable, "-m", "tiphys", "server", *arguments],
        env={
            **kept,
            "HOME": str(folder),
            "TIPHYS_DATA_DIR": str(folder / "data"),
            "TIPHYS_ISOLATION": "process",
            **environment,
        },
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    return done.stderr


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_token_is_made_printed_once_and_kept_for_the_owner(tmp_path: Path) -> None:
    with ApiServer(tmp_path, environment={}) as server:
        path = server.data / "admin-token"
        token = path.read_text().strip()

        assert server.said.count(token) == 1
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert server.get("/whoami", token=token).data["role"] == "admin"
        server.restart()
        assert server.said.count(token) == 1
        assert server.get("/whoami", token=token).status == 200


def test_the_token_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a-token-from-a-file\n")

    with ApiServer(
        tmp_path, environment={"TIPHYS_ADMIN_TOKEN_FILE": str(tmp_path / "secret")}
    ) as server:
        assert server.get("/whoami", token="a-token-from-a-file").status == 200
        assert not (server.data / "admin-token").exists()


def test_a_given_token_is_not_printed(tmp_path: Path) -> None:
    with ApiServer(tmp_path) as server:
        assert ADMIN not in server.said


def test_a_bind_beyond_loopback_needs_a_chosen_token(tmp_path: Path) -> None:
    said = refused(tmp_path, "--host", "0.0.0.0", "--port", "0")

    assert "TIPHYS_ADMIN_TOKEN" in said
    assert "ready" not in said


def test_a_short_token_is_refused(tmp_path: Path) -> None:
    assert "shorter" in refused(tmp_path, "--port", "0", TIPHYS_ADMIN_TOKEN="short")


def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with ApiServer(tmp_path / "one") as server:
        said = refused(tmp_path / "two", "--port", str(server.port))

    assert "cannot listen on 127.0.0.1" in said


def test_small_answers_are_sent_at_once() -> None:
    """Of a socket whose protocol is not named asyncio does not know that it is TCP."""
    with listen(Bind(port=0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_the_address_is_left_for_clients_and_taken_away(tmp_path: Path) -> None:
    with ApiServer(tmp_path) as server:
        path = server.data / "http-address"

        assert path.read_text() == f"http://127.0.0.1:{server.port}\n"
    assert not path.exists()


def test_a_server_ends_cleanly_when_told(tmp_path: Path) -> None:
    with ApiServer(tmp_path) as server:
        assert server.stop() == 0


def test_the_document_describes_every_route_and_no_other(tmp_path: Path) -> None:
    with ApiServer(tmp_path) as server:
        document = server.ask("GET", "/openapi.json").body
        page = server.ask("GET", "/docs", token=None)

    assert document["openapi"] == "3.1.0"
    described = {
        (path, method.upper()) for path, methods in document["paths"].items() for method in methods
    }
    assert described == {
        (route.path, method)  # type: ignore[attr-defined]
        for route in all_routes()
        if getattr(route, "include_in_schema", False) and hasattr(route, "methods")
        for method in route.methods
    }
    assert b"<script>" in page.raw
    assert "script-src 'sha256-" in page.headers["content-security-policy"]


def _references(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [each for item in value.values() for each in _references(item)]
    if isinstance(value, list):
        return [each for item in value for each in _references(item)]
    return []


def test_the_document_is_whole_and_has_examples(tmp_path: Path) -> None:
    with ApiServer(tmp_path) as server:
        document = server.ask("GET", "/openapi.json").body

    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(_references(document)) <= known
    operations = [each for methods in document["paths"].values() for each in methods.values()]
    assert len({each["operationId"] for each in operations}) == len(operations)
    submit = document["paths"]["/api/v1/workflows"]["post"]["requestBody"]["content"]
    assert submit["application/json"]["example"]["name"] == "hello"
    assert all("401" in each["responses"] for each in operations)


def test_running_a_workflow_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    """A cold start must not pay for what only the server needs, or only expressions."""
    (tmp_path / "w.yaml").write_text(
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {generateName: t-}\n"
        "spec: {entrypoint: a, templates: [{name: a, container: {image: x, command: ['true']}}]}\n"
    )
    kept = {key: value for key, value in os.environ.items() if not key.startswith("TIPHYS_")}

    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "tiphys", "run", "-q", "w.yaml"],
        env={
            **kept,
            "HOME": str(tmp_path),
            "TIPHYS_DATA_DIR": str(tmp_path / "data"),
            "TIPHYS_ISOLATION": "process",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    servers = {"fastapi", "starlette", "uvicorn", "pydantic", "websockets"}
    assert (done.returncode, "tiphys.control.loop" in loaded) == (0, True), done.stderr
    assert not loaded & {*servers, "tiphys.api", "tiphys.service", "tiphys.spec.expression.program"}


def test_a_token_that_asks_too_often_is_told_to_wait(tmp_path: Path) -> None:
    with ApiServer(tmp_path, "--rate-limit", "1") as server:
        other = server.make_token("viewer", None)
        answers = [server.get("/whoami") for _ in range(20)]

        refused = [answer for answer in answers if answer.status == 429]
        assert refused
        assert {answer.code for answer in refused} == {"rate_limited"}
        assert refused[0].headers["retry-after"] == "1"
        assert server.get("/whoami", token=other).status == 200


def test_the_log_can_be_read_by_machines(tmp_path: Path) -> None:
    server = ApiServer(tmp_path, "--log-format", "json")
    try:
        wait_until(lambda: any('"ready"' in line for line in server.lines))
    finally:
        server.stop()

    entries = [json.loads(line) for line in server.lines]
    assert entries[-1]["message"] == "ready"
    assert {"time", "level", "logger", "message"} == set(entries[0])


def test_the_settings_say_how_the_log_is_written(tmp_path: Path) -> None:
    (tmp_path / "logged.yaml").write_text("{log: {format: json}, isolation: process}")

    with ApiServer(tmp_path, "--config", "logged.yaml") as server:
        assert all(json.loads(line)["time"] for line in list(server.lines))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates for this machine with their keys: one, another of its kind, and an RSA one."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("pairs")
    curve = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    for name, kind in (("one", curve), ("other", curve), ("rsa", ["rsa:2048"])):
        words = ["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
        words += ["-addext", "subjectAltName=IP:127.0.0.1", "-newkey", *kind]
        words += ["-keyout", f"{name}.key", "-out", f"{name}.pem"]
        subprocess.run([openssl, *words], check=True, capture_output=True, cwd=folder)
    words = ["ec", "-in", "one.key", "-aes128", "-passout", "pass:word", "-out", "locked.key"]
    subprocess.run([openssl, *words], check=True, capture_output=True, cwd=folder)
    words = ["x509", "-in", "one.pem", "-outform", "der", "-out", "one.der"]
    subprocess.run([openssl, *words], check=True, capture_output=True, cwd=folder)
    (folder / "text").write_text("neither a certificate nor a key\n")
    (folder / "both.pem").write_bytes(
        (folder / "one.pem").read_bytes() + (folder / "one.key").read_bytes()
    )
    return folder


def is_served(folder: Path, certificate: Path, *arguments: str) -> bool:
    with ApiServer(folder, "--tls-cert", str(certificate), *arguments) as server:
        context = ssl.create_default_context(cafile=str(certificate))
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context)
        connection.request("GET", "/healthz")
        status = connection.getresponse().status
        connection.close()
        return status == 200 and "https://127.0.0.1:" in server.said


def test_a_certificate_makes_it_https(tmp_path: Path, pairs: Path) -> None:
    assert is_served(tmp_path, pairs / "one.pem", "--tls-key", str(pairs / "one.key"))


def test_certificate_and_key_may_be_one_file(tmp_path: Path, pairs: Path) -> None:
    assert is_served(tmp_path, pairs / "both.pem")


@pytest.mark.parametrize(
    ("certificate", "key", "said"),
    [
        ("none", "one.key", "--tls-cert {folder}/none: No such file or directory"),
        ("one.pem", "none", "--tls-key {folder}/none: No such file or directory"),
        ("", "one.key", "--tls-key is of no use without --tls-cert"),
        ("text", "one.key", "--tls-cert {folder}/text: no certificate in PEM form"),
        ("one.der", "one.key", "--tls-cert {folder}/one.der: no certificate in PEM form"),
        ("one.pem", "text", "--tls-key {folder}/text: no private key in PEM form"),
        ("one.pem", "one.pem", "--tls-key {folder}/one.pem: no private key in PEM form"),
        ("one.pem", "", "--tls-cert {folder}/one.pem: no private key in PEM form"),
        ("one.pem", "other.key", "--tls-key {folder}/other.key: the key does not belong to the"),
        ("one.pem", "rsa.key", "--tls-key {folder}/rsa.key: the key does not belong to the"),
        ("one.pem", "locked.key", "--tls-key {folder}/locked.key: the key has a pass phrase"),
    ],
)
def test_what_cannot_be_served_with_is_told_before_anything_starts(
    tmp_path: Path, pairs: Path, certificate: str, key: str, said: str
) -> None:
    given = {"--tls-cert": certificate, "--tls-key": key}
    files = [word for flag, name in given.items() if name for word in (flag, str(pairs / name))]

    (line,) = refused(tmp_path, "--port", "0", *files).splitlines()

    assert line.startswith(f"tiphys: {said.format(folder=pairs)}")
    assert not (tmp_path / "data").exists()


def test_open_streams_do_not_keep_the_server(tmp_path: Path) -> None:
    with ApiServer(tmp_path) as server:
        workflow = server.submit(steps({"name": "pause", "suspend": {}}))
        address = f"ws://127.0.0.1:{server.port}/api/v1/workflows/{workflow}/watch"
        with connect(address, additional_headers={"Authorization": f"Bearer {ADMIN}"}) as stream:
            stream.recv(timeout=30)

            assert server.stop() == 0
            with pytest.raises(ConnectionClosed):
                stream.recv(timeout=30)

        assert stream.protocol.close_code == 1012
        assert stream.protocol.close_reason == "the server ends; connect again"


def test_requests_are_answered_and_tasks_run_on_while_the_server_ends(tmp_path: Path) -> None:
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    script = f"echo once >> {begun}; until [ -e {gate} ]; do sleep 0.05; done"
    with ApiServer(tmp_path) as server:
        workflow = server.submit(flow(script))
        wait_until(begun.exists)
        taken: list[int] = []

        def submit() -> None:
            body = {"name": "late", "project_id": "default", "workflow_yaml": flow("true")}
            with suppress(OSError, http.client.HTTPException):  # It may be gone already.
                taken.append(server.post("/workflows", body).status)

        late = [threading.Thread(target=submit) for _ in range(8)]
        for thread in late:
            thread.start()
        wait_until(lambda: bool(taken))
        server.restart()
        for thread in late:
            thread.join()

        gate.touch()

        assert server.wait(workflow)["status"] == "succeeded"
        assert begun.read_text() == "once\n"
        names = [each["name"] for each in server.get("/workflows?name=late&limit=200").data]
        assert len(names) >= taken.count(201) > 0
