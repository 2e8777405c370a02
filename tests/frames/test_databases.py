"""What a database says otherwise than a file: collations, types of its own, views, passwords."""

import sqlite3
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.frames import postgres
from tests.frames.backends import bags

import foreknow as fk
from foreknow.cli import main as run_process
from foreknow.cli.entry import app
from foreknow_judge.errors import DataError

pytest.importorskip("adbc_driver_postgresql", reason="the ADBC driver of PostgreSQL is absent")


@pytest.fixture
def made():
    """Run statements; give the address."""
    schema = f"s{next(postgres._numbers)}"

    def run(*statements):
        with postgres.connection() as opened, opened.cursor() as cursor:
            for statement in (f"CREATE SCHEMA {schema}", f"SET search_path = {schema}"):
                cursor.execute(statement)
            for statement in statements:
                cursor.execute(statement)
            opened.commit()
        return lambda table: f"{postgres.server()}&table={schema}.{table}"

    return run


def generalized(source, *columns, sensitive="ill"):
    return fk.Release.from_generalized(source, quasi_identifiers=[*columns], sensitive=sensitive)


def test_texts_that_a_collation_takes_for_equal_are_apart(made):
    place = made(
        "CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', "
        "deterministic = false)",
        "CREATE TABLE t (job text COLLATE folded, ill text COLLATE folded)",
        "INSERT INTO t VALUES ('a', 'Flu'), ('A', 'flu'), ('a', 'Flu')",
    )
    assert bags(generalized(place("t"), "job").counts) == {
        ("a",): {"Flu": 2},
        ("A",): {"flu": 1},
    }


def test_types_of_its_own(made):
    place = made(
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN wage AS numeric(8, 2)",
        "CREATE TABLE t (m mood, pay wage, n numeric, code char(4), born date, ill varchar(9))",
        "INSERT INTO t VALUES ('sad', 10.5, 1.0, 'a', '2020-02-01', 'Flu'),"
        " ('ok', 10.50, 1.00, 'a', '2020-02-01', 'Cold'), (NULL, NULL, 2.25, NULL, NULL, 'Flu')",
        "CREATE MATERIALIZED VIEW seen AS SELECT * FROM t",
    )
    release = generalized(place("seen"), "pay", "n", "code", "born")
    assert release.counts.sizes.tolist() in ([2, 1], [1, 2])
    assert set(map(str, generalized(place("t"), "m").counts.groups)) == {
        "('sad',)",
        "('ok',)",
        "(None,)",
    }


@pytest.mark.parametrize("kind", ["jsonb", "interval", "bytea", "point"])
def test_types_that_mean_nothing_here_are_refused_with_what_to_do(made, kind):
    place = made(f"CREATE TABLE t (a {kind}, ill text)")
    with pytest.raises(DataError, match=f"'a' is of type {kind}; make a view that casts it"):
        _ = generalized(place("t"), "a").counts


@pytest.mark.parametrize("number", ["'NaN'", "1e37 + 0.001", "'Infinity'"])
def test_numbers_beyond_decimals_are_refused(made, number):
    place = made("CREATE TABLE t (a numeric, ill text)", f"INSERT INTO t VALUES ({number}, 'Flu')")
    with pytest.raises(DataError, match="over 38 digits, NaN or infinity"):
        _ = generalized(place("t"), "a").counts


def test_which_table_is_asked_and_names_are_taken_literally(made):
    name = '"odd; name ""x"" '
    place = made(
        f'CREATE TABLE {name}" ("a""b" int, ill text)', f"INSERT INTO {name}\" VALUES (1, 'Flu')"
    )
    found = generalized(place("odd%3B%20name%20%22x%22%20"), 'a"b')
    assert found.counts.n_people == 1
    with pytest.raises(DataError, match="has no table 'no'"):
        generalized(f"{postgres.server()}&table=no", "a")


def test_no_password_is_ever_said():
    for address in ("postgresql://me:geh%40eim@127.0.0.1:9/db", "postgres://me:geheim@:x/db?y=1"):
        with pytest.raises(DataError) as caught:
            generalized(f"{address}{'&' if '?' in address else '?'}table=t", "a")
        assert "geh" not in str(caught.value)
        assert "me" not in str(caught.value).split(" cannot be read")[0]


SECRET = "TOPSECRETpw"
ADDRESSES = [
    f"postgresql://clinic:{who}"
    for who in (
        *(f"{SECRET}{odd}@127.0.0.1:9/med" for odd in ("", "/x", "#x", "?x", "[", "]", "%", "%zz")),
        *(f"{SECRET}{odd}@127.0.0.1:9/med" for odd in ("'\" x", "//x", "\n", "?a=b", "%40", "\\")),
        *(f"a@{SECRET}@127.0.0.1:9/med", f"{SECRET}@[::1/med", f"{SECRET}@127.0.0.1:bad/med"),
        *(SECRET, f"x@127.0.0.1:9/med?password={SECRET}", f"x@127.0.0.1:9/med?table=a@{SECRET}"),
    )
]
# What somebody may take for an address, and is a path that does not exist.
ADDRESSES += [f"postgresql:clinic:{SECRET}@localhost/med", f"host=localhost password={SECRET}"]
ADDRESSES += [f"host=localhost password = '{SECRET} \\' {SECRET}' port=9"]


