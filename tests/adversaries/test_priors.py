"""Priors on whole releases, against enumerated worlds: every value, person and reading."""

from fractions import Fraction
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.releases_priors import priors_table, random_scene
from tests.examples import examples

import foreknow as fk
from foreknow.errors import DataError

SEEDS = st.integers(0, 2**40)
READINGS = ["joint", "binary"]
HALF = Fraction(1, 2)


def highest(truth, value):
    """The highest posterior of a value in any of several {(group, signature, value): chance}."""
    return max((p for known in truth for (_, _, x), p in known.items() if x == value), default=0)


def check_release(scene, release, reading, truth):
    """Compare every value, the worst, the witnesses and the gain; returns groups compared."""
    priors = scene.priors(reading)
    found = priors.disclosures(release)
    assert set(found) == {x for _, _, x in scene.people}
    for value, own in found.items():
        assert own.exact == highest(truth.values(), value), (scene.people, value)
        assert type(own.exact) is Fraction
        assert abs(own.probability - float(own.exact)) < 1e-12
        assert not own.bounded
        assert not own.estimated
        assert priors.disclosure(release, value).exact == own.exact
        check_witness(scene, own, truth)
    top = priors.disclosure(release)
    assert top.exact == max(own.exact for own in found.values()) == found[top.value].exact
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
    ratios = {
        (own, *cell): p / scene.tables[own][cell[1]][cell[2]]
        for own, known in truth.items()
        for cell, p in known.items()
        if scene.tables[own][cell[1]][cell[2]]
    }
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


# ---- against enumeration -------------------------------------------------------------------


@examples(130)
@given(SEEDS)
@pytest.mark.parametrize("reading", READINGS)
def test_disclosures_are_those_of_enumerated_worlds(reading, seed):
    scene = random_scene(Random(seed))
    check_release(scene, scene.release, reading, scene.truth(reading))


@examples(25)
@given(SEEDS)
@pytest.mark.parametrize("reading", READINGS)
def test_larger_groups(reading, seed):
    scene = random_scene(Random(seed), n_groups=2, most=6)
    check_release(scene, scene.release, reading, scene.truth(reading))


@examples(40)
@given(SEEDS, st.sampled_from(["bucketized", "generalized"]))
@pytest.mark.parametrize("reading", READINGS)
def test_releases_made_in_other_ways(reading, seed, made):
    scene = random_scene(Random(seed), n_groups=4)
    check_release(scene, getattr(scene, made), reading, scene.truth(reading))


@examples(120)
@given(SEEDS)
@pytest.mark.parametrize("reading", READINGS)
def test_a_group_that_the_priors_forbid_is_an_error(reading, seed):
    scene = random_scene(Random(seed), n_groups=3, kind="zeros", possible=False)
    truth = scene.truth(reading)
    if truth is not None:
        check_release(scene, scene.release, reading, truth)
        return
    for ask in ("disclosures", "disclosure", "gain"):
        with pytest.raises(DataError, match=r"no way to assign the values of group \d+ to its"):
            getattr(scene.priors(reading), ask)(scene.release)


@pytest.mark.slow
@examples(2500)
@given(SEEDS, st.sampled_from(["release", "bucketized", "generalized"]))
@pytest.mark.parametrize("reading", READINGS)
def test_many_more_releases(reading, seed, made):
    scene = random_scene(Random(seed), n_groups=8, most=5)
    check_release(scene, getattr(scene, made), reading, scene.truth(reading))


@examples(60)
@given(SEEDS)
def test_requirements_are_settled_exactly(seed):
    random = Random(seed)
    scene = random_scene(random, n_groups=3)
    reading = random.choice(READINGS)
    truth = scene.truth(reading)
    value = random.choice([x for _, _, x in scene.people])
    exact = highest(truth.values(), value)
    little = Fraction(1, 10**20)
    for limit in {exact, exact - little, exact + little, HALF}:
        if not 0 < limit <= 1:
            continue
        rules = [
            fk.Requirement(scene.priors(reading), limit, values=[value]),
            fk.Requirement(scene.priors(reading), values=[value], at_most=limit),
        ]
        verdicts = fk.audit(scene.release, fk.Policy(rules)).verdicts
        assert [verdict.safe for verdict in verdicts] == [exact < limit, exact <= limit]


# ---- examples worked by hand ---------------------------------------------------------------


def by_sex(**rows):
    """Priors by sex: by_sex(m="a 1/2 b 1/2")."""
    found = {}
    for label, text in rows.items():
        parts = text.split()
        found[(label,)] = dict(zip(parts[::2], parts[1::2], strict=True))
    return priors_table(found, ["sex"])


