"""The command: ``python -m benchmarks.speed``; ``make bench`` calls it.

Finds or installs every peer, runs all cases round by round, keeps each measurement as it comes and
writes the report at the end, also when it is interrupted.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.speed import report
from benchmarks.speed.case import CASES, Case
from benchmarks.speed.environment import UnavailableError, cache, say
from benchmarks.speed.measure import Command, FailedError, measure
from benchmarks.speed.peer import PROGRAMS, ROOT, Peer
from benchmarks.speed.peers import everybody
from benchmarks.speed.record import Found, Record, Result

RESULTS = ROOT / "benchmarks/RESULTS.md"


def main() -> int:
    """Measure and report."""
    given = _arguments()
    peers = [peer for peer in everybody() if _wanted(peer.name, given.only, given.skip)]
    record = Record(given.record)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if not given.report:
            record.begin()
            run(peers, record, given)
    except KeyboardInterrupt:
        say("interrupted: the report is made of what was measured until now")
    sheet = report.Sheet(everybody(), *record.read())
    given.output.write_text(report.write(sheet))
    say(f"written: {given.output}")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", default=",".join(CASES), help="of: %(default)s")
    parser.add_argument("--only", default="", metavar="NAME,…", help="peers with such names only")
    parser.add_argument("--skip", default="", metavar="NAME,…", help="no peers with such names")
    parser.add_argument("--small", action="store_true", help="all cases in their small form")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one run")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--record", type=Path, default=cache() / "last.jsonl")
    parser.add_argument("--report", action="store_true", help="only write the report anew")
    return parser.parse_args()


def _wanted(name: str, only: str, skip: str) -> bool:
    def among(words: str) -> bool:
        return any(word.strip().lower() in name.lower() for word in words.split(",") if word)

    return (not only or among(only)) and not among(skip)


def run(peers: list[Peer], record: Record, given: argparse.Namespace) -> None:
    """Run everything; what must run apart comes last."""
    record.add(Found(peer=report.LOAD, version=f"{os.getloadavg()[0]:.1f}"))
    run_interleaved([peer for peer in peers if not peer.apart], record, given)
    run_interleaved([peer for peer in peers if peer.apart], record, given)


def run_interleaved(peers: list[Peer], record: Record, given: argparse.Namespace) -> None:
    """Run all cases by all peers, round by round."""
    found = [peer for peer in peers if find(peer, record)]
    failed: set[tuple[str, str]] = set()
    try:
        for number in range(given.rounds):
            # Turned, so that nobody always comes after the largest.
            first = number * len(found) // given.rounds
            for name in given.cases.split(","):
                for peer in (*found[first:], *found[:first]):
                    form = peer.form_of(CASES[name])
                    if form is None or (peer.name, name) in failed:
                        continue
                    form = form.reduced() if given.small else form
                    result = one(peer, form, given.limit)
                    record.add(result)
                    _tell(number, result)
                    if result.measurement is None:
                        failed.add((peer.name, name))
    finally:
        for peer in found:
            peer.close()


def find(peer: Peer, record: Record) -> bool:
    """Make a peer ready; note its version, or why it cannot be had."""
    try:
        record.add(Found(peer=peer.name, version=peer.find()))
    except UnavailableError as error:
        say(f"{peer.name}: {error}")
        record.add(Found(peer=peer.name, missing=str(error)))
        return False
    return True


def one(peer: Peer, case: Case, limit: float) -> Result:
    """Run a case once, in an empty folder."""
    os.sync()  # What the one before has left to be written is not this one's to wait for.
    # Beside the data of Tiphys and not in memory: durable means on the disk.
    with tempfile.TemporaryDirectory(dir=cache(), ignore_cleanup_errors=True) as folder:
        command = peer.command(case, Path(folder))
        about = Result(
            peer=peer.name,
            case=case.name,
            width=case.width,
            depth=case.depth,
            words=_shown(command),
        )
        try:
            return replace(about, measurement=measure(command, limit))
        except FailedError as error:
            return replace(about, failed=str(error))


def _shown(command: Command) -> str:
    """Give a command line without what is peculiar to this machine."""
    given = [f"{key}={value}" for key, value in command.environment.items() if "_" in key]
    text = " ".join([*(each for each in given if "NOT_TRACK" not in each), *command.words])
    places = {
        str(command.folder): ".",
        str(PROGRAMS): "programs",
        str(Path(sys.executable).parent) + "/": "",
        str(cache()): "PEERS",
        str(ROOT): ".",
        str(Path.home()): "~",
    }
    for place, word in places.items():
        text = text.replace(place, word)
    return text


def _tell(number: int, result: Result) -> None:
    what = f"round {number + 1}  {result.case:8} {result.peer:34}"
    if result.measurement is None:
        say(f"{what} failed: {result.failed[:300]}")
        return
    taken = result.measurement
    seconds = taken.seconds if taken.work is None else taken.work
    rate = result.width * result.depth / seconds
    say(f"{what} {seconds:8.2f} s {rate:9.1f}/s  {taken.memory / 2**20:6.0f} MiB")


if __name__ == "__main__":
    sys.exit(main())
