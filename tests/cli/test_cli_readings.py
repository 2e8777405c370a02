"""Options that say how a file is read, standard input, and what is said of columns."""

import gzip
import io
import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.desk import TABLE

from foreknow.cli import entry

OPTIONS = ("--encoding", "--delimiter", "--decimal", "--date-format")
NO_TABLE = ("verify", "forget", "read", "draw", "export", "demo", "schema", "sql")
TOWNS = "geburt;ort;lohn;d\n" + "".join(
    f"{1 + i % 28:02}.0{1 + i % 9}.19{50 + i % 40};{('Köln', 'Ulm')[i % 2]};1.{i % 10}00,5;"
    f"{('grippe', 'röteln', 'krebs')[i % 3]}\n"
    for i in range(60)
)
POLICY = """[schema]
quasi_identifiers = ["geburt", "ort", "lohn"]
sensitive = "d"
hierarchies = { geburt = { dates = ["year"] } }

[[require]]
values = ["röteln"]
facts = {}
below = 0.9
"""
PUBLISH = ("publish", "towns.csv", "--policy", "policy.toml", "--out", "out")
GERMAN = ("--encoding", "latin-1", "--date-format", "dd.mm.yyyy", "--decimal", ",")


@pytest.fixture
def german(desk):
    desk.put("towns.csv", TOWNS.encode("latin-1"))
    desk.put("policy.toml", POLICY)
    return desk


@pytest.mark.parametrize("command", entry.app.commands.values(), ids=lambda command: command.name)
def test_every_command_has_the_options(desk, command):
    named = {each.name for each in command.params}
    wanted = {option.strip("-").replace("-", "_") for option in OPTIONS}
    assert named & wanted == (set() if command.name in NO_TABLE else wanted)
    said = desk.says(command.name, "--help")
    assert all((option in said) == (command.name not in NO_TABLE) for option in OPTIONS)


def test_a_table_of_another_country(german):
    given = []
    for option, value in zip(GERMAN[:4:2], GERMAN[1:4:2], strict=True):
        assert f"add {option} {value}" in german.refused(*PUBLISH, *given)
        given += [option, value]
    said = german.says(*PUBLISH, *given)
    assert 'Note: lohn looks like numbers with a decimal comma; if it is, add --decimal ","' in said
    german.says(*PUBLISH[:-1], "other", *GERMAN, "--quiet")
    release = (german.folder / "other" / "release.csv").read_text(encoding="utf-8")
    assert "Köln" in release
    assert "1000,5" in release  # as it came
    assert "1.000,5" not in release
    assert german.json("other/certificate.json")["safe"]
    german.says("verify", "other")


def test_a_policy_may_say_it(german):
    """Options go first."""
    reading = 'reading = { encoding = "utf-16", decimal = ",", date_format = "dd.mm.yyyy" }\n'
    german.put("policy.toml", POLICY.replace("hierarchies", reading + "hierarchies"))
    assert "is not utf-16" in german.refused(*PUBLISH)
    said = german.says(*PUBLISH, "--encoding", "latin-1", "--verbose")
    assert "Read as: geburt: dates 1950-" in said
    assert "; ort: text, 2 values; lohn: numbers 1000.5 to 1900.5; d: text, 3 values." in said
    german.says("verify", "out")
    for wrong in ("reading = 5", "reading = { encodin = 1 }", "reading = { decimal = ';' }"):
        german.put("policy.toml", POLICY.replace("hierarchies", f"{wrong}\nhierarchies"))
        said = german.refused("publish", "towns.csv", "--policy", "policy.toml", "--out", "other")
        assert "policy.toml: " in said


def test_each_analysis_reads_by_options(german):
    latin = ("--encoding", "latin-1")
    columns = ("--sensitive", "d", "--quasi-identifiers", "ort")
    by_policy = ("--policy", "policy.toml")
    assert "Read as: geburt: text, 60 values" in german.says(
        "audit", "towns.csv", *by_policy, *latin, "--verbose", code=1
    )
    assert "röteln" in german.says("skyline", "towns.csv", "-c", "0.9", *columns, *latin)
    assert "röteln" in german.says("curves", "towns.csv", "-v", "röteln", *columns, *latin)
    german.says("survey", "towns.csv", *by_policy, *GERMAN)
    german.says("publish", "towns.csv", *by_policy, "--out", "out", *GERMAN)
    german.says("utility", "out", "towns.csv", *by_policy, *GERMAN, "--queries", "5")
    german.says("priors", "towns.csv", "--by", "ort", "-s", "d", "--out", "p.csv", *latin)
    assert "Köln" in (german.folder / "p.csv").read_text(encoding="utf-8")
    german.put("named.csv", "n;g;d\nAnn;1;grippé\nBob;1;krebs\n".encode("latin-1"))
    asked = ("ask", "named.csv", "-a", "Ann", "-s", "d", "-g", "g", "--person", "n")
    assert "grippé" in german.says(*asked, *latin)
    assert "--encoding latin-1" in german.refused(*asked)


