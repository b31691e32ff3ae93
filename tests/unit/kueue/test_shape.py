"""What a pod asks for, and what happens where there are more shapes than podSets."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.kueue.flow import Flow

from tiphys.kueue.shape import merge, requests_of, shape_of
from tiphys.kueue.workload import read_seats, write_seats


def container(**requests: str) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests}}


def pod(*containers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"containers": list(containers), **more}


def test_containers_are_added_up_and_init_containers_count_where_they_are_larger() -> None:
    spec = pod(
        container(cpu="500m", memory="1Gi"),
        container(cpu="250m"),
        initContainers=[container(cpu="1", memory="10Mi")],
    )

    assert requests_of(spec) == {"cpu": Fraction(1), "memory": Fraction(2**30)}


def test_a_sidecar_counts_beside_the_containers() -> None:
    spec = pod(
        container(cpu="1"), initContainers=[{**container(cpu="100m"), "restartPolicy": "Always"}]
    )

    assert requests_of(spec) == {"cpu": Fraction(11, 10)}


def test_a_limit_stands_in_for_a_request_and_overhead_is_added() -> None:
    spec = pod({"name": "c", "resources": {"limits": {"gpu": 1}}}, overhead={"cpu": "10m"})

    assert requests_of(spec) == {"gpu": Fraction(1), "cpu": Fraction(1, 100)}


def test_images_and_the_tolerations_that_all_pods_have_make_no_other_shape() -> None:
    usual = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]

    one = shape_of(pod({**container(cpu="1"), "image": "a"}, tolerations=usual))
    other = shape_of(pod({**container(cpu="1000m"), "image": "b"}))

    assert one == other


def test_pods_for_other_nodes_have_another_shape() -> None:
    one = shape_of(pod(container(cpu="1"), nodeSelector={"zone": "a"}))
    other = shape_of(pod(container(cpu="1"), nodeSelector={"zone": "b"}))

    assert one.name != other.name
    assert not one.fits_into(other)


def test_a_written_shape_reads_as_itself() -> None:
    shape = shape_of(pod(container(cpu="150m", memory="3Mi"), nodeSelector={"zone": "a"}))

    assert shape_of(shape.write()["spec"]) == shape


amounts = st.dictionaries(st.sampled_from(["cpu", "memory", "gpu"]), st.integers(1, 9), min_size=1)
places = st.sampled_from([{}, {"zone": "a"}, {"zone": "b"}])


@settings(deadline=None)
@given(st.lists(st.tuples(amounts, places), min_size=1, max_size=30), st.integers(1, 8))
def test_merged_shapes_are_few_and_large_enough(
    given_: list[tuple[dict[str, int], dict[str, str]]], most: int
) -> None:
    specs = [
        pod(container(**{k: str(v) for k, v in asked.items()}), nodeSelector=place)
        for asked, place in given_
    ]
    shapes = {shape_of(spec) for spec in specs}

    targets = merge(shapes, most)

    assert set(targets) == shapes
    assert all(shape.fits_into(target) for shape, target in targets.items())
    assert len(set(targets.values())) <= max(most, len({shape.place for shape in shapes}))


def test_a_layer_of_many_shapes_is_still_one_workload() -> None:
    flow = Flow()
    flow.node("flow", "Steps")
    flow.node("flow[0]", "StepGroup", "flow")
    for index in range(1, 31):
        flow.leaf(f"flow[0].{index}", "flow", ["flow[0]"], cpu=str(index))

    flow.settle()

    (claim,) = flow.claims()
    assert len(claim.counts) == 8
    assert sum(claim.counts.values()) == 30


def test_the_leaves_of_a_very_large_layer_are_packed_and_read_all_the_same() -> None:
    seats = {"s": [f"a-workflow-with-a-long-name-{n * 7919}" for n in range(10_000)]}

    text = write_seats(seats)

    assert len(text) < 100_000
    assert read_seats(text) == seats


def test_a_layer_for_more_places_than_podsets_is_split() -> None:
    flow = Flow()
    flow.most = 2
    flow.node("flow", "Steps")
    flow.node("flow[0]", "StepGroup", "flow")
    for index in range(5):
        flow.leaf(f"flow[0].{index}", "flow", ["flow[0]"])
        flow.pods[f"flow[0].{index}"]["spec"]["nodeSelector"] = {"zone": str(index)}

    flow.settle()

    assert sorted(flow.asked().values()) == [1, 2, 2]