def table(text, **columns):
    """Groups of people: "ma fb" is a group of a man with a and a woman with b; "|" ends one."""
    rows = [(g, *who) for g, part in enumerate(text.split("|"), 1) for who in part.split()]
    groups, sexes, values = zip(*rows, strict=True)
    return pa.table({"gid": groups, "sex": sexes, "disease": values, **columns})


def grouped(frame, **how):
    return fk.Release.from_groups(frame, group="gid", sensitive="disease", **how)


def test_two_of_each_as_in_the_papers_section_on_the_lack_of_monotony():
    priors = by_sex(m="l 1/10 h 9/10", f="l 3/1000 h 997/1000")
    mixed = fk.Priors(priors).disclosure(grouped(table("ml ml fh fh")), "l")
    assert mixed.exact == Fraction(1047847, 1102414)
    apart = fk.Priors(priors).disclosure(grouped(table("ml mh|fl fh")), "l")
    assert apart.exact == HALF  # so merging these two groups helps the adversary
    assert not fk.Priors(priors).monotone()


def test_joint_and_binary_differ_where_the_errata_say_so():
    rows = {"t": "a 1/10 b 3/50 c 3/50", "u": "a 3/50 b 1/10 c 1/10"}
    release = grouped(table("ta ub uc"))
    assert fk.Priors(by_sex(**rows)).disclosure(release, "a").exact == Fraction(25, 43)
    binary = fk.Priors(by_sex(**rows), "binary").disclosure(release, "a").exact
    assert binary == Fraction(1, 9) / (Fraction(1, 9) + 2 * Fraction(3, 47))
    assert binary < HALF


def test_robustness_allows_a_posterior_of_just_one_in_r():
    release = grouped(table("ma mb mc md"))
    priors = fk.Priors(by_sex(m="a 1/10 b 2/10 c 3/10 d 4/10"))
    for limit, at_most in (("1/4", True), (0.25, True), (Fraction(1, 4) - Fraction(1, 10**30), 0)):
        audit = fk.audit(release, fk.Policy([fk.Requirement(priors, at_most=limit)]))
        assert audit.safe == bool(at_most)
    assert not fk.audit(release, fk.Policy([fk.Requirement(priors, "1/4")])).safe
    verdict = fk.audit(release, fk.Policy([fk.Requirement(priors, at_most="1/4")])).verdicts[0]
    assert verdict.to_dict()["at_most"] == "1/4"
    assert "below" not in verdict.to_dict()


def test_a_prior_that_floats_cannot_hold_apart_from_others_has_no_false_gain():
    priors = fk.Priors(by_sex(m="a 1e-200 b 0.5", f="a 0.5 b 0.5"))
    gain = priors.gain(grouped(table("ma fb")))
    assert gain.ratio < 2.001
    assert gain.exact == 2 / (1 + 2 * Fraction(1, 10**200))


def test_the_witness_is_whoever_is_surest_by_fractions():
    # The two groups differ in the thirtieth digit.
    rows = {"m": "a 0.3 b 0.3", "f": "a 0.2 b 0.3", "n": f"a 0.3{'0' * 30}1 b 0.3"}
    release = grouped(table("ma fb|na fb|ma fb"))
    found = fk.Priors(by_sex(**rows)).disclosure(release, "a")
    assert found.witness.signature == {"sex": "n"}
    assert found.witness.group == 2
    assert found.exact > Fraction(3, 5)


def test_one_person_alone_is_found_out():
    found = fk.Priors(by_sex(m="a 1e-9 b 0.5")).disclosure(grouped(table("ma")))
    assert (found.exact, found.witness.people, found.witness.holders) == (1, 1, 1)


def test_a_value_that_nobody_has_is_not_disclosed():
    found = fk.Priors(by_sex(m="a 1/2 z 1/2")).disclosure(grouped(table("ma ma")), "z")
    assert (found.exact, found.probability, found.witness) == (0, 0, None)


def test_in_one_audit_beside_facts_and_implications():
    priors = fk.Priors(by_sex(m="a 1/2 b 1/4 c 1/4", f="a 1/4 b 1/2 c 1/4"))
    release = grouped(table("ma fb mc fa"))
    policy = fk.Policy(
        [
            fk.Requirement(priors, "3/4"),
            fk.Requirement(fk.Facts(l=1), "3/4"),
            fk.Requirement(fk.Implications(1), "3/4"),
            fk.Requirement([(priors, "2/3"), (fk.Facts(k=1), "2/3")], values=["a"]),
        ]
    )
    audit = fk.audit(release, policy)
    counts = release.counts
    for verdict in audit.verdicts:
        own = verdict.point.adversary
        judged = release if isinstance(own, fk.Priors) else counts
        value = verdict.disclosure.value
        assert verdict.disclosure.exact == own.disclosure(judged, value).exact
    assert len(audit.verdicts) == 5
    assert audit.to_dict()["verdicts"][0]["worst"]["witness"]["signature"]


