"""Functions as groups of quasi-identifier values, and people with equal ones, who stay together."""

import datetime as dt
import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.oracle import jump_worlds as oracle

import foreknow as fk
from foreknow.methods.jump import Jump, Naive, Safe
from foreknow.methods.jump.functions import Function, settled

TWO = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="disease")
ONE = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
ROWS = {
    "age": [21, 38, 21, 25, 38, 21],
    "sex": ["f", "m", "f", "f", "m", "m"],
    "disease": ["flu", "cold", "gout", "flu", "acne", "cold"],
}


def numbers(function, schema=TWO, rows=ROWS):
    (found,) = settled([Function.of(function)], fk.Microdata(pa.table(rows), schema))
    return found.numbers


@pytest.mark.parametrize(
    ("function", "schema", "expected"),
    [
        ([[(21, "f"), (25, "f")], [(38, "m"), (21, "m")]], TWO, (0, 1, 0, 0, 1, 1)),
        ([[[21, "f"]], [[38, "m"], [21, "m"], [25, "f"]]], TWO, (0, 1, 0, 1, 1, 1)),
        ([[("21", "f")], [("38", "m"), ("21", "m"), ("25", "f")]], TWO, (0, 1, 0, 1, 1, 1)),
        ([[(21, "f"), (99, "m")], [(38, "m"), (21, "m"), (25, "f")]], TWO, (0, 1, 0, 1, 1, 1)),
        ([[21], [25, 38]], ONE, (0, 1, 0, 1, 1, 0)),
        ([[(21,)], [(25,), (38,)]], ONE, (0, 1, 0, 1, 1, 0)),
        ("21, 25|38 40", ONE, (0, 1, 0, 0, 1, 0)),
    ],
)
def test_groups_of_quasi_identifiers(function, schema, expected):
    assert numbers(function, schema) == expected


def test_values_of_other_types():
    day = dt.date(2020, 2, 1)
    rows = {"age": [day, None, day], "sex": [True, False, False], "disease": list("abc")}
    assert numbers([[(day, True), (None, False)], [(day, False)]], rows=rows) == (0, 0, 1)


@pytest.mark.parametrize(
    ("function", "schema", "message"),
    [
        ([[(21, "f")], [(38, "m"), (25, "f")]], TWO, "nothing about age 21, sex 'm', of row 6"),
        ([[21], [38]], TWO, r"21 is no combination of the quasi-identifiers \(age, sex\)"),
        ([[(21, "f", 1)], [(38, "m")]], TWO, "no combination"),
        ([[(21, "f"), ("21", "f")], [(38, "m")]], TWO, r"names \('21', 'f'\) twice|nothing about"),
        ([[(21, "f")], [("21", "f")]], TWO, "twice"),
        ([[21, 21], [38]], ONE, "names 21 twice"),
        ([[]], ONE, "empty group"),
        ([[{}]], ONE, "can be nobody's name"),
    ],
)
def test_mistakes_are_named(function, schema, message):
    with pytest.raises(fk.InputError, match=message):
        numbers(function, schema)


@pytest.mark.parametrize("apart", [[0, 0, 1, 0, 0, 0], [0, 1, 0, 0, 2, 0]])
def test_people_of_equal_quasi_identifiers_are_not_put_apart(apart):
    rows = "rows 1 and 3" if apart[2] else "rows 2 and 5"
    with pytest.raises(fk.InputError, match=f"puts {rows} of the pyarrow frame apart, which are"):
        Safe([apart]).partition(fk.Microdata(pa.table(ROWS), TWO))


def test_rows_are_named_as_in_the_table_where_some_are_left_out():
    rows = {**ROWS, "disease": [None, "cold", "gout", "flu", "acne", "cold"]}
    schema = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="disease", missing="drop")
    with pytest.raises(fk.InputError, match="puts rows 2 and 5 of"):
        Safe([[0, 0, 0, 0, 1, 0]]).partition(fk.Microdata(pa.table(rows), schema))
    # Rows 1 and 3 are alike, but row 1 is not published.
    made = Naive([[0, 1, 1, 1, 1, 1]]).partition(fk.Microdata(pa.table(rows), schema))
    assert made.tolist() == [-1, 0, 0, 0, 0, 0]


def test_exact_quasi_identifiers_are_not_published():
    given = [[(21, "f"), (25, "f")], [(38, "m"), (21, "m")]]
    data = fk.Microdata(pa.table(ROWS), TWO)
    for method in (Jump([given]), Jump([given]).settled(data), Jump(["21 f|38 m"])):
        assert method.to_dict()["functions"] == ["<2 groups>"]
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema=TWO)
    made = fk.publish(data, policy, method=Jump([given], property=fk.Distinct(2)), seed=1)
    assert made.certificate.method["functions"] == ["<2 groups>"]


def test_the_same_as_row_numbers_and_symmetric_to_an_attack():
    """Against enumeration of all worlds; an attack finds nothing in what Safe makes."""
    draw = random.Random(3)
    released = 0
    for _ in range(25):
        n = draw.choice([5, 6])
        ages = [draw.choice([1, 2, 3, 4]) for _ in range(n)]
        values = tuple(draw.choice("aabcd") for _ in range(n))
        partitions = [[draw.choice([0, 1]) for _ in range(5)] for _ in range(3)]
        functions = [[[a for a in range(1, 5) if p[a] == g] for g in (0, 1)] for p in partitions]
        functions = [[group for group in function if group] for function in functions]
        data = fk.Microdata(pa.table({"age": ages, "disease": list(values)}), ONE)
        by_values = Safe(functions)
        of_rows = [[p[age] for age in ages] for p in partitions]
        split = [
            tuple(tuple(i for i in range(n) if row[i] == g) for g in sorted(set(row)))
            for row in of_rows
        ]
        slow = oracle.Algorithm(
            "safe", split, oracle.max_ratio(Fraction(1, 2)), oracle.all_tables(values)
        )
        expected = slow.released(values)
        found = by_values.search(data)
        assert found.run.released == expected
        assert Safe(of_rows).search(data).run.released == expected
        if expected is not None:
            released += 1
            assert len(set(zip(found.groups, of_rows[expected], strict=True))) == len(
                set(found.groups)
            )
            attacked = fk.attack(data, by_values)
            assert attacked.exact
            assert not attacked.certain
            rows = range(1, n + 1)
            assert max(attacked.posterior(r, v) for r in rows for v in set(values)) <= Fraction(
                1, 2
            )
    assert released > 4


def test_groups_of_values_may_come_from_anywhere():
    data = fk.Microdata(pa.table(ROWS), ONE)
    given = [np.array([21]), (25, 38)]
    assert Naive([given], fk.Distinct(2)).partition(data).tolist() == [0, 1, 0, 1, 1, 0]
