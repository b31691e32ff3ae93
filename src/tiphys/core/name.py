"""Names and ids: Argo's node ids and pod names, and Kubernetes' rules for names.

Ids must equal Argo's to the letter, for people compare them and scripts are built on them.
"""

from __future__ import annotations

from functools import lru_cache

MAX_LABEL = 63
"""Characters of a DNS label, so also of a workflow's name (it becomes a label value)."""
MAX_CRON_NAME = 52
"""A cron workflow's name gets a timestamp of 11 characters behind it."""
MAX_SUBDOMAIN = 253
# What is left of a pod name when a dash and the ten digits of the hash are taken off.
_MAX_POD_PREFIX = MAX_SUBDOMAIN - 10 - 1

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


@lru_cache(maxsize=4096)  # A node's name is hashed for its id, its pod and its variables.
def fnv1a32(text: str) -> int:
    """Give the 32-bit FNV-1a hash of the UTF-8 bytes of ``text``."""
    value = 0x811C9DC5
    for byte in text.encode("utf-8", "surrogatepass"):
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def node_id(workflow: str, node_name: str) -> str:
    """Give the id of a node: the workflow's name for the root, else name and hash."""
    return workflow if node_name == workflow else f"{workflow}-{fnv1a32(node_name)}"


def pod_name(
    workflow: str, node_name: str, template: str, node_id: str = "", *, version: str = "v2"
) -> str:
    """Give the name of the pod of a node; version 1 is the node's id itself."""
    if version == "v1":
        return node_id
    if node_name == workflow:
        return workflow
    prefix = f"{workflow}-{template}" if template else workflow
    return f"{prefix[:_MAX_POD_PREFIX]}-{fnv1a32(node_name)}"


def is_dns1123_label(text: str) -> bool:
    """Tell whether ``text`` may name a Kubernetes object that allows no dots."""
    return len(text) <= MAX_LABEL and _is_label(text)


def is_dns1123_subdomain(text: str) -> bool:
    """Tell whether ``text`` may name a Kubernetes object."""
    return len(text) <= MAX_SUBDOMAIN and all(map(_is_label, text.split(".")))


def _is_label(text: str) -> bool:
    # Without a pattern: to compile one takes longer than a workflow has names.
    return text != "" and "-" not in (text[0], text[-1]) and _LETTERS.issuperset(text)
