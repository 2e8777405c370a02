"""Where nothing is safe, every line that is named leads to a release; which advice comes first."""

import re
import tomllib
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.common import NIGHTLY

import foreknow as fk
from foreknow.methods.protocol import as_written
from foreknow.methods.registry import method_of
from foreknow.planning.advice import advice_of
from foreknow.planning.costs import (
    KeptDetail,
    kept_by,
    reliefs,
    sample_of,
)
from foreknow.policy.way_out import skyline_within
from foreknow.toml import toml_key, toml_value

pytestmark = pytest.mark.complete
HEAD = {"quasi_identifiers": ["age"], "sensitive": "ill"}


def table(values, **more):
    return pa.table({"age": [20 + i % 7 for i in range(len(values))], "ill": list(values), **more})


def asking(*required, **roles):
    return {"schema": {**HEAD, **roles}, "require": list(required)}


def ways(error):
    """(table, lines to paste) of each way out, as a reader finds them in the message."""
    pairs, name, lines = [], None, []
    for line in str(error).splitlines()[1:]:
        if not line.startswith("  "):
            name = line.removeprefix("In ").partition(", ")[0]
            continue
        lines.append(line.strip())
        if "  # " in line:
            pairs.append((name, "\n".join(lines)))
            lines = []
    assert not lines
    return pairs


def pasted(policy, name, lines):
    """The policy with some lines in one of its tables, in place of those with their keys."""
    changed = {**policy, "require": [dict(each) for each in policy["require"]]}
    if name == "[publish]":
        changed["publish"] = {**policy.get("publish", {}), **tomllib.loads(lines)}
        return changed
    place = [r.get("name", f"require[{i}]") for i, r in enumerate(policy["require"])].index(name)
    changed["require"][place] |= tomllib.loads(lines)
    return changed


def grouped(rows, policy, method):
    """Whether the groups that a method makes hold the policy."""
    rules = fk.Policy.from_dict(policy)
    microdata = fk.Microdata(rows, rules.schema)
    groups = {"mondrian": fk.Mondrian(), "fulldomain": fk.FullDomain()}[method]
    counts = rules.combined(microdata).counts(groups.partition(microdata, rules)[microdata.kept])
    return not rules.failures(counts)


def published(rows, policy, method):
    """The same of a release that is written and verified, which takes longer."""
    return fk.publish(rows, policy, method=method).audit.safe


def check(rows, policy, method="mondrian", holds=grouped):
    """Make groups with each line that the refusal names; give the lines."""
    with pytest.raises(fk.NoSafeRelease) as caught:
        holds(rows, policy, method)
    pairs = ways(caught.value)
    for name, lines in pairs:
        assert holds(rows, pasted(policy, name, lines), method), lines
    return [lines for _, lines in pairs]


# ---- ways out ----------------------------------------------------------------------------------


def test_several_requirements():
    rows = table(["flu"] * 6 + ["cold"] * 4)
    policy = asking({"name": "one", "facts": {}, "below": 0.5}, {"k_anonymity": 50, "name": "two"})
    with pytest.raises(fk.NoSafeRelease, match="Each of the 2 requirements needs one") as caught:
        fk.publish(rows, policy)
    lines = dict(reversed(ways(caught.value)))
    assert set(lines) == {"one", "two"}
    for name in lines:
        policy = pasted(policy, name, lines[name])
    assert fk.publish(rows, policy).audit.safe
    some = {"name": "some", "values": ["flu"], "facts": {}, "below": 0.5}
    policy = asking(some, {"name": "every", "facts": {}, "below": 0.605})
    assert not any(line.startswith("below") for line in check(rows, policy))  # they contradict


def test_facts_of_priors():
    """The facts of priors are no line of a policy: typed beside the priors, it was refused."""
    chances = pa.table({"age": [20, 20], "value": ["flu", "cold"], "probability": [0.5, 0.5]})
    priors = fk.Priors(chances, facts=fk.Facts(3, 3, 3))
    policy = fk.Policy([fk.Requirement(priors, at_most="3/4")], fk.Schema(**HEAD))
    with pytest.raises(fk.NoSafeRelease, match="no single line is enough") as caught:
        fk.publish(table(["flu", "cold"] * 5), policy, method="mondrian")
    assert not ways(caught.value)


