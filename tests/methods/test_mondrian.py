"""Mondrian: its groups are safe, no candidate cut of them is; people with equal rows stay together.

Against a reference in plain Python, whether people have one value each, or several, or none.
"""

import random
import time
import tracemalloc
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.methods.reference import breach, into_intervals, safe, safe_cuts
from tests.methods.tables import (
    asking,
    cases,
    crowd_of,
    crowds,
    groups_by,
    microdata,
    policies,
)
from tests.oracle import many_worlds, worlds

import foreknow as fk
from foreknow.methods.mondrian import levels
from foreknow.methods.mondrian.cuts import cuts_of
from foreknow.methods.mondrian.levels import Choice, Level
from foreknow.methods.points import Points

pytestmark = pytest.mark.usefixtures("tiny_tables")

SEVERAL = pytest.mark.parametrize("semantics", ["set", "multiset"])
TABLES = pytest.mark.parametrize("tables", [cases(), crowds()], ids=["one value", "several"])
TINY = [cases(6, 2), crowds(5, 1, "STU")]
EASY = asking("0.9")


def together(groups):
    return None if groups is None else {frozenset(group) for group in groups}


def check(crowd, method, policy, rules):
    """The groups found, held against the reference; refused where one group is unsafe only."""
    groups = groups_by(method, crowd, policy)
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
def test_results_are_safe_and_minimal(tables, data, cuts, seed):
    """However many proposals are weighed at a time, and whatever the order of rows and the seed;
    people with equal rows stay together.
    """
    crowd = data.draw(tables)
    policy, rules = data.draw(policies(crowd.values))
    method = fk.Mondrian(cuts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "_CELLS", data.draw(st.sampled_from([1, 40, 1 << 16])))
        groups = check(crowd, method, policy, rules)
    assert together(groups_by(method, crowd, policy, seed)) == together(groups)
    for group in groups or []:
        inside = {crowd.rows[p] for p in group}
        assert group == [p for p, row in enumerate(crowd.rows) if row in inside]


@TABLES
@examples(60)
@given(data=st.data(), amounts=st.tuples(*[st.integers(0, 1)] * 3))
def test_an_attained_threshold_forbids(tables, data, amounts):
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
def test_enumeration_agrees(tables, data, point):
    """With tiny results, and with the reference itself."""
    crowd = data.draw(tables)
    halves = [[p for p in crowd.everyone if p % 2 == side] for side in (0, 1)]
    halves = [half for half in halves if half]
    for value in crowd.values:
        expected = worst_in_worlds(crowd, halves, value, point)
        assert breach(crowd.bags(halves), value, point, crowd.semantics) == expected
    policy, rules = data.draw(policies(crowd.values))
    groups = groups_by(fk.Mondrian(), crowd, policy)
    if groups is None and crowd.semantics != "single":
        return
    assert (groups is not None) == all(
        worst_in_worlds(crowd, groups or [crowd.everyone], value, point) < c
        for values, point, c in rules
        for value in values
    )


@pytest.mark.parametrize("semantics", ["single", "set"])
def test_runs_of_any_length(monkeypatch, semantics):
    """Groups are the same however many people are looked at at a time."""
    random, n, single = np.random.default_rng(5), 2000, semantics == "single"
    table = pa.table({
        "id": np.arange(n) // (1 if single else 2),
        "age": random.integers(0, 60, n) if single else np.arange(n) // 50,
        "zip": random.integers(0, 900, n) if single else np.arange(n) // 2 % 700,
        "disease": [f"d{x}" for x in random.integers(0, 4, n) + 4 * (np.arange(n) % 2)],
    })  # fmt: skip
    schema = fk.Schema(
        quasi_identifiers=["age", "zip"], sensitive="disease", semantics=semantics, person="id"
    )
    limits = [fk.Requirement(fk.Facts(l=1, k=1, m=1), below="2/3")]
    policy = fk.Policy([*limits, *([fk.Requirement(fk.KAnonymity(4))] if single else [])])
    groups = []
    for block in (1 << 17, 100):
        monkeypatch.setattr(levels, "_BLOCK", block)
        monkeypatch.setattr(levels, "_CELLS", block)
        groups.append(fk.Mondrian().partition(fk.Microdata(table, schema), policy))
    assert len(np.unique(groups[0])) > 20
    np.testing.assert_array_equal(*groups)


