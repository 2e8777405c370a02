"""Tables of which next to no rows are equal are not merged: who is in which group stays."""

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.data import arrays, microdata
from foreknow.data.arrays import Keys, nearly_all_differ
from foreknow.methods import points


@pytest.mark.parametrize("sizes", [(3, 5), (40, 70), (2**20, 2**20), (2**25, 2**25, 2**25)])
@pytest.mark.parametrize("weighed", [False, True])
def test_rows_are_counted_in_order_and_get_what_belongs_to_their_number(sizes, weighed):
    random = np.random.default_rng(sum(sizes))
    few = [random.integers(0, size, 60) for size in sizes]
    at = random.integers(0, 60, 400)
    columns = [column[at] for column in few]
    weights = random.integers(1, 9, 400) if weighed else None
    keys = Keys(columns, sizes)
    found, times = keys.counted(weights)
    want, place = np.unique(np.stack(columns), axis=1, return_inverse=True)
    np.testing.assert_array_equal(np.stack(keys.codes(found)), want)
    np.testing.assert_array_equal(times, np.bincount(place.reshape(-1), weights))
    np.testing.assert_array_equal(keys.spread(np.arange(len(found)) * 3), place.reshape(-1) * 3)


@pytest.mark.parametrize(
    ("columns", "differ"),
    [
        ([np.arange(300_000)], True),
        ([np.arange(300_000) // 2], False),
        ([np.arange(300_000) % 1000, np.arange(300_000) // 1000], True),
        ([np.arange(300_000) % 100, (np.arange(300_000) % 200).astype(np.uint8)], False),
        ([(np.arange(300_000) >> at & 1).astype(np.uint8) for at in range(70)], True),
        ([np.arange(1000)], False),  # so few are merged in any case
    ],
)
def test_whether_rows_differ_is_told_by_a_part_of_them(columns, differ):
    assert nearly_all_differ(columns) is differ


def table(n):
    random = np.random.default_rng(n)
    return pa.table({
        "id": np.arange(n),
        "age": random.integers(0, 60, n),
        "zip": random.integers(0, 300, n),
        "ill": [f"d{x}" for x in random.geometric(0.2, n).clip(max=12)],
    })  # fmt: skip


def members(monkeypatch, differ, method, form):
    monkeypatch.setattr(points, "nearly_all_differ", lambda columns: differ)
    monkeypatch.setattr(microdata, "nearly_all_differ", lambda columns: differ)
    monkeypatch.setattr(arrays, "_BLOCK", 500)
    schema = fk.Schema(identifiers=["id"], quasi_identifiers=["age", "zip"], sensitive="ill")
    policy = fk.Policy([fk.Requirement(fk.Facts(2, 4, 1), below="1/2")], schema)
    made = fk.publish(table(3000), policy, method=method, form=form, seed=1)
    rows = pa.concat_tables(made.placed.members())
    labels = [name for name in rows.column_names if name in ("age", "zip", "group")]
    return made.audit, rows.select(["id", *labels]).to_pydict()


@pytest.mark.parametrize("method", [fk.Mondrian(), fk.Mondrian(suppression=0.05), fk.FullDomain()])
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_the_same_people_are_in_the_same_groups(monkeypatch, method, form):
    if form == "bucketized" and method != fk.Mondrian():
        pytest.skip("only of groups as they are")
    merged, of_merged = members(monkeypatch, False, method, form)
    apart, of_each = members(monkeypatch, True, method, form)
    assert of_merged == of_each
    assert merged.verdicts == apart.verdicts or repr(merged.verdicts) == repr(apart.verdicts)
