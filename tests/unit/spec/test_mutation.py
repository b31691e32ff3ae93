"""Whatever is done to a file, reading and checking it gives problems, never a crash."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tiphys.spec import yaml
from tiphys.spec.lint import FORMATS, format_problems, lint

FILE = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: w, labels: {a: b}}
spec:
  entrypoint: main
  onExit: bye
  arguments:
    parameters: [{name: p, value: 1, enum: [1, 2]}]
    artifacts: [{name: f, raw: {data: x}}]
  synchronization: {mutexes: [{name: m}], semaphore: {configMapKeyRef: {name: c, key: k}}}
  hooks: {running: {expression: workflow.status == "Running", template: bye}}
  podGC: {strategy: OnPodSuccess}
  templateDefaults: {container: {image: i}}
  volumeClaimTemplates: [{metadata: {name: v}, spec: {resources: {requests: {storage: 1Gi}}}}]
  templates:
  - name: main
    steps:
    - - {name: one, template: graph, withItems: [{k: 1}, [2], 3], when: "{{workflow.name}} != x"}
      - {name: two, templateRef: {name: lib, template: a}, withSequence: {count: 3}}
    - - {name: three, inline: {suspend: {duration: "10"}}, continueOn: {failed: true}}
    outputs: {parameters: [{name: o, valueFrom: {expression: "steps.one.outputs.result"}}]}
  - name: graph
    dag:
      target: b
      tasks:
      - {name: a, template: bye, withParam: "[1]", hooks: {exit: {template: bye}}}
      - {name: b, template: bye, depends: a.AnySucceeded && !a.Failed}
  - name: bye
    inputs: {artifacts: [{name: f, path: /f, optional: true}]}
    retryStrategy: {limit: 2, backoff: {duration: 1s, factor: 2}, expression: "true"}
    timeout: 10s
    container: {args: ["{{=workflow.parameters.p}}", "{{inputs.artifacts.f.path}}"]}
    metrics: {prometheus: [{name: m, help: h, gauge: {value: "1", realtime: false}}]}
  - name: set
    containerSet: {containers: [{name: main, image: i}, {name: x, image: i, dependencies: [main]}]}
  - {name: make, resource: {action: create, manifest: "kind: Pod"}}
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: lib}
spec: {templates: [{name: a, script: {image: i, source: x}}]}
---
apiVersion: argoproj.io/v1alpha1
kind: CronWorkflow
metadata: {name: c}
spec:
  schedule: "@daily"
  schedules: ["0 0 * * *"]
  workflowSpec: {workflowTemplateRef: {name: lib}, entrypoint: a}
---
kind: List
apiVersion: v1
items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {k: "1"}}]
"""
DOCUMENTS = [document.value for document in yaml.load(FILE)]


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield from paths(item, (*path, key))


PATHS = [path for path in paths(DOCUMENTS) if path]
TEXTS = st.sampled_from(
    ["", "{{", "{{}}", "{{=", "{{=1 +}}", "{{item.x}}", "{{tasks.}}", "a b", "..", "(", "x" * 200]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


def test_the_file_itself_is_sound() -> None:
    assert [each for each in lint([("f", FILE)]) if not each.warning] == []


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PATHS), VALUES), min_size=1, max_size=3))
def test_no_change_of_a_file_makes_the_checks_crash(
    changes: list[tuple[tuple[str | int, ...], Any]],
) -> None:
    documents = copy.deepcopy(DOCUMENTS)
    for path, value in changes:
        place: Any = documents
        for part in path[:-1]:
            place = place[part] if _has(place, part) else None
        if _has(place, path[-1]):
            place[path[-1]] = value

    found = lint([(str(index), json.dumps(each)) for index, each in enumerate(documents)])

    assert all(each.code and each.message for each in found)
    assert all(format_problems(found, form) or not found for form in FORMATS)


def _has(value: Any, part: str | int) -> bool:
    if isinstance(value, dict):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and part < len(value)
