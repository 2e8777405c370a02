"""What priors cannot judge, tables by hand, and bounds where exact posteriors are out of reach."""

from fractions import Fraction
from functools import partial
from random import Random

import pyarrow as pa
import pytest
from tests.adversaries.releases_priors import priors_table, random_scene
from tests.adversaries.test_priors import HALF, READINGS, by_sex, grouped, highest, table

import foreknow as fk
from foreknow.adversaries.disclosure import Disclosure, worst
from foreknow.adversaries.priors import disclosure as priors_judged
from foreknow.errors import DataError, InputError, UnsupportedError

# ---- what cannot be judged -----------------------------------------------------------------

SIMPLE = fk.Priors(by_sex(m="a 1/2 b 1/2", f="a 1/4 b 3/4"))


def test_counts_without_signatures_are_refused():
    release = grouped(table("ma fb"))
    with pytest.raises(UnsupportedError, match="need to know sex of everybody: give a Release"):
        SIMPLE.disclosure(release.counts)
    tally = pa.table({"group": [1, 1], "disease": ["a", "b"], "count": [1, 1]})
    alone = fk.Release.from_bucketized(tally, sensitive="disease")
    with pytest.raises(InputError, match="sex of each person are unavailable; give a table of"):
        SIMPLE.disclosure(alone)


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_several_values_of_a_person_are_refused(semantics):
    frame = pa.table({"gid": [1, 1], "pid": [1, 2], "sex": ["m", "f"], "disease": ["a", "b"]})
    release = grouped(frame, person="pid", semantics=semantics)
    with pytest.raises(UnsupportedError, match=f"one value per person, not '{semantics}'"):
        SIMPLE.disclosure(release)


def test_what_the_priors_do_not_know_is_named():
    with pytest.raises(DataError, match="no probabilities for sex x"):
        SIMPLE.disclosure(grouped(table("ma xb")))
    with pytest.raises(DataError, match=r"no probabilities of the sensitive value 'c'.*give 0"):
        SIMPLE.disclosure(grouped(table("ma mc")))
    frame = table("ma fb").rename_columns({"sex": "gender"})
    with pytest.raises(DataError, match="no column 'sex'"):
        SIMPLE.disclosure(grouped(frame))


def test_the_sensitive_column_is_no_attribute():
    priors = fk.Priors(priors_table({("a",): {"a": "1", "b": "0"}}, ["disease"]))
    with pytest.raises(DataError, match="'disease' is the sensitive column"):
        priors.disclosure(grouped(table("ma fb")))


def test_searching_is_refused_and_says_what_does_it():
    policy = fk.Policy([fk.Requirement(SIMPLE, at_most="1/2")])
    assert not policy.monotone()
    assert not hasattr(SIMPLE, "ledger")
    with pytest.raises(UnsupportedError, match=r'no search .* serves Priors.* method = "art"'):
        policy.ledger(["a", "b"])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: fk.Priors(by_sex(m="a 1"), "jiont"), "'jiont' is unknown; did you mean 'joint'"),
        (lambda: fk.Priors([]), "at least one table"),
        (lambda: fk.Priors([by_sex(m="a 1"), by_sex(f="a 1")]), "two tables for sex"),
        (lambda: fk.Requirement(SIMPLE), "the threshold is missing"),
        (lambda: fk.Requirement(SIMPLE, "1/2", at_most="1/2"), "below or at_most, not both"),
        (lambda: fk.Requirement(SIMPLE, at_most=0), "above 0 and at most 1"),
        (lambda: fk.Requirement(fk.Facts(l=1), at_most="1/2"), "at_most is for priors only"),
        (lambda: fk.Requirement([(SIMPLE, "1/2")], at_most="1/2"), "a skyline has a threshold in"),
    ],
)
def test_arguments_that_cannot_be_meant(make, says):
    with pytest.raises(InputError, match=says):
        make()


def test_equal_tables_are_one_adversary_in_whatever_order_they_are_given():
    one = fk.Priors(by_sex(m="a 1/2 b 1/2", f="a 1/4 b 3/4"))
    other = fk.Priors(by_sex(f="a 1/4 b 3/4", m="a 0.5 b 0.5"))
    assert one == other
    assert hash(one) == hash(other)
    assert one != fk.Priors(one.tables, "binary")
    assert repr(one) == "Priors(sex: joint)"


