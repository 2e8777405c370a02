"""Priors against enumerated worlds, any of a set by them, and limits relative to them."""

import json
from fractions import Fraction
from functools import partial
from itertools import product
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.releases import priors_table, random_scene
from tests.common import NIGHTLY, examples, refused

import foreknow as fk
from foreknow.adversaries.disclosure import Disclosure, worst
from foreknow.adversaries.priors import disclosure as priors_judged
from foreknow.certificates import Certificate
from foreknow.data.tables.sources import open_table
from foreknow.data.tables.views.renamed_columns import Rearmed
from foreknow_judge.errors import CertificateError, DataError
from foreknow_judge.files.written_release import Written
from foreknow_judge.verdicts import verdicts as verify

SEEDS = st.integers(0, 2**40)
READINGS = ["joint", "binary"]
BOTH = pytest.mark.parametrize("reading", READINGS)
HALF, LITTLE = Fraction(1, 2), Fraction(1, 10**30)


def highest(truth, value):
    """The highest posterior of a value in any of several {(group, signature, value): chance}."""
    return max((p for known in truth for (_, _, x), p in known.items() if x == value), default=0)


def check_release(scene, release, reading, truth):
    """Compare every value, the worst, the witnesses and the gain; returns groups compared."""
    priors = scene.priors(reading)
    disclosures = priors.disclosures(release)
    assert set(disclosures) == {x for _, _, x in scene.people}
    for value, own in disclosures.items():
        assert own.exact == highest(truth.values(), value), (scene.people, value)
        assert type(own.exact) is Fraction
        assert abs(own.probability - float(own.exact)) < 1e-12
        assert not own.bounded
        assert not own.estimated
        assert priors.disclosure(release, value).exact == own.exact
        check_witness(scene, own, truth)
    top = priors.disclosure(release)
    assert (
        top.exact
        == max(disclosure.exact for disclosure in disclosures.values())
        == disclosures[top.value].exact
    )
    check_gain(scene, priors.gain(release), truth)
    return len(scene.groups) * len(truth)


def check_witness(scene, found, truth):
    """A person with this signature is in this group, and attains the probability."""
    witness = found.witness
    own = tuple(witness.signature)
    signature = tuple(witness.signature.values())
    members = scene.groups[plain(witness.group)]
    alike = [who for who, _ in members if tuple(who[name] for name in own) == signature]
    assert witness.value == found.value
    assert (witness.people, witness.size) == (len(alike), len(members))
    assert witness.holders == sum(x == witness.value for _, x in members)
    assert witness.prior == scene.tables[own][signature][witness.value]
    assert truth[own][plain(witness.group), signature, witness.value] == found.exact
    written = witness.to_dict()
    assert written["prior"] == str(witness.prior)
    assert written["signature"] == witness.signature


def check_gain(scene, gain, truth):
    """The gain is the highest posterior by prior, and its witness attains it."""
    ratios = scene.ratios(truth)
    top = max(ratios.values())
    assert gain.exact == top
    assert top <= Fraction(gain.ratio) <= top * (1 + Fraction(1, 10**9))
    who = gain.witness
    own = tuple(who.signature)
    assert ratios[own, plain(who.group), tuple(who.signature.values()), who.value] == top
    assert gain.posterior.exact / who.prior == top
    assert gain.to_dict()["exact"] == str(top)


def plain(group):
    return group[0] if isinstance(group, tuple) else group


def asked(priors, times, **more):
    return fk.Policy([fk.Requirement(priors, at_most_times=times, **more)])


# ---- against enumeration -------------------------------------------------------------------


@examples(120)
@given(SEEDS)
@BOTH
def test_groups_that_priors_forbid(reading, seed):
    scene = random_scene(Random(seed), n_groups=3, kind="zeros", possible=False)
    truth = scene.truth(reading)
    if truth is not None:
        check_release(scene, scene.release, reading, truth)
        return
    for ask in ("disclosures", "disclosure", "gain"):
        with pytest.raises(DataError, match=r"no way to assign the values of group \d+ to its"):
            getattr(scene.priors(reading), ask)(scene.release)


