"""What the configuration says about artifacts: ``artifactRepository`` and ``egress``.

The repository's keys are Argo's, so a controller's configuration can be pasted, and the same text
is found in the config maps that ``artifactRepositoryRef`` points at.
"""

from __future__ import annotations

import ipaddress
import posixpath

import msgspec

from tiphys.artifacts.limits import Limits
from tiphys.spec import model

DEFAULT_KEY_FORMAT = "{{workflow.name}}/{{pod.name}}"


class LocalRepository(model.LocalArtifact, frozen=True, kw_only=True):
    """This machine's own repository."""

    key_format: str = ""


class S3Repository(model.S3Artifact, frozen=True, kw_only=True):
    """A bucket of an S3 store."""

    key_format: str = ""
    key_prefix: str = ""


class GCSRepository(model.GCSArtifact, frozen=True, kw_only=True):
    """A bucket of Google Cloud Storage."""

    key_format: str = ""


class AzureRepository(model.AzureArtifact, frozen=True, kw_only=True):
    """A container of Azure."""

    blob_name_format: str = ""


class ArtifactoryRepository(model.ArtifactoryArtifact, frozen=True, kw_only=True):
    """A repository of Artifactory."""

    repo_url: str = msgspec.field(name="repoURL", default="")
    key_format: str = ""


class ArtifactRepository(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """Where artifacts without a location of their own go."""

    archive_logs: bool | None = None
    local: LocalRepository | None = None
    s3: S3Repository | None = None
    gcs: GCSRepository | None = None
    azure: AzureRepository | None = None
    artifactory: ArtifactoryRepository | None = None

    def location(self) -> model.ArtifactLocation:
        """Give the location whose key is the key format, tags and all."""
        local = self.local or LocalRepository()
        place = self.artifactory or self.azure or self.gcs or self.s3 or local
        match place:
            case ArtifactoryRepository():
                url = place.repo_url.rstrip("/") + "/" + (place.key_format or DEFAULT_KEY_FORMAT)
                artifactory = _narrow(place, model.ArtifactoryArtifact, url=url)
                return self._as_location(artifactory=artifactory)
            case AzureRepository():
                blob = place.blob_name_format or DEFAULT_KEY_FORMAT
                return self._as_location(azure=_narrow(place, model.AzureArtifact, blob=blob))
            case GCSRepository():
                key = place.key_format or DEFAULT_KEY_FORMAT
                return self._as_location(gcs=_narrow(place, model.GCSArtifact, key=key))
            case S3Repository():
                key = place.key_format or posixpath.join(place.key_prefix, DEFAULT_KEY_FORMAT)
                return self._as_location(s3=_narrow(place, model.S3Artifact, key=key))
        key = local.key_format or DEFAULT_KEY_FORMAT
        return self._as_location(local=model.LocalArtifact(key=key))

    def _as_location(self, **place: object) -> model.ArtifactLocation:
        return model.ArtifactLocation(archive_logs=self.archive_logs, **place)  # type: ignore[arg-type]


class Egress(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which addresses artifacts named by a workflow may be fetched from.

    Public addresses always; loopback, private, link-local and other special ones only when allowed.
    """

    allow: tuple[str, ...] = ()
    """Networks (``10.0.0.0/8``), addresses, host names (``*.example.org``), or ``*`` for all."""

    def __post_init__(self) -> None:
        """Find mistakes when the configuration is read, not when the first artifact is."""
        for text in self.allow:
            if not text or "/" in text:
                ipaddress.ip_network(text, strict=False)


class ArtifactConfig(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """The artifact part of ``tiphys.yaml``."""

    artifact_repository: ArtifactRepository = ArtifactRepository()
    egress: Egress = Egress()
    limits: Limits = Limits()
    durable: bool = True
    """Whether a saved artifact is flushed to the disk before it counts as saved."""
    allow_local_git: bool = False
    """Whether ``git.repo`` may be a folder of this machine."""
    allow_machine_credentials: bool = False
    """Whether a bucket that a workflow names may be opened with this machine's own log-in (the
    environment, the instance's role); the configured repository always may."""
    timeout_seconds: float = 60.0
    """How long a remote end may stay silent."""


def _narrow(place: msgspec.Struct, kind: type, **changed: object) -> object:
    """Give the location type that a repository type extends, with the key set."""
    names = {field.name for field in msgspec.structs.fields(kind)}
    values = {name: getattr(place, name) for name in names}
    return kind(**{**values, **changed})
