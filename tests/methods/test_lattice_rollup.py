"""Counts that are rolled up from finer nodes equal those counted from the rows."""

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.methods.tables import cases, crowds

import foreknow as fk
from foreknow.data import arrays
from foreknow.methods.fulldomain import rollup as rollup_module
from foreknow.methods.fulldomain.rollup import Rollup


def from_rows(microdata, rollup, node):
    """Group of each person by the nodes of their values, groups in lexicographic order; counted."""
    keys = np.stack(
        [
            rollup.levels[a][level][attribute.codes]
            for a, (attribute, level) in enumerate(zip(microdata.attributes, node, strict=True))
        ]
    )
    codes, groups = np.unique(keys, axis=1, return_inverse=True)
    return codes, microdata.counts(groups.reshape(-1)), groups.reshape(-1)


def check(microdata, rollup, node, keep=True):
    codes, counts, groups = from_rows(microdata, rollup, node)
    view = rollup.view(node)
    assert view.levels == node
    assert view.counts == counts
    for own, expected in zip(view.codes, codes, strict=True):
        assert own.tolist() == expected.tolist()
    assert rollup.spread(node, np.arange(view.counts.n_groups)).tolist() == groups.tolist()
    if keep:
        rollup.cache.add(view)


@examples(150)
@given(data=st.data(), table=st.one_of(cases(), crowds()))
def test_any_order_of_nodes(data, table):
    microdata = table.microdata()
    rollup = Rollup(microdata)
    levels = st.tuples(*(st.integers(0, top) for top in rollup.tops))
    for node in data.draw(st.lists(levels, min_size=1, max_size=8)):
        check(microdata, rollup, node)


def wide(rows, columns, values, seed=0):
    """A table with many values in many columns."""
    random_ = np.random.default_rng(seed)
    names = [f"q{i}" for i in range(columns)]
    table = {name: pa.array(random_.integers(0, values, rows)) for name in names}
    table["disease"] = pa.array([f"d{i}" for i in random_.integers(0, 9, rows)])
    hierarchies = {name: fk.Intervals([10, 100]) for name in names}
    schema = fk.Schema(quasi_identifiers=names, sensitive="disease", hierarchies=hierarchies)
    return fk.Microdata(pa.table(table), schema)


@pytest.mark.parametrize(
    "shape",
    [
        (3000, 2, 12),  # all combinations fit into one table
        (3000, 6, 200),  # a key per row
        (500, 12, 1000),  # too many combinations for one number
    ],
)
def test_tables_of_every_size(shape):
    microdata = wide(*shape)
    rollup = Rollup(microdata)
    draw = random.Random(1)
    for _ in range(12):
        check(microdata, rollup, tuple(draw.randint(0, top) for top in rollup.tops))
    check(microdata, rollup, rollup.tops)
    check(microdata, rollup, tuple(0 for _ in rollup.tops))


def test_blocks_of_rows_are_seamless(monkeypatch):
    monkeypatch.setattr(arrays, "_BLOCK", 100)
    microdata = wide(1234, 2, 12)
    rollup = Rollup(microdata)
    for node in [(0, 0), (1, 0), (2, 1), (3, 1)]:
        check(microdata, rollup, node)


def test_memory_is_bounded_and_the_finest_node_stays(monkeypatch):
    monkeypatch.setattr(rollup_module, "_KEPT", 1 << 15)
    microdata = wide(4000, 4, 30)
    rollup = Rollup(microdata)
    finest = len(rollup.finest.counts.codes)
    for node in np.ndindex(3, 3, 3, 3):
        check(microdata, rollup, node)
        largest = rollup.view(node).n_cells
        assert rollup.cache.n_cells <= 8 * max(finest, 1 << 12) + largest
        assert rollup.view((0, 0, 0, 0)) is rollup.finest
    assert len(rollup.cache) < 81


def test_it_rolls_up_from_the_smallest_finer_node():
    rollup = Rollup(wide(3000, 3, 60))
    for node in [(1, 0, 0), (1, 1, 1), (0, 2, 2)]:
        rollup.cache.add(rollup.view(node))
    assert rollup.cache.smallest_finer((2, 1, 1)).levels == (1, 1, 1)
    assert rollup.cache.smallest_finer((1, 1, 0)).levels == (1, 0, 0)
    assert rollup.cache.smallest_finer((0, 2, 3)).levels == (0, 2, 2)
    assert rollup.cache.smallest_finer((0, 1, 1)).levels == (0, 0, 0)
