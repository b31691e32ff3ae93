"""Artifacts: where they lie, how they are packed, when they are deleted."""

from msgspec import field

from tiphys.spec.model.base import Model
from tiphys.spec.model.meta import ConfigMapKeySelector, Metadata, SecretKeySelector


class NoneStrategy(Model, frozen=True, kw_only=True):
    """Keep files as they are."""


class TarStrategy(Model, frozen=True, kw_only=True):
    """Pack as a compressed tar archive."""

    compression_level: int | None = None


class ZipStrategy(Model, frozen=True, kw_only=True):
    """Pack as a zip archive."""


class ArchiveStrategy(Model, frozen=True, kw_only=True):
    """How an artifact is packed."""

    none: NoneStrategy | None = None
    tar: TarStrategy | None = None
    zip: ZipStrategy | None = None


class ArtifactGC(Model, frozen=True, kw_only=True):
    """When an artifact is deleted, and by whom."""

    pod_metadata: Metadata | None = None
    service_account_name: str = ""
    strategy: str = ""


class WorkflowLevelArtifactGC(ArtifactGC, frozen=True, kw_only=True):
    """When the artifacts of a workflow are deleted."""

    force_finalizer_removal: bool = False
    pod_spec_patch: str = ""


class BasicAuth(Model, frozen=True, kw_only=True):
    """User name and password."""

    password_secret: SecretKeySelector | None = None
    username_secret: SecretKeySelector | None = None


class ClientCertAuth(Model, frozen=True, kw_only=True):
    """A client certificate."""

    client_cert_secret: SecretKeySelector | None = None
    client_key_secret: SecretKeySelector | None = None


class OAuth2EndpointParam(Model, frozen=True, kw_only=True):
    """A parameter of a token request."""

    key: str
    value: str = ""


class OAuth2Auth(Model, frozen=True, kw_only=True):
    """Client credentials."""

    client_id_secret: SecretKeySelector | None = field(name="clientIDSecret", default=None)
    client_secret_secret: SecretKeySelector | None = None
    endpoint_params: tuple[OAuth2EndpointParam, ...] = ()
    scopes: tuple[str, ...] = ()
    token_url_secret: SecretKeySelector | None = field(name="tokenURLSecret", default=None)


class HTTPAuth(Model, frozen=True, kw_only=True):
    """How to log in to an HTTP server."""

    basic_auth: BasicAuth | None = None
    client_cert: ClientCertAuth | None = None
    oauth2: OAuth2Auth | None = None


class Header(Model, frozen=True, kw_only=True):
    """A request header."""

    name: str
    value: str


class HTTPArtifact(Model, frozen=True, kw_only=True):
    """A file behind a URL."""

    auth: HTTPAuth | None = None
    headers: tuple[Header, ...] = ()
    url: str = ""


class CreateS3BucketOptions(Model, frozen=True, kw_only=True):
    """How a missing bucket is made."""

    object_locking: bool = False


class S3EncryptionOptions(Model, frozen=True, kw_only=True):
    """How objects are encrypted."""

    enable_encryption: bool = False
    kms_encryption_context: str = ""
    kms_key_id: str = ""
    server_side_customer_key_secret: SecretKeySelector | None = None


class S3Artifact(Model, frozen=True, kw_only=True):
    """An object of an S3 store."""

    access_key_secret: SecretKeySelector | None = None
    bucket: str = ""
    ca_secret: SecretKeySelector | None = None
    create_bucket_if_not_present: CreateS3BucketOptions | None = None
    encryption_options: S3EncryptionOptions | None = None
    endpoint: str = ""
    insecure: bool | None = None
    key: str = ""
    region: str = ""
    role_arn: str = field(name="roleARN", default="")
    secret_key_secret: SecretKeySelector | None = None
    session_token_secret: SecretKeySelector | None = None
    use_sdk_creds: bool = field(name="useSDKCreds", default=False)


class GCSArtifact(Model, frozen=True, kw_only=True):
    """An object of Google Cloud Storage."""

    bucket: str = ""
    key: str = ""
    service_account_key_secret: SecretKeySelector | None = None


