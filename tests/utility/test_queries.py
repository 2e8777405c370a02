"""Random queries, and their answers: of both forms those of enumeration."""

import json

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.utility.queries import draw_queries
from foreknow_judge.errors import DataError

# ---- answers -------------------------------------------------------------------------------------


def test_unknown_columns_are_refused():
    numbers = {"a": [1, 2, 3], "b": [1, 2, 3]}
    table = pa.table({**numbers, "d": ["x", "y", "x"], "e": ["x", "y", "x"]})

    def of(quasi_identifiers, sensitive="d", table=table):
        schema = fk.Schema(quasi_identifiers=[*quasi_identifiers], sensitive=sensitive)
        return fk.Microdata(table, schema)

    own, both = of("a"), of("ab")
    for like, said in (
        (both, r"about 'b' cannot be asked .* attributes = \['a'\]"),
        (of("a", "e"), "about 'e' cannot be asked of a release that hides 'd'"),
        (
            of("a", table=pa.table({"a": [1, 2, 4], "d": ["x", "y", "x"]})),
            "the two policies read other values in 'a'",
        ),
    ):
        with pytest.raises(fk.InputError, match=said):
            draw_queries(own, like=like)
    assert len(draw_queries(own, like=both, attributes=["a"], queries=3)) == 3


# ---- what may be asked ---------------------------------------------------------------------------

EVERYBODY = np.zeros(60, dtype=int)


def people():
    random = np.random.default_rng(1)
    columns = {
        "age": random.integers(20, 60, 60),
        "sex": random.choice(["f", "m"], 60).tolist(),
        "disease": random.choice(["Flu", "Cold", "AIDS"], 60).tolist(),
    }
    schema = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="disease")
    return fk.Microdata(pa.table(columns), schema)


def test_dropped_rows_are_not_asked():
    table = pa.table({"age": [20, 30, 40], "disease": ["S", None, "T"]})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease", missing="drop")
    microdata = fk.Microdata(table, schema)
    found = fk.query_error_of_groups(microdata, np.array([5, -1, 3]), selectivity=1.0)
    assert (found.people, set(found.exact)) == (2, {2.0})
    with pytest.raises(fk.InputError, match=r"row 3 of .* has no group"):
        fk.query_error_of_groups(microdata, np.array([5, -1, -1]))
    empty = table.set_column(0, "age", pa.nulls(3, pa.int64()))
    with pytest.raises(DataError, match="'age'"):
        fk.query_error_of_groups(fk.Microdata(empty, schema), np.array([0, -1, 0]))


def test_seeds_fix_the_queries():
    def exact(groups=EVERYBODY, form="generalized", **how):
        return fk.query_error_of_groups(people(), groups, form, **how).exact.tolist()

    assert exact() == exact(np.arange(60), "bucketized") != exact(seed=1)
    assert exact(seed=None) != exact(seed=None)


def test_a_result_is_plain_values():
    found = fk.query_error_of_groups(people(), EVERYBODY, queries=50, attributes=["age"])
    told = json.loads(json.dumps(found.to_dict()))
    assert (told["average"], told["quantiles"]["0.5"]) == (found.average, found.median)
    assert 0 < found.median <= found.quantile(0.9) <= found.relative.max()
    assert (told["queries"], told["attributes"], told["predicates"]) == (50, ["age"], 1)
    assert repr(found) in found._repr_html_()
    assert repr(found).startswith("QueryError(50 queries, generalized: ")


@pytest.mark.parametrize(
    ("asking", "said"),
    [
        ({"queries": 0}, "queries must be a whole number from 1"),
        ({"attributes": ["agee"]}, "'agee' is no quasi-identifier; did you mean 'age'"),
        ({"attributes": []}, "at least one"),
        ({"attributes": "age"}, "must be a list"),
        ({"attributes": ["age", "age"]}, "named twice"),
        ({"predicates": 3}, "only 2 attributes"),
        ({"predicates": 0}, "predicates must be"),
        ({"selectivity": 0}, "selectivity must be above 0"),
        ({"selectivity": 1.5}, "selectivity must be above 0"),
        ({"delta": 0}, "delta is a share"),
        ({"seed": -1}, "seed must be"),
        ({"form": "bucketised"}, "did you mean 'bucketized'"),
        ({"labels": {"sex": "range"}}, "text without an order"),
        ({"groups": EVERYBODY[1:]}, "each of the 60 rows"),
        ({"groups": np.zeros(60)}, "whole number for each"),
    ],
)
def test_mistakes_are_named(asking, said):
    with pytest.raises(fk.InputError, match=said):
        fk.query_error_of_groups(people(), **{"groups": EVERYBODY, **asking})


def boxed(age="*", disease="Flu", sex="f | m", n=1):
    table = pa.table({"age": [age] * n, "sex": [sex] * n, "disease": [disease] * n})
    return fk.Release.from_generalized(table, quasi_identifiers=["age", "sex"], sensitive="disease")


def counted(**more):
    tally = pa.table({"group": [1], "disease": ["Flu"], "count": [1]})
    return fk.Release.from_bucketized(tally, sensitive="disease", **more)


@pytest.mark.parametrize(
    ("release", "said"),
    [
        (people, r"expected a release, not Microdata: .*publish returns"),
        (lambda: boxed("20 to 99"), "'age': the label '20 to 99' cannot be read as a range"),
        (lambda: boxed(sex="f | x"), "'sex': the label 'f | x' cannot be read as a set"),
        (lambda: boxed(None), "'age': a label is missing"),
        (lambda: boxed(disease="Gout"), "nobody with the sensitive value 'Gout'"),
        (lambda: boxed(n=61), "has 61 people, .* only 60"),
        (counted, "are unavailable"),
        (
            lambda: counted(people=pa.table({"group": [1], "age": [99], "sex": ["f"]})),
            r"'age'.*'99'",
        ),
    ],
)
def test_wrong_releases_are_refused(release, said):
    with pytest.raises(fk.InputError, match=said):
        fk.query_error(release(), people())


def test_a_table_is_no_microdata():
    with pytest.raises(fk.InputError, match=r"quasi_identifiers=.* Microdata\(table, schema\)"):
        fk.query_error(None, pa.table({"a": [1]}))
