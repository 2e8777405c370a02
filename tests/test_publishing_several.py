"""Publishing under `set` and `multiset`: what is written, judged, and not told."""

import json
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from tests.diagnoses import SEMANTICS, diagnoses
from tests.people import rows_of, short_report

import foreknow as fk
from foreknow.errors import InternalError, OutputError, SchemaError
from foreknow.publishing.notes import NOT_MINIMAL

EVERY = [(semantics, "generalized", fmt) for semantics in SEMANTICS for fmt in ("csv", "parquet")]
POLICY = [fk.Requirement(fk.Facts(1, 1, 1), "0.8")]
EASY = [fk.Requirement(fk.Facts(), "0.9")]


@pytest.fixture(autouse=True, scope="module")
def _short_report():
    with pytest.MonkeyPatch.context() as patch:
        short_report(patch)
        yield


@pytest.fixture(scope="module", params=EVERY, ids=lambda case: "-".join(case))
def case(request, tmp_path_factory):
    """Semantics, form and format, the publication of a register, and its folder."""
    semantics, form, fmt = request.param
    publication = made(register(semantics=semantics), schema(semantics), form, fmt)
    folder = tmp_path_factory.mktemp("case") / "out"
    publication.write(folder)
    return semantics, form, fmt, publication, folder


def schema(semantics="set", **changed):
    roles = {
        "quasi_identifiers": ["age", "sex", "zip"],
        "other": ["ward"],
        "sensitive": "diagnosis",
        "person": "person",
        "semantics": semantics,
        "hierarchies": {"zip": fk.Mask(5)},
    }
    return fk.Schema(**roles | changed)


def register(people=150, seed=0, semantics="set", listed=False):
    """`diagnoses` with a ward that is everybody's own, so that a test can tell who is where."""
    table = diagnoses(people, seed, semantics=semantics, listed=listed)
    ward = [f"ward of {name}" for name in table["person"].to_pylist()]
    return table.append_column("ward", pa.array(ward))


def made(table, roles, form="generalized", fmt="csv", *, rules=POLICY, method=None, **more):
    options = fk.PublishOptions(form=form, format=fmt, **more)
    return fk.publish(fk.Microdata(table, roles), fk.Policy(rules), method=method, options=options)


class By:
    """A method that groups rows by a function of the microdata."""

    def __init__(self, groups):
        self.groups = groups

    def partition(self, microdata, policy=None, seed=None):
        return self.groups(microdata)


# ---- an independent reader ---------------------------------------------------------------------


def read(folder, fmt, form):
    """Group -> the wards in it, and group -> its bag, as a reader makes them out."""
    columns = ["group"] if form == "bucketized" else ["age", "sex", "zip"]
    wards, bags = defaultdict(list), defaultdict(Counter)
    for row in rows_of(folder / f"people.{fmt}"):
        wards[tuple(row[c] for c in columns)].append(row["ward"])
    for row in rows_of(folder / f"sensitive.{fmt}"):
        group = tuple(row[c] for c in columns)
        assert row["diagnosis"] not in bags[group]
        bags[group][row["diagnosis"]] = int(row["count"])
    return wards, bags


def covers(label, value):
    """Whether a published age ("20 to 37"), sex or zip code ("02***") holds an exact value."""
    if " to " in label:
        low, high = label.split(" to ")
        return int(low) <= int(value) <= int(high)
    return all(a in ("*", b) for a, b in zip(label, str(value), strict=False))


@pytest.mark.thinned(2)
def test_the_groups_that_are_written_hold_the_values_of_their_people(case):
    semantics, form, fmt, publication, folder = case
    check_groups(register(semantics=semantics), publication, folder, fmt, form)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("form", ["generalized"])
@pytest.mark.parametrize("semantics", SEMANTICS)
def test_lists_are_published_as_long_tables_are(semantics, form, tmp_path):
    table = register(semantics=semantics, listed=True)
    publication = made(table, schema(semantics), form)
    publication.write(tmp_path / "out")
    check_groups(table, publication, tmp_path / "out", "csv", form)


def check_groups(table, publication, folder, fmt, form):
    wards, bags = read(folder, fmt, form)
    own, about = defaultdict(Counter), {}
    for row in table.to_pylist():
        values = row["diagnosis"] if isinstance(row["diagnosis"], list) else [row["diagnosis"]]
        own[row["ward"]].update(v for v in values if v is not None)
        about[row["ward"]] = row
    assert sorted(ward for members in wards.values() for ward in members) == sorted(about)
    assert set(bags) <= set(wards)
    for group, members in wards.items():
        assert bags.get(group, Counter()) == sum((own[w] for w in members), Counter())
    for row in rows_of(folder / f"people.{fmt}"):
        exact = about[row["ward"]]
        assert all(covers(row[c], exact[c]) for c in ("age", "sex", "zip"))
    assert publication.certificate.n_groups == len(wards) > 1
    assert publication.certificate.people == 150


