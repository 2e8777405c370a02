"""What a database says otherwise than a file: collations, types of its own, views, passwords."""

import logging
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.frames import backends, postgres
from tests.frames.backends import bags

import foreknow as fk
from foreknow.cli import main as run_process
from foreknow.cli.entry import app
from foreknow_judge.errors import DataError


@pytest.fixture
def made():
    """Run statements; give the address."""
    pytest.importorskip("adbc_driver_postgresql", reason="the ADBC driver is absent")
    schema = f"s{next(postgres._numbers)}"

    def run(*statements):
        with postgres.connection() as opened, opened.cursor() as cursor:
            for statement in (
                f"CREATE SCHEMA {schema}",
                f"SET search_path = {schema}",
                *statements,
            ):
                cursor.execute(statement)
            opened.commit()
        return lambda table: f"{postgres.server()}&table={schema}.{table}"

    return run


def held(source, *columns):
    return fk.Release.from_generalized(source, quasi_identifiers=[*columns], sensitive="ill").counts


def test_database_types_and_collations(made):
    place = made(
        "CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', "
        "deterministic = false)",
        "CREATE TABLE f (job text COLLATE folded, ill text COLLATE folded)",
        "INSERT INTO f VALUES ('a', 'Flu'), ('A', 'flu'), ('a', 'Flu')",
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN wage AS numeric(8, 2)",
        "CREATE TABLE t (m mood, pay wage, n numeric, code char(4), born date, ill varchar(9))",
        "INSERT INTO t VALUES ('sad', 10.5, 1.0, 'a', '2020-02-01', 'Flu'),"
        " ('ok', 10.50, 1.00, 'a', '2020-02-01', 'Cold'), (NULL, NULL, 2.25, NULL, NULL, 'Flu')",
        "CREATE MATERIALIZED VIEW seen AS SELECT * FROM t",
    )
    assert bags(held(place("f"), "job")) == {("a",): {"Flu": 2}, ("A",): {"flu": 1}}
    assert sorted(held(place("seen"), "pay", "n", "code", "born").sizes.tolist()) == [1, 2]
    assert {*map(str, held(place("t"), "m").groups)} == {"('sad',)", "('ok',)", "(None,)"}


def test_meaningless_types_are_refused(made):
    kinds, numbers = (
        ["jsonb", "interval", "bytea", "point"],
        ["'NaN'", "1e37 + 0.001", "'Infinity'"],
    )
    place = made(
        *(f"CREATE TABLE {kind}s (a {kind}, ill text)" for kind in kinds),
        *(
            f"CREATE TABLE n{i} AS SELECT {own}::numeric a, 'Flu' ill"
            for i, own in enumerate(numbers)
        ),
    )
    for kind in kinds:
        with pytest.raises(DataError, match=f"'a' is of type {kind}; make a view that casts it"):
            held(place(f"{kind}s"), "a")
    for i in range(3):
        with pytest.raises(DataError, match="over 38 digits, NaN or infinity"):
            held(place(f"n{i}"), "a")


def test_which_table_is_asked(made):
    name = '"odd; name ""x"" "'
    place = made(
        f'CREATE TABLE {name} ("a""b" int, ill text)',
        f"INSERT INTO {name} VALUES (1, 'Flu')",
        "CREATE TABLE people (age int, ill text)",
    )
    assert held(place("odd%3B%20name%20%22x%22%20"), 'a"b').n_people == 1
    with pytest.raises(DataError, match="has no table 'no'"):
        held(f"{postgres.server()}&table=no", "a")
    schema = place("").rpartition("=")[2].rstrip(".")
    with postgres.connection() as opened, opened.cursor() as cursor:
        cursor.execute(f'CREATE TABLE public."{schema}.people" (age int, ill text)')
        opened.commit()
    both = f'"{schema}"."people" and "public"."{schema}.people"|"public"."{schema}.people" and'
    with pytest.raises(DataError, match=both):
        held(place("people"), "age")


