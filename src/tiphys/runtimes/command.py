"""Which program a container runs: its command, or what the configuration says of its image."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

from tiphys.errors import RuntimeFailure
from tiphys.runtimes.config import ImageCommand, LocalConfig
from tiphys.spec import model

_REFERENCE = r"\$(\$|\(([^()]*)\))"


def image_names(image: str) -> list[str]:
    """Return the names under which an image may stand in the configuration, exact ones first."""
    names = [image]
    without_digest = image.partition("@")[0]
    repository, colon, tag = without_digest.rpartition(":")
    untagged = repository if colon and "/" not in tag else without_digest
    for name in (without_digest, untagged):
        names.append(name)
        for prefix in ("docker.io/library/", "docker.io/", "library/"):
            if name.startswith(prefix):
                names.append(name.removeprefix(prefix))
    return list(dict.fromkeys(names))


def find_image(config: LocalConfig, image: str) -> ImageCommand | None:
    """Return what the configuration says of an image."""
    for name in image_names(image):
        if name in config.images:
            return config.images[name]
    return None


def container_argv(config: LocalConfig, container: model.Container) -> tuple[str, ...]:
    """Return program and arguments of a container, as Kubernetes joins them."""
    if container.command:
        return (*container.command, *container.args)
    found = find_image(config, container.image)
    if found is not None:
        argv = (*found.entrypoint, *(container.args or found.cmd))
        if argv:
            return argv
    raise _no_command(container.image)


def script_argv(config: LocalConfig, script: model.ScriptTemplate, path: str) -> tuple[str, ...]:
    """Return program and arguments of a script that lies at ``path``."""
    command = script.command
    if not command:
        found = find_image(config, script.image)
        command = (found.entrypoint or found.cmd) if found is not None else ()
    if not command:
        raise _no_command(script.image)
    return (*command, *script.args, path) if script.source else (*command, *script.args)


def _no_command(image: str) -> RuntimeFailure:
    return RuntimeFailure(f"no command for image {image}: add it under images: in tiphys.yaml")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace ``$(NAME)`` as Kubernetes does: ``$$`` escapes, unknown names stay."""
    if "$" not in text:
        return text

    def value(match: re.Match[str]) -> str:
        if match[1] == "$":
            return "$"
        return variables.get(match[2], match[0])

    return re.sub(_REFERENCE, value, text)


def with_interpreter(argv: tuple[str, ...], path: str) -> tuple[str, ...]:
    """Give ``python`` a meaning where the machine has only ``python3``, or none on its path."""
    if argv[0] not in ("python", "python3"):
        return argv
    from shutil import which  # noqa: PLC0415 - large, and most commands need none

    if which(argv[0], path=path):
        return argv
    other = "python3" if argv[0] == "python" else "python"
    found: str | None = which(other, path=path)
    return (found or str(getattr(sys, "_base_executable", sys.executable)), *argv[1:])
