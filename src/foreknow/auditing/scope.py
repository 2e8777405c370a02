"""What the verdicts on a release did not look at, worked out from its counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any
from unicodedata import ucd_3_2_0 as ucd

import numpy as np

from foreknow.adversaries.protocol import HasCounts, counts_of
from foreknow.auditing.named_values import extremes, named_values
from foreknow.data.arrays import IntArray
from foreknow.data.counts import GroupCounts
from foreknow.data.engines.households import ELSEWHERE
from foreknow.data.release import Release
from foreknow.methods.proof import NOT_JUDGED
from foreknow.numbers import is_code, read_number
from foreknow.plugins import foreign
from foreknow.policy.counted import RequirementCounts
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.scope import Scope

# Values that are listed; people of whom one each is no surprise; marks from this class on are
# diacritics.
_LISTED, _FEW, _MARKS = 5, 20, 200
_CROWDED = "values_and_people"
# What shows nothing, beside format characters: joiners, isolates, selectors of variants, fillers.
_UNSEEN = re.compile(
    "[\u00ad\u200b\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2060-\u206f\u2800\u3164\ufe00-\ufe0f"
    "\uffa0\U000e0000-\U000e0fff]"
)


def scope_of(release: HasCounts, policy: Policy | None = None) -> Scope:
    """What is known of a release; which values are judged is only said by a policy."""
    counts = counts_of(release)
    table = release if isinstance(release, Release) else None
    known = [] if policy is None else sorted(policy.attributes)
    several = table is not None and len(table.sensitives) > 1
    if table is None:
        columns = {"": counts}
    else:
        columns = {name: table.seen(name, []).counts for name in table.sensitives}
    requirements = None if policy is None else policy.requirements
    of_values = scope_of_values(columns, requirements, lambda of: of.count(release))
    beside: list[str] = []
    assumed: dict[str, tuple[str, ...]] = {}
    if policy is not None and table is not None:
        sights = [of.sight(table.layout) for of in policy.requirements if not of.of_people]
        of_people = [of.sight(table.layout).known for of in policy.requirements if of.of_people]
        looked = table.layout.looked_at(sights, of_people)
        assumed = table.layout.assumed(sights)
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
    return Scope(
        left_out=None if table is None else table.left_out,
        lacking=lacking,
        beside=None if table is None else (*unseen, *beside),
        suppressed=None if table is None else table.suppressed,
        exact=() if table is None else tuple(n for n in table.recognized if n != table.cohort),
        method=None if policy is None else NOT_JUDGED,
        linked=table is not None and table.linked,
        assumed=assumed,
        shuffled=() if table is None else table.unlinked,
        known=() if table is None else table.knows,
        identifiers=tuple(names),
        tallied=table is not None and table.tallied,
        **of_values,
        cases=(schema is not None and schema.unit == "row") or getattr(table, "cases", False),
        releases=() if table is None else table.releases,
        written={} if table is None else table.written,
        names_alike=() if table is None else table.names_alike,
        shared=() if table is None else table.shared,
        # by the class that answers, which may have a key of Foreknow's
        foreign=foreign(type(own) for of in requirements or () for own in of.judged),
    )


def scope_of_values(
    columns: Mapping[str, GroupCounts],
    requirements: Sequence[Requirement] | None,
    count: Callable[[Requirement], RequirementCounts],
) -> dict[str, Any]:
    """What stands beside verdicts on the values of each sensitive column, whoever counted them."""
    main, several = next(iter(columns)), len(columns) > 1
    free, crowded, look_alike = Counter[str](), dict[str, Any](), set[tuple[str, ...]]()
    unrequired, ends, named = list[str](), set[Any](), dict[str, set[Any]]()
    alone: dict[str, Any] = {}
    for column, counts in columns.items():
        look_alike |= {*alike(str(counts.values[c]) for c in np.flatnonzero(counts.totals))}
        own = [
            required
            for required in requirements or ()
            if not required.of_people and (not several or (required.sensitive or main) == column)
        ]
        if several and not own:
            unrequired += [] if requirements is None else [column]
            continue
        if requirements is not None:
            for code in unprotected_codes(counts, own).tolist():
                label = str(counts.values[code])
                free[f"{column} {label}" if several else label] += int(counts.totals[code])
            alone = _single_values(counts, own)
            if _CROWDED in alone:
                crowded[column] = alone[_CROWDED]
        for key, said in named_values(counts, own).items():
            named.setdefault(key, set()).update(said)
        near = [extremes(count(required)) for required in own if required.of_windows]
        ends |= {(column if several else "", *of) for each in near for of in each}
    first = columns[main]
    nothing = {name: _without_value(counts) for name, counts in columns.items()}
    return {
        "smallest_group": int(first.sizes.min()) if first.n_groups else 0,
        "groups_of_one": int((first.sizes == 1).sum()),
        "without_value": nothing[main],
        "without": {name: n for name, n in nothing.items() if n and several},
        "unprotected": +free,
        "unrequired": tuple(unrequired),
        "alike": tuple(sorted(look_alike)),
        "extremes": tuple(sorted(ends)),
        **({"crowded": crowded} if several else alone),
        **{key: tuple(sorted(said)) for key, said in named.items()},
    }


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
    """Values that differ only by case, spaces, Unicode form or diacritics, or are one number.

    >>> alike(["HIV", "Flu", "hiv ", "Grippe", "grippé", "1.1", "1.10"])
    [('1.1', '1.10'), ('Grippe', 'grippé'), ('HIV', 'hiv ')]
    """
    found: dict[str | int | Decimal, list[str]] = {}
    for value in values:
        text = _plain(value)
        number = None if is_code(text) else read_number(text)
        found.setdefault(text if number is None else number, []).append(value)
    several = (sorted(set(own)) for key, own in found.items() if key != "")
    return sorted(tuple(own) for own in several if len(own) > 1)


def _plain(text: str) -> str:
    # A database that stays the same, so that every version of Python says the same.
    parts = ucd.normalize("NFKD", ucd.normalize("NFKD", text).casefold())
    # Marks above and below letters; in many scripts, other marks are vowels.
    if not parts.isascii():
        seen = (c for c in parts if ucd.category(c) != "Cf" and not _UNSEEN.match(c))
        parts = "".join(c for c in seen if ucd.combining(c) < _MARKS)
    return " ".join(parts.split())


def _without_value(counts: GroupCounts) -> int:
    return int(counts.sizes[np.diff(counts.offsets) == 0].sum())


def unprotected_codes(counts: GroupCounts, requirements: Iterable[Requirement]) -> IntArray:
    """Sensitive values that no requirement is about, neither by themselves nor among others."""
    free = np.ones(counts.n_values, dtype=bool)
    for requirement in requirements:
        if not requirement.points:
            continue
        free &= ~requirement.meant(counts.values).about
        if ELSEWHERE in requirement.excluded:  # which is no value
            free &= np.array([str(value) != ELSEWHERE for value in counts.values])
    return np.flatnonzero(free)
