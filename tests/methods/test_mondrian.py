"""Mondrian: its groups are safe, no candidate cut of them is; people with equal rows stay together.

Against a reference in plain Python, whether people have one value each, or several, or none.
"""

import time
import tracemalloc
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.diagnoses import diagnoses
from tests.examples import examples
from tests.methods.reference import Levels, Line, breach, safe, safe_cuts
from tests.methods.tables import (
    asking,
    cases,
    crowd_of,
    crowds,
    interval_path,
    mask_path,
    microdata,
    policies,
    tree_path,
)
from tests.oracle import many_worlds, worlds

import foreknow as fk
from foreknow.adversaries.facts.minima import FactsMeasure
from foreknow.adversaries.ledger import MinLedger
from foreknow.methods.mondrian import levels
from foreknow.methods.mondrian.levels import Choice, Level
from foreknow.methods.points import Points
from foreknow_judge.numbers import as_threshold

pytestmark = pytest.mark.usefixtures("tiny_tables")

SEVERAL = pytest.mark.parametrize("semantics", ["set", "multiset"])
TABLES = pytest.mark.parametrize("tables", [cases(), crowds()], ids=["one value", "several"])
TINY = [cases(6, 2), crowds(5, 1, "STU")]
EASY = asking("0.9")


def found_by(method, crowd, policy, seed=0):
    """The groups that a method finds, or None."""
    try:
        partition = method.partition(crowd.microdata(seed), policy, seed=seed)
    except fk.NoSafeRelease:
        return None
    assert (type(partition), partition.dtype) == (np.ndarray, np.int64)
    return crowd.groups_of(partition.tolist(), seed)


def together(groups):
    return None if groups is None else {frozenset(group) for group in groups}


def check(crowd, method, policy, rules):
    """The groups found, held against the reference; refused where one group is unsafe only."""
    groups = found_by(method, crowd, policy)
    if groups is None:
        assert not safe(crowd.bags([crowd.everyone]), rules, crowd.semantics)
        return None
    assert safe(crowd.bags(groups), rules, crowd.semantics)
    if crowd.semantics == "single":
        assert safe(crowd.bags([crowd.everyone]), rules)
    left = safe_cuts(crowd, groups, rules, method.cuts)
    assert not left, (groups, left)
    return groups


def worst_in_worlds(crowd, groups, value, point):
    bags = [(len(group), "".join(crowd.held[p] for p in group)) for group in groups]
    if crowd.semantics == "single":
        return worlds.worst_cases([bag for _, bag in bags], value, point)[point]
    return many_worlds.worst_cases(bags, value, point, crowd.semantics)[point]


@TABLES
@examples(180)
@given(data=st.data(), cuts=st.integers(1, 5), seed=st.integers(0, 9))
def test_any_result_is_safe_and_minimal_and_keeps_equal_people_together(tables, data, cuts, seed):
    """Nor do the order of rows and a seed change it."""
    crowd = data.draw(tables)
    policy, rules = data.draw(policies(crowd.values))
    method = fk.Mondrian(cuts)
    groups = check(crowd, method, policy, rules)
    assert together(found_by(method, crowd, policy, seed)) == together(groups)
    for group in groups or []:
        inside = {crowd.rows[p] for p in group}
        assert group == [p for p, row in enumerate(crowd.rows) if row in inside]


@TABLES
@examples(60)
@given(data=st.data(), amounts=st.tuples(*[st.integers(0, 1)] * 3))
def test_a_threshold_that_a_result_attains_forbids_that_result(tables, data, amounts):
    crowd = data.draw(tables)
    about = data.draw(st.sampled_from(crowd.values))
    method, everything = fk.Mondrian(), [(crowd.values, amounts, Fraction(1))]
    groups = check(crowd, method, asking(1, amounts), everything)
    if groups is None:
        return
    attained = breach(crowd.bags(groups), about, amounts, crowd.semantics)
    stricter = asking(attained, amounts, values=[about])
    again = check(crowd, method, stricter, [([about], amounts, attained)])
    assert again is None or breach(crowd.bags(again), about, amounts, crowd.semantics) < attained


