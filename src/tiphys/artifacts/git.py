"""Artifacts from Git repositories, fetched by the ``git`` command.

What a workflow says ends up as arguments of a program, so nothing that looks like an option is let
through, and transports are those of the list below. Secrets travel by files and environment, never
by arguments, which other users of the machine can see. The host is pinned to the address that the
egress policy has judged.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

from tiphys.artifacts import beneath, pack
from tiphys.artifacts.driver import refuse
from tiphys.artifacts.secret import SecretReader, Secrets
from tiphys.errors import ArtifactError, ArtifactUnsafeError
from tiphys.net.egress import EgressPolicy
from tiphys.spec import model

_SCP_LIKE = re.compile(r"(?:[^@/:]+@)?(?P<host>\[[^\]]+\]|[^/:@]+):(?!/)")
_PORTS = {"http": 80, "https": 443, "ssh": 22, "git": 9418}
_ASKPASS = """#!/bin/sh
case "$1" in
*"//$TIPHYS_GIT_HOST'"*|*"@$TIPHYS_GIT_HOST'"*) ;;
*) exit 1 ;;
esac
case "$1" in
Username*) printf '%s\\n' "$TIPHYS_GIT_USERNAME" ;;
*) printf '%s\\n' "$TIPHYS_GIT_PASSWORD" ;;
esac
"""
"""Answers git's question for a user or password, if it is about the one host they are for."""
_MAX_MESSAGE = 2000
_MAX_NESTING = 8
_TRUST = ("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH")


@dataclass(frozen=True, slots=True)
class _Remote:
    """What a repository's address comes down to."""

    scheme: str
    """http, https, ssh, git or file."""
    host: str = ""
    port: int = 0


@dataclass(slots=True)
class _Session:
    """How git is to be called for one repository."""

    environment: dict[str, str]
    options: list[str] = field(default_factory=list)


