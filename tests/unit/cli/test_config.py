"""Where settings come from, which one wins, and how mistakes are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiphys.config import find_project_file, load_config
from tiphys.errors import ConfigError
from tiphys.folders import data_dir


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_without_any_file_the_defaults_apply(tmp_path: Path) -> None:
    config = load_config({"HOME": str(tmp_path)}, cwd=tmp_path)

    assert (config.isolation, config.namespace) == ("auto", "default")
    assert config.capacity.cpu_millis is None


def test_a_flag_wins_over_a_variable_that_over_the_project_that_over_the_user(
    tmp_path: Path,
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    write(home / ".config/tiphys/config.yaml", "namespace: user\nisolation: process\nlogCap: 1Mi\n")
    write(project / "tiphys.yaml", "namespace: project\nisolation: sandbox\n")
    environment = {"HOME": str(home), "TIPHYS_NAMESPACE": "variable"}

    assert load_config(environment, cwd=project, flags={"namespace": "flag"}).namespace == "flag"
    config = load_config(environment, cwd=project, flags={"namespace": None})
    assert config.namespace == "variable"
    assert config.isolation == "sandbox"
    assert config.local().log_cap == 2**20


def test_images_of_both_files_are_joined(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    write(home / ".config/tiphys/config.yaml", "images: {a: {cmd: [sh]}, b: {cmd: [sh]}}\n")
    write(project / "tiphys.yaml", "images: {b: {entrypoint: [bash]}}\n")

    images = load_config({"HOME": str(home)}, cwd=project).images

    assert set(images) == {"a", "b"}
    assert images["b"].entrypoint == ("bash",)


def test_a_named_file_takes_the_place_of_all_others(tmp_path: Path) -> None:
    write(tmp_path / "tiphys.yaml", "namespace: project\n")
    named = write(tmp_path / "other.yaml", "isolation: process\n")

    config = load_config({}, cwd=tmp_path, file=named)

    assert (config.namespace, config.isolation) == ("default", "process")


def test_the_search_ends_at_the_root_of_the_repository(tmp_path: Path) -> None:
    write(tmp_path / "tiphys.yaml", "")
    inner = tmp_path / "repository/src"
    inner.mkdir(parents=True)

    assert find_project_file(inner, home=Path("/nowhere")) == tmp_path / "tiphys.yaml"
    (tmp_path / "repository/.git").mkdir()
    assert find_project_file(inner, home=Path("/nowhere")) is None


def test_the_search_ends_at_home(tmp_path: Path) -> None:
    write(tmp_path / "tiphys.yaml", "")
    home = tmp_path / "home"
    home.mkdir()

    assert find_project_file(home, home=home) is None


def test_an_unknown_key_is_told_with_its_line_and_what_was_meant(tmp_path: Path) -> None:
    file = write(tmp_path / "tiphys.yaml", "namespace: a\nisolaton: process\n")

    with pytest.raises(ConfigError) as caught:
        load_config({}, cwd=tmp_path)

    assert str(caught.value) == (
        f"{file}:2:1: isolaton: there is no field 'isolaton' here"
        " (did you mean 'isolation'?) [bad_config]"
    )


def test_all_problems_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    text = "isolation: sandbx\nlogCap: lots\nartifacts: {limit: 1}\nartifactRepository: {s3: 5}\n"
    write(tmp_path / "tiphys.yaml", text)

    with pytest.raises(ConfigError) as caught:
        load_config({}, cwd=tmp_path)

    lines = str(caught.value).splitlines()
    assert len(lines) == 4
    assert "did you mean 'sandbox'?" in lines[0]


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TIPHYS_CAPACITY_CPU", "many"),
        ("TIPHYS_ALLOW_HOST_PATH", "perhaps"),
        ("TIPHYS_MAX_PROCESSES", "1.5"),
    ],
)
def test_a_bad_variable_is_refused(variable: str, value: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        load_config({variable: value}, cwd=tmp_path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("graceSeconds: -1", "graceSeconds: -1 is less than nothing"),
        ("lingerSeconds: -0.5", "lingerSeconds: -0.5 is less than nothing"),
        ("maxProcesses: -3", "maxProcesses: -3 is less than nothing"),
        ("namespace: Team_A", "namespace: 'Team_A' names no namespace"),
    ],
)
def test_a_setting_without_sense_is_refused_with_its_place(
    line: str, problem: str, tmp_path: Path
) -> None:
    (tmp_path / "tiphys.yaml").write_text(f"isolation: process\n{line}\n")

    with pytest.raises(ConfigError) as caught:
        load_config({"HOME": str(tmp_path)}, cwd=tmp_path)

    assert f"tiphys.yaml:2:{line.index(':') + 3}" in str(caught.value)
    assert problem in str(caught.value)


def test_the_artifact_part_is_argos(tmp_path: Path) -> None:
    text = "artifactRepository: {s3: {bucket: b}}\negress: {allow: ['*']}\n"
    text += "artifacts: {durable: false}\n"
    write(tmp_path / "tiphys.yaml", text)

    artifacts = load_config({}, cwd=tmp_path).artifact_config()

    assert artifacts.artifact_repository.s3 is not None
    assert artifacts.artifact_repository.s3.bucket == "b"
    assert artifacts.egress.allow == ("*",)
    assert not artifacts.durable


def test_workflow_defaults_are_checked_like_a_workflow(tmp_path: Path) -> None:
    write(tmp_path / "tiphys.yaml", "workflowDefaults: {spec: {paralelism: 3}}\n")

    with pytest.raises(ConfigError, match="parallelism"):
        load_config({}, cwd=tmp_path)


def test_data_lies_where_the_variable_says_else_in_the_xdg_folder() -> None:
    assert data_dir({"TIPHYS_DATA_DIR": "/a"}) == Path("/a")
    assert data_dir({"XDG_DATA_HOME": "/x", "HOME": "/h"}) == Path("/x/tiphys")
    assert data_dir({"XDG_DATA_HOME": "relative", "HOME": "/h"}) == Path("/h/.local/share/tiphys")


def test_the_store_is_named_by_a_variable_and_its_password_is_not_shown(tmp_path: Path) -> None:
    url = "postgresql://me:hunter2@db/tiphys"
    config = load_config({"HOME": str(tmp_path), "TIPHYS_STORE": url}, cwd=tmp_path)

    assert config.store.url == url
    with pytest.raises(ConfigError, match="postgresql://") as caught:
        load_config({"HOME": str(tmp_path), "TIPHYS_STORE": "mysql://me:hunter2@db"}, cwd=tmp_path)
    assert "hunter2" not in str(caught.value)
