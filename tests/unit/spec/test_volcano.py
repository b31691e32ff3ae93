"""Volcano's documents: what is wrong with them and where, patches, and the control annotation."""

from __future__ import annotations

from textwrap import dedent

import jsonschema_rs
import msgspec
import pytest

from tiphys.errors import Problem
from tiphys.spec.lint import lint
from tiphys.spec.model import Workflow
from tiphys.spec.model.volcano import JobSpec
from tiphys.spec.parse import Bundle, parse_text
from tiphys.spec.schema import json_schema
from tiphys.spec.volcano.patch import merge
from tiphys.testing.volcano import Document, flow, job, step, task, template, text


def problems(source: str) -> list[tuple[int, str]]:
    """Give line and message of each error."""
    found = lint([("f.yaml", dedent(source))])
    return [(each.line, each.message) for each in found if not each.warning]


def bundle_of(*documents: Document) -> Bundle:
    bundle = parse_text(text(documents))
    bundle.raise_errors()
    return bundle


def workflow_of(*documents: Document) -> Workflow:
    (parsed,) = bundle_of(*documents).workflows
    return parsed.value


def errors_of(*documents: Document) -> list[Problem]:
    return list(parse_text(text(documents)).errors)


def job_of(workflow: Workflow, name: str) -> JobSpec:
    (found,) = [each for each in workflow.spec.templates if each.name == name]
    return msgspec.convert(found.volcano_job, JobSpec, strict=False)


A = template("a", task("t", "true"))
B = template("b", task("t", "true"))

JOB = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: j}
spec:
"""
TASK = """\
  tasks:
  - name: t
    template: {spec: {containers: [{name: c, image: x, command: [x]}]}}
