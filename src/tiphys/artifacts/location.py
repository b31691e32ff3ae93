"""Where an artifact lies: the arithmetic of locations and keys.

Pure. A location is *whole* when a driver can use it as it is, and *key only* when it names nothing
but a key: the rest then comes from a repository (`relocate`).
"""

from __future__ import annotations

import posixpath
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec

from tiphys.errors import ArtifactError
from tiphys.spec import model

Location = TypeVar("Location", bound=model.ArtifactLocation)

KINDS = (
    "local",
    "artifactory",
    "azure",
    "git",
    "gcs",
    "hdfs",
    "http",
    "oss",
    "raw",
    "s3",
    "plugin",
)
"""Location fields in the order in which Argo looks at them; ours comes first."""

_KEY_FIELDS = {
    "local": "key",
    "s3": "key",
    "gcs": "key",
    "oss": "key",
    "plugin": "key",
    "azure": "blob",
    "hdfs": "path",
}
_NEEDED = {
    "local": ("key",),
    "s3": ("endpoint", "bucket", "key"),
    "gcs": ("bucket", "key"),
    "oss": ("endpoint", "bucket", "key"),
    "azure": ("endpoint", "container", "blob"),
    "hdfs": ("addresses",),
    "http": ("url",),
    "artifactory": ("url", "username_secret"),
    "git": ("repo",),
    "plugin": ("name", "key"),
    "raw": (),
}


def kind_of(location: model.ArtifactLocation) -> str:
    """Name the location field that is set, or give an empty text."""
    for kind in KINDS:
        if getattr(location, kind) is not None:
            return kind
    return ""


def key_of(location: model.ArtifactLocation) -> str:
    """Give the key, empty where there is none or the kind of location has none."""
    kind = kind_of(location)
    if kind in _KEY_FIELDS:
        return str(getattr(getattr(location, kind), _KEY_FIELDS[kind]))
    if kind in ("http", "artifactory"):
        return _split(str(getattr(location, kind).url)).path
    return ""


def is_whole(location: model.ArtifactLocation) -> bool:
    """Tell whether a driver can use the location as it is."""
    kind = kind_of(location)
    if not kind:
        return False
    place = getattr(location, kind)
    return all(getattr(place, name) for name in _NEEDED[kind])


def has_location_or_key(location: model.ArtifactLocation) -> bool:
    """Tell whether anything was supplied at all."""
    return is_whole(location) or bool(key_of(location))


def with_key(location: Location, key: str) -> Location:
    """Give the same location with another key."""
    kind = kind_of(location)
    place: Any = getattr(location, kind, None)
    if kind in _KEY_FIELDS:
        changed: Any = msgspec.structs.replace(place, **{_KEY_FIELDS[kind]: key})
    elif kind in ("http", "artifactory"):
        parts = _split(place.url)
        changed = msgspec.structs.replace(place, url=urlunsplit(parts._replace(path=key)))
    else:
        raise ArtifactError(f"a {kind or 'missing'} artifact location has no key")
    return msgspec.structs.replace(location, **{kind: changed})


def append_to_key(location: Location, sub_path: str) -> Location:
    """Give the location below: what ``subPath`` of an argument means."""
    return with_key(location, posixpath.normpath(posixpath.join(key_of(location), sub_path)))


def relocate(location: Location, home: model.ArtifactLocation, key: str) -> Location:
    """Put ``key`` into the repository ``home``, whatever kind of location it named before."""
    kind = kind_of(home)
    if not kind:
        raise ArtifactError("no artifact repository is configured")
    emptied: dict[str, Any] = dict.fromkeys(KINDS)
    emptied[kind] = getattr(home, kind)
    return with_key(msgspec.structs.replace(location, **emptied), key)


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise ArtifactError(f"not a URL: {error}") from error
