"""A table is read once, or a verdict is on one of its states: rows that turn mix nobody up."""

import os
import random
from collections import Counter
from itertools import count

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.examples import NIGHTLY

import foreknow as fk
from foreknow.data.engines.csv_files import RawCsvFile
from foreknow.data.engines.sources import counted_where_it_lives, open_table
from foreknow.data.engines.table import Selected
from foreknow.releases.written import open_published
from foreknow_judge.errors import DataError

N = 40
TABLE = pa.table({
    "name": [f"p{i}" for i in range(N)], "age": [*range(N)], "disease": [f"d{i}" for i in range(N)],
})  # fmt: skip
TURNED = TABLE.take([*reversed(range(N))])
ROLES = {"quasi_identifiers": ["age"], "sensitive": "disease"}
SCHEMA = fk.Schema(**ROLES, other=["name"])
POLICY = fk.Policy([fk.Requirement(fk.Facts(), below="0.99", knowing=[])], SCHEMA)


def turning(states):
    """A lazy frame that is another one each time that it is read."""
    times = count()
    # An old Polars asks it for some columns, and wants no others.
    return (
        states[0]
        .lazy()
        .map_batches(lambda frame: states[next(times) % len(states)].select(frame.columns))
    )


def turning_relation():
    """A query of DuckDB whose every use turns the order of rows round."""
    times, connection = count(), duckdb.connect()
    connection.register("people", TABLE)
    connection.create_function("turn", lambda: next(times) % 2, [], "BIGINT")
    order = "age * (1 - 2 * (SELECT max(turn()) FROM range(1)))"
    return connection.sql(f"SELECT * FROM people ORDER BY {order}")


SOURCES = [turning_relation, lambda: turning([*map(pl.from_arrow, (TABLE, TURNED))])]


def published(microdata):
    """Who has which age in what is published."""
    people = fk.publish(microdata, POLICY, form="bucketized").tables["people"].to_pylist()
    return {(int(row["age"]), row["name"]) for row in people}


WHO = {(i, f"p{i}") for i in range(N)}


@pytest.mark.parametrize("make", SOURCES, ids=["DuckDB", "Polars"])
def test_row_order_keeps_people_together(make):
    table = open_table(make())
    reads = {tuple(table.arrow(["age"]).column("age").to_pylist()) for _ in range(4)}
    assert len(reads) == 2  # it does turn
    assert published(fk.Microdata(make(), SCHEMA)) == WHO
    release = fk.Release.from_groups(make(), group="age", sensitive="disease", person="name")
    names, values = release.members.names, release.counts.values
    held = zip(release.holdings.people.tolist(), release.holdings.values.tolist(), strict=True)
    assert {names[who]: values[code] for who, code in held} == {f"p{i}": f"d{i}" for i in range(N)}
    microdata = fk.Microdata(make(), **ROLES)
    assert microdata.n_people == N
    with pytest.raises(DataError, match="'name'"):  # which was not read with the others
        microdata.source.arrow(["name"])


def test_changed_queries_are_refused():
    frame = pl.from_arrow(TABLE).with_columns(sex=pl.lit("f"))
    fewer = turning([frame.head(N - i) for i in range(9)])
    others = [pl.DataFrame({"at": [1] * 4 + [2] * 4, "ill": [*ill], "job": [*"uvwx"] * 2})
              for ill in ("abcdabcd", "aaaabbbb")]  # fmt: skip
    for source, group, secret, known in (
        (fewer, "sex", "disease", "age"), (turning(others), "at", "ill", "job"),
    ):  # fmt: skip
        release = fk.Release.from_groups(source, group=group, sensitive=secret)
        assert release.counts.n_people <= N
        with pytest.raises(DataError, match="gave other rows when it was read again"):
            release.signatures([known])


def test_a_changed_polars_frame_stays():
    frame = pl.from_arrow(TABLE)
    microdata = fk.Microdata(frame, SCHEMA)
    before = microdata.n_people
    frame.insert_column(0, pl.Series("new", range(N)))
    frame.replace_column(frame.get_column_index("name"), pl.Series("name", ["x"] * N))
    assert microdata.n_people == before
    assert microdata.source.arrow(["name"])["name"].to_pylist() == TABLE["name"].to_pylist()


# ---- files ---------------------------------------------------------------------------------------


def write(path, table):
    (pyarrow.csv.write_csv if path.suffix == ".csv" else pq.write_table)(table, path)


def replace(path, table):
    """Another file of the same name."""
    aside = path.with_name(f"new{path.suffix}")
    write(aside, table)
    aside.replace(path)


