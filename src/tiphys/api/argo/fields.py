"""Which fields of an answer are wanted: ``metadata,items.status.phase``; with ``-`` all but those.

Pure. Names are dotted paths; lists are looked through.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Fields:
    """A choice of fields; none at all chooses everything."""

    names: frozenset[str] = frozenset()
    exclude: bool = False

    @classmethod
    def parse(cls, text: str, *, below: str = "") -> Fields:
        """Read a choice; with ``below``, as it is for what lies under that path."""
        exclude = text.startswith("-")
        names = (name.strip() for name in text.removeprefix("-").split(","))
        return cls(frozenset(name.removeprefix(below) for name in names if name), exclude)

    @classmethod
    def of_items(cls, text: str) -> Fields:
        """Read a choice for a list, as it is for each of its items."""
        whole = cls.parse(text)
        if "items" in whole.names and not whole.exclude:
            return cls()
        inside = {name.removeprefix("items.") for name in whole.names if name.startswith("items.")}
        # A choice of the list's own fields alone leaves nothing of the items.
        nothing = {""} if whole.names and not whole.exclude else set()
        return cls(frozenset(inside or nothing), whole.exclude)

    def wants(self, path: str) -> bool:
        """Tell whether anything at or below ``path`` is to be shown."""
        if not self.names:
            return True
        if self.exclude:
            return not any(path == name or path.startswith(f"{name}.") for name in self.names)
        return any(
            path == name or path.startswith(f"{name}.") or name.startswith(f"{path}.")
            for name in self.names
        )

    def clean(self, value: Any) -> Any:
        """Give a copy of JSON data with the wanted fields only."""
        return self._clean(value, "") if self.names else value

    def _clean(self, value: Any, path: str) -> Any:
        if isinstance(value, list):
            return [self._clean(item, path) for item in value]
        if not isinstance(value, dict):
            return value
        kept = {}
        for key, inner in value.items():
            place = f"{path}.{key}" if path else key
            if self.wants(place):
                kept[key] = self._clean(inner, place)
        return kept
