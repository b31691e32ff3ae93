"""Files, parameters and labels as they are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiphys.cli.inputs import read_files, read_labels, read_parameters
from tiphys.cli.names import seconds
from tiphys.errors import InvalidInputError


def test_a_folder_stands_for_the_files_below_it(tmp_path: Path) -> None:
    for name in ("b.yaml", "a/d.txt", ".git/e.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "a/c.json").write_text('{"kind": "Workflow", "apiVersion": "v1"}')
    (tmp_path / "a/package.json").write_text('{"name": "somebody else\'s"}')

    files = read_files([str(tmp_path)], folders=True)

    assert [Path(name).name for name, _ in files] == ["c.json", "b.yaml"]


def test_a_json_file_that_is_named_is_read_whatever_it_holds(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}")

    assert read_files([str(tmp_path / "package.json")], folders=True)[0][1] == b"{}"


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_a_file_that_cannot_be_read_is_bad_input(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError):
        read_files([str(tmp_path / name)])


def test_parameters_of_flags_win_over_those_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text("a: 1\nb: text\nc: [1, {x: ü}]\nd: true\n")

    parameters = read_parameters(["b=x=y", "e="], str(file))

    assert parameters == {"a": "1", "b": "x=y", "c": '[1,{"x":"ü"}]', "d": "true", "e": ""}


@pytest.mark.parametrize("pair", ["name", "=value", ""])
def test_a_parameter_without_name_or_value_is_refused(pair: str) -> None:
    with pytest.raises(InvalidInputError):
        read_parameters([pair], None)


def test_a_parameter_file_must_be_a_mapping(tmp_path: Path) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text("- a\n")

    with pytest.raises(InvalidInputError):
        read_parameters([], str(file))


def test_labels_are_pairs() -> None:
    assert read_labels("a=b, c=") == {"a": "b", "c": ""}
    with pytest.raises(InvalidInputError):
        read_labels("a")


def test_durations_may_be_days_and_weeks() -> None:
    assert [seconds(text) for text in ("90s", "1h30m", "2d", "1w")] == [90, 5400, 172800, 604800]
    assert [seconds(text) for text in ("1.5d", "1d12h", "0s")] == [129600, 129600, 0]
    with pytest.raises(InvalidInputError):
        seconds("xd")


@pytest.mark.parametrize("text", ["", "5", "d", "nand", "infd", "1e400d", "-5d", "-1h", "1_0w"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a duration such as 30m, 2h or 3d"):
        seconds(text)