@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
def test_file_that_changes_is_refused(tmp_path, name):
    path, said = tmp_path / name, rf"{name} changed while it was read"
    for change in (write, replace):  # before it is read
        write(path, TABLE)
        microdata = fk.Microdata(path, SCHEMA)
        change(path, TURNED)
        with pytest.raises(DataError, match=said):
            _ = microdata.n_people
    for keep in (False, True):  # between two reads, and with its old time
        write(path, TABLE)
        release = fk.Release.from_groups(path, group="age", sensitive="disease")
        assert release.counts.n_people == N
        times = path.stat()
        write(path, TURNED)
        if keep:
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        with pytest.raises(DataError, match=said):
            release.signatures(["name"])
    write(path, TABLE)
    microdata = fk.Microdata(path, SCHEMA)
    assert microdata.n_people == N
    replace(path, TURNED)
    assert published(microdata) == WHO  # what was read


def test_changed_folders_are_refused(tmp_path):
    (folder := tmp_path / "parts").mkdir()
    pq.write_table(TABLE, folder / "a.parquet")
    microdata = fk.Microdata(folder, SCHEMA)
    pq.write_table(TABLE, folder / "b.parquet")
    with pytest.raises(DataError, match="files came or went"):
        _ = microdata.n_people
    fk.publish(fk.Microdata(TABLE, SCHEMA), POLICY).write(tmp_path / "out")
    opened, table = open_published(tmp_path / "out"), tmp_path / "out" / "release.csv"
    table.write_text(table.read_text().replace("d1\n", "d2\n"))
    with pytest.raises(DataError, match=r"release\.csv changed while it was read"):
        _ = opened.release.counts
    path = tmp_path / "people.csv"
    path.write_text("age,disease\n" + "30,flu\n" * 40)
    file = RawCsvFile(path)
    path.write_text("")  # as somebody who writes it anew, when its lines are counted
    with pytest.raises(DataError, match=r"people\.csv changed while it was read"):
        file.check(40)
    write(path, TABLE)
    chosen = Selected(open_table(path), np.arange(N) < 1)  # never counted as all
    assert "only some rows" in counted_where_it_lives(chosen, ["disease"])
    assert len(chosen.arrow(["disease"])) == 1


# ---- a verdict is on one of the states of a table, or there is none ------------------------------

FAMILIES = range(20_000 if NIGHTLY else 40)
SIGHTS = [("ill", []), ("pay", []), ("ill", ["job"]), ("ill", ["home"]), ("pay", ["home"])]
RULES = [{"values": ["a"], "where": {"job": ["u"]}, "sensitive": "ill"}]


def asked(rng):
    """A policy whose requirements see different columns, published or not."""
    facts = [
        fk.Requirement(
            fk.Facts(), below=rng.choice(["1/2", "2/3", "9/10"]), sensitive=of, knowing=own
        )
        for of, own in SIGHTS
    ]
    others = [
        fk.Requirement(fk.LDiversity(2), sensitive="pay"),
        fk.Requirement(fk.TCloseness("1/3"), sensitive="ill"),
        *(fk.Requirement(fk.GroupSize(2)), fk.Requirement(fk.GroupSize(2, of="home"))),
    ]
    how = rng.choice([{}, {}, {"unit": "row", "person": "who"}, {"impossible": RULES}])
    if "impossible" in how:
        others, facts = others[2:], [own for own in facts if own.sensitive == "ill"]
    roles = {"quasi_identifiers": ["at"], "sensitive": ["ill", "pay"], "other": ["job"]}
    rules = fk.Schema(**roles, missing="drop", **how)
    return fk.Policy(rng.sample(facts + others, rng.choice([2, 2, 3])), rules)


