"""Which mounts a view must carry over, and that clearing never follows a link."""

from __future__ import annotations

import os
from pathlib import Path

from tiphys.executor.sandbox import other_mounts
from tiphys.executor.tree import remove_tree

MOUNTINFO = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:5 / /proc rw - proc proc rw
24 22 0:6 / /dev rw - devtmpfs dev rw
25 24 0:7 / /dev/shm rw - tmpfs tmpfs rw
26 22 8:2 / /home rw,relatime - xfs /dev/sda2 rw
27 26 8:3 / /home/ä\040b rw - ext4 /dev/sda3 rw
28 22 0:9 / /opt/ro ro,nosuid - squashfs /dev/loop0 ro
29 22 8:4 / /data rw - ext4 /dev/sda4 rw
30 29 8:5 / /data/inner rw - ext4 /dev/sda5 rw
31 22 0:10 / /tmp rw - tmpfs tmpfs rw
""".strip()


def test_other_file_systems_are_carried_over_parents_first_without_the_hidden_one() -> None:
    assert other_mounts(MOUNTINFO, "/data") == [
        ("/home", "xfs"),
        ("/home/ä b", "ext4"),
        ("/opt/ro", ""),
    ]


def test_removing_a_tree_follows_no_link_and_minds_no_missing_right(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    tree = tmp_path / "tree"
    (tree / "closed").mkdir(parents=True)
    (tree / "closed" / "file").touch()
    os.symlink(outside, tree / "link")
    (tree / "closed").chmod(0)

    remove_tree(str(tree))

    assert not tree.exists()
    assert (outside / "kept").exists()
