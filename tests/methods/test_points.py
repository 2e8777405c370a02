"""What searches count: the distinct combinations of a table, and any part of some groups."""

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.diagnoses import SEMANTICS, diagnoses
from tests.examples import examples
from tests.methods.tables import cases, crowds
from tests.methods.tables import microdata as table_of

import foreknow as fk
from foreknow.data import arrays, microdata
from foreknow.data.arrays import Keys, nearly_all_differ
from foreknow.methods import points as points_module
from foreknow.methods.mondrian import levels
from foreknow.methods.mondrian.levels import Choice, Level
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


@examples(60)
@given(case=cases(most_rows=20))
def test_points_are_distinct_combinations(case):
    points = check(case.microdata())
    assert points.weights.sum() == points.times.sum()  # one value each
    points = check(table_of([1, 1, 2, 3], ["s", None, "t", None], missing="drop"))
    assert points.weights.tolist() == [1, 1]


@pytest.mark.parametrize("exponent", [30, 31, 32, 61, 62, 63, 64])
def test_limits_of_whole_numbers(exponent):
    """Columns of exactly 2 values each: the combinations number 2**exponent with values."""
    random = np.random.default_rng(exponent)
    columns = {f"q{i:02d}": random.integers(0, 2, 50) for i in range(exponent - 1)}
    for column in columns.values():
        column[:2] = (0, 1)
    check(table_of(columns, "st" * 25))


@examples(60)
@given(
    people=st.integers(20, 60),
    seed=st.integers(0, 99),
    semantics=st.sampled_from(SEMANTICS),
    listed=st.booleans(),
    names=st.sampled_from([["sex"], ["age", "sex"], ["age", "sex", "zip"]]),
)
def test_points_hold_all_values(people, seed, semantics, listed, names):
    roles = fk.Schema(
        quasi_identifiers=names, sensitive="diagnosis", person="person", semantics=semantics
    )
    check(fk.Microdata(diagnoses(people, seed, semantics=semantics, listed=listed), roles))


# ---- tally: whatever part of some groups is asked for --------------------------------------------


def same(counts, groups, semantics):
    """Whether counts are exactly those of some (people, Counter), values by label."""
    assert counts.semantics == semantics
    assert counts.sizes.tolist() == [size for size, _ in groups]
    assert [counts.bag(g) for g in range(counts.n_groups)] == [dict(bag) for _, bag in groups]


@examples(180)
@given(data=st.data(), crowd=crowds(), block=st.sampled_from([1, 3, 1 << 20]))
def test_children_of_a_level(data, crowd, block):
    raw = crowd.microdata(0)
    points, n = Points.of(raw), data.draw(st.integers(1, 4))
    child = data.draw(st.lists(st.integers(-1, n - 1), min_size=len(points), max_size=len(points)))
    used = sorted(set(child) - {-1})
    child = np.array([-1 if c < 0 else used.index(c) for c in child])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "_BLOCK", block)
        level = Level(points, raw, Choice(1))
        counts, everyone = level.counts_of(child, len(used)), level.everyone()
    same(everyone, [crowd.bag(crowd.everyone)], crowd.semantics)
    of_row = raw.rows_of(points.spread(child)).tolist()
    of_person = {p: c for (p, _), c in zip(crowd.entries(0), of_row, strict=True)}
    groups = [crowd.bag([p for p, c in of_person.items() if c == g]) for g in range(len(used))]
    same(counts, groups, crowd.semantics)


@pytest.mark.parametrize(
    ("semantics", "spots", "sparse"),
    [("single", 500, True), ("set", 10, False), ("multiset", 500, True), ("multiset", 10, False)],
)
def test_sparse_and_dense_tallies(semantics, spots, sparse):
    chance = np.random.default_rng(spots)
    ages = [*range(spots), *chance.integers(0, spots, 600 - spots).tolist()]
    held = [chance.choice(400, 1 if semantics == "single" else p % 4, False) for p in range(600)]
    held = [[*values, *values[: 2 * (semantics == "multiset")]] for values in held]
    entries = [(p, v) for p, values in enumerate(held) for v in values or [None]]
    columns = {
        "age": [ages[p] for p, _ in entries],
        "pid": [f"person {p}" for p, _ in entries],
        "disease": [v if v is None else f"d{v:03d}" for _, v in entries],
    }
    several = {} if semantics == "single" else {"semantics": semantics, "person": "pid"}
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease", **several)
    raw = fk.Microdata(pa.table(columns), schema)
    # Every fifth spot is left out; the others are groups from 0.
    kept, child = [spot for spot in range(spots) if spot % 5], np.full(spots, -1)
    child[kept] = np.arange(len(kept))
    tally = Level(Points.of(raw), raw, Choice(1)).tally_of(child, len(kept))
    assert (tally.table is None) == sparse
    groups = [(ages.count(spot), Counter()) for spot in kept]
    for p, values in enumerate(held):
        if child[ages[p]] >= 0:
            groups[child[ages[p]]][1].update(f"d{v:03d}" for v in values)
    for start, stop in [(0, len(kept)), (1, len(kept)), (2, 5)]:
        same(tally.part(start, stop), groups[start:stop], semantics)


# ---- tables of which next to no rows are equal are not merged ------------------------------------


@pytest.mark.parametrize("sizes", [(3, 5), (40, 70), (2**20, 2**20), (2**25, 2**25, 2**25)])
@pytest.mark.parametrize("weighed", [False, True])
def test_keys_count_rows(sizes, weighed):
    random = np.random.default_rng(sum(sizes))
    few, at = [random.integers(0, size, 60) for size in sizes], random.integers(0, 60, 400)
    columns = [column[at] for column in few]
    weights = random.integers(1, 9, 400) if weighed else None
    keys = Keys(columns, sizes)
    rows, times = keys.counted(weights)
    want, place = np.unique(np.stack(columns), axis=1, return_inverse=True)
    np.testing.assert_array_equal(np.stack(keys.codes(rows)), want)
    np.testing.assert_array_equal(times, np.bincount(place.reshape(-1), weights))
    np.testing.assert_array_equal(keys.spread(np.arange(len(rows)) * 3), place.reshape(-1) * 3)


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
def test_a_part_says_whether_rows_differ(columns, differ):
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
