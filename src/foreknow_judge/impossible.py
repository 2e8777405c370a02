"""Impossible values: how many people can have each value, and the odds if not everybody can.

If a label leaves open whether a person can have a value, the person counts as one who cannot: with
fewer people who can, a release never looks safer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from foreknow_judge.counting import Group, GroupBags, Ints, distinct
from foreknow_judge.errors import CertificateError
from foreknow_judge.facts import (
    Cell,
    DistinctProfiles,
    Ratio,
    Theorem2,
    Worst,
    numbers_of_cells,
    worst_case,
)
from foreknow_judge.named_values import in_range, values_named
from foreknow_judge.numbers import read_number
from foreknow_judge.text import plain_spelling
from foreknow_judge.windows import place_of

_FROM_TO = re.compile(r"(.*?[0-9])(?: to <?([-+.0-9].*))?", re.DOTALL)
_COARSE = re.compile(r'.*(\*| to | \| |").*|.* or more|other\++|other|(.* or )?missing', re.DOTALL)
# A number or a date, which may be one value or a period.
_PERIOD = re.compile(r"[0-9]{4}(-([0-9]{2}|Q[1-4])(-[0-9]{2}( [0-9]{2}h)?)?)?|[0-9]{3}0s|[0-9]{2}h")


# A value in a group; the rules that it, or what stands beside it, falls under; how many have it.
JointValue: TypeAlias = tuple[Any, frozenset[int], int]


class Rules(NamedTuple):
    """The rules in a policy's schema that say which people cannot have which values."""

    tables: Sequence[Mapping[str, Any]] = ()
    nodes: Collection[str] = ()  # columns whose labels are nodes of a hierarchy
    opaque: Collection[str] = ()  # those of them whose labels may read like other values

    def positions_for(self, sensitive: str) -> list[int]:
        """Positions of the rules on values of a column; a rule that names no column counts."""
        each = enumerate(self.tables)
        return [i for i, own in each if (own.get("sensitive") or sensitive) == sensitive]

    def columns(self) -> list[str]:
        """The columns of the conditions under which people cannot have a value."""
        return list(dict.fromkeys(name for own in self.tables for name in own["where"]))

    def texts_of(self, column: str, own: Sequence[int]) -> list[str]:
        """The values of a column that some rules name as their conditions."""
        named = [self.tables[i]["where"].get(column, ()) for i in own]
        return [str(text) for texts in named if not isinstance(texts, Mapping) for text in texts]

    def applies_to(self, rule: int, of: Mapping[str, str | None]) -> bool | None:
        """Whether a rule applies to people with these labels; None if the labels leave it open."""
        met = [
            self._met(name, condition, of.get(name))
            for name, condition in self.tables[rule]["where"].items()
        ]
        return False if False in met else None if None in met else True

    def _met(self, name: str, condition: Any, label: str | None) -> bool | None:
        if name in self.opaque:
            return None
        if label is None or _COARSE.fullmatch(label):
            found = _FROM_TO.fullmatch(label or "")
            if not isinstance(condition, Mapping) or found is None:
                return None
            ends = [in_range(end, condition) for end in found.groups() if end is not None]
            if ends == [False, False]:  # the label is beside the range, or around it
                return None if _around(found[1], found[2], condition) else False
            return ends[0] if len({*ends}) == 1 else None
        if isinstance(condition, Mapping):
            return in_range(label, condition)
        if name in self.nodes:
            return None
        known = [str(own) for own in condition]
        if label in known or any(_same(label, own) for own in known):
            return True
        return None if any(_may_hold(label, own) for own in known) else False


def is_opaque(hierarchy: Mapping[str, Any]) -> bool:
    """True if the labels of a hierarchy are any texts, such as "2" for twenties.

    >>> is_opaque({"rows": [["23", "2"]]}), is_opaque({"mask": 5}), is_opaque({"intervals": [10]})
    (True, False, False)
    """
    if "mask" in hierarchy:
        return bool(hierarchy.get("character", "*") != "*")
    return not hierarchy.keys() & {"intervals", "dates"}


def _same(one: str, other: str) -> bool:
    """Whether two texts are the same number; 07 is a code."""
    codes = [text.startswith("0") and text[1:2].isdigit() for text in (one, other)]
    places = place_of(one), place_of(other)
    return not any(codes) and None not in places and places[0] == places[1]


