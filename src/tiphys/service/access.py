"""Who asks, and what that lets them do.

A project is the tenancy wall, and a namespace of the store: what lies in another project does not
exist for a token of this one. Roles are ordered; a token without a project sees all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tiphys.errors import ForbiddenError, NotFoundError


class Role(StrEnum):
    """What a token may do, each role also what those before it may."""

    VIEWER = "viewer"
    MEMBER = "member"
    ADMIN = "admin"


LONGEST = 10 * 366 * 86400.0
"""Seconds for which a token with an end may hold."""
_RANK = {role: rank for rank, role in enumerate(Role)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The bearer of a token that holds."""

    token: str
    """The id of the token, never the secret."""
    name: str
    role: Role
    project: str = ""
    """The one project that it may see; "" for all."""
    expires_at: float | None = None
    external: bool = False
    """Whether the OIDC provider vouches for it, and not our own book of tokens."""

    def has(self, role: Role) -> bool:
        """Tell whether the role is enough."""
        return _RANK[self.role] >= _RANK[role]

    def sees(self, project: str) -> bool:
        """Tell whether the project exists for this token."""
        return self.project in {"", project}

    def require(self, role: Role, project: str | None = None) -> None:
        """Raise NotFoundError for a foreign project, ForbiddenError where the role falls short.

        None as project stands for what belongs to no project: only a token of all will do.
        """
        if project is not None and not self.sees(project):
            raise NotFoundError(f"there is no project {project[:200]!r}")
        if not self.has(role):
            raise ForbiddenError(f"this needs the role {role}; the token has {self.role}")
        if project is None and self.project:
            raise ForbiddenError("this needs a token that is not bound to one project")
