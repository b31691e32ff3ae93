"""Making a missing S3 bucket (``createBucketIfNotPresent``), which obstore cannot.

One signed request (AWS signature, version 4), written out here rather than bought with a whole SDK.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote, urlsplit

from tiphys.errors import ArtifactError
from tiphys.net.connection import Web

_THERE_ALREADY = (200, 204, 409)
_HOME_REGION = "us-east-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Who asks. Without an access key the request goes unsigned."""

    region: str
    access_key: str = ""
    secret_key: str = ""
    session_token: str = ""


def make_bucket(web: Web, endpoint: str, bucket: str, account: Account, at: datetime) -> None:
    """Make a bucket; one that is there already is fine."""
    body = b""
    if account.region != _HOME_REGION:
        place = f"<LocationConstraint>{account.region}</LocationConstraint>"
        body = f"<CreateBucketConfiguration>{place}</CreateBucketConfiguration>".encode()
    url = f"{endpoint.rstrip('/')}/{quote(bucket, safe='')}"
    headers = sign(url, body, account, at) if account.access_key else {}
    with web.request("PUT", url, headers=headers, body=body) as response:
        if response.status not in _THERE_ALREADY:
            raise ArtifactError(
                f"failed to create bucket {bucket}: {response.status} {response.reason}"
            )


def sign(url: str, body: bytes, account: Account, at: datetime) -> dict[str, str]:
    """Give the headers that make a PUT to ``url`` an authorised one."""
    parts = urlsplit(url)
    stamp = at.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{account.region}/s3/aws4_request"
    digest = hashlib.sha256(body).hexdigest()
    headers = {"host": parts.netloc, "x-amz-content-sha256": digest, "x-amz-date": stamp}
    if account.session_token:
        headers["x-amz-security-token"] = account.session_token
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = f"PUT\n{parts.path}\n\n{lines}\n{names}\n{digest}"
    hashed = hashlib.sha256(request.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashed}"
    key = f"AWS4{account.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.new(key, text.encode(), "sha256").hexdigest()
    credential = f"Credential={account.access_key}/{scope}"
    del headers["host"]
    return {
        **headers,
        "Authorization": (
            f"AWS4-HMAC-SHA256 {credential}, SignedHeaders={names}, Signature={signature}"
        ),
    }
