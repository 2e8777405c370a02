"""What can be learned from a release itself: in a report, and in a sentence beside an audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from foreknow.adversaries.disclosure import worst
from foreknow.adversaries.learned.learned import Guesses, Learned, Learning, learn
from foreknow.adversaries.protocol import HasCounts, counts_of
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Label
from foreknow.data.people import Signatures
from foreknow.data.release import Release
from foreknow.data.sights import Sight, seen_with
from foreknow.data.sparse import ranges
from foreknow.errors import DataError, InputError, UnsupportedError, hinted
from foreknow.numbers import Number, as_threshold
from foreknow.result import Result

# Beside an audit: of so many people at most, columns at most, and of so many groups at least.
SAMPLE, COLUMNS, LEAST_GROUPS = 4000, 10, 50


@dataclass(frozen=True)
class Lesson:
    """What somebody learns by some columns, and becomes."""

    adversary: Learned
    probability: float  # how sure of somebody at most; an estimate
    guesses: Guesses
    learning: Learning

    @classmethod
    def of(cls, adversary: Learned, release: HasCounts) -> Lesson:
        """Learn from a release."""
        found = worst(adversary.disclosures(release).values())
        learning = adversary.learning(release)
        return cls(adversary, found.probability, learning.guesses(), learning)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **self.adversary.to_dict()["learned"],
            "estimate": True,
            "probability": self.probability,
            "guesses": self.guesses.to_dict(),
            **({} if self.learning.fit is None else {"fit": self.learning.fit.to_dict()}),
        }


@dataclass(frozen=True, eq=False, repr=False)
class LearnedReport(Result):
    """What somebody can learn from a release, for each of some ways: estimates.

    Attributes
    ----------
    name, sensitive : str
    counts : GroupCounts
    lessons : tuple of Lesson
        One for each bandwidth, from the widest, or one.
    below : Fraction or None
        A limit to compare with.
    """

    format = "foreknow learned"
    _told = "release=name sensitive people=counts.n_people groups=counts.n_groups below lessons"

    name: str
    sensitive: str
    counts: GroupCounts
    lessons: tuple[Lesson, ...]
    below: Any = None

    @property
    def skyline(self) -> tuple[Lesson, ...]:
        """From the widest bandwidth on, those that stay below the limit, up to the first above.

        Between them the estimate may rise and fall: nothing more is said of others.
        """
        kept = []
        for lesson in self.lessons:
            if self.below is None or lesson.probability >= self.below:
                break
            kept.append(lesson)
        return tuple(kept)

    def __repr__(self) -> str:
        top = max(lesson.probability for lesson in self.lessons)
        by = ", ".join(self.lessons[0].adversary.by)
        return f"LearnedReport({self.name}: by {by}, about {top:.4g})"


@hinted
def learned_report(
    release: Any,
    by: Sequence[str],
    *,
    bandwidths: Sequence[Number] = (),
    people: Any = None,
    below: Number | None = None,
    seed: int = 0,
    name: str | None = None,
) -> LearnedReport:
    """Estimate what somebody can learn from a release who knows columns of everybody.

    Parameters
    ----------
    release : Release or Publication
    by : sequence of str
    bandwidths : sequence of numbers
        How far people's numbers may be apart to count for each other, as shares of the range: for
        each, what is learned. None: numbers are cut into bins.
    people : Microdata, path or frame, optional
        The exact quasi-identifiers of everybody, where the release has them generalized.
    below : number, optional
        A limit to compare with.
    seed : int
    name : str, optional
        What to call the release.

    Returns
    -------
    LearnedReport
        Shown by ``print(found.summary())``, ``found.to_html(path)`` and ``found.to_json(path)``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = {"job": ["clerk", "cook"] * 30, "disease": ["gout", "flu"] * 30}
    >>> table = pa.table({**rows, "group": [row // 5 for row in range(60)]})
    >>> release = Release.from_groups(table, group="group", sensitive="disease")
    >>> learned_report(release, ["job"]).lessons[0].guesses.groups
    36.0
    """
    given = getattr(release, "release", release)
    if not isinstance(given, Release):
        raise InputError(f"expected a Release, not {type(release).__name__}")
    seen: Any = given if people is None else seen_with(given, people, by)
    wide = sorted({float(as_threshold(width)) for width in bandwidths}, reverse=True)
    widths: list[float | None] = [*wide] or [None]
    lessons = tuple(Lesson.of(Learned(by, width, seed=seed), seen) for width in widths)
    limit = None if below is None else as_threshold(below)
    called = name or given.name
    return LearnedReport(called, given.sensitive, given.counts, lessons, limit)


@dataclass(frozen=True)
class Learnt:
    """What was found beside an audit: the columns that tell most."""

    by: tuple[str, ...]
    probability: float  # an estimate
    guesses: Guesses
    people: int  # of how many the groups were looked at
    whole: bool  # whether these are all
    tried: tuple[tuple[str, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "by": list(self.by),
            "estimate": True,
            "probability": self.probability,
            "guesses": self.guesses.to_dict(),
            "people": self.people,
            "whole": self.whole,
            "tried": [list(by) for by in self.tried],
        }


def learnt_beside(
    release: HasCounts, columns: Sequence[str], about: Sequence[Label] | None = None
) -> Learnt | None:
    """Estimate what each column, and the two that tell most, teach; on a sample of large releases.

    How sure somebody becomes is said of the values in `about`, or of all; guesses are of all.
    None where nothing is known of people beside their groups, or the groups are too few.
    """
    counts = counts_of(release)
    if counts.semantics != "single" or counts.n_groups < LEAST_GROUPS:
        return None
    known = [name for name in columns if name in _known(release)][:COLUMNS]
    if not known:
        return None
    sample = _Sample(release)
    tried: list[tuple[tuple[str, ...], Learning, Guesses]] = []

    def look(by: tuple[str, ...]) -> None:
        learning = learn(Learned(by, starts=1), sample, brief=True)
        tried.append((by, learning, learning.guesses()))

    def sure(learning: Learning) -> float:
        each = learning.worst()
        return worst(each[value] for value in (each if about is None else about)).probability

    try:
        for name in known:
            look((name,))
        most = sorted(tried, key=lambda one: -one[2].learned)[:2]
        for one, other in combinations([by for by, _, _ in most], 2):
            look((*one, *other))
    except (DataError, UnsupportedError):  # such as a table that changed since it was counted
        return None
    by, learning, _ = max(tried, key=lambda one: (one[2].learned, sure(one[1])))
    learning = learning.closely()
    people = sample.counts.n_people
    every = tuple(one for one, _, _ in tried)
    whole = people == counts.n_people
    return Learnt(by, sure(learning), learning.guesses(), people, whole, every)


def _known(release: HasCounts) -> tuple[str, ...]:
    if isinstance(release, Sight):
        return release.attributes
    if isinstance(release, Release):
        return tuple(n for n in release.people_columns if n not in release.group_columns)
    return ()


class _Sample:
    """Some groups of a release, drawn at random where there are many people."""

    def __init__(self, release: Any) -> None:
        counts = counts_of(release)
        order = np.random.default_rng(0).permutation(counts.n_groups)
        enough = int(np.searchsorted(np.cumsum(counts.sizes[order]), SAMPLE)) + 1
        self._groups = np.sort(order[:enough])
        self._release = release.only(self._groups) if isinstance(release, Sight) else release
        self.counts = counts.take(self._groups)
        self.sensitive = release.sensitive

    def signatures(self, attributes: Sequence[str]) -> Signatures:
        """Those of these groups."""
        found = self._release.signatures(attributes)
        if isinstance(self._release, Sight):
            return found
        starts, ends = found.offsets[self._groups], found.offsets[self._groups + 1]
        cells, offsets = ranges(starts, ends)
        return Signatures(
            found.attributes, found.labels, offsets, found.codes[cells], found.people[cells]
        )
