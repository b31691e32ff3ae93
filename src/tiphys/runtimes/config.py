"""What the configuration says about running nodes on this machine.

Does without ``from __future__ import annotations``, for the reason that `spec.model.base` gives.
"""

import msgspec

ENGINES = ("podman", "docker")
"""The container engines that run real images (`runtimes.engine`)."""


class ImageCommand(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """What an image runs when nothing else is said; the keys are Argo's."""

    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()


class LocalConfig(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Settings of the local runtime."""

    images: dict[str, ImageCommand] = msgspec.field(default_factory=dict)
    isolation: str = "auto"
    """``sandbox``, ``process``, ``podman`` or ``docker`` for real images, or ``auto``: a sandbox
    where the kernel allows it."""
    log_cap: int = 256 * 1024 * 1024
    """Bytes kept of each output stream; the oldest go first."""
    allow_host_path: bool = False
    allow_privileged: bool = False
    grace_seconds: float = 30.0
    """Between SIGTERM and SIGKILL when a deadline has passed or sidecars end."""
    pass_environment: tuple[str, ...] = ()
    """More variables of the server's own environment that tasks see."""
    linger_seconds: float = 10.0
    """How long an executor without tasks and without a server stays."""
    max_processes: int = 0
    """Processes one attempt may have at once; 0 is no limit."""
