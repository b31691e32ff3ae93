"""What every way of running a node on this machine promises, asked of each of them."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.contract.machine import Machine, shell
from tiphys.errors import StaleEpochError
from tiphys.executor import survivors
from tiphys.ports import Task, TaskProgressed, TaskReady, TaskStarted
from tiphys.runtimes.config import ENGINES, ImageCommand
from tiphys.runtimes.logs import LogReader
from tiphys.spec import model


def param(name: str, path: str, default: str | None = None) -> model.Parameter:
    return model.Parameter(name=name, value_from=model.ValueFrom(path=path, default=default))


# --- ends ---------------------------------------------------------------------------------


def test_a_task_that_exits_with_zero_succeeds(machine: Machine) -> None:
    end = machine.run(shell("echo hello"))

    assert (end.phase, end.message) == ("Succeeded", "")
    assert end.outputs == model.Outputs(exit_code="0", result="hello")


def test_a_task_that_exits_with_three_fails_with_argos_message(machine: Machine) -> None:
    end = machine.run(shell("exit 3"))

    assert (end.phase, end.message) == ("Failed", "main: Error (exit code 3)")
    assert end.outputs is not None
    assert end.outputs.exit_code == "3"


def test_a_task_ended_by_a_signal_has_128_and_its_number_as_code(machine: Machine) -> None:
    end = machine.run(shell("kill -TERM $$$$"))  # Kubernetes reads $$ as an escaped $

    assert (end.phase, end.message) == ("Failed", "main: Error (exit code 143)")


def test_a_missing_command_fails_with_64(machine: Machine) -> None:
    end = machine.run(model.Template(name="t", container=model.Container(command=("invalid",))))

    assert end.phase == "Failed"
    assert end.message == (
        "main: Error (exit code 64): failed to find name in PATH: "
        'exec: "invalid": executable file not found in $PATH'
    )
    assert end.outputs is not None
    assert end.outputs.exit_code == "64"


def test_an_argument_with_a_nul_is_a_failure_not_a_crash(machine: Machine) -> None:
    end = machine.run(model.Template(name="t", container=model.Container(command=("echo", "a\0b"))))

    assert end.phase == "Failed"
    assert machine.run(shell("echo alive")).phase == "Succeeded"


def test_an_image_without_command_is_a_clear_error(machine: Machine) -> None:
    if machine.isolation in ENGINES:
        pytest.skip("an engine asks the image for its command")
    end = machine.run(model.Template(name="t", container=model.Container(image="some/image:v1")))

    assert end.phase == "Error"
    assert end.message == "no command for image some/image:v1: add it under images: in tiphys.yaml"


def test_the_configuration_gives_the_command_of_an_image(isolation: str, tmp_path: Path) -> None:
    if isolation in ENGINES:
        pytest.skip("an engine asks the image for its command")
    images = {"busybox": ImageCommand(cmd=("echo", "from", "cmd"))}
    with Machine(tmp_path / "data", isolation, images=images) as machine:
        if not machine.usable:
            pytest.skip(f"no {isolation} on this machine: {machine.why}")

        image = model.Container(image="docker.io/library/busybox:1.36")
        end = machine.run(model.Template(name="t", container=image))

        assert end.outputs is not None
        assert end.outputs.result == "from cmd"


def test_a_deadline_ends_the_task(machine: Machine) -> None:
    end = machine.run(shell("sleep 60"), deadline=0.3)

    assert end.phase == "Failed"
    assert end.message == "Pod was active on the node longer than the specified deadline"


def test_a_stopped_task_may_clean_up_within_its_grace(machine: Machine) -> None:
    task = machine.start(
        shell("trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done")
    )
    machine.wait_for_log(task, "up")

    machine.stop([task], grace=20)
    end = machine.end_of(task)

    assert end.stopped
    assert end.outputs is not None
    assert (end.outputs.exit_code, end.outputs.result) == ("7", "up\nbye")


def test_a_task_that_ignores_sigterm_is_killed_after_its_grace(machine: Machine) -> None:
    task = machine.start(shell("trap '' TERM; echo up; while :; do sleep 0.05; done"))
    machine.wait_for_log(task, "up")

    machine.stop([task], grace=0.2)
    end = machine.end_of(task)

    assert end.stopped
    assert end.message == "main: Error (exit code 137)"


def test_processes_that_escape_into_their_own_session_are_gone_at_the_end(machine: Machine) -> None:
    mark = f"54{os.getpid()}"
    end = machine.run(shell(f"setsid sh -c 'sleep {mark} & sleep {mark}' & sleep 0.2; echo left"))

    assert end.phase == "Succeeded"
    assert machine.processes(f"sleep {mark}") == []


def test_whatever_a_task_leaves_behind_the_next_ones_run(machine: Machine) -> None:
    """Some kernels end a process at its birth for what happened in its control group before."""
    leaves = shell("setsid sleep 60 & sleep 60 & echo left")
    last = shell("kill -KILL $$$$")
    for template, phase in ((leaves, "Succeeded"), (last, "Failed")):
        for _ in range(2):
            assert machine.run(template).phase == phase

        ends = [machine.run(shell("echo fine")) for _ in range(4)]
        assert [(end.phase, end.message) for end in ends] == [("Succeeded", "")] * 4


@pytest.mark.parametrize("leaves", [False, True])
def test_a_task_that_ends_its_own_group_does_no_harm_to_the_next_ones(
    machine: Machine, leaves: bool
) -> None:
    own = "/sys/fs/cgroup/unified" if os.path.isdir("/sys/fs/cgroup/unified") else "/sys/fs/cgroup"
    if machine.isolation in ENGINES or not os.access(f"{own}/cgroup.procs", os.W_OK):
        pytest.skip("it has no group that it could end")
    script = f"group={own}$(sed -n s/^0:://p /proc/self/cgroup); "
    if leaves:
        script += f"echo $$$$ > {own}/cgroup.procs; "
    first = machine.run(shell(f"{script} echo 1 > $group/cgroup.kill; echo still here"))

    ends = [machine.run(shell("echo fine")) for _ in range(4)]

    # Where it could not be ended by that, it goes on.
    assert first.phase == "Failed" or (first.outputs and first.outputs.result == "still here")
    assert [(end.phase, end.message) for end in ends] == [("Succeeded", "")] * 4


def test_the_same_task_started_twice_runs_once(machine: Machine, tmp_path: Path) -> None:
    task = machine.task(shell("echo once"))

    machine.start_tasks([task, task])
    machine.start_tasks([task])
    machine.end_of(task)
    machine.attach([task])
    again = machine.end_of(task)

    assert again.outputs is not None
    assert again.outputs.result == "once"


def test_a_task_begins_with_the_usual_signals_and_umask(machine: Machine) -> None:
    # Without a shell: some of them ignore a signal themselves.
    look = model.Container(command=("grep", "-E", "SigIgn|Umask", "/proc/self/status"))

    end = machine.run(model.Template(name="t", container=look))

    assert end.outputs is not None
    assert end.outputs.result is not None
    umask, ignored = (line.partition(":\t")[2] for line in end.outputs.result.splitlines())
    assert umask == "0022"
    # Signals past 31 are the C library's own: what whoever started us ignored stays ignored.
    assert int(ignored, 16) & 0x7FFF_FFFF == 0


def test_a_task_has_the_limit_of_open_files_that_the_server_has(
    isolation: str, tmp_path: Path
) -> None:
    if isolation in ENGINES:
        pytest.skip("an engine has limits of its own")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 1000), hard))
    try:
        with Machine(tmp_path / "data", isolation) as machine:
            if not machine.usable:
                pytest.skip(f"no {isolation} on this machine: {machine.why}")
            end = machine.run(shell("sleep 0.1; ulimit -n"))
            own = resource.prlimit(machine.executor_pid, resource.RLIMIT_NOFILE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert end.outputs is not None
    assert end.outputs.result == str(min(soft, 1000))
    assert own == (min(hard, 65536), hard)


def test_a_working_directory_is_entered(machine: Machine) -> None:
    main = model.Container(command=("pwd",), working_dir="/usr/bin")

    end = machine.run(model.Template(name="t", container=main))

    assert end.outputs is not None
    assert end.outputs.result == "/usr/bin"


def test_a_task_stopped_while_its_inputs_are_fetched_never_begins(
    machine: Machine, scratch: str
) -> None:
    raw = model.Artifact(name="raw", path=f"{scratch}/raw", raw=model.RawArtifact(data="text"))
    task = machine.task(shell("echo ran", inputs=model.Inputs(artifacts=(raw,))))

    machine.start_and_stop(task)
    end = machine.end_of(task)

    assert (end.phase, end.stopped, end.message) == ("Failed", True, "stopped before it began")


# --- scripts, environment -----------------------------------------------------------------


def test_a_script_runs_with_its_interpreter(machine: Machine) -> None:
    script = model.ScriptTemplate(command=("awk", "-f"), source="BEGIN { print 1 + 2 + 3 + 4 }")

    end = machine.run(model.Template(name="t", script=script))

    assert end.outputs is not None
    assert end.outputs.result == "10"


def test_variables_come_from_values_config_maps_secrets_and_fields(machine: Machine) -> None:
    def source(**kind: object) -> model.EnvVarSource:
        return model.EnvVarSource(**kind)  # type: ignore[arg-type]

    env = (
        model.EnvVar(name="A", value="one"),
        model.EnvVar(name="B", value="$(A) and $$(A) and $(NONE)"),
        model.EnvVar(
            name="C",
            value_from=source(config_map_key_ref=model.ConfigMapKeySelector(name="cm", key="k")),
        ),
        model.EnvVar(
            name="D",
            value_from=source(secret_key_ref=model.SecretKeySelector(name="sec", key="pass")),
        ),
        model.EnvVar(
            name="E",
            value_from=source(field_ref=model.ObjectFieldSelector(field_path="metadata.namespace")),
        ),
    )
    container = model.Container(
        command=("sh", "-c"), args=('echo "$B|$C|$D|$E|$1|$P_k"', "sh", "$(A)"), env=env
    )
    container = model.Container(
        command=container.command,
        args=container.args,
        env=env,
        env_from=(
            model.EnvFromSource(config_map_ref=model.ConfigMapEnvSource(name="cm"), prefix="P_"),
        ),
    )

    end = machine.run(model.Template(name="t", container=container))

    assert end.outputs is not None
    assert end.outputs.result == "one and $(A) and $(NONE)|v|s3cret|default|one|v"


def test_a_missing_secret_is_an_error(machine: Machine) -> None:
    ref = model.SecretKeySelector(name="none", key="k")
    env = (model.EnvVar(name="X", value_from=model.EnvVarSource(secret_key_ref=ref)),)

    end = machine.run(
        model.Template(name="t", container=model.Container(command=("true",), env=env))
    )

    assert (end.phase, end.message) == ("Error", 'secret "none" not found')


def test_a_secret_stands_in_no_argument_list_and_no_file(machine: Machine, tmp_path: Path) -> None:
    ref = model.SecretKeySelector(name="sec", key="pass")
    env = (model.EnvVar(name="X", value_from=model.EnvVarSource(secret_key_ref=ref)),)
    container = model.Container(command=("sh", "-c", "test -n $X && echo up; sleep 600"), env=env)
    task = machine.start(model.Template(name="t", container=container))
    machine.wait_for_log(task, "up")

    arguments = _arguments_of(task)
    machine.stop([task], grace=0)
    machine.end_of(task)
    machine.acknowledge([task])

    assert b"sleep" in arguments
    assert b"s3cret" not in arguments
    # Not by a glob, which fails where a folder is tidied away under it.
    walk = os.walk(tmp_path / "data")
    files = [Path(folder) / name for folder, _, names in walk for name in names]
    assert files
    assert [path for path in files if b"s3cret" in _content(path)] == []


def _arguments_of(task: Task) -> bytes:
    """Give the arguments of all processes that an attempt has."""
    pids = [pid for pid in survivors.every_pid() if survivors.attempt_of(pid) == task.id]
    return b"\n".join(_content(Path(f"/proc/{pid}/cmdline")) for pid in pids)


def _content(path: Path) -> bytes:
    """Read a file; nothing where there is none any more, as files of an end are tidied away."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_only_logs_stay_after_the_end_is_acknowledged(machine: Machine, scratch: str) -> None:
    volume = model.Volume(name="s", secret=model.SecretVolumeSource(secret_name="sec"))
    mount = model.VolumeMount(name="s", mount_path=f"{scratch}/s")
    script = model.ScriptTemplate(command=("sh",), source="echo ok", volume_mounts=(mount,))
    outputs = model.Outputs(parameters=(param("p", f"{scratch}/none", default="x"),))
    task = machine.start(
        model.Template(name="t", script=script, volumes=(volume,), outputs=outputs)
    )
    machine.end_of(task)

    machine.acknowledge([task])

    machine.wait_for_files(task, ["main.stdout"])


