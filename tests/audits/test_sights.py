"""Several sensitive columns, and columns known beside them: counted, judged, and in the files."""

import hashlib
import json
import random
from collections import Counter, defaultdict

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import desk as desk
from tests.common import examples, forge, settings_of, written

import foreknow as fk
from foreknow.errors import OutputError, SchemaError
from foreknow.result_pages import page_of
from foreknow_judge.errors import CertificateError, PolicyError, UnsupportedError


def people(n=300, seed=1):
    draw = random.Random(seed)
    ill = draw.choices(["HIV", "flu", "cold", "gout", "none"], [1, 2, 3, 2, 4], k=n)
    return pa.table(
        {
            "age": [draw.randint(20, 59) for _ in range(n)],
            "sex": draw.choices("fm", k=n),
            "job": draw.choices(["cook", "nurse"], k=n),
            "ill": ill,
            "pay": [draw.choice([1000, 2000, 3000, 4000, 5000]) for _ in range(n)],
        }
    )


S = {"sensitive": ["ill", "pay"], "other": ["job"]}
SCHEMA = fk.Schema(
    quasi_identifiers=["age", "sex"], hierarchies={"age": {"intervals": [5, 10, 20]}}, **S
)


def policy(below="9/10", **more):
    both = [fk.Requirement(fk.Facts(1), below=below, sensitive=n, **more) for n in S["sensitive"]]
    return fk.Policy(both, SCHEMA)


def test_certificate_says_what_is_known(tmp_path):
    folder = tmp_path / "out"
    written(people(), policy("99/100"), folder)
    original = (folder / "certificate.json").read_text()
    for change in (*({"knowing": k} for k in ([], ["age"], ["nothing"], ["ill"])), "job"):
        (folder / "certificate.json").write_text(original)
        change = {"sensitive": "job"} if change == "job" else change
        forge(folder, lambda said, change=change: settings_of(said, **change))
        with pytest.raises(fk.ForeknowError):
            fk.verify(folder)
    # What is left out reads as every column in a policy, and so is never left out.
    written(people(), policy("99/100", knowing=[]), tmp_path / "blind")
    forge(tmp_path / "blind", lambda said: said["policy"]["require"][0].pop("knowing"))
    with pytest.raises(fk.InputError, match="does not say by knowing"):
        fk.verify(tmp_path / "blind")


def test_criteria_without_sight_refuse_columns():
    with pytest.raises(UnsupportedError, match="knowing = \\[\\]"):
        fk.attack(fk.Microdata(people(), SCHEMA), fk.Mondrian(), policy())
    counts = fk.GroupCounts.from_bags([["Flu", "AIDS"]])
    schema = fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay"])
    for adversary in (fk.KAnonymity(1), fk.LDiversity(1), fk.Facts()):
        limit = {"below": "2/3"} if isinstance(adversary, fk.Facts) else {}
        own, other = (fk.Requirement(adversary, sensitive=c, **limit) for c in ("ill", "pay"))
        with pytest.raises(PolicyError, match=r"'pay'.*'ill'"):
            fk.audit(counts, fk.Policy([own, other], schema=schema))
        assert fk.audit(counts, fk.Policy([own], schema=schema)).safe
        assert fk.audit(counts, fk.Policy([own])).safe


