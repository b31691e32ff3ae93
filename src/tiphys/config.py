"""The settings, and where they come from.

A flag wins over a ``TIPHYS_*`` variable, that over ``tiphys.yaml`` in the project (the working
directory or a folder above it, as far as the repository's root or the home directory), that over
``$XDG_CONFIG_HOME/tiphys/config.yaml``. A setting given in a nearer place replaces the farther one
as a whole; only ``images`` and ``scheduler`` are joined. Read once at start into an immutable
value: nothing below this module looks at the environment. Mistakes are told like those of a
workflow file, with lines.

Does without ``from __future__ import annotations``, for the reason that `spec.model.base` gives.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tiphys.core.duration import parse_age
from tiphys.core.name import is_dns1123_label
from tiphys.core.quantity import bytes_of, cpu_millis
from tiphys.errors import ConfigError, InvalidInputError, Problem, SpecError
from tiphys.folders import home, xdg
from tiphys.ports import LOCAL, SCHEDULERS
from tiphys.runtimes.config import ImageCommand, LocalConfig
from tiphys.runtimes.kubernetes_config import KubernetesConfig
from tiphys.spec import model, walk, yaml
from tiphys.spec.library import DEFAULT_NAMESPACE
from tiphys.spec.model.base import AnyString, Quantity
from tiphys.spec.report import Report
from tiphys.spec.shape import fields_of, struct

if TYPE_CHECKING:
    from tiphys.artifacts.config import ArtifactConfig
    from tiphys.scheduling.queue import Queue

PROJECT_FILE = "tiphys.yaml"
ISOLATIONS = ("auto", "sandbox", "process", "podman", "docker")
ROLES = ("admin", "member", "viewer")
LOG_FORMATS = ("text", "json")
VOLCANO_FLAG = "ENABLE_VOLCANO_SCHEDULER"
"""On: work for Volcano is submitted there. Off: it runs where it was handed in."""
_LOCAL = LocalConfig()
_BESIDE = ("artifactRepository", "egress")
"""Keys of ``ArtifactConfig`` that stand at the top, where Argo's users look for the first."""


class Capacity(model.Model, frozen=True, kw_only=True):
    """How much of the machine tasks may ask for together; "" is all of it."""

    cpu: Quantity = ""
    memory: Quantity = ""

    @property
    def cpu_millis(self) -> int | None:
        """Thousandths of a CPU, None for the machine's own."""
        return cpu_millis(self.cpu) if self.cpu else None

    @property
    def memory_bytes(self) -> int | None:
        """Bytes, None for the machine's own."""
        return bytes_of(self.memory) if self.memory else None


class OidcRule(model.Model, frozen=True, kw_only=True):
    """Who comes in through the OIDC provider, as what, and where."""

    claim: str = "groups"
    value: AnyString = "*"
    """What the claim must be, or hold if it is a list; ``*`` is anything."""
    role: str
    project: str
    """``*`` for all projects."""


class Oidc(model.Model, frozen=True, kw_only=True):
    """The OpenID Connect provider that people log in with; none without an issuer."""

    issuer: str = ""
    client_id: str = ""
    client_secret: str = ""
    """Better given as TIPHYS_OIDC_CLIENT_SECRET or …_FILE. "" for a public client."""
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    audience: tuple[str, ...] = ()
    """Whom bearer tokens of the provider must be meant for; the client itself if none is given."""
    name_claim: str = "email"
    """What people are called in lists and in the audit; ``sub`` where they have no such claim."""
    rules: tuple[OidcRule, ...] = ()
    """The first that fits decides; whoever fits none stays out."""
    public_url: str = ""
    """Where browsers reach this server, if not under the name that they ask for."""
    session_hours: float = 12.0


class Log(model.Model, frozen=True, kw_only=True):
    """How the server writes its log."""

    format: str = "text"


class StoreConfig(model.Model, frozen=True, kw_only=True):
    """Where everything is kept that must survive."""

    url: str = ""
    """``postgresql://…``; "" is a file in the data directory."""
    advertise: str = ""
    """Where other servers over the same database reach this one; "" is where it listens."""


class Retention(model.Model, frozen=True, kw_only=True):
    """How long workflows that have ended are kept by a server; "" is for ever."""

    succeeded: str = ""
    failed: str = ""
    """Also of those that ended with an error."""
    logs: str = ""
    """When logs and working folders go, while the record of the workflow stays."""
    count: int = 0
    """So many that have ended are kept at most, the latest; 0 is any number."""


