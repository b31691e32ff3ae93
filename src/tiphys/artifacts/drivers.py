"""Which kind of location is served by which driver."""

from __future__ import annotations

from datetime import UTC, datetime

from tiphys.artifacts.config import ArtifactConfig
from tiphys.artifacts.driver import Driver
from tiphys.artifacts.git import GitDriver
from tiphys.artifacts.objects import ObjectDriver
from tiphys.artifacts.raw import RawDriver
from tiphys.artifacts.secret import SecretReader
from tiphys.artifacts.stores import ObjectStores
from tiphys.artifacts.web import WebDriver
from tiphys.net.connection import Web
from tiphys.net.egress import EgressPolicy


def make_drivers(config: ArtifactConfig, secrets: SecretReader) -> dict[str, Driver]:
    """Make a driver for each kind that can be served, but the local one."""
    policy = EgressPolicy(config.egress.allow)
    web = WebDriver(Web(policy, timeout=config.timeout_seconds), secrets, config.limits)
    stores = ObjectStores(config, policy, secrets, _now)
    return {
        "artifactory": web,
        "azure": ObjectDriver(stores.azure, config),
        "gcs": ObjectDriver(stores.gcs, config),
        "git": GitDriver(policy, secrets, allow_local=config.allow_local_git),
        "http": web,
        "raw": RawDriver(),
        "s3": ObjectDriver(stores.s3, config, stores.make_bucket),
    }


def _now() -> datetime:
    # Signatures carry the real time or are refused: no other clock will do.
    return datetime.now(UTC)  # noqa: TID251
