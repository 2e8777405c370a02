"""Every source holds a table alike: what is counted of it, who is in it, and what is refused."""

import random
import sqlite3
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.frames.backends import (
    FILES,
    UNNUMBERED,
    arrow_dictionaries,
    bags,
    csv_file,
    parquet_file,
    parquet_folder,
    polars_lazy,
    write,
    write_workbook,
)

import foreknow as fk
from foreknow.data.labels.labels import Labels
from foreknow.data.members import Members
from foreknow.data.tables import table as tables
from foreknow.data.tables.columns import Relabel
from foreknow.data.tables.formats import parquet_table as parquet
from foreknow.data.tables.sources import open_table
from foreknow.errors import SchemaError
from foreknow.planning.suggestion.policy import suggest_policy
from foreknow_judge.errors import DataError, InputError

NAN = float("nan")
PEOPLE = pa.table({
    "gid": [3, 1, 1, 2, 3, 1, 2, 3, 12, 2],
    "age": [30, 41, 41, 30, 30, 41, 30, 30, 41, 58],
    "sex": ["f", "m", None, "f", "f", "m", "f", None, "m", None],
    "d": ["Flu", "AIDS", "Flu", "Flu", "Cold", "AIDS", "Flu", "Flu", "Cold", "AIDS"],
    "pid": [*"abcdefghij"],
})  # fmt: skip
SHUFFLED = PEOPLE.take(pa.array([7, 2, 9, 0, 4, 8, 1, 6, 3, 5]))
ILL = pa.table({
    "gid": [1, 1, 2, 2, 2, 3], "d": ["Flu", "AIDS", None, "Flu", None, None], "pid": [*"abcdef"],
})  # fmt: skip
NAMED = {
    "Ann": ("x", ["Flu", "AIDS"]), "Bob": ("y", []), "Cid": ("x", ["Flu"]),
    "Dora": ("y", ["Cold", "Flu", "AIDS"]), "Eve": ("x", []), "Fay": ("z", []),
    "Gus": ("y", ["Cold"]),
}  # fmt: skip
SEVERAL = {"x": "3: AIDS 1, Flu 2", "y": "3: AIDS 1, Cold 2, Flu 1", "z": "1:"}
TALLY = pa.table({
    "group": [2, 1, 1, 2], "d": ["Flu", "Flu", "AIDS", "Cold"], "count": [2, 1, 3, 1],
})  # fmt: skip
OF_GROUPS = pa.table({"group": [2, 1, 2, 3, 1, 1], "age": range(6), "pid": [*"abcdef"]})
NULL = pa.table({"age": [30] * 3, "sex": ["f", "f", None], "d": ["Flu", "Cold", "AIDS"]})
ODD = ["select", "a b", 'qu"ote', "é", "a;b", "'", "count(*)"]
OF_ODD = pa.table({name: [1, 1, 2] for name in ODD} | {"d": [*"xyx"]})


def by(kind, **roles):
    """What makes a release of a source."""
    return lambda source: getattr(fk.Release, f"from_{kind}")(source, **{"sensitive": "d"} | roles)


GROUPS = by("groups", group="gid")
OF_SETS = {"person": "pid", "semantics": "set"}


def ages(*columns, **more):
    return by("generalized", quasi_identifiers=[*columns], **more)


def told(release):
    """Group -> its people, and how many have which value."""
    counts = release.counts
    results = {}
    for group, label in enumerate(counts.groups):
        label = tuple(map(text, label)) if isinstance(label, tuple) else text(label)
        message = ", ".join(f"{value} {n}" for value, n in sorted(counts.bag(group).items()))
        results[label] = f"{counts.sizes[group]}: {message}".rstrip()
    assert len(results) == counts.n_groups
    return results


def text(label):
    return None if label is None else str(label)


def long(people, chance=None):
    """One row per value; who has none has a row with a null, others sometimes too."""
    rows = []
    for name, (group, values) in people.items():
        rows += [(name, group, value) for value in values]
        if not values or (chance and chance.random() < 0.3):
            rows.append((name, group, None))
    if chance:
        chance.shuffle(rows)
    names, groups, values = zip(*rows, strict=True)
    return pa.table({"pid": names, "gid": groups, "d": pa.array(values, pa.string())})