# ---- examples worked by hand ---------------------------------------------------------------


def by_sex(**rows):
    """Priors by sex: by_sex(m="a 1/2 b 1/2")."""
    results = {}
    for label, text in rows.items():
        parts = text.split()
        results[(label,)] = dict(zip(parts[::2], parts[1::2], strict=True))
    return priors_table(results, ["sex"])


def table(text, **columns):
    """Groups of people: "ma fb" is a group of a man with a and a woman with b; "|" ends one."""
    rows = [(g, *who) for g, part in enumerate(text.split("|"), 1) for who in part.split()]
    groups, sexes, values = zip(*rows, strict=True)
    return pa.table({"gid": groups, "sex": sexes, "disease": values, **columns})


def grouped(frame, **how):
    return fk.Release.from_groups(frame, group="gid", sensitive="disease", **how)


def read(frame, value="a", reading="joint", **rows):
    """The disclosure of a value, by priors of sexes."""
    release = grouped(table(frame) if isinstance(frame, str) else frame)
    return fk.Priors(by_sex(**rows), reading).disclosure(release, value)


def test_golden_examples():
    """Of the section on the lack of monotony, and of the errata."""
    sexes = {"m": "l 1/10 h 9/10", "f": "l 3/1000 h 997/1000"}
    assert read("ml ml fh fh", "l", **sexes).exact == Fraction(1047847, 1102414)
    # Merging two groups helps the adversary.
    assert read("ml mh|fl fh", "l", **sexes).exact == HALF
    assert not fk.Priors(by_sex(**sexes)).monotone()
    rows = {"t": "a 1/10 b 3/50 c 3/50", "u": "a 3/50 b 1/10 c 1/10"}
    assert read("ta ub uc", **rows).exact == Fraction(25, 43)
    ninth, other = Fraction(1, 9), Fraction(3, 47)
    assert read("ta ub uc", reading="binary", **rows).exact == ninth / (ninth + 2 * other) < HALF


def test_what_floats_cannot_hold_apart():
    priors = fk.Priors(by_sex(m="a 1e-200 b 0.5", f="a 0.5 b 0.5"))
    gain = priors.gain(grouped(table("ma fb")))
    assert gain.ratio < 2.001
    assert gain.exact == 2 / (1 + 2 * Fraction(1, 10**200))
    # Two groups that differ in the thirtieth digit.
    rows = {"m": "a 0.3 b 0.3", "f": "a 0.2 b 0.3", "n": f"a 0.3{'0' * 30}1 b 0.3"}
    result = read("ma fb|na fb|ma fb", **rows)
    assert (result.witness.signature, result.witness.group) == ({"sex": "n"}, 2)
    assert result.exact > Fraction(3, 5)
    result = read("ma ma", "z", m="a 1/2 z 1/2")
    assert (result.exact, result.probability, result.witness) == (0, 0, None)


def test_near_ties_between_groups():
    row = {"a": Fraction(1, 4), "b": Fraction(1, 3)}
    rows = {"p": {"a": Fraction(1, 3), "b": Fraction(1, 3)}, "q": row}
    rows["s"] = row | {"a": Fraction(1, 4) - LITTLE}
    top = 1 / (Fraction(1, 3) + Fraction(1, 4) - LITTLE)
    priors = fk.Priors(priors_table({(s,): row for s, row in rows.items()}, ["sex"]))
    for text in ("pa qb|pa sb", "pa sb|pa qb"):
        release = grouped(table(text))
        result = priors.gains(release)["a"]
        assert result.exact / result.prior == top
        for times in (top, top - LITTLE**2):
            assert fk.audit(release, asked(priors, times, values=["a"])).safe == (times == top)
            assert verified(table(text), asked(priors, times, values=["a"])) == (times == top)


