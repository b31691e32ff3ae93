"""What must be done about one workflow: leaves and Workloads in, actions out.

Pure, and without memory: all that counts is in the cluster, so a controller may stop anywhere and
the next one goes on. Every rule here is argued for in docs/adr/0010-layers.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiphys.errors import InvalidInputError
from tiphys.kueue import label
from tiphys.kueue.layer import (
    Ending,
    Engine,
    Json,
    Leaf,
    Pause,
    Unit,
    node_of,
    unit_of,
    waits_in_pauses,
)
from tiphys.kueue.need import whole
from tiphys.kueue.shape import shape_of
from tiphys.kueue.workload import PODSETS, WHOLE, Claim, Seats, arrange, fold, handed_back


@dataclass(frozen=True, slots=True)
class Make:
    """Make a Workload."""

    layer: str
    number: int
    seats: Seats
    podsets: list[Json]


@dataclass(frozen=True, slots=True)
class Reshape:
    """Change the podSets of a Workload that has no quota yet."""

    claim: Claim
    seats: Seats
    podsets: list[Json]


@dataclass(frozen=True, slots=True)
class Seat:
    """Let new leaves take the slots of leaves that have ended."""

    claim: Claim
    seats: Seats


@dataclass(frozen=True, slots=True)
class Release:
    """Take the gate off a pod."""

    claim: Claim
    podset: str
    pod: Json


@dataclass(frozen=True, slots=True)
class HandBack:
    """Give quota back for slots that nobody holds."""

    claim: Claim
    reclaimable: list[Json]


@dataclass(frozen=True, slots=True)
class Finish:
    """Say that a Workload is over."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Ready:
    """Say that all pods have started: Kueue may evict who takes too long (waitForPodsReady)."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Requeue:
    """Give up an evicted Workload's quota, so that it waits again."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Kill:
    """Delete pods."""

    pods: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class End:
    """End a leaf's pod in its engine's own way."""

    ending: Ending


@dataclass(frozen=True, slots=True)
class Change:
    """Patch the workflow."""

    patch: Json


