"""What Mondrian counts: the distinct combinations of a table, and any part of some groups."""

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
from foreknow.methods.mondrian import levels
from foreknow.methods.mondrian.levels import Choice, Level
from foreknow.methods.points import Points

# ---- points: the distinct combinations, the values at each, and back to rows --------------------


def check(microdata):
    at = list(zip(*[attribute.codes.tolist() for attribute in microdata.attributes], strict=True))
    if microdata.schema.semantics == "single":
        held = list(enumerate(microdata.sensitive_codes.tolist()))
    else:
        holdings = microdata.holdings
        held = list(zip(holdings.people.tolist(), holdings.values.tolist(), strict=True))
    values = defaultdict(list)
    for person, value in held:
        values[at[person]].append(value)
    expected, people = sorted(set(at)), Counter(at)
    points = Points.of(microdata)
    assert list(zip(*[codes.tolist() for codes in points.codes], strict=True)) == expected
    assert points.weights.tolist() == [people[point] for point in expected]
    assert points.cells.tolist() == [len(set(values[point])) for point in expected]
    assert (len(points.values), int(points.times.sum())) == (points.cells.sum(), len(held))
    ends = np.cumsum(points.cells).tolist()
    for point, start, end in zip(expected, [0, *ends], ends, strict=False):
        own = sorted(Counter(values[point]).items())
        assert list(zip(points.values[start:end], points.times[start:end], strict=True)) == own
    marks = np.arange(len(expected)) * 3 - 1
    spread, place = points.spread(marks), {point: i for i, point in enumerate(expected)}
    assert spread.dtype == marks.dtype
    assert spread.tolist() == [int(marks[place[point]]) for point in at]
    return points


@examples(60)
@given(case=cases(most_rows=20))
def test_points_are_the_distinct_combinations_and_spread_goes_back(case):
    points = check(case.microdata())
    assert points.weights.sum() == points.times.sum()  # one value each


@examples(25)
@given(
    widths=st.lists(st.integers(1, 300), min_size=1, max_size=12),
    rows=st.integers(1, 400),
    seed=st.integers(0, 2**32),
)
def test_points_of_many_wide_columns(widths, rows, seed):
    random = np.random.default_rng(seed)
    again = random.integers(0, rows, rows)  # rows are repeated, so that points have several people
    columns = [random.integers(0, width, rows) for width in widths]
    columns = {f"q{i}": np.concatenate([c, c[again]]) for i, c in enumerate(columns)}
    check(table_of(columns, [f"d{v}" for v in random.integers(0, 5, 2 * rows)]))


@pytest.mark.parametrize("exponent", [30, 31, 32, 61, 62, 63, 64])
def test_points_around_the_limits_of_whole_numbers(exponent):
    """Columns of exactly 2 values each: the combinations number 2**exponent with values."""
    random = np.random.default_rng(exponent)
    columns = {f"q{i:02d}": random.integers(0, 2, 50) for i in range(exponent - 1)}
    for column in columns.values():
        column[:2] = (0, 1)
    check(table_of(columns, "st" * 25))


def test_rows_without_a_sensitive_value_are_no_part_of_any_point():
    points = check(table_of([1, 1, 2, 3], ["s", None, "t", None], missing="drop"))
    assert points.weights.tolist() == [1, 1]


@examples(60)
@given(
    people=st.integers(20, 60),
    seed=st.integers(0, 99),
    semantics=st.sampled_from(SEMANTICS),
    listed=st.booleans(),
    names=st.sampled_from([["sex"], ["age", "sex"], ["age", "sex", "zip"]]),
)
def test_points_hold_people_and_all_their_values(people, seed, semantics, listed, names):
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


@pytest.mark.parametrize("block", [1, 3, 1 << 20])
@examples(60)
@given(data=st.data(), crowd=crowds())
def test_children_of_a_level_are_counted_as_by_hand(block, data, crowd):
    microdata = crowd.microdata(0)
    points = Points.of(microdata)
    n = data.draw(st.integers(1, 4))
    child = data.draw(st.lists(st.integers(-1, n - 1), min_size=len(points), max_size=len(points)))
    used = sorted(set(child) - {-1})
    child = np.array([-1 if c < 0 else used.index(c) for c in child])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "_BLOCK", block)
        level = Level(points, microdata, Choice(1))
        counts = level.counts_of(child, len(used))
        everyone = level.everyone()
    same(everyone, [crowd.bag(crowd.everyone)], crowd.semantics)
    of_row = microdata.rows_of(points.spread(child)).tolist()
    of_person = {p: c for (p, _), c in zip(crowd.entries(0), of_row, strict=True)}
    groups = [crowd.bag([p for p, c in of_person.items() if c == g]) for g in range(len(used))]
    same(counts, groups, crowd.semantics)


@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
@pytest.mark.parametrize(("spots", "sparse"), [(500, True), (10, False)])
def test_many_groups_and_values_are_counted_sparsely_and_few_densely(semantics, spots, sparse):
    chance = np.random.default_rng(spots)
    ages = [*range(spots), *chance.integers(0, spots, 600 - spots).tolist()]
    own = [chance.choice(400, 1 if semantics == "single" else p % 4, False) for p in range(600)]
    own = [[*found, *found[: 2 * (semantics == "multiset")]] for found in own]
    entries = [(p, v) for p, found in enumerate(own) for v in found or [None]]
    columns = {
        "age": [ages[p] for p, _ in entries],
        "pid": [f"person {p}" for p, _ in entries],
        "disease": [v if v is None else f"d{v:03d}" for _, v in entries],
    }
    several = {} if semantics == "single" else {"semantics": semantics, "person": "pid"}
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease", **several)
    microdata = fk.Microdata(pa.table(columns), schema)
    level = Level(Points.of(microdata), microdata, Choice(1))
    # Every fifth spot is left out; the others are groups from 0.
    kept = [spot for spot in range(spots) if spot % 5]
    child = np.full(spots, -1)
    child[kept] = np.arange(len(kept))
    tally = level.tally_of(child, len(kept))
    assert (tally.table is None) == sparse
    groups = [(ages.count(spot), Counter()) for spot in kept]
    for p, found in enumerate(own):
        if child[ages[p]] >= 0:
            groups[child[ages[p]]][1].update(f"d{v:03d}" for v in found)
    for start, stop in [(0, len(kept)), (1, len(kept)), (2, 5)]:
        same(tally.part(start, stop), groups[start:stop], semantics)
