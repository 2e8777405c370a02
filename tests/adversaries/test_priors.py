"""Priors on whole releases, against enumerated worlds: every value, person and reading."""

from fractions import Fraction
from functools import partial
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.releases_priors import priors_table, random_scene
from tests.examples import NIGHTLY, examples

import foreknow as fk
from foreknow.adversaries.disclosure import Disclosure, worst
from foreknow.adversaries.priors import disclosure as priors_judged
from foreknow_judge.errors import DataError, InputError, UnsupportedError

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


# ---- against enumeration -------------------------------------------------------------------


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(
    ("groups", "most", "made", "many"),
    [
        (6, 4, ["release"], 130),
        (2, 6, ["release"], 25),
        (4, 4, ["bucketized", "generalized"], 40),
        pytest.param(8, 5, ["release", "bucketized", "generalized"], 2500, marks=pytest.mark.slow),
    ],
)
def test_disclosures_are_those_of_enumerated_worlds(reading, groups, most, made, many):
    @examples(many)
    @given(SEEDS, st.sampled_from(made))
    def check(seed, made):
        scene = random_scene(Random(seed), n_groups=groups, most=most)
        check_release(scene, getattr(scene, made), reading, scene.truth(reading))

    check()


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


def test_a_value_that_nobody_has_is_not_disclosed():
    found = fk.Priors(by_sex(m="a 1/2 z 1/2")).disclosure(grouped(table("ma ma")), "z")
    assert (found.exact, found.probability, found.witness) == (0, 0, None)


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


# ---- what cannot be judged -----------------------------------------------------------------

SIMPLE = fk.Priors(by_sex(m="a 1/2 b 1/2", f="a 1/4 b 3/4"))


def test_counts_without_signatures_are_refused():
    tally = pa.table({"group": [1, 1], "disease": ["a", "b"], "count": [1, 1]})
    alone = fk.Release.from_bucketized(tally, sensitive="disease")
    with pytest.raises(InputError, match="sex of each person are unavailable; give a table of"):
        SIMPLE.disclosure(alone)


def test_what_the_priors_do_not_know_is_named():
    with pytest.raises(DataError, match="no probabilities for sex x"):
        SIMPLE.disclosure(grouped(table("ma xb")))
    with pytest.raises(DataError, match=r"no probabilities of the sensitive value 'c'.*give 0"):
        SIMPLE.disclosure(grouped(table("ma mc")))
    frame = table("ma fb").rename_columns({"sex": "gender"})
    with pytest.raises(DataError, match="'sex'"):
        SIMPLE.disclosure(grouped(frame))


def test_searching_is_refused_and_says_what_does_it():
    policy = fk.Policy([fk.Requirement(SIMPLE, at_most="1/2")])
    assert not policy.monotone()
    assert not hasattr(SIMPLE, "ledger")
    with pytest.raises(UnsupportedError, match=r'Priors needs groups that are finished.* "art"'):
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
    for seed in range(100 if NIGHTLY else 40):
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
        ratios = scene.ratios(truth).values()
        assert Fraction(gain.ratio) >= max(ratios)
        assert gain.exact is None or gain.exact <= max(ratios)
    assert bounded > (10 if NIGHTLY else 2)
    assert loose > (1 if NIGHTLY else 0)
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
