"""Units: whether a row is a person; where it is not, everything is said of cases."""

import json
import re

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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


def toml(**schema):
    own = policy(**schema)["schema"]
    lines = [f"{key} = {json.dumps(given)}" for key, given in own.items()]
    return "\n".join(
        ["[schema]", *lines, "[[require]]", "facts = { l = 0, k = 1 }", "below = 0.9"]
        + ["[[require]]", "k_anonymity = 4", ""]
    )


# ---- an identifier that repeats -----------------------------------------------------------------


@pytest.fixture(params=["arrow", "polars", "csv", "parquet", "duckdb"])
def source(request, tmp_path):
    table = visits()
    if request.param == "arrow":
        return table
    if request.param == "polars":
        return pl.from_arrow(table)
    if request.param == "duckdb":
        return duckdb.connect().from_arrow(table)
    path = tmp_path / f"visits.{request.param}"
    pq.write_table(table, path) if request.param == "parquet" else pl.from_arrow(table).write_csv(
        path
    )
    return path


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_an_identifier_that_repeats_is_refused_with_the_ways_out(source, engine):
    with pytest.raises(fk.InputError) as error:
        fk.publish(source, policy(), engine=engine)
    said = str(error.value)
    assert "'patient_id' repeats: 'P0' is in rows 1 and 2, and 120 rows have 24" in said
    for way in (
        "one row for each person",
        'person = "patient_id"',
        '"set" or "multiset"',
        'unit = "row"',
    ):
        assert way in said


def test_an_audit_a_risk_report_and_evidence_refuse_it_too(tmp_path):
    for ask in (
        lambda: fk.audit(visits(), policy()),
        lambda: fk.audit(fk.Microdata(visits(), **policy()["schema"]), policy()),
        lambda: fk.risk_report(visits(), policy=policy()),
        lambda: fk.Microdata(visits(), **policy()["schema"]).n_people,
    ):
        with pytest.raises(fk.InputError, match=r"a row is not a person"):
            ask()
    fk.publish(visits(), policy(unit="row")).write(tmp_path / "out")
    with pytest.raises(fk.InputError, match=r"a row is not a person|unit"):
        fk.evidence_report(tmp_path / "out", visits(), policy(), queries=5)


def test_the_explorer_refuses_it_too(tmp_path):
    session = pytest.importorskip("foreknow.explore.session")
    pl.from_arrow(visits()).write_csv(tmp_path / "visits.csv")
    (tmp_path / "p.toml").write_text(toml())
    own = session.Session(tmp_path, tmp_path / "visits.csv", tmp_path / "p.toml")
    with pytest.raises(fk.InputError, match=r"a row is not a person"):
        own.looked(None)


def test_missing_identifiers_are_no_repeats(tmp_path):
    names = [None if i % 3 else f"N{i}" for i in range(120)]
    table = visits(patient_id=names)
    assert fk.publish(table, policy()).audit.safe
    pl.from_arrow(table).write_csv(tmp_path / "t.csv")
    assert fk.publish(tmp_path / "t.csv", policy(), engine="duckdb").audit.safe
    numbers = [float("nan") if i % 3 else float(i) for i in range(120)]
    assert fk.publish(visits(patient_id=numbers), policy()).audit.safe
    names[7] = names[6] = "twice"
    with pytest.raises(fk.InputError, match="'twice'"):
        fk.publish(visits(patient_id=names), policy())


def test_every_identifier_is_looked_at():
    with pytest.raises(fk.InputError, match=r"'patient_id' repeats"):
        fk.publish(visits(), policy(identifiers=["visit_id", "patient_id"]))
    assert fk.publish(visits(), policy(identifiers=["visit_id"])).audit.safe


