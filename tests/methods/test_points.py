"""What searches count: the distinct combinations of a table, and any part of some groups."""

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from tests.methods.tables import microdata as table_of

import foreknow as fk
from foreknow.data import arrays, microdata
from foreknow.data.arrays import nearly_all_differ
from foreknow.methods import points as points_module
from foreknow.methods.points import Points

# ---- points: the distinct combinations, the values at each, and back to rows --------------------


def check(raw):
    at = list(zip(*[attribute.codes.tolist() for attribute in raw.attributes], strict=True))
    if raw.schema.semantics == "single":
        held = list(enumerate(raw.sensitive_codes.tolist()))
    else:
        held = list(zip(raw.holdings.people.tolist(), raw.holdings.values.tolist(), strict=True))
    values = defaultdict(list)
    for person, value in held:
        values[at[person]].append(value)
    expected, people = sorted(set(at)), Counter(at)
    points = Points.of(raw)
    assert list(zip(*[codes.tolist() for codes in points.codes], strict=True)) == expected
    assert points.weights.tolist() == [people[point] for point in expected]
    assert points.cells.tolist() == [len(set(values[point])) for point in expected]
    assert (len(points.values), int(points.times.sum())) == (points.cells.sum(), len(held))
    ends = np.cumsum(points.cells).tolist()
    for point, start, end in zip(expected, [0, *ends], ends, strict=False):
        counted = list(zip(points.values[start:end], points.times[start:end], strict=True))
        assert counted == sorted(Counter(values[point]).items())
    marks = np.arange(len(expected)) * 3 - 1
    spread, place = points.spread(marks), {point: i for i, point in enumerate(expected)}
    assert spread.dtype == marks.dtype
    assert spread.tolist() == [int(marks[place[point]]) for point in at]
    return points


@pytest.mark.parametrize("exponent", [30, 31, 32, 61, 62, 63, 64])
def test_limits_of_whole_numbers(exponent):
    """Columns of exactly 2 values each: the combinations number 2**exponent with values."""
    random = np.random.default_rng(exponent)
    columns = {f"q{i:02d}": random.integers(0, 2, 50) for i in range(exponent - 1)}
    for column in columns.values():
        column[:2] = (0, 1)
    check(table_of(columns, "st" * 25))


# ---- tally: whatever part of some groups is asked for --------------------------------------------


def same(counts, groups, semantics):
    """Whether counts are exactly those of some (people, Counter), values by label."""
    assert counts.semantics == semantics
    assert counts.sizes.tolist() == [size for size, _ in groups]
    assert [counts.bag(g) for g in range(counts.n_groups)] == [dict(bag) for _, bag in groups]


# ---- tables of which next to no rows are equal are not merged ------------------------------------


MANY = np.arange(300_000)


@pytest.mark.parametrize(
    ("columns", "differ"),
    [
        ([MANY], True),
        ([MANY // 2], False),
        ([MANY % 1000, MANY // 1000], True),
        ([MANY % 100, (MANY % 200).astype(np.uint8)], False),
        ([(MANY >> at & 1).astype(np.uint8) for at in range(70)], True),
        ([np.arange(1000)], False),  # so few are merged in any case
    ],
)
def test_part_says_whether_rows_differ(columns, differ):
    assert nearly_all_differ(columns) is differ


@pytest.mark.parametrize(
    ("method", "form"),
    [
        (fk.Mondrian(), "bucketized"),
        (fk.Mondrian(suppression=0.05), "generalized"),
        (fk.FullDomain(), "generalized"),
    ],
)
def test_unmerged_rows_are_grouped_alike(monkeypatch, method, form):
    random, n = np.random.default_rng(3000), 2000
    table = pa.table({
        "id": np.arange(n),
        "age": random.integers(0, 60, n),
        "zip": random.integers(0, 300, n),
        "ill": [f"d{x}" for x in random.geometric(0.2, n).clip(max=12)],
    })  # fmt: skip
    schema = fk.Schema(identifiers=["id"], quasi_identifiers=["age", "zip"], sensitive="ill")
    policy = fk.Policy([fk.Requirement(fk.Facts(2, 4, 1), below="1/2")], schema)
    monkeypatch.setattr(arrays, "_BLOCK", 500)
    audits, people = [], []
    for differ in (False, True):
        for module in (points_module, microdata):
            monkeypatch.setattr(module, "nearly_all_differ", lambda columns, differ=differ: differ)
        made = fk.publish(table, policy, method=method, form=form, seed=1)
        rows = pa.concat_tables(made.placed.members())
        labels = [name for name in rows.column_names if name in ("age", "zip", "group")]
        audits.append(made.audit.verdicts)
        people.append(rows.select(["id", *labels]).to_pydict())
    assert people[0] == people[1]
    assert audits[0] == audits[1] or repr(audits[0]) == repr(audits[1])
