"""Releases against facts on top of priors: made by ART or by Mondrian, judged and verified."""

import random

import pyarrow as pa
import pytest

import foreknow as fk

SCHEMA = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="ill")
KNOWN = pa.table(
    {
        "sex": ["m"] * 4 + ["f"] * 4,
        "value": ["Flu", "Cold", "Gout", "AIDS"] * 2,
        "probability": ["0.4", "0.3", "0.2", "0.1", "0.35", "0.4", "0.1", "0.15"],
    }
)


def people(n=160, seed=0):
    rng = random.Random(seed)
    sexes, ills = (
        rng.choices("mf", k=n),
        rng.choices(["Flu", "Cold", "Gout", "AIDS"], [4, 3, 2, 1], k=n),
    )
    return pa.table({"sex": sexes, "age": rng.choices(range(60), k=n), "ill": ills})


def policy(method, priors, **limit):
    options = fk.PublishOptions(method=method, form="bucketized")
    return fk.Policy([fk.Requirement(priors, **limit)], schema=SCHEMA, options=options)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("facts", [(1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 1, 1)])
@pytest.mark.parametrize("reading", ["joint", "binary"])
@pytest.mark.parametrize("method", ["art", "mondrian"])
def test_releases_are_made_and_verified(tmp_path, method, reading, facts):
    known = fk.Priors(KNOWN, reading, facts=fk.Facts(*facts))
    asked = policy(method, known, below="9/10")
    made = fk.publish(people(), asked, seed=3)
    (verdict,) = made.audit.verdicts
    assert verdict.safe
    assert verdict.found.bounded == any(facts[1:])
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    (finding,) = made.certificate.findings
    assert finding["judged"]["priors"]["facts"] == dict(zip("lkm", facts, strict=True))


def test_what_a_search_could_not_ask_is_refused_afterwards():
    # The facts alone are safe; with priors the two who differ are told apart.
    told = pa.table(
        {
            "sex": ["m", "m", "f", "f"],
            "value": ["Flu", "AIDS"] * 2,
            "probability": ["0.99", "0.01", "0.01", "0.99"],
        }
    )
    table = pa.table({"sex": list("mfmf") * 4, "age": [1] * 16, "ill": ["Flu", "AIDS"] * 8})
    asked = policy("mondrian", fk.Priors(told, facts=fk.Facts(0, 1)), below="3/4")
    with pytest.raises(fk.NoSafeRelease, match="but not with priors and facts together"):
        fk.publish(table, asked, seed=1)


def test_plain_priors_are_still_no_matter_of_a_search():
    with pytest.raises(fk.ForeknowError, match="needs groups that are finished"):
        fk.publish(people(), policy("mondrian", fk.Priors(KNOWN), below="9/10"), seed=1)
    relative = policy("mondrian", fk.Priors(KNOWN, facts=fk.Facts(1)), at_most_times=5)
    with pytest.raises(fk.ForeknowError, match="needs groups that are finished"):
        fk.publish(people(), relative, seed=1)


def test_art_keeps_relative_limits_and_sets(tmp_path):
    known = fk.Priors(KNOWN, facts=fk.Facts(1, 1))
    more = [{"at_most_times": 8}, {"any_of": ["AIDS", "Gout"], "below": "9/10"}]
    for number, each in enumerate(more):
        made = fk.publish(people(200), policy("art", known, **each), seed=2)
        made.write(tmp_path / str(number))
        fk.verify(tmp_path / str(number))


def test_learned_priors_with_facts_stay_with_the_owner(tmp_path):
    table = people(200)
    known = fk.Priors.learn(table, ["sex"], "ill")
    known = fk.Priors(list(known.tables), facts=fk.Facts(1))
    made = fk.publish(table, policy("art", known, below="9/10"), seed=2)
    certificate = made.write(tmp_path / "out")
    own = certificate.policy["require"][0]["priors"]
    assert sorted(own["tables"][0]) == ["attributes", "digest"]
    assert own["facts"] == {"l": 1, "k": 0, "m": 0}
    fk.verify(tmp_path / "out")
