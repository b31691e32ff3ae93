"""Workflows as Jobs of a real cluster: the same ends, messages and outputs as on this machine."""

from __future__ import annotations

import json

import pytest

from tests.cluster.helm import Helm, Json, essence

HEAD = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: w-}
spec:
"""
EVERYTHING = (
    HEAD
    + """
  entrypoint: main
  onExit: bye
  templates:
  - name: main
    dag:
      tasks:
      - {name: make, template: make}
      - name: loop
        dependencies: [make]
        template: say
        withParam: "{{tasks.make.outputs.result}}"
        arguments: {parameters: [{name: x, value: "{{item}}"}]}
      - {name: files, template: files}
      - name: use
        dependencies: [files]
        template: use
        arguments:
          parameters: [{name: p, value: "{{tasks.files.outputs.parameters.p}}"}]
          artifacts:
          - {name: large, from: "{{tasks.files.outputs.artifacts.large}}"}
          - {name: folder, from: "{{tasks.files.outputs.artifacts.folder}}"}
          - {name: text, raw: {data: "from the file itself"}}
      - {name: flaky, template: flaky}
      - {name: set, template: set}
      - {name: fails, template: fails, continueOn: {failed: true}}
      - {name: leaves-nothing, template: leaves-nothing, continueOn: {error: true}}
      - {name: no-program, template: no-program, continueOn: {failed: true}}
      - name: sum
        dependencies: [loop, use, fails]
        template: say
        arguments: {parameters: [{name: x, value: "{{tasks.fails.exitCode}}"}]}
  - name: make
    script:
      image: "alpine:3.23"
      command: [sh]
      source: |
        echo to the side >&2
        echo '["a", "b c", "d"]'
  - name: say
    inputs: {parameters: [{name: x}]}
    container: {image: "alpine:3.23", command: [echo], args: ["got {{inputs.parameters.x}}"]}
  - name: files
    container:
      image: "alpine:3.23"
      command: [sh, -c]
      args:
      - |
        mkdir -p out/folder/deep
        echo 42 > out/p
        head -c 3000000 /dev/zero | tr '\\\\0' x > out/large
        echo found > out/folder/deep/file
        ln -s deep/file out/folder/link
        mkdir -p /tmp/tiphys-test-k8s && cp -a out/. /tmp/tiphys-test-k8s
    outputs:
      parameters:
      - {name: p, valueFrom: {path: /tmp/tiphys-test-k8s/p}}
      - {name: other, valueFrom: {path: /tmp/tiphys-test-k8s/none, default: instead}}
      artifacts:
      - {name: large, path: /tmp/tiphys-test-k8s/large}
      - {name: folder, path: /tmp/tiphys-test-k8s/folder}
      - {name: perhaps, path: /tmp/tiphys-test-k8s/none, optional: true}
  - name: use
    inputs:
      parameters: [{name: p}]
      artifacts:
      - {name: large, path: /tmp/tiphys-test-in/large}
      - {name: folder, path: /tmp/tiphys-test-in/folder}
      - {name: text, path: /tmp/tiphys-test-in/text}
    script:
      image: "alpine:3.23"
      command: [sh]
      source: |
        echo "{{inputs.parameters.p}} $(wc -c < /tmp/tiphys-test-in/large)"
        cat /tmp/tiphys-test-in/folder/link /tmp/tiphys-test-in/text
    outputs: {parameters: [{name: nothing, value: "{{inputs.parameters.p}}"}]}
  - name: flaky
    retryStrategy: {limit: "2"}
    container: {image: "alpine:3.23", command: [sh, -c], args: ["test {{retries}} -ge 1 || exit 3"]}
  - name: set
    containerSet:
      containers:
      - {name: a, image: "alpine:3.23", command: [sh, -c], args: ["exit 0"]}
      - {name: main, image: "alpine:3.23", command: [echo, "after a"], dependencies: [a]}
  - name: fails
    container: {image: "alpine:3.23", command: [sh, -c], args: ["echo bad; exit 7"]}
  - name: leaves-nothing
    container: {image: "alpine:3.23", command: ["true"]}
    outputs: {parameters: [{name: o, valueFrom: {path: /tmp/tiphys-test-none}}]}
  - name: no-program
    container: {image: "alpine:3.23", command: [no-such-program]}
  - name: bye
    container: {image: "alpine:3.23", command: [echo], args: ["bye {{workflow.status}}"]}
"""
)
SLEEPER = (
    HEAD
    + """
  entrypoint: main
  onExit: bye
  templates:
  - name: main
    container: {image: "alpine:3.23", command: [sh, -c], args: ["echo begun; sleep 600"]}
  - name: bye
    container: {image: "alpine:3.23", command: [echo], args: [bye]}