def verified(frame, policy):
    """Whether the verifier calls it safe."""
    tables = Written("generalized", ("gid",), "disease", {"release": frame})
    (finding,) = verify(tables, policy.to_dict()["require"])
    return finding.safe


def test_ties_too_many_to_settle(monkeypatch):
    half = fk.Priors(by_sex(m="a 0.5 b 0.5", f="a 0.5 b 0.5"))
    assert fk.audit(grouped(table("ma mb|fa fb")), asked(half, 1)).safe
    monkeypatch.setattr("foreknow.adversaries.priors.disclosure._MOST_GAINS", 1)
    # Two groups as far from their priors, of different people.
    priors = fk.Priors(by_sex(m="a 0.5 b 0.5", f="a 0.25 b 0.25"))
    release = grouped(table("ma mb|fa fb fb fb"))
    result = priors.gains(release)["a"]
    assert (result.exact, result.bounded) == (None, True)
    assert not fk.audit(release, asked(priors, 1, values=["a"])).safe
    assert fk.audit(release, asked(priors, "1.001", values=["a"])).safe


def judged_both_ways(rows, people, reading, times, values):
    """Whether the audit and the verifier call it safe."""
    chances = {(s,): dict(zip(values, map(Fraction, row), strict=True)) for s, row in rows.items()}
    columns = zip(*people, strict=True)
    frame = pa.table(dict(zip(("gid", "sex", "disease"), map(list, columns), strict=True)))
    policy = asked(fk.Priors(priors_table(chances, ["sex"]), reading), times, values=["x"])
    return fk.audit(grouped(frame), policy).safe, verified(frame, policy)


@pytest.mark.parametrize("places", [(150, 200), (80, 250)])
def test_posteriors_as_small_as_priors(places):
    little, least = (Fraction(1, 10**n) for n in places)
    third, twentieth = Fraction(1, 3), Fraction(1, 20)
    rows = {
        "t": [little, Fraction(1, 10), 0, 0, 0],
        "s": [Fraction(1, 10), Fraction(9, 10), 0, 0, 0],
        "r1": [0, 0, third, third, third],
        "r2": [0, 0, Fraction(1, 2), least, least],
        "r3": [0, 0, Fraction(1, 2), least, least],
        "m": [twentieth, 19 * twentieth, 0, 0, 0],
        "k": [twentieth / 3, 19 * twentieth, 0, 0, 0],
    }
    first = [(1, "t", "q"), (1, "s", "x"), (1, "r1", "v2"), (1, "r2", "v1"), (1, "r3", "v3")]
    people = [*first, (2, "m", "x"), (2, "k", "q")]
    # Who has x in group 1: t with `little`, or s with a tenth; the other has q.
    ratio = Fraction(9, 10) / (little * Fraction(9, 10) + Fraction(1, 100))
    values = ["x", "q", "v1", "v2", "v3"]
    for times, safe in ((20, False), (ratio - LITTLE, False), (ratio, True)):
        assert judged_both_ways(rows, people, "joint", times, values) == (safe, safe)


def test_binary_weights_below_floats():
    rows = {
        "t": [Fraction(1, 10**290), Fraction(1, 2)],
        "s": [Fraction(1, 10), Fraction(9, 10)],
        "m": [Fraction(1, 20), Fraction(19, 20)],
        "k": [Fraction(1, 60), Fraction(19, 20)],
    }
    people = [(1, "t", "q"), *[(1, "s", "x")] * 115, *[(1, "s", "q")] * 5]
    people += [(2, "m", "x"), (2, "k", "q")]
    for times, safe in ((40, False), (172, False), (173, True)):
        assert judged_both_ways(rows, people, "binary", times, ["x", "q"]) == (safe, safe)


# ---- labels --------------------------------------------------------------------------------


