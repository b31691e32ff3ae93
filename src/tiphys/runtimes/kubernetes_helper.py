"""The two small scripts that go with a task's containers, and how files are handed over.

A pod has an init container of the helper image (busybox): it leaves a static busybox and the task's
inputs in a folder that all containers share, so that the wrapper runs in any image, also in one
without a shell. The wrapper runs the task's own command, then packs the output files. What fits
into a termination message travels with the pod's status; more waits in a third container until it
was fetched. docs/adr/0009 says why.
"""

from __future__ import annotations

import base64
import gzip
import io
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SHARED = "/var/run/tiphys"
BUSYBOX = f"{SHARED}/busybox"
HELPER_BUSYBOX = "/bin/busybox"
INIT, WAIT, VOLUME = "tiphys-init", "tiphys-wait", "tiphys"
MARK = "tiphys1 "
"""Begins every termination message of ours."""
PACKED, FETCH, OMITTED, MISSING = "packed", "fetch", "omitted", "missing"
INLINE = 96 * 1024
"""More than this in one variable no program can be started with."""
RESULT_BYTES = 256 * 1024
MESSAGE = 4000
"""A termination message is cut at 4096 bytes."""

INIT_SCRIPT = f"""set -e
cp {HELPER_BUSYBOX} {BUSYBOX}
mkdir -p {SHARED}/out
chmod 0777 {SHARED}/out
if [ -n "$TIPHYS_FILES" ]; then echo "$TIPHYS_FILES" | base64 -d | tar xz -C {SHARED}; fi
if [ -n "$TIPHYS_AWAIT" ]; then until [ -e {SHARED}/arrived ]; do sleep 0.2; done; fi
"""
WAIT_SCRIPT = f"until [ -e {SHARED}/done ]; do sleep 0.2; done"
RECEIVE = f"tar xz -C {SHARED} && touch {SHARED}/arrived"
SEND = f"tar cz -C {SHARED}/out ."
RELEASE = f"touch {SHARED}/done"

# Runs with the shared busybox. The task's program is looked for by hand: busybox would prefer its
# own applets to the image's programs.
WRAPPER = f"""b={BUSYBOX} d={SHARED}
me=$1 capture=$2 collect=$3 retries=$4 pause=$5 after=$6
shift 6
tell() {{ $b printf '%s' "{MARK}$1" > /dev/termination-log 2>/dev/null; }}
leave() {{ $b printf '%s' "$1" > "$d/exit.$me.new"; $b mv "$d/exit.$me.new" "$d/exit.$me"; }}
for each in $after; do
  until [ -e "$d/exit.$each" ]; do $b sleep 0.1; done
  if [ "$($b cat "$d/exit.$each")" != 0 ]; then
    tell {OMITTED}; leave {OMITTED}; [ "$collect" = 1 ] && $b touch "$d/done"; exit 0
  fi
done
program=$1
case $1 in
*/*) [ -x "$1" ] || program= ;;
*)
  program=
  IFS=:
  for each in $PATH; do
    if [ -z "$program" ] && [ -f "$each/$1" ] && [ -x "$each/$1" ]; then program=$each/$1; fi
  done
  unset IFS ;;
esac
name=$1
shift
if [ -z "$program" ]; then
  case $name in */*) why="stat $name: no such file or directory" ;;
  *) why='executable file not found in $PATH' ;; esac
  tell "{MISSING} failed to find name in PATH: exec: \\"$name\\": $why"
  leave 64; [ "$collect" = 1 ] && $b touch "$d/done"; exit 64
fi
child= ended=
forward() {{ ended=1; [ -n "$child" ] && kill -"$1" "$child" 2>/dev/null; }}
trap 'forward TERM' TERM
trap 'forward INT' INT
trap 'forward HUP' HUP
while :; do
  if [ "$capture" = 1 ]; then
    $b rm -f "$d/pipe.$me"
    $b mkfifo "$d/pipe.$me"
    $b tee "$d/out/result" < "$d/pipe.$me" &
    tee=$!
    "$program" "$@" > "$d/pipe.$me" &
  else
    "$program" "$@" &
  fi
  child=$!
  while :; do
    wait "$child"
    code=$?
    kill -0 "$child" 2>/dev/null || break
  done
  child=
  if [ "$capture" = 1 ]; then
    # A process that the task left behind may hold the pipe open for ever.
    ($b sleep 3; kill "$tee" 2>/dev/null) &
    killer=$!
    wait "$tee"
    kill "$killer" 2>/dev/null
  fi
  if [ "$code" = 0 ] || [ -n "$ended" ] || [ "$retries" -le 0 ]; then break; fi
  retries=$((retries - 1))
  $b sleep "$pause"
done
if [ "$collect" = 1 ]; then
  if [ "$capture" = 1 ]; then
    $b tail -c {RESULT_BYTES} "$d/out/result" > "$d/result"
    $b mv "$d/result" "$d/out/result"
  fi
  number=0
  while read -r path; do
    if [ -e "$path" ]; then
      real=$($b readlink -f "$path")
      $b tar c -f "$d/out/$number.tar" -C "$($b dirname "$real")" "$($b basename "$real")"
    fi
    number=$((number + 1))
  done < "$d/wanted"
  packed=$($b tar c -C "$d/out" . | $b gzip | $b base64 -w 0 | $b head -c {MESSAGE + 1})
  if [ "${{#packed}}" -le {MESSAGE} ]; then tell "$packed"; $b touch "$d/done"
  else tell {FETCH}; fi
fi
leave "$code"
exit "$code"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapping:
    """How a container's command is to be run."""

    name: str
    capture: bool = False
    """Whether its standard output is a result."""
    collect: bool = False
    """Whether its files are outputs."""
    retries: int = 0
    pause: float = 0.0
    after: tuple[str, ...] = ()
    """Containers that must have succeeded first."""

    def wrap(self, argv: Iterable[str]) -> list[str]:
        """Give the command that runs a task's own under the wrapper."""
        flags = [str(int(self.capture)), str(int(self.collect)), str(self.retries)]
        flags += [str(self.pause), " ".join(self.after)]
        return [BUSYBOX, "sh", f"{SHARED}/run", self.name, *flags, *argv]


