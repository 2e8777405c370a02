"""Publishing: what is written, who is in which row, what labels cover, and nothing else."""

import json
import random
import re
import stat
from collections import Counter
from datetime import date, datetime
from itertools import permutations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common import examples
from tests.people import (
    FORMS,
    HARD,
    bucketized,
    diagnoses,
    made,
    people,
    rows_of,
    schema,
)

import foreknow as fk
from foreknow.data.columns.hierarchy import DateLevels, Intervals, Ordered, Tree
from foreknow.data.labels.generalization import coarsened, style_of
from foreknow.data.microdata import Microdata
from foreknow.errors import OutputError, SchemaError
from foreknow.publishing.label_extents import Extents
from foreknow.publishing.notes import NOT_MINIMAL
from foreknow.publishing.tables import group_ids
from foreknow.randomness import SecretGenerator
from foreknow.written_releases.written_release import open_published
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import CertificateError

TABLES = {"generalized": ["release"], "bucketized": ["people", "sensitive"]}


def as_texts(table):
    rows = table.to_pylist()
    return [{k: None if v in (None, "") else str(v) for k, v in row.items()} for row in rows]


def small(table, quasi, sensitive="disease", other=(), **more):
    """Publish a table of a few rows."""
    roles = fk.Schema(quasi_identifiers=quasi, sensitive=sensitive, other=list(other))
    return made(table=pa.table(table) if isinstance(table, dict) else table, roles=roles, **more)


# ---- what is written ---------------------------------------------------------------------------


@pytest.mark.usefixtures("tiny_tables")
@pytest.mark.complete
@pytest.mark.parametrize(("form", "fmt"), FORMS)
def test_the_folder_and_its_report(form, fmt, tmp_path):
    """Nothing of an identifier, an index or a column without role; texts are as they were."""
    frame = people().to_pandas().set_index(pd.Index(range(1000, 1060), name="hidden_index"))
    frame.attrs["source"] = "hidden_attribute"
    publication, out = made(form, fmt, table=frame, seed=987654321), tmp_path / "out"
    certificate = publication.write(out)
    names = {path.name for path in out.iterdir()}
    papers = {"certificate.json", "datapackage.json", "report.html"}
    assert names == {f"{name}.{fmt}" for name in publication.tables} | papers
    assert list(publication.tables) == TABLES[form]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.owner"]
    owners = tmp_path / "out.owner"
    assert {path.name for path in owners.iterdir()} == {"members.parquet", "owner.json"}
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (owners, owners / "owner.json")]
    assert modes == [0o700, 0o600]
    assert fk.Certificate.load(out / "certificate.json") == certificate
    assert certificate.safe
    assert certificate.check(out) == []
    for name, table in publication.tables.items():
        rows = [{k: v or None for k, v in row.items()} for row in rows_of(out / f"{name}.{fmt}")]
        assert rows == as_texts(table)
        assert "disease" not in table.column_names or {r["disease"] for r in rows} == set(HARD)
    owner = json.loads((owners / "owner.json").read_text())
    assert owner["seed"] == 987654321
    assert re.fullmatch("[0-9a-f]{64}", owner["digest_key"])
    words = ("Person", "secret", "name,", "987654321", owner["digest_key"], "hidden_", "ARROW:")
    for path in out.iterdir():
        content = path.read_bytes()
        if path.suffix == ".parquet":
            stored = pq.ParquetFile(path)
            assert not stored.schema_arrow.metadata
            assert not stored.metadata.metadata
            for field in stored.schema_arrow:
                assert not field.metadata or set(field.metadata) <= {b"PARQUET:field_id"}
            content = "\n".join(map(str, rows_of(path))).encode() + content
        for word in (*words, *(["pandas"] if path.suffix == ".parquet" else [])):
            assert word.encode() not in content, path.name
    assert (out / "report.html").read_text().lstrip().lower().startswith("<!doctype html>")
    assert json.loads((out / "certificate.json").read_text())["seeded"] is True


