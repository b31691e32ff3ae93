"""What holds whatever Argo, Kueue and people do, and in which order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.kueue.flow import Flow

from tiphys.kueue.label import WORKLOAD

OPEN = ("Pending", "Running")
steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "end", "admit", "reserve", "evict", "delete"]),
        st.integers(0, 99),
        st.sampled_from(["1", "2"]),
    ),
    max_size=40,
)


class Voyage:
    """A workflow to which things happen."""

    def __init__(self) -> None:
        self.flow = Flow()
        self.flow.node("flow", "Steps")
        self.flow.node("flow[0]", "StepGroup", "flow")
        self.count = 0

    def happen(self, what: str, which: int, cpu: str) -> None:
        flow = self.flow
        running = sorted(flow.running())
        open_ = sorted(c.name for c in flow.claims() if not c.is_finished)
        if what == "add":
            flow.leaf(f"flow[0].{self.count}", "flow", ["flow[0]"], cpu=cpu)
            self.count += 1
        elif what == "end" and running:
            flow.end(running[which % len(running)])
        elif open_:
            self._to_a_workload(what, open_[which % len(open_)])

    def _to_a_workload(self, what: str, name: str) -> None:
        flow = self.flow
        claim = next(each for each in flow.claims() if each.name == name)
        if what == "admit":
            flow.admit(name)
        elif what == "reserve" and not claim.is_reserved:
            flow.condition(name, QuotaReserved=True)
        elif what == "evict" and claim.is_reserved:
            flow.evict(name)
        elif what == "delete":
            del flow.workloads[name]

    def settle(self) -> None:
        """Let us and Argo do what each has to."""
        for _ in range(20):
            done = self.flow.settle()
            missing = [
                id_
                for id_, node in self.flow.nodes.items()
                if node["type"] == "Pod" and node["phase"] in OPEN and id_ not in self.flow.pods
            ]
            for id_ in missing:
                self.flow.pod(id_, cpu="1")
            if not done and not missing:
                return
        raise AssertionError("it never settles")

    def check(self) -> None:
        flow = self.flow
        claims = {claim.name: claim for claim in flow.claims() if not claim.is_finished}
        seats = [id_ for c in claims.values() for ids in c.seats.values() for id_ in ids]
        live = {id_ for id_, n in flow.nodes.items() if n["type"] == "Pod" and n["phase"] in OPEN}
        assert sorted(id_ for id_ in seats if id_ in live) == sorted(live)
        for name in flow.running():
            claim = claims[flow.pods[name]["metadata"]["annotations"][WORKLOAD]]
            assert claim.is_admitted
            assert any(name in ids for ids in claim.seats.values())
        for claim in claims.values():
            for podset, ids in claim.seats.items():
                held = claim.counts[podset] - claim.reclaimed.get(podset, 0)
                assert len(live.intersection(ids)) <= held
        assert "suspend" not in flow.owner["spec"]


@settings(deadline=None, max_examples=60)
@given(steps)
def test_every_pod_is_in_one_workload_runs_only_when_admitted_and_all_ends(
    given_: list[tuple[str, int, str]],
) -> None:
    voyage = Voyage()
    for what, which, cpu in given_:
        voyage.happen(what, which, cpu)
        voyage.settle()
        voyage.check()

    for _ in range(voyage.count + 1):
        voyage.flow.admit()
        voyage.settle()
        for name in voyage.flow.running():
            voyage.flow.end(name)
    voyage.settle()

    assert voyage.flow.asked() == {}
    assert voyage.flow.pods == {}
