"""Any of a set under criteria, against those who know the method, and in other columns."""

import json
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.attacks.small_methods import naive, random_table, together
from tests.audits.folders import forge, settings_of, written
from tests.examples import NIGHTLY, examples
from tests.oracle.decoy import posteriors

import foreknow as fk
from foreknow_judge.errors import CertificateError, PolicyError

CRITERIA = [
    *(fk.LDiversity(2), fk.LDiversity(3), fk.LDiversity(2, kind="entropy")),
    *(fk.LDiversity(2, kind="recursive", c=2), fk.AlphaK("1/2", 2), fk.TCloseness("1/4")),
    *(fk.BetaLikeness(1), fk.DeltaDisclosure(1)),
]
BAGS = st.lists(st.text("ABCDE", min_size=1, max_size=6), min_size=1, max_size=4)
TREE = fk.Tree([["A", "AB", "*"], ["B", "AB", "*"], *([v, v, "*"] for v in "CDE")])
SCHEMA = fk.Schema(quasi_identifiers=["age"], sensitive="x", hierarchies={"x": TREE})


def table(n=200):
    draw = random.Random(3)
    rows = [{"age": draw.randint(20, 79), "x": draw.choice("AABBCDDEE")} for _ in range(n)]
    return pa.Table.from_pylist(rows)


@examples(500, deadline=None)
@given(BAGS, st.sampled_from(CRITERIA), st.sampled_from([["AB"], ["BCD"], ["AB", "CD"]]))
def test_set_is_one_renamed_value(bags, criterion, groups):
    present = {value for bag in bags for value in bag}
    sets = {f"set of {own}": sorted({*own} & present) for own in groups}
    if not all(sets.values()) or any({*own} == present for own in sets.values()):
        return
    names = {value: name for name, own in sets.items() for value in own}
    plain = fk.GroupCounts.from_bags([[names.get(value, value) for value in bag] for bag in bags])
    counts = fk.GroupCounts.from_bags(bags)
    asked = fk.Policy([fk.Requirement(criterion, any_of=sets)])
    (verdict,) = fk.audit(counts, asked).criteria
    assert verdict.found.amount == criterion.measure(plain)
    assert verdict.safe == criterion.holds(plain)
    assert asked.ledger(counts.values, counts).admits(None, counts) == verdict.safe


@pytest.mark.parametrize("criterion", CRITERIA if NIGHTLY else [CRITERIA[1], CRITERIA[5]])
def test_release_holds_criterion_of_sets(criterion, tmp_path):
    rules, folder = fk.Policy([fk.Requirement(criterion, at_level=1)], SCHEMA), tmp_path / "out"
    made = written(table(), rules, folder)
    (verdict,) = fk.verify(folder).findings
    groups = {}
    for row in made.to_arrow().to_pylist():
        groups.setdefault(row["age"], []).append("AB" if row["x"] in "AB" else row["x"])
    assert criterion.holds(fk.GroupCounts.from_bags(list(groups.values())))
    assert verdict.safe
    assert verdict.reached == made.audit.criteria[0].reached
    assert fk.audit(folder, rules).safe
    (asked,) = json.loads((folder / "certificate.json").read_text())["policy"]["require"]
    assert asked["any_of"]["AB"] == ["A", "B"]
    forge(folder, lambda said: settings_of(said, any_of=asked["any_of"] | {"AB": ["A", "C"]}))
    with pytest.raises(CertificateError):
        fk.verify(folder)


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"any_of": ["A"], "values": ["B"]}, "give any_of or values"),
        ({"any_of": ["A"], "below": "1/2"}, "no values, except or limit"),
        ({"any_of": {"one": ["A", "B"], "other": ["B", "C"]}}, "'B' is in two sets"),
    ],
)
def test_sets_without_meaning_are_refused(about, said):
    with pytest.raises(PolicyError, match=said):
        fk.audit(
            fk.GroupCounts.from_bags(["ABCD"]),
            fk.Policy([fk.Requirement(fk.LDiversity(2), **about)]),
        )


# ---- those who know the method -------------------------------------------------------------------


class _Column(tuple):
    def to_pylist(self):
        return list(self)


