"""Households: what all of one have is shown once, and households are counted."""

import json
import random
from collections import Counter
from fractions import Fraction

import polars as pl
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from tests.cli.desk import Desk
from tests.examples import NIGHTLY
from tests.oracle.household_worlds import surest, surest_of_all_rows, worlds

import foreknow as fk

TABLES = range(20_000 if NIGHTLY else 200)
ROLES = {
    "quasi_identifiers": ["ward"],
    "sensitive": ["ill", "income"],
    "shared": {"by": "home", "values": ["income"]},
}


def few_homes(rng):
    """Rows of (household, group), and the value of each household."""
    homes = "ABCD"[: rng.randint(2, 4)]
    rows = [(home, rng.randint(0, 1)) for home in homes for _ in range(rng.randint(1, 2))]
    rng.shuffle(rows)
    return rows, {home: rng.choice(["1", "2", "3"]) for home in homes}


def table_of(rows, value):
    ills = ["flu" for _ in rows]
    wards = [f"w{group}" for _, group in rows]
    home = [home for home, _ in rows]
    income = [value[own] for own in home]
    return pa.table({"home": home, "ward": wards, "ill": ills, "income": income})


def judged(table, *require):
    policy = {"schema": ROLES, "require": [*require]}
    people = fk.Microdata(table, fk.Policy.of(policy).schema)
    return fk.audit(people, policy, learned=False)


