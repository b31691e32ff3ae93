"""Just enough of a Kubernetes client to set a cluster up: JSON over HTTPS with a token."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.cluster.rig.build import MissingError

Json = dict[str, Any]


class Api:
    """The API server of one cluster, as its administrator."""

    def __init__(self, server: str, token: str, authority: Path) -> None:
        self._server = server
        self._token = token
        self._authority = authority

    def call(self, method: str, path: str, body: object = None, kind: str = "json") -> Json:
        """Send a request and give the answer; raise ApiError where it is refused."""
        return self._send(method, path, None if body is None else json.dumps(body).encode(), kind)

    def _send(self, method: str, path: str, data: bytes | None, kind: str) -> Json:
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": f"application/{kind}",
        }
        request = urllib.request.Request(
            self._server + path, data=data, method=method, headers=headers
        )
        context = ssl.create_default_context(cafile=str(self._authority))
        # Loopback must not go through a proxy that the environment names.
        handlers = (urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
        opener = urllib.request.build_opener(*handlers)
        try:
            with opener.open(request, timeout=30) as answer:
                return _decode(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                raise ApiError(error.code, error.read().decode(errors="replace")) from error
        except (OSError, http.client.HTTPException) as error:
            raise ApiError(0, str(error)) from error

    def apply(self, thing: Json) -> Json:
        """Create or change an object, field by field (server-side apply)."""
        path = f"{self.path_of(thing)}/{thing['metadata']['name']}"
        query = "?fieldManager=tiphys-cluster&force=true"
        return self.call("PATCH", path + query, thing, "apply-patch+yaml")

    def apply_text(self, collection: str, name: str, text: bytes) -> None:
        """Apply one object that is YAML text: the API server reads it, we need not."""
        query = "?fieldManager=tiphys-cluster&force=true"
        self._send("PATCH", f"{collection}/{name}{query}", text, "apply-patch+yaml")

    def apply_definitions(self, folder: Path) -> None:
        """Apply the custom resource definitions in a folder."""
        collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        for path in sorted(folder.glob("*_*.yaml")):
            group, _, plural = path.stem.partition("_")
            self.apply_text(collection, f"{plural}.{group}", path.read_bytes())

    def path_of(self, thing: Json) -> str:
        """Give the collection of an object."""
        version, kind = thing["apiVersion"], thing["kind"]
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        for resource in self.call("GET", base).get("resources", []):
            if resource["kind"] == kind and "/" not in resource["name"]:
                namespace = thing["metadata"].get("namespace", "default")
                place = f"/namespaces/{namespace}" if resource["namespaced"] else ""
                return f"{base}{place}/{resource['name']}"
        raise ApiError(404, f"no {kind} in {version}")

    def answers(self, path: str) -> bool:
        """Tell whether a request succeeds."""
        try:
            self.call("GET", path)
        except ApiError:
            return False
        return True


class ApiError(MissingError):
    """The API server refused, or could not be reached (status 0)."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"API server: {status}: {text[:400]}")
        self.status = status


def _decode(data: bytes) -> Json:
    try:
        found = json.loads(data)
    except ValueError:
        return {"text": data.decode(errors="replace")}
    return found if isinstance(found, dict) else {"value": found}
