"""Named people: a worst case in which people have names, for the owner of the table only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import FactsWitness
from foreknow.call_hints import Plain
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels.labels import Label
from foreknow.data.labels.windows import Window
from foreknow.data.release import Release
from foreknow.errors import InternalError, refuse_other_type
from foreknow.features import load
from foreknow.result_pages import page_of
from foreknow.shown_numbers import significant
from foreknow_judge.errors import InputError


@dataclass(frozen=True, repr=False)
class NamedWitness(Plain):
    """A worst case with the names of its people; for the owner of the table only.

    Attributes
    ----------
    target : label
        The person who is found out, and really has the value.
    value : label
        The sensitive value of the target.
    probability : float
        `exact` as a float.
    exact : Fraction
        The probability of the value for an adversary who knows the statements.
    ruled_out : tuple of labels
        Under ``single``, values that the target does not have. Under ``set`` and ``multiset``,
        values that the target has only together with `value`.
    known : tuple of (person, value)
        Under ``single``, other people and their values. Under ``set`` and ``multiset``, people
        who do not have `value`.
    relatives : tuple of labels
        People linked to the target: if one of them has the value, so does the target.
    semantics : {"single", "set", "multiset"}
        How many values a person may have.
    untrue : tuple of str
        Statements that do not hold in the table. They occur only under ``multiset``, where in the
        worst case fewer people may have the value, each more often.
    """

    _json_fields = "target value probability exact semantics statements untrue"

    target: Label
    value: Label
    probability: float
    exact: Fraction
    ruled_out: tuple[Label, ...]
    known: tuple[tuple[Label, Label], ...]
    relatives: tuple[Label, ...]
    semantics: Semantics
    untrue: tuple[str, ...] = ()

    @property
    def statements(self) -> tuple[str, ...]:
        """The facts that the adversary knows, in the language of `Statements`.

        The target lacks some values, other people have (or lack) known values, and relatives are
        linked: if one of them has the value, so does the target.
        """
        return tuple(_KNOWLEDGE[self.semantics].statements(self))

    def sentence(self) -> str:
        """The worst case as text; long lists are cut."""
        return page_of(self).headline

    def __repr__(self) -> str:
        n_statements = len(self.statements)
        return (
            f"NamedWitness({self.target!r} has {self.value!r}: "
            f"{significant(self.probability)} given {n_statements} "
            f"statement{'' if n_statements == 1 else 's'})"
        )

    def _repr_html_(self) -> str:
        return page_of(self).summary()

    def __rich__(self) -> Any:
        return page_of(self)


def name_people(release: Release, disclosure: Disclosure) -> NamedWitness:
    """Name the people of a worst case: who is found out, and through facts about which people.

    The result is for the owner of the table: it takes the first people who fit, and no report or
    certificate contains it.

    Parameters
    ----------
    release : Release
        A release with a column that names people, and a row for each value that a person has.
    disclosure : Disclosure
        A disclosure of this release to an adversary with `Facts`.

    Raises
    ------
    InputError
        If the release names nobody or does not say who has which value, or if the disclosure is not
        one of this release.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.adversaries.facts.facts import Facts
    >>> names, values = ["Ed", "Frank", "Gary", "Tom"], ["Flu", "Cancer", "Flu", "AIDS"]
    >>> table = pa.table({"name": names, "group": [1] * 4, "disease": values})
    >>> release = Release.from_groups(table, group="group", sensitive="disease", person="name")
    >>> named = name_people(release, Facts(l=1, k=1).disclosure(release, "AIDS"))
    >>> named.statements, named.exact
    (('Tom != Flu', 'Frank = Cancer'), Fraction(1, 1))
    """
    hint = ": counts name nobody; see Release.from_groups(..., person=...)"
    refuse_other_type(release, Release, "a Release", hint)
    refuse_other_type(disclosure, Disclosure, "a Disclosure of Facts")
    witness = disclosure.witness
    if disclosure.probability == 0 and witness is None:
        raise InputError(f"nobody has {disclosure.value!r}, so there is nobody to name")
    if not isinstance(witness, FactsWitness):
        raise InputError("only what Facts disclose can be named")
    if isinstance(witness.value, Window):
        raise InputError(
            "a window is no value of a person; name the people of a disclosure of one value"
        )
    _refuse_of_another_release(release.counts, witness)
    people = _PeopleToChoose(release)
    value, knowledge = witness.value, _KNOWLEDGE[witness.semantics]
    (target,) = people.choose(witness.target_position, 1, has=value)
    # Known people take values from the worst case's group; each person is chosen only once.
    holdings: list[tuple[Label, Label]] = []
    untrue: list[str] = []
    for known_value, n_people in witness.known.items():
        chosen, others = knowledge.choose(people, witness.known_position, n_people, known_value)
        untrue += [_lacks(person, known_value) for person in others]
        holdings += [(person, known_value) for person in (*chosen, *others)]
    relatives = people.choose(witness.family_position, witness.family)
    if (len(holdings), len(relatives)) != (sum(witness.known.values()), witness.family):
        raise InternalError("the worst case needs more people than its groups have")
    return NamedWitness(
        target=target,
        value=value,
        probability=disclosure.probability,
        exact=cast("Fraction", disclosure.exact),  # facts always have one
        ruled_out=witness.ruled_out,
        known=tuple(holdings),
        relatives=tuple(relatives),
        semantics=witness.semantics,
        untrue=tuple(untrue),
    )


class _PeopleToChoose:
    """The people of a release, each of whom can be chosen once."""

    def __init__(self, release: Release) -> None:
        self._members, self._holdings = release.members, release.holdings
        self._codes = release.counts.values.codes
        self._free = np.ones(len(self._members), dtype=bool)

    def choose(
        self,
        group: int | None,
        n_people: int,
        *,
        has: Label | None = None,
        lacks: Label | None = None,
    ) -> list[Label]:
        """The first members of a group that fit and are not chosen yet, at most `n_people`.

        `has` and `lacks` are values that they must, or must not, have; None: any. No group (None):
        nobody.
        """
        if group is None or not n_people:
            return []
        is_fitting = self._free & (self._members.groups == group)
        if has is not None:
            is_fitting &= self._holders(has)
        if lacks is not None:
            is_fitting &= ~self._holders(lacks)
        chosen = np.flatnonzero(is_fitting)[:n_people]
        self._free[chosen] = False
        return [self._members.names[i] for i in chosen.tolist()]

    def _holders(self, value: Label) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """True for each member of the release who has the value."""
        holders = np.zeros(len(self._members), dtype=bool)
        holders[self._holdings.people[self._holdings.values == self._codes[value]]] = True
        return holders


class _OfOneValue:
    """The knowledge about people who have one value each."""

    def statements(self, named: NamedWitness) -> Iterator[str]:
        """Yield the facts: values that the target lacks, values of others, and links."""
        target, value = _quote(named.target), _quote(named.value)
        for other_value in named.ruled_out:
            yield f"{target} != {_quote(other_value)}"
        for person, has in named.known:
            yield f"{_quote(person)} = {_quote(has)}"
        for person in named.relatives:
            yield f"{_quote(person)} = {value} -> {target} = {value}"

    def choose(
        self, people: _PeopleToChoose, group: int | None, n_people: int, value: Label
    ) -> tuple[list[Label], list[Label]]:
        """People known to have a value, and nobody of whom that is untrue."""
        return people.choose(group, n_people, has=value), []


class _OfSeveralValues(_OfOneValue):
    """The knowledge about people who may have several values: that others lack one."""

    def statements(self, named: NamedWitness) -> Iterator[str]:
        """Yield the facts: values that the target has with this one only, who lacks it, links."""
        target, value = _quote(named.target), _quote(named.value)
        for other_value in named.ruled_out:
            yield f"{_quote(other_value)} in {target} -> {value} in {target}"
        for person, _ in named.known:
            yield _lacks(person, named.value)
        for person in named.relatives:
            yield f"{value} in {_quote(person)} -> {value} in {target}"

    def choose(
        self, people: _PeopleToChoose, group: int | None, n_people: int, value: Label
    ) -> tuple[list[Label], list[Label]]:
        """People who lack a value and, if these are too few, others of whom that is untrue."""
        chosen = people.choose(group, n_people, lacks=value)
        return chosen, people.choose(group, n_people - len(chosen))


_KNOWLEDGE: dict[Semantics, _OfOneValue] = {
    "single": _OfOneValue(),
    "set": _OfSeveralValues(),
    "multiset": _OfSeveralValues(),
}


def _refuse_of_another_release(counts: GroupCounts, witness: FactsWitness) -> None:
    """Raise `InputError` if a witness (a worst case) is not one of this release.

    The target, the known people and the linked people each come from a group; a position that is
    None is not used.
    """
    is_same = witness.semantics == counts.semantics and witness.value in counts.values.codes
    for position, label in (
        (witness.target_position, witness.target_group),
        (witness.known_position, witness.known_group),
        (witness.family_position, witness.family_group),
    ):
        if is_same and position is not None:
            is_same = position < counts.n_groups and counts.group_label(position) == label
    if not is_same:
        raise InputError("the disclosure is not one of this release; ask the release itself")


def _lacks(person: Label, value: Label) -> str:
    return f"{_quote(value)} not in {_quote(person)}"


def _quote(label: Label) -> str:
    return str(load("foreknow.features.statements.formulas:quoted")(str(label)))
