"""Requests over HTTP with the standard library; connections are kept and used again.

Errors of the server come back as the errors of ``tiphys.errors`` that they were.
"""

from __future__ import annotations

import http.client
import json
import ssl
from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

from tiphys import errors
from tiphys.errors import TiphysError

PREFIX = "/api/v1"
_KINDS: Mapping[str, type[TiphysError]] = {
    "unauthenticated": errors.UnauthenticatedError,
    "forbidden": errors.ForbiddenError,
    "not_found": errors.NotFoundError,
    "conflict": errors.ConflictError,
    "idempotency_conflict": errors.ConflictError,
    "invalid_input": errors.InvalidInputError,
    "storage_full": errors.StoreFullError,
    "store_unavailable": errors.StoreError,
}


class AnswerError(TiphysError):
    """The server could not be reached, or said something that has no error of its own."""

    code: ClassVar[str] = "bad_answer"
    status: int = 0
    """Of the answer, where there was one."""


class Transport:
    """Where the server is, and the connections to it. Any number of threads may use it."""

    def __init__(self, url: str, token: str, timeout: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise errors.InvalidInputError(f"{url!r} is no address of a server")
        self.url, self._token, self._timeout = url.rstrip("/"), token, timeout
        self._host, self._port, self._secure = parts.hostname, parts.port, parts.scheme == "https"
        self._idle: deque[http.client.HTTPConnection] = deque()

    @property
    def headers(self) -> dict[str, str]:
        """What every request carries."""
        return {"Authorization": f"Bearer {self._token}"}

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        headers: Mapping[str, str],
    ) -> bytes:
        """Send a request and give the body of the answer."""
        response, connection = self.open(method, path, body, headers)
        try:
            raw = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise AnswerError(f"{self.url}: {error}") from error
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        if response.status >= 400:
            raise error_of(response.status, raw)
        return raw

    def open(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        headers: Mapping[str, str],
        timeout: float | None = None,
    ) -> tuple[http.client.HTTPResponse, http.client.HTTPConnection]:
        """Send a request and give the answer as it begins to come."""
        sent = {**self.headers, **headers}
        raw = None
        if body is not None:
            raw = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        while True:
            connection, used = self._connection()
            if timeout is not None:
                _wait_longer(connection, timeout)
            try:
                connection.request(method, _whole(path), raw, sent)
                return connection.getresponse(), connection
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                # A connection that was kept may have been closed in the meantime. Only what
                # changes nothing is sent twice.
                if used and method == "GET":
                    continue
                raise AnswerError(f"{self.url}: {error}") from error

    def _connection(self) -> tuple[http.client.HTTPConnection, bool]:
        try:
            return self._idle.pop(), True
        except IndexError:
            pass
        if self._secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(
                self._host, self._port, timeout=self._timeout, context=context
            ), False
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout), False

    def close(self) -> None:
        """Close what is kept."""
        while self._idle:
            self._idle.pop().close()


def _wait_longer(connection: http.client.HTTPConnection, timeout: float) -> None:
    connection.timeout = timeout
    if connection.sock is not None:
        connection.sock.settimeout(timeout)


def _whole(path: str) -> str:
    return path if path.startswith("/argo/") else PREFIX + path


def error_of(status: int, raw: bytes) -> TiphysError:
    """Give the error that an answer tells of."""
    try:
        answer = json.loads(raw)
        if "error" not in answer:  # The Argo Server's shape.
            kind = {404: errors.NotFoundError, 401: errors.UnauthenticatedError}.get(status)
            return _with_status((kind or AnswerError)(str(answer["message"])), status)
        error = answer["error"]
        code, detail = str(error["code"]), str(error["detail"])
        listed = [each for each in error["errors"] if each.get("message")]
    except (ValueError, KeyError, TypeError):
        return _with_status(AnswerError(f"the server answered {status}: {raw[:200]!r}"), status)
    if listed:
        return errors.SpecError([_problem(code, each) for each in listed])
    return _with_status(_KINDS.get(code, AnswerError)(detail or code), status)


def _with_status(error: TiphysError, status: int) -> TiphysError:
    if isinstance(error, AnswerError):
        error.status = status
    return error


def _problem(code: str, each: Mapping[str, Any]) -> errors.Problem:
    return errors.Problem(
        code=str(each.get("code") or code),
        message=str(each["message"]),
        path=str(each.get("path") or ""),
        line=each.get("line") or 0,
        column=each.get("column") or 0,
    )
