"""How a cluster is reached: kubeconfig, or the files that a pod finds. Reads files, sends nothing.

As kubectl: ``$KUBECONFIG`` (its first file that exists), then ``~/.kube/config``, then the service
account of the pod. Credentials are tokens, files of tokens, client certificates, or a program that
gives a token (``exec``).
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import ssl
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from tiphys.errors import ClusterError

IN_POD = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEFAULT_NAMESPACE = "default"
_PLUGIN_PATIENCE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One cluster, as one user of it."""

    server: str
    namespace: str = DEFAULT_NAMESPACE
    tls: ssl.SSLContext | None = None
    credential: Credential = field(default_factory=lambda: Credential({}))

    @property
    def host(self) -> str:
        """The server's name."""
        return urlsplit(self.server).hostname or ""

    @property
    def port(self) -> int:
        """The server's port."""
        parts = urlsplit(self.server)
        return parts.port or (443 if parts.scheme == "https" else 80)

    @property
    def prefix(self) -> str:
        """What stands before every path."""
        return urlsplit(self.server).path.rstrip("/")


class Credential:
    """Who we are to the API server. Asked again after a refusal, as tokens expire."""

    def __init__(self, user: Mapping[str, Any]) -> None:
        self._user = user
        self._token = ""

    @property
    def is_slow(self) -> bool:
        """Whether ``headers`` would have to run a program."""
        return not self._token and bool(self._user.get("exec"))

    def headers(self) -> dict[str, str]:
        """Give the header that tells who asks; may run a program the first time."""
        user = self._user
        if "username" in user:
            pair = f"{user['username']}:{user.get('password', '')}".encode()
            return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
        if not self._token:
            self._token = self._find()
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}

    def forget(self) -> None:
        """Have the token looked up again: it was refused, or may have expired."""
        self._token = ""

    def _find(self) -> str:
        user = self._user
        if user.get("tokenFile"):
            return _read(Path(user["tokenFile"])).decode().strip()
        if user.get("token"):
            return str(user["token"])
        return _token_of_program(user["exec"]) if user.get("exec") else ""


def _token_of_program(given: Mapping[str, Any]) -> str:
    """Run a credential plugin, as kubectl does."""
    info = {
        "apiVersion": given.get("apiVersion", "client.authentication.k8s.io/v1"),
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }
    more = {each["name"]: each["value"] for each in given.get("env") or ()}
    words = [given.get("command", ""), *(given.get("args") or ())]
    try:
        done = subprocess.run(
            words,
            env={**os.environ, **more, "KUBERNETES_EXEC_INFO": json.dumps(info)},
            capture_output=True,
            check=True,
            timeout=_PLUGIN_PATIENCE,
        )
        return str(json.loads(done.stdout)["status"]["token"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise ClusterError(f"the credential program {words[0]!r} gave no token: {error}") from error


def find_access(
    environment: Mapping[str, str], *, kubeconfig: str = "", context: str = "", namespace: str = ""
) -> Access:
    """Find the cluster that is meant; raise ClusterError where there is none."""
    path = _kubeconfig_path(environment, kubeconfig)
    if path is not None:
        return read_kubeconfig(path, context=context, namespace=namespace)
    if "KUBERNETES_SERVICE_HOST" in environment and (IN_POD / "token").exists():
        return _in_pod(environment, namespace)
    raise ClusterError(
        "no cluster is known: set KUBECONFIG, or kubernetes.kubeconfig in the configuration"
    )


def _kubeconfig_path(environment: Mapping[str, str], given: str) -> Path | None:
    if given:
        return Path(given).expanduser()
    for each in environment.get("KUBECONFIG", "").split(os.pathsep):
        if each and Path(each).is_file():
            return Path(each)
    usual = Path(environment.get("HOME") or "/") / ".kube" / "config"
    return usual if usual.is_file() else None


def _in_pod(environment: Mapping[str, str], namespace: str) -> Access:
    host = environment["KUBERNETES_SERVICE_HOST"]
    host = f"[{host}]" if ":" in host else host
    own = (IN_POD / "namespace").read_text().strip()
    return Access(
        server=f"https://{host}:{environment.get('KUBERNETES_SERVICE_PORT', '443')}",
        namespace=namespace or own or DEFAULT_NAMESPACE,
        tls=ssl.create_default_context(cafile=str(IN_POD / "ca.crt")),
        credential=Credential({"tokenFile": str(IN_POD / "token")}),
    )


def read_kubeconfig(path: Path, *, context: str = "", namespace: str = "") -> Access:
    """Read one context of a kubeconfig."""
    try:
        config = yaml.load(_read(path), Loader=yaml.CSafeLoader)
        chosen = context or config["current-context"]
        bound = _named(config, "contexts", chosen)["context"]
        cluster = _named(config, "clusters", bound["cluster"])["cluster"]
        user = _named(config, "users", bound["user"])["user"] if bound.get("user") else {}
        server = str(cluster["server"])
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise ClusterError(f"{path} is no usable kubeconfig: {error}") from error
    user = _with_whole_paths(user or {}, path.parent)
    return Access(
        server=server,
        namespace=namespace or bound.get("namespace") or DEFAULT_NAMESPACE,
        tls=_tls(cluster, user, path.parent) if server.startswith("https:") else None,
        credential=Credential(user),
    )


def _named(config: Mapping[str, Any], kind: str, name: str) -> Mapping[str, Any]:
    for each in config.get(kind) or ():
        if each.get("name") == name:
            found: Mapping[str, Any] = each
            return found
    raise KeyError(f"no {name!r} among its {kind}")


def _with_whole_paths(user: Mapping[str, Any], base: Path) -> dict[str, Any]:
    """Give paths their meaning: relative ones start at the kubeconfig."""
    keys = ("tokenFile", "client-certificate", "client-key")
    return {k: str(base / v) if k in keys and v else v for k, v in user.items()}


def _tls(cluster: Mapping[str, Any], user: Mapping[str, Any], base: Path) -> ssl.SSLContext:
    data, file = cluster.get("certificate-authority-data"), cluster.get("certificate-authority")
    try:
        context = ssl.create_default_context(
            cadata=base64.b64decode(data).decode() if data else None,
            cafile=str(base / file) if file and not data else None,
        )
        if cluster.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        _load_certificate(context, user)
    except (OSError, ValueError, binascii.Error) as error:
        raise ClusterError(f"certificates of the kubeconfig: {error}") from error
    return context


def _load_certificate(context: ssl.SSLContext, user: Mapping[str, Any]) -> None:
    certificate, key = user.get("client-certificate"), user.get("client-key")
    if certificate and key:
        context.load_cert_chain(certificate, key)
    if not (user.get("client-certificate-data") and user.get("client-key-data")):
        return
    # The ssl module takes files only.
    with tempfile.NamedTemporaryFile() as file:
        file.write(base64.b64decode(user["client-certificate-data"]) + b"\n")
        file.write(base64.b64decode(user["client-key-data"]))
        file.flush()
        context.load_cert_chain(file.name)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ClusterError(f"{path}: {error.strerror}") from error