# ---- labels --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ages",
    [[1, 2, 1], ["1", "2", "1"], pa.array(["1", "2", "1"]).dictionary_encode()],
    ids=["int", "text", "dictionary"],
)
@pytest.mark.parametrize("written", [[1, 1, 2, 2], ["1", "1", "2", "2"]], ids=["int", "text"])
def test_numbers_and_texts_that_print_alike_are_one_signature(ages, written):
    priors = pa.table(
        {"age": written, "value": ["a", "b"] * 2, "probability": [0.1, 0.9, 0.9, 0.1]}
    )
    release = grouped(table("ma mb|mb", age=ages))
    found = fk.Priors(priors).disclosure(release, "a")
    assert found.exact == Fraction(81, 82)
    assert found.witness.signature == {"age": "2"}


def test_a_float_is_not_a_whole_number_and_the_message_says_what_there_is():
    priors = pa.table({"age": [1, 1], "value": ["a", "b"], "probability": [0.1, 0.9]})
    with pytest.raises(DataError, match=r"no probabilities for age 1\.0; known: '1'"):
        fk.Priors(priors).disclosure(grouped(table("ma mb", age=[1.0, 1.0])))
    floats = pa.table({"age": [1.0, 1.0], "value": ["a", "b"], "probability": [0.1, 0.9]})
    found = fk.Priors(floats).disclosure(grouped(table("ma mb", age=[1.0, 1.0])))
    assert found.exact == HALF


def test_values_that_are_numbers_are_compared_as_they_print():
    frame = pa.table({"gid": [1, 1], "sex": ["m", "f"], "disease": [7, 8]})
    priors = fk.Priors(by_sex(m="7 0.1 8 0.9", f="7 0.003 8 0.997"))
    found = priors.disclosures(grouped(frame))
    assert found[7].exact == Fraction(997, 1024)
    assert priors.disclosure(grouped(frame), 7).witness.value == 7


def test_a_missing_attribute_is_a_signature_of_its_own():
    frame = table("ma fb", race=pa.array([None, "w"]))
    rows = {(None,): {"a": "1/2", "b": "1/2"}, ("w",): {"a": "1/4", "b": "3/4"}}
    found = fk.Priors(priors_table(rows, ["race"])).disclosure(grouped(frame), "a")
    assert found.witness.signature == {"race": None}
    assert found.exact == Fraction(3, 4)
    known = {key: row for key, row in rows.items() if key != (None,)}
    with pytest.raises(DataError, match="no probabilities for race missing"):
        fk.Priors(priors_table(known, ["race"])).disclosure(grouped(frame))


def test_the_column_of_groups_may_be_an_attribute():
    frame = pa.table({"ward": ["x", "x", "y", "y"], "sex": list("mfmf"), "disease": list("abab")})
    rows = {
        (ward, sex): {"a": f"{i}/9", "b": f"{9 - i}/9"}
        for i, (ward, sex) in enumerate([("x", "m"), ("x", "f"), ("y", "m"), ("y", "f")], 1)
    }
    release = fk.Release.from_groups(frame, group="ward", sensitive="disease")
    found = fk.Priors(priors_table(rows, ["ward", "sex"])).disclosure(release, "a")
    # ward x: 1/9 and 2/9; ward y: 3/9 and 4/9.
    assert found.exact == max(Fraction(2 * 8, 2 * 8 + 1 * 7), Fraction(4 * 6, 4 * 6 + 3 * 5))
    alone = {("x",): {"a": "1/9", "b": "8/9"}, ("y",): {"a": "1/3", "b": "2/3"}}
    assert fk.Priors(priors_table(alone, ["ward"])).disclosure(release).exact == HALF


def test_people_who_were_left_out_are_not_counted():
    frame = table("ma fb fb", extra=[1, 2, 3])
    frame = frame.set_column(2, "disease", pa.array(["a", "b", None]))
    priors = fk.Priors(by_sex(m="a 1/2 b 1/2", f="a 1/4 b 3/4"))
    assert priors.disclosure(grouped(frame, missing="drop"), "a").exact == Fraction(3, 4)
    labelled = fk.Priors(by_sex(m="a 1/2 b 1/2 ? 0", f="a 1/4 b 1/4 ? 1/2"))
    found = labelled.disclosures(grouped(frame, missing={"label": "?"}))
    assert found["?"].exact == HALF


def test_texts_that_were_disarmed_are_taken_as_they_were():
    frame = pa.table({"gid": [1, 1], "sex": ["'=m", "f"], "disease": ["'+a", "b"]})
    priors = fk.Priors(by_sex(f="+a 0.003 b 0.997", **{"=m": "+a 0.1 b 0.9"}))
    found = priors.disclosure(grouped(frame).rearmed(), "+a")
    assert (found.exact, found.witness.signature) == (Fraction(997, 1024), {"sex": "=m"})
