"""Facts by enumeration and formulas, alone, on top of priors, and on the Adult page."""

import math
import random
import re
import runpy
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.adversaries.releases import (
    check_one,
    check_release,
    counts_of,
    grouped,
    play,
    same,
    small_releases,
    worst_cases,
)
from tests.common import NIGHTLY
from tests.oracle.facts import binary, surest, t_of, v_of

import foreknow as fk
from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts
from foreknow_judge.errors import CertificateError, DataError, InputError
from foreknow_judge.files.written_release import Written
from foreknow_judge.numbers import as_fraction, as_threshold
from foreknow_judge.verdicts import verdicts as verify

BOTH = pytest.mark.parametrize("semantics", ["set", "multiset"])
slow = pytest.mark.slow


# ---- all small releases ----------------------------------------------------------------------

# People, groups at most, values, occurrences of a value in a group at most.
SMALL = [(1, 1, 3, 3), (2, 2, 3, 2), (3, 3, 2, 2), (4, 2, 2, 2), (4, 1, 3, 2), (5, 1, 2, 3)]
LARGER = [(2, 2, 3, 3), (3, 3, 2, 3), (3, 2, 3, 2), (4, 3, 2, 2), (5, 2, 2, 3), (5, 1, 3, 3)]
LIMITS = [
    *(("single", (n, 3, 3, 0), (3, 3, 3)) for n in (2, 4, 6)),
    ("single", (5, 2, 4, 0), (3, 2, 2)),
    *(pytest.param("single", (n, 4, 4, 0), (3, 4, 4), marks=slow) for n in (4, 5, 6, 7)),
]
for semantics, day in (("set", [1, 2, 4]), ("multiset", [0, 2, 3])):
    for at, x in enumerate([*SMALL, *LARGER]):  # facts for everybody, and a value more
        marks = () if at in day else slow
        LIMITS.append(pytest.param(semantics, x, (x[2], x[0], x[0]), marks=marks))


@pytest.mark.parametrize(("semantics", "limits", "most"), LIMITS)
def test_every_small_release(semantics, limits, most):
    releases = small_releases(*limits, semantics)
    assert sum(check_release(groups, most, semantics) for groups in releases)


# ---- the paper's figures 1 to 3, and numbers known by hand -------------------------------------

FIGURE_3 = [["AIDS", "Flu", "Flu", "AIDS"], ["Flu", "Cancer", "Flu", "AIDS"]]


def test_figure_3_and_its_witness():
    figure = GroupCounts.from_bags(FIGURE_3, groups=[1, 2])
    truth = worst_cases(grouped(FIGURE_3), "AIDS", (2, 2, 2), "single")
    for point, chance in truth.items():
        assert Facts(*point).disclosure(figure, "AIDS").exact == chance, point
    # Of group 2 alone: not Flu, one known, a relative within the group.
    alone = {(0, 0, 0): "1/4", (1, 0, 0): "1/2", (0, 1, 0): "1/3", (0, 0, 1): "1/3"}
    for point, chance in alone.items():
        result = check_one(grouped(FIGURE_3[1:]), point, value="AIDS")
        assert (result.exact, result.below("1/2")) == (Fraction(chance), chance != "1/2")
    witness = Facts(l=1).disclosure(figure.take([1]), "AIDS").witness
    rest = {"known_group": None, "known": [], "family_group": None, "family": 0}
    assert witness.to_dict() == {"target_group": 2, "ruled_out": ["Flu"], **rest}
    of_sets = Facts(l=1).disclosure(counts_of([(3, "sab")], "set"), "s").witness.to_dict()
    assert (of_sets["co_occurring"], of_sets["known_without"]) == (["a"], 0)


def audited(semantics, groups, point, value):
    """What an audit says, which the judge has found, too."""
    policy = fk.Policy([fk.Requirement(Facts(*point), below=1, values=[value])])
    (verdict,) = fk.audit(counts_of(groups, semantics), policy).verdicts
    return verdict.reached


