"""The few system calls that Python has no name for, by ctypes.

Loaded once, before anything is started. Nothing here decides anything.
"""

from __future__ import annotations

import ctypes
import errno
import os

MS_RDONLY, MS_NOSUID, MS_NODEV = 1, 2, 4
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MS_RELATIME = 1 << 21
MNT_DETACH = 2
CLONE_FS, CLONE_NEWNS, CLONE_NEWUSER = 0x00000200, 0x00020000, 0x10000000
PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER = 24, 36
CAP_SYS_PTRACE, CAP_SYS_ADMIN = 19, 21
OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC, AT_RECURSIVE = 1, 0o2000000, 0x8000
MOVE_MOUNT_F_EMPTY_PATH = 4
FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE = 1, 2

_libc = ctypes.CDLL(None, use_errno=True)
# The same numbers on every machine: they are newer than the tables that differ.
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_AT_FDCWD = -100
_CAPABILITY_VERSION = 0x20080522
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else os.fsencode(text)


def mount(
    source: str | None, target: str, kind: str | None, flags: int, data: str | None = None
) -> None:
    """Call mount(2)."""
    result = _libc.mount(
        _bytes(source), _bytes(target), _bytes(kind), ctypes.c_ulong(flags), _bytes(data)
    )
    _check(result, f"mount {target}")


def unmount(target: str) -> None:
    """Detach what is mounted at ``target``."""
    _check(_libc.umount2(_bytes(target), MNT_DETACH), f"umount {target}")


def unshare(flags: int) -> None:
    """Call unshare(2)."""
    _check(_libc.unshare(flags), "unshare")


def enter_namespace(fd: int, kind: int) -> None:
    """Call setns(2)."""
    _check(_libc.setns(fd, kind), "setns")


def pivot_root() -> None:
    """Make the working directory the root; the old one lies beneath it until unmounted."""
    number = _PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise OSError(38, f"pivot_root: number unknown on {os.uname().machine}")
    _check(_libc.syscall(number, b".", b"."), "pivot_root")


def clone_mount(path: str) -> int:
    """Return a descriptor of a copy of what is seen at ``path``, mounted nowhere yet."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE
    descriptor = _libc.syscall(_OPEN_TREE, _AT_FDCWD, _bytes(path), flags)
    _check(descriptor, path)
    return int(descriptor)


def attach_mount(descriptor: int, target: str) -> None:
    """Mount at ``target`` what ``clone_mount`` gave."""
    result = _libc.syscall(
        _MOVE_MOUNT, descriptor, b"", _AT_FDCWD, _bytes(target), MOVE_MOUNT_F_EMPTY_PATH
    )
    _check(result, f"mount {target}")


def make_read_only(target: str) -> None:
    """Let nothing be written through the mount at ``target`` or below; other flags stay."""
    # attr_set, attr_clr, propagation, userns_fd
    wanted = (ctypes.c_uint64 * 4)(MS_RDONLY, 0, 0, 0)
    result = _libc.syscall(
        _MOUNT_SETATTR,
        _AT_FDCWD,
        _bytes(target),
        AT_RECURSIVE,
        ctypes.byref(wanted),
        ctypes.sizeof(wanted),
    )
    if result < 0 and ctypes.get_errno() == errno.ENOSYS:
        mount(None, target, None, MS_BIND | MS_REMOUNT | MS_RDONLY | _flags_of(target))
        return
    _check(result, f"mount {target} read-only")


def _flags_of(target: str) -> int:
    """Return the flags of a mount that a remount must name again, or lose."""
    found = os.statvfs(target).f_flag
    same = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC | os.ST_NOATIME | os.ST_NODIRATIME
    return found & same | (MS_RELATIME if found & os.ST_RELATIME else 0)


def become_root_of_own_namespace() -> None:
    """Enter a user namespace in which this user is root, with mounts of its own."""
    uid, gid = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER | CLONE_NEWNS)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"0 {uid} 1"),
        ("gid_map", f"0 {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def may_mount() -> bool:
    """Tell whether this process has the capability to mount (CAP_SYS_ADMIN)."""
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith("CapEff:"):
                return bool(int(line.split()[1], 16) & 1 << CAP_SYS_ADMIN)
    return False


def withhold(*capabilities: int) -> None:
    """Keep capabilities below 32 from whatever is started from now on; this process has them still.

    A program that root starts is given what is in the bounding set or inheritable.
    """
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    # Effective, permitted, inheritable; then the same for those from 32 on.
    sets = (ctypes.c_uint32 * 6)()
    _check(_libc.capget(header, sets), "capget")
    for number in capabilities:
        _check(_libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0), "prctl")
        sets[2] &= ~(1 << number)
    _check(_libc.capset(header, sets), "capset")


def is_in_user_namespace() -> bool:
    """Tell whether root here is not the machine's root."""
    with open("/proc/self/uid_map") as file:
        return file.read().split() != ["0", "0", "4294967295"]


def become_subreaper() -> None:
    """Have orphaned descendants come home to this process."""
    _check(_libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")


def punch_hole(fd: int, start: int, length: int) -> None:
    """Free a part of a file; its size stays and the part reads as zeros."""
    mode = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
    result = _libc.fallocate(fd, mode, ctypes.c_long(start), ctypes.c_long(length))
    _check(result, "fallocate")


def peak_memory(pid: int) -> int:
    """Return the most bytes of memory that a process has had so far; 0 where it is gone."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            _, found, rest = file.read().partition(b"VmHWM:")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(rest.split(maxsplit=1)[0]) * 1024 if found else 0
