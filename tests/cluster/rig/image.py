"""Container images without a registry: made of this machine's own files, brought to containerd.

One layer of busybox is Alpine, busybox and the sandbox image at once; another adds this machine's
Python with the libraries it needs. Each is imported under every name that tests use.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.rig.build import MissingError
from tests.cluster.rig.node import PATH, SANDBOX, Node
from tests.cluster.rig.parts import ARGO

# The last is that of Volcano's own examples, which only want a shell.
BUSYBOX_NAMES = (
    "busybox:latest", "busybox:stable-musl", "alpine:latest", "alpine:3.23", "nginx:1.14.2",
)  # fmt: skip
PYTHON_NAMES = ("python:latest", "python:alpine3.23", "python:3.12")
ARGOEXEC = "quay.io/argoproj/argoexec:v4.0.2"


@dataclass(frozen=True, slots=True)
class Recipe:
    """One image: its files by their place in it, links, and what it runs."""

    names: tuple[str, ...]
    files: Mapping[str, Path]
    links: Mapping[str, str]
    texts: Mapping[str, str]
    command: tuple[str, ...] = ("sh",)
    entrypoint: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()


def bring_images(node: Node, home: Path, *, argo: bool = False) -> None:
    """Make the images that are missing and hand them to containerd."""
    recipes = [_pause(), _busybox(), python(), _argosay(), _cowsay(), _bare()]
    if argo:
        recipes.append(_argoexec())
    for recipe in recipes:
        bring(node, home / "image.tar", recipe)


def bring(node: Node, path: Path, recipe: Recipe) -> None:
    """Make one image, by way of a file, and hand it to containerd."""
    write_archive(path, recipe)
    if node.ctr("images", "import", str(path)):
        raise MissingError(f"containerd does not take the image {recipe.names[0]}")
    path.unlink()


def _busybox_files() -> tuple[dict[str, Path], dict[str, str]]:
    program = shutil.which("busybox", path=PATH)
    if program is None:
        raise MissingError("busybox is not installed")
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True)
    links = {f"bin/{name}": "busybox" for name in listed.stdout.split() if name != "busybox"}
    links |= {"usr/bin/env": "/bin/busybox", "sbin": "bin"}
    return {"bin/busybox": Path(program)}, links


def _pause() -> Recipe:
    files, _ = _busybox_files()
    command = ("/bin/busybox", "sleep", "2000000000")
    return Recipe((SANDBOX,), files, {}, {}, command)


def _busybox() -> Recipe:
    files, links = _busybox_files()
    return Recipe(BUSYBOX_NAMES, files, links, _accounts())


def _accounts() -> dict[str, str]:
    return {
        "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
        "etc/group": "root:x:0:\nnobody:x:65534:\n",
        "tmp/.keep": "",
        "root/.keep": "",
    }


def _bare() -> Recipe:
    """An image without a shell: one static program, as many Go services are shipped."""
    files, _ = _busybox_files()
    program = {"echo": files["bin/busybox"]}
    return Recipe(("tiphys.local/bare:1",), program, {}, {}, ("/echo", "hello"))


def _argosay() -> Recipe:
    """A stand-in for the image of Argo's examples: says, copies, sleeps, fails."""
    files, links = _busybox_files()
    text = """#!/bin/sh
set -eu
case ${1:-echo} in
  echo)
    text=${2:-hello argo}
    if [ $# -ge 3 ]; then mkdir -p "$(dirname "$3")"; echo "$text" > "$3"; else echo "$text"; fi ;;
  cat) cat "$2" ;;
  sleep) sleep "$2" ;;
  exit) exit "${2:-0}" ;;
  assert_contains) grep -F "$3" "$2" ;;
  sh) sh "$2" ;;
  *) exit 1 ;;
esac
"""
    texts = {**_accounts(), "bin/argosay": text}
    files |= _bash()
    return Recipe(("argoproj/argosay:v2",), files, links, texts, (), ("argosay",))


