"""Jump, Safe and Naive: their functions and properties, and from a policy to a release."""

import json
import math
import random
from dataclasses import FrozenInstanceError
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import NIGHTLY, examples
from tests.oracle.jump import worst_in_worlds

import foreknow as fk
from foreknow.criteria.diversity import LDiversity, at_least
from foreknow.criteria.size import KAnonymity
from foreknow.methods.jump import HALF, Jump, Naive, Safe, SecretChoice
from foreknow.methods.jump.policy_property import property_of
from foreknow.methods.jump.properties import (
    All,
    Distinct,
    Entropy,
    MaxRatio,
    Recursive,
    RuledOut,
    survives,
)
from foreknow.methods.registry import method_of
from foreknow_judge.errors import PolicyError

pytestmark = pytest.mark.usefixtures("tiny_tables")

F = Fraction

# ---- functions: nodes of a lattice --------------------------------------------------------------

SCHEMA = fk.Schema(
    quasi_identifiers=["age", "sex", "zip"],
    sensitive="disease",
    hierarchies={"age": {"intervals": [5, 10, 20]}, "zip": {"mask": 3}},
)


def rows(n, seed=0, values="abcdef"):
    draw = random.Random(seed)
    return {
        "age": [draw.randint(20, 59) for _ in range(n)],
        "sex": [draw.choice("mf") for _ in range(n)],
        "zip": [draw.choice(["012", "013", "024", "135"]) for _ in range(n)],
        "disease": [draw.choice(values) for _ in range(n)],
    }


def data_of(table):
    return fk.Microdata(pa.table(table), SCHEMA)


def test_distances_before_functions_are_known():
    data = data_of(rows(60, values="abcdefgh"))
    assert Jump(distances=2).distances == 2
    assert Jump(distances=[1, 2]).distances == (1, 2)
    own = Jump(distances=2).settled(data)
    assert own.distances == (2,) * len(own.functions)
    assert own.settled(data) == own
    for two in (np.array([2, 2, 2]), np.int64(2), (2, np.int32(2), 2)):
        assert Jump(LETTERS, two) == Jump(LETTERS, 2) == Jump(LETTERS, [2, 2, 2])
        assert json.loads(json.dumps(Jump(LETTERS, two).to_dict()))["distances"] == [2, 2, 2]
        assert Jump(distances=two).distances in (2, (2, 2, 2))


# ---- groups of rows, and of names ---------------------------------------------------------------

TWO = {"quasi_identifiers": ["age", "sex"], "sensitive": "disease"}
ROWS = {
    "age": [21, 38, 21, 25, 38, 21],
    "sex": ["f", "m", "f", "f", "m", "m"],
    "disease": ["flu", "cold", "gout", "flu", "acne", "cold"],
}


def test_equal_people_stay_together():
    data = fk.Microdata(pa.table(ROWS), fk.Schema(**TWO))
    for apart, who in (([0, 0, 1, 0, 0, 0], "rows 1 and 3"), ([0, 1, 0, 0, 2, 0], "rows 2 and 5")):
        with pytest.raises(fk.InputError, match=f"{who} of the pyarrow frame apart, which are"):
            Safe([apart]).partition(data)
    # Rows are named as in the table, of which some are left out; row 1 is, and row 3 is alike.
    left = pa.table({**ROWS, "disease": [None, *ROWS["disease"][1:]]})
    data = fk.Microdata(left, fk.Schema(**TWO, missing="drop"))
    with pytest.raises(fk.InputError, match="puts rows 2 and 5 of"):
        Safe([[0, 0, 0, 0, 1, 0]]).partition(data)
    assert Naive([[0, 1, 1, 1, 1, 1]]).partition(data).tolist() == [-1, 0, 0, 0, 0, 0]


ILLNESSES = ["flu", "cold", "cancer", "cancer", "headache", "toothache"]
PATIENTS = dict(zip("ABCDEF", ILLNESSES, strict=True))
LETTERS = ["AB|CD|EF", "ABC|DEF", "ABCD|EF"]


def test_results_are_frozen_and_plain():
    run = Jump(LETTERS, 1, HALF).run(PATIENTS)
    with pytest.raises(FrozenInstanceError):
        run.released = 0
    assert repr(run) == "<Run: function 2 released after 5 verdicts>"
    assert json.loads(json.dumps(run.to_dict()))["released"] == 2
    seen = json.loads(json.dumps(run.disclosure_set().to_dict()))
    assert (seen["size"], seen["max ratio"]) == (8, "1/2")
    secret = SecretChoice(LETTERS).run(PATIENTS, seed=1)
    assert json.loads(json.dumps(secret.to_dict()))["chosen"] == list(secret.chosen)
    assert "permutation set of g1 = AB|CD|EF: not safe" in run.report


