"""Keeps values that came in at run time from being read as tags.

A value such as ``{{=1+1}}`` that a task printed or a user passed is data, however many times the
text around it is rendered on its way down. So every value that enters a scope is shielded: a
noncharacter goes behind each of its opening braces, which no tag has. It is taken out where a text
is final.
"""

from __future__ import annotations

_MARK = "\ufdd0"


def shield(text: str) -> str:
    """Make sure that no tag is seen in ``text``."""
    return text.replace("{", "{" + _MARK) if "{{" in text else text


def unshield(text: str) -> str:
    """Give the text as it was before ``shield``."""
    return text.replace(_MARK, "") if _MARK in text else text