def test_progress_written_to_its_file_is_reported(machine: Machine) -> None:
    task = machine.start(shell("echo 3/7 > $ARGO_PROGRESS_FILE; sleep 60"))

    event = machine.wait_for(task, TaskProgressed)

    assert event.progress == "3/7"
    machine.stop([task], grace=0)
    machine.end_of(task)


# --- outputs and artifacts ----------------------------------------------------------------


def test_output_parameters_are_read_from_files(machine: Machine, scratch: str) -> None:
    outputs = model.Outputs(
        parameters=(param("a", f"{scratch}/a"), param("b", f"{scratch}/none", default="else"))
    )

    end = machine.run(shell(f"mkdir -p {scratch}; printf 'x\\ny\\n\\n' > {scratch}/a", outputs))

    assert end.phase == "Succeeded"
    assert end.outputs is not None
    assert [p.value for p in end.outputs.parameters] == ["x\ny\n", "else"]


def test_a_missing_output_file_is_an_error(machine: Machine, scratch: str) -> None:
    end = machine.run(shell("true", model.Outputs(parameters=(param("a", f"{scratch}/none"),))))

    assert end.phase == "Error"
    assert f"open {scratch}/none: no such file or directory" in end.message


def test_a_failed_task_keeps_the_outputs_it_wrote(machine: Machine, scratch: str) -> None:
    outputs = model.Outputs(parameters=(param("a", f"{scratch}/a"),))

    end = machine.run(shell(f"mkdir -p {scratch}; echo 1 > {scratch}/a; exit 2", outputs))

    assert (end.phase, end.message) == ("Failed", "main: Error (exit code 2)")
    assert end.outputs is not None
    assert end.outputs.parameters[0].value == "1"