@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_most_even_thresholds(most):
    """Of all thresholds of a group those are candidates that divide most evenly."""
    chance = random.Random(most)
    for _ in range(60):
        size, n_groups = chance.randint(1, 14), chance.randint(1, 3)
        attribute = microdata(list(range(size)), ["s"] * size).attributes[0]
        rows = [
            (g, chance.randrange(size), chance.choice([1, 1, 2, 9, 40]))
            for g in range(n_groups)
            for _ in range(chance.randint(1, 20))
        ]
        node, codes, people = (np.array(column) for column in zip(*rows, strict=True))
        cuts = cuts_of(attribute, codes, node, people, n_groups, most)
        for g in range(n_groups):
            inside = [(code, many) for group, code, many in rows if group == g]
            total = sum(many for _, many in inside)
            uneven = {
                last: abs(2 * sum(many for code, many in inside if code <= last) - total)
                for last in sorted({code for code, _ in inside})[:-1]
            }
            expected = sorted(uneven, key=lambda last: (uneven[last], last))[:most]
            assert cuts.cut_code[g][np.isfinite(cuts.gain[g])].tolist() == expected


# ---- worked out by hand -------------------------------------------------------------------------


def grouped(columns, sensitive, policy=EASY, cuts=1, **schema):
    return fk.Mondrian(cuts).partition(microdata(columns, sensitive, **schema), policy).tolist()


def same(partition, groups):
    """Whether these rows, and no others, are together; rows as digits, groups by spaces."""
    members = ("".join(str(i) for i, g in enumerate(partition) if g == n) for n in set(partition))
    assert sorted(members) == sorted(groups.split())


TREE = {"hierarchies": {"x": fk.Tree([["a", "p", "*"], ["b", "q", "*"], ["c", "r", "*"]])}}
HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("columns", "sensitive", "more", "groups"),
    [
        # Along age, the best cut leaves {s, s}; along sex both sides are {s, t}.
        ({"age": [1, 1, 90, 90], "sex": list("fmfm")}, "sstt", {}, "02 13"),
        # Of three children one is set apart where all apart is unsafe.
        ({"x": list("aabc")}, "stst", TREE, "01 23"),
        # Of three texts one in the middle can be set apart.
        ({"x": list("bacb")}, "sstt", {"cuts": 4}, "03 12"),
        # Nulls are a value of their own before all others.
        ([None, 5, None, 5], "stts", {}, "02 13"),
        ([5] * 4, "stst", {}, "0123"),
        # A label for missing values is a value like any other.
        ([1, 2, 90, 91], ["s", None, None, "s"], {"missing": {"label": "?"}}, "01 23"),
        ([1, 2, 3, 90, 91], ["s", None, *"tst"], {"missing": "drop"}, "02 1 34"),
        # A probability equal to the threshold refuses a cut, or all.
        (range(4), "stts", {"policy": asking(HALF + Fraction(1, 10**12))}, "01 23"),
        (range(4), "stts", {"policy": asking("1/2")}, None),
        # A float is the decimal that it prints as: 1/3 is above 0.3333333333333333.
        (range(3), "stu", {"policy": asking(0.3333333333333334)}, "012"),
        (range(3), "stu", {"policy": asking(1 / 3)}, None),
        (range(2), "st", {"policy": asking("0.9", values=["Fluu"])}, "0 1"),  # nobody has it
        # Excepted values may be disclosed, and every point counts.
        (range(4), "tttt", {"policy": asking(1, (0, 2), excluded=["t"])}, "0 1 2 3"),
        (range(4), "sttt", {"policy": asking("0.9", excluded=["t"])}, "01 2 3"),
        ([1], "s", {"policy": asking(1, excluded=["s"])}, "0"),
        (range(8), "stuvwxyz", {}, "01 23 45 67"),
        (
            range(8),
            "stuvwxyz",
            {"policy": fk.Policy([fk.Requirement([(fk.Facts(), "0.9"), (fk.Facts(k=1), "0.6")])])},
            "0123 4567",
        ),
    ],
)
def test_small_tables(columns, sensitive, more, groups):
    if groups is not None:
        same(grouped(columns, sensitive, **more), groups)
        return
    with pytest.raises(fk.NoSafeRelease):
        grouped(columns, sensitive, **more)