def lists(people, chance=None):
    """One row per person; who has no value has an empty list or a null."""
    rows = [(name, *own) for name, own in people.items()]
    names, groups, values = zip(*(chance.sample(rows, len(rows)) if chance else rows), strict=True)
    held = [value or ([], None)[i % 2] for i, value in enumerate(values)]
    return pa.table({"pid": names, "gid": groups, "d": pa.array(held, pa.list_(pa.string()))})


BY_GROUP = {
    "1": "3: AIDS 2, Flu 1",
    "2": "3: AIDS 1, Flu 2",
    "3": "3: Cold 1, Flu 2",
    "12": "1: Cold 1",
}
BY_AGE_AND_SEX = {
    ("30", "f"): "4: Cold 1, Flu 3", ("30", None): "1: Flu 1", ("41", "m"): "3: AIDS 2, Cold 1",
    ("41", None): "1: Flu 1", ("58", None): "1: AIDS 1",
}  # fmt: skip
FALLEN = {"1": "3: AIDS 3, Flu 1", "2": "2: Cold 1, Flu 2", "3": "1:"}
HELD = [
    (PEOPLE, GROUPS, BY_GROUP),
    (SHUFFLED, GROUPS, BY_GROUP),
    (PEOPLE, ages("age", "sex"), BY_AGE_AND_SEX),
    (SHUFFLED, ages("age", "sex"), BY_AGE_AND_SEX),
    # Other tools drop whoever has a null, and call the rest safe.
    (NULL, ages("age", "sex"), {("30", "f"): "2: Cold 1, Flu 1", ("30", None): "1: AIDS 1"}),
    (NULL, ages("sex"), {("f",): "2: Cold 1, Flu 1", (None,): "1: AIDS 1"}),
    (ILL, by("groups", group="gid", missing="drop"), {"1": "2: AIDS 1, Flu 1", "2": "1: Flu 1"}),
    (
        *(ILL, by("groups", group="gid", missing=Relabel("no"))),
        {"1": "2: AIDS 1, Flu 1", "2": "3: Flu 1, no 2", "3": "1: no 1"},
    ),
    (TALLY, by("bucketized"), {"1": "4: AIDS 3, Flu 1", "2": "3: Cold 1, Flu 2"}),
    (TALLY, by("bucketized", semantics="set", people=OF_GROUPS), FALLEN),
    (OF_GROUPS, lambda of: by("bucketized", semantics="set", people=of)(TALLY), FALLEN),
    (long(NAMED, random.Random(1)), by("groups", group="gid", **OF_SETS), SEVERAL),
    (
        *(long(NAMED), by("groups", group="gid", person="pid", semantics="multiset")),
        SEVERAL,
    ),
    *((OF_ODD, by("groups", group=name), {"1": "2: x 1, y 1", "2": "1: x 1"}) for name in ODD),
]  # fmt: skip


def test_every_source_counts_alike(everywhere):
    for table, release, wanted in HELD:
        result = release(everywhere(table))
        assert told(result) == wanted
        assert [*result.counts.values] == sorted(result.counts.values)


def placed(release):
    """Name -> label of the group, found by way of the counts."""
    members = release.members
    assert len(members) == release.counts.n_people
    assert release.members is members
    return {name: release.counts.group_label(members.group_of(name)) for name in members.names}


def prepared(source):
    """What is published of it, as a release."""
    schema = fk.Schema(quasi_identifiers=["gid"], sensitive="d", person="pid")
    return fk.Release.from_schema(fk.Microdata(source, schema).prepared, schema)


def person(names):
    table = pa.table({"pid": names, "gid": [1, 1, 2, 2], "d": [*"abab"]})
    return table, [by("groups", group="gid", person="pid"), prepared]


