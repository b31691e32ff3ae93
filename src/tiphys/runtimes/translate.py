"""From a task to an attempt: what the executor is to start, and what must lie ready before.

Reads config maps, secrets and the configuration; writes small files (scripts, config map volumes)
into the attempt's folder; loads no artifacts (``staging`` does). Whatever cannot be run here raises
``RuntimeFailure`` with a message for the node.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tiphys.core import quantity
from tiphys.core.duration import parse_duration_or_seconds
from tiphys.errors import InvalidInputError, RuntimeFailure
from tiphys.executor.protocol import (
    PROGRESS_VARIABLE,
    VIEW,
    Attempt,
    ContainerRun,
    Limits,
    Mount,
)
from tiphys.ports import Resources, Task
from tiphys.runtimes.command import container_argv, expand, script_argv, with_interpreter
from tiphys.runtimes.config import ENGINES, LocalConfig
from tiphys.runtimes.environment import Environment, argo_environment, host_environment
from tiphys.runtimes.volume import Volumes, write_file
from tiphys.spec import model

if TYPE_CHECKING:
    from tiphys.runtimes.engine import Engine

SCRIPT_PATH = "/argo/staging/script"
PROGRESS_PATH = "/tmp/argo-progress"
RUN_FOLDER = "/var/run/argo"
"""Where containers of an engine find it instead."""
HOSTS_PATH = "/etc/hosts"
HOSTS_FOLDER = "/etc/volcano"
"""Where pods of a Volcano Job find the names of their mates, task by task."""
MAIN = "main"


class Load(msgspec.Struct, frozen=True):
    """An input artifact to bring before the start."""

    artifact: model.Artifact
    destination: Path


class Plan(msgspec.Struct):
    """One task made ready for the executor."""

    task: Task
    attempt: Attempt
    loads: list[Load] = msgspec.field(default_factory=list)
    placed: bool = False
    """Whether its files lie in the host's own tree: there is no sandbox to show them in."""
    archives: bool = False
    """Whether the logs are kept as artifacts."""

    @property
    def folder(self) -> Path:
        """Return the folder of the attempt."""
        return Path(self.attempt.folder)

    @property
    def main(self) -> ContainerRun | None:
        """Return the container whose files are the outputs."""
        return next((run for run in self.attempt.containers if run.name == MAIN), None)

    @property
    def collects(self) -> bool:
        """Tell whether there are files to save after the end."""
        return has_outputs(self.task) or self.archives

    @property
    def mounts(self) -> list[Mount]:
        """Return what its containers see besides their own files."""
        return list(dict.fromkeys(m for run in self.attempt.containers for m in run.mounts))


class _Pattern(msgspec.Struct, frozen=True):
    """What tasks of one template have in common."""

    template: model.Template
    run: ContainerRun
    limits: Limits
    progress: str


class _Member(msgspec.Struct, frozen=True):
    container: model.Container
    name: str
    role: str
    after: tuple[str, ...] = ()


def has_outputs(task: Task) -> bool:
    """Tell whether the template names files as outputs."""
    outputs = task.template.outputs
    if outputs.artifacts:
        return True
    if not outputs.parameters:
        return False
    return any(p.value_from is not None and p.value_from.path for p in outputs.parameters)


MOST_PATTERNS = 64


