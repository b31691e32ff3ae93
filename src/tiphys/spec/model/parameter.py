"""Parameters, and the bundles of parameters and artifacts."""

from tiphys.spec.model.artifact import Artifact
from tiphys.spec.model.base import AnyString, Model
from tiphys.spec.model.meta import ConfigMapKeySelector


class SuppliedValueFrom(Model, frozen=True, kw_only=True):
    """The value comes from a person or an API call."""


class ValueFrom(Model, frozen=True, kw_only=True):
    """Where the value of a parameter comes from."""

    config_map_key_ref: ConfigMapKeySelector | None = None
    default: AnyString | None = None
    event: str = ""
    expression: str = ""
    jq_filter: str = ""
    json_path: str = ""
    parameter: str = ""
    path: str = ""
    supplied: SuppliedValueFrom | None = None


class Parameter(Model, frozen=True, kw_only=True):
    """A named text value."""

    name: str
    default: AnyString | None = None
    description: AnyString | None = None
    enum: tuple[AnyString, ...] = ()
    global_name: str = ""
    value: AnyString | None = None
    value_from: ValueFrom | None = None


class Inputs(Model, frozen=True, kw_only=True):
    """What a template takes."""

    artifacts: tuple[Artifact, ...] = ()
    parameters: tuple[Parameter, ...] = ()


class Outputs(Model, frozen=True, kw_only=True):
    """What a template gives."""

    artifacts: tuple[Artifact, ...] = ()
    exit_code: str | None = None
    parameters: tuple[Parameter, ...] = ()
    result: str | None = None


class Arguments(Model, frozen=True, kw_only=True):
    """What is handed to a template."""

    artifacts: tuple[Artifact, ...] = ()
    parameters: tuple[Parameter, ...] = ()