# What is refused, and what is said where rows have no numbers.
REFUSED = [
    (ILL, [GROUPS], "column 'd' is missing in 3 rows, first in row 3;", "is missing in 3 rows;"),
    (ILL, [GROUPS], 'missing = "drop" or missing = { label = "unknown" }', None),
    (
        *(pa.table({"gid": ["a", "a", None, None], "d": [*"wxyz"]}), [GROUPS]),
        *(r"'gid' is missing \(row 3\); every row needs a group", "'gid' is missing; every row"),
    ),
    (PEOPLE.slice(0, 0), [GROUPS], "has no rows", None),
    (PEOPLE, [by("groups", group="gid", sensitive="di")], "'di'.*'d'", None),
    (PEOPLE, [by("groups", group="group")], "'group'.*'gid'.*'d'", None),
    *(
        (long(NAMED), [by("groups", group="gid", semantics=of)], f"'{of}' needs person", None)
        for of in ("set", "multiset")
    ),
    (*person(["Ann", "Bob", "Cid", "Bob"]), "'Bob' is in rows 2 and 4; .* = .set. or", None),
    (*person(["Ann", "Bob", "Ann", "Ann"]), "'Ann' is in rows 1 and 3;", None),
    (*person(["Ann", "Bob", None, "Dora"]), "column of people 'pid' is missing in row 3", None),
]  # fmt: skip


def test_every_source_refuses_alike(everywhere):
    name = everywhere.backend.__name__
    numbered = everywhere.backend in FILES or everywhere.backend not in UNNUMBERED
    for table, makers, says, otherwise in REFUSED:
        source = everywhere(table)
        for make in makers:
            if "row" in says and name == "spark_frame":  # which promises no order of rows
                continue
            with pytest.raises(InputError) as said:
                _ = make(source).counts
            said.match(says if numbered or otherwise is None else otherwise)
    table, makers = person(["Ann", "Bob", "Cid", "Dora"])
    assert [make(everywhere(table)).counts.n_people for make in makers] == [4, 4]


# ---- spellings of what is missing ----------------------------------------------------------------

SPELLED = {"missing": ["NA", "k. A."]}
BARE = {"NA", "k. A."}
AGES = ["23", "NA", " k. A. ", "45", "30", None, "23", "61", "30", "NA", "45", "61"]
ZIPS = ["01067", "NA", "01069", "01067", None, "k. A."] * 2
ILLS = ["Flu", "NA", "AIDS", "Flu", "k. A.\t", "Cold"] * 2
WRITTEN = pa.table({
    "pid": [f"p{i}" for i in range(12)], "age": AGES, "zip": ZIPS, "ill": ILLS,
    "job": ["cook", "NA", None] * 4,
})  # fmt: skip


def cleared(values):
    return [None if value is None or value.strip() in BARE else value for value in values]


NUMBERS = [own and int(own) for own in cleared(AGES)]
PLAIN = pa.table({  # the same with nulls, and ages as numbers
    "pid": WRITTEN["pid"], "age": NUMBERS, "zip": cleared(ZIPS), "ill": cleared(ILLS),
    "job": ["cook", None, None] * 4,
})  # fmt: skip


def schema(**more):
    how = {"missing": {"label": "unknown"}, "reading": SPELLED, **more}
    return fk.Schema(quasi_identifiers=["age", "zip"], sensitive="ill", **how)


def held(given):
    """All that a table says, with the values of everybody."""
    columns = [(a.name, a.domain, a.order, a.codes.tolist()) for a in given.attributes]
    return columns, [*given.values], given.sensitive_codes.tolist(), given.n_people


