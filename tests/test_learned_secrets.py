"""What is learned, for sets of values, columns that are known, and several sensitive columns."""

import json
from fractions import Fraction
from itertools import permutations
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.data.sights import seen_with

VALUES = ["asthma", "burns", "cold", "gout"]


def people(share=0.7, n=240, seed=1):
    """People whose disease goes with their job, and whose ward goes with nothing."""
    random = np.random.default_rng(seed)
    job = random.integers(0, 4, n)
    sick = np.where(random.random(n) < share, job, random.integers(0, 4, n))
    return pa.table(
        {
            "job": [f"job {j}" for j in job],
            "age": random.integers(20, 60, n),
            "disease": [VALUES[i] for i in sick],
            "ward": [f"ward {w}" for w in random.integers(0, 2, n)],
            "wage": [f"{w}000" for w in (job + random.integers(0, 2, n)) % 4],
        }
    )


def schema(sensitive="disease", other=()):
    return fk.Schema(quasi_identifiers=["job", "age"], sensitive=sensitive, other=list(other))


def release_of(rows, size=4, **more):
    group = pa.array([row // size for row in range(len(rows))])
    return fk.Release.from_groups(
        rows.append_column("group", group), group="group", sensitive="disease", **more
    )


# ---- one secret of several values ----------------------------------------------------------------


def test_any_of_adds_posteriors_up_as_priors_do():
    """With the statistics given, it is what priors find of the set."""
    random = Random(1)
    for _ in range(25):
        rows = people(0.5, n=random.choice([8, 12, 20]), seed=random.randint(0, 999))
        release = release_of(rows)
        values = [str(value) for value in release.counts.values]
        if len(values) < 3:
            continue
        table = [
            {"job": f"job {j}", "value": v, "probability": f"{random.randint(1, 20)}/100"}
            for j in range(4)
            for v in VALUES
        ]
        priors = fk.Priors(pa.Table.from_pylist(table))
        given = fk.Learned(["job"], given=priors)
        members = random.sample(values, 2)
        for relative in (False, True):
            right = priors.any_of(release, members, "any", relative=relative)
            found = given.any_of(release, members, "any", relative=relative)
            assert found.probability == pytest.approx(right.probability)
            assert found.estimated
            if relative:
                assert float(found.prior) == pytest.approx(float(right.prior))


def test_any_of_by_enumeration_of_worlds_and_of_what_others_teach():
    rows = people(0.6, n=40, seed=3)
    release = release_of(rows)
    adversary = fk.Learned(["job"], smoothing=2)
    learning = adversary.learning(release)
    fit, counts = learning.fit, release.counts
    kinds = {label[0]: i for i, label in enumerate(learning.kinds.labels)}
    job, sick = rows.column("job").to_pylist(), rows.column("disease").to_pylist()
    place = {value: i for i, value in enumerate(counts.values)}
    layout = learning.layout
    posterior = layout.expected(fit.chances[layout.signature, layout.value]).posteriors
    best = {}
    members = [place["asthma"], place["gout"]]
    for group in range(10):
        own = range(4 * group, 4 * group + 4)
        case = int(layout.case_of[[counts.group_label(g) for g in range(10)].index(group)])
        mine = np.zeros(fit.chances.shape)
        size = np.zeros(len(kinds))
        for cell in np.flatnonzero(layout.case == case):
            mine[layout.signature[cell], layout.value[cell]] += (
                layout.people[cell] * posterior[cell]
            )
            size[layout.signature[cell]] = layout.people[cell]
        taught = (fit.amounts - mine + 2 * fit.overall) / (fit.people - size + 2)[:, None]
        weight = {}
        for world in set(permutations([place[sick[row]] for row in own])):
            chance = np.prod([taught[kinds[job[r]], v] for r, v in zip(own, world, strict=True)])
            for person, value in zip(own, world, strict=True):
                key = person, value in members
                weight[key] = weight.get(key, 0) + chance
        for person in own:
            yes, no = (weight.get((person, side), 0) for side in (True, False))
            best[person] = yes / (yes + no), taught[kinds[job[person]], members].sum()
    found = adversary.any_of(release, ["asthma", "gout"], "either")
    assert found.probability == pytest.approx(max(p for p, _ in best.values()), abs=1e-6)
    top = max(p / s for p, s in best.values())
    gain = adversary.any_of(release, ["asthma", "gout"], "either", relative=True)
    assert gain.probability / float(gain.prior) == pytest.approx(top, abs=1e-6)
    witness = found.witness
    assert witness.value == "either"
    assert witness.low <= found.probability <= witness.high
    bag = counts.bag([counts.group_label(g) for g in range(10)].index(witness.group))
    assert witness.holders == bag.get("asthma", 0) + bag.get("gout", 0)


def test_a_policy_limits_a_set_and_the_verifier_agrees(tmp_path):
    rows = people()
    secret = fk.Requirement(
        fk.Learned(["job"]), below="0.999", any_of={"lungs": ["asthma", "cold"], "g": ["gout"]}
    )
    facts = fk.Requirement(fk.Facts(), below="2/3")
    for form in ("bucketized", "generalized"):
        policy = fk.Policy([facts, secret], schema())
        made = fk.publish(rows, policy, method=fk.Streamliner(3, "rda"), form=form, seed=1)
        (estimate,) = made.audit.estimates
        assert estimate.disclosure.value in ("lungs", "g")
        assert estimate.to_dict()["any_of"] == {"lungs": ["asthma", "cold"], "g": ["gout"]}
        assert len(estimate.others) == 1
        assert "lungs" in made.audit.summary()
        made.write(tmp_path / form)
        own = fk.verify(tmp_path / form).estimates
        if form == "bucketized":
            assert made.certificate.estimates[0]["checked"]
            assert own[0].probability == pytest.approx(estimate.disclosure.probability, abs=0.02)
        else:
            assert own == ()
    strict = fk.Requirement(fk.Learned(["job"]), below="0.3", any_of=["asthma", "cold"])
    with pytest.raises(fk.NoSafeRelease, match=r"too much can be learned.*asthma or cold"):
        fk.publish(rows, fk.Policy([facts, strict], schema()), method=fk.Anatomy(3), seed=1)


def test_a_lie_about_a_set_is_found(tmp_path):
    rows = people()
    secret = fk.Requirement(fk.Learned(["job"]), below="0.999", any_of=["asthma", "cold"])
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="2/3"), secret], schema())
    made = fk.publish(rows, policy, method=fk.Anatomy(3), form="bucketized", seed=1)
    made.write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    read = json.loads(path.read_text())
    read["policy"]["require"][1]["any_of"] = ["gout", "cold"]
    read["estimates"][0]["probability"] -= 0.2
    path.write_text(json.dumps(read))
    with pytest.raises(fk.InputError, match="what can be learned is estimated at about"):
        fk.verify(tmp_path / "out")


