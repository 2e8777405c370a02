"""The l that a table allows, and the smallest l whose groups hold the policy.

What l is chosen may be known, for it follows from how often each value occurs, which groups that
are published show, and from draws that do not depend on who has which value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.microdata import Microdata
from foreknow.errors import NoSafeRelease
from foreknow.methods.protocol import (
    Grouper,
    in_its_form,
    note_of_boxes,
    notes_of_seed,
    traits_of,
)
from foreknow.numbers import whole_number
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.shown_numbers import percentage
from foreknow_judge.errors import InputError, PolicyError
from foreknow_judge.frozen_fields import set_fields

# Values that are too frequent and that a message names.
_NAMED = 3

ADVICE = "a larger l may help; where l is left out, it is chosen from the policy"


class WithL(Grouper):
    """A method whose groups have at least `l` people, an l that a policy says where none is given.

    Its `grouping` says with which l it was made (`Grouping.method`).
    """

    l: int | None

    def settled(self, microdata: Microdata, policy: Policy | None) -> Any:
        """The method with an l; without one, the l chosen for this table."""
        return self if self.l else self.grouping(microdata, policy, 0).method

    def _settle_l(self) -> None:
        if self.l is not None:
            set_fields(self, l=whole_number(self.l, f"{type(self).__name__}: l", 2))

    def _notes(self, policy: Policy, seed: int | None) -> Sequence[str]:
        """Notes for readers of a release."""
        boxes = (note_of_boxes(self.l or 2),) if policy.options.labelled else ()
        return (*boxes, *notes_of_seed(seed))


def require_eligible(name: str, l: int, microdata: Microdata, sizes: IntArray) -> None:
    """Refuse a table in which more than one in l people share a value; `sizes` counts by value."""
    people = int(sizes.sum())
    if l > people:
        raise NoSafeRelease(f"{name}: l = {l} exceeds the number of people, {people:,}")
    max_people = people // l
    frequent = np.flatnonzero(sizes > max_people)
    if not len(frequent):
        return
    # The most frequent first; a few are named.
    frequent = frequent[np.argsort(-sizes[frequent], kind="stable")]
    value_texts = []
    for code in frequent[:_NAMED].tolist():
        value, excess = str(microdata.values[code]), sizes[code] - max_people
        value_texts.append(f"{sizes[code]:,} have {value!r}, which is {excess:,} too many")
    if len(frequent) > _NAMED:
        value_texts.append(f"{len(frequent) - _NAMED:,} more are too frequent as well")
    raise NoSafeRelease(
        f"{name}: l = {l} allows at most {max_people:,} of {people:,} people to share a value of "
        f"{microdata.schema.sensitive!r}: {'; '.join(value_texts)}. {_largest(microdata, sizes)}"
    )


def settled_l(
    method: Any,
    microdata: Microdata,
    policy: Policy | None,
    sizes: IntArray,
    groups_of: Callable[[Any], IntArray],
    *,
    smallest: bool = True,
) -> tuple[Any, IntArray]:
    """The method with its l, and the group of each person; if no l is given, the first that serves.

    A method with a setting `l` makes groups of at least l people, in which no value has more than
    1/l; `groups_of` makes the groups of a method with an l. `sizes` is how many people have each
    value. The requirements of `policy` on values decide which l serves. With `smallest`, an l that
    is surely too small is passed over, without making its groups.

    Raises `InputError` or `PolicyError` if l is given and impossible, or cannot be chosen, and
    `NoSafeRelease` if no l serves.
    """
    name = type(method).__name__
    if method.l is not None:
        require_eligible(name, method.l, microdata, sizes)
        return method, groups_of(method)
    if policy is None:
        raise InputError(f"{name}: l is missing; give it, or a policy from which it is chosen")
    # Only what counts of values can show: anything else would depend on who has which value.
    requirements = [requirement for requirement in policy.requirements if requirement.by_counts]
    if not requirements:
        raise PolicyError(
            f"{name}: l is missing, and cannot be chosen from requirements about priors, known "
            "columns or households, since it would tell who has what; give it, such as "
            f"{method.key} = {{ l = 4 }}"
        )
    # A group has each value once, so there are at least as many groups as people with the most
    # frequent value.
    max_l = int(sizes.sum()) // int(sizes.max())
    if max_l < 2:
        raise NoSafeRelease(f"{name}: {_largest(microdata, sizes)}; {_OTHER}")
    failures: list[str] = []
    labelled = in_its_form(method, policy).options.labelled
    fallback = None
    for l in range(2, max_l + 1):
        # The highest l is always made, so that there is a failure to report.
        if smallest and l < max_l and _fails_surely(requirements, int(sizes.sum()), l):
            continue
        candidate = replace(method, l=l)
        groups = groups_of(candidate)
        counts = microdata.counts(groups)
        failures = []
        for requirement in requirements:
            failures += requirement.failures(counts)
        if not failures:
            # In the generalized form, groups that look alike are merged for readers, who may then
            # be surer.
            people = int(sizes.sum())
            proof = traits_of(candidate).proof if labelled else None
            if proof is None or not proof.limit_of_boxes(policy, people, microdata.values):
                return candidate, groups
            # Prefer an l that is safe in that form, too; else the first that is safe for groups.
            fallback = fallback or (candidate, groups)
    if fallback is not None:
        return fallback
    raise NoSafeRelease(
        f"{name}: there is no l with which its groups hold what the policy requires. "
        f"{_largest(microdata, sizes)}; with it, {'; '.join(failures)}. Loosen that, or {_OTHER}"
    )


_OTHER = 'publish by another method, such as method = "mondrian", whose groups may be of any size'


def _fails_surely(requirements: Sequence[Requirement], people: int, l: int) -> bool:
    """True if groups of l people surely break a limit on every value.

    Somebody in a smallest group has a value with at least the average share, 1 / its people.
    """
    # There are people // l groups, so the smallest has at most this many people.
    share = Fraction(1, people // (people // l))
    for requirement in requirements:
        is_selective = requirement.values is not None or requirement.excluded
        # A limit on some values or on sets may hold for all that.
        if is_selective or requirement.about_sets:
            continue
        if any(share >= point.below for point in requirement.points):
            return True
    return False


def _largest(microdata: Microdata, sizes: IntArray) -> str:
    """Say which l a table allows at most, and which value stands in the way."""
    worst, people = int(np.argmax(sizes)), int(sizes.sum())
    count = int(sizes[worst])
    allows = f"allows l = {people // count} at most" if 2 * count <= people else "allows no l"
    return (
        f"{str(microdata.values[worst])!r} is had by {count:,} of {people:,} people "
        f"({percentage(Fraction(count, people), 1)}), which {allows}"
    )


def by_value(codes: NDArray[Any], sizes: IntArray, random: np.random.Generator) -> IntArray:
    """Everybody's position, value by value; people of one value come in random order."""
    people = np.argsort(codes, kind="stable")
    shuffle_each(people, sizes, random)
    return people


def shuffle_each(items: NDArray[Any], sizes: IntArray, random: np.random.Generator) -> None:
    """Shuffle each of some consecutive runs by itself, in place."""
    for end, size in zip(np.cumsum(sizes).tolist(), sizes.tolist(), strict=True):
        if size > 1:
            random.shuffle(items[end - size : end])