def test_sources_read_spellings_as_nulls(everywhere):
    source, spark = everywhere(WRITTEN), everywhere.backend.__name__ == "spark_frame"
    for missing in ("drop", {"label": "unknown"}):
        microdata = fk.Microdata(source, schema(missing=missing))
        wanted = fk.Microdata(PLAIN, schema(missing=missing, reading={}))
        assert wanted.attributes[0].domain == [None, 23, 30, 45, 61]
        if spark:  # rows have no order
            assert sorted(held(microdata)[2]) == sorted(held(wanted)[2])
        else:
            assert held(microdata) == held(wanted)
    with pytest.raises(DataError, match="'ill'"):
        _ = fk.Microdata(source, schema(missing="error")).n_people
    odd = [f"{blanks}NA{blanks}" for blanks in (" ", "\t", "\u00a0", " \t\r\n\v\f ")]
    table = pa.table({"age": ["1", *odd, "3"], "zip": [*"abcdef"], "ill": ["x", *odd, "y"]})
    microdata = fk.Microdata(everywhere(table), schema())
    assert (microdata.attributes[0].domain, sorted(microdata.values)) == (
        [None, 1, 3],
        ["unknown", "x", "y"],
    )


def test_columns_without_spellings_are_numbers(tmp_path):
    rows = [
        ["age", "zip", "ill"],
        [23, "a", "x"],
        ["NA", "b", "y"],
        [" k. A. ", "b", "NA"],
        [45, "a", "y"],
    ]
    frame = pd.DataFrame(rows[1:], columns=rows[0])
    book = write_workbook(tmp_path / "people.xlsx", {"Sheet1": rows})
    for source in (frame, book):
        microdata = fk.Microdata(source, schema())
        assert microdata.attributes[0].domain == [None, 23, 45]
        assert [*microdata.values] == ["unknown", "x", "y"]
    with sqlite3.connect(tmp_path / "people.sqlite") as opened:
        opened.execute("CREATE TABLE people (age, zip, ill, born DATE)")
        more = [[*row, "2001-02-03" if i else "NA"] for i, row in enumerate(rows[1:])]
        opened.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", more)
    roles = {"quasi_identifiers": ["age", "zip", "born"], "sensitive": "ill"}
    microdata = fk.Microdata(tmp_path / "people.sqlite", **roles, missing="drop", reading=SPELLED)
    assert microdata.attributes[0].domain == [None, 23, 45]
    assert microdata.read_as()["born"] == "one date, 2001-02-03, some missing"
    with pytest.raises(DataError, match="a text in row 2"):  # row 1 is that of 'NA' in order
        _ = fk.Microdata(tmp_path / "people.sqlite", schema(reading={})).n_people


def test_spellings_are_whole_texts():
    others = ["na", "Na", "NAN", "N A", "NAs", ""]
    table = pa.table({"age": ["1", *others], "zip": ["a"] * 7, "ill": [*"xyxyxyx"]})
    assert {*others} <= {*fk.Microdata(table, schema()).attributes[0].domain}
    for wrong in ("NA", [99], {"NA"}, ["NA", None]):
        with pytest.raises(SchemaError, match="missing of reading"):
            fk.Reading(missing=wrong)


@pytest.mark.parametrize(
    ("cells", "codes", "held", "more"),
    [
        ("99.0 5.5 99 -1.00 099 99.5", ["99", "-1"], "5.5 099 99.5", {}),
        ("99,0 5,5 99 1,50", ["99.0", "1.5"], "5,5", {"decimal": ","}),
        ("1000 1.000 1.000,0 1 10.00", ["1000"], "1 10.00", {"decimal": ","}),
        ("$9,999 -9999 9999 $-9999 9,99", ["-9999"], "$9,999 9999 9,99", {"currency": "$"}),
        ("1900-01-01T00:00 1900-01-01T00:01", ["1900-01-01"], "1900-01-01T00:01", {}),
        ("01.01.1900 01.11.1900", ["1900-01-01"], "01.11.1900", {"date_format": "dd.mm.yyyy"}),
    ],
)
def test_codes_match_numbers_in_texts(cells, codes, held, more, tmp_path):
    """A file of 99.0 and a frame of the number 99 lack the same people."""
    reading = fk.Reading(missing={"age": codes}, delimiter=";", **more)
    path = write(tmp_path, "\n".join(["age;ill", *(f"{cell};a" for cell in cells.split())]) + "\n")
    for source in (path, pa.table({"age": cells.split()})):
        (ages,) = open_table(source, reading).arrow(["age"]).columns
        assert [age for age in ages.to_pylist() if age is not None] == held.split()


