"""Points: the distinct combinations of a table, the values at each, and back to its rows."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.methods.tables import cases
from tests.diagnoses import SEMANTICS, diagnoses
from tests.examples import examples

import foreknow as fk
from foreknow.methods.mondrian.cuts import Points


def plain(microdata):
    """The combinations in lexicographic order of codes, with their sensitive codes."""
    columns = [attribute.codes.tolist() for attribute in microdata.attributes]
    found = defaultdict(list)
    for *combination, value in zip(*columns, microdata.sensitive_codes.tolist(), strict=True):
        found[tuple(combination)].append(value)
    return dict(sorted(found.items()))


def check(microdata):
    expected = plain(microdata)
    points = Points.of(microdata)
    assert len(points) == len(expected)
    assert list(zip(*[codes.tolist() for codes in points.codes], strict=True)) == list(expected)
    assert points.weights.tolist() == [len(values) for values in expected.values()]
    assert int(points.offsets[0]) == 0
    for values, start, end in zip(
        expected.values(), points.offsets[:-1], points.offsets[1:], strict=True
    ):
        assert sorted(points.values[start:end].tolist()) == sorted(values)
    place = {combination: i for i, combination in enumerate(expected)}
    columns = [attribute.codes.tolist() for attribute in microdata.attributes]
    marks = np.arange(len(expected)) * 3 - 1
    spread = points.spread(marks)
    assert spread.dtype == marks.dtype
    rows = zip(*columns, strict=True)
    assert spread.tolist() == [int(marks[place[row]]) for row in rows]


@examples(60, deadline=None)
@given(case=cases(most_rows=20))
def test_points_are_the_distinct_combinations_and_spread_goes_back(case):
    check(case.microdata())


@examples(25, deadline=None)
@given(
    widths=st.lists(st.integers(1, 300), min_size=1, max_size=12),
    rows=st.integers(1, 400),
    seed=st.integers(0, 2**32),
)
def test_points_of_many_wide_columns_are_the_same_as_counted_plainly(widths, rows, seed):
    random = np.random.default_rng(seed)
    columns = {f"q{i}": random.integers(0, width, rows) for i, width in enumerate(widths)}
    # Some rows are repeated, so that points have several people.
    again = random.integers(0, rows, rows)
    table = {name: np.concatenate([c, c[again]]) for name, c in columns.items()}
    disease = [f"d{v}" for v in random.integers(0, 5, 2 * rows)]
    schema = fk.Schema(quasi_identifiers=list(columns), sensitive="disease")
    check(fk.Microdata(pa.table({**table, "disease": disease}), schema))


@pytest.mark.parametrize("exponent", [30, 31, 32, 61, 62, 63, 64])
def test_points_around_the_limits_of_whole_numbers(exponent):
    # Columns of exactly 2 values each, so that the combinations number 2**exponent with values.
    random = np.random.default_rng(exponent)
    rows = 50
    columns = {f"q{i:02d}": random.integers(0, 2, rows) for i in range(exponent - 1)}
    for column in columns.values():
        column[:2] = (0, 1)
    disease = ["s", "t"] * (rows // 2)
    schema = fk.Schema(quasi_identifiers=list(columns), sensitive="disease")
    check(fk.Microdata(pa.table({**columns, "disease": disease}), schema))


def test_rows_without_a_sensitive_value_are_no_part_of_any_point():
    table = pa.table({"q": [1, 1, 2, 3], "disease": ["s", None, "t", None]})
    schema = fk.Schema(quasi_identifiers=["q"], sensitive="disease", missing="drop")
    microdata = fk.Microdata(table, schema)
    points = Points.of(microdata)
    assert points.weights.tolist() == [1, 1]
    assert points.spread(np.array([7, 8])).tolist() == [7, 8]


# ---- several values per person -----------------------------------------------------------------


@examples(60, deadline=None)
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
    microdata = fk.Microdata(diagnoses(people, seed, semantics=semantics, listed=listed), roles)
    columns = [attribute.codes.tolist() for attribute in microdata.attributes]
    at = list(zip(*columns, strict=True))
    expected = sorted(set(at))
    points = Points.of(microdata)
    assert list(zip(*[codes.tolist() for codes in points.codes], strict=True)) == expected
    assert points.weights.tolist() == [at.count(point) for point in expected]
    values = defaultdict(list)
    for person, value in zip(microdata.holdings.people, microdata.holdings.values, strict=True):
        values[at[person]].append(int(value))
    assert points.occurrences.tolist() == [len(values[point]) for point in expected]
    assert len(points.values) == len(microdata.holdings)
    for point, start, end in zip(expected, points.offsets[:-1], points.offsets[1:], strict=True):
        assert sorted(points.values[start:end].tolist()) == sorted(values[point])
    marks = np.arange(len(expected)) * 3 - 1
    assert points.spread(marks).tolist() == [int(marks[expected.index(point)]) for point in at]


def test_under_single_every_person_is_one_occurrence():
    table = pa.table({"age": [1, 1, 2], "disease": list("abb")})
    roles = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    points = Points.of(fk.Microdata(table, roles))
    assert points.occurrences is points.weights
