"""Tables as they come: what `init` says of each, and how often a release shows each value.

Each table beside this file is made up, of sixty rows at most; `tables.toml` says what `init` must
say of it.
"""

import csv
import re
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import foreknow as fk

HERE = Path(__file__).parent


@dataclass
class Told:
    """What a first policy must say of a table."""

    known: list[str]
    sensitive: str
    identifiers: list[str] = field(default_factory=list)
    person: str | None = None
    decide: dict[str, str] = field(default_factory=dict)  # a part of what is asked of a column
    reading: dict[str, object] = field(default_factory=dict)
    edit: list[str] = field(
        default_factory=lambda: ["", ""]
    )  # a text of the policy, and what a person writes in its place
    separator: str | None = None
    delimiter: str = ","
    homes: str = ""


TABLES = {
    name: Told(**row)
    for name, row in tomllib.loads((HERE / "tables.toml").read_text("utf-8")).items()
}
ROWS = [pytest.param(name, table, id=name) for name, table in TABLES.items()]


@cache
def suggested(name):
    """The first policy of a table."""
    return fk.suggest_policy(HERE / f"{name}.csv")


def test_each_table_has_a_row():
    assert {path.stem for path in HERE.glob("*.csv")} == {*TABLES}
    assert all(len(raw(name, ",")) <= 60 for name in TABLES)


def test_marks_that_were_said():
    """What stands between thousands is not asked again."""
    table, how = HERE / "commas_in_quotes.csv", {"thousands": ","}
    asked = [fk.suggest_policy(table, reading=reading).questions for reading in (None, how)]
    assert [any("stands before decimals" in text for text in texts) for texts in asked] == [1, 0]


def test_a_row_of_sums(tmp_path):
    rows = "".join(f"p{i},{20 + i % 40},{'fm'[i % 2]},flu\n" for i in range(60))
    for last, is_asked in (("Total,,,flu\n", True), ("", False)):
        (tmp_path / "t.csv").write_text(f"id,age,sex,diagnosis\n{rows}{last}")
        notes = " ".join(fk.suggest_policy(tmp_path / "t.csv").notes)
        assert ("'Total' in id" in notes) == is_asked


@pytest.mark.parametrize(("name", "told"), ROWS)
def test_what_init_says(name, told):
    suggestion = suggested(name)
    schema = suggestion.policy.schema
    assert [*schema.quasi_identifiers] == told.known
    assert schema.sensitive == told.sensitive
    assert [*schema.identifiers] == told.identifiers
    assert (schema.person, schema.unit) == (told.person, "row" if told.person else "person")
    assert told.reading.items() <= schema.reading.to_dict().items()
    asked = dict(question.split(": ", 1) for question in suggestion.questions)
    for column, part in told.decide.items():
        assert part in asked[column]
    codes = {column for column in asked if "number or code?" in asked[column]}
    assert {*asked} - codes <= {*told.decide}  # nothing else is asked
    notes = " ".join(suggestion.notes)
    assert (f"share a value of {told.homes}" in notes) == bool(told.homes)
    assert ("share a value" in notes) == bool(told.homes)


@pytest.mark.parametrize(("name", "told"), ROWS)
def test_what_is_published(name, told, tmp_path):
    table, policy, out = HERE / f"{name}.csv", tmp_path / "policy.toml", tmp_path / "out"
    text = suggested(name).to_toml()
    before, after = told.edit
    assert text.count(before) == 1 or not before
    assert not after or f"\n# {after}" in text  # the edit is the line that is printed
    policy.write_text(text.replace(before, after) if before else text, encoding="utf-8")
    publication = fk.publish(table, policy, out=str(out), seed=1)
    assert publication.audit.safe
    schema = tomllib.loads(policy.read_text("utf-8"))["schema"]
    missing = schema["reading"].get("missing", []) if schema.get("missing") == "drop" else []
    left_out = missing[told.sensitive] if isinstance(missing, dict) else missing
    people = [row for row in raw(name, told.delimiter) if row[told.sensitive] not in left_out]
    assert shown(out, told) == Counter(value for row in people for value in values(row, told))
    assert fk.verify(out).people == len(people)


WIDE = """
[[require]]
facts = { l = 1 }
within = "5%"
below = 0.9
"""


