"""Which scheduler a workflow gets."""

from __future__ import annotations

import pytest

from tiphys.config import SchedulerSettings, VolcanoSettings
from tiphys.control.choice import ASKED, choose, classed, has_fallen_back
from tiphys.errors import InvalidInputError
from tiphys.kueue.label import QUEUE
from tiphys.ports import SCHEDULER_LABEL
from tiphys.spec import model

ON = VolcanoSettings(enabled=True)


def workflow(scheduler: str = "", **annotations: str) -> model.Workflow:
    labels = {SCHEDULER_LABEL: scheduler} if scheduler else {}
    meta = model.ObjectMeta(name="w", labels=labels, annotations=annotations)
    return model.Workflow(metadata=meta, spec=model.WorkflowSpec())


@pytest.mark.parametrize(
    ("named", "default", "found"),
    [
        ("", "local", ""),
        ("", "k8s-native", "k8s-native"),
        ("local", "volcano", "local"),
        ("volcano", "local", "volcano"),
        ("argo-default", "volcano", "argo-default"),
    ],
)
def test_a_name_counts_before_the_configured_one(named: str, default: str, found: str) -> None:
    settled, why = choose(workflow(named), SchedulerSettings(default=default, volcano=ON))

    assert (settled.metadata.labels.get(SCHEDULER_LABEL, ""), why) == (found, "")
    assert not has_fallen_back(settled.metadata.annotations)


@pytest.mark.parametrize(("named", "default"), [("volcano", "local"), ("", "volcano")])
def test_with_the_flag_off_work_for_volcano_runs_here_and_says_so(named: str, default: str) -> None:
    settled, why = choose(workflow(named), SchedulerSettings(default=default))

    assert SCHEDULER_LABEL not in settled.metadata.labels
    assert settled.metadata.annotations == {ASKED: "volcano"}
    assert "ENABLE_VOLCANO_SCHEDULER" in why


def test_what_fell_back_asks_again_when_it_is_submitted_again() -> None:
    fallen, _ = choose(workflow("volcano"), SchedulerSettings())

    settled, why = choose(fallen, SchedulerSettings(volcano=ON))

    assert settled.metadata.labels == {SCHEDULER_LABEL: "volcano"}
    assert (settled.metadata.annotations, why) == ({}, "")


@pytest.mark.parametrize(
    ("labels", "annotations", "found"),
    [
        ({QUEUE: "own"}, {}, "own"),
        ({}, {"tiphys.dev/queue": "asked"}, "asked"),
        ({QUEUE: "own"}, {"tiphys.dev/queue": "asked"}, "asked"),
    ],
)
def test_work_for_kueue_carries_the_label_of_its_queue(
    labels: dict[str, str], annotations: dict[str, str], found: str
) -> None:
    meta = model.ObjectMeta(name="w", labels=labels, annotations=annotations)
    given = model.Workflow(metadata=meta, spec=model.WorkflowSpec())

    settled, why = choose(given, SchedulerSettings(default="kueue"))

    assert settled.metadata.labels == {QUEUE: found, SCHEDULER_LABEL: "kueue"}
    assert (settled.metadata.annotations, why) == (annotations, "")


def test_work_for_kueue_without_a_queue_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="queue_id, or the label kueue"):
        choose(workflow("kueue"), SchedulerSettings())


@pytest.mark.parametrize(
    ("annotations", "told"),
    [
        ({}, "needs the annotation kueue.k8s.io/max-resources"),
        ({"kueue.k8s.io/max-resources": "cpu: much"}, "annotation kueue.k8s.io/max-resources"),
        (
            {"kueue.k8s.io/max-resources": "cpu: 1", "kueue.k8s.io/node-selector": "[a]"},
            "annotation kueue.k8s.io/node-selector: expected labels",
        ),
    ],
)
def test_a_whole_workflow_for_kueue_that_does_not_say_what_it_needs_is_refused(
    annotations: dict[str, str], told: str
) -> None:
    notes = {"tiphys.dev/kueue-unit": "workflow", **annotations}
    meta = model.ObjectMeta(name="w", labels={QUEUE: "own"}, annotations=notes)
    given = model.Workflow(metadata=meta, spec=model.WorkflowSpec())

    with pytest.raises(InvalidInputError, match=told):
        choose(given, SchedulerSettings(default="kueue"))


@pytest.mark.parametrize(
    ("scheduler", "presets", "priority", "found"),
    [
        ("volcano", True, 100, "high"),
        ("volcano", True, 10, ""),
        ("volcano", True, 77, ""),
        ("volcano", True, None, ""),
        ("volcano", False, 100, ""),
        ("k8s-native", True, 100, ""),
    ],
)
def test_a_priority_becomes_the_class_of_its_name_where_such_classes_are_made(
    scheduler: str, presets: bool, priority: int | None, found: str
) -> None:
    volcano = VolcanoSettings(enabled=True, presets=presets)
    spec = model.WorkflowSpec(priority=priority)

    after = classed(spec, workflow(scheduler), SchedulerSettings(volcano=volcano))

    assert after.pod_priority_class_name == found
