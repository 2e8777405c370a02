"""Random queries, and their answers: of both forms those of enumeration."""

import json
import math

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

FORMS = ["generalized", "bucketized"]


@examples(300, deadline=None)
@given(
    case=cases(),
    selectivity=st.sampled_from([0.001, 0.05, 0.25, 0.81, 1.0]),
    ranges=st.booleans(),
    data=st.data(),
)
def test_each_query_asks_for_as_many_values_as_it_should(case, selectivity, ranges, data):
    names = data.draw(st.lists(st.sampled_from(case.names), min_size=1, unique=True))
    predicates = data.draw(st.integers(1, len(names)))
    microdata = case.microdata()
    known = {a.name: a for a in microdata.attributes}
    asking = {"queries": 20, "attributes": names, "predicates": predicates}
    asking |= {"selectivity": selectivity, "ranges": ranges}
    if any(known[name].domain == [None] for name in names):
        with pytest.raises(DataError, match="missing everywhere"):
            draw_queries(microdata, **asking)
        return
    drawn = draw_queries(microdata, **asking)
    assert [attribute.name for attribute in drawn.attributes] == names
    share = selectivity ** (1 / (predicates + 1))

    def width(size):
        return max(1, math.ceil(round(size * share, 9)))

    for q in range(20):
        restricted = 0
        for attribute, asked in zip(drawn.attributes, drawn.asked_values, strict=True):
            first = attribute.domain[0] is None
            size = len(attribute.domain) - first
            mine = np.flatnonzero(asked[:, q])
            if len(mine) == len(attribute.domain) and (first or width(size) < size):
                continue  # not asked about
            restricted += 1
            assert len(mine) == width(size)
            assert not (first and asked[0, q])
            if ranges and attribute.order == "ordered":
                assert mine[-1] - mine[0] == len(mine) - 1
        whole = sum(
            a.domain[0] is not None and width(len(a.domain)) == len(a.domain)
            for a in drawn.attributes
        )
        assert restricted - whole <= predicates <= restricted
        assert drawn.values[:, q].sum() == width(len(microdata.values))


def test_what_is_asked_is_spread_evenly():
    random = np.random.default_rng(2)

    def table(n):
        columns = {f"q{i}": random.integers(0, 10, n) for i in range(3)}
        rows = pa.table({**columns, "s": random.integers(0, 10, n).astype(str)})
        return fk.Microdata(rows, fk.Schema(quasi_identifiers=list(columns), sensitive="s"))

    few, many = table(400), table(20_000)  # of independent values
    drawn = draw_queries(few, queries=3000, predicates=1)
    asked = [(~wanted.all(axis=0)).mean() for wanted in drawn.asked_values]
    assert asked == pytest.approx([1 / 3] * 3, abs=0.05)
    together = np.zeros(20_000, dtype=int)
    found = fk.query_error_of_groups(many, together, selectivity=0.0625, predicates=3)
    assert found.exact.mean() / 20_000 == pytest.approx(0.0625, rel=0.05)
    subsets = draw_queries(few, queries=5000, ranges=False)
    for wanted in (*subsets.asked_values, subsets.values):
        assert wanted.mean(axis=1) == pytest.approx(np.full(10, 0.5), abs=0.04)
    runs = draw_queries(few, queries=5000).asked_values[0]
    firsts = np.bincount(runs.argmax(axis=0), minlength=10) / 5000
    assert firsts == pytest.approx([1 / 6] * 6 + [0] * 4, abs=0.03)


# ---- answers -------------------------------------------------------------------------------------


@st.composite
def grouped(draw):
    """A case without a column that is missing everywhere, its groups, and how to ask and write."""

    def is_asked_about(case):
        return all(any(v is not None for v in column) for column in zip(*case.rows, strict=True))

    case = draw(cases().filter(is_asked_about))
    size = len(case.rows)
    groups = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    used = sorted(set(groups))
    groups = [used.index(g) for g in groups]
    styles, floors = {}, {}
    for name, kind in zip(case.names, case.kinds, strict=True):
        possible = ["set", None] + ["range"] * (kind.name != "text")
        style = draw(st.sampled_from(possible + ["hierarchy"] * (kind.name in brute.PATHS)))
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


