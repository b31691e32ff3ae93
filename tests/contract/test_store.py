"""What every store must keep, whatever lies below it.

A backend is a function that opens the store of a folder: SQLite in it, or a database of a real
PostgreSQL server that stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import msgspec
import pytest

from tests.integration.postgres.server import PostgresServer, served
from tiphys.errors import (
    ConflictError,
    InvalidInputError,
    NameTakenError,
    NotFoundError,
    StoreError,
    StoreLockedError,
)
from tiphys.store import (
    Batch,
    EventRow,
    MemoRow,
    NodeRow,
    ObjectRow,
    Store,
    WorkflowFilter,
    WorkflowHeader,
    WorkflowRow,
)

Open = Callable[..., Store]


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    yield from served()


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest) -> Open:
    if request.param == "sqlite":
        return Store.open
    server: PostgresServer = request.getfixturevalue("postgres")

    def open_there(folder: Path, *, owner: bool) -> Store:
        return Store.open(folder, owner=owner, url=server.database_of(folder))

    return open_there


@pytest.fixture
def store(opened: Open, tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path / "data", owner=True) as store:
        yield store


def workflow(
    name: str = "wf", *, at: float = 100.0, namespace: str = "argo", phase: str = "", **labels: str
) -> WorkflowRow:
    return WorkflowRow(
        uid=f"uid-{namespace}-{name}",
        name=name,
        namespace=namespace,
        phase=phase,
        created_at=at,
        labels=labels,
        annotations={"note": 'with "quotes", ünïcode\n'},
        priority=7,
        queue="team-a",
        manifest=b'{"kind":"Workflow"}',
        spec=b'{"entrypoint":"main"}',
        library=b"{}",
        source="cron/nightly",
    )


def node(
    seq: int, *, uid: str = "uid-argo-wf", phase: str = "Running", body: bytes = b"{}"
) -> NodeRow:
    return NodeRow(
        uid=uid, seq=seq, id=f"wf-{seq}", phase=phase, type="Pod", name=f"wf.n{seq}", body=body
    )


def names(store: Store, wanted: WorkflowFilter, **how: bool | int) -> list[str]:
    return [row.name for row in store.workflows(wanted, **how)]  # type: ignore[arg-type]


# --- submission and headers


def test_a_submitted_workflow_comes_back_as_it_was_given(store: Store) -> None:
    row = workflow(tier="gold")

    store.commit(Batch(submitted=[row]))

    assert store.workflow("wf") == row


def test_what_was_committed_is_there_for_the_next_owner(opened: Open, tmp_path: Path) -> None:
    with opened(tmp_path, owner=True) as first:
        first.commit(Batch(submitted=[workflow()], nodes=[node(0)]))

    with opened(tmp_path, owner=True) as second:
        assert second.workflow("wf") == workflow()
        assert list(second.nodes("uid-argo-wf")) == [node(0)]


def test_a_header_changes_its_columns_and_leaves_the_rest(store: Store) -> None:
    store.commit(Batch(submitted=[workflow(a="1")]))
    header = WorkflowHeader(
        uid="uid-argo-wf",
        phase="Failed",
        message="step b failed",
        started_at=101.5,
        finished_at=109.25,
        progress="3/10",
        shutdown="Stop",
        suspended=True,
        starts=4,
    )

    store.commit(Batch(headers=[header]))

    expected = workflow(a="1")
    for name in ("phase", "message", "started_at", "finished_at", "progress", "shutdown"):
        setattr(expected, name, getattr(header, name))
    expected.suspended, expected.starts = True, 4
    assert store.workflow("wf") == expected


def test_a_header_may_change_labels_queue_and_documents(store: Store) -> None:
    store.commit(Batch(submitted=[workflow(a="1", b="2")]))
    header = WorkflowHeader(
        uid="uid-argo-wf",
        phase="Running",
        priority=9,
        queue="team-b",
        quarantine="because",
        labels={"b": "3", "c": "4"},
        annotations={},
        outputs=b'{"result":"x"}',
        spec=b"{}",
    )

    store.commit(Batch(headers=[header]))

    row = store.workflow("wf")
    assert (row.priority, row.queue, row.quarantine) == (9, "team-b", "because")
    assert (row.labels, row.annotations) == ({"b": "3", "c": "4"}, {})
    assert (row.outputs, row.spec) == (b'{"result":"x"}', b"{}")
    assert row.manifest == b'{"kind":"Workflow"}'


@pytest.mark.parametrize(
    ("manifest", "spec"),
    [
        (b'{"kind":"Workflow","spec":{"a":1}}', b'{"a":1}'),
        (b'{"spec":{"a":1},"status":{}}', b'{"a":1}'),
        (b'{"metadata":{"spec":{"a":1}},"spec":{"b":2}}', b'{"a":1}'),
        (b'{"spec":{"a":{"b":1}}}', b'{"b":1}}'),
        (b"", b"{}"),
    ],
)
def test_manifest_and_spec_come_back_whether_or_not_one_is_part_of_the_other(
    store: Store, manifest: bytes, spec: bytes
) -> None:
    row, later = workflow(), workflow("later")
    row.manifest, row.spec = manifest, spec
    store.commit(Batch(submitted=[row, later]))
    header = WorkflowHeader(uid=later.uid, phase="Failed", manifest=manifest, spec=spec)

    store.commit(Batch(headers=[header]))

    assert store.workflow("wf") == row
    assert (store.workflow("later").manifest, store.workflow("later").spec) == (manifest, spec)
    assert [(each.manifest, each.spec) for each in store.unfinished()] == [(manifest, spec)]


def test_a_manifest_is_not_changed_without_its_spec(store: Store) -> None:
    store.commit(Batch(submitted=[workflow()]))

    with pytest.raises(StoreError, match="together"):
        store.commit(Batch(headers=[WorkflowHeader(uid="uid-argo-wf", phase="", manifest=b"{}")]))

    assert store.workflow("wf") == workflow()


def test_labels_that_were_changed_are_found_by_their_new_values_only(store: Store) -> None:
    store.commit(Batch(submitted=[workflow(a="1", b="2")]))

    store.commit(Batch(headers=[WorkflowHeader(uid="uid-argo-wf", phase="", labels={"b": "3"})]))

    assert names(store, WorkflowFilter(label_selector="b=3")) == ["wf"]
    assert names(store, WorkflowFilter(label_selector="b=2")) == []
    assert names(store, WorkflowFilter(label_selector="a")) == []


def test_what_an_undone_batch_said_of_a_workflow_is_written_when_it_is_said_again(
    store: Store,
) -> None:
    store.commit(Batch(submitted=[workflow(a="1")]))
    header = WorkflowHeader(uid="uid-argo-wf", phase="Running", queue="q", labels={"b": "3"})
    other = msgspec.structs.replace(node(0), id="another")  # At the place of the first.
    with pytest.raises(StoreError):
        store.commit(Batch(headers=[header], nodes=[node(0), other]))

    store.commit(Batch(headers=[header]))

    row = store.workflow("wf")
    assert (row.phase, row.queue, row.labels) == ("Running", "q", {"b": "3"})
    assert names(store, WorkflowFilter(label_selector="b=3")) == ["wf"]


def test_a_header_that_goes_back_to_what_was_before_is_written(store: Store) -> None:
    store.commit(Batch(submitted=[workflow(a="1")]))
    headers = [
        WorkflowHeader(uid="uid-argo-wf", phase=phase, labels={"a": value})
        for phase, value in (("Running", "1"), ("Pending", "2"), ("Running", "1"))
    ]

    for header in headers:
        store.commit(Batch(headers=[header]))

    row = store.workflow("wf")
    assert (row.phase, row.labels) == ("Running", {"a": "1"})


def test_empty_outputs_clear_what_was_there_and_none_keeps_it(store: Store) -> None:
    store.commit(Batch(submitted=[workflow()]))
    store.commit(Batch(headers=[WorkflowHeader(uid="uid-argo-wf", phase="", outputs=b"{}")]))

    store.commit(Batch(headers=[WorkflowHeader(uid="uid-argo-wf", phase="Running")]))
    kept = store.workflow("wf").outputs
    store.commit(Batch(headers=[WorkflowHeader(uid="uid-argo-wf", phase="", outputs=b"")]))

    assert kept == b"{}"
    assert store.workflow("wf").outputs is None


def test_a_name_is_given_once_per_namespace_and_nothing_of_the_batch_stays(store: Store) -> None:
    store.commit(Batch(submitted=[workflow()]))
    again = workflow()
    again.uid = "other"

    with pytest.raises(NameTakenError) as caught:
        store.commit(Batch(submitted=[workflow("fresh"), again], nodes=[node(0)]))

    assert (caught.value.name, caught.value.namespace, caught.value.uid) == ("wf", "argo", "other")
    assert isinstance(caught.value, ConflictError)
    assert [row.name for row in store.workflows()] == ["wf"]
    assert list(store.nodes("uid-argo-wf")) == []


def test_what_a_refused_batch_submitted_can_be_submitted_again(store: Store) -> None:
    store.commit(Batch(submitted=[workflow()]))
    twin = workflow()
    twin.uid = "other"
    with pytest.raises(NameTakenError):
        store.commit(Batch(submitted=[workflow("fresh"), twin]))

    store.commit(Batch(submitted=[workflow("fresh")], nodes=[node(0, uid="uid-argo-fresh")]))

    assert [found.seq for found in store.nodes("uid-argo-fresh")] == [0]


def test_the_same_name_may_live_in_two_namespaces(store: Store) -> None:
    store.commit(Batch(submitted=[workflow(), workflow(namespace="prod")]))

    assert store.name_taken("wf", "prod")
    assert not store.name_taken("wf", "test")
    assert store.workflow("wf", namespace="prod").namespace == "prod"
    with pytest.raises(ConflictError, match="several namespaces") as error:
        store.workflow("wf")
    assert "prod" not in str(error.value)


# --- finding


def test_a_workflow_is_found_by_uid_name_and_as_the_latest(store: Store) -> None:
    old, new = workflow("old", at=1), workflow("new", at=2)
    store.commit(Batch(submitted=[new, old, workflow("elsewhere", at=0, namespace="prod")]))

    assert store.workflow("uid-argo-old") == old
    assert store.workflow("old", namespace="argo") == old
    assert store.workflow("@latest") == new
    assert store.workflow("@latest", namespace="prod").name == "elsewhere"


def test_a_missing_workflow_is_named_together_with_close_ones(store: Store) -> None:
    store.commit(Batch(submitted=[workflow("hello-world-x7k2p")]))

    with pytest.raises(NotFoundError, match=r"hello-wrold.*did you mean hello-world-x7k2p\?"):
        store.workflow("hello-wrold-x7k2p", namespace="argo")


def test_names_of_other_namespaces_are_no_hint(store: Store) -> None:
    store.commit(Batch(submitted=[workflow("hello-world-x7k2p")]))

    for namespace in ("prod", ""):
        with pytest.raises(NotFoundError) as error:
            store.workflow("hello-wrold-x7k2p", namespace=namespace)
        assert "did you mean" not in str(error.value)


def test_a_workflow_of_another_namespace_is_not_found(store: Store) -> None:
    store.commit(Batch(submitted=[workflow()]))

    for key in ("wf", "uid-argo-wf", "@latest"):
        with pytest.raises(NotFoundError, match="namespace prod"):
            store.workflow(key, namespace="prod")


def test_unfinished_lists_all_but_the_ended_in_the_order_of_submission(store: Store) -> None:
    phases = ["Running", "Succeeded", "", "Failed", "Pending", "Error"]
    rows = [workflow(f"w{i}", at=100 - i, phase=phase) for i, phase in enumerate(phases)]
    store.commit(Batch(submitted=rows))

    assert store.unfinished() == [rows[0], rows[2], rows[4]]


# --- lists


@pytest.fixture
def filled(store: Store) -> Store:
    rows = [
        workflow("alpha", at=1, phase="Succeeded", team="x", tier="gold"),
        workflow("beta", at=2, phase="Running", team="y"),
        workflow("beta_2", at=3, phase="Failed", team="x"),
        workflow("gamma", at=4, phase="Pending", namespace="prod", team="z"),
        workflow("delta", at=5),
    ]
    rows[0].finished_at, rows[2].finished_at = 50.0, 40.0
    rows[1].queue = "team-b"
    store.commit(Batch(submitted=rows))
    return store


LISTS: list[tuple[WorkflowFilter, list[str]]] = [
    (WorkflowFilter(), ["delta", "gamma", "beta_2", "beta", "alpha"]),
    (WorkflowFilter(phases=("Running", "Failed")), ["beta_2", "beta"]),
    (WorkflowFilter(phases=("",)), ["delta"]),
    (WorkflowFilter(namespace="prod"), ["gamma"]),
    (WorkflowFilter(queue="team-b"), ["beta"]),
    (WorkflowFilter(name_contains="eta"), ["beta_2", "beta"]),
    (WorkflowFilter(name_contains="a_2"), ["beta_2"]),
    (WorkflowFilter(name_contains="%"), []),
    (WorkflowFilter(since=2, before=4), ["beta_2", "beta"]),
    (WorkflowFilter(finished_before=60), ["alpha", "beta_2"]),
    (WorkflowFilter(finished_before=45), ["beta_2"]),
    (WorkflowFilter(label_selector="team=x"), ["beta_2", "alpha"]),
    (WorkflowFilter(label_selector="team==x,tier=gold"), ["alpha"]),
    (WorkflowFilter(label_selector="team=x,finished_nothing!=y"), ["beta_2", "alpha"]),
    (WorkflowFilter(label_selector="team!=x"), ["delta", "gamma", "beta"]),
    (WorkflowFilter(label_selector="team in (x, z)"), ["gamma", "beta_2", "alpha"]),
    (WorkflowFilter(label_selector="team notin (x,z)"), ["delta", "beta"]),
    (WorkflowFilter(label_selector="tier"), ["alpha"]),
    (WorkflowFilter(label_selector="!team"), ["delta"]),
    (WorkflowFilter(label_selector="team=x", phases=("Failed",), namespace="argo"), ["beta_2"]),
    (WorkflowFilter(label_selector="team=x", finished_before=60), ["alpha", "beta_2"]),
    (WorkflowFilter(label_selector="workflows.argoproj.io/phase=Running"), ["beta"]),
    (
        WorkflowFilter(label_selector="workflows.argoproj.io/phase"),
        ["gamma", "beta_2", "beta", "alpha"],
    ),
    (WorkflowFilter(label_selector="workflows.argoproj.io/completed=true"), ["beta_2", "alpha"]),
    (WorkflowFilter(label_selector="workflows.argoproj.io/completed=false"), ["gamma", "beta"]),
    (
        WorkflowFilter(label_selector="workflows.argoproj.io/completed!=true"),
        ["delta", "gamma", "beta"],
    ),
    (WorkflowFilter(label_selector="!workflows.argoproj.io/completed"), ["delta"]),
    (WorkflowFilter(label_selector="workflows.argoproj.io/completed=perhaps"), []),
]


@pytest.mark.parametrize(("wanted", "expected"), LISTS)
def test_a_list_shows_what_was_asked_for_and_counts_agree(
    filled: Store, wanted: WorkflowFilter, expected: list[str]
) -> None:
    assert names(filled, wanted) == expected
    assert names(filled, wanted, newest_first=False) == expected[::-1]
    assert filled.count_workflows(wanted) == len(expected)
    assert sum(filled.count_by_phase(wanted).values()) == len(expected)


def test_a_list_comes_in_pages(filled: Store) -> None:
    assert names(filled, WorkflowFilter(), limit=2) == ["delta", "gamma"]
    assert names(filled, WorkflowFilter(), limit=2, offset=2) == ["beta_2", "beta"]
    assert names(filled, WorkflowFilter(), limit=-1, offset=4) == ["alpha"]


def test_a_page_far_behind_is_the_same_whichever_end_it_is_reached_from(store: Store) -> None:
    count = 20_050
    phases = ("Succeeded", "Failed")
    rows = [workflow(f"w{i}", at=float(i), phase=phases[i % 5 == 0]) for i in range(count)]
    store.commit(Batch(submitted=rows))

    newest = [f"w{i}" for i in range(count - 1, -1, -1)]
    for offset in (10_001, 20_000, 20_040, 20_050, 30_000):
        page = names(store, WorkflowFilter(), limit=20, offset=offset)
        both = names(store, WorkflowFilter(phases=phases), limit=20, offset=offset)
        oldest = names(store, WorkflowFilter(), limit=20, offset=offset, newest_first=False)
        assert page == both == newest[offset : offset + 20]
        assert oldest == newest[::-1][offset : offset + 20]
    some = names(store, WorkflowFilter(phases=("Succeeded",)), limit=5, offset=15_000)
    assert some == [name for name in newest if int(name[1:]) % 5][15_000:15_005]


FAR_LISTS = [
    WorkflowFilter(),
    WorkflowFilter(phases=("Succeeded", "Failed", "Error")),
    WorkflowFilter(phases=("Running",)),
    WorkflowFilter(namespace="argo"),
    WorkflowFilter(namespace="argo", phases=("Succeeded", "Failed")),
    WorkflowFilter(queue="team-a", phases=("Succeeded", "Failed")),
    WorkflowFilter(namespace="argo", queue="team-a"),
    WorkflowFilter(label_selector="team=x"),
    WorkflowFilter(label_selector="team=x", phases=("Succeeded", "Failed")),
]


def test_every_page_and_count_is_right_after_workflows_have_changed_and_gone(store: Store) -> None:
    rows = [
        workflow(f"w{i}", at=9.0 * (i // 2), namespace=("argo", "prod")[i % 9 == 0], team="x")
        for i in range(2200)
    ]
    store.commit(Batch(submitted=rows))
    ended = ("Succeeded", "Failed", "Succeeded", "Error", "Running")
    headers = [
        WorkflowHeader(uid=row.uid, phase=ended[i % 5], queue=None if i % 4 else "team-b")
        for i, row in enumerate(rows)
    ]
    store.commit(Batch(headers=headers, deleted=[row.uid for row in rows[100:1100:7]]))

    for wanted in FAR_LISTS:
        every = store.workflows(wanted, limit=-1)
        found = [row.name for row in every]
        assert store.count_workflows(wanted) == len(found)
        for offset in (150, 1001, 1500, 2030, 2200):
            page = names(store, wanted, limit=40, offset=offset)
            assert page == found[offset : offset + 40], (wanted, offset)
            page = names(store, wanted, limit=40, offset=offset, newest_first=False)
            assert page == found[::-1][offset : offset + 40], (wanted, offset)
        for since, before in ((5000.0, 1e9), (0.0, 9000.5), (4096.0, 8192.0), (10.0, 20.0)):
            dated = msgspec.structs.replace(wanted, since=since, before=before)
            among = [row for row in every if since <= row.created_at < before]
            assert store.count_workflows(dated) == len(among), dated


def test_a_bounded_count_says_whether_it_counted_all(store: Store) -> None:
    store.commit(Batch(submitted=[workflow(f"w{i}", at=float(i)) for i in range(30)]))

    assert store.count_up_to(10) == (30, True)  # It is tallied.
    assert store.count_up_to(10, WorkflowFilter(name_contains="w")) == (11, False)
    assert store.count_up_to(30, WorkflowFilter(name_contains="w")) == (30, True)


def test_a_bounded_count_of_a_label_looks_at_no_more_workflows_than_that(store: Store) -> None:
    phases = ("Succeeded", "Failed")
    rows = [workflow(f"w{i}", at=float(i), phase=phases[i % 3 == 0], team="x") for i in range(30)]
    store.commit(Batch(submitted=rows))

    failed = WorkflowFilter(label_selector="team=x", phases=("Failed",), namespace="argo")

    assert store.count_up_to(30, failed) == (10, True)
    found, whole = store.count_up_to(10, failed)
    assert not whole
    assert found < 10


def test_parts_of_names_are_found_few_or_many(store: Store) -> None:
    rows = [workflow(f"nightly-build-{i:05}", at=float(i)) for i in range(6000)]
    rows.append(workflow("needle.in-the-hay", at=0.5))
    store.commit(Batch(submitted=rows))

    assert names(store, WorkflowFilter(name_contains="dle.in")) == ["needle.in-the-hay"]
    assert names(store, WorkflowFilter(name_contains="Build-0599"), limit=1) == [
        "nightly-build-05999"
    ]
    assert store.count_workflows(WorkflowFilter(name_contains="build")) == 6000
    assert store.count_workflows(WorkflowFilter(name_contains="ly-build-000")) == 100
    assert names(store, WorkflowFilter(name_contains='"; DROP')) == []
    store.commit(Batch(deleted=["uid-argo-needle.in-the-hay"]))
    assert names(store, WorkflowFilter(name_contains="dle.in")) == []


def test_a_list_by_ends_may_begin_behind_one(filled: Store) -> None:
    assert names(filled, WorkflowFilter(finished_before=60, finished_after=40)) == ["alpha"]
    assert names(filled, WorkflowFilter(finished_before=60, phases=("Failed",))) == ["beta_2"]


def test_a_selector_that_cannot_be_read_is_the_askers_mistake(filled: Store) -> None:
    with pytest.raises(InvalidInputError, match="label selector"):
        filled.workflows(WorkflowFilter(label_selector="team = 'x' OR 1=1"))


# --- nodes


def test_nodes_come_in_the_order_of_creation_whatever_the_order_of_writing(store: Store) -> None:
    store.commit(Batch(submitted=[workflow()], nodes=[node(2), node(0)]))
    store.commit(Batch(nodes=[node(1), node(0, phase="Succeeded", body=b'{"a":1}')]))

    expected = [node(0, phase="Succeeded", body=b'{"a":1}'), node(1), node(2)]
    assert list(store.nodes("uid-argo-wf")) == expected


def test_nodes_of_two_workflows_do_not_meet(store: Store) -> None:
    other = node(0, uid="uid-argo-other")
    store.commit(Batch(submitted=[workflow(), workflow("other")], nodes=[node(0), other]))

    assert list(store.nodes("uid-argo-wf")) == [node(0)]
    assert list(store.nodes("uid-argo-other")) == [other]


def test_many_nodes_come_all_and_once(store: Store) -> None:
    count = 4001
    store.commit(Batch(submitted=[workflow()], nodes=[node(seq) for seq in range(count)]))

    assert [found.seq for found in store.nodes("uid-argo-wf")] == list(range(count))


def test_one_node_is_found_by_id_and_a_missing_one_is_named(store: Store) -> None:
    store.commit(Batch(submitted=[workflow()], nodes=[node(0), node(1)]))

    assert store.node("uid-argo-wf", "wf-1") == node(1)
    for uid, node_id in (("uid-argo-wf", "wf-2"), ("nobody", "wf-1")):
        with pytest.raises(NotFoundError, match=node_id):
            store.node(uid, node_id)


def test_nodes_made_anew_take_the_ids_and_the_places_of_those_removed_with_them(
    store: Store,
) -> None:
    store.commit(Batch(submitted=[workflow()], nodes=[node(0), node(1), node(2)]))
    moved = msgspec.structs.replace(node(2), seq=1)
    gone = [("uid-argo-wf", "wf-1"), ("uid-argo-wf", "wf-2")]

    store.commit(Batch(removed=gone, nodes=[moved]))

    assert [(found.seq, found.id) for found in store.nodes("uid-argo-wf")] == [
        (0, "wf-0"),
        (1, "wf-2"),
    ]


def test_removed_nodes_are_gone_and_their_neighbours_stay(store: Store) -> None:
    store.commit(Batch(submitted=[workflow()], nodes=[node(0), node(1), node(2)]))

    store.commit(Batch(removed=[("uid-argo-wf", "wf-1"), ("uid-argo-wf", "unknown")]))

    assert [found.seq for found in store.nodes("uid-argo-wf")] == [0, 2]


def test_a_place_in_the_order_cannot_be_given_to_a_second_node(store: Store) -> None:
    store.commit(Batch(submitted=[workflow()], nodes=[node(0)]))
    usurper = node(0)
    usurper.id = "wf-other"

    with pytest.raises(StoreError, match="same place"):
        store.commit(Batch(nodes=[node(1), usurper]))

    assert list(store.nodes("uid-argo-wf")) == [node(0)]


def test_nodes_are_counted_by_phase(store: Store) -> None:
    nodes = [node(0), node(1), node(2, phase="Failed")]
    store.commit(Batch(submitted=[workflow()], nodes=nodes))

    assert store.node_phases("uid-argo-wf") == {"Running": 2, "Failed": 1}
    assert store.node_phases("nobody") == {}


def test_rows_of_a_workflow_that_is_gone_are_left_out_and_it_is_named(store: Store) -> None:
    store.commit(Batch(submitted=[workflow()]))

    gone = store.commit(
        Batch(
            headers=[WorkflowHeader(uid="gone", phase="Running")],
            nodes=[node(0), node(0, uid="gone")],
            events=[EventRow(uid="gone", at=1, kind="x")],
            removed=[("gone", "n")],
            deleted=["gone"],
        )
    )

    assert gone == {"gone"}
    assert list(store.nodes("uid-argo-wf")) == [node(0)]


# --- deletion


def test_a_deleted_workflow_is_gone_with_all_it_had_and_its_name_is_free(store: Store) -> None:
    event = EventRow(uid="uid-argo-wf", at=1, kind="x")
    store.commit(Batch(submitted=[workflow(a="1")], nodes=[node(0)], events=[event]))

    store.commit(Batch(deleted=["uid-argo-wf"]))

    assert store.workflows() == []
    assert list(store.nodes("uid-argo-wf")) == []
    assert store.events("uid-argo-wf") == []
    assert names(store, WorkflowFilter(label_selector="a=1")) == []
    store.commit(Batch(submitted=[workflow()]))
    assert list(store.nodes("uid-argo-wf")) == []


def test_a_big_workflow_is_swept_away_in_parts_and_the_next_one_never_sees_them(
    opened: Open, tmp_path: Path
) -> None:
    with opened(tmp_path, owner=True) as store:
        nodes = [node(seq) for seq in range(9000)]
        store.commit(Batch(submitted=[workflow()], nodes=nodes))
        store.commit(Batch(deleted=["uid-argo-wf"]))

    with opened(tmp_path, owner=True) as store:
        store.commit(Batch(submitted=[workflow()]))
        assert list(store.nodes("uid-argo-wf")) == []
        parts = 1
        while store.sweep():
            parts += 1

        assert parts > 1
        assert not store.sweep()


# --- memos, events, objects


def test_a_memo_is_read_back_and_the_newest_wins(store: Store) -> None:
    memo = MemoRow(namespace="argo", cache="c", key="k", node_id="n", outputs=b"{}", at=1.5)
    newer = MemoRow(namespace="argo", cache="c", key="k", node_id="m", outputs=b"[]", at=2.5)
    store.commit(Batch(memos=[memo]))
    store.commit(Batch(memos=[newer]))

    assert store.memo("argo", "c", "k") == newer
    assert store.memo("prod", "c", "k") is None


def test_events_come_in_order_and_only_those_not_seen_yet(store: Store) -> None:
    own = [EventRow(uid="uid-argo-wf", at=i, kind="note", node="n", text=f"t{i}") for i in range(3)]
    store.commit(Batch(submitted=[workflow()], events=own[:2]))
    store.commit(Batch(events=[own[2], EventRow(uid="", at=9, kind="server.started")]))

    seen = store.events("uid-argo-wf", limit=1)
    rest = store.events("uid-argo-wf", after=seen[-1].number)

    assert [event.text for event in seen + rest] == ["t0", "t1", "t2"]
    back = store.latest_events("uid-argo-wf", before=rest[-1].number, limit=9)
    assert back == [rest[0], seen[0]]
    assert store.latest_events("uid-argo-wf", before=2**53, limit=1) == [rest[-1]]
    assert [event.kind for event in store.events("")] == ["server.started"]
    assert store.events("nobody") == store.latest_events("nobody", before=9, limit=1) == []


def test_objects_are_kept_by_kind_namespace_and_name(store: Store) -> None:
    one = ObjectRow(kind="WorkflowTemplate", namespace="argo", name="a", body=b"{}", at=1.0)
    two = ObjectRow(kind="CronWorkflow", namespace="argo", name="a", body=b"{}")
    store.commit(Batch(objects=[one, two]))
    changed = ObjectRow(kind="WorkflowTemplate", namespace="argo", name="a", body=b"[]", at=2.0)

    store.commit(Batch(objects=[changed], objects_removed=[("CronWorkflow", "argo", "a")]))

    assert store.objects() == [changed]
    assert store.objects("WorkflowTemplate") == [changed]
    assert store.objects("CronWorkflow") == []


# --- owners and readers


def test_every_owner_has_a_higher_epoch_than_the_one_before(opened: Open, tmp_path: Path) -> None:
    epochs = []
    for _ in range(3):
        with opened(tmp_path, owner=True) as store:
            epochs.append(store.epoch)

    assert epochs == [1, 2, 3]


def test_a_second_owner_is_refused_while_the_first_lives(opened: Open, tmp_path: Path) -> None:
    with opened(tmp_path, owner=True) as first:
        with pytest.raises(StoreLockedError):
            opened(tmp_path, owner=True)

        assert first.epoch == 1


def test_a_reader_sees_what_the_owner_commits_beside_it(opened: Open, tmp_path: Path) -> None:
    with opened(tmp_path, owner=True) as owner, opened(tmp_path, owner=False) as reader:
        before = reader.workflows()
        owner.commit(Batch(submitted=[workflow()], nodes=[node(0)]))

        assert before == []
        assert reader.workflow("wf") == workflow()
        assert reader.epoch == owner.epoch


def test_a_reader_in_the_midst_of_the_nodes_does_not_hold_up_the_owner(
    opened: Open, tmp_path: Path
) -> None:
    with opened(tmp_path, owner=True) as owner, opened(tmp_path, owner=False) as reader:
        owner.commit(Batch(submitted=[workflow()], nodes=[node(seq) for seq in range(3000)]))
        nodes = reader.nodes("uid-argo-wf")
        first = next(nodes)

        owner.commit(Batch(nodes=[node(3000)]))

        assert first.seq == 0
        assert [found.seq for found in nodes] == list(range(1, 3001))


def test_threads_that_read_see_whole_batches_only(opened: Open, tmp_path: Path) -> None:
    batches, size = 40, 25
    counts: set[int] = set()

    def read() -> None:
        while not done.is_set():
            counts.add(sum(store.node_phases("uid-argo-wf").values()))

    with opened(tmp_path, owner=True) as store, ThreadPoolExecutor(4) as pool:
        store.commit(Batch(submitted=[workflow()]))
        done = Event()
        readers = [pool.submit(read) for _ in range(4)]
        for first in range(0, batches * size, size):
            store.commit(Batch(nodes=[node(seq) for seq in range(first, first + size)]))
        done.set()
        for reader in readers:
            reader.result()

    assert counts <= set(range(0, batches * size + 1, size))
    assert counts


def test_a_reader_works_where_nobody_owns_the_store_and_cannot_write(
    opened: Open, tmp_path: Path
) -> None:
    with opened(tmp_path, owner=True) as owner:
        owner.commit(Batch(submitted=[workflow()]))

    with opened(tmp_path, owner=False) as reader:
        assert reader.workflow("wf") == workflow()
        assert not reader.owned
        with pytest.raises(StoreError, match="reading only"):
            reader.commit(Batch(deleted=["uid-argo-wf"]))


def test_a_reader_stays_of_use_after_the_owner_has_gone(opened: Open, tmp_path: Path) -> None:
    with opened(tmp_path, owner=True) as owner:
        reader = opened(tmp_path, owner=False)
        owner.commit(Batch(submitted=[workflow()]))

    with reader:
        assert reader.workflow("wf") == workflow()


def test_a_reader_makes_no_store_where_there_is_none(opened: Open, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no store"):
        opened(tmp_path / "nothing", owner=False)

    assert list(tmp_path.iterdir()) == []


def test_a_closed_store_refuses_to_read(opened: Open, tmp_path: Path) -> None:
    store = opened(tmp_path, owner=True)
    store.close()

    with pytest.raises(StoreError, match="closed"):
        store.workflows()
