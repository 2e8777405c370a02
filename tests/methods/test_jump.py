"""Jump, Safe and Naive: functions, properties, policies; and safety against enumeration."""

import json
import math
import random
from collections import Counter
from dataclasses import FrozenInstanceError
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common import NIGHTLY, examples
from tests.methods.tables import microdata
from tests.oracle import more_methods as oracle
from tests.oracle.more_methods import judge_of as ruled_out
from tests.oracle.more_methods import worst_in_worlds

import foreknow as fk
from foreknow.criteria.diversity import LDiversity, entropy_is_at_least
from foreknow.criteria.size import KAnonymity
from foreknow.errors import BeyondReach
from foreknow.features.more_methods.jump import HALF, Jump, Naive, Safe, SecretChoice, bounds, run
from foreknow.features.more_methods.jump.bounds import most_lost, surely_safe
from foreknow.features.more_methods.jump.disclosure_set import EarlierNeed
from foreknow.features.more_methods.jump.policy_property import property_of
from foreknow.features.more_methods.jump.properties import (
    All,
    Distinct,
    Each,
    Entropy,
    MaxRatio,
    Recursive,
    RuledOut,
    as_property,
    survives,
)
from foreknow.features.more_methods.jump.run import case_of
from foreknow.methods.registry import method_of
from foreknow_judge.errors import PolicyError, UnsupportedError

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
    arrow = pa.table({**ROWS, "disease": [None, *ROWS["disease"][1:]]})
    data = fk.Microdata(arrow, fk.Schema(**TWO, missing="drop"))
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
    document = json.loads(json.dumps(run.disclosure_set().to_dict()))
    assert (document["size"], document["max ratio"]) == (8, "1/2")
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
        (on_rows("age=2, zip"), "takes a level for each column"),
        (on_rows("age=-1"), "a whole number from 0 or"),
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
        assert entropy_is_at_least(counts, F(limit))
    assert not entropy_is_at_least([huge, huge + 1], F(2))
    assert not entropy_is_at_least([2, 1, 1], root + F(1, 10**6))


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
    text = survives(prop, list(zip(colours, counts, strict=True)), total, 9, loss)
    always = True
    for left in product(*(range(count + 1) for count in counts)):
        if sum(left) > 0 and total - sum(left) <= loss * total:
            row = [(c, n) for c, n in zip(colours, left, strict=True) if n]
            always &= prop.allows(row, sum(left), 9)
    assert always or not text
    assert loss or text == always
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
        text = all(holds(prop, {v: bag.count(v) for v in present}, len(bag)) for bag in bags)
        assert text == (not fk.audit(fk.GroupCounts.from_bags(bags), policy).failures), bags
        seen[text] += 1
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
    ("rules", "own", "message"),
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
def test_nothing_is_an_outcome_told(rules, own, message):
    with pytest.raises(fk.NoSafeRelease, match=message):
        made(rules, own)


def test_beyond_reach_nothing_is_decided():
    rules = policy(method="safe", safe={"functions": CROSSED, "steps": 3})
    with pytest.raises(fk.BeyondReach) as caught:
        made(rules, table(n=40, values="aaaaabbbcd"))
    text = str(caught.value)
    assert "Safe decides nothing of the pyarrow frame: what g" in text
    assert "of 4 functions: exact counting takes more than 3 steps" in text
    assert "(steps = 30) change no result" in text


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
    method = Jump(["age=2", "age=*"], property=MaxRatio("2/5"))
    assert fk.publish(data, policy(), method=method, seed=1).audit.safe


def test_numbers_are_protected_as_printed():
    rules = policy({"values": [2], "facts": {}, "below": "3/5"}, method="safe")
    assert made(rules, table(n=30, values=[1, 2, 2, 3])).audit.safe
    assert method_of("safe", rules).property.colour(2) == 0


# ---- safety --------------------------------------------------------------------------------------


def no_half_a(shares):
    """Not convex, and not symmetric: neither certain nor even about "a"."""
    return shares.get("a", 0) not in {F(1, 2), 1} and max(shares.values()) <= F(3, 4)


def odd(shares):
    """Not convex, but symmetric: the ratios are not all different."""
    return len(shares) > 1 and len(set(shares.values())) < len(shares)


def at_most_half_a(shares, size):
    return shares.get("a", 0) <= F(1, 2)


def both(*judges):
    return lambda shares, size: all(judge(shares, size) for judge in judges)


def alone(judge):
    return lambda shares, size: judge(shares)


