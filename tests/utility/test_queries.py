"""Random queries answered as by enumeration, and what published labels cover between values."""

import datetime as dt
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common import examples
from tests.methods.tables import cases, interval_path, mask_path, tree_path
from tests.people import bucketized, generalized

import foreknow as fk
from foreknow import sample
from foreknow.features.utility import queries as answering
from foreknow.features.utility.queries import draw_queries
from foreknow.features.utility.value_positions import (
    covers_of_groups,
    covers_of_texts,
    positions_of,
)
from foreknow.publishing.tables import group_ids
from foreknow_judge.errors import DataError

PATHS = {"tree": tree_path, "interval": interval_path, "mask": mask_path}
DEPTH = 3
SIZES = {"low": 0, "middle": 1, "high": 2}
LEAVES = "abcdefgh"


def queries_of(drawn):
    """The queries as sets of values: one per attribute that is asked about, and the sensitive."""
    results = []
    for q in range(len(drawn)):
        sets = [
            {v for v, wanted in zip(attribute.domain, asked_value[:, q], strict=True) if wanted}
            for attribute, asked_value in zip(drawn.attributes, drawn.asked_values, strict=True)
        ]
        results.append((sets, drawn.values[:, q]))
    return results


def true_answer(rows, sensitive, sets, expected):
    return sum(
        all(value in allowed for value, allowed in zip(row, sets, strict=True)) and held in expected
        for row, held in zip(rows, sensitive, strict=True)
    )


def members(groups):
    return [[i for i, g in enumerate(groups) if g == group] for group in sorted(set(groups))]


def bucketized_answer(rows, sensitive, groups, sets, expected):
    """Each of the people who match has each value of the bag with the same chance."""
    total = Fraction(0)
    for group in members(groups):
        matching = sum(
            all(v in allowed for v, allowed in zip(rows[i], sets, strict=True)) for i in group
        )
        total += matching * Fraction(sum(sensitive[i] in expected for i in group), len(group))
    return total


def generalized_answer(boxes, sensitive, groups, wishes, expected):
    """Each person is anywhere in their group's box with the same chance.

    A box has a list of pieces per attribute, a wish of a query as well: ranges of whole numbers,
    and None for a missing value.
    """
    total = Fraction(0)
    for group, box in zip(members(groups), boxes, strict=True):
        share = Fraction(1)
        for pieces, wish in zip(box, wishes, strict=True):
            share *= Fraction(common(pieces, wish), common(pieces, pieces))
        total += share * sum(sensitive[i] in expected for i in group)
    return total


def common(pieces, others):
    """How many possible values two lists of disjoint pieces have in common."""
    total = (None in pieces) and (None in others)
    for piece in pieces:
        for other in others:
            if piece is not None and other is not None:
                total += max(0, min(piece.stop, other.stop) - max(piece.start, other.start))
    return total


def wish_of(kind, asked, domain):
    """What a query asks for: values, and what lies between those that are next to each other."""
    where = place(kind, domain)
    result = [None] * (None in asked)
    run = []
    for value in sorted((v for v in domain if v is not None), key=where):
        if value in asked:
            run.append(where(value))
        elif run:
            result.append(range(run[0], run[-1] + 1))
            run = []
    return result + ([range(run[0], run[-1] + 1)] if run else [])


def box_of(kind, values, domain, floor=0, style=None):
    """What a group's label covers: all that could be meant, whether it occurs or not."""
    kind_of = kind.name
    style = style or ("hierarchy" if kind_of in PATHS else "set" if kind_of == "text" else "range")
    where = place(kind, domain)
    known = [where(v) for v in domain if v is not None]
    lowest, highest = min(known), max(known)
    everything = [range(lowest, highest + 1), *([None] * (None in domain))]
    if style == "hierarchy":
        for level in range(floor, DEPTH + 1):
            nodes = {path_of(kind_of, value)[level] for value in values}
            if len(nodes) > 1:
                continue
            if level == DEPTH:
                return everything
            if None in values:
                return [None]
            return [
                range(step, step + 1)
                for step in range(lowest, highest + 1)
                if path_of(kind_of, at(kind_of, step, domain))[level] in nodes
            ]
        raise AssertionError("no top")
    if floor >= (DEPTH if kind_of in PATHS else 1):
        return everything
    if style == "set":
        if set(values) == set(domain):
            return everything
        return [None if v is None else range(where(v), where(v) + 1) for v in values]
    inside = [where(v) for v in values if v is not None]
    result = [None] * (None in values)
    return result + ([range(min(inside), max(inside) + 1)] if inside else [])


