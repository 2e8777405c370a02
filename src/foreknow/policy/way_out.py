"""The way out of "nothing is safe": lines of a policy with which one group of everybody holds.

Each line is tried before it is named: with it in place of the line of the same key, its requirement
holds, and the policy does not contradict itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from itertools import product
from math import ceil, floor, prod
from operator import ge
from typing import Any, NamedTuple

import numpy as np

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.protocol import HasCounts, counts_of
from foreknow.data.labels import JointLabels, is_pattern, matching
from foreknow.documents import toml_value
from foreknow.errors import InputError, NoSafeRelease
from foreknow.grammar import LIMITS, SECRET
from foreknow.numbers import significant
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Point, Requirement
from foreknow.text import visible

# Values and amounts that are named in one line, or in one line each.
_MOST_VALUES, _MOST_AMOUNTS = 12, 6
# How many adversaries are tried for a skyline of amounts.
_TRIED = 200
_MOST_DIGITS = 6


class Way(NamedTuple):
    """One line that helps."""

    table: str  # the name of the requirement in which it goes, or "publish"
    line: str
    because: str  # what it means, in words


def no_safe_release(problem: str, policy: Policy, everyone: HasCounts) -> NoSafeRelease:
    """The error for a table of which not even one group of everybody is safe, with the ways out."""
    return NoSafeRelease(problem, _block(policy, ways_out(policy, everyone)))


def ways_out(policy: Policy, everyone: HasCounts) -> list[Way]:
    """Lines of which each makes a requirement hold that one group of everybody fails."""
    found: list[Way] = []
    for place, requirement in enumerate(policy.requirements):
        if not requirement.failures(everyone):
            continue
        for changed, because in _allowed(_changes(requirement, everyone)):
            with suppress(InputError):
                if changed.failures(everyone):
                    continue
                others = [*policy.requirements]
                others[place] = changed
                replace(policy, requirements=others)
                way = Way(requirement.name, _line(requirement, changed), because)
                if all(way[:2] != other[:2] for other in found):
                    found.append(way)
        found += _unknown(policy, requirement, everyone)
    return found


def _allowed(changes: Iterator[tuple[Requirement, str]]) -> Iterator[tuple[Requirement, str]]:
    """Changes, up to one that a requirement of its kind refuses."""
    with suppress(InputError):
        yield from changes


def _block(policy: Policy, ways: Sequence[Way]) -> list[str]:
    """The ways as lines for a terminal: a heading for each table, and what to paste below it."""
    lines: list[str] = []
    for table in dict.fromkeys(way.table for way in ways):
        own = [way for way in ways if way.table == table]
        one = "this line" if len(own) == 1 else "one of these lines"
        where = "[publish]" if table == "publish" else visible(table)
        lines.append(f"In {where}, {one} would do, in place of any with the same key:")
        last = [way.line.split("\n")[-1] for way in own]
        width = min(max(map(len, last)), 44)
        for way, end in zip(own, last, strict=True):
            lines += [f"  {line}" for line in way.line.split("\n")[:-1]]
            lines.append(f"  {end:<{width}}  # {way.because}")
    failing = len({way.table for way in ways} - {"publish"})
    if failing > 1:
        lines.append(f"Each of the {failing} requirements needs one.")
    if not lines:
        lines.append(
            "No limit or amount of these requirements can be kept by any grouping: publish more "
            "people, or leave the column out of the release"
        )
    return lines


def _changes(requirement: Requirement, everyone: HasCounts) -> Iterator[tuple[Requirement, str]]:
    """What may be changed in a requirement that fails; not yet tried."""
    if requirement.criterion is not None:
        yield from _criteria(requirement, requirement.count(everyone).counts)
    else:
        yield from _limits(requirement, everyone)
        yield from _amounts(requirement, everyone)
        yield from _widths(requirement, everyone)
        yield from _values(requirement, requirement, everyone)
        if (nothing := _knowing_nothing(requirement)) is not None:
            for rest, because in _values(requirement, nothing, everyone):
                for changed, also in [*_limits(rest, everyone), *_amounts(rest, everyone)]:
                    yield changed, f"both lines: {also}; and {because}"


# ---- limits -------------------------------------------------------------------------------------


def _failing(requirement: Requirement, everyone: HasCounts) -> list[list[Disclosure]]:
    """For each point of a requirement, the disclosures that do not keep the limit."""
    found = requirement.count(everyone).disclosures()
    return [
        [each for each in own if not each.keeps(point.limit)]
        for point, own in zip(requirement.points, found, strict=True)
    ]


def _limits(requirement: Requirement, everyone: HasCounts) -> Iterator[tuple[Requirement, str]]:
    """The least round limits that hold; those of all points at once."""
    points, said = [], []
    for point, failing in zip(requirement.points, _failing(requirement, everyone), strict=True):
        if not failing:
            points.append(point)
            continue
        reached = max(map(_times if point.relative else _exact, failing))
        limit = _round_limit(reached, point)
        if limit is None:
            return
        points.append(point._replace(limit=replace(point.limit, amount=limit)))
        said.append(f"{_shortly(reached)}{' times the prior' if point.relative else ''}")
    yield requirement.at(points), f"what is reached is {'; '.join(said)}"


def _exact(found: Disclosure) -> Fraction:
    return Fraction(found.probability) if found.exact is None else found.exact


def _times(found: Disclosure) -> Fraction:
    return _exact(found) / (found.prior or 1)


def _round_limit(reached: Fraction, point: Point) -> Fraction | None:
    """The least limit of few digits that what is reached stays below, or does not exceed."""
    if point.relative:
        return Fraction(ceil(reached * 100), 100)
    for digits in range(2, _MOST_DIGITS + 1):
        unit = 10**digits
        limit = Fraction(
            ceil(reached * unit) if point.inclusive else floor(reached * unit) + 1, unit
        )
        if limit < 1:
            return limit
    return Fraction(1) if reached < 1 and not point.inclusive else None


# ---- amounts ------------------------------------------------------------------------------------


def _amounts(requirement: Requirement, everyone: HasCounts) -> Iterator[tuple[Requirement, str]]:
    """The most that each adversary may know of each kind, no more than is asked for."""
    if len(requirement.points) > 1:
        each = zip(requirement.points, _failing(requirement, everyone), strict=True)
        if kept := [point for point, failing in each if not failing]:
            yield requirement.at(kept), "without the points that fail"
        return
    (point,) = requirement.points
    given = _whole_amounts(point.adversary)
    if given is None:
        return

    def weaker(amounts: Sequence[int]) -> Requirement:
        kind: Any = point.adversary
        return replace(
            requirement, adversary=replace(kind, **dict(zip(given, amounts, strict=True)))
        )

    def holds(amounts: Sequence[int]) -> bool:
        return not any(_failing(weaker(amounts), everyone))

    corners = skyline_within(list(given.values()), holds)
    for n, corner in enumerate(corners[:_MOST_AMOUNTS], 1):
        because = "the adversary knows less"
        if n == _MOST_AMOUNTS < len(corners):
            because += f"; {len(corners) - n} more amounts would do"
        yield weaker(corner), because


def _whole_amounts(adversary: Any) -> dict[str, int] | None:
    """The amounts of an adversary, where it has nothing else."""
    (given,) = adversary.to_dict().values()
    if not is_dataclass(adversary) or not isinstance(given, Mapping) or not given:
        return None
    own = {each.name for each in fields(adversary) if each.init}  # by which another is made
    amounts = {name: n for name, n in given.items() if type(n) is int and name in own}
    return amounts if len(amounts) == len(given) else None


def skyline_within(
    most: Sequence[int], holds: Callable[[Sequence[int]], bool]
) -> list[tuple[int, ...]]:
    """The maximal points of a box that hold, where no more does if less does not.

    Of a box with too many points, only those in which one amount is less than asked for.

    >>> skyline_within([2, 3], lambda point: sum(point) < 4)
    [(2, 1), (1, 2), (0, 3)]
    """
    along = max(range(len(most)), key=most.__getitem__)
    grid = [range(m, -1, -1) if i != along else [0] for i, m in enumerate(most)]
    # In each of these points one amount, whose place is beside it, may be any.
    free: Iterable[tuple[tuple[int, ...], int]] = ((point, along) for point in product(*grid))
    if prod(map(len, grid)) * max(most[along], 1).bit_length() > _TRIED:
        free = [(tuple(most), place) for place in range(len(most))]
    found = []
    for point, place in free:

        def with_amount(n: int, point: Any = point, place: int = place) -> tuple[int, ...]:
            return (*point[:place], n, *point[place + 1 :])

        highest = _highest(most[place], lambda n, of=with_amount: holds(of(n)))  # type: ignore[misc]
        if highest is not None:
            found.append(with_amount(highest))
    return [
        point
        for point in dict.fromkeys(found)
        if not any(other != point and all(map(ge, other, point)) for other in found)
    ]


def _highest(most: int, holds: Callable[[int], bool]) -> int | None:
    if not holds(0):
        return None
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


# ---- values and columns -------------------------------------------------------------------------


def _widths(requirement: Requirement, everyone: HasCounts) -> Iterator[tuple[Requirement, str]]:
    """The widest of some narrower windows that holds."""
    for part in (2, 5, 10, 20, 50, 100, 1000):
        narrower = requirement.narrower(part)
        if narrower is not None and not narrower.failures(everyone):
            yield narrower, f"nobody becomes sure to within 1/{part} of what is asked"
            return


def _knowing_nothing(requirement: Requirement) -> Requirement | None:
    """The same with all amounts 0: what fails this, fails whatever is known."""
    found: dict[Any, Fraction] = {}
    for point in requirement.points:
        given, kind = _whole_amounts(point.adversary), point.adversary
        weakest: Any = kind
        weakest = replace(weakest, **dict.fromkeys(given, 0)) if given else kind
        found[weakest] = min(point.below, found.get(weakest, point.below))
    with suppress(InputError, TypeError):
        if isinstance(requirement.adversary, Sequence):
            return replace(requirement, adversary=list(found.items()))
        return replace(requirement, adversary=next(iter(found)))
    return None


def _values(
    requirement: Requirement, weaker: Requirement, everyone: HasCounts
) -> Iterator[tuple[Requirement, str]]:
    """Leave out the values that stand in the way, even if a weaker one were asked."""
    if requirement.about_sets or requirement.of_windows:
        return  # a smaller set is another secret
    counted = requirement.count(everyone)
    counts = counts_of(counted.counts)
    in_the_way: dict[Any, None] = {}
    for failing in _failing(weaker, everyone):
        in_the_way.update(dict.fromkeys(found.value for found in failing))
    labels = [str(value) for value in in_the_way]
    asked = int(np.count_nonzero(counted.meant.about))
    if not labels or len(labels) == asked or len(labels) > _MOST_VALUES:
        return
    many = ", ".join(f"{counts.totals[counts.code(value)]:,}" for value in in_the_way)
    because = f"if nobody is harmed: {many} of {counts.n_people:,} people"
    if counts.semantics == "multiset":
        because = f"if nobody is harmed: {many} occurrences"
    if requirement.values is None:
        yield replace(requirement, excluded=[*requirement.excluded, *labels]), because
    else:
        printed = [str(value) for value in counts.values]
        named = dict[str, None]()
        for text in map(str, requirement.values):
            named.update(dict.fromkeys(matching(text, printed) if is_pattern(text) else [text]))
        rest = [value for value in named if value not in labels]
        yield replace(requirement, values=rest), f"without {_listed(labels)}, {because}"


def _listed(labels: Iterable[str]) -> str:
    return ", ".join(map(repr, labels))


def _known(requirement: Requirement, everyone: HasCounts) -> tuple[str, ...]:
    """Columns that divide the one group, since the adversary knows them of everybody."""
    labels = counts_of(everyone).values
    if not isinstance(labels, JointLabels):
        return ()
    return requirement.sight(labels.layout).known


def _fewer(requirement: Requirement, everyone: HasCounts) -> list[tuple[str, ...]]:
    """What may be known where less would hold: all but one column, else none."""
    known = _known(requirement, everyone)

    def holds(columns: Sequence[str]) -> bool:
        with suppress(InputError):
            return not requirement.by(columns).failures(everyone)
        return False

    all_but_one = [tuple(name for name in known if name != each) for each in known]
    return [each for each in all_but_one if holds(each)] or [() for _ in known[:1] if holds(())]


def _unknown(policy: Policy, requirement: Requirement, everyone: HasCounts) -> Iterator[Way]:
    """That nobody knows some columns; and to publish them apart, which has the same effect."""
    for columns in _fewer(requirement, everyone):
        out = [name for name in _known(requirement, everyone) if name not in columns]
        because = f"if nobody knows {' or '.join(map(visible, out))} of anybody"
        changed = requirement.by(columns)
        with suppress(InputError):
            every = [changed if of is requirement else of for of in policy.requirements]
            replace(policy, requirements=every)
            yield Way(requirement.name, _line(requirement, changed), because)
        with suppress(InputError):
            options = replace(policy.options, unlinked=[*policy.options.unlinked, *out])
            replace(policy, options=options)
            line = f"unlinked = {toml_value(list(options.unlinked))}"
            yield Way("publish", line, f"{' and '.join(map(visible, out))} shuffled in each group")


# ---- criteria -----------------------------------------------------------------------------------


def _criteria(requirement: Requirement, counted: HasCounts) -> Iterator[tuple[Requirement, str]]:
    """The criterion with one of its numbers as one group of everybody attains it."""
    criterion = requirement.criterion
    assert criterion is not None
    given, reached = criterion.to_dict()[criterion.key], criterion.measure(counted)
    if not is_dataclass(criterion) or reached in (float("inf"), float("-inf")):
        return
    reached = Fraction(reached)
    near = [Fraction(f(reached * 100), 100) for f in (floor, ceil)]
    near += [Fraction(floor(reached * 100) + 1, 100), reached]
    fields = criterion.__dataclass_fields__
    names = [name for name in given if name in fields] if isinstance(given, Mapping) else []
    for name in names or list(fields)[:1]:
        if not isinstance(getattr(criterion, name), (int, float, Fraction, str)):
            continue
        for number in near:
            with suppress(InputError, TypeError, ValueError):
                whole = int(number) if number.denominator == 1 else number
                changed = replace(criterion, **{name: whole})
                if changed.holds(counted):
                    because = f"what everybody in one group attains is {_shortly(reached)}"
                    yield replace(requirement, adversary=changed), because
                    break


def _shortly(number: Fraction) -> str:
    return str(number) if number.denominator < 10**6 else f"about {significant(number, 6)}"


# ---- lines --------------------------------------------------------------------------------------


def _table(requirement: Requirement) -> dict[str, Any]:
    """The table of a requirement in a policy file, limits and amounts as numbers."""
    numbers = {*LIMITS, getattr(requirement.criterion, "key", None)}
    table = requirement.to_dict()
    for key, own in table.items():
        if key in numbers:
            table[key] = _numbers(own)
        elif len(requirement.points) > 1 and key not in SECRET and isinstance(own, list):
            table[key] = [_numbers(of, {"below"}) if "below" in of else of for of in own]
    return table


def _numbers(given: Any, keys: Collection[str] | None = None) -> Any:
    """Fractions as numbers; in a table, those of some keys, or all."""
    if isinstance(given, Mapping):
        return {
            name: _numbers(own) if keys is None or name in keys else own
            for name, own in given.items()
        }
    of_text = isinstance(given, str) and re.fullmatch(r"\d+(/\d+)?", given)
    return Fraction(given) if of_text else given


def _line(before: Requirement, after: Requirement) -> str:
    """The lines of a requirement's table that a change is; one, as a rule."""
    old, new = _table(before), _table(after)
    return "\n".join(
        f"{key} = {toml_value(given)}" for key, given in new.items() if old.get(key) != given
    )
