"""Functions, properties, results and errors as users meet them."""

import json
import math
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.criteria.entropy import at_least
from foreknow.criteria.properties import (
    All,
    Distinct,
    Each,
    Entropy,
    KAnonymity,
    MaxRatio,
    Recursive,
)
from foreknow.methods.jump import HALF, Jump, Naive, Safe
from foreknow.methods.jump.functions import Function
from foreknow.methods.jump.secret import SecretChoice

F = Fraction
ILLNESSES = ["flu", "cold", "cancer", "cancer", "headache", "toothache"]
PATIENTS = dict(zip("ABCDEF", ILLNESSES, strict=True))
LETTERS = ["AB|CD|EF", "ABC|DEF", "ABCD|EF"]


@pytest.mark.parametrize(
    "functions",
    [
        LETTERS,
        ["A, B|C, D|E, F", "A B C|D E F", ["ABCD", "EF"]],
        [[["A", "B"], ["C", "D"], ["E", "F"]], [{"A", "B", "C"}, ("D", "E", "F")], "ABCD|EF"],
        [[0, 0, 1, 1, 2, 2], np.array([7, 7, 7, 3, 3, 3]), (0, 0, 0, 0, 1, 1)],
    ],
)
def test_functions_may_be_given_in_several_ways(functions):
    run = Safe(functions, HALF).run(PATIENTS)
    assert (run.released, run.disclosure_set().size) == (2, 8)


