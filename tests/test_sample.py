import csv
import tomllib
from collections import Counter
from collections.abc import Iterable
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from examples import make_sample as make
from foreknow.errors import InputError
from foreknow.sample import policy_path, table_path


@pytest.fixture(scope="module")
def people() -> list[dict[str, str]]:
    with table_path().open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def shares(values: Iterable[str]) -> dict[str, float]:
    counts = Counter(values)
    return {value: n / counts.total() for value, n in counts.items()}


def test_regenerating_gives_the_bundled_bytes(tmp_path: Path):
    make.main([str(tmp_path / "again.csv")])
    assert (tmp_path / "again.csv").read_bytes() == table_path().read_bytes()


def test_another_seed_gives_another_table():
    assert make.rows(people=50, seed=1) != make.rows(people=50, seed=2)


def test_more_people_than_names_is_an_error():
    with pytest.raises(InputError, match="names for"):
        make.rows(people=100_000)


def test_a_place_that_cannot_be_written_is_a_message(tmp_path: Path, capsys):
    with pytest.raises(SystemExit) as stopped:
        make.main([str(tmp_path / "missing" / "out.csv")])
    assert stopped.value.code == 2
    assert "cannot write" in capsys.readouterr().err


def test_is_small_enough_to_bundle():
    assert table_path().stat().st_size < 350_000


def test_columns_and_no_nulls(people):
    assert len(people) == make.PEOPLE
    for row in people:
        assert tuple(row) == make.COLUMNS
        assert all(value and value == value.strip() for value in row.values())


def test_names_are_unique(people):
    assert len({row["name"] for row in people}) == len(people)


def test_zips_are_five_digits_some_with_a_leading_zero(people):
    zips = Counter(row["zip"] for row in people)
    assert all(len(code) == 5 and code.isdigit() for code in zips)
    assert {code[0] for code in zips} == {"0", "1"}
    assert 50 <= len(zips) <= 70
    assert max(zips.values()) > 10 * min(zips.values())


def test_ages_sexes_and_dates_are_in_range(people):
    ages = np.array([int(row["age"]) for row in people])
    assert (ages.min(), ages.max()) == (0, 97)
    assert {row["sex"] for row in people} == {"F", "M"}
    assert {date.fromisoformat(row["admitted"]).year for row in people} == {2024, 2025}


def test_children_never_married(people):
    assert {row["marital"] for row in people if int(row["age"]) < 18} == {"Never married"}


def test_diagnoses_range_from_common_to_rare(people):
    found = shares(row["diagnosis"] for row in people)
    assert len(found) >= 18
    assert 0.08 < max(found.values()) < 0.13
    for rare in ("HIV", "Hepatitis C", "Schizophrenia", "Syphilis"):
        assert found[rare] < 0.02


def test_diagnoses_fit_sex_and_age(people):
    assert {r["sex"] for r in people if r["diagnosis"] == "Pregnancy complication"} == {"F"}
    assert {r["sex"] for r in people if r["diagnosis"] == "Prostate cancer"} == {"M"}
    assert min(int(r["age"]) for r in people if r["diagnosis"] == "Dementia") >= 45


def test_the_policy_speaks_of_this_table(people):
    policy = tomllib.loads(policy_path().read_text(encoding="utf-8"))
    schema = policy["schema"]
    roles = [*schema["identifiers"], *schema["quasi_identifiers"], schema["sensitive"]]
    assert tuple(roles) == make.COLUMNS
    assert set(schema["hierarchies"]) <= set(schema["quasi_identifiers"])
    named = {value for rule in policy["require"] for value in rule.get("values", [])}
    assert named <= {row["diagnosis"] for row in people}


def test_the_hierarchy_covers_every_marital_status(people):
    policy = tomllib.loads(policy_path().read_text(encoding="utf-8"))
    file = policy_path().with_name(policy["schema"]["hierarchies"]["marital"]["file"])
    with file.open(newline="", encoding="utf-8") as lines:
        levels = list(csv.reader(lines, delimiter=";"))
    assert {len(row) for row in levels} == {3}
    assert {row[0] for row in levels} == {row["marital"] for row in people}
    assert {row[-1] for row in levels} == {"*"}
