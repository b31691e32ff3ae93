"""How much an archive may unfold to, and the meter that watches it."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from tiphys.errors import ArtifactUnsafeError


class Limits(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Caps on one artifact. Beyond one of them it is refused as unsafe."""

    max_bytes: int = 16 << 30
    """Bytes of all files together, unpacked."""
    max_entries: int = 1_000_000
    max_ratio: int = 250
    """Unpacked to packed, looked at beyond ``ratio_from`` bytes; 0 turns it off."""
    ratio_from: int = 256 << 20


@dataclass(slots=True)
class Meter:
    """Counts what one artifact has come to so far."""

    limits: Limits
    packed: int = 0
    """Bytes of the archive itself; 0 where it is not packed at all."""
    written: int = field(default=0, init=False)
    entries: int = field(default=0, init=False)

    def entry(self) -> None:
        """Count one more entry."""
        self.entries += 1
        if self.entries > self.limits.max_entries:
            raise ArtifactUnsafeError(f"more than {self.limits.max_entries} entries")

    def grow(self, size: int) -> None:
        """Count ``size`` more bytes, before they are written."""
        self.written += size
        limits = self.limits
        if self.written > limits.max_bytes:
            raise ArtifactUnsafeError(f"more than {limits.max_bytes} bytes")
        if not (self.packed and limits.max_ratio) or self.written < limits.ratio_from:
            return
        if self.written > self.packed * limits.max_ratio:
            raise ArtifactUnsafeError(f"unpacks to more than {limits.max_ratio} times its size")