@pytest.mark.parametrize(
    ("semantics", "groups", "point", "positions"),
    [
        # Rule out b and know a c: one a and one c are left; the relative is one of five with an a.
        ("single", grouped(["abbbbbcc", "abcde"]), (1, 1, 1), (0, 0, 1)),
        ("set", [(4, "abbb"), (4, "a")], (1, 1, 1), (0, 0, 0)),
        ("set", [(8, "abbbbbbb"), (5, "a")], (1, 1, 2), (0, 1, 1)),
        ("set", [(7, "abbbbbb"), (4, "a")], (1, 1, 1), (0, 0, 1)),
        ("multiset", [(4, "abbccdd"), (4, "a")], (3, 1, 1), (0, 0, 0)),
        ("multiset", [(5, "aabbbbccccdddd"), (4, "aaa")], (3, 1, 1), (0, 1, 1)),
        ("multiset", [(4, "abbbbccccdddd"), (4, "aaa")], (3, 1, 1), (0, 0, 1)),
    ],
)
def test_each_term_is_least_once(semantics, groups, point, positions):
    """The three terms of Theorem 2, each the least by itself; that takes eight people or more."""
    result = check_one(groups, point, semantics, "a")
    witness = result.witness
    where = witness.target_position, witness.known_position, witness.family_position
    assert where == positions
    assert audited(semantics, groups, point, "a") == result.exact
    if semantics == "single":
        assert (result.exact, witness.known) == (Fraction(5, 9), {"c": 1})


BY_HAND = """
multiset 2:ss 000 3/4 | multiset 2:ss 001 1 | multiset 2:ss 003 1 | multiset 3:ssss 010 15/16
multiset 2:s,1:aa 100 1/2 | multiset 3:saa 100 9/17 | set 2:ss 000 1 | set 2:s,1:ab 200 1/2
set 3:sab 200 9/17 | set 3:sab 100 3/7 | set 3:s,2:s 001 1 | set 4:s 020 1/2 | set 4:ssa 100 4/7
set 4:saa 100 2/5"""


@pytest.mark.parametrize("row", BY_HAND.strip().replace("\n", " | ").split(" | "))
def test_numbers_known_by_hand(row):
    semantics, groups, point, truth = row.split()
    groups = [(int(group[0]), group[2:]) for group in groups.split(",")]
    point = tuple(map(int, point))
    same(Facts(*point).disclosure(counts_of(groups, semantics), "s"), "s", Fraction(truth), row)
    assert audited(semantics, groups, point, "s") == Fraction(truth)


@BOTH
def test_more_facts_than_memory_holds(semantics):
    groups = [(5, "abc"), (4, "ab")]
    counts = counts_of(groups, semantics)
    for point in [(10**9, 0, 0), (10**12, 1, 1)]:
        expected = Facts(3, *point[1:]).disclosure(counts, "a").exact
        assert Facts(*point).disclosure(counts, "a").exact == expected
    for point in [(0, 10**12, 0), (0, 0, 10**12), (10**9, 10**9, 10**9)]:
        disclosure = Facts(*point).disclosure(counts, "a")
        assert disclosure.exact == 1
        assert play(groups, semantics, disclosure.witness) == 1


def test_near_ties_ranked_by_fractions():
    # With 39 relatives a (or x) and b are all but certain, 1.0 as floats, b most of all.
    counts = GroupCounts.from_bags(["a" * 50 + "x" * 50, "b" * 60 + "y" * 40])
    disclosures = Facts(m=39).disclosures(counts)
    assert disclosures["a"].probability == disclosures["b"].probability == 1.0
    assert disclosures["a"].exact < disclosures["b"].exact < 1
    worst = Facts(m=39).disclosure(counts)
    assert (worst.value, worst.exact) == ("b", disclosures["b"].exact)
    assert worst.below(1)
    assert disclosures["a"].below(worst.exact)
    assert not worst.below(disclosures["a"].exact)


# ---- large groups, amounts and many values -----------------------------------------------------


