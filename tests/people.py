"""Made-up tables of people: hard texts, several diagnoses; and the Adult table, where it is."""

import csv
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

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


# ---- a made-up register in which people have several diagnoses, one, or none -------------------

ZIPS = 400
DIAGNOSES = [f"D{i:02d}" for i in range(30)]
SEMANTICS = ["set", "multiset"]


def diagnoses(people=1000, seed=0, *, semantics="set", listed=False):
    """Person, age, sex, zip code and diagnosis, in a random order of rows.

    About one person in twenty has no diagnosis, the others have 1 to 6, most of them few. How
    common a diagnosis is falls like 1/rank.

    Parameters
    ----------
    people : int
    seed : int
    semantics : "set" or "multiset"
        Whether a diagnosis of one person may come again.
    listed : bool
        One row per person with a list, instead of one row per person and diagnosis; a null row
        for those who have none.
    """
    random = np.random.default_rng(seed)
    many = np.minimum(random.geometric(0.45, people), 6)
    many[random.random(people) < 0.05] = 0
    weights = 1 / np.arange(1.0, len(DIAGNOSES) + 1)
    if semantics == "set":
        # The first of a weighted shuffle: the largest keys of log-weight and Gumbel noise.
        keys = np.log(weights) + random.gumbel(size=(people, len(DIAGNOSES)))
        drawn = np.argsort(-keys, axis=1)[:, :6]
    else:
        drawn = random.choice(len(DIAGNOSES), (people, 6), p=weights / weights.sum())
    codes = drawn[np.arange(6) < many[:, None]]
    about = {
        "person": pa.array([f"p{i:06d}" for i in random.permutation(people)]),
        "age": pa.array(random.integers(18, 95, people)),
        "sex": pa.array(np.array(["f", "m"])[random.integers(0, 2, people)]),
        "zip": pa.array([f"{z:05d}" for z in 10000 + 7 * random.integers(0, ZIPS, people)]),
    }
    values = pa.array(DIAGNOSES).take(pa.array(codes))
    if listed:
        offsets = np.concatenate(([0], np.cumsum(many)))
        about["diagnosis"] = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
        return pa.table(about).take(pa.array(random.permutation(people)))
    rows = np.maximum(many, 1)
    of_row = np.repeat(np.arange(people), rows)
    first = np.cumsum(rows) - rows
    place = np.arange(len(of_row)) - first[of_row]
    at = (np.cumsum(many) - many)[of_row] + place
    at = np.where(many[of_row] > 0, at, -1)
    long = pa.table(about).take(pa.array(of_row))
    long = long.append_column("diagnosis", values.take(pa.array(at, mask=at < 0)))
    return long.take(pa.array(random.permutation(len(long))))


# ---- the Adult table beside the repository, where it is, and its 72 generalizations ------------

FOLDER = Path(__file__).resolve().parents[1]
ADULT = FOLDER.parent / "shared" / "data" / "adult.csv"
ADULT_GOLDEN = FOLDER.parent / "shared" / "golden" / "adult-implications.json"
ADULT_LATTICE = FOLDER / "examples" / "adult-lattice.toml"


def adult_table():
    """Path of the table; skips the test where there is none."""
    if not ADULT.exists():
        pytest.skip(f"there is no {ADULT.name} beside the repository")
    return ADULT


def adult_microdata():
    """The table with the hierarchies of the example."""
    return fk.Microdata(adult_table(), fk.Policy.load(ADULT_LATTICE).schema)
