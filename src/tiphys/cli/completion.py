"""``tiphys completion``: scripts that complete commands, options and workflow names."""

from __future__ import annotations

import sys

import click
from click.shell_completion import get_completion_class

_VARIABLE = "_TIPHYS_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a completion script for SHELL.

    For bash: put `eval "$(tiphys completion bash)"` into ~/.bashrc.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, "tiphys", _VARIABLE).source()
    sys.stdout.write(f"{script}\n")