# ---- a PriorTable by hand ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rows": [[["m"], ["3/2"]]]}, "of 'a' for sex m is 1.5, not from 0 to 1"),
        ({"rows": [[["m"], ["-1"]]]}, "not from 0 to 1"),
        ({"rows": [[["m"], ["x"]]]}, "'x' is not a number"),
        ({"rows": [[["m"], ["1e-310"]]]}, "closer than 2.23e-308 to 0 or 1; give 0 or 1"),
        ({"rows": [[["m"], ["1e-99999999"]]]}, "too large or too small"),
        ({"rows": [[["m"], ["1/2"]], [["m"], ["1/2"]]]}, "one signature has two rows"),
        ({"rows": [[["m", "x"], ["1/2"]]]}, "2 attributes and 1 probabilities; expected are 1 and"),
        ({"rows": [[["m"], ["1/2", "1/2"]]]}, "1 attributes and 2 probabilities"),
        ({"rows": [["m", ["1/2"]]]}, "expected attributes, values, and rows of both"),
        ({"rows": 5}, "expected attributes, values, and rows of both"),
        ({"values": ["a", "a"], "rows": []}, "the value 'a' is given twice"),
        ({"attributes": ["sex", "sex"], "rows": []}, "the attribute 'sex' is given twice"),
        ({"values": ["a", "b"], "rows": [[["m"], ["2/3", "1/2"]]]}, "add up to 1.16667, above 1"),
    ],
)
def test_a_written_out_table_that_is_wrong(change, says):
    right = {"attributes": ["sex"], "values": ["a"], "rows": [[["m"], ["1/2"]]]}
    assert fk.PriorTable.from_dict(right).to_dict() == right
    with pytest.raises(DataError, match=f"the priors: .*{says}"):
        fk.PriorTable.from_dict({**right, **change})


# ---- out of reach: upper bounds ------------------------------------------------------------


@pytest.fixture
def near(monkeypatch):
    """The engine's reach is a few states, so that most groups are bounded only."""

    def limit(reach):
        judge = partial(priors_judged.posteriors, reach=reach)
        monkeypatch.setattr(priors_judged, "posteriors", judge)
        exact = partial(priors_judged.exact_group, reach=reach)
        monkeypatch.setattr(priors_judged, "exact_group", exact)

    return limit


@pytest.mark.parametrize("reach", [1, 4, 8])
def test_bounds_are_never_too_low_and_never_make_a_release_safe_that_is_not(near, reach):
    near(reach)
    bounded = loose = settled = 0
    for seed in range(100):
        random = Random(seed)
        scene = random_scene(random, n_groups=4)
        reading = random.choice(READINGS)
        truth, priors, release = scene.truth(reading), scene.priors(reading), scene.release
        for value, found in priors.disclosures(release).items():
            exact = highest(truth.values(), value)
            assert Fraction(found.probability) >= exact - Fraction(1, 10**12)
            if found.bounded:
                assert Fraction(found.probability) >= exact
                bounded += 1
                loose += found.probability > exact + Fraction(1, 10**6)
                assert repr(found).startswith(f"Disclosure({value!r}, at most ")
                assert found.to_dict()["bounded"] is True
            assert found.exact in (None, exact)
            assert found.bounded or abs(Fraction(found.probability) - exact) < Fraction(1, 10**12)
            settled += found.exact is not None
            limits = {exact, Fraction(found.probability), as_limit(found.probability), HALF}
            for limit in limits:
                if not 0 < limit <= 1:
                    continue
                assert not found.below(limit) or exact < limit
                assert not found.at_most(limit) or exact <= limit
        top = max(p for known in truth.values() for p in known.values())
        for limit in (HALF, top):
            audit = fk.audit(release, fk.Policy([fk.Requirement(priors, limit)]))
            assert not audit.safe or top < limit
        gain = priors.gain(release)
        ratios = [
            p / scene.tables[own][s][x]
            for own, known in truth.items()
            for (_, s, x), p in known.items()
            if scene.tables[own][s][x]
        ]
        assert Fraction(gain.ratio) >= max(ratios)
        assert gain.exact is None or gain.exact <= max(ratios)
    assert bounded > 10
    assert loose > 1
    assert settled > 5 or reach == 1


def as_limit(chance):
    """A limit a little above or at a bound, within which floats settle nothing."""
    return Fraction(chance) + Fraction(1, 10**10)


def test_of_two_that_cannot_be_told_apart_the_one_without_a_fraction_counts():
    # It may be above the limit; the other one, a little lower, is not.
    limit, little = HALF, Fraction(2, 10**10)
    bound = Disclosure("a", float(limit + little), bounded=True)
    known = Disclosure("a", float(limit - little), lambda: limit - little)
    for pair in ((bound, known), (known, bound)):
        assert worst(pair) is bound
        assert not worst(pair).below(limit)
    assert known.below(limit)


def test_a_group_truly_out_of_reach_is_bounded_and_can_still_be_safe():
    # 60 people of 30 kinds with 20 values: nobody goes through all these states.
    random = Random(5)
    values = [f"v{i}" for i in range(20)]
    rows = {(str(s),): {x: f"{random.randint(80, 99)}/2000" for x in values} for s in range(30)}
    frame = pa.table(
        {
            "gid": [1] * 60,
            "kind": [str(i % 30) for i in range(60)],
            "disease": [values[i % 20] for i in range(60)],
        }
    )
    priors = fk.Priors(priors_table(rows, ["kind"]))
    found = priors.disclosure(grouped(frame))
    assert found.bounded
    assert found.exact is None
    assert Fraction(3, 60) <= Fraction(found.probability) < HALF
    assert found.below(HALF)
    policy = fk.Policy([fk.Requirement(priors, at_most=HALF)])
    audit = fk.audit(grouped(frame), policy)
    assert audit.safe
    assert audit.to_dict()["verdicts"][0]["worst"]["bounded"] is True
    assert found.witness.people == 2