def releases(microdata, groups, styles, floors, seed):
    """The same groups as tables that are published, in both forms."""
    random, n_groups = np.random.default_rng(seed), int(groups.max()) + 1
    table = generalized(microdata, groups, n_groups, styles, random, floors)["release"]
    names = [attribute.name for attribute in microdata.attributes]
    yield fk.Release.from_generalized(table, quasi_identifiers=names, sensitive="disease")
    both = bucketized(microdata, groups, group_ids(n_groups, random), random)
    yield fk.Release.from_bucketized(both["sensitive"], sensitive="disease", people=both["people"])


@examples(300, deadline=None)
@given(grouped(), st.sampled_from([0.005, 0.5]))
def test_answers_are_those_of_enumeration(drawn, delta):
    """Also of what is published; half of them in many small blocks."""
    case, groups, styles, floors, asking = drawn
    microdata = case.microdata()
    boxes = boxes_of(case, groups, styles, floors)
    exact, boxed, bucketed = [], [], []
    domains = [list(dict.fromkeys(column)) for column in zip(*case.rows, strict=True)]
    for sets, chosen in brute.queries_of(draw_queries(microdata, **asking)):
        wanted = {v for v, yes in zip(microdata.values, chosen, strict=True) if yes}
        exact.append(brute.true_answer(case.rows, case.held, sets, wanted))
        wishes = list(map(brute.wish_of, case.kinds, sets, domains))
        boxed.append(float(brute.generalized_answer(boxes, case.held, groups, wishes, wanted)))
        people = case.rows, case.held, groups
        bucketed.append(float(brute.bucketized_answer(*people, sets, wanted)))
    groups = np.array(groups)
    tables = releases(microdata, groups, styles, floors, asking["seed"])
    with pytest.MonkeyPatch.context() as patch:
        if asking["seed"] % 2:
            patch.setattr(answering, "_BLOCK", 2)
            patch.setattr(answering, "_QUERIES", 2)
        for form, wanted, release in zip(FORMS, (boxed, bucketed), tables, strict=True):
            how = {**asking, "delta": delta, "labels": styles if form == FORMS[0] else {}}
            own = fk.query_error_of_groups(microdata, groups, form, floors=floors, **how)
            for found in (own, fk.query_error(release, microdata, **how)):
                assert (found.form, found.exact.tolist()) == (form, exact)
                assert found.estimated == pytest.approx(wanted, abs=1e-9)
                least = delta * len(case.rows)
                pairs = zip(exact, wanted, strict=True)
                errors = [abs(a - b) / max(a, least) for a, b in pairs]
                assert found.relative == pytest.approx(errors, abs=1e-6)
                assert found.average == pytest.approx(sum(errors) / len(errors), abs=1e-6)


PEOPLE = st.tuples(
    st.integers(0, 4), st.lists(st.sampled_from("STU"), max_size=3), st.integers(0, 2)
)


@examples(300, deadline=None)
@given(
    people=st.lists(PEOPLE, min_size=1, max_size=8).filter(lambda own: any(v for _, v, _ in own)),
    form=st.sampled_from(FORMS),
    seed=st.integers(0, 99),
)
def test_where_people_have_several_values_occurrences_are_counted(people, form, seed):
    values = pa.array([v for _, v, _ in people], pa.list_(pa.string()))
    table = pa.table({"age": pa.array([age for age, _, _ in people]), "disease": values})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease", semantics="multiset")
    microdata = fk.Microdata(table, schema)
    groups = [group for _, _, group in people]
    asking = {"queries": 5, "selectivity": 0.3, "seed": seed}
    found = fk.query_error_of_groups(microdata, np.array(groups), form, **asking)
    exact, estimated = [], []
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
        estimated.append(total)
    assert found.exact.tolist() == exact
    assert found.estimated == pytest.approx(estimated)


