"""The way out of "nothing is safe": policy lines with which a single group of everybody is safe.

Each line is tried before it is suggested: with it in place of the line of the same key, its
requirement holds, and the policy does not contradict itself.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from itertools import chain, product
from math import ceil, floor, prod
from operator import ge
from typing import Any, NamedTuple

import numpy as np

from foreknow.adversaries.adversary import HasCounts
from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.release_counts import counts_of
from foreknow.data.labels.labels import is_pattern, matching
from foreknow.errors import NoSafeRelease
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Point, Requirement
from foreknow.policy.tables import SECRET
from foreknow.shown_numbers import significant
from foreknow.toml import toml_value
from foreknow_judge.errors import InputError, PolicyError
from foreknow_judge.files.printable import visible
from foreknow_judge.numbers import as_fraction
from foreknow_judge.policy.grammar import LIMITS

# The most values named in one line, and the most lines with amounts.
_MOST_VALUES, _MOST_AMOUNTS = 12, 6
# How many adversaries are tried for a skyline of amounts.
_TRIED = 200
_MOST_DIGITS = 6
# How far limits are raised on the way to 1; factors for the numbers of criteria.
_SHARES_OF_WAY_TO_1 = Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)
_FACTORS = Fraction(1, 2), Fraction(2), Fraction(1, 4), Fraction(4)


class Way(NamedTuple):
    """One policy line that would help."""

    table: str  # the name of the requirement that it belongs to, or "publish"
    line: str
    because: str  # what it means, in words
    helped: str  # the name of the requirement that holds with it


def no_safe_release(problem: str, policy: Policy, everyone: HasCounts) -> NoSafeRelease:
    """The error for a table that is unsafe even as a single group, with the ways out."""
    failing = []
    for requirement in policy.requirements:
        if requirement.failures(everyone):
            failing.append(requirement.name)
    return NoSafeRelease(problem, _ways_as_lines(failing, ways_out(policy, everyone)))


def ways_out(policy: Policy, everyone: HasCounts) -> list[Way]:
    """Policy lines, each of which makes a requirement hold that one group of everybody fails.

    If everybody in one group is not safe, usually no division into groups is.
    """
    ways: list[Way] = []
    for position, requirement in enumerate(policy.requirements):
        # Facts that stand in for priors during a search have no line in a policy to change.
        if _stands_for_priors(requirement) or not requirement.failures(everyone):
            continue
        for changed, because in _until_refused(_possible_changes(requirement, everyone)):
            with suppress(InputError):  # a change that is refused is no way out
                if changed.failures(everyone):
                    continue
                _refuse_contradiction(policy, position, changed)
                way = Way(
                    table=requirement.name,
                    line=line_of(requirement, changed),
                    because=because,
                    helped=requirement.name,
                )
                if all((way.table, way.line) != (w.table, w.line) for w in ways):
                    ways.append(way)
        # A requirement may also hold if a column is not known, or is published apart.
        ways += _ways_without_known_columns(policy, position, everyone)
    return ways


def _refuse_contradiction(policy: Policy, position: int, changed: Requirement) -> None:
    """Raise `InputError` if a policy cannot have a changed requirement at this position."""
    requirements = [*policy.requirements]
    requirements[position] = changed
    replace(policy, requirements=requirements)  # a policy checks itself when it is made


def _refuse_unknown_links(policy: Policy) -> None:
    """Raise `InputError` if an unknown column could show which rows are of one person.

    Only a table tells whether it does, and there is none here.
    """
    if policy.needed_schema.unit_columns:
        raise PolicyError("rows of one person or household may be linked by the column")


def _stands_for_priors(requirement: Requirement) -> bool:
    """True for the facts of priors, as a search asks for them: a policy has no line for these."""
    return any(getattr(point.adversary, "of_priors", False) for point in requirement.points)


def _until_refused(changes: Iterator[tuple[Requirement, str]]) -> Iterator[tuple[Requirement, str]]:
    """The changes, until one is refused as invalid."""
    with suppress(InputError):
        yield from changes


def _ways_as_lines(failing: Sequence[str], ways: Sequence[Way]) -> list[str]:
    """The ways out as lines for a terminal: a heading for each table, and lines to paste below.

    `failing` are the names of all failing requirements, of which some may have no way out.
    """
    helped = dict.fromkeys(way.helped for way in ways)
    lines: list[str] = []
    for table in dict.fromkeys(way.table for way in ways):
        reason_of_line: dict[str, str] = {}
        helped_by_line: dict[str, list[str]] = {}  # one of [publish] may help several requirements
        for way in ways:
            if way.table == table:
                reason_of_line.setdefault(way.line, way.because)
                helped_by_line.setdefault(way.line, []).append(visible(way.helped))
        which_line = "this line" if len(reason_of_line) == 1 else "one of these lines"
        where = "[publish]" if table == "publish" else visible(table)
        lines.append(f"In {where}, write {which_line}, in place of any with the same key:")
        width = min(max(map(len, reason_of_line)), 44)  # so that comments stand below each other
        for line, because in reason_of_line.items():
            is_for_some = table == "publish" and len(failing) > 1
            whose = f"; for {', '.join(helped_by_line[line])}" if is_for_some else ""
            lines.append(f"  {line:<{width}}  # {because}{whose}")
    if len(helped) > 1:
        lines.append(f"Each of the {len(helped)} requirements needs one.")
    stuck = [visible(name) for name in failing if name not in helped]
    if stuck:
        lines.append(
            f"For {', '.join(stuck)} no single line is enough: change several at once, publish "
            "more people, or leave the column out of the release"
        )
    return lines


def _possible_changes(
    requirement: Requirement, everyone: HasCounts
) -> Iterator[tuple[Requirement, str]]:
    """Yield changes to a failing requirement that may help, each with a reason in words.

    They are not tried yet.
    """
    if requirement.criterion is not None:
        yield from _with_other_numbers(requirement, requirement.count(everyone).counts_by_policy)
    else:
        yield from _with_higher_limits(requirement, everyone)
        yield from _with_less_knowledge(requirement, everyone)
        yield from _with_narrower_windows(requirement, everyone)
        yield from _without_failing_values(requirement, everyone)


# ---- limits -------------------------------------------------------------------------------------


def _disclosures_over_limit(
    requirement: Requirement, everyone: HasCounts
) -> list[list[Disclosure]]:
    """For each point of a requirement, the disclosures that do not keep the limit."""
    disclosures = requirement.count(everyone).disclosures()
    failing = []
    for point, of_point in zip(requirement.points, disclosures, strict=True):
        failing.append([reached for reached in of_point if not reached.keeps(point.limit)])
    return failing


def _with_higher_limits(
    requirement: Requirement, everyone: HasCounts
) -> Iterator[tuple[Requirement, str]]:
    """Yield the requirement with the lowest round limits that hold, and what is reached in words.

    A point is an amount of knowledge with its limit. Nothing is yielded if for some point no limit
    could hold.
    """
    points, reached_words = [], []
    for point, failing in zip(
        requirement.points, _disclosures_over_limit(requirement, everyone), strict=True
    ):
        if not failing:
            points.append(point)
            continue
        reached = max(map(_times_prior if point.relative else _probability, failing))
        amount = _round_limit(reached, point)
        if amount is None:
            return
        points.append(point._replace(limit=replace(point.limit, amount=amount)))
        reached_words.append(f"{_in_short(reached)}{' times the prior' if point.relative else ''}")
    yield requirement.with_points(points), f"an adversary reaches {'; '.join(reached_words)}"


def _probability(disclosure: Disclosure) -> Fraction:
    return Fraction(disclosure.probability) if disclosure.exact is None else disclosure.exact


def _times_prior(disclosure: Disclosure) -> Fraction:
    return _probability(disclosure) / (disclosure.prior or 1)


def _round_limit(reached: Fraction, point: Point) -> Fraction | None:
    """The lowest limit of few digits that the chance `reached` keeps; None if there is none.

    Digits are added until the limit is below 1.
    """
    if point.relative:  # a multiple of the prior, which may be above 1
        return Fraction(ceil(reached * 100), 100)
    for digits in range(2, _MOST_DIGITS + 1):
        unit = 10**digits
        # A limit that must not be reached has to be above the chance, even if that is round.
        limit = Fraction(
            ceil(reached * unit) if point.inclusive else floor(reached * unit) + 1, unit
        )
        if limit < 1:
            return limit
    return Fraction(1) if reached < 1 and not point.inclusive else None


# ---- amounts ------------------------------------------------------------------------------------


def _with_less_knowledge(
    requirement: Requirement, everyone: HasCounts
) -> Iterator[tuple[Requirement, str]]:
    """Yield the requirement with less knowledge: the largest amounts that hold, with a reason.

    None exceeds the amount that the requirement asks for. There may be several such points, with
    more of one amount and less of another.
    """
    point, *other_points = requirement.points
    whole_amounts = _whole_amounts(point.adversary)
    if whole_amounts is None or other_points:
        return

    def against_amounts(amounts: Sequence[int]) -> Requirement:
        """The requirement against an adversary with these amounts of knowledge."""
        adversary: Any = point.adversary
        by_name = dict(zip(whole_amounts, amounts, strict=True))
        return replace(requirement, adversary=replace(adversary, **by_name))

    def holds(amounts: Sequence[int]) -> bool:
        return not any(_disclosures_over_limit(against_amounts(amounts), everyone))

    # All combinations of amounts that hold and cannot be raised.
    combinations = skyline_within(list(whole_amounts.values()), holds)
    for n, amounts in enumerate(combinations[:_MOST_AMOUNTS], 1):
        because = "the adversary knows less"
        if n == _MOST_AMOUNTS < len(combinations):
            because += f"; {len(combinations) - n} more amounts are low enough"
        yield against_amounts(amounts), because


def _whole_amounts(adversary: Any) -> dict[str, int] | None:
    """The amounts of knowledge of an adversary, by name; None if it has other settings, too."""
    (settings,) = adversary.to_dict().values()
    if not is_dataclass(adversary) or not isinstance(settings, Mapping) or not settings:
        return None
    # The parameters by which an adversary of other amounts can be made.
    parameters = {parameter.name for parameter in fields(adversary) if parameter.init}
    amounts = {}
    for name, n in settings.items():
        if type(n) is int and name in parameters:
            amounts[name] = n
    return amounts if len(amounts) == len(settings) else None


def skyline_within(
    largest: Sequence[int], holds: Callable[[Sequence[int]], bool]
) -> list[tuple[int, ...]]:
    """The points of a box that hold and are not below another that does.

    A point has a whole number from 0 to its largest one for each axis; it must hold whenever a
    larger one does. In a box with too many points, only those are tried in which one number is
    lower than `largest`.

    >>> skyline_within([2, 3], lambda point: sum(point) < 4)
    [(0, 3), (1, 2), (2, 1)]
    """
    points: list[tuple[int, ...]] = []
    if prod(amount + 1 for amount in largest) <= _TRIED:
        box = product(*(range(amount + 1) for amount in largest))
        points += filter(holds, box)
    else:
        for position in range(len(largest)):
            less = _most_that_holds(largest, position, holds)
            if less is not None:
                points.append((*largest[:position], less, *largest[position + 1 :]))

    def is_below_another(point: tuple[int, ...]) -> bool:
        return any(larger != point and all(map(ge, larger, point)) for larger in points)

    return [point for point in points if not is_below_another(point)]


def _most_that_holds(
    largest: Sequence[int], position: int, holds: Callable[[Sequence[int]], bool]
) -> int | None:
    """The largest number at one position that holds with the others as in `largest`, or None.

    Found by bisection, since it holds whenever a larger number does. None if not even 0 holds.
    """
    # How many numbers from 0 on hold; a range cannot be longer than sys.maxsize.
    n_holding = bisect_left(
        range(min(largest[position] + 1, sys.maxsize)),
        True,
        key=lambda amount: not holds((*largest[:position], amount, *largest[position + 1 :])),
    )
    return n_holding - 1 if n_holding else None


# ---- values and columns -------------------------------------------------------------------------


def _with_narrower_windows(
    requirement: Requirement, everyone: HasCounts
) -> Iterator[tuple[Requirement, str]]:
    """The requirement with the widest of some narrower windows that holds."""
    for percentage in (2, 5, 10, 20, 50, 100, 1000):
        narrower = requirement.target.narrower(percentage)
        if narrower is not None and not narrower.failures(everyone):
            yield narrower, f"nobody becomes sure to within 1/{percentage} of what is asked"
            return


def _without_failing_values(
    requirement: Requirement, everyone: HasCounts
) -> Iterator[tuple[Requirement, str]]:
    """Yield the requirement without the values that fail it, with a condition for doing so.

    The condition is that nobody is harmed if these values become known; it counts the people.
    """
    if not requirement.target.singly:
        return  # a set of values is one secret, and a smaller set is another secret
    requirement_counts = requirement.count(everyone)
    counts = counts_of(requirement_counts.counts_by_policy)
    failing = dict.fromkeys(d.value for d in chain(*_disclosures_over_limit(requirement, everyone)))
    names = [str(value) for value in failing]
    n_asked = int(np.count_nonzero(requirement_counts.meant.about))
    if not names or len(names) == n_asked or len(names) > _MOST_VALUES:  # nothing would be left
        return
    totals = ", ".join(f"{counts.totals[counts.code(value)]:,}" for value in failing)
    unit = {"multiset": "occurrences"}.get(counts.semantics, f"of {counts.n_people:,} people")
    because = f"if nobody is harmed: {totals} {unit}"
    if requirement.values is None:
        yield replace(requirement, excluded=[*requirement.excluded, *names]), because
        return
    printed = [str(value) for value in counts.values]
    listed_values = dict[str, None]()  # patterns are written out, since some values of one may fail
    for text in map(str, requirement.values):
        listed_values.update(dict.fromkeys(matching(text, printed) if is_pattern(text) else [text]))
    kept_values = [value for value in listed_values if value not in names]
    yield (
        replace(requirement, values=kept_values),
        f"without {', '.join(map(repr, names))}, {because}",
    )


def _ways_without_known_columns(
    policy: Policy, position: int, everyone: HasCounts
) -> Iterator[Way]:
    """Yield ways out that assume that a known column, or all, is not known, or publish it apart.

    `everyone` is one group of all people, in which the requirement at this position fails.
    """
    requirement = policy.requirements[position]
    labels = counts_of(everyone).values
    # These divide the one group, since the adversary knows them of everybody.
    known_columns = requirement.seen_columns(labels.layout).known if labels.columns else ()
    choices = [[column] for column in known_columns]
    if len(known_columns) > 1:
        choices.append([*known_columns])
    one_is_enough = False  # then all columns together need not be tried
    for unknown in choices:
        changed = requirement.knowing_only([name for name in known_columns if name not in unknown])
        if (one_is_enough and len(unknown) > 1) or not _holds(changed, everyone):
            continue
        one_is_enough = True
        names = [visible(column) for column in unknown]
        with suppress(InputError):
            _refuse_unknown_links(policy)
            _refuse_contradiction(policy, position, changed)
            yield Way(
                table=requirement.name,
                line=line_of(requirement, changed),
                because=f"if nobody knows {' or '.join(names)} of anybody",
                helped=requirement.name,
            )
        with suppress(InputError):
            options = replace(policy.options, unlinked=[*policy.options.unlinked, *unknown])
            replace(policy, options=options)  # refused, if the policy cannot have these options
            yield Way(
                table="publish",
                line=f"unlinked = {toml_value(list(options.unlinked))}",
                because=f"{' and '.join(names)} shuffled in each group",
                helped=requirement.name,
            )


def _holds(requirement: Requirement, everyone: HasCounts) -> bool:
    with suppress(InputError):
        return not requirement.failures(everyone)
    return False


# ---- criteria -----------------------------------------------------------------------------------


def _with_other_numbers(
    requirement: Requirement, release: HasCounts
) -> Iterator[tuple[Requirement, str]]:
    """Yield the criterion with one number changed to what one group of everybody attains.

    Each comes with a reason in words. `release` has this group.
    """
    criterion = requirement.criterion
    assert criterion is not None
    reached = criterion.measure(release)
    if not is_dataclass(criterion) or reached in (float("inf"), float("-inf")):
        return
    reached = Fraction(reached)
    # Round numbers first. Some criteria have a highest number and others a lowest, and it may be
    # forbidden to reach it: so those below and above the figure are tried.
    rounded_down, rounded_up = floor(reached * 100), ceil(reached * 100)
    hundredths = rounded_down, rounded_up, rounded_down + 1
    limits_near = [*(Fraction(number, 100) for number in hundredths), reached]
    people = counts_of(release).n_people  # for criteria with a share and a size: the size
    for name in _number_settings(criterion):
        for number in (*limits_near, Fraction(people)):
            with suppress(InputError, TypeError, ValueError):  # the setting may not be so
                value = int(number) if number.denominator == 1 else number
                changed = replace(criterion, **{name: value})
                if changed.holds(release):
                    attained = f"what everybody in one group attains is {_in_short(reached)}"
                    because = attained if number in limits_near else f"there are {people:,} people"
                    yield replace(requirement, adversary=changed), because
                    break


def _number_settings(criterion: Any) -> list[str]:
    """The names of the settings of a criterion that are numbers, or texts of numbers."""
    settings, fields = criterion.to_dict()[criterion.key], criterion.__dataclass_fields__
    names = [name for name in settings if name in fields] if isinstance(settings, Mapping) else []
    # A criterion that is written as a single number (k_anonymity = 5) has it as its first field.
    return [name for name in names or list(fields)[:1] if _is_number(getattr(criterion, name))]


def _is_number(setting: Any) -> bool:
    """True for a number, or a text of one."""
    try:
        as_fraction(setting)
    except InputError:
        return False
    return True


def weaker(requirement: Requirement) -> Iterator[Requirement]:
    """Yield requirements that may be weaker: higher limits, or a criterion with other numbers.

    Whether lower or higher numbers of a criterion are weaker is not known here.
    """
    criterion = requirement.criterion
    if criterion is None:
        for share in _SHARES_OF_WAY_TO_1:
            points = []
            for point in requirement.points:
                limit = replace(point.limit, amount=_raised_limit(point, share))
                points.append(point._replace(limit=limit))
            yield requirement.with_points(points)
    elif is_dataclass(criterion):
        for factor, name in product(_FACTORS, _number_settings(criterion)):
            with suppress(InputError, TypeError, ValueError):  # the setting may not be so
                amount = getattr(criterion, name)
                number = Fraction(amount) * factor
                number = Fraction(floor(number)) if isinstance(amount, int) else number
                changed: Any = int(number) if number.denominator == 1 else number
                yield replace(requirement, adversary=replace(criterion, **{name: changed}))


def _raised_limit(point: Point, share: Fraction) -> Fraction:
    """A limit raised by a share of the way to 1; a relative limit multiplied by 1 + 4 * share."""
    amount = point.below
    if point.relative:
        return amount * (1 + 4 * share)
    raised = amount + (1 - amount) * share
    return min(Fraction(round(raised * 100), 100), Fraction(1))


def _in_short(number: Fraction) -> str:
    return str(number) if number.denominator < 10**6 else f"about {significant(number, 6)}"


# ---- lines --------------------------------------------------------------------------------------


def _table_with_numbers(requirement: Requirement) -> dict[str, Any]:
    """The table of a requirement in a policy file, with limits and amounts as numbers.

    `to_dict` has texts such as "1/3" for them, which would be written in quotes.
    """
    keys_of_numbers = {*LIMITS, getattr(requirement.criterion, "key", None)}
    table = requirement.to_dict()
    for key, value in table.items():
        may_be_points = len(requirement.points) > 1 and key not in SECRET
        if key in keys_of_numbers:
            table[key] = _read_fractions(value)
        elif may_be_points and isinstance(value, list):
            table[key] = [
                _read_fractions(point, {"below"}) if "below" in point else point for point in value
            ]
    return table


def _read_fractions(value: Any, keys: Collection[str] | None = None) -> Any:
    """Read texts such as "1/3" as fractions; in a table, those of some keys, or of all."""
    if isinstance(value, Mapping):
        return {
            name: _read_fractions(setting) if keys is None or name in keys else setting
            for name, setting in value.items()
        }
    is_number = isinstance(value, str) and re.fullmatch(r"\d+(/\d+)?", value)
    return Fraction(value) if is_number else value


def line_of(before: Requirement, after: Requirement) -> str:
    """The policy line in which two versions of a requirement differ."""
    old, new = _table_with_numbers(before), _table_with_numbers(after)
    changed = {key: value for key, value in new.items() if old.get(key) != value}
    ((key, value),) = changed.items()
    return f"{key} = {toml_value(value)}"


ASK_SOMETHING = (
    "Name a value that somebody has, or require something of every group as well:",
    "  [[require]]",
    "  k_anonymity = 5",
)
