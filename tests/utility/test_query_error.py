"""Query error: answers of both forms are those of enumeration, from groupings and from tables."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.methods.tables import cases
from tests.people import bucketized, generalized
from tests.utility import brute

import foreknow as fk
from foreknow.publishing.tables import group_ids
from foreknow.utility import queries as answering
from foreknow.utility.queries import draw_queries
from foreknow_judge.errors import DataError

SETTINGS = examples(300, deadline=None)


def _has_something_to_ask(case):
    return all(
        any(value is not None for value in column) for column in zip(*case.rows, strict=True)
    )


@st.composite
def grouped(draw):
    """A case without a column that is missing everywhere, its groups, and how to ask and write."""
    case = draw(cases().filter(_has_something_to_ask))
    size = len(case.rows)
    groups = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    used = sorted(set(groups))
    groups = [used.index(g) for g in groups]
    styles, floors = {}, {}
    for name, kind in zip(case.names, case.kinds, strict=True):
        possible = ["set", None]
        possible += ["range"] * (kind.name != "text")
        possible += ["hierarchy"] * (kind.name in brute.PATHS)
        style = draw(st.sampled_from(possible))
        if style is not None:
            styles[name] = style
        if draw(st.booleans()):
            levels = st.lists(st.integers(0, 3), min_size=len(used), max_size=len(used))
            top = 3 if kind.name in brute.PATHS else 1
            floors[name] = np.minimum(np.array(draw(levels)), top)
    asking = {
        "queries": draw(st.integers(1, 6)),
        "predicates": draw(st.integers(1, len(case.kinds))),
        "selectivity": draw(st.sampled_from([0.01, 0.05, 0.3, 0.9, 1.0])),
        "ranges": draw(st.booleans()),
        "seed": draw(st.integers(0, 999)),
    }
    return case, groups, styles, floors, asking


def boxes_of(case, groups, styles, floors):
    found = []
    for g, group in enumerate(brute.members(groups)):
        box = []
        for a, (name, kind) in enumerate(zip(case.names, case.kinds, strict=True)):
            domain = list(dict.fromkeys(row[a] for row in case.rows))
            floor = int(floors[name][g]) if name in floors else 0
            values = {case.rows[i][a] for i in group}
            box.append(brute.box_of(kind, values, domain, floor, styles.get(name)))
        found.append(box)
    return found


@SETTINGS
@given(grouped())
def test_answers_are_those_of_enumeration(drawn):
    case, groups, styles, floors, asking = drawn
    microdata = case.microdata()
    queries = draw_queries(microdata, **asking)
    boxes = boxes_of(case, groups, styles, floors)
    exact, boxed, bucketed = [], [], []
    domains = [list(dict.fromkeys(column)) for column in zip(*case.rows, strict=True)]
    for sets, chosen in brute.queries_of(queries):
        wanted = {v for v, yes in zip(microdata.values, chosen, strict=True) if yes}
        exact.append(brute.true_answer(case.rows, case.sensitive, sets, wanted))
        wishes = list(map(brute.wish_of, case.kinds, sets, domains))
        boxed.append(float(brute.generalized_answer(boxes, case.sensitive, groups, wishes, wanted)))
        bucketed.append(
            float(brute.bucketized_answer(case.rows, case.sensitive, groups, sets, wanted))
        )
    with pytest.MonkeyPatch.context() as patch:
        if asking["seed"] % 2:  # the same in many small blocks
            patch.setattr(answering, "_BLOCK", 2)
            patch.setattr(answering, "_QUERIES", 2)
        for form, wanted in (("generalized", boxed), ("bucketized", bucketed)):
            found = fk.query_error_of_groups(
                microdata, np.array(groups), form, floors=floors, labels=styles, **asking
            )
            assert found.exact.tolist() == exact
            assert found.estimated == pytest.approx(wanted, abs=1e-9)
            assert found.form == form
            errors = [
                abs(a - b) / max(a, 0.005 * len(case.rows))
                for a, b in zip(exact, wanted, strict=True)
            ]
            assert found.relative == pytest.approx(errors, abs=1e-6)
            assert found.average == pytest.approx(sum(errors) / len(errors), abs=1e-6)


@SETTINGS
@given(grouped())
def test_published_tables_answer_as_the_grouping_does(drawn):
    case, groups, styles, floors, asking = drawn
    microdata = case.microdata()
    given_ = np.array(groups)
    random = np.random.default_rng(asking["seed"])
    n_groups = max(groups) + 1
    table = generalized(microdata, given_, n_groups, styles, random, floors)["release"]
    release = fk.Release.from_generalized(table, quasi_identifiers=case.names, sensitive="disease")
    found = fk.query_error(release, microdata, labels=styles, **asking)
    same = fk.query_error_of_groups(microdata, given_, floors=floors, labels=styles, **asking)
    assert (found.form, found.exact.tolist()) == ("generalized", same.exact.tolist())
    assert found.estimated == pytest.approx(same.estimated, abs=1e-9)
    tables = bucketized(microdata, given_, group_ids(n_groups, random), random)
    release = fk.Release.from_bucketized(
        tables["sensitive"], sensitive="disease", people=tables["people"]
    )
    found = fk.query_error(release, microdata, **asking)
    same = fk.query_error_of_groups(microdata, given_, "bucketized", **asking)
    assert (found.form, found.exact.tolist()) == ("bucketized", same.exact.tolist())
    assert found.estimated == pytest.approx(same.estimated, abs=1e-9)


@SETTINGS
@given(
    people=st.lists(
        st.tuples(
            st.integers(0, 4), st.lists(st.sampled_from("STU"), max_size=3), st.integers(0, 2)
        ),
        min_size=1,
        max_size=8,
    ).filter(lambda people: any(values for _, values, _ in people)),
    form=st.sampled_from(["generalized", "bucketized"]),
    seed=st.integers(0, 99),
)
def test_where_people_have_several_values_occurrences_are_counted(people, form, seed):
    table = pa.table(
        {
            "age": pa.array([age for age, _, _ in people]),
            "disease": pa.array([v for _, v, _ in people], pa.list_(pa.string())),
        }
    )
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease", semantics="multiset")
    microdata = fk.Microdata(table, schema)
    groups = [group for _, _, group in people]
    asking = {"queries": 5, "selectivity": 0.3, "seed": seed}
    found = fk.query_error_of_groups(microdata, np.array(groups), form, **asking)
    exact, wanted_ = [], []
    ages = {age for age, _, _ in people}
    for (asked,), chosen in brute.queries_of(draw_queries(microdata, **asking)):
        wanted = {v for v, yes in zip(microdata.values, chosen, strict=True) if yes}
        exact.append(sum(v in wanted for age, bag, _ in people if age in asked for v in bag))
        total = 0
        for group in brute.members(groups):
            own = [people[i][0] for i in group]
            if form == "bucketized":
                share = sum(age in asked for age in own) / len(own)
            else:  # who asks for neighbours asks for what lies between them
                box = range(min(own), max(own) + 1)
                share = sum(is_asked(age, asked, ages) for age in box) / len(box)
            total += share * sum(v in wanted for i in group for v in people[i][1])
        wanted_.append(total)
    assert found.exact.tolist() == exact
    assert found.estimated == pytest.approx(wanted_)


def is_asked(age, asked, ages):
    """Whether an age, one that occurs or not, is asked for."""
    if age in ages:
        return age in asked
    below, above = max(a for a in ages if a < age), min(a for a in ages if a > age)
    return below in asked and above in asked


def people(n=60):
    random = np.random.default_rng(1)
    table = pa.table(
        {
            "age": random.integers(20, 60, n),
            "sex": pa.array([("f", "m")[i] for i in random.integers(0, 2, n)]),
            "disease": pa.array([("Flu", "Cold", "AIDS")[i] for i in random.integers(0, 3, n)]),
        }
    )
    schema = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="disease")
    return fk.Microdata(table, schema)


def test_one_query_by_hand():
    table = pa.table({"age": [20, 30, 40, 50], "disease": ["S", "T", "S", "S"]})
    microdata = fk.Microdata(table, fk.Schema(quasi_identifiers=["age"], sensitive="disease"))
    # Half of each domain: one of S and T, and two neighbouring ages.
    asking = {"queries": 200, "selectivity": 0.25}
    groups = np.array([0, 0, 1, 1])
    drawn = draw_queries(microdata, **asking)
    asked = drawn.asked_values[0].T.tolist()
    at = [i for i, row in enumerate(asked) if row == [False, True, True, False]]
    of_s = next(i for i in at if drawn.values[0, i])
    for form in ("generalized", "bucketized"):
        found = fk.query_error_of_groups(microdata, groups, form, delta=0.5, **asking)
        # One matches: 40. Bucketized, one of two in each group match; one S, and two.
        # Of 20 to 30 the query asks for one of eleven ages, as of 40 to 50.
        wanted = 1.5 if form == "bucketized" else 3 / 11
        assert found.exact[of_s] == 1
        assert found.estimated[of_s] == pytest.approx(wanted)
        # Relative to at least half of the people: 2.
        assert found.relative[of_s] == pytest.approx(abs(wanted - 1) / 2)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_publications_are_asked_as_they_are_written(form, format_, tmp_path, tiny_tables):
    microdata = people()
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="3/4", knowing=[])])
    labels = {"age": "set"}
    options = fk.PublishOptions(form=form, format=format_, labels=labels)
    made = fk.publish(microdata, policy, options=options)
    groups = fk.Mondrian().partition(microdata, policy)
    wanted = fk.query_error_of_groups(microdata, groups, form, labels=labels)
    folder = tmp_path / "out"
    made.write(folder)
    files = {path.stem: path for path in folder.glob(f"*.{format_}")}
    if form == "generalized":
        quasi = {"quasi_identifiers": ["age", "sex"]}
        release = fk.Release.from_generalized(files["release"], sensitive="disease", **quasi)
    else:
        release = fk.Release.from_bucketized(
            files["sensitive"], sensitive="disease", people=files["people"]
        )
    for found in (
        fk.query_error(release, microdata, labels=labels),
        fk.query_error(made, microdata),
        fk.query_error(folder, microdata),
        fk.query_error(str(next(iter(files.values()))), microdata),
    ):
        assert found.form == form
        assert found.estimated == pytest.approx(wanted.estimated, abs=1e-9)
    assert 0 < wanted.median <= wanted.quantile(0.9) <= wanted.relative.max()
    alone = fk.query_error_of_groups(microdata, np.arange(60), form)
    assert (alone.average, alone.median) == pytest.approx((0, 0), abs=1e-12)


def test_suppressed_people_cover_everything():
    microdata = people()
    by_age = microdata.rows_of(microdata.attributes[0].codes)
    last = int(by_age.max())
    floors = {name: np.arange(last + 1) == last for name in ("age", "sex")}
    floors = {name: suppressed.astype(int) for name, suppressed in floors.items()}
    found = fk.query_error_of_groups(microdata, by_age, floors=floors, attributes=["age"])
    plain = fk.query_error_of_groups(microdata, by_age, attributes=["age"])
    assert plain.average == pytest.approx(0, abs=1e-12)
    oldest = (by_age == last).sum()
    assert 0 < np.abs(found.estimated - found.exact).max() <= oldest


def test_dropped_rows_are_no_people_and_empty_columns_are_not_asked_about():
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


def test_a_seed_asks_the_same_of_every_release_and_none_asks_anew():
    microdata = people()
    few, many = np.zeros(60, dtype=int), np.arange(60)
    assert (
        fk.query_error_of_groups(microdata, few).exact.tolist()
        == fk.query_error_of_groups(microdata, many, "bucketized").exact.tolist()
    )
    other = fk.query_error_of_groups(microdata, few, seed=1)
    assert other.exact.tolist() != fk.query_error_of_groups(microdata, few).exact.tolist()
    fresh = [fk.query_error_of_groups(microdata, few, seed=None).exact.tolist() for _ in "ab"]
    assert fresh[0] != fresh[1]


def test_a_result_is_plain_values():
    found = fk.query_error_of_groups(
        people(), np.zeros(60, dtype=int), queries=50, attributes=["age"]
    )
    told = json.loads(json.dumps(found.to_dict()))
    assert told["average"] == found.average
    assert told["quantiles"]["0.5"] == found.median
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
        ({"groups": np.zeros(59, dtype=int)}, "each of the 60 rows"),
        ({"groups": np.zeros(60)}, "whole number for each"),
    ],
)
def test_mistakes_are_named(asking, said):
    groups = asking.pop("groups", np.zeros(60, dtype=int))
    with pytest.raises(fk.InputError, match=said):
        fk.query_error_of_groups(people(), groups, **asking)


def test_what_is_no_release_or_of_another_table_is_refused():
    microdata = people()
    with pytest.raises(
        fk.InputError, match=r"expected a release, not Microdata: .*publish returns"
    ):
        fk.query_error(microdata, microdata)
    with pytest.raises(fk.InputError, match=r"quasi_identifiers=.* Microdata\(table, schema\)"):
        fk.query_error(None, pa.table({"a": [1]}))

    def released(age, disease, sex="f | m", n=1):
        table = pa.table({"age": [age] * n, "sex": [sex] * n, "disease": [disease] * n})
        return fk.Release.from_generalized(
            table, quasi_identifiers=["age", "sex"], sensitive="disease"
        )

    for release, said in (
        (released("20 to 99", "Flu"), "'age': the label '20 to 99' cannot be read as a range"),
        (released("*", "Flu", "f | x"), "'sex': the label 'f | x' cannot be read as a set"),
        (released(None, "Flu"), "'age': a label is missing"),
        (released("*", "Gout"), "nobody with the sensitive value 'Gout'"),
        (released("*", "Flu", n=61), "has 61 people, .* only 60"),
    ):
        with pytest.raises(DataError, match=said):
            fk.query_error(release, microdata)
    tally = pa.table({"group": [1], "disease": ["Flu"], "count": [1]})
    with pytest.raises(fk.InputError, match="are unavailable"):
        fk.query_error(fk.Release.from_bucketized(tally, sensitive="disease"), microdata)
    odd = pa.table({"group": [1], "age": [99], "sex": ["f"]})
    release = fk.Release.from_bucketized(tally, sensitive="disease", people=odd)
    with pytest.raises(DataError, match=r"'age'.*'99'"):
        fk.query_error(release, microdata)
