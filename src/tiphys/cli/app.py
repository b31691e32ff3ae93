"""The ``tiphys`` command: its subcommands, and what every one of them does with an error."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

import click
import msgspec

from tiphys import __version__
from tiphys.cli.failure import FAILED, INTERRUPTED, report

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Entry(msgspec.Struct, frozen=True):
    """Where a command lives, and its line in ``tiphys --help``."""

    module: str
    help: str
    attribute: str = "command"


COMMANDS: Mapping[str, Entry] = {
    "run": Entry("run", "Run workflows to their end, here and now."),
    "server": Entry("server", "Run workflows as they come, and serve the API."),
    "submit": Entry("life", "Hand workflows to the server.", "submit"),
    "wait": Entry("life", "Wait until workflows have ended.", "wait"),
    "watch": Entry("life", "Show workflows live until they have ended.", "watch"),
    "stop": Entry("life", "Stop workflows; exit handlers still run.", "stop"),
    "terminate": Entry("life", "End workflows at once.", "terminate"),
    "suspend": Entry("life", "Let nothing new start in workflows.", "suspend"),
    "resume": Entry("life", "Let suspended workflows go on.", "resume"),
    "retry": Entry("life", "Run workflows again from what failed.", "retry"),
    "resubmit": Entry("life", "Run workflows once more under new names.", "resubmit"),
    "lint": Entry("lint", "Look for mistakes in files."),
    "schema": Entry("schema", "Print the JSON schema of workflow files."),
    "list": Entry("listing", "List workflows."),
    "get": Entry("get", "Show a workflow and its nodes."),
    "logs": Entry("logs", "Print what the tasks of a workflow wrote."),
    "delete": Entry("delete", "Delete workflows that have ended."),
    "cron": Entry("cron", "Show and change workflows that run by schedule."),
    "template": Entry("template", "Show and change templates that workflows refer to."),
    "queue": Entry("queue", "Show and change the queues that workflows wait in."),
    "launch": Entry("launch", "Run a command as one job or a gang."),
    "kueue": Entry("kueue", "Have Kueue admit workflows of a cluster, layer by layer."),
    "token": Entry("token", "Make, list and revoke tokens of the server."),
    "project": Entry("project", "Make, list and remove projects of the server."),
    "explain": Entry("explain", "Say why the nodes of a workflow wait."),
    "simulate": Entry("simulate", "Play workflows or traces on an imagined machine."),
    "temporal": Entry("temporal", "Compare how workflows of Temporal fared before and after."),
    "completion": Entry("completion", "Print a script that completes commands in a shell."),
    "backup": Entry("backup", "Copy the store to a file, also while a server runs."),
    "doctor": Entry("doctor", "Tell what this machine offers and what is missing."),
}


class LazyGroup(click.Group):
    """Loads a command's module when the command is used, not before."""

    def list_commands(self, _: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        entry = COMMANDS.get(name)
        if entry is None:
            return None
        module = import_module(f"tiphys.cli.{entry.module}")
        command: click.Command = getattr(module, entry.attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            ctx.fail(f"there is no command {args[0]!r}.{_suggestion(args[0])}")
        return super().resolve_command(ctx, args)

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


def _suggestion(word: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415

    close = get_close_matches(word, COMMANDS, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


@click.group(cls=LazyGroup, context_settings=CONTEXT)
@click.version_option(__version__, message="tiphys %(version)s")
def app() -> None:
    """One helm for batch workflows: runs Argo Workflow files on this machine."""


def run(arguments: Sequence[str]) -> int:
    """Run one command and give the exit code; errors become lines on stderr."""
    try:
        code = app.main(list(arguments), prog_name="tiphys", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone (`tiphys list | head`); nothing is wrong, and Python
        # must not try to flush what is left.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        return report(error, debug=bool(os.environ.get("TIPHYS_DEBUG")))
    return code if isinstance(code, int) else 0