def test_values_as_they_print():
    frame = pa.table({"gid": [1, 1], "sex": ["'=m", "f"], "disease": ["'+a", "b"]})
    priors = fk.Priors(by_sex(f="+a 0.003 b 0.997", **{"=m": "+a 0.1 b 0.9"}))
    result = priors.disclosure(grouped(Rearmed(open_table(frame))), "+a")
    assert (result.exact, result.witness.signature) == (Fraction(997, 1024), {"sex": "=m"})
    frame = pa.table({"gid": [1, 1], "sex": ["m", "f"], "disease": [7, 8]})
    priors = fk.Priors(by_sex(m="7 0.1 8 0.9", f="7 0.003 8 0.997"))
    result = priors.disclosures(grouped(frame))
    assert result[7].exact == Fraction(997, 1024)
    assert priors.disclosure(grouped(frame), 7).witness.value == 7


# ---- what cannot be judged -----------------------------------------------------------------

SIMPLE = fk.Priors(by_sex(m="a 1/2 b 1/2", f="a 1/4 b 3/4"))
TALLY = pa.table({"group": [1, 1], "disease": ["a", "b"], "count": [1, 1]})
GENDER = table("ma fb").rename_columns({"sex": "gender"})
LATER = fk.Requirement(SIMPLE, at_most_times=3, name="later")


def later(*given, **more):
    return fk.Policy([fk.Requirement(*given, **more), LATER])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: fk.Priors(by_sex(m="a 1"), "jiont"), "'jiont'; did you mean 'joint'"),
        (lambda: fk.Priors([]), "at least one table"),
        (lambda: fk.Priors([by_sex(m="a 1"), by_sex(f="a 1")]), "two tables for sex"),
        (lambda: fk.Requirement(SIMPLE), "the threshold is missing"),
        (lambda: fk.Requirement(SIMPLE, "1/2", at_most="1/2"), "below or at_most, not both"),
        (lambda: fk.Requirement(SIMPLE, at_most=0), "above 0 and at most 1"),
        (lambda: fk.Requirement([(SIMPLE, "1/2")], at_most="1/2"), "a skyline has a threshold in"),
        (
            lambda: SIMPLE.disclosure(fk.Release.from_bucketized(TALLY, sensitive="disease")),
            "sex of each person are unavailable; give a table of",
        ),
        (lambda: SIMPLE.disclosure(grouped(table("ma xb"))), "no probabilities for sex x"),
        (
            lambda: SIMPLE.disclosure(grouped(table("ma mc"))),
            r"no probabilities of the sensitive value 'c'.*give 0",
        ),
        (lambda: SIMPLE.disclosure(grouped(GENDER)), "'sex'"),
        (
            lambda: fk.Policy([fk.Requirement(SIMPLE, at_most="1/2")]).ledger(["a", "b"]),
            r'Priors needs groups that are finished.* "art"',
        ),
        (lambda: later(SIMPLE, at_most_times="0.9"), "requirement: .* must be 1 or more .*, not"),
        (lambda: later(SIMPLE, at_most_times="x"), "requirement: 'x' is not a number"),
        (lambda: later(SIMPLE, "1/2", at_most_times=2), "give below or at_most_times, not both"),
        (lambda: later([(SIMPLE, "1/2")], at_most_times=2), "a skyline has a threshold in each"),
        (lambda: later(SIMPLE, at_most_times=2), "later: .* below 3 times the prior here"),
    ],
)
def test_mistakes_are_said(make, says):
    with pytest.raises(fk.ForeknowError, match=says):
        make()
    assert not fk.Policy([fk.Requirement(SIMPLE, at_most="1/2")]).monotone()
    assert not hasattr(SIMPLE, "ledger")
    assert len(later(SIMPLE, at_most="3/4").requirements) == 2  # an absolute one beside it


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
def test_tables_that_are_wrong(change, says):
    right = {"attributes": ["sex"], "values": ["a"], "rows": [[["m"], ["1/2"]]]}
    assert fk.PriorTable.from_dict(right).to_dict() == right
    with pytest.raises(DataError, match=f"the priors: .*{says}"):
        fk.PriorTable.from_dict({**right, **change})


# ---- out of reach: upper bounds ------------------------------------------------------------