def stdin(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_standard_input_is_read(desk, monkeypatch, kind):
    content = TABLE.encode()
    if kind == "csv.gz":
        content = gzip.compress(content)
    elif kind == "parquet":
        lines = [line.split(",") for line in TABLE.split()]
        sink = pa.BufferOutputStream()
        rows = pa.table(list(map(list, zip(*lines[1:], strict=True))), names=lines[0])
        pq.write_table(rows.set_column(1, "age", rows["age"].cast(pa.int64())), sink)
        content = sink.getvalue().to_pybytes()
    stdin(monkeypatch, content)
    desk.says("publish", "-", "--policy", "policy.toml", "--out", "out")
    assert desk.json("out.owner/owner.json")["source"] == "standard input"
    stdin(monkeypatch, content)
    assert desk.says("skyline", "-", "-c", "1", "-s", "disease", "--quasi-identifiers", "sex")


def test_standard_input_takes_options(german, monkeypatch):
    publish = ("publish", "-", "--policy", "policy.toml", "--out", "out")
    stdin(monkeypatch, TOWNS.encode("latin-1"))
    assert "standard input is not UTF-8 (line 2, byte " in german.refused(*publish)
    assert "standard input is empty, or was read before" in german.refused(*publish)
    stdin(monkeypatch, TOWNS.encode("latin-1"))
    german.says(*publish, *GERMAN)
    stdin(monkeypatch, b"a,b\n1\n")
    said = german.refused("skyline", "-", "-c", "1", "-s", "a", "--quasi-identifiers", "b")
    assert "standard input, line 2: 1 field where the header has 2" in said
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input is closed" in german.refused(*publish[:-1], "other")


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="a shell has no such pipes")
def test_a_pipe_is_read_once(desk):
    reader, writer = os.pipe()
    with open(writer, "wb") as file:
        file.write(gzip.compress(TABLE.encode()))
    desk.says("publish", f"/dev/fd/{reader}", "--policy", "policy.toml", "--out", "out")
    os.close(reader)
    assert desk.json("out.owner/owner.json")["source"] == str(reader)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("name", ["f.csv", "f.sqlite?table=t", "f.parquet", "f.xlsx"])
def test_pipes_and_devices(desk, name):
    os.mkfifo(desk.folder / name.partition("?")[0])
    (desk.folder / "policy.toml").unlink()
    for command in (("init", name), ("audit", name), ("publish", name, "--out", "out")):
        assert "is a named pipe; give a file" in desk.refused(*command)
    assert "is a pipe or a device" in desk.refused("explore", name, "--no-browser")
    (desk.folder / "g.csv").symlink_to("/dev/zero")
    assert "is a device or a socket; give a file" in desk.refused("init", "g.csv", "--force")


def test_the_explorer_takes_options(german, monkeypatch):
    server = pytest.importorskip("foreknow.explore.server")
    served = []
    monkeypatch.setattr(server, "serve", lambda session, *given: served.append(session))
    german.says("explore", "towns.csv", *GERMAN)
    assert 'encoding = "iso8859-1"' in served[0].draft("towns.csv").text
    assert "[schema.reading] of the policy" in german.refused(
        "explore", "towns.csv", "--policy", "policy.toml", *GERMAN
    )


def test_tables_are_not_written_over(desk):
    import sqlite3

    connection = sqlite3.connect(desk.folder / "t.sqlite")
    connection.execute("CREATE TABLE t (sex, disease)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [("f", "flu"), ("m", "cold")])
    connection.commit()
    connection.close()
    command = ("skyline", "t.sqlite?table=t", "-c", "1", "-s", "disease")
    command += ("--quasi-identifiers", "sex", "--json")
    assert "'t.sqlite' is an input" in desk.refused(*command, "t.sqlite")
    desk.says(*command, "out.json")
