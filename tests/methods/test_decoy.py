"""Decoy: what its refusals tell, by enumeration; its chances; what it refuses."""

import random
from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import NIGHTLY, examples
from tests.methods.decoy_chances import chance_of
from tests.oracle.algorithm_worlds import worlds
from tests.oracle.decoy_worlds import one_trial, worst_posterior

import foreknow as fk
from foreknow.cli.entry import app
from foreknow.errors import NoSafeRelease
from foreknow_judge.errors import DataError, PolicyError, UnsupportedError

ONE = fk.Schema(quasi_identifiers=["x"], sensitive="v")


def table(values, x=None, **more):
    x = list(range(len(values))) if x is None else x
    return pa.table({"x": x, "v": list(values), **more})


def chance(microdata, policy, groups, world):
    codes = np.array([microdata.values.codes[v] for v in world], microdata.sensitive_codes.dtype)
    return chance_of(microdata.with_sensitive(codes), policy, groups)


# ---- the proof, apart from the program ----------------------------------------------------------


@given(
    st.lists(st.sampled_from("abc"), min_size=3, max_size=5),
    st.integers(1, 2),
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(1, 2),
    st.randoms(use_true_random=False),
)
@examples(25, daily=5, deadline=None)
def test_what_one_trial_tells(values, least, many, decoys, j, draw):
    """Whatever bags of a part are unsafe: by all worlds, all lots and all decoys."""
    n, many = len(values), min(many, len(values) // 2)
    part = draw.sample(range(n), min(least, n - 1))
    every = sorted(set(permutations(values)))
    bags = sorted({tuple(sorted(world[p] for p in part)) for world in every})
    unsafe = {bag for bag in bags if draw.random() < 0.4}
    accepted, refused = one_trial(values, part, many, unsafe, j, decoys)
    # An accepted cut tells nothing beyond the bags of its parts.
    for bag in bags:
        own = {accepted[w] for w in every if tuple(sorted(w[p] for p in part)) == bag}
        assert len(own) == 1
    # A refused one makes nothing that concerns j people likelier by more than 1 + 1/K.
    for weights in refused.values():
        least_weight = min(weights.values())
        if not least_weight:
            assert set(weights.values()) == {0}
            continue
        for people in permutations(range(n), j):
            for theirs in product(sorted(set(values)), repeat=j):
                inside = [
                    w
                    for w in weights
                    if all(w[p] == x for p, x in zip(people, theirs, strict=True))
                ]
                after = sum(weights[w] for w in inside) / least_weight
                assert len(inside) <= after <= len(inside) * (1 + Fraction(1, decoys))
        for w in every:  # in all, something comes of every world
            assert accepted[w] + sum(own.get(w, 0) for own in refused.values()) == 1


# ---- the program: everybody's posterior, over every world ---------------------------------------

FACTS = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1), (0, 2, 0)]
LIMITS = ["1/2", "2/3", "3/4", "4/5", "1"]


def releases(draw, many):
    """Releases of small tables: how probable each is of every world, what is asked of it."""
    while many:
        values = draw.choice(["aabbc", "aabc", "abcde", "aabbcd", "aaabb"])
        world = tuple(draw.choice(values) for _ in range(draw.choice([4, 5, 5])))
        facts, limit = draw.choice(FACTS), draw.choice(LIMITS)
        pair = sorted(set(world))[:2]
        several = len(set(world)) > 2 and draw.random() < 0.25
        secret = {"any_of": pair} if several else {}
        if not several and draw.random() < 0.25:
            secret = {"values": pair[:1]}
        policy = fk.Policy([fk.Requirement(fk.Facts(*facts), below=limit, **secret)], ONE)
        x = sorted(draw.randrange(4) for _ in world) if draw.random() < 0.3 else None
        microdata = fk.Microdata(table(world, x), ONE)
        try:
            groups = fk.Decoy().partition(microdata, policy, seed=draw.randrange(1 << 30)).tolist()
        except NoSafeRelease:
            continue
        weights = {w: chance(microdata, policy, groups, w) for w in worlds(world, groups)}
        assert weights[world] > 0
        many -= 1
        secrets = [set(pair)] if several else [{v} for v in secret.get("values", set(world))]
        yield weights, secrets, facts, limit


@pytest.mark.parametrize("seed", range(60 if NIGHTLY else 1))
def test_no_limit_is_reached_in_what_it_makes(seed):
    for weights, secrets, facts, limit in releases(random.Random(seed), 8 if NIGHTLY else 2):
        assert max(worst_posterior(weights, secret, facts) for secret in secrets) < Fraction(limit)


def test_the_chances_are_those_of_runs():
    values = "aabbcad"
    microdata = fk.Microdata(table(values), ONE)
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="4/5")], ONE)
    runs = 250 if NIGHTLY else 25
    made = Counter(
        tuple(fk.Decoy().partition(microdata, policy, seed=seed).tolist()) for seed in range(runs)
    )
    chances = {groups: chance_of(microdata, policy, groups) for groups in made}
    assert len(made) > 1
    assert sum(chances.values()) <= 1
    for groups, probability in chances.items():
        spread = 5 * (runs * float(probability * (1 - probability))) ** 0.5
        assert abs(made[groups] - runs * float(probability)) <= spread + 1e-9


# ---- at a size ----------------------------------------------------------------------------------


def register(n=1200, seed=3):
    draw = random.Random(seed)
    return pa.table(
        {
            "income": [draw.randrange(100) for _ in range(n)],
            "district": [draw.choice(["north", "south", "east", "west"]) for _ in range(n)],
            "cause": [draw.choice("ppqqrstuvw") for _ in range(n)],
        }
    )