def test_crowded_columns_are_named(desk):
    columns = {
        "age": [30] * 40,
        "ill": ["flu", "gout"] * 20,
        "job": ["HIV", "hiv", "2,000", "2000"] * 10,
    }
    table = pa.table({**columns, "pay": [str(1000 + i) for i in range(40)]})
    names = ["ill", "pay", "job"]
    roles = fk.Schema(quasi_identifiers=["age"], sensitive=names)
    requirements = [
        fk.Requirement(fk.Facts(0), "9/10", sensitive=name, knowing=[]) for name in names
    ]
    rules = fk.Policy(requirements, roles, fk.PublishOptions(unlinked=["pay"]))
    written(table, rules, desk.folder / "out")
    audit = fk.audit(table, rules)
    for scope in (audit.scope, fk.verify(desk.folder / "out").scope):
        assert {name: tuple(of) for name, of in scope.crowded.items()} == {"pay": (40, 40)}
        assert scope.alike == (("2,000", "2000"), ("HIV", "hiv"))
    apart = "ill, pay and job are judged separately"
    for said in (" ".join(audit.notes), desk.says("verify", "out")):
        assert "40 values of pay for 40 people: a requirement about single values says lit" in said
        assert said.count(apart) == 1
    forge(desk.folder / "out", lambda said: said["scope"].pop("crowded"))
    with pytest.raises(CertificateError, match="crowded"):
        fk.verify(desk.folder / "out")


# ---- criteria about people -----------------------------------------------------------------------

WARDS = {"age": "33334444", "ward": "xxyyxxxz", "ill": "abababab", "who": "aabbcdef"}
WARDS = {name: [*ward] for name, ward in WARDS.items()}
ROLES = {"quasi_identifiers": ["age"], "sensitive": "ill", "other": ["ward"]}


def test_people_apart_from_values():
    rows = pa.table({name: ward[::2] for name, ward in WARDS.items()})
    schema, exact = ROLES | {"semantics": "set", "person": "who"}, {"age": "exact"}
    for about in ({}, {"knowing": ["ward"]}):
        rules = {"schema": schema, "require": [{"k_anonymity": 2, **about}]}
        with pytest.raises(UnsupportedError, match=r"ward would be .*knowing = \[\]"):
            fk.publish(rows, rules, labels=exact, seed=1)
    rules = {"schema": schema, "require": [{"k_anonymity": 2, "knowing": []}]}
    assert fk.publish(rows, rules, labels=exact, seed=1).audit.safe


# ---- files ---------------------------------------------------------------------------------------


def people_files(n=40, seed=3, job=("cook", "nurse")):
    draw = random.Random(seed)
    columns = {"age": range(20, 60), "sex": "fm", "ill": ["HIV", "flu", "flu", "cold", "none"]}
    columns |= {"pay": [1000, 2000, 3000, 4000, 5000], "job": job}
    return pa.table(
        {name: [draw.choice(column) for _ in range(n)] for name, column in columns.items()}
    )


def schema(**more):
    own = {"quasi_identifiers": ["age", "sex"], "sensitive": ["ill", "pay"], "other": ["job"]}
    return fk.Schema(**own | more, hierarchies={"age": {"intervals": [5, 10, 20]}})


ONE = {"sensitive": "ill", "quasi_identifiers": ["age"]}


def test_empty_beside_missing_is_refused(tmp_path):
    table, roles = people_files(job=["", None, "x"]), fk.Schema(**ONE, other=["job"])
    known, blind = (
        fk.Policy([fk.Requirement(fk.Facts(1), below=1, knowing=own)], roles) for own in (None, [])
    )
    with pytest.raises(OutputError, match="'job'"):
        fk.publish(table, known)
    fk.publish(table, blind)
    assert fk.publish(table, known, format="parquet").audit.safe
    # In the bucketized form other columns are in the table of people, and divide nothing there.
    for asked in (
        fk.Requirement(fk.Facts(1), "1/2", knowing=["job"]),
        fk.Requirement(fk.LDiversity(2)),
    ):
        policy = fk.Policy([asked], roles, fk.PublishOptions(form="bucketized"))
        written(people_files(), policy, folder := tmp_path / str(asked.criterion))
        fk.verify(folder, policy)


# ---- how a shuffled column is called -------------------------------------------------------------


def both(**options):
    requirements = [
        fk.Requirement(fk.Facts(1), below="9/10", sensitive=name) for name in ("ill", "pay")
    ]
    roles = fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay"], other=["job"])
    return fk.Policy(requirements, roles, fk.PublishOptions(**options))


