"""Lattice nodes as functions: how they are written, what they group, and the default order."""

import json
import math
import random
from dataclasses import FrozenInstanceError
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from tests.methods.jump_instances import LETTERS, PATIENTS
from tests.oracle import jump_worlds as oracle

import foreknow as fk
from foreknow.criteria.diversity import at_least
from foreknow.methods.jump import HALF, Jump, Naive, Safe, SecretChoice
from foreknow.methods.jump.functions import Function, default_nodes, least_group, settled
from foreknow.methods.jump.properties import (
    All,
    Distinct,
    Each,
    Entropy,
    MaxRatio,
    Recursive,
    RuledOut,
)

pytestmark = pytest.mark.usefixtures("tiny_tables")

SCHEMA = fk.Schema(
    quasi_identifiers=["age", "sex", "zip"],
    sensitive="disease",
    hierarchies={"age": {"intervals": [5, 10, 20]}, "zip": {"mask": 3}},
)
TOPS = (4, 1, 3)


def rows(n, seed=0, values="abcdef"):
    draw = random.Random(seed)
    return {
        "age": [draw.randint(20, 59) for _ in range(n)],
        "sex": [draw.choice("mf") for _ in range(n)],
        "zip": [draw.choice(["012", "013", "024", "135"]) for _ in range(n)],
        "disease": [draw.choice(values) for _ in range(n)],
    }


def label(row, node):
    """What a person looks like at a node; written here by itself."""
    age, sex, code = row
    width = [1, 5, 10, 20, 1000][node[0]]
    return age // width, sex if node[1] == 0 else "*", code[: 3 - node[2]]


def node_at(levels):
    return dict(zip(["age", "sex", "zip"], levels, strict=True))


def grouping(table, node):
    people = list(zip(table["age"], table["sex"], table["zip"], strict=True))
    found = {}
    return tuple(found.setdefault(label(row, node), len(found)) for row in people)


@pytest.mark.parametrize(
    "given",
    ["age=2, sex=*, zip=1", {"age": 2, "zip": 1}, "zip=1,age=2", {"zip": 1, "age": 2}],
)
def test_a_node_may_be_written_in_several_ways(given):
    table = rows(30)
    (found,) = settled([Function.of(given)], fk.Microdata(pa.table(table), SCHEMA))
    assert found.numbers == grouping(table, (2, 1, 1))
    assert str(found) == "age=2, sex=*, zip=1"


def test_every_node_groups_by_what_would_be_published():
    table = rows(25, seed=4)
    data = fk.Microdata(pa.table(table), SCHEMA)
    nodes = [tuple(node) for node in np.ndindex(5, 2, 4)]
    found = settled([Function.of(node_at(node)) for node in nodes], data)
    assert [one.numbers for one in found] == [grouping(table, node) for node in nodes]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("age=2, age=3", "names 'age' twice"),
        ("age=2, zip", "give a level for each column"),
        ("age=-1", "give a level for each column"),
        ("height=1", "'height' is no quasi-identifier"),
        ("agee=1", "did you mean 'age'"),
        ("age=5", r"'age' has the levels 0 \(exact\) to 4"),
        ({"age": "two"}, "level of 'age' must be a whole number from 0 or '[*]'"),
        ({"age": True}, "level of 'age' must be a whole number"),
        ((0, 0), "2 group numbers, the pyarrow frame 30 rows"),
        ("AB|CD", "AB|CD names people, which is for `run`"),
    ],
)
def test_wrong_nodes_are_named(function, message):
    data = fk.Microdata(pa.table(rows(30)), SCHEMA)
    with pytest.raises(fk.InputError, match=message):
        Safe([function]).partition(data)


def test_nodes_need_rows():
    for algorithm in (Jump(["age=1"]), Jump()):
        with pytest.raises(fk.InputError, match=r"only a Microdata has|functions is missing"):
            algorithm.run(["flu", "cold"])


def test_distances_without_functions_are_checked_when_these_are_known():
    data = fk.Microdata(pa.table(rows(60, values="abcdefgh")), SCHEMA)
    assert Jump(distances=2).distances == 2
    assert Jump(distances=[1, 2]).distances == (1, 2)
    with pytest.raises(fk.InputError, match="whole number from 1, not 0"):
        Jump(distances=[1, 0])
    with pytest.raises(fk.InputError, match="whole number from 1, not 'x'"):
        Jump(distances="x")
    own = Jump(distances=2).settled(data)
    assert own.distances == (2,) * len(own.functions)
    assert own.settled(data) == own
    with pytest.raises(fk.InputError, match="9 jump distances for"):
        Jump(distances=[1] * 9).partition(data)