def test_artifacts_go_from_one_task_to_the_next(machine: Machine, scratch: str) -> None:
    made = machine.run(
        shell(
            f"mkdir -p {scratch}/tree/inner; echo deep > {scratch}/tree/inner/file",
            model.Outputs(artifacts=(model.Artifact(name="tree", path=f"{scratch}/tree"),)),
        )
    )
    assert made.phase == "Succeeded", made.message
    assert made.outputs is not None
    machine.forget_scratch()
    given = made.outputs.artifacts[0]

    inputs = model.Inputs(
        artifacts=(
            model.Artifact(name="in", path=f"{scratch}/got", local=given.local, s3=given.s3),
            model.Artifact(name="raw", path=f"{scratch}/raw", raw=model.RawArtifact(data="text")),
            model.Artifact(name="no", path=f"{scratch}/no", optional=True),
        )
    )
    end = machine.run(shell(f"cat {scratch}/got/inner/file {scratch}/raw", inputs=inputs))

    assert end.outputs is not None
    assert (end.message, end.outputs.result) == ("", "deep\ntext")


def test_an_optional_output_artifact_may_be_missing(machine: Machine, scratch: str) -> None:
    artifact = model.Artifact(name="a", path=f"{scratch}/none", optional=True)

    end = machine.run(shell("true", model.Outputs(artifacts=(artifact,))))

    assert end.phase == "Succeeded"
    assert end.outputs == model.Outputs(exit_code="0", result="")