def test_odd_values_can_be_pasted():
    odd = ['a"b', "a\nb", "\u202ex", "x\\", "\xa0", "😀", "#", "a\x7fb"]
    for value in odd:
        assert tomllib.loads(f"{toml_key(value)} = {toml_value([value])}") == {value: [value]}
    for value in odd[:3]:
        lines = check(table([value] * 5 + ["b", "c"]), asking({"facts": {}, "below": 0.5}))
        assert any(line.startswith("except") for line in lines)


def test_the_skyline_within_a_box():
    """Against all of its points."""
    random = np.random.default_rng(5)
    for _ in range(200 if NIGHTLY else 25):
        most = random.integers(0, 5, int(random.integers(1, 4))).tolist()
        weights = random.integers(0, 4, len(most))
        limit = int(random.integers(-1, 12))
        fits = [p for p in product(*(range(m + 1) for m in most)) if weights @ p <= limit]
        top = [p for p in fits if not any(q != p and np.all(np.subtract(q, p) >= 0) for q in fits)]
        assert sorted(skyline_within(most, lambda p, w=weights, c=limit: w @ p <= c)) == top
    # Of too many points, those with one amount less.
    skyline = skyline_within([50, 60, 70], lambda p: sum(p) <= 170)
    assert skyline == [(40, 60, 70), (50, 50, 70), (50, 60, 60)]
    assert skyline_within([10**30], lambda p: p[0] <= 3) == [(3,)]


# ---- advice where everybody is in one group ----------------------------------------------------


# ---- what costs detail -------------------------------------------------------------------------

FARS = Path(__file__).resolve().parents[3] / "shared" / "data" / "fars.csv"
DEATHS = {"quasi_identifiers": ["month", "race", "sex"], "sensitive": "injury"}
LIMIT = {"facts": {"l": 0, "k": 3, "m": 1}, "below": 0.7}


def deaths(many=2000, **more):
    """A register of accidents in which the month of death says who died."""
    random = np.random.default_rng(1)
    died = random.random(many) < 0.4
    return pa.table(
        {
            "month": np.where(died, random.integers(1, 13, many), 0),
            "race": np.where(died, random.integers(1, 5, many), 0),
            "sex": random.choice(["f", "m"], many),
            "age": random.integers(0, 90, many),
            "state": random.integers(1, 51, many),
            "injury": np.where(died, "fatal", random.choice(["none", "minor", "major"], many)),
            **more,
        }
    )


def costs_of(table, policy, cells=50_000):
    """The table as written, a sample of it, and what a publication of the sample would keep."""
    policy, method = fk.Policy.from_dict(policy), fk.Mondrian()
    written = as_written(method, policy.microdata(table), policy)
    sample = sample_of(written, policy, cells)
    return policy, method, written, sample, kept_by(method, sample, policy)


def test_the_sample_is_the_same():
    """And has values as often as the table."""
    policy, method, written, sample, _ = costs_of(deaths(9000), asking(LIMIT, **DEATHS), 3000)
    again = sample_of(written, policy, 3000)
    assert sample.n_people == again.n_people == 1000
    for attribute, other in zip(sample.attributes, again.attributes, strict=True):
        assert attribute.codes.tolist() == other.codes.tolist()
    assert sample.everyone().totals == pytest.approx(written.everyone().totals / 9, abs=1)
    assert kept_by(method, sample, policy) == kept_by(method, again, policy)


def test_the_requirement_that_binds():
    """It is found by leaving out and relaxing each."""
    random, many = np.random.default_rng(0), 3000
    columns = {"age": random.integers(20, 80, many), "zip": random.integers(0, 30, many)}
    rows = pa.table({**columns, "ill": random.choice(list("abcdef"), many)})
    roles = {"quasi_identifiers": ["age", "zip"]}
    loose, close = {"facts": {"l": 1, "k": 1, "m": 1}, "below": 0.5}, {"t_closeness": {"t": 0.02}}
    policy, method, _, sample, everything = costs_of(rows, asking(loose, close, **roles))
    first, second = reliefs(method, sample, policy, everything)
    assert (first.place, first.line) == (1, "")
    assert (second.place, second.line[:18]) == (1, "t_closeness = { t ")
    eased = asking(loose, {"t_closeness": {"t": 0.04}}, **roles)
    assert fk.publish(rows, asking(loose, **roles)).counts.n_groups == first.kept_detail.groups
    assert fk.publish(rows, eased).counts.n_groups == second.kept_detail.groups
    advice = fk.publish(rows, asking(loose, close, **roles)).advice
    assert any(said.startswith("require[1] (t_closeness) costs much") for said in advice)
    without = re.compile(
        r"Without 'zip', the other columns would lose \d+% of their detail instead of"
    )
    assert any(map(without.match, advice))
    assert not any("require[0]" in said for said in advice)


