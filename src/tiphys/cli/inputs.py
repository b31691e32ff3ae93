"""What commands are given: files, parameters, settings, the data directory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tiphys.config import Config, load_config
from tiphys.errors import InvalidInputError
from tiphys.folders import data_dir
from tiphys.ports import SCHEDULER_LABEL

MAX_FILE = 16 * 1024 * 1024
"""What is read of a file. The parser takes less and says so; the rest need not be in memory."""
_SUFFIXES = frozenset({".yaml", ".yml", ".json"})


def read_files(names: Sequence[str], *, folders: bool = False) -> list[tuple[str, bytes]]:
    """Read each file; ``-`` is stdin, and a folder (if allowed) all YAML and JSON below it.

    Below a folder lies other people's JSON too (settings of programs, data): only what may be an
    object of Kubernetes counts there.
    """
    files: list[tuple[str, bytes]] = []
    for name in names:
        if name == "-":
            files.append(("-", sys.stdin.buffer.read(MAX_FILE + 1)))
        elif folders and Path(name).is_dir():
            found = [(path, _read(path)) for path in _below(Path(name))]
            files += [(str(path), data) for path, data in found if _is_meant(path, data)]
        else:
            files.append((name, _read(Path(name))))
    return files


def _below(folder: Path) -> Iterable[Path]:
    paths = (path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file())
    return sorted(path for path in paths if not _is_hidden(path.relative_to(folder)))


def _is_meant(path: Path, data: bytes) -> bool:
    return path.suffix != ".json" or (b'"kind"' in data and b'"apiVersion"' in data)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE + 1)
    except OSError as error:
        raise InvalidInputError(f"{path}: {error.strerror or error}") from error


def read_parameters(pairs: Sequence[str], file: str | None) -> dict[str, str]:
    """Join the parameters of a file and those of ``-p``, which win."""
    parameters = _parameter_file(file) if file else {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise InvalidInputError(f"-p {pair!r}: expected name=value")
        parameters[name] = value
    return parameters


def _parameter_file(name: str) -> dict[str, str]:
    from tiphys.spec import yaml  # noqa: PLC0415

    ((_, data),) = read_files([name])
    documents = yaml.load(data, file=name)
    if not documents:
        return {}
    value = documents[0].value
    if len(documents) > 1 or not isinstance(value, dict):
        raise InvalidInputError(f"{name}: expected one mapping of parameters to values")
    return {key: _as_text(item) for key, item in value.items()}


def _as_text(value: Any) -> str:
    """Write a value as Argo does: text as it is, anything else as JSON."""
    import json  # noqa: PLC0415

    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def read_labels(text: str) -> dict[str, str]:
    """Read ``a=b,c=d``."""
    labels = {}
    for pair in filter(None, text.split(",")):
        name, equals, value = pair.partition("=")
        if not (name.strip() and equals):
            raise InvalidInputError(f"{pair!r}: expected label=value")
        labels[name.strip()] = value.strip()
    return labels


def scheduler_label(scheduler: str | None) -> dict[str, str]:
    """Give the label that says where a workflow's tasks run; none where nothing was said."""
    return {SCHEDULER_LABEL: scheduler} if scheduler else {}


def settings(config: str | None = None, **flags: Any) -> Config:
    """Read the settings; ``flags`` are the keys of a file."""
    file = Path(config) if config else None
    return load_config(os.environ, cwd=Path.cwd(), file=file, flags=flags)


def data_folder() -> Path:
    """Give the data directory; it need not exist."""
    return data_dir(os.environ)