@pytest.mark.parametrize("tables", TINY, ids=["one value", "several"])
@examples(60)
@given(data=st.data(), point=st.tuples(*[st.integers(0, 2)] * 3))
def test_tiny_results_and_the_reference_itself_agree_with_enumeration(tables, data, point):
    crowd = data.draw(tables)
    halves = [[p for p in crowd.everyone if p % 2 == side] for side in (0, 1)]
    halves = [half for half in halves if half]
    for value in crowd.values:
        expected = worst_in_worlds(crowd, halves, value, point)
        assert breach(crowd.bags(halves), value, point, crowd.semantics) == expected
    policy, rules = data.draw(policies(crowd.values))
    groups = found_by(fk.Mondrian(), crowd, policy)
    if groups is None and crowd.semantics != "single":
        return
    assert (groups is not None) == all(
        worst_in_worlds(crowd, groups or [crowd.everyone], value, point) < c
        for values, point, c in rules
        for value in values
    )


@pytest.mark.parametrize("cells", [1, 40])
@examples(25)
@given(data=st.data(), crowd=crowds(most_people=14))
def test_weighing_a_few_proposals_at_a_time_is_as_safe(cells, data, crowd):
    policy, rules = data.draw(policies(crowd.values))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "_CELLS", cells)
        groups = check(crowd, fk.Mondrian(2), policy, rules)
    assert (groups is None) == (found_by(fk.Mondrian(2), crowd, policy) is None)


@pytest.mark.thinned(2)
@SEVERAL
@pytest.mark.parametrize("cells", [500, 1 << 16])
def test_a_larger_result_is_safe_and_the_last_step_again_changes_nothing(semantics, cells):
    table = diagnoses(600, semantics=semantics)
    schema = fk.Schema(
        quasi_identifiers=["age", "sex", "zip"],
        sensitive="diagnosis",
        semantics=semantics,
        person="person",
        hierarchies={"zip": fk.Mask(5)},
    )
    data = fk.Microdata(table, schema)
    rare = [f"D{i:02d}" for i in range(10, 30)]
    policy = fk.Policy([fk.Requirement(fk.Facts(1, 2, 1), "1/2", values=rare)], schema)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "_CELLS", cells)
        partition = fk.Mondrian().partition(data, policy)

    group_of, bags = {}, defaultdict(Counter)
    rows = zip(table["person"].to_pylist(), partition.tolist(), strict=True)
    for (person, group), value in zip(rows, table["diagnosis"].to_pylist(), strict=True):
        assert group_of.setdefault(person, group) == group
        bags[group].update([] if value is None else [value])
    sizes = Counter(group_of.values())
    assert len(sizes) > 10
    assert set(sizes) == set(range(len(sizes)))
    half = [(rare, (1, 2, 1), Fraction(1, 2))]
    assert safe([(sizes[g], bags[g]) for g in sizes], half, semantics)

    points = Points.of(data)
    of_point = np.empty(len(points), dtype=np.int64)
    of_point[data.rows_of(points.spread(np.arange(len(points))))] = partition
    ledger, level = policy.ledger(data.values), Level(points, data, Choice(5), of_point)
    ledger.commit(None, level.counts_of(level.group))
    level.divide(ledger)
    assert (level.n_groups, level.n_final) == (0, len(sizes))


# ---- an adversary who does not promise anything about merging -----------------------------------


@dataclass(frozen=True)
class Unpromising:
    """Facts that do not say whether merging can hurt."""

    needs: ClassVar[Any] = fk.Facts.needs
    facts: fk.Facts

    @property
    def speaks(self):
        return self.facts.speaks

    def chances(self, release):
        return self.facts.chances(release)

    def disclosure(self, release, value=None):
        return self.facts.disclosure(release, value)

    def disclosures(self, release):
        return self.facts.disclosures(release)

    def monotone(self, semantics="single"):
        return False

    def ledger(self, threshold, values=None, semantics="single"):
        amounts = self.facts.l, self.facts.k, self.facts.m
        limit = as_threshold(threshold)
        measure = FactsMeasure(amounts, limit, values, semantics)
        return MinLedger(measure, limit, values, falling=False)

    def to_dict(self):
        return self.facts.to_dict()


def unpromising(policy, beside):
    """The same policy, of such adversaries; or beside others, where there are several."""
    made = []
    for asked in policy.requirements:
        points = [
            (p.adversary if beside and i else Unpromising(p.adversary), p.below)
            for i, p in enumerate(asked.points)
        ]
        made.append(fk.Requirement(points, values=asked.values, excluded=asked.excluded))
    return fk.Policy(made)


@examples(120)
@given(data=st.data(), case=cases(), cuts=st.integers(1, 4))
def test_with_one_value_each_both_ledgers_lead_to_the_same_groups(data, case, cuts):
    policy, rules = data.draw(policies(case.values))
    method, other = fk.Mondrian(cuts), unpromising(policy, data.draw(st.booleans()))
    assert not method.traits.minimal(other)
    found = [check(case, method, asked, rules) for asked in (policy, other)]
    assert together(found[0]) == together(found[1])