TWO = [{"sensitive": "ward", "l_diversity": {"l": 3}}, {"sensitive": "injury", **LIMIT}]


@pytest.mark.skipif(not FARS.exists(), reason=f"there is no {FARS.name} beside the repository")
def test_fars():
    """The month of death gives the injury away."""
    roles = {"quasi_identifiers": ["ideathmon", "irace", "isex"], "sensitive": "iinjury"}
    advice = fk.publish(FARS, asking(LIMIT, {"k_anonymity": 5}, **roles)).advice
    assert advice[0].startswith("Worthless: next to nothing is left of ")
    assert any(said.startswith("'ideathmon' gives 'iinjury' away") for said in advice)
    suggested = fk.suggest_policy(FARS, sensitive="iinjury")
    assert any("gives 'iinjury' away" in cost for cost in suggested.costs)
    assert fk.publish(FARS, suggested.policy).advice


# ---- which advice is given: when a release is called worthless, and what is tried first ----------


RANDOM = np.random.default_rng(0)
ROWS_CHOSEN = pa.table({name: RANDOM.integers(0, 9, 40) for name in "abcd"} | {"ill": [*"xy"] * 20})
ROLES = {"quasi_identifiers": [*"abcd"], "sensitive": "ill"}


def said_of(lost, method="mondrian", schema=None, worst=4):
    """What is said of a release that lost so much of its columns."""
    options = fk.PublishOptions(method=method)
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(2))], schema or fk.Schema(**ROLES), options)
    result = KeptDetail(worst, dict(zip("abcd", lost, strict=True)))
    audit = fk.audit(ROWS_CHOSEN, policy, learned=False)
    people = fk.Microdata(ROWS_CHOSEN, policy.schema)
    return [*advice_of(method_of(method, policy), people, policy, audit, result, 0)]


def test_columns_without_hierarchy_are_named():
    schema = fk.Schema(**ROLES, hierarchies={"a": fk.Intervals([3])})
    text = said_of((1.0,) * 4, "fulldomain", schema, worst=1)
    flat = next(own for own in text if own.startswith("Without a hierarchy"))
    assert flat.startswith("Without a hierarchy 'b', 'c' or 'd' can only be published as it is")


ROWS = table(["flu"] * 6 + ["cold"] * 5 + ["hiv"] * 4)

ENDS = {"low": {"to": 1100}, "high": {"from": 5000}}

NUMBERS = table([1000, 1010, 1100, 1200, 1400, 5000, 5400])

PEOPLE = pa.table({"who": [1, 1, 2, 3, 4], "age": [20, 20, 30, 30, 41], "ill": list("abaab")})

NAMED = [
    (
        table(["none"] * 8 + list("aabbcd")),
        asking({"values": ["none", "d"], "facts": {"k": 1}, "below": 0.5}),
        'values = ["d"]',
    ),
    (
        table(["flu"] * 14 + ["flux"] * 2 + ["cold"] * 8),
        asking({"values": ["flu*", "Q9"], "facts": {}, "below": 0.5}),
        'values = ["flux", "Q9"]',
    ),
    (NUMBERS, asking({"within": 500, "facts": {}, "below": 0.5}), "within = 1"),
    (NUMBERS, asking({"any_of": ENDS, "facts": {"k": 2}, "below": 0.4}), ""),
    (PEOPLE, asking({"facts": {}, "below": 0.5}, semantics="set", person="who"), ""),
    (ROWS, asking({"negations": {"k": 2}, "below": 0.9}), ""),
    (ROWS, asking({"any_of": ["flu", "hiv"], "facts": {"k": 1}, "below": 0.5}), ""),
    (ROWS, asking({"k_anonymity": 20}), "k_anonymity = 15"),
    (ROWS, asking({"l_diversity": {"l": 4}}), ""),
    (ROWS, asking({"l_diversity": {"l": 3, "kind": "recursive", "c": 1}}), ""),
    (ROWS, asking({"alpha_k": {"alpha": 0.35, "k": 3}}), ""),
    (ROWS, asking({"alpha_k": {"alpha": 0.9, "k": 20}}), ""),
]


@pytest.mark.parametrize("case", NAMED, ids=range(len(NAMED)))
def test_lines_that_are_named(case):
    rows, policy, start = case
    method = "fulldomain" if "_" in next(iter(policy["require"][0])) else "mondrian"
    assert any(line.startswith(start) for line in check(rows, policy, method))