def test_a_missing_output_artifact_is_an_error(machine: Machine, scratch: str) -> None:
    artifact = model.Artifact(name="a", path=f"{scratch}/none")

    end = machine.run(shell("true", model.Outputs(artifacts=(artifact,))))

    assert end.phase == "Error"
    assert "no such file or directory" in end.message


def test_logs_are_saved_as_an_artifact_where_asked(machine: Machine) -> None:
    task = msgspec.structs.replace(machine.task(shell("echo one; echo two")), archive_logs=True)

    machine.start_tasks([task])
    end = machine.end_of(task)

    assert end.outputs is not None
    (saved,) = end.outputs.artifacts
    assert saved.name == "main-logs"
    assert b"".join(machine.artifacts.read(saved, namespace="default")) == b"one\ntwo\n"


def test_logs_are_archived_of_a_task_that_ran_out_of_time(machine: Machine) -> None:
    task = machine.task(shell("echo begun; sleep 600"), 1.0)
    machine.start_tasks([msgspec.structs.replace(task, archive_logs=True)])

    end = machine.end_of(task)

    assert end.outputs is not None
    (log,) = end.outputs.artifacts
    assert b"".join(machine.artifacts.read(log, namespace="default")) == b"begun\n"


def test_artifacts_go_to_the_repository_of_the_workflow(machine: Machine, scratch: str) -> None:
    artifact = model.Artifact(name="a", path=f"{scratch}/a")
    task = msgspec.structs.replace(
        machine.task(
            shell(f"mkdir -p {scratch}; echo 1 > {scratch}/a", model.Outputs(artifacts=(artifact,)))
        ),
        artifact_repository="{archiveLogs: true, local: {keyFormat: 'x/{{workflow.uid}}'}}",
        values={"workflow.uid": "seven"},
    )

    machine.start_tasks([task])
    end = machine.end_of(task)

    assert end.outputs is not None
    keys = [each.local.key for each in end.outputs.artifacts if each.local is not None]
    assert keys == ["x/seven/a.tgz", "x/seven/main.log"]


