"""A first policy: it parses, is kept, and every comment of it is counted again here."""

import csv
import datetime as dt
import re
import tomllib
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow import sample
from foreknow.cli import main

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
    assert (roles["name"], roles["diagnosis"], roles["ward"], roles["charges"]) == (
        "identifier",
        "sensitive",
        "undecided",
        "undecided",
    )
    assert found.to_dict()["columns"][0]["name"] == "name"
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


@pytest.mark.parametrize("name", ["subject_id", "Pupil"])
def test_a_number_of_a_person_that_repeats_is_asked_about(name):
    found = fk.suggest_policy(pa.table(people(**{name: [f"n{i // 2}" for i in range(120)]})))
    assert any(q.startswith(f"{name}: it repeats, so a row is not") for q in found.questions)
    assert found.repeated == (name,)
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
