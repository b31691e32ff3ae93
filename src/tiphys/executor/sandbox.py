"""A private view of the machine for one container: the host's files, copied on write.

Two tricks make it cheap. First, the executor itself steps into the mount namespace of the view,
starts the task (the child inherits namespace and root) and steps back: no Python runs in
the child and no page tables are copied. Second, a view whose container wrote nothing is used again
(``slots``): making one costs a millisecond or more of mounts and new folders, entering one nothing.

The view is an overlay of ``/`` whose writes land in ``PLACE/upper``; ``/proc``, ``/sys`` and
``/dev`` are the host's, ``/tmp`` and ``/dev/shm`` are new, other file systems keep their place
(copied on write too, else read-only), and the data directory is covered. Mount targets are resolved
*inside* the view, so that no link of the host leads a mount out of it.

Without overlays (``kind`` is ``read-only``) the folders of ``/`` are the host's, read-only; new
entries of ``/``, ``/tmp`` and ``/var/tmp`` land in the upper layer, and so does what is written to
the folders that are opened for a container (``opening``). An ordinary user has one overlay for each
folder of ``/``, where the kernel allows it (not with another file system below), and openings for
what belongs to others.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tiphys.executor import linux
from tiphys.executor.opening import Opening, attach, folders_to_open, prepare
from tiphys.executor.protocol import ContainerRun, Mount
from tiphys.executor.tree import remove_tree

KINDS = ("overlay", "read-only")
SCRIPT = "/argo/staging/script"
"""Where a script is mounted: there from the start, so that mounting it changes nothing."""
_ESCAPE = re.compile(r"\\([0-7]{3})")
_KERNEL = ("/proc", "/sys", "/dev")
_COPY_ON_WRITE = {"ext4", "ext3", "ext2", "xfs", "btrfs", "tmpfs", "f2fs", "zfs", "bcachefs"}


def is_rootless() -> bool:
    """Tell whether views take a namespace in which this user is root."""
    return os.geteuid() != 0 or not linux.may_mount()


class Sandbox:
    """Makes views and enters them; one per executor."""

    def __init__(self, hidden: Path, kind: str = KINDS[0]) -> None:
        self.kind = kind
        self._as_is: set[str] = set()
        """Folders of / that are the host's, read-only, although others are copied on write."""
        self._hidden = {str(hidden)}
        if is_rootless():
            linux.become_root_of_own_namespace()
        self._rootless = linux.is_in_user_namespace()
        self._undoes = self._rootless
        """Whether a task that is root of our namespace would have the rights to undo its view."""
        # Working directory and root are this thread's alone from now on: setns asks for it.
        linux.unshare(linux.CLONE_FS)
        self._home = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        self._root = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._others = other_mounts(
            os.fsdecode(Path("/proc/self/mountinfo").read_bytes()), str(hidden)
        )

    def probe(self, place: Path) -> str:
        """Try one view below ``place``; return why it cannot be made, or nothing."""
        inner = str(place / "probe")
        self._hidden.add(str(place))
        try:
            namespace = self.build(inner)
            try:
                with self.entered(namespace, (Mount(inner, "/argo/probe"),), ""):
                    return ""
            finally:
                os.close(namespace)
        except OSError as error:
            self._hidden.discard(str(place))
            return f"{error.filename or 'sandbox'}: {error.strerror}"
        finally:
            remove_tree(inner)

    def build(self, place: str) -> int:
        """Make the view of ``place``; return its namespace."""
        lay_out(place, rootless=self._rootless, layered=self.kind == "overlay")
        linux.unshare(linux.CLONE_NEWNS)
        try:
            linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
            self._assemble(place)
            os.chdir("merged")
            linux.pivot_root()
            linux.unmount(".")
            self._furnish()
            return os.open("/proc/thread-self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        finally:
            self._leave()

    @contextmanager
    def entered(
        self,
        namespace: int,
        mounts: Sequence[Mount],
        cwd: str,
        openings: Sequence[Opening] = (),
    ) -> Iterator[int]:
        """Be inside a view for the time of the block; ``mounts`` are for this time's child only.

        Gives the number of the mount namespace. To ask it of the child afterwards would be to wait
        for its exec.
        """
        sources = [opening.source for opening in openings]
        try:
            for mount in mounts:
                sources.append(linux.clone_mount(mount.source))
            linux.enter_namespace(namespace, linux.CLONE_NEWNS)
            if mounts or openings:
                linux.unshare(linux.CLONE_NEWNS)
                for opening in openings:
                    attach(opening)
                for mount, source in zip(mounts, sources[len(openings) :], strict=True):
                    _attach(mount, source)
            if cwd and not os.path.isdir(cwd):
                os.makedirs(cwd, 0o755)
            own = os.stat("/proc/thread-self/ns/mnt") if mounts or openings else None
            yield (own or os.fstat(namespace)).st_ino
        finally:
            for source in sources:
                os.close(source)
            self._leave()

    def withhold_rights(self) -> None:
        """Keep from whatever is started from now on the rights to undo a view or to look past it.

        With the first it could unmount what covers the data directory. By having it we are more
        than any task is, and /proc/PID of those (root, environment, open files) takes the second.
        Not before the first task in a view: others keep all rights of the user.
        """
        if self._undoes:
            linux.withhold(linux.CAP_SYS_ADMIN, linux.CAP_SYS_PTRACE)
            self._undoes = False

    def prepare_openings(self, run: ContainerRun, upper: str) -> list[Opening]:
        """Make ready what ``entered`` has to open for a container."""
        layered = self.kind == "overlay"
        if layered and not self._rootless:
            return []
        missing = [mount.target for mount in run.mounts if not os.path.lexists(mount.target)]
        wanted = [os.path.dirname(target) for target in missing]
        wanted += [*run.writes, *([run.cwd] if run.cwd else [])]
        openings: list[Opening] = []
        try:
            for folder in folders_to_open(wanted):
                is_copied = layered and _top(folder) not in self._as_is
                if not (is_copied and os.access(folder, os.W_OK)):
                    openings.append(prepare(folder, upper))
        except OSError:
            for opening in openings:
                os.close(opening.source)
            raise
        return openings

    @contextmanager
    def beside(self, pid: int) -> Iterator[None]:
        """Be in the view of a running process for the time of the block."""
        namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        try:
            linux.enter_namespace(namespace, linux.CLONE_NEWNS)
            yield
        finally:
            os.close(namespace)
            self._leave()

    def open_signs(self, namespace: int) -> tuple[int, int]:
        """Return descriptors of a view's table of mounts and of its /dev/shm.

        They serve from outside: the first polls as changed once anything was mounted.
        """
        flags = os.O_RDONLY | os.O_CLOEXEC
        try:
            linux.enter_namespace(namespace, linux.CLONE_NEWNS)
            table = os.open("/proc/thread-self/mountinfo", flags)
            return table, os.open("/dev/shm", flags | os.O_DIRECTORY)
        finally:
            self._leave()

    def _assemble(self, place: str) -> None:
        # Relative paths: names with commas or colons would need escapes in the options.
        os.chdir(place)
        layered = self.kind == "overlay"
        if self._rootless or not layered:
            linux.mount("upper", "merged", None, linux.MS_BIND)
            entries = sorted(os.scandir("/"), key=lambda entry: entry.name)
            copied = {entry.path for entry in entries if _show(entry, layered=layered)}
            if layered and not copied:
                raise OSError(errno.EOPNOTSUPP, "no folder of / can be copied on write", "overlay")
            self._as_is = {entry.path for entry in entries} - copied
        else:
            # Volatile: without it every unmount flushes the whole file system upper is on.
            options = "lowerdir=/,upperdir=upper,workdir=work,volatile"
            linux.mount("overlay", "merged", "overlay", 0, options)
        for name in _KERNEL:
            linux.mount(name, f"merged{name}", None, linux.MS_BIND | linux.MS_REC)
        for number, (path, kind) in enumerate(self._others):
            more = ",userxattr" if self._rootless else ""
            _carry_over(number, path, kind if layered else "", more)
        if "/var" in self._as_is and os.path.isdir("/var/tmp"):
            linux.mount("upper/var/tmp", "merged/var/tmp", None, linux.MS_BIND)

    def _furnish(self) -> None:
        linux.mount("tmpfs", "/dev/shm", "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=1777")
        for path in sorted(self._hidden):
            if os.path.isdir(path):
                linux.mount("tmpfs", path, "tmpfs", linux.MS_RDONLY, "size=4k,mode=755")

    def _leave(self) -> None:
        try:
            linux.enter_namespace(self._home, linux.CLONE_NEWNS)
            os.fchdir(self._root)
            os.chroot(".")
        except OSError:
            # Lost in somebody's view: everything done from here on would be wrong.
            os._exit(70)


def lay_out(place: str, *, rootless: bool, layered: bool = True) -> None:
    """Make the folders of a view that has none of its own yet."""
    upper = f"{place}/upper"
    staging = f"{upper}{os.path.dirname(SCRIPT)}"
    for path in (place, upper, f"{place}/work", f"{place}/merged", f"{upper}/argo", staging):
        with suppress(FileExistsError):
            os.mkdir(path, 0o755)
    fresh = ["tmp"]
    if rootless or not layered:
        # An ordinary user's overlay cannot copy up what belongs to others.
        fresh.append("var/tmp")
        os.makedirs(f"{upper}/var", 0o755, exist_ok=True)
    name = "user.overlay.opaque" if rootless else "trusted.overlay.opaque"
    for path in fresh:
        with suppress(FileExistsError):
            os.mkdir(f"{upper}/{path}", 0o1777)
            os.setxattr(f"{upper}/{path}", name, b"y")
    os.close(os.open(f"{upper}{SCRIPT}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o755))


def _show(entry: os.DirEntry[str], *, layered: bool) -> bool:
    """Show one entry of the host's ``/`` where there is no overlay of it all.

    The upper layer of each folder is the folder that it is mounted on, so that afterwards what was
    written lies in the same place as it does with one overlay. Tells whether it is copied on write.
    """
    target = f"merged/{entry.name}"
    if entry.is_symlink():
        with suppress(FileExistsError):
            os.symlink(os.readlink(entry.path), target)
        return False
    if not entry.is_dir():
        _make_target(target, is_folder=False)
        linux.mount(entry.path, target, None, linux.MS_BIND)
        return False
    os.makedirs(target, 0o755, exist_ok=True)
    if entry.path in (*_KERNEL, "/tmp"):
        return False
    if layered and _layer(entry):
        return True
    linux.mount(entry.path, target, None, linux.MS_BIND | linux.MS_REC)
    linux.make_read_only(target)
    return False


def _layer(entry: os.DirEntry[str]) -> bool:
    """Lay an overlay over one folder of ``/``; tell whether that is possible."""
    os.makedirs(f"work/{entry.name}", exist_ok=True)
    options = f"lowerdir={entry.path},upperdir=upper/{entry.name},workdir=work/{entry.name}"
    try:
        linux.mount(
            "overlay", f"merged/{entry.name}", "overlay", 0, f"{options},userxattr,volatile"
        )
    except OSError:
        return False
    return True


def _carry_over(number: int, path: str, kind: str, more: str) -> None:
    """Show another file system of the host at its place in the view being made."""
    target = f"merged{path}"
    if kind in _COPY_ON_WRITE and os.path.isdir(path):
        upper, work = f"more/{number}/upper", f"more/{number}/work"
        os.makedirs(upper, exist_ok=True)
        os.makedirs(work, exist_ok=True)
        lower = path.replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")
        options = f"lowerdir={lower},upperdir={upper},workdir={work},volatile{more}"
        try:
            linux.mount("overlay", target, "overlay", 0, options)
        except OSError:
            pass
        else:
            return
    try:
        linux.mount(path, target, None, linux.MS_BIND | linux.MS_REC)
    except FileNotFoundError:
        return
    except PermissionError as error:
        if error.errno != errno.EACCES:
            raise
        return  # In a folder that is closed to us, and so to every task.
    with suppress(FileNotFoundError):
        linux.make_read_only(target)


def _top(folder: str) -> str:
    """Give the folder of / that ``folder`` is in."""
    return "/" + folder.split("/")[1]


def _attach(mount: Mount, source: int) -> None:
    _make_target(mount.target, is_folder=stat.S_ISDIR(os.fstat(source).st_mode))
    linux.attach_mount(source, mount.target)
    if mount.read_only:
        linux.make_read_only(mount.target)


def _make_target(target: str, *, is_folder: bool) -> None:
    if os.path.exists(target):
        return
    _clear_way(target)
    if is_folder:
        os.makedirs(target, 0o755)
        return
    os.makedirs(os.path.dirname(target), 0o755, exist_ok=True)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))


def _clear_way(target: str) -> None:
    """Drop links to nowhere from the way to ``target``, in this view alone.

    A task without a sandbox may have its volumes linked in the host's tree just now; what they lead
    to is hidden here.
    """
    for path in (*reversed(Path(target).parents), Path(target)):
        if path.is_symlink() and not path.exists():
            path.unlink()


def other_mounts(mountinfo: str, hidden: str) -> list[tuple[str, str]]:
    """Return (path, kind) of each mount that an overlay of ``/`` does not show, parents first.

    The kind is empty where it can only be read.
    """
    found: dict[str, str] = {}
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        path = _ESCAPE.sub(lambda found: chr(int(found[1], 8)), left.split(" ")[4])
        within = (*_KERNEL, "/tmp", hidden)
        if path == "/" or any(path == top or path.startswith(f"{top}/") for top in within):
            continue
        read_only = "ro" in left.split(" ")[5].split(",")
        found[path] = "" if read_only else right.split(" ")[0]
    return sorted(found.items())
