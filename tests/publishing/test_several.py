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


def test_groups_hold_their_people(case):
    table, publication, _, wards, bags = case
    values_of, rows = defaultdict(Counter), {}
    for row in table.to_pylist():
        values = row["diagnosis"] if isinstance(row["diagnosis"], list) else [row["diagnosis"]]
        values_of[row["ward"]].update(v for v in values if v is not None)
        rows[row["ward"]] = row
    assert sorted(ward for members in wards.values() for ward in members) == sorted(rows)
    assert set(bags) <= set(wards)
    for group, members in wards.items():
        assert bags.get(group, Counter()) == sum((values_of[w] for w in members), Counter())
        for ward in members:
            assert all(map(covers, group, (rows[ward][c] for c in COLUMNS)))
    assert publication.certificate.n_groups == len(wards) > 1
    assert publication.certificate.people == 150


def test_what_is_written_is_safe(case):
    """By a count of it."""
    _, publication, folder, wards, bags = case
    values = sorted({v for bag in bags.values() for v in bag})
    cells = [(g, values.index(v), n) for g, k in enumerate(wards) for v, n in bags[k].items()]
    groups, codes, weights = np.array(cells).T
    semantics = publication.certificate.semantics
    counts = fk.GroupCounts.from_pairs(
        *(groups, codes),
        values=values,
        n_groups=len(wards),
        weights=weights,
        sizes=np.array([len(members) for members in wards.values()]),
        semantics=semantics,
    )
    worst = fk.Facts(1, 1, 1).disclosure(counts)
    assert worst.below("0.8")
    certificate = fk.Certificate.load(folder / "certificate.json")
    assert certificate.findings[0]["exact"] == str(worst.exact)
    assert certificate.semantics == publication.audit.policy.schema.semantics
    assert certificate.check(folder) == []
    assert fk.audit(publication.release, fk.Policy(POLICY)).safe


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


def test_groups_that_look_alike():
    cells = [["a"], ["a", "b"], [], ["b"], ["a"], []]
    table, roles = alone({"person": range(6), "age": [30] * 6, "diagnosis": cells})
    by_turns = By(lambda m: m.rows_of(np.arange(m.n_people) % 2))
    publication = made(table, roles, method=by_turns, rules=EASY)
    assert publication.tables["sensitive"].to_pylist() == [
        {"age": "30", "diagnosis": "a", "count": 3},
        {"age": "30", "diagnosis": "b", "count": 2},
    ]
    assert publication.certificate.n_groups == 1


@pytest.mark.parametrize("fmt", ["csv", "parquet"])
def test_groups_without_values(fmt, tmp_path):
    ages, cells = [30, 30, 30, None, None, 50, 50], [["a"], ["a", "b"], [], [], [], ["b"], []]
    columns = {"person": range(7), "age": ages, "ward": [*"abcdefg"], "diagnosis": cells}
    roles = schema(quasi_identifiers=["age"], hierarchies={})
    by_age = By(lambda m: m.rows_of(m.attributes[0].codes))
    exact = {"age": "exact"}
    publication = made(pa.table(columns), roles, fmt=fmt, method=by_age, rules=EASY, labels=exact)
    certificate = publication.write(tmp_path / "out")
    assert (certificate.people, certificate.n_groups) == (7, 3)
    assert certificate.check(tmp_path / "out") == []
    people = rows_of(tmp_path / "out" / f"people.{fmt}")
    tally = {row["age"] for row in rows_of(tmp_path / "out" / f"sensitive.{fmt}")}
    assert (len({row["age"] for row in people}), len(tally)) == (3, 2)
    (nobody,) = {row["age"] for row in people if row["ward"] in "de"}
    assert nobody not in tally


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


def test_formulas_can_be_disarmed(tmp_path):
    cells = [["=a", "b"], ["=a"], ["b"], []]
    table = pa.table({"=person": range(4), "-q": [-5, -5, 2, 2], "@d": cells})
    roles = fk.Schema(
        quasi_identifiers=["-q"], sensitive="@d", person="=person", semantics="multiset"
    )
    certificate = made(table, roles, rules=EASY, escape_formulas=True).write(tmp_path / "out")
    assert certificate.check(tmp_path / "out") == []
    assert {row["'@d"] for row in rows_of(tmp_path / "out" / "sensitive.csv")} == {"'=a", "b"}


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


@pytest.mark.parametrize("says", [True, False, None])
def test_minimal_where_method_says_so(says):
    method = By(lambda m: np.zeros(m.n_rows, dtype=np.int64))
    if says is not None:
        method.traits = fk.Traits(minimal=lambda policy: says)
    table = pa.table({"age": [1, 1, 2], "diagnosis": list("aba")})
    single = fk.Schema(quasi_identifiers=["age"], sensitive="diagnosis")
    publication = made(table, single, rules=EASY, method=method)
    assert publication.certificate.minimal is bool(says)
    assert publication.certificate.notes == ()
    several = made(register(30), schema(), rules=EASY, method=method)
    assert several.certificate.minimal is (bool(says) and several.audit.policy.monotone())


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


def test_points_of_skyline_in_order():
    rows = pa.table({"age": ["1", "1", "2", "2"] * 6, "ill": list("abcdef") * 4})
    points = [(fk.Facts(1), "9/10"), (fk.Implications(1), "19/20"), (fk.Facts(), "4/5")]
    roles = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    verdicts = fk.publish(rows, fk.Policy([fk.Requirement(points)], roles)).audit.verdicts
    assert [verdict.judged for verdict in verdicts] == [kind for kind, _ in points]
