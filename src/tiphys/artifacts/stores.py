"""Opening the object stores that locations name, with the log-in that fits.

The library, obstore, is an optional extra and imported only here, when such an artifact is met.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from tiphys.artifacts import location
from tiphys.artifacts.bucket import Account, make_bucket
from tiphys.artifacts.config import ArtifactConfig
from tiphys.artifacts.secret import SecretReader, Secrets
from tiphys.errors import ArtifactError
from tiphys.net.connection import Web
from tiphys.net.egress import EgressPolicy
from tiphys.spec import model

_PLAIN_URL = re.compile(r"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[\w./-]*)?")
_DEFAULT_REGION = "us-east-1"
_EXTRA = "this artifact needs the package obstore: install tiphys[s3]"


class ObjectStores:
    """Opens the stores that locations name, with the log-in that fits."""

    def __init__(
        self,
        config: ArtifactConfig,
        policy: EgressPolicy,
        secrets: SecretReader,
        now: Callable[[], datetime],
    ) -> None:
        self._now = now
        self._timeout = config.timeout_seconds
        self._policy = policy
        self._secrets = secrets
        self._home = config.artifact_repository.location()
        self._machine = config.allow_machine_credentials
        self._options: dict[str, Any] = {
            "connect_timeout": timedelta(seconds=config.timeout_seconds),
            "timeout": timedelta(hours=1),
        }
        self._retry = {"max_retries": 3, "retry_timeout": timedelta(seconds=config.timeout_seconds)}

    def s3(self, artifact: model.Artifact, namespace: str) -> Any:
        """Open a bucket of S3."""
        place = artifact.s3
        assert place is not None
        url = _endpoint_of(artifact)
        self._judge(url)
        secrets = Secrets(self._secrets, namespace)
        options: dict[str, Any] = {
            **self._options,
            "allow_http": bool(place.insecure),
        }
        if place.ca_secret is not None:
            options["root_certificate"] = secrets.data(place.ca_secret)
        return _store_types().S3Store(
            place.bucket,
            config=_s3_settings(place, secrets, url, own=self._is_own(artifact)),
            client_options=options,
            retry_config=self._retry,
        )

    def make_bucket(self, artifact: model.Artifact, namespace: str) -> None:
        """Make the bucket if it is missing and the location says so."""
        place = artifact.s3
        assert place is not None
        if place.create_bucket_if_not_present is None:
            return
        url = _endpoint_of(artifact)
        policy = EgressPolicy(["*"]) if self._judge(url) else self._policy
        secrets = Secrets(self._secrets, namespace)
        account = Account(
            region=place.region or _DEFAULT_REGION,
            access_key=secrets.text(place.access_key_secret),
            secret_key=secrets.text(place.secret_key_secret),
            session_token=secrets.text(place.session_token_secret),
        )
        web = Web(policy, timeout=self._timeout)
        make_bucket(web, url, place.bucket, account, self._now())

    def gcs(self, artifact: model.Artifact, namespace: str) -> Any:
        """Open a bucket of Google Cloud Storage."""
        place = artifact.gcs
        assert place is not None
        settings: dict[str, Any] = {}
        if place.service_account_key_secret is not None:
            secrets = Secrets(self._secrets, namespace)
            settings["service_account_key"] = secrets.text(place.service_account_key_secret)
        elif not self._is_own(artifact):
            settings["skip_signature"] = True
        return _store_types().GCSStore(
            place.bucket,
            config=settings,
            client_options=self._options,
            retry_config=self._retry,
        )

    def azure(self, artifact: model.Artifact, namespace: str) -> Any:
        """Open a container of Azure."""
        place = artifact.azure
        assert place is not None
        self._judge(place.endpoint)
        settings: dict[str, Any] = {
            "endpoint": place.endpoint,
            "account_name": (urlsplit(place.endpoint).hostname or "").split(".")[0],
        }
        if place.account_key_secret is not None:
            secrets = Secrets(self._secrets, namespace)
            settings["account_key"] = secrets.text(place.account_key_secret)
        elif not self._is_own(artifact):
            settings["skip_signature"] = True
        return _store_types().AzureStore(
            place.container,
            config=settings,
            client_options={**self._options, "allow_http": place.endpoint.startswith("http:")},
            retry_config=self._retry,
        )

    def _judge(self, url: str) -> bool:
        """Tell whether the endpoint is that of our own configuration; ask the policy about others.

        The library connects by itself, so unlike elsewhere the address cannot be pinned. Only plain
        URLs are let through, which nobody can read in two ways.
        """
        if url == _endpoint_of(self._home):
            return True
        if not _PLAIN_URL.fullmatch(url):
            raise ArtifactError(f"{url!r} is not an endpoint")
        parts = urlsplit(url)
        self._policy.addresses(str(parts.hostname), parts.port or 443)
        return False

    def _is_own(self, artifact: model.Artifact) -> bool:
        """Tell whether this machine's own log-in may be used: for the configured repository."""
        if self._machine:
            return True
        kind = location.kind_of(artifact)
        place, home = getattr(artifact, kind), getattr(self._home, kind)
        names = ("endpoint", "bucket", "container")
        return home is not None and all(
            getattr(place, name, "") == getattr(home, name, "") for name in names
        )


def _endpoint_of(place: model.ArtifactLocation) -> str:
    """Give the URL of an endpoint; S3's is a bare host in Argo."""
    if place.azure is not None:
        return place.azure.endpoint
    if place.s3 is None or not place.s3.endpoint:
        return ""
    if "://" in place.s3.endpoint:
        return place.s3.endpoint
    return f"{'http' if place.s3.insecure else 'https'}://{place.s3.endpoint}"


def _s3_settings(
    place: model.S3Artifact, secrets: Secrets, url: str, *, own: bool
) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "endpoint": url,
        "region": place.region or _DEFAULT_REGION,
        "virtual_hosted_style_request": False,
    }
    if place.access_key_secret is not None:
        settings["access_key_id"] = secrets.text(place.access_key_secret)
        settings["secret_access_key"] = secrets.text(place.secret_key_secret)
        if place.session_token_secret is not None:
            settings["session_token"] = secrets.text(place.session_token_secret)
    elif not own:
        # This machine's own log-in is not for a bucket that a workflow has chosen.
        settings["skip_signature"] = True
    if place.role_arn and own:
        settings["role_arn"] = place.role_arn
    settings |= _encryption(place.encryption_options)
    return settings


def _encryption(options: model.S3EncryptionOptions | None) -> dict[str, Any]:
    if options is None or not options.enable_encryption:
        return {}
    if options.server_side_customer_key_secret is not None:
        raise ArtifactError("encryption with a customer key is not supported here")
    if options.kms_key_id:
        return {"server_side_encryption": "aws:kms", "sse_kms_key_id": options.kms_key_id}
    return {"server_side_encryption": "AES256"}


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ArtifactError(_EXTRA) from error


def obstore() -> Any:
    """Give the library, or say which extra brings it."""
    return _import("obstore")


def _store_types() -> Any:
    return _import("obstore.store")


def exceptions() -> Any:
    """Give the errors of the library."""
    return _import("obstore.exceptions")
