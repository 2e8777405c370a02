"""What pages say of their own tables, and of code, in numbers: it is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EVIDENCE = ROOT / "docs" / "evidence"
MODELS = (EVIDENCE / "models.md").read_text("utf-8")
KNOWN = (EVIDENCE / "known-method.md").read_text("utf-8")
PROOFS = (EVIDENCE / "proofs.md").read_text("utf-8")
ROWS = [
    [c.strip() for c in line[2:-1].split("|")] for line in MODELS.splitlines() if line[:2] == "| "
]


def losses(kind, measure, column):
    """How much less than raw each table's model has on a method's release, to three decimals."""
    own = [row for row in ROWS if row[1].startswith(kind) and row[2] == measure]
    assert len({row[0] for row in own}) == len(own) >= 4
    return {r[0]: round(float(r[4]) - float(r[column]), 3) for r in own if r[column] != "–"}


def test_what_models_keep_is_what_the_table_of_models_shows():
    assert max(losses("logistic", "AUC", 5).values()) == 0.010
    assert losses("logistic", "AUC", 5)["survey"] == 0.010
    lost = losses("logistic", "AUC", 7).values()
    assert (min(lost), max(lost)) == (0.006, 0.071)
    trees, linear = losses("tree", "accuracy", 5), losses("linear", "R²", 5)
    assert max(trees.values()) == trees["health"] == 0.059
    assert max(linear.values()) == linear["survey"] == 0.083
    for said in (
        "at most 0.010",
        "by 0.006 to 0.071",
        "up to 0.059 (health)",
        "up to 0.083 (survey)",
    ):
        assert said in MODELS


def test_what_is_said_of_coefficients_stands_in_their_table():
    own = {(row[0], row[1].split(",")[0]): row[2:4] for row in ROWS if len(row) == 6}
    assert own["Adult", "education-num"] == ["0.497", "0.438"]
    assert own["Adult", "income = >50K"] == ["0.741", "0.846"]
    assert own["hospital", "marital = Never married"] == ["-0.826", "-0.913"]
    assert own["survey", "children = no"] == ["0.345", "-0.007"]
    raw, released = map(float, own["Adult", "race = Amer-Indian-Eskimo"])
    assert raw * released < 0


def test_what_is_said_of_cross_tables_stands_in_their_table():
    cells = {(row[0], row[1]): row[3] for row in ROWS if len(row) == 6 and "×" in row[1]}
    off = {key: float(re.search(r"([\d.]+)%", said)[1]) for key, said in cells.items()}
    ranges = ("age", "admitted", "ageOFocc", "yearVeh", "yearacc")
    large = [of for (table, _), of in off.items() if table in ("hospital", "Adult", "crashes")]
    assert all(
        of < 3 for (t, c), of in off.items() if c.split(" × ")[1] in ranges and t not in SMALL
    )
    assert max(large) == off["Adult", "occupation × education-num"] == 18.9
    assert 43 <= max(off[key] for key in off if key[0] in SMALL) < 44


SMALL = ("health", "survey")


def test_what_is_said_of_known_methods_stands_in_their_tables():
    for table in KNOWN.split("| size |")[1:]:
        rows = [[c.strip() for c in line[2:-1].split("|")] for line in table.splitlines()[2:13]]
        size = [int(row[0].replace(",", "")) for row in rows]
        mondrian = [float(row[1].split("%")[0]) / 100 for row in rows]
        assert size[-1] == 45_222
        assert mondrian[-1] == min(mondrian)
        assert all(
            100 < of * many < 1000 for of, many in zip(mondrian[-2:], size[-2:], strict=True)
        )
        assert all(row[2].split(" ")[0] == "0" for row in rows[5:])  # FullDomain, from 100 people
        assert {cell for row in rows for cell in row[3:]} <= {"0", ""}


@pytest.mark.parametrize(
    "name", sorted(set(re.findall(r"`((?:tests|oracle)/[\w/]+\.py)`", PROOFS)))
)
def test_every_file_that_the_index_of_proofs_names_is_there(name):
    assert (ROOT / "tests" / name.removeprefix("tests/")).is_file()


def test_help_imports_what_pages_say_it_does():
    """Neither NumPy nor DuckDB: as growth.md and the changelog have it."""
    asked = [sys.executable, "-X", "importtime", "-m", "foreknow", "--help"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stderr
    imported = {line.rpartition("|")[2].strip() for line in said.splitlines()}
    assert "foreknow.cli" in imported
    assert not imported & {"numpy", "duckdb", "pyarrow", "pydantic"}
