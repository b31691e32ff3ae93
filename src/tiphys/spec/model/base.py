"""What all Structs of the model share, and the loosely typed scalars of Argo and Kubernetes.

A scalar that Kubernetes lets people write as a number or as text is kept as text; the ``extra``
mark tells `spec.parse` what it may turn into that text.

The modules of this package do without ``from __future__ import annotations``: msgspec would have to
evaluate each of the thousand annotations as text, at every start of every command.
"""

from typing import Annotated, Any

from msgspec import Meta, Struct

# msgspec lets a Python type win over a JSON schema's; `spec.schema` puts this one in its place.
_LOOSE: dict[str, Any] = {"x-type": ["string", "number", "boolean"]}
_NUMBER: dict[str, Any] = {"x-type": ["string", "number"]}


class Model(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The root of all Structs: frozen, keyword only, camelCase in JSON, defaults left out."""


AnyString = Annotated[str, Meta(extra={"from": "any"}, extra_json_schema=_LOOSE)]
"""Text that may be given as a number or a boolean (parameter values)."""

NumberText = Annotated[str, Meta(extra={"from": "number"}, extra_json_schema=_NUMBER)]
"""A number, or text that becomes one once its tags are replaced (``retryStrategy.limit``)."""

Quantity = Annotated[str, Meta(extra={"from": "number"}, extra_json_schema=_NUMBER)]
"""An amount such as ``1500m`` or ``2Gi``."""

IntOrString = int | str
"""Kubernetes' own: a port by number or by name."""

Item = Any
"""One element of ``withItems``: any JSON value."""
