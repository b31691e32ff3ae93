"""How a leaf that needs no process ended."""

from __future__ import annotations

import msgspec

from tiphys.spec import model


class End(msgspec.Struct, frozen=True):
    """Phase, message and outputs, before they become a ``TaskEnded``."""

    phase: str
    message: str = ""
    outputs: model.Outputs | None = None
    stopped: bool = False
    lost: bool = False
