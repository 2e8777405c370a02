"""Scope: what the verdicts on a release did not look at, in numbers and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, TypeAlias
from unicodedata import ucd_3_2_0 as ucd

import numpy as np
from pydantic import Field

from foreknow.adversaries.protocol import HasCounts, counts_of
from foreknow.auditing.named_values import extremes, named_values
from foreknow.data.counts import GroupCounts
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.data.sparse import IntArray
from foreknow.frozen import settle
from foreknow.grammar import LISTED, Amount, Flag, Names
from foreknow.methods.proof import NOT_JUDGED
from foreknow.plain import Plain
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement

# Values that are listed; people of whom one each is no surprise; marks from this class on are
# diacritics.
_LISTED, _FEW, _MARKS = 5, 20, 200
_CROWDED = "values_and_people"

Pairs: TypeAlias = Annotated[tuple[Annotated[tuple[str, str], LISTED], ...], LISTED]
Extreme: TypeAlias = Annotated[
    tuple[str, Annotated[str, Field(pattern=r"^(lowest|highest)\z")], str, Amount, Amount], LISTED
]
OfMethod: TypeAlias = Annotated[
    str, Field(pattern=r"^(not judged|as required|frequencies|at most [0-9/]{1,99})\z")
]


@dataclass(frozen=True)
class Scope(Plain):
    """What stands beside the verdicts; None, or nothing, where it is not known.

    Attributes
    ----------
    left_out : int or None
        Rows without a sensitive value, which were not counted; of several columns, rows that lack
        one of them.
    lacking : mapping of str to int
        Where each of several columns is counted by itself, the rows that lack it.
    smallest_group, groups_of_one : int
        People of the smallest group, and how many groups have one person.
    without_value : int
        People in groups in which nobody has a sensitive value; of several columns, of the first.
    without : mapping of str to int
        The same of each of several columns, where there are any.
    unprotected : mapping of str to int
        Sensitive values that no requirement is about, and how often each occurs; the most frequent
        first.
    beside : tuple of str or None
        Columns of the table that no requirement looks at.
    suppressed : tuple of str or None
        Columns that make groups, and of which nothing is published: they are ``*`` everywhere.
    exact : tuple of str
        Quasi-identifiers that are published of everybody as they are, as in the bucketized form.
    method : str or None
        What came of an adversary who knows the method: "not judged"; "frequencies", where by a
        proof they believe the frequencies of the group; "at most 1/4", where by a proof they are
        never surer; "as required", where the method holds the policy against them.
    linked : bool
        Whether the table shows which of several values are of one person.
    values_and_people : (int, int) or None
        How many sensitive values and people there are, where a requirement is about single values
        and these are nearly as many as people.
    crowded : mapping of str to (int, int)
        The same of each of several sensitive columns.
    alike : tuple of tuples of str
        Sensitive values that differ only by case, spaces, Unicode form or diacritics.
    apart : tuple of str
        Values that are judged each by itself and in no set: the most frequent of them.
    more_apart : int
        How many more these are.
    unrequired : tuple of str
        Sensitive columns that no requirement is about.
    assumed : mapping of str to tuple of str
        Of a sensitive column, what is published beside it and what a requirement on it takes nobody
        to know.
    shuffled : tuple of str
        Columns that are said to be shuffled within each group, which a table does not show.
    known : tuple of str
        Where no policy says it: the columns that the adversary is taken to know of everybody.
    identifiers : tuple of str
        Columns of the table that name people, as a policy says.
    people_suppressed : int
        People whom the method put into one group that keeps nothing of their quasi-identifiers.
    absent : tuple of (str, str)
        What lists of a policy name and nobody has, and the value that is spelt most like it, or "".
    idle : tuple of str
        Secrets of which nobody has a value: a requirement asks nothing of the table for them.
    begin_alike : tuple of (str, str)
        Values that begin like one that a requirement names, and are not in its secret; and that
        one. Twenty at most.
    no_numbers : tuple of str
        Values in no range, where a requirement is about ranges, as they are no numbers.
    extremes : tuple of (str, str, str, int, int)
        Where near values are hidden: the sensitive column, of several; "lowest" or "highest"; the
        value up to or from which that tenth of the table goes; how many groups lie wholly in it,
        and how many people these have.
    tallied : bool
        Whether others counted the table, so that nobody knows what else it has.
    cases : bool
        Whether rows are cases, of which a person may have several.
    shared : tuple of str
        Columns of the raw table of which a few rows each share a value, such as a household's
        number; the empty text is a column that is not to be named.
    """

    _told = (
        "left_out smallest_group groups_of_one without_value unprotected beside suppressed "
        "exact? method unrequired? shuffled? known? identifiers? assumed? lacking? without? "
        "people_suppressed? linked? tallied? values_and_people? crowded? alike? apart? "
        "absent? idle? begin_alike? no_numbers? extremes? cases? shared?"
    )

    # A certificate's scope is read by these types, and no other key.
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    left_out: Amount | None = None
    smallest_group: Amount = 0
    groups_of_one: Amount = 0
    without_value: Amount = 0
    unprotected: Mapping[str, Amount] = field(default_factory=dict)
    beside: Names | None = None
    suppressed: Names | None = None
    method: OfMethod | None = None
    exact: Names = ()
    linked: Flag = False
    values_and_people: Annotated[tuple[Amount, Amount], LISTED] | None = None
    crowded: Mapping[str, Annotated[tuple[Amount, Amount], LISTED]] = field(default_factory=dict)
    alike: Annotated[tuple[Annotated[Names, Field(min_length=2)], ...], LISTED] = ()
    apart: Names = ()
    more_apart: Amount = 0
    unrequired: Names = ()
    assumed: Mapping[str, Names] = field(default_factory=dict)
    shuffled: Names = ()
    known: Names = ()
    identifiers: Names = ()
    people_suppressed: Amount = 0
    lacking: Mapping[str, Amount] = field(default_factory=dict)
    without: Mapping[str, Amount] = field(default_factory=dict)
    tallied: Flag = False
    absent: Pairs = ()
    idle: Names = ()
    begin_alike: Pairs = ()
    no_numbers: Names = ()
    extremes: Annotated[tuple[Extreme, ...], LISTED] = ()
    cases: Flag = False
    shared: Names = ()

    def __post_init__(self) -> None:
        frequent_first = sorted(self.unprotected.items(), key=lambda item: (-item[1], item[0]))
        settle(self, unprotected=dict(frequent_first), crowded=dict(sorted(self.crowded.items())))
        settle(self, unrequired=tuple(sorted(self.unrequired)))

    def _content(self) -> dict[str, Any]:
        more = {"more_apart": self.more_apart} if self.apart else {}
        return {**super()._content(), **more}

    def for_readers(self, schema: Schema) -> Scope:
        """What stands in what is published: columns that the policy does not name stay unnamed."""
        names = (name if schema.role(name) else "" for name in self.shared)
        return replace(self, shared=tuple(dict.fromkeys(names)))

    @classmethod
    def of(cls, release: HasCounts, policy: Policy | None = None) -> Scope:
        """What is known of a release; which values are judged is only said by a policy."""
        counts = counts_of(release)
        table = release if isinstance(release, Release) else None
        known = [] if policy is None else sorted(policy.attributes)
        free: Counter[str] = Counter()
        unrequired: list[str] = []
        several = table is not None and len(table.sensitives) > 1
        crowded: dict[str, tuple[int, int]] = {}
        look_alike: set[tuple[str, ...]] = set()
        without: dict[str, int] = {}
        of_names: dict[str, set[Any]] = {}
        ends: set[tuple[str, str, str, int, int]] = set()
        for column in (None,) if table is None else table.sensitives:
            seen = counts if table is None else table.seen(column, []).counts
            look_alike |= {*alike(str(seen.values[code]) for code in np.flatnonzero(seen.totals))}
            if several and (nothing := _without_value(seen)):
                without[column or ""] = nothing
            own = [] if policy is None else requirements_of(policy, column, table)
            if several and not own:
                unrequired += [] if policy is None else [column or ""]
                continue
            for code in [] if policy is None else unprotected_codes(seen, own).tolist():
                label = str(seen.values[code])
                free[f"{column} {label}" if several else label] += int(seen.totals[code])
            if several and (found := _single_values(seen, own).get(_CROWDED)):
                crowded[column or ""] = found
            for key, said in named_values(seen, own).items():
                of_names.setdefault(key, set()).update(said)
            near = [extremes(release, required) for required in own if required.of_windows]
            ends |= {(column if several and column else "", *of) for each in near for of in each}
        beside: list[str] = []
        assumed: dict[str, tuple[str, ...]] = {}
        if policy is not None and table is not None:
            sights = [of.sight(table.layout) for of in policy.requirements if not of.of_people]
            looked, assumed = table.layout.looked_at(sights), table.layout.assumed(sights)
            known += looked
            stand = [name for name in table.sensitives if name in table.beside]
            beside = [n for n in stand if stand[1:] and sights and n not in looked]
        lacking = {
            name: rows
            for name in (() if table is None or not several else table.sensitives)
            if table is not None and (rows := table.seen(name, []).left_out)
        }
        schema = None if policy is None else policy.schema
        roles = None if schema is None else schema.quasi_identifiers
        unseen = [] if table is None else table.unseen(known, roles)
        names = [] if schema is None else [name for name in unseen if name in schema.identifiers]
        more: dict[str, Any] = {key: tuple(sorted(said)) for key, said in of_names.items()}
        if policy is not None and not several:
            more |= _single_values(counts, policy.requirements)
        return cls(
            left_out=None if table is None else table.left_out,
            lacking=lacking,
            smallest_group=int(counts.sizes.min()) if counts.n_groups else 0,
            groups_of_one=int((counts.sizes == 1).sum()),
            without_value=_without_value(counts),
            without=without,
            unprotected=+free,
            beside=None if table is None else (*unseen, *beside),
            suppressed=None if table is None else table.suppressed,
            exact=() if table is None else table.recognized,
            method=None if policy is None else NOT_JUDGED,
            linked=table is not None and table.linked,
            unrequired=tuple(unrequired),
            assumed=assumed,
            shuffled=() if table is None else table.unlinked,
            known=() if table is None else table.knows,
            identifiers=tuple(names),
            alike=tuple(sorted(look_alike)),
            crowded=crowded,
            tallied=table is not None and table.tallied,
            extremes=tuple(sorted(ends)),
            **more,
            cases=(schema is not None and schema.unit == "row") or getattr(table, "cases", False),
            shared=() if table is None else table.shared,
        )


def _single_values(counts: GroupCounts, every: Iterable[Requirement]) -> dict[str, Any]:
    """What is said of values that are judged each by itself."""
    asked = [required for required in every if required.points]
    single = [r for r in asked if not r.about_sets and not r.of_windows]
    about = np.zeros(counts.n_values, dtype=bool)
    for required in single:
        about |= required.meant(counts.values).about
    for required in asked:
        if required.about_sets:
            about &= ~required.meant(counts.values).about
    found: dict[str, Any] = {}
    there, people = int(np.count_nonzero(counts.totals)), int(counts.totals.sum())
    if single and len(single) == len(asked) and people >= _FEW and there * 10 >= people * 8:
        found[_CROWDED] = there, people
    often = {str(counts.values[c]): int(counts.totals[c]) for c in np.flatnonzero(about).tolist()}
    ranked = sorted((value for value, n in often.items() if n), key=lambda v: (-often[v], v))
    if len(ranked) > 1:
        found |= {"apart": tuple(ranked[:_LISTED]), "more_apart": len(ranked[_LISTED:])}
    return found


def alike(values: Iterable[str]) -> list[tuple[str, ...]]:
    """Values that differ only by case, spaces, Unicode form or diacritics.

    >>> alike(["HIV", "Flu", "hiv ", "Grippe", "grippé"])
    [('Grippe', 'grippé'), ('HIV', 'hiv ')]
    """
    found: dict[str, list[str]] = {}
    for value in values:
        found.setdefault(_plain(value), []).append(value)
    several = (sorted(set(own)) for key, own in found.items() if key)
    return sorted(tuple(own) for own in several if len(own) > 1)


def _plain(text: str) -> str:
    # A database that stays the same, so that every version of Python says the same.
    parts = ucd.normalize("NFKD", ucd.normalize("NFKD", text).casefold())
    # Marks above and below letters; in many scripts, other marks are vowels.
    if not parts.isascii():
        parts = "".join(c for c in parts if ucd.combining(c) < _MARKS)
    return " ".join(parts.split())


def requirements_of(
    policy: Policy, column: str | None, release: Release | None
) -> list[Requirement]:
    """The requirements about the values of one sensitive column."""
    return [
        required
        for required in policy.requirements
        if not required.of_people
        and (release is None or (required.sensitive or release.sensitive) == column)
    ]


def _without_value(counts: GroupCounts) -> int:
    return int(counts.sizes[np.diff(counts.offsets) == 0].sum())


def unprotected_codes(counts: GroupCounts, requirements: Iterable[Requirement]) -> IntArray:
    """Sensitive values that no requirement is about, neither by themselves nor among others."""
    free = np.ones(counts.n_values, dtype=bool)
    for requirement in requirements:
        if not requirement.points:
            continue
        free &= ~requirement.meant(counts.values).about
    return np.flatnonzero(free)
