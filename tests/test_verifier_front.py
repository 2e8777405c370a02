"""The front of cells that the verifier judges: nothing worse than these is left out."""

import numpy as np
import pytest
from tests.examples import NIGHTLY

from foreknow_judge.facts import DistinctProfiles


@pytest.mark.parametrize("columns", [3, 4, 5])
def test_it_leaves_out_what_something_else_dominates(columns):
    rng = np.random.default_rng(columns)
    left = of = 0
    for _ in range(20_000 if NIGHTLY else 400):
        rows = rng.integers(0, rng.integers(2, 9), (rng.integers(0, 40), columns + 1))
        rows[:, 0] %= 3
        cells = rng.permutation(np.unique(rows, axis=0))
        every = [(value, (-people, *more)) for value, people, *more in cells.tolist()]
        dominated = {
            (value, own)
            for value, own in every
            for also, other in every
            if value == also and own != other and all(map(int.__le__, own, other))
        }
        profiles = DistinctProfiles(cells[:, 0], np.arange(len(cells)), cells[:, 1:])
        found = [
            (value, (-cell.people, cell.holders, *cell.others))
            for value, front in profiles.front()
            for cell in front
        ]
        assert len({*found}) == len(found)
        assert {*every} - {*found} <= dominated
        for value, cell in found:  # nor is any kept that another one beats in two columns alone
            beaten = [
                more
                for also, more in found
                if also == value and more != cell and all(map(int.__le__, more, cell))
            ]
            assert all(sum(map(int.__ne__, more, cell)) > 2 for more in beaten)
        left, of = left + len(found), of + len(every)
    assert left < of
