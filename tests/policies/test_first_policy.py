"""A first policy sees hierarchy files, names of people by their looks, and what columns cost."""

import re
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from tests.policies.test_way_out import FARS, deaths

import foreknow as fk
from foreknow.data.engines.personal import looks_personal
from foreknow.explore.session import Session

GIVEN = [
    "Anna",
    "Peter",
    "Hans",
    "Ursula",
    "Klaus",
    "Mehmet",
    "Olga",
    "Sven",
    "Thea",
    "Ali",
    "Fritz",
    "Maria",
]
LAST = ["Huber", "Yilmaz", "Novak", "Schmidt", "Kim", "Petrov", "Maier", "Vogt", "Lutz", "Brandt"]


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
    (own,) = [each for each in found.columns if each.name == name]
    return own


def wrapped(text):
    return text.replace("\n# ", " ")


# ---- names, addresses and numbers by their looks ------------------------------------------------


def with_check(digits, check):
    """A number with the last digit with which its check holds."""
    return next(f"{digits}{d}" for d in range(10) if check([*map(int, f"{digits}{d}")]))


def luhn(found):
    return (
        sum(d if i % 2 else (2 * d - 9 if d > 4 else 2 * d) for i, d in enumerate(found)) % 10 == 0
    )


def pesel(found):
    return (
        sum(d * w for d, w in zip(found, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1), strict=True)) % 10 == 0
    )


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
        [
            "New York",
            "Los Angeles",
            "Florence",
            "Paris",
            "Dresden",
            "Berlin",
            "Rome",
            "San Jose",
            "St. Martin",
            "Bonn",
        ],
        [f"{a}{i}.{j}" for a in "ABC" for i in range(10, 20) for j in range(5)],
        [i / 7 for i in range(50)],
        ["Anna Schmidt", "Peter Kim"],
    ],
}


@pytest.mark.parametrize(
    ("what", "values"), [(what, values) for what, lists in LOOKS.items() for values in lists]
)
def test_values_that_name_people_are_told_by_their_looks(what, values):
    assert looks_personal(sorted(values)) == what


@pytest.mark.parametrize("what", [what for what in LOOKS if what])
def test_what_looks_personal_is_an_identifier_with_its_reason(what):
    values = [*dict.fromkeys(LOOKS[what][0])][:60]
    found = fk.suggest_policy(pa.table(visits(len(values), info=values)), sensitive="ill")
    assert column(found, "info").role == "identifier"
    assert f"its values look like {what}: " in found.to_toml()
    assert found.policy.schema.identifiers == ("info",)
    assert fk.publish(pa.table(visits(len(values), info=values)), found.policy).audit.safe


def test_a_name_that_several_have_names_nobody_by_itself_and_is_not_published():
    names = [f"{g} {n}" for g in GIVEN for n in LAST]
    table = pa.table(visits(600, doctor=names * 5))
    found = fk.suggest_policy(table, sensitive="ill")
    assert column(found, "doctor").role == "undecided"
    assert "look like names of people" in column(found, "doctor").reason
    assert not found.repeated
    assert fk.publish(table, found.policy).audit.safe


def test_a_city_may_be_called_like_somebody():
    cities = ["Helmut", "Martina", "Petra", "Anna", "Maria", "Jan", "Karl", "Lea", "Uwe", "Finn"]
    found = fk.suggest_policy(pa.table(visits(600, city=cities * 60)), sensitive="ill")
    assert column(found, "city").role == "quasi-identifier"


# ---- hierarchy files ----------------------------------------------------------------------------


def ages(step=10):
    return "".join(
        f"{a};{a // step * step} to {a // step * step + step - 1};*\n" for a in range(101)
    )


JOBS = "cook;food;*\nnurse;health;*\nclerk;office;*\nsmith;craft;*\nvet;health;*\n"


@pytest.mark.parametrize("name", ["t_hierarchy_job.csv", "t_int_hierarchy_JOB.csv", "jobs.csv"])
def test_a_hierarchy_file_beside_the_table_is_taken(name, tmp_path):
    pl.DataFrame(visits()).write_csv(tmp_path / "t.csv")
    (tmp_path / name).write_text(JOBS)
    (tmp_path / "people.csv").write_text("name,job\nAnn,cook\nBob,cook\n")
    (tmp_path / "x_hierarchy_sex.csv").write_text("f;*\nm;*\n")  # of another table
    found = fk.suggest_policy(tmp_path / "t.csv", sensitive="ill")
    assert column(found, "job").hierarchy == {"file": name}
    assert column(found, "sex").hierarchy is None
    (tmp_path / "deep").mkdir()
    found.write(tmp_path / "deep" / "policy.toml")
    assert f'job = {{ file = "../{name}" }}' in (tmp_path / "deep" / "policy.toml").read_text()
    made = fk.publish(tmp_path / "t.csv", tmp_path / "deep" / "policy.toml")
    assert set(made.to_arrow()["job"].to_pylist()) <= {
        *("cook", "nurse", "clerk", "smith", "vet", "health", "*")
    }
    assert fk.publish(tmp_path / "t.csv", found.policy).audit.safe


