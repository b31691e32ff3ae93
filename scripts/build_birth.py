"""Build the one part of Tiphys that is in C, as the package is built or installed: a hook of hatch.

Where there is no compiler, or it cannot, the package is built without: it works the same then, and
tasks start slower. Nothing is fetched.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "src/tiphys/executor"
MODULE = "_birth.abi3.so"
OLDEST = (3, 11)
"""Of the Pythons that can load what was built; also in ``requires-python``."""


class Hook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles before a wheel is put together, or an editable installation made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the module; have the wheel say for whom it is."""
        del version
        error = build(Path(self.root))
        if error:
            self.app.display_warning(f"Without {MODULE}, so tasks start slower: {error}")
            return
        platform = sysconfig.get_platform().translate(str.maketrans("-.", "__"))
        build_data["pure_python"] = False
        build_data["tag"] = f"cp{OLDEST[0]}{OLDEST[1]}-abi3-{platform}"


def build(root: Path) -> str:
    """Compile; return why that could not be, empty where it was."""
    module = root / FOLDER / MODULE
    spare = module.with_suffix(".new")
    module.unlink(missing_ok=True)
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    try:
        done = subprocess.run(
            [
                *compiler,
                *shlex.split(os.environ.get("CFLAGS", "")),
                *("-std=gnu11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC"),
                f"-DPy_LIMITED_API=0x{OLDEST[0]:02x}{OLDEST[1]:02x}0000",
                f"-I{sysconfig.get_path('include')}",
                *(str(root / FOLDER / "birth.c"), "-o", str(spare)),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        return str(error)
    if done.returncode:
        spare.unlink(missing_ok=True)
        lines = [line for line in done.stderr.splitlines() if "error" in line]
        return lines[0] if lines else f"{compiler[0]} gave {done.returncode}"
    # Whoever has the old one loaded goes on with it.
    spare.rename(module)
    return ""


if __name__ == "__main__":
    sys.exit(build(Path(__file__).parents[1]))
