"""Pipelines that return what they publish: tables are compared by their rows, in any order."""

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.attacks import BUCKETS, DIVERSE, microdata, policy_for
from tests.oracle.algorithm_worlds import posteriors

import foreknow as fk
from foreknow.adversaries.algorithm import attack

VALUES, AGES = "abbab", [50, 40, 50, 30, 30]


def decades(rows):
    """Ages by tens, or only who is older than 35, if that holds two diseases each."""
    ages, values = rows["age"].to_pylist(), rows["disease"].to_pylist()
    for label in (lambda a: str(a // 10), lambda a: "old" if a > 35 else "young", lambda a: "*"):
        found = [(label(a), v) for a, v in zip(ages, values, strict=True)]
        if all(len({v for own, v in found if own == b}) > 1 for b, _ in found):
            return found
    return None


def framed(make):
    lots = np.random.default_rng(3)  # rows come in another order each time

    def pipeline(rows):
        found = decades(rows)
        if found is None:
            return None
        found = [found[i] for i in lots.permutation(len(found))]
        return make({"age": [a for a, _ in found], "disease": [v for _, v in found]})

    return pipeline


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame], ids=["pa", "pd", "pl"])
def test_a_published_table_is_compared_by_its_rows(make):
    table = microdata(VALUES, age=AGES)

    def algorithm(world):
        found = decades(microdata(world, age=AGES).source.arrow(["age", "disease"]))
        return None if found is None else frozenset(Counter(found).items())

    release = algorithm(VALUES)
    expected, n_worlds, n_possible = posteriors(VALUES, [0] * 5, algorithm, release)
    found = attack(table, framed(make))
    assert (found.what, found.n_worlds, found.consistent) == ("table", n_worlds, n_possible)
    assert n_possible < n_worlds == 10
    for person in range(5):
        for value in "ab":
            assert found.posterior(person + 1, value) == expected.get((person, value), 0)
    assert "5 people in a published table" in found._repr_html_()


def test_groups_beside_a_table_say_who_is_where():
    """The same worlds, found among fewer; and the group says what the table says of it."""
    table = microdata(VALUES, age=AGES)

    def pipeline(rows):
        found = decades(rows)
        return [a for a, _ in found], pa.table({"age": [a for a, _ in found]}) if found else None

    apart, whole = attack(table, pipeline), attack(table, framed(pa.table))
    assert apart.n_worlds < whole.n_worlds
    assert apart.consistent == whole.consistent
    for row in range(1, 6):
        assert apart.posterior(row, "a") == whole.posterior(row, "a")


def releasing(form, give):
    """Publish with Mondrian, and return what `give` makes of the publication."""

    def pipeline(rows):
        schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease", identifiers=["pid"])
        options = fk.PublishOptions(form=form)
        policy = fk.Policy(DIVERSE.requirements, schema, options)
        return give(fk.publish(fk.Microdata(rows, schema), policy), rows)

    return pipeline


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("what", ["publication", "release"])
def test_what_publish_makes_is_compared_though_its_group_numbers_are_drawn(form, what):
    table = microdata(VALUES, age=AGES)
    give = {"publication": lambda made, rows: made, "release": lambda made, rows: made.release}
    found = attack(table, releasing(form, give[what]))
    assert found.what == "table"
    assert found.exact
    policy = fk.Policy(DIVERSE.requirements, table.schema, fk.PublishOptions(form=form))
    direct = attack(table, fk.Mondrian(), policy)
    # Here who is in which group follows from ages.
    assert found.consistent == direct.consistent
    for row in range(1, 6):
        for value in "ab":
            assert found.posterior(row, value) == direct.posterior(row, value)


def test_a_publication_is_random_if_its_groups_are():
    def pipeline(rows):
        schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
        policy = fk.Policy(DIVERSE.requirements, schema, BUCKETS)
        return fk.publish(fk.Microdata(rows, schema), policy, method=fk.Anatomy(2))

    with pytest.raises(fk.InputError, match="another release each time"):
        attack(microdata("aabbab", age=range(6)), pipeline)


@pytest.mark.parametrize(
    "published",
    [np.array([1, 2]), pd.DataFrame({"n": [1, 2]}), [np.array([1.5])], {"a": pa.table({"n": [1]})}],
    ids=["array", "frame", "list", "dict"],
)
def test_anything_can_be_published_beside_groups(published):
    found = attack(microdata("abab", age=range(4)), lambda rows: ([0, 0, 1, 1], published))
    assert found.consistent == found.n_worlds == 4


def test_what_cannot_be_compared_says_so():
    class Odd:
        def __eq__(self, other):
            raise RuntimeError("not today")

        __hash__ = None

    with pytest.raises(fk.InputError, match="cannot be compared, Odd with Odd: not today"):
        attack(microdata("ab", age=[1, 2]), lambda rows: ([0, 0], Odd()))


def test_a_pair_of_texts_is_the_groups_of_two_rows():
    found = attack(microdata("ab", age=[1, 2]), lambda rows: ("x", "x"))
    assert (found.n_groups, found.n_worlds) == (1, 2)
    found = attack(microdata("ab", age=[1, 2]), lambda rows: ("x", "y"))
    assert (found.n_groups, found.certain_by_release) == (2, (1, 2))


@pytest.mark.parametrize("given", [5, "groups", [[0, 1], [2]], {0: 1}, np.zeros((2, 2))])
def test_what_is_neither_groups_nor_a_table_is_refused(given):
    with pytest.raises(fk.InputError, match="one group for each"):
        attack(microdata("ab", age=[1, 2]), lambda rows: given)


# Found by random search.
BEST = {"age": [4, 4, 1, 2, 4], "sex": [1, 0, 0, 1, 1]}
CHAIN = {"age": [1, 0, 3, 4, 4], "sex": [0, 1, 0, 1, 0]}


@pytest.mark.parametrize(
    ("find", "columns", "values", "certain"),
    [("best", BEST, "caabc", (1, 2, 3, 4, 5)), ("chain", CHAIN, "cbcba", (1, 2, 3, 4, 5))],
)
def test_full_domain_leaks_by_any_search(find, columns, values, certain):
    table = microdata(values, {"age": fk.Intervals([2, 4])}, **columns)
    found = attack(table, fk.FullDomain(find=find), policy_for(DIVERSE, table))
    assert found.certain == certain


PAPER = [[0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1], [0] * 6]
HALF = Fraction(1, 2)


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("method", [fk.Safe, fk.Jump, fk.Naive])
def test_safe_and_jump_withstand_it_and_naive_does_not(method, form):
    """The paper's functions, and some tables of a multiset: nobody is found beyond a half."""
    highest = []
    for values in sorted(set(permutations("aabbcd")))[::9]:
        table = microdata(values, age=range(6))
        policy = fk.Policy(DIVERSE.requirements, table.schema, fk.PublishOptions(form=form))
        given = (PAPER, 2) if method is fk.Jump else (PAPER,)
        try:
            found = attack(table, method(*given, property=fk.MaxRatio(HALF)), policy)
        except fk.NoSafeRelease:
            continue
        assert found.exact
        highest += [found.posterior(row, v) for row in range(1, 7) for v in "abcd"]
    assert len(highest) > 24
    assert max(highest) == (1 if method is fk.Naive else HALF)
