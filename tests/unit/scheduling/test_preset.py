"""The shipped queues and how they fit a machine."""

from __future__ import annotations

from tiphys.scheduling import Queue, QueueState, QueueTree, Resources
from tiphys.scheduling.preset import fit, preset_tree

GIB = 1 << 30


def test_a_large_machine_gets_the_presets_as_they_are() -> None:
    tree, warning = preset_tree(Resources(cpu=64_000, memory=128 * GIB))

    assert warning == ""
    assert tree.queues["interactive"].guarantee == Resources(cpu=8000, memory=16 * GIB)
    assert tree.queues["analytics"].state is QueueState.CLOSED


def test_a_small_machine_scales_all_quotas_down_with_one_warning() -> None:
    tree, warning = preset_tree(Resources(cpu=7_000, memory=14 * GIB))

    assert tree.queues["interactive"].guarantee == Resources(cpu=1000, memory=2 * GIB)
    assert tree.queues["batch"].deserved == Resources(cpu=2000, memory=4 * GIB)
    assert warning == (
        "quotas of interactive, batch, analytics were scaled down: "
        "the machine has 7 cpu, 14Gi memory"
    )


def test_a_resource_the_machine_lacks_is_dropped_from_quotas() -> None:
    tree = QueueTree([Queue(name="q", capability=Resources(cpu=1000, gpu=4))])

    fitted, warning = fit(tree, Resources(cpu=4000))

    assert fitted.queues["q"].capability == Resources(cpu=1000)
    assert "q" in warning


def test_children_are_scaled_to_their_parent() -> None:
    tree = QueueTree(
        [
            Queue(name="top", capability=Resources(cpu=4000)),
            Queue(name="a", parent="top", deserved=Resources(cpu=4000)),
            Queue(name="b", parent="top", deserved=Resources(cpu=4000)),
        ]
    )

    fitted, _ = fit(tree, Resources(cpu=16_000))

    assert fitted.queues["a"].deserved == Resources(cpu=2000)