def test_a_column_with_a_hierarchy_file_of_its_name_is_known_to_others(tmp_path):
    more = {"grp": [f"g{i % 40:02d}" for i in range(600)]}
    pl.DataFrame(visits(**more)).write_csv(tmp_path / "t.csv")
    found = fk.suggest_policy(tmp_path / "t.csv", sensitive="ill")
    assert column(found, "grp").role == "undecided"
    rows = "".join(f"g{i:02d};g{i // 10}*;*\n" for i in range(40))
    (tmp_path / "t_hierarchy_grp.csv").write_text(rows)
    found = fk.suggest_policy(tmp_path / "t.csv", sensitive="ill")
    assert column(found, "grp").role == "quasi-identifier"
    assert column(found, "grp").reason == "a hierarchy file for it lies beside the table"


def test_a_hierarchy_file_that_lacks_a_value_is_asked_about(tmp_path):
    pl.DataFrame(visits()).write_csv(tmp_path / "t.csv")
    (tmp_path / "t_hierarchy_job.csv").write_text(JOBS.replace("vet;health;*\n", ""))
    (tmp_path / "t_hierarchy_sex.csv").write_text("f\nm\n")
    found = fk.suggest_policy(tmp_path / "t.csv", sensitive="ill")
    assert column(found, "job").hierarchy is None
    assert "t_hierarchy_job.csv beside the table does not list all of its values" in str(
        found.questions
    )
    assert "t_hierarchy_sex.csv" in column(found, "sex").question
    assert fk.publish(tmp_path / "t.csv", found.policy).audit.safe


def test_a_file_that_fits_two_columns_is_of_none(tmp_path):
    table = visits()
    pl.DataFrame({**table, "job2": table["job"]}).write_csv(tmp_path / "t.csv")
    (tmp_path / "jobs.csv").write_text(JOBS)
    found = fk.suggest_policy(tmp_path / "t.csv", sensitive="ill")
    assert not any(each.hierarchy == {"file": "jobs.csv"} for each in found.columns)


@pytest.mark.parametrize(("others", "taken"), [(5, True), (6, False)])
def test_a_file_of_another_name_lists_hardly_any_other_values(others, taken, tmp_path):
    pl.DataFrame(visits()).write_csv(tmp_path / "t.csv")
    more = "".join(f"job{i};other;*\n" for i in range(others))
    (tmp_path / "jobs.csv").write_text(JOBS + more)
    found = fk.suggest_policy(tmp_path / "t.csv", sensitive="ill")
    assert (column(found, "job").hierarchy == {"file": "jobs.csv"}) == taken


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_the_explorer_finds_the_hierarchy_files_of_a_suggested_policy(where, tmp_path):
    (tmp_path / "inside" / "data").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    place = tmp_path / ("inside/data" if where == "inside" else "outside")
    pl.DataFrame(visits()).write_csv(place / "t.csv")
    (place / "t_hierarchy_job.csv").write_text(JOBS)
    session = Session(tmp_path / "inside", place / "t.csv")
    draft = session.draft(session.first)
    assert "t_hierarchy_job.csv" in draft.text
    assert "job" in draft.policy.schema.hierarchies


# ---- ranges, or a hierarchy ---------------------------------------------------------------------


def test_ranges_are_taken_where_they_keep_more_than_a_hierarchy(tmp_path):
    table = visits(2000)
    pl.DataFrame(table).write_csv(tmp_path / "t.csv")
    (tmp_path / "t_hierarchy_age.csv").write_text(ages())
    found = fk.suggest_policy(tmp_path / "t.csv", sensitive="ill")
    age = column(found, "age")
    assert (age.hierarchy, age.left_out) == (None, {"file": "t_hierarchy_age.csv"})
    assert "age" not in found.policy.schema.hierarchies
    text = found.to_toml(tmp_path)
    said = re.search(
        r'\n# age = \{ file = "t_hierarchy_age.csv" \}  # ranges keep more: a label covers (\d+)% '
        r"of the values, by this (\d+)%\n",
        text,
    )
    # Counted again: how many of the ages of the table each label covers.
    known = sorted(set(table["age"]))
    plain = tomllib.loads(text)
    laid = {**plain, "schema": {**plain["schema"]}}
    laid["schema"]["hierarchies"] = {"age": {"file": str(tmp_path / "t_hierarchy_age.csv")}}
    for policy, percent in ((plain, said[1]), (laid, said[2])):
        labels = fk.publish(tmp_path / "t.csv", policy).to_arrow()["age"].to_pylist()
        shares = []
        for label in labels:
            low, _, high = (label if label != "*" else "0 to 100").partition(" to ")
            inside = sum(int(low) <= value <= int(high or low) for value in known)
            shares.append((inside - 1) / (len(known) - 1))
        assert round(100 * sum(shares) / len(shares)) == int(percent)
    (tmp_path / "policy.toml").write_text(text)
    assert fk.publish(tmp_path / "t.csv", tmp_path / "policy.toml").audit.safe


