"""Random queries: as many values as the selectivity says, runs of orders, nulls never."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.methods.tables import cases

import foreknow as fk
from foreknow.utility.queries import draw_queries
from foreknow_judge.errors import DataError


@examples(300, deadline=None)
@given(
    case=cases(),
    selectivity=st.sampled_from([0.001, 0.05, 0.25, 0.81, 1.0]),
    ranges=st.booleans(),
    data=st.data(),
)
def test_each_query_asks_for_as_many_values_as_it_should(case, selectivity, ranges, data):
    names = data.draw(st.lists(st.sampled_from(case.names), min_size=1, unique=True))
    predicates = data.draw(st.integers(1, len(names)))
    microdata = case.microdata()
    known = {a.name: a for a in microdata.attributes}
    asking = {
        "queries": 20,
        "attributes": names,
        "predicates": predicates,
        "selectivity": selectivity,
        "ranges": ranges,
    }
    if any(known[name].domain == [None] for name in names):
        with pytest.raises(DataError, match="missing everywhere"):
            draw_queries(microdata, **asking)
        return
    drawn = draw_queries(microdata, **asking)
    assert [attribute.name for attribute in drawn.attributes] == names
    share = selectivity ** (1 / (predicates + 1))

    def width(size):
        return max(1, math.ceil(round(size * share, 9)))

    for q in range(20):
        restricted = 0
        for attribute, asked in zip(drawn.attributes, drawn.asked_values, strict=True):
            first = attribute.domain[0] is None
            size = len(attribute.domain) - first
            mine = np.flatnonzero(asked[:, q])
            if len(mine) == len(attribute.domain) and (first or width(size) < size):
                continue  # not asked about
            restricted += 1
            assert len(mine) == width(size)
            assert not (first and asked[0, q])
            if ranges and attribute.order == "ordered":
                assert mine[-1] - mine[0] == len(mine) - 1
        whole = sum(
            a.domain[0] is not None and width(len(a.domain)) == len(a.domain)
            for a in drawn.attributes
        )
        assert restricted - whole <= predicates <= restricted
        assert drawn.values[:, q].sum() == width(len(microdata.values))


def table(n=400):
    random = np.random.default_rng(2)
    columns = {f"q{i}": random.integers(0, 10, n) for i in range(3)}
    rows = pa.table({**columns, "s": random.integers(0, 10, n).astype(str)})
    return fk.Microdata(rows, fk.Schema(quasi_identifiers=list(columns), sensitive="s"))


def test_every_attribute_is_asked_about_equally_often_and_the_selectivity_is_met():
    drawn = draw_queries(table(), queries=3000, predicates=1)
    asked = [(~wanted.all(axis=0)).mean() for wanted in drawn.asked_values]
    assert asked == pytest.approx([1 / 3] * 3, abs=0.05)
    many = table(20_000)  # of independent values
    together = np.zeros(20_000, dtype=int)
    found = fk.query_error_of_groups(many, together, selectivity=0.0625, predicates=3)
    assert found.exact.mean() / 20_000 == pytest.approx(0.0625, rel=0.05)


def test_subsets_ask_for_every_value_equally_often_and_runs_start_everywhere():
    subsets = draw_queries(table(), queries=5000, ranges=False)
    for wanted in (*subsets.asked_values, subsets.values):
        assert wanted.mean(axis=1) == pytest.approx(np.full(10, 0.5), abs=0.04)
    runs = draw_queries(table(), queries=5000)
    firsts = np.bincount(runs.asked_values[0].argmax(axis=0), minlength=10) / 5000
    assert firsts == pytest.approx([1 / 6] * 6 + [0] * 4, abs=0.03)
