"""Programs, arguments and references in them."""

from __future__ import annotations

import pytest

from tiphys.errors import RuntimeFailure
from tiphys.runtimes.command import (
    container_argv,
    expand,
    image_names,
    script_argv,
    with_interpreter,
)
from tiphys.runtimes.config import ImageCommand, LocalConfig
from tiphys.spec import model

CONFIG = LocalConfig(
    images={
        "busybox": ImageCommand(cmd=("sh",)),
        "argoproj/argosay:v2": ImageCommand(entrypoint=("argosay",), cmd=("echo",)),
    }
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("$(A)", "1"),
        ("x$(A)y$(B)", "x1y2"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$", "$"),
        ("$(NONE)", "$(NONE)"),
        ("$A ${A}", "$A ${A}"),
        ("$(", "$("),
        ("$", "$"),
    ],
)
def test_references_are_replaced_as_kubernetes_does(text: str, expected: str) -> None:
    assert expand(text, {"A": "1", "B": "2"}) == expected


@pytest.mark.parametrize(
    "image",
    [
        "busybox",
        "busybox:1.36",
        "docker.io/library/busybox",
        "library/busybox:latest",
        "busybox@sha256:0",
    ],
)
def test_an_image_is_found_without_tag_and_registry(image: str) -> None:
    assert container_argv(CONFIG, model.Container(image=image)) == ("sh",)


def test_a_registry_port_is_no_tag() -> None:
    assert "localhost:5000/a" in image_names("localhost:5000/a:v1")
    assert "localhost" not in image_names("localhost:5000/a")


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        (model.Container(image="argoproj/argosay:v2"), ("argosay", "echo")),
        (model.Container(image="argoproj/argosay:v2", args=("cat", "x")), ("argosay", "cat", "x")),
        (model.Container(image="argoproj/argosay:v2", command=("ls",)), ("ls",)),
        (model.Container(image="busybox", args=("ls", "/")), ("ls", "/")),
    ],
)
def test_command_and_arguments_join_as_in_kubernetes(
    container: model.Container, expected: tuple[str, ...]
) -> None:
    assert container_argv(CONFIG, container) == expected


def test_an_unknown_image_without_command_is_refused() -> None:
    with pytest.raises(RuntimeFailure, match="no command for image alpine:3"):
        container_argv(CONFIG, model.Container(image="alpine:3"))


def test_a_script_is_the_last_argument() -> None:
    script = model.ScriptTemplate(command=("bash",), args=("-e",), source="x")

    assert script_argv(CONFIG, script, "/s") == ("bash", "-e", "/s")


def test_a_script_without_command_takes_that_of_its_image() -> None:
    assert script_argv(CONFIG, model.ScriptTemplate(image="busybox", source="x"), "/s") == (
        "sh",
        "/s",
    )


def test_python_means_something_where_there_is_none_on_the_path() -> None:
    (program, *rest) = with_interpreter(("python", "-c", "1"), "/nowhere")

    assert program.startswith("/")
    assert rest == ["-c", "1"]