@pytest.mark.parametrize("how", ["arrow", "csv"])
def test_two_people_have_one_name(how, tmp_path):
    names = [f"N{i}" for i in range(119)] + ["N7"]
    table = visits(120, 1, name=names, id=[*range(120)])
    if how == "csv":
        pl.from_arrow(table).write_csv(tmp_path / "t.csv")
        table = tmp_path / "t.csv"
    assert fk.publish(table, policy(identifiers=["patient_id", "name"])).audit.safe
    assert fk.audit(table, policy(identifiers=["name", "patient_id"])).verdicts
    for others in (["id", "name"], ["visit_id", "name"]):  # which may number rows
        with pytest.raises(fk.InputError, match=f'say person = "{others[0]}" in') as error:
            fk.publish(table, policy(identifiers=others))
        assert 'person = "name"' not in str(error.value)
        assert fk.publish(table, policy(identifiers=others, person=others[0])).audit.safe
        assert fk.publish(table, policy(identifiers=others[:1])).audit.safe


@pytest.mark.parametrize("name", ["Patient", "name", "person", "Kunde"])
@pytest.mark.parametrize("how", ["arrow", "csv", "large csv", "duckdb"])
def test_two_people_have_one_name_whatever_it_is_called(name, how, tmp_path, monkeypatch):
    names = [f"Ernst, Anna {i}" for i in range(119)] + ["Ernst, Anna 7"]
    table = visits(120, 1, **{name: names}, case=[*range(120)])
    if how == "duckdb":
        table = duckdb.connect().from_arrow(table)
    elif how != "arrow":
        pl.from_arrow(table).write_csv(tmp_path / "t.csv")
        table = tmp_path / "t.csv"
    if how == "large csv":
        monkeypatch.setattr(units, "_LARGE", 1)
    with pytest.raises(fk.InputError, match=f"'{name}' repeats") as error:
        fk.publish(table, policy(identifiers=[name]))
    assert 'say person = "NUMBER" in [schema], if a column NUMBER has' in str(error.value)
    with pytest.raises(fk.InputError, match=f"'{name}' repeats") as error:
        fk.publish(table, policy(identifiers=[name, "case"]))
    assert 'say person = "case" in [schema], if each of these is another' in str(error.value)
    for identifiers in ([name], [name, "case"]):
        rules = policy(identifiers=identifiers, person="case")
        assert fk.publish(table, rules).audit.safe
        assert fk.audit(table, rules).verdicts


@pytest.mark.parametrize("name", ["Patient", "patient_id", "id"])
def test_the_number_of_a_person_is_not_that_of_two(name):
    numbers = [1000 + i for i in range(119)] + [1007]
    table = visits(120, 1).drop_columns("patient_id").append_column(name, pa.array(numbers))
    with pytest.raises(fk.InputError, match=f"'{name}' repeats") as error:
        fk.publish(table, policy(identifiers=[name], person="visit_id"))
    assert f'say person = "{name}" with semantics' in str(error.value)
    assert 'person = "visit_id"' not in str(error.value)
    coded = pa.array([*map("P{}".format, numbers[:-2]), "unknown", "P1007"])
    table = table.set_column(table.column_names.index(name), name, coded)
    with pytest.raises(fk.InputError, match=f"'{name}' repeats"):
        fk.publish(table, policy(identifiers=[name], person="visit_id"))


def test_a_number_must_be_in_each_row():
    names = [f"N{i}" for i in range(119)] + ["N7"]
    numbers = [f"P{i}" for i in range(119)] + [None]
    table = visits(120, 1, name=names).set_column(0, "patient_id", pa.array(numbers))
    with pytest.raises(fk.InputError, match="'name' repeats"):
        fk.publish(table, policy(identifiers=["patient_id", "name"]))
    with pytest.raises(fk.InputError, match="'patient_id' repeats"):
        fk.publish(visits(), policy(identifiers=["visit_id", "patient_id"], person="visit_id"))


def test_a_published_number_is_noted(tmp_path):
    said = "patient_id is published, and looks like the number of a person"
    rules = policy(identifiers=[], quasi_identifiers=["age", "patient_id"])
    made = fk.publish(visits(), rules)
    assert made.audit.scope.numbers == fk.audit(visits(), rules).scope.numbers == ("patient_id",)
    for found in (
        made.audit,
        fk.audit(visits(), rules),
        fk.audit(fk.Microdata(visits(), **rules["schema"]), rules),
    ):
        (note,) = [note for note in found.notes if note.startswith(said)]
        assert 'unit = "row" and person = "patient_id"' in note
    made.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").claimed_scope.numbers == ("patient_id",)
    typed = policy(unit="row", person="patient_id")
    assert fk.audit(visits(), typed).scope.numbers == ()
    hidden = policy(identifiers=[], sensitive="patient_id")
    assert fk.audit(visits(), hidden).scope.numbers == ("patient_id",)
    assert fk.audit(visits(each=1), rules).scope.numbers == ()


