"""``http`` templates: one request, and its answer judged as Argo's agent judges it.

Synchronous, for worker threads; ``Cutoff`` breaks a request off from another one. Like an artifact
from the web, a request may go only to addresses that the egress policy allows, redirects included.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import http.client
import re
import socket
import ssl
import threading
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit

from tiphys.errors import ArtifactError, EgressDeniedError, ExpressionError, TiphysError
from tiphys.net.connection import Web
from tiphys.net.egress import EgressPolicy
from tiphys.ports import Resources, Task
from tiphys.runtimes.end import End
from tiphys.spec import expression, model

MAX_BODY = 1 << 20
DEFAULT_SECONDS = 30
_CHUNK = 1 << 16
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_SAFE = "!$%&'()*+,/:;=?@[]~"


class Cutoff:
    """Breaks off a request, whatever it waits for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._happened = False

    def take(self, opened: socket.socket) -> None:
        """Note the connection that is to be broken."""
        with self._lock:
            self._socket = opened
            happened = self._happened
        if happened:
            _break(opened)

    def cut(self) -> None:
        """Break the connection, also one that is yet to come."""
        with self._lock:
            self._happened = True
            opened = self._socket
        if opened is not None:
            _break(opened)


def _break(opened: socket.socket) -> None:
    with contextlib.suppress(OSError):
        # Not the TLS layer's own way, which is not made for two threads.
        socket.socket.shutdown(opened, socket.SHUT_RDWR)


@dataclass(slots=True)
class _Answer:
    status: int
    headers: dict[str, list[str]]
    body: str


@dataclass(slots=True)
class _Message:
    """What is sent."""

    method: str
    url: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def seconds_of(request: model.HTTP) -> float:
    """Tell how long a request may take, from the first byte to the last."""
    given = request.timeout_seconds
    return float(DEFAULT_SECONDS if given is None else max(0, given))


def send(task: Task, *, policy: EgressPolicy, resources: Resources, cutoff: Cutoff) -> End:
    """Send the request of a task and tell how it went."""
    request = task.template.http
    assert request is not None
    try:
        message = _compose(request, resources, task.namespace)
        web = Web(policy, timeout=max(1.0, seconds_of(request)), on_open=cutoff.take)
        answer = _exchange(web, message, _context(request))
        return _judge(request, message, answer)
    except (EgressDeniedError, _TooLargeError) as error:
        # Ours to refuse: for Argo neither is a failure.
        return End("Error", str(error))
    except TiphysError as error:
        return End("Failed", str(error))


class _TooLargeError(ArtifactError):
    """The answer does not fit into a result."""


def _compose(request: model.HTTP, resources: Resources, namespace: str) -> _Message:
    if _CONTROL.search(request.url):
        raise ArtifactError("the URL holds control characters")
    try:
        parts = urlsplit(request.url)
    except ValueError as error:
        raise ArtifactError(f"not a URL: {error}") from error
    user, at, host = parts.netloc.rpartition("@")
    parts = parts._replace(
        netloc=host,
        path=quote(parts.path, safe=_SAFE),
        query=quote(parts.query, safe=_SAFE),
        fragment="",
    )
    message = _Message(request.method or "GET", parts.geturl(), _body(request))
    if at:
        login = base64.b64encode(unquote(user).encode()).decode()
        message.headers["Authorization"] = f"Basic {login}"
    for header in request.headers:
        _add_header(message.headers, header, _header_value(header, resources, namespace))
    return message


