"""Several sensitive columns of several values, and any of a set, under criteria and attacks."""

import json
import random
from collections import Counter, defaultdict

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.audits.folders import written
from tests.examples import examples

import foreknow as fk
from foreknow.errors import SchemaError
from foreknow.result_pages import page_of
from foreknow_judge.errors import CertificateError, PolicyError, UnsupportedError


def register(n=240, twice=False):
    draw, rows = random.Random(1), []
    for p in range(n):
        own = draw.sample(["flu", "hiv", "cold", "gout"], draw.choice([0, 1, 1, 2]))
        own += own[:1] * (twice and draw.random() < 0.3)
        shared = {"pid": f"p{p}", "age": draw.randint(20, 59), "job": draw.choice("xy")}
        shared |= {"pay": draw.choice(["low", "mid", "high"]), "race": draw.choice("abc")}
        rows += [{**shared, "ill": value} for value in own or [None]]
    draw.shuffle(rows)
    return pa.Table.from_pylist(rows)


def schema(semantics=None, **more):
    roles = {"sensitive": ["ill", "pay", "race"], "person": "pid", "other": ["job"]} | more
    roles |= {"semantics": semantics or {"ill": "set"}, "quasi_identifiers": ["age"]}
    return fk.Schema(**roles, hierarchies={"age": {"intervals": [5, 10, 20]}})


def test_false_semantics_are_refused(tmp_path):
    requirements = [fk.Requirement(fk.Facts(0), below="9/10", sensitive="ill")]
    written(register(), fk.Policy(requirements, schema()), tmp_path / "out")
    assert fk.verify(tmp_path / "out").semantics == {"ill": "set"}
    place = tmp_path / "out" / "certificate.json"
    table = json.loads(place.read_text())
    for lie in ("multiset", "single", "set", {"pay": "set"}, {"ill": "sets"}, {}):
        table["release"]["semantics"] = table["policy"]["schema"]["semantics"] = lie
        place.write_text(json.dumps(table))
        with pytest.raises(CertificateError):
            fk.verify(tmp_path / "out")


def test_unsupported_semantics_are_refused():
    with pytest.raises(SchemaError, match=r"'il'.*'ill'"):
        schema({"il": "set"})
    with pytest.raises(SchemaError, match="'sets'"):
        schema({"ill": "sets"})
    assert schema("set").semantics == {"ill": "set", "pay": "set", "race": "set"}
    assert schema({"ill": "single"}).semantics == "single"
    requirement = fk.Requirement(fk.Facts(), below=1, sensitive="ill")
    policy = fk.Policy([requirement], schema({"ill": "multiset", "pay": "set"}))
    with pytest.raises(SchemaError, match="give lists, one row per person"):
        fk.publish(register(), policy)
    roles = {"sensitive": ["ill", "pay"], "semantics": {"ill": "set"}}
    nobody = register().drop_columns(["pid"])
    nobody = fk.Release.from_generalized(nobody, quasi_identifiers=["age"], **roles)
    with pytest.raises(SchemaError, match="needs person = "):
        _ = nobody.seen("ill").counts
    for method in ("anatomy", "art", "safe"):
        text = r"several|priors|one value each"
        with pytest.raises((UnsupportedError, PolicyError), match=text):
            fk.publish(register(), fk.Policy([requirement], schema()), method=method)
    either = fk.Requirement(fk.Facts(), below="1/2", sensitive="ill", any_of=["flu", "hiv"])
    with pytest.raises(UnsupportedError, match="set"):
        fk.publish(register(), fk.Policy([either], schema()))


def test_a_policy_file_says_it(tmp_path):
    (tmp_path / "p.toml").write_text(
        '[schema]\nquasi_identifiers = ["age"]\nsensitive = ["ill", "pay"]\nperson = "pid"\n'
        'semantics = { ill = "set" }\n'
        '[[require]]\nsensitive = "ill"\nfacts = { l = 0 }\nbelow = 0.9\n'
    )
    policy = fk.Policy.load(tmp_path / "p.toml")
    assert policy.schema.several == {"ill": "set"}
    assert fk.Policy.from_dict(policy.to_dict()).to_dict() == policy.to_dict()
    page = page_of(fk.publish(register(), policy, seed=1).audit).html()
    assert "several of the values of ill, each once, or none (set)" in page


@pytest.mark.parametrize("name", ["ill", "pay"])
def test_k_anonymity_counts_lookalikes(name):
    table, policy = register(), fk.Policy([fk.Requirement(fk.KAnonymity(2), knowing=[name])])
    several, one = (
        {"sensitive": ["ill", "pay"], "semantics": {"ill": "set"}},
        {"sensitive": "ill", "semantics": "set"},
    )
    persons = defaultdict(set)
    for row in table.to_pylist():
        persons[row["pid"], row["age"], row["pay"]].add(row["ill"])
    counts = Counter(
        (p[1], p[2] if name == "pay" else frozenset(has)) for p, has in persons.items()
    )
    for roles in (several, *([one] if name == "ill" else [])):
        release = fk.Release.from_generalized(
            table, quasi_identifiers=["age"], person="pid", **roles
        )
        assert fk.audit(release, policy).criteria[0].reached == min(counts.values())