def test_spellings_hold_for_other_files(tmp_path):
    write(tmp_path, "value;area\n01067;east\n01069;east\nNA;missing\nk. A.;missing\n", "zip.csv")
    own = schema(hierarchies={"zip": {"file": "zip.csv"}}, folder=tmp_path)
    (_, attribute) = fk.Microdata(WRITTEN, own).attributes
    assert attribute.domain == [None, "01067", "01069"]
    assert attribute.labels[0] == ("missing", "east")
    names = ["zip", "value", "probability"]
    chances = pa.table(
        [
            ["NA"] * 3 + ["a"] * 3,
            ["Flu", "NA", "k. A."] * 2,
            ["0.5", "0.2", "0.3", "0.9", "0.1", "0"],
        ],
        names=names,
    )
    rules = fk.Policy([fk.Requirement(fk.Priors(chances), below=1)], schema())
    (table,) = rules.requirements[0].points[0].adversary.tables
    assert table.prior((None,), "unknown") == table.prior(("NA",), "unknown") == Fraction(1, 2)
    assert {*table.values} == {"Flu", "unknown"}
    twice = pa.table([["NA", "k. A."], ["Flu", "Flu"], ["0.5", "0.6"]], names=names)
    with pytest.raises(DataError, match="another row with other probabilities"):
        fk.Policy([fk.Requirement(fk.Priors(twice), below=1)], schema())
    content = '[schema]\nquasi_identifiers = ["age"]\nsensitive = "ill"\n[schema.reading]\n'
    content += 'missing = ["NA", " k. A. ", "NA"]\ndecimal = ","\n[[require]]\nk_anonymity = 2\n'
    rules = fk.Policy.load(write(tmp_path, content, "p.toml"))
    assert rules.schema.reading.missing == ("NA", "k. A.")
    assert rules.schema.to_dict()["reading"] == {"decimal": ",", "missing": ["NA", "k. A."]}
    assert fk.Reading(encoding="latin-1").over(rules.schema.reading).missing == ("NA", "k. A.")


def test_init_proposes_spellings_it_sees():
    draw = np.random.default_rng(5)
    rows = pa.table({
        "age": [*map(str, draw.integers(18, 80, 200)), "NA", "k. A.", "99", "99"],
        "job": [*draw.choice(["cook", "nurse", "-"], 203), "n/a"],
        "note": [*draw.choice(["a", "b", "unknown"], 204)],
        "ill": [*draw.choice(["Flu", "Cold", "AIDS", "."], 204)],
    })  # fmt: skip
    suggestion = suggest_policy(rows, sensitive="ill", quasi_identifiers=["age", "job"])
    assert {*suggestion.policy.schema.reading.missing} == {
        "NA",
        "k. A.",
        "-",
        ".",
        "n/a",
        "unknown",
    }
    (age,) = (column for column in suggestion.columns if column.name == "age")
    assert "numbers" in age.holds
    assert '# DECIDE: "NA", "n/a", "k. A.", "unknown"' in suggestion.to_toml()
    how = {"sensitive": "ill", "quasi_identifiers": ["job"], "reading": {"missing": ["x"]}}
    assert suggest_policy(rows, **how).policy.schema.reading.missing == ("x",)


# ---- counting ------------------------------------------------------------------------------------


TWINS = [([NAN, 1.0, None], "NaN and null"), ([0.0, 1.0, -0.0], r"0\.0 and -0\.0")]