# --- volumes ------------------------------------------------------------------------------


def test_an_empty_dir_is_shared_by_the_containers_of_a_task(machine: Machine, scratch: str) -> None:
    mount = model.VolumeMount(name="v", mount_path=f"{scratch}/v")
    init = model.UserContainer(
        name="prepare", command=("sh", "-c", f"echo made > {scratch}/v/f"), volume_mounts=(mount,)
    )
    main = model.Container(command=("cat", f"{scratch}/v/f"), volume_mounts=(mount,))
    volume = model.Volume(name="v", empty_dir=model.EmptyDirVolumeSource())

    end = machine.run(
        model.Template(name="t", container=main, init_containers=(init,), volumes=(volume,))
    )

    assert end.outputs is not None
    assert (end.message, end.outputs.result) == ("", "made")


def test_config_maps_and_secrets_are_files(machine: Machine, scratch: str) -> None:
    volumes = (
        model.Volume(name="c", config_map=model.ConfigMapVolumeSource(name="cm")),
        model.Volume(name="s", secret=model.SecretVolumeSource(secret_name="sec")),
    )
    mounts = (
        model.VolumeMount(name="c", mount_path=f"{scratch}/c"),
        model.VolumeMount(name="s", mount_path=f"{scratch}/s"),
    )
    main = model.Container(
        command=("sh", "-c", f"cat {scratch}/c/k {scratch}/s/pass"), volume_mounts=mounts
    )

    end = machine.run(model.Template(name="t", container=main, volumes=volumes))

    assert end.outputs is not None
    assert (end.message, end.outputs.result) == ("", "vs3cret")


def test_a_claim_outlives_the_task(machine: Machine, scratch: str) -> None:
    claim = model.PersistentVolumeClaimVolumeSource(claim_name="work")
    volume = model.Volume(name="v", persistent_volume_claim=claim)
    mount = model.VolumeMount(name="v", mount_path=f"{scratch}/v", sub_path="part")

    def step(command: str) -> model.Template:
        main = model.Container(command=("sh", "-c", command), volume_mounts=(mount,))
        return model.Template(name="t", container=main, volumes=(volume,))

    machine.run(step(f"echo kept > {scratch}/v/f"))
    end = machine.run(step(f"cat {scratch}/v/f"))

    assert end.outputs is not None
    assert (end.message, end.outputs.result) == ("", "kept")


def test_a_host_path_needs_leave(machine: Machine, scratch: str) -> None:
    volume = model.Volume(name="v", host_path=model.HostPathVolumeSource(path="/etc"))
    mount = model.VolumeMount(name="v", mount_path=f"{scratch}/v")
    main = model.Container(command=("true",), volume_mounts=(mount,))

    end = machine.run(model.Template(name="t", container=main, volumes=(volume,)))

    assert end.phase == "Error"
    assert end.message.startswith("policy_denied: hostPath /etc")


def test_a_sub_path_that_leads_out_is_refused(machine: Machine, scratch: str) -> None:
    volume = model.Volume(name="v", empty_dir=model.EmptyDirVolumeSource())
    mount = model.VolumeMount(name="v", mount_path=f"{scratch}/v", sub_path="../../..")
    main = model.Container(command=("true",), volume_mounts=(mount,))

    end = machine.run(model.Template(name="t", container=main, volumes=(volume,)))

    assert end.phase == "Error"
    assert "leads out" in end.message


# --- several containers -------------------------------------------------------------------


def test_init_containers_run_one_after_another_before_main(
    machine: Machine, tmp_path: Path
) -> None:
    log = tmp_path / "order"
    log.touch()
    inits = tuple(
        model.UserContainer(name=name, command=("sh", "-c", f"echo {name}")) for name in ("a", "b")
    )
    task = machine.start(
        model.Template(
            name="t", container=model.Container(command=("echo", "m")), init_containers=inits
        )
    )
    machine.end_of(task)

    lines = LogReader(machine.folder(task)).read(final=True)

    assert sorted((line.container, line.text) for line in lines) == [
        ("a", "a"),
        ("b", "b"),
        ("main", "m"),
    ]


