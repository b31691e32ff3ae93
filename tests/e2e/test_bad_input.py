"""Files that cannot be used: a code, a line, exit code 2, and no trace in the store.

Each row is one of the ways in which a file is bad. What only shows while a workflow runs ends the
node in Error, with the same word in its message.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

TIPHYS = Path(sys.executable).with_name("tiphys")


class Bad(NamedTuple):
    """A file, what it is called, and where it is wrong."""

    code: str
    line: int
    text: bytes


def _workflow(templates: str, *, spec: str = "", name: str = "bad") -> bytes:
    """Give a workflow; the templates start on line 7."""
    return f"""apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {{name: {name}}}
spec:
  entrypoint: main
  templates: {spec}
{templates}
""".encode()


_POD = "  - name: main\n    container: {image: x, command: ['true']}"
_MERGE_BOMB = "a0: &a0 {k0: 0}\n" + "".join(
    f"a{n}: &a{n}\n  <<: [{', '.join(f'*a{n - 1}' for _ in range(9))}]\n  k{n}: 0\n"
    for n in range(1, 30)
)
_ALIAS_BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join(f'*a{n - 1}' for _ in range(9))}]\n" for n in range(1, 11)
)


def _call(loop: str, template: str = "leaf") -> str:
    return (
        f"  - name: main\n    steps:\n    - - name: a\n        template: {template}\n"
        f"        {loop}\n  - name: leaf\n    container: {{image: x, command: ['true']}}"
    )


def _condition(text: str) -> str:
    return _call(f"when: {json.dumps(text)}")


FILES = {
    "YAML that does not end": Bad("parse_error", 3, b"kind: Workflow\nspec: {a: 1\n"),
    "a tab for a space": Bad("parse_error", 2, b"kind: Workflow\n\tspec: {}\n"),
    "JSON that does not end": Bad("parse_error", 3, b'{"kind": "Workflow",\n "spec": [1\n'),
    "a NUL": Bad("parse_error", 2, b"kind: Workflow\nspec: \x00\n"),
    "text that is not UTF-8": Bad("parse_error", 2, b"kind: Workflow\nspec: \xff\xfe\n"),
    "a program": Bad("parse_error", 1, b"\x7fELF\x02\x01\x01\x00" * 100),
    "too many levels": Bad("yaml_limit", 1, b"[" * 100_000),
    "too many levels of mappings": Bad("yaml_limit", 1, b"{a: " * 100_000),
    "an alias bomb": Bad("yaml_limit", 6, _ALIAS_BOMB.encode()),
    "a merge bomb": Bad("yaml_limit", 15, _MERGE_BOMB.encode()),
    "a text that is too long": Bad("yaml_limit", 1, b"a: " + b"x" * (2 * 1024 * 1024)),
    "a file that is far too long": Bad("yaml_limit", 1, b"a: " + b"x" * (20 * 1024 * 1024)),
    "too many values": Bad("yaml_limit", 1, b"a: [" + b"1," * 250_000 + b"]"),
    "a key given twice": Bad(
        "duplicate_key", 6, _workflow(_POD).replace(b"  templates", b"  entrypoint: b\n  templates")
    ),
    "a tag of Python's": Bad(
        "yaml_tag", 6, _workflow(_POD, spec="!!python/object/apply:os.system")
    ),
    "a tag of one's own": Bad("yaml_tag", 6, _workflow(_POD, spec="!mine")),
    "a wrong type": Bad("invalid_spec", 8, _workflow("  - name: main\n    container: [true]")),
    "a template that is not there": Bad("invalid_spec", 10, _workflow(_call("", "nowhere"))),
    "a cycle": Bad(
        "invalid_spec",
        10,
        _workflow(
            "  - name: main\n    dag:\n      tasks:\n"
            "      - {name: a, template: leaf, depends: b}\n"
            "      - {name: b, template: leaf, depends: a}\n"
            "  - name: leaf\n    container: {image: x, command: ['true']}"
        ),
    ),
    "a bad name": Bad("invalid_spec", 3, _workflow(_POD, name="Not_A_Name")),
    "a name that climbs": Bad("invalid_spec", 3, _workflow(_POD, name="../../etc")),
    "no kind": Bad("invalid_spec", 1, b"spec: {}\n"),
    "a list of things": Bad("invalid_spec", 1, b"[1, 2]\n"),
    "a count without end": Bad(
        "fanout_limit", 11, _workflow(_call('withSequence: {count: "1000000000"}'))
    ),
    "an end without end": Bad(
        "fanout_limit", 11, _workflow(_call('withSequence: {start: "5", end: "999999999"}'))
    ),
    "items without end": Bad(
        "fanout_limit", 11, _workflow(_call("withItems: [" + "0," * 100_001 + "]"))
    ),
    "an expression that does not end": Bad(
        "expression_error",
        8,
        _workflow("  - name: main\n    container: {image: x, command: ['{{=1 + }}']}"),
    ),
    "a condition that does not end": Bad("expression_error", 11, _workflow(_condition("1 == ("))),
    "an expression that is too deep": Bad(
        "expression_limit",
        8,
        _workflow(
            "  - name: main\n    container: {image: x, command: ['{{="
            + "(" * 5000
            + "1"
            + ")" * 5000
            + "}}']}"
        ),
    ),
    "an expression that is too long": Bad(
        "expression_limit",
        8,
        _workflow(
            "  - name: main\n    container: {image: x, command: ['{{=" + "1+" * 500_000 + "1}}']}"
        ),
    ),
    "a condition that is too deep": Bad(
        "expression_limit", 11, _workflow(_condition("(" * 5000 + "1 == 1" + ")" * 5000))
    ),
}


class Ended(NamedTuple):
    """How the command ended, and what it said."""

    code: int
    out: str
    err: str


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(tmp_path), "TIPHYS_DATA_DIR": str(tmp_path / "data")}


def _tiphys(folder: Path, environment: dict[str, str], *words: str) -> Ended:
    done = subprocess.run(
        [TIPHYS, *words], capture_output=True, text=True, env=environment, cwd=folder, check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def _problems(folder: Path, environment: dict[str, str]) -> tuple[list[Any], Ended]:
    ended = _tiphys(folder, environment, "lint", "-o", "json", "bad.yaml")
    return json.loads(ended.out), ended


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_is_refused_with_its_code_and_line_and_leaves_nothing(
    name: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    code, line, text = FILES[name]
    (tmp_path / "bad.yaml").write_bytes(text)

    ended = _tiphys(tmp_path, environment, "run", "bad.yaml")

    assert ended.code == 2, ended
    assert any(
        told.startswith(f"bad.yaml:{line}:") and told.endswith(f"[{code}]")
        for told in ended.err.splitlines()
    ), ended.err
    assert max(map(len, ended.err.splitlines())) < 600
    assert "Traceback" not in ended.err
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("name", FILES)
def test_lint_says_the_same(name: str, tmp_path: Path, environment: dict[str, str]) -> None:
    code, line, text = FILES[name]
    (tmp_path / "bad.yaml").write_bytes(text)

    problems, ended = _problems(tmp_path, environment)

    assert ended.code == 2
    assert (code, line) in {(each["code"], each["line"]) for each in problems}


def test_an_unknown_field_is_an_error_to_lint_and_a_warning_to_run(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    text = _workflow(_POD).replace(b"  entrypoint", b"  entryPoint: main\n  entrypoint")
    (tmp_path / "bad.yaml").write_bytes(text)

    problems, linted = _problems(tmp_path, environment)
    ran = _tiphys(tmp_path, environment, "run", "-o", "name", "bad.yaml")

    assert linted.code == 2
    assert [(each["code"], each["line"]) for each in problems] == [("unknown_field", 5)]
    assert (ran.code, ran.out) == (0, "bad\n")
    assert "warning: bad.yaml:5:" in ran.err


def test_the_problems_of_all_files_are_told_at_once(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "one.yaml").write_bytes(FILES["a wrong type"].text)
    (tmp_path / "two.yaml").write_bytes(FILES["a key given twice"].text)
    (tmp_path / "good.yaml").write_bytes(_workflow(_POD))

    ended = _tiphys(tmp_path, environment, "run", "one.yaml", "good.yaml", "two.yaml")

    assert ended.code == 2
    assert "one.yaml:8:" in ended.err
    assert "two.yaml:6:" in ended.err
    assert not (tmp_path / "data").exists()


def test_an_unknown_queue_is_refused_where_there_are_queues_and_else_it_does_not_matter(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    head = b"metadata: {name: bad, labels: {kueue.x-k8s.io/queue-name: nowhere}}"
    (tmp_path / "bad.yaml").write_bytes(_workflow(_POD).replace(b"metadata: {name: bad}", head))

    ran = _tiphys(tmp_path, environment, "run", "bad.yaml")
    (tmp_path / "tiphys.yaml").write_text("queues: {night: {preset: batch}}\n")
    refused = _tiphys(tmp_path, environment, "run", "bad.yaml")
    listed = _tiphys(tmp_path, environment, "list", "-o", "name")

    assert ran.code == 0
    assert "no queues are set up here: bad waits in default, not nowhere" in ran.err
    assert refused.code == 2
    assert "bad.yaml:3:59: metadata.labels" in refused.err
    assert "there is no queue 'nowhere'" in refused.err
    assert listed.out == "bad\n"


_CLAIM = """
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""