def test_what_is_written_is_safe_by_an_own_count_of_it(case):
    semantics, form, fmt, publication, folder = case
    wards, bags = read(folder, fmt, form)
    values = sorted({v for bag in bags.values() for v in bag})
    cells = [(g, values.index(v), n) for g, k in enumerate(wards) for v, n in bags[k].items()]
    groups, codes, weights = np.array(cells).T
    counts = fk.GroupCounts.from_pairs(
        groups,
        codes,
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
    assert certificate.semantics == semantics
    assert certificate.check(folder) == []
    assert fk.audit(publication.release, fk.Policy(POLICY)).safe


def test_nothing_tells_which_values_are_of_one_person(case):
    _, form, fmt, publication, folder = case
    papers = {"certificate.json", "datapackage.json", "report.html"}
    names = {path.name for path in folder.iterdir()}
    assert names == {f"people.{fmt}", f"sensitive.{fmt}"} | papers
    groups = ["group"] if form == "bucketized" else ["age", "sex", "zip"]
    of_people = ["age", "sex", "zip", "ward", *(groups if form == "bucketized" else [])]
    assert publication.tables["people"].column_names == of_people
    assert publication.tables["sensitive"].column_names == [*groups, "diagnosis", "count"]
    rows = publication.tables["sensitive"].to_pylist()
    # One row per group and value, groups together, values in the order of the alphabet.
    keys = [tuple(row[c] for c in groups) for row in rows]
    assert len(list(dict.fromkeys(keys))) == sum(
        a != b for a, b in zip(keys, [None, *keys], strict=False)
    )
    for key in set(keys):
        own = [row["diagnosis"] for row, k in zip(rows, keys, strict=True) if k == key]
        assert own == sorted(set(own))
    assert "p000" not in (folder / "certificate.json").read_text()


def test_groups_that_look_alike_are_one_and_their_counts_are_added():
    table = pa.table(
        {
            "person": range(6),
            "age": [30] * 6,
            "diagnosis": [["a"], ["a", "b"], [], ["b"], ["a"], []],
        }
    )
    roles = schema(quasi_identifiers=["age"], other=[], hierarchies={})
    publication = made(
        table, roles, method=By(lambda m: m.rows_of(np.arange(m.n_people) % 2)), rules=EASY
    )
    assert publication.tables["sensitive"].to_pylist() == [
        {"age": "30", "diagnosis": "a", "count": 3},
        {"age": "30", "diagnosis": "b", "count": 2},
    ]
    assert publication.certificate.n_groups == 1


@pytest.mark.parametrize(("form", "fmt"), [("generalized", "csv"), ("generalized", "parquet")])
def test_groups_without_values_and_groups_without_a_quasi_identifier(form, fmt, tmp_path):
    cells = [["a"], ["a", "b"], [], [], [], ["b"], []]
    table = pa.table(
        {
            "person": range(7),
            "age": [30, 30, 30, None, None, 50, 50],
            "ward": list("abcdefg"),
            "diagnosis": pa.array(cells),
        }
    )
    roles = schema(quasi_identifiers=["age"], hierarchies={})
    by_age = By(lambda m: m.rows_of(m.attributes[0].codes))
    exact = {"age": "exact"}
    publication = made(table, roles, form, fmt, method=by_age, rules=EASY, labels=exact)
    certificate = publication.write(tmp_path / "out")
    assert (certificate.people, certificate.n_groups) == (7, 3)
    assert certificate.check(tmp_path / "out") == []
    people = rows_of(tmp_path / "out" / f"people.{fmt}")
    tally = rows_of(tmp_path / "out" / f"sensitive.{fmt}")
    column = "age" if form == "generalized" else "group"
    assert len({row[column] for row in people}) == 3
    assert len({row[column] for row in tally}) == 2
    nobody = {row[column] for row in people if row["ward"] in "de"}
    assert len(nobody) == 1
    assert nobody.isdisjoint(row[column] for row in tally)


def test_a_lone_column_with_missing_values_is_refused_in_csv(tmp_path):
    table = pa.table(
        {"person": range(4), "age": [30, 30, None, None], "diagnosis": [["a"], [], ["a"], []]}
    )
    roles = schema(quasi_identifiers=["age"], other=[], hierarchies={})
    with pytest.raises(OutputError, match="'age'"):
        made(table, roles, rules=EASY)
    made(table, roles, "generalized", "parquet", rules=EASY).write(tmp_path / "out")


@pytest.mark.parametrize("form", ["generalized"])
def test_formulas_can_be_disarmed(form, tmp_path):
    table = pa.table(
        {"=person": range(4), "-q": [-5, -5, 2, 2], "@d": [["=a", "b"], ["=a"], ["b"], []]}
    )
    roles = fk.Schema(
        quasi_identifiers=["-q"], sensitive="@d", person="=person", semantics="multiset"
    )
    publication = made(table, roles, form, rules=EASY, escape_formulas=True)
    certificate = publication.write(tmp_path / "out")
    assert certificate.check(tmp_path / "out") == []
    assert {row["'@d"] for row in rows_of(tmp_path / "out" / "sensitive.csv")} == {"'=a", "b"}


# ---- the papers ----------------------------------------------------------------------------------


def test_the_certificate_says_that_the_release_is_perhaps_not_minimal(tmp_path):
    publication = made(register(), schema())
    certificate = publication.write(tmp_path / "out")
    assert certificate.notes == (NOT_MINIMAL,)
    assert not certificate.minimal
    assert "safe, but perhaps not minimal" in repr(publication)
    assert "perhaps not minimal" in publication._repr_html_()
    table = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert table["minimal"] is False
    assert table["notes"] == [NOT_MINIMAL]
    assert table["release"]["semantics"] == "set"
    assert fk.Certificate.load(tmp_path / "out" / "certificate.json") == certificate


def test_a_minimal_result_is_said_to_be_one_where_the_method_says_so():
    def whole(says):
        method = By(lambda m: np.zeros(m.n_rows, dtype=np.int64))
        if says is not None:
            method.traits = fk.Traits(minimal=lambda policy: says)
        return method

    table = pa.table({"age": [1, 1, 2], "diagnosis": list("aba")})
    single = fk.Schema(quasi_identifiers=["age"], sensitive="diagnosis")
    for says in (True, False, None):
        publication = made(table, single, rules=EASY, method=whole(says))
        assert publication.certificate.minimal is bool(says)
        assert publication.certificate.notes == ()
    several = made(register(30), schema(), rules=EASY, method=whole(True))
    assert several.certificate.minimal is several.audit.policy.monotone()


def test_probabilities_of_very_many_digits_are_compared_exactly(tmp_path):
    table = pa.table({"age": [30] * 300, "diagnosis": [["a"], ["a", "b"], ["b"]] * 100})
    roles = schema("multiset", quasi_identifiers=["age"], other=[], person=None, hierarchies={})
    rules = [fk.Requirement(fk.Facts(1, 1, 1), "0.9")]
    whole = By(lambda m: np.zeros(m.n_rows, dtype=np.int64))
    publication = made(table, roles, method=whole, rules=rules)
    publication.write(tmp_path / "out")
    exact = publication.audit.verdicts[0].disclosure.exact
    assert exact.denominator.bit_length() > 1000
    path = tmp_path / "out" / "certificate.json"
    certificate = json.loads(path.read_text())
    short = certificate["findings"][0]["exact"]
    assert short.startswith(f"0.{int(exact * 10**6)}")
    for told, agrees in ((short, True), (str(exact), True), (short[:-1] + "0", False)):
        certificate["findings"][0]["exact"] = told
        path.write_text(json.dumps(certificate))
        assert (fk.Certificate.load(path).check(tmp_path / "out") == []) is agrees


# ---- what is refused -----------------------------------------------------------------------------


def test_a_method_that_divides_a_person_is_a_bug():
    with pytest.raises(InternalError, match="By put one person into two groups"):
        made(register(30), schema(), method=By(lambda m: np.arange(m.n_rows) % 2))


@pytest.mark.parametrize("form", ["generalized"])
def test_columns_named_like_those_of_the_release_are_refused(form):
    name = "count" if form == "generalized" else "group"
    table = register(150).rename_columns(["person", name, "sex", "zip", "diagnosis", "ward"])
    with pytest.raises(SchemaError, match=f"in '{name}'|names its groups '{name}'"):
        made(table, schema(quasi_identifiers=[name], hierarchies={}), form)


# ---- tampering -----------------------------------------------------------------------------------


def test_people_who_can_be_seen_to_have_nothing_are_counted(tmp_path):
    rows = {
        "who": list(range(6)),
        "age": [1, 1, 1, 9, 9, 9],
        "disease": ["a", "b", None, *[None] * 3],
    }
    schema = fk.Schema(
        quasi_identifiers=["age"], sensitive="disease", semantics="set", person="who"
    )
    options = fk.PublishOptions(labels={"age": "exact"})
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="1/2")], schema, options)
    made = fk.publish(fk.Microdata(pa.table(rows), schema), policy)
    assert made.audit.scope.without_value == 3
    assert made.certificate.scope["without_value"] == 3
    said = "3 people are in groups in which nobody has any disease: that they have none"
    assert any(note.startswith(said) for note in made.audit.notes)
    made.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").scope.without_value == 3


def test_points_of_a_skyline_may_stand_in_any_order():
    rows = pa.table({"age": ["1", "1", "2", "2"] * 6, "ill": list("abcdef") * 4})
    points = [(fk.Facts(1), "9/10"), (fk.Implications(1), "19/20"), (fk.Facts(), "4/5")]
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    made = fk.publish(rows, fk.Policy([fk.Requirement(points)], schema))
    assert [verdict.judged for verdict in made.audit.verdicts] == [own for own, _ in points]