def test_a_failed_init_container_fails_the_task_before_main(machine: Machine) -> None:
    init = model.UserContainer(name="first", command=("sh", "-c", "exit 4"))

    end = machine.run(
        model.Template(
            name="t", container=model.Container(command=("true",)), init_containers=(init,)
        )
    )

    assert (end.phase, end.message) == ("Failed", "first: Error (exit code 4)")
    assert end.outputs is None


def test_a_sidecar_is_ended_when_main_is_over(machine: Machine) -> None:
    sidecar = model.UserContainer(name="side", command=("sleep", "600"))

    end = machine.run(
        model.Template(name="t", container=model.Container(command=("true",)), sidecars=(sidecar,))
    )

    assert (end.phase, end.message) == ("Succeeded", "")


def test_a_sidecar_that_fails_by_itself_fails_the_task(machine: Machine) -> None:
    sidecar = model.UserContainer(name="side", command=("sh", "-c", "exit 9"))

    end = machine.run(
        model.Template(
            name="t", container=model.Container(command=("sleep", "0.3")), sidecars=(sidecar,)
        )
    )

    assert (end.phase, end.message) == ("Failed", "side: Error (exit code 9)")


def container_set(*nodes: tuple[str, str, tuple[str, ...]], retries: str = "") -> model.Template:
    strategy = model.ContainerSetRetryStrategy(retries=retries) if retries else None
    return model.Template(
        name="t",
        container_set=model.ContainerSetTemplate(
            containers=tuple(
                model.ContainerNode(name=name, command=("sh", "-c", command), dependencies=after)
                for name, command, after in nodes
            ),
            retry_strategy=strategy,
        ),
    )


def test_members_of_a_container_set_wait_for_their_dependencies(machine: Machine) -> None:
    end = machine.run(container_set(("a", "sleep 0.1", ()), ("main", "echo m", ("a",))))

    assert end.phase == "Succeeded"
    assert end.outputs is not None
    assert end.outputs.result == "m"
    first, second = end.containers
    assert first.finished_at is not None
    assert second.started_at is not None
    assert first.finished_at <= second.started_at


def test_what_depends_on_a_failed_member_is_omitted(machine: Machine) -> None:
    end = machine.run(container_set(("a", "exit 5", ()), ("b", "true", ("a",))))

    assert (end.phase, end.message) == ("Failed", "a: Error (exit code 5)")
    assert [(c.name, c.phase, c.exit_code) for c in end.containers] == [
        ("a", "Failed", 5),
        ("b", "Omitted", None),
    ]


def test_a_member_of_a_container_set_is_tried_again(machine: Machine, tmp_path: Path) -> None:
    once = "test -e /var/tmp/{0} || {{ touch /var/tmp/{0}; exit 1; }}; rm /var/tmp/{0}; echo second"
    name = f"tiphys-test-{os.getpid()}"

    end = machine.run(container_set(("main", once.format(name), ()), retries="2"))

    assert (end.phase, end.message) == ("Succeeded", "")
    assert end.outputs is not None
    assert end.outputs.result == "second"


def test_a_daemon_is_ready_when_its_probe_passes(machine: Machine, scratch: str) -> None:
    probe = model.Probe(exec=model.ExecAction(command=("test", "-e", f"{scratch}/up")))
    main = model.Container(
        command=("sh", "-c", f"mkdir -p {scratch}; sleep 0.2; touch {scratch}/up; sleep 600"),
        readiness_probe=probe,
    )
    task = machine.start(model.Template(name="t", container=main, daemon=True))

    ready = machine.wait_for(task, TaskReady)

    assert ready.ip == "127.0.0.1"
    machine.stop([task], grace=0)
    assert machine.end_of(task).stopped


def test_a_daemon_that_cannot_be_started_is_never_ready(machine: Machine) -> None:
    if machine.isolation in ENGINES:
        pytest.skip("what is started there is the engine's client")
    template = model.Template(
        name="t", container=model.Container(command=("/none/daemon",)), daemon=True
    )
    task = machine.start(template)

    end = machine.end_of(task)

    assert end.outputs is not None
    assert (end.phase, end.outputs.exit_code) == ("Failed", "64")
    assert not any(isinstance(event, TaskStarted | TaskReady) for event in machine.told(task))


# --- limits -------------------------------------------------------------------------------