@pytest.mark.usefixtures("tiny_tables")
@pytest.mark.parametrize("escaped", [False, True])
@pytest.mark.parametrize(("form", "fmt"), [FORMS[0], FORMS[3]])
def test_a_folder_is_the_release(form, fmt, escaped, tmp_path):
    """Also where a column that nobody knows has two kinds of empty fields."""
    publication = made(form, fmt, escape_formulas=escaped)
    publication.write(tmp_path / "out")
    exact = [verdict.disclosure.exact for verdict in publication.audit.verdicts]
    for path in (tmp_path / "out", *(tmp_path / "out").glob(f"*.{fmt}")):
        opened = open_published(path, schema())
        audit = fk.audit(opened.release, publication.audit.policy)
        assert audit.safe
        assert [verdict.disclosure.exact for verdict in audit.verdicts] == exact
        values, other = opened.release.counts.values, publication.release.counts.values
        assert {*map(str, values)} == {*map(str, other)}
        assert repr(opened) == f"Published({opened.release.name}, {form})"


# ---- formulas ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("tiny_tables")
def test_known_values_with_marks(tmp_path):
    """Two people have ``=cook`` and two ``'=cook``: not four are alike, and one in two has HIV."""
    columns = {"ward": ["a"] * 4, "job": ["=cook"] * 4, "ill": ["Flu", "Cold", "Gout", "HIV"]}
    rules = {
        "schema": {"quasi_identifiers": ["ward"], "sensitive": "ill", "other": ["job"]},
        "require": [
            {"k_anonymity": 4, "knowing": ["job"]},
            {"facts": {"l": 0}, "below": "1/2", "knowing": ["job"]},
        ],
        "publish": {"escape_formulas": True},
    }
    fk.publish(pa.table(columns), rules, seed=1).write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    file, certificate = tmp_path / "out" / "release.csv", tmp_path / "out" / "certificate.json"
    text = file.read_text()
    assert text.count("'=cook") == 4
    file.write_text(text.replace("'=cook", "=cook", 2))
    forged = json.loads(certificate.read_text())
    forged["release"]["files"]["release.csv"] = digest_of(file)
    certificate.write_text(json.dumps(forged))
    with pytest.raises(CertificateError, match="with the mark of one, and without"):
        fk.verify(tmp_path / "out")


# ---- what CSV cannot hold ----------------------------------------------------------------------


@pytest.mark.usefixtures("tiny_tables")
@pytest.mark.parametrize(
    ("quasi", "values", "form", "message"),
    [
        ([1, 1, 2, 2], ["", "t"] * 2, "generalized", "a sensitive value"),
        ([1, 1, 2, 2], ["", "t"] * 2, "bucketized", "a sensitive value"),
        (["", "", "b", "b"], ["s", "t"] * 2, "generalized", "a value of 'q'"),
    ],
)
def test_empty_texts_in_csv(quasi, values, form, message, tmp_path):
    table = {"q": quasi, "disease": values}
    with pytest.raises(OutputError, match=f'empty text is {message}.*"parquet"'):
        small(table, ["q"], form=form)
    small(table, ["q"], form=form, fmt="parquet").write(tmp_path / form)
    rows = pq.read_table(tmp_path / form / f"{TABLES[form][-1]}.parquet").to_pylist()
    assert {row["disease"] for row in rows} == set(values)


# ---- values that are not published change no file ----------------------------------------------


def incomes(first=(10**6,) * 3, **more):
    """Three people with far the highest incomes, and 197 others."""
    chance = random.Random(3)
    income = [*first, *(chance.randrange(20, 100) * 1000 for _ in range(197))]
    sex = [chance.choice("fm") for _ in income]
    columns = {"income": income, "sex": sex, "disease": [chance.choice("abce") for _ in income]}
    return pa.table(columns | more)


def asked(*requirements, roles=None, known=("income", "sex"), **publish):
    schema = {"quasi_identifiers": [*known], "sensitive": "disease", **(roles or {})}
    return {"schema": schema, "require": [*requirements], "publish": publish}


