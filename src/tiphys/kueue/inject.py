"""``tiphys kueue inject``: a workflow that pauses before each layer until it is admitted.

Pure: text in, text out; comments and formatting stay (``kueue/splice.py``). For clusters where pods
must not be gated. Each pause is a suspend step whose inputs tell what the layer behind it needs:
the podSets, and the lists of its loops. Who runs the file may take the pauses out again; gates
(``tiphys kueue controller``) cannot be.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from tiphys.kueue.label import MODE
from tiphys.kueue.layer import Json
from tiphys.kueue.shape import shape_of
from tiphys.kueue.splice import Text

PAUSE = "tiphys-kueue"
"""The name of the suspend template."""
STEP = "kueue-"
PODSETS, ITEMS = "podsets", "items-"
METADATA = "workflowMetadata"
_LEAVES = ("container", "script", "containerSet", "resource", "data", "http", "plugin")
_KINDS = ("Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate", "CronWorkflow")


def inject_text(text: str) -> str:
    """Rewrite every workflow of a YAML text; raise ValueError where there is none."""
    try:
        read = Text(text)
        _inject_all(read.documents)
        made = read.write()
        if made is not None:
            return made
        # Anchors and the like: all of it is written anew.
        documents = [each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each]
    except yaml.YAMLError as error:
        raise ValueError(f"this is not YAML: {error}") from error
    _inject_all(documents)
    return yaml.dump_all(documents, sort_keys=False, allow_unicode=True, width=100)


def _inject_all(documents: Iterable[Any]) -> None:
    found = [each for each in documents if isinstance(each, dict) and each.get("kind") in _KINDS]
    if not found:
        raise ValueError("there is no workflow in this file")
    for each in found:
        inject(each)


def inject(workflow: Json) -> None:
    """Put a pause before each layer of a workflow."""
    spec = whole = workflow.get("spec") or {}
    if workflow["kind"] == "CronWorkflow":
        spec = spec.get("workflowSpec") or {}
    templates: list[Json] = spec.get("templates") or []
    if not templates or any(each.get("name") == PAUSE for each in templates):
        raise ValueError("this workflow has no templates, or its pauses already")
    leaves = {each["name"]: each for each in templates if any(k in each for k in _LEAVES)}
    for template in templates:
        if "steps" in template:
            template["steps"][:] = list(_paused_steps(template["steps"], leaves))
        elif "dag" in template:
            _pause_tasks(template["dag"], leaves)
    if spec.get("entrypoint") in leaves:
        _wrap(spec, leaves[spec["entrypoint"]])
    templates.append(_pause_template(templates))
    # What is written on other kinds themselves does not reach the workflows that they give.
    place, key = (workflow, "metadata") if workflow["kind"] == "Workflow" else (whole, METADATA)
    for name in (key, "annotations"):
        place[name] = place.get(name) or {}
        place = place[name]
    place[MODE] = "suspend"


def _pause_template(templates: Iterable[Json]) -> Json:
    """Give the suspend template, with an input for each list that some pause hands over."""
    steps = [step for each in templates for group in each.get("steps") or () for step in group]
    steps += [task for each in templates for task in (each.get("dag") or {}).get("tasks") or ()]
    pauses = [step for step in steps if step.get("template") == PAUSE]
    lists = max((len(step["arguments"]["parameters"]) - 1 for step in pauses), default=0)
    more = [{"name": f"{ITEMS}{index}", "default": "[]"} for index in range(lists)]
    return {"name": PAUSE, "inputs": {"parameters": [{"name": PODSETS}, *more]}, "suspend": {}}


def _paused_steps(groups: Iterable[list[Json]], leaves: Mapping[str, Json]) -> Iterable[list[Json]]:
    for index, group in enumerate(groups):
        ours = [step for step in group if _leaf_of(step, leaves)]
        if ours:
            yield [_pause(f"{STEP}{index}", ours, leaves)]
        yield group


def _pause_tasks(dag: Json, leaves: Mapping[str, Json]) -> None:
    tasks: list[Json] = dag.get("tasks") or []
    by_cause: dict[str, list[Json]] = {}
    for task in tasks:
        if _leaf_of(task, leaves):
            cause = [task.get("depends"), sorted(task.get("dependencies") or ())]
            by_cause.setdefault(json.dumps(cause), []).append(task)
    depends = any("depends" in task for task in tasks)
    pauses = []
    for index, layer in enumerate(by_cause.values()):
        pause = _pause(f"{STEP}{index}", layer, leaves)
        causes: Json = {
            key: layer[0][key] for key in ("depends", "dependencies") if key in layer[0]
        }
        pause |= copy.deepcopy(causes)
        pauses.append(pause)
        for task in layer:
            _hang(task, pause["name"], depends=depends)
    tasks[:0] = pauses


def _hang(task: Json, pause: str, *, depends: bool) -> None:
    """Have a task wait for a pause as well."""
    if not depends:
        task["dependencies"] = task.get("dependencies") or []
        task["dependencies"].append(pause)
    elif task.get("depends"):
        task["depends"] = f"({task['depends']}) && {pause}"
    else:
        task["depends"] = pause


def _wrap(spec: Json, leaf: Json) -> None:
    """Give a workflow of a single leaf a step before it."""
    inputs = leaf.get("inputs") or {}
    if inputs.get("artifacts"):
        raise ValueError("the entrypoint has input artifacts: put it into a steps template first")
    step: Json = {"name": "main", "template": leaf["name"]}
    known = {each["name"] for each in (spec.get("arguments") or {}).get("parameters") or ()}
    names = [each["name"] for each in inputs.get("parameters") or () if each["name"] in known]
    if names:
        given = [{"name": n, "value": f"{{{{workflow.parameters.{n}}}}}"} for n in names]
        step["arguments"] = {"parameters": given}
    pause = _pause(f"{STEP}0", [step], {leaf["name"]: leaf})
    spec["templates"].append({"name": f"{PAUSE}-entry", "steps": [[pause], [step]]})
    spec["entrypoint"] = f"{PAUSE}-entry"


def _leaf_of(step: Mapping[str, Any], leaves: Mapping[str, Json]) -> Json | None:
    if step.get("inline") and any(key in step["inline"] for key in _LEAVES):
        inline: Json = step["inline"]
        return inline
    return leaves.get(step.get("template") or "")


def _pause(name: str, steps: Iterable[Json], leaves: Mapping[str, Json]) -> Json:
    podsets: dict[str, Json] = {}
    lists: list[str] = []
    for step in steps:
        shape = shape_of(pod_of(_leaf_of(step, leaves) or {}))
        entry = podsets.setdefault(
            shape.name, {"name": shape.name, "count": 0, "template": shape.write(), "loops": []}
        )
        if text := _unknown(step):
            # How many there will be, only the run knows.
            entry["loops"].append(f"{ITEMS}{len(lists)}")
            lists.append(text)
        else:
            entry["count"] += _count(step)
    given = [{"name": PODSETS, "value": json.dumps(list(podsets.values()), sort_keys=True)}]
    given += [{"name": f"{ITEMS}{index}", "value": text} for index, text in enumerate(lists)]
    return {"name": name, "template": PAUSE, "arguments": {"parameters": given}}


def _unknown(step: Json) -> str:
    """Give a loop that the file does not count, as the text from which the run can."""
    if step.get("withParam"):
        return str(step["withParam"])
    sequence = step.get("withSequence") or {}
    given = {key: str(sequence[key]) for key in ("count", "start", "end") if key in sequence}
    return json.dumps(given) if any("{{" in value for value in given.values()) else ""


def _count(step: Json) -> int:
    """Count the pods of a step that the file says all about."""
    loop = step.get("withItems") or step.get("withSequence")
    return 1 if loop is None else length(loop)


def length(loop: Any) -> int:
    """Count the items of a list or of a sequence; what is neither has none, and fails by itself."""
    if isinstance(loop, list):
        return len(loop)
    try:
        if loop.get("end") is None:
            return max(int(loop["count"]), 0)
        return abs(int(loop["end"]) - int(loop.get("start") or 0)) + 1
    except (AttributeError, KeyError, TypeError, ValueError):
        return 0


def pod_of(template: Json) -> Json:
    """Give what a template says of its pod's size and place."""
    mains = [template[key] for key in ("container", "script") if template.get(key)]
    mains += (template.get("containerSet") or {}).get("containers") or []
    return {
        "containers": [*mains, *(template.get("sidecars") or ())],
        "initContainers": template.get("initContainers") or (),
        "nodeSelector": template.get("nodeSelector"),
        "tolerations": template.get("tolerations"),
        "affinity": template.get("affinity"),
        "priorityClassName": template.get("priorityClassName"),
    }