def test_a_memory_limit_is_kept(machine: Machine) -> None:
    if not machine.limits("memory"):
        pytest.skip("no writable memory control group on this machine")
    # A line without end, which tail keeps in memory.
    hog = "head -c 300000000 /dev/zero | tail -n 1 > /dev/null"
    resources = model.ResourceRequirements(limits={"memory": "50Mi"})
    main = model.Container(command=("sh", "-c", hog), resources=resources)

    end = machine.run(model.Template(name="t", container=main))

    # With control groups of version 1 podman does not tell why the kernel killed.
    reasons = ["OOMKilled", "Error"] if machine.isolation in ENGINES else ["OOMKilled"]
    assert end.phase == "Failed"
    assert end.message in [f"main: {reason} (exit code 137)" for reason in reasons]


def test_a_task_cannot_have_more_processes_than_allowed(isolation: str, tmp_path: Path) -> None:
    mark = f"56{os.getpid()}"
    with Machine(tmp_path / "data", isolation, max_processes=20) as machine:
        if not machine.usable or not machine.limits("pids"):
            pytest.skip(f"no {isolation} or no writable pids control group on this machine")
        end = machine.run(shell(f"for i in $(seq 60); do setsid sleep {mark} & done; echo all"))

        assert end.phase == "Failed"
        assert end.outputs is not None
        assert end.outputs.result == ""
        assert machine.processes(f"sleep {mark}") == []


# --- crashes ------------------------------------------------------------------------------

VICTIM = """
import asyncio, sys
from pathlib import Path
from tests.contract.machine import Machine, shell
machine = Machine(Path(sys.argv[1]), sys.argv[2])
machine.open()
task = machine.start(shell(sys.argv[3]))
machine.wait_for_log(task, "up")
print("ready", flush=True)
asyncio.run(asyncio.sleep(600))
"""


def victim(machine: Machine, command: str) -> subprocess.Popen[bytes]:
    """Start a server in a process of its own, with one task that has begun."""
    machine.close()
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(VICTIM), machine.data, machine.isolation, command],
        stdout=subprocess.PIPE,
        cwd=root,
        env=dict(os.environ) | {"PYTHONPATH": os.pathsep.join([str(root), *sys.path])},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def test_a_task_survives_its_server_and_is_found_again(machine: Machine) -> None:
    command = "echo up; sleep 1.5; echo done"
    process = victim(machine, command)
    process.send_signal(signal.SIGKILL)
    process.communicate()

    machine.open()
    task = machine.task(shell(command))
    machine.attach([task])
    end = machine.end_of(task)

    assert end.phase == "Succeeded"
    assert end.outputs is not None
    assert end.outputs.result == "up\ndone"


def test_a_task_that_ended_without_a_server_is_reported_to_the_next(machine: Machine) -> None:
    process = victim(machine, "echo up; sleep 0.2; exit 6")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    machine.wait_until_gone("sleep 0.2")

    machine.open()
    task = machine.task(shell("echo up; sleep 0.2; exit 6"))
    machine.attach([task])

    assert machine.end_of(task).message == "main: Error (exit code 6)"


def test_an_attached_task_that_never_began_is_started(machine: Machine) -> None:
    task = machine.task(shell("echo begun"))

    machine.attach([task])
    end = machine.end_of(task)

    assert end.outputs is not None
    assert end.outputs.result == "begun"


def test_a_task_has_three_open_files(machine: Machine) -> None:
    end = machine.run(shell("ls /proc/self/fd"))

    assert end.outputs is not None
    # The fourth is what ls reads.
    assert end.outputs.result == "0\n1\n2\n3"


def test_a_killed_executor_loses_the_task_and_leaves_no_process(machine: Machine) -> None:
    mark = f"55{os.getpid()}"
    task = machine.start(shell(f"echo up; setsid sleep {mark} & sleep {mark}"))
    machine.wait_for_log(task, "up")

    os.kill(machine.executor_pid, signal.SIGKILL)
    end = machine.end_of(task)

    assert (end.phase, end.lost, end.outputs) == ("Error", True, None)
    assert end.message.startswith("executor lost: ")
    machine.wait_until_gone(f"sleep {mark}")
    assert machine.run(shell("echo next")).phase == "Succeeded"


def test_an_older_owner_is_refused_and_cut_off(machine: Machine) -> None:
    newer = Machine(Path(machine.data), machine.isolation, epoch=machine.epoch + 1)
    older = Machine(Path(machine.data), machine.isolation, epoch=machine.epoch)
    with newer:
        with pytest.raises(StaleEpochError):
            older.open()
        older.close()

        assert newer.run(shell("echo mine")).phase == "Succeeded"


# --- only without a sandbox ---------------------------------------------------------------


