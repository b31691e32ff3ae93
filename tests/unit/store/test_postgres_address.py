"""The address of a PostgreSQL store: what of it is shown, and what is refused."""

from __future__ import annotations

import pytest

from tiphys.errors import ConfigError
from tiphys.store.postgres import label_of


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:hidden@db:5433/x", "postgresql://db:5433/x"),
        ("postgresql://u:hid?den@db/x", "postgresql://db/x"),
        ("postgresql://u:hid%40den%2F@db/x", "postgresql://db/x"),
        ("postgresql://u@db:1,db2:2/x?password=hid@den", "postgresql://db:1,db2:2/x"),
        ("postgresql://u:hidden@db,db2:7/x", "postgresql://db,db2:7/x"),
        ("postgres://u:hidden@[::1]:5432/x", "postgresql://[::1]:5432/x"),
        ("postgresql:///x?host=/run/postgresql", "postgresql:///x"),
    ],
)
def test_an_address_is_shown_without_who_asks(url: str, shown: str) -> None:
    assert label_of(url) == shown


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:hidden/@db/x",
        "postgresql://u:12/hidden@db/x",
        "postgresql://u:a@hidden@db/x",
        "postgresql://u:hidden%zz@db/x",
        "postgresql://u:hidden@db:5432port/x",
        "postgresql://u:hidden@[::1/x",
        "postgresql://u:hidden@db/x?nonsense=hidden",
        "postgresql://u:hidden\udc80@db/x",
    ],
)
def test_an_address_that_means_nothing_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        label_of(url)

    assert str(refused.value).startswith("store.url: ")
    assert "%40 for @" in str(refused.value)
    assert "hidden" not in str(refused.value)
