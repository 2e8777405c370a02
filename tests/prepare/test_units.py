"""Units: whether a row is a person; where it is not, everything is said of cases."""

import json
import re
from io import StringIO

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from tests.cli.conftest import desk as desk

import foreknow as fk
from foreknow.data.engines import units
from foreknow.data.engines.duckdb_table import DuckTable

ILLS = ["flu", "cold", "Sick person", "cough"]
REQUIRE = [{"facts": {"l": 0, "k": 1}, "below": 0.9}, {"k_anonymity": 4}]


def visits(people=24, each=5, **more):
    """A table of visits: `each` of every patient, who is always of one age."""
    of = [p for p in range(people) for _ in range(each)]
    rows = {
        "patient_id": [f"P{p}" for p in of],
        "visit_id": [f"V{i}" for i in range(len(of))],
        "age": [20 + p % 6 for p in of],
        "ill": [ILLS[(i + i // 7) % 4] for i in range(len(of))],
    }
    return pa.table({**rows, **more})


def policy(**schema):
    roles = {"identifiers": ["patient_id"], "quasi_identifiers": ["age"], "sensitive": "ill"}
    return {"schema": {**roles, **schema}, "require": REQUIRE}


def read(table, **schema):
    return fk.Microdata(table, **policy(**schema)["schema"])


def written(table, folder, kind="csv"):
    """The table as a file, a frame or a relation."""
    if kind in ("arrow", "polars"):
        return table if kind == "arrow" else pl.from_arrow(table)
    if kind == "duckdb":
        return duckdb.connect().from_arrow(table)
    path = folder / f"t.{kind}"
    pq.write_table(table, path) if kind == "parquet" else pl.from_arrow(table).write_csv(path)
    return path


def refused(table, said, **schema):
    with pytest.raises(fk.InputError, match=said) as error:
        fk.publish(table, policy(**schema))
    return str(error.value)


# ---- an identifier that repeats -----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["arrow", "polars", "csv", "parquet", "duckdb"])
def test_identifier_that_repeats_is_refused(kind, tmp_path):
    source = written(visits(), tmp_path, kind)
    for engine in ("memory", "duckdb"):
        with pytest.raises(fk.InputError) as error:
            fk.publish(source, policy(), engine=engine)
        said = str(error.value)
        assert "'patient_id' repeats: 'P0' is in rows 1 and 2, and 120 rows have 24" in said
        ways = 'person = "patient_id"', '"set" or "multiset"', 'unit = "row"'
        for way in ("one row for each person", *ways):
            assert way in said


def test_other_calls_refuse_it_too(tmp_path):
    session = pytest.importorskip("foreknow.explore.session")
    fk.publish(visits(), policy(unit="row")).write(tmp_path / "out")
    fk.Policy.from_dict(policy()).save(tmp_path / "p.toml")
    explored = session.Session(tmp_path, written(visits(), tmp_path), tmp_path / "p.toml")
    for ask in (
        lambda: fk.audit(visits(), policy()),
        lambda: fk.audit(read(visits()), policy()),
        lambda: fk.risk_report(visits(), policy=policy()),
        lambda: read(visits()).n_people,
        lambda: explored.looked(None),
        lambda: fk.evidence_report(tmp_path / "out", visits(), policy(), queries=5),
    ):
        with pytest.raises(fk.InputError, match=r"a row is not a person|unit"):
            ask()


def test_missing_identifiers_are_no_repeats(tmp_path):
    names = [None if i % 3 else f"N{i}" for i in range(120)]
    numbers = [float("nan") if i % 3 else float(i) for i in range(120)]
    for table in (visits(patient_id=names), visits(patient_id=numbers)):
        assert fk.publish(table, policy()).audit.safe
    path = written(visits(patient_id=names), tmp_path)
    assert fk.publish(path, policy(), engine="duckdb").audit.safe
    names[7] = names[6] = "twice"
    refused(visits(patient_id=names), "'twice'")
    refused(visits(), r"'patient_id' repeats", identifiers=["visit_id", "patient_id"])
    assert fk.publish(visits(), policy(identifiers=["visit_id"])).audit.safe


@pytest.mark.parametrize("how", ["arrow", "csv"])
def test_two_people_have_one_name(how, tmp_path):
    names = [f"N{i}" for i in range(119)] + ["N7"]
    table = written(visits(120, 1, name=names, id=[*range(120)]), tmp_path, how)
    assert fk.publish(table, policy(identifiers=["patient_id", "name"])).audit.safe
    assert fk.audit(table, policy(identifiers=["name", "patient_id"])).verdicts
    for others in (["id", "name"], ["visit_id", "name"]):  # which may number rows
        said = refused(table, f'say person = "{others[0]}" in', identifiers=others)
        assert 'person = "name"' not in said
        assert fk.publish(table, policy(identifiers=others, person=others[0])).audit.safe
        assert fk.publish(table, policy(identifiers=others[:1])).audit.safe


@pytest.mark.parametrize(
    ("name", "how"),
    [("Patient", "arrow"), ("name", "csv"), ("person", "large csv"), ("Kunde", "duckdb")],
)
def test_namesakes_in_any_column(name, how, tmp_path, monkeypatch):
    names = [f"Ernst, Anna {i}" for i in range(119)] + ["Ernst, Anna 7"]
    table = visits(120, 1, **{name: names}, case=[*range(120)])
    table = written(table, tmp_path, how.removeprefix("large "))
    if how == "large csv":
        monkeypatch.setattr(units, "_LARGE", 1)
    way = 'say person = "NUMBER" in [schema], if a column NUMBER has'
    assert way in refused(table, f"'{name}' repeats", identifiers=[name])
    way = 'say person = "case" in [schema], if each of these is another'
    assert way in refused(table, f"'{name}' repeats", identifiers=[name, "case"])
    for identifiers in ([name], [name, "case"]):
        rules = policy(identifiers=identifiers, person="case")
        assert fk.publish(table, rules).audit.safe
        assert fk.audit(table, rules).verdicts


@pytest.mark.parametrize("name", ["Patient", "patient_id", "id"])
def test_number_is_of_one_person(name):
    numbers = [1000 + i for i in range(119)] + [1007]
    coded = [*map("P{}".format, numbers[:-2]), "unknown", "P1007"]
    table = visits(120, 1).drop_columns("patient_id")
    for own in (numbers, coded):
        again = table.append_column(name, pa.array(own))
        said = refused(again, f"'{name}' repeats", identifiers=[name], person="visit_id")
        assert f'say person = "{name}" with semantics' in said or own is coded
        assert 'person = "visit_id"' not in said or own is coded


def test_every_row_needs_its_number():
    names = [f"N{i}" for i in range(119)] + ["N7"]
    numbers = [f"P{i}" for i in range(119)] + [None]
    table = visits(120, 1, name=names, patient_id=numbers)
    refused(table, "'name' repeats", identifiers=["patient_id", "name"])
    both = ["visit_id", "patient_id"]
    refused(visits(), "'patient_id' repeats", identifiers=both, person="visit_id")
    # Where people have several rows, an identifier is of one of them.
    several = {"person": "patient_id", "semantics": "multiset"}
    read(
        visits(name=[f"n{i // 5}" for i in range(120)]), **several, identifiers=["name"]
    ).everyone()
    with pytest.raises(fk.InputError, match="'visit_id'"):
        read(visits(), **several | {"person": "visit_id"}).everyone()


def test_a_published_number_is_noted(tmp_path):
    said = "patient_id is published, and looks like the number of a person"
    more = {"identifiers": [], "quasi_identifiers": ["age", "patient_id"]}
    rules = policy(**more)
    made = fk.publish(visits(), rules)
    for found in (made.audit, fk.audit(visits(), rules), fk.audit(read(visits(), **more), rules)):
        assert found.scope.numbers == ("patient_id",)
        (note,) = [note for note in found.notes if note.startswith(said)]
        assert 'unit = "row" and person = "patient_id"' in note
    made.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").claimed_scope.numbers == ("patient_id",)
    for table, schema, numbers in (
        (visits(), {"unit": "row", "person": "patient_id"}, ()),
        (visits(), {"identifiers": [], "sensitive": "patient_id"}, ("patient_id",)),
        (visits(each=1), more, ()),
    ):
        assert fk.audit(table, policy(**schema)).scope.numbers == numbers


# ---- cases ---------------------------------------------------------------------------------------

# What is said of people where rows are cases: labels of the table, and what persons may have.
TOLD = re.compile(
    r"Sick person|and not a person: people may have several cases|be of one person|"
    r"of a person who has several|"
    r"releases of the same people|those of one person|names people|--people|--person|person="
)
TAGS = re.compile(r"(?s)<(script|style).*?</\1>|<[^>]*>")


def assert_cases(text):
    rest = TOLD.sub("", " ".join(text.split()))
    found = re.search(r".{0,60}\b(people|persons?)\b.{0,30}", rest, re.IGNORECASE)
    assert found is None, found[0]
    assert "cases" in rest


def printed(result):
    text = StringIO()
    Console(file=text, width=100).print(result)
    return text.getvalue()


@pytest.mark.complete
def test_reports_speak_of_cases(desk):
    pl.from_arrow(visits(each=5)).write_csv("visits.csv")
    rules = fk.Policy.from_dict(policy(unit="row"))
    rules.save(desk.folder / "p.toml")
    both = "visits.csv", "-p", "p.toml"
    desk.says("publish", *both, "-o", "out")
    for call in (["audit", *both], ["verify", "out"], ["risk", "out"]):
        said = desk.says(*call)
        assert "people may have several cases" in said
        assert_cases(said)
    for call in (
        ["evidence", "out", *both, "--queries", "5"],
        ["risk", *both],
        ["curves", "out", "--html", "c.html"],
        ["skyline", "out", "-c", "0.9"],
        ["skyline", "out", "-c", "0.9", "--value", "flu"],
        ["utility", "out", *both, "--html", "u.html"],
        ["learned", "out", *both, "--by", "age"],
    ):
        assert_cases(desk.says(*call))
    made = fk.publish("visits.csv", rules)
    for said in (fk.verify("out"), made.certificate):
        assert_cases(repr(said))
    assert_cases("\n".join(fk.audit("out", rules).notes))
    pages = ("out/report.html", "out.evidence.html", "c.html", "u.html")
    report, evidence, *others = ((desk.folder / page).read_text() for page in pages)
    for text in (report, evidence):
        for said in ("people may have several cases", "120 cases", "Sick person"):
            assert said in text
    for text in (report, *others):
        assert_cases(TAGS.sub(" ", text))
    assert "so none of these rows can be told" not in " ".join(evidence.split())
    assert "All of them may be those of one person" in " ".join(evidence.split())
    assert_cases(printed(fk.compare("visits.csv", rules, methods=["mondrian"], processes=0)))
    own = fk.Microdata("visits.csv", rules.schema)
    found = printed(fk.attack(own, fk.Mondrian(), rules, seconds=1))
    assert_cases(found)
    assert "120 cases" in found


def test_refusals_and_certificates_say_cases(tmp_path):
    rare = visits(people=40, each=1, age=[f"place {i}" for i in range(40)])
    refused(rare, "fewer than 4 cases each", unit="row")
    with pytest.raises(fk.NoSafeRelease) as error:
        fk.publish(visits(people=1, each=3, ill=["Sick person"] * 3), policy(unit="row"))
    assert_cases(str(error.value))
    assert "Sick person" in str(error.value)
    assert "120 people" in fk.publish(visits(), policy(identifiers=[])).audit.summary()
    fk.publish(visits(), policy(unit="row")).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    told = json.loads(path.read_text())
    assert told["scope"]["cases"] is True
    assert told["policy"]["schema"].pop("unit") == "row"
    path.write_text(json.dumps(told))
    with pytest.raises(fk.ForeknowError, match=r"cases"):
        fk.verify(tmp_path / "out")
    for more, said in (
        ({"person": "id", "unit": "row", "semantics": "set"}, "each row is a case of 'id'"),
        ({"unit": "rows"}, "'row'"),
    ):
        with pytest.raises(fk.InputError, match=said):
            fk.Schema(sensitive="ill", quasi_identifiers=["age"], **more)


# ---- a first policy ------------------------------------------------------------------------------


def test_init_finds_repeated_people():
    table = visits(people=12, each=40)  # 12 numbers in 480 rows
    found = fk.suggest_policy(table)
    assert found.repeated == ("patient_id",)
    assert "can be published as it is" not in found.to_toml()
    assert 'unit = "row"\nperson = "patient_id"\n' in found.to_toml()
    with pytest.raises(fk.NoSafeRelease):  # nobody's 40 rows together
        fk.publish(table, found.policy)
    assert "can be published as it is" in fk.suggest_policy(visits(each=1)).to_toml()
    # Names that only together name somebody need no role.
    names = {"last_name": [f"L{i % 11}" for i in range(120)]}
    names["first_name"] = [f"F{i // 11}" for i in range(120)]
    found = fk.suggest_policy(visits(people=120, each=1, **names))
    assert not found.repeated
    assert not {*names} & {*found.policy.schema.identifiers}
    # Dates of birth but for one are no numbers of people.
    born = [f"{i % 28 + 1:02d}.03.{1900 + i % 97}" for i in range(2716)]
    table = visits(people=2718, each=1, geb=[*born, "00.00.1961", born[0]])
    found = fk.suggest_policy(table, sensitive="ill")
    assert not found.repeated
    assert "geb" not in found.policy.schema.columns
    assert "nearly all of its values read as dates" in found.to_toml()


# ---- households, and other releases -------------------------------------------------------------


@pytest.mark.complete
@pytest.mark.parametrize(
    ("name", "how"), [("household_id", "arrow"), ("hid", "csv"), ("Anschrift", "arrow")]
)
def test_rarely_shared_columns_are_named(name, how, tmp_path):
    table = visits(120, 1, **{name: [f"H{i // 3:03d}" for i in range(120)]})
    table = written(table, tmp_path, how)
    said = f"People who share {name}: most of its values are those of two to nine rows."
    made = fk.publish(table, policy())
    for notes in (made.audit.notes, fk.audit(table, policy()).notes):
        assert any(note.startswith(said) for note in notes)
    suggested = fk.suggest_policy(table, sensitive="ill")
    assert f"share a value of {name}" in suggested.to_toml()
    assert suggested.policy.requirements[0].points[0].adversary.m == 2  # of three who live there
    # What has no role is not named in what is published.
    made.write(tmp_path / "out")
    report, told = ((tmp_path / "out" / f).read_text() for f in ("report.html", "certificate.json"))
    assert f"share {name}" not in report
    assert f'"{name}"' not in told
    assert "a column that is not published" in report
    assert fk.verify(tmp_path / "out").claimed_scope.shared == ("",)
    other = "Other releases of the same people"
    assert sum(note.startswith(other) for note in made.audit.notes) == 1
    assert other in report
    rules = fk.Policy([fk.Requirement(fk.Facts(), below=0.9)])
    notes = fk.audit(fk.GroupCounts.from_bags([["a", "b"]]), rules).notes
    assert any(note.startswith(other) for note in notes)


def test_columns_that_are_no_households():
    more = {
        "ward": [f"W{i % 5}" for i in range(120)],
        "number": [f"N{i}" for i in range(120)],
        "charges": [f"{i // 3}.50" for i in range(120)],
        "born": [f"{i // 3 % 28 + 1:02d}.03.19{i // 3 % 90:02d}" for i in range(120)],
    }
    assert fk.audit(visits(120, 1, **more), policy()).scope.shared == ()


# ---- what is looked at in the reading that is made anyway ---------------------------------------


@pytest.fixture
def asked(monkeypatch):
    """A CSV file is large here; what its engine is asked to count is noted."""
    monkeypatch.setattr(units, "_LARGE", 1)
    asked = []
    for name in ("distinct", "sampled"):
        own = getattr(DuckTable, name)

        def noted(self, what, *more, own=own, name=name):
            asked.append(name)
            return own(self, what, *more)

        monkeypatch.setattr(DuckTable, name, noted)
    return asked


def large(folder, each, missing="", **more):
    """A CSV file of 6000 people, `each` of a household."""
    n = 6000
    table = {
        "patient_id": [missing if i % 7 == 3 else f"P{i * 37 % n}" for i in range(n)],
        "household": [f"H{i * 11 % n // each}" for i in range(n)],
        "age": [str(20 + i % 6) for i in range(n)],
        "ill": [ILLS[(i + i // 7) % 4] for i in range(n)],
    }
    pl.DataFrame(table | more).write_csv(folder / "large.csv")
    return folder / "large.csv"


@pytest.mark.parametrize("each", [1, 3, 40])
def test_csv_is_read_once(each, tmp_path, asked):
    path = large(tmp_path, each)
    microdata = read(path)
    assert (microdata.n_people, asked) == (6000, [])
    assert microdata.shared == (("household",) if each == 3 else ())
    assert read(pl.read_csv(path).to_arrow()).shared == microdata.shared


@pytest.mark.parametrize("missing", ["", "NA"])
def test_repeated_identifiers_in_one_reading(missing, tmp_path, asked):
    path, reading = large(tmp_path, 3, missing), {"missing": ["NA"]}
    assert read(path, reading=reading).n_people == 6000
    frame = pl.read_csv(path, infer_schema=False)
    numbers = frame["patient_id"].to_list()
    numbers[5000] = "P185"
    frame.with_columns(pl.Series("patient_id", numbers)).write_csv(path)
    with pytest.raises(fk.InputError, match="'P185'"):
        _ = read(path, reading=reading).n_people


def test_missing_spellings_hide_no_household(tmp_path, asked, monkeypatch):
    monkeypatch.setattr(units, "_OF_LARGE", 1)
    homes = [i * 11 % 6000 // 3 for i in range(6000)]
    path = large(tmp_path, 3, household=["NA" if i % 10 < 6 else f"H{i}" for i in homes])
    microdata = read(path, reading={"missing": ["NA"]})
    assert (microdata.n_people, microdata.shared) == (6000, ("household",))
