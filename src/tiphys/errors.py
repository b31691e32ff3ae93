"""The whole tree of errors that Tiphys raises itself.

    TiphysError            internal
    ├── InvalidInputError  what the user gave cannot be used (exit code 2, HTTP 4xx)
    │   ├── SpecError          invalid_spec and its kin: a file has problems, all of them listed
    │   └── ConfigError        bad_config
    ├── ExpressionError    expression_error
    │   └── ExpressionLimitError   expression_limit
    ├── UnauthenticatedError   unauthenticated: nobody we know asks
    ├── ForbiddenError     forbidden: whoever asks may not have this done
    ├── NotFoundError      not_found
    ├── ConflictError      conflict
    │   └── NameTakenError     name_taken: a workflow of that name exists
    ├── IllegalMoveError   illegal_move: the engine was told something that cannot be true
    ├── StoreError         store_error
    │   ├── StoreLockedError   store_locked: another process owns the data directory
    │   ├── StoreFullError     storage_full
    │   ├── StoreUnavailableError  store_unavailable: the database is away; worth trying again
    │   ├── StaleEpochError    stale_epoch: a newer owner has taken over
    │   └── StoreVersionError  store_version: the store belongs to another version of Tiphys
    ├── ArtifactError      artifact_error: an artifact cannot be loaded, saved or deleted
    │   ├── ArtifactUnsafeError    artifact_unsafe: an archive or key that would do harm
    │   ├── ArtifactNotFoundError  artifact_not_found
    │   └── EgressDeniedError      egress_denied: the target's address is not allowed
    ├── ClusterError       cluster_error: a Kubernetes API server refused or cannot be reached
    └── RuntimeFailure     runtime_failure: a node cannot be run here

``code`` is stable and public; the message is for people. A user's failing task is data,
never an exception.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence


class TiphysError(Exception):
    """Something went wrong inside Tiphys."""

    code: ClassVar[str] = "internal"


class InvalidInputError(TiphysError):
    """What was given cannot be used."""

    code = "invalid_input"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a file, and where."""

    code: str
    message: str
    path: str = ""
    """Where in the document: ``spec.templates[0].container.image``."""
    line: int = 0
    """From 1; 0 where no place is known."""
    column: int = 0
    file: str = ""
    hint: str = ""
    warning: bool = False

    def __str__(self) -> str:
        """Give ``file:line:column: path: message (hint) [code]``."""
        place = self.file
        if self.line:
            place += f":{self.line}:{self.column}"
        parts = [part for part in (place, self.path) if part]
        text = ": ".join([*parts, self.message])
        if self.hint:
            text += f" ({self.hint})"
        return f"{text} [{self.code}]"


class SpecError(InvalidInputError):
    """The text is not something we can run; every problem is listed."""

    code = "invalid_spec"

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class ConfigError(InvalidInputError):
    """The configuration cannot be used."""

    code = "bad_config"


class ExpressionError(TiphysError):
    """An expression cannot be parsed or evaluated."""

    code = "expression_error"


class ExpressionLimitError(ExpressionError):
    """An expression is too long, too deep, or takes too many steps."""

    code = "expression_limit"


class UnauthenticatedError(TiphysError):
    """There is no token, or none that is known and still holds."""

    code = "unauthenticated"


class ForbiddenError(TiphysError):
    """The role of whoever asks does not allow this."""

    code = "forbidden"


class NotFoundError(TiphysError):
    """There is no such thing."""

    code = "not_found"


class ConflictError(TiphysError):
    """The thing is not in a state in which this can be done."""

    code = "conflict"


class NameTakenError(ConflictError):
    """A workflow of that name exists in the namespace."""

    code = "name_taken"

    def __init__(self, name: str, namespace: str, uid: str) -> None:
        super().__init__(
            f"there is already a workflow named {name!r} in namespace {namespace!r} "
            f"(`tiphys delete {name}` removes it, --name gives another name)"
        )
        self.name, self.namespace, self.uid = name, namespace, uid


class IllegalMoveError(TiphysError):
    """An event arrived that the state of its node does not allow."""

    code = "illegal_move"


class StoreError(TiphysError):
    """The store cannot be read or written."""

    code = "store_error"


class StoreLockedError(StoreError):
    """Another process owns the data directory."""

    code = "store_locked"


class StoreFullError(StoreError):
    """There is no room left on the device."""

    code = "storage_full"


class StoreUnavailableError(StoreError):
    """The database cannot be reached just now; nothing says that it will not come back."""

    code = "store_unavailable"


class StaleEpochError(StoreError):
    """A newer owner has taken over the data directory."""

    code = "stale_epoch"


class StoreVersionError(StoreError):
    """The store belongs to another version of Tiphys."""

    code = "store_version"


class ArtifactError(TiphysError):
    """An artifact cannot be loaded, saved or deleted."""

    code = "artifact_error"


class ArtifactUnsafeError(ArtifactError):
    """An archive or a key would do harm: it leaves its folder or grows without bounds."""

    code = "artifact_unsafe"

    def __str__(self) -> str:
        """Give the code too: the message of a node is all that its readers see."""
        return f"{self.code}: {super().__str__()}"


class ArtifactNotFoundError(ArtifactError):
    """There is no such artifact."""

    code = "artifact_not_found"


class EgressDeniedError(ArtifactError):
    """The address of the target is not one that may be reached."""

    code = "egress_denied"

    def __str__(self) -> str:
        """Give the code too: the message of a node is all that its readers see."""
        return f"{self.code}: {super().__str__()}"


class ClusterError(TiphysError):
    """A Kubernetes API server refused something, or cannot be reached (status 0)."""

    code = "cluster_error"

    def __init__(self, message: str, *, status: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.status, self.reason = status, reason


class RuntimeFailure(TiphysError):  # noqa: N818 - it ends a node, not the program
    """A node cannot be run here."""

    code = "runtime_failure"
