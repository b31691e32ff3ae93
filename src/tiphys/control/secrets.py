"""Secrets on disk: a file each, readable by their owner alone, and never in the database."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tiphys.core.name import is_dns1123_subdomain
from tiphys.errors import InvalidInputError
from tiphys.spec import model
from tiphys.spec.library import Library

_decode = msgspec.json.Decoder(dict[str, bytes]).decode


class SecretFolder:
    """Secrets by namespace and name, under one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, secret: model.Secret, namespace: str) -> None:
        """Keep a secret, in place of one of the same name."""
        library = Library(namespace=namespace, secrets={(namespace, secret.metadata.name): secret})
        values = secret_values(library, namespace, secret.metadata.name) or {}
        path = self._path(namespace, secret.metadata.name)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_suffix(".new")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(msgspec.json.encode(values))
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)

    def load(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """Give the values of a secret, None where there is none."""
        try:
            return _decode(self._path(namespace, name).read_bytes())
        except FileNotFoundError:
            return None

    def _path(self, namespace: str, name: str) -> Path:
        if not (is_dns1123_subdomain(namespace) and is_dns1123_subdomain(name)):
            raise InvalidInputError(f"{name[:60]!r} cannot be the name of a secret")
        return self._folder / namespace / f"{name}.json"


def secret_values(library: Library, namespace: str, name: str) -> dict[str, bytes] | None:
    """Give the values of a secret of a library, decoded."""
    found = library.secrets.get((namespace, name))
    if found is None:
        return None
    names = (*found.data, *found.string_data)
    values = {key: library.secret_value(name, key, namespace=namespace) for key in names}
    return {key: value for key, value in values.items() if value is not None}
