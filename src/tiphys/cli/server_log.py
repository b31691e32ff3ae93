"""How ``tiphys server`` writes its log: lines for people, or JSON for machines."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any


class JsonLines(logging.Formatter):
    """One JSON object a record."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        entry: dict[str, Any] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry.update(getattr(record, "fields", {}))
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def open_log(form: str) -> Callable[[str], None]:
    """Set the log up on stderr; give what writes a note into it."""
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("tiphys server: %(message)s")
    handler.setFormatter(JsonLines() if form == "json" else text)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    if form == "json":
        # Every change of a queue's state: too much for people, right for machines.
        logging.getLogger("tiphys.state").setLevel(logging.INFO)
    notes = logging.getLogger("tiphys.server")
    notes.setLevel(logging.INFO)
    return notes.info