def test_a_claim_that_is_an_empty_folder_here_is_told_until_it_is_used_or_made(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    volumes = b"  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]\n  entrypoint"
    pod = _POD.replace("['true']}", "['true'], volumeMounts: [{name: v, mountPath: /v}]}")
    text = _workflow(pod).replace(b"  entrypoint", volumes).replace(b"{name: bad}", b"{name: a}")
    (tmp_path / "a.yaml").write_bytes(text)
    (tmp_path / "b.yaml").write_bytes(text.replace(b": a}", b": b}"))
    made = text.replace(b": a}", b": c}").replace(b"claimName: data", b"claimName: own")
    (tmp_path / "c.yaml").write_bytes(made + _CLAIM.replace("{name: data}", "{name: own}").encode())

    first, second, third = (
        _tiphys(tmp_path, environment, "run", "-q", f"{name}.yaml") for name in "abc"
    )

    assert [each.code for each in (first, second, third)] == [0, 0, 0]
    assert "warning: a.yaml:5:58: spec.volumes[0].persistentVolumeClaim.claimName" in first.err
    assert "there is no claim 'data' yet: it begins as an empty folder" in first.err
    assert "no claim" not in second.err + third.err


_LACKING = b"""
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: lacking}
spec:
  entrypoint: main
  volumes:
  - {name: settings, configMap: {name: mounted}}
  - {name: unused, configMap: {name: unmounted}}
  templates:
  - name: main
    steps:
    - - {name: first, template: fine}
    - - {name: never, template: pod, when: "no == yes"}
      - {name: object, template: object, when: "no == yes"}
      - {name: plugged, template: plugged, when: "no == yes"}
      - {name: stored, templateRef: {name: store, template: asks}, when: "no == yes"}
  - name: fine
    container: {image: x, command: ['true']}
  - name: pod
    container:
      image: x
      command: ['true']
      securityContext: {privileged: true}
      volumeMounts: [{name: settings, mountPath: /s}]
      env:
      - {name: A, valueFrom: {secretKeyRef: {name: password, key: word}}}
      - {name: B, valueFrom: {secretKeyRef: {name: perhaps, key: word, optional: true}}}
      - {name: C, valueFrom: {configMapKeyRef: {name: known, key: there}}}
      - {name: D, valueFrom: {configMapKeyRef: {name: known, key: absent}}}
      - {name: E, valueFrom: {configMapKeyRef: {name: "{{workflow.name}}", key: there}}}
    sidecars:
    - {name: beside, image: x, envFrom: [{configMapRef: {name: whole}}]}
  - name: object
    resource: {action: create, manifest: "kind: Pod"}
  - name: plugged
    plugin: {slack: {}}
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: store}
spec:
  templates:
  - name: asks
    container: {image: x, command: ['true'], envFrom: [{secretRef: {name: kept}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: known}
data: {there: x}
"""


def test_what_a_later_step_lacks_is_told_before_anything_starts(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "a.yaml").write_bytes(_LACKING)

    done = _tiphys(tmp_path, environment, "run", "a.yaml")

    told, begun, _ = done.err.partition("lacking Running")
    places = [
        line.partition("warning: a.yaml:")[2].partition(" (")[0]
        for line in told.splitlines()
        if "warning: " in line
    ]
    pod = "spec.templates[2].container"
    fails = "the step that needs it will fail"
    assert (done.code, begun) == (0, "lacking Running"), done.err
    assert sorted(places) == sorted(
        [
            f"8:33: spec.volumes[0].configMap: there is no ConfigMap 'mounted': {fails}",
            f"17:37: spec.templates[0].steps[1][3].templateRef: there is no Secret 'kept': {fails}",
            f"24:37: {pod}.securityContext.privileged: "
            "a privileged container is not allowed here: it will fail",
            f"27:45: {pod}.env[0].valueFrom.secretKeyRef: there is no Secret 'password': {fails}",
            f"30:48: {pod}.env[3].valueFrom.configMapKeyRef: "
            f"the ConfigMap 'known' has no key 'absent': {fails} [no_config_map]",
            "33:57: spec.templates[2].sidecars[0].envFrom[0].configMapRef: "
            f"there is no ConfigMap 'whole': {fails}",
            "35:15: spec.templates[3].resource: "
            f"resource templates need a Kubernetes cluster: {fails}",
            "37:13: spec.templates[4].plugin: "
            f"no executor plugin is configured for slack: {fails} [no_plugin]",
        ]
    )


_FLOW = {"flows": [{"name": "bad"}], "jobRetainPolicy": "retain"}


def _volcano(group: str, kind: str, spec: dict[str, Any]) -> str:
    head = {"apiVersion": f"{group}.volcano.sh/v1alpha1", "kind": kind, "metadata": {"name": "bad"}}
    return f"---\n{json.dumps({**head, 'spec': spec})}\n"


def test_an_unknown_queue_of_a_job_is_refused_as_well(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    pod = {"containers": [{"name": "c", "image": "x", "command": ["true"]}]}
    spec = {"queue": "nowhere", "tasks": [{"name": "w", "template": {"spec": pod}}]}
    job = _volcano("batch", "Job", spec)
    flow = _volcano("flow", "JobTemplate", spec) + _volcano("flow", "JobFlow", _FLOW)
    (tmp_path / "job.yaml").write_text(job)
    (tmp_path / "flow.yaml").write_text(flow)
    (tmp_path / "tiphys.yaml").write_text("queues: {night: {preset: batch}}\n")

    one = _tiphys(tmp_path, environment, "run", "job.yaml")
    whole = _tiphys(tmp_path, environment, "run", "flow.yaml")
    both = _tiphys(tmp_path, environment, "run", "job.yaml", "flow.yaml")

    assert (one.code, whole.code) == (2, 2)
    assert "spec.queue: there is no queue 'nowhere'" in one.err
    assert "spec.flows: there is no queue 'nowhere'" in whole.err
    assert both.err.endswith("2 errors\n")


# --- what only shows while the workflow runs ------------------------------------------------

_DYNAMIC_FANOUT = """  - name: main
    steps:
    - - {name: list, template: list}
    - - name: a
        template: leaf
        withSequence: {count: "{{steps.list.outputs.result}}"}
  - name: list
    script: {image: x, command: [sh], source: "echo 1000000000"}
  - name: leaf
    container: {image: x, command: ['true']}"""
_DYNAMIC_EXPRESSION = """  - name: main
    steps:
    - - {name: list, template: list}
    - - name: a
        template: leaf
        arguments: {parameters: [{name: x, value: "{{=TEXT}}"}]}
  - name: list
    script: {image: x, command: [sh], source: "echo word"}
  - name: leaf
    inputs: {parameters: [{name: x}]}
    container: {image: x, command: ['true']}"""
_ARCHIVE_THAT_CLIMBS = """  - name: main
    steps:
    - - {name: pack, template: pack}
    - - {name: unpack, template: unpack}
  - name: pack
    container:
      image: x
      command: [sh, -c, "cd /tmp && echo x > evil && tar -czPf packed ../tmp/evil"]
    outputs:
      artifacts:
      - {name: p, path: /tmp/packed, archive: {none: {}}, s3: {key: "{{workflow.uid}}/p"}}
  - name: unpack
    inputs: {artifacts: [{name: p, path: /tmp/in, s3: {key: "{{workflow.uid}}/p"}}]}
    container: {image: x, command: ['true']}"""
DYNAMIC = {
    "artifact_unsafe": _ARCHIVE_THAT_CLIMBS,
    "egress_denied": "  - name: main\n    http: {url: 'http://127.0.0.1:9/'}",
    "fanout_limit": _DYNAMIC_FANOUT,
    "max_depth_exceeded": "  - name: main\n    steps:\n    - - {name: m, template: main}",
    "expression_error": _DYNAMIC_EXPRESSION.replace("TEXT", "asInt(steps.list.outputs.result)"),
    "expression_limit": _DYNAMIC_EXPRESSION.replace(
        "TEXT", "len(steps.list.outputs.result) == 4 ? sum(1..100000000) : 0"
    ),
}


@pytest.mark.parametrize("word", DYNAMIC)
def test_what_shows_only_at_run_time_ends_the_node_in_error(
    word: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "bad.yaml").write_bytes(_workflow(DYNAMIC[word]))

    ended = _tiphys(tmp_path, environment, "run", "-q", "-o", "json", "bad.yaml")

    status = json.loads(ended.out)["status"]
    errors = [node["message"] for node in status["nodes"].values() if node["phase"] == "Error"]
    assert ended.code == 1
    assert any(word in message for message in errors), errors
    assert all(len(message) < 1000 for message in errors)