@pytest.mark.parametrize("reach", [1, 4, 8])
def test_bounds_are_never_too_low(monkeypatch, reach):
    """The engine's reach is a few states, so that most groups are bounded only."""
    for name in ("posteriors", "exact_group"):
        near = partial(getattr(priors_judged, name), reach=reach)
        monkeypatch.setattr(priors_judged, name, near)
    bounded = loose = settled = 0
    for seed in range(100 if NIGHTLY else 14):
        random = Random(seed)
        scene = random_scene(random, n_groups=4)
        reading = random.choice(READINGS)
        truth, priors, release = scene.truth(reading), scene.priors(reading), scene.release
        for value, disclosure in priors.disclosures(release).items():
            exact = highest(truth.values(), value)
            assert Fraction(disclosure.probability) >= exact - Fraction(1, 10**12)
            if disclosure.bounded:
                assert Fraction(disclosure.probability) >= exact
                bounded += 1
                loose += disclosure.probability > exact + Fraction(1, 10**6)
                assert repr(disclosure).startswith(f"Disclosure({value!r}, at most ")
                assert disclosure.to_dict()["bounded"] is True
            assert disclosure.exact in (None, exact)
            assert disclosure.bounded or abs(Fraction(disclosure.probability) - exact) < Fraction(
                1, 10**12
            )
            settled += disclosure.exact is not None
            above = Fraction(disclosure.probability) + Fraction(
                1, 10**10
            )  # where floats settle nothing
            limits = {exact, Fraction(disclosure.probability), above, HALF}
            for limit in limits:
                if not 0 < limit <= 1:
                    continue
                assert not disclosure.below(limit) or exact < limit
                assert not disclosure.at_most(limit) or exact <= limit
        top = max(p for known in truth.values() for p in known.values())
        for limit in (HALF, top):
            audit = fk.audit(release, fk.Policy([fk.Requirement(priors, limit)]))
            assert not audit.safe or top < limit
        gain = priors.gain(release)
        ratios = scene.ratios(truth).values()
        assert Fraction(gain.ratio) >= max(ratios)
        assert gain.exact is None or gain.exact <= max(ratios)
    assert bounded > (10 if NIGHTLY else 2)
    assert loose > (1 if NIGHTLY else 0)
    assert settled > 5 or reach == 1


def test_without_fractions_the_bound_counts():
    # It may be above the limit; the other one, a little lower, is not.
    limit, little = HALF, Fraction(2, 10**10)
    bound = Disclosure("a", float(limit + little), bounded=True)
    disclosure = Disclosure("a", float(limit - little), lambda: limit - little)
    for pair in ((bound, disclosure), (disclosure, bound)):
        assert worst(pair) is bound
        assert not worst(pair).below(limit)
    assert disclosure.below(limit)


# ---- any of a set: posteriors are added up -------------------------------------------------


@pytest.mark.parametrize(
    ("reading", "limit", "sex", "exact"),
    [
        ("joint", "at_most", "m", "24/25"),
        ("binary", "at_most", "m", "18/19"),
        ("joint", "at_most_times", "f", "13/25"),
        ("binary", "at_most_times", "f", "10/19"),
    ],
)
def test_witness_of_a_set(reading, limit, sex, exact):
    """Of three people with a, b and c, the man is likeliest to have a or b; a woman by her prior.

    By another table everybody has it so likely, and was likely to have it before.
    """
    people = {"gid": [*"1111222"], "sex": [*"mmffmff"], "disease": [*"abccacb"]}
    people["ward"] = ["1"] * 7
    release = fk.Release.from_groups(pa.table(people), group="gid", sensitive="disease")
    sexes = by_sex(m="a 1/2 b 1/4 c 1/8", f="a 1/8 b 1/8 c 1/2")
    likely = priors_table({("1",): {"a": "2/5", "b": "1/5", "c": "1/5"}}, ["ward"])
    priors = fk.Priors([sexes, likely], reading)
    rules = fk.Policy([fk.Requirement(priors, any_of=["a", "b"], **{limit: 1})])
    (verdict,) = fk.audit(release, rules).verdicts
    assert (verdict.value, verdict.disclosure.value) == ("a or b", "a or b")
    assert verdict.reached == verdict.disclosure.exact == Fraction(exact)
    assert verdict.disclosure.witness.to_dict() == {
        "value": "a or b",
        "group": "2",
        "signature": {"sex": sex},
        "size": 3,
        "holders": 2,
        **{"m": {"people": 1, "prior": "3/4"}, "f": {"people": 2, "prior": "1/4"}}[sex],
    }