@pytest.mark.parametrize(
    ("bag", "point"),
    [
        *(((1, 4999, 1500), x) for x in [(0, 0, 4000), (0, 4000, 0), (1, 1499, 1499)]),
        *(((3, 4997, 1500), x) for x in [(0, 2000, 1500), (0, 0, 9)]),
        ((500, 4500, 1500), (1, 1000, 3000)),
        # 3000 known, 1000 of those with another value left as relatives: all but 999 holders.
        *(((1000, 4000), (0, 3000, 1000 + n)) for n in (-1, 0, 1)),
    ],
)
def test_both_ways_to_multiply(bag, point):
    bag = dict(zip("abc", bag, strict=False))
    disclosure = Facts(*point).disclosure(GroupCounts.from_bags([bag]), "a")
    (l, k, m), group = point, (sum(bag.values()), bag)  # noqa: E741
    truth = 1 / (1 + t_of(group, "a", l, k, "single") * v_of(group, "a", m, k + 1, "single"))
    assert disclosure.exact == truth
    assert abs(disclosure.probability - truth) < 1e-9
    assert disclosure.below(1) is (truth < 1)


def test_chances_below_every_float():
    # NR is about 1e-785, so the breach probability is below 1 by that much: safe at a limit of 1,
    # for the search as for the verdict.
    bag = {"AIDS": 3000} | {f"other {i}": 1 for i in range(3000)}
    counts = GroupCounts.from_bags([bag])
    wanted = np.array([value == "AIDS" for value in counts.values])
    facts = Facts(0, 2000, 900)
    disclosure = facts.disclosure(counts, "AIDS")
    assert disclosure.probability == 1.0
    assert disclosure.below(1)
    assert facts.ledger(1, wanted).admits(None, counts)
    certain = Facts(0, 2000, 1001)
    assert not certain.disclosure(counts, "AIDS").below(1)
    assert not certain.ledger(1, wanted).admits(None, counts)


# ---- limits, read and compared exactly ---------------------------------------------------------


def disclosed(share):
    """A disclosure of exactly this share: one group with so many holders."""
    share = Fraction(share)
    bag = {"a": share.numerator, "b": share.denominator - share.numerator}
    counts = GroupCounts.from_bags([{value: n for value, n in bag.items() if n}])
    return Facts().disclosure(counts, "a")


HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


@pytest.mark.parametrize(
    ("share", "thresholds"),
    [
        ("1/2", [0.5, "0.5", "1/2", Decimal("0.5"), HALF]),
        ("1/10", [0.1, "0.1", Decimal("0.1")]),  # a float stands for what it prints as
        ("3/10", [0.3]),  # this one is below three tenths
        ("1/3", [THIRD, 1 / 3, Decimal(1) / Decimal(3)]),
        ("1", [1, 1.0, "1"]),
        ("1/1000000", [1e-6, "1e-6"]),
        ("2/3", ["2/3"]),
        ("999999/1000000", ["0.999999"]),
    ],
)
def test_below_is_strict_and_exact(share, thresholds):
    result = disclosed(share)
    assert result.exact == Fraction(share)
    assert [result.below(threshold) for threshold in thresholds] == [False] * len(thresholds)
    for gap in map(as_fraction, (1e-3, 1e-9, 1e-15)):
        assert result.below(result.exact + gap)
        assert not result.below(result.exact - gap)
    for large in ("1e400", 10**400):
        assert result.below(large) is True
    assert disclosed("1/3").below(math.nextafter(1 / 3, 1))
    assert disclosed("1/3").below("0.33333333333333333333333333333333333334")


def test_without_fractions_ties_are_unsafe():
    floating = Disclosure("a", 0.5)
    assert (floating.exact, floating.witness, floating.to_dict()["exact"]) == (None, None, None)
    assert [floating.below(x) for x in ("0.5000000000001", "0.51", "0.49")] == [False, True, False]
    estimate = Disclosure("AIDS", 0.2, estimated=True)
    assert (estimate.below("0.9"), estimate.below(2)) == (False, True)
    assert "about 0.2" in repr(estimate)
    assert estimate.to_dict()["estimated"] is True


