from collections.abc import Sequence

def bear(
    path: str,
    folder: str,
    argv: Sequence[str],
    env: Sequence[str],
    files: tuple[int, int, int],
    limit: tuple[int, int] | None,
    group: int,
    waits: bool,
    /,
) -> int: ...
def failure(pid: int, /) -> tuple[int, str] | None: ...
def has_begun(pid: int, /) -> bool: ...
def is_known() -> bool: ...