def test_where_people_have_several_rows_an_identifier_is_of_one_of_them():
    several = {"person": "patient_id", "semantics": "multiset"}
    same = visits(name=[f"n{i // 5}" for i in range(120)])
    fk.Microdata(same, **policy(**several, identifiers=["name"])["schema"]).everyone()
    odd = {**several, "person": "visit_id", "identifiers": ["patient_id"]}
    with pytest.raises(fk.InputError, match="'visit_id'"):
        fk.Microdata(visits(), **policy(**odd)["schema"]).everyone()


def test_cases_have_one_value_each():
    with pytest.raises(fk.InputError, match=r"each row is a case of 'patient_id'"):
        fk.Schema(
            sensitive="ill",
            quasi_identifiers=["age"],
            person="patient_id",
            unit="row",
            semantics="set",
        )
    with pytest.raises(fk.InputError, match="'row'"):
        fk.Schema(sensitive="ill", quasi_identifiers=["age"], unit="rows")


# ---- cases ---------------------------------------------------------------------------------------

# What is said of people where rows are cases: labels of the table, and what persons may have.
TOLD = re.compile(
    r"Sick person|and not a person: people may have several cases|be of one person|"
    r"of a person who has several|"
    r"releases of the same people|those of one person|names people|--people|--person|person="
)


def assert_cases(text):
    rest = TOLD.sub("", " ".join(text.split()))
    found = re.search(r".{0,60}\b(people|persons?)\b.{0,30}", rest, re.IGNORECASE)
    assert found is None, found[0]
    assert "cases" in rest


@pytest.mark.complete
def test_everything_is_said_of_cases(tmp_path, monkeypatch, capsys):
    from tests.cli.desk import Desk

    monkeypatch.chdir(tmp_path)
    desk = Desk(tmp_path, monkeypatch, capsys)
    pl.from_arrow(visits()).write_csv("visits.csv")
    desk.put("p.toml", toml(unit="row"))
    for said in (
        desk.says("publish", "visits.csv", "-p", "p.toml", "-o", "out"),
        desk.says("verify", "out"),
        desk.says("audit", "visits.csv", "-p", "p.toml"),
        desk.says("evidence", "out", "visits.csv", "-p", "p.toml", "--queries", "5"),
        desk.says("risk", "out"),
        desk.says("risk", "visits.csv", "-p", "p.toml"),
        repr(fk.verify("out")),
        repr(fk.publish("visits.csv", "p.toml").certificate),
        "\n".join(fk.audit("out", fk.Policy.load("p.toml")).notes),
    ):
        assert_cases(said)
    for page in ("out/report.html", "out.evidence.html"):
        text = (tmp_path / page).read_text()
        assert "people may have several cases" in text
        assert "120 cases" in text
        assert "Sick person" in text
    for said in (
        desk.says("audit", "visits.csv", "-p", "p.toml"),
        desk.says("verify", "out"),
        desk.says("risk", "out"),
    ):
        assert "people may have several cases" in " ".join(said.split())
    report = re.sub(r"<[^>]*>", " ", (tmp_path / "out/report.html").read_text())
    assert_cases(report)
    said = " ".join((tmp_path / "out.evidence.html").read_text().split())
    assert "so none of these rows can be told" not in said
    assert "All of them may be those of one person" in said


def test_the_certificate_says_the_unit_and_a_changed_one_is_found(tmp_path):
    fk.publish(visits(), policy(unit="row")).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    told = json.loads(path.read_text())
    assert told["policy"]["schema"]["unit"] == "row"
    assert told["scope"]["cases"] is True
    del told["policy"]["schema"]["unit"]
    path.write_text(json.dumps(told))
    with pytest.raises(fk.ForeknowError, match=r"cases"):
        fk.verify(tmp_path / "out")


def test_people_stay_people():
    assert "120 people" in fk.publish(visits(), policy(identifiers=[])).audit.summary()