@pytest.mark.parametrize(
    ("read", "wrong", "says"),
    [
        *((as_fraction, x, "is not a number; write one such as 0.95, or") for x in
          ("a half", "1/0", None, True, [1], math.nan, math.inf, "")),
        *((as_fraction, x, "too large or too small") for x in
          ("1e999999999", "1e-999999999", Decimal("1e-9999"))),
        *((as_threshold, x, "a threshold must be above 0 and at most 1") for x in
          (0, -0.5, "3/2", 1.0000001)),
        (as_threshold, "1e-400", "at least 1e-300"),
    ],
)  # fmt: skip
def test_numbers_refused(read, wrong, says):
    with pytest.raises(InputError, match=re.escape(says)):
        read(wrong)
    if read is as_fraction:
        with pytest.raises(InputError):
            disclosed("1/2").below(wrong)
    assert as_threshold("1e-299") > 0


# ---- priors --------------------------------------------------------------------------------------


VALUES_OF_PRIORS = "abcd"

CASES = range(20_000 if NIGHTLY else 150)
HALF_AND_HALF = {"a": Fraction(1, 2), "b": Fraction(1, 4), "c": Fraction(1, 8), "d": Fraction(1, 8)}


def priors_of(kinds, reading="joint", facts=None):
    rows = [(f"k{i}", v, str(p)) for i, row in enumerate(kinds) for v, p in row.items()]
    kind, value, chance = zip(*rows, strict=True)
    table = pa.table({"kind": kind, "value": value, "probability": chance})
    return fk.Priors(table, reading, facts=facts or fk.Facts())


def release_of(groups):
    rows = [
        (g, f"k{kind}", x)
        for g, (people, bag) in enumerate(groups)
        for kind, x in zip(people, bag, strict=True)
    ]
    group, kind, ill = zip(*rows, strict=True)
    table = pa.table({"group": group, "kind": kind, "ill": ill})
    return fk.Release.from_groups(table, group="group", sensitive="ill")


def found_of(kinds, groups, reading, facts):
    """All disclosures; None where priors allow no world, which is so whatever the facts are."""
    release = release_of(groups)
    try:
        return priors_of(kinds, reading, facts).disclosures(release)
    except fk.InputError:
        with pytest.raises(fk.InputError):
            priors_of(kinds, reading).disclosures(release)
        return None


def truth(kinds, groups, value, amounts, reading):
    held = [([kinds[i] for i in people], bag) for people, bag in groups]
    return surest(held, value, amounts, **({} if reading == "joint" else {"weigh": binary(value)}))


# ---- the verifier, and the limit -----------------------------------------------------------


def written(groups):
    """The tables of a release as they are published in the bucketized form."""
    rows = [(str(g), f"k{i}") for g, (people, _) in enumerate(groups) for i in people]
    bags = [
        (str(g), x, str(bag.count(x)))
        for g, (_, bag) in enumerate(groups)
        for x in sorted(set(bag))
    ]
    people = pa.table(dict(zip(("gid", "kind"), zip(*rows, strict=True), strict=True)))
    tally = pa.table(dict(zip(("gid", "ill", "count"), zip(*bags, strict=True), strict=True)))
    return Written("bucketized", ("gid",), "ill", {"people": people, "sensitive": tally})


