"""Limits of a first policy: the strongest that leave something, and that the table can keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from foreknow.adversaries.disclosure import Disclosure, worst
from foreknow.adversaries.facts.facts import Facts
from foreknow.criteria.size import KAnonymity
from foreknow.data.counts import GroupCounts
from foreknow.data.people.units import largest
from foreknow.data.tables.profile.column_profile import Profile
from foreknow.data.tables.table import Table
from foreknow.planning.suggestion.columns import DECIDE
from foreknow.planning.suggestion.hierarchies import FEW
from foreknow.planning.suggestion.roles import FIRST_K, Rows
from foreknow.policy.requirement import Requirement
from foreknow.shown_numbers import percentage
from foreknow.toml import toml_value
from foreknow.wording import people_text
from foreknow_judge.errors import DataError, PolicyError, UnsupportedError
from foreknow_judge.text import some

# What an adversary is first taken to know: the strongest that leaves a limit worth having.
_KNOWLEDGE = ((1, 3, 1), (0, 3, 1), (0, 3, 0), (0, 1, 0), (0, 0, 0))
_LIMITS = [Fraction(n, 100) for n in (10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 95, 99, 100)]
# Above this a limit says little, and less knowledge is tried; the odds that groups may add.
_WORTH, _ROOM = Fraction(3, 4), 2


class Sizes(NamedTuple):
    """How large households are, in rows or people."""

    largest: int = 1
    usual: int = 1  # the largest of those of nine at most
    noun: str = "rows"

    @classmethod
    def of(cls, table: Table, homes: Sequence[str], rows: Rows) -> Sizes:
        """The sizes of the households that some columns name, together."""
        sizes = [largest(table, name, rows.name or None) for name in homes] or [(1, 1)]
        largest_sizes, usual_sizes = zip(*sizes, strict=True)
        return cls(max(largest_sizes), max(usual_sizes), rows.of_homes)

    @property
    def links(self) -> list[int]:
        """How many links cover all of them, and those of nine at most."""
        return [*dict.fromkeys((self.largest - 1, self.usual - 1))]

    def note(self, homes: str, m: int) -> str:
        """A sentence on households: whether `m` links cover them.

        A link is "if this person has it, so have I". `homes` names the columns of households.
        """
        needed = self.largest - 1  # one for each of the others
        covers = f"m = {m} covers"
        if m < needed:
            limit = percentage(_WORTH, 0, "up")
            covers = f"only m = {needed}, with which limits up to {limit} cannot be met, covers"
        sentence = (
            f"Up to {self.largest:,} {self.noun} share a value of {homes}. If these are "
            f"households, {covers} “if anybody in my household has it, so do I”. No m covers “we "
            "all have the same”"
        )
        if m >= needed:
            return sentence
        return (
            f"{DECIDE}: {sentence}. m = {m} covers households of up to {m + 1}. If the value of so "
            "many stands for no household, list it in missing, in [schema.reading]"
        )


def requirements_of(
    everyone: GroupCounts, profile: Profile, sizes: Sizes, rows: Rows
) -> tuple[list[Requirement], list[str], str]:
    """The requirements of a first policy, notes on them, and a question ("" if there is none).

    They are a limit that one group of everybody keeps with room, and k-anonymity. If people have
    several rows, the limit is about the sum over these, if that can be met: for all values, or else
    for those that are rare enough. If it cannot, the limit is about single rows.
    """
    for expected_rows in (1, rows.max_rows) if rows.people >= 2 else ():
        with suppress(DataError):  # no limit can be met
            return _requirements_on_rows(
                everyone, profile, sizes, rows, rows.max_rows, expected_rows
            )
    return _requirements_on_rows(everyone, profile, sizes, rows, max_rows=1)


def _requirements_on_rows(
    everyone: GroupCounts,
    profile: Profile,
    sizes: Sizes,
    rows: Rows,
    max_rows: int,
    expected_rows: int = 1,
) -> tuple[list[Requirement], list[str], str]:
    """The requirements of a first policy, notes on them, and a question.

    Parameters
    ----------
    everyone : GroupCounts
        All people in one group.
    profile : Profile
        The sensitive column.
    sizes : Sizes
        Those of households.
    rows : Rows
        Whether rows are people or their cases.
    max_rows : int
        How many rows of a person a limit is about.
    expected_rows : int
        Values that more than half of the people would have, with so many rows of each, have no
        limit.
    """
    n, labels = everyone.n_people, everyone.values
    if n < 2:
        raise DataError("the table has one person: whatever is published, is theirs")
    if np.count_nonzero(everyone.totals) < 2:
        raise DataError(f"everybody has the same {profile.name!r}: nothing can be hidden")
    strongest, question = None, ""
    # Many numbers or dates: values near each other are one secret, if such a limit can be met.
    if profile.kind in ("number", "date") and profile.distinct > FEW:
        width = "10%" if profile.kind == "number" else "30 days"
        if not rows.name:  # the sum over a person's rows is no limit within a width
            strongest = _strongest_limit(everyone, {"within": width}, sizes.links, max_rows)
        if strongest is None or strongest.limit > _WORTH:
            strongest = None
            question = (
                "each value is judged by itself, since no limit on near values (within) can be "
                "met. If it also harms to know a value roughly, publish ranges, or fewer values "
                "that many people share"
            )
    notes: list[str] = []
    if strongest is None:
        # Values that more than half of the people have: nobody could be kept unsure of these.
        is_common = 2 * expected_rows * everyone.totals > n
        common = {str(labels[code]): code for code in np.flatnonzero(is_common).tolist()}
        if len(common) < np.count_nonzero(everyone.totals):
            secret = {"excluded": [*common]}
            strongest = _strongest_limit(everyone, secret, sizes.links, max_rows)
        # Each value without a limit needs a note, so that its absence is a decision.
        if expected_rows > 1:
            notes.append(
                f"{DECIDE}: a person has up to {max_rows:,} rows, and a limit is about their sum. "
                f"Many have {', '.join(map(repr, common))}, so no release could keep that below "
                "one half: it is left out (except). For a limit on it, too, publish one row for "
                "each person"
            )
            common = {}
        for value, code in common.items():
            notes.append(
                f"{DECIDE}: {everyone.totals[code]:,} of {n:,} {rows.noun} have {value!r}, so no "
                "release can keep it below one half: it is left out (except). To protect it, too, "
                "delete the exception, and set a limit above this share"
            )
    if strongest is None:
        raise DataError(
            f"no limit on {profile.name!r} can be met for {people_text(n)} with "
            f"{some(len(labels), 'value', 'values')}; publish more people"
        )
    several = f", added up over {max_rows} rows of a person" if max_rows > 1 else ""
    notes.append(
        f"With everybody in one group, an adversary of this policy reaches "
        f"{percentage(strongest.reached, 2, 'up')} for {strongest.value!r}{several}, so the limit "
        "must be higher"
    )
    notes.append(_note_on_limit(strongest.limit, strongest.reached, rows, max_rows))
    requirement_on_size = Requirement(KAnonymity(min(FIRST_K, rows.people or n)))
    return [strongest.requirement, requirement_on_size], notes, question


def _note_on_limit(limit: Fraction, reached: Fraction, rows: Rows, max_rows: int) -> str:
    """A sentence on whether the limit can be met, and which is the strictest that can.

    `reached` is the chance that an adversary reaches with everybody in one group.
    """
    if rows.max_rows > max_rows:
        return (
            f"{DECIDE}: this policy cannot be met. Its limit is about one row, but a person has "
            f"up to {rows.max_rows:,} rows, whose probabilities are added up. Publish one row for "
            "each person; or limit only rare values that harm (values = [...]); or leave person "
            'out, and keep unit = "row": then verdicts are about rows, and not about people'
        )
    strictest = next(x for x in _LIMITS if x > reached)
    note = f"The strictest round limit that can be met is {toml_value(strictest)}"
    if strictest != limit:
        note += f"; {toml_value(limit)} allows smaller groups"
    return note


class _MetLimit(NamedTuple):
    """A requirement that one group of everybody meets."""

    requirement: Requirement
    limit: Fraction
    reached: Fraction  # the highest chance of an adversary, with everybody in one group
    value: str  # that this chance is of


def _strongest_limit(
    everyone: GroupCounts, secret: Mapping[str, Any], links: Sequence[int], max_rows: int
) -> _MetLimit | None:
    """The requirement against the most knowledge for which a limit is worth having; or None.

    Parameters
    ----------
    everyone : GroupCounts
        All people in one group.
    secret : mapping
        What must stay hidden, as settings of a requirement.
    links : sequence of int
        How many links households ask for; these are tried first.
    max_rows : int
        A person's chance is the sum over so many rows.
    """
    best = None
    n_values = np.count_nonzero(everyone.totals) - len(secret.get("excluded", ()))
    # Knowledge (l values ruled out, k other people known, m links), the most first.
    amounts = []
    for needed_links, (l, k, m) in product(links, _KNOWLEDGE):
        if needed_links > m:
            amounts.append((l, k, needed_links))
    for l, k, m in (*amounts, *_KNOWLEDGE):
        if l and n_values < 3:  # to rule out one of two values tells the other
            continue
        try:
            requirement = Requirement(Facts(l, k, m), 1, **secret)
            ((*disclosures,),) = requirement.count(everyone).disclosures()
        except (PolicyError, UnsupportedError):
            return None
        highest = worst(disclosures)
        reached = max_rows * _exactly(highest)
        if reached >= 1:
            continue
        # The strictest round limit whose odds are so many times those that are reached: this room
        # lets groups be smaller than everybody.
        limit = next(x for x in _LIMITS if x == 1 or _odds(x) >= _ROOM * _odds(reached))
        best = _MetLimit(replace(requirement, below=limit), limit, reached, str(highest.value))
        if limit <= _WORTH:  # worth having; else try with less knowledge
            break
    return best


def _exactly(disclosure: Disclosure) -> Fraction:
    fraction = disclosure.exact
    return Fraction(disclosure.probability) if fraction is None else fraction


def _odds(chance: Fraction) -> Fraction:
    return chance / (1 - chance)


def links_of(requirement: Requirement) -> int:
    """How many links the adversary of a first limit knows."""
    facts = requirement.points[0].adversary
    assert isinstance(facts, Facts)
    return facts.m


def lines_of_knowledge(requirement: Requirement) -> Iterator[str]:
    """Yield comments for a policy file on what the adversary of a first limit knows."""
    facts = requirement.points[0].adversary
    assert isinstance(facts, Facts)
    yield (
        f"# An adversary knows up to {facts.l} value{'s' * (facts.l != 1)} that a person does not "
        f"have (l), the values of"
    )
    yield (
        f"# up to {facts.k} other people (k), and {facts.m} link{'s' * (facts.m != 1)} (m): if "
        "that other person has it, so has this one."
    )
    width = requirement.secret.width
    if width is not None:
        yield f"# No value may be found out to within {width.given}."