# ---- examples worked out by hand ----------------------------------------------------------------


def grouped(columns, sensitive, policy=EASY, cuts=1, **schema):
    return fk.Mondrian(cuts).partition(microdata(columns, sensitive, **schema), policy).tolist()


def same(partition, *groups):
    """Whether these rows, and no others, are together."""
    held = {g: {i for i, own in enumerate(partition) if own == g} for g in set(partition)}
    assert sorted(map(sorted, held.values())) == sorted(map(list, groups))


def test_a_probability_equal_to_the_threshold_refuses_the_cut():
    with pytest.raises(fk.NoSafeRelease):
        grouped([1, 2, 3, 4], "stts", asking("1/2"))
    more = asking(Fraction(1, 2) + Fraction(1, 10**12))
    assert grouped([1, 2, 3, 4], "stts", more) == [0, 0, 1, 1]


def test_a_float_threshold_is_the_decimal_that_it_prints_as():
    # Three people with s, t, u: 1/3 each. 0.3333333333333333 is below it, the next one above.
    assert grouped([1, 2, 3], "stu", asking(0.3333333333333334)) == [0, 0, 0]
    with pytest.raises(fk.NoSafeRelease):
        grouped([1, 2, 3], "stu", asking(1 / 3))


TREE = {"x": fk.Tree([["a", "p", "*"], ["b", "q", "*"], ["c", "r", "*"]])}


@pytest.mark.parametrize(
    ("columns", "sensitive", "more", "groups"),
    [
        # Along age, the best cut leaves {s, s}; along sex both sides are {s, t}.
        ({"age": [1, 1, 90, 90], "sex": list("fmfm")}, "sstt", {}, ([0, 2], [1, 3])),
        # Of three children one is set apart where all apart is unsafe.
        ({"x": list("aabc")}, "stst", {"hierarchies": TREE}, ([0, 1], [2, 3])),
        # Of three texts one in the middle can be set apart.
        ({"x": list("bacb")}, "sstt", {"cuts": 4}, ([0, 3], [1, 2])),
        # Nulls are a value of their own before all others.
        ([None, 5, None, 5], "stts", {}, ([0, 2], [1, 3])),
        ([5] * 4, "stst", {}, ([0, 1, 2, 3],)),
        # A label for missing values is a value like any other.
        ([1, 2, 90, 91], ["s", None, None, "s"], {"missing": {"label": "?"}}, ([0, 1], [2, 3])),
        ([1, 2, 3, 90, 91], ["s", None, *"tst"], {"missing": "drop"}, ([0, 2], [1], [3, 4])),
    ],
)
def test_small_tables(columns, sensitive, more, groups):
    same(grouped(columns, sensitive, **more), *groups)


@pytest.mark.parametrize(
    ("n", "sensitive", "asked", "n_groups"),
    [
        (4, "tttt", fk.Requirement(fk.Facts(k=2), 1, excluded=["t"]), 4),
        (4, "sttt", fk.Requirement(fk.Facts(), "0.9", excluded=["t"]), 3),
        (1, "s", fk.Requirement(fk.Facts(), 1, excluded=["s"]), 1),
        (8, "stuvwxyz", fk.Requirement([(fk.Facts(), "0.9")]), 4),
        (8, "stuvwxyz", fk.Requirement([(fk.Facts(), "0.9"), (fk.Facts(k=1), "0.6")]), 2),
    ],
)
def test_excepted_values_may_be_disclosed_and_every_point_counts(n, sensitive, asked, n_groups):
    assert len(set(grouped(range(n), sensitive, fk.Policy([asked])))) == n_groups


def test_the_reference_knows_the_candidates_of_a_few_groups():
    assert Line().split([3, 3, 3], 5) == ([], [])
    _, classes = Line().split([1, 2, 2, None], 2)
    assert classes == [(1, [[False, True, True, False]]), (1, [[True, True, True, False]])]
    assert Line().split([1, 2, 3, 4, 5], 1)[1] == [
        (1, [[False, False, True, True, True], [False, False, False, True, True]])
    ]
    _, classes = Line(nominal=True).split(["a", "b", "c"], 9)
    assert [many for many, _ in classes] == [5]
    certain, classes = Levels(mask_path).split(["000", "010", "111", "111"], 1)
    assert (certain, classes) == ([[(2, "0"), (2, "0"), (2, "1"), (2, "1")]], [])
    certain, classes = Levels(tree_path).split(["a", "d", "f", "h"], 1)
    assert certain == [[(2, "u"), (2, "u"), (2, "v"), (2, "w")]]
    assert classes == [(1, [[True, True, False, False]])]
    assert Levels(interval_path).split([1, 1], 3) == ([], [])


