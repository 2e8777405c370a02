"""Households: what all of one have is shown once; and how many share chosen columns."""

import json
import random

import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pytest

import foreknow as fk
from foreknow.errors import SchemaError
from foreknow_judge.errors import UnsupportedError

ROLES = {
    "quasi_identifiers": ["ward"],
    "sensitive": ["ill", "income"],
    "shared": {"by": "home", "values": ["income"]},
}
INCOME = {**ROLES, "sensitive": "income"}
LIMIT = {"facts": {}, "below": 0.3, "sensitive": "income"}
EXACT = {"publish": {"labels": {"ward": "exact"}}}


def table_of(rows, value):
    home, groups = zip(*rows, strict=True)
    wards = [f"w{group}" for group in groups]
    income = [value[own] for own in home]
    return pa.table({"home": home, "ward": wards, "ill": ["flu"] * len(rows), "income": income})


def in_one_ward(*rows):
    """Households, in short, with their incomes."""
    return table_of([(home, 0) for home, _ in rows], dict(rows))


def asked(*require, schema=ROLES, **more):
    return fk.Policy.from_dict({"schema": schema, "require": [*require], **more})


def audited(table, policy):
    return fk.audit(table, policy, learned=False).verdicts[0]


TWELVE = pa.table({
    "home": [h for h in range(6) for _ in range(2)],
    "ward": [f"w{h}" for h in range(6) for _ in range(2)],
    "ill": ["abcd"[(h + j) % 4] for h in range(6) for j in range(2)],
    "income": ["123"[h % 3] for h in range(6) for _ in range(2)],
})  # fmt: skip
JOB = {"sensitive": "ill", "facts": {}, "below": "1/2", "knowing": []}


def shared(**own):
    return lambda: fk.Schema(**{**ROLES, "shared": own})


