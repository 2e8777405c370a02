"""Lattice nodes as generalization functions: which rows of a table a node puts together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foreknow.anonymizers.rollup import Rollup
from foreknow.errors import InputError
from foreknow.jumping.functions import Function, renumber
from foreknow.microdata import Microdata


def groupings(functions: Sequence[Function], microdata: Microdata) -> list[tuple[int, ...]]:
    """Group of each person under each function.

    Parameters
    ----------
    functions : sequence of Function
        A tuple of one level per quasi-identifier is a lattice node: 0 is exact, 1 the first level
        of the hierarchy. Other numbers are the groups of the rows.
    microdata : Microdata

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.schema import Schema
    >>> rows = pa.table({"age": [21, 25, 38], "disease": ["Flu", "Cold", "Flu"]})
    >>> hierarchies = {"age": {"intervals": [10, 20]}}
    >>> schema = Schema(quasi_identifiers=["age"], sensitive="disease", hierarchies=hierarchies)
    >>> groupings([Function.of((1,)), Function.of([5, 6, 6])], Microdata(rows, schema))
    [(0, 0, 1), (0, 1, 1)]
    """
    rollup: Rollup | None = None
    found = []
    for function in functions:
        numbers = function.numbers
        if numbers is None:
            raise InputError(
                f"the function {function} names people; for a table with rows, give lattice nodes "
                "or the group of each row"
            )
        if function.tupled and len(numbers) == len(microdata.attributes):
            rollup = rollup or Rollup(microdata)
            found.append(_at_node(rollup, numbers))
        elif len(numbers) == microdata.n_rows:
            found.append(renumber(np.asarray(numbers)[microdata.kept].tolist()))
        else:
            raise InputError(
                f"a function has {len(numbers)} numbers: neither one level for each of the "
                f"{len(microdata.attributes)} quasi-identifiers, as a tuple, nor one group for "
                f"each of the {microdata.n_rows} rows"
            )
    return found


def _at_node(rollup: Rollup, node: tuple[int, ...]) -> tuple[int, ...]:
    for attribute, level, top in zip(rollup.attributes, node, rollup.tops, strict=True):
        if not 0 <= level <= top:
            raise InputError(f"{attribute.name!r} has the levels 0 (exact) to {top}, not {level}")
    view = rollup.view(node)
    return renumber(rollup.spread(node, np.arange(view.n_groups)).tolist())