class Translator:
    """Turns tasks into attempts for one data directory."""

    def __init__(self, data: Path, config: LocalConfig, resources: Resources) -> None:
        self.engine: Engine | None = None
        """What runs the containers, where they are to run in an engine."""
        self._attempts = str(data / "attempts")
        self.claims = data / "volumes"
        """Where claims keep their files."""
        self._config = config
        self._resources = resources
        self._host = host_environment(config.pass_environment)
        self._patterns: dict[tuple[int, str], _Pattern] = {}
        """By template and isolation: thousands of tasks may be of one template."""

    def folder_of(self, task: Task) -> Path:
        """Return the folder of an attempt."""
        return Path(self._path_of(task))

    def _path_of(self, task: Task) -> str:
        return f"{self._attempts}/{task.workflow_uid}/{task.id}"

    @property
    def folder(self) -> Path:
        """Return where the folders of all attempts lie."""
        return Path(self._attempts)

    def translate(self, task: Task, isolation: str) -> Plan:
        """Return the plan of a task; its folder is made if something has to lie in it."""
        known = self._patterns.get((id(task.template), isolation))
        if known is not None and known.template is task.template and not task.pod_spec_patch:
            return Plan(task, self._attempt(task, isolation, known, (_filled(known, task),)))
        template = task.template
        if task.pod_spec_patch or template.pod_spec_patch:
            from tiphys.runtimes import patch  # noqa: PLC0415 - few have one

            template = patch.apply(template, task.pod_spec_patch)
        writer = _Writer(task, template, self._path_of(task), isolation, self)
        runs = tuple(writer.run(member) for member in _members(template))
        limits, progress = _limits(template, self._config), writer.progress(runs)
        found = _Pattern(template, runs[0], limits, progress)
        if template is task.template and _serves_all(found, runs, self._config):
            if len(self._patterns) >= MOST_PATTERNS:
                self._patterns.clear()
            self._patterns[id(template), isolation] = found
        placed = isolation == "process" and any(run.mounts for run in runs)
        return Plan(task, self._attempt(task, isolation, found, runs), writer.loads, placed)

    def _attempt(
        self, task: Task, isolation: str, pattern: _Pattern, runs: tuple[ContainerRun, ...]
    ) -> Attempt:
        return Attempt(
            task.id,
            self._path_of(task),
            runs,
            isolation,
            _deadline(task, pattern.template),
            self._config.grace_seconds,
            pattern.limits,
            pattern.progress,
            self._config.log_cap,
        )

    @property
    def config(self) -> LocalConfig:
        """Return the settings."""
        return self._config

    @property
    def resources(self) -> Resources:
        """Return config maps and secrets."""
        return self._resources

    @property
    def host(self) -> dict[str, str]:
        """Return what tasks see of the host's environment."""
        return self._host


