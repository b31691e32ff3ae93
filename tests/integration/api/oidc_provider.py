"""A real OpenID Connect provider: Authlib's, behind the forms of ``oidc-provider-mock``.

It runs as a process of its own, in a virtual environment of its own that is kept in a cache outside
of the repository: it brings a web framework and more that is none of ours.
"""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

VERSION = "0.3.4"
_PATIENCE = 240


def interpreter() -> Path:
    """Give the Python that has the provider; raise RuntimeError where it cannot be had."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tiphys"
    base.mkdir(parents=True, exist_ok=True)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    home = base / f"oidc-provider-mock-{VERSION}-py{version}"
    with home.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "ready").exists():
            _run([sys.executable, "-m", "venv", "--clear", str(home)])
            wanted = f"oidc-provider-mock=={VERSION}"
            _run([str(home / "bin/python"), "-m", "pip", "install", "--quiet", wanted])
            (home / "ready").touch()
    return home / "bin/python"


def _run(words: list[str]) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(str(error)) from error
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout).strip()[-300:])


class OidcProvider:
    """A running provider, and what people do at it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.issuer = f"http://127.0.0.1:{port}"

    def add_user(self, subject: str, **claims: Any) -> None:
        """Make somebody known, with these claims."""
        status, _, _ = self.ask("PUT", f"/users/{quote(subject)}", json.dumps(claims))
        assert status == 204

    def authorize(self, address: str, subject: str) -> str:
        """Log somebody in at the address that we were sent to; give where they are sent back."""
        parts = urlsplit(address)
        assert f"{parts.scheme}://{parts.netloc}" == self.issuer
        form = urlencode({"sub": subject})
        status, headers, body = self.ask("POST", f"{parts.path}?{parts.query}", form, form=True)
        assert status == 302, body
        return headers["location"]

    def token(self, client: str, subject: str) -> str:
        """Give an ID token, as a program would get it for itself."""
        back = "http://127.0.0.1:1/back"
        wanted = {"response_type": "code", "client_id": client, "redirect_uri": back}
        query = urlencode({**wanted, "scope": "openid profile email", "nonce": os.urandom(8).hex()})
        place = self.authorize(f"{self.issuer}/oauth2/authorize?{query}", subject)
        code = dict(p.split("=") for p in urlsplit(place).query.split("&"))["code"]
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "client_id": client,
            "client_secret": "any",
        }
        status, _, body = self.ask("POST", "/oauth2/token", urlencode(form), form=True)
        assert status == 200, body
        return str(json.loads(body)["id_token"])

    def ask(
        self, method: str, path: str, body: str = "", *, form: bool = False
    ) -> tuple[int, dict[str, str], bytes]:
        """Send a request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        kind = "application/x-www-form-urlencoded" if form else "application/json"
        try:
            connection.request(method, path, body, {"Content-Type": kind})
            response = connection.getresponse()
            headers = {name.lower(): value for name, value in response.getheaders()}
            return response.status, headers, response.read()
        finally:
            connection.close()

    def answers(self) -> bool:
        """Tell whether it is up."""
        try:
            return self.ask("GET", "/jwks")[0] == 200
        except OSError:
            return False


@contextmanager
def provider(python: Path, *arguments: str, port: int = 0) -> Iterator[OidcProvider]:
    """Run a provider for a while."""
    port = port or free_port()
    command = [str(python), "-m", "oidc_provider_mock", "--port", str(port), "--host", "127.0.0.1"]
    process = subprocess.Popen(
        [*command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    found = OidcProvider(port)
    try:
        end = time.monotonic() + 60
        while not found.answers():
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        yield found
    finally:
        process.terminate()
        process.wait(30)


def free_port() -> int:
    """Give a port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
