import csv
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from examples import make_sample as make
from foreknow.sample import policy_path, table_path
from foreknow_judge.errors import InputError


@pytest.fixture(scope="module")
def people() -> list[dict[str, str]]:
    with table_path().open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_regenerating_gives_the_bundled_bytes(tmp_path: Path):
    make.main([str(tmp_path / "again.csv")])
    assert (tmp_path / "again.csv").read_bytes() == table_path().read_bytes()


def test_what_cannot_be_made_is_a_message(tmp_path: Path, capsys):
    assert make.rows(people=50, seed=1) != make.rows(people=50, seed=2)
    with pytest.raises(InputError, match="names for"):
        make.rows(people=100_000)
    with pytest.raises(SystemExit) as stopped:
        make.main([str(tmp_path / "missing" / "out.csv")])
    assert stopped.value.code == 2
    assert "cannot write" in capsys.readouterr().err


def test_it_has_what_tables_have(people):
    """A name of two people, people of unknown marital status, and stays that have not ended."""
    assert table_path().stat().st_size < 400_000
    assert len({row["patient"] for row in people}) == len(people) == make.PEOPLE
    assert len({row["name"] for row in people}) == make.PEOPLE - 1
    missing = Counter(name for row in people for name, value in row.items() if not value)
    assert missing == {"marital": 39, "days": 27}
    for row in people:
        assert tuple(row) == make.COLUMNS
        assert all(value == value.strip() for value in row.values())
        assert (row["days"] == "") == (row["admitted"] >= str(make.STILL_IN))
    assert {int(row["days"]) for row in people if row["days"]} <= set(range(1, 41))


def test_the_policy_and_its_hierarchy_speak_of_this_table(people):
    policy = tomllib.loads(policy_path().read_text(encoding="utf-8"))
    schema = policy["schema"]
    roles = [
        schema["person"],
        *schema["identifiers"],
        *schema["quasi_identifiers"],
        *schema["sensitive"],
    ]
    assert (*roles, "ward", "charges") == make.COLUMNS
    assert set(schema["hierarchies"]) <= set(schema["quasi_identifiers"])
    named = {value for rule in policy["require"] for value in rule.get("values", [])}
    assert named <= {row["diagnosis"] for row in people}
    file = policy_path().with_name(schema["hierarchies"]["marital"]["file"])
    with file.open(newline="", encoding="utf-8") as lines:
        levels = list(csv.reader(lines, delimiter=";"))
    assert {len(row) for row in levels} == {3}
    assert {row[0] for row in levels} == {row["marital"] for row in people} - {""}
    assert {row[-1] for row in levels} == {"*"}