# ---- columns that are known ----------------------------------------------------------------------


def test_who_knows_a_column_learns_in_the_groups_that_it_divides():
    """Secret and sight only change what is counted: the same as groups of (group, ward)."""
    rows = people()
    group = pa.array([row // 8 for row in range(len(rows))])
    table = rows.append_column("group", group)
    finer = pa.array([f"{row // 8} {w}" for row, w in enumerate(rows.column("ward").to_pylist())])
    split = fk.Release.from_groups(
        rows.append_column("group", finer), group="group", sensitive="disease"
    )
    whole = fk.Release.from_groups(table, group="group", sensitive="disease", other=["ward"])
    limit = {"below": "0.5"}
    knows, blind = (
        fk.audit(whole, fk.Policy([fk.Requirement(fk.Learned(["job"]), knowing=k, **limit)]))
        for k in (["ward"], [])
    )
    right = fk.Learned(["job"]).disclosure(split)
    assert knows.estimates[0].disclosure.probability == pytest.approx(right.probability, abs=1e-6)
    assert knows.estimates[0].known == ("ward",)
    assert knows.estimates[0].to_dict()["knowing"] == ["ward"]
    assert blind.estimates[0].disclosure.probability < right.probability


@pytest.mark.parametrize("form", ["bucketized", "generalized"])
def test_published_columns_beside_are_known_in_gate_audit_and_verifier(form, tmp_path):
    rows = people(0.6)
    facts = fk.Requirement(fk.Facts(), below="0.8", knowing=["ward"])
    learned = fk.Requirement(fk.Learned(["job"]), below="0.9999")
    policy = fk.Policy([facts, learned], schema(other=["ward"]))
    made = fk.publish(rows, policy, form=form, seed=1)
    (estimate,) = made.audit.estimates
    assert estimate.within
    # What somebody sees who knows it: everybody by group and ward.
    if form == "generalized":
        assert estimate.known == ("ward",)
        seen = seen_with(made.release, fk.Microdata(rows, policy.schema), ["job"])
        own = seen.seen(None, None)
        assert own.counts.n_groups > made.counts.n_groups
        assert own is seen.seen(None, ["ward"])
        assert seen.seen(None, []) is not own
        again = fk.Learned(["job"]).disclosure(own)
        assert again.probability == pytest.approx(estimate.disclosure.probability, abs=1e-6)
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")


# ---- several sensitive columns -------------------------------------------------------------------


@pytest.mark.parametrize("unlinked", [False, True])
@pytest.mark.parametrize("form", ["bucketized", "generalized"])
def test_each_of_several_sensitive_columns_has_its_limit(form, unlinked, tmp_path):
    rows = people()
    both = ["disease", "wage"]
    required = [
        fk.Requirement(fk.Facts(), below="0.9", sensitive=name, knowing=[]) for name in both
    ]
    required += [
        fk.Requirement(fk.Learned(["job"]), below="0.9999", sensitive=name, knowing=[])
        for name in both
    ]
    policy = fk.Policy(required, schema(both))
    apart = {"unlinked": both} if unlinked else {}
    made = fk.publish(rows, policy, form=form, seed=1, **apart)
    one, other = made.audit.estimates
    assert (one.requirement.sensitive, other.requirement.sensitive) == ("disease", "wage")
    assert str(other.disclosure.value).endswith("000")
    said = " ".join(made.audit.summary().split())
    assert "how wages go with job" in said
    assert "how diseases go with job" in said
    made.write(tmp_path / "out")
    found = fk.verify(tmp_path / "out")
    assert len(found.estimates) == (2 if form == "bucketized" else 0)
    # One column by itself: the same groups have the same estimate.
    if form == "bucketized":
        alone = fk.Learned(["job"]).disclosure(made.release.seen("wage", []))
        assert alone.probability == pytest.approx(other.disclosure.probability)


def test_what_cannot_be_learned_so_is_still_refused():
    with pytest.raises(fk.InputError, match="within is unsupported for Learned"):
        fk.Requirement(fk.Learned(["job"]), below="1/2", within=3)
    learned = fk.Requirement(fk.Learned(["job"]), "0.9")
    both = schema(["disease", "wage"])
    with pytest.raises(fk.InputError, match="say which column it is about"):
        fk.Policy([learned], both)


# ---- the verifier's own counting -----------------------------------------------------------------


def test_the_verifier_counts_worlds_right():
    """Its posteriors and weights of groups of any shape, against every world, in fractions."""
    from foreknow.verifier.learned import _by_counts

    random = Random(2)
    for _ in range(150):
        counts = tuple(sorted(random.randint(1, 3) for _ in range(random.randint(1, 3)))[::-1])
        n = sum(counts)
        if n > 6:
            continue
        table = [[Fraction(random.randint(0, 6), 6) for _ in counts] for _ in range(n)]
        copies = [value for value, many in enumerate(counts) for _ in range(many)]
        total, held = Fraction(0), [[Fraction(0)] * len(counts) for _ in range(n)]
        for world in set(permutations(copies)):
            weight = Fraction(1)
            for person, value in enumerate(world):
                weight *= table[person][value]
            total += weight
            for person, value in enumerate(world):
                held[person][value] += weight
        found, log = _by_counts(np.array([table, table], dtype=float), counts)
        if not total:
            assert np.isneginf(log).all()
            continue
        assert log == pytest.approx(float(np.log(float(total))))
        right = np.array([[float(x / total) for x in row] for row in held])
        assert found[0] == pytest.approx(right)
        assert found[1] == pytest.approx(right)
