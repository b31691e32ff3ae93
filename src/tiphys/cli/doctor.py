"""``tiphys doctor``: what this machine offers, what is missing, and what to do about it."""

from __future__ import annotations

import os
import sys

import click

from tiphys.cli.checkup import CHECKS
from tiphys.cli.failure import FAILED
from tiphys.cli.text import Paint, wants_colour

SIGNS = {"ok": ("✔", "green"), "note": ("○", "yellow"), "bad": ("✖", "red")}


@click.command("doctor")
def command() -> int:
    """Tell what this machine offers. Exits with 1 when workflows cannot run here."""
    paint = Paint(wants_colour(os.environ, terminal=sys.stdout.isatty()))
    bad = False
    for check in CHECKS:
        for finding in check():
            sign, colour = SIGNS[finding.kind]
            sys.stdout.write(f"{paint(sign, colour)} {finding.text}\n")
            if finding.fix:
                sys.stdout.write(f"  {paint('→', 'dim')} {finding.fix}\n")
            sys.stdout.flush()
            bad = bad or finding.kind == "bad"
    return FAILED if bad else 0