@pytest.mark.parametrize("block", range(2))
def test_a_requirement_on_what_a_household_shares_counts_households(block):
    for seed in TABLES[block::2]:
        rng = random.Random(seed)
        rows, value = few_homes(rng)
        shown, done = [], set()
        for home, group in rows:
            if home not in done:
                shown.append((home, group, value[home]))
                done.add(home)
        ruled, known = rng.randint(0, 1), rng.randint(0, 2)
        values = sorted({*value.values()})
        expected = surest(worlds(shown), values, ruled, known)
        assert surest_of_all_rows(rows, shown, values) <= surest(worlds(shown), values, 0, 0)
        facts = {"facts": {"l": ruled, "k": known}, "sensitive": "income", "knowing": []}
        limits = [expected, *([expected + Fraction(1, 10**12)] if expected < 1 else [])]
        for limit in limits if NIGHTLY else [limits[seed // 2 % len(limits)]]:
            (verdict,) = judged(table_of(rows, value), {**facts, "below": str(limit)}).verdicts
            assert (verdict.reached, verdict.safe) == (expected, expected < limit)


def town(rng, homes=120):
    """A table of people, who live two or three together."""
    rows = [home for home in range(homes) for _ in range(rng.randint(1, 3))]
    rng.shuffle(rows)
    pay = {home: rng.choice([20_000, 30_000, 40_000, 50_000, 60_000]) for home in range(homes)}
    return pa.table(
        {
            "home": rows,
            "ward": [rng.choice("ABCD") for _ in rows],
            "age": [rng.randint(20, 79) for _ in rows],
            "ill": [rng.choice("abcdefg") for _ in rows],
            "income": [pay[home] for home in rows],
        }
    )


POLICY = {
    "schema": {**ROLES, "quasi_identifiers": ["ward", "age"]},
    "require": [
        {"sensitive": "income", "facts": {"l": 1, "k": 1}, "below": 0.8, "knowing": []},
        {"sensitive": "ill", "facts": {"k": 1}, "below": 0.8},
        {"k_anonymity": {"k": 3, "of": "home"}},
    ],
}


@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
def test_what_is_published_shows_each_household_once(method, tmp_path):
    table = town(random.Random(2))
    made = fk.publish(table, POLICY, method=method, seed=1)
    assert made.audit.safe
    release = made.tables["release"].to_pylist()
    here = [row for row in release if row["home_shown"] == "here"]
    assert len(here) == len(set(table["home"].to_pylist()))
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
    table = pa.table({name: list(texts) for name, texts in columns.items()})
    schema = {"quasi_identifiers": ["ward"], "sensitive": "ill"}
    policy = {"schema": schema, "require": [require], "publish": {"form": form}}
    if word is None:
        with pytest.raises(fk.InputError, match="how many different home look alike"):
            fk.publish(table, policy, seed=1)
        return
    made = fk.publish(table, policy, seed=1)
    assert word in made.audit.scope.word[0]


@pytest.mark.complete
@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
def test_what_is_worthless_is_said_of_households_too(method):
    table = pa.table(
        {"age": [31, 31, 32, 32, 33, 33], "home": list("aabbcc"), "pay": list("112233")}
    )
    roles = {"quasi_identifiers": ["age"], "sensitive": "pay"}
    schema = {**roles, "shared": {"by": "home", "values": ["pay"]}}
    policy = {"schema": schema, "require": [{"facts": {}, "below": 0.9}]}
    made = fk.publish(table, policy, method=method)
    assert made.audit.safe
    assert made.advice[0].startswith("Worthless: all 6 people are in one group")


def test_a_household_that_does_not_share_is_refused_with_its_rows():
    table = pa.table({"home": [1, 2, 1], "ward": ["a"] * 3, "ill": ["x"] * 3, "income": [5, 6, 7]})
    with pytest.raises(fk.InputError, match=r"rows 1 and 3 are of one home, and have income 5"):
        fk.publish(table, {**POLICY, "schema": ROLES, "require": POLICY["require"][:1]})


@pytest.mark.parametrize("require", [{"t_closeness": {"t": 0.5}}, {"l_diversity": {"l": 2}}])
def test_criteria_of_shared_values_are_refused(require):
    wanted = {"schema": ROLES, "require": [{**require, "sensitive": "income"}]}
    with pytest.raises(fk.InputError, match="households share values"):
        fk.Policy.of(wanted)


def test_a_policy_file_keeps_what_is_shared(tmp_path):
    policy = fk.Policy.of({**POLICY, "require": POLICY["require"][:2]})
    policy.save(tmp_path / "p.toml")
    again = fk.Policy.load(tmp_path / "p.toml")
    assert again.to_dict() == policy.to_dict()
    assert again.to_dict()["schema"]["shared"] == {"by": "home", "values": ["income"]}


@pytest.mark.parametrize(
    ("shared", "said"),
    [
        ({"by": "home", "values": ["pay"]}, "'pay' is no sensitive column"),
        ({"by": "home", "values": []}, "values is empty"),
        ({"values": ["income"]}, "by is missing"),
        ({"by": "home", "values": ["income"], "unit": 1}, "unknown key"),
    ],
)
def test_what_is_shared_is_read_key_by_key(shared, said):
    with pytest.raises(fk.InputError, match=said):
        fk.Schema(**{**ROLES, "shared": shared})


TWELVE = pa.table(
    {
        "home": [h for h in range(6) for _ in range(2)],
        "ward": [f"w{h}" for h in range(6) for _ in range(2)],
        "ill": ["abcd"[(h + j) % 4] for h in range(6) for j in range(2)],
        "income": ["123"[h % 3] for h in range(6) for _ in range(2)],
    }
)
LIMIT = {"facts": {}, "below": 0.3, "sensitive": "income"}


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"form": "bucketized"}, "does not say whose row shows the value"),
        ({"unlinked": ["income"]}, "shown once for each household"),
    ],
)
def test_shared_values_are_published_beside_where_they_are_shown(how, said):
    policy = {"schema": ROLES, "require": [LIMIT], "publish": how}
    with pytest.raises(fk.InputError, match=said):
        fk.publish(TWELVE, policy)