def test_extreme_priors():
    sure, never, some = ("1", "0", "0", "0"), ("0", "1/2", "1/2", "0"), ("1/3", "1/3", "1/3", "0")
    tiny = Fraction(1, 2**900), "1/2", Fraction(1, 2**300), "0"
    rows = [
        dict(zip(VALUES_OF_PRIORS, map(Fraction, row), strict=True))
        for row in (sure, never, tiny, some)
    ]
    checked = 0
    for case in CASES[: 120 : 1 if NIGHTLY else 8]:
        rng = random.Random(f"extreme {case}")
        kinds = rng.sample(rows, 3)
        size = rng.randint(2, 4)
        groups = [([rng.randrange(3) for _ in range(size)], rng.choices("abc", k=size))]
        facts = rng.choice([(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1)])
        for reading in ("joint", "binary"):
            values = sorted(set(groups[0][1]))
            priors = priors_of(kinds, reading, fk.Facts(*facts))
            tables = [fk.Requirement(priors, "1/2", values=[v]).to_dict() for v in values]
            if (result := found_of(kinds, groups, reading, fk.Facts(*facts))) is None:
                with pytest.raises(CertificateError):
                    verify(written(groups), tables)
                continue
            for value, again in zip(values, verify(written(groups), tables), strict=True):
                true = truth(kinds, groups, value, facts, reading)
                assert result[value].settled == again.found.exact >= true
                assert result[value].probability >= float(true) * (1 - 1e-12)
                checked += 1
    assert checked > (150 if NIGHTLY else 18)


def test_no_facts_are_plain_priors():
    with pytest.raises(fk.InputError, match="facts must be Facts"):
        fk.Priors(pa.table({"kind": ["k"], "value": ["a"], "probability": ["1"]}), facts=2)
    plain = priors_of([HALF_AND_HALF])
    assert priors_of([HALF_AND_HALF], facts=fk.Facts()) == plain
    assert "facts" not in plain.to_dict()["priors"]
    assert priors_of([HALF_AND_HALF], facts=fk.Facts(1)) != plain


def test_people_without_priors_are_named():
    release = release_of([([0, 1], ["a", "b"])])
    with pytest.raises(DataError, match="there are no probabilities for"):
        priors_of([HALF_AND_HALF], facts=fk.Facts(0, 1)).disclosure(release)
    table = fk.Requirement(priors_of([HALF_AND_HALF], facts=fk.Facts(0, 1)), "1/2").to_dict()
    with pytest.raises(CertificateError, match="no probability"):
        verify(written([([0, 1], ["a", "b"])]), [table])


@pytest.mark.parametrize(
    "facts",
    [{"l": -1}, {"k": "2"}, {"n": 1}, [1, 2], "l", {"k": 101}, {"k": 60, "m": 60}, {"l": 0.5}],
)
def test_amounts_of_certificates_refused(facts):
    table = fk.Requirement(priors_of([HALF_AND_HALF], facts=fk.Facts(1)), "1/2").to_dict()
    table["priors"]["facts"] = facts
    with pytest.raises(fk.ForeknowError):
        verify(written([([0, 0], ["a", "b"])]), [table])


# docs/evidence/adult.md is what its script prints: a diverse release, its skyline, a breach.

ROOT = Path(__file__).resolve().parents[2]
ADULT = ROOT.parent / "shared" / "data" / "adult.csv"
PAGE = ROOT / "docs" / "evidence" / "adult.md"
SKYLINE = "(0, 4, 0), (1, 3, 1), (2, 1, 3), (2, 2, 2), (3, 0, 4), (3, 1, 2), (4, 0, 3)"


def printed():
    """The part of the page that the script prints."""
    _, rest = PAGE.read_text("utf-8").split("<!-- printed by examples/case_study_adult.py -->\n")
    return rest.split("<!-- end -->")[0]


@pytest.mark.skipif(not ADULT.exists(), reason="the Adult table is not at ../shared/data/adult.csv")
def test_page_shows_what_is_printed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["case_study_adult.py", str(ADULT)])
    runpy.run_path(str(ROOT / "examples" / "case_study_adult.py"), run_name="__main__")
    output = capsys.readouterr().out
    assert printed() == output, "python examples/case_study_adult.py ADULT_CSV --write"


def test_page_shows_the_papers_skyline():
    rows = [
        line for line in printed().splitlines() if line.startswith("| (") and "l, k, m" not in line
    ]
    assert ", ".join(row.split(" | ")[0].removeprefix("| ") for row in rows) == SKYLINE
    paper = (ROOT / "docs" / "research" / "skyline.md").read_text("utf-8")
    assert f"[{SKYLINE}]" in paper
    assert "- (0, 4, 0), safe: " in printed()
    assert "- (0, 5, 0), **unsafe**: " in printed()