@pytest.mark.parametrize("seed", range(12))
def test_the_default_order_goes_from_specific_to_general(seed):
    draw = random.Random(seed)
    table = rows(draw.choice([5, 12, 40, 150]), seed)
    data = fk.Microdata(pa.table(table), SCHEMA)
    least = draw.choice([2, 3, 5])
    nodes = default_nodes(data.attributes, least)
    assert nodes[-1] == TOPS
    assert len(set(nodes)) == len(nodes)
    sizes = [np.bincount(grouping(table, node)) for node in nodes]
    for lower, upper in pairwise(nodes):
        assert all(a <= b for a, b in zip(lower, upper, strict=True))
    for i, people in enumerate(sizes[:-1]):
        assert people.min() >= least
        assert 2 * len(sizes[i + 1]) <= len(people) or nodes[i + 1] == TOPS
    # Below the first, any step further leaves a group that is too small.
    for a, level in enumerate(nodes[0]):
        if level:
            lower = (*nodes[0][:a], level - 1, *nodes[0][a + 1 :])
            assert np.bincount(grouping(table, lower)).min() < least


def test_the_default_order_does_not_look_at_sensitive_values():
    table = rows(80, seed=3)
    for values in ("abcdef", "ab", "a"):
        other = {**table, "disease": rows(80, seed=9, values=values)["disease"]}
        own = Jump(property=MaxRatio("1/3")).settled(fk.Microdata(pa.table(other), SCHEMA))
        first = Jump(property=MaxRatio("1/3")).settled(fk.Microdata(pa.table(table), SCHEMA))
        assert own.functions == first.functions


@pytest.mark.parametrize(
    ("prop", "least"),
    [
        (MaxRatio("1/2"), 2),
        (MaxRatio("1/3", strict=True), 4),
        (MaxRatio("1/3", values=["hiv"]), 2),
        (All(MaxRatio("1/9", values=["hiv"]), MaxRatio("1/2", strict=True)), 3),
        (Distinct(4), 4),
        (Recursive(1, 3), 4),
        (Entropy(3), 3),
        (RuledOut("1/2", 2, excluded=["flu"]), 5),
        (RuledOut("1/2", 2, values=["hiv"]), 2),
        (Each(lambda shares: shares["flu"] > 0), 2),
        (MaxRatio("1/1000"), 30),
    ],
)
def test_smaller_groups_cannot_have_the_property(prop, least):
    assert least_group(prop, 30) == least


def test_what_is_known_to_treat_rows_alike():
    assert Jump().symmetric
    assert Safe(["age=1", {"zip": 2}]).symmetric
    assert not Safe(["age=1", [0, 0, 1]]).symmetric


def test_the_order_of_rows_is_not_told():
    table = rows(6, values="abc")
    data = fk.Microdata(pa.table(table), SCHEMA)
    own = Safe([[0, 0, 0, 1, 1, 1], "age=3"]).settled(data).to_dict()
    assert own["functions"] == ["<2 groups of 6 people>", "age=3, sex=*, zip=*"]
    assert Safe().to_dict()["functions"] is None


# ---- groups of rows ----------------------------------------------------------------------------

TWO = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="disease")
ROWS = {
    "age": [21, 38, 21, 25, 38, 21],
    "sex": ["f", "m", "f", "f", "m", "m"],
    "disease": ["flu", "cold", "gout", "flu", "acne", "cold"],
}


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


def test_rows_are_grouped_as_enumeration_does_and_an_attack_finds_nothing():
    """Against enumeration of all worlds; an attack finds nothing in what Safe makes."""
    draw = random.Random(3)
    released = 0
    for _ in range(25):
        n = draw.choice([5, 6])
        ages = [draw.choice([1, 2, 3, 4]) for _ in range(n)]
        values = tuple(draw.choice("aabcd") for _ in range(n))
        schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
        data = fk.Microdata(pa.table({"age": ages, "disease": list(values)}), schema)
        partitions = [[draw.choice([0, 1]) for _ in range(5)] for _ in range(3)]
        of_rows = [[p[age] for age in ages] for p in partitions]
        split = [
            tuple(tuple(i for i in range(n) if row[i] == g) for g in sorted(set(row)))
            for row in of_rows
        ]
        slow = oracle.Algorithm(
            "safe", split, oracle.max_ratio(Fraction(1, 2)), oracle.all_tables(values)
        )
        expected = slow.released(values)
        method = Safe(of_rows)
        found = method.search(data)
        assert found.run.released == expected
        if expected is not None:
            released += 1
            assert len(set(zip(found.groups, of_rows[expected], strict=True))) == len(
                set(found.groups)
            )
            attacked = fk.attack(data, method)
            assert attacked.exact
            assert not attacked.certain
            rows = range(1, n + 1)
            assert max(attacked.posterior(r, v) for r in rows for v in set(values)) <= Fraction(
                1, 2
            )
    assert released > 4


# ---- functions, properties, results and errors as users meet them ------------------------------


@pytest.mark.parametrize(
    "functions",
    [
        LETTERS,
        [["AB", "CD", "EF"], ["ABC", "DEF"], ["ABCD", "EF"]],
        [[["A", "B"], ["C", "D"], ["E", "F"]], [{"A", "B", "C"}, ("D", "E", "F")], "ABCD|EF"],
        [[0, 0, 1, 1, 2, 2], np.array([7, 7, 7, 3, 3, 3]), (0, 0, 0, 0, 1, 1)],
    ],
)
def test_functions_may_be_given_in_several_ways(functions):
    run = Safe(functions, HALF).run(PATIENTS)
    assert (run.released, run.disclosure_set().size) == (2, 8)


