"""Several sensitive columns, and columns known beside them: counted, judged, and in the files."""

import hashlib
import random
import re

import pyarrow as pa
import pytest
from tests.audits.folders import forge, settings_of, written
from tests.cli.conftest import desk as desk

import foreknow as fk
from foreknow.errors import OutputError
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


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "say which column it is about: sensitive = 'ill' or 'pay'"),
        ({"sensitive": "il"}, "did you mean 'ill'?"),
        ({"sensitive": "ill", "knowing": ["age"]}, "is a quasi-identifier"),
        ({"sensitive": "ill", "knowing": ["jobs"]}, "did you mean 'job'?"),
        ({"sensitive": "ill", "knowing": ["ill"]}, "cannot be both known and what must stay"),
        ({"sensitive": "ill", "knowing": "job"}, "knowing must be a list, such as ['job']"),
    ],
)
def test_no_such_column_is_refused(more, message):
    with pytest.raises(fk.InputError, match="requirement: .*" + re.escape(message)):
        fk.Policy([fk.Requirement(fk.Facts(1), below="1/2", **more)], SCHEMA)


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
    apart = "ill, pay and job are judged one at a time"
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