def test_without_a_sandbox_nothing_on_the_host_is_replaced(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    raw = model.Artifact(name="raw", path=str(mine), raw=model.RawArtifact(data="theirs"))
    with Machine(tmp_path / "data", "process") as machine:
        end = machine.run(shell("true", inputs=model.Inputs(artifacts=(raw,))))

    assert end.phase == "Error"
    assert end.message.startswith(f"{mine} exists on this machine")
    assert mine.read_text() == "mine"


def test_without_a_sandbox_what_was_placed_is_taken_away(tmp_path: Path) -> None:
    target = tmp_path / "new" / "folder" / "raw"
    raw = model.Artifact(name="raw", path=str(target), raw=model.RawArtifact(data="text"))
    with Machine(tmp_path / "data", "process") as machine:
        end = machine.run(shell(f"cat {target}", inputs=model.Inputs(artifacts=(raw,))))

    assert end.outputs is not None
    assert end.outputs.result == "text"
    assert not (tmp_path / "new").exists()


# --- only in a sandbox --------------------------------------------------------------------


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Machine]:
    with Machine(tmp_path / "data", "sandbox") as machine:
        if not machine.usable:
            pytest.skip(f"no sandbox on this machine: {machine.why}")
        yield machine


def test_nothing_a_sandbox_writes_reaches_the_host(sandbox: Machine) -> None:
    name = f"tiphys-test-{os.getpid()}"

    end = sandbox.run(
        shell(f"for d in / /tmp /etc /dev/shm /usr; do echo x > $d/{name}; done; echo ok")
    )

    assert end.outputs is not None
    assert end.outputs.result == "ok"
    places = ("/", "/tmp", "/etc", "/dev/shm", "/usr")
    assert [place for place in places if Path(place, name).exists()] == []


def test_two_sandboxes_never_meet(sandbox: Machine) -> None:
    name = f"tiphys-test-{os.getpid()}"
    see = f"ls /tmp /dev/shm; cat /{name} /etc/{name}; "
    write = f"echo 1 > /tmp/x; echo 1 > /{name}; echo 1 > /etc/{name}; echo 1 > /dev/shm/x"

    for _ in range(3):
        end = sandbox.run(shell(f"{{ {see} }} 2>/dev/null; {write}"))

        assert end.outputs is not None
        assert end.outputs.result == "/dev/shm:\n\n/tmp:"


def test_a_mount_made_inside_does_not_stay_for_the_next(sandbox: Machine) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    for _ in range(2):
        end = sandbox.run(shell("ls /mnt | grep -c seen; mount -t tmpfs x /mnt; touch /mnt/seen"))

        assert end.outputs is not None
        assert end.outputs.result == "0"


def test_the_data_directory_cannot_be_seen(sandbox: Machine) -> None:
    end = sandbox.run(shell(f"ls -A {sandbox.data} | wc -l"))

    assert end.outputs is not None
    assert end.outputs.result == "0"


def test_a_link_does_not_lead_an_output_out_of_the_sandbox(
    sandbox: Machine, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("host")
    outputs = model.Outputs(parameters=(param("p", "/link", default="none"),))

    end = sandbox.run(shell(f"ln -s {secret} /link", outputs))

    assert end.outputs is not None
    assert end.outputs.parameters[0].value == "none"


def test_an_output_folder_of_host_and_task_is_put_together(sandbox: Machine) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root's files can be changed in /etc, in a sandbox too")
    outputs = model.Outputs(artifacts=(model.Artifact(name="etc", path="/etc/default"),))
    before = sorted(os.listdir("/etc/default"))
    made = sandbox.run(
        shell("echo new > /etc/default/tiphys-new; rm -rf /etc/default/nss", outputs)
    )
    assert made.outputs is not None, made.message
    given = made.outputs.artifacts[0]
    inputs = model.Inputs(artifacts=(model.Artifact(name="i", path="/in", local=given.local),))

    end = sandbox.run(shell("ls -A /in", inputs=inputs))

    assert end.outputs is not None
    assert end.outputs.result is not None
    expected = sorted({*before, "tiphys-new"} - {"nss"})
    assert sorted(end.outputs.result.split()) == expected


def test_a_task_may_run_as_another_user(sandbox: Machine) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    security = model.SecurityContext(run_as_user=12345, run_as_group=54321)
    main = model.Container(
        command=("sh", "-c", "id -u; id -g; echo x > /tmp/mine && echo wrote"),
        security_context=security,
    )

    end = sandbox.run(model.Template(name="t", container=main))

    assert end.outputs is not None
    assert end.outputs.result == "12345\n54321\nwrote"