def test_a_hierarchy_of_numbers_stays_where_ranges_keep_no_more():
    few = visits(120)
    found = fk.suggest_policy(pa.table(few), sensitive="ill")
    age = column(found, "age")
    policy, other = found.policy, dict(tomllib.loads(found.to_toml()))
    assert age.hierarchy == {"intervals": [5, 10, 50]}
    del other["schema"]["hierarchies"]
    kept, ranges = (fk.publish(pa.table(few), own).utility.ncp["age"] for own in (policy, other))
    assert kept <= ranges + 0.05


# ---- what columns cost --------------------------------------------------------------------------


def test_init_says_which_column_gives_the_secret_away():
    found = fk.suggest_policy(
        deaths(), sensitive="injury", quasi_identifiers=["month", "race", "sex"]
    )
    month, race, rest = found.costs
    assert rest.startswith("Leaving out 'month' and 'race' would keep no more of the other columns")
    assert month.startswith("DECIDE: 'month' gives 'injury' away: whoever knows it, and nothing")
    assert race.startswith("DECIDE: 'race' gives 'injury' away")
    assert month in wrapped(found.to_toml())
    decide = len(found.questions) + sum(n.startswith("DECIDE") for n in found.notes)
    assert f"# {decide + 2} things need your decision" in found.to_toml()
    again = fk.suggest_policy(
        deaths(), sensitive="injury", quasi_identifiers=["month", "race", "sex"]
    )
    assert again.to_toml() == found.to_toml()
    fine = fk.suggest_policy(deaths(), sensitive="injury", quasi_identifiers=["sex", "age"])
    assert fine.costs == ()


def test_init_says_what_leaving_a_column_out_would_keep():
    random = np.random.default_rng(3)
    risk = random.random(1000)
    ill = np.where(random.random(1000) < 0.05 + 0.9 * risk, "yes", "no")
    table = {"score": np.round(risk * 20).astype(int), "ill": ill}
    table |= {f"a{i}": random.integers(0, 80, 1000) for i in range(6)}
    names = [name for name in table if name != "ill"]
    found = fk.suggest_policy(pa.table(table), sensitive="ill", quasi_identifiers=names)
    told = [cost for cost in found.costs if cost.startswith("DECIDE: Without ")]
    assert told
    said = re.match(
        r"DECIDE: Without '(\w+)' the other columns would be generalized by (\d+)%, not (\d+)%, in "
        r"([\d,]+) groups\. Leave it out, if readers can do without it",
        told[0],
    )
    rest = [name for name in names if name != said[1]]
    policy = found.policy
    before = fk.publish(pa.table(table), policy).utility.ncp
    text = tomllib.loads(found.to_toml())
    text["schema"]["quasi_identifiers"] = rest
    text["schema"].get("hierarchies", {}).pop(said[1], None)
    after = fk.publish(pa.table(table), text)
    assert round(100 * sum(before[name] for name in rest) / len(rest)) == int(said[3])
    assert round(100 * sum(after.utility.ncp.values()) / len(rest)) == int(said[2])
    assert after.counts.n_groups == int(said[4].replace(",", ""))


def test_decoy_is_suggested_where_it_serves_and_only_there():
    found = fk.suggest_policy(pa.table(visits()), sensitive="ill")
    assert 'Where readers may be such adversaries: method = "decoy"' in wrapped(found.to_toml())
    policy = tomllib.loads(found.to_toml())
    policy["publish"]["method"] = "decoy"
    made = fk.publish(pa.table(visits()), policy)
    assert made.certificate.scope["method"] == "as required"
    random = np.random.default_rng(7)
    income = random.integers(1000, 9000, 600).tolist()
    found = fk.suggest_policy(pa.table(visits(income=income)), sensitive="income")
    (near,) = [each for each in found.policy.requirements if each.points]
    assert near.within is not None
    assert near.points[0].adversary.m
    assert "decoy" not in found.to_toml()


@pytest.mark.skipif(not FARS.exists(), reason=f"there is no {FARS.name} beside the repository")
def test_fars_init_says_that_columns_of_the_dead_give_injury_away():
    found = fk.suggest_policy(FARS, sensitive="iinjury")
    assert any("gives 'iinjury' away" in cost for cost in found.costs)
    assert fk.publish(FARS, found.policy).advice


ADULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult.csv"


@pytest.mark.skipif(not ADULT.exists(), reason=f"there is no {ADULT.name} beside the repository")
def test_adult_takes_ranges_of_age():
    found = fk.suggest_policy(ADULT)
    assert column(found, "age").left_out == {"intervals": [5, 10, 50]}
    assert found.costs == ()