# ---- init ----------------------------------------------------------------------------------------


def test_init_does_not_say_that_such_a_table_can_be_published():
    found = fk.suggest_policy(visits(people=12, each=40))  # 12 numbers in 480 rows
    assert found.repeated == ("patient_id",)
    text = found.to_toml()
    assert "can be published as it is" not in text
    assert 'unit = "row"\nperson = "patient_id"\n' in text
    with pytest.raises(fk.NoSafeRelease):  # nobody's 40 rows together
        fk.publish(visits(people=12, each=40), found.policy)
    fine = fk.suggest_policy(visits(each=1))
    assert "can be published as it is" in fine.to_toml()


def test_names_that_only_together_name_somebody_need_no_role():
    names = {
        "last_name": [f"L{i % 11}" for i in range(120)],
        "first_name": [f"F{i // 11}" for i in range(120)],
    }
    found = fk.suggest_policy(visits(people=120, each=1, **names))
    assert not found.repeated
    assert not {*names} & {*found.policy.schema.identifiers}


# ---- households, and other releases -------------------------------------------------------------


@pytest.mark.thinned(2)
@pytest.mark.complete
@pytest.mark.parametrize("name", ["household_id", "hid", "Anschrift"])
@pytest.mark.parametrize("how", ["arrow", "csv"])
def test_a_column_that_a_few_rows_share_is_named(name, how, tmp_path):
    table = visits(120, 1, **{name: [f"H{i // 3:03d}" for i in range(120)]})
    if how == "csv":
        pl.from_arrow(table).write_csv(tmp_path / "t.csv")
        table = tmp_path / "t.csv"
    said = f"People who share {name}: most of its values are those of two to nine rows."
    made = fk.publish(table, policy())
    assert any(note.startswith(said) for note in made.audit.notes)
    assert any(note.startswith(said) for note in fk.audit(table, policy()).notes)
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


def test_columns_that_many_share_or_nobody_are_no_households():
    more = {
        "ward": [f"W{i % 5}" for i in range(120)],
        "number": [f"N{i}" for i in range(120)],
        "charges": [f"{i // 3}.50" for i in range(120)],
        "born": [f"{i // 3 % 28 + 1:02d}.03.19{i // 3 % 90:02d}" for i in range(120)],
    }
    assert fk.audit(visits(120, 1, **more), policy()).scope.shared == ()


@pytest.mark.complete
def test_other_releases_of_the_same_people_are_always_named(tmp_path):
    made = fk.publish(visits(each=1, people=120), policy())
    made.write(tmp_path / "out")
    said = "Other releases of the same people"
    assert sum(note.startswith(said) for note in made.audit.notes) == 1
    assert said in (tmp_path / "out" / "report.html").read_text()
    bags = fk.GroupCounts.from_bags([["a", "b"]])
    rules = fk.Policy([fk.Requirement(fk.Facts(), below=0.9)])
    assert any(note.startswith(said) for note in fk.audit(bags, rules).notes)


# ---- what is looked at in the reading that is made anyway ---------------------------------------


@pytest.fixture
def counts_nothing(monkeypatch):
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