def test_people_without_names_are_numbered():
    run = Safe([[[0, 1], [2, 3], [4, 5]], [[0, 1, 2], [3, 4, 5]]]).run(list(PATIENTS.values()))
    assert list(run.disclosure_set(1).marginals) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Naive([]), "no functions"),
        (lambda: Naive("AB|CD"), "functions is a list"),
        (lambda: Naive(["AB||CD"]), "empty group"),
        (lambda: Naive(["AB|BC"]), "names 'B' twice"),
        (lambda: Naive([3]), "is no function"),
        (lambda: Naive([[["A"], 3]]), "is no group of people"),
        (lambda: Naive([np.array([0.5, 1])]), "one whole number per person"),
        (lambda: Naive(["AB|CD"]).run(PATIENTS), "says nothing about 'E'"),
        (lambda: Naive(["AB|CDEFG"]).run(PATIENTS), "groups 'G', who is not in the table"),
        (lambda: Naive([[0, 1]]).run(PATIENTS), "2 group numbers, the table 6 people"),
        (lambda: Naive(LETTERS).run("flu"), "a table is a dict"),
        (lambda: Naive(LETTERS).run({}), "no people"),
        (lambda: Naive(LETTERS).run({**PATIENTS, "A": None}), "'A' has no value"),
        (lambda: Naive(LETTERS).run({**PATIENTS, "A": math.nan}), "'A' has no value"),
        (lambda: Jump(LETTERS, 0), "whole number from 1, not 0"),
        (lambda: Jump(LETTERS, [1, 2]), "2 jump distances for 3 functions"),
        (lambda: Jump(LETTERS, "12"), "whole number from 1, not '12'"),
        (lambda: Naive(LETTERS, None), "property must be"),
        (lambda: Naive(LETTERS, MaxRatio), "property must be"),
        (lambda: MaxRatio("x"), "must be a number"),
        (lambda: MaxRatio(0), "above 0"),
        (lambda: MaxRatio("1/2", values="AIDS"), "list of values"),
        (lambda: Distinct(0), "whole number from 1"),
        (lambda: Entropy("1/2"), "at least 1"),
        (lambda: Recursive(0, 2), "above 0"),
        (lambda: All(), "at least one"),
        (lambda: Jump(LETTERS, 2).run(PATIENTS).disclosure_set(), "nothing was released"),
        (lambda: Jump(LETTERS, 2).run(PATIENTS).disclosure_set(3), "functions are 0 to 2"),
        (lambda: SecretChoice(LETTERS[:1]), "among 2 to 12"),
        (lambda: SecretChoice(LETTERS).run(PATIENTS, chosen=[1]), "at least two"),
        (lambda: Naive(LETTERS).estimate(PATIENTS, 0, samples=0), "samples"),
        (lambda: Naive(LETTERS).estimate(PATIENTS, "x"), "functions are 0 to 2, not 'x'"),
        (lambda: Naive(LETTERS).estimate(PATIENTS, True), "functions are 0 to 2, not True"),
        (lambda: Naive(LETTERS).estimate(PATIENTS, 3), "functions are 0 to 2, not 3"),
        (lambda: Naive(LETTERS).estimate(PATIENTS, 0, seed=-1), "seed is a whole number from 0"),
        (lambda: Naive(LETTERS).estimate(PATIENTS, 0, seed=True), "seed is a whole number from 0"),
        (lambda: Jump(LETTERS, np.array([1, 2])), "2 jump distances for 3 functions"),
        (lambda: Jump(LETTERS, np.array([[1, 2, 3]])), "one dimension, not the shape"),
        (lambda: Jump(LETTERS, np.array([1.0, 2.0, 2.0])), "whole number from 1"),
        (lambda: Jump(distances=np.array([0])), "whole number from 1"),
        (lambda: Naive([[[["A", []]], ["B"]]]), "can be nobody's name"),
        (lambda: Naive(LETTERS).run(PATIENTS).worlds(3), "functions are 0 to 2, not 3"),
        (lambda: Naive(LETTERS).run(PATIENTS).worlds(most=35), "36 tables agree"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(fk.InputError, match=message):
        make()


def test_results_are_frozen_short_and_plain():
    run = Jump(LETTERS, 1, HALF).run(PATIENTS)
    with pytest.raises(FrozenInstanceError):
        run.released = 0
    assert repr(run) == "<Run: function 2 released after 5 verdicts>"
    assert json.loads(json.dumps(run.to_dict()))["released"] == 2
    seen = json.loads(json.dumps(run.disclosure_set().to_dict()))
    assert (seen["size"], seen["max ratio"]) == (8, "1/2")
    secret = SecretChoice(LETTERS).run(PATIENTS, seed=1)
    assert json.loads(json.dumps(secret.to_dict()))["chosen"] == list(secret.chosen)
    assert "permutation set of g1 = AB|CD|EF: not safe" in run.report


def test_properties_read_numbers_exactly():
    assert MaxRatio(0.1) == MaxRatio("1/10") == MaxRatio(F(1, 10))
    assert [repr(p) for p in (MaxRatio(0.5, strict=True), Entropy(2), Recursive("3/2", 2))] == [
        "MaxRatio('1/2', strict=True)",
        "Entropy(2)",
        "Recursive('3/2', 2)",
    ]


def test_a_property_of_some_values_only():
    prop = MaxRatio("1/3", values=["cancer"])
    run = Safe(LETTERS, prop).run(PATIENTS)
    assert run.path[0] == (0, "disclosure", False)


def test_several_properties_at_once():
    both = All(HALF, KAnonymity(3), Distinct(2))
    assert Naive(LETTERS, both).run(PATIENTS).released == 1
    assert All(HALF, Distinct(3)).convex
    assert not All(HALF, Each(lambda shares: True)).convex


def test_entropy_is_decided_exactly():
    huge = 10**40
    assert at_least([huge, huge], F(2))
    assert not at_least([huge, huge + 1], F(2))
    # 2^(3/2): equality with two values of one half and ... one of each quarter
    assert at_least([2, 1, 1], F(2828427, 10**6))
    assert not at_least([2, 1, 1], F(2828428, 10**6))
    assert at_least([4, 4, 4, 4], F(4))
    assert at_least([3], F(1))


# As methods on a table

ROWS = pa.table(
    {
        "age": [21, 23, 31, 33, 41, 43],
        "zip": ["a", "a", "b", "b", "c", "c"],
        "disease": list(PATIENTS.values()),
    }
)
SCHEMA = fk.Schema(
    quasi_identifiers=["age", "zip"],
    sensitive="disease",
    hierarchies={"age": {"intervals": [10, 40]}},
)


def test_functions_as_rows_and_as_nodes():
    data = fk.Microdata(ROWS, SCHEMA)
    rows = Safe([[0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1]]).partition(data)
    assert rows.tolist() == [0, 0, 0, 0, 1, 1]
    nodes = Jump([(0, 0), (1, 0), (2, 1), (3, 1)], 1, MaxRatio("1/2")).partition(data)
    assert nodes.tolist() == [0, 0, 0, 0, 1, 1]


def test_rows_without_a_value_are_left_out():
    rows = ROWS.set_column(2, "disease", pa.array([*list(PATIENTS.values())[:5], None]))
    schema = fk.Schema(quasi_identifiers=["age", "zip"], sensitive="disease", missing="drop")
    found = Naive([[0, 0, 0, 1, 1, 1]]).partition(fk.Microdata(rows, schema))
    assert found.tolist() == [0, 0, 0, 1, 1, -1]


def test_nothing_released_is_no_safe_release():
    data = fk.Microdata(ROWS, SCHEMA)
    safe = Safe([(0, 0), (1, 0)])
    with pytest.raises(fk.NoSafeRelease, match=r"Safe releases nothing .* see Run\.nothing_set"):
        safe.partition(data)
    assert safe.search(data).run.nothing_set().size > 0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ((9, 0), "levels 0"),
        ("AB|CD", "'A' is no combination of the quasi-identifiers"),
        ([0, 1, 2], "neither one level"),
    ],
)
def test_functions_that_do_not_fit_a_table(function, message):
    with pytest.raises(fk.InputError, match=message):
        Safe([function]).partition(fk.Microdata(ROWS, SCHEMA))


def test_functions_are_equal_by_what_they_say():
    assert Function.of("AB|CD") == Function.of([["A", "B"], ["C", "D"]])
    assert Jump(LETTERS, 2) == Jump(LETTERS, [2, 2, 2])


@pytest.mark.parametrize("given", [np.array([2, 2, 2]), np.int64(2), (2, np.int32(2), 2)])
def test_distances_may_be_arrays(given):
    found = Jump(LETTERS, given)
    assert found == Jump(LETTERS, 2)
    assert json.loads(json.dumps(found.to_dict()))["distances"] == [2, 2, 2]
    assert Jump(distances=given).distances in (2, (2, 2, 2))


def test_a_function_may_be_any_whole_number():
    jump = Jump(LETTERS, 1)
    assert jump.estimate(PATIENTS, np.int64(2), seed=np.int64(1)) == jump.estimate(
        PATIENTS, 2, seed=1
    )
    run = jump.run(PATIENTS)
    assert run.disclosure_set(np.int64(1)) == run.disclosure_set(1)
