"""How long work takes, learnt from how long it took.

Pure and small: for each template the last durations are kept, and what is said of them is robust:
the median, and a spread from the median of the deviations, so that one hung run does not spoil
the rest. ``Memory`` is what a control loop keeps: it observes one node at a time, answers at once,
and hands out what has changed for the store (one object of kind ``Estimate`` a template). It keeps
a bounded number of templates: those that ran last.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

KIND = "Estimate"
"""Of the stored objects, one for each template."""
KEPT = 64
"""Durations kept for each template: enough for a median, few enough to follow a change."""
MOST = 20_000
"""Templates whose durations are kept; past this the one that has not run for longest goes."""
SAVE_SECONDS = 30.0
"""How often what was learnt is put on record; a crash loses no more than that."""
_SIGMA = 1.4826
"""Turns a median absolute deviation into a standard deviation, for bell-shaped durations."""


class Estimate(msgspec.Struct, frozen=True):
    """What is expected of the next run."""

    seconds: float
    low: float
    """About one run in ten is shorter."""
    high: float
    """About one run in ten is longer."""
    count: int


class History(msgspec.Struct):
    """The last durations of each template, oldest first."""

    durations: dict[str, list[float]] = {}

    def observe(self, template: str, seconds: float) -> None:
        """Remember one run that succeeded."""
        kept = self.durations.setdefault(template, [])
        kept.append(seconds)
        if len(kept) > KEPT:
            del kept[0]

    def expect(self, template: str) -> Estimate | None:
        """Say what the next run will take; None where nothing is known."""
        kept = self.durations.get(template)
        return estimate(kept) if kept else None


def estimate(durations: list[float]) -> Estimate:
    """Summarize durations by median and median deviation."""
    middle = median(durations)
    spread = _SIGMA * median([abs(seconds - middle) for seconds in durations])
    # 1.2816 standard deviations leave one tenth on either side.
    reach = 1.2816 * spread
    return Estimate(middle, max(0.0, middle - reach), middle + reach, len(durations))


def median(values: list[float]) -> float:
    """The middle value; between the two middle ones where their number is even."""
    ordered = sorted(values)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return (ordered[half - 1] + ordered[half]) / 2


def key_of(template: str, owner: str = "", project: str = "") -> str:
    """The name under which a template's durations are kept.

    ``owner`` is the workflow template (or the workflow's own name before its random part) that
    the template belongs to: ``main`` of one has nothing to do with ``main`` of another. Nor has
    one ``project`` to do with another.
    """
    name = f"{owner}/{template}" if owner else template
    return f"{project}:{name}" if project else name


def same_text_key(digest: str, project: str = "") -> str:
    """The name for all templates of a project that say the same (``digest``), whoever owns them."""
    return key_of(f"={digest}", project=project)


class Saved(msgspec.Struct, frozen=True):
    """The body of a stored estimate."""

    durations: list[float]


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Saved).decode


class Memory:
    """A history that answers at once and knows what of it is not on record yet."""

    __slots__ = ("_dirty", "_forgotten", "_known", "_order", "_since", "history", "saved_at")

    def __init__(self, stored: Iterable[tuple[str, bytes]] = ()) -> None:
        """``stored`` comes with the oldest first."""
        self.history = History()
        self.saved_at = 0.0
        self._order: dict[str, None] = {}
        """All keys, the one that was observed last at the end."""
        self._forgotten: dict[str, None] = {}
        self._known: dict[str, Estimate] = {}
        self._since: dict[str, int] = {}
        """Runs since what is known of a template was computed."""
        self._dirty: dict[str, None] = {}
        for name, body in stored:
            try:
                durations = _decode(body).durations
            except msgspec.MsgspecError:
                continue  # An estimate that cannot be read is only a lost guess.
            self.history.durations[name] = durations[-KEPT:]
            self._touch(name)

    def _touch(self, key: str) -> None:
        """Note that a key is the newest, and let the oldest go where there are too many."""
        self._order.pop(key, None)
        self._order[key] = None
        self._forgotten.pop(key, None)
        if len(self._order) > MOST:
            oldest = next(iter(self._order))
            del self._order[oldest]
            self.history.durations.pop(oldest, None)
            self._known.pop(oldest, None)
            self._since.pop(oldest, None)
            self._dirty.pop(oldest, None)
            self._forgotten[oldest] = None

    def observe(self, key: str, seconds: float) -> None:
        """Remember one run that succeeded; cheap enough for every node."""
        self.history.observe(key, max(0.0, seconds))
        self._since[key] = self._since.get(key, 0) + 1
        self._dirty[key] = None
        self._touch(key)

    def expect(self, key: str) -> Estimate | None:
        """Say what the next run will take; behind by no more than an eighth of the runs known."""
        known = self._known.get(key)
        if known is not None and self._since.get(key, 0) <= known.count // 8:
            return known
        found = self.history.expect(key)
        if found is not None:
            self._known[key] = found
            self._since[key] = 0
        return found

    def seconds(self, key: str) -> float | None:
        """The expected duration alone, as ``Work.expected_seconds`` wants it."""
        found = self.expect(key)
        return None if found is None else found.seconds

    def of_project(self, project: str) -> dict[str, float]:
        """The expected seconds of all templates of a project, by keys without the project."""
        start = key_of("", project=project)
        found = ((key, self.seconds(key)) for key in list(self._order) if key.startswith(start))
        return {key.removeprefix(start): seconds for key, seconds in found if seconds is not None}

    def due(self, now: float) -> bool:
        """Whether there is something to put on record, and it is time to."""
        return bool(self._dirty) and now - self.saved_at >= SAVE_SECONDS

    def take_changed(self, now: float) -> list[tuple[str, bytes]]:
        """Give name and body of each estimate that changed since the last time."""
        changed, self._dirty = self._dirty, {}
        self.saved_at = now
        kept = self.history.durations
        return [(key, _encode(Saved([round(s, 3) for s in kept[key]]))) for key in changed]

    def take_forgotten(self) -> list[str]:
        """Give the keys that were let go since the last time."""
        forgotten, self._forgotten = self._forgotten, {}
        return list(forgotten)