def pandas_with_an_index(columns):
    return pd.DataFrame(columns, index=[3, 2, 1, 0])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table, pandas_with_an_index])
def test_rows_come_in_the_order_of_the_frame_whatever_its_library(library):
    frame = library({"age": [90, 1, 91, 2], "disease": ["s", "s", "t", "t"]})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    same(fk.Mondrian().partition(fk.Microdata(frame, schema), EASY).tolist(), [0, 2], [1, 3])


@SEVERAL
@pytest.mark.parametrize("more", ["1e-7", "1e-12"])
def test_everybody_in_one_group_that_stays_barely_below_is_not_refused(semantics, more):
    crowd = crowd_of([5, 5, 5, 5], ["S", "T", "", ""], semantics)
    policy = asking(Fraction(1, 4) + Fraction(more))
    assert found_by(fk.Mondrian(), crowd, policy) == [[0, 1, 2, 3]]


@SEVERAL
def test_people_without_values_are_placed_like_everybody(semantics):
    crowd = crowd_of([1, 1, 2, 2, 9], ["S", "", "T", "", ""], semantics)
    assert sorted(found_by(fk.Mondrian(), crowd, asking("0.6"))) == [[0, 1], [2, 3], [4]]


@SEVERAL
def test_only_where_merging_cannot_hurt_a_result_is_called_minimal(semantics):
    for more in ({"semantics": semantics, "person": "pid"}, {}):
        schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease", **more)
        policy = fk.Policy(asking("1/2").requirements, schema)
        assert fk.Mondrian().traits.minimal(policy) is not bool(more)


# ---- refusals -----------------------------------------------------------------------------------


def refusal(data, *requirements):
    with pytest.raises(fk.NoSafeRelease) as caught:
        fk.Mondrian().partition(data, fk.Policy(requirements))
    return str(caught.value)


def test_an_unsafe_whole_table_is_refused_with_value_adversary_and_probability():
    said = refusal(
        microdata(range(4), "ssst"),
        fk.Requirement(fk.Facts(m=1), 1, values=["t"], name="first"),
        fk.Requirement([(fk.Facts(), "3/4"), (fk.Facts(k=1), "3/5")], name="second"),
    )
    assert "not even one group of all 4 people" in said
    assert said.count("second: ") == 2
    assert said.count("(3 of 4 people have 's')") == 1
    assert "In second, this line would do" in said
    assert '  except = ["s"]' in said
    assert "Facts(l=0, k=0, m=0) reaches 0.75 for 's', the limit is 0.75" in said
    assert "Facts(l=0, k=1, m=0) reaches 1 for 's', the limit is 0.6" in said
    for word in ("first", "series of cuts", "prove"):  # of one value each, it is a proof
        assert word not in said


@SEVERAL
def test_a_refusal_says_what_fails_and_that_it_proves_nothing(semantics):
    said = refusal(
        crowd_of([1, 2, 3, 4], "SSST", semantics).microdata(),
        fk.Requirement(fk.Facts(k=1), "1/2", values=["S"], name="first"),
        fk.Requirement(fk.Facts(), "9/10", values=["T"], name="second"),
    )
    assert "all 4 people" in said
    assert "first: Facts(l=0, k=1, m=0) reaches " in said
    assert "for 'S', the limit is 0.5" in said
    assert "second" not in said
    assert "no series of cuts was found" in said
    assert "does not prove that there is none" in said


def test_only_values_that_are_asked_about_are_named_in_a_refusal():
    said = refusal(microdata([1, 2, 3], "sst"), fk.Requirement(fk.Facts(l=1), "1/2", values=["t"]))
    assert "'t'" in said
    assert "'s'" not in said
    missing = microdata([1, 2], ["s", None], missing={"label": "?"})
    assert "'?'" in refusal(missing, fk.Requirement(fk.Facts(), "1/2", values=["?"]))


def test_without_a_policy_there_is_nothing_to_withstand():
    with pytest.raises(fk.InputError, match="needs a policy"):
        fk.Mondrian().partition(microdata([1], "s"))