class _Writer:
    """Writes the containers of one task."""

    def __init__(
        self, task: Task, template: model.Template, folder: str, isolation: str, home: Translator
    ) -> None:
        self._task = task
        self._template = template
        self._path = folder
        self._sandboxed = isolation != "process"
        self._engine = home.engine if isolation in ENGINES else None
        self._home = home
        self._environment = Environment(task, home.resources)
        self._volumes = Volumes(task, folder, home.claims, home.config, self._environment)
        self.loads: list[Load] = []
        self._inputs = self._plan_inputs()

    @property
    def _folder(self) -> Path:
        return Path(self._path)  # Made when it is wanted: most tasks need none.

    def _plan_inputs(self) -> list[Mount]:
        mounts = []
        for number, artifact in enumerate(self._template.inputs.artifacts):
            if not artifact.path:
                continue
            destination = self._folder / "inputs" / str(number)
            self.loads.append(Load(artifact, destination))
            mounts.append(Mount(str(destination), posixpath.normpath(artifact.path)))
        return mounts

    def run(self, member: _Member) -> ContainerRun:
        """Return one container as the executor takes it."""
        container = member.container
        _check_policy(container, self._home.config)
        declared = self._environment.declared(container)
        env = argo_environment(self._task, member.name) | self._progress_inside | declared
        if self._engine is None:
            env = self._home.host | env
        env["TIPHYS_ATTEMPT_ID"] = self._task.id
        argv = tuple(expand(word, declared) for word in self._argv(container))
        _check_text((*argv, *env.values()))
        uid, gid = _user(container, self._template)
        retries, wait = _retries(self._template) if member.role == "main" else (0, 0.0)
        run = ContainerRun(
            member.name,
            argv if self._engine else with_interpreter(argv, env["PATH"]),
            env,
            member.role,
            container.working_dir,
            member.after,
            tuple(self._mounts(member, declared)),
            uid,
            gid,
            retries,
            wait,
            member.name == MAIN and has_outputs(self._task),
            writes=_output_paths(self._template) if member.name == MAIN else (),
        )
        if self._engine is None:
            return run
        pids = self._home.config.max_processes
        return self._engine.wrap(run, container, self._task.id, self._folder, pids)

    @property
    def _progress_inside(self) -> dict[str, str]:
        if not self._sandboxed:
            return {}  # The executor knows where.
        path = PROGRESS_PATH if self._engine is None else f"{RUN_FOLDER}/progress"
        return {PROGRESS_VARIABLE: path}

    def _argv(self, container: model.Container) -> tuple[str, ...]:
        if self._engine is not None:
            # What the image says of its command the engine knows itself.
            script = isinstance(container, model.ScriptTemplate) and bool(container.source)
            return (*container.command, *container.args, *((SCRIPT_PATH,) if script else ()))
        if not isinstance(container, model.ScriptTemplate):
            return container_argv(self._home.config, container)
        path = SCRIPT_PATH if self._sandboxed else str(self._folder / "script")
        return script_argv(self._home.config, container, path)

    def _mounts(self, member: _Member, variables: dict[str, str]) -> Iterator[Mount]:
        container = member.container
        shown = list(container.volume_mounts)
        template = self._template
        if member.role == "main" and template.container_set is not None:
            shown += template.container_set.volume_mounts
        mirrors = isinstance(container, model.UserContainer) and container.mirror_volume_mounts
        if mirrors:
            shown += _main_mounts(template)
        unique = {posixpath.normpath(mount.mount_path): mount for mount in reversed(shown)}
        for target in sorted(unique, key=len):
            mount = unique[target]
            if target == HOSTS_FOLDER and not self._sandboxed:
                continue  # One for all would be wrong for each: the replicas run together.
            source = self._volumes.source(mount, variables)
            yield Mount(str(source), target, bool(mount.read_only))
        if member.role == "main" or mirrors:
            yield from self._inputs
        if isinstance(container, model.ScriptTemplate) and container.source:
            yield from self._script(container)
        if self._template.host_aliases and self._sandboxed and HOSTS_PATH not in unique:
            from tiphys.runtimes.hosts import write_hosts  # noqa: PLC0415 - few have any

            hosts = write_hosts(self._template.host_aliases, self._folder)
            yield Mount(str(hosts), HOSTS_PATH)
        if self._engine is not None:
            shared = self._folder / "run"
            shared.mkdir(parents=True, exist_ok=True)
            shared.chmod(0o777)
            yield Mount(str(shared), RUN_FOLDER)

    def _script(self, script: model.ScriptTemplate) -> Iterator[Mount]:
        path = self._folder / "script"
        write_file(path, script.source.encode("utf-8", "surrogateescape"), 0o755)
        if self._sandboxed:
            yield Mount(str(path), SCRIPT_PATH)

    def progress(self, runs: tuple[ContainerRun, ...]) -> str:
        """Return where on the host the progress file of the task appears."""
        if not self._sandboxed:
            return VIEW
        if self._engine is not None:
            return str(self._folder / "run" / "progress")
        mains = [run for run in runs if run.role == "main"]
        main = next((run for run in mains if run.name == MAIN), mains[0])
        for mount in main.mounts:
            if mount.target == posixpath.dirname(PROGRESS_PATH):
                return f"{mount.source}/{posixpath.basename(PROGRESS_PATH)}"
        return VIEW + PROGRESS_PATH


def _serves_all(pattern: _Pattern, runs: tuple[ContainerRun, ...], config: LocalConfig) -> bool:
    """Tell whether other tasks of the template differ by what Argo tells them alone: one plain
    container that is given no files, and whose words are all in the template."""
    container, run = pattern.template.container, pattern.run
    if container is None or len(runs) > 1 or run.mounts or run.halt or container.env_from:
        return False
    if any(variable.value_from is not None for variable in container.env):
        return False
    # An interpreter that was looked for may be found elsewhere the next time.
    return run.argv[:1] == container_argv(config, container)[:1]


