"""How a leaf that needs no process ended."""

from __future__ import annotations

from dataclasses import dataclass

from tiphys.spec import model


@dataclass(frozen=True, slots=True)
class End:
    """Phase, message and outputs, before they become a ``TaskEnded``."""

    phase: str
    message: str = ""
    outputs: model.Outputs | None = None
    stopped: bool = False
    lost: bool = False