"""
)


def node(workflow: Json, name: str) -> Json:
    found: Json = next(
        each for each in workflow["status"]["nodes"].values() if each["displayName"] == name
    )
    return found


def single(command: list[str], more: str = "", image: str = "alpine:3.23") -> str:
    text = f"{{image: '{image}', command: {json.dumps(command)}}}"
    return f"{HEAD}  entrypoint: main\n  templates:\n  - name: main\n    container: {text}\n{more}"


def test_every_node_ends_as_it_does_on_this_machine(helm: Helm) -> None:
    there = helm.run(EVERYTHING)

    here = helm.run(EVERYTHING, "--runtime", "sandbox", scheduler="local")

    assert essence(there) == essence(here)
    assert node(there, "use")["phase"] == "Succeeded"
    assert node(there, "files")["hostNodeName"] == "real"


def test_logs_are_kept_after_the_pods_are_gone(helm: Helm) -> None:
    process = helm.begin(
        "run",
        "--name",
        "talker",
        "--scheduler",
        "k8s-native",
        helm.write(single(["sh", "-c", "for i in 1 2 3; do echo line $i; done; echo side >&2"])),
    )
    process.communicate(timeout=200)
    for pod in helm.pods():
        helm.api.call(
            "DELETE", f"/api/v1/namespaces/{helm.namespace}/pods/{pod['metadata']['name']}"
        )

    done = helm("logs", "talker", "--no-color")

    assert [line.rpartition(": ")[2] for line in sorted(done.stdout.splitlines())] == [
        "line 1",
        "line 2",
        "line 3",
        "side",
    ]


def test_a_single_container_is_one_job_named_after_the_workflow(helm: Helm) -> None:
    workflow = helm.run(single(["true"]))

    uid = workflow["metadata"]["uid"]
    (job,) = helm.jobs()
    assert job["metadata"]["name"] == f"job-{uid}"
    assert job["metadata"]["labels"]["workflow-id"] == uid
    assert job["metadata"]["labels"]["scheduler"] == "k8s-native"
    assert job["spec"]["backoffLimit"] == 3
    assert job["spec"]["activeDeadlineSeconds"] == 3600
    assert job["spec"]["ttlSecondsAfterFinished"] == 3600


def test_a_priority_class_that_the_cluster_lacks_is_an_error_at_once(helm: Helm) -> None:
    text = single(["true"]).replace("spec:\n", "spec:\n  podPriorityClassName: nobody\n")

    found = helm.run(text)

    assert found["status"]["phase"] == "Error"
    assert found["status"]["message"] == "no PriorityClass with name nobody was found"
    assert helm.jobs() == []


def test_an_image_without_a_shell_has_outputs_too(helm: Helm) -> None:
    text = single(["/echo", "hello"], image="tiphys.local/bare:1")
    steps = text.replace("entrypoint: main", "entrypoint: steps") + (
        "  - name: steps\n    steps:\n    - - {name: one, template: main}\n"
        "    - - name: two\n        template: say\n"
        '        arguments: {parameters: [{name: x, value: "{{steps.one.outputs.result}}"}]}\n'
        "  - name: say\n    inputs: {parameters: [{name: x}]}\n"
        "    container: {image: 'alpine:3.23', command: [echo]}\n"
    )

    workflow = helm.run(steps)

    assert node(workflow, "two")["inputs"]["parameters"] == [{"name": "x", "value": "hello"}]


def test_a_task_that_may_not_be_root_has_outputs_too(helm: Helm) -> None:
    command = ["sh", "-c", "id -u; head -c 9000 /dev/urandom > /tmp/out"]
    outputs = "    outputs: {artifacts: [{name: out, path: /tmp/out}]}\n"
    context = "  securityContext: {runAsNonRoot: true, runAsUser: 8737}\n"

    workflow = helm.run(single(command, outputs + context))

    (root,) = workflow["status"]["nodes"].values()
    assert (root["phase"], root["outputs"]["artifacts"][0]["name"]) == ("Succeeded", "out")


def test_a_task_that_takes_too_long_is_ended(helm: Helm) -> None:
    workflow = helm.run(single(["sleep", "600"], "    activeDeadlineSeconds: 3\n"))

    assert workflow["status"]["phase"] == "Failed"
    assert "longer than the specified deadline" in workflow["status"]["message"]
    helm.until(lambda: not _active(helm), "the end of the pod")


def _active(helm: Helm) -> list[str]:
    return [
        pod["metadata"]["name"]
        for pod in helm.pods()
        if pod["status"].get("phase") in ("Pending", "Running")
    ]


@pytest.mark.parametrize(("command", "handled"), [("terminate", False), ("stop", True)])
def test_ending_a_workflow_ends_its_pods(helm: Helm, command: str, handled: bool) -> None:
    words = ["run", "--name", "sleeper", "--scheduler", "k8s-native", helm.write(SLEEPER)]
    process = helm.begin(*words)
    helm.until_running()

    assert helm(command, "sleeper").returncode == 0
    process.communicate(timeout=200)

    workflow = helm.get("sleeper")
    assert workflow["status"]["phase"] == "Failed"
    names = {each["displayName"] for each in workflow["status"]["nodes"].values()}
    assert ("sleeper.onExit" in names) == handled
    helm.until(lambda: not _active(helm), "the end of the pods")


def test_a_suspended_workflow_goes_on_when_it_is_resumed(helm: Helm) -> None:
    text = (
        HEAD
        + """
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: before, template: say}
    - - {name: approve, template: approve}
    - - {name: after, template: say}
  - {name: approve, suspend: {}}
  - name: say
    container: {image: "alpine:3.23", command: [echo, hi]}