def _bash() -> dict[str, Path]:
    program = shutil.which("bash", path=PATH)
    if program is None:
        return {}
    return {"bin/bash": Path(program), **libraries([Path(program)])}


def _cowsay() -> Recipe:
    """The older one of them, which says its arguments."""
    files, links = _busybox_files()
    texts = {**_accounts(), "bin/cowsay": '#!/bin/sh\necho "$@"\n'}
    files |= _bash()
    return Recipe(("argoproj/argosay:v1",), files, links, texts, (), ("cowsay",))


def _argoexec() -> Recipe:
    files, links = _busybox_files()
    files |= {"bin/argoexec": ARGO.program("argoexec")}
    return Recipe((ARGOEXEC,), files, links, _accounts(), (), ("argoexec",))


def python() -> Recipe:
    """This machine's Python, its standard library and the shared libraries of both."""
    files, links = _busybox_files()
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    program = Path(sys.base_prefix) / "bin" / version
    library = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}))
    found = {f"usr/local/bin/{version}": program.resolve()}
    skipped = {"test", "site-packages", "dist-packages", "__pycache__", "idlelib", "ensurepip"}
    for path in library.rglob("*"):
        inside = path.relative_to(library)
        if path.is_file() and not skipped.intersection(inside.parts):
            found[f"usr/local/lib/{version}/{inside}"] = path
    extensions = [path for path in found.values() if path.suffix == ".so"]
    found |= libraries([program, *extensions])
    links |= {f"usr/local/bin/{name}": version for name in ("python", "python3")}
    links |= {"usr/bin/python3": f"/usr/local/bin/{version}"}
    return Recipe(PYTHON_NAMES, {**files, **found}, links, _accounts(), ("python3",))


def libraries(programs: Iterable[Path]) -> dict[str, Path]:
    """Find what the dynamic loader would load, by asking it."""
    found: dict[str, Path] = {}
    asked = subprocess.run(
        ["ldd", *(str(path) for path in programs)], capture_output=True, text=True, check=False
    )
    for line in asked.stdout.splitlines():
        words = line.replace("=>", " ").split()
        path = next((word for word in words if word.startswith("/") and ".so" in word), "")
        if path and not path.endswith(":"):
            found[path.lstrip("/")] = Path(path).resolve()
    return found


# --- the archive -----------------------------------------------------------------------------


def write_archive(path: Path, recipe: Recipe) -> None:
    """Write an image as ``docker save`` would."""
    layer = _layer(recipe)
    digest = hashlib.sha256(layer).hexdigest()
    config: dict[str, object] = {
        "architecture": "arm64" if sysconfig.get_platform().endswith("aarch64") else "amd64",
        "os": "linux",
        "config": {
            "Env": [
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                *recipe.environment,
            ],
            "Cmd": list(recipe.command),
            "Entrypoint": list(recipe.entrypoint),
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        "history": [],
    }
    manifest = [
        {
            "Config": "config.json",
            "RepoTags": [_full_name(name) for name in recipe.names],
            "Layers": ["layer.tar"],
        }
    ]
    with tarfile.open(path, "w") as archive:
        _add(archive, "config.json", json.dumps(config).encode())
        _add(archive, "layer.tar", layer)
        _add(archive, "manifest.json", json.dumps(manifest).encode())


def _full_name(name: str) -> str:
    first, slash, _ = name.partition("/")
    if slash and ("." in first or ":" in first):
        return name
    return f"docker.io/{name}" if slash else f"docker.io/library/{name}"


def _layer(recipe: Recipe) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        temporary = tarfile.TarInfo("tmp")
        temporary.type, temporary.mode = tarfile.DIRTYPE, 0o1777
        archive.addfile(temporary)
        for place, source in sorted(recipe.files.items()):
            _add(archive, place, source.read_bytes(), source.stat().st_mode & 0o777)
        for place, text in sorted(recipe.texts.items()):
            _add(archive, place, text.encode(), 0o755)
        for place, target in sorted(recipe.links.items()):
            link = tarfile.TarInfo(place)
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), mode
    archive.addfile(info, io.BytesIO(data))
