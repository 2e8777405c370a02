"""Learned: an adversary who knows nothing beforehand, and learns statistics from the release.

D. Kifer, "Attacks on privacy and deFinetti's theorem", SIGMOD 2009.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from foreknow.adversaries.disclosure import Disclosure, of_value, worst_by_prior
from foreknow.adversaries.learned.expectation import JUDGING, Layout
from foreknow.adversaries.learned.fit import Fit, Kinds, fit
from foreknow.adversaries.priors.priors import Priors
from foreknow.adversaries.priors.signature_groups import FloatArray
from foreknow.adversaries.priors.table import PriorTable
from foreknow.adversaries.protocol import HasCounts, counts_of
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels import Label
from foreknow.data.people import Signatures
from foreknow.data.sparse import IntArray
from foreknow.errors import DataError, InputError, UnsupportedError
from foreknow.numbers import Number, as_fraction, whole_number
from foreknow.plain import Plain
from foreknow.settings import FromOne, Settings
from foreknow.settings import Number as NumberSetting

# Draws of the statistics within their errors, and what part of them an interval leaves out.
_DRAWS, _LEFT_OUT = 200, 0.05
# Chances are kept in these steps, and are at least one of them.
_STEPS = 2**50


class LearnedSettings(Settings):
    """``learned = { by = ["job"] }`` in a policy file."""

    by: Annotated[list[str], Field(min_length=1)]
    bandwidth: NumberSetting | None = None
    smoothing: NumberSetting | None = None
    starts: FromOne = 5
    seed: Annotated[int, Field(ge=0)] = 0


@dataclass(frozen=True)
class LearnedWitness(Plain):
    """The person of whom the adversary becomes surest."""

    _told = "* alone"

    value: Label
    group: Label  # of the person
    # what is known of them; all members of the group with it are alike
    signature: dict[str, str | None]
    people: int  # how many these are
    size: int  # people of the group
    holders: int  # occurrences of the value in it
    statistics: float  # how sure what was learned alone makes, of anybody of this signature
    # between these the posterior lies in 90 of 100 cases, if the errors are those of a sample
    low: float | None
    high: float | None

    @property
    def alone(self) -> Fraction:
        """How sure the group alone makes."""
        return Fraction(self.holders, self.size)


@dataclass(frozen=True)
class Guesses(Plain):
    """How many people are guessed right, if everybody is guessed to have what is likeliest.

    Attributes
    ----------
    people : int
    learned, statistics, groups : float
        By what was learned and the groups; by what was learned alone; by the groups alone.
    measured : bool
        Whether it was counted who has which value; else it is what the adversary expects.
    """

    people: int
    learned: float
    statistics: float
    groups: float
    measured: bool = False

    def __repr__(self) -> str:
        shares = (
            f"{name} {share / self.people:.1%}"
            for name, share in (
                ("learned", self.learned),
                ("statistics", self.statistics),
                ("groups", self.groups),
            )
        )
        how = "measured" if self.measured else "expected"
        return f"Guesses({how} of {self.people} people: {', '.join(shares)})"


@dataclass(frozen=True, repr=False)
class Learned:
    """An adversary who learns from the release how values go with columns, then reads the groups.

    What others call random worlds takes every assignment of a group's values to its people to be
    equally likely. This adversary knows as little beforehand, and weighs them: first they learn
    P(value | by) from all groups together, then they become as sure of each person as `Priors` of
    that would be. Of the groups, a person's own does not count for what is learned of them, so that
    nothing is counted twice.

    It is an **estimate**. The posterior is that of what was learned, and this is what one procedure
    learns, from a sample; the same seed learns the same. Another adversary may learn more. So a
    limit that it keeps is not proven.

    Parameters
    ----------
    by : sequence of str
        The columns that are known of everybody: several are taken together. A column of numbers
        with more than 16 different ones is cut into 10 bins of about equally many people.
    bandwidth : number, optional
        Do not cut numbers into bins: people whose numbers differ by less than this share of the
        column's range count for each other, the nearer the more (Epanechnikov's kernel). The
        smaller, the more detailed the statistics. (Li, Li, Zhang, "Modeling and integrating
        background knowledge in data anonymization", ICDE 2009.)
    smoothing : number, optional
        So many people with the values of everybody are added to each kind of people. When left out,
        what predicts held-out groups best.
    starts : int
        How many starts the search for the likeliest statistics has.
    seed : int
        For starts, and for samples of large releases.
    given : PriorTable, Priors or what makes them, optional
        Learn nothing, and take these for what was learned. Then it is `Priors`.

    Examples
    --------
    Clerks have gout and drivers have flu; but no single group says so:

    >>> import pyarrow as pa
    >>> from foreknow.data.release import Release
    >>> jobs, sick = ["clerk", "driver", "cook"] * 40, ["gout", "flu", "cold"] * 40
    >>> sick[1::3] = ["flu", "flu", "cold", "flu"] * 10
    >>> sick[2::3] = ["cold", "cold", "flu", "gout"] * 10
    >>> group = [row // 2 for row in range(120)]
    >>> table = pa.table({"job": jobs, "group": group, "disease": sick})
    >>> release = Release.from_groups(table, group="group", sensitive="disease")
    >>> found = Learned(by=["job"]).disclosures(release)["gout"]
    >>> found.estimated, found.probability > 0.9, found.witness.signature
    (True, True, {'job': 'clerk'})
    """

    by: Sequence[str]
    bandwidth: Number | None = None
    smoothing: Number | None = None
    starts: int = 5
    seed: int = 0
    given: Any = field(default=None, kw_only=True)
    key: ClassVar[str] = "learned"
    settings: ClassVar[type[Settings]] = LearnedSettings
    estimates: ClassVar[bool] = True
    tables: ClassVar[tuple[Any, ...]] = ()

    def __post_init__(self) -> None:
        if isinstance(self.by, str) or not self.by or not all(isinstance(b, str) for b in self.by):
            raise InputError(
                f'Learned: by must be a list of columns, such as ["job"], not {self.by!r}'
            )
        object.__setattr__(self, "by", tuple(self.by))
        if len(set(self.by)) < len(self.by):
            raise InputError(f"Learned: by names a column twice: {', '.join(self.by)}")
        for name, least in (("bandwidth", "above 0"), ("smoothing", "0 or more")):
            number = getattr(self, name)
            if number is None:
                continue
            read = as_fraction(number)
            if read < 0 or (name == "bandwidth" and (read == 0 or read > 1)):
                most = ", to 1" if name == "bandwidth" else ""
                raise InputError(f"Learned: {name} must be {least}{most}, not {number}")
            object.__setattr__(self, name, read)
        object.__setattr__(self, "starts", whole_number(self.starts, "Learned: starts", 1))
        object.__setattr__(self, "seed", whole_number(self.seed, "Learned: seed", 0))
        if self.given is not None:
            given = self.given if isinstance(self.given, Priors) else Priors(self.given)
            if len(given.tables) != 1 or set(given.tables[0].attributes) != set(self.by):
                raise InputError(
                    f"Learned: given must be one table of priors by {', '.join(self.by)}"
                )
            object.__setattr__(self, "given", given.tables[0])

    def learning(self, release: HasCounts) -> Learning:
        """What is learned from a release, and what follows for its people; kept with its counts.

        Raises
        ------
        UnsupportedError
            If the release does not tell the columns of its people, or people have several values.
        """
        counts = counts_of(release)
        key = "learned", self, getattr(release, "sight", None)
        if key not in counts.memory:
            counts.memory[key] = learn(self, release)
        found: Learning = counts.memory[key]
        return found

    def disclosure(self, release: HasCounts, value: Label | None = None) -> Disclosure:
        """Estimate the highest posterior of a value, or of all values.

        Parameters
        ----------
        release : Release
            With one value per person, and the columns of everybody.
        value : label, optional

        Returns
        -------
        Disclosure
            Its `estimated` is true, and it has no fraction; its witness is a `LearnedWitness`.
        """
        found = of_value(self.disclosures(release), value)
        return found or Disclosure(value, 0.0, estimated=True)

    def disclosures(self, release: HasCounts) -> dict[Label, Disclosure]:
        """Every sensitive value's disclosure."""
        return self.learning(release).worst()

    def gains(self, release: HasCounts) -> dict[Label, Disclosure]:
        """Every value's posterior that is highest relative to what the statistics alone say."""
        return self.learning(release).worst(relative=True)

    def gain(self, release: HasCounts) -> Disclosure:
        """The posterior that is highest relative to the statistics alone, its `prior`."""
        return worst_by_prior(self.gains(release).values())

    def any_of(
        self, release: HasCounts, members: Sequence[str], name: Label, *, relative: bool = False
    ) -> Disclosure:
        """Estimate the highest posterior that some person has one of some values, whichever.

        What is learned is of each value by itself; posteriors, and what the statistics alone say,
        are added up.

        Parameters
        ----------
        release : Release
        members : sequence of str
            The values, as they print.
        name : label
            What they are called together.
        relative : bool
            Whether it is to be the highest by what the statistics alone say.
        """
        return self.learning(release).of_set(members, name, relative=relative)

    def guesses(self, release: HasCounts, *, measured: bool = False) -> Guesses:
        """How many people are guessed right.

        Parameters
        ----------
        release : Release
        measured : bool
            Count who has which value: for the owner, whose table has people in rows with the
            columns and their value. Else it is what the adversary expects.
        """
        return self.learning(release).guesses(release if measured else None)

    def monotone(self, semantics: Semantics = "single") -> bool:
        """Never: what can be learned depends on all groups."""
        return False

    @classmethod
    def from_settings(cls, read: Any, folder: Path) -> Learned:
        """Make it of its table in a policy file."""
        return cls(read.by, read.bandwidth, read.smoothing, read.starts, read.seed)

    def to_dict(self) -> dict[str, Any]:
        """The table that stands for it in a policy file."""
        table: dict[str, Any] = {"by": list(self.by)}
        for name in ("bandwidth", "smoothing"):
            number = getattr(self, name)
            if number is not None:
                table[name] = int(number) if number.denominator == 1 else float(number)
        table |= {} if self.starts == 5 else {"starts": self.starts}
        table |= {} if self.seed == 0 else {"seed": self.seed}
        return {"learned": table}

    def __repr__(self) -> str:
        near = "" if self.bandwidth is None else f", bandwidth {float(self.bandwidth):g}"
        return f"Learned({', '.join(self.by)}{near})"


@dataclass(frozen=True, eq=False, repr=False)
class Learning:
    """What was learned from a release, and how sure of everybody it makes."""

    counts: GroupCounts
    kinds: Kinds
    fit: Fit | None  # how it was learned; None where it was given
    layout: Layout
    statistics: FloatArray  # by cell
    of_people: Signatures
    everything: FloatArray  # by kind and value

    @cached_property
    def posteriors(self) -> FloatArray:
        """By cell of the layout."""
        return self.layout.expected(self.statistics).posteriors

    def closely(self) -> Learning:
        """The same after a brief look, with groups gone through as after a long one."""
        if self.fit is None:
            return self
        fit = replace(self.fit, layout=replace(self.layout, seconds=JUDGING))
        return replace(self, fit=fit, layout=fit.layout, statistics=fit.without_own)

    @property
    def balanced(self) -> bool:
        """Whether some groups are out of reach of exact posteriors."""
        return bool(self.layout.balanced.any())

    def worst(self, *, relative: bool = False) -> dict[Label, Disclosure]:
        """The highest of each value; by what the statistics alone say, if `relative`."""
        values = self.counts.values
        found = {value: Disclosure(value, 0.0, estimated=True) for value in values}
        height = self.posteriors
        if relative:
            height = height / np.maximum(self.statistics, np.finfo(float).tiny)
        order = np.lexsort((-height, self.layout.value))
        codes = self.layout.value[order]
        for cell in order[np.flatnonzero(np.diff(codes, prepend=-1))].tolist():
            value = values[int(self.layout.value[cell])]
            found[value] = Disclosure(
                value,
                float(self.posteriors[cell]),
                _witness=lambda at=cell, value=value: self._witness(  # type: ignore[misc]
                    np.array([at]), value, float(self.statistics[at])
                ),
                estimated=True,
                prior=Fraction(float(self.statistics[cell])) if relative else None,
            )
        return found

    def of_set(self, members: Sequence[str], name: Label, *, relative: bool = False) -> Disclosure:
        """The highest of some values together, in which they stay apart."""
        layout, codes = self.layout, [str(value) for value in self.counts.values]
        about = np.isin(layout.value, [codes.index(member) for member in members])
        nobody = Disclosure(name, 0.0, estimated=True)
        if not about.any():
            return nobody
        rows = self._rows[about]
        height = np.bincount(rows, self.posteriors[about])
        known = self._set_statistics([codes.index(member) for member in members])[: len(height)]
        ranked = height / np.maximum(known, np.finfo(float).tiny) if relative else height
        row = int(np.argmax(ranked))
        cells = np.flatnonzero(about & (self._rows == row))
        chance = min(float(height[row]), 1.0)
        if chance == 0:
            return nobody
        return Disclosure(
            name,
            chance,
            _witness=lambda: self._witness(cells, name, float(known[row])),
            estimated=True,
            prior=Fraction(float(known[row])) if relative else None,
        )

    @cached_property
    def _rows(self) -> IntArray:
        """By cell: the people that it is of, those of one signature in one group, by number."""
        own = self.layout.case * len(self.kinds.labels) + self.layout.signature
        return np.asarray(np.cumsum(np.diff(own, prepend=-1) != 0) - 1)

    def _set_statistics(self, codes: Sequence[int]) -> FloatArray:
        """By row: how likely what was learned makes any of some values, in the group or not."""
        first = np.flatnonzero(np.diff(self._rows, prepend=-1))
        kind, about = self.layout.signature[first], np.isin(self.layout.value, codes)
        if self.fit is not None:
            found = self.fit.others_teach(self._rows, first, about, codes)
        else:
            found = self.everything[kind][:, codes].sum(axis=1)
        return np.asarray(np.minimum(found, 1.0))

    def _witness(self, cells: IntArray, value: Label, statistics: float) -> LearnedWitness:
        """Of people of one row, and some of their values, which are called so together."""
        cell = int(cells[0])
        case, kind = int(self.layout.case[cell]), int(self.layout.signature[cell])
        group = int(np.argmax(self.layout.case_of == case))
        bag = self.counts.bag(group)
        return LearnedWitness(
            value,
            self.counts.group_label(group),
            dict(zip(self.kinds.attributes, self.kinds.labels[kind], strict=True)),
            int(self.layout.people[cell]),
            int(self.counts.sizes[group]),
            sum(bag[self.counts.values[int(self.layout.value[one])]] for one in cells),
            statistics,
            *self._interval(cells),
        )

    def _interval(self, cells: IntArray) -> tuple[float | None, float | None]:
        """Where the posterior lies if statistics are drawn within their errors."""
        covariance = None if self.fit is None else self.fit.covariance
        if self.fit is None or covariance is None:
            return None, None
        case = int(self.layout.case[cells[0]])
        one = Layout.of(self.layout.cases.take(np.array([case])))
        n_values = self.counts.n_values
        kinds, place = np.unique(one.signature, return_inverse=True)
        at = (kinds[:, None] * n_values + np.arange(n_values)).ravel()
        random = np.random.default_rng(self.fit.seed)
        spread, turn = np.linalg.eigh(covariance[np.ix_(at, at)])
        root = turn * np.sqrt(np.maximum(spread, 0))
        drawn = self.fit.chances[kinds].ravel() + random.normal(size=(_DRAWS, len(at))) @ root.T
        drawn = np.maximum(drawn.reshape(_DRAWS, len(kinds), n_values), 1e-9)
        drawn /= drawn.sum(axis=2, keepdims=True)
        own = cells - int(self.layout.offsets[case])
        found = [
            float(one.expected(row[place.reshape(-1), one.value]).posteriors[own].sum())
            for row in drawn
        ]
        low, high = np.quantile(found, [_LEFT_OUT, 1 - _LEFT_OUT])
        height = min(float(self.posteriors[cells].sum()), 1.0)
        return min(float(low), height), max(float(high), height)

    def guesses(self, truth: HasCounts | None = None) -> Guesses:
        """How many are guessed right; counted, where the truth is given."""
        layout, counts = self.layout, self.counts
        times = layout.times[layout.case] * layout.people
        row = self._rows
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        top = np.maximum.reduceat(self.posteriors, starts)
        groups = float(np.maximum.reduceat(counts.counts, counts.offsets[:-1]).sum())
        guess = self._by_statistics[layout.signature] == layout.value
        expected = float(times[starts] @ top), float((times * self.posteriors)[guess].sum())
        if truth is None:
            return Guesses(counts.n_people, *expected, groups)
        first = np.full(len(starts), len(row), dtype=np.int64)
        at = np.flatnonzero(self.posteriors == top[row])
        np.minimum.at(first, row[at], at)
        known = _truth(truth, self.of_people, self.kinds, counts)
        learned = statistics = 0.0
        best = {
            (int(layout.case[cell]), int(layout.signature[cell])): int(layout.value[cell])
            for cell in first.tolist()
        }
        for group, kind, value, amount in known:
            learned += amount * (best[int(layout.case_of[group]), kind] == value)
            statistics += amount * (int(self._by_statistics[kind]) == value)
        return Guesses(counts.n_people, learned, statistics, groups, measured=True)

    @cached_property
    def _by_statistics(self) -> IntArray:
        """The likeliest value of each kind."""
        if self.fit is not None:
            return np.asarray(np.argmax(self.fit.chances, axis=1))
        best = np.full(len(self.kinds.labels), -1)
        height = np.full(len(best), -1.0)
        for kind, value, chance in zip(
            self.layout.signature.tolist(),
            self.layout.value.tolist(),
            self.statistics.tolist(),
            strict=True,
        ):
            if chance > height[kind]:
                best[kind], height[kind] = value, chance
        return best

    def table(self, name: str = "what was learned") -> PriorTable:
        """What was learned, as a table of priors for each signature that occurs."""
        assert self.fit is not None
        steps = np.maximum(np.floor(self.fit.chances * _STEPS), 0).astype(np.int64)
        steps[(steps == 0) & (self.fit.chances > 0)] = 1
        rows = [tuple(Fraction(int(x), _STEPS) for x in row) for row in steps]
        chances = {
            label: rows[int(kind)]
            for label, kind in zip(
                self.of_people.labels, self.kinds.of_signature.tolist(), strict=True
            )
        }
        values = tuple(map(str, self.counts.values))
        return PriorTable(self.kinds.attributes, values, chances, name)

    def to_dict(self) -> dict[str, Any]:
        """What was learned and how surely, as plain values for JSON."""
        guesses = self.guesses()
        return {
            "by": list(self.kinds.attributes),
            "guesses": guesses.to_dict(),
            **({} if self.fit is None else {"fit": self.fit.to_dict()}),
        }


def learn(adversary: Learned, release: HasCounts, *, brief: bool = False) -> Learning:
    """Learn from a release; a brief look ends sooner."""
    counts = counts_of(release)
    if counts.semantics != "single":
        raise UnsupportedError(
            f"Learned needs one value per person, not {counts.semantics!r}: what goes with what "
            "is learned of people with one value each"
        )
    signatures = getattr(release, "signatures", None)
    if signatures is None:
        raise UnsupportedError(
            f"Learned needs to know {', '.join(adversary.by)} of everybody: give a Release with "
            "these columns, not its counts"
        )
    sensitive = getattr(release, "sensitive", None)
    if sensitive in adversary.by:
        raise DataError(
            f"Learned: {sensitive!r} is the sensitive column of the release; by names columns that "
            "are known of people"
        )
    given = adversary.given
    of_people: Signatures = signatures(adversary.by if given is None else given.attributes)
    bandwidth = None if adversary.bandwidth is None else float(as_fraction(adversary.bandwidth))
    bags = counts.offsets, counts.codes, counts.counts
    if given is not None:
        labels = of_people.labels
        kinds = Kinds(of_people.attributes, labels, np.arange(len(labels)))
        matrix = given.matrix(labels, [str(value) for value in counts.values])
        layout = Layout.of(kinds.groups(of_people, *bags).checked(counts))
        statistics = matrix.chances[layout.signature, layout.value]
        return Learning(counts, kinds, None, layout, statistics, of_people, matrix.chances)
    kinds = Kinds.of(of_people, bandwidth)
    smoothing = None if adversary.smoothing is None else float(as_fraction(adversary.smoothing))
    found = fit(
        kinds.groups(of_people, *bags).checked(counts),
        kinds,
        counts.n_values,
        smoothing=smoothing,
        starts=adversary.starts,
        seed=adversary.seed,
        brief=brief,
    )
    everything = found.chances
    return Learning(counts, kinds, found, found.layout, found.without_own, of_people, everything)


def _truth(
    release: HasCounts, of_people: Signatures, kinds: Kinds, counts: GroupCounts
) -> list[tuple[int, int, int, int]]:
    """Group, kind, value and number of people who have it: for the owner."""
    signatures: Any = getattr(release, "signatures", None)
    if signatures is None:
        raise UnsupportedError("who has which value is known of a Release only, not of its counts")
    sensitive: str = getattr(release, "sensitive", "")
    known: Signatures = signatures([*of_people.attributes, sensitive])
    place = {label: i for i, label in enumerate(of_people.labels)}
    codes = {str(value): code for code, value in enumerate(counts.values)}
    found = []
    for group in range(counts.n_groups):
        for cell in range(int(known.offsets[group]), int(known.offsets[group + 1])):
            *label, value = known.labels[int(known.codes[cell])]
            kind = int(kinds.of_signature[place[tuple(label)]])
            found.append((group, kind, codes[str(value)], int(known.people[cell])))
    return found


def within(found: float, limit: Fraction, *, inclusive: bool) -> bool:
    """Whether an estimate keeps a limit, as far as floats tell.

    >>> within(0.5, Fraction(1, 2), inclusive=False), within(0.5, Fraction(1, 2), inclusive=True)
    (False, True)
    """
    return found <= limit if inclusive else math.nextafter(found, 2.0) < limit
