"""Volumes of every kind, and claims on persistent ones."""

from typing import Any

from msgspec import field

from tiphys.spec.model.base import Model, Quantity
from tiphys.spec.model.meta import (
    LabelSelector,
    LocalObjectReference,
    ObjectFieldSelector,
    ObjectMeta,
    ResourceFieldSelector,
    TypedLocalObjectReference,
    TypedObjectReference,
)


class KeyToPath(Model, frozen=True, kw_only=True):
    """One key of a ConfigMap or Secret as a file."""

    key: str
    mode: int | None = None
    path: str


class DownwardAPIVolumeFile(Model, frozen=True, kw_only=True):
    """A fact about the pod as a file."""

    field_ref: ObjectFieldSelector | None = None
    mode: int | None = None
    path: str
    resource_field_ref: ResourceFieldSelector | None = None


class AWSElasticBlockStoreVolumeSource(Model, frozen=True, kw_only=True):
    """A AWSElasticBlockStore volume."""

    fs_type: str = ""
    partition: int | None = None
    read_only: bool | None = None
    volume_id: str = field(name="volumeID")


class AzureDiskVolumeSource(Model, frozen=True, kw_only=True):
    """A AzureDisk volume."""

    kind: str = ""
    caching_mode: str = ""
    disk_name: str
    disk_uri: str = field(name="diskURI")
    fs_type: str = ""
    read_only: bool | None = None


class AzureFileVolumeSource(Model, frozen=True, kw_only=True):
    """A AzureFile volume."""

    read_only: bool | None = None
    secret_name: str
    share_name: str


class CSIVolumeSource(Model, frozen=True, kw_only=True):
    """A volume of a CSI driver."""

    driver: str
    fs_type: str = ""
    node_publish_secret_ref: LocalObjectReference | None = None
    read_only: bool | None = None
    volume_attributes: dict[str, str] = field(default_factory=dict)


class CephFSVolumeSource(Model, frozen=True, kw_only=True):
    """A CephFS volume."""

    monitors: tuple[str, ...]
    path: str = ""
    read_only: bool | None = None
    secret_file: str = ""
    secret_ref: LocalObjectReference | None = None
    user: str = ""


class CinderVolumeSource(Model, frozen=True, kw_only=True):
    """A Cinder volume."""

    fs_type: str = ""
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    volume_id: str = field(name="volumeID")


class ConfigMapVolumeSource(Model, frozen=True, kw_only=True):
    """A ConfigMap as files."""

    name: str = ""
    default_mode: int | None = None
    items: tuple[KeyToPath, ...] = ()
    optional: bool | None = None


class DownwardAPIVolumeSource(Model, frozen=True, kw_only=True):
    """Facts about the pod as files."""

    default_mode: int | None = None
    items: tuple[DownwardAPIVolumeFile, ...] = ()


class EmptyDirVolumeSource(Model, frozen=True, kw_only=True):
    """An empty folder that lives as long as the pod."""

    medium: str = ""
    size_limit: Quantity | None = None


class FCVolumeSource(Model, frozen=True, kw_only=True):
    """A FC volume."""

    fs_type: str = ""
    lun: int | None = None
    read_only: bool | None = None
    target_wwns: tuple[str, ...] = field(name="targetWWNs", default=())
    wwids: tuple[str, ...] = ()


class FlexVolumeSource(Model, frozen=True, kw_only=True):
    """A Flex volume."""

    driver: str
    fs_type: str = ""
    options: dict[str, str] = field(default_factory=dict)
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None


class FlockerVolumeSource(Model, frozen=True, kw_only=True):
    """A Flocker volume."""

    dataset_name: str = ""
    dataset_uuid: str = field(name="datasetUUID", default="")


class GCEPersistentDiskVolumeSource(Model, frozen=True, kw_only=True):
    """A GCEPersistentDisk volume."""

    fs_type: str = ""
    partition: int | None = None
    pd_name: str
    read_only: bool | None = None


class GitRepoVolumeSource(Model, frozen=True, kw_only=True):
    """A GitRepo volume."""

    directory: str = ""
    repository: str
    revision: str = ""


class GlusterfsVolumeSource(Model, frozen=True, kw_only=True):
    """A Glusterfs volume."""

    endpoints: str
    path: str
    read_only: bool | None = None


class HostPathVolumeSource(Model, frozen=True, kw_only=True):
    """A folder of the machine."""

    path: str
    type: str = ""


class ISCSIVolumeSource(Model, frozen=True, kw_only=True):
    """A ISCSI volume."""

    chap_auth_discovery: bool | None = None
    chap_auth_session: bool | None = None
    fs_type: str = ""
    initiator_name: str = ""
    iqn: str
    iscsi_interface: str = ""
    lun: int
    portals: tuple[str, ...] = ()
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    target_portal: str


class ImageVolumeSource(Model, frozen=True, kw_only=True):
    """The files of an image."""

    pull_policy: str = ""
    reference: str = ""


class NFSVolumeSource(Model, frozen=True, kw_only=True):
    """A folder of an NFS server."""

    path: str
    read_only: bool | None = None
    server: str


class PersistentVolumeClaimVolumeSource(Model, frozen=True, kw_only=True):
    """A claim by name."""

    claim_name: str
    read_only: bool | None = None