"""
FLOW = """\
apiVersion: flow.volcano.sh/v1alpha1
kind: JobTemplate
metadata: {name: a}
spec: {tasks: [{name: t, template: {spec: {containers: [{name: c, image: x, command: [x]}]}}}]}
---
apiVersion: flow.volcano.sh/v1alpha1
kind: JobFlow
metadata: {name: f}
spec:
"""


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        (JOB + "  tasks: []\n", 5, "a Job needs at least one task"),
        (JOB + TASK + "    replicas: -1\n", 8, "replicas cannot be negative"),
        (JOB + TASK + "    minAvailable: 2\n", 8, "2 is not between 0 and the 1 replicas"),
        (JOB + "  minAvailable: 2\n" + TASK, 5, "2 is not between 0 and the 1 replicas"),
        (JOB + "  minSuccess: 9\n" + TASK, 5, "9 is not between 0 and the 1 replicas"),
        (
            JOB + TASK.replace("name: t", "name: T_1"),
            6,
            "'T_1' is no name: a-z, 0-9 and dashes",
        ),
        (
            JOB + "  tasks:\n  - name: t\n    template: {spec: {containers: []}}\n",
            7,
            "a pod needs a container",
        ),
        (
            JOB
            + "  tasks:\n  - name: t\n    template: {spec: {containers: [{name: c, image: x,"
            + " resources: {limits: {cpu: two}}}]}}\n",
            7,
            "'two' is not a quantity such as 1500m, 2Gi or 0.5",
        ),
        (
            JOB + "  volumes: [{mountPath: /a}]\n" + TASK,
            5,
            "a volume has either volumeClaimName or volumeClaim",
        ),
        (
            JOB
            + "  volumes:\n  - {mountPath: /a, volumeClaimName: x}\n"
            + "  - {mountPath: /a, volumeClaimName: z}\n"
            + TASK,
            7,
            "mountPath '/a' is there twice",
        ),
        (
            JOB + TASK + "    partitionPolicy: {totalPartitions: 2, partitionSize: 3}\n",
            8,
            "2 partitions of 3 are not the 1 replicas",
        ),
        (JOB + TASK + TASK.partition("\n")[2], 8, "the task 't' is there twice"),
        (JOB + TASK + "    dependsOn: {name: [x]}\n", 8, "there is no task 'x'"),
        (JOB + TASK + "    dependsOn: {name: [t]}\n", 6, "tasks wait for each other: t → t"),
    ],
)
def test_each_mistake_in_a_job_is_told_with_its_line(source: str, line: int, message: str) -> None:
    assert (line, message) in problems(source)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("{action: AbortJob}", "a policy has either events or an exit code"),
        (
            "{action: AbortJob, event: PodFailed, exitCode: 3}",
            "a policy has either events or an exit code",
        ),
        ("{action: AbortJob, exitCode: 0}", "0 is no error: a policy cannot wait for it"),
        ("{action: AbortJob, event: PodFialed}", "there is no event 'PodFialed'"),
        ("{action: StopJob, event: PodFailed}", "there is no action 'StopJob'"),
        ("{action: SyncJob, event: PodFailed}", "there is no action 'SyncJob'"),
        (
            "{action: AbortJob, event: PodFailed}, {action: RestartJob, events: [PodFailed]}",
            "the event 'PodFailed' has two policies",
        ),
        (
            "{action: AbortJob, exitCode: 3}, {action: RestartJob, exitCode: 3}",
            "the exit code 3 has two policies",
        ),
        (
            "{action: AbortJob, event: '*'}, {action: RestartJob, event: PodFailed}",
            "'*' stands for every event",
        ),
        ("{action: AbortJob, event: PodPending}", "PodPending needs a timeout"),
        ("{action: AbortJob, event: PodFailed, timeout: soon}", "soon"),
    ],
)
@pytest.mark.parametrize("place", ["job", "task"])
def test_policies_are_checked_wherever_they_stand(place: str, policy: str, message: str) -> None:
    if place == "job":
        source, line = f"{JOB}  policies: [{policy}]\n{TASK}", 5
    else:
        source, line = f"{JOB}{TASK}    policies: [{policy}]\n", 8

    found = problems(source)

    assert [at for at, text_ in found if message in text_] == [line], found


def test_a_misspelt_word_gets_a_hint() -> None:
    source = f"{JOB}  policies: [{{action: AbortJob, event: PodFialed}}]\n{TASK}"

    (found,) = [each for each in lint([("f", source)]) if not each.warning]

    assert found.hint == "did you mean 'PodFailed'?"


def test_a_plugin_that_only_a_cluster_has_is_a_warning() -> None:
    found = lint([("f", f"{JOB}  plugins: {{mpi: [], env: []}}\n{TASK}")])

    assert [(each.warning, each.line) for each in found] == [(True, 5)]
    assert "works on a cluster only" in found[0].message


@pytest.mark.parametrize(
    ("spec", "line", "message"),
    [
        ("  flows: []\n", 10, "a flow needs at least one step"),
        ("  jobRetainPolicy: keep\n  flows: [{name: a}]\n", 10, "'keep' is neither retain nor"),
        ("  flows:\n  - name: a\n  - name: a\n", 12, "the step 'a' is there twice"),
        ("  flows:\n  - name: x\n", 11, "there is no JobTemplate 'x'"),
        (
            "  flows:\n  - name: a\n    dependsOn: {targets: [z]}\n",
            12,
            "there is no step 'z'",
        ),
        (
            "  flows:\n  - name: a\n    dependsOn: {targets: [a]}\n",
            11,
            "steps wait for each other: a → a",
        ),
        (
            "  flows:\n  - name: a\n    dependsOn: {probe: {tcpSocketList: [{port: 1}]}}\n",
            12,
            "a probe without targets probes nothing",
        ),
        (
            "  flows:\n  - name: a\n  - name: b\n    dependsOn:\n      targets: [a]\n"
            "      probe: {taskStatusList: [{taskName: t, phase: Runing}]}\n",
            15,
            "there is no phase 'Runing'",
        ),
    ],
)
def test_each_mistake_in_a_flow_is_told_with_its_line(spec: str, line: int, message: str) -> None:
    found = problems(FLOW + spec)

    assert [at for at, text_ in found if message in text_] == [line], found


def test_a_longer_cycle_is_shown_whole() -> None:
    steps = [step("a", "c"), step("b", "a"), step("c", "b")]

    (found,) = errors_of(flow("f", steps), A, B, template("c", task("t", "true")))

    shown = found.message.removeprefix("steps wait for each other: ").split(" → ")
    assert found.code == "cycle"
    assert sorted(shown[:-1]) == ["a", "b", "c"]
    assert shown[0] == shown[-1]


def test_names_that_are_too_long_are_errors_before_anything_starts() -> None:
    long_step = template("s" * 30, task("t", "true"))
    job_name = errors_of(flow("f" * 40, [step("s" * 30)]), long_step)
    pod_name = errors_of(flow("f" * 20, [step("s" * 30)]), template("s" * 30, task("t" * 15, "x")))
    alone = errors_of(job("j" * 60, task("work", "true")))

    assert any("the Job's name" in each.message for each in job_name)
    assert ["has 69 letters, 63 are allowed" in each.message for each in pod_name] == [True]
    assert "has 67 letters, 63 are allowed" in alone[0].message


def test_a_generated_name_counts_with_its_five_letters() -> None:
    given = job("x", task("work", "true"))
    given["metadata"] = {"generateName": "j" * 52 + "-"}

    (found,) = errors_of(given)

    assert "has 65 letters" in found.message


def test_a_template_is_checked_without_a_flow_and_once_with_many() -> None:
    bad = template("a", task("t", "true", replicas=-1))

    alone = errors_of(bad)
    used = errors_of(flow("f", [step("a")]), bad)
    named = errors_of(template("Bad_Name", task("t", "true")))

    assert [each.message for each in alone] == ["replicas cannot be negative"]
    assert [each.message for each in used] == ["replicas cannot be negative"]
    assert [each.path for each in named] == ["metadata.name"]


def test_a_template_of_another_namespace_is_not_found() -> None:
    elsewhere = {**A, "metadata": {"name": "a", "namespace": "other"}}
    here = {**flow("f", [step("a")]), "metadata": {"name": "f", "namespace": "mine"}}

    (found,) = errors_of(here, elsewhere)

    assert found.message == "there is no JobTemplate 'a'"


def test_a_flow_becomes_a_dag_of_jobs() -> None:
    workflow = workflow_of(flow("f", [step("a"), step("b", "a")]), A, B)

    entry = workflow.spec.templates[0]
    assert entry.dag is not None
    assert workflow.spec.entrypoint == entry.name == "flow"
    assert [(each.name, each.dependencies) for each in entry.dag.tasks] == [
        ("a", ()),
        ("b", ("a",)),
    ]
    assert workflow.metadata.labels["tiphys.dev/kind"] == "JobFlow"


def test_a_step_may_be_called_as_the_entry_would_be() -> None:
    workflow = workflow_of(flow("f", [step("flow")]), template("flow", task("t", "true")))

    assert workflow.spec.entrypoint == "flow-0"


def test_a_job_alone_is_kept_as_long_as_it_says() -> None:
    workflow = workflow_of(job("j", task("t", "true"), ttlSecondsAfterFinished=60))

    assert workflow.spec.ttl_strategy is not None
    assert workflow.spec.ttl_strategy.seconds_after_completion == 60


def test_the_schema_knows_the_documents() -> None:
    is_valid = jsonschema_rs.validator_for(json_schema()).is_valid
    documents = [A, job("j", task("t", "true")), flow("f", [step("a", "b")])]

    assert [is_valid(each) for each in documents] == [True] * 3
    assert not is_valid({**A, "spec": {"task": []}})
    assert not is_valid({**A, "kind": "Job"})


# --- patches ----------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["jobSpec", "spec"])
def test_a_patch_changes_the_job_in_either_form(field: str) -> None:
    change = {"minAvailable": 1, "tasks": [{"name": "t", "replicas": 3}]}
    workflow = workflow_of(flow("f", [step("a", patch={field: change}), step("b")]), A, B)

    patched, plain = job_of(workflow, "a"), job_of(workflow, "b")
    assert (patched.min_available, patched.tasks[0].replicas) == (1, 3)
    assert patched.tasks[0].template.spec.containers[0].command == ("sh", "-c", "true")
    assert (plain.min_available, plain.tasks[0].replicas) == (None, 1)


def test_a_patch_that_makes_a_job_unsound_is_an_error_of_its_step() -> None:
    unsound = {"tasks": [{"name": "t", "replicas": -1}]}
    unknown = {"tasks": [{"name": "t", "replicas": "many"}]}

    (first,) = errors_of(flow("f", [step("a", patch={"jobSpec": unsound})]), A)
    (second,) = errors_of(flow("f", [step("a", patch={"spec": unknown})]), A)

    assert first.message == "replicas cannot be negative"
    assert first.path.startswith("spec.flows[0].patch")
    assert second.path.startswith("spec.flows[0].patch.spec.tasks[0].replicas")


def test_mappings_are_joined_and_null_removes() -> None:
    base = {"a": 1, "b": {"c": 2, "d": 3}}

    assert merge(base, {"b": {"c": None, "e": 4}}) == {"a": 1, "b": {"d": 3, "e": 4}}
    assert base == {"a": 1, "b": {"c": 2, "d": 3}}


def test_lists_with_names_are_joined_and_others_replaced() -> None:
    base = {"tasks": [{"name": "x", "replicas": 1}], "command": ["a", "b"]}
    patch = {"tasks": [{"name": "y"}, {"name": "x", "minAvailable": 1}], "command": ["c"]}

    assert merge(base, patch) == {
        "tasks": [{"name": "x", "replicas": 1, "minAvailable": 1}, {"name": "y"}],
        "command": ["c"],
    }


@pytest.mark.parametrize(
    ("field", "key", "old", "new"),
    [
        ("env", "name", {"value": "1"}, {"value": "2"}),
        ("volumeMounts", "mountPath", {"name": "a"}, {"name": "b"}),
        ("ports", "containerPort", {"name": "a"}, {"name": "b"}),
        ("hostAliases", "ip", {"hostnames": ["a"]}, {"hostnames": ["b"]}),
    ],
)
def test_lists_are_joined_by_the_key_that_kubernetes_gives_them(
    field: str, key: str, old: Document, new: Document
) -> None:
    base = {field: [{key: "k", **old}, {key: "other", **old}]}

    merged = merge(base, {field: [{key: "k", **new}]})

    assert merged == {field: [{key: "k", **new}, {key: "other", **old}]}


def test_directives_delete_items_and_replace_mappings() -> None:
    base = {"env": [{"name": "a"}, {"name": "b"}], "plugins": {"env": [], "svc": []}}
    patch = {
        "env": [{"name": "a", "$patch": "delete"}, {"name": "none", "$patch": "delete"}],
        "plugins": {"$patch": "replace", "ssh": []},
    }

    assert merge(base, patch) == {"env": [{"name": "b"}], "plugins": {"ssh": []}}


# --- the control annotation --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("control", "message"),
    [
        ("a: [", "the annotation is no YAML"),
        ("steps: {z: {when: 'true'}}", "steps.z: the flow has no such step"),
        ("steps: {a: {whne: 'true'}}", "whne"),
        ("steps: {a: {retry: {limit: many}}}", "steps.a.retry.limit: "),
        ("steps: {a: {retry: {backoff: soon}}}", "steps.a.retry.backoff: "),
        ("steps: {a: {for: {}}}", "steps.a.for: a loop has either"),
        ("steps: {a: {for: {items: [1], count: 2}}}", "steps.a.for: a loop has either"),
        ("steps: {a: {for: {until: '1 == 1', limit: 0}}}", "steps.a.for.limit: a loop runs at"),
        (
            "steps: {a: {switch: {value: x, cases: {y: [z]}}}}",
            "steps.a.switch: the flow has no step 'z'",
        ),
        ('steps: {a: {switch: {value: x, cases: {"it\'s": [a]}}}}', "steps.a.switch.cases: "),
        ("steps: {a: {template: zz}}", "there is no JobTemplate 'zz'"),
    ],
)
def test_each_mistake_in_the_annotation_is_told_at_its_place(control: str, message: str) -> None:
    indented = control.replace("\n", "\n      ")
    source = FLOW.replace(
        "metadata: {name: f}",
        f"metadata:\n  name: f\n  annotations:\n    tiphys.dev/flow: |\n      {indented}",
    )

    found = lint([("f", source + "  flows: [{name: a}]\n")])

    lines = [each.line for each in found if message in each.message]
    expected = 14 if "JobTemplate" in message else 11
    assert lines == [expected], found


def test_a_retry_a_loop_and_a_switch_become_the_same_of_a_workflow() -> None:
    control = {
        "parameters": {"where": "eu"},
        "steps": {
            "a": {
                "retry": {"limit": 2, "backoff": "5s"},
                "switch": {"value": "{{workflow.parameters.where}}", "cases": {"eu": ["b"]}},
            },
            "b": {"for": {"items": ["x", 1]}, "parameters": {"it": "{{item}}"}},
        },
    }
    workflow = workflow_of(flow("f", [step("a"), step("b", "a")], control), A, B)

    dag, first, second = workflow.spec.templates
    assert dag.dag is not None
    assert first.retry_strategy is not None
    assert (first.retry_strategy.limit, first.retry_strategy.retry_policy) == ("2", "Always")
    assert first.retry_strategy.backoff is not None
    assert first.retry_strategy.backoff.duration == "5s"
    assert dag.dag.tasks[1].when == "'{{workflow.parameters.where}}' == 'eu'"
    assert dag.dag.tasks[1].with_items == ("x", 1)
    assert [each.name for each in second.inputs.parameters] == ["it"]
    assert [(p.name, p.value) for p in workflow.spec.arguments.parameters] == [("where", "eu")]


def test_one_template_serves_several_steps() -> None:
    control = {"steps": {"again": {"template": "a"}}}
    workflow = workflow_of(flow("f", [step("a"), step("again", "a")], control), A)

    assert job_of(workflow, "again") == job_of(workflow, "a")


def test_the_file_stays_as_it_was_for_those_who_ask() -> None:
    given = flow("f", [step("a")], {"steps": {"a": {"when": "true"}}}, jobRetainPolicy="delete")

    workflow = workflow_of(given, A)

    kept = msgspec.json.decode(workflow.metadata.annotations["tiphys.dev/manifest"])
    assert kept == given
    assert workflow.metadata.labels["tiphys.dev/job-retain"] == "delete"


def test_a_misspelt_kind_is_remarked_on() -> None:
    found = lint([("f", "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobFlw\n")])

    assert [(each.message, each.hint) for each in found] == [
        ("the kind 'JobFlw' is not known here", "did you mean 'JobFlow'?")
    ]