Action = Make | Reshape | Seat | Release | HandBack | Finish | Ready | Requeue | Kill | End | Change


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One workflow with all that belongs to it."""

    owner: Json
    pods: Sequence[Json]
    claims: Sequence[Claim]
    most: int = PODSETS
    at: str = ""
    """The present instant, as Kubernetes writes it."""


def plan(engine: Engine, view: View) -> list[Action]:
    """Give what must be done next; nothing, where all is as it should be."""
    opened = [claim for claim in view.claims if not claim.is_finished]
    if engine.has_ended(view.owner):
        return [Finish(claim) for claim in opened]
    if waits_in_pauses(view.owner):
        return _admit_pauses(engine, view, opened)
    leaves = engine.leaves(view.owner, view.pods)
    eviction = _evict(engine, view, leaves, opened)
    if eviction is not None:
        # Until it is over, the status says more about our killing than about the workflow.
        return eviction
    if evicted := [claim for claim in opened if claim.is_evicted]:
        # The rest once they wait again: until then their leaves are neither theirs nor free.
        return [Requeue(claim) for claim in evicted]
    match unit_of(view.owner):
        case Unit.WORKFLOW:
            return _admit_whole(engine, view, leaves, opened)
        case Unit.LAYER:
            return _admit_layers(view, leaves, opened)
        case Unit.POD:  # Kueue does all of it
            return []


# --- layers ---------------------------------------------------------------------------------


def _admit_layers(view: View, leaves: Sequence[Leaf], opened: Sequence[Claim]) -> list[Action]:
    by_layer: dict[str, list[Leaf]] = {}
    for leaf in leaves:
        by_layer.setdefault(leaf.layer, []).append(leaf)
    numbers: dict[str, int] = {}
    claims: dict[str, list[Claim]] = {}
    for claim in view.claims:
        numbers[claim.layer] = max(numbers.get(claim.layer, -1), claim.number)
    for claim in opened:
        claims.setdefault(claim.layer, []).append(claim)
    actions: list[Action] = []
    for layer in {**by_layer, **claims}:
        group = Group(layer, by_layer.get(layer, []), claims.get(layer, []), view.most)
        actions += group.actions(numbers.get(layer, -1) + 1)
    return actions


class Group:
    """One layer: its leaves and its Workloads that are not over."""

    def __init__(
        self, layer: str, leaves: Sequence[Leaf], claims: Sequence[Claim], most: int
    ) -> None:
        self._layer, self._most = layer, most
        self._live = {leaf.id: leaf for leaf in leaves if not leaf.ended}
        self._claims = sorted(claims, key=lambda claim: claim.number)
        held = {id_ for claim in claims for ids in claim.seats.values() for id_ in ids}
        self._new = [x for x in self._live.values() if x.is_gated and x.id not in held]

    def actions(self, number: int) -> list[Action]:
        """Give what must be done; a new Workload gets ``number``."""
        found: list[Action] = []
        for claim in self._claims:
            found += self._reserved(claim) if claim.is_reserved else self._waiting(claim)
        if self._new:
            for place, (seats, podsets) in enumerate(arrange(self._new, self._most)):
                found.append(Make(self._layer, number + place, seats, podsets))
        return found

    def _live_seats(self, claim: Claim) -> Seats:
        return {
            name: [id_ for id_ in ids if id_ in self._live] for name, ids in claim.seats.items()
        }

    def _waiting(self, claim: Claim) -> list[Action]:
        """Have a Workload without quota ask for exactly what exists."""
        kept = [self._live[id_] for ids in self._live_seats(claim).values() for id_ in ids]
        alone = claim is self._claims[-1]
        seated = sum(len(ids) for ids in claim.seats.values())
        if len(kept) == seated and not (alone and self._new):
            return []
        if any(leaf.pod is None for leaf in kept):
            # Its pod is about to be made again: until then nothing is known of its shape.
            return []
        parts = arrange(kept + self._new if alone else kept, self._most)
        if not parts:
            return [Finish(claim)]
        if len(parts) > 1:
            return []
        if alone:
            self._new = []
        ((seats, podsets),) = parts
        if seats == claim.seats:
            return []
        return [Reshape(claim, seats, podsets)]

    def _reserved(self, claim: Claim) -> list[Action]:
        seats = self._live_seats(claim)
        if taken := self._take_slots(claim, seats):
            return [Seat(claim, taken)]
        if not any(seats.values()):
            return [Finish(claim)]
        found: list[Action] = []
        back = handed_back(claim, seats)
        if back != handed_back(claim, {n: ["x"] * c for n, c in claim.counts.items()}):
            found.append(HandBack(claim, back))
        if claim.is_admitted:
            found += _releases(claim, seats, self._live)
        # Two changes of one status would be a conflict.
        return found or self._ready(claim, seats)

    def _ready(self, claim: Claim, seats: Seats) -> list[Action]:
        if not claim.is_admitted or claim.is_ready:
            return []
        started = all(self._live[id_].has_started for ids in seats.values() for id_ in ids)
        return [Ready(claim)] if started else []

    def _take_slots(self, claim: Claim, seats: Seats) -> Seats:
        """Seat new leaves where leaves have ended; give nothing where none can be."""
        changed = False
        seats = {name: list(ids) for name, ids in seats.items()}
        for leaf in list(self._new):
            assert leaf.pod is not None
            shape = shape_of(leaf.pod["spec"])
            for name, room in claim.counts.items():
                taken = seats.setdefault(name, [])
                free = room - claim.reclaimed.get(name, 0) - len(taken)
                if free > 0 and shape.fits_into(claim.shapes[name]):
                    taken.append(leaf.id)
                    self._new.remove(leaf)
                    changed = True
                    break
        return seats if changed else {}


def _releases(claim: Claim, seats: Seats, live: Mapping[str, Leaf]) -> list[Action]:
    pods = [(name, live[id_]) for name, ids in seats.items() for id_ in ids]
    return [
        Release(claim, name, leaf.pod)
        for name, leaf in pods
        if leaf.pod is not None and leaf.is_gated
    ]


# --- whole workflows ------------------------------------------------------------------------


def _admit_whole(
    engine: Engine, view: View, leaves: Sequence[Leaf], opened: Sequence[Claim]
) -> list[Action]:
    if not opened:
        return _ask_for_whole(engine, view)
    (claim, *_) = opened
    if not claim.is_admitted:
        return _hold(engine, view.owner)
    found: list[Action] = []
    if _notes(view.owner).get(label.HELD):
        patch = engine.suspension(on=False)
        found.append(Change({**patch, "metadata": {"annotations": {label.HELD: None}}}))
    elif not claim.is_ready:
        found.append(Ready(claim))
    gated = (leaf for leaf in leaves if leaf.pod is not None and leaf.is_gated)
    return found + [Release(claim, "main", leaf.pod) for leaf in gated if leaf.pod]


def _ask_for_whole(engine: Engine, view: View) -> list[Action]:
    try:
        podsets = whole(view.owner)
    except InvalidInputError as error:
        return _hold(engine, view.owner, str(error))
    number = max((claim.number for claim in view.claims), default=-1) + 1
    return [*_hold(engine, view.owner), Make(WHOLE, number, {}, podsets)]


def _hold(engine: Engine, owner: Json, why: str = "true") -> list[Action]:
    held = _notes(owner).get(label.HELD)
    # Without a word of ours somebody else has suspended it, and it stays theirs.
    if engine.is_suspended(owner) and held in (None, why):
        return []
    patch = engine.suspension(on=True)
    return [Change({**patch, "metadata": {"annotations": {label.HELD: why}}})]


# --- pauses ---------------------------------------------------------------------------------


def _admit_pauses(engine: Engine, view: View, opened: Sequence[Claim]) -> list[Action]:
    """Make a Workload for each pause, end the pause when it is admitted.

    What runs behind a pause cannot be gated again: an eviction takes effect when it has ended.
    """
    claims = {claim.layer: claim for claim in opened}
    known = {claim.layer for claim in view.claims}
    found: list[Action] = []
    for pause in engine.pauses(view.owner):
        claim = claims.get(pause.name)
        if pause.is_open:
            found += _open_pause(engine, view, pause, claim, is_new=pause.name not in known)
        elif claim is not None and pause.is_over:
            found.append(Finish(claim))
    return found


def _open_pause(
    engine: Engine, view: View, pause: Pause, claim: Claim | None, *, is_new: bool
) -> list[Action]:
    if (claim is not None and claim.is_admitted) or not pause.podsets:
        return [Change(engine.resumption(pause, view.at))]
    if claim is not None:
        return [Requeue(claim)] if claim.is_evicted else []
    return [Make(pause.name, 0, {}, fold(pause.podsets, view.most))] if is_new else []


# --- eviction -------------------------------------------------------------------------------


def _evict(
    engine: Engine, view: View, leaves: Sequence[Leaf], opened: Iterable[Claim]
) -> list[Action] | None:
    """Give the next step of an eviction (there may be only waiting), None if there is none."""
    if under_way := _notes(view.owner).get(label.EVICTING):
        return _go_on_evicting(engine, view, json.loads(under_way))
    victims = _victims(view, leaves, opened)
    if not victims:
        return None
    if (endings := _endings(engine, view, victims)) is not None:
        return endings
    note = {
        "nodes": sorted(leaf.node for leaf in victims),
        "suspended": engine.is_suspended(view.owner),
    }
    mark = {"metadata": {"annotations": {label.EVICTING: json.dumps(note)}}}
    return [Change({**engine.suspension(on=True), **mark})]


def _endings(engine: Engine, view: View, victims: Sequence[Leaf]) -> list[Action] | None:
    """Give what ends the victims, None where their engine has no way of its own.

    Nothing is left to do about pods that are going already; until they are gone their quota is not
    given up.
    """
    found: list[Action] = []
    for leaf in victims:
        ending = engine.ending(view.owner, leaf)
        if ending is None:
            return None
        if leaf.pod is not None and not leaf.pod["metadata"].get("deletionTimestamp"):
            found.append(End(ending))
    hold = _hold(engine, view.owner) if unit_of(view.owner) is Unit.WORKFLOW else []
    return [*hold, *found]


def _victims(view: View, leaves: Sequence[Leaf], opened: Iterable[Claim]) -> list[Leaf]:
    evicted = [claim for claim in opened if claim.is_evicted]
    ids = {id_ for claim in evicted for seats in claim.seats.values() for id_ in seats}
    everything = any(claim.layer == WHOLE for claim in evicted)
    known = {claim.name for claim in view.claims}
    return [
        leaf
        for leaf in leaves
        if leaf.is_active
        and leaf.pod is not None
        and not leaf.ended
        and (everything or leaf.id in ids or _is_orphan(leaf.pod, known))
    ]


def _is_orphan(pod: Json, known: set[str]) -> bool:
    """Whether the Workload that a pod runs under was deleted: then nobody counts what it uses."""
    name = (pod["metadata"].get("annotations") or {}).get(label.WORKLOAD)
    return name is not None and name not in known


def _go_on_evicting(engine: Engine, view: View, note: Mapping[str, Any]) -> list[Action]:
    nodes = set(note["nodes"])
    pods = [pod for pod in view.pods if node_of(pod) in nodes]
    if pods:
        doomed = tuple(pod for pod in pods if not pod["metadata"].get("deletionTimestamp"))
        return [Kill(doomed)] if doomed else []
    patch = engine.reset(view.owner, sorted(nodes))
    if not note["suspended"]:
        patch = {**patch, **engine.suspension(on=False)}
    return [Change({**patch, "metadata": {"annotations": {label.EVICTING: None}}})]


def _notes(thing: Json) -> Mapping[str, str]:
    return thing["metadata"].get("annotations") or {}