class PhotonPersistentDiskVolumeSource(Model, frozen=True, kw_only=True):
    """A PhotonPersistentDisk volume."""

    fs_type: str = ""
    pd_id: str = field(name="pdID")


class PortworxVolumeSource(Model, frozen=True, kw_only=True):
    """A Portworx volume."""

    fs_type: str = ""
    read_only: bool | None = None
    volume_id: str = field(name="volumeID")


class QuobyteVolumeSource(Model, frozen=True, kw_only=True):
    """A Quobyte volume."""

    group: str = ""
    read_only: bool | None = None
    registry: str
    tenant: str = ""
    user: str = ""
    volume: str


class RBDVolumeSource(Model, frozen=True, kw_only=True):
    """A RBD volume."""

    fs_type: str = ""
    image: str
    keyring: str = ""
    monitors: tuple[str, ...]
    pool: str = ""
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    user: str = ""


class ScaleIOVolumeSource(Model, frozen=True, kw_only=True):
    """A ScaleIO volume."""

    fs_type: str = ""
    gateway: str
    protection_domain: str = ""
    read_only: bool | None = None
    secret_ref: LocalObjectReference
    ssl_enabled: bool | None = None
    storage_mode: str = ""
    storage_pool: str = ""
    system: str
    volume_name: str = ""


class SecretVolumeSource(Model, frozen=True, kw_only=True):
    """A Secret as files."""

    default_mode: int | None = None
    items: tuple[KeyToPath, ...] = ()
    optional: bool | None = None
    secret_name: str = ""


class StorageOSVolumeSource(Model, frozen=True, kw_only=True):
    """A StorageOS volume."""

    fs_type: str = ""
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    volume_name: str = ""
    volume_namespace: str = ""


class VsphereVirtualDiskVolumeSource(Model, frozen=True, kw_only=True):
    """A VsphereVirtualDisk volume."""

    fs_type: str = ""
    storage_policy_id: str = field(name="storagePolicyID", default="")
    storage_policy_name: str = ""
    volume_path: str


class ClusterTrustBundleProjection(Model, frozen=True, kw_only=True):
    """Certificates of a trust bundle."""

    name: str = ""
    label_selector: LabelSelector | None = None
    optional: bool | None = None
    path: str
    signer_name: str = ""


class ConfigMapProjection(Model, frozen=True, kw_only=True):
    """A ConfigMap within a projected volume."""

    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    optional: bool | None = None


class DownwardAPIProjection(Model, frozen=True, kw_only=True):
    """Facts about the pod within a projected volume."""

    items: tuple[DownwardAPIVolumeFile, ...] = ()


class SecretProjection(Model, frozen=True, kw_only=True):
    """A Secret within a projected volume."""

    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    optional: bool | None = None


class ServiceAccountTokenProjection(Model, frozen=True, kw_only=True):
    """A token within a projected volume."""

    audience: str = ""
    expiration_seconds: int | None = None
    path: str


class VolumeProjection(Model, frozen=True, kw_only=True):
    """One source of a projected volume."""

    cluster_trust_bundle: ClusterTrustBundleProjection | None = None
    config_map: ConfigMapProjection | None = None
    downward_api: DownwardAPIProjection | None = field(name="downwardAPI", default=None)
    secret: SecretProjection | None = None
    service_account_token: ServiceAccountTokenProjection | None = None


class ProjectedVolumeSource(Model, frozen=True, kw_only=True):
    """Several sources in one folder."""

    default_mode: int | None = None
    sources: tuple[VolumeProjection, ...] = ()


class VolumeResourceRequirements(Model, frozen=True, kw_only=True):
    """How much storage a claim asks for."""

    limits: dict[str, Quantity] = field(default_factory=dict)
    requests: dict[str, Quantity] = field(default_factory=dict)


class PersistentVolumeClaimSpec(Model, frozen=True, kw_only=True):
    """What storage is wanted."""

    access_modes: tuple[str, ...] = ()
    data_source: TypedLocalObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    selector: LabelSelector | None = None
    storage_class_name: str = ""
    volume_attributes_class_name: str = ""
    volume_mode: str = ""
    volume_name: str = ""


class PersistentVolumeClaimTemplate(Model, frozen=True, kw_only=True):
    """A claim made for one pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec


class PersistentVolumeClaim(Model, frozen=True, kw_only=True):
    """A claim on storage."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: dict[str, Any] | None = None


class EphemeralVolumeSource(Model, frozen=True, kw_only=True):
    """A claim that lives as long as the pod."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class Volume(Model, frozen=True, kw_only=True):
    """A named volume; one source is set."""

    name: str
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cephfs: CephFSVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    config_map: ConfigMapVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    downward_api: DownwardAPIVolumeSource | None = field(name="downwardAPI", default=None)
    empty_dir: EmptyDirVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    fc: FCVolumeSource | None = None
    flex_volume: FlexVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    git_repo: GitRepoVolumeSource | None = None
    glusterfs: GlusterfsVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    image: ImageVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    nfs: NFSVolumeSource | None = None
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    projected: ProjectedVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    scale_io: ScaleIOVolumeSource | None = field(name="scaleIO", default=None)
    secret: SecretVolumeSource | None = None
    storageos: StorageOSVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