def test_a_raw_table_is_not_judged_as_if_it_were_shown_once(tmp_path):
    shown = {"schema": ROLES, "require": [LIMIT]}
    policy = fk.Policy.of({**shown, "require": [{**LIMIT, "knowing": []}]})
    uneven = {"home": [1, 1, 1, 2], "ward": ["w"] * 4, "ill": list("abcd"), "income": list("xxxy")}
    csv.write_csv(pa.table(uneven), tmp_path / "t.csv")
    for raw in (
        pa.table(uneven),
        tmp_path / "t.csv",
        fk.Microdata(pa.table(uneven), policy.schema),
    ):
        (found,) = fk.audit(raw, policy, learned=False).verdicts
        assert found.reached == Fraction(1, 2)  # two households, and not three of four rows
    release = fk.Release.from_schema(pa.table(uneven), policy.schema)
    assert fk.audit(release, policy, learned=False).verdicts[0].reached == Fraction(1, 2)
    with pytest.raises(fk.InputError, match="home"):
        fk.audit(TWELVE.drop_columns("home"), policy)
    without = {**ROLES, "shared": None}
    with pytest.raises(fk.InputError, match="shared"):
        fk.publish(
            fk.Microdata(TWELVE, fk.Schema(**without)), {"schema": ROLES, "require": [LIMIT]}
        )


def test_the_command_judges_a_raw_table_as_what_is_published_of_it(tmp_path, monkeypatch, capsys):
    desk = Desk(tmp_path, monkeypatch, capsys)
    monkeypatch.chdir(tmp_path)
    policy = fk.Policy.of({"schema": ROLES, "require": [LIMIT]})
    policy.save(tmp_path / "p.toml")
    csv.write_csv(TWELVE, tmp_path / "t.csv")
    code, out, _ = desk.run("audit", "t.csv", "--policy", "p.toml", "--json", "a.json")
    once = fk.audit(fk.Microdata(TWELVE, policy.schema), policy, learned=False)
    assert code == (0 if once.safe else 1), out
    told = desk.json("a.json")["verdicts"]
    assert told == json.loads(once.to_json())["verdicts"]


def test_a_household_is_not_followed_through_releases(tmp_path):
    names = pa.array([f"p{i}" for i in range(12)])
    policy = {
        "schema": {**ROLES, "identifiers": ["who"]},
        "publish": {"labels": {"ward": "exact"}},
        "require": [{**LIMIT, "below": 0.9, "knowing": []}],
    }
    table = TWELVE.append_column("who", names)
    fk.publish(table, policy).write(tmp_path / "one")
    with pytest.raises(fk.InputError, match="after: what households share"):
        fk.publish(table, policy, after=tmp_path / "one")
    with pytest.raises(fk.InputError, match="several releases together"):
        fk.audit([tmp_path / "one", tmp_path / "one"], policy)


def test_a_window_of_shared_numbers_is_refused():
    policy = {"schema": ROLES, "require": [{**LIMIT, "within": 5}]}
    with pytest.raises(fk.InputError, match="within is unsupported of 'income'"):
        fk.Policy.of(policy)


def test_a_first_policy_names_what_households_share():
    table = town(random.Random(3))
    said = fk.suggest_policy(table, sensitive="income").to_toml().replace("\n# ", " ")
    assert 'shared = { by = "home", values = ["income"] }' in said
    other = fk.suggest_policy(table, sensitive="ill").to_toml()
    assert "shared = {" not in other


def test_a_left_out_row_shows_nothing(tmp_path):
    jobs = [None, "cook", "nurse", "clerk", None, None]
    table = pa.table(
        {
            "home": ["a", "a", "b", "b", "c", None],
            "ward": ["w"] * 6,
            "ill": jobs,
            "income": ["90", "90", "10", "10", "50", "60"],
        }
    )
    schema = {**ROLES, "missing": "drop"}
    required = {"facts": {}, "sensitive": "income", "knowing": [], "below": "3/4"}
    exact = {"labels": {"ward": "exact"}}
    policy = fk.Policy.from_dict({"schema": schema, "require": [required], "publish": exact})
    made = fk.publish(table, policy, seed=1)
    shown = [(row["ill"], row["income"]) for row in made.to_arrow().to_pylist()]
    assert sorted(shown) == [("clerk", "shown once"), ("cook", "90"), ("nurse", "10")]
    assert made.audit.verdicts[0].disclosure.exact == Fraction(1, 2)
    csv.write_csv(table, tmp_path / "rows.csv")
    for given in (table, tmp_path / "rows.csv"):  # whose rows are judged as they stand
        bag = fk.audit(given, policy, learned=False).counted[0].seen.counts.bag(0)
        assert bag == {"10": 1, "50": 1, "60": 1, "90": 1}