IS_A, IS_NOT_A = (lambda value: value == "a"), (lambda value: value != "a")
# A property, and what the oracle judges by.
PROPERTIES = {
    "ratio 1/2": (MaxRatio("1/2"), oracle.max_ratio(F(1, 2))),
    "ratio 2/3": (MaxRatio("2/3"), oracle.max_ratio(F(2, 3))),
    "ratio 3/5": (MaxRatio("3/5"), oracle.max_ratio(F(3, 5))),
    "below 1/2": (MaxRatio("1/2", strict=True), oracle.below_ratio(F(1, 2))),
    "ratio of a": (MaxRatio("1/2", values=["a"]), at_most_half_a),
    "distinct 2": (Distinct(2), oracle.distinct(2)),
    "distinct 3": (Distinct(3), oracle.distinct(3)),
    "entropy 2": (Entropy(2), oracle.entropy(2)),
    "entropy 1.7": (Entropy("1.7"), oracle.entropy(1.7)),
    "recursive 2 2": (Recursive(2, 2), oracle.recursive(2, 2)),
    "recursive 2 3": (Recursive(2, 3), oracle.recursive(2, 3)),
    "ruled out": (RuledOut("2/3", 1), ruled_out([(F(2, 3), 1, lambda value: True)])),
    "ruled out of two": (
        All(RuledOut("3/4", 1, values=["a"]), MaxRatio("4/5", strict=True, excluded=["a"])),
        ruled_out([(F(3, 4), 1, IS_A), (F(4, 5), 0, IS_NOT_A)]),
    ),
    "k 3": (KAnonymity(3), oracle.at_least(3)),
    "callable": (no_half_a, alone(no_half_a)),
    "symmetric callable": (Each(odd, symmetric=True), alone(odd)),
    "all of three": (
        All(MaxRatio("2/3"), Distinct(2), KAnonymity(3)),
        both(oracle.max_ratio(F(2, 3)), oracle.distinct(2), oracle.at_least(3)),
    ),
    "all with a value": (
        All(MaxRatio("1/2", values=["a"]), Recursive(3, 2)),
        both(at_most_half_a, oracle.recursive(3, 2)),
    ),
    "all with a callable": (
        All(Distinct(2), no_half_a),
        both(oracle.distinct(2), alone(no_half_a)),
    ),
}
every_property = pytest.mark.parametrize("name", PROPERTIES)


def random_partition(n, groups, chance):
    while True:
        group = [chance.randrange(groups) for _ in range(n)]
        results = [tuple(p for p in range(n) if group[p] == g) for g in range(groups)]
        results = tuple(result for result in results if result)
        if all(len(result) > 1 for result in results) or chance.random() < 0.05:
            return results


def random_functions(n, chance):
    count = chance.choice([2, 3, 3, 4])
    if chance.random() < 0.4:  # a chain: each function unites groups of the last
        functions = [random_partition(n, 3, chance)]
        while len(functions) < count:
            groups = list(functions[-1])
            if len(groups) > 1:
                a, b = chance.sample(groups, 2)
                groups = [g for g in groups if g not in (a, b)] + [tuple(sorted(a + b))]
            functions.append(tuple(groups))
    else:
        functions = [random_partition(n, chance.choice([1, 2, 2, 3]), chance) for _ in range(count)]
    if chance.random() < 0.4:  # reuse
        functions.append(chance.choice(functions))
    return functions


def lists(functions):
    """Functions as people give them."""
    return [[list(group) for group in function] for function in functions]


def blocks(n, size, shift=0):
    """Groups of so many people who follow each other."""
    order = [(person + shift) % n for person in range(n)]
    return [order[i : i + size] for i in range(0, n, size)]


# ---- disclosure sets ----------------------------------------------------------------------------