class VolcanoSettings(model.Model, frozen=True, kw_only=True):
    """Whether work goes to the Volcano of the cluster."""

    enabled: bool = False
    """Without it, work for ``volcano`` runs on this machine, and an event says so."""
    presets: bool = True
    """Whether a server makes the queues and priority classes that ship, where they are absent."""


class SchedulerSettings(model.Model, frozen=True, kw_only=True):
    """Who decides what starts."""

    default: str = LOCAL
    """For workflows that name none."""
    volcano: VolcanoSettings = VolcanoSettings()


class Config(model.Model, frozen=True, kw_only=True):
    """All settings. Keys that Argo's controller has too are spelt and shaped as there."""

    images: dict[str, ImageCommand] = msgspec.field(default_factory=dict)
    """What images run when a workflow does not say it."""
    isolation: str = "auto"
    """``sandbox``, ``process``, or ``auto``: a sandbox where the kernel allows it."""
    namespace: str = DEFAULT_NAMESPACE
    """Of workflows that name none."""
    capacity: Capacity = Capacity()
    queues: dict[str, Any] = msgspec.field(default_factory=dict)
    """Queues by name, as in a queue plan (``scheduling.queue_file``)."""
    workflow_defaults: model.Workflow | None = None
    """Lies under every workflow."""
    artifact_repository: dict[str, Any] = msgspec.field(default_factory=dict)
    egress: dict[str, Any] = msgspec.field(default_factory=dict)
    artifacts: dict[str, Any] = msgspec.field(default_factory=dict)
    """Limits and habits of artifacts; see ``artifacts.config``."""
    log_cap: Quantity = str(_LOCAL.log_cap)
    """Bytes kept of each output stream of a task; the oldest go first."""
    grace_seconds: float = _LOCAL.grace_seconds
    allow_host_path: bool = False
    allow_privileged: bool = False
    pass_environment: tuple[str, ...] = ()
    """Variables of our own environment that tasks see."""
    max_processes: int = 0
    linger_seconds: float = _LOCAL.linger_seconds
    store: StoreConfig = StoreConfig()
    retention: Retention = Retention()
    kubernetes: KubernetesConfig = KubernetesConfig()
    """The cluster of workflows that ask for one."""
    scheduler: SchedulerSettings = SchedulerSettings()
    oidc: Oidc = Oidc()
    log: Log = Log()

    def local(self) -> LocalConfig:
        """Give the part that runs nodes on this machine."""
        return LocalConfig(
            images=self.images,
            isolation=self.isolation,
            log_cap=bytes_of(self.log_cap),
            allow_host_path=self.allow_host_path,
            allow_privileged=self.allow_privileged,
            grace_seconds=self.grace_seconds,
            pass_environment=self.pass_environment,
            linger_seconds=self.linger_seconds,
            max_processes=self.max_processes,
        )

    def queue_list(self) -> "list[Queue]":
        """Give the queues that the settings define."""
        if not self.queues:
            return []
        from tiphys.scheduling.queue_file import read_queue_list  # noqa: PLC0415 - slow to load

        return read_queue_list({"queues": self.queues})

    def artifact_config(self) -> "ArtifactConfig":
        """Give the part about artifacts."""
        # Here, because the drivers behind it take longer to load than most commands run.
        from tiphys.artifacts.config import ArtifactConfig  # noqa: PLC0415

        return msgspec.convert(_artifact_value(msgspec.to_builtins(self)), ArtifactConfig)


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What one ``tiphys run`` was told besides its files, parameters and settings."""

    data: Path
    """The data directory."""
    name: str = ""
    """Takes the place of ``metadata.name`` and ``generateName``."""
    entrypoint: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    """Added to those of each workflow."""
    priority: int | None = None
    """Takes the place of ``spec.priority``."""
    log: bool = False
    """Whether the watcher wants the lines that tasks write."""


def _artifact_value(value: Mapping[str, Any]) -> dict[str, Any]:
    """Give what ``ArtifactConfig`` is made of."""
    beside = {key: value[key] for key in _BESIDE if key in value}
    return {**value.get("artifacts", {}), **beside}


# ---------------------------------------------------------------------------- reading


def load_config(
    environment: Mapping[str, str],
    *,
    cwd: Path,
    file: Path | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Config:
    """Read the settings; ``file`` (or ``TIPHYS_CONFIG``) takes the place of both files.

    ``flags`` are settings under their names in a file; None stands for a flag that was not given.
    Raises ConfigError with every problem of every place.
    """
    named = environment.get("TIPHYS_CONFIG")
    given = file or (Path(named) if named else None)
    paths = [given] if given else list(_found(environment, cwd))
    joined: dict[str, Any] = {}
    for path in paths:
        _lay(joined, _read_file(path))
    _lay(joined, _checked(_from_environment(environment), "environment", None))
    _lay(joined, {key: value for key, value in (flags or {}).items() if value is not None})
    _checked(joined, "command line", None)
    config = walk.read(joined, Config, Report())
    assert config is not None, "it was checked"
    return config


def _found(environment: Mapping[str, str], cwd: Path) -> Iterator[Path]:
    """Give the files that exist, the farthest first."""
    user = xdg(environment, "XDG_CONFIG_HOME", ".config") / "tiphys" / "config.yaml"
    if user.is_file():
        yield user
    project = find_project_file(cwd, home=home(environment))
    if project:
        yield project


def find_project_file(cwd: Path, *, home: Path) -> Path | None:
    """Look for ``tiphys.yaml`` from ``cwd`` upwards, no farther than the repository or home."""
    for folder in (cwd, *cwd.parents):
        if (folder / PROJECT_FILE).is_file():
            return folder / PROJECT_FILE
        if folder == home or (folder / ".git").exists():
            return None
    return None


def _lay(joined: dict[str, Any], value: Mapping[str, Any]) -> None:
    images = {**joined.get("images", {}), **value.get("images", {})}
    scheduler = _joined(joined.get("scheduler", {}), value.get("scheduler", {}))
    joined.update(value)
    if images:
        joined["images"] = images
    if scheduler:
        joined["scheduler"] = scheduler


def _joined(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Lay a variable that says one thing over a file that says others."""
    volcano = {**below.get("volcano", {}), **above.get("volcano", {})}
    return {**below, **above, **({"volcano": volcano} if volcano else {})}