@pytest.mark.parametrize("order", [["ill", "pay"], ["pay", "ill"]])
def test_groups_without_a_value(order, tmp_path):
    columns = {"name": [f"p{i}" for i in range(12)], "age": [1] * 6 + [50] * 6}
    columns |= {"ill": [[]] * 6 + [["Flu"], []] * 3, "pay": ["low", "high"] * 6}
    table = pl.DataFrame(columns)
    roles = {"person": "name", "quasi_identifiers": ["age"], "semantics": {"ill": "set"}}
    rules = [fk.Requirement(fk.Facts(), "9/10", sensitive=name, knowing=[]) for name in order]
    policy = fk.Policy(rules, fk.Schema(**roles, sensitive=order))
    written(table, policy, tmp_path / "out", labels={"age": "exact"})
    text = "6 people are in groups in which nobody has any ill: that they have none can be read"
    for audit in (fk.audit(table, policy), fk.audit(tmp_path / "out", fk.Policy(rules))):
        notes = [note for note in audit.notes if "nobody has any" in note]
        assert notes == [f"{text} from the release."]
    assert fk.verify(tmp_path / "out").scope.without == {"ill": 6}


# ---- any of a set under criteria, against those who know the method, and in other columns --------


CRITERIA = [
    *(fk.LDiversity(2), fk.LDiversity(3), fk.LDiversity(2, kind="entropy")),
    *(fk.LDiversity(2, kind="recursive", c=2), fk.AlphaK("1/2", 2), fk.TCloseness("1/4")),
    *(fk.BetaLikeness(1), fk.DeltaDisclosure(1)),
]
LISTS_OF_VALUES = st.lists(st.text("ABCDE", min_size=1, max_size=6), min_size=1, max_size=4)
TREE = fk.Tree([["A", "AB", "*"], ["B", "AB", "*"], *([v, v, "*"] for v in "CDE")])
SCHEMA = fk.Schema(quasi_identifiers=["age"], sensitive="x", hierarchies={"x": TREE})


def table(n=200):
    draw = random.Random(3)
    rows = [{"age": draw.randint(20, 79), "x": draw.choice("AABBCDDEE")} for _ in range(n)]
    return pa.Table.from_pylist(rows)


@examples(500, deadline=None)
@given(LISTS_OF_VALUES, st.sampled_from(CRITERIA), st.sampled_from([["AB"], ["BCD"], ["AB", "CD"]]))
def test_set_is_one_renamed_value(bags, criterion, groups):
    present = {value for bag in bags for value in bag}
    sets = {f"set of {group}": sorted({*group} & present) for group in groups}
    if not all(sets.values()) or any({*own} == present for own in sets.values()):
        return
    names = {value: name for name, own in sets.items() for value in own}
    plain = fk.GroupCounts.from_bags([[names.get(value, value) for value in bag] for bag in bags])
    counts = fk.GroupCounts.from_bags(bags)
    policy = fk.Policy([fk.Requirement(criterion, any_of=sets)])
    (verdict,) = fk.audit(counts, policy).criteria
    assert verdict.found.amount == criterion.measure(plain)
    assert verdict.safe == criterion.holds(plain)
    assert policy.ledger(counts.values, counts).admits(None, counts) == verdict.safe


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"any_of": ["A"], "values": ["B"]}, "give any_of or values"),
        ({"any_of": ["A"], "below": "1/2"}, "no values, except or limit"),
        ({"any_of": {"one": ["A", "B"], "other": ["B", "C"]}}, "'B' is in two sets"),
    ],
)
def test_sets_without_meaning_are_refused(about, message):
    with pytest.raises(PolicyError, match=message):
        fk.audit(
            fk.GroupCounts.from_bags(["ABCD"]),
            fk.Policy([fk.Requirement(fk.LDiversity(2), **about)]),
        )


# ---- those who know the method -------------------------------------------------------------------


def test_algorithm_is_required_of_set():
    columns = {"age": [30, 30, 40, 50, 50], "disease": ["flu", "flu", "hiv", "flu", "aids"]}
    rows = pa.table({**columns, "group": [1, 1, 1, 2, 2]})
    release = fk.Release.from_groups(rows, group="group", sensitive="disease")
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema)
    knows = fk.Algorithm(fk.Mondrian(), policy)
    rules = fk.Policy([fk.Requirement(knows, below="9/10", any_of=["hiv", "aids"])])
    (verdict,) = fk.audit(release, rules).verdicts
    one, other = (knows.disclosure(release, value).exact for value in ("hiv", "aids"))
    assert verdict.disclosure.exact == max(one, other) == 1
    assert (verdict.value, verdict.safe) == ("hiv or aids", False)


def test_an_attack_adds_up_set():
    rules = fk.Policy([fk.Requirement(fk.Facts(), below="2/3", any_of={"AB": ["A", "B"]})], SCHEMA)
    microdata = fk.Microdata(table(60), SCHEMA)
    attack = fk.attack(microdata, fk.Mondrian(), rules, seed=1, worlds=2000, seconds=20)
    for row in (1, 20, 60):
        total = sum(attack.posterior(row, value) for value in "AB")
        assert abs(float(attack.posterior(row, "AB")) - min(1.0, float(total))) < 1e-9
    with pytest.raises(fk.InputError, match="nobody in the table has"):
        attack.posterior(1, "XY")


def test_households_by_several_values():
    """A column with several values has no code for each row, by which households are counted."""
    table = pa.table({
        "pid": ["a", "b", "c", "d"],
        "zip": ["1"] * 4,
        "home": ["h", "h", "g", "f"],
        "ill": [["x"], ["y", "x"], [], ["x"]],
        "pay": ["1", "2", "3", "1"],
    })  # fmt: skip
    roles = {"sensitive": ["ill", "pay"], "person": "pid", "semantics": {"ill": "set"}}
    schema = fk.Schema(quasi_identifiers=["zip"], **roles)
    homes = fk.KAnonymity(2, of="home")
    required = [
        fk.Requirement(homes, sensitive="pay", knowing=knowing) for knowing in ([], ["ill"])
    ]
    assert fk.audit(table, fk.Policy(required[:1], schema)).verdicts[0].reached == 3
    with pytest.raises(UnsupportedError, match="leave it out of knowing"):
        fk.audit(table, fk.Policy(required[1:], schema))