@SEVERAL
def test_people_of_several_values(semantics):
    crowd = crowd_of([5, 5, 5, 5], ["S", "T", "", ""], semantics)
    for more in ("1e-7", "1e-12"):  # barely below is not refused
        policy = asking(Fraction(1, 4) + Fraction(more))
        assert groups_by(fk.Mondrian(), crowd, policy) == [[0, 1, 2, 3]]
    crowd = crowd_of([1, 1, 2, 2, 9], ["S", "", "T", "", ""], semantics)
    assert sorted(groups_by(fk.Mondrian(), crowd, asking("0.6"))) == [[0, 1], [2, 3], [4]]
    for more in ({"semantics": semantics, "person": "pid"}, {}):
        schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease", **more)
        policy = fk.Policy(asking("1/2").requirements, schema)
        assert fk.Mondrian().traits.minimal(policy) is not bool(more)


# ---- refusals -----------------------------------------------------------------------------------


def refusal(data, *requirements):
    with pytest.raises(fk.NoSafeRelease) as caught:
        fk.Mondrian().partition(data, fk.Policy(requirements))
    return str(caught.value)


def test_why_everybody_is_unsafe():
    """With value, adversary and probability; of one value each it is a proof."""
    said = refusal(
        microdata(range(4), "ssst"),
        fk.Requirement(fk.Facts(m=1), 1, values=["t"], name="first"),
        fk.Requirement([(fk.Facts(), "3/4"), (fk.Facts(k=1), "3/5")], name="second"),
    )
    for words in (
        "not even one group of all 4 people",
        "In second, this line would do",
        '  except = ["s"]',
        "Facts(l=0, k=0, m=0) reaches 0.75 for 's', the limit is 0.75",
        "Facts(l=0, k=1, m=0) reaches 1 for 's', the limit is 0.6",
    ):
        assert words in said
    assert (said.count("second: "), said.count("(3 of 4 people have 's')")) == (2, 1)
    assert not [word for word in ("first", "series of cuts", "prove") if word in said]
    said = refusal(microdata(range(3), "sst"), asking("1/2", (1,), values=["t"]).requirements[0])
    assert "'t'" in said
    assert "'s'" not in said
    missing = microdata([1, 2], ["s", None], missing={"label": "?"})
    assert "'?'" in refusal(missing, fk.Requirement(fk.Facts(), "1/2", values=["?"]))
    with pytest.raises(fk.InputError, match="needs a policy"):
        fk.Mondrian().partition(microdata([1], "s"))


@SEVERAL
def test_a_refusal_that_proves_nothing(semantics):
    said = refusal(
        crowd_of([1, 2, 3, 4], "SSST", semantics).microdata(),
        fk.Requirement(fk.Facts(k=1), "1/2", values=["S"], name="first"),
        fk.Requirement(fk.Facts(), "9/10", values=["T"], name="second"),
    )
    for words in (
        "all 4 people",
        "first: Facts(l=0, k=1, m=0) reaches ",
        "for 'S', the limit is 0.5",
        "no series of cuts was found",
        "does not prove that there is none",
    ):
        assert words in said
    assert "second" not in said


# ---- labels: a reader of a release finds as many groups as there are ----------------------------