ROLES = fk.Schema(quasi_identifiers=["income", "district"], sensitive="cause")


@pytest.mark.parametrize(
    "asked",
    [
        [fk.Requirement(fk.Facts(1), below="1/2")],
        [fk.Requirement(fk.Facts(1, 1, 1), below="3/4"), fk.Requirement(fk.KAnonymity(8))],
        [fk.Requirement(fk.Negations(2), below="2/3", values=["p", "q"])],
        [fk.Requirement(fk.Facts(0, 1, 0), below="3/5", any_of=["p", "q"])],
        [fk.Requirement(fk.LDiversity(3)), fk.Requirement(fk.LDiversity(3, "recursive", c=2))],
    ],
    ids=["l", "k and m, size", "negations", "any of", "diversity"],
)
def test_it_divides_and_keeps_the_policy(asked):
    policy = fk.Policy(asked, ROLES)
    made = fk.publish(fk.Microdata(register(), ROLES), policy, method="decoy")
    assert made.audit.safe
    assert len(made.groups) > 4
    assert made.certificate.method["name"] == "Decoy"
    assert made.certificate.scope["method"] == "as required"


def test_the_attack_settles_it_by_a_proof():
    policy = fk.Policy([fk.Requirement(fk.Facts(1), below="1/2")], ROLES)
    microdata = fk.Microdata(register(), ROLES)
    found = fk.attack(microdata, fk.Decoy(), policy)
    assert (found.how, found.kept, found.found, found.undecided) == ("bound", True, False, False)
    assert "no posterior reaches a limit" in repr(found)
    assert found.to_dict()["kept"] is True
    with pytest.raises(UnsupportedError, match="reaches a limit of the policy"):
        found.posterior(1, "p")


def test_groups_that_do_not_hold_the_policy_are_not_taken_for_its_own():
    apart = fk.PublishOptions(form="bucketized")
    policy = fk.Policy([fk.Requirement(fk.Facts(1), below="1/2")], ROLES, apart)
    microdata = fk.Microdata(register(), ROLES)
    groups = np.arange(microdata.n_people) // 2
    with pytest.raises(DataError, match="does not make these groups"):
        fk.attack(microdata, fk.Decoy(), policy, groups=groups)
    named = register().append_column("group", pa.array(groups))
    release = fk.Release.from_groups(named, group="group", sensitive="cause")
    with pytest.raises(DataError, match="does not make these groups"):
        fk.Algorithm(fk.Decoy(), policy).disclosure(release, "p")
    own = fk.Decoy().partition(microdata, policy)
    found = fk.attack(microdata, fk.Decoy(), policy, groups=own)
    assert found.kept
    assert found.proof.startswith("if the method made these groups, beside as many decoys")


def test_a_seed_is_noted():
    policy = fk.Policy([fk.Requirement(fk.Facts(1), below="1/2")], ROLES)
    microdata = fk.Microdata(register(), ROLES)
    one, two = (fk.Decoy().partition(microdata, policy, seed=7) for _ in range(2))
    assert np.array_equal(one, two)
    made = fk.publish(microdata, policy, method=fk.Decoy(cuts=3), seed=7)
    assert any(note.startswith("seeded") for note in made.certificate.notes)


def test_other_tables_are_refused():
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="1/4")], ONE)
    with pytest.raises(NoSafeRelease, match="not even one group of all 4 people"):
        fk.Decoy().partition(fk.Microdata(table("aabb"), ONE), policy)


def test_on_the_command_line(tmp_path):
    import pyarrow.csv

    pyarrow.csv.write_csv(register(), tmp_path / "deaths.csv")
    (tmp_path / "policy.toml").write_text(
        '[schema]\nquasi_identifiers = ["income", "district"]\nsensitive = "cause"\n\n'
        "[[require]]\nfacts = { l = 1 }\nbelow = 0.5\n\n[publish]\ndecoy = { cuts = 4 }\n"
    )
    files = [str(tmp_path / "deaths.csv"), "--policy", str(tmp_path / "policy.toml")]
    out = str(tmp_path / "out")
    made = CliRunner().invoke(app, ["publish", *files, "--method", "decoy", "--out", out])
    assert made.exit_code == 0, made.output
    assert CliRunner().invoke(app, ["verify", out]).exit_code == 0
    attacked = CliRunner().invoke(app, ["attack", *files, "--method", "decoy"])
    assert attacked.exit_code == 0, attacked.output
    assert "no posterior reaches a limit" in attacked.output


def test_several_sets_and_what_it_does_not_look_at():
    microdata = fk.Microdata(register(), ROLES)
    sets = fk.Requirement(fk.Facts(1), below="2/3", any_of={"one": ["p", "q"], "two": ["q", "r"]})
    made = fk.publish(microdata, fk.Policy([sets], ROLES), method="decoy")
    assert made.audit.safe
    assert len(made.groups) > 4
    rows = register().append_column("job", pa.array(["a", "b"] * 600))
    beside = fk.Schema(quasi_identifiers=["income", "district"], sensitive="cause", other=["job"])
    policy = fk.Policy([fk.Requirement(fk.Facts(1), below="1/2")], beside)
    with pytest.raises(UnsupportedError, match="needs one sensitive column"):
        fk.publish(fk.Microdata(rows, beside), policy, method="decoy")
    near = fk.Requirement(fk.Facts(0, 0, 1), below="1/2", sensitive="income", within=5)
    schema = fk.Schema(quasi_identifiers=["district"], sensitive="income")
    with pytest.raises(PolicyError, match="does not look at windows"):
        fk.publish(fk.Microdata(register(), schema), fk.Policy([near], schema), method="decoy")
