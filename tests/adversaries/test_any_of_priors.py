"""Any of a set against priors: posteriors are added up, in audit, search, files and verifier."""

from collections import defaultdict
from fractions import Fraction
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.releases_priors import priors_table, random_scene
from tests.examples import examples
from tests.oracle.sets import worst_of_set_by_priors

import foreknow as fk
from foreknow_judge.verdicts import verdicts as verify
from foreknow_judge.written import Written

SEEDS = st.integers(0, 2**40)


def enumerated(scene, united, reading):
    """The highest posterior and gain over all tables; None where a group has no world."""
    found = []
    for own, table in scene.tables.items():
        groups = [
            [(table[tuple(who[name] for name in own)], value) for who, value in members]
            for members in scene.groups.values()
        ]
        found.append(worst_of_set_by_priors(groups, united, reading))
    if None in found:
        return None
    return max(p for p, _ in found), max(gain for _, gain in found)


def required(priors, united, relative):
    limit = {"at_most_times": 1} if relative else {"at_most": 1}
    return fk.Policy([fk.Requirement(priors, any_of=united, **limit)])


def verified(scene, rules):
    """What the verifier finds in the release as two tables."""
    tally = defaultdict(int)
    for group, _, value in scene.people:
        tally[str(group), value] += 1
    keys, values = zip(*tally, strict=True)
    counts = pa.table({"group": keys, "disease": values, "count": list(tally.values())})
    people = scene.frame.drop_columns("disease").rename_columns({"gid": "group"})
    tables = {"people": people, "sensitive": counts}
    written = Written("bucketized", ("group",), "disease", tables)
    (found,) = verify(written, rules.to_dict()["require"])
    return found


@pytest.mark.parametrize("reading", ["joint", "binary"])
@pytest.mark.parametrize("relative", [False, True])
@examples(500, daily=12, deadline=None)
@given(SEEDS, st.integers(1, 3))
def test_sums_are_those_of_an_enumeration_and_the_verifier_finds_them(
    reading, relative, seed, many
):
    scene = random_scene(Random(seed), n_groups=4)
    present = sorted({value for _, _, value in scene.people})
    united = present[:many]
    truth = enumerated(scene, set(united), reading)
    if united == present or truth is None:
        return
    rules = required(scene.priors(reading), united, relative)
    (verdict,) = fk.audit(scene.release, rules).verdicts
    found, judged = verdict.disclosure, verified(scene, rules)
    if relative:
        assert (found.exact or 0) / (found.prior or 1) == truth[1]
        assert judged.reached / judged.found.prior == truth[1]
    else:
        assert found.exact == judged.reached == truth[0]
        assert abs(found.probability - float(truth[0])) < 1e-12
    assert found.value == judged.value == " or ".join(united) or not found.exact
    if found.exact:
        check_witness(scene, found, united, reading)


@pytest.mark.parametrize("reading", ["joint", "binary"])
def test_the_nearest_limit_is_judged(reading):
    """Of two sets, a is likelier, and b four times as likely as before."""
    table = pa.table({"gid": ["1"] * 5, "job": ["p"] * 5, "ill": list("aaabb")})
    before = {"a": Fraction(3, 5), "b": Fraction(1, 10), "c": Fraction(3, 10)}
    priors = fk.Priors(priors_table({("p",): before}, ["job"]), semantics=reading)
    each = fk.Requirement(priors, any_of={"one": ["a"], "two": ["b"]}, at_most_times=3)
    held = Written("generalized", ["gid"], "ill", {"release": table}, beside=["job"])
    (found,) = verify(held, fk.Policy([each]).to_dict()["require"])
    assert (found.value, found.reached, found.safe) == ("two", Fraction(2, 5), False)


def check_witness(scene, found, united, reading):
    """Somebody of this kind is in this group, and has one of the set so probably."""
    witness = found.witness
    own, signature = tuple(witness.signature), tuple(witness.signature.values())
    members = scene.groups[int(witness.group)]
    rows = scene.tables[own]
    assert witness.holders == sum(value in united for _, value in members)
    assert witness.prior == sum(rows[signature][value] for value in united)
    group = [(rows[tuple(who[name] for name in own)], value) for who, value in members]
    assert worst_of_set_by_priors([group], set(united), reading)[0] >= found.exact