def _read_file(path: Path) -> dict[str, Any]:
    try:
        documents = yaml.load(path.read_bytes(), file=str(path))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except SpecError as error:
        raise ConfigError(str(error)) from error
    if len(documents) > 1:
        raise ConfigError(f"{path}: holds more than one document")
    return _checked(documents[0].value, str(path), documents[0]) if documents else {}


# ---------------------------------------------------------------------------- checking


def _checked(value: Any, source: str, document: yaml.Document | None) -> dict[str, Any]:
    """Give the value made ready for Config; raise ConfigError with all that is wrong with it."""
    report = Report(document)
    clean = walk.Walk(report).walk(struct(Config), value, ())
    if not report.problems:
        _check_rules(clean, report)
        _check_sense(clean, report)
        _check_oidc(clean.get("oidc", {}), report)
        _check_store(clean, report)
        _check_artifacts(clean, report)
        _check_queues(clean, report)
    if report.problems:
        raise ConfigError("\n".join(_line(problem, source) for problem in report.problems))
    checked: dict[str, Any] = clean
    return checked


def _line(problem: Problem, source: str) -> str:
    return str(msgspec.structs.replace(problem, file=problem.file or source, code=ConfigError.code))


def _check_rules(value: Mapping[str, Any], report: Report) -> None:
    isolation = value.get("isolation", "auto")
    if isolation not in ISOLATIONS:
        message = f"{isolation[:40]!r} is none of {', '.join(ISOLATIONS)}"
        report.add(("isolation",), message, hint=report.close_to(isolation, ISOLATIONS))
    chosen = value.get("scheduler", {}).get("default", LOCAL)
    if chosen not in SCHEDULERS:
        report.add(("scheduler", "default"), f"{chosen[:40]!r} is none of {', '.join(SCHEDULERS)}")
    form = value.get("log", {}).get("format", "text")
    if form not in LOG_FORMATS:
        report.add(("log", "format"), f"{form[:40]!r} is none of {', '.join(LOG_FORMATS)}")
    amounts: dict[tuple[str, ...], Any] = {("logCap",): value.get("logCap")}
    amounts |= {("capacity", key): text for key, text in value.get("capacity", {}).items()}
    for path, text in amounts.items():
        try:
            too_small = text is not None and bytes_of(text) < 1
        except InvalidInputError as error:
            report.add(path, str(error))
        else:
            if too_small:
                report.add(path, f"{text} is too little to run anything")


def _check_sense(value: Mapping[str, Any], report: Report) -> None:
    """Refuse what has the right type and still means nothing."""
    own = ("graceSeconds", "lingerSeconds", "maxProcesses")
    numbers: dict[tuple[str, ...], float] = {(key,): value.get(key, 0) for key in own}
    numbers[("oidc", "sessionHours")] = value.get("oidc", {}).get("sessionHours", 0)
    for path, number in numbers.items():
        if number < 0:
            report.add(path, f"{number} is less than nothing")
    namespace = value.get("namespace") or DEFAULT_NAMESPACE
    if not is_dns1123_label(namespace):
        hint = "use small letters, digits and '-', 63 at most"
        report.add(("namespace",), f"{namespace[:80]!r} names no namespace", hint=hint)


