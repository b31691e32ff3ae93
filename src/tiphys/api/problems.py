"""Errors as answers: one table from codes to HTTP statuses, and the envelope around them.

Nothing of the inside leaves here: no traces, input echoed no longer than 200 characters, control
characters escaped. Under ``/argo`` the same text comes in the Argo Server's shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from tiphys.errors import Problem, SpecError, TiphysError

MAX_ECHO = 200
MAX_DETAIL = 2000
MAX_ERRORS = 100

STATUS: Mapping[str, int] = {
    "unauthenticated": 401,
    "forbidden": 403,
    "bad_origin": 403,
    "policy_denied": 403,
    "not_found": 404,
    "artifact_not_found": 404,
    "method_not_allowed": 405,
    "conflict": 409,
    "name_taken": 409,
    "stale": 409,
    "idempotency_conflict": 409,
    "body_too_large": 413,
    "unsupported_media_type": 415,
    "parse_error": 400,
    "yaml_limit": 400,
    "duplicate_key": 400,
    "yaml_tag": 400,
    "bad_filter": 400,
    "bad_id": 400,
    "bad_request": 400,
    "invalid_input": 422,
    "invalid_spec": 422,
    "unknown_field": 422,
    "fanout_limit": 422,
    "expression_error": 422,
    "expression_limit": 422,
    "not_implemented": 501,
    "rate_limited": 429,
    "artifact_error": 502,
    "cluster_error": 502,
    "artifact_unsafe": 422,
    "egress_denied": 403,
    "storage_full": 507,
    "store_error": 503,
    "store_unavailable": 503,
    "provider_unavailable": 503,
    "not_ready": 503,
    "stale_epoch": 503,
    "internal": 500,
}
_PUBLIC = {"store_error": "store_unavailable", "stale_epoch": "store_unavailable"}
"""Codes that say more about the inside than callers need."""
_HIDDEN = {
    "store_unavailable": "the store cannot be reached; try again",
    "storage_full": "there is no room left on the server's disk",
    "internal": "something went wrong inside; the request id finds it in the server's log",
}
_NOWHERE: Mapping[str, Any] = {"path": "", "line": None, "column": None}
"""What an error says that is in no line of a text."""
_TOLD = {"stale": "conflict"}
"""Codes that only the Argo Server's API tells apart."""
RETRY_AFTER = {429: "1", 503: "2", 507: "10"}
"""Seconds, by status."""

# google.rpc.Code, as the Argo Server's gateway answers.
_GRPC = {
    400: 3,
    401: 16,
    403: 7,
    404: 5,
    405: 12,
    409: 6,
    413: 3,
    415: 3,
    422: 3,
    429: 8,
    501: 12,
    502: 14,
    503: 14,
    507: 8,
}


class RequestError(TiphysError):
    """A request that cannot be served as it is; the code says why."""

    def __init__(self, code: str, message: str, errors: Iterable[Mapping[str, Any]] = ()) -> None:
        super().__init__(message)
        self.reason = code
        self.errors = tuple(errors)


def code_of(error: TiphysError) -> str:
    """Give the public code of an error."""
    code: str = error.code
    if isinstance(error, RequestError):
        code = error.reason
    elif isinstance(error, SpecError):
        code = _spec_code(error.problems)
    return _PUBLIC.get(code, code)


def _spec_code(problems: Iterable[Problem]) -> str:
    """A file that cannot be read at all says more than what else is wrong with it."""
    codes = [problem.code for problem in problems if not problem.warning]
    unreadable = [code for code in codes if STATUS.get(code) == 400]
    return next(iter((*unreadable, *codes)), "invalid_spec")


def status_of(error: TiphysError) -> int:
    """Give the HTTP status of an error."""
    return STATUS.get(code_of(error), 500)


def echo(text: str, limit: int = MAX_ECHO) -> str:
    """Make text safe to show: short, and without control characters."""
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in short)


def problem_response(error: TiphysError, request_id: str, path: str = "") -> Response:
    """Give the answer to a request that failed."""
    code, status = code_of(error), status_of(error)
    message, detail, errors = _words(error, code)
    headers = {"Retry-After": RETRY_AFTER[status]} if status in RETRY_AFTER else {}
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="tiphys"'
    if path.startswith("/argo/"):
        body: dict[str, Any] = {"code": _GRPC.get(status, 13), "message": detail or message}
    else:
        body = {
            "success": False,
            "message": message,
            "error": {
                "code": _TOLD.get(code, code),
                "detail": detail,
                "errors": errors,
                "request_id": request_id,
            },
        }
    return Response(
        msgspec.json.encode(body), status, headers=headers, media_type="application/json"
    )


def _words(error: TiphysError, code: str) -> tuple[str, str, list[dict[str, Any]]]:
    if code in _HIDDEN:
        return _HIDDEN[code], "", []
    if isinstance(error, SpecError):
        wrong = [problem for problem in error.problems if not problem.warning]
        errors = [problem_json(problem) for problem in wrong[:MAX_ERRORS]]
        first = str(errors[0]["message"]) if errors else "the text cannot be used"
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        return echo(first + more, MAX_DETAIL), _lines(wrong), errors
    text = echo(str(error), MAX_DETAIL)
    listed = error.errors if isinstance(error, RequestError) else ()
    return text, text, [{**_NOWHERE, **each} for each in listed]


def _lines(problems: Iterable[Problem]) -> str:
    return "; ".join(echo(str(problem), MAX_DETAIL) for problem in problems)[:MAX_DETAIL]


def problem_json(problem: Problem) -> dict[str, Any]:
    """Give one problem of a file as the envelope lists it."""
    message = problem.message + (f" ({problem.hint})" if problem.hint else "")
    return {
        "path": echo(problem.path),
        "line": problem.line or None,
        "column": problem.column or None,
        "message": echo(message, MAX_DETAIL),
        "code": problem.code,
        **({"warning": True} if problem.warning else {}),
    }
