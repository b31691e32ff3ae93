"""Artifacts from Git repositories, by the real command."""

from __future__ import annotations

import base64
import functools
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tiphys.artifacts import ArtifactConfig, Egress, Repositories
from tiphys.errors import ArtifactError, ArtifactUnsafeError, EgressDeniedError
from tiphys.spec import model

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="the git command is missing")

SPACE = "default"
SECRETS = {"user": b"ann", "password": b"canary-hush"}
LOGIN = "Basic " + base64.b64encode(b"ann:canary-hush").decode()


def git(folder: Path, *arguments: str) -> str:
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{
            f"GIT_{who}_{what}": "x@example.org"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }
    command = ["git", "-c", "protocol.file.allow=always", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(folder: Path, text: str) -> str:
    (folder / "file").write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", text)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    """A repository with a branch, a tag and three commits."""
    folder = tmp_path / "upstream"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "first")
    git(folder, "tag", "v1")
    git(folder, "checkout", "-q", "-b", "side")
    commit(folder, "side")
    git(folder, "checkout", "-q", "main")
    commit(folder, "last")
    return folder


class Gate(SimpleHTTPRequestHandler):
    """Serves files to those who log in."""

    seen: list[tuple[str, str]]
    open = False

    def do_GET(self) -> None:
        """Serve, or ask for a log-in."""
        self.seen.append((self.path, self.headers.get("Host", "")))
        if self.open or self.headers.get("Authorization") == LOGIN:
            super().do_GET()
            return
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.fixture
def served(upstream: Path, tmp_path: Path) -> Iterator[tuple[str, type[Gate]]]:
    """The repository behind a log-in, by plain HTTP."""
    git(tmp_path, "clone", "-q", "--bare", str(upstream), "web/r.git")
    git(tmp_path / "web" / "r.git", "update-server-info")
    gate = type("OneGate", (Gate,), {"seen": []})
    handler = functools.partial(gate, directory=str(tmp_path / "web"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}", gate
    server.shutdown()
    thread.join()
    server.server_close()


def load(tmp_path: Path, place: model.GitArtifact, *allow: str, local: bool = True) -> Path:
    config = ArtifactConfig(egress=Egress(allow=allow), allow_local_git=local, durable=False)
    made = Repositories(
        root=tmp_path / "root", config=config, secrets=lambda _space, _name, key: SECRETS[key]
    )
    artifact = model.Artifact(name="code", git=place)
    made.load(artifact, tmp_path / "in", namespace=SPACE)
    return tmp_path / "in"


def log_in() -> dict[str, model.SecretKeySelector]:
    return {
        "username_secret": model.SecretKeySelector(name="s", key="user"),
        "password_secret": model.SecretKeySelector(name="s", key="password"),
    }


def test_a_clone_has_the_newest_commit_and_the_history(upstream: Path, tmp_path: Path) -> None:
    loaded = load(tmp_path, model.GitArtifact(repo=str(upstream)))

    assert (loaded / "file").read_text() == "last"
    assert git(loaded, "rev-list", "--count", "HEAD") == "2"


@pytest.mark.parametrize(
    ("revision", "text"), [("v1", "first"), ("side", "side"), ("main", "last")]
)
def test_a_revision_is_a_tag_or_a_branch(
    upstream: Path, tmp_path: Path, revision: str, text: str
) -> None:
    loaded = load(tmp_path, model.GitArtifact(repo=str(upstream), revision=revision))

    assert (loaded / "file").read_text() == text


def test_a_revision_is_a_commit(upstream: Path, tmp_path: Path) -> None:
    first = git(upstream, "rev-parse", "v1")
    loaded = load(tmp_path, model.GitArtifact(repo=str(upstream), revision=first))

    assert (loaded / "file").read_text() == "first"


def test_an_unknown_revision_is_an_error(upstream: Path, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="no revision 'nowhere'"):
        load(tmp_path, model.GitArtifact(repo=str(upstream), revision="nowhere"))

    assert not (tmp_path / "in").exists()


def test_a_depth_cuts_the_history(upstream: Path, tmp_path: Path) -> None:
    place = model.GitArtifact(repo=f"file://{upstream}", depth=1)
    loaded = load(tmp_path, place)

    assert git(loaded, "rev-list", "--count", "HEAD") == "1"


def test_an_old_revision_is_found_in_spite_of_a_depth(upstream: Path, tmp_path: Path) -> None:
    first = git(upstream, "rev-parse", "v1")
    place = model.GitArtifact(repo=f"file://{upstream}", depth=1, revision=first)

    assert (load(tmp_path, place) / "file").read_text() == "first"


def test_a_single_branch_brings_no_other(upstream: Path, tmp_path: Path) -> None:
    place = model.GitArtifact(repo=str(upstream), single_branch=True, branch="side")
    loaded = load(tmp_path, place)

    assert (loaded / "file").read_text() == "side"
    assert "main" not in git(loaded, "branch", "--all")


def test_refs_may_be_fetched_by_name(upstream: Path, tmp_path: Path) -> None:
    git(upstream, "update-ref", "refs/review/7", "v1")
    place = model.GitArtifact(
        repo=str(upstream), fetch=("refs/review/*:refs/review/*",), revision="refs/review/7"
    )

    assert (load(tmp_path, place) / "file").read_text() == "first"


@pytest.mark.parametrize("disabled", [True, False])
def test_submodules_come_along_unless_disabled(
    upstream: Path, tmp_path: Path, disabled: bool
) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q", "-b", "main")
    git(outer, "submodule", "--quiet", "add", str(upstream), "sub")
    commit(outer, "outer")
    loaded = load(tmp_path, model.GitArtifact(repo=str(outer), disable_submodules=disabled))

    assert (loaded / "sub" / "file").exists() is not disabled


def test_a_submodule_at_a_denied_address_is_refused(upstream: Path, tmp_path: Path) -> None:
    modules = '[submodule "s"]\n\tpath = s\n\turl = http://127.0.0.1:9/x.git\n'
    (upstream / ".gitmodules").write_text(modules)
    commit(upstream, "with a submodule")

    with pytest.raises(EgressDeniedError):
        load(tmp_path, model.GitArtifact(repo=str(upstream)))


def test_a_log_in_opens_a_repository(served: tuple[str, type[Gate]], tmp_path: Path) -> None:
    place = model.GitArtifact(repo=f"http://{served[0]}/r.git", **log_in())  # type: ignore[arg-type]

    assert (load(tmp_path, place, "127.0.0.1", local=False) / "file").read_text() == "last"


def test_without_a_log_in_nobody_is_asked_for_one(
    served: tuple[str, type[Gate]], tmp_path: Path
) -> None:
    with pytest.raises(ArtifactError, match="git clone"):
        load(tmp_path, model.GitArtifact(repo=f"http://{served[0]}/r.git"), "127.0.0.1")


def test_secrets_are_not_among_the_arguments_or_in_the_clone(
    served: tuple[str, type[Gate]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    log = tmp_path / "arguments"
    wrapper.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {shutil.which("git")} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    place = model.GitArtifact(repo=f"http://{served[0]}/r.git", **log_in())  # type: ignore[arg-type]
    loaded = load(tmp_path, place, "127.0.0.1")

    assert "clone" in log.read_text()
    assert "canary" not in log.read_text()
    assert "canary" not in (loaded / ".git" / "config").read_text()


def test_the_name_is_pinned_to_the_address_that_was_judged(
    served: tuple[str, type[Gate]], tmp_path: Path
) -> None:
    host, gate = served
    gate.open = True
    port = host.rsplit(":", 1)[1]
    loaded = load(tmp_path, model.GitArtifact(repo=f"http://localhost:{port}/r.git"), "localhost")

    assert (loaded / "file").read_text() == "last"
    assert gate.seen[0][1] == f"localhost:{port}"


def test_a_denied_address_is_not_reached(served: tuple[str, type[Gate]], tmp_path: Path) -> None:
    with pytest.raises(EgressDeniedError):
        load(tmp_path, model.GitArtifact(repo=f"http://{served[0]}/r.git"))

    assert served[1].seen == []


@pytest.mark.parametrize("repo", ["{upstream}", "file://{upstream}", "../upstream", "./x"])
def test_a_folder_of_this_machine_needs_permission(
    upstream: Path, tmp_path: Path, repo: str
) -> None:
    place = model.GitArtifact(repo=repo.format(upstream=upstream))

    with pytest.raises(ArtifactUnsafeError):
        load(tmp_path, place, "*", local=False)


@pytest.mark.parametrize(
    "fields",
    [
        {"repo": "--upload-pack=touch /tmp/x"},
        {"repo": "-u"},
        {"repo": "ext::sh -c touch% /tmp/x"},
        {"repo": "fd::17"},
        {"repo": "http://x/y", "revision": "--output=/tmp/x"},
        {"repo": "http://x/y", "branch": "-b", "single_branch": True},
        {"repo": "http://x/y", "fetch": ("--upload-pack=x",)},
        {"repo": "ssh://-oProxyCommand=touch/x"},
        {"repo": "-oProxyCommand=x:y"},
        {"repo": "http://x/y\nz"},
        {"repo": "ftp://x/y"},
        {"repo": "http://1.1.1.1\\@127.0.0.1/y"},
        {"repo": "http://a@1.1.1.1@127.0.0.1/y"},
    ],
)
def test_what_git_could_take_for_an_option_is_refused(
    fields: dict[str, object], tmp_path: Path
) -> None:
    with pytest.raises(ArtifactUnsafeError):
        load(tmp_path, model.GitArtifact(**fields), "*")  # type: ignore[arg-type]


def test_a_single_branch_needs_a_branch(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="without a branch"):
        load(tmp_path, model.GitArtifact(repo="http://x/y", single_branch=True), "*")


def test_git_artifacts_cannot_be_saved(upstream: Path, tmp_path: Path) -> None:
    made = Repositories(root=tmp_path / "root", config=ArtifactConfig(), secrets=lambda *_: b"")
    artifact = model.Artifact(name="x", git=model.GitArtifact(repo=str(upstream)))

    with pytest.raises(ArtifactError, match="cannot be saved"):
        made.save(upstream / "file", artifact, namespace=SPACE)