HIGHER = (10**8, 9 * 10**7, 8 * 10**7)
STEPS = {"hierarchies": {"income": {"intervals": [10_000, 50_000, 100_000]}}}
CASES = {"person": "patient", "unit": "row"}
AT_MOST = {"facts": {"l": 0}, "below": 0.9}
K, HIDDEN = {"k_anonymity": 5}, {"suppression": 0.05}
COUPLES, HALVES = [i // 2 for i in range(200)], [*"xy"] * 100
RARE = [["p", "p", "p"], ["p", "q", "r"]]
# Two tables that differ in values that are not published, and a policy.
UNPUBLISHED = {
    "mondrian": (incomes(), incomes(HIGHER), asked(K, mondrian=HIDDEN)),
    "fulldomain": (
        *(incomes(), incomes(HIGHER)),
        asked(K, roles=STEPS, method="fulldomain", fulldomain=HIDDEN),
    ),
    "sets": (
        *(incomes(income=[*few, *[*"abcd"] * 49, "a"]) for few in RARE),
        asked(K, mondrian=HIDDEN),
    ),
    "cases": (
        *(incomes(patient=who) for who in ([*range(200)], COUPLES)),
        asked(K, AT_MOST, roles=CASES, known=["sex"]),
    ),
    "knowing": (
        *(incomes(job=job) for job in (["x"] * 200, HALVES)),
        asked(AT_MOST | {"knowing": ["job"]}, known=["sex"]),
    ),
}


@pytest.mark.usefixtures("tiny_tables")
@pytest.mark.complete
@pytest.mark.parametrize("case", UNPUBLISHED)
def test_unpublished_values_in_a_report(case, tmp_path):
    *tables, policy = UNPUBLISHED[case]
    folders = [tmp_path / "one", tmp_path / "other"]
    for table, folder in zip(tables, folders, strict=True):
        fk.publish(table, policy, seed=1, out=folder)
    one, other = ({path.name: lines(path) for path in folder.iterdir()} for folder in folders)
    assert one == other


def lines(path):
    """The lines of a published file, in order; of a certificate, without digests."""
    return sorted(re.sub("[0-9a-f]{64}", "", path.read_text()).splitlines())


# ---- facts on top of priors --------------------------------------------------------------------


def priors(rows, *reading, **facts):
    """Priors by sex: rows of a letter and the probabilities of Flu, Cold, Gout and AIDS."""
    known = {"sex": [], "value": [], "probability": []}
    for sex, *chances in rows:
        for value, chance in zip(["Flu", "Cold", "Gout", "AIDS"], chances, strict=True):
            known["sex"].append(sex)
            known["value"].append(value)
            known["probability"].append(chance)
    return fk.Priors(pa.table(known), *reading, **facts)


KNOWN = [("m", "0.4", "0.3", "0.2", "0.1"), ("f", "0.35", "0.4", "0.1", "0.15")]
TOLD = [("m", "0.99", "0", "0", "0.01"), ("f", "0.01", "0", "0", "0.99")]


def patients(n=160):
    chance = random.Random(0)
    sexes = chance.choices("mf", k=n)
    ills = chance.choices(["Flu", "Cold", "Gout", "AIDS"], [4, 3, 2, 1], k=n)
    return pa.table({"sex": sexes, "age": chance.choices(range(60), k=n), "ill": ills})


def against(method, known, **limit):
    roles = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="ill")
    options = fk.PublishOptions(method=method, form="bucketized")
    return fk.Policy([fk.Requirement(known, **limit)], schema=roles, options=options)


@pytest.mark.usefixtures("tiny_tables")
@pytest.mark.parametrize(
    "limit", [{"at_most_times": 8}, {"any_of": ["AIDS", "Gout"], "below": 0.9}]
)
def test_art_keeps_other_limits(limit, tmp_path):
    known = priors(KNOWN, facts=fk.Facts(1, 1))
    fk.publish(patients(200), against("art", known, **limit), seed=2).write(tmp_path / "out")
    fk.verify(tmp_path / "out")