@pytest.mark.thinned(2)
@every_property
def test_exact_sets_are_enumerated(name):
    chance, (prop, judge) = random.Random(name), PROPERTIES[name]
    many, people = set(), set()
    for _ in range(1200 if NIGHTLY else 7):
        n = chance.choice([1, 2, 3, 4, 5, 5, 5, 6, 6, 6])
        values = "aabbcdef"[: chance.choice([4, 5, 6, 8])]
        functions, table = random_functions(n, chance), tuple(chance.choices(values, k=n))
        given, tables = lists(functions), oracle.all_tables(table)
        k = [chance.randint(1, 3) for _ in functions]
        many.add(len(functions))
        people.add(n)
        for kind, fast, distances in (
            ("naive", Naive(given, prop), None),
            ("safe", Safe(given, prop), None),
            ("jump", Jump(given, 1, prop), [1] * len(functions)),
            ("jump", Jump(given, k, prop), k),
        ):
            where = functions, table, name, kind, distances
            slow = oracle.Algorithm(kind, functions, judge, tables, distances)
            output = fast.run(table)
            assert output.released == slow.released(table), where
            sets = [
                (output.disclosure_set(i), slow.disclosure_set(i, table)) for i in range(len(k))
            ]
            silent = [t for t in tables if slow.released(t) is None]
            for i, (own, expected) in enumerate([*sets, (output.nothing_set(), silent)]):
                assert own.size == len(expected), (where, i)
                if i < len(k):
                    assert own.permutation_size == len(slow.permutation_set(i, table))
                if expected:
                    assert list(own.marginals.values()) == oracle.marginals(expected)
    assert min(len(many), len(people)) > 1


@pytest.mark.parametrize("prop", [HALF, MaxRatio("3/5"), Distinct(2), Recursive(2, 2)])
def test_bounds_are_never_wrong(prop, monkeypatch):
    chance, rounds = random.Random(repr(prop)), 200 if NIGHTLY else 12
    shapes = [(8, [(2,), (4,), (8,)]), (8, [(2,), (4,), (2, 1), (8,)]), (9, [(3,), (3, 1), (9,)])]
    told = close = 0
    for _ in range(rounds):
        n, sizes = chance.choice([*shapes, (12, [(2,), (4,), (12,)])] if NIGHTLY else shapes)
        functions = [blocks(n, *size) for size in sizes]
        jump = Jump(functions, 1, prop)
        one = case_of(jump.given, jump._strategy(), chance.choices("aaabbcde", k=n), 10**6)
        monkeypatch.setattr(bounds, "WORK", chance.choice([20, 300, 10**6]))
        for i in range(len(sizes)):
            parts = one.parts(i)
            needs = one.exact.needs(i, parts)
            levels = [j for j, need in enumerate(needs) if need is not EarlierNeed.NOTHING]
            counted = one.exact.count(i, parts)
            lost = 1 - F(counted.size, counted.total)
            most = most_lost(one.exact, parts, levels)
            assert lost <= most
            close += 0 < most <= lost + F(1, 1000)
            if surely_safe(one.exact, parts, levels):
                told += 1
                assert one.exact.permutation_safe(parts)
                assert one.exact._have_property(counted)
    assert told >= rounds // 20
    assert close > 0 or not prop.complete


def test_chains_of_hundreds_of_people():
    """Where counting is beyond reach, a bound decides: hardly any table was stopped."""
    chance, n = random.Random(2), 200
    table = [value for _ in range(10) for value in chance.sample("aaabbcdefg" * 2, 20)]
    output = Jump([blocks(n, 4), blocks(n, 20), blocks(n, 100)], 1, HALF).run(table)
    assert output.path[1:] == [(1, "permutation", True), (1, "disclosure", True)]
    counted = output.disclosure_set()
    assert counted.size < counted.permutation_size
    other = Jump([blocks(n, 10), blocks(n, 100)], 1, MaxRatio("1/5"), steps=100).run(
        [value for _ in range(2) for value in "a" * 16 + "bbcdefghij" * 8 + "klmn"]
    )
    assert other.path[-1] == (1, "disclosure", True)
    with pytest.raises(BeyondReach):
        other.disclosure_set()
    chance = random.Random(4)
    jump = Jump([blocks(48, 4), blocks(48, 16, 2), blocks(48, 48)], 1, HALF, steps=2_000)
    with pytest.raises(BeyondReach, match="more than 2,000 steps"):
        jump.run(chance.choices("aabbc", k=48)).disclosure_set(2)


CROSSED_SAFETY = [
    [[0, 1, 2], [3, 4, 5], [6, 7]],
    [[0, 2, 4, 6], [1, 3, 5, 7]],
    [[0, 2, 3, 5, 6], [1, 4, 7]],
    [list(range(8))],
]


def outcome(algorithm, table):
    try:
        return algorithm.run(table).released
    except fk.BeyondReach:
        return "beyond"