def place(kind, domain):
    """Where a value lies among all that are possible: a whole number."""
    occurring = sorted(v for v in domain if v is not None) if kind.name in ("text", "mask") else ()
    return {
        "number": int,
        "interval": int,
        "decimal": lambda value: int(value * PARTS[any(v in (0.5, -1.5) for v in domain)]),
        "order": SIZES.__getitem__,
        "tree": LEAVES.index,
        "text": occurring.index if occurring else None,
        "mask": occurring.index if occurring else None,
    }[kind.name]


# Decimal numbers are written in tenths if any of them has to be.
PARTS = {True: 10, False: 1}


def at(kind_of, step, domain):
    """The possible value that lies somewhere."""
    if kind_of == "mask":
        return sorted(v for v in domain if v is not None)[step]
    return LEAVES[step] if kind_of == "tree" else step


def path_of(kind_of, value):
    """A value and what is above it."""
    if value is None:
        return (None, *(("(null)",) * (DEPTH - 1)), "*")
    above = PATHS[kind_of](value)
    # One label may stand for different things at different levels.
    return (value, *((level, label) for level, label in enumerate(above[:-1])), "*")


def members_of(covers):
    """The values that labels cover: the label of each, and its code."""
    results = [(), ()]
    for label in range(len(covers)):
        for at in range(covers.offsets[label], covers.offsets[label + 1]):
            ends = covers.starts[at], covers.ends[at]
            codes = range(*np.searchsorted(covers.positions.cells, ends).tolist())
            results = [(*results[0], *[label] * len(codes)), (*results[1], *codes)]
    return np.array(results[0], dtype=int), np.array(results[1], dtype=int)


# random queries answered as by enumeration, and what published labels cover between values.

# ---- answers -------------------------------------------------------------------------------------


FORMS = ["generalized", "bucketized"]


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
        style = draw(st.sampled_from(possible + ["hierarchy"] * (kind.name in PATHS)))
        if style is not None:
            styles[name] = style
        if draw(st.booleans()):
            levels = st.lists(st.integers(0, 3), min_size=len(used), max_size=len(used))
            top = 3 if kind.name in PATHS else 1
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
    results = []
    for g, group in enumerate(members(groups)):
        box = []
        for a, (name, kind) in enumerate(zip(case.names, case.kinds, strict=True)):
            domain = list(dict.fromkeys(row[a] for row in case.rows))
            floor = int(floors[name][g]) if name in floors else 0
            values = {case.rows[i][a] for i in group}
            box.append(box_of(kind, values, domain, floor, styles.get(name)))
        results.append(box)
    return results


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
def test_answers_match_enumeration(drawn, delta):
    """Also of what is published; half of them in many small blocks."""
    case, groups, styles, floors, asking = drawn
    microdata = case.microdata()
    boxes = boxes_of(case, groups, styles, floors)
    exact, boxed, bucketed = [], [], []
    domains = [list(dict.fromkeys(column)) for column in zip(*case.rows, strict=True)]
    for sets, chosen in queries_of(draw_queries(microdata, **asking)):
        wanted = {v for v, yes in zip(microdata.values, chosen, strict=True) if yes}
        exact.append(true_answer(case.rows, case.held, sets, wanted))
        wishes = list(map(wish_of, case.kinds, sets, domains))
        boxed.append(float(generalized_answer(boxes, case.held, groups, wishes, wanted)))
        people = case.rows, case.held, groups
        bucketed.append(float(bucketized_answer(*people, sets, wanted)))
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