@pytest.mark.parametrize(("values", "twins"), TWINS, ids=["NaN", "zero"])
@pytest.mark.parametrize(
    "hold",
    [
        parquet_file,
        parquet_folder,
        arrow_dictionaries,
        pl.from_arrow,
        polars_lazy,
        duckdb.from_arrow,
    ],
)
def test_twins_are_refused_as_groups(hold, values, twins, tmp_path):
    table = pa.table({"age": values, "pid": [1, 2, 3], "d": [*"aba"]})
    listed = table.set_column(2, "d", pa.array([["a"], [], ["b"]]))
    ours = hold in (pl.from_arrow, duckdb.from_arrow)
    source = hold(table) if ours else hold(table, tmp_path)
    for own, semantics in ((source, "single"), (listed, "set")):
        with pytest.raises(DataError, match=f"column 'age' of groups holds both {twins}"):
            _ = ages("age", semantics=semantics)(own).counts
    result = ages("age")(parquet_file(pa.table({"age": [-0.0, 1.0], "d": ["a", "b"]}), tmp_path))
    assert bags(result.counts) == {(0.0,): {"a": 1}, (1.0,): {"b": 1}}


def test_columns_may_be_called_n(tmp_path):
    for role in ("group", "sensitive"):
        names = {"group": "gid", "sensitive": "d"} | {role: "n"}
        table = pa.table({names["group"]: ["1", "1", "2"], names["sensitive"]: ["x", "x", "y"]})
        for hold in (lambda t: csv_file(t, tmp_path), duckdb.from_arrow, pl.from_arrow):
            for source in (hold(table), pl.from_arrow(table).lazy()):
                assert told(by("groups", **names)(source)) == {"1": "2: x 2", "2": "1: y 1"}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (by("groups", sensitive="age", group="age"), "'age' is given as group and as sensitive"),
        (ages("sex", "age", sensitive="age"), "'age' is given as sensitive and as quasi"),
        (by("generalized", quasi_identifiers="age"), "a list of at least one column"),
        (by("groups", group="gid", person="d"), "column 'd' cannot be person and sensitive"),
        (by("groups", group="gid", **OF_SETS | {"person": "who"}), "no column 'who'"),
        *(
            (by("groups", group="gid", **OF_SETS, missing=rule), "a null means that the per")
            for rule in ("drop", {"label": "none"}, {"label": "error"})
        ),
        (by("bucketized", group="gid", person="pid"), "person = 'pid' needs people = the"),
    ],
)  # fmt: skip
def test_roles_must_make_sense(make, says):
    with pytest.raises(ValueError, match=says):
        make(PEOPLE)


def test_counting_is_lazy():
    release = GROUPS(PEOPLE)
    assert repr(release) == "Release(the pyarrow frame, not counted yet)"
    assert release.counts is release.counts
    assert repr(release) == "Release(the pyarrow frame: 4 groups, 10 people)"


def test_engine_counts_large_parquet(tmp_path, monkeypatch):
    folder = parquet_folder(PEOPLE, tmp_path)
    chance = random.Random(3)
    groups = [chance.randrange(30) for _ in range(200)]
    table = pa.table({"pid": range(200), "gid": groups, "d": [chance.choice("ab") for _ in groups]})
    monkeypatch.setattr(tables, "_ROWS_IN_MEMORY", 2)
    release = by("groups", group="gid", person="pid")(parquet_file(table, tmp_path))
    assert placed(release) == dict(enumerate(groups))
    monkeypatch.setattr(parquet.ParquetTable, "arrow", None)  # rows must not be fetched
    assert told(GROUPS(folder)) == BY_GROUP
    assert told(ages("age", "sex")(folder)) == BY_AGE_AND_SEX


# ---- nulls ---------------------------------------------------------------------------------------


def test_nan_in_dictionary_is_missing():
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), pa.array([1.0, NAN]))
    table = pa.table({"age": coded, "sex": ["f"] * 3, "d": ["a", "b", "b"]})
    assert told(ages("age", "sex")(table)) == {("1.0", "f"): "1: a 1", (None, "f"): "2: b 2"}
    with pytest.raises(DataError, match="is missing in 2 rows"):
        _ = GROUPS(pa.table({"gid": [1, 1, 1], "d": coded})).counts


# ---- members -------------------------------------------------------------------------------------