@pytest.mark.parametrize("block", range(2))
def test_each_published_household_is_shown(block):
    schema = {**ROLES, "quasi_identifiers": ["ward"], "missing": "drop"}
    required = {"facts": {}, "sensitive": "income", "knowing": [], "below": 1}
    policy = fk.Policy.from_dict({"schema": schema, "require": [required]})
    for seed in TABLES[block::2]:
        rng = random.Random(seed)
        rows, value = few_homes(rng)
        table = table_of(rows, value)
        ills = [rng.choice(["flu", "flu", None]) for _ in rows]
        table = table.set_column(2, "ill", pa.array(ills, pa.string()))
        if not any(ills):
            continue
        people = fk.Microdata(table, policy.schema)
        whole = {home for (home, _), ill in zip(rows, ills, strict=True) if ill}
        codes, values = people.column("income")
        shown = [values[code] for code in codes.tolist()]
        expected = sorted(value[home] for home in whole)
        assert sorted(own for own in shown if own != "shown once") == expected
        assert len(shown) == sum(ill is not None for ill in ills)


def test_who_is_shown_tells_people_apart(tmp_path):
    """Whoever lives alone has a row that shows the value, so it is known of some."""
    table = town(random.Random(5))
    required = [{"k_anonymity": 4}, {"k_anonymity": {"k": 3, "of": "home"}}]
    policy = fk.Policy.from_dict({"schema": ROLES, "require": required})
    made = fk.publish(table, policy, labels={"ward": "exact"}, seed=1)
    rows = made.to_arrow().to_pylist()
    alike = Counter((row["ward"], row["home_shown"]) for row in rows)
    assert made.audit.verdicts[0].reached == min(alike.values())
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    files = fk.Policy.from_dict({"schema": ROLES, "require": required[:1]})
    assert fk.audit(tmp_path / "out", files).verdicts[0].reached == made.audit.verdicts[0].reached


def test_two_spellings_of_a_household_are_not_two_households():
    table = pa.table({"home": ["1", "01"], "ward": ["w", "w"], "ill": ["a", "b"], "income": [5, 5]})
    with pytest.raises(fk.InputError, match="look like one"):
        fk.publish(table, {"schema": ROLES, "require": [{**LIMIT, "below": 1}]})


HOMES = pa.table(
    {
        "age": [20, 21, 22, 23, 24, 25],
        "job": ["cook", "nurse", "clerk", "HIV", "HIV", "baker"],
        "income": ["10", "20", "30", "10", "20", "40"],
        "home": ["h1", "h2", "h3", "h1", "h2", "h4"],
    }
)
HOME_ROLES = {
    "quasi_identifiers": ["age"],
    "sensitive": ["job", "income"],
    "shared": {"by": "home", "values": ["income"]},
}


def test_bucketized_form_refuses_shared_values():
    job = {"sensitive": "job", "facts": {}, "below": "1/2", "knowing": []}
    tables = {"schema": HOME_ROLES, "require": [job], "publish": {"form": "bucketized"}}
    with pytest.raises(fk.InputError, match='form = "generalized"'):
        fk.Policy.of(tables)
    with pytest.raises(fk.InputError, match='form = "generalized"'):
        fk.publish(HOMES, {**tables, "publish": {}}, method=fk.Anatomy(l=2))


def test_shown_column_is_known_for_other_columns():
    job = {"sensitive": "job", "facts": {}, "knowing": []}
    tables = {"schema": HOME_ROLES, "require": [{**job, "below": "1/2"}]}
    policy = fk.Policy.of(tables)
    assert policy.requirements[0].knowing == ("home_shown",)
    with pytest.raises(fk.NoSafeRelease, match="reaches 1"):
        fk.publish(HOMES, policy, labels={"age": "exact"})


def test_column_with_the_added_name_is_refused():
    table = HOMES.append_column("home_shown", [["x"] * 6])
    job = {"sensitive": "income", "facts": {}, "below": "0.6", "knowing": []}
    for other in ([], ["home_shown"]):
        roles = {**HOME_ROLES, "other": other}
        with pytest.raises(fk.InputError, match=r"'home_shown'.*rename it"):
            fk.publish(table, {"schema": roles, "require": [job]})