def is_asked(age, asked, ages):
    """Whether an age, one that occurs or not, is asked for."""
    if age in ages:
        return age in asked
    below, above = max(a for a in ages if a < age), min(a for a in ages if a > age)
    return below in asked and above in asked


def test_overall_counts_answer_by_ranges_and_frequencies_alone():
    """Recomputed: the share of the ages in between that a query asks for, times its values."""
    ages, values = [20, 21, 25, 39, 39, 30], ["x", "y", "x", "x", "z", "y"]
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="d")
    microdata = fk.Microdata(pa.table({"age": ages, "d": values}), schema)
    policy = fk.Policy([fk.Requirement(fk.Facts(), 1)])
    made = fk.publish(microdata, policy, labels={"age": "exact"})
    found = fk.query_error(made, microdata, queries=200, selectivity=0.2)
    wanted = []
    for (asked,), chosen in brute.queries_of(draw_queries(microdata, queries=200, selectivity=0.2)):
        some = [v for v, yes in zip(microdata.values, chosen, strict=True) if yes]
        share = (max(asked) - min(asked) + 1) / (39 - 20 + 1)
        wanted.append(float(share) * sum(values.count(value) for value in some))
    assert found.overall.tolist() == pytest.approx(wanted)
    baseline = found.baseline
    assert baseline.estimated.tolist() == found.overall.tolist()
    assert baseline.baseline is None
    assert baseline.average > found.average > 0
    assert found.to_dict()["overall_counts"]["average"] == baseline.average


def test_two_policies_are_asked_the_same_queries():
    random = np.random.default_rng(0)
    zips, ages = random.integers(10, 40, 300), random.integers(20, 60, 300).tolist()
    table = {"zip": [f"{n:02}" for n in zips], "age": ages, "d": random.choice([*"xyz"], 300)}
    table = pa.table({**table, "d": table["d"].tolist()})
    roles = {"quasi_identifiers": ["zip", "age"], "sensitive": "d"}
    plain = fk.Microdata(table, fk.Schema(**roles, types={"zip": "text"}))
    roles["quasi_identifiers"] = ["age", "zip"]
    ways = {"zip": fk.Mask(2), "age": fk.Intervals([5, 20])}
    masked = fk.Microdata(table, fk.Schema(**roles, hierarchies=ways))
    grouped = table.append_column("g", pa.array(zips // 10))
    release = fk.Release.from_groups(grouped, group="g", sensitive="d")
    asking = {"queries": 50, "selectivity": 0.3}
    for like in (plain, masked):
        of_both = []
        for microdata in (plain, masked):
            asked = draw_queries(microdata, like=like, **asking)
            names = [attribute.name for attribute in asked.attributes]
            rows = list(zip(*(table[name].to_pylist() for name in names), strict=True))
            answers = []
            for sets, chosen in brute.queries_of(asked):
                wanted = {v for v, yes in zip(microdata.values, chosen, strict=True) if yes}
                answers.append(brute.true_answer(rows, table["d"].to_pylist(), sets, wanted))
            found = fk.query_error(release, microdata, like=like, labels={}, **asking)
            assert found.exact.tolist() == answers
            assert found.attributes == tuple(each.name for each in like.attributes)
            of_both.append(asked.values.tolist())
        assert of_both[0] == of_both[1]
    own = draw_queries(plain, queries=50).asked_values[0]
    assert own.tolist() != draw_queries(plain, queries=50, like=masked).asked_values[1].tolist()


def test_queries_of_other_columns_are_refused():
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
def test_what_is_no_release_or_of_another_table_is_refused(release, said):
    with pytest.raises(fk.InputError, match=said):
        fk.query_error(release(), people())


def test_a_table_is_no_microdata():
    with pytest.raises(fk.InputError, match=r"quasi_identifiers=.* Microdata\(table, schema\)"):
        fk.query_error(None, pa.table({"a": [1]}))