def people(n=120, seed=2):
    random = Random(seed)
    rows = []
    for _ in range(n):
        sex = random.choice("mf")
        weights = [3, 2, 4, 5, 4] if sex == "m" else [1, 1, 6, 5, 4]
        (value,) = random.choices(["B20", "Z21", "Flu", "Cold", "Gout"], weights)
        rows.append((sex, random.randint(20, 60), value))
    sexes, ages, values = zip(*rows, strict=True)
    return pa.table({"sex": sexes, "age": ages, "disease": values})


def guessed():
    """Priors that nobody learned from the table."""
    rows = {
        ("m",): dict(zip(["B20", "Z21", "Flu", "Cold", "Gout"], "21322", strict=True)),
        ("f",): dict(zip(["B20", "Z21", "Flu", "Cold", "Gout"], "11332", strict=True)),
    }
    tenths = {s: {v: Fraction(int(x), 10) for v, x in row.items()} for s, row in rows.items()}
    return fk.Priors(priors_table(tenths, ("sex",)))


SCHEMA = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="disease")


@pytest.mark.parametrize("limit", [{"at_most": "1/2"}, {"below": "3/5"}, {"at_most_times": "5/2"}])
def test_art_publishes_what_keeps_the_limit_of_the_set(limit, tmp_path):
    microdata = fk.Microdata(people(), SCHEMA)
    rules = fk.Policy([fk.Requirement(guessed(), any_of={"HIV": ["B20", "Z21"]}, **limit)], SCHEMA)
    options = fk.PublishOptions(method="art", form="bucketized")
    made = fk.publish(microdata, rules, options=options, seed=1)
    assert made.audit.safe
    assert len(made.groups) > 3
    made.write(tmp_path / "out")
    (found,) = fk.verify(tmp_path / "out").findings
    assert found.value == "HIV"
    verdict = made.audit.verdicts[0]
    assert found.reached == verdict.disclosure.exact


def test_a_single_limit_for_all_needs_no_set():
    rules = fk.Policy(
        [fk.Requirement(guessed(), at_most="1/2", any_of={"HIV": ["B20", "Z21"]})], SCHEMA
    )
    own = {"art": {"unique": True}}
    options = fk.PublishOptions(method="art", form="bucketized", settings=own)
    with pytest.raises(fk.InputError, match=r"unique = false"):
        fk.publish(fk.Microdata(people(), SCHEMA), rules, options=options)


def test_a_value_that_nobody_has_adds_nothing():
    scene = random_scene(Random(5), n_groups=3)
    each = [required(scene.priors("joint"), of, False) for of in (["a"], ["a", "X"], ["X"])]
    alone, beside, nobody = (fk.audit(scene.release, rules).verdicts[0] for rules in each)
    assert alone.disclosure.exact == beside.disclosure.exact > 0 == nobody.disclosure.exact


RATES = pa.table(
    {
        "k": ["x"] * 3 + ["y"] * 3,
        "value": ["A", "B", "C"] * 2,
        "probability": ["0.1", "0.8", "0.1", "0.5", "0", "0.5"],
    }
)


def test_binary_priors_refuse_a_likely_value_of_nobody(tmp_path):
    table = pa.table({"k": ["x", "y", "y"], "s": ["A", "C", "C"], "g": [1, 1, 1]})
    release = fk.Release.from_groups(table, group="g", sensitive="s")

    def policy(reading, members):
        adversary = fk.Priors(RATES, semantics=reading)
        return fk.Policy([fk.Requirement(adversary, below="19/20", any_of=members)])

    for members in (["A", "B"], ["A", "B*"]):
        with pytest.raises(fk.InputError, match="nobody has 'B', which is likely"):
            fk.audit(release, policy("binary", members))
        assert fk.audit(release, policy("joint", members)).verdicts
    assert fk.audit(release, policy("binary", ["A"])).verdicts