@pytest.mark.usefixtures("tiny_tables")
def test_what_no_search_can_ask():
    # The facts alone are safe; with priors the two who differ are told apart.
    table = pa.table({"sex": list("mfmf") * 4, "age": [1] * 16, "ill": ["Flu", "AIDS"] * 8})
    rules = against("mondrian", priors(TOLD, facts=fk.Facts(0, 1)), below="3/4")
    with pytest.raises(fk.NoSafeRelease, match="but not with priors and facts together"):
        fk.publish(table, rules, seed=1)
    relative = against("mondrian", priors(KNOWN, facts=fk.Facts(1)), at_most_times=5)
    for rules in (against("mondrian", priors(KNOWN), below="9/10"), relative):
        with pytest.raises(fk.ForeknowError, match="needs groups that are finished"):
            fk.publish(patients(), rules, seed=1)


@pytest.mark.usefixtures("tiny_tables")
def test_learned_priors_stay_with_owners(tmp_path):
    table = patients(200)
    known = fk.Priors(list(fk.Priors.learn(table, ["sex"], "ill").tables), facts=fk.Facts(1))
    certificate = fk.publish(table, against("art", known, below="9/10"), seed=2).write(
        tmp_path / "out"
    )
    certified = certificate.policy["require"][0]["priors"]
    assert sorted(certified["tables"][0]) == ["attributes", "digest"]
    assert certified["facts"] == {"l": 1, "k": 0, "m": 0}
    fk.verify(tmp_path / "out")


# ---- tables --------------------------------------------------------------------------------------


def even(counts, expected, n):
    """Whether so many kinds are as frequent as expected: chi-square, five deviations."""
    total = sum((counts.get(i, 0) - expected) ** 2 / expected for i in range(n))
    return total < n - 1 + 5 * (2 * (n - 1)) ** 0.5


# ---- in what order -----------------------------------------------------------------------------


def test_every_number_of_a_group():
    """A group has any number, in both tables, wherever its people stood."""
    roles = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    table = pa.table({"age": [*"001122"], "ill": [*"aabbcc"]})
    random, seen = np.random.default_rng(2), set()
    for _ in range(60):
        given = fk.Microdata(table, roles), np.array([0, 0, 1, 1, 2, 2])
        tables = bucketized(*given, group_ids(3, random), random)
        numbers = {row["age"]: row["group"] for row in tables["people"].to_pylist()}
        ills = {row["group"]: row["ill"] for row in tables["sensitive"].to_pylist()}
        assert [ills[numbers[age]] for age in "012"] == [*"abc"]
        seen.add(tuple(numbers[age] for age in "012"))
    assert len(seen) == 6


def test_columns_called_group():
    names = ["name", "group", "age", "zip", "sex", "note", "secret", "disease"]
    table, roles = people().rename_columns(names), schema(other=["group"])
    assert "group" in made(table=table, roles=roles).tables["release"].column_names
    with pytest.raises(SchemaError, match="'group'"):
        made("bucketized", table=table, roles=roles)
    for name in ("group", "count"):
        plain = pa.table({"age": [1, 1], name: ["s", "t"]})
        roles = fk.Schema(quasi_identifiers=["age"], sensitive=name)
        with pytest.raises(SchemaError, match="must not be called"):
            made("bucketized", table=plain, roles=roles)


# ---- the generator -----------------------------------------------------------------------------


def draw(seed=b"a"):
    return SecretGenerator(seed.ljust(32))


def shuffled(g, x):
    g.shuffle(x)
    return x


@pytest.mark.parametrize(
    "order",
    [
        lambda g: g.permutation(4),
        lambda g: g.permutation(np.arange(4)),
        lambda g: g.permutation([0, 1, 2, 3]),
        lambda g: shuffled(g, [0, 1, 2, 3]),
        lambda g: shuffled(g, np.arange(4)),
        lambda g: g.choice(4, 4, replace=False),
    ],
)
def test_every_order_is_as_likely(order):
    g, ways = draw(), list(permutations(range(4)))
    counts = Counter(ways.index(tuple(map(int, order(g)))) for _ in range(1200))
    assert even(counts, 50, 24)


