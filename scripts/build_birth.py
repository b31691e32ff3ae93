"""Build the one part of Tiphys that is in C, as the package is built or installed: a hook of hatch.

Where there is no compiler, or it cannot, the package is built without: it works the same then, and
tasks start slower. Nothing is fetched.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "src/tiphys/executor"
SOURCE = "birth.c"
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
    try:
        with tempfile.TemporaryDirectory() as folder:
            error = compile_to(Path(folder, MODULE), root / FOLDER / SOURCE)
            if error:
                module.unlink(missing_ok=True)
                return error
            # Whoever has the old one loaded goes on with it.
            spare = module.with_name(f"{MODULE}.{os.getpid()}")
            shutil.copyfile(Path(folder, MODULE), spare)
            spare.rename(module)
    except OSError as error:
        return str(error)
    return ""


def compile_to(module: Path, source: Path) -> str:
    """Compile; return why that could not be, empty where it was."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    words = [
        *compiler,
        *shlex.split(os.environ.get("CFLAGS", "")),
        *("-std=gnu11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC"),
        f"-DPy_LIMITED_API=0x{OLDEST[0]:02x}{OLDEST[1]:02x}0000",
        f"-I{sysconfig.get_path('include')}",
        *(str(source), "-o", str(module)),
    ]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if "error" in line]
    return lines[0] if lines else f"{compiler[0]} gave {done.returncode}"


if __name__ == "__main__":
    sys.exit(build(Path(__file__).parents[1]) or 0)