DOCS = Path(__file__).parents[2] / "docs"


def test_page_shows_median_errors():
    policy = fk.Policy.load(sample.policy_path())
    raw, results = fk.Microdata(sample.table_path(), policy.schema), []
    for method in (fk.Mondrian(), fk.FullDomain()):
        groups = method.partition(raw, policy)
        for form in FORMS:
            error = fk.query_error_of_groups(raw, groups, form, predicates=2)
            results.append(f"{error.median:.1%}")
    text = "| `Mondrian` | {} | {} |\n| `FullDomain` | {} | {} |\n"
    assert text.format(*results) in (DOCS / "decide" / "method.md").read_text("utf-8")


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


@examples(300, deadline=None)
@given(
    case=cases(),
    selectivity=st.sampled_from([0.001, 0.05, 0.25, 0.81, 1.0]),
    ranges=st.booleans(),
    data=st.data(),
)
def test_queries_have_their_width(case, selectivity, ranges, data):
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
        for attribute, asked_value in zip(drawn.attributes, drawn.asked_values, strict=True):
            first = attribute.domain[0] is None
            size = len(attribute.domain) - first
            mine = np.flatnonzero(asked_value[:, q])
            if len(mine) == len(attribute.domain) and (first or width(size) < size):
                continue  # not asked about
            restricted += 1
            assert len(mine) == width(size)
            assert not (first and asked_value[0, q])
            if ranges and attribute.order == "ordered":
                assert mine[-1] - mine[0] == len(mine) - 1
        total = sum(
            a.domain[0] is not None and width(len(a.domain)) == len(a.domain)
            for a in drawn.attributes
        )
        assert restricted - total <= predicates <= restricted
        assert drawn.values[:, q].sum() == width(len(microdata.values))


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


def test_a_result_is_plain_values():
    result = fk.query_error_of_groups(people(), EVERYBODY, queries=50, attributes=["age"])
    document = json.loads(json.dumps(result.to_dict()))
    assert (document["average"], document["quantiles"]["0.5"]) == (result.average, result.median)
    assert 0 < result.median <= result.quantile(0.9) <= result.relative.max()
    assert (document["queries"], document["attributes"], document["predicates"]) == (50, ["age"], 1)
    assert repr(result) in result._repr_html_()
    assert repr(result).startswith("QueryError(50 queries, generalized: ")


