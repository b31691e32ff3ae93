"""A spec that is the end of its manifest is kept once.

Most workflows run as they were submitted: no template, no default adds to them. Then the manifest's
text ends with the spec's, and a brace; in place of the spec its length is kept, so that a large
workflow is written, synced and copied once. The store still looks into neither.
"""

from __future__ import annotations

_DIGITS = 12
"""More no length has; what looks like one is damage."""


def shortened(manifest: bytes, spec: bytes) -> bytes:
    """Give what is kept of a spec beside its manifest."""
    is_end = spec.startswith(b"{") and manifest.endswith(spec, 0, -1)
    return str(len(spec)).encode() if is_end else spec


def restored(manifest: bytes, kept: bytes) -> bytes:
    """Give the spec."""
    is_length = kept.isdigit() and len(kept) <= _DIGITS
    return manifest[-1 - int(kept) : -1] if is_length else kept
