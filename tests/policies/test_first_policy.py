"""A first policy sees hierarchy files, names of people by their looks, and what columns cost."""

import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from tests.policies.test_way_out import deaths

import foreknow as fk
from foreknow.data.engines.personal import looks_personal
from foreknow.explore.session import Session

GIVEN, LAST = map(
    str.split,
    (
        "Anna Peter Hans Ursula Klaus Mehmet Olga Sven Thea Ali Fritz Maria",
        "Huber Yilmaz Novak Schmidt Kim Petrov Maier Vogt Lutz Brandt",
    ),
)


def visits(many=600, seed=1, **more):
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


def suggested(table, **how):
    return fk.suggest_policy(table, **{"sensitive": "ill", **how})


@pytest.fixture
def csv(tmp_path):
    """The path of a table of visits, and files beside it: by name, their lines."""

    def written(columns=None, **files):
        pl.DataFrame(columns or visits()).write_csv(tmp_path / "t.csv")
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
    rest = f"{number:018d}"
    return f"DE{98 - int(rest + '131400') % 97:02d}{rest}"


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
    table = pa.table(visits(len(values), info=values))
    found = suggested(table)
    assert column(found, "info").role == "identifier"
    assert f"its values look like {what}: " in found.to_toml()
    assert found.policy.schema.identifiers == ("info",)
    assert fk.publish(table, found.policy).audit.safe


def test_names_that_several_have():
    table = pa.table(visits(600, doctor=[f"{g} {n}" for g in GIVEN for n in LAST] * 5))
    found = suggested(table)
    assert column(found, "doctor").role == "undecided"
    assert "look like names of people" in column(found, "doctor").reason
    assert not found.repeated
    assert fk.publish(table, found.policy).audit.safe
    cities = ["Helmut", "Martina", "Petra", "Anna", "Maria", "Jan", "Karl", "Lea", "Uwe", "Finn"]
    found = suggested(pa.table(visits(600, city=cities * 60)))  # a city may be called so
    assert column(found, "city").role == "quasi-identifier"


# ---- hierarchy files ----------------------------------------------------------------------------


JOBS = "cook;food;*\nnurse;health;*\nclerk;office;*\nsmith;craft;*\nvet;health;*\n"


@pytest.mark.parametrize("name", ["t_hierarchy_job", "t_int_hierarchy_JOB", "jobs"])
def test_a_hierarchy_file_is_taken(name, csv, tmp_path):
    others = {"people": "name,job\nAnn,cook\nBob,cook\n", "x_hierarchy_sex": "f;*\nm;*\n"}
    table = csv(**{name: JOBS}, **others)
    found = suggested(table)
    assert column(found, "job").hierarchy == {"file": f"{name}.csv"}
    assert column(found, "sex").hierarchy is None  # it is of another table
    assert fk.publish(table, found.policy).audit.safe
    (tmp_path / "deep").mkdir()
    policy = tmp_path / "deep" / "policy.toml"
    found.write(policy)
    assert f'job = {{ file = "../{name}.csv" }}' in policy.read_text()
    labels = {*fk.publish(table, policy).to_arrow()["job"].to_pylist()}
    assert labels <= {"cook", "nurse", "clerk", "smith", "vet", "health", "*"}


def test_files_that_do_not_fit(csv, tmp_path):
    lacking = {"t_hierarchy_job": JOBS.replace("vet;health;*\n", ""), "t_hierarchy_sex": "f\nm\n"}
    table = csv(**lacking)
    found = suggested(table)
    assert column(found, "job").hierarchy is None
    said = "t_hierarchy_job.csv beside the table does not list all of its values"
    assert said in str(found.questions)
    assert "t_hierarchy_sex.csv" in column(found, "sex").question
    assert fk.publish(table, found.policy).audit.safe
    for name in lacking:
        (tmp_path / f"{name}.csv").unlink()
    for others, taken in ((5, True), (6, False)):  # hardly any other values
        more = "".join(f"job{i};other;*\n" for i in range(others))
        found = suggested(csv(jobs=JOBS + more))
        assert (column(found, "job").hierarchy == {"file": "jobs.csv"}) == taken
    twice = visits()
    twice["job2"] = twice["job"]
    found = suggested(csv(twice, jobs=JOBS))  # which fits two columns, and is of none
    assert not any(one.hierarchy == {"file": "jobs.csv"} for one in found.columns)


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_the_explorer_finds_hierarchy_files(where, tmp_path):
    place = tmp_path / ("inside/data" if where == "inside" else "outside")
    (tmp_path / "inside").mkdir()
    place.mkdir(parents=True)
    pl.DataFrame(visits()).write_csv(place / "t.csv")
    (place / "t_hierarchy_job.csv").write_text(JOBS)
    session = Session(tmp_path / "inside", place / "t.csv")
    draft = session.draft(session.first)
    assert "t_hierarchy_job.csv" in draft.text
    assert "job" in draft.policy.schema.hierarchies


# ---- ranges, or a hierarchy ---------------------------------------------------------------------


# ---- what columns cost --------------------------------------------------------------------------


def test_what_gives_the_secret_away():
    roles = {"sensitive": "injury", "quasi_identifiers": ["month", "race", "sex"]}
    found = fk.suggest_policy(deaths(), **roles)
    month, race, rest = found.costs
    assert rest.startswith("Leaving out 'month' and 'race' would keep no more of the other columns")
    assert month.startswith(
        "DECIDE: 'month' gives 'injury' away: somebody who knows it, and nothing"
    )
    assert race.startswith("DECIDE: 'race' gives 'injury' away")
    assert month in wrapped(found.to_toml())
    decide = len(found.questions) + sum(n.startswith("DECIDE") for n in found.notes)
    assert f"# {decide + 2} things need your decision" in found.to_toml()
    assert fk.suggest_policy(deaths(), **roles).to_toml() == found.to_toml()
    roles["quasi_identifiers"] = ["sex", "age"]
    assert fk.suggest_policy(deaths(), **roles).costs == ()


def test_where_decoy_serves():
    table = pa.table(visits())
    text = suggested(table).to_toml()
    assert 'Where readers may be such adversaries: method = "decoy"' in wrapped(text)
    policy = tomllib.loads(text)
    policy["publish"]["method"] = "decoy"
    assert fk.publish(table, policy).certificate.scope["method"] == "as required"
    income = np.random.default_rng(7).integers(1000, 9000, 600).tolist()
    found = suggested(pa.table(visits(income=income)), sensitive="income")
    (near,) = [rule for rule in found.policy.requirements if rule.points]
    assert near.within is not None
    assert near.points[0].adversary.m
    assert "decoy" not in found.to_toml()


ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult.csv"


@pytest.mark.skipif(not ADULT.exists(), reason=f"there is no {ADULT.name} beside the repository")
def test_adult_takes_ranges():
    found = fk.suggest_policy(ADULT)
    assert column(found, "age").left_out == {"intervals": [5, 10, 50]}
    assert found.costs == ()
