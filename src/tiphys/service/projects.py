"""Projects: names behind which everything else lies. A project's id is a namespace."""

from __future__ import annotations

import re

import msgspec

from tiphys.core.clock import Clock
from tiphys.errors import ConflictError, InvalidInputError, NotFoundError
from tiphys.service.access import Identity, Role
from tiphys.service.cabinet import Cabinet
from tiphys.store import ObjectRow, Store, WorkflowFilter

KIND = "Project"
_ID = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """A project."""

    id: str
    name: str = ""
    description: str = ""
    created_at: float = 0.0
    created_by: str = ""


class Projects:
    """All projects; the default namespace is one without having been made."""

    def __init__(self, store: Store, cabinet: Cabinet, clock: Clock, default: str) -> None:
        self._store, self._cabinet, self._clock = store, cabinet, clock
        self._known = {default: Project(id=default, name=default)}
        self._default = default
        for row in store.objects(KIND):
            self._known[row.name] = msgspec.json.decode(row.body, type=Project)

    def visible(self, identity: Identity) -> list[Project]:
        """List the projects that exist for ``identity``."""
        return [each for each in self._known.values() if identity.sees(each.id)]

    def find(self, identity: Identity, key: str) -> Project:
        """Find a project."""
        project = self._known.get(key)
        if project is None or not identity.sees(key):
            raise NotFoundError(f"there is no project {key[:200]!r}")
        return project

    async def find_or_make(self, identity: Identity, key: str) -> tuple[Project, bool]:
        """Find a project; the first use of an id by an admin of all makes it (True)."""
        if key not in self._known and identity.has(Role.ADMIN) and not identity.project:
            return await self.make(identity, key), True
        return self.find(identity, key), False

    async def ensure(self, key: str, by: str) -> None:
        """Make a project that rules of the settings name, unless it is there."""
        if key not in self._known:
            await self.make(Identity(token="", name=by, role=Role.ADMIN), key)

    async def make(
        self, identity: Identity, key: str, *, name: str = "", description: str = ""
    ) -> Project:
        """Make a project."""
        if not _ID.fullmatch(key):
            raise InvalidInputError(
                f"a project's id is 1 to 63 of a-z, 0-9 and '-', not {key[:100]!r}"
            )
        if key in self._known:
            raise ConflictError(f"there is a project {key!r} already")
        project = Project(
            id=key,
            name=name or key,
            description=description,
            created_at=self._clock.now(),
            created_by=identity.name,
        )
        body = msgspec.json.encode(project)
        self._known[key] = project
        await self._cabinet.save(
            ObjectRow(kind=KIND, namespace="", name=key, body=body, at=project.created_at)
        )
        return project

    async def remove(self, project: Project) -> None:
        """Remove a project that holds nothing."""
        if project.id == self._default:
            raise ConflictError("the default project stays")
        if self._store.workflows(WorkflowFilter(namespace=project.id), limit=1):
            raise ConflictError(f"project {project.id!r} still holds workflows")
        if any(row.namespace == project.id for row in self._store.objects()):
            raise ConflictError(f"project {project.id!r} still holds templates")
        del self._known[project.id]
        await self._cabinet.remove(KIND, "", project.id)
