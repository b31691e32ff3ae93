"""Builds the Go program of this folder, asks it, and makes up questions."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ZONES = (
    "UTC",
    "Europe/Berlin",
    "Europe/London",
    "Europe/Dublin",
    "America/New_York",
    "America/Sao_Paulo",
    "America/St_Johns",
    "America/Santiago",
    "America/Havana",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Asia/Tokyo",
    "Asia/Tehran",
    "Asia/Beirut",
    "Africa/Casablanca",
    "Africa/Cairo",
    "Australia/Lord_Howe",
    "Australia/Adelaide",
    "Pacific/Apia",
    "Pacific/Chatham",
    "Antarctica/Troll",
    "EST5EDT",
    "Etc/GMT+11",
)
_CHANGES = (
    1_521_936_000,  # Europe, spring 2018
    1_540_692_000,  # Europe, autumn 2018
    1_541_300_400,  # Sao Paulo loses a midnight, November 2018
    1_616_889_600,  # Europe, spring 2021; Lebanon loses a midnight
    1_647_154_800,  # New York, spring 2022
    1_667_714_400,  # New York, autumn 2022
    1_680_364_800,  # Lord Howe, half an hour back, April 2023
    1_682_632_800,  # Cairo, April 2023
    1_711_800_000,  # Europe, spring 2024
    1_729_990_800,  # Europe, autumn 2024
    1_773_637_200,  # New York, spring 2026
)


def built_oracle() -> Path:
    """Give the path of the binary; skip the test where Go or its modules are not to be had."""
    go = shutil.which("go")
    binary = _cache() / f"cron-{_digest()}"
    if binary.exists():
        return binary
    if go is None:
        pytest.skip("Go is not installed: schedules are not compared with the real library")
    fetched = subprocess.run(
        [go, "mod", "download"], cwd=HERE, capture_output=True, text=True, check=False
    )
    if fetched.returncode:
        pytest.skip(f"the oracle's Go module cannot be fetched: {fetched.stderr.strip()[-200:]}")
    binary.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=binary.parent) as folder:
        made = Path(folder) / "oracle"
        # The module is there, so a failing build is a fault of the program, not of the machine.
        subprocess.run([go, "build", "-trimpath", "-o", str(made), "."], cwd=HERE, check=True)
        made.replace(binary)
    return binary


def ask(binary: Path, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give one answer for each question, in order."""
    done = subprocess.run(
        [str(binary)],
        input="".join(json.dumps(question) + "\n" for question in questions),
        capture_output=True,
        text=True,
        check=True,
        env={"TZ": "UTC", "PATH": os.defpath},
        timeout=120,  # The library itself can go in circles; no question here makes it.
    )
    answers = [json.loads(line) for line in done.stdout.split("\n") if line]
    assert len(answers) == len(questions)
    return answers


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "tiphys" / "oracle"


def _digest() -> str:
    parts = [(HERE / name).read_bytes() for name in ("main.go", "go.mod", "go.sum")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


# --- questions ------------------------------------------------------------------------------

_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_NAMES = {3: ("jan", "Feb", "MAR", "jun", "Oct", "dec"), 4: ("sun", "Mon", "TUE", "wed", "sat")}
_ODD = ("", "-1", "99", "a", "1-2-3", "1/2/3", "*/0", "5-1", "**", "1-", "/5", "+3", ",", "*-4")


def instant(chance: random.Random) -> float:
    """Give an instant: near a change of clocks as a rule, sometimes with a fraction."""
    if chance.random() < 0.7:
        at: float = chance.choice(_CHANGES) + chance.randrange(-3 * 86400, 2 * 86400)
    else:
        at = chance.randrange(1_262_304_000, 2_208_988_800)
    return at + chance.choice((0, 0, 0.5))


def sound(chance: random.Random) -> str:
    """Give a schedule that the library takes."""
    if chance.random() < 0.12:
        words = ("@hourly", "@daily", "@weekly", "@monthly", "@yearly", "@midnight", "@annually")
        spans = ("@every 1h30m", "@every 45s", "@every 100ms", "@every 90m0.5s", "@every -3s")
        return chance.choice(words + spans)
    return " ".join(_field(chance, place) for place in range(5))


def odd(chance: random.Random) -> str:
    """Give a schedule with something odd in it; the library may or may not take it."""
    parts = [_field(chance, place) for place in range(5)]
    parts[chance.randrange(5)] = chance.choice(_ODD)
    if chance.random() < 0.2:
        parts.append("*")
    return chance.choice((" ", "  ", "\t")).join(parts)


def _field(chance: random.Random, place: int) -> str:
    if chance.random() < 0.35:
        return chance.choice(("*", "*", "*", "?", "*/1"))
    return ",".join(_range(chance, place) for _ in range(chance.choice((1, 1, 1, 2, 3))))


def _range(chance: random.Random, place: int) -> str:
    low, high = _BOUNDS[place]
    if place in _NAMES and chance.random() < 0.3:
        return chance.choice(_NAMES[place])
    first = chance.randint(low, high)
    last = chance.randint(first, high)
    step = chance.randint(1, max(2, (high - low) // 2))
    shapes = (f"{first}", f"{first}-{last}", f"*/{step}", f"{first}/{step}")
    return chance.choice((*shapes, f"{first}-{last}/{step}"))
