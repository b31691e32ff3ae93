"""Artifacts behind a URL, from a real server on the loopback."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tiphys.artifacts import ArtifactConfig, Egress, Limits, Repositories
from tiphys.errors import ArtifactError, ArtifactNotFoundError, EgressDeniedError
from tiphys.net.connection import Web
from tiphys.net.egress import EgressPolicy
from tiphys.spec import model

SPACE = "default"
SECRETS = {
    "user": b"ann",
    "password": b"hush",
    "client": b"id",
    "client-secret": b"hush2",
}


@dataclass
class Site:
    """A server: what it serves, where it redirects to, and what it was asked."""

    url: str = ""
    pages: dict[str, bytes] = field(default_factory=dict)
    redirects: dict[str, tuple[int, str]] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    site: Site

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.site.asked.append((self.command, self.path, dict(self.headers.items()), body))
        if self.path in self.site.redirects:
            status, target = self.site.redirects[self.path]
            self.send_response(status)
            self.send_header("Location", target)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.command == "PUT":
            self.site.pages[self.path] = body
        found = self.site.pages.get(self.path)
        self.send_response(200 if found is not None else 404)
        self.send_header("Content-Length", str(len(found or b"")))
        self.end_headers()
        self.wfile.write(found or b"")

    do_GET = do_PUT = do_POST = answer  # noqa: N815 - the library looks for these names

    def log_message(self, *_: object) -> None:
        """Stay silent."""


class Quiet(ThreadingHTTPServer):
    """A server whose threads end with it, and which does not report broken connections."""

    daemon_threads = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent."""


