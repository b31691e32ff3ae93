"""Artifacts: files and folders that go into a node and come out of it.

`Repositories` is all that the rest of the program uses. Everything is synchronous and safe to call
from many worker threads. Nothing of a task's own making (archives, links, keys, URLs) is trusted:
`tree` writes, `beneath` opens, `net` connects. The errors are `tiphys.errors.ArtifactError` and
its kin.
"""

from tiphys.artifacts.collect import Collected, collect, is_due
from tiphys.artifacts.config import ArtifactConfig, ArtifactRepository, Egress
from tiphys.artifacts.limits import Limits
from tiphys.artifacts.location import append_to_key, has_location_or_key, key_of
from tiphys.artifacts.reference import ConfigMapReader, ConfigMapText
from tiphys.artifacts.repository import Repositories, file_name
from tiphys.artifacts.secret import SecretReader

__all__ = [
    "ArtifactConfig",
    "ArtifactRepository",
    "Collected",
    "ConfigMapReader",
    "ConfigMapText",
    "Egress",
    "Limits",
    "Repositories",
    "SecretReader",
    "append_to_key",
    "collect",
    "file_name",
    "has_location_or_key",
    "is_due",
    "key_of",
]