def _body(request: model.HTTP) -> bytes:
    if request.body_from is None:
        return request.body.encode("utf-8", "replace")
    try:
        return base64.b64decode(request.body_from.bytes, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ArtifactError("bodyFrom.bytes is not base64") from error


def _header_value(header: model.HTTPHeader, resources: Resources, namespace: str) -> str | None:
    """Give the value of a header; None where it comes from an optional secret that is not there."""
    source = header.value_from.secret_key_ref if header.value_from is not None else None
    if source is None:
        return header.value
    secret = resources.secret(namespace, source.name)
    found = (secret or {}).get(source.key)
    if found is None:
        if source.optional:
            return None
        why = "was not found" if secret is None else f"has no key {source.key}"
        raise ArtifactError(f"header {header.name}: secret {source.name} {why}")
    return found.decode("utf-8", "replace").rstrip("\r\n")


def _add_header(headers: dict[str, str], header: model.HTTPHeader, value: str | None) -> None:
    if value is None:
        return
    if not _TOKEN.fullmatch(header.name):
        raise ArtifactError(f"{header.name!r} cannot be the name of a header")
    if _CONTROL.search(value):
        # The value may be a secret: it is not shown.
        raise ArtifactError(f"the value of header {header.name} holds control characters")
    # The library writes Latin-1; this way the bytes on the wire are UTF-8.
    value = value.encode("utf-8", "replace").decode("latin-1")
    known = next((name for name in headers if name.lower() == header.name.lower()), None)
    if known is None or known.lower() in ("host", "authorization"):
        headers.pop(known or "", None)
        headers[header.name] = value
    else:
        headers[known] += f", {value}"


def _context(request: model.HTTP) -> ssl.SSLContext | None:
    if not request.insecure_skip_verify:
        return None
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _exchange(web: Web, message: _Message, tls: ssl.SSLContext | None) -> _Answer:
    with web.request(
        message.method, message.url, headers=message.headers, body=message.body or None, tls=tls
    ) as response:
        headers: dict[str, list[str]] = {}
        for name, value in response.getheaders():
            headers.setdefault(_canonical(name), []).append(value)
        body = _read(response).decode("utf-8", "replace")
        return _Answer(response.status, headers, body)


def _read(response: http.client.HTTPResponse) -> bytes:
    expected = response.length
    body = bytearray()
    try:
        while chunk := response.read(_CHUNK):
            body += chunk
            if len(body) > MAX_BODY:
                raise _TooLargeError(f"the response is larger than {MAX_BODY} bytes")
    except (OSError, http.client.HTTPException) as error:
        raise ArtifactError(f"the response broke off: {error}") from error
    # The library takes a body that ends too early for a whole one.
    if expected is not None and len(body) < expected:
        raise ArtifactError(f"the response broke off: {len(body)} of {expected} bytes came")
    return bytes(body)


def _canonical(name: str) -> str:
    """Write the name of a header as Go does, for expressions look it up so."""
    return "-".join(part.capitalize() for part in name.split("-"))


def _judge(request: model.HTTP, message: _Message, answer: _Answer) -> End:
    outputs = model.Outputs(result=answer.body)
    condition = request.success_condition
    if not condition:
        if 200 <= answer.status < 300:
            return End("Succeeded", outputs=outputs)
        text = f"received non-2xx response code: {answer.status}"
        return End("Failed", text, outputs=outputs)
    found = expression.compile_expression(condition).evaluate(_scope(request, message, answer))
    if not isinstance(found, bool):
        raise ExpressionError(f"successCondition '{condition}' gave {found!r}, not true or false")
    if found:
        return End("Succeeded", outputs=outputs)
    return End("Failed", f"successCondition '{condition}' evaluated false", outputs=outputs)


def _scope(request: model.HTTP, message: _Message, answer: _Answer) -> dict[str, object]:
    # Values from secrets are no part of it: an expression's error may show what it was given.
    sent: dict[str, list[str]] = {}
    for header in request.headers:
        sent.setdefault(_canonical(header.name), []).append(header.value)
    asked: dict[str, object] = {
        "method": request.method,
        "url": request.url,
        "body": request.body,
        "headers": sent,
    }
    if "bodyBytes" in request.success_condition:
        asked["bodyBytes"] = list(message.body)
    response = {"statusCode": answer.status, "body": answer.body, "headers": answer.headers}
    return {"request": asked, "response": response}
