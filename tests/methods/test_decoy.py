"""Decoy: what one refusal tells, the cuts that it tries, its chances, and what it publishes."""

import random
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import desk as desk
from tests.examples import NIGHTLY, examples
from tests.oracle.decoy import one_trial

import foreknow as fk
from foreknow.errors import NoSafeRelease
from foreknow.methods.decoy import draws, search
from foreknow.methods.decoy.decoy import Decoy
from foreknow_judge.errors import DataError, PolicyError, UnsupportedError

ONE = fk.Schema(quasi_identifiers=["x"], sensitive="v")


def started(values, /, *criteria, x=None, below="3/5", **secret):
    """A search of a table, at its start."""
    table = pa.table({"x": list(range(len(values))) if x is None else x, "v": list(values)})
    asked = [fk.Requirement(one, below=below, **secret) for one in criteria]
    return Decoy()._start(fk.Microdata(table, ONE), fk.Policy(asked, ONE))


# ---- the proof, apart from the program ----------------------------------------------------------


@given(
    st.lists(st.sampled_from("abc"), min_size=3, max_size=5),
    *(st.integers(1, most) for most in (2, 3, 4, 2)),
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
        assert len({accepted[w] for w in every if tuple(sorted(w[p] for p in part)) == bag}) == 1
    # A refused one makes nothing that concerns j people likelier by more than 1 + 1/K.
    for weights in refused.values():
        least_weight = min(weights.values())
        if not least_weight:
            assert set(weights.values()) == {0}
            continue
        for people in permutations(range(n), j):
            for theirs in product(sorted(set(values)), repeat=j):
                inside = [w for w in weights if tuple(w[p] for p in people) == theirs]
                after = sum(weights[w] for w in inside) / least_weight
                assert len(inside) <= after <= len(inside) * (1 + Fraction(1, decoys))
        for w in every:  # in all, something comes of every world
            assert accepted[w] + sum(own.get(w, 0) for own in refused.values()) == 1


# ---- parts that are far from the whole ----------------------------------------------------------


def test_foreseen_cuts_happen():
    """Beside draws: who is foreseen to be refused mostly is, and the same the other way."""
    draw, lot, many = random.Random(2), np.random.default_rng(2), 100
    found = {chance: [] for chance in (0.0, *search._CHANCES)}
    for _ in range(200 if NIGHTLY else 40):
        values = draw.choices("abcdefgh", [8, 7, 6, 5, 4, 3, 2, 1], k=draw.randrange(30, 300))
        start = started(values, fk.Facts(draw.choice([0, 1])))
        bag = start.bags_of(start.node, 1)
        size, decoys = draw.randrange(6, len(values) - 5), draw.choice([3, 10])
        people, none = np.array([size, len(values) - size]), np.zeros(2, dtype=np.int64)
        chance = start._chances(
            [(none, people)], draws.Strayed.of(bag), none[:1], np.array([decoys])
        )
        owner = np.arange(many).repeat(2)
        bags = draws.drawn(bag.repeat(many, axis=0), np.tile(people, many), owner, lot)
        found[float(chance[0, 0])].append(start.quiet(bags, owner).mean() ** (decoys + 1))
    least, most = found[0.0], found[search._CHANCES[-1]]
    assert min(len(least), len(most)) > 3
    assert np.mean(least) < 0.15
    assert np.mean(most) > 0.8


# ---- bags of a kind -----------------------------------------------------------------------------


# ---- what is tried, accepted and dealt ----------------------------------------------------------


# ---- at a size ----------------------------------------------------------------------------------

ROLES = fk.Schema(quasi_identifiers=["income", "district"], sensitive="cause")
HALF = fk.Policy([fk.Requirement(fk.Facts(1), below="1/2")], ROLES)


def register(n=1200):
    draw = random.Random(3)
    columns = {
        "income": [draw.randrange(100) for _ in range(n)],
        "district": [draw.choice(["north", "south", "east", "west"]) for _ in range(n)],
        "cause": [draw.choice("ppqqrstuvw") for _ in range(n)],
    }
    return pa.table(columns)


TWO_SETS = {"one": ["p", "q"], "two": ["q", "r"]}


@pytest.mark.parametrize(
    "asked",
    [
        [fk.Requirement(fk.Facts(1), below="1/2")],
        [fk.Requirement(fk.Facts(1, 1, 1), below="3/4"), fk.Requirement(fk.KAnonymity(8))],
        [fk.Requirement(fk.Negations(2), below="2/3", values=["p", "q"])],
        [fk.Requirement(fk.Facts(0, 1, 0), below="3/5", any_of=["p", "q"])],
        [fk.Requirement(fk.Facts(1), below="2/3", any_of=TWO_SETS)],
        [fk.Requirement(fk.LDiversity(3)), fk.Requirement(fk.LDiversity(3, "recursive", c=2))],
    ],
    ids=["l", "k and m, size", "negations", "any of", "sets", "diversity"],
)
def test_it_divides_and_keeps_policies(asked):
    microdata = fk.Microdata(register(), ROLES)
    made = fk.publish(microdata, fk.Policy(asked, ROLES), method=fk.Decoy(cuts=3), seed=7)
    assert made.audit.safe
    assert len(made.groups) > 4
    assert made.certificate.method["name"] == "Decoy"
    assert made.certificate.scope["method"] == "as required"
    assert any(note.startswith("seeded") for note in made.certificate.notes)


def test_attacks_are_settled_by_proof():
    microdata = fk.Microdata(register(), ROLES)
    one, two = (fk.Decoy().partition(microdata, HALF, seed=7) for _ in range(2))
    assert np.array_equal(one, two)
    found = fk.attack(microdata, fk.Decoy(), HALF)
    assert (found.how, found.kept, found.found, found.undecided) == ("bound", True, False, False)
    assert "no posterior reaches a limit" in repr(found)
    assert found.to_dict()["kept"] is True
    with pytest.raises(UnsupportedError, match="reaches a limit of the policy"):
        found.posterior(1, "p")


def test_groups_that_break_the_policy():
    """They are not taken for Decoy's own."""
    policy = fk.Policy(HALF.requirements, ROLES, fk.PublishOptions(form="bucketized"))
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


def test_what_decoy_refuses():
    few = fk.Microdata(pa.table({"x": range(4), "v": [*"aabb"]}), ONE)
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="1/4")], ONE)
    with pytest.raises(NoSafeRelease, match="not even one group of all 4 people"):
        fk.Decoy().partition(few, policy)
    rows = register().append_column("job", pa.array(["a", "b"] * 600))
    beside = fk.Schema(quasi_identifiers=["income", "district"], sensitive="cause", other=["job"])
    policy = fk.Policy(HALF.requirements, beside)
    with pytest.raises(UnsupportedError, match="needs one sensitive column"):
        fk.publish(fk.Microdata(rows, beside), policy, method="decoy")
    near = fk.Requirement(fk.Facts(0, 0, 1), below="1/2", sensitive="income", within=5)
    schema = fk.Schema(quasi_identifiers=["district"], sensitive="income")
    with pytest.raises(PolicyError, match="does not look at windows"):
        fk.publish(fk.Microdata(register(), schema), fk.Policy([near], schema), method="decoy")


def test_decoy_on_the_command_line(desk):
    pyarrow.csv.write_csv(register(), desk.folder / "deaths.csv")
    desk.put(
        "policy.toml",
        '[schema]\nquasi_identifiers = ["income", "district"]\nsensitive = "cause"\n\n'
        "[[require]]\nfacts = { l = 1 }\nbelow = 0.5\n\n[publish]\ndecoy = { cuts = 4 }\n",
    )
    desk.says(*desk.publish("--method", "decoy", "-q", table="deaths.csv"))
    desk.says("verify", "out")
    attack = ["attack", "deaths.csv", "--policy", "policy.toml", "--method", "decoy"]
    assert "no posterior reaches a limit" in desk.says(*attack)