class OSSLifecycleRule(Model, frozen=True, kw_only=True):
    """When OSS deletes or cools an object."""

    mark_deletion_after_days: int | None = None
    mark_infrequent_access_after_days: int | None = None


class OSSArtifact(Model, frozen=True, kw_only=True):
    """An object of Alibaba OSS."""

    access_key_secret: SecretKeySelector | None = None
    bucket: str = ""
    create_bucket_if_not_present: bool = False
    endpoint: str = ""
    key: str = ""
    lifecycle_rule: OSSLifecycleRule | None = None
    secret_key_secret: SecretKeySelector | None = None
    security_token: str = ""
    use_sdk_creds: bool = field(name="useSDKCreds", default=False)


class AzureArtifact(Model, frozen=True, kw_only=True):
    """A blob of Azure."""

    account_key_secret: SecretKeySelector | None = None
    blob: str = ""
    container: str = ""
    endpoint: str = ""
    use_sdk_creds: bool = field(name="useSDKCreds", default=False)


class ArtifactoryArtifact(Model, frozen=True, kw_only=True):
    """A file in Artifactory."""

    password_secret: SecretKeySelector | None = None
    url: str = ""
    username_secret: SecretKeySelector | None = None


class GitArtifact(Model, frozen=True, kw_only=True):
    """A Git repository."""

    branch: str = ""
    depth: int | None = None
    disable_submodules: bool = False
    fetch: tuple[str, ...] = ()
    insecure_ignore_host_key: bool = False
    insecure_skip_tls: bool = field(name="insecureSkipTLS", default=False)
    password_secret: SecretKeySelector | None = None
    repo: str = ""
    revision: str = ""
    single_branch: bool = False
    ssh_private_key_secret: SecretKeySelector | None = None
    username_secret: SecretKeySelector | None = None


class HDFSArtifact(Model, frozen=True, kw_only=True):
    """A file in HDFS."""

    addresses: tuple[str, ...] = ()
    data_transfer_protection: str = ""
    force: bool = False
    hdfs_user: str = ""
    krb_ccache_secret: SecretKeySelector | None = field(name="krbCCacheSecret", default=None)
    krb_config_config_map: ConfigMapKeySelector | None = None
    krb_keytab_secret: SecretKeySelector | None = None
    krb_realm: str = ""
    krb_service_principal_name: str = ""
    krb_username: str = ""
    path: str = ""


class RawArtifact(Model, frozen=True, kw_only=True):
    """Text given in place."""

    data: str


class LocalArtifact(Model, frozen=True, kw_only=True):
    """A file or folder of this machine's own artifact repository. Tiphys' own: Argo has none."""

    key: str = ""


class PluginArtifact(Model, frozen=True, kw_only=True):
    """An artifact of a storage plugin."""

    name: str = ""
    configuration: str = ""
    connection_timeout_seconds: int | None = None
    key: str = ""


class ArtifactLocation(Model, frozen=True, kw_only=True):
    """Where an artifact lies; at most one location is set."""

    archive_logs: bool | None = None
    artifactory: ArtifactoryArtifact | None = None
    azure: AzureArtifact | None = None
    gcs: GCSArtifact | None = None
    git: GitArtifact | None = None
    hdfs: HDFSArtifact | None = None
    http: HTTPArtifact | None = None
    local: LocalArtifact | None = None
    oss: OSSArtifact | None = None
    plugin: PluginArtifact | None = None
    raw: RawArtifact | None = None
    s3: S3Artifact | None = None


class Artifact(ArtifactLocation, frozen=True, kw_only=True):
    """A named file or folder, as an input, output or argument."""

    name: str
    archive: ArchiveStrategy | None = None
    artifact_gc: ArtifactGC | None = field(name="artifactGC", default=None)
    deleted: bool = False
    from_: str = ""
    from_expression: str = ""
    global_name: str = ""
    mode: int | None = None
    optional: bool = False
    path: str = ""
    recurse_mode: bool = False
    sub_path: str = ""


class ArtifactPaths(Artifact, frozen=True, kw_only=True):
    """The list of files below an artifact."""


class ArtifactRepositoryRef(Model, frozen=True, kw_only=True):
    """The ConfigMap that names the artifact repository."""

    config_map: str = ""
    key: str = ""
