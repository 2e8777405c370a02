"""Which thresholds of a group are candidates: of all there are, those that divide most evenly."""

import random

import numpy as np
import pytest
from tests.methods.tables import microdata

from foreknow.methods.mondrian.cuts import cuts_of


@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_most_even_thresholds_of_all_are_the_candidates(most):
    chance = random.Random(most)
    for _ in range(150):
        size, n_groups = chance.randint(1, 14), chance.randint(1, 3)
        attribute = microdata(list(range(size)), ["s"] * size).attributes[0]
        rows = [
            (g, chance.randrange(size), chance.choice([1, 1, 2, 9, 40]))
            for g in range(n_groups)
            for _ in range(chance.randint(1, 20))
        ]
        node, codes, people = (np.array(column) for column in zip(*rows, strict=True))
        found = cuts_of(attribute, codes, node, people, n_groups, most)
        for g in range(n_groups):
            own = [(code, many) for group, code, many in rows if group == g]
            total = sum(many for _, many in own)
            every = sorted({code for code, _ in own})[:-1]
            unevenness = {
                last: abs(2 * sum(many for code, many in own if code <= last) - total)
                for last in every
            }
            expected = sorted(every, key=lambda last: (unevenness[last], last))[:most]
            there = np.isfinite(found.gain[g])
            assert found.cut_code[g][there].tolist() == expected