def state(rng, sizes):
    """A table with groups of these sizes."""
    rows = []
    for group, size in enumerate(sizes):
        for _ in range(size):
            job = rng.choice("uv")
            ill = rng.choice("bc" if job == "u" else "abc")
            rows.append(
                (f"g{group}", job, ill, rng.choice("xy"), rng.randint(0, 3), len(rows) // 2)
            )
    rng.shuffle(rows)
    return pl.DataFrame(rows, schema=["at", "job", "ill", "pay", "home", "who"], orient="row")


def verdicts_of(given, policy):
    found = fk.audit(given, policy, learned=False)
    return [(v.safe, str(v.found.amount if v.of_groups else v.reached)) for v in found.verdicts]


def test_verdicts_use_one_state():
    seen = Counter()
    for seed in FAMILIES:
        rng = random.Random(seed)
        sizes = [rng.randint(1, 5) for _ in range(rng.choice([1, 2]))]
        states, policy = [state(rng, sizes) for _ in range(2)], asked(rng)
        try:
            expected = [verdicts_of(own, policy) for own in states]
        except fk.InputError:  # such as two rows of a person that differ
            seen["refused anyway"] += 1
            continue
        given = fk.Release.from_schema(turning(states), policy.schema)
        if rng.random() < 0.5:
            given.counts  # noqa: B018 - counted before it is judged
        if rng.random() < 0.3:
            given.seen("pay", []).counts  # noqa: B018
        for _ in range(2):
            try:
                found = verdicts_of(given, policy)
            except DataError as error:
                seen[str(error).partition(": ")[2][:29]] += 1
                break
            assert found in expected, (seed, expected, found)
            seen["one state", expected[0] != expected[1]] += 1
    changed, one = "it changed since it was count", ("one state", True)
    assert min(seen[changed], seen[one]) > len(FAMILIES) / 20
    assert {*seen} <= {"refused anyway", changed, one, ("one state", False)}


# Nobody knows an illness for sure who knows jobs, or groups are large; not both.
ONE = pa.table({"at": [1] * 4 + [2] * 4, "ill": [*"abcdabcd"], "job": [*"uvwxuvwx"]})
TWO = pa.table({"at": [1, 1, 2, 2, 3, 3, 4, 4], "ill": [*"ab"] * 4, "job": ["u"] * 8})
OF_ILL = {"quasi_identifiers": ["at"], "sensitive": "ill"}
WANTED = [
    fk.Requirement(fk.KAnonymity(3), knowing=[]),
    fk.Requirement(fk.Facts(), below="9/10", knowing=["job"]),
]


def safe(given, policy):
    return [v.safe for v in fk.audit(given, policy, learned=False).verdicts]


@pytest.mark.parametrize("other", [["job"], []])
def test_changing_relations_are_refused(other):
    schema = fk.Schema(**OF_ILL, other=other)
    policy = fk.Policy(WANTED, schema)
    assert (safe(ONE, policy), safe(TWO, policy)) == ([True, False], [False, True])
    connection = duckdb.connect()
    connection.register("given", ONE)
    connection.execute("CREATE TABLE people AS SELECT * FROM given")
    release = fk.Release.from_schema(connection.table("people"), schema)
    assert release.counts.n_groups == 2
    assert safe(release, policy) == [True, False]
    connection.register("given", TWO)
    connection.execute("DELETE FROM people; INSERT INTO people SELECT * FROM given")
    if other:
        with pytest.raises(DataError, match=r"changed since it was counted, or .* collect it into"):
            fk.audit(release, policy, learned=False)
    else:  # read once more, with all that its owner counts
        assert safe(release, policy) == [False, True]
        assert fk.audit(release, policy, learned=False).counts.n_groups == 4


@pytest.mark.parametrize("drawn", ["ill", "job", "at"])
@pytest.mark.parametrize("other", [["job"], []])
def test_random_relations_are_read_once(drawn, other):
    """Whatever is drawn, amounts fit each other: who knows more is not less sure."""
    letter = {name: f"i * 7 % {n}" for name, n in (("ill", 5), ("job", 3), ("at", 4))}
    letter[drawn] = "floor(random() * 3)"
    columns = [f"chr((97 + {own})::INT) AS {name}" for name, own in letter.items()]
    relation = duckdb.connect().sql(f"SELECT {', '.join(columns)} FROM range(40) t(i)")
    known = [fk.Requirement(fk.Facts(), below="9/10", knowing=own) for own in ([], ["job"])]
    policy = fk.Policy(known, fk.Schema(**OF_ILL, other=other))
    less, more = fk.audit(relation, policy, learned=False).verdicts
    assert less.reached <= more.reached


def test_people_must_match_the_release():
    release = fk.Release.from_generalized(ONE.select(["at", "ill"]), **OF_ILL)
    policy = fk.Policy(WANTED, fk.Schema(**OF_ILL))
    assert not fk.audit(release, policy, people=ONE, learned=False).safe
    for values in ("abcddcbb", "abcdabce"):
        people = ONE.set_column(1, "ill", pa.array([*values]))
        with pytest.raises(DataError, match="other values of 'ill' than in the release"):
            fk.audit(release, policy, people=people, learned=False)


def test_renamed_groups_are_different():
    states = [ONE, ONE.set_column(0, "at", pa.array([1] * 4 + [3] * 4))]
    given = turning([*map(pl.from_arrow, states)])
    release = fk.Release.from_schema(given, fk.Schema(**OF_ILL, other=["job"]))
    assert [*release.counts.groups] == [(1,), (2,)]
    with pytest.raises(DataError, match="it changed since it was counted"):
        fk.audit(release, fk.Policy(WANTED), learned=False)
    # Of two columns in one table of counts, each is certain in one state.
    states = [
        pl.DataFrame({"group": [1, 1], "n": [2, 2], "ill": [*ill], "pay": [*pay]})
        for ill, pay in (("ab", "xx"), ("aa", "xy"))
    ]
    how = {"sensitive": ["ill", "pay"], "count": "n", "group": "group"}
    release = fk.Release.from_bucketized(turning(states), **how)
    limits = [
        fk.Requirement(fk.Facts(), below="9/10", sensitive=name, knowing=[])
        for name in ("ill", "pay")
    ]
    assert safe(release, fk.Policy(limits)) in ([True, False], [False, True])
