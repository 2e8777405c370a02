"""Households: what all of one have is shown once, and households are counted."""

import json
import random
from collections import Counter
from fractions import Fraction

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from tests.examples import NIGHTLY
from tests.oracle.units import surest, surest_of_all_rows
from tests.oracle.units import worlds_of_household as worlds

import foreknow as fk
from foreknow.errors import SchemaError
from foreknow_judge.errors import UnsupportedError

TABLES = range(20_000 if NIGHTLY else 100)
ROLES = {
    "quasi_identifiers": ["ward"],
    "sensitive": ["ill", "income"],
    "shared": {"by": "home", "values": ["income"]},
}
INCOME = {**ROLES, "sensitive": "income"}
LIMIT = {"facts": {}, "below": 0.3, "sensitive": "income"}
EXACT = {"publish": {"labels": {"ward": "exact"}}}


def few_homes(rng):
    """Rows of (household, group), and the value of each household."""
    homes = "ABCD"[: rng.randint(2, 4)]
    rows = [(home, rng.randint(0, 1)) for home in homes for _ in range(rng.randint(1, 2))]
    rng.shuffle(rows)
    return rows, {home: rng.choice(["1", "2", "3"]) for home in homes}


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


@pytest.mark.parametrize("block", range(2))
def test_shared_requirements_count_households(block):
    for seed in TABLES[block::2]:
        rng = random.Random(seed)
        rows, value = few_homes(rng)
        first = {}
        for home, group in rows:
            first.setdefault(home, group)
        shown = [(home, group, value[home]) for home, group in first.items()]
        ruled, known, values = rng.randint(0, 1), rng.randint(0, 2), sorted({*value.values()})
        expected = surest(worlds(shown), values, ruled, known)
        assert surest_of_all_rows(rows, shown, values) <= surest(worlds(shown), values, 0, 0)
        facts = {"facts": {"l": ruled, "k": known}, "sensitive": "income", "knowing": []}
        limits = [expected, *([expected + Fraction(1, 10**12)] if expected < 1 else [])]
        for limit in limits if NIGHTLY else [limits[seed // 2 % len(limits)]]:
            policy = asked({**facts, "below": str(limit)})
            verdict = audited(fk.Microdata(table_of(rows, value), policy.schema), policy)
            assert (verdict.reached, verdict.safe) == (expected, expected < limit)


def test_each_published_household_is_shown():
    policy = asked({**LIMIT, "knowing": [], "below": 1}, schema={**ROLES, "missing": "drop"})
    for seed in TABLES:
        rng = random.Random(seed)
        rows, value = few_homes(rng)
        ills = [rng.choice(["flu", "flu", None]) for _ in rows]
        if not any(ills):
            continue
        table = table_of(rows, value).set_column(2, "ill", pa.array(ills, pa.string()))
        whole = {home for (home, _), ill in zip(rows, ills, strict=True) if ill}
        codes, values = fk.Microdata(table, policy.schema).column("income")
        shown = [values[code] for code in codes.tolist()]
        expected = sorted(value[home] for home in whole)
        assert sorted(own for own in shown if own != "shown once") == expected
        assert len(shown) == sum(ill is not None for ill in ills)


def town(rng, homes=120):
    """A table of people, who live two or three together."""
    rows = [home for home in range(homes) for _ in range(rng.randint(1, 3))]
    rng.shuffle(rows)
    pay = {home: rng.choice([20_000, 30_000, 40_000, 50_000, 60_000]) for home in range(homes)}
    return pa.table({
        "home": rows,
        "ward": [rng.choice("ABCD") for _ in rows],
        "age": [rng.randint(20, 79) for _ in rows],
        "ill": [rng.choice("abcdefg") for _ in rows],
        "income": [pay[home] for home in rows],
    })  # fmt: skip


POLICY = {
    "schema": {**ROLES, "quasi_identifiers": ["ward", "age"]},
    "require": [
        {"sensitive": "income", "facts": {"l": 1, "k": 1}, "below": 0.8, "knowing": []},
        {"sensitive": "ill", "facts": {"k": 1}, "below": 0.8},
        {"k_anonymity": {"k": 3, "of": "home"}},
    ],
}


@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
def test_households_are_published_once(method, tmp_path):
    table = town(random.Random(2))
    made = fk.publish(table, POLICY, method=method, seed=1)
    assert made.audit.safe
    release = made.tables["release"].to_pylist()
    here = [row for row in release if row["home_shown"] == "here"]
    assert len(here) == len({*table["home"].to_pylist()})
    assert all((row["income"] == "shown once") == (row not in here) for row in release)
    assert not any("shown once (" in note for note in made.audit.notes)
    made.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").people == len(table)
    # Whoever reads it is told by the certificate what is known of everybody.
    assert made.certificate.policy["require"][0]["knowing"] == ["home_shown"]


OF_HOMES = {"k": 2, "of": "home"}


@pytest.mark.parametrize(
    ("form", "require", "word"),
    [
        ("generalized", {"k_anonymity": OF_HOMES}, "2 different home"),
        ("generalized", {"k_anonymity": OF_HOMES, "knowing": ["job"]}, "job known of everybody"),
        ("bucketized", {"group_size": OF_HOMES}, "2 different home"),
        ("bucketized", {"k_anonymity": OF_HOMES}, None),
    ],
)
def test_the_owner_counts_homes(form, require, word):
    columns = {"ward": "a" * 8, "home": "11223344", "job": "xyxyxyxy", "ill": "fgfgfgfg"}
    table = pa.table({name: [*texts] for name, texts in columns.items()})
    schema = {"quasi_identifiers": ["ward"], "sensitive": "ill"}
    policy = asked(require, schema=schema, publish={"form": form})
    if word is None:
        with pytest.raises(fk.InputError, match="how many different home look alike"):
            fk.publish(table, policy, seed=1)
    else:
        assert word in fk.publish(table, policy, seed=1).audit.scope.word[0]


@pytest.mark.complete
@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
def test_idle_households_are_mentioned(method):
    table = pa.table({"age": [31, 31, 32, 32, 33, 33], "home": [*"aabbcc"], "pay": [*"112233"]})
    schema = {"quasi_identifiers": ["age"], "sensitive": "pay"}
    schema |= {"shared": {"by": "home", "values": ["pay"]}}
    made = fk.publish(table, asked({"facts": {}, "below": 0.9}, schema=schema), method=method)
    assert made.audit.safe
    assert made.advice[0].startswith("Worthless: all 6 people are in one group")


def test_policy_files_keep_sharing(tmp_path):
    policy = fk.Policy.of({**POLICY, "require": POLICY["require"][:2]})
    policy.save(tmp_path / "p.toml")
    again = fk.Policy.load(tmp_path / "p.toml").to_dict()
    assert again == policy.to_dict()
    assert again["schema"]["shared"] == {"by": "home", "values": ["income"]}


TWELVE = pa.table({
    "home": [h for h in range(6) for _ in range(2)],
    "ward": [f"w{h}" for h in range(6) for _ in range(2)],
    "ill": ["abcd"[(h + j) % 4] for h in range(6) for j in range(2)],
    "income": ["123"[h % 3] for h in range(6) for _ in range(2)],
})  # fmt: skip
JOB = {"sensitive": "ill", "facts": {}, "below": "1/2", "knowing": []}
BUCKETS = {"publish": {"form": "bucketized"}}


def shared(**own):
    return lambda: fk.Schema(**{**ROLES, "shared": own})


def published(*require, table=TWELVE, **how):
    return lambda: fk.publish(table, asked(*require), **how)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (shared(by="home", values=["pay"]), "'pay' is no sensitive column"),
        (shared(by="home", values=[]), "values is empty"),
        (shared(values=["income"]), "by is missing"),
        (shared(by="home", values=["income"], unit=1), "unknown key"),
        (lambda: asked({"t_closeness": {"t": 0.5}, "sensitive": "income"}), "households share val"),
        (lambda: asked({"l_diversity": {"l": 2}, "sensitive": "income"}), "households share val"),
        (lambda: asked({**LIMIT, "within": 5}), "within is unsupported of 'income'"),
        (lambda: asked(JOB, **BUCKETS), 'form = "generalized"'),
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
def test_what_is_refused(call, said):
    with pytest.raises(fk.InputError, match=said):
        call()


def test_raw_tables_show_households_once(tmp_path):
    policy = asked({**LIMIT, "knowing": []})
    uneven = {"home": [1, 1, 1, 2], "ward": ["w"] * 4, "ill": [*"abcd"], "income": [*"xxxy"]}
    uneven = pa.table(uneven)
    csv.write_csv(uneven, tmp_path / "t.csv")
    made = [of(uneven, policy.schema) for of in (fk.Microdata, fk.Release.from_schema)]
    for raw in (uneven, tmp_path / "t.csv", *made):
        # Two households, and not three of four rows.
        assert audited(raw, policy).reached == Fraction(1, 2)
    schema = {**ROLES, "other": ["home_shown"]}
    with pytest.raises(fk.InputError, match=r"'home_shown'.*rename it"):
        fk.publish(TWELVE.append_column("home_shown", [["x"] * 12]), asked(LIMIT, schema=schema))


def test_households_are_not_followed(tmp_path):
    table = TWELVE.append_column("who", [[f"p{i}" for i in range(12)]])
    schema = {**ROLES, "identifiers": ["who"]}
    policy = asked({**LIMIT, "below": 0.9, "knowing": []}, schema=schema, **EXACT)
    fk.publish(table, policy).write(tmp_path / "one")
    with pytest.raises(fk.NoSafeRelease, match="Nobody is new"):
        fk.publish(table, policy, after=tmp_path / "one")
    with pytest.raises(fk.InputError, match="several releases together"):
        fk.audit([tmp_path / "one", tmp_path / "one"], policy)


def test_first_policy_names_shared_columns():
    table = town(random.Random(3))
    said = fk.suggest_policy(table, sensitive="income").to_toml().replace("\n# ", " ")
    assert 'shared = { by = "home", values = ["income"] }' in said
    assert "shared = {" not in fk.suggest_policy(table, sensitive="ill").to_toml()


def test_left_out_row_shows_nothing(tmp_path):
    table = pa.table({
        "home": ["a", "a", "b", "b", "c", None], "ward": ["w"] * 6,
        "ill": [None, "cook", "nurse", "clerk", None, None],
        "income": ["90", "90", "10", "10", "50", "60"],
    })  # fmt: skip
    required = {**LIMIT, "knowing": [], "below": "3/4"}
    policy = asked(required, schema={**ROLES, "missing": "drop"}, **EXACT)
    made = fk.publish(table, policy, seed=1)
    shown = [(row["ill"], row["income"]) for row in made.to_arrow().to_pylist()]
    assert sorted(shown) == [("clerk", "shown once"), ("cook", "90"), ("nurse", "10")]
    assert made.audit.verdicts[0].disclosure.exact == Fraction(1, 2)
    csv.write_csv(table, tmp_path / "rows.csv")
    for given in (table, tmp_path / "rows.csv"):  # whose rows are judged as they stand
        bag = fk.audit(given, policy, learned=False).counted[0].seen.counts.bag(0)
        assert bag == {"10": 1, "50": 1, "60": 1, "90": 1}


def test_shown_members_tell_people_apart(tmp_path):
    """Whoever lives alone has a row that shows the value, so it is known of some."""
    required = [{"k_anonymity": 4}, {"k_anonymity": {"k": 3, "of": "home"}}]
    made = fk.publish(town(random.Random(5)), asked(*required, **EXACT), seed=1)
    rows = made.to_arrow().to_pylist()
    alike = Counter((row["ward"], row["home_shown"]) for row in rows)
    assert made.audit.verdicts[0].reached == min(alike.values())
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    assert audited(tmp_path / "out", asked(required[0])).reached == min(alike.values())


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
    said = json.loads(path.read_text())
    assert said["policy"]["require"][0]["knowing"] == ["home_shown"]
    said["policy"]["require"][0]["knowing"] = []
    path.write_text(json.dumps(said))
    with pytest.raises(fk.InputError, match="whose row shows it"):
        fk.verify(tmp_path / "out")


def test_frames_of_spelled_households():
    schema = {**ROLES, "missing": {"label": "unknown"}, "reading": {"missing": ["NA"]}}
    rows = [("a", "1"), ("a", "1"), ("b", "NA"), ("c", "2"), ("d", "3"), ("e", "4")]
    table, policy = in_one_ward(*rows), asked({**LIMIT, "below": "1/2"}, schema=schema)
    for frame in (table, table.to_pandas(), pl.from_arrow(table)):
        assert audited(frame, policy).found.exact == Fraction(1, 5)


def test_households_without_values_are_dropped(tmp_path):
    rows = [("a", "1"), ("b", None), ("b", None), ("c", "2"), ("c", "2"), (None, None)]
    limit = {"facts": {}, "below": "9/10"}
    policy = asked(limit, schema={**INCOME, "missing": "drop"}, **EXACT)
    fk.publish(in_one_ward(*rows), policy, seed=1).write(tmp_path / "out")
    shown = csv.read_csv(tmp_path / "out" / "release.csv").to_pylist()
    found = sorted((row["home_shown"], row["income"]) for row in shown)
    assert found == [("here", "1"), ("here", "2"), ("shown once", "shown once")]


@pytest.mark.parametrize("kind", ["number", "text"])
def test_typed_values_of_households(kind, tmp_path):
    table = in_one_ward(("a", "1"), ("a", "1"), ("b", "2.50"), ("b", "2.5"), ("c", "3"))
    schema = {**INCOME, "types": {"income": kind}}
    policy = asked({"facts": {}, "below": "1/2"}, schema=schema, **EXACT)
    fk.publish(table, policy, seed=1).write(tmp_path / "out")
    for found in (fk.verify(tmp_path / "out").findings[0], audited(table, policy)):
        assert found.found.exact == Fraction(1, 3)


@pytest.mark.parametrize("about", [{"any_of": "low"}, {"at_level": 1}])
def test_labels_of_what_households_share(about):
    tree = {"rows": [["1", "low", "*"], ["2", "low", "*"], ["3", "high", "*"]]}
    table = in_one_ward(("a", "1"), ("a", "1"), ("b", "2"), ("c", "3"))
    schema = {**INCOME, "hierarchies": {"income": tree}}
    policy = asked({**about, "facts": {}, "below": "1/2"}, schema=schema)
    assert audited(table, policy).found.exact == Fraction(2, 3)


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
    with pytest.raises(UnsupportedError, match="the sensitive column is shown once for each"):
        fk.audit(counts, asked({"facts": {"l": 0}, "below": "2/3"}, schema=INCOME))
