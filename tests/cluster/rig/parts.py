"""What the cluster is made of: which module gives which programs, at which version.

The versions themselves stand in ``go/<part>/go.mod``; a change of one gives a new cache key. The
programs land in a cache outside of the repository, because they are a gigabyte.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

GO_FILES = Path(__file__).parent / "go"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """One module and the programs that are built from it."""

    name: str
    module: str
    programs: dict[str, str]
    """Name of the program, and its package below the module."""
    version_variables: tuple[str, ...] = ()
    """Go variables that the linker sets to the version."""
    copied: bool = False
    """Whether the module must be copied out of Go's cache, to be completed there."""
    inside: bool = False
    """Whether to build in the copy, by the module's own go.mod."""
    manifests: tuple[str, ...] = ()
    """Folders of the module with objects that the cluster needs: kept beside the programs."""

    @property
    def version(self) -> str:
        """Read the pinned version, with its leading v."""
        text = (GO_FILES / self.name / "go.mod").read_text()
        found = re.search(rf"^require {re.escape(self.module)} (\S+)$", text, re.MULTILINE)
        if found is None:
            raise ValueError(f"go.mod of {self.name} does not require {self.module}")
        return found[1]

    @property
    def home(self) -> Path:
        """Give the folder in the cache, keyed by what the build depends on."""
        recipe = (GO_FILES / self.name / "go.mod").read_text() + repr(sorted(self.programs))
        digest = hashlib.sha256(recipe.encode()).hexdigest()[:10]
        return cache() / f"{self.name}-{self.version}-{digest}"

    def program(self, name: str) -> Path:
        """Give where a program lies, once it is built."""
        return self.home / "bin" / name

    def is_built(self) -> bool:
        """Tell whether all programs are there."""
        return (self.home / "ready").exists()


def cache() -> Path:
    """Give the folder of the cache."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "tiphys" / "cluster"


KUBERNETES = Part(
    name="kubernetes",
    module="k8s.io/kubernetes",
    programs={
        name: f"cmd/{name}"
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")
    },
    version_variables=(
        "k8s.io/component-base/version.gitVersion",
        "k8s.io/client-go/pkg/version.gitVersion",
    ),
)
ETCD = Part(name="etcd", module="go.etcd.io/etcd/server/v3", programs={"etcd": ""})
ARGO = Part(
    name="argo",
    module="github.com/argoproj/argo-workflows/v4",
    programs={"workflow-controller": "cmd/workflow-controller", "argoexec": "cmd/argoexec"},
    copied=True,
    manifests=("manifests/base/crds/minimal",),
)
VOLCANO = Part(
    name="volcano",
    module="volcano.sh/volcano",
    programs={
        "vc-scheduler": "cmd/scheduler",
        "vc-controller-manager": "cmd/controller-manager",
        "vc-webhook-manager": "cmd/webhook-manager",
    },
    manifests=("config/crd/volcano/bases", "config/crd/jobflow/bases"),
)
KUEUE = Part(
    name="kueue",
    module="sigs.k8s.io/kueue",
    programs={"kueue": "cmd/kueue"},
    manifests=("config/components/crd/bases", "config/components/webhook"),
)
KWOK = Part(name="kwok", module="sigs.k8s.io/kwok", programs={"kwok": "cmd/kwok"})
HELM = Part(name="helm", module="helm.sh/helm/v3", programs={"helm": "cmd/helm"})
TEMPORAL = Part(
    name="temporal",
    module="github.com/temporalio/cli",
    programs={"temporal": "cmd/temporal"},
    copied=True,
    inside=True,
)
BASE = (KUBERNETES, ETCD)
PARTS = {part.name: part for part in (*BASE, ARGO, VOLCANO, KUEUE, KWOK, HELM, TEMPORAL)}