def _may_hold(label: str, value: str) -> bool:
    """True if a label that reads like a period may stand for a value that is written otherwise."""
    if not _PERIOD.fullmatch(label):
        return False
    numbers = read_number(label) is not None and read_number(value) is not None
    shapes = [re.sub("[0-9]", "0", text) for text in (label, value)]
    return not numbers and shapes[0] != shapes[1]


def _around(low: str, high: str, condition: Mapping[str, Any]) -> bool:
    first, last = place_of(low), place_of(high)
    ends = [place_of(str(condition[key])) for key in ("from", "to") if key in condition]
    if first is None or last is None or None in ends:
        return True
    return any(end is not None and first[2] <= end[2] <= last[2] for end in ends)


class Cannot(NamedTuple):
    """The rules that perhaps, or surely, apply to a person."""

    perhaps: frozenset[int] = frozenset()
    surely: frozenset[int] = frozenset()


class ImpossibleCounts(NamedTuple):
    """For each group, its people by the rules that apply to them; for each value, its rules."""

    people: Sequence[Counter[Cannot]]
    rules_of: Sequence[frozenset[int]]  # of each value


def rules_of_values(
    names: Collection[str], rules: Rules, own: Sequence[int]
) -> dict[str, frozenset[int]]:
    """For each value of a column, those of the column's `own` rules that it falls under."""
    for i in own:
        for text in map(str, rules.tables[i]["values"]):
            _refuse_other_spelling(text, names)
    about = {i: {*values_named(rules.tables[i]["values"], names)} for i in own}
    return {name: frozenset(i for i in own if name in about[i]) for name in names}


def _refuse_other_spelling(text: str, there: Collection[str]) -> None:
    """Refuse a value of a rule that nobody has, if somebody has it in another spelling."""
    plain = plain_spelling(text)
    same = [own for own in there if _same(text, own) or plain_spelling(own) == plain]
    if same and text not in there:
        raise CertificateError("spelt-otherwise", "impossible", value=text, same=min(same))


def people_by_rules(
    people: Mapping[Group, Mapping[tuple[str | None, ...], int]],
    columns: Sequence[str],
    rules: Rules,
    own: Sequence[int],
    bags: Mapping[Group, Sequence[JointValue]],
) -> dict[Group, Counter[Cannot]]:
    """For each group, its people by the rules that apply to them; refuse a contradiction."""
    for at, name in enumerate(columns):
        labels_there = (labels[at] for of in people.values() for labels in of)
        there = {label for label in labels_there if label is not None}
        for text in rules.texts_of(name, own):
            if not any(_same(text, label) for label in there):  # which meets a condition
                _refuse_other_spelling(text, there)
    cannot: dict[Any, Cannot] = {}
    people_of_groups = {}
    for group, bag in bags.items():
        members_of_group = Counter[Cannot]()
        for labels, many in people[group].items():
            if labels not in cannot:
                person = dict(zip(columns, labels, strict=True))
                met = {i: rules.applies_to(i, person) for i in own}
                perhaps = frozenset(i for i in own if met[i] is not False)
                cannot[labels] = Cannot(perhaps, frozenset(i for i in own if met[i]))
            members_of_group[cannot[labels]] += many
        _refuse(group, bag, members_of_group)
        people_of_groups[group] = members_of_group
    return people_of_groups


def _refuse(group: Group, bag: Sequence[JointValue], people: Counter[Cannot]) -> None:
    """Refuse a group in which more people have values than can have them."""
    if not any(cannot.surely for cannot in people):
        return
    having = Counter[frozenset[int]]()
    for _, kind, many in bag:
        having[kind] += many
    for kind, many in having.items():
        if many > sum(n for cannot, n in people.items() if not cannot.surely & kind):
            name = ", ".join(str(part) for part in group)
            raise CertificateError("impossible-group", name)