SECRET = "TOPSECRETpw"
ODD = ["", "/x", "#x", "?x", "[", "]", "%", "%zz", "'\" x", "//x", "\n", "?a=b", "%40", "\\"]
ADDRESSES = [
    f"postgresql://clinic:{who}"
    for who in (
        *(f"{SECRET}{odd}@127.0.0.1:9/med" for odd in ODD),
        *(f"a@{SECRET}@127.0.0.1:9/med", f"{SECRET}@[::1/med", f"{SECRET}@127.0.0.1:bad/med"),
        *(SECRET, f"x@127.0.0.1:9/med?password={SECRET}", f"x@127.0.0.1:9/med?table=a@{SECRET}"),
    )
]
# What somebody may take for an address, and is a path that does not exist.
ADDRESSES += [f"postgresql:clinic:{SECRET}@localhost/med", f"host=localhost password={SECRET}"]
ADDRESSES += [f"host=localhost password = '{SECRET} \\' {SECRET}' port=9"]
SCHEMES = ["postgresql", "postgres", "PostgreSQL", "mysql"]


@pytest.mark.parametrize(
    ("address", "scheme"),
    [(own, SCHEMES[i % 4]) for i, own in enumerate(ADDRESSES)],
    ids=range(len(ADDRESSES)),
)
def test_no_password_is_printed(address, scheme, capfd, monkeypatch, tmp_path):
    pytest.importorskip("adbc_driver_postgresql", reason="the ADBC driver is absent")
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
            held(source, "a")
        error = caught.value
        while error is not None:
            assert SECRET not in str(error)
            error = None if error.__suppress_context__ else error.__cause__ or error.__context__


def test_passwords_stay_secret():
    for address in ("postgresql://me:geh%40eim@127.0.0.1:9/db", "postgres://me:geheim@:x/db?y=1"):
        with pytest.raises(DataError) as caught:
            held(f"{address}{'&' if '?' in address else '?'}table=t", "a")
        assert "geh" not in str(caught.value)
        assert "me" not in str(caught.value).split(" cannot be read")[0]


def test_audit_and_publish_from_database(made, capfd, monkeypatch, tmp_path):
    name = postgres.hold(pa.table({
        "age": [20 + i % 40 for i in range(400)], "sex": ["fm"[i % 2] for i in range(400)],
        "ill": [("Flu", "Cold", "Gout", "HIV")[i * 7 % 4] for i in range(400)],
    }))  # fmt: skip
    schema = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="ill")
    policy, out = tmp_path / "policy.toml", tmp_path / "out"
    fk.Policy([fk.Requirement(fk.Facts(1, 0, 0), below="0.9")], schema).save(policy)
    socket = postgres.server().split("host=%2F")[1].split("&")[0]
    place, run = f"postgresql://tester@%2F{socket}/postgres", CliRunner().invoke
    asked = [place, "--table", name, "-p", str(policy)]
    written = run(app, ["publish", *asked, "-o", str(out)])
    assert written.exit_code == 0, written.output
    assert run(app, ["verify", str(out)]).exit_code == 0
    assert run(app, ["audit", *asked]).exit_code == 1
    for file in out.iterdir():
        assert not file.is_file() or b"postgresql" not in file.read_bytes()
    wrong = run(app, ["audit", place, "--table", "peeple", "-p", str(policy)])
    assert "has no table 'peeple'" in str(wrong.exception)
    # What is printed of a right address is no password.
    monkeypatch.chdir(tmp_path)
    place = f"postgresql://tester:{SECRET}@%2F{socket}/postgres?password={SECRET}"
    monkeypatch.setattr("sys.argv", ["foreknow", "init", f"{place}&table={name}", "-o", "new.toml"])
    with pytest.raises(SystemExit) as ended:
        run_process()
    said = "".join(capfd.readouterr())
    assert ended.value.code == 0, said
    assert SECRET not in said
    assert "foreknow publish postgresql://" in said
    assert SECRET not in (tmp_path / "new.toml").read_text()


@pytest.mark.parametrize("backend", ["ibis_duckdb", "ibis_postgres"])
def test_publishing_reads_table_of_ibis(backend, caplog, tmp_path):
    pytest.importorskip("ibis", reason="Ibis is absent")
    caplog.set_level(logging.INFO, "foreknow")
    rows = {
        "age": [20 + i * 7 % 40 for i in range(200)],
        "ill": ["Flu", "Cold", "Gout", "HIV"] * 50,
    }
    table = pa.table(rows)
    schema = {"quasi_identifiers": ["age"], "sensitive": "ill"}
    policy = {"schema": schema, "require": [{"facts": {"l": 1}, "below": 0.9}]}
    made = fk.publish(getattr(backends, backend)(table, tmp_path), policy, engine="duckdb")
    assert "nor of DuckDB or Spark" in caplog.text
    assert made.groups == fk.publish(table, policy).groups
