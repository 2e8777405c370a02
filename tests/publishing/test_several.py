"""Publishing under `set` and `multiset`: what is written, judged, and not told."""

import json
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from tests.diagnoses import diagnoses
from tests.people import rows_of, short_report

import foreknow as fk
from foreknow.errors import InternalError, OutputError, SchemaError
from foreknow.publishing.notes import NOT_MINIMAL

POLICY = [fk.Requirement(fk.Facts(1, 1, 1), "0.8")]
EASY = [fk.Requirement(fk.Facts(), "0.9")]
COLUMNS = ["age", "sex", "zip"]


@pytest.fixture(autouse=True, scope="module")
def _short_report():
    with pytest.MonkeyPatch.context() as patch:
        short_report(patch)
        yield


def schema(semantics="set", **changed):
    roles = {
        "quasi_identifiers": COLUMNS,
        "other": ["ward"],
        "sensitive": "diagnosis",
        "person": "person",
        "semantics": semantics,
        "hierarchies": {"zip": fk.Mask(5)},
    }
    return fk.Schema(**roles | changed)


def register(people=150, semantics="set", listed=False):
    """`diagnoses` with a ward that is everybody's own, so that a test can tell who is where."""
    table = diagnoses(people, semantics=semantics, listed=listed)
    ward = [f"ward of {name}" for name in table["person"].to_pylist()]
    return table.append_column("ward", pa.array(ward))


def made(table, roles, *, fmt="csv", rules=POLICY, method=None, **more):
    options = fk.PublishOptions(format=fmt, **more)
    return fk.publish(fk.Microdata(table, roles), fk.Policy(rules), method=method, options=options)


class By:
    """A method that groups rows by a function of the microdata."""

    def __init__(self, groups):
        self.partition = lambda microdata, policy=None, seed=None: groups(microdata)


def alone(columns, *, semantics="set", **more):
    """The roles of a table whose people have an age and diagnoses; nothing else."""
    return pa.table(columns), schema(
        semantics, quasi_identifiers=["age"], other=[], hierarchies={}, **more
    )


# ---- an independent reader ---------------------------------------------------------------------

CASES = [("set", "csv", False), ("multiset", "parquet", False), ("multiset", "csv", True)]


@pytest.fixture(scope="module", params=CASES, ids=str)
def case(request, tmp_path_factory):
    """A register, its publication, the folder, and what a reader makes out of it.

    Group -> the wards in it, and group -> its bag.
    """
    semantics, fmt, listed = request.param
    table = register(semantics=semantics, listed=listed)
    publication = made(table, schema(semantics), fmt=fmt)
    folder = tmp_path_factory.mktemp("case") / "out"
    publication.write(folder)
    wards, bags = defaultdict(list), defaultdict(Counter)
    for row in rows_of(folder / f"people.{fmt}"):
        wards[tuple(row[c] for c in COLUMNS)].append(row["ward"])
    for row in rows_of(folder / f"sensitive.{fmt}"):
        group = tuple(row[c] for c in COLUMNS)
        assert row["diagnosis"] not in bags[group]
        bags[group][row["diagnosis"]] = int(row["count"])
    return table, publication, folder, wards, bags


def covers(label, value):
    """Whether a published age ("20 to 37"), sex or zip code ("02***") holds an exact value."""
    if " to " in label:
        low, high = label.split(" to ")
        return int(low) <= int(value) <= int(high)
    return all(a in ("*", b) for a, b in zip(label, str(value), strict=False))


def test_whose_values_is_not_told(case):
    _, publication, folder, *_ = case
    papers = {"certificate", "datapackage", "report", "people", "sensitive"}
    assert {path.stem for path in folder.iterdir()} == papers
    assert publication.tables["people"].column_names == [*COLUMNS, "ward"]
    assert publication.tables["sensitive"].column_names == [*COLUMNS, "diagnosis", "count"]
    # One row per group and value, groups together, values in the order of the alphabet.
    groups = defaultdict(list)
    keys = []
    for *group, value, _ in map(dict.values, publication.tables["sensitive"].to_pylist()):
        groups[tuple(group)].append(value)
        keys.append(group)
    assert len(groups) == sum(a != b for a, b in zip(keys, [None, *keys], strict=False))
    assert all(values == sorted({*values}) for values in groups.values())
    assert "p000" not in (folder / "certificate.json").read_text()


# ---- groups of few people ----------------------------------------------------------------------


def test_people_seen_to_have_nothing(tmp_path):
    cells = ["a", "b", None, None, None, None]
    table, roles = alone({"person": range(6), "age": [1] * 3 + [9] * 3, "diagnosis": cells})
    options = fk.PublishOptions(labels={"age": "exact"})
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="1/2")], roles, options)
    publication = fk.publish(fk.Microdata(table, roles), policy)
    assert publication.audit.scope.without_value == 3
    assert publication.certificate.scope["without_value"] == 3
    said = "3 people are in groups in which nobody has any diagnosis: that they have none"
    assert any(note.startswith(said) for note in publication.audit.notes)
    publication.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").scope.without_value == 3


def test_a_lone_column_without_values(tmp_path):
    cells = [["a"], [], ["a"], []]
    table, roles = alone({"person": range(4), "age": [30, 30, None, None], "diagnosis": cells})
    with pytest.raises(OutputError, match="'age'"):
        made(table, roles, rules=EASY)
    made(table, roles, fmt="parquet", rules=EASY).write(tmp_path / "out")


# ---- the papers --------------------------------------------------------------------------------


def test_perhaps_not_minimal(tmp_path):
    publication = made(register(), schema())
    certificate = publication.write(tmp_path / "out")
    assert (certificate.notes, certificate.minimal) == ((NOT_MINIMAL,), False)
    assert "safe, but perhaps not minimal" in repr(publication)
    assert "perhaps not minimal" in publication._repr_html_()
    path = tmp_path / "out" / "certificate.json"
    table = json.loads(path.read_text())
    assert (table["minimal"], table["notes"]) == (False, [NOT_MINIMAL])
    assert table["release"]["semantics"] == "set"
    assert fk.Certificate.load(path) == certificate


def test_probabilities_of_many_digits(tmp_path):
    cells = [["a"], ["a", "b"], ["b"]] * 100
    table, roles = alone({"age": [30] * 300, "diagnosis": cells}, semantics="multiset", person=None)
    together = By(lambda m: np.zeros(m.n_rows, dtype=np.int64))
    rules = [fk.Requirement(fk.Facts(1, 1, 1), "0.9")]
    publication = made(table, roles, method=together, rules=rules)
    publication.write(tmp_path / "out")
    exact = publication.audit.verdicts[0].disclosure.exact
    assert exact.denominator.bit_length() > 1000
    path = tmp_path / "out" / "certificate.json"
    certificate = json.loads(path.read_text())
    short = certificate["findings"][0]["exact"]
    assert short.startswith(f"0.{int(exact * 10**6)}")
    for said, agrees in ((short, True), (str(exact), True), (short[:-1] + "0", False)):
        certificate["findings"][0]["exact"] = said
        path.write_text(json.dumps(certificate))
        assert (fk.Certificate.load(path).check(tmp_path / "out") == []) is agrees


def test_what_is_refused():
    with pytest.raises(InternalError, match="By put one person into two groups"):
        made(register(30), schema(), method=By(lambda m: np.arange(m.n_rows) % 2))
    table = register().rename_columns(["person", "count", "sex", "zip", "diagnosis", "ward"])
    with pytest.raises(SchemaError, match="in 'count'"):
        made(table, schema(quasi_identifiers=["count"], hierarchies={}))