def large(tmp_path, each, missing="", **more):
    """A CSV file of 6000 people, `each` of a household."""
    n = 6000
    table = {
        "patient_id": [missing if i % 7 == 3 else f"P{i * 37 % n}" for i in range(n)],
        "household": [f"H{i * 11 % n // each}" for i in range(n)],
        "age": [str(20 + i % 6) for i in range(n)],
        "ill": [ILLS[(i + i // 7) % 4] for i in range(n)],
        **more,
    }
    path = tmp_path / "large.csv"
    pl.DataFrame(table).write_csv(path)
    return path


@pytest.mark.parametrize("each", [1, 3, 40])
def test_a_csv_file_is_read_once_for_identifiers_and_households(each, tmp_path, counts_nothing):
    path = large(tmp_path, each)
    microdata = fk.Microdata(path, fk.Schema(**policy()["schema"]))
    assert microdata.n_people == 6000
    assert microdata.shared == (("household",) if each == 3 else ())
    assert counts_nothing == []
    table = fk.Microdata(pl.read_csv(path).to_arrow(), microdata.schema)
    assert table.shared == microdata.shared


@pytest.mark.parametrize("missing", ["", "NA"])
def test_identifiers_that_repeat_are_still_found_in_one_reading(missing, tmp_path, counts_nothing):
    path = large(tmp_path, 3, missing)
    schema = fk.Schema(**policy(reading={"missing": ["NA"]})["schema"])
    assert fk.Microdata(path, schema).n_people == 6000
    again = pl.read_csv(path, infer_schema=False).with_columns(
        patient_id=pl.when(pl.int_range(pl.len()) == 5000)
        .then(pl.lit("P185"))
        .otherwise(pl.col("patient_id"))
    )
    again.write_csv(path)
    with pytest.raises(fk.InputError, match="'P185'"):
        _ = fk.Microdata(path, schema).n_people


def test_a_spelling_of_what_is_missing_hides_no_household(tmp_path, counts_nothing, monkeypatch):
    monkeypatch.setattr(units, "_OF_LARGE", 1)
    homes = [f"H{i * 11 % 6000 // 3}" for i in range(6000)]
    homes = ["NA" if int(home[1:]) % 10 < 6 else home for home in homes]
    path = large(tmp_path, 3, household=homes)
    schema = fk.Schema(**policy(reading={"missing": ["NA"]})["schema"])
    microdata = fk.Microdata(path, schema)
    assert microdata.n_people == 6000
    assert microdata.shared == ("household",)


def test_every_page_of_a_release_of_cases_says_cases(tmp_path, monkeypatch, capsys):
    from tests.cli.desk import Desk

    monkeypatch.chdir(tmp_path)
    desk = Desk(tmp_path, monkeypatch, capsys)
    pl.from_arrow(visits(people=120, each=3)).write_csv("visits.csv")
    desk.put("p.toml", toml(unit="row"))
    desk.says("publish", "visits.csv", "-p", "p.toml", "-o", "out")
    for said in (
        desk.says("curves", "out", "--html", "c.html"),
        desk.says("skyline", "out", "-c", "0.9"),
        desk.says("skyline", "out", "-c", "0.9", "--value", "flu"),
        desk.says("utility", "out", "visits.csv", "-p", "p.toml", "--html", "u.html"),
        desk.says("learned", "out", "visits.csv", "-p", "p.toml", "--by", "age"),
    ):
        assert_cases(said)
    for page in ("c.html", "u.html"):
        assert_cases(
            re.sub(r"(?s)<(script|style).*?</\1>|<[^>]*>", " ", (tmp_path / page).read_text())
        )
    rules = fk.Policy.load("p.toml")
    assert_cases(str_of(fk.compare("visits.csv", rules, methods=["mondrian"], processes=0)))
    own = fk.Microdata("visits.csv", fk.Policy.load("p.toml").schema)
    found = fk.attack(own, fk.Mondrian(), fk.Policy.load("p.toml"), seconds=1)
    assert_cases(str_of(found))
    assert "360 cases" in str_of(found)


def str_of(result):
    from io import StringIO

    from rich.console import Console

    text = StringIO()
    Console(file=text, width=100).print(result)
    return text.getvalue()


def test_a_refusal_counts_cases_too():
    rare = visits(people=40, each=1, age=[f"place {i}" for i in range(40)])
    with pytest.raises(fk.InputError, match="fewer than 4 cases each"):
        fk.publish(rare, policy(unit="row"))
    with pytest.raises(fk.NoSafeRelease) as error:
        fk.publish(visits(people=1, each=3, ill=["Sick person"] * 3), policy(unit="row"))
    assert_cases(str(error.value))
    assert "Sick person" in str(error.value)


def test_dates_of_birth_but_for_one_are_no_numbers_of_people():
    born = [f"{i % 28 + 1:02d}.03.{1900 + i % 97}" for i in range(2716)]
    born += ["00.00.1961", born[0]]
    found = fk.suggest_policy(visits(people=2718, each=1, geb=born), sensitive="ill")
    assert not found.repeated
    assert "geb" not in found.policy.schema.columns
    assert "nearly all of its values read as dates" in found.to_toml()
