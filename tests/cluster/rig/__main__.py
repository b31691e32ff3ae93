"""The command behind ``scripts/cluster``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tests.cluster.rig.build import MissingError, build, say
from tests.cluster.rig.cluster import Cluster, Wish
from tests.cluster.rig.parts import PARTS

MISSING = 3
"""The exit code where the machine lacks something: Go, root, a package."""


def main() -> int:
    """Do what the words say."""
    given = _parser().parse_args()
    try:
        return int(given.do(given))
    except MissingError as error:
        sys.stderr.write(f"cluster: {error}\n")
        return MISSING


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/cluster",
        description="A real Kubernetes on this machine, built from source, for tests.",
        epilog="Exit codes: 0 done, 1 not (or not all) running, 2 usage, 3 the machine lacks "
        "something (the message says what).",
    )
    parser.add_argument("--home", type=Path, default=_default_home(), help="the cluster's folder")
    commands = parser.add_subparsers(required=True, metavar="up | down | status | build")
    up = commands.add_parser("up", help="build what is missing, start, wait until Ready")
    for name in ("argo", "volcano", "kueue"):
        up.add_argument(f"--{name}", action="store_true", help=f"with {name.title()}")
    up.add_argument("--kwok", type=int, default=0, metavar="N", help="with N pretended nodes")
    up.set_defaults(do=_up)
    commands.add_parser("down", help="end what was started").set_defaults(do=_down)
    commands.add_parser("status", help="tell what runs").set_defaults(do=_status)
    make = commands.add_parser("build", help="build parts into the cache and start nothing")
    make.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    make.set_defaults(do=_build)
    return parser


def _default_home() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(base) / "tiphys" / "cluster"


def _up(given: argparse.Namespace) -> int:
    cluster = Cluster(given.home)
    wish = Wish(argo=given.argo, volcano=given.volcano, kueue=given.kueue, kwok=given.kwok)
    cluster.up(wish)
    say(f"ready: export KUBECONFIG={cluster.kubeconfig}")
    return 0


def _down(given: argparse.Namespace) -> int:
    Cluster(given.home).down()
    return 0


def _status(given: argparse.Namespace) -> int:
    cluster = Cluster(given.home)
    if not cluster.exists:
        say("no cluster is up")
        return 1
    found = cluster.status()
    for name, runs in found.items():
        say(f"{name:28} {'running' if runs else 'ended'}")
    say(f"KUBECONFIG={cluster.kubeconfig}")
    return 0 if found and all(found.values()) else 1


def _build(given: argparse.Namespace) -> int:
    for name in given.parts or PARTS:
        build(PARTS[name])
        for program in PARTS[name].programs:
            say(str(PARTS[name].program(program)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
