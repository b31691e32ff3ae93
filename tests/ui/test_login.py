"""Signing in on the page with a real OpenID Connect provider."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.api_server import ApiServer
from tests.integration.api.oidc_provider import interpreter, provider
from tests.integration.api.test_oidc import ENVIRONMENT, settings
from tests.ui.window import open_window


@pytest.fixture(scope="module")
def server(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A server that trusts a provider; jason is known to it."""
    try:
        python = interpreter()
    except RuntimeError as error:
        pytest.skip(f"the OIDC provider cannot be installed here: {error}")
    folder = tmp_path_factory.mktemp("login")
    with provider(python, "--require-nonce", "true") as found:
        found.add_user("jason", email="jason@argo.example", groups=["argonauts"])
        settings(folder, found.issuer)
        with ApiServer(folder, "--config", "oidc.yaml", environment=ENVIRONMENT) as made:
            yield made


def _is_elsewhere(address: str) -> bool:
    return not address.startswith("http://127.0.0.1:")


def test_a_person_signs_in_with_a_provider_and_out_again(browser: Any, server: ApiServer) -> None:
    with open_window(browser, server, token=None) as window:
        # Nobody is signed in at first; the provider's page asks for its looks elsewhere.
        window.forgiven = ("401", "net::ERR_FAILED")
        window.page.route(_is_elsewhere, lambda route: route.abort())
        window.go("/workflows?status=failed")
        window.page.get_by_role("link", name="Sign in with").click()
        window.page.get_by_role("textbox").fill("jason")
        window.page.get_by_role("button", name="Authorize").click()

        window.heading("Workflows")
        assert window.page.url.endswith("/workflows?status=failed")
        window.button("Account and time zone").click()
        window.sees("jason@argo.example")
        window.page.get_by_role("menuitem", name="Sign out").click()
        window.page.wait_for_url("**/end_session?**")
        window.go("/")
        window.page.get_by_role("textbox", name="Token").wait_for()