def test_reach_forgets_other_tables():
    """Whether a table is within it depends on no table looked at before."""
    chance, counts = random.Random(2), Counter()
    for steps in (200, 800, 1600) if NIGHTLY else (800,):
        for algorithm in (
            Safe(CROSSED_SAFETY, HALF, steps=steps),
            Jump(CROSSED_SAFETY, 1, HALF, steps=steps),
        ):
            given, expected = [chance.choices("aabbcde", k=8) for _ in range(16)], []
            for table in given:
                run._shared.cache_clear()
                expected.append(outcome(algorithm, table))
            run._shared.cache_clear()
            assert [outcome(algorithm, table) for table in given] == expected
            assert [outcome(algorithm, table) for table in given[::-1]] == expected[::-1]
            counts.update(expected)
    assert min(counts["beyond"], sum(counts.values()) - counts["beyond"]) > 3
    # Where that makes no difference, what was found is used again.
    algorithm = Safe(CROSSED_SAFETY, HALF, steps=10**6)
    run._shared.cache_clear()
    first = algorithm.run(list("aabbcdea"))
    assert algorithm.run(list("babacdea"))._case.exact is first._case.exact


# ---- no unsafe release ever: all tables of small multisets ---------------------------------------

MULTISETS = ["aabc", "aabb", "aabcd", "aabbc", "aaabc", "aabbcd", "aabcde"]


def unsafe_releases(algorithm, functions, tables, judge, *, told=False):
    """Releases after which someone's chances fail, by running the algorithm on all tables.

    told: whether it is published which function was released; otherwise only groups are seen,
    each with its values.
    """
    results = {}
    for table in tables:
        i = algorithm.run(table).released
        if i is not None:
            shown = [(tuple(sorted(g)), tuple(sorted(table[p] for p in g))) for g in functions[i]]
            results.setdefault((i if told else None, frozenset(shown)), []).append(table)
    unsafe = []
    for release, leading in results.items():
        size = {p: len(group) for group, _ in release[1] for p in group}
        rows = oracle.marginals(leading)
        if not all(judge(row, size[p]) for p, row in enumerate(rows)):
            unsafe.append(release)
    return unsafe


@pytest.mark.thinned(2)
@every_property
def test_no_release_is_unsafe(name):
    """An adversary who sees the groups alone cannot tell which function was released.

    Of a property that is not convex, that is safe only where no two functions group people alike.
    """
    chance, (prop, judge) = random.Random(name), PROPERTIES[name]
    some = [*MULTISETS * 3] if NIGHTLY else [*MULTISETS[:4], MULTISETS[chance.choice([4, 5, 6])]]
    for multiset in some:
        tables = oracle.all_tables(tuple(multiset))
        functions = random_functions(len(multiset), chance)
        groupings = {
            frozenset(tuple(sorted(group)) for group in function) for function in functions
        }
        told = not as_property(prop).convex and len(groupings) < len(functions)
        given, k = lists(functions), [chance.randint(1, 3) for _ in functions]
        for algorithm in (Safe(given, prop), Jump(given, 1, prop), Jump(given, k, prop)):
            assert unsafe_releases(algorithm, functions, tables, judge, told=told) == []


# Functions that group people alike, with a property that is not convex
NOT_HALF = Each(lambda shares: max(shares.values()) != F(1, 2), symmetric=True)
REUSED = [[1, 0, 0, 1, 1], [1, 1, 0, 0, 1], [1, 1, 1, 1, 0], [1, 1, 1, 1, 0]]


def test_mixtures_may_be_unsafe():
    """Each disclosure set has the property; both together, which look alike, have not."""
    functions = [[[p for p in range(5) if f[p] == g] for g in (0, 1)] for f in REUSED]
    jump, tables = Jump(REUSED, [2, 2, 1, 2], NOT_HALF), oracle.all_tables(tuple("bbabc"))

    def judge(shares, size):
        return max(shares.values()) != F(1, 2)

    assert unsafe_releases(jump, functions, tables, judge, told=True) == []
    assert unsafe_releases(jump, functions, tables, judge) != []
    # So they are refused where groups alone are published.
    data = microdata(range(5), "bbabc")
    for algorithm in (jump, Safe(REUSED, NOT_HALF)):
        with pytest.raises(UnsupportedError, match="g3 and g4 group people alike"):
            algorithm.partition(data)
        with pytest.raises(UnsupportedError, match="g3 and g4 group people alike"):
            fk.attack(data, algorithm)
    # But not where nothing is claimed, the property is convex, or they differ.
    assert Naive(REUSED, NOT_HALF).partition(data).tolist() == [0, 0, 0, 0, 1]
    assert Jump(REUSED, [2, 2, 1, 2], MaxRatio("2/3")).partition(data).max() == 1
    assert Jump(REUSED[:3], [2, 2, 1], NOT_HALF).partition(data).tolist() == [0, 0, 0, 0, 1]