class GitDriver:
    """Clones into the destination; can do nothing else."""

    def __init__(
        self,
        policy: EgressPolicy,
        secrets: SecretReader,
        *,
        allow_local: bool,
        timeout: float = 3600.0,
    ) -> None:
        self._policy = policy
        self._secrets = secrets
        self._allow_local = allow_local
        self._timeout = timeout

    def fetch(self, artifact: model.Artifact, target: Path, namespace: str) -> None:
        """Clone the repository and check out its revision."""
        place = artifact.git
        assert place is not None
        check_arguments(place)
        remote = _parse_remote(place.repo)
        with tempfile.TemporaryDirectory() as folder:
            session = self._session(place, remote, Path(folder), namespace)
            try:
                self._clone(place, session, target)
                self._check_out(place, session, target)
            except BaseException:
                shutil.rmtree(target, ignore_errors=True)
                raise

    def store(self, _source: Path, _artifact: model.Artifact, _namespace: str) -> None:
        """Refuse."""
        raise refuse("git", "saved")

    def delete(self, _artifact: model.Artifact, _namespace: str) -> None:
        """Refuse."""
        raise refuse("git", "deleted")

    def read(self, artifact: model.Artifact, namespace: str) -> Iterator[bytes]:
        """Yield the clone as a compressed tar archive."""
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, artifact.name)
            self.fetch(artifact, target, namespace)
            opened = os.open(target, beneath.DIRECTORY)
            try:
                yield from pack.gzip_chunks(pack.tar_chunks(opened, artifact.name))
            finally:
                os.close(opened)

    def list_keys(self, _artifact: model.Artifact, _namespace: str) -> list[str]:
        """Refuse."""
        raise refuse("git", "listed")

    def _clone(self, place: model.GitArtifact, session: _Session, target: Path) -> None:
        arguments = ["clone", "--quiet", "--no-recurse-submodules"]
        if place.depth:
            arguments += [f"--depth={place.depth}", "--no-single-branch"]
        if place.single_branch:
            arguments += ["--single-branch", f"--branch={place.branch}"]
        self._git(session, [*arguments, "--", place.repo, str(target)], None)

    def _check_out(self, place: model.GitArtifact, session: _Session, target: Path) -> None:
        depth = [f"--depth={place.depth}"] if place.depth else []
        if place.fetch:
            command = ["fetch", "--quiet", *depth, "--", "origin", *place.fetch]
            self._git(session, command, target)
        if place.revision:
            commit = self._commit(place, session, target)
            self._git(session, ["checkout", "--quiet", "--detach", commit, "--"], target)
        if not place.disable_submodules:
            self._add_submodules(session, target, depth, _MAX_NESTING)

    def _add_submodules(
        self, session: _Session, target: Path, depth: list[str], nesting: int
    ) -> None:
        """Fetch submodules level by level, as their addresses are the repository's own choice."""
        modules = target / ".gitmodules"
        if modules.is_symlink() or not modules.is_file():
            return
        if not nesting:
            raise ArtifactUnsafeError("git: submodules are nested too deeply")
        listing = [
            "config",
            "--file",
            ".gitmodules",
            "--get-regexp",
            r"^submodule\..*\.(path|url)$",
        ]
        paths = []
        for line in self._git(session, listing, target, check=False).splitlines():
            name, _, value = line.partition(" ")
            if name.endswith(".path"):
                paths.append(value)
            elif not value.startswith(("./", "../")):
                self._judge(_parse_remote(value))
        self._git(session, ["submodule", "--quiet", "update", "--init", *depth], target)
        for path in paths:
            self._add_submodules(session, target / path, depth, nesting - 1)

    def _judge(self, remote: _Remote) -> str:
        """Give the address of a remote, nothing for a folder; refuse what is not allowed."""
        if remote.scheme == "file":
            if not self._allow_local:
                raise ArtifactUnsafeError("git: a folder of this machine is not allowed as a repo")
            return ""
        return self._policy.addresses(remote.host, remote.port)[0]

    def _commit(self, place: model.GitArtifact, session: _Session, target: Path) -> str:
        """Find what a revision means: a branch of the remote, a tag, a commit."""
        names = (f"refs/remotes/origin/{place.revision}", place.revision)
        for attempt in range(2):
            for name in names:
                command = ["rev-parse", "--verify", "--quiet", "--end-of-options"]
                found = self._git(session, [*command, f"{name}^{{commit}}"], target, check=False)
                if found:
                    return found
            if attempt == 0 and place.depth:
                # A shallow clone may lack it: ask for all of the history once.
                self._git(session, ["fetch", "--quiet", "--unshallow", "--tags"], target)
        raise ArtifactError(f"git: no revision {place.revision!r} in the repository")

    def _session(
        self, place: model.GitArtifact, remote: _Remote, folder: Path, namespace: str
    ) -> _Session:
        secrets = Secrets(self._secrets, namespace)
        session = _Session(_environment(folder, allow_file=self._allow_local))
        address = self._judge(remote)
        if remote.scheme in ("http", "https"):
            self._pin_http(session, remote, address)
        if place.insecure_skip_tls:
            session.options += ["-c", "http.sslVerify=false"]
        if remote.scheme == "ssh":
            _set_ssh(
                session, place, secrets, folder, () if self._policy.open else (remote, address)
            )
        elif place.username_secret or place.password_secret:
            _set_askpass(session, place, secrets, folder)
        return session

    def _pin_http(self, session: _Session, remote: _Remote, address: str) -> None:
        if self._policy.open:
            return
        pinned = f"{remote.host}:{remote.port}:{address}"
        session.options += [
            "-c",
            f"http.curloptResolve={pinned}",
            "-c",
            "http.followRedirects=false",
        ]

    def _git(
        self, session: _Session, arguments: list[str], folder: Path | None, *, check: bool = True
    ) -> str:
        command = ["git", *session.options, *arguments]
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=session.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise ArtifactError("git artifacts need the git command, which is missing") from error
        with process:
            try:
                output, problem = process.communicate(timeout=self._timeout)
            except BaseException as error:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                if isinstance(error, subprocess.TimeoutExpired):
                    raise ArtifactError(f"git {arguments[0]}: no end in sight") from error
                raise
        if process.returncode and check:
            text = problem[-_MAX_MESSAGE:].decode(errors="replace").strip()
            raise ArtifactError(f"git {arguments[0]}: {text}")
        return output.decode(errors="replace").strip() if not process.returncode else ""


