"""A made-up table for tests of publishing: every kind of column, texts that are hard to carry."""

import csv
import random

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import foreknow as fk
from foreknow.atomic_files import write_whole
from foreknow.auditing.audit import Audit
from foreknow.publishing import distinct_rows as entries
from foreknow.publishing import tables

HARD = ["=1+1", "a, b", 'the "x"', "two\nlines", "Ä ö 漢字 🙂", "-x", "@cmd", " spaces "]
EASY = fk.Policy([fk.Requirement(fk.Facts(), "0.9", knowing=[])])


def people(rows=60, seed=0):
    """Name, row id, age, zip, sex, a note, a column without a role, and a disease."""
    chance = random.Random(seed)
    return pa.table(
        {
            "name": [f"Person {i}" for i in range(rows)],
            "row": list(range(rows)),
            "age": [chance.choice([None, *range(20, 60)]) for _ in range(rows)],
            "zip": [f"{chance.randrange(100):03d}" for _ in range(rows)],
            "sex": [chance.choice("fm") for _ in range(rows)],
            "note": [chance.choice([None, "", *HARD]) for _ in range(rows)],
            "secret": [f"secret {i}" for i in range(rows)],
            "disease": [chance.choice(HARD) for _ in range(rows)],
        }
    )


def schema(**changed):
    """The roles of `people`; keyword arguments replace some."""
    roles = {
        "identifiers": ["name"],
        "quasi_identifiers": ["age", "zip", "sex"],
        "other": ["row", "note"],
        "sensitive": "disease",
        "hierarchies": {"zip": fk.Mask(3)},
    }
    return fk.Schema(**(roles | changed))


def made(form="generalized", fmt="csv", *, table=None, seed=None, policy=EASY, roles=None, **more):
    """Publish `people`."""
    options = fk.PublishOptions(form=form, format=fmt, **more)
    microdata = fk.Microdata(people() if table is None else table, roles or schema())
    return fk.publish(microdata, policy, options=options, seed=seed)


def generalized(microdata, groups, n_groups, styles, random, floors=None):
    """The tables of a grouping, with quasi-identifiers in these styles."""
    columns = tables.coarsened_columns(microdata, groups, n_groups, styles, floors)
    return whole(tables.generalized(microdata, groups, columns, random))


def bucketized(*given):
    """The tables of a grouping in the bucketized form."""
    return whole(tables.bucketized(*given))


def whole(made):
    """Tables of which some are to be drawn."""
    return {name: entries.whole(table) for name, table in made.items()}


def files(named, fmt, folder):
    """Write tables, by name, and return their paths."""
    paths = {name: folder / f"{name}.{fmt}" for name in named}
    for name, table in named.items():
        (pyarrow.csv.write_csv if fmt == "csv" else pq.write_table)(table, paths[name])
    return paths


def rows_of(path):
    """A CSV file by Python's own reader, or a Parquet file, as rows of texts and None."""
    if path.suffix == ".parquet":
        rows = pq.read_table(path).to_pylist()
        return [{k: None if v is None else str(v) for k, v in row.items()} for row in rows]
    with path.open(encoding="utf-8", newline="") as file:
        return [{k: v or None for k, v in row.items()} for row in csv.DictReader(file)]


def short_report(monkeypatch):
    """Write a word for a report, which otherwise takes most of the time."""
    monkeypatch.setattr(Audit, "to_html", lambda self, path, **how: write_whole(path, "report"))


FORMS = [(form, fmt) for form in ("generalized", "bucketized") for fmt in ("csv", "parquet")]