def test_a_policy_that_merging_may_hurt_is_searched_and_the_table_says_if_it_may():
    # An adversary who knows that b and c come only with s: 9/17 in one group, 1/2 in two.
    crowd = crowd_of([1, 1, 2], ["s", "", "bc"], "set")
    policy = asking("0.52", (2,), values=["s"])
    assert found_by(fk.Mondrian(), crowd, policy) == [[0, 1], [2]]
    # One value each: nothing is searched where all is unsafe.
    with pytest.raises(fk.NoSafeRelease, match=r"'s', the limit is 0\.52 \(1 of 2 people"):
        grouped([1, 2], "st", policy)
    with pytest.raises(fk.ForeknowError, match="and of the table differ in person"):
        grouped([1, 2], "st", fk.Policy(policy.requirements, crowd.schema))


def test_a_value_that_nobody_has_keeps_nobody_together():
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9", values=["Fluu"], name="require[0]")])
    assert len({*grouped([1, 2], ["Flu", "Cold"], policy)}) == 2


# ---- labels: a reader of a release finds as many groups as there are ----------------------------

STYLES = {
    "number": ["range", "set"],
    "decimal": ["range", "set"],
    "text": ["set"],
    "order": ["range", "set"],
    "tree": ["hierarchy", "range", "set"],
    "interval": ["hierarchy", "range", "set"],
    "mask": ["hierarchy", "range", "set"],
}


def published(data, policy, styles):
    """How many groups there are; the release has the same ones, whatever their order."""
    partition = fk.Mondrian().partition(data.rounded(styles), policy)
    options = fk.PublishOptions(labels=styles)
    made = fk.publish(data, policy, method=fk.Mondrian(), options=options, seed=1)
    names = list(data.schema.quasi_identifiers)
    read = fk.Release.from_generalized(
        made.tables["release"], quasi_identifiers=names, sensitive="disease"
    ).counts
    groups = data.counts(partition[partition >= 0])
    bags = [
        sorted(sorted((str(x), n) for x, n in own.bag(g).items()) for g in range(own.n_groups))
        for own in (groups, read)
    ]
    assert bags[0] == bags[1]
    return groups.n_groups, made.tables["release"]


@examples(80)
@given(data=st.data(), case=cases())
def test_the_reader_of_a_release_finds_the_groups_of_the_partition(data, case):
    policy, rules = data.draw(policies(case.values))
    styles = {
        name: data.draw(st.sampled_from(STYLES[kind.name]))
        for name, kind in zip(case.names, case.kinds, strict=True)
        if data.draw(st.booleans())
    }
    judged = any(values for values, *_ in rules)
    if judged and safe(case.bags([case.everyone]), rules):
        published(case.microdata(), policy, styles)


