"""The command as a whole: exit codes, where text goes, and what is loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tiphys import __version__
from tiphys.cli.app import COMMANDS, run

BROKEN = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: wf}
spec:
  entrypoint: mian
  templates:
  - name: main
    container: {imge: x, command: [x]}
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, away from the user's own settings and data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TIPHYS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert f"Usage: tiphys {name}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["rum"], ["run"], ["list", "--status", "x"], ["delete"]])
def test_bad_usage_exits_with_2_and_tells_on_stderr(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert capsys.readouterr().out == ""


def test_an_unknown_command_suggests_a_known_one(capsys: pytest.CaptureFixture[str]) -> None:
    run(["rum"])

    assert "Did you mean 'run'?" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["get", "x"], ["logs", "x"], ["delete", "x"]])
def test_looking_where_nothing_is_exits_with_2_and_makes_no_store(
    arguments: list[str], place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 1
    assert "there is no store" in capsys.readouterr().err
    assert not (place / "data").exists()


def test_a_list_of_nothing_is_empty_and_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list"]) == 0
    assert capsys.readouterr().out == ""


def test_an_invalid_workflow_exits_with_2_and_leaves_no_trace(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "wf.yaml").write_text(BROKEN)

    assert run(["run", "wf.yaml"]) == 2

    output = capsys.readouterr()
    assert output.out == ""
    assert "wf.yaml:6:15: spec.entrypoint: there is no template 'mian'" in output.err
    assert output.err.endswith("2 errors\n")
    assert not (place / "data").exists()


@pytest.mark.parametrize("text", ["a: [", "\x00", "a: 1\na: 2\n", "[" * 100_000])
def test_text_that_is_no_yaml_is_told_with_its_line(
    text: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "wf.yaml").write_text(text)

    assert run(["run", "wf.yaml"]) == 2
    assert capsys.readouterr().err.startswith("wf.yaml:")


def test_a_file_without_workflows_is_bad_input(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "empty.yaml").write_text("")

    assert run(["run", "empty.yaml"]) == 2
    assert "there is no Workflow" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
def test_lint_lists_all_mistakes_and_exits_with_2(
    form: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "wf.yaml").write_text(BROKEN)

    assert run(["lint", "-o", form, "wf.yaml"]) == 2

    found = capsys.readouterr().out
    assert "mian" in found
    assert "imge" in found
    if form in {"json", "sarif"}:
        json.loads(found)


def test_a_bad_setting_exits_with_2(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "tiphys.yaml").write_text("isolaton: process\n")
    (place / "wf.yaml").write_text(BROKEN)

    assert run(["run", "wf.yaml"]) == 2
    assert "tiphys.yaml:1:1: isolaton" in capsys.readouterr().err


def test_the_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema"]) == 0
    assert "Workflow" in json.loads(capsys.readouterr().out)["$defs"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_TIPHYS_COMPLETE" in capsys.readouterr().out


def test_the_doctor_looks_at_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor"]) == 0
    assert __version__ in capsys.readouterr().out


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    return set(done.stdout.splitlines()[-1].split())


def test_the_version_is_told_without_loading_anything() -> None:
    code = "import sys; sys.argv[1:] = ['--version']; from tiphys.__main__ import main; main()"

    assert not loaded_by(code) & {"click", "msgspec", "yaml", "asyncio"}


def test_listing_does_not_load_the_loop() -> None:
    code = "from tiphys.cli.app import run; run(['list'])"

    assert not loaded_by(code) & {"asyncio", "tiphys.control", "tiphys.artifacts", "rich"}


HELLO = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: hello}
spec:
  entrypoint: main
  templates:
  - name: main
    container: {image: x, command: ["true"]}
"""
NOT_FOR_ONE_TASK = {
    "fractions",
    "hashlib",
    "tiphys.cli.watch.summary",
    "tiphys.cli.watch.tail",
    "tiphys.control.follow",
    "tiphys.control.occupants",
    "tiphys.control.recover",
    "tiphys.control.server",
    "tiphys.control.service",
    "tiphys.engine.again",
    "tiphys.engine.dag",
    "tiphys.engine.loop",
    "tiphys.engine.restore",
    "tiphys.engine.resubmit",
    "tiphys.engine.retry",
    "tiphys.engine.selector",
    "tiphys.engine.steps",
    "tiphys.engine.throttle",
    "tiphys.executor.rooms",
    "tiphys.executor.stream",
    "tiphys.executor.tree",
    "tiphys.runtimes.data",
    "tiphys.runtimes.end",
    "tiphys.runtimes.engine",
    "tiphys.runtimes.home",
    "tiphys.runtimes.hosts",
    "tiphys.runtimes.inline",
    "tiphys.runtimes.logs",
    "tiphys.runtimes.patch",
    "tiphys.runtimes.staging",
    "tiphys.runtimes.view",
    "tiphys.scheduling.critical_path",
    "tiphys.scheduling.explain",
    "tiphys.scheduling.occupancy",
    "tiphys.scheduling.volcano",
    "tiphys.spec.validate.dag",
    "tiphys.spec.validate.loop",
    "tiphys.spec.validate.steps",
    "tiphys.store.depth",
    "tiphys.store.filter",
    "tiphys.store.listing",
    "tiphys.store.selector",
}


def test_a_run_of_one_task_loads_nothing_that_it_never_calls(place: Path) -> None:
    (place / "tiphys.yaml").write_text("lingerSeconds: 0.1\nisolation: process\n")
    (place / "hello.yaml").write_text(HELLO)
    command = [sys.executable, "-X", "importtime", "-m", "tiphys", "run", "--quiet", "hello.yaml"]

    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)

    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "tiphys.control.loop" in loaded
    assert loaded & NOT_FOR_ONE_TASK == set()


def test_who_needs_what_was_kept_from_msgspec_can_load_it_afterwards() -> None:
    code = (
        "import sys; sys.argv[1:] = ['doctor', '--help']; from tiphys.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert 'typing_extensions' not in sys.modules; import typing_extensions"
    )

    assert {"msgspec", "typing_extensions"} <= loaded_by(code)