def check_arguments(place: model.GitArtifact) -> None:
    """Refuse what git could take for an option or a command, and what cannot be meant."""
    values = [place.repo, place.revision, place.branch, *place.fetch]
    for value in values:
        if value.startswith("-") or any(ord(letter) < 32 for letter in value):
            raise ArtifactUnsafeError(f"git: {value[:80]!r} cannot be used")
    if "\\" in place.repo or place.repo.partition("://")[2].split("/")[0].count("@") > 1:
        raise ArtifactUnsafeError("git: the repo can be read in two ways")
    if "::" in place.repo.split("/", 1)[0]:
        raise ArtifactUnsafeError("git: a remote helper is not allowed as a repo")
    if place.single_branch and not place.branch:
        raise ArtifactError("git: singleBranch without a branch")
    if place.depth is not None and place.depth < 0:
        raise ArtifactError("git: depth is negative")


def _parse_remote(repo: str) -> _Remote:
    if "://" in repo:
        try:
            parts = urlsplit(repo)
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise ArtifactError(f"git: the repo is not a URL: {error}") from error
        if parts.scheme == "file":
            return _Remote("file")
        if parts.scheme not in _PORTS or not host or host.startswith("-"):
            raise ArtifactUnsafeError(f"git: {parts.scheme}:// is not allowed as a repo")
        return _Remote(parts.scheme, host, port or _PORTS[parts.scheme])
    if found := _SCP_LIKE.match(repo):
        host = found["host"].strip("[]")
        if host.startswith("-"):
            raise ArtifactUnsafeError("git: the host cannot be used")
        return _Remote("ssh", host, 22)
    return _Remote("file")


def _environment(folder: Path, *, allow_file: bool) -> dict[str, str]:
    """Make an environment in which nothing of this machine's configuration counts but whom it
    trusts."""
    kept = {name: os.environ[name] for name in _TRUST if name in os.environ}
    return {
        **kept,
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "http:https:ssh:git" + (":file" if allow_file else ""),
        "GIT_LFS_SKIP_SMUDGE": "1",
    }


def _set_askpass(
    session: _Session, place: model.GitArtifact, secrets: Secrets, folder: Path
) -> None:
    script = folder / "askpass"
    script.write_text(_ASKPASS)
    script.chmod(0o700)
    session.environment |= {
        "GIT_ASKPASS": str(script),
        "TIPHYS_GIT_HOST": urlsplit(place.repo).netloc.rpartition("@")[2],
        "TIPHYS_GIT_USERNAME": secrets.text(place.username_secret) or "git",
        "TIPHYS_GIT_PASSWORD": secrets.text(place.password_secret),
    }


def _set_ssh(
    session: _Session,
    place: model.GitArtifact,
    secrets: Secrets,
    folder: Path,
    pinned: tuple[()] | tuple[_Remote, str],
) -> None:
    command = ["ssh", "-F", "none", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes"]
    if place.ssh_private_key_secret is not None:
        key = folder / "key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.data(place.ssh_private_key_secret).rstrip() + b"\n")
        command += ["-i", str(key)]
    if place.insecure_ignore_host_key:
        command += ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
    else:
        known = Path.home() / ".ssh" / "known_hosts"
        command += ["-o", "StrictHostKeyChecking=yes", "-o", f"UserKnownHostsFile={known}"]
    if pinned:
        remote, address = pinned
        command += ["-o", f"HostName={address}", "-o", f"HostKeyAlias={quote(remote.host)}"]
    session.environment["GIT_SSH_COMMAND"] = shlex.join(command)
    session.environment["GIT_SSH_VARIANT"] = "ssh"
