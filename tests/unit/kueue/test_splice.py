"""New things in a YAML text, and every character of the old ones where it was."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
import yaml

from tiphys.kueue.inject import inject_text
from tiphys.kueue.splice import Text

EXAMPLES = Path(__file__).resolve().parents[4] / "shared"
FLOW = """\
# on top
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  generateName: x-   # its name
spec:
  entrypoint: main
  templates:
  # the first
  - name: main
    steps:
    # what we begin with
    - - name: a
        template: work   # "quoted"
    - - {name: b, template: work, withItems: [1, 2]}
  - name: dag
    dag:
      tasks:
        # A is first
        - name: A
          template: work
        - {name: B, dependencies: [A], template: work}
        - name: C
          dependencies:
          - A
          template: work

  # the leaf
  - name: work
    script:
      image: 'alpine'
      source: |
        echo hi
        # no comment

# the end
---
kind: ConfigMap   # not ours
data: {a: "1"}
"""


def removed(old: str, new: str) -> list[str]:
    lines = difflib.ndiff(old.splitlines(), new.splitlines())
    return [line[2:] for line in lines if line.startswith("- ")]


def test_pauses_are_put_in_and_all_else_stays_as_it_was() -> None:
    made = inject_text(FLOW)

    assert removed(FLOW, made) == ["        - {name: B, dependencies: [A], template: work}"]
    assert '        - {name: B, dependencies: [A, "kueue-1"], template: work}' in made
    lines = made.splitlines()
    assert lines[lines.index("    # what we begin with") - 1].strip().startswith("value:")
    assert made.endswith(FLOW[FLOW.index("\n# the end") :])


def test_what_was_put_in_is_what_it_would_be_in_a_file_written_anew() -> None:
    anew = inject_text(yaml.safe_dump_all(yaml.safe_load_all(FLOW), sort_keys=False))

    assert list(yaml.safe_load_all(inject_text(FLOW))) == list(yaml.safe_load_all(anew))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1  # one\n", "a: 1  # one\nb:\n- 2\n"),
        ("a: 1", "a: 1\nb:\n- 2\n"),
        ("{a: 1}  # flow\n", '{a: 1, "b": [2]}  # flow\n'),
        ("{}\n", '{"b": [2]}\n'),
        ("a: |\n  text\n\n# after\n", "a: |\n  text\nb:\n- 2\n\n# after\n"),
        ('{"a": 1}', '{"a": 1, "b": [2]}'),
    ],
)
def test_a_key_is_added_behind_the_others(text: str, expected: str) -> None:
    read = Text(text)
    read.documents[0]["b"] = [2]

    assert read.write() == expected


def test_an_item_comes_before_the_comment_of_the_one_that_it_precedes() -> None:
    read = Text("- a: 1\n# two\n- b: 2\n")
    read.documents[0].insert(1, {"new": "x"})

    assert read.write() == "- a: 1\n- new: x\n# two\n- b: 2\n"


def test_an_empty_value_is_filled() -> None:
    read = Text("a:\nb: 1\n")
    read.documents[0]["a"] = {"x": "y"}

    assert read.write() == 'a: {"x": "y"}\nb: 1\n'


@pytest.mark.parametrize("text", ["a: &x [1]\nb: *x\n", "a: [1, 2]\n"])
def test_what_cannot_be_put_in_is_told(text: str) -> None:
    read = Text(text)
    read.documents[0]["a"].pop()

    assert read.write() is None


def test_a_file_with_anchors_is_written_anew_and_means_the_same() -> None:
    anchored = FLOW.replace("withItems: [1, 2]", "withItems: &all [1, 2]").replace(
        "entrypoint: main", "entrypoint: main\n  arguments: {parameters: [{name: p, value: x}]}"
    )

    plain = list(yaml.safe_load_all(inject_text(anchored.replace("&all ", ""))))

    assert list(yaml.safe_load_all(inject_text(anchored))) == plain
