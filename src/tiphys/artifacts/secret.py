"""Reading the secrets that a location names, in the namespace of its workflow."""

from __future__ import annotations

from collections.abc import Callable

from tiphys.errors import ArtifactError, NotFoundError
from tiphys.spec import model

SecretReader = Callable[[str, str, str], bytes]
"""Gives the value of (namespace, secret, key); KeyError or NotFoundError where there is none."""


class Secrets:
    """The secrets of one namespace."""

    def __init__(self, reader: SecretReader, namespace: str) -> None:
        self._reader = reader
        self._namespace = namespace

    def data(self, selector: model.SecretKeySelector | None) -> bytes:
        """Give a value; nothing for no selector, or for an optional one that leads nowhere."""
        if selector is None:
            return b""
        try:
            return self._reader(self._namespace, selector.name, selector.key)
        except (KeyError, NotFoundError) as error:
            if selector.optional:
                return b""
            raise ArtifactError(f"secret {selector.name} has no key {selector.key}") from error

    def text(self, selector: model.SecretKeySelector | None) -> str:
        """Give a value as text. A trailing line end, as editors leave it, does not count."""
        try:
            return self.data(selector).decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise ArtifactError("a secret is not text") from error
