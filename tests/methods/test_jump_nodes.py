"""Lattice nodes as functions: how they are written, what they group, and the default order."""

import random
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.criteria.properties import All, Distinct, Each, Entropy, MaxRatio, Recursive, RuledOut
from foreknow.methods.jump import Jump, Naive, Safe
from foreknow.methods.jump.functions import Function, default_nodes, least_group, settled

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


def grouping(table, node):
    people = list(zip(table["age"], table["sex"], table["zip"], strict=True))
    found = {}
    return tuple(found.setdefault(label(row, node), len(found)) for row in people)


@pytest.mark.parametrize(
    "given",
    ["age=2, sex=*, zip=1", {"age": 2, "zip": 1}, "zip=1,age=2", (2, 1, 1), {"zip": 1, "age": 2}],
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
    found = settled([Function.of(node) for node in nodes], data)
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
        ({"age": "two"}, "level of 'age' is a whole number"),
        ({"age": True}, "level of 'age' is a whole number"),
        ((0, 0), "neither one level for each of the 3"),
        (tuple(range(30)), "as a tuple, nor one group"),
        ([0, 0, 0], "neither one level"),
        ("AB|CD", "'A' is no combination of the quasi-identifiers"),
    ],
)
def test_mistakes_are_named(function, message):
    data = fk.Microdata(pa.table(rows(30)), SCHEMA)
    with pytest.raises(fk.InputError, match=message):
        Safe([function]).partition(data)


def test_nodes_need_rows():
    for algorithm in (Jump(["age=1"]), Jump()):
        with pytest.raises(fk.InputError, match=r"only a Microdata has|functions is missing"):
            algorithm.run(["flu", "cold"])
        with pytest.raises(fk.InputError, match=r"only a Microdata has|functions is missing"):
            algorithm.estimate(["flu", "cold"], 0)


@pytest.mark.parametrize("steps", [0, True, 1.5, "many"])
def test_steps_are_a_whole_number(steps):
    with pytest.raises(fk.InputError, match="steps is a whole number from 1"):
        Safe(["AB|CD"], steps=steps)


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
    assert Safe(["age=1", (1, 0, 0), {"zip": 2}]).symmetric
    assert not Safe(["age=1", [0, 0, 1]]).symmetric
    assert Naive(["AB|CD", [[(21, "f")], [(30, "m")]]]).symmetric  # quasi-identifiers


def test_the_order_of_rows_is_not_told():
    table = rows(6, values="abc")
    data = fk.Microdata(pa.table(table), SCHEMA)
    own = Safe([[0, 0, 0, 1, 1, 1], "age=3"]).settled(data).to_dict()
    assert own["functions"] == ["<2 groups of 6 people>", "age=3, sex=*, zip=*"]
    assert Safe().to_dict()["functions"] is None


def test_several_values_per_person_are_refused():
    schema = fk.Schema(
        quasi_identifiers=["age"], sensitive="disease", semantics="set", person="pid"
    )
    data = fk.Microdata(
        pa.table({"pid": [1, 1, 2], "age": [3, 3, 4], "disease": list("aba")}), schema
    )
    with pytest.raises(fk.InputError, match="one sensitive value per person, not semantics 'set'"):
        Jump().partition(data)
