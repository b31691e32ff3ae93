"""Which addresses may be reached because a workflow names them.

A host is judged by the addresses it resolves to, and the connection goes to the very address that
was judged: a name that changes its mind in between (DNS rebinding) gains nothing. Whoever follows a
redirect asks again.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import socket
from collections.abc import Callable, Iterable

from tiphys.errors import ArtifactError, ConfigError, EgressDeniedError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver = Callable[[str, int], list[str]]
"""Gives the addresses of (host, port)."""

# Spelled out: what the library calls global differs between the Python versions we support.
_SPECIAL = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
        "2001::/23",
        "2001:db8::/32",
        "2002::/16",
        "3fff::/20",
    )
)
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")


def resolve_host(host: str, port: int) -> list[str]:
    """Ask the system, which also knows the odd spellings: ``2130706433``, ``0x7f.1``."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class EgressPolicy:
    """Judges hosts. ``allow`` widens what is open to all: the public internet."""

    def __init__(self, allow: Iterable[str] = (), *, resolve: Resolver = resolve_host) -> None:
        self._resolve = resolve
        self._networks: list[Network] = []
        self._names: list[str] = []
        for text in allow:
            try:
                self._networks.append(ipaddress.ip_network(text, strict=False))
            except ValueError:
                if "/" in text or not text:
                    raise ConfigError(f"egress.allow: {text!r} is not a network or host") from None
                self._names.append(text.lower().rstrip("."))
        self.open = "*" in self._names
        """Whether every address is allowed."""

    def addresses(self, host: str, port: int) -> list[str]:
        """Resolve a host to the addresses of it that may be reached; refuse if there are none."""
        try:
            texts = self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise ArtifactError(f"{host}: cannot be resolved: {error}") from error
        trusted = any(fnmatch.fnmatchcase(host.lower().rstrip("."), name) for name in self._names)
        allowed = [text for text in texts if trusted or self.allows(text)]
        if not allowed:
            raise EgressDeniedError(
                f"{host} is at {texts[0]}, which may not be reached; "
                "egress.allow of the configuration can permit it"
            )
        return allowed

    def allows(self, text: str) -> bool:
        """Tell whether an address may be reached."""
        address = _plain(ipaddress.ip_address(text.split("%", 1)[0]))
        if any(address.version == net.version and address in net for net in self._networks):
            return True
        if address.version == 6 and address not in _GLOBAL_V6:
            return self.open
        special = any(address.version == net.version and address in net for net in _SPECIAL)
        return self.open or not special


def _plain(address: Address) -> Address:
    """Unwrap an IPv4 address in IPv6 clothes."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