class Stricter(MaxRatio):
    """Neither convex nor decided by limits, which it inherits."""

    def allows(self, row, total, size):
        return super().allows(row, total, size) and len(row) % 2 == 0


def on_rows(function):
    return lambda: Safe([function]).partition(data_of(rows(30)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (on_rows("age=2, age=3"), "names 'age' twice"),
        (on_rows("age=2, zip"), "give a level for each column"),
        (on_rows("age=-1"), "give a level for each column"),
        (on_rows("height=1"), "'height' is no quasi-identifier"),
        (on_rows("agee=1"), "did you mean 'age'"),
        (on_rows("age=5"), r"'age' has the levels 0 \(exact\) to 4"),
        (on_rows({"age": "two"}), "level of 'age' must be a whole number from 0 or '[*]'"),
        (on_rows({"age": True}), "level of 'age' must be a whole number"),
        (on_rows((0, 0)), "2 group numbers, the pyarrow frame 30 rows"),
        (on_rows("AB|CD"), "AB|CD names people, which is for `run`"),
        (lambda: Jump(["age=1"]).run(["flu", "cold"]), "only a Microdata has"),
        (lambda: Jump().run(["flu", "cold"]), "functions is missing"),
        (lambda: Jump(distances=[1, 0]), "whole number from 1, not 0"),
        (lambda: Jump(distances="x"), "whole number from 1, not 'x'"),
        (lambda: Jump(distances=[1] * 9).partition(data_of(rows(60))), "9 jump distances for"),
        (lambda: Naive([]), "no functions"),
        *(
            (lambda n=n: Safe(LETTERS, steps=n), "steps must be a whole number from 1")
            for n in (0, True, 1.5, "many")
        ),
        (lambda: Naive("AB|CD"), "functions is a list"),
        (lambda: Naive(["AB||CD"]), "empty group"),
        (lambda: Naive(["AB|BC"]), "names 'B' twice"),
        (lambda: Naive([3]), "is no function"),
        (lambda: Naive([[["A"], 3]]), "is no group of people"),
        (lambda: Naive([np.array([0.5, 1])]), "one whole number per person"),
        (lambda: Naive(["AB|CD"]).run(PATIENTS), "says nothing about 'E'"),
        (lambda: Naive(["AB|CDEFG"]).run(PATIENTS), "groups 'G', who is not in the table"),
        (lambda: Naive([[0, 1]]).run(PATIENTS), "2 group numbers, the table 6 people"),
        (lambda: Naive(LETTERS).run("flu"), "a table is a dict"),
        (lambda: Naive(LETTERS).run({}), "no people"),
        (lambda: Naive(LETTERS).run({**PATIENTS, "A": None}), "'A' has no value"),
        (lambda: Naive(LETTERS).run({**PATIENTS, "A": math.nan}), "'A' has no value"),
        (lambda: Jump(LETTERS, 0), "whole number from 1, not 0"),
        (lambda: Jump(LETTERS, [1, 2]), "2 jump distances for 3 functions"),
        (lambda: Jump(LETTERS, "12"), "whole number from 1, not '12'"),
        (lambda: Naive(LETTERS, None), "property must be"),
        (lambda: Naive(LETTERS, MaxRatio), "property must be"),
        (lambda: Naive(LETTERS, LDiversity(2)), "property must be"),
        (lambda: Safe(LETTERS, Stricter("2/3")), "Stricter inherits what may not be true of it"),
        (lambda: All(Distinct(2), Stricter("2/3")), "Stricter inherits"),
        (lambda: MaxRatio("x"), "'x' is not a number"),
        (lambda: MaxRatio(0), "above 0"),
        (lambda: MaxRatio("1/2", values="AIDS"), "values is a list of values"),
        (lambda: RuledOut("1/2", 1, excluded="flu"), "excluded is a list"),
        (lambda: RuledOut("3/2", 1), "above 0 and at most 1"),
        (lambda: RuledOut("1/2", -1), "whole number from 0"),
        (lambda: RuledOut("1/2", True), "whole number from 0"),
        (lambda: Distinct(0), "whole number from 1"),
        (lambda: Entropy("1/2"), "at least 1"),
        (lambda: Recursive(0, 2), "above 0"),
        (lambda: All(), "at least one"),
        (lambda: Jump(LETTERS, 2).run(PATIENTS).disclosure_set(), "nothing was released"),
        (lambda: Jump(LETTERS, 2).run(PATIENTS).disclosure_set(3), "functions are 0 to 2"),
        (lambda: SecretChoice(LETTERS[:1]), "among 2 to 12"),
        (lambda: SecretChoice(LETTERS).run(PATIENTS, chosen=[1]), "at least two"),
        (lambda: Jump(LETTERS, np.array([1, 2])), "2 jump distances for 3 functions"),
        (lambda: Jump(LETTERS, np.array([[1, 2, 3]])), "one dimension, not the shape"),
        (lambda: Jump(LETTERS, np.array([1.0, 2.0, 2.0])), "whole number from 1"),
        (lambda: Jump(distances=np.array([0])), "whole number from 1"),
        (lambda: Naive([[[["A", []]], ["B"]]]), "can be nobody's name"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(fk.InputError, match=message):
        make()


# ---- properties ---------------------------------------------------------------------------------

VALUES = "abcde"


def holds(prop, counts, size=9):
    """Whether a person with so many worlds of each value has the property."""
    if not isinstance(counts, dict):
        counts = dict(zip(VALUES, counts, strict=False))
    row = [(prop.colour(v), n) for v, n in counts.items() if n]
    return prop.allows(row, sum(counts.values()), size)


def about_of(values, excluded):
    return lambda value: (values is None or value in values) and value not in excluded


def test_properties_read_exactly():
    assert MaxRatio(0.1) == MaxRatio("1/10") == MaxRatio(F(1, 10))
    for prop, shown in (
        (MaxRatio(0.5, strict=True), "MaxRatio('1/2', strict=True)"),
        (MaxRatio("1/2", excluded=["a"]), "MaxRatio('1/2', excluded=['a'])"),
        (Entropy(2), "Entropy(2)"),
        (Recursive("3/2", 2), "Recursive('3/2', 2)"),
        (RuledOut("1/2", 2, ["a"]), "RuledOut('1/2', 2, values=['a'])"),
    ):
        assert repr(prop) == shown
    # Values are compared as they print.
    assert MaxRatio("1/2", values=["5"]).colour(5) == 0
    assert RuledOut("1/2", 1, values=[5]).colour("5") == 0
    assert RuledOut("1/2", 1, excluded=[5]).colour("5") == 1
    # Entropies are compared exactly; a half and two quarters have that of 2 ** (3 / 2) values.
    huge, root = 10**40, F(2828427, 10**6)
    for counts, limit in (([huge, huge], 2), ([2, 1, 1], root), ([4] * 4, 4), ([3], 1)):
        assert at_least(counts, F(limit))
    assert not at_least([huge, huge + 1], F(2))
    assert not at_least([2, 1, 1], root + F(1, 10**6))


@pytest.mark.parametrize(
    "prop",
    [
        *(MaxRatio("1/2"), MaxRatio("2/3", strict=True), Distinct(2), Recursive(2, 2)),
        *(Recursive("3/2", 3), RuledOut("3/4", 1), RuledOut("1/2", 2)),
        RuledOut("2/3", 1, values=["a"]),
    ],
    ids=repr,
)
@examples(120)
@given(
    counts=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    loss=st.fractions(0, 1, max_denominator=12),
)
def test_survivors_hold_whatever_is_lost(prop, counts, loss):
    """A share of the tables is taken away."""
    total = sum(counts)
    colours = [prop.colour(value) for value in "abcd"[: len(counts)]]
    said = survives(prop, list(zip(colours, counts, strict=True)), total, 9, loss)
    always = True
    for left in product(*(range(count + 1) for count in counts)):
        if sum(left) > 0 and total - sum(left) <= loss * total:
            row = [(c, n) for c, n in zip(colours, left, strict=True) if n]
            always &= prop.allows(row, sum(left), 9)
    assert always or not said
    assert loss or said == always
    for own in (MaxRatio("1/2"), Recursive(2, 2), RuledOut("3/4", 1)):
        assert survives(own, [(0, 30), (0, 31), (0, 39)], 100, 100, F(1, 100)), own


CONVEX = [
    *(MaxRatio("1/2"), MaxRatio("1/2", strict=True), MaxRatio("1/3", values=["a", "b"])),
    *(MaxRatio("2/5", excluded=["a"]), Distinct(3), Entropy(2), Entropy("5/2"), Recursive(1, 2)),
    *(Recursive("3/2", 3), KAnonymity(3), RuledOut("1/2", 1)),
    *(RuledOut("2/3", 2, values=["a", "b"]), RuledOut("3/5", 1, excluded=["a"])),
    All(MaxRatio("2/3"), RuledOut("3/4", 1, values=["a"])),
]


@pytest.mark.parametrize("prop", CONVEX, ids=repr)
def test_convex_properties_are(prop):
    """Mixtures of what has it have it."""
    assert prop.convex
    chance, have, edge = random.Random(repr(prop)), [], 0
    while len(have) < (60 if NIGHTLY else 25):  # many counts are 0 or on a boundary
        drawn = [chance.choice([0, 0, 1, 1, 2, 3, 4]) for _ in VALUES]
        drawn[chance.randrange(len(drawn))] += 1
        counts = [n * 2520 // sum(drawn) for n in drawn]
        if 2520 % sum(drawn) == 0 and holds(prop, counts, 4):
            have.append(counts)
    for one, other in product(have, have):
        a, b = chance.choice([1, 1, 2, 7]), chance.choice([1, 1, 3, 50])
        mixed = [a * x + b * y for x, y in zip(one, other, strict=True)]
        assert holds(prop, mixed, 4), (one, other, a, b)
        edge += one != other
    assert edge > 150 or isinstance(prop, KAnonymity)


# ---- a policy as a property --------------------------------------------------------------------


def random_policy(chance, present, limits, most, kinds=(fk.Facts,)):
    """One or two requirements, with every way to say which values they are about; and the same."""
    special = [v for v in present if chance.random() < 0.4]
    plans = [[(None, ())], [(None, special), (special, ())], [(special, ())], [(None, special)]]
    plain, asked = [], []
    for values, excluded in chance.choice(plans) if special else plans[0]:
        pairs = []
        for known in chance.sample(range(most + 1), chance.choice([1, 1, 2])):
            limit, kind = chance.choice(limits), fk.Facts if known else chance.choice(kinds)
            plain.append((known, limit, about_of(values, excluded)))
            pairs.append((kind(known), limit))
        asked.append(fk.Requirement(pairs, values=values, excluded=excluded))
    return fk.Policy(asked), plain


def test_properties_of_policies_are_audits():
    """Of a release; what is attained exactly is the boundary, and most limits are there."""
    chance, seen = random.Random(5), {True: 0, False: 0}
    kinds = [fk.Facts, fk.Facts, fk.Negations, fk.Implications]
    for _ in range(600 if NIGHTLY else 120):
        bags = [
            chance.choices("aabbcdef"[: chance.randint(2, 8)], k=chance.randint(2, 8))
            for _ in range(chance.choice([1, 1, 2, 3]))
        ]
        present = sorted({value for bag in bags for value in bag})
        pairs = product(bags, range(3))
        attained = [worst_in_worlds([(v,) for v in bag], k, lambda v: True) for bag, k in pairs]
        limits = [*attained, F(1), F(3, 4), F(3, 5)]
        policy, _ = random_policy(chance, present, limits, 3, kinds)
        prop = property_of(policy)
        said = all(holds(prop, {v: bag.count(v) for v in present}, len(bag)) for bag in bags)
        assert said == (not fk.audit(fk.GroupCounts.from_bags(bags), policy).failures), bags
        seen[said] += 1
    assert min(seen.values()) > 15, seen


KNOWN = fk.Priors.learn(pa.table({"sex": [*"mf"] * 4, "d": ["x", "y"] * 4}), ["sex"], "d")


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        (fk.Requirement(fk.Facts(1, 2), "1/2"), r": Facts\(l=1, k=2, m=0\) cannot.*l = 1"),
        (fk.Requirement(fk.Facts(m=1), "1/2", name="x"), r"x: Facts.*several people at once"),
        (fk.Requirement(fk.Implications(1), "1/2"), r"Implications.*\{ k = 0 \} can be judged"),
        (fk.Requirement(fk.Negations(1), "1/2"), r"can be about others; facts = \{ l = 1 \}"),
        (
            fk.Requirement([(fk.Facts(2), "1/2"), (fk.Facts(0, 1), "1/2")]),
            r"of its points, Facts\(l=2, k=0, m=0\) can be judged",
        ),
        (fk.Requirement(KNOWN, below="1/2"), "knows more than which tables are possible"),
        (fk.Requirement(KNOWN, at_most="1/2"), "knows more than which tables are possible"),
    ],
)
def test_what_needs_more_than_chances(requirement, message):
    fine = fk.Requirement(fk.Facts(), "9/10", name="fine")
    with pytest.raises(PolicyError, match=message):
        property_of(fk.Policy([fine, requirement]))


# ---- publishing ---------------------------------------------------------------------------------

# Functions that are no chain, where the naive algorithm tells much.
CROSSED = ["age=1", "zip=1", "age=2", "zip=*"]
PLAIN = {"facts": {}, "below": "1/2"}
ROLES = {
    "quasi_identifiers": ["age", "zip"],
    "sensitive": "disease",
    "hierarchies": {"age": {"intervals": [10, 20]}, "zip": {"mask": 2}},
}


def table(n=24, seed=1, values="abcdef", ages=range(20, 60)):
    draw = random.Random(seed)
    columns = {"age": ages, "zip": ["01", "02", "11"], "disease": values}
    return pa.table(
        {name: [draw.choice(among) for _ in range(n)] for name, among in columns.items()}
    )


def policy(*require, **publish):
    asked = {"schema": ROLES, "require": list(require) or [PLAIN], "publish": publish}
    return fk.Policy.from_dict(asked)


def made(rules, own=None):
    return fk.publish(fk.Microdata(table() if own is None else own, rules.schema), rules, seed=1)


@pytest.mark.parametrize(
    ("method", "form"), [("jump", "csv"), ("safe", "parquet"), ("naive", "csv")]
)
def test_what_certificates_say(method, form, tmp_path):
    one = {"values": ["a"], "facts": {"l": 1}, "below": "2/3"}
    rules = policy(one, {**PLAIN, "except": ["a"]}, method=method, format=form)
    certificate = made(rules).write(tmp_path / "out")
    known = fk.Certificate.load(tmp_path / "out" / "certificate.json")
    assert known.check(tmp_path / "out") == []
    assert known.method["functions"][-1] == "age=*, zip=*"
    assert known.method["property"].startswith("All(RuledOut('2/3', 1, values=['a']), MaxRatio(")
    assert "released" not in json.dumps(certificate.to_dict())
    (note,) = known.notes
    assert ("not judged" in note) == (method == "naive")
    assert "about the release alone" in note
    assert method.capitalize() in note


@pytest.mark.parametrize(
    ("rules", "own", "said"),
    [
        (policy(method="jump"), table(values="aab"), "Jump releases nothing of the pyarrow frame"),
        (
            policy(method="jump"),
            table(values="aab"),
            "can be sure of someone's value with 1/2, which does not keep that property",
        ),
        (
            policy(method="jump", jump={"functions": ["age=1, zip=0", "age=1, zip=1"]}),
            table(n=30, values="abcdefgh"),
            r"can be sure of .* which keeps that property",
        ),
        (
            policy(method="naive", naive={"functions": ["age=1", "age=2"], "steps": 1}),
            table(n=16, values="aabbcde"),
            "may learn from it; how much was not counted",
        ),
    ],
)
def test_nothing_is_an_outcome_told(rules, own, said):
    with pytest.raises(fk.NoSafeRelease, match=said):
        made(rules, own)


def test_beyond_reach_nothing_is_decided():
    rules = policy(method="safe", safe={"functions": CROSSED, "steps": 3})
    with pytest.raises(fk.BeyondReach) as caught:
        made(rules, table(n=40, values="aaaaabbbcd"))
    said = str(caught.value)
    assert "Safe decides nothing of the pyarrow frame: what g" in said
    assert "of 4 functions: exact counting takes more than 3 steps" in said
    assert "(steps = 30) change no result" in said


def test_policies_that_jump_refuses():
    rules = policy({"name": "x", "facts": {"k": 2}, "below": "1/2"}, method="jump")
    with pytest.raises(PolicyError, match=r"x: Facts.* cannot be judged by a method that foresees"):
        made(rules)
    with pytest.raises(PolicyError, match=r"'H\*'"):
        method_of("jump", policy({**PLAIN, "values": ["H*"]}, method="jump"))
    # A property of one's own may fail the policy.
    rules = policy({"facts": {"k": 1}, "below": "1/2"})
    data = fk.Microdata(table(), rules.schema)
    with pytest.raises(fk.NoSafeRelease, match=r"Jump made groups that do not hold.*property"):
        fk.publish(data, rules, method=Jump(property=MaxRatio("9/10")), seed=1)
    own = Jump(["age=2", "age=*"], property=MaxRatio("2/5"))
    assert fk.publish(data, policy(), method=own, seed=1).audit.safe
