"""Counting pairs into compressed rows: dense and sorted ways agree, and memory stays sparse."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from foreknow.data import arrays
from foreknow.data.arrays import count_pairs

PAIRS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(1, 9)), min_size=1, max_size=16
)


def counted(monkeypatch, limit, pairs, weighted):
    """Count pairs with another limit for the dense way: 0 there means that sorting is used."""
    monkeypatch.setattr(arrays, "_DENSE_LIMIT", limit)
    rows, columns, weights = np.array(pairs, dtype=np.int64).reshape(-1, 3).T
    return [x.tolist() for x in count_pairs(rows, columns, 5, 7, weights if weighted else None)]


@examples(200)
@given(PAIRS, st.booleans())
def test_the_dense_and_the_sorted_way_agree_with_plain_counting(pairs, weighted):
    # 5 x 7 cells and at most 16 pairs: dense up to the limit, sorted when the limit is 0.
    with pytest.MonkeyPatch.context() as patch:
        dense = counted(patch, 1 << 16, pairs, weighted)
        by_sorting = counted(patch, 0, pairs, weighted)
    assert dense == by_sorting
    plain = Counter()
    for row, column, weight in pairs:
        plain[row, column] += weight if weighted else 1
    offsets, columns, counts = dense
    cells = sorted(plain)
    assert columns == [column for _, column in cells]
    assert counts == [plain[cell] for cell in cells]
    assert offsets == [sum(row < r for row, _ in cells) for r in range(6)]


def test_narrow_codes_do_not_overflow():
    rows = np.array([200, 255], dtype=np.uint8)
    columns = np.array([3, 65_535], dtype=np.uint16)
    offsets, found, counts = count_pairs(rows, columns, 256, 65_536)
    assert (found.tolist(), counts.tolist()) == ([3, 65_535], [1, 1])
    assert (offsets[200], offsets[201], offsets[256]) == (0, 1, 2)