def published(*require, table=TWELVE, **how):
    return lambda: fk.publish(table, asked(*require), **how)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (shared(by="home", values=["pay"]), "'pay' is no sensitive column"),
        (shared(values=["income"]), "by is missing"),
        (lambda: asked({"t_closeness": {"t": 0.5}, "sensitive": "income"}), "households share val"),
        (lambda: asked({**LIMIT, "within": 5}), "within is unsupported of 'income'"),
        (published(JOB, method=fk.Anatomy(l=2)), 'form = "generalized"'),
        (published(LIMIT, form="bucketized"), "does not say whose row shows the value"),
        (published(LIMIT, unlinked=["income"]), "shown once for each household"),
        (
            published(LIMIT, table=TWELVE.set_column(3, "income", [["x"] * 2 + ["y", "z"] * 5])),
            "rows 3 and 4 are of one home, and have income 'y'",
        ),
        (
            published({**LIMIT, "below": 1}, table=pa.table(
                {"home": ["1", "01"], "ward": ["w", "w"], "ill": ["a", "b"], "income": [5, 5]})),
            "look like one",
        ),
        (published(LIMIT, table=TWELVE.append_column("home_shown", [["x"] * 12])), "rename it"),
        (lambda: fk.audit(TWELVE.drop_columns("home"), asked(LIMIT)), "home"),
        (
            lambda: fk.publish(fk.Microdata(TWELVE, **{**ROLES, "shared": None}), asked(LIMIT)),
            "shared",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(call, message):
    with pytest.raises(fk.InputError, match=message):
        call()


def test_households_are_not_followed(tmp_path):
    table = TWELVE.append_column("who", [[f"p{i}" for i in range(12)]])
    schema = {**ROLES, "identifiers": ["who"]}
    policy = asked({**LIMIT, "below": 0.9, "knowing": []}, schema=schema, **EXACT)
    fk.publish(table, policy).write(tmp_path / "one")
    with pytest.raises(fk.NoSafeRelease, match="Nobody is new"):
        fk.publish(table, policy, after=tmp_path / "one")
    with pytest.raises(fk.InputError, match="several releases together"):
        fk.audit([tmp_path / "one", tmp_path / "one"], policy)


def test_others_know_the_shown_column():
    policy = asked(JOB)
    assert policy.requirements[0].knowing == ("home_shown",)
    table = TWELVE.set_column(2, "ill", [["x", "y"] * 6]).set_column(1, "ward", [["w"] * 12])
    with pytest.raises(fk.NoSafeRelease, match="reaches 1"):
        fk.publish(table, policy, labels={"ward": "exact"})


def test_a_forged_certificate_is_refused(tmp_path):
    policy = asked({**LIMIT, "below": "0.9", "knowing": []}, **EXACT)
    fk.publish(TWELVE, policy, seed=1).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    document = json.loads(path.read_text())
    assert document["policy"]["require"][0]["knowing"] == ["home_shown"]
    document["policy"]["require"][0]["knowing"] = []
    path.write_text(json.dumps(document))
    with pytest.raises(fk.InputError, match="whose row shows it"):
        fk.verify(tmp_path / "out")


def test_households_without_values_are_dropped(tmp_path):
    rows = [("a", "1"), ("b", None), ("b", None), ("c", "2"), ("c", "2"), (None, None)]
    limit = {"facts": {}, "below": "9/10"}
    policy = asked(limit, schema={**INCOME, "missing": "drop"}, **EXACT)
    fk.publish(in_one_ward(*rows), policy, seed=1).write(tmp_path / "out")
    shown = csv.read_csv(tmp_path / "out" / "release.csv").to_pylist()
    results = sorted((row["home_shown"], row["income"]) for row in shown)
    assert results == [("here", "1"), ("here", "2"), ("shown once", "shown once")]


# ---- releases that do not say where a household's value stands ----------------------------------

TABLE = pd.DataFrame({
    "ward": ["w"] * 6,
    "home": [3, 3, 5, 3, 5, 1],
    "job": ["nurse"] * 4 + ["cook"] * 2,
    "income": ["low", "low", "high", "low", "high", "high"],
    "ill": ["flu", "cold", "cold", "gout", "cold", "flu"],
})  # fmt: skip


def test_columns_beside_shared_ones():
    """Who is the only cook with an income that is shown has flu: 1, where rows said 1/2, safe."""
    schema = {**ROLES, "sensitive": ["income", "ill"], "other": ["job"]}
    asks = {"sensitive": "ill", "facts": {"l": 0}, "below": "2/3", "values": ["flu"]}
    policy = {"schema": schema, "require": [asks]}
    for table in (TABLE, fk.Release.from_schema(TABLE, fk.Schema(**schema))):
        assert audited(table, policy).found.exact == 1
    columns = {key: of for key, of in schema.items() if key != "shared"}
    release = fk.Release.from_generalized(TABLE, **columns)
    with pytest.raises(SchemaError, match=r"no column 'home_shown' .* fk\.Microdata"):
        fk.audit(release, policy)
    sizes = {"schema": schema, "require": [{"k_anonymity": 6, "knowing": []}]}
    assert fk.audit(release, sizes).safe  # people are counted whatever their values
    counts = fk.GroupCounts.from_bags([["low", "high"]])
    with pytest.raises(UnsupportedError, match="is shown once for each"):
        fk.audit(counts, asked({"facts": {"l": 0}, "below": "2/3"}, schema=INCOME))


# ---- k-anonymity of chosen columns: how many share what is published in them, row by row ---------


COLUMNS = ["age", "sex", "zip"]


def drawn(draw):
    size = draw.randint(8, 30)
    pools = {"sex": "mf", "zip": ["0123", "0124", "0211"], "job": "xy", "ill": "abc"}
    rows = {name: draw.choices(pool, k=size) for name, pool in pools.items()}
    return pa.table({"age": draw.choices(range(20, 44), k=size), **rows})


ROLES_COLUMNS = {"quasi_identifiers": COLUMNS, "sensitive": "ill", "other": ["job"]}
SCHEMA = fk.Schema(**ROLES_COLUMNS, hierarchies={"zip": {"mask": 4}})


def test_certificates_cannot_promise_more(tmp_path):
    requirements = [fk.Requirement(fk.KAnonymity(4, of=["age", "zip"]))]
    policy = fk.Policy(requirements, SCHEMA, fk.PublishOptions(labels={"sex": "exact"}))
    fk.publish(drawn(random.Random(5)), policy).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    text = path.read_text()
    lies = [[["ill"]], [["nothing"]], [], ["age"], [[["age"]]]]
    for k, of in ((1000, [["age"]]), (0, [["age"]]), *((1, ly) for ly in lies)):
        document = json.loads(text)
        for own in (document["policy"]["require"][0], document["findings"][0]["judged"]):
            own["k_anonymity"] = {"k": k, "of": of}
        path.write_text(json.dumps(document))
        with pytest.raises(fk.InputError):
            fk.verify(tmp_path / "out")


def required(rule, schema=SCHEMA, **more):
    return lambda: fk.Policy([fk.Requirement(rule, **more)], schema)


CASES = fk.Schema(quasi_identifiers=["age"], sensitive="ill", person="who", unit="row")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fk.KAnonymity(2, of=[]), "of is a list of columns"),
        (lambda: fk.KAnonymity(2, of=[["age", "age"]]), "a column twice"),
        (lambda: fk.GroupSize(2, of=["age"]), "of names one column of households"),
        (required(fk.KAnonymity(2, of=["ages"])), "no quasi-identifier.*did you mean 'age'"),
        (required(fk.KAnonymity(2, of=["job"])), "'job' is no quasi-identifier"),
        (required(fk.KAnonymity(2, of=["age"]), CASES), "rows are cases of 'who'"),
    ],
)
def test_absent_columns_are_refused(make, message):
    with pytest.raises(fk.InputError, match=message):
        make()