"""
    )
    words = ["run", "--name", "pausing", "--scheduler", "k8s-native", helm.write(text)]
    process = helm.begin(*words)
    helm.until(lambda: "pausing" in helm("list").stdout, "the workflow")
    helm.until(
        lambda: any(
            each["displayName"] == "approve" and each["phase"] == "Running"
            for each in helm.get("pausing")["status"].get("nodes", {}).values()
        ),
        "the pause",
    )

    assert helm("resume", "pausing").returncode == 0
    process.communicate(timeout=200)

    assert helm.get("pausing")["status"]["phase"] == "Succeeded"
    assert len(helm.jobs()) == 2


def test_a_killed_tiphys_finds_its_jobs_again_and_starts_none_twice(helm: Helm) -> None:
    text = (
        HEAD
        + """
  entrypoint: main
  templates:
  - name: main
    steps:
    - - name: work
        template: work
        withSequence: {count: "3"}
    - - {name: last, template: work}
  - name: work
    script:
      image: "alpine:3.23"
      command: [sh]
      source: "sleep 4; echo done > /tmp/out; echo said"
    outputs: {parameters: [{name: out, valueFrom: {path: /tmp/out}}]}
"""
    )
    words = ["run", "--name", "kept", "--scheduler", "k8s-native", helm.write(text)]
    process = helm.begin(*words)
    helm.until(lambda: len(helm.jobs()) >= 2, "two jobs")

    helm.kill(process)
    done = helm("wait", "kept")

    assert done.returncode == 0, done.stderr
    workflow = helm.get("kept")
    pods = [n for n in workflow["status"]["nodes"].values() if n["type"] == "Pod"]
    assert [n["outputs"]["parameters"][0]["value"] for n in pods] == ["done"] * 4
    assert len(helm.jobs()) == 4
    assert len(helm.pods()) == 4


def test_a_pod_that_is_evicted_is_replaced_by_another_attempt_on_record(helm: Helm) -> None:
    script = "case $TIPHYS_ATTEMPT_ID in *.1) echo first; sleep 600;; *) echo second;; esac"
    text = single(["sh", "-c", script])
    words = ["run", "--name", "evicted", "--scheduler", "k8s-native", helm.write(text)]
    process = helm.begin(*words)
    helm.until_running()

    (pod,) = helm.pods()
    name = pod["metadata"]["name"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    helm.api.call("POST", f"/api/v1/namespaces/{helm.namespace}/pods/{name}/eviction", eviction)
    told, _ = process.communicate(timeout=200)

    assert process.returncode == 0, told
    assert "started again (1 of 3)" in told
    first, second = sorted(helm.jobs(), key=lambda job: len(job["metadata"]["name"]))
    assert first["status"]["failed"] == 1
    assert second["metadata"]["name"] == f"{first['metadata']['name']}-2"
    assert "second" in helm("logs", "evicted", "--no-color").stdout


def test_a_sidecar_that_fails_fails_its_task(helm: Helm) -> None:
    side = "    sidecars: [{name: side, image: 'alpine:3.23', command: [sh, -c, 'exit 3']}]\n"
    seen = "sleep 4"

    workflow = helm.run(single(["sh", "-c", seen], side))

    (root,) = workflow["status"]["nodes"].values()
    assert (root["phase"], root["message"]) == ("Failed", "side: Error (exit code 3)")


def test_an_image_that_cannot_be_had_is_why_a_node_waits(helm: Helm) -> None:
    text = single(["true"], image="127.0.0.1:1/nowhere:1")
    words = ["run", "--name", "imageless", "--scheduler", "k8s-native", helm.write(text)]
    process = helm.begin(*words)

    helm.until(lambda: "cannot be had: " in helm("explain", "imageless").stdout, "the reason")

    assert helm("terminate", "imageless").returncode == 0
    process.communicate(timeout=200)