@pytest.mark.thinned(4)
@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "PostgreSQL", "mysql"])
@pytest.mark.parametrize("address", ADDRESSES)
def test_no_password_is_printed_whatever_it_holds(address, scheme, capfd, monkeypatch, tmp_path):
    address = address.replace("postgresql", scheme)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("age,ill\n1,a\n")
    for words in (
        *(["init", address], ["explore", address], ["publish", address]),
        *(["audit", "t.csv", "--policy", address], ["init", f"--sensitive={address}", "t.csv"]),
        *(["risk", address, "--quasi-identifiers", "age"], ["verify", address]),
    ):
        monkeypatch.setattr("sys.argv", ["foreknow", *words])
        with pytest.raises(SystemExit) as ended:
            run_process()
        said = "".join(capfd.readouterr())
        assert SECRET not in said, said
        assert ended.value.code == 2, said
    for source in (address, Path(address)):
        with pytest.raises(DataError) as caught:
            generalized(source, "a")
        error = caught.value
        while error is not None:
            assert SECRET not in str(error)
            error = None if error.__suppress_context__ else error.__cause__ or error.__context__


def test_what_is_printed_of_a_right_address_is_no_password(capfd, monkeypatch, tmp_path):
    folder = postgres.server().split("host=%2F")[1].split("&")[0]
    place = f"postgresql://tester:{SECRET}@%2F{folder}/postgres?password={SECRET}"
    name = postgres.hold(pa.table({"age": [*range(9)] * 4, "ill": ["a", "b", "c", "d"] * 9}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["foreknow", "init", f"{place}&table={name}"])
    with pytest.raises(SystemExit) as ended:
        run_process()
    said = "".join(capfd.readouterr())
    assert ended.value.code == 0, said
    assert SECRET not in said
    assert "foreknow publish postgresql://" in said
    assert SECRET not in (tmp_path / "policy.toml").read_text()


def test_a_name_that_two_tables_share_is_refused(made, tmp_path):
    place = made("CREATE TABLE people (age int, ill text)")
    schema = place("").rpartition("=")[2].rstrip(".")
    with postgres.connection() as opened, opened.cursor() as cursor:
        cursor.execute(f'CREATE TABLE public."{schema}.people" (age int, ill text)')
        opened.commit()
    both = f'"{schema}"."people" and "public"."{schema}.people"|"public"."{schema}.people" and'
    with pytest.raises(DataError, match=both):
        generalized(place("people"), "age")
    with duckdb.connect(tmp_path / "a.duckdb") as opened:
        opened.execute("CREATE SCHEMA clinic; CREATE TABLE clinic.people (age int, ill text)")
        opened.execute('CREATE TABLE "clinic.people" (age int, ill text)')
        opened.execute("CREATE TABLE other AS SELECT 1 AS age, 'a' AS ill")
    with pytest.raises(DataError, match=r"two tables that are called 'clinic\.people'"):
        generalized(f"{tmp_path}/a.duckdb?table=clinic.people", "age")
    assert generalized(f"{tmp_path}/a.duckdb?table=other", "age").counts.n_people == 1


def test_audit_and_publish_from_a_database(made, tmp_path):
    rows = pa.table(
        {
            "age": [20 + i % 40 for i in range(400)],
            "sex": ["fm"[i % 2] for i in range(400)],
            "ill": [("Flu", "Cold", "Gout", "HIV")[i * 7 % 4] for i in range(400)],
        }
    )
    name = postgres.hold(rows)
    policy = tmp_path / "policy.toml"
    policy.write_text(
        '[schema]\nquasi_identifiers = ["age", "sex"]\nsensitive = "ill"\n'
        "[[require]]\nfacts = { l = 1 }\nbelow = 0.9\n"
    )
    place = (
        f"postgresql://tester@%2F{postgres.server().split('host=%2F')[1].split('&')[0]}/postgres"
    )
    run = CliRunner().invoke
    made = run(
        app, ["publish", place, "--table", name, "-p", str(policy), "-o", str(tmp_path / "out")]
    )
    assert made.exit_code == 0, made.output
    assert run(app, ["verify", str(tmp_path / "out")]).exit_code == 0
    audit = run(app, ["audit", place, "--table", name, "-p", str(policy)])
    assert audit.exit_code == 1, audit.output
    for file in (tmp_path / "out").iterdir():
        if file.is_file():
            assert b"postgresql" not in file.read_bytes()
    wrong = run(app, ["audit", place, "--table", "peeple", "-p", str(policy)])
    assert "has no table 'peeple'" in str(wrong.exception)


def test_a_table_of_a_file_is_named_alike(tmp_path):
    with sqlite3.connect(tmp_path / "register.sqlite") as opened:
        for name in ("people", "visits"):
            opened.execute(f"CREATE TABLE {name} (age INT, ill TEXT)")
            opened.executemany(f"INSERT INTO {name} VALUES (?, ?)", [(1, "Flu"), (1, "Cold")])
    asked = ["risk", str(tmp_path / "register.sqlite"), "--quasi-identifiers", "age"]
    made = CliRunner().invoke(app, [*asked, "--table", "visits"])
    assert made.exit_code == 0, (made.output, made.exception)
    assert "has several tables" in str(CliRunner().invoke(app, asked).exception)
