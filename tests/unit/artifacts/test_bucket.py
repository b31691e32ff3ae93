"""The signature of the one request that is signed by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tiphys.artifacts.bucket import Account, sign


@pytest.mark.parametrize("token", ["", "session"])
def test_the_signature_is_that_of_the_vendors_library(token: str) -> None:
    auth: Any = pytest.importorskip("botocore.auth", reason="botocore is not installed")
    request_type = pytest.importorskip("botocore.awsrequest").AWSRequest
    credentials = pytest.importorskip("botocore.credentials").Credentials(
        "key", "hush", token or None
    )
    url = "http://127.0.0.1:9000/bucket"
    request = request_type(method="PUT", url=url, data=b"<x/>")
    request.context["payload_signing_enabled"] = True
    auth.S3SigV4Auth(credentials, "s3", "eu-west-1").add_auth(request)
    stamp = request.headers["X-Amz-Date"]

    account = Account(region="eu-west-1", access_key="key", secret_key="hush", session_token=token)
    at = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    assert sign(url, b"<x/>", account, at)["Authorization"] == request.headers["Authorization"]
