"""Which addresses may be reached."""

from __future__ import annotations

import msgspec
import pytest

from tiphys.artifacts import Egress
from tiphys.errors import ArtifactError, ConfigError, EgressDeniedError
from tiphys.net.egress import EgressPolicy

SPECIAL = [
    "127.0.0.1",
    "127.8.9.10",
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "169.254.169.254",
    "172.31.255.255",
    "192.168.1.1",
    "192.0.0.170",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "2001:0:53aa:64c::1",
    "fe80::1%lo",
    "fd00::1",
    "ff02::1",
    "fec0::1",
]
PUBLIC = ["1.1.1.1", "9.9.9.9", "172.32.0.1", "100.128.0.1", "2606:4700::1", "::ffff:1.1.1.1"]


@pytest.mark.parametrize("address", SPECIAL)
def test_a_special_address_may_not_be_reached(address: str) -> None:
    assert not EgressPolicy().allows(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_reached(address: str) -> None:
    assert EgressPolicy().allows(address)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "2130706433", "0x7f.1", "017700000001", "127.1", "::1"]
)
def test_the_spelling_of_an_address_does_not_matter(host: str) -> None:
    with pytest.raises(EgressDeniedError):
        EgressPolicy().addresses(host, 80)


def test_a_network_may_be_allowed() -> None:
    policy = EgressPolicy(["10.0.0.0/8", "::1"])

    assert policy.allows("10.9.9.9")
    assert policy.allows("::1")
    assert not policy.allows("127.0.0.1")


def test_a_host_may_be_allowed_wherever_it_is() -> None:
    policy = EgressPolicy(["*.inside.example"], resolve=lambda _host, _port: ["10.0.0.1"])

    assert policy.addresses("git.inside.example", 443) == ["10.0.0.1"]
    with pytest.raises(EgressDeniedError):
        policy.addresses("inside.example.evil", 443)


def test_a_star_allows_all() -> None:
    assert EgressPolicy(["*"]).addresses("127.0.0.1", 80) == ["127.0.0.1"]


def test_only_the_allowed_addresses_of_a_host_are_used() -> None:
    policy = EgressPolicy(resolve=lambda _host, _port: ["10.0.0.1", "1.1.1.1"])

    assert policy.addresses("mixed.example", 443) == ["1.1.1.1"]


def test_a_host_that_is_unknown_is_an_error() -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise OSError("unknown")

    with pytest.raises(ArtifactError, match="cannot be resolved"):
        EgressPolicy(resolve=unknown).addresses("nowhere.example", 80)


def test_a_network_that_is_none_is_a_mistake_of_the_configuration() -> None:
    with pytest.raises(ConfigError, match=r"egress\.allow"):
        EgressPolicy(["10.0.0.0/99"])


@pytest.mark.parametrize("text", ["10.0.0.0/99", "example.org/path", ""])
def test_such_a_mistake_is_found_when_the_configuration_is_read(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"allow": [text]}, Egress)