ORDERED = {"age": [*range(20, 60)], "job": (["cook"] * 4 + ["nurse"] * 4) * 5}
ORDERED = pa.table({**ORDERED, "ill": [*"abcd"] * 10, "pay": [*"sstuuvvt"] * 5})


def test_shuffled_column_keeps_its_name(tmp_path):
    written(ORDERED, both(unlinked=["pay"]), tmp_path / "out")
    path = tmp_path / "out/release.csv"
    path.write_bytes(path.read_bytes().replace(b"pay_shuffled", b"pay", 1))
    digest = {"release.csv": hashlib.sha256(path.read_bytes()).hexdigest()}
    forge(tmp_path / "out", lambda said: said["release"]["files"].update(digest))
    with pytest.raises(fk.InputError, match="'pay_shuffled'"):
        fk.verify(tmp_path / "out")
    taken = schema(quasi_identifiers=["age"], other=["pay_shuffled"])
    with pytest.raises(fk.InputError, match="'pay_shuffled'"):
        fk.Policy(both().requirements, taken, fk.PublishOptions(unlinked=["pay"]))


# several sensitive columns of several values, and any of a set, under criteria and attacks.


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


def schema_of(semantics=None, **more):
    roles = {"sensitive": ["ill", "pay", "race"], "person": "pid", "other": ["job"]} | more
    roles |= {"semantics": semantics or {"ill": "set"}, "quasi_identifiers": ["age"]}
    return fk.Schema(**roles, hierarchies={"age": {"intervals": [5, 10, 20]}})


def test_false_semantics_are_refused(tmp_path):
    requirements = [fk.Requirement(fk.Facts(0), below="9/10", sensitive="ill")]
    written(register(), fk.Policy(requirements, schema_of()), tmp_path / "out")
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
        schema_of({"il": "set"})
    with pytest.raises(SchemaError, match="'sets'"):
        schema_of({"ill": "sets"})
    assert schema_of("set").semantics == {"ill": "set", "pay": "set", "race": "set"}
    assert schema_of({"ill": "single"}).semantics == "single"
    requirement = fk.Requirement(fk.Facts(), below=1, sensitive="ill")
    policy = fk.Policy([requirement], schema_of({"ill": "multiset", "pay": "set"}))
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
            fk.publish(register(), fk.Policy([requirement], schema_of()), method=method)
    either = fk.Requirement(fk.Facts(), below="1/2", sensitive="ill", any_of=["flu", "hiv"])
    with pytest.raises(UnsupportedError, match="set"):
        fk.publish(register(), fk.Policy([either], schema_of()))


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
BY_TREE = fk.Schema(quasi_identifiers=["age"], sensitive="x", hierarchies={"x": TREE})


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
    schema_of = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema_of)
    knows = fk.Algorithm(fk.Mondrian(), policy)
    rules = fk.Policy([fk.Requirement(knows, below="9/10", any_of=["hiv", "aids"])])
    (verdict,) = fk.audit(release, rules).verdicts
    one, other = (knows.disclosure(release, value).exact for value in ("hiv", "aids"))
    assert verdict.disclosure.exact == max(one, other) == 1
    assert (verdict.value, verdict.safe) == ("hiv or aids", False)


def test_an_attack_adds_up_set():
    rules = fk.Policy([fk.Requirement(fk.Facts(), below="2/3", any_of={"AB": ["A", "B"]})], BY_TREE)
    microdata = fk.Microdata(table(60), BY_TREE)
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
    schema_of = fk.Schema(quasi_identifiers=["zip"], **roles)
    homes = fk.KAnonymity(2, of="home")
    required = [
        fk.Requirement(homes, sensitive="pay", knowing=knowing) for knowing in ([], ["ill"])
    ]
    assert fk.audit(table, fk.Policy(required[:1], schema_of)).verdicts[0].reached == 3
    with pytest.raises(UnsupportedError, match="leave it out of knowing"):
        fk.audit(table, fk.Policy(required[1:], schema_of))