def test_members_of_generalized_groups():
    whole = {"missing": {"label": "drop"}, "person": "pid"}  # which drops nobody
    groups = zip(ILL["pid"].to_pylist(), ILL["gid"].to_pylist(), strict=True)
    for lazy in (lambda t: t, duckdb.from_arrow, lambda t: pl.from_arrow(t).lazy()):
        release = ages("gid", **whole)(lazy(ILL))
        assert placed(release) == {name: (group,) for name, group in groups}
        groups = placed(release).items()
        groups = [(name, own) for name, (own,) in groups]
    assert by("groups", group="gid", **whole)(ILL).signatures(["d"]).people.sum() == 6
    members = release.members
    assert members.to_dict()["names"] == [*"abcdef"]
    with pytest.raises(DataError, match=r"nobody in the release is called 'aa'.*'a'"):
        members.group_of("aa")
    with pytest.raises(DataError, match="2 names but 1 groups"):
        Members(Labels(["Ann", "Tom"]), np.array([0]))


def test_without_people_nobody_is_named(tmp_path):
    for own, semantics in (("a", "single"), (["a"], "set")):
        table = pa.table({"gid": [1], "d": [own]})
        with pytest.raises(InputError, match=r"nobody is named; .*from_groups\(..., person="):
            _ = by("groups", group="gid", semantics=semantics)(table).members
    with pytest.raises(InputError, match="nobody is named"):
        _ = by("bucketized", semantics="set", people=OF_GROUPS)(TALLY).members
    twice = pa.concat_tables([OF_GROUPS, OF_GROUPS.slice(0, 1)])
    with pytest.raises(DataError, match="pid 'a' is in rows 1 and 7"):
        by("bucketized", **OF_SETS, people=twice)(TALLY)
    wanted = dict(zip("abcdef", map(str, OF_GROUPS["group"].to_pylist()), strict=True))
    for one, other in ((csv_file, parquet_file), (parquet_file, csv_file), (csv_file, csv_file)):
        (aside := tmp_path / "aside").mkdir(exist_ok=True)
        release = by("bucketized", **OF_SETS, people=one(OF_GROUPS, aside))(other(TALLY, tmp_path))
        assert {name: str(group) for name, group in placed(release).items()} == wanted


# ---- several values of a person ------------------------------------------------------------------

CELLS = [["Flu", "AIDS"], [], ["Flu"], None]
OF_CELLS = {"1": "3: AIDS 1, Flu 2", "2": "1:"}
NAMELESS = by("groups", group="gid", semantics="set")
COLLECTIONS = [*(list, tuple, set, frozenset, np.array), lambda own: np.array(own, dtype=object)]


def test_pandas_cells_hold_any_collection():
    for kind, hole in zip(COLLECTIONS, [None, NAN, pd.NA] * 2, strict=True):
        cells = [hole if cell is None else kind(cell) for cell in CELLS]
        frame = pd.DataFrame({"gid": [1, 1, 1, 2], "d": pd.Series(cells, dtype=object)})
        assert told(NAMELESS(frame.set_axis([7] * 4))) == OF_CELLS


def test_repeated_values_count_twice(tmp_path):
    people = {"Ann": ("x", ["Flu", "Flu", "AIDS"]), "Bob": ("x", ["Flu"])}
    bag = by("groups", group="gid", person="pid", semantics="multiset")
    for source in (long(people), lists(people), csv_file(long(people), tmp_path)):
        assert told(bag(source)) == {"x": "2: AIDS 1, Flu 3"}


def test_quasi_identifiers_are_of_person():
    rows = {"pid": [1, 1, 2], "age": [None, None, 3], "zip": ["a", None, "b"], "d": ["a", "b", "a"]}
    table = pa.table(rows)
    assert told(ages("age", **OF_SETS)(table)) == {(None,): "1: a 1, b 1", ("3",): "1: a 1"}
    with pytest.raises(DataError, match="pid 1 has zip 'a' in row 1, but None in row 2"):
        _ = ages("age", "zip", **OF_SETS)(table).counts


ONE_PLAIN = r"give (lists of plain values|one plain value)"


