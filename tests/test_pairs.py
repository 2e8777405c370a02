"""Pairs are counted however they are told apart: in a table, or sorted by few bits at a time."""

import numpy as np
import pytest

from foreknow.data import arrays
from foreknow.data.arrays import count_pairs


@pytest.mark.parametrize("n_columns", [3, 70_000, 2**33])
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("block", [1 << 18, 1000])
def test_pairs_are_counted_however_many_bits_they_have(monkeypatch, n_columns, weighed, block):
    monkeypatch.setattr(arrays, "_BLOCK", block)
    random = np.random.default_rng(n_columns)
    n_rows, n = 5000, 4000
    rows, columns = random.integers(0, n_rows, n), random.integers(0, n_columns, n)
    rows, columns = np.repeat(rows, 2), np.repeat(columns, 2)
    weights = random.integers(1, 9, 2 * n) if weighed else None
    offsets, found, counts = count_pairs(rows, columns, n_rows, n_columns, weights)
    expected: dict[tuple[int, int], int] = {}
    for row, column, weight in zip(
        rows.tolist(), columns.tolist(), np.ones(2 * n) if weights is None else weights, strict=True
    ):
        expected[row, column] = expected.get((row, column), 0) + int(weight)
    row_of = np.repeat(np.arange(n_rows), np.diff(offsets)).tolist()
    told = dict(zip(zip(row_of, found.tolist(), strict=True), counts.tolist(), strict=True))
    assert told == expected
    assert [*told] == sorted(expected)