class Stricter(MaxRatio):
    """Neither convex nor decided by limits, which it inherits."""

    def allows(self, row, total, size):
        return super().allows(row, total, size) and len(row) % 2 == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Naive([]), "no functions"),
        *[
            (lambda n=n: Safe(LETTERS, steps=n), "steps must be a whole number from 1")
            for n in (0, True, 1.5, "many")
        ],
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
        (lambda: Safe(LETTERS, Stricter("2/3")), "Stricter inherits what may not be true of it"),
        (lambda: All(Distinct(2), Stricter("2/3")), "Stricter inherits"),
        (lambda: MaxRatio("x"), "'x' is not a number"),
        (lambda: MaxRatio(0), "above 0"),
        (lambda: MaxRatio("1/2", values="AIDS"), "values is a list of values"),
        (lambda: RuledOut("1/2", 1, excluded="flu"), "excluded is a list"),
        (lambda: RuledOut("3/2", 1), "above 0 and at most 1"),
        (lambda: RuledOut("1/2", -1), "whole number from 0"),
        (lambda: RuledOut("1/2", True), "whole number from 0"),
        (lambda: Distinct(0), "whole number from 1"),
        (lambda: Entropy("1/2"), "at least 1"),
        (lambda: Recursive(0, 2), "above 0"),
        (lambda: All(), "at least one"),
        (lambda: Jump(LETTERS, 2).run(PATIENTS).disclosure_set(), "nothing was released"),
        (lambda: Jump(LETTERS, 2).run(PATIENTS).disclosure_set(3), "functions are 0 to 2"),
        (lambda: SecretChoice(LETTERS[:1]), "among 2 to 12"),
        (lambda: SecretChoice(LETTERS).run(PATIENTS, chosen=[1]), "at least two"),
        (lambda: Jump(LETTERS, np.array([1, 2])), "2 jump distances for 3 functions"),
        (lambda: Jump(LETTERS, np.array([[1, 2, 3]])), "one dimension, not the shape"),
        (lambda: Jump(LETTERS, np.array([1.0, 2.0, 2.0])), "whole number from 1"),
        (lambda: Jump(distances=np.array([0])), "whole number from 1"),
        (lambda: Naive([[[["A", []]], ["B"]]]), "can be nobody's name"),
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
    assert MaxRatio(0.1) == MaxRatio("1/10") == MaxRatio(Fraction(1, 10))
    assert [repr(p) for p in (MaxRatio(0.5, strict=True), Entropy(2), Recursive("3/2", 2))] == [
        "MaxRatio('1/2', strict=True)",
        "Entropy(2)",
        "Recursive('3/2', 2)",
    ]
    assert repr(RuledOut("1/2", 2, ["a"])) == "RuledOut('1/2', 2, values=['a'])"
    assert repr(MaxRatio("1/2", excluded=["a"])) == "MaxRatio('1/2', excluded=['a'])"


def test_entropy_is_decided_exactly():
    huge = 10**40
    assert at_least([huge, huge], Fraction(2))
    assert not at_least([huge, huge + 1], Fraction(2))
    # 2^(3/2): equality with two values of one half and ... one of each quarter
    assert at_least([2, 1, 1], Fraction(2828427, 10**6))
    assert not at_least([2, 1, 1], Fraction(2828428, 10**6))
    assert at_least([4, 4, 4, 4], Fraction(4))
    assert at_least([3], Fraction(1))


# As methods on a table

SIX = pa.table(
    {
        "age": [21, 23, 31, 33, 41, 43],
        "zip": ["a", "a", "b", "b", "c", "c"],
        "disease": list(PATIENTS.values()),
    }
)
AGES = fk.Schema(
    quasi_identifiers=["age", "zip"],
    sensitive="disease",
    hierarchies={"age": {"intervals": [10, 40]}},
)


def test_functions_as_rows_and_as_nodes():
    data = fk.Microdata(SIX, AGES)
    rows = Safe([[0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1]]).partition(data)
    assert rows.tolist() == [0, 0, 0, 0, 1, 1]
    nodes = Jump(["age=0, zip=0", "age=1, zip=0", "age=2"], 1, MaxRatio("1/2"))
    assert nodes.partition(data).tolist() == [0, 0, 0, 0, 1, 1]


def test_nothing_released_is_no_safe_release():
    data = fk.Microdata(SIX, AGES)
    safe = Safe(["age=0, zip=0", "age=1, zip=0"])
    with pytest.raises(fk.NoSafeRelease, match=r"Safe releases nothing .* see Run\.nothing_set"):
        safe.partition(data)
    assert safe.search(data).run.nothing_set().size > 0


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
    run = jump.run(PATIENTS)
    assert run.disclosure_set(np.int64(1)) == run.disclosure_set(1)