STYLES = {
    **dict.fromkeys(["number", "decimal", "order"], ("range", "set")),
    **dict.fromkeys(["tree", "interval", "mask"], ("hierarchy", "range", "set")),
    "text": ["set"],
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
        sorted(sorted((str(x), n) for x, n in each.bag(g).items()) for g in range(each.n_groups))
        for each in (groups, read)
    ]
    assert bags[0] == bags[1]
    return groups.n_groups, made.tables["release"]


@examples(80)
@given(data=st.data(), case=cases())
def test_readers_find_the_groups(data, case):
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
        ({"x": ["N", "N", "a", "b"]}, "NN* aN* bN* zZ*", None),
        ({"x": ["a", "b", "d", "e"]}, "axy bxy cwy dvx eux", None),
        # The rest of a node keeps its label, and the child apart has its own.
        ({"x": list("aabcdd")}, "ap* bp* cp* dq*", list("aappdd")),
    ],
)
def test_labels_are_not_confused(columns, tree, labels):
    hierarchies = {"x": fk.Tree([list(path) for path in tree.split()])} if tree else {}
    data = microdata(columns, "st" * (len(columns["x"]) // 2), hierarchies=hierarchies)
    n_groups, table = published(data, EASY, {})
    assert n_groups > 1
    if labels:
        assert sorted(table["x"].to_pylist(), key=str) == sorted(labels, key=str)


# ---- where something is large -------------------------------------------------------------------


def texts(codes, width=3):
    return [f"{v:0{width}d}" for v in codes]


@pytest.mark.parametrize("codes", [7_000, pytest.param(70_000, marks=pytest.mark.slow)])
def test_many_codes_stay_sparse(codes):
    random = np.random.default_rng(1)
    rows = codes + codes // 7
    disease = np.concatenate([np.arange(codes), random.integers(0, codes, rows - codes)])
    places = {"age": random.integers(0, 100, rows), "zip": random.integers(0, 1000, rows)}
    data = microdata(places, np.char.add("D", disease.astype(str)))
    _ = data.attributes, data.values  # reading is not what is measured
    tracemalloc.start()
    began = time.process_time()
    partition = fk.Mondrian().partition(data, asking("1/2", (1, 2, 1)))
    took = time.process_time() - began
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    counts = data.counts(partition)
    assert counts.n_groups * 14 > codes
    assert len(counts.codes) <= rows
    assert peak < 4_000 * codes  # groups x values as a dense table: over 4 GB of 70,000 codes
    assert took < 30
    assert fk.Facts(l=1, k=2, m=1).disclosure(counts).below("1/2")


def same_grouping(one, other):
    """Whether two partitions put the same people together."""
    pairs = len(np.unique(np.stack([one, other]), axis=1).T)
    return pairs == len(np.unique(one)) == len(np.unique(other))


def test_combinations_beyond_64_bits():
    """Nine columns of which each has 200 values: 200**9 is over 2**62."""
    random, rows = np.random.default_rng(2), 400
    wide = [random.permutation(np.repeat(np.arange(200), 2)).tolist() for _ in range(9)]
    columns = {f"q{i}": texts(column) for i, column in enumerate(wide)}
    disease, policy = np.array(texts(random.integers(0, 12, rows))), asking("4/5", (1, 1))
    partition = np.array(grouped(columns, disease, policy))
    # Two more copies of the first columns make the table wider, not its groups different.
    small = {name: columns[name] for name in list(columns)[:3]}
    repeated = {f"again{i}": columns[f"q{i % 3}"] for i in range(9)}
    few = grouped(small, disease, policy)
    assert same_grouping(few, grouped({**small, **repeated}, disease, policy))
    assert len(np.unique(partition)) > 20
    order = random.permutation(rows)
    moved = {name: [column[i] for i in order] for name, column in columns.items()}
    assert same_grouping(partition[order], grouped(moved, disease[order], policy))


# ---- where everybody in one group is unsafe but smaller groups are safe -------------------------

EXACT = Fraction(1, 10**8)  # nearer to a threshold than this, a case is left out


def solved(method, crowd, rules):
    """The groups that a method finds, or None; whatever it finds must be safe."""
    groups = groups_by(method, crowd, policy_of(rules))
    assert groups is None or safe(crowd.bags(groups), rules, crowd.semantics), (crowd, rules)
    return groups


def policy_of(rules, schema=None):
    asked = [fk.Requirement(fk.Facts(*point), c, values=values) for values, point, c in rules]
    return fk.Policy(asked, schema)


def random_crowd(chance):
    """Some people along a number of up to seven values, whose values vary along it."""
    semantics = chance.choice(["set", "multiset"])
    spots, letters = range(chance.randint(2, 7)), "STUV"[: chance.randint(2, 4)]
    share = {(x, a): chance.choice([0, 0, 0.1, 0.3, 0.5, 0.8]) for x in letters for a in spots}
    places = [chance.choice(spots) for _ in range(chance.randint(5, 14))]
    often = [1] if semantics == "set" else [1, 1, 2]
    held = [
        "".join(x * chance.choice(often) for x in letters if chance.random() < share[x, a])
        for a in places
    ]
    return crowd_of(places, held, semantics)


def hard_case(chance):
    """A crowd and rules that some partition into intervals keeps, but one group does not; or None.

    The thresholds lie as near to what such a partition attains as other partitions allow.
    """
    crowd = random_crowd(chance)
    if len(crowd.values) < 2:
        return None
    about = chance.sample(crowd.values, min(chance.choice([1, 1, 2, 3]), len(crowd.values)))
    points = [
        (chance.randint(1, 3), chance.choice([0, 0, 1]), chance.choice([0, 0, 1])) for _ in about
    ]
    plans = [crowd.bags(groups) for groups in into_intervals(crowd)]
    attained = [
        [breach(bags, x, point, crowd.semantics) for x, point in zip(about, points, strict=True)]
        for bags in plans
    ]
    root = attained[0]
    better = [row for row in attained if any(a < b for a, b in zip(row, root, strict=True))]
    if not better:
        return None
    aim, rules = chance.choice(better), []
    for j, value in enumerate(about):
        limits = {Fraction(1), *(row[j] for row in attained)}
        limits = {c for c in limits if c > aim[j] + EXACT and (root[j] <= aim[j] or c <= root[j])}
        if not limits:
            return None
        rules.append(([value], points[j], chance.choice(sorted(limits))))
    return crowd, rules


@pytest.mark.parametrize(
    ("cuts", "tried", "least"),
    [  # all cuts are candidates, or the usual ones
        (6, 6, 0.8),
        (5, 6, 0.8),
        pytest.param(6, 1500, 0.99, marks=pytest.mark.slow),
        pytest.param(5, 1500, 0.96, marks=pytest.mark.slow),
    ],
)
def test_what_intervals_allow_is_found(cuts, tried, least):
    assert fk.Mondrian().cuts == 5
    chance, hard = random.Random(tried + cuts), []
    while len(hard) < tried:
        hard += [case for case in [hard_case(chance)] if case is not None]
    times = sum(solved(fk.Mondrian(cuts), *case) is not None for case in hard)
    assert times / tried >= least


def share_of(crowd, bags, rules):
    """The worst breach probability as a share of its threshold."""
    return max(breach(bags, x, point, crowd.semantics) / c for xs, point, c in rules for x in xs)


def nearest(crowd, groups, rules):
    """The least share of any threshold that one threshold cut of one group leads to; or None."""
    least = None
    for g, group in enumerate(groups):
        others = groups[:g] + groups[g + 1 :]
        for last in sorted({crowd.rows[p] for p in group})[:-1]:
            low = [p for p in group if crowd.rows[p] <= last]
            bags = crowd.bags([*others, low, [p for p in group if p not in low]])
            least = min(least or 99, share_of(crowd, bags, rules))
    return least


@pytest.mark.parametrize("cells", [1, 1 << 16])
def test_each_step_leads_nearest_to_safety(cells, monkeypatch):
    monkeypatch.setattr(levels, "_CELLS", cells)
    chance, steps = random.Random(4), 0
    while steps < 20:
        crowd = random_crowd(chance)
        if not crowd.values:
            continue
        point = (chance.randint(1, 3), chance.choice([0, 1]), chance.choice([0, 1]))
        rules = [([chance.choice(crowd.values)], point, Fraction("0.37"))]
        data = crowd.microdata()
        points, ledger = Points.of(data), policy_of(rules, crowd.schema).ledger(crowd.values)
        level = Level(points, data, Choice(9))
        ledger.commit(None, level.everyone())
        groups = [list(range(len(crowd.rows)))]
        while (expected := nearest(crowd, groups, rules)) is not None:
            safe_now, reached = level.divide_one(ledger)
            steps += 1
            groups = crowd.groups_of(data.rows_of(points.spread(level.node)).tolist())
            assert level.n_groups == len(groups)
            assert share_of(crowd, crowd.bags(groups), rules) == expected
            assert reached == pytest.approx(float(expected), rel=1e-9)
            assert safe_now == (expected < 1)
            ledger.commit(data.counts(points.spread(level.node)), level.everyone())  # in step
            ledger.commit(level.everyone(), data.counts(points.spread(level.node)))
        assert level.divide_one(ledger) is None


def test_two_groups_where_one_is_unsafe():
    """Who knows that b or c come only with s: 9/17 in one group, 1/2 in two."""
    for semantics, point, third in (("set", (2, 0, 0), "TU"), ("multiset", (1, 0, 0), "TT")):
        crowd = crowd_of([1, 1, 2], ["S", "", third], semantics)
        rules = [(["S"], point, Fraction(9, 17))]
        assert not safe(crowd.bags([[0, 1, 2]]), rules, semantics)
        assert sorted(solved(fk.Mondrian(), crowd, rules)) == [[0, 1], [2]]
        assert solved(fk.Mondrian(), crowd, [(["S"], point, HALF)]) is None
    # One value each: nothing is searched where all is unsafe.
    policy = asking("0.52", (2,), values=["s"])
    with pytest.raises(fk.NoSafeRelease, match=r"'s', the limit is 0\.52 \(1 of 2 people"):
        grouped([1, 2], "st", policy)
    with pytest.raises(fk.ForeknowError, match="and of the table differ in person"):
        grouped([1, 2], "st", fk.Policy(policy.requirements, crowd.schema))


def test_cuts_that_help_only_together():
    # Those in the middle all have U and V. With them S and T are nearly safe in one group; with
    # one end cut off, the other end is much worse; with both, S and T are 1/2 each.
    places, held = [0] * 2 + [1] * 11 + [2] * 2, ["S", "", *["UV"] * 11, "T", ""]
    crowd = crowd_of(places, held, "set")
    rules = [([value], (2, 0, 0), Fraction("0.501")) for value in "ST"]
    for groups in into_intervals(crowd):
        worst = max(breach(crowd.bags(groups), x, (2, 0, 0), "set") for x in "ST")
        assert worst == {1: Fraction(225, 449), 2: Fraction(169, 217), 3: HALF}[len(groups)]
    groups = solved(fk.Mondrian(), crowd, rules)
    assert sorted(groups) == [[0, 1], list(range(2, 13)), [13, 14]]


def test_a_cut_that_is_no_candidate():
    # Of six thresholds, five are candidates; of the two least even ones, not the one needed.
    held = ["SSTT", "", "", "", "S", "", "SS"]
    crowd, rules = crowd_of(range(7), held, "multiset"), [(["T"], (1, 0, 0), Fraction("0.438"))]
    safe_ones = [g for g in into_intervals(crowd) if safe(crowd.bags(g), rules, "multiset")]
    assert safe_ones == [[[0, 1, 2, 3, 4, 5], [6]]]
    assert solved(fk.Mondrian(), crowd, rules) is None
    assert solved(fk.Mondrian(cuts=6), crowd, rules) == safe_ones[0]
