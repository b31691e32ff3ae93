"""Which addresses are pages, which need no token."""

from __future__ import annotations

import pytest

from tiphys.api.ui import is_page


@pytest.mark.parametrize("path", ["/", "/workflows", "/workflows/", "/workflows/x/y", "/editor"])
def test_the_pages_and_what_is_below_them_are_pages(path: str) -> None:
    assert is_page(path)


@pytest.mark.parametrize("path", ["", "*", "workflows", "//workflows", "/api/v1/workflows", "/x"])
def test_other_addresses_are_none_also_without_a_slash(path: str) -> None:
    assert not is_page(path)