def worst_with_rules(
    held: GroupBags, about: Collection[str], able: ImpossibleCounts, l: int, k: int, m: int
) -> Worst:
    """The worst case if some people cannot have some values."""
    wanted = np.array([name in about for name in held.names], bool)
    restricted = np.array([{*kinds} != {Cannot()} for kinds in able.people], bool)
    rows: dict[tuple[int, tuple[int, ...]], int] = {}
    for group in np.flatnonzero(restricted).tolist():
        of_group = held.cells(group), able.people[group], able.rules_of, wanted, l
        for code, row in numbers_of_group(*of_group):
            rows.setdefault((code, row), group)
    asked, columns = numbers_of_cells(held, about, "single", l)
    of_everybody = np.flatnonzero(~restricted[held.of_group[asked]])
    first = of_everybody[distinct(*(column[of_everybody] for column in columns))[0]]
    value, people, holders, others = (column[first] for column in columns)
    groups, none = held.of_group[asked][first], 0 * people
    free = [value, groups, people, holders, holders + others - people, none, none, none]
    bound = [(code, group, *row) for (code, row), group in rows.items()]
    table = np.concatenate([np.array(bound, np.int64).reshape(-1, 8), np.stack(free, 1)])
    cells = DistinctProfiles(table[:, 0], table[:, 1], table[:, 2:])
    return worst_case(held, cells, Theorem2.by(odds_with_rules, k, m))


def numbers_of_group(
    bag: Sequence[tuple[int, int]],
    people: Counter[Cannot],
    rules_of: Sequence[frozenset[int]],
    wanted: Ints,
    l: int,
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The numbers that decide the odds against each value of a group, as rows of a `Cell`.

    A kind is the set of rules that a value falls under; it is restricted if somebody in the group
    cannot have it. The first number is how many people can have the value: fewer are worse. The
    others are how many people have the value; have other values of its kind that are not ruled out
    (-); could have its kind, but have none of it (-); have values of other kinds that are ruled
    out; have any value of other kinds (-). Of these, more is worse, which is why those marked (-),
    where fewer are worse, are negative.
    """
    size = sum(people.values())
    kinds = {rules_of[value] for value, _ in bag}
    can = {
        kind: sum(n for cannot, n in people.items() if not cannot.perhaps & kind) for kind in kinds
    }
    having = Counter[frozenset[int]]()
    for value, many in bag:
        having[rules_of[value]] += many
    restricted = {kind for kind in kinds if can[kind] < size}
    rest = size - sum(having[kind] for kind in restricted)
    unrestricted_tops = _tops([n for value, n in bag if rules_of[value] not in restricted])
    for value, holders in bag:
        if not wanted[value]:
            continue
        kind = rules_of[value]
        alike = [n for x, n in bag if x != value and _are_alike(rules_of[x], kind, restricted)]
        kind_tops = _tops(alike)
        if kind not in restricted:
            yield value, (rest, holders, holders + _top(kind_tops, l) - rest, 0, 0, 0)
            continue
        reserved = [
            min(
                having[other],
                sum(n for c, n in people.items() if not (c.perhaps & kind or c.surely & other)),
            )
            for other in restricted - {kind}
        ]
        members = can[kind] - sum(reserved)
        others = max(members - having[kind], 0)
        for inside in range(min(l, len(alike)) + 1):
            left = having[kind] - holders - _top(kind_tops, inside)
            yield (
                value,
                (members, holders, -left, -others, _top(unrestricted_tops, l - inside), -rest),
            )


def _are_alike(
    one: frozenset[int], kind: frozenset[int], partly: Collection[frozenset[int]]
) -> bool:
    """Whether values of two kinds are dealt to the same people."""
    return one == kind if kind in partly else one not in partly


def _tops(counts: Sequence[int]) -> list[int]:
    return [0, *accumulate(sorted(counts, reverse=True))]


def _top(tops: Sequence[int], many: int) -> int:
    return tops[min(many, len(tops) - 1)]


def odds_with_rules(cell: Cell, known: int) -> Ratio:
    """Odds against a target who can have the value.

    Otherwise the target has another value of its kind, or one of the rest that is not ruled out.
    Known people have values of the kind, as far as there are enough.
    """
    left, others, out, rest = -cell.others[0], -cell.others[1], cell.others[2], -cell.others[3]
    of_kind = min(left, known)
    others, rest = others - (known - of_kind), rest - (known - of_kind)
    if others <= 0 or rest <= 0:
        return left - of_kind, cell.holders
    return (left - of_kind) * rest + others * max(rest - out, 0), cell.holders * rest