@pytest.fixture
def make_site() -> Iterator[Callable[..., Site]]:
    servers = []

    def make(host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> Site:
        site = Site()
        handler = type("SiteHandler", (Handler,), {"site": site})
        server = Quiet((host, port), handler)
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        site.url = f"{'https' if tls else 'http'}://{host}:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((server, thread))
        return site

    yield make
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def site(make_site: Callable[..., Site]) -> Site:
    return make_site()


def repositories(tmp_path: Path, *allow: str, limits: Limits | None = None) -> Repositories:
    config = ArtifactConfig(egress=Egress(allow=allow), limits=limits or Limits(), durable=False)
    return Repositories(root=tmp_path / "root", config=config, secrets=_secret)


def _secret(_namespace: str, _name: str, key: str) -> bytes:
    return SECRETS[key]


def selector(key: str) -> model.SecretKeySelector:
    return model.SecretKeySelector(name="s", key=key)


def at(url: str, **fields: object) -> model.Artifact:
    return model.Artifact(name="x", http=model.HTTPArtifact(url=url, **fields))  # type: ignore[arg-type]


def load(tmp_path: Path, artifact: model.Artifact, *allow: str) -> bytes:
    repositories(tmp_path, *allow).load(artifact, tmp_path / "in", namespace=SPACE)
    return (tmp_path / "in").read_bytes()


def test_a_page_is_loaded_with_its_headers(site: Site, tmp_path: Path) -> None:
    site.pages["/a?b=c"] = b"text"
    header = model.Header(name="X-Key", value="v")

    assert load(tmp_path, at(f"{site.url}/a?b=c", headers=(header,)), "127.0.0.1") == b"text"
    assert site.asked[0][2]["X-Key"] == "v"


def test_the_loopback_is_denied_unless_allowed(site: Site, tmp_path: Path) -> None:
    with pytest.raises(EgressDeniedError):
        load(tmp_path, at(f"{site.url}/a"))

    assert site.asked == []


def test_a_missing_page_is_not_found(site: Site, tmp_path: Path) -> None:
    with pytest.raises(ArtifactNotFoundError):
        load(tmp_path, at(f"{site.url}/missing"), "127.0.0.1")


def test_a_redirect_is_followed(site: Site, tmp_path: Path) -> None:
    site.redirects["/a"] = (302, "/b")
    site.pages["/b"] = b"text"

    assert load(tmp_path, at(f"{site.url}/a"), "127.0.0.1") == b"text"


def test_a_redirect_to_a_denied_address_is_refused(
    site: Site, make_site: Callable[..., Site], tmp_path: Path
) -> None:
    inner = make_site("127.0.0.2")
    site.redirects["/a"] = (302, f"{inner.url}/secret")

    with pytest.raises(EgressDeniedError):
        load(tmp_path, at(f"{site.url}/a"), "127.0.0.1")

    assert inner.asked == []


def test_a_redirect_to_another_protocol_is_refused(site: Site, tmp_path: Path) -> None:
    site.redirects["/a"] = (302, "file:///etc/passwd")

    with pytest.raises(ArtifactError, match="not a URL of http"):
        load(tmp_path, at(f"{site.url}/a"), "127.0.0.1")


def test_redirects_without_end_are_given_up(site: Site, tmp_path: Path) -> None:
    site.redirects["/a"] = (302, "/a")

    with pytest.raises(ArtifactError, match="too many redirects"):
        load(tmp_path, at(f"{site.url}/a"), "127.0.0.1")


def test_secrets_do_not_travel_to_another_host(
    site: Site, make_site: Callable[..., Site], tmp_path: Path
) -> None:
    other = make_site("127.0.0.2")
    other.pages["/b"] = b"text"
    site.redirects["/a"] = (307, f"{other.url}/b")
    auth = model.HTTPAuth(
        basic_auth=model.BasicAuth(
            username_secret=selector("user"), password_secret=selector("password")
        )
    )
    header = model.Header(name="X-Key", value="v")
    load(tmp_path, at(f"{site.url}/a", auth=auth, headers=(header,)), "127.0.0.0/8")

    expected = "Basic " + base64.b64encode(b"ann:hush").decode()
    assert site.asked[0][2]["Authorization"] == expected
    assert not {"Authorization", "X-Key"} & set(other.asked[0][2])


def test_the_connection_goes_to_the_address_that_was_judged(
    make_site: Callable[..., Site],
) -> None:
    judged = make_site("127.0.0.2")
    port = int(judged.url.rsplit(":", 1)[1])
    inner = make_site("127.0.0.1", port)
    judged.pages["/a"] = b"judged"
    answers = iter([["127.0.0.2"], ["127.0.0.1"], ["127.0.0.1"]])
    policy = EgressPolicy(["127.0.0.2"], resolve=lambda _host, _port: next(answers))
    web = Web(policy, timeout=10)

    with web.request("GET", f"http://rebind.example:{port}/a", headers={}) as response:
        assert response.read() == b"judged"
    with (
        pytest.raises(EgressDeniedError),
        web.request("GET", f"http://rebind.example:{port}/a", headers={}),
    ):
        pass

    assert judged.asked[0][2]["Host"] == f"rebind.example:{port}"
    assert inner.asked == []


def test_a_user_in_the_url_becomes_a_log_in(site: Site, tmp_path: Path) -> None:
    site.pages["/a"] = b"text"
    load(tmp_path, at(site.url.replace("://", "://ann:hush@") + "/a"), "127.0.0.1")

    assert site.asked[0][1] == "/a"
    assert site.asked[0][2]["Authorization"].startswith("Basic ")


def test_a_password_of_a_url_does_not_show_in_errors(site: Site, tmp_path: Path) -> None:
    site.redirects["/a"] = (302, "/a")

    with pytest.raises(ArtifactError) as caught:
        load(tmp_path, at(site.url.replace("://", "://ann:hush@") + "/a?token=hush"), "127.0.0.1")

    assert "hush" not in str(caught.value)


def test_client_credentials_are_turned_into_a_token(site: Site, tmp_path: Path) -> None:
    site.pages["/token"] = json.dumps({"access_token": "t0k3n"}).encode()
    site.pages["/a"] = b"text"
    SECRETS["token-url"] = f"{site.url}/token".encode()
    auth = model.HTTPAuth(
        oauth2=model.OAuth2Auth(
            client_id_secret=selector("client"),
            client_secret_secret=selector("client-secret"),
            token_url_secret=selector("token-url"),
            scopes=("one", "two"),
        )
    )
    load(tmp_path, at(f"{site.url}/a", auth=auth), "127.0.0.1")

    assert site.asked[0][3] == b"grant_type=client_credentials&scope=one+two"
    assert site.asked[1][2]["Authorization"] == "Bearer t0k3n"


def test_a_body_beyond_the_cap_is_refused(site: Site, tmp_path: Path) -> None:
    site.pages["/a"] = bytes(1 << 20)
    small = repositories(tmp_path, "127.0.0.1", limits=Limits(max_bytes=1000))

    with pytest.raises(ArtifactError) as caught:
        small.load(at(f"{site.url}/a"), tmp_path / "in", namespace=SPACE)

    assert caught.value.code == "artifact_unsafe"


def test_a_body_that_ends_too_early_is_an_error(tmp_path: Path) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this")

    thread = threading.Thread(target=answer)
    thread.start()
    with pytest.raises(ArtifactError, match="broke off"):
        load(tmp_path, at(f"http://127.0.0.1:{listener.getsockname()[1]}/a"), "127.0.0.1")

    thread.join()
    listener.close()
    assert not (tmp_path / "in").exists()


def test_an_artifact_is_saved_by_put_and_cannot_be_deleted(site: Site, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("text")
    artifact = at(f"{site.url}/up")
    made = repositories(tmp_path, "127.0.0.1")
    made.save(tmp_path / "out", artifact, namespace=SPACE)

    made.load(artifact, tmp_path / "in", namespace=SPACE)
    assert (tmp_path / "in").read_text() == "text"
    with pytest.raises(ArtifactError, match="cannot be deleted"):
        made.delete(artifact, namespace=SPACE)


def test_artifactory_is_asked_with_user_and_password(site: Site, tmp_path: Path) -> None:
    site.pages["/repo/a"] = b"text"
    place = model.ArtifactoryArtifact(
        url=f"{site.url}/repo/a",
        username_secret=selector("user"),
        password_secret=selector("password"),
    )

    assert load(tmp_path, model.Artifact(name="x", artifactory=place), "127.0.0.1") == b"text"
    assert "Authorization" in site.asked[0][2]


@pytest.mark.parametrize(
    "url", ["", "ftp://x/y", "file:///etc/passwd", "http://", "http://[", "http://h/a b", "x"]
)
def test_what_is_no_usable_url_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError):
        load(tmp_path, at(url), "*")


def test_a_header_cannot_smuggle_another(site: Site, tmp_path: Path) -> None:
    header = model.Header(name="X", value="a\r\nHost: evil")

    with pytest.raises(ArtifactError):
        load(tmp_path, at(f"{site.url}/a", headers=(header,)), "127.0.0.1")

    assert site.asked == []


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A certificate for the loopback that this machine trusts, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("the openssl command is missing")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += [
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=test",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
    ]
    command += ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    subprocess.run(command, check=True, capture_output=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    return tmp_path


def test_a_client_certificate_opens_a_server(
    keys: Path, make_site: Callable[..., Site], tmp_path: Path
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(keys / "cert.pem"))
    context.load_cert_chain(keys / "cert.pem", keys / "key.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    site = make_site(tls=context)
    site.pages["/a"] = b"text"
    SECRETS["cert"] = (keys / "cert.pem").read_bytes()
    SECRETS["key"] = (keys / "key.pem").read_bytes()
    auth = model.HTTPAuth(
        client_cert=model.ClientCertAuth(
            client_cert_secret=selector("cert"), client_key_secret=selector("key")
        )
    )

    assert load(tmp_path, at(f"{site.url}/a", auth=auth), "127.0.0.1") == b"text"
    with pytest.raises(ArtifactError):
        load(tmp_path, at(f"{site.url}/a"), "127.0.0.1")


def test_a_server_whose_certificate_is_not_trusted_is_refused(
    keys: Path, make_site: Callable[..., Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(keys / "cert.pem", keys / "key.pem")
    site = make_site(tls=context)
    monkeypatch.delenv("SSL_CERT_FILE")

    with pytest.raises(ArtifactError, match="CERTIFICATE_VERIFY_FAILED"):
        load(tmp_path, at(f"{site.url}/a"), "127.0.0.1")

    assert site.asked == []