@pytest.mark.parametrize(
    ("asking", "message"),
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
def test_mistakes_are_named(asking, message):
    with pytest.raises(fk.InputError, match=message):
        fk.query_error_of_groups(people(), **{"groups": EVERYBODY, **asking})


def boxed(age="*", disease="Flu", sex="f | m", n=1):
    table = pa.table({"age": [age] * n, "sex": [sex] * n, "disease": [disease] * n})
    return fk.Release.from_generalized(table, quasi_identifiers=["age", "sex"], sensitive="disease")


def counted(**more):
    tally = pa.table({"group": [1], "disease": ["Flu"], "count": [1]})
    return fk.Release.from_bucketized(tally, sensitive="disease", **more)


@pytest.mark.parametrize(
    ("release", "message"),
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
def test_wrong_releases_are_refused(release, message):
    with pytest.raises(fk.InputError, match=message):
        fk.query_error(release(), people())


def test_a_table_is_no_microdata():
    with pytest.raises(fk.InputError, match=r"quasi_identifiers=.* Microdata\(table, schema\)"):
        fk.query_error(None, pa.table({"a": [1]}))


# ---- positions -----------------------------------------------------------------------------------


SETTINGS = examples(60, deadline=None)
DAYS = st.dates(dt.date(2023, 11, 20), dt.date(2024, 3, 10))


def laid_out(values, hierarchy=None, type_=None):
    hierarchies = {"q": hierarchy} if hierarchy else {}
    schema = fk.Schema(quasi_identifiers=["q"], sensitive="s", hierarchies=hierarchies)
    table = pa.table({"q": pa.array(values, type_), "s": ["x"] * len(values)})
    (found,) = fk.Microdata(table, schema).attributes
    return found, positions_of(found, hierarchy)


def share(values, group, asked, hierarchy=None, style="range", floor=None, type_=None):
    """The share of a label's possible values that a query asks for.

    The group is of the people at some places, the query for some of the values.
    """
    attribute, line = laid_out(values, hierarchy, type_)
    groups = np.array([0 if i in group else 1 for i in range(len(values))])
    n_groups = int(groups.max()) + 1
    floors = None if floor is None else np.array([floor, 0][:n_groups])
    covers = covers_of_groups(attribute, line, groups, n_groups, style, floors)
    wish = np.array([[value in asked] for value in attribute.domain])
    return covers.shares(wish)[covers.of_group[0], 0]


def spelled(values, asked, possible):
    """What is asked for of what is possible: neighbours with all that lies between them."""
    known = sorted(set(values))
    results = []
    for value in possible:
        below = [v for v in known if v <= value]
        above = [v for v in known if v >= value]
        results += [value] * bool(below and above and below[-1] in asked and above[0] in asked)
    return results


@st.composite
def questions(draw, values):
    """Values, who is in the group, and which values are asked for."""
    rows = draw(st.lists(values, min_size=1, max_size=8))
    group = {0, *draw(st.sets(st.integers(0, len(rows) - 1)))}
    asked = draw(st.sets(st.sampled_from(rows)))
    return rows, group, asked


ORDER, SOME = fk.Ordered(["low", "middle", "high", "top"]), ["low", "high", "top"]
FIVES, QUARTERS, HALVES = fk.Intervals([5]), fk.Intervals(["0.25"]), fk.Intervals(["0.5", 2])
DIGITS = [0.0, 0.123456789012345, 0.75, 1.0]
HUGE = [-1e300, 1e-300, 1.0, 1e300]
MISSING, AGES = [None, 13, 14, 20], [20, 30, 40, None]
STEPS, TINY = [0.0, 1e-30, 2e-30, 3e-30, 1e30], fk.Intervals(["2e-30", "4e-30"])
APART = zip(STEPS, [0.5, 0.5, 0, 0, 0], strict=True)
TENTHS, CODES = [0.0, 0.3, 0.4, 0.9, 2.0], ["120", "127", "131"]


@pytest.mark.parametrize(
    ("rows", "group", "asked", "how", "expected"),
    [
        # Of numbers with many digits the length counts.
        (DIGITS, {0, 3}, {0.0, 0.123456789012345}, {}, 0.123456789),
        (DIGITS, {1, 3}, {0.75, 1.0}, {}, 0.25 / 0.876543211),
        # A value alone has no length; a label that is exact is that value.
        (DIGITS, {0, 3}, {0.75}, {}, 0),
        (DIGITS, {2}, {0.75}, {}, 1),
        # So it does from the largest to the smallest; beside an infinite value, values are counted.
        (HUGE, {0, 3}, {1e-300, 1.0, 1e300}, {}, 0.5),
        *((HUGE, {0}, {value}, {}, int(value == HUGE[0])) for value in HUGE),
        *((HUGE, {1}, {value}, {}, int(value == HUGE[1])) for value in HUGE),
        (HUGE, {0, 1, 2, 3}, set(HUGE), {}, 1),
        # Intervals of very many steps keep apart.
        *((STEPS, {0, 1}, {value}, {"hierarchy": TINY}, share) for value, share in APART),
        ([1.0, 2.0, 90.0, float("inf")], {0, 3}, {1.0, 2.0}, {}, 0.5),
        # "10 to 14" as far as the column goes: 13 and 14; "*" is 13 to 20, or missing.
        (MISSING, {1, 2}, {13}, {"hierarchy": FIVES}, 0.5),
        (MISSING, {1, 2}, {None}, {"hierarchy": FIVES}, 0),
        (MISSING, {0}, {None, 13}, {"hierarchy": FIVES}, 1),
        (MISSING, {0, 1}, {None}, {"hierarchy": FIVES}, 1 / 9),
        # "0 to <0.5" holds 0.0, 0.1, ..., 0.4; the query is for 0.0 to 0.3.
        (TENTHS, {0, 2}, {0.0, 0.3}, {"hierarchy": HALVES}, 4 / 5),
        # Bounds between two steps: "0.5 to <0.75" holds 0.5, 0.6, 0.7; "0.25 to <0.5" 0.3, 0.4.
        ([0.5, 0.6, 0.9], {0, 1}, {0.5}, {"hierarchy": QUARTERS}, 1 / 3),
        (TENTHS, {1, 2}, {0.3}, {"hierarchy": QUARTERS}, 1 / 2),
        # A range of an order holds what lies between.
        (SOME, {0, 1}, {"low"}, {"hierarchy": ORDER, "style": "range"}, 1 / 3),
        (SOME, {0, 1}, {"low", "high"}, {"hierarchy": ORDER, "style": "range"}, 1),
        # Of texts and masked codes those that occur are possible.
        (list("axz"), {0, 2}, {"a"}, {"style": "set"}, 0.5),
        (list("axz"), {0}, {"a"}, {"style": "set", "floor": 1}, 1 / 3),
        (CODES, {0, 1}, {"127"}, {"hierarchy": fk.Mask(3)}, 0.5),
        (CODES, {0, 2}, {"127"}, {"hierarchy": fk.Mask(3)}, 1 / 3),
        # A set holds its values, and a missing one is one more; all that there are mean "*".
        (AGES, {0, 2}, {20, 30}, {"style": "set"}, 0.5),
        (AGES, {0, 2, 3}, {20, 30}, {"style": "set"}, 1 / 3),
        (AGES, {0, 1, 3}, {20, 30}, {}, 11 / 12),
        (AGES, {0, 1, 2, 3}, {20, 30}, {"style": "set"}, 11 / 22),
        (AGES, {3}, {None, 20}, {}, 1),
    ],
)
def test_what_a_label_holds(rows, group, asked, how, expected):
    style = "hierarchy" if "hierarchy" in how else "range"
    result = share(rows, group, asked, **{"style": style, **how})
    assert result == pytest.approx(expected, abs=1e-9)


def test_zoned_times_are_instants():
    zone = pa.timestamp("s", "Europe/Berlin")  # whose clocks go back on 27 October 2024
    hours = [dt.datetime(2024, 10, 26, 22 + h, tzinfo=dt.UTC) for h in (0, 1)]
    hours += [dt.datetime(2024, 10, 27, h, tzinfo=dt.UTC) for h in (0, 1, 2, 7)]
    _, line = laid_out(hours, type_=zone)
    assert line.cells.tolist() == [0, 1, 2, 3, 4, 9]


@SETTINGS
@given(questions(DAYS), st.sampled_from(["day", "month", "quarter", "year", "decade"]))
def test_periods_hold_their_days(question, period):
    rows, group, asked = question

    parts = {
        "day": lambda day: day,
        "month": lambda day: (day.year, day.month),
        "quarter": lambda day: (day.year, (day.month - 1) // 3),
        "year": lambda day: day.year,
        "decade": lambda day: day.year // 10,
    }
    node = parts[period]
    days = [dt.date(2023, 11, 20) + dt.timedelta(n) for n in range(112)]
    everything = [day for day in days if min(rows) <= day <= max(rows)]
    nodes = {node(rows[i]) for i in group}
    box = everything if len(nodes) > 1 else [day for day in everything if node(day) in nodes]
    hierarchy = fk.DateLevels([period])
    wanted = len(spelled(rows, asked, box)) / len(box)
    assert share(rows, group, asked, hierarchy, "hierarchy", 1) == pytest.approx(wanted)
    texts = [day.isoformat() for day in rows]
    told = {day.isoformat() for day in asked}
    assert share(texts, group, told, hierarchy, "hierarchy", 1) == pytest.approx(wanted)


def test_periods_at_ends_of_calendar():
    rows = [dt.date.min, dt.date(5, 5, 5), dt.date(9995, 5, 5), dt.date.max]
    first, last = (dt.date(10, 1, 1) - rows[0]).days, (rows[3] - dt.date(9990, 1, 1)).days + 1
    for places, days in (((0, 1), first), ((2, 3), last)):
        asked = [rows[place] for place in places]
        wanted = ((asked[1] - asked[0]).days + 1) / days
        result = share(rows, {*places}, {*asked}, fk.DateLevels(["decade"]), "hierarchy")
        assert result == pytest.approx(wanted)


# ---- labels that are read back -------------------------------------------------------------------


def covered(found, text, style):
    covers = covers_of_texts(*found, [text], style)
    return [found[0].domain[code] for code in members_of(covers)[1].tolist()]


FIFTIES, LETTERS = laid_out([20, 30, 40, 50, None]), laid_out(["a", "b", "c", "d", None])
BARS, BAR = laid_out(["a | b", 'say "c"', "d"]), laid_out(["a|b", "c"])
MASKED = laid_out(["120", "127", "131", "990"], fk.Mask(3))
STARRED, NULLS = laid_out(["*", "a", "b"]), laid_out(["missing", "x", None, "y"])
RANKED = ["1 to 2", "3 to 4", "5 to 6"]
RANKS, QUOTED = laid_out(RANKED, fk.Ordered(RANKED)), laid_out(["a", "b", '"a" | "b"'])
ALL_CODES = ["120", "127", "131", "990"]


@pytest.mark.parametrize(
    ("result", "style", "read", "refused"),
    [
        (
            FIFTIES,
            "range",
            {"20 to 40": [20, 30, 40], "30": [30], 30: [30], None: [None]}
            | {"30 to 40 or missing": [None, 30, 40], "30 or missing": [None, 30]}
            | {"*": [None, 20, 30, 40, 50]},
            ["20 to 99", "40 to 20", "20 | 30"],
        ),
        (
            LETTERS,
            "set",
            {"a | c": ["a", "c"], "missing | b | c": [None, "b", "c"], "b": ["b"], None: [None]}
            | {"*": [None, "a", "b", "c", "d"]},
            ["a | x", "c | a", "a to c"],
        ),
        (
            BARS,
            "set",
            {'"a | b" | "d"': ["a | b", "d"], "a | b": ["a | b"]}
            | {'"a | b" | "say ""c"""': ["a | b", 'say "c"']},
            [],
        ),
        (BAR, "set", {}, ['"a|b" | "c']),
        (
            MASKED,
            "hierarchy",
            {"12*": ALL_CODES[:2], "1**": ALL_CODES[:3], "*": ALL_CODES, "131": ["131"]},
            ["14*"],
        ),
        # A domain that holds a star is suppressed by another name.
        (STARRED, "set", {"*": ["*"], "* (level 1)": ["*", "a", "b"]}, []),
        (
            RANKS,
            "range",
            {'"1 to 2" to "5 to 6"': RANKED, "3 to 4": ["3 to 4"]},
            ["1 to 2 to 5 to 6"],
        ),
        # A null beside the word "missing" is the one without quotes.
        (
            NULLS,
            "set",
            {'missing | "x"': [None, "x"], '"missing" | "x"': ["missing", "x"]}
            | {'missing | "missing" | "x"': [None, "missing", "x"]},
            ["missing | x"],
        ),
        # A set that would be written like a value has a plus.
        (QUOTED, "set", {'"a" | "b"': ['"a" | "b"'], '"a" | "b"+': ["a", "b"]}, ['"a" | "b"++']),
    ],
)
def test_labels_mean_what_they_cover(result, style, read, refused):
    for text, values in read.items():
        assert covered(result, text, style) == values
    for text in refused:
        with pytest.raises(DataError, match=f"cannot be read as a {style}"):
            covered(result, text, style)
