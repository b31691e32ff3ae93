"""What a worker is configured for: which server, and whether work is handed over at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tiphys.config import VOLCANO_FLAG, read_truth
from tiphys.errors import InvalidInputError

FLAG = VOLCANO_FLAG


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How activities reach Tiphys.

    With ``enabled`` they submit to the server at ``url``. Without it the worker runs the work
    itself, by a server of its own over ``data`` that ends with it.
    """

    enabled: bool = False
    url: str = ""
    token: str = ""
    scheduler: str = ""
    """Who runs it there; "": as the server is configured."""
    data: Path = field(default_factory=lambda: default_data(os.environ))
    """Where the worker's own server keeps its data. It must outlast the worker: with it gone, a
    worker that starts again after a crash cannot find what it had begun."""
    log_lines: int = 20
    """So many last lines of each task come back with the result."""
    patience: float = 60.0
    """So many seconds a server that is away is waited for before Temporal is told."""
    stop_seconds: float = 60.0
    """So many seconds work that was told to stop may take before Temporal is told all the same."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read the settings of a worker; raise InvalidInputError where they make no sense."""
        env = os.environ if environment is None else environment
        word = env.get(FLAG, "").strip()
        try:
            enabled = bool(word) and read_truth(word)
        except ValueError:
            raise InvalidInputError(f"{FLAG} is {word!r}: write true or false") from None
        url = env.get("TIPHYS_SERVER", "")
        if enabled and not url:
            raise InvalidInputError(
                f"{FLAG} is on, but no server is named: set TIPHYS_SERVER to its address"
            )
        folder = env.get("TIPHYS_TEMPORAL_DATA", "")
        return cls(
            enabled=enabled,
            url=url,
            token=_token(env),
            scheduler=env.get("TIPHYS_SCHEDULER", ""),
            data=Path(folder) if folder else default_data(env),
        )


def default_data(env: Mapping[str, str]) -> Path:
    """Give the folder of the worker's own server where none is named."""
    base = env.get("XDG_DATA_HOME") or str(Path.home() / ".local/share")
    return Path(base) / "tiphys-temporal"


def _token(env: Mapping[str, str]) -> str:
    file = env.get("TIPHYS_TOKEN_FILE", "")
    if file:
        try:
            return Path(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise InvalidInputError(f"TIPHYS_TOKEN_FILE: {file}: {error.strerror}") from error
    return env.get("TIPHYS_TOKEN", "")
