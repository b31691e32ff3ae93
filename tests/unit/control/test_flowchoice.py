"""Who drives a flow on Volcano: its own controller only where that is safe."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from tiphys.control.flowchoice import settle_controller
from tiphys.control.submit import Overrides, prepare
from tiphys.ports import CONTROLLER_LABEL, SCHEDULER_LABEL, VOLCANO, is_dispatched
from tiphys.spec import model
from tiphys.spec.library import Library
from tiphys.spec.mark import KIND, MANIFEST
from tiphys.spec.parse import parse_text
from tiphys.testing.harness import Harness
from tiphys.testing.volcano import Document, flow, job, step, task, template, text

replace = msgspec.structs.replace
PLAIN = task("t", "true")


def read(*documents: Document, scheduler: str = VOLCANO) -> model.Workflow:
    bundle = parse_text(text(list(documents)))
    bundle.raise_errors()
    found = bundle.workflows[0].value
    labels = {**found.metadata.labels, SCHEDULER_LABEL: scheduler}
    meta = replace(found.metadata, labels=labels, namespace="default")
    return replace(found, metadata=meta)


def is_handed_over(workflow: model.Workflow, namespace: str = "") -> bool:
    return is_dispatched(settle_controller(workflow, namespace)[0].metadata.labels)


def pair(second: Document, control: Any = None, **spec: Any) -> model.Workflow:
    """Give a flow of two steps."""
    jobs = [template("a", PLAIN, **spec), template("b", PLAIN)]
    return read(flow("f", [step("a"), second], control), *jobs)


def test_a_plain_flow_is_volcanos() -> None:
    assert is_handed_over(pair(step("b", "a")))


@pytest.mark.parametrize(
    ("workflow", "why"),
    [
        (pair(step("b", "a", probe={"tcpSocketList": [{"taskName": "t", "port": 1}]})), "probe"),
        (pair(step("b", "a", patch={"jobSpec": {"maxRetry": 1}})), "patch"),
        (pair(step("b", "a"), control={"steps": {"b": {"retry": {}}}}), "control"),
        (pair(step("b", "a"), ttlSecondsAfterFinished=1), "runs again"),
        (pair(step("b", "a"), policies=[{"event": "PodFailed", "action": "AbortJob"}]), "hangs"),
        (pair(step("b", "a"), policies=[{"exitCode": 3, "action": "TerminateJob"}]), "hangs"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_upstream_lacks_or_gets_wrong_is_driven_by_our_engine(
    workflow: model.Workflow, why: str
) -> None:
    assert not is_handed_over(workflow)


def test_names_that_do_not_fit_into_upstreams_labels_are_driven_by_our_engine() -> None:
    assert not is_handed_over(pair(step("b", "a")), namespace="n" * 62)


def test_a_job_alone_and_another_scheduler_are_not_handed_over() -> None:
    assert not is_handed_over(read(job("j", PLAIN)))
    assert not is_handed_over(read(flow("f", [step("a")]), template("a", PLAIN), scheduler="local"))


def test_nobody_can_choose_by_writing_the_label() -> None:
    workflow = pair(step("b", "a", patch={"jobSpec": {"maxRetry": 1}}))
    labels = {**workflow.metadata.labels, CONTROLLER_LABEL: VOLCANO}
    forged = replace(workflow, metadata=replace(workflow.metadata, labels=labels))

    assert CONTROLLER_LABEL not in settle_controller(forged, "")[0].metadata.labels


def test_why_a_flow_is_driven_from_here_is_told() -> None:
    probe = {"tcpSocketList": [{"taskName": "t", "port": 1}]}

    _, why = settle_controller(pair(step("b", "a", probe=probe)), "")

    assert why == "driven from here: b: a probe"
    assert settle_controller(pair(step("b", "a")), "")[1] == ""


# --- marks that only Tiphys writes ----------------------------------------------------------

FORGED: Document = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Workflow",
    "metadata": {
        "name": "w",
        "labels": {SCHEDULER_LABEL: VOLCANO, KIND: "JobFlow", CONTROLLER_LABEL: VOLCANO},
        "annotations": {MANIFEST: "{}"},
    },
    "spec": {
        "entrypoint": "main",
        "templates": [{"name": "main", "container": {"image": "x", "command": ["true"]}}],
    },
}


def prepared(*documents: Document, **overrides: Any) -> model.Workflow:
    """Take documents in as every way in does."""
    bundle = parse_text(text(list(documents)))
    bundle.raise_errors()
    library = Library(namespace="default").extended(bundle)
    return prepare(bundle.workflows[0], library, Overrides(**overrides)).workflow


def test_a_workflow_that_says_it_is_a_flow_is_none() -> None:
    workflow = prepared(FORGED)

    assert workflow.metadata.labels == {SCHEDULER_LABEL: VOLCANO}
    assert not workflow.metadata.annotations
    assert not is_handed_over(workflow)


def test_no_option_makes_a_job_a_flow() -> None:
    workflow = prepared(job("j", PLAIN), labels={KIND: "JobFlow", "team": "x"})

    assert (workflow.metadata.labels[KIND], workflow.metadata.labels["team"]) == ("Job", "x")


def test_a_flow_keeps_its_own_marks_and_loses_those_that_its_file_forges() -> None:
    forged = flow("f", [step("a")])
    forged["metadata"] |= {"labels": {CONTROLLER_LABEL: VOLCANO}, "annotations": {MANIFEST: "{}"}}

    workflow = prepared(forged, template("a", PLAIN))

    kept = msgspec.json.decode(workflow.metadata.annotations[MANIFEST])
    assert workflow.metadata.labels == {KIND: "JobFlow"}
    assert kept["kind"] == "JobFlow"


def test_a_spec_does_not_mark_its_run_either() -> None:
    own = {"labels": {KIND: "JobFlow", "team": "x"}, "annotations": {MANIFEST: "{}"}}
    named = {CONTROLLER_LABEL: {"expression": "'volcano'"}}
    spec = {**FORGED["spec"], "workflowMetadata": {**own, "labelsFrom": named}}
    document = {**FORGED, "metadata": {"name": "w"}, "spec": spec}

    run = Harness(json.dumps(document)).start().run

    assert run.labels["team"] == "x"
    assert not {KIND, CONTROLLER_LABEL} & run.labels.keys()
    assert not run.annotations


@pytest.mark.parametrize("change", ["no manifest", "no JSON", "another entrypoint"])
def test_a_flow_of_which_not_all_is_on_record_is_driven_from_here(change: str) -> None:
    workflow = pair(step("b", "a"))
    meta = workflow.metadata
    if change == "another entrypoint":
        workflow = replace(workflow, spec=replace(workflow.spec, entrypoint="a"))
    else:
        annotations = {} if change == "no manifest" else {MANIFEST: "{"}
        workflow = replace(workflow, metadata=replace(meta, annotations=annotations))

    assert not is_handed_over(workflow)