@BOTH
def test_the_nearest_limit_is_judged(reading):
    """Of two sets, a is likelier, and b four times as likely as before."""
    frame = pa.table({"gid": ["1"] * 5, "job": ["p"] * 5, "ill": list("aaabb")})
    before = {"a": Fraction(3, 5), "b": Fraction(1, 10), "c": Fraction(3, 10)}
    priors = fk.Priors(priors_table({("p",): before}, ["job"]), semantics=reading)
    sets = fk.Requirement(
        priors, any_of={"one": ["a"], "two": ["b"]}, at_most_times=3, knowing=["job"]
    )
    held = Written("generalized", ["gid"], "ill", {"release": frame}, beside=["job"])
    (found,) = verify(held, fk.Policy([sets]).to_dict()["require"])
    assert (found.value, found.reached, found.safe) == ("two", Fraction(2, 5), False)


def test_attributes_beside_are_seen():
    """A release that shows everybody's sex beside the value is not judged as if it did not."""
    table = pa.table({"zip": ["1"] * 4, "sex": [*"mmff"], "ill": [*"aabc"]})
    columns = {"quasi_identifiers": ["zip"], "sensitive": "ill"}
    even = dict.fromkeys("abc", Fraction(1, 3))
    priors = fk.Priors(priors_table({("m",): even, ("f",): even}, ["sex"]))
    release = fk.Release.from_generalized(table, **columns, other=["sex"])
    for sight in (release, release.seen(knowing=[])):
        with refused("priors-beside"):
            priors.disclosure(sight)
    assert priors.disclosure(release.seen()).exact == 1
    shuffled = fk.Release.from_generalized(table, **columns, other=["sex"], unlinked=["sex"])
    assert priors.disclosure(shuffled).exact == Fraction(1, 2)


CODES = ["B20", "Z21", "Flu", "Cold", "Gout"]
GUESSED = fk.Priors(by_sex(**{  # nobody learned them from the table
    sex: " ".join(f"{v} 0.{n}" for v, n in zip(CODES, tenths, strict=True))
    for sex, tenths in (("m", "21322"), ("f", "11332"))
}))  # fmt: skip
PUBLIC = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="disease")
HIV = {"HIV": ["B20", "Z21"]}


def infected():
    random = Random(2)
    sexes = random.choices("mf", k=120)
    weights = {"m": [3, 2, 4, 5, 4], "f": [1, 1, 6, 5, 4]}
    ills = [random.choices(CODES, weights[sex])[0] for sex in sexes]
    return pa.table({"sex": sexes, "age": random.choices(range(20, 61), k=120), "disease": ills})


@pytest.mark.parametrize("limit", [{"at_most": "1/2"}, {"below": "3/5"}, {"at_most_times": "5/2"}])
def test_art_keeps_limit_of_set(limit, tmp_path):
    rules = fk.Policy([fk.Requirement(GUESSED, any_of=HIV, **limit)], PUBLIC)
    publication = fk.publish(infected(), rules, method="art", form="bucketized", seed=1)
    assert publication.audit.safe
    assert len(publication.groups) > 3
    publication.write(tmp_path / "out")
    (found,) = fk.verify(tmp_path / "out").findings
    assert (found.value, found.reached) == ("HIV", publication.audit.verdicts[0].disclosure.exact)
    if "at_most" in limit:  # a single limit for all needs no set
        own = {"art": {"unique": True}}
        with pytest.raises(fk.InputError, match=r"unique = false"):
            fk.publish(infected(), rules, method="art", form="bucketized", settings=own)


