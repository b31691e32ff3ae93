"""What a worker is configured for: which server, and whether work is handed over at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tiphys.errors import InvalidInputError

FLAG = "ENABLE_VOLCANO_SCHEDULER"
_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"", "0", "false", "no", "off"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How activities reach Tiphys.

    With ``enabled`` they submit to the server at ``url``. Without it the worker runs the work
    itself, by a server of its own that nobody else sees and that ends with it.
    """

    enabled: bool = False
    url: str = ""
    token: str = ""
    scheduler: str = "local"
    data: Path | None = None
    """Where the worker's own server keeps its data; a temporary folder if none is given."""
    log_lines: int = 20
    """So many last lines of each task come back with the result."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read the settings of a worker; raise InvalidInputError where they make no sense."""
        env = os.environ if environment is None else environment
        word = env.get(FLAG, "").strip().lower()
        if word not in _TRUE | _FALSE:
            raise InvalidInputError(f"{FLAG} is {word!r}: write true or false")
        enabled = word in _TRUE
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
            scheduler=env.get("TIPHYS_SCHEDULER", "local"),
            data=Path(folder) if folder else None,
        )


def _token(env: Mapping[str, str]) -> str:
    file = env.get("TIPHYS_TOKEN_FILE", "")
    if file:
        try:
            return Path(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise InvalidInputError(f"TIPHYS_TOKEN_FILE: {file}: {error.strerror}") from error
    return env.get("TIPHYS_TOKEN", "")
