"""Where everybody in one group is unsafe but smaller groups are safe: Mondrian looks for them."""

import random
from fractions import Fraction

import pytest
from tests.methods.reference import breach, into_intervals, safe
from tests.methods.tables import crowd_of

import foreknow as fk
from foreknow.methods.mondrian import levels
from foreknow.methods.mondrian.levels import Choice, Level
from foreknow.methods.points import Points

EXACT = Fraction(1, 10**8)  # nearer to a threshold than this, a case is left out


def grouped(method, crowd, policy, rules):
    """The groups that a method finds, or None; whatever it finds must be safe."""
    try:
        partition = method.partition(crowd.microdata(), policy).tolist()
    except fk.NoSafeRelease:
        return None
    groups = crowd.groups_of(partition)
    assert safe(crowd.bags(groups), rules, crowd.semantics), (crowd, rules, groups)
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


def share_found(method, seed, cases):
    """How many of some hard cases a method solves; what it finds is always safe."""
    chance, solved, tried = random.Random(seed), 0, 0
    while tried < cases:
        drawn = hard_case(chance)
        if drawn is not None:
            tried += 1
            crowd, rules = drawn
            solved += grouped(method, crowd, policy_of(rules), rules) is not None
    return solved / cases


@pytest.mark.parametrize(
    ("cuts", "cases", "least"),
    [  # all cuts are candidates, or the usual ones
        (6, 6, 0.8),
        (5, 6, 0.8),
        pytest.param(6, 1500, 0.99, marks=pytest.mark.slow),
        pytest.param(5, 1500, 0.96, marks=pytest.mark.slow),
    ],
)
def test_nearly_everything_that_intervals_allow_is_found(cuts, cases, least):
    assert fk.Mondrian().cuts == 5
    assert share_found(fk.Mondrian(cuts), seed=cases + cuts, cases=cases) >= least


# ---- one step of the search ------------------------------------------------------------------


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


def share_of(crowd, bags, rules):
    """The worst breach probability as a share of its threshold."""
    return max(breach(bags, x, point, crowd.semantics) / c for xs, point, c in rules for x in xs)


@pytest.mark.parametrize("cells", [1, 1 << 16])
def test_each_step_divides_the_one_group_that_leads_nearest_to_safety(cells, monkeypatch):
    monkeypatch.setattr(levels, "_CELLS", cells)
    chance, steps = random.Random(4), 0
    while steps < 40:
        crowd = random_crowd(chance)
        if not crowd.values:
            continue
        point = (chance.randint(1, 3), chance.choice([0, 1]), chance.choice([0, 1]))
        rules = [([chance.choice(crowd.values)], point, Fraction("0.37"))]
        microdata = crowd.microdata()
        points, ledger = Points.of(microdata), policy_of(rules, crowd.schema).ledger(crowd.values)
        level = Level(points, microdata, Choice(9))
        ledger.commit(None, level.everyone())
        groups = [list(range(len(crowd.rows)))]
        while (expected := nearest(crowd, groups, rules)) is not None:
            safe_now, reached = level.divide_one(ledger)
            steps += 1
            groups = crowd.groups_of(microdata.rows_of(points.spread(level.node)).tolist())
            assert level.n_groups == len(groups)
            assert share_of(crowd, crowd.bags(groups), rules) == expected
            assert reached == pytest.approx(float(expected), rel=1e-9)
            assert safe_now == (expected < 1)
            ledger.commit(microdata.counts(points.spread(level.node)), level.everyone())  # in step
            ledger.commit(level.everyone(), microdata.counts(points.spread(level.node)))
        assert level.divide_one(ledger) is None


# ---- cases worked out by hand ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("semantics", "point", "held", "limit"),
    [
        # An adversary who knows that b or c come only with s: 9/17 in one group, 1/2 in two.
        ("set", (2, 0, 0), ["S", "", "TU"], "9/17"),
        ("multiset", (1, 0, 0), ["S", "", "TT"], "9/17"),
    ],
)
def test_two_groups_are_found_where_one_is_unsafe(semantics, point, held, limit):
    crowd = crowd_of([1, 1, 2], held, semantics)
    rules = [(["S"], point, Fraction(limit))]
    assert not safe(crowd.bags([[0, 1, 2]]), rules, semantics)
    assert sorted(grouped(fk.Mondrian(), crowd, policy_of(rules), rules)) == [[0, 1], [2]]
    rules = [(["S"], point, Fraction(1, 2))]
    assert grouped(fk.Mondrian(), crowd, policy_of(rules), rules) is None


def test_cuts_that_only_together_lead_to_safety_are_found():
    # Those in the middle all have U and V. With them S and T are nearly safe in one group; with
    # one end cut off, the other end is much worse; with both, S and T are 1/2 each.
    places, held = [0] * 2 + [1] * 11 + [2] * 2, ["S", "", *["UV"] * 11, "T", ""]
    crowd, first, last = crowd_of(places, held, "set"), [0, 1], [13, 14]
    rules = [([value], (2, 0, 0), Fraction("0.501")) for value in "ST"]
    for groups in into_intervals(crowd):
        worst = max(breach(crowd.bags(groups), x, (2, 0, 0), "set") for x in "ST")
        expected = {1: Fraction(225, 449), 2: Fraction(169, 217), 3: Fraction(1, 2)}
        assert worst == expected[len(groups)]
    found = grouped(fk.Mondrian(), crowd, policy_of(rules), rules)
    assert sorted(found) == [first, list(range(2, 13)), last]


def test_a_cut_that_is_no_candidate_is_not_found_unless_more_are_asked_for():
    # Of six thresholds, five are candidates; of the two least even ones, not the one needed.
    held = ["SSTT", "", "", "", "S", "", "SS"]
    crowd, rules = crowd_of(range(7), held, "multiset"), [(["T"], (1, 0, 0), Fraction("0.438"))]
    safe_ones = [g for g in into_intervals(crowd) if safe(crowd.bags(g), rules, "multiset")]
    assert safe_ones == [[[0, 1, 2, 3, 4, 5], [6]]]
    assert grouped(fk.Mondrian(), crowd, policy_of(rules), rules) is None
    assert grouped(fk.Mondrian(cuts=6), crowd, policy_of(rules), rules) == safe_ones[0]
