"""What groups have in common, told from their ends, beside what a look at each member says."""

import numpy as np
import pytest

from foreknow.data.generalization import coarsened
from foreknow.data.microdata import Attribute


def attribute(codes, size, null, dtype, ancestors=()):
    domain = [None, *range(1, size)] if null else [*range(size)]
    labels = tuple(tuple(f"n{j}" for j in range(int(own.max()) + 1)) for own in ancestors)
    places = np.arange(size, dtype=np.float64)
    return Attribute("age", codes.astype(dtype), domain, "ordered", ancestors, labels, places)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64])
@pytest.mark.parametrize("null", [False, True])
def test_ranges_are_those_of_members(dtype, null):
    random = np.random.default_rng(int(null))
    for _ in range(60):
        size, n_groups = int(random.integers(1, 9)), int(random.integers(1, 7))
        groups = np.concatenate([np.arange(n_groups), random.integers(0, n_groups, 20)])
        codes = random.integers(0, size, len(groups))
        floor = random.integers(0, 2, n_groups)
        found = coarsened(attribute(codes, size, null, dtype), groups, n_groups, "range", floor)
        assert sorted(set(found.meanings)) == found.meanings
        for group in range(n_groups):
            own = codes[groups == group].tolist()
            known = [code for code in own if code or not null]
            null_too = int(null and 0 in own and bool(known))
            expected = (null_too, min(known or own), max(own)) if not floor[group] else ()
            assert found.meanings[found.of_group[group]] == expected


def test_nodes_are_the_lowest_that_hold_all_members():
    random = np.random.default_rng(3)
    above = (np.array([0, 0, 1, 1, 2, 2]), np.zeros(6, dtype=np.int64))
    for _ in range(40):
        groups = np.concatenate([np.arange(5), random.integers(0, 5, 6)])
        codes = random.integers(0, 6, len(groups))
        found = coarsened(attribute(codes, 6, False, np.uint8, above), groups, 5, "hierarchy")
        for group in range(5):
            own = codes[groups == group]
            levels = (np.arange(6), *above)
            level = next(j for j, nodes in enumerate(levels) if len(set(nodes[own])) == 1)
            expected = (level, int(levels[level][own[0]]))
            assert found.meanings[found.of_group[group]] == expected