def pack_inputs(
    target: Path, wanted: Iterable[str], script: bytes | None, inputs: dict[str, Path]
) -> None:
    """Pack what the init container lays out: wrapper, list of outputs, script and input files."""
    with tarfile.open(target, "w:gz", compresslevel=3) as archive:
        _add(archive, "run", WRAPPER.encode(), 0o755)
        _add(archive, "wanted", "".join(f"{path}\n" for path in wanted).encode(), 0o644)
        if script is not None:
            _add(archive, "script", script, 0o755)
        for name, path in inputs.items():
            archive.add(path, f"inputs/{name}")


def _add(archive: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), mode
    archive.addfile(info, io.BytesIO(data))


def inline(packed: Path) -> str:
    """Give the files as a variable's value; "" where they are too many."""
    if packed.stat().st_size > INLINE * 3 // 4:
        return ""
    return base64.b64encode(packed.read_bytes()).decode()


def shell(script: str) -> list[str]:
    """Give the command that runs a script in the helper image."""
    return [HELPER_BUSYBOX, "sh", "-c", script]


def unpack_outputs(packed: Path, folder: Path) -> None:
    """Lay out what the wrapper packed: ``result`` and ``<number>.tar``. None of it is trusted."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(packed, "r:gz") as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            source = archive.extractfile(member) if member.isfile() and "/" not in name else None
            if source is not None and name not in ("", ".", ".."):
                with source, open(folder / name, "wb") as target:
                    while data := source.read(1024 * 1024):
                        target.write(data)


def message_of(text: str) -> tuple[str, bytes]:
    """Read a termination message: a word of ours and what follows it, or packed outputs."""
    if not text.startswith(MARK):
        return "", b""
    body = text[len(MARK) :]
    word, _, rest = body.partition(" ")
    if word in (FETCH, OMITTED, MISSING):
        return word, rest.encode()
    try:
        data = base64.b64decode(body, validate=True)
        gzip.decompress(data)
    except (ValueError, OSError, EOFError):
        return FETCH, b""
    return PACKED, data


class PodView:
    """The files that a task left, as ``view.View``: found by the place they have in the list."""

    def __init__(self, wanted: Iterable[str], folder: Path) -> None:
        self._places = {path: folder / f"{i}.tar" for i, path in enumerate(wanted)}

    def open_place(self, path: str, spare: Path) -> Path | None:
        """Unpack what the container had at ``path`` below ``spare``; None where nothing was."""
        archive_path = self._places.get(path)
        if archive_path is None or not archive_path.exists():
            return None
        spare.mkdir(parents=True)
        with tarfile.open(archive_path) as archive:
            first = archive.next()
            if first is None:
                return None
            archive.extractall(spare, filter="tar")
        return spare / first.name.split("/")[0]

    def within(self, place: Path) -> tuple[Path | None, Path, bool]:
        """Tell that a place is a copy, which nobody else can write to."""
        return None, place, True
