"""Utility: what a release is worth, against the definitions in plain Python."""

import json
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

import foreknow as fk
from foreknow.data.counts import GroupCounts
from foreknow.data.generalization import coarsened, style_of
from foreknow.data.hierarchy import Intervals, Ordered
from foreknow.data.microdata import Microdata
from foreknow.data.schema import Schema
from foreknow.data.utility import optimal_discernibility, utility_of
from foreknow.utility.queries import draw_queries


def people_of(columns, **hierarchies):
    n = len(next(iter(columns.values())))
    schema = Schema(quasi_identifiers=list(columns), sensitive="d", hierarchies=hierarchies)
    return Microdata(pa.table({**columns, "d": ["x", "y"] * (n // 2) + ["x"] * (n % 2)}), schema)


def widths(values, groups, **hierarchies):
    (attribute,) = people_of({"q": values}, **hierarchies).attributes
    style = style_of(attribute, None)
    return coarsened(attribute, np.array(groups), max(groups) + 1, style).widths.tolist()


@st.composite
def groupings(draw, values):
    rows = draw(st.lists(values, min_size=1, max_size=12))
    groups = draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    used = sorted(set(groups))
    return rows, [used.index(group) for group in groups]


def bags(rows, groups):
    return [
        {row for row, group in zip(rows, groups, strict=True) if group == g}
        for g in range(max(groups) + 1)
    ]


ORDER = Ordered(["low", "mid", "high", "top"])
INFINITE = [1.0, float("inf"), 2.0, 90.0]


def days(*given):
    return [date(2024, 1, day) for day in given]


def hours(*given):
    return [datetime(2024, 1, 1 + hour // 24, hour % 24) for hour in given]


@pytest.mark.parametrize(
    ("values", "groups", "hierarchy", "costs"),
    [
        (["low", "high", "top", "top"], [0, 0, 1, 1], ORDER, [0.5, 0]),  # "mid" does not occur
        (days(1, 11, 6, 11), [0, 1, 0, 1], None, [0.5, 0]),
        (hours(1, 13, 25), [0, 0, 1], None, [0.5, 0]),
        ([10, None, 30, 20], [0, 0, 1, 1], None, [1 / 3, 1 / 3]),
        ([10, None, 30, 20], [0, 1, 0, 0], None, [2 / 3, 0]),
        ([7, 7, 7], [0, 1, 1], None, [0, 0]),
        (["a", "a", "a"], [0, 1, 1], None, [0, 0]),
        ([7, 7, 7], [0, 1, 1], Intervals([5]), [0, 0]),
        (INFINITE, [0, 0, 1, 1], None, [1, 1 / 3]),  # by ranks
    ],
)
def test_columns_of_every_kind_cost_their_range(values, groups, hierarchy, costs):
    hierarchies = {} if hierarchy is None else {"q": hierarchy}
    assert widths(values, groups, **hierarchies) == pytest.approx(costs)


@examples(100, deadline=None)
@given(st.lists(st.lists(st.sampled_from("xyz"), min_size=1, max_size=9), min_size=1, max_size=9))
def test_sizes_and_discernibility_are_those_of_the_groups(groups):
    sizes = [len(group) for group in groups]
    rows = [(g, value) for g, group in enumerate(groups) for value in group]
    table = pa.table(dict(zip(("g", "s"), map(list, zip(*rows, strict=True)), strict=True)))
    release = fk.Release.from_groups(table, group="g", sensitive="s")
    for found in (utility_of(GroupCounts.from_bags(groups)), fk.utility_of(release)):
        assert (found.people, found.groups) == (sum(sizes), len(sizes))
        assert (found.smallest_group, found.largest_group) == (min(sizes), max(sizes))
        assert found.average_group_size == pytest.approx(sum(sizes) / len(sizes))
        assert found.discernibility == sum(size**2 for size in sizes)
        assert (found.ncp, found.average_ncp) == ({}, None)
    large = GroupCounts([2**52], [0, 1], [0], [2**52], ["x"])
    assert utility_of(large).discernibility == 2**104


def cheapest(people, least):
    """The least sum of squares of groups of at least so many, by trying each last group."""
    costs = [0]
    for n in range(1, people + 1):
        rest = [costs[n - size] + size**2 for size in range(least, n + 1)]
        costs.append(min(rest, default=float("inf")))
    return costs[people]


@pytest.mark.parametrize("least", range(1, 13))
def test_the_optimum_is_that_of_trying_all_sizes(least):
    for people in range(least, 61):
        assert optimal_discernibility(people, least) == cheapest(people, least)


@pytest.mark.parametrize(
    ("people", "least", "said"),
    [
        (3, 4, "3 people make no group of at least 4"),
        (0, 1, "people must be a whole number from 1, not 0"),
        (5, 0, "least must be a whole number from 1, not 0"),
        (5, 2.0, "least must be a whole number from 1, not 2.0"),
        (True, 1, "people must be a whole number from 1, not True"),
    ],
)
def test_there_is_no_optimum_without_groups(people, least, said):
    with pytest.raises(fk.InputError, match=said):
        fk.optimal_discernibility(people, least)


def test_groups_may_be_of_rows_some_of_which_are_left_out():
    table = pa.table({"age": [10, 99, 30, 20], "d": ["x", None, "y", "x"]})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="d", missing="drop")
    microdata = fk.Microdata(table, schema)
    of_people = np.array([0, 0, 1])
    counts = microdata.counts(of_people)
    found = fk.utility_of(counts, microdata, np.array([0, -1, 0, 1]))
    assert found == fk.utility_of(counts, microdata, of_people)
    assert found.ncp == {"age": pytest.approx(2 / 3)}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda m: (m,), r"expected GroupCounts or a Release, not Microdata; microdata\.counts"),
        (lambda m: (m.counts(TWO), m), "give microdata and groups together"),
        (lambda m: (m.counts(TWO), None, TWO), "give microdata and groups together"),
        (lambda m: (m.counts(TWO), "t.csv", TWO), "expected Microdata, not str"),
        (lambda m: (m.counts(TWO), m, TWO[:3]), "each of the 4 rows"),
        (lambda m: (m.counts(TWO), m, TWO / 2), "a whole number for each"),
        (lambda m: (m.counts(TWO), m, TWO - 1), "row 1 of .* has no group"),
        (lambda m: (GroupCounts.from_bags(["xyx"]), m, TWO), "3 people are counted, but .* has 4"),
    ],
)
def test_what_cannot_be_measured_is_refused(given, said):
    with pytest.raises(fk.InputError, match=said):
        fk.utility_of(*given(people_of({"age": [10, 30, 20, 50]})))


TWO = np.array([0, 0, 1, 1])


def test_penalties_are_averaged_over_people_and_then_over_columns():
    people = people_of({"age": [10, 30, 20, 50], "sex": ["f", "m", "f", "f"]})
    groups = np.array([0, 0, 0, 1])
    found = utility_of(people.counts(groups), people, groups)
    assert found.ncp == {"age": pytest.approx(0.5 * 3 / 4), "sex": pytest.approx(3 / 4)}
    assert found.average_ncp == pytest.approx((0.375 + 0.75) / 2)


def test_one_group_of_everybody_costs_everything_and_single_people_nothing():
    columns = {"age": [10, 30, 20], "sex": ["f", "m", "f"], "zip": [1, 7, 9]}
    people = people_of(columns, zip=Intervals([5]))
    for groups, cost in ((np.zeros(3, dtype=np.int64), 1), (np.arange(3), 0)):
        found = utility_of(people.counts(groups), people, groups)
        plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert plain == found.to_dict()
        assert plain["average_ncp"] == found.average_ncp == cost


def test_overall_counts_answer_by_ranges_and_frequencies_alone():
    """Recomputed: the share of the ages in between that a query asks for, times its values."""
    ages, values = [20, 21, 25, 39, 39, 30], ["x", "y", "x", "x", "z", "y"]
    microdata = Microdata(
        pa.table({"age": ages, "d": values}), Schema(quasi_identifiers=["age"], sensitive="d")
    )
    made = fk.publish(
        microdata, fk.Policy([fk.Requirement(fk.Facts(), 1)]), labels={"age": "exact"}
    )
    found = fk.query_error(made, microdata, queries=200, selectivity=0.2)
    asked = draw_queries(microdata, queries=200, selectivity=0.2)
    (attribute,) = microdata.attributes
    wanted = []
    for query in range(200):
        asked_of_query = asked.asked_values[0][:, query]
        run = [a for a, on in zip(attribute.domain, asked_of_query, strict=True) if on]
        some = [v for v, on in zip(microdata.values, asked.values[:, query], strict=True) if on]
        share = (max(run) - min(run) + 1) / (39 - 20 + 1)
        wanted.append(float(share) * sum(values.count(value) for value in some))
    assert found.overall.tolist() == pytest.approx(wanted)
    baseline = found.baseline
    assert baseline.estimated.tolist() == found.overall.tolist()
    assert baseline.baseline is None
    assert baseline.average > found.average > 0
    assert found.to_dict()["overall_counts"]["average"] == baseline.average


def test_two_policies_are_asked_the_same_queries():
    random = np.random.default_rng(0)
    table = pa.table(
        {
            "zip": [f"{n:02}" for n in random.integers(10, 40, 300)],
            "age": random.integers(20, 60, 300).tolist(),
            "d": random.choice(["x", "y", "z"], 300).tolist(),
        }
    )
    roles = {"quasi_identifiers": ["zip", "age"], "sensitive": "d"}
    plain = Microdata(table, Schema(**roles, types={"zip": "text"}))
    ages = {"intervals": [5, 20]}
    roles["quasi_identifiers"].reverse()
    masked = Microdata(table, Schema(**roles, hierarchies={"zip": {"mask": 2}, "age": ages}))
    rows = list(zip(*(table.column(name).to_pylist() for name in ("zip", "age", "d")), strict=True))
    groups = np.array([int(zip_) // 10 for zip_, *_ in rows])
    for like in (plain, masked):
        own, other = (
            draw_queries(each, queries=50, selectivity=0.3, like=like) for each in (plain, masked)
        )
        for asked, microdata in ((own, plain), (other, masked)):
            wanted = {attribute.name: i for i, attribute in enumerate(asked.attributes)}
            answers = [
                sum(
                    all(
                        asked.asked_values[wanted[name]][
                            asked.attributes[wanted[name]].domain.index(value), query
                        ]
                        for name, value in (("zip", row[0]), ("age", row[1]))
                    )
                    and asked.values[list(microdata.values).index(row[2]), query]
                    for row in rows
                )
                for query in range(50)
            ]
            release = fk.Release.from_groups(
                table.append_column("g", pa.array(groups)), group="g", sensitive="d"
            )
            found = fk.query_error(
                release, microdata, queries=50, selectivity=0.3, like=like, labels={}
            )
            assert found.exact.tolist() == answers
            assert found.attributes == tuple(each.name for each in like.attributes)
        assert own.values.tolist() == other.values.tolist()
    assert (
        draw_queries(plain, queries=50).asked_values[0].tolist()
        != draw_queries(plain, queries=50, like=masked).asked_values[1].tolist()
    )


def test_queries_of_other_columns_are_refused():
    table = pa.table({"a": [1, 2, 3], "b": [1, 2, 3], "d": ["x", "y", "x"], "e": ["x", "y", "x"]})
    own = Microdata(table, Schema(quasi_identifiers=["a"], sensitive="d"))
    both = Microdata(table, Schema(quasi_identifiers=["a", "b"], sensitive="d"))
    with pytest.raises(fk.InputError, match=r"about 'b' cannot be asked .* attributes = \['a'\]"):
        draw_queries(own, like=both)
    assert len(draw_queries(own, like=both, attributes=["a"], queries=3)) == 3
    other = Microdata(table, Schema(quasi_identifiers=["a"], sensitive="e"))
    with pytest.raises(
        fk.InputError, match="about 'e' cannot be asked of a release that hides 'd'"
    ):
        draw_queries(own, like=other)
    rounded = pa.table({"a": [1, 2, 4], "d": ["x", "y", "x"]})
    strange = Microdata(rounded, Schema(quasi_identifiers=["a"], sensitive="d"))
    with pytest.raises(fk.InputError, match="the two policies read other values in 'a'"):
        draw_queries(own, like=strange)