@pytest.mark.parametrize(
    ("columns", "tree", "labels"),
    [
        ({"x": [None, None, "a", "a"]}, None, None),
        (
            {"x": [None, None, "missing", "missing"], "y": [1] * 4},
            None,
            [None, None, "missing", "missing"],
        ),
        # {a, a b} is written "a | a b", which is also the text of one value.
        ({"x": ["a", "a b", "a | a b", "a | a b", "c", "c"]}, None, None),
        # A leaf named like its node; nodes of one name at different levels.
        ({"x": ["N", "N", "a", "b"]}, ["NN*", "aN*", "bN*", "zZ*"], None),
        ({"x": ["a", "b", "d", "e"]}, ["axy", "bxy", "cwy", "dvx", "eux"], None),
        # The rest of a node keeps its label, and the child apart has its own.
        ({"x": list("aabcdd")}, ["ap*", "bp*", "cp*", "dq*"], list("aappdd")),
    ],
)
def test_labels_that_could_be_confused_are_not(columns, tree, labels):
    hierarchies = {"x": fk.Tree([list(path) for path in tree])} if tree else {}
    n = len(columns["x"])
    data = microdata(columns, "st" * (n // 2), hierarchies=hierarchies)
    n_groups, table = published(data, EASY, {})
    assert n_groups > 1
    if labels:
        assert sorted(table["x"].to_pylist(), key=str) == sorted(labels, key=str)


# ---- where something is large -------------------------------------------------------------------


def texts(codes, width=3):
    return [f"{v:0{width}d}" for v in codes]


def test_thousands_of_groups_have_as_many_labels():
    random = np.random.default_rng(5)
    rows = 8_000
    columns = {
        "age": random.integers(0, 100, rows),
        "zip": texts(random.integers(0, 10_000, rows), 4),
        "born": texts(random.integers(0, 1000, rows)),
    }
    data = microdata(columns, texts(random.integers(0, 20, rows)), hierarchies={"zip": fk.Mask(4)})
    n_groups, table = published(data, EASY, {})
    assert (n_groups > 500, table.num_rows) == (True, rows)


@pytest.mark.parametrize("codes", [7_000, pytest.param(70_000, marks=pytest.mark.slow)])
def test_many_diagnosis_codes_take_seconds_and_stay_sparse(codes):
    random = np.random.default_rng(1)
    rows = codes + codes // 7
    disease = np.concatenate([np.arange(codes), random.integers(0, codes, rows - codes)])
    places = {"age": random.integers(0, 100, rows), "zip": random.integers(0, 1000, rows)}
    data = microdata(places, np.char.add("D", disease.astype(str)))
    _ = data.attributes, data.values  # reading is not what is measured
    tracemalloc.start()
    began = time.process_time()
    found = fk.Mondrian().partition(data, asking("1/2", (1, 2, 1)))
    took = time.process_time() - began
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    counts = data.counts(found)
    assert counts.n_groups * 14 > codes
    assert len(counts.codes) <= rows
    assert peak < 4_000 * codes  # groups x values as a dense table: over 4 GB of 70,000 codes
    assert took < 30
    assert fk.Facts(l=1, k=2, m=1).disclosure(counts).below("1/2")


def same_grouping(one, other):
    """Whether two partitions put the same people together."""
    pairs = len(np.unique(np.stack([one, other]), axis=1).T)
    return pairs == len(np.unique(one)) == len(np.unique(other))


@pytest.mark.parametrize("text", [False, True])
def test_combinations_beyond_two_to_the_62_group_as_small_ones_do(text):
    # Nine columns of which each has 200 values: 200**9 is over 2**62.
    random = np.random.default_rng(2)
    rows = 400
    wide = [random.permutation(np.repeat(np.arange(200), 2)).tolist() for _ in range(9)]
    columns = {f"q{i}": texts(column) if text else column for i, column in enumerate(wide)}
    disease = np.array(texts(random.integers(0, 12, rows)))
    policy = asking("4/5", (1, 1))
    found = np.array(grouped(columns, disease, policy))
    # Two more copies of the first columns make the table wider, not its groups different.
    small = {name: columns[name] for name in list(columns)[:3]}
    repeated = {f"again{i}": columns[f"q{i % 3}"] for i in range(9)}
    few = grouped(small, disease, policy)
    assert same_grouping(few, grouped({**small, **repeated}, disease, policy))
    assert len(np.unique(found)) > 20
    order = random.permutation(rows)
    moved = {name: [column[i] for i in order] for name, column in columns.items()}
    assert same_grouping(found[order], grouped(moved, disease[order], policy))


def test_a_monotone_relabelling_of_quasi_identifiers_groups_the_same_people():
    # Text codes carry no widths, so only their order counts: seven columns of 1000 codes, and
    # the same columns with each code renamed in order.
    random = np.random.default_rng(3)
    base = [random.integers(0, 1000, 3000) for _ in range(7)]
    disease = texts(random.integers(0, 30, 3000))
    policy = asking("2/3", (0, 1))
    one, other = (
        {f"q{i}": texts(column * step + step // 2, 6) for i, column in enumerate(base)}
        for step in (1, 7)
    )
    assert grouped(one, disease, policy) == grouped(other, disease, policy)


def test_a_hundred_thousand_people_in_levels_and_thresholds_are_safe():
    random = np.random.default_rng(4)
    rows = 100_000
    columns = {
        "age": random.integers(0, 100, rows),
        "zip": texts(random.integers(0, 100_000, rows), 5),
        "sex": random.choice(["f", "m", "x"], rows).tolist(),
    }
    disease = [f"d{v}" for v in random.zipf(2.0, rows) % 40]
    policy = fk.Policy(
        [
            fk.Requirement(fk.Facts(l=1, k=5, m=2), "3/4", values=sorted(set(disease) - {"d1"})),
            fk.Requirement(fk.Facts(k=1), "19/20", values=["d1"]),
        ]
    )
    data = microdata(columns, disease, hierarchies={"zip": fk.Mask(5)})
    counts = data.counts(fk.Mondrian().partition(data, policy))
    assert counts.n_people == rows
    assert counts.n_groups > 100
    assert fk.audit(counts, policy).safe