def test_labels_that_look_alike():
    """Of groups that are no nodes: 1 to 6 and 2 to 5, of three people each, in both."""
    data = microdata(range(1, 7), "aabbcd")
    plain = fk.Policy([fk.Requirement(fk.Facts(), below=1)], data.schema)
    separate = fk.Policy(plain.requirements, data.schema, fk.PublishOptions(form="bucketized"))
    functions, some = [[0, 1, 0, 1, 1, 0], [0, 1, 1, 0, 1, 0]], Each(lambda shares: len(shares) > 1)
    with pytest.raises(UnsupportedError, match=r"labels of g1 = .* may not show who"):
        fk.publish(data, plain, method=Safe(functions, some))
    assert fk.publish(data, plain, method=Safe(functions, Distinct(2)))
    assert fk.publish(data, plain, method=Safe(["age=1"], some))
    assert fk.publish(data, separate, method=Safe(functions, some))


# ---- a secret choice ---------------------------------------------------------------------------


def test_bayes_believes_secret_choices():
    """Over every secret and table; what is seen is the index and its groups' values, or nothing."""
    chance, counts, judge = random.Random(9), Counter(), oracle.max_ratio(F(1, 2))
    for _ in range(60 if NIGHTLY else 40):
        n = chance.choice([3, 4, 5])
        functions, table = random_functions(n, chance), tuple(chance.choices("aabbc", k=n))
        choice, tables = SecretChoice(lists(functions), HALF), oracle.all_tables(table)
        output = choice.run(table, seed=chance.randrange(100))
        i, leading = output.released, []
        bags = None if i is None else oracle.generalization(functions[i], table)
        for secret in choice.secrets():
            slow = oracle.Algorithm("naive", [functions[j] for j in secret], judge, tables)
            for other in tables:
                place = slow.released(other)
                j = None if place is None else secret[place]
                own = None if j is None else oracle.generalization(functions[j], other)
                leading += [other] if (j, own) == (i, bags) else []
        expected = oracle.marginals(leading)
        assert list(output.posterior().values()) == expected
        assert output.max_ratio == max(max(row.values()) for row in expected)
        assert all(one.size for one in output.sets.values())
        counts[i is None] += 1
    assert min(counts[True], counts[False]) > 3


def test_paper_averages_secret_choices():
    """Where all choices that agree are taken for equally likely, and where they are weighed."""
    functions = ["AB|CDEFGHI", "AC|BDEFGHI", "BC|ADEFGHI", "ABC|DEFGHI", "ABCDEFGHI"]
    table = dict(
        zip("ABCDEFGHI", ["C0", "C0", "C0", "C1", "C2", "C3", "C4", "C5", "C6"], strict=True)
    )
    choice = SecretChoice(functions, HALF)
    output = choice.run(table, chosen=[3, 4])
    shares = {secret: one.marginals["A"]["C0"] for secret, one in output.sets.items()}
    assert (len(list(choice.secrets())), len(shares), shares[3, 4]) == (26, 15, F(13, 19))
    assert sum({**shares, (3, 4): F(2, 3)}.values()) / 15 == F(272, 315)
    assert output.averaged()["A"]["C0"] == F(115, 133)
    assert output.posterior()["A"]["C0"] == F(17, 23)


def test_secret_choices_are_not_published():
    values = ["C0", "C0", "C1", "C2", "C3", "C4"]
    rows = pa.table({"kind": ["A", "B", "C", "D", "D", "D"], "disease": values})
    schema = fk.Schema(quasi_identifiers=["kind"], sensitive="disease")
    data, choice = fk.Microdata(rows, schema), SecretChoice([[0] * 3 + [1] * 3, [0] * 6], HALF)
    assert choice.partition(data, seed=1).tolist() == [0] * 6
    attack_result = fk.attack(data, choice, seeds=[1, 2])
    assert attack_result.exact
    # of no table in which two of A, B, C have C0 is the first function released
    assert attack_result.posterior(1, "C0") == choice.run(values, seed=1).posterior()[0]["C0"]
    with pytest.raises(fk.NoSafeRelease):
        SecretChoice([[0, 0, 1], [0, 1, 1]], HALF).partition(microdata(range(3), "aab"))
    assert not choice.symmetric
    assert SecretChoice(["kind=0", "kind=1"]).symmetric
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema=schema)
    with pytest.raises(fk.InputError, match="to be attacked, not to be published; take Jump"):
        fk.publish(data, policy, method=choice, seed=1)
    assert choice.to_dict()["functions"] == ["<2 groups of 6 people>", "<1 groups of 6 people>"]