def test_forged_certificate_of_shared_values_is_refused(tmp_path):
    job = {"sensitive": "income", "facts": {}, "below": "0.9", "knowing": []}
    tables = {"schema": HOME_ROLES, "require": [job]}
    fk.publish(HOMES, tables, labels={"age": "exact"}, seed=1).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    said = json.loads(path.read_text())
    assert said["policy"]["require"][0]["knowing"] == ["home_shown"]
    said["policy"]["require"][0]["knowing"] = []
    path.write_text(json.dumps(said))
    with pytest.raises(fk.InputError, match="whose row shows it"):
        fk.verify(tmp_path / "out")


@pytest.mark.parametrize("library", [pa.Table.to_pandas, pl.from_arrow])
def test_frames_of_spelled_households(library):
    schema = {**ROLES, "missing": {"label": "unknown"}, "reading": {"missing": ["NA"]}}
    limit = {"sensitive": "income", "facts": {}, "below": "1/2"}
    rows = [("a", "1"), ("a", "1"), ("b", "NA"), ("c", "2"), ("d", "3"), ("e", "4")]
    table = table_of([(home, 0) for home, _ in rows], dict(rows))
    policy = fk.Policy.from_dict({"schema": schema, "require": [limit]})
    for frame in (table, library(table)):
        (verdict,) = fk.audit(frame, policy, learned=False).verdicts
        assert verdict.found.exact == Fraction(1, 5)


def test_households_without_values_are_dropped(tmp_path):
    schema = {**ROLES, "sensitive": "income", "missing": "drop"}
    limit = {"facts": {}, "below": "9/10"}
    rows = [("a", "1"), ("b", None), ("b", None), ("c", "2"), ("c", "2"), (None, None)]
    table = table_of([(home, 0) for home, _ in rows], dict(rows))
    exact = {"labels": {"ward": "exact"}}
    policy = fk.Policy.from_dict({"schema": schema, "require": [limit], "publish": exact})
    fk.publish(table, policy, seed=1).write(tmp_path / "out")
    shown = csv.read_csv(tmp_path / "out" / "release.csv").to_pylist()
    assert sorted((row["home_shown"], row["income"]) for row in shown) == [
        ("here", "1"),
        ("here", "2"),
        ("shown once", "shown once"),
    ]


@pytest.mark.parametrize("kind", ["number", "text"])
def test_typed_values_of_households(kind, tmp_path):
    types = {"types": {"income": kind}, "sensitive": "income"}
    rows = [("a", "1"), ("a", "1"), ("b", "2.50"), ("b", "2.5"), ("c", "3")]
    table = table_of([(home, 0) for home, _ in rows], dict(rows))
    exact = {"labels": {"ward": "exact"}}
    limit = {"facts": {}, "below": "1/2"}
    policy = fk.Policy.from_dict({"schema": ROLES | types, "require": [limit], "publish": exact})
    fk.publish(table, policy, seed=1).write(tmp_path / "out")
    for found in (fk.verify(tmp_path / "out").findings, fk.audit(table, policy).verdicts):
        assert found[0].found.exact == Fraction(1, 3)


@pytest.mark.parametrize("asked", [{"any_of": "low"}, {"at_level": 1}])
def test_labels_of_what_households_share(asked):
    tree = {"rows": [["1", "low", "*"], ["2", "low", "*"], ["3", "high", "*"]]}
    rows = [("a", "1"), ("a", "1"), ("b", "2"), ("c", "3")]
    table = table_of([(home, 0) for home, _ in rows], dict(rows))
    schema = {**ROLES, "sensitive": "income", "hierarchies": {"income": tree}}
    limit = {**asked, "facts": {}, "below": "1/2"}
    policy = fk.Policy.from_dict({"schema": schema, "require": [limit]})
    (verdict,) = fk.audit(table, policy, learned=False).verdicts
    assert verdict.found.exact == Fraction(2, 3)