@pytest.mark.parametrize(
    ("name", "column", "numbers"),
    [
        ("accounting_negatives", "balance", {"(5,800)": "-5800", "1,500": "1500"}),
        ("thousands_by_k", "salary", {"52k": "52000", "37k": "37000"}),
    ],
)
def test_advised_reading_reads_numbers(name, column, numbers, tmp_path):
    """The line that the question names makes numbers of texts, of which some are near others."""
    table, policy, out = HERE / f"{name}.csv", tmp_path / "policy.toml", tmp_path / "out"
    text = suggested(name).to_toml()
    line = re.search(r"add (reading = \{.*\}) to the schema", text)[1]
    policy.write_text(text.replace("[schema]\n", f"[schema]\n{line}\n") + WIDE, encoding="utf-8")
    publication = fk.publish(table, policy, out=str(out), seed=1)
    assert publication.audit.safe
    counts = Counter(publication.to_pandas()[column].map(Fraction))
    counter = Counter(
        Fraction(text[1:-1].replace(",", "")) * -1
        if text[:1] == "("
        else Fraction(text.replace(",", "").replace("k", "000"))
        for text in (row[column] for row in raw(name, ","))
    )
    assert counts == counter
    assert all(Fraction(number) in counts for number in numbers.values())
    assert fk.verify(out).people == len(raw(name, ","))


@pytest.mark.parametrize(
    ("texts", "numbers", "reading"),
    [
        (["(1,200)", "$(3)", "7"], None, {"thousands": ",", "negative": "()"}),
        (["(-3)", "7"], None, {"negative": "()"}),
        (["(1,200.50)", "(0)"], ["-1200.50", "0"], {"thousands": ",", "negative": "()"}),
        (["1.5k", "2 k", "30", "(4k)"], ["1500", "2000", "30", "-4000"], "k"),
        (["$1.5k", "2k $"], ["1500", "2000"], {"units": {"k": 1000}, "currency": "$"}),
        (["5%", "12.5%"], ["0.05", "0.125"], {"units": {"%": 0.01}}),
        (["5 kg"], None, "k"),
    ],
)
def test_amounts_in_words(texts, numbers, reading):
    settings = {"units": {"k": 1000}, "negative": "()"} if reading == "k" else reading
    declared = fk.Reading(**settings)
    assert fk.Reading.of(declared.to_dict()) == declared
    if numbers is None:
        with pytest.raises(ValueError, match="is no amount"):
            [declared.as_amount(text) for text in texts]
    else:
        assert [str(declared.as_amount(text)) for text in texts] == numbers


def test_codes_in_brackets(tmp_path):
    """A code for no answer is one, however the file writes its number."""
    (tmp_path / "t.csv").write_text(
        "id,age,pay\n"
        + "".join(
            f'{i},{30 + i % 3},"{pay}"\n'
            for i, pay in enumerate(["(9,999)", "-9999", "2k", "99k"] * 5)
        )
    )
    schema = fk.Schema(
        identifiers=["id"],
        quasi_identifiers=["age"],
        sensitive="pay",
        missing={"label": "no answer"},
        reading={
            "thousands": ",",
            "negative": "()",
            "units": {"k": 1000},
            "missing": {"pay": ["-9999", "99k"]},
        },
    )
    counts = fk.Microdata(tmp_path / "t.csv", schema).counts(np.zeros(20, int))
    assert {str(v): int(n) for v, n in zip(counts.values, counts.totals, strict=True)} == {
        "2000": 5,
        "no answer": 15,
    }


def raw(name, delimiter):
    with (HERE / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def values(row, told):
    cell = row[told.sensitive]
    parts = cell.split(told.separator) if told.separator else [cell]
    return [as_one(part.strip()) for part in parts]


def as_one(text):
    """A text, or the amount that it is however it is written."""
    bare = text.strip().removeprefix("$").removesuffix("EUR").removesuffix("€").strip()
    digits = bare.replace(".", "").replace(",", "").replace(" ", "")
    if not digits.isdigit():
        return text
    whole = bare.replace(" ", "")
    if "," in whole[-3:]:
        whole = whole.replace(".", "").replace(",", ".")
    return str(float(whole.replace(",", "")))


def shown(out, told):
    """How often each value is in the files of a release."""
    part, delimiter = ("sensitive", ",") if told.separator else ("release", told.delimiter)
    counts = Counter()
    with (out / f"{part}.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file, delimiter=delimiter):
            many = int(line.pop("count")) if told.separator else 1
            assert {*line} == {*told.known, told.sensitive}
            counts[as_one(line[told.sensitive])] += many
    return counts
