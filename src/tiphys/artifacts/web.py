"""Artifacts behind a URL: plain HTTP servers and Artifactory."""

from __future__ import annotations

import base64
import http.client
import json
import os
import ssl
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlencode

from tiphys.artifacts.copying import CHUNK
from tiphys.artifacts.driver import refuse
from tiphys.artifacts.limits import Limits, Meter
from tiphys.artifacts.secret import SecretReader, Secrets
from tiphys.errors import ArtifactError, ArtifactNotFoundError
from tiphys.net.connection import Web, split_url
from tiphys.spec import model

_MAX_TOKEN = 1 << 20


@dataclass(slots=True)
class _Target:
    url: str
    headers: dict[str, str] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None


class WebDriver:
    """GET to load, PUT to save."""

    def __init__(self, web: Web, secrets: SecretReader, limits: Limits) -> None:
        self._web = web
        self._secrets = secrets
        self._limits = limits

    def fetch(self, artifact: model.Artifact, target: Path, namespace: str) -> None:
        """Download to ``target``."""
        with target.open("xb") as file:
            for chunk in self.read(artifact, namespace):
                file.write(chunk)

    def store(self, source: Path, artifact: model.Artifact, namespace: str) -> None:
        """Upload a file."""
        if source.is_dir():
            raise ArtifactError("a folder needs an archive strategy to be saved by http")
        to = self._target(artifact, namespace)
        with self._web.request(
            "PUT", to.url, headers=to.headers, body=source, tls=to.tls
        ) as response:
            _check(response)

    def delete(self, _artifact: model.Artifact, _namespace: str) -> None:
        """Refuse."""
        raise refuse("http", "deleted")

    def read(self, artifact: model.Artifact, namespace: str) -> Iterator[bytes]:
        """Yield the body."""
        to = self._target(artifact, namespace)
        meter = Meter(self._limits)
        with self._web.request("GET", to.url, headers=to.headers, tls=to.tls) as response:
            _check(response)
            expected = response.length
            while chunk := _read(response):
                meter.grow(len(chunk))
                yield chunk
            # The library takes a body that ends too early for a whole one.
            if expected is not None and meter.written != expected:
                raise ArtifactError("the download broke off")

    def list_keys(self, _artifact: model.Artifact, _namespace: str) -> list[str]:
        """Refuse."""
        raise refuse("http", "listed")

    def _target(self, artifact: model.Artifact, namespace: str) -> _Target:
        secrets = Secrets(self._secrets, namespace)
        if artifact.artifactory is not None:
            place = artifact.artifactory
            user = secrets.text(place.username_secret)
            password = secrets.text(place.password_secret)
            return _Target(place.url, {"Authorization": _basic(user, password)})
        assert artifact.http is not None
        to = _Target(artifact.http.url)
        to.headers.update({header.name: header.value for header in artifact.http.headers})
        _log_in_by_url(to)
        if artifact.http.auth is not None:
            self._log_in(to, artifact.http.auth, secrets)
        return to

    def _log_in(self, to: _Target, auth: model.HTTPAuth, secrets: Secrets) -> None:
        if auth.client_cert is not None and auth.client_cert.client_cert_secret is not None:
            to.tls = _client_context(auth.client_cert, secrets)
        if auth.oauth2 is not None and auth.oauth2.token_url_secret is not None:
            to.headers["Authorization"] = f"Bearer {self._token(auth.oauth2, secrets)}"
        if auth.basic_auth is not None:
            user = secrets.text(auth.basic_auth.username_secret)
            password = secrets.text(auth.basic_auth.password_secret)
            if user and password:
                to.headers["Authorization"] = _basic(user, password)

    def _token(self, auth: model.OAuth2Auth, secrets: Secrets) -> str:
        """Ask for a token by client credentials: in the header, or else in the body."""
        url = secrets.text(auth.token_url_secret)
        client = secrets.text(auth.client_id_secret)
        secret = secrets.text(auth.client_secret_secret)
        form = [("grant_type", "client_credentials")]
        form += [("scope", " ".join(auth.scopes))] if auth.scopes else []
        form += [(parameter.key, parameter.value) for parameter in auth.endpoint_params]
        header = {"Authorization": _basic(quote(client, safe=""), quote(secret, safe=""))}
        token = self._ask_token(url, form, header)
        if not token:
            named = [*form, ("client_id", client), ("client_secret", secret)]
            token = self._ask_token(url, named, {})
        if not token:
            raise ArtifactError("the token server gave no token")
        return token

    def _ask_token(self, url: str, form: list[tuple[str, str]], header: dict[str, str]) -> str:
        headers = {"Content-Type": "application/x-www-form-urlencoded", **header}
        with self._web.request(
            "POST", url, headers=headers, body=urlencode(form).encode()
        ) as response:
            body = response.read(_MAX_TOKEN)
            if response.status != http.client.OK:
                return ""
        try:
            answer = json.loads(body)
        except ValueError:
            return ""
        return str(answer.get("access_token", "")) if isinstance(answer, dict) else ""


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read(CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise ArtifactError(f"the download broke off: {error}") from error


def _check(response: http.client.HTTPResponse) -> None:
    if response.status == http.client.NOT_FOUND:
        raise ArtifactNotFoundError(f"{response.status} {response.reason}")
    if not 200 <= response.status < 300:
        raise ArtifactError(f"the server answered {response.status} {response.reason}")


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _log_in_by_url(to: _Target) -> None:
    """Turn ``user:password@`` of a URL into the header it means."""
    parts = split_url(to.url)
    user, at, host = parts.netloc.rpartition("@")
    if at:
        name, _, password = user.partition(":")
        to.headers.setdefault("Authorization", _basic(name, password))
        to.url = parts._replace(netloc=host).geturl()


def _client_context(auth: model.ClientCertAuth, secrets: Secrets) -> ssl.SSLContext:
    context = ssl.create_default_context()
    with tempfile.TemporaryDirectory() as folder:
        # The library reads certificates from files only; the folder is ours alone (mode 700).
        names = []
        for name, selector in (("cert", auth.client_cert_secret), ("key", auth.client_key_secret)):
            names.append(os.path.join(folder, name))
            Path(names[-1]).write_bytes(secrets.data(selector))
        try:
            context.load_cert_chain(names[0], names[1])
        except ssl.SSLError as error:
            raise ArtifactError("the client certificate or its key cannot be used") from error
    return context
