"""Short ways to write the workflow of a test and to say how its leaves go."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from textwrap import dedent, indent

from tiphys.engine.node import Node
from tiphys.spec import model
from tiphys.testing.harness import Harness, Outcome, Play

FAIL = Outcome(phase="Failed", exit_code=1, message="main: Error (exit code 1)")
ERROR = Outcome(phase="Error", message="the executor broke")
READY = Outcome(ready=True)

_HEAD = """\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: wf}
spec:
"""
_LEAF = """\
- name: leaf
  container: {image: x, command: [x]}
"""
_ATTEMPT = re.compile(r"\((\d+)\)$")


def flow(templates: str, *, spec: str = "", docs: str = "") -> str:
    """Give the text of a workflow ``wf`` whose entrypoint is ``main``.

    A container template ``leaf`` is added. ``spec`` are further fields of the spec, ``docs``
    further documents of the file.
    """
    entry = "" if "entrypoint:" in spec else "entrypoint: main\n"
    body = entry + _block(spec) + "templates:\n" + _block(templates) + _LEAF
    text = _HEAD + indent(body, "  ")
    return text + "---\n" + dedent(docs) if docs else text


def _block(text: str) -> str:
    text = dedent(text).strip("\n")
    return text + "\n" if text else ""


def cast(outcomes: Mapping[str, Outcome | Sequence[Outcome]]) -> Play:
    """Give each leaf its outcome, by display name or else by template; others succeed.

    A list holds the outcome of each attempt of a retried leaf; the last one is repeated.
    """

    def play(node: Node, template: model.Template) -> Outcome:
        name, attempt = node.display_name, 0
        found = outcomes.get(name)
        match = _ATTEMPT.search(name)
        if found is None and match is not None:
            name, attempt = name[: match.start()], int(match[1])
            found = outcomes.get(name)
        if found is None:
            found = outcomes.get(template.name, Outcome())
        if isinstance(found, Outcome):
            return found
        return found[min(attempt, len(found) - 1)]

    return play


def finished(
    templates: str,
    outcomes: Mapping[str, Outcome | Sequence[Outcome]] | None = None,
    *,
    spec: str = "",
    docs: str = "",
) -> Harness:
    """Run a workflow to its end."""
    harness = Harness(flow(templates, spec=spec, docs=docs), cast(outcomes or {}))
    harness.finish()
    return harness