@pytest.mark.parametrize("seed", range(12 if NIGHTLY else 4))
def test_attack_is_that_of_enumeration(seed):
    random_ = np.random.default_rng(seed)
    pipeline = naive(["AB|CD|EF", "ABC|DEF", "ABCD|EF"], Fraction(2, 3))

    def algorithm(world):
        groups = pipeline({"disease": _Column(world)})
        return None if groups is None else together(groups)

    done = 0
    while done < 3:
        values, _, microdata = random_table(random_, 6, {"age": 4}, 4)
        letters, groups = sorted({*values}), pipeline({"disease": _Column(values)})
        if groups is None or len(letters) < 3:
            continue
        united = letters[:2]
        required = fk.Requirement(fk.Facts(), below="3/4", any_of={"either": united}, knowing=[])
        attack = fk.attack(microdata, pipeline, fk.Policy([required], microdata.schema))
        truth, _, _ = posteriors(values, list(groups), algorithm, together(groups))
        breached = set()
        for row in range(6):
            exact = sum((truth.get((row, value), Fraction(0)) for value in united), Fraction(0))
            assert attack.posterior(row + 1, "either") == exact
            bag = Counter(values[p] for p in range(6) if groups[p] == groups[row])
            alone = Fraction(sum(bag[value] for value in united), bag.total())
            if exact >= Fraction(3, 4) and alone < exact:
                breached.add(row + 1)
        assert {row for case in attack.breaches for row in case.rows} == breached
        done += 1


def test_algorithm_is_required_of_set():
    columns = {"age": [30, 30, 40, 50, 50], "disease": ["flu", "flu", "hiv", "flu", "aids"]}
    rows = pa.table({**columns, "group": [1, 1, 1, 2, 2]})
    release = fk.Release.from_groups(rows, group="group", sensitive="disease")
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema)
    knows = fk.Algorithm(fk.Mondrian(), policy)
    asked = fk.Policy([fk.Requirement(knows, below="9/10", any_of=["hiv", "aids"])])
    (verdict,) = fk.audit(release, asked).verdicts
    one, other = (knows.disclosure(release, value).exact for value in ("hiv", "aids"))
    assert verdict.disclosure.exact == max(one, other) == 1
    assert (verdict.value, verdict.safe) == ("hiv or aids", False)


def test_an_attack_adds_up_set():
    rules = fk.Policy([fk.Requirement(fk.Facts(), below="2/3", any_of={"AB": ["A", "B"]})], SCHEMA)
    microdata = fk.Microdata(table(60), SCHEMA)
    attack = fk.attack(microdata, fk.Mondrian(), rules, seed=1, worlds=2000, seconds=20)
    for row in (1, 20, 60):
        both = sum(attack.posterior(row, value) for value in "AB")
        assert abs(float(attack.posterior(row, "AB")) - min(1.0, float(both))) < 1e-9
    with pytest.raises(fk.InputError, match="nobody in the table has"):
        attack.posterior(1, "XY")


def test_anatomy_chooses_l_by_set():
    rules = fk.Policy([fk.Requirement(fk.Facts(), below="3/4", any_of=["A", "B"])], SCHEMA)
    made = fk.publish(fk.Microdata(table(), SCHEMA), rules, method="anatomy")
    assert made.audit.safe
    assert made.audit.verdicts[0].disclosure.exact < Fraction(3, 4)


# ---- several sensitive columns -------------------------------------------------------------------


@pytest.mark.parametrize("unlinked", [(), ("y",)])
def test_a_set_of_second_column(unlinked, tmp_path):
    draw = random.Random(6)
    rows = [(draw.randint(20, 60), draw.choice("PQ"), draw.choice("AABCDE")) for _ in range(120)]
    ages, first, second = zip(*rows, strict=True)
    roles = {"quasi_identifiers": ["age"], "sensitive": ["x", "y"]}
    schema = fk.Schema(**roles, hierarchies={"y": TREE})
    either = fk.Requirement(fk.Facts(), below="9/10", sensitive="y", any_of="AB")
    at_level = fk.Requirement(fk.Facts(), below="9/10", sensitive="y", at_level=1)
    rules = fk.Policy([either, at_level], schema)
    people = pa.table({"age": ages, "x": first, "y": second})
    made = written(people, rules, tmp_path / "out", unlinked=list(unlinked))
    exact = [verdict.disclosure.exact for verdict in made.audit.verdicts]
    assert [verdict.reached for verdict in fk.verify(tmp_path / "out").findings] == exact
    assert fk.verify(tmp_path / "out", rules).own_policy
    made.audit.to_html(tmp_path / "page.html")
    if not unlinked:  # side by side: groups are (age, x)
        groups = {}
        for row in made.to_arrow().to_pylist():
            groups.setdefault((row["age"], row["x"]), []).append(row["y"] in "AB")
        worst = max(Fraction(sum(own), len(own)) for own in groups.values())
        assert exact[0] == worst < Fraction(9, 10)