@pytest.mark.parametrize(
    ("numbers", "n"),
    [
        (lambda g: g.integers(7, size=7000), 7),
        (lambda g: g.integers(-3, 4, size=(70, 100)) + 3, 7),
        (lambda g: g.integers(0, np.full(7000, 7)), 7),
        (lambda g: [g.integers(7) for _ in range(2000)], 7),
        (lambda g: (g.random(7000) * 7).astype(int), 7),
        (lambda g: np.frombuffer(g.bytes(7000), np.uint8) % 8, 8),
        # Of three quarters of all words, a remainder alone would prefer the lower third.
        (lambda g: g.integers(0, np.full(30_000, 3 << 61), size=30_000) // (1 << 61), 3),
    ],
)
def test_every_number_is_as_likely(numbers, n):
    counts = Counter(np.asarray(numbers(draw())).ravel().tolist())
    assert set(counts) == set(range(n))
    assert even(counts, sum(counts.values()) / n, n)


def test_the_generator_is_like_numpy():
    for bounds in ((0, 0), (np.array([1, 0]),), (np.array([2, 3]), np.array([3, 3]))):
        with pytest.raises(ValueError, match=r"low >= high|high <= 0"):
            draw().integers(*bounds, size=2)
    g = draw()
    normal = g.normal(2, 3, size=40_000)
    assert abs(normal.mean() - 2) < 0.1
    assert abs(normal.std() - 3) < 0.1
    taken = g.hypergeometric(np.full(5000, 30), 10, 20)
    assert abs(taken.mean() - 15) < 0.2
    many = g.multivariate_hypergeometric([5, 10, 20], 35, method="marginals")
    assert many.tolist() == [5, 10, 20]
    assert (g.random(3).shape, g.random((2, 3)).shape) == ((3,), (2, 3))
    assert g.permutation(0).tolist() == []
    assert g.random(4).tolist() != g.random(4).tolist()


@pytest.mark.thinned(2)
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize(
    "method",
    [
        *(fk.Mondrian(), fk.Mondrian(refine=0.1), fk.Anatomy(l=2)),
        *(fk.Streamliner(l=2, variant=variant) for variant in ("rda", "ria", "gsa")),
        *(fk.Decoy(), fk.FullDomain(), None),
    ],
    ids=repr,
)
def test_nothing_published_comes_of_seeds(method, form, monkeypatch):
    """Numbers that are the same for everybody have a seed that stands in the program."""
    ask = np.random.default_rng

    def seeded(seed=None):
        assert seed is not None, "drawn from a generator that gives its state away"
        return ask(seed)

    monkeypatch.setattr(np.random, "default_rng", seeded)
    roles = {"identifiers": ["name"], "quasi_identifiers": ["age", "sex"], "sensitive": "disease"}
    policy = fk.Policy.from_dict(
        {
            "schema": roles,
            "publish": {"form": form},
            "require": [{"facts": {"l": 0, "k": 0, "m": 0}, "below": 0.9}],
        }
    )
    columns = {"name": range(200), "age": [20 + i % 9 for i in range(200)], "sex": [*"mf"] * 100}
    table = pa.table({**columns, "disease": [f"d{i % 5}" for i in range(200)]})
    publication = fk.publish(fk.Microdata(table, policy.schema), policy, method=method)
    assert not publication.certificate.seeded
    assert sum(table.num_rows for table in publication.tables.values()) >= 200


# ---- extents -------------------------------------------------------------------------------------


ORDER = ["low", "mild", "severe", "a to b"]
ROWS = [["a", "With", "*"], ["b", "With", "*"], ["c", "Alone", "*"], ["d", "Alone", "*"]]
DAYS = st.dates(date(2023, 1, 1), date(2025, 6, 1))
TIMES = st.datetimes(datetime(2024, 3, 5), datetime(2024, 3, 9))
TIMES = TIMES.map(lambda time: time.replace(second=0, microsecond=0))
NUMBERS = st.decimals("-30", "60", places=1).map(float)
KINDS = {
    "whole": (st.integers(-30, 90), None, "number"),
    "decimal": (NUMBERS, None, "number"),
    "intervals": (NUMBERS, Intervals(["2.5", "10"]), "number"),
    "days": (DAYS, None, "date"),
    "periods": (DAYS, DateLevels(["month", "quarter", "year", "decade"]), "date"),
    "times": (TIMES, None, "date"),
    "hours": (TIMES, DateLevels(["hour", "day", "month"]), "date"),
    "texts": (st.sampled_from("abcdef"), None, "text"),
    "order": (st.sampled_from(ORDER), Ordered(ORDER), "text"),
    "tree": (st.sampled_from("abcd"), Tree(ROWS), "text"),
}


def grouped(values, hierarchy, groups, style=None):
    """The label of each row."""
    hierarchies = {} if hierarchy is None else {"q": hierarchy}
    schema = fk.Schema(quasi_identifiers=["q"], sensitive="d", hierarchies=hierarchies)
    table = pa.table({"q": values, "d": ["x"] * len(values)})
    (attribute,) = Microdata(table, schema).attributes
    result = coarsened(attribute, groups, int(groups.max()) + 1, style_of(attribute, style))
    return [result.labels[group] for group in groups]


def covers_extents(extent, value):
    if extent.everything:
        return True
    if value is None:
        return extent.missing
    if extent.members:
        return value in extent.members
    low, high = extent.lower, extent.upper
    return low is not None and low <= value <= high


@st.composite
def rows(draw, values):
    given_ = draw(st.lists(st.none() | values, min_size=1, max_size=14))
    given_ += [draw(values)]
    groups = draw(st.lists(st.integers(0, 3), min_size=len(given_), max_size=len(given_)))
    return given_, np.unique(groups, return_inverse=True)[1]


@pytest.mark.parametrize("kind", KINDS)
@examples(3000, 20, deadline=None)
@given(data=st.data())
def test_labels_cover_all_members(kind, data):
    values, hierarchy, about = KINDS[kind]
    own, groups = data.draw(rows(values))
    labels = grouped(own, hierarchy, groups)
    known = {"order": {"about": "text", "order": ORDER}, "tree": {"about": "text", "tree": ROWS}}
    known |= {kind: {"about": about} for kind in ("intervals", "periods")}
    known |= {kind: {"about": about, "timed": True} for kind in ("times", "hours")}
    result = Extents(labels, **known.get(kind, {}))
    for value, label in zip(own, labels, strict=True):
        extent = result.of[label]
        assert covers_extents(extent, value), (label, extent, value)
        if extent.exact and value is not None and about != "text":
            assert extent.lower == extent.upper == value
    if any(label is not None and not result.of[label].everything for label in labels):
        assert result.about == about


# ---- publishing under `set` and `multiset`: what is written, judged, and not told ----------------


POLICY = [fk.Requirement(fk.Facts(1, 1, 1), "0.8")]
COLUMNS = ["age", "sex", "zip"]


def schema_several(semantics="set", **changed):
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


def made_several(table, roles, *, fmt="csv", rules=POLICY, method=None, **more):
    options = fk.PublishOptions(format=fmt, **more)
    return fk.publish(fk.Microdata(table, roles), fk.Policy(rules), method=method, options=options)


def alone(columns, *, semantics="set", **more):
    """The roles of a table whose people have an age and diagnoses; nothing else."""
    return pa.table(columns), schema_several(
        semantics, quasi_identifiers=["age"], other=[], hierarchies={}, **more
    )


# ---- groups of few people ----------------------------------------------------------------------


# ---- the papers --------------------------------------------------------------------------------


def test_perhaps_not_minimal(tmp_path):
    publication = made_several(register(), schema_several())
    certificate = publication.write(tmp_path / "out")
    assert (certificate.notes, certificate.minimal) == ((NOT_MINIMAL,), False)
    assert repr(publication).endswith("), perhaps not minimal)")
    assert "perhaps not minimal" in publication._repr_html_()
    path = tmp_path / "out" / "certificate.json"
    table = json.loads(path.read_text())
    assert (table["minimal"], table["notes"]) == (False, [NOT_MINIMAL])
    assert table["release"]["semantics"] == "set"
    assert fk.Certificate.load(path) == certificate