def test_values_of_absent_set():
    scene = random_scene(Random(5), n_groups=3)
    alone, beside, nobody = (
        fk.audit(
            scene.release, fk.Policy([fk.Requirement(scene.priors("joint"), any_of=of, at_most=1)])
        ).verdicts[0]
        for of in (["a"], ["a", "X"], ["X"])
    )
    assert alone.disclosure.exact == beside.disclosure.exact > 0 == nobody.disclosure.exact
    rates = by_sex(x="A 0.1 B 0.8 C 0.1", y="A 0.5 B 0 C 0.5")
    release = grouped(table("xA yC yC"))
    for reading, members in (*product(READINGS, (["A", "B"], ["A", "B*"])), ("binary", ["A"])):
        adversary = fk.Priors(rates, semantics=reading)
        rules = fk.Policy([fk.Requirement(adversary, below="19/20", any_of=members)])
        if reading == "binary" and len(members) > 1:
            with pytest.raises(fk.InputError, match="nobody has 'B', which is likely"):
                fk.audit(release, rules)
        else:
            assert fk.audit(release, rules).verdicts


# ---- relative limits in files and words ----------------------------------------------------


PRIORS = fk.Priors(by_sex(m="Flu 0.3 HIV 0.1 Gout 0.2", f="Flu 0.2 HIV 0.2 Gout 0.1"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Six people, the first three and the last three together, and their folder."""

    class Halves:
        def partition(self, microdata, policy=None, seed=None):
            return np.array([0, 0, 0, 1, 1, 1])

    ills = ["Flu", "HIV", "Gout", "Gout", "Flu", "HIV"]
    table = pa.table({"sex": [*"mfmfmf"], "age": [*"345678"], "disease": ills})
    policy = fk.Policy([fk.Requirement(PRIORS, at_most_times=9)], PUBLIC)
    publication = fk.publish(table, policy, method=Halves(), form="bucketized")
    folder = tmp_path_factory.mktemp("made") / "out"
    publication.write(folder)
    return publication, folder


def test_false_certificates_of_relative_limits(made):
    made, out = made
    path = out / "certificate.json"
    certificate, text = Certificate.load(path), path.read_text()
    assert certificate.check(out) == []
    verdict, finding = made.audit.verdicts[0], certificate.findings[0]
    assert Fraction(finding["limit"]) == verdict.limit
    assert Fraction(finding["exact"]) == verdict.disclosure.exact
    assert finding["at_most_times"] == "9"

    def changed(place, key, told):
        table = json.loads(text)
        own = table
        for name in place:
            own = own[name]
        if told is None:
            own.pop(key)
        else:
            own[key] = told(own[key]) if callable(told) else told
        (out.parent / "changed.json").write_text(json.dumps(table))
        return Certificate.load(out.parent / "changed.json").check(out)

    rule = ["policy", "require", 0]
    rows = [*rule, "priors", "tables", 0]

    def larger(rows):
        times = Fraction(5, 2)
        return [[who, [str(Fraction(x) * times) for x in chances]] for who, chances in rows]

    for place, key, told, said in (
        (rule, "at_most_times", "2", "the limit is"),
        (rule, "at_most_times", "8", "at_most_times"),
        (["findings", 0], "at_most_times", None, "at_most_times"),
        ([*rows, "rows", 0, 1], 0, f"1/{10**400}", "large enough"),
        (rows, "rows", larger, "add up to at most 1"),
    ):
        (found,) = changed(place, key, told)
        assert said in found
    table = json.loads(text)
    table["policy"]["require"][0]["below"] = "1"
    path.with_name("changed.json").write_text(json.dumps(table))
    with pytest.raises(CertificateError, match="give below or at_most_times, not both"):
        Certificate.load(path.with_name("changed.json"))
    path.with_name("changed.json").unlink()
