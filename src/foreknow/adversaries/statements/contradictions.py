"""Contradictions: which statements cannot hold together, as few as possible, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from foreknow.adversaries.statements.formulas import Formula, Has, Not
from foreknow.adversaries.statements.grounding import Ground
from foreknow.errors import ContradictionError

# Whether statements, by place, can hold together; None where that is out of reach.
Possible: TypeAlias = Callable[[Sequence[int]], "bool | None"]


def contradiction(
    ground: Ground, statements: Sequence[Formula], suspects: Sequence[int], possible: Possible
) -> ContradictionError:
    """Say which of some statements that cannot all hold are to blame.

    Parameters
    ----------
    ground : Ground
    statements : sequence of Formula
    suspects : sequence of int
        Places of statements that cannot hold together, ascending.
    possible : function of places
    """
    for i in suspects:
        if possible([i]) is False:
            reason = _reason(ground, statements[i])
            return ContradictionError(
                f"statement {i + 1} cannot hold in this release: {statements[i]}{reason}", (i,)
            )
    few, certain = _fewest(suspects, possible)
    *others, last = [f"{i + 1} ({statements[i]})" for i in few]
    noun = "statement" if len(others) == 1 else "statements"
    listed = " and ".join([", ".join(others[:-1]), others[-1]] if others[1:] else others)
    if certain:
        message = f"statement {last} contradicts {noun} {listed}"
    else:
        message = f"statements {listed} and {last} cannot hold together"
    return ContradictionError(message, tuple(few))


def _fewest(suspects: Sequence[int], possible: Possible) -> tuple[list[int], bool]:
    """Drop statements while the others still cannot hold; and whether no more can be dropped."""
    certain = True
    few = list(suspects)
    # The first ones that cannot hold, so that the last of them is the one to blame.
    low, high = 1, len(few)
    while low < high:
        middle = (low + high) // 2
        if possible(few[:middle]) is False:
            high = middle
        else:
            low = middle + 1
    few = few[:high]
    for i in few[:-1]:
        others = [j for j in few if j != i]
        answer = possible(others)
        if answer is False:
            few = others
        certain &= answer is not None
    return few, certain


def _reason(ground: Ground, formula: Formula) -> str:
    """Why a single statement cannot hold, where that is simple."""
    negated = isinstance(formula, Not)
    part = formula.part if isinstance(formula, Not) else formula
    if not isinstance(part, Has):
        return ""
    person = ground.people.of_text(part.person)
    group = ground.group_of(person)
    count = ground.counts.bag(group).get(ground.counts.values[ground.values.of_text(part.value)], 0)
    if not count and not negated:
        return f"; nobody in the group of {part.person} has {part.value}"
    if count == ground.counts.sizes[group] and negated and ground.counts.semantics != "multiset":
        return f"; everybody in the group of {part.person} has {part.value}"
    return "; the prior rules it out" if ground.prior else ""
