"""From our errors to those of the Argo Server: ``{"code": gRPC's number, "message": …}``.

One table beside that of ``api.problems``, because Argo's gateway knows fewer statuses. The text is
the same as everywhere else; what we did not foresee says nothing of itself.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from tiphys.api.problems import MAX_DETAIL, RETRY_AFTER, code_of, echo
from tiphys.errors import Problem, SpecError, TiphysError

_log = logging.getLogger(__name__)

INVALID, NOT_FOUND, EXISTS, DENIED = 3, 5, 6, 7
EXHAUSTED, PRECONDITION, ABORTED, MISSING = 8, 9, 10, 12
INTERNAL, UNAVAILABLE, UNKNOWN_CALLER = 13, 14, 16

STATUS: Mapping[int, int] = {
    INVALID: 400,
    NOT_FOUND: 404,
    EXISTS: 409,
    DENIED: 403,
    EXHAUSTED: 429,
    PRECONDITION: 400,
    ABORTED: 409,
    MISSING: 501,
    INTERNAL: 500,
    UNAVAILABLE: 503,
    UNKNOWN_CALLER: 401,
}
"""HTTP's number for each of gRPC's."""

CODES: Mapping[str, int] = {
    "unauthenticated": UNKNOWN_CALLER,
    "forbidden": DENIED,
    "bad_origin": DENIED,
    "policy_denied": DENIED,
    "egress_denied": DENIED,
    "not_found": NOT_FOUND,
    "artifact_not_found": NOT_FOUND,
    "name_taken": EXISTS,
    "stale": ABORTED,
    "conflict": PRECONDITION,
    "not_implemented": MISSING,
    "rate_limited": EXHAUSTED,
    "storage_full": UNAVAILABLE,
    "store_unavailable": UNAVAILABLE,
    "artifact_error": INTERNAL,
    "internal": INTERNAL,
}
"""gRPC's number for our codes; all others are about what was sent."""
_OWN_STATUS: Mapping[str, int] = {"body_too_large": 413, "storage_full": 507}
_HIDDEN: Mapping[str, str] = {
    "internal": "something went wrong inside the server",
    "store_unavailable": "the store cannot be reached; try again",
    "storage_full": "there is no room left on the server's disk",
}
_MAX_PROBLEMS = 20


def describe(error: Exception) -> tuple[int, int, str]:
    """Give HTTP's status, gRPC's code and the text for an error."""
    name = code_of(error) if isinstance(error, TiphysError) else "internal"
    if name == "internal":
        _log.error("a request failed", exc_info=error)
    code = CODES.get(name, INVALID)
    return _OWN_STATUS.get(name, STATUS[code]), code, _HIDDEN.get(name) or _text(error)


def refuse(error: Exception) -> Response:
    """Answer with an error."""
    status, code, message = describe(error)
    body = msgspec.json.encode({"code": code, "message": message})
    headers = {"Retry-After": RETRY_AFTER[status]} if status in RETRY_AFTER else {}
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="tiphys"'
    return Response(body, status, headers, "application/json")


def _text(error: Exception) -> str:
    if isinstance(error, SpecError):
        wrong = [_line(problem) for problem in error.problems if not problem.warning]
        return "\n".join(wrong[:_MAX_PROBLEMS])
    return echo(str(error), MAX_DETAIL)


def _line(problem: Problem) -> str:
    """Write a problem without its line: the text that it counts is one that we wrote."""
    text = f"{problem.path}: {problem.message}" if problem.path else problem.message
    hint = f" ({problem.hint})" if problem.hint else ""
    return echo(f"{text}{hint} [{problem.code}]", MAX_DETAIL)
