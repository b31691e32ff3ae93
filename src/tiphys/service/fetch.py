"""Requests to the OIDC provider: few, small, and with a limit on everything.

The addresses come from the settings and from the provider itself, never from those who log in.
Called from threads. Redirects are not followed: a provider's addresses are the ones it publishes.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode, urlsplit

from tiphys.errors import TiphysError, UnauthenticatedError

PATIENCE = 10.0
MAX_ANSWER = 1024 * 1024
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class ProviderError(TiphysError):
    """The OIDC provider cannot be reached, or says something that makes no sense."""

    code: ClassVar[str] = "provider_unavailable"


class RefusedError(UnauthenticatedError):
    """The OIDC provider says no, or its word does not hold."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow nothing."""


_open = urllib.request.build_opener(_NoRedirect()).open


def check_address(url: str) -> str:
    """Give an address back that secrets may be sent to; raise for others."""
    parts = urlsplit(url)
    local = parts.hostname in _LOOPBACK
    if parts.scheme != "https" and not (parts.scheme == "http" and local):
        raise ProviderError(f"the provider's address {url[:200]!r} is not https")
    return url


def get_json(url: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Fetch an object."""
    return _ask(urllib.request.Request(check_address(url), headers=dict(headers or {})))


def post_form(url: str, fields: Mapping[str, str], headers: Mapping[str, str]) -> dict[str, Any]:
    """Send a form and read the object that comes back."""
    data = urlencode(fields).encode()
    return _ask(urllib.request.Request(check_address(url), data=data, headers=dict(headers)))


def _ask(request: urllib.request.Request) -> dict[str, Any]:
    request.add_header("Accept", "application/json")
    try:
        with _open(request, timeout=PATIENCE) as response:
            raw = response.read(MAX_ANSWER + 1)
    except urllib.error.HTTPError as error:
        with error:
            raise _refusal(error.code, error.read(MAX_ANSWER)) from None
    except (OSError, ValueError) as error:
        raise ProviderError(f"the provider cannot be reached: {error}") from error
    return _object(raw)


def _refusal(status: int, raw: bytes) -> TiphysError:
    """An answer in OAuth's own form is a refusal; anything else is a provider in trouble."""
    try:
        reason = str(_object(raw)["error"])
    except (ProviderError, KeyError):
        return ProviderError(f"the provider answered {status}")
    return RefusedError(f"the provider refused: {reason[:100]}")


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw) if len(raw) <= MAX_ANSWER else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ProviderError("the provider's answer is no JSON object")
    return value
