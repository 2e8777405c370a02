"""Jump seen: whether readers of a release can tell which function made it, where that matters."""

from __future__ import annotations

from collections.abc import Sequence

from foreknow.anonymizers.jump.nodes import AtLevels
from foreknow.errors import UnsupportedError
from foreknow.jumping.functions import Function
from foreknow.jumping.properties import Property


def refuse_lookalikes(
    name: str, functions: Sequence[Function], judged_by: Property, labelled: bool
) -> None:
    """Refuse functions whose releases may look alike, if the property is not known to be convex.

    A disclosure set is about one function. Whoever cannot tell which of several functions made a
    release is left with the tables of all of them: a mixture of sets that each have the property.
    It has the property, too, if that is convex; otherwise it may not.

    Parameters
    ----------
    name : str
        Of the algorithm.
    functions : sequence of Function
        With the group of each person.
    judged_by : Property
    labelled : bool
        Whether groups are published by labels alone. Those of lattice nodes tell who is in which
        group; those of other groups may be equal where the groups are not.

    Raises
    ------
    UnsupportedError
        Which names the functions.

    Examples
    --------
    >>> from foreknow.jumping.composed import Each
    >>> twice = [Function(numbers=(0, 0, 1, 1)), Function(numbers=(0, 0, 1, 1))]
    >>> refuse_lookalikes("Jump", twice, Each(lambda shares: len(shares) > 1), False)
    Traceback (most recent call last):
        ...
    foreknow.errors.UnsupportedError: Jump: g1 and g2 group people alike, so that a release does
    not tell which of them made it; with Each(...), which is not known to be convex, it might then
    tell more than was judged. Keep one of the two, or take a property that is convex
    """
    if judged_by.convex:
        return
    why = (
        f"with {judged_by!r}, which is not known to be convex, it might then tell more than was "
        "judged."
    )
    known: dict[tuple[int, ...] | None, int] = {}
    for i, function in enumerate(functions):
        j = known.setdefault(function.numbers, i)
        if j != i:
            raise UnsupportedError(
                f"{name}: g{j + 1} and g{i + 1} group people alike, so that a release does not "
                f"tell which of them made it; {why} Keep one of the two, or take a property that "
                "is convex"
            )
        if labelled and not isinstance(function, AtLevels):
            raise UnsupportedError(
                f"{name}: the labels of g{i + 1} = {function} may not tell who is in which group; "
                f"{why} Take lattice nodes, form = 'bucketized', or a property that is convex"
            )