def _filled(pattern: _Pattern, task: Task) -> ContainerRun:
    """Return the container of another task of the pattern's template."""
    container = pattern.template.container
    assert container is not None
    own = argo_environment(task, MAIN)
    _check_text(own.values())
    env = pattern.run.env | own
    for variable in container.env:  # The template's own word goes before Argo's.
        env[variable.name] = pattern.run.env[variable.name]
    env["TIPHYS_ATTEMPT_ID"] = task.id
    return msgspec.structs.replace(pattern.run, env=env)


def _output_paths(template: model.Template) -> tuple[str, ...]:
    """Return where a task leaves its outputs."""
    parameters = (p.value_from.path for p in template.outputs.parameters if p.value_from)
    paths = [*parameters, *(artifact.path for artifact in template.outputs.artifacts)]
    return tuple(path for path in paths if path.startswith("/"))


def _members(template: model.Template) -> Iterator[_Member]:
    for container in template.init_containers:
        yield _Member(container, container.name, "init")
    main = template.script or template.container
    if main is not None:
        yield _Member(main, MAIN, "main")
    elif template.container_set is not None:
        for node in template.container_set.containers:
            yield _Member(node, node.name, "main", node.dependencies)
    else:
        raise RuntimeFailure(f'template "{template.name}" has nothing to run on this machine')
    for sidecar in template.sidecars:
        yield _Member(sidecar, sidecar.name, "sidecar")


def _main_mounts(template: model.Template) -> tuple[model.VolumeMount, ...]:
    main = template.script or template.container
    if main is not None:
        return main.volume_mounts
    return template.container_set.volume_mounts if template.container_set is not None else ()


def _check_policy(container: model.Container, config: LocalConfig) -> None:
    security = container.security_context
    if security is not None and security.privileged and not config.allow_privileged:
        raise RuntimeFailure(
            "policy_denied: a privileged container (allowPrivileged is off in the configuration)"
        )


def _check_text(words: Iterable[str]) -> None:
    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        raise RuntimeFailure("a character of the command or environment is half of one") from None


def _user(container: model.Container, template: model.Template) -> tuple[int | None, int | None]:
    own, pod = container.security_context, template.security_context
    uid = own.run_as_user if own is not None else None
    gid = own.run_as_group if own is not None else None
    if uid is None and pod is not None:
        uid = pod.run_as_user
    if gid is None and pod is not None:
        gid = pod.run_as_group
    return uid, gid


def _retries(template: model.Template) -> tuple[int, float]:
    strategy = template.container_set.retry_strategy if template.container_set else None
    if strategy is None:
        return 0, 0.0
    try:
        wait = parse_duration_or_seconds(strategy.duration) if strategy.duration else 0.0
        return int(strategy.retries), wait
    except (ValueError, InvalidInputError) as error:
        raise RuntimeFailure(f"retryStrategy of the container set: {error}") from error


def _deadline(task: Task, template: model.Template) -> float | None:
    given = [] if task.deadline is None else [task.deadline]
    if template.active_deadline_seconds:
        try:
            given.append(float(template.active_deadline_seconds))
        except ValueError as error:
            raise RuntimeFailure(f"activeDeadlineSeconds: {error}") from error
    return min(given, default=None)


def _limits(template: model.Template, config: LocalConfig) -> Limits:
    containers = [member.container for member in _members(template) if member.role != "init"]
    memory = [c.resources.limits.get("memory") for c in containers]
    cpu = [c.resources.limits.get("cpu") for c in containers]
    try:
        # One group for all: it can be limited only where every container is.
        return Limits(
            sum(quantity.bytes_of(m) for m in memory if m is not None) if all(memory) else 0,
            sum(quantity.cpu_millis(c) for c in cpu if c is not None) if all(cpu) else 0,
            config.max_processes,
        )
    except InvalidInputError as error:
        raise RuntimeFailure(f"resources: {error}") from error