def _check_store(value: Mapping[str, Any], report: Report) -> None:
    url = value.get("store", {}).get("url", "")
    if url and not url.startswith(("postgresql://", "postgres://")):
        # The address itself is not shown: it may hold a password.
        report.add(("store", "url"), "expected postgresql://user@host/database")
    kept = value.get("retention", {})
    for key in ("succeeded", "failed", "logs"):
        if not kept.get(key):
            continue
        try:
            parse_age(kept[key])
        except InvalidInputError as error:
            report.add(("retention", key), str(error))
    if kept.get("count", 0) < 0:
        report.add(("retention", "count"), "a number of workflows is not negative")


def _check_oidc(value: Mapping[str, Any], report: Report) -> None:
    if not value:
        return
    for key in ("issuer", "publicUrl"):
        if value.get(key) and not value[key].startswith(("https://", "http://")):
            report.add(("oidc", key), f"{value[key][:100]!r} is no https address")
    for key in ("issuer", "clientId", "rules"):
        if not value.get(key):
            report.add(("oidc", key), f"log-in needs {key}")
    for number, rule in enumerate(value.get("rules", ())):
        if rule["role"] not in ROLES:
            message = f"{rule['role'][:40]!r} is none of {', '.join(ROLES)}"
            report.add(("oidc", "rules", number, "role"), message)


def _check_queues(value: Mapping[str, Any], report: Report) -> None:
    """Read each queue for itself, so that each mistake has its line; then all as a tree."""
    if not value.get("queues"):
        return
    from tiphys.scheduling.queue_file import read_queue_list, tree_of  # noqa: PLC0415

    found: list[Queue] = []
    for name, spec in value.get("queues", {}).items():
        try:
            found += read_queue_list({"queues": {name: spec}})
        except InvalidInputError as error:
            report.add(("queues", name), str(error))
    if not report.problems:
        try:
            tree_of(found)
        except InvalidInputError as error:
            report.add(("queues",), str(error))


def _check_artifacts(value: Mapping[str, Any], report: Report) -> None:
    """Look below the keys whose types are loaded only where they are used."""
    if not any(value.get(key) for key in (*_BESIDE, "artifacts")):
        return
    from tiphys.artifacts.config import ArtifactConfig  # noqa: PLC0415

    fields = fields_of(ArtifactConfig)
    walker = walk.Walk(report)
    for key in _BESIDE:
        if key in value:
            walker.walk(fields[key].info, value[key], (key,))
    own = {key: item for key, item in fields.items() if key not in _BESIDE}
    for key, item in value.get("artifacts", {}).items():
        if key in own:
            walker.walk(own[key].info, item, ("artifacts", key))
        else:
            walker.unknown(("artifacts", key), own)


# ---------------------------------------------------------------------------- variables


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for variable, (path, read) in VARIABLES.items():
        text = environment.get(variable, "")
        if not text:
            continue
        *above, last = path
        place = value
        for part in above:
            place = place.setdefault(part, {})
        try:
            place[last] = read(text)
        except ValueError as error:
            raise ConfigError(f"{variable}: {error}") from error
    return value


def read_truth(text: str) -> bool:
    """Read true or false in the words that people use; raise ValueError for others."""
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError(f"expected true or false, found {text[:40]!r}")


VARIABLES: Mapping[str, tuple[tuple[str, ...], Callable[[str], Any]]] = {
    "TIPHYS_NAMESPACE": (("namespace",), str),
    "TIPHYS_STORE": (("store", "url"), str),
    "TIPHYS_ISOLATION": (("isolation",), str),
    "TIPHYS_CAPACITY_CPU": (("capacity", "cpu"), str),
    "TIPHYS_CAPACITY_MEMORY": (("capacity", "memory"), str),
    "TIPHYS_LOG_CAP": (("logCap",), str),
    "TIPHYS_GRACE_SECONDS": (("graceSeconds",), float),
    "TIPHYS_ALLOW_HOST_PATH": (("allowHostPath",), read_truth),
    "TIPHYS_ALLOW_PRIVILEGED": (("allowPrivileged",), read_truth),
    "TIPHYS_MAX_PROCESSES": (("maxProcesses",), int),
    "TIPHYS_SCHEDULER": (("scheduler", "default"), str),
    VOLCANO_FLAG: (("scheduler", "volcano", "enabled"), read_truth),
}
"""Variables and the settings that they give. Maps and lists are for files."""
