"""Labels and annotations by which Tiphys knows what became a workflow, and who drives it.

Only Tiphys writes them: what a file says in their place is dropped, else anybody could have a
document of his own passed off as one that was checked. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tiphys.spec.model import ObjectMeta

KIND = "tiphys.dev/kind"
"""The kind of the document that a workflow was made from, if it is one of Volcano's."""
MANIFEST = "tiphys.dev/manifest"
"""The annotation that keeps that document as it was given: answers have its shape."""
RETAIN = "tiphys.dev/job-retain"
"""The label that says what becomes of the files of a flow's Jobs (``control.leftover``)."""
CONTROLLER = "tiphys.dev/flow-controller"
"""On a JobFlow that Volcano's own controller drives."""
_OWN = frozenset({KIND, MANIFEST, RETAIN, CONTROLLER})


def free_of_marks(values: Mapping[str, str]) -> dict[str, str]:
    """Give labels or annotations without those that are Tiphys' own."""
    return {key: value for key, value in values.items() if key not in _OWN}


def vouched(given: ObjectMeta, made: ObjectMeta | None) -> ObjectMeta:
    """Give what is said about a workflow with the marks of ``made``, the document that Tiphys
    itself wrote; without any, where somebody else wrote it."""
    labels, annotations = free_of_marks(given.labels), free_of_marks(given.annotations)
    if made is not None:
        labels |= {key: value for key, value in made.labels.items() if key in _OWN}
        annotations |= {key: value for key, value in made.annotations.items() if key in _OWN}
    if (labels, annotations) == (given.labels, given.annotations):
        return given
    return msgspec.structs.replace(given, labels=labels, annotations=annotations)