@pytest.mark.parametrize(
    ("cells", "person", "says"),
    [
        ([["a"], ["b", None]], None, "the list of 'd' in row 2 holds a null; leave it out"),
        ([["a"], ["b", None]], "pid", r"in row 2 \(pid 'Bob'\) holds a null"),
        (
            [["a"], ["b", "c", "b"]],
            "pid",
            "'Bob' has d 'b' twice, in the list of row 2; .*multiset",
        ),
        ([["a"], ["b"]], "twice", "twice 'Ann' is in rows 1 and 2; where 'd' holds lists"),
        *(([own, []], None, ONE_PLAIN) for own in ([["a"]], [{"a": 1}], [b"a"])),
    ],
)
def test_lists_that_cannot_be_meant(cells, person, says):
    names = {"pid": ["Ann", "Bob"], "twice": ["Ann", "Ann"]}
    table = pa.table({**names, "gid": [1, 1], "d": pa.array(cells)})
    with pytest.raises(DataError, match=says):
        _ = by("groups", group="gid", semantics="set", person=person)(table).counts


def answers(folder, *extra, between="|"):
    """A CSV file in which one cell holds all values of a person."""
    rows = [(name, group, between.join(values)) for name, (group, values) in NAMED.items()]
    lines = [f"{name},{group},{cell}\n" for name, group, cell in [*rows, *extra]]
    return write(folder, "pid,gid,d\n" + "".join(lines))


SETS = {"quasi_identifiers": ["gid"], "sensitive": "d", "semantics": "set"}
SPLIT = fk.Schema(**SETS, reading={"separators": {"d": "|"}})


def test_cells_of_several_answers(tmp_path):
    for between in ("|", ";", " | "):
        reading = {"separators": {"d": between.strip()}, "missing": ["NA"]}
        path = answers(tmp_path, ("Hal", "z", "NA"), between=between)
        own = fk.Schema(**SETS, reading=reading)
        release = fk.Release.from_schema(path, own)
        assert told(release) == {(g,): held for g, held in {**SEVERAL, "z": "2:"}.items()}
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        assert fk.Release.from_schema(frame, own).counts == release.counts
        counted = fk.Microdata(path, own).counts(np.zeros(8, np.int64))
        assert counted.totals.sum() == release.counts.totals.sum()
    with pytest.raises(DataError, match="'Flu' twice"):
        _ = fk.Microdata(answers(tmp_path, ("Hal", "z", "Flu|Flu")), SPLIT).values


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"semantics": "single"}, "separators of reading names 'd', of which nobody has several"),
        ({"reading": {"separators": {"d": " "}}}, "must be a sign such as"),
        ({"reading": {"separators": "|"}}, "separators of reading is a table"),
        ({"reading": {}}, "or one with separators in the reading, holds all values"),
    ],
)
def test_separators_that_mean_nothing(tmp_path, more, message):
    given = {**SETS, "reading": {"separators": {"d": "|"}}, **more}
    with pytest.raises(InputError, match=message):
        fk.Microdata(answers(tmp_path), fk.Schema(**given))


# ---- tables of (group, value, count) -------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"people": None}, "semantics 'set' needs people = the table with one row per person"),
        ({"people": OF_GROUPS.slice(0, 1)}, "row 2: group 1 has no people in the pyarrow"),
        ({"people": pa.table({"group": [1, 2, 2, None]})}, r"column 'group' is missing \(row 4\)"),
        ({"people": pa.table({"group": [1, 2, 2]})}, "'AIDS' occurs 3 times among one"),
        ({"group": []}, "group must be a column, or a list of"),
        ({"group": ["group", "count"]}, "one column plays two roles"),
        *(({"semantics": "single", **own}, "d|group") for own in (
            {"group": "d"}, {"count": "group"}, {"count": "d"})),
    ],
)  # fmt: skip
def test_tallies_that_do_not_fit(more, says):
    with pytest.raises(InputError, match=says):
        _ = by("bucketized", **{"semantics": "set", "people": OF_GROUPS} | more)(TALLY).counts
