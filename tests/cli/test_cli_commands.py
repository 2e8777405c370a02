"""Commands and their options, run in this process; how a file is read, and standard input."""

import gzip
import io
import os
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import POLICY, TABLE, python

import foreknow as fk
from foreknow import sample
from foreknow.cli.entry import app
from foreknow.data.tables import sources
from foreknow.methods.registry import METHODS
from foreknow.publishing import flat_table
from foreknow_judge.errors import DataError, InputError
from foreknow_judge.files.duckdb_files import connect

PAPERS = {"certificate.json", "datapackage.json", "report.html"}
STEERING, SHOWN = "job\x1b[31m\u202e", r"job\x1b[31m\u202e"
KEYS = [key for key, _ in METHODS]


# ---- processes: what is imported, and what a shell completes -----------------------------------

LOADED = """
import atexit, sys
atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))
from foreknow.cli import main
main()
"""
LIBRARIES = {"numpy", "duckdb", "pyarrow", "narwhals", "pydantic", "rich", "jinja2"}
# Frames, the web, other pages' models, and methods that were not asked for.
IDLE = {
    *("narwhals", "pandas", "http.client", "urllib.request", "xml.sax.saxutils", "asyncio"),
    *("unittest", "foreknow.features.utility.models", "foreknow.features.utility.queries"),
    *("foreknow.features.more_methods.jump.jump", "foreknow.features.more_methods.art.art"),
}


def loading(folder, *arguments, **environment):
    """What a command prints, when it ends well, and the modules that it imported."""
    done = python("-c", LOADED, *arguments, folder=folder, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout, {*done.stderr.split()}


def completed(line, shell="bash"):
    """The words that a shell offers for the last one of a line; no library is imported for it."""
    words = line.split(" ")
    word = {"bash": str(len(words) - 1)}.get(shell, words[-1])
    asked = {"_FOREKNOW_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": word}
    out, loaded = loading(None, **asked)
    assert not LIBRARIES & loaded
    return [word.removeprefix("plain,") for word in out.splitlines()]


def test_commands_import_what_they_need(tmp_path):
    given = ["publish", sample.table_path(), "--policy", sample.policy_path(), "--out", "out"]
    out, loaded = loading(tmp_path, *given)
    assert "Written to out:" in out
    assert not IDLE & loaded
    out, loaded = loading(tmp_path, "verify", "out")
    assert out.startswith("Verified: ")
    assert not {*IDLE, "foreknow.methods.mondrian.mondrian"} & loaded


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("", "The main job:"),
        ("--version", fk.__version__),
        ("publish --help", "mondrian:"),
        ("attack --help", "--symmetric"),
        ("--help", "Exit codes:"),
    ],
)
def test_help_costs_no_library(tmp_path, call, message):
    """It is read from sources: 0.2 seconds and 26 MB, where NumPy and DuckDB took 71 MB."""
    out, loaded = loading(tmp_path, *call.split())
    packages = {"importlib.metadata", "foreknow.methods.registry"} if call == "--help" else set()
    assert not {*LIBRARIES, *packages} & loaded
    assert message in out


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("line", "offered", "shell"),
    [
        ("foreknow pub", ["publish"], "bash"),
        ("foreknow publish t.csv --fo", ["--form", "--format"], "bash"),
        ("foreknow publish t.csv --method ", KEYS, "bash"),
        ("foreknow publish t.csv --form b", ["bucketized"], "bash"),
        ("foreknow skyline t.csv --semantics s", ["single", "set"], "bash"),
        ("foreknow publish t.csv --method ", KEYS, "pwsh"),
    ],
)
def test_a_shell_completes(line, offered, shell):
    assert completed(line, shell) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "pwsh"])
def test_completion_is_installed_once(desk, monkeypatch, shell):
    monkeypatch.setattr(Path, "home", lambda: desk.folder)
    assert f"{shell}_complete" in (output := desk.run("--show-completion", shell)[1])
    for _ in range(2):
        assert f"completion.{shell}" in desk.run("--install-completion", shell)[1]
    made = desk.folder / ".config" / "foreknow" / f"completion.{shell}"
    assert made.read_text() == output.removesuffix("\n")
    names = (".bashrc", ".zshrc", "config.fish", "Microsoft.PowerShell_profile.ps1")
    (starts,) = [path for path in desk.folder.rglob("*") if path.name in names]
    assert starts.read_text().count(str(made)) == 1


def test_the_shell_that_is_used(desk, monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/zsh")
    assert "zsh_complete" in desk.says("--show-completion")
    monkeypatch.setenv("SHELL", "/bin/csh")
    assert "say which shell it is for: bash, zsh" in desk.refused("--show-completion")


@pytest.mark.parametrize("command", app.commands.values(), ids=lambda command: command.name)
def test_help_explains_each_parameter(command):
    assert (command.help or "").endswith(".")
    for param in command.params:
        said = param.text if hasattr(param, "text") else param.help
        assert said.endswith((".", ")")), f"{command.name} {param.name}: {said}"


@pytest.mark.parametrize("command", ["publish", "attack"])
def test_help_lists_every_method(desk, command):
    text = desk.says(command, "--help")
    for key, place in METHODS:
        assert f"{key}: " in text, place
    assert "naive: Not safe" in text


# ---- publish, audit and verify -----------------------------------------------------------------


def test_processes_agree(desk):
    call = ["-m", "foreknow.cli"]
    assert python(*call, *desk.publish(), folder=desk.folder).stderr == ""
    assert {path.name for path in (desk.folder / "out").iterdir()} == {"release.csv", *PAPERS}
    names = ["out", "out.owner", "policy.toml", "table.csv"]
    assert sorted(path.name for path in desk.folder.iterdir()) == names
    done = python(*call, "verify", "out/certificate.json", folder=desk.folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Verified: 8 people in " in done.stdout
    audit = desk.audit("--json", "audit.json", "--quiet", release="out")
    done = python("-m", "foreknow", *audit, folder=desk.folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    table, certificate = desk.json("audit.json"), desk.json("out/certificate.json")
    assert table["safe"] is certificate["safe"] is True
    assert table["verdicts"][0]["worst"]["exact"] == certificate["findings"][0]["exact"]


def test_the_demo_is_verified(desk):
    (desk.folder / ":key:").mkdir()
    text = desk.says("demo", ":key:/:cat:")
    assert "Verified: " in text
    assert "Written to :key:/:cat::" in text
    folder = desk.folder / ":key:" / ":cat:"
    assert (folder / "release.csv").exists()
    assert fk.Certificate.load(folder / "certificate.json").safe


def test_a_table_is_opened_once(desk, monkeypatch):
    opened, open_path = [], sources._open_path
    monkeypatch.setattr(sources, "_open_path", lambda *of: opened.append(of) or open_path(*of))
    desk.says(*desk.audit(), code=1)
    desk.says("skyline", "table.csv", "-c", "1", "-s", "disease", "--quasi-identifiers", "sex")
    assert len(opened) == 2


@pytest.mark.parametrize(
    ("columns", "message", "unsaid"),
    [
        ("name,age,sex,d", "Not judged: age.|The table names people, in name: what is pub", "!"),
        ("sex,d", "Safe", "Not judged"),
        ("Unnamed: 0,sex,d", "Not judged: Unnamed: 0.|index that pandas wrote|index=False", "!"),
    ],
)
def test_what_was_not_judged(desk, columns, message, unsaid):
    rows = [f"{i},{i},f,{value}".split(",") for i, value in enumerate("xyz")]
    cells = [",".join(row[-columns.count(",") - 1 :]) for row in rows]
    desk.put("table.csv", "\n".join([columns, *cells]))
    named = 'identifiers = ["name"]\n' if "name" in columns else ""
    schema = f'[schema]\n{named}quasi_identifiers = ["sex"]\nsensitive = "d"\n'
    desk.put("policy.toml", schema + "[[require]]\nfacts = {}\nbelow = 0.5\n")
    audited = desk.says(*desk.audit())
    assert all(part in audited for part in message.split("|"))
    assert unsaid not in audited


# ---- names that would steer a terminal are shown as escapes ------------------------------------


@pytest.mark.parametrize(
    ("call", "code", "shown"),
    [
        ("audit odd.csv -p policy.toml", 1, f"Notjudged:{SHOWN}"),
        (f"publish table.csv -p policy.toml -o {STEERING}", 0, f"Writtento{SHOWN}"),
        ("publish table.csv -p policy.toml -o [red]x", 0, "Writtento[red]x:"),
        ("publish table.csv -p policy.toml -o x[/red]", 0, "Writtentox[/red]:"),
        (
            f"priors ill.csv --by sex -s {STEERING} -o {STEERING}.csv",
            0,
            f"valuesof{SHOWN}:writtento{SHOWN}.csv",
        ),
        (f"audit --{STEERING}", 2, SHOWN),
        (f"verify a b {STEERING}", 2, SHOWN),
    ],
)
def test_names_steer_nothing(desk, call, code, shown):
    desk.put("odd.csv", TABLE.replace("name,", f"{STEERING},", 1))
    desk.put("ill.csv", TABLE.replace("disease", STEERING))
    arguments = call.split(" ")
    (desk.folder / arguments[-1]).parent.mkdir(exist_ok=True)
    ended, out, err = desk.run(*arguments)
    assert ended == code, err
    assert not {"\x1b", "\u202e"} & set(out + err)
    assert shown in "".join((out + err).split())


# ---- engines and memory ------------------------------------------------------------------------


@pytest.fixture
def unlimited():
    yield
    fk.limit_memory(None)


@pytest.mark.usefixtures("unlimited")
def test_amounts_of_memory(desk):
    assert "did you mean 'duckdb'" in desk.refused(*desk.publish("--engine", "duckd"))
    for amount, why in [("lots", "such as"), ("4", "such as"), ("1MB", "at least 64MB")]:
        assert why in desk.refused(*desk.publish("--memory", amount))
        assert why in desk.refused(*desk.audit("--memory", amount))
    for given, limit in (("100MB", "95.3 MiB"), (None, "GiB")):
        fk.limit_memory(given)
        ((said,),) = connect().execute("SELECT current_setting('memory_limit')").fetchall()
        assert said.endswith(limit)


# ---- read and draw -----------------------------------------------------------------------------


def test_read_and_draw(desk, monkeypatch):
    stored = Path(__file__).parents[1] / "certificates" / "set-generalized-csv"
    release = Path(shutil.copytree(stored, desk.folder / "release"))
    out = desk.folder / "flat.csv"
    code, message, err = desk.run("draw", release, "--out", out, "--seed", "1")
    assert (code, "16 rows, 3 columns" in message) == (0, True)
    assert err.startswith("Note: every value is drawn at random")
    assert "is no interval" in err
    assert "Note: how many values a person has is not in the release" in err
    lines = out.read_text().splitlines()
    assert (lines[0], len(lines)) == ('"age","sex","disease_shuffled"', 17)
    assert oct(out.stat().st_mode)[-3:] == "644"
    assert desk.run("read", release, "-o", desk.folder / "flat.parquet", "-q") == (0, "", "")
    assert pq.read_table(desk.folder / "flat.parquet").equals(fk.read_release(release, "arrow"))
    for name in ("flat.csv", "people.csv", "certificate.json"):  # desk.refused: nothing changes
        message = desk.refused("draw", release, "--out", release / name)
        assert "in what is published" in message or "name a .csv" in message
    assert "name a .csv or a .parquet file" in desk.refused("read", release, "--out", "flat.xlsx")
    assert "has no certificate" in desk.refused("read", "table.csv", "--out", "other.csv")

    def fails(table, path):
        path.write_text("half")
        raise InputError("the disk is full")

    monkeypatch.setitem(flat_table._WRITERS, ".csv", fails)
    assert "the disk is full" in desk.refused("draw", release, "--out", "flat.csv")


# ---- methods -----------------------------------------------------------------------------------

JUMP = (
    POLICY.partition("[[require]]")[0]
    + """[schema.hierarchies]
age = { intervals = [10, 20] }

[[require]]
facts = {}
below = 0.7

[publish]
method = "jump"
labels = { sex = "exact" }

[publish.jump]
functions = ["age=1, sex=0", { age = 1 }, "age=*"]
distances = [1, 2, 1]
"""
)


@pytest.fixture
def jumping(desk):
    desk.put("policy.toml", JUMP)
    return desk


@pytest.mark.parametrize(
    ("old", "new", "settings", "code", "message"),
    [
        ("", "", ['functions=["age=1"]'], 2, "3 jump distances for 1 functions"),
        ("", "", ["distance=1"], 2, "publish.jump: unknown key distance; did you mean 'distances'"),
        ("", "", ["steps=1", "distances=1"], 1, "more than 1 steps"),
        ("facts = {}", "facts = { k = 1 }", [], 2, "cannot be judged by a method that foresees"),
        ("below = 0.7", "below = 0.3", [], 1, "Jump releases nothing of table.csv"),
    ],
)
def test_what_jump_refuses(jumping, old, new, settings, code, message):
    jumping.put("policy.toml", JUMP.replace(old, new))
    more = [part for setting in settings for part in ("--set", setting)]
    assert message in jumping.refused(*jumping.publish(*more), code=code)


# ---- priors ------------------------------------------------------------------------------------

SEX = "sex,value,probability\nf,flu,0.3\nf,cold,0.7\nm,flu,0.1\nm,cold,0.9\n"
PAIRS = """ward,name,age,sex,disease
1,Ann,20,f,flu
1,Bob,21,m,cold
2,Cid,20,m,flu
2,Dora,21,f,flu
2,Eve,60,f,cold
2,Fay,61,m,cold
"""
OF_SEX = POLICY.partition("values")[0] + 'priors = { file = "sex.csv" }\n'


@pytest.fixture
def pairs(desk):
    desk.put("sex.csv", SEX)
    desk.put("table.csv", PAIRS)
    return desk


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "policy.toml: there is no file or folder"),
        (SEX.replace("m,", "male,"), "no probabilities for sex m; known: 'f', 'male'"),
        (SEX.replace("sex,", "disease,"), "is the sensitive column"),
    ],
)
def test_priors_that_cannot_be_used(pairs, content, message):
    pairs.put("policy.toml", OF_SEX + "below = 0.9")
    if content is None:
        (pairs.folder / "sex.csv").unlink()
    else:
        pairs.put("sex.csv", content)
    assert message in pairs.refused(*pairs.audit("--group", "ward"))


def test_priors_are_learned(desk):
    out = desk.says("priors", "table.csv", "--by", "sex", "-s", "disease", "--out", "known.csv")
    assert "2 kinds of people, 2 values of disease: written to known.csv" in out
    priors = fk.Priors(desk.folder / "known.csv")
    assert priors.tables == fk.Priors.learn(desk.folder / "table.csv", ["sex"], "disease").tables
    assert str(priors.tables[0].prior(("m",), "cold")) == "3/4"
    call = ("priors", "table.csv", "--by", "sex, age", "-s", "disease", "-o", "both.csv", "-q")
    assert desk.says(*call) == ""
    assert fk.Priors(desk.folder / "both.csv").tables[0].attributes == ("sex", "age")
    call = "priors table.csv --by sexe -s disease -o x.csv"
    assert "no column 'sexe'" in desk.refused(*call.split())
    desk.refused("priors", "nope.csv", "--by", "sex", "-s", "disease", "-o", "x.csv")
    table = pa.table({"sex": ["f", None], "disease": ["a", "b"]})
    learned = fk.Priors.learn(table, ["sex"], "disease").tables[0]
    with pytest.raises(DataError, match="sex missing cannot be written as CSV"):
        learned.to_csv(desk.folder / "x.csv")
    assert not (desk.folder / "x.csv").exists()


# ---- options that say how a file is read, standard input, and what is said of columns ------------


TOWNS = "geburt;ort;lohn;d\n" + "".join(
    f"{1 + i % 28:02}.0{1 + i % 9}.19{50 + i % 40};{('Köln', 'Ulm')[i % 2]};1.{i % 10}00,5;"
    f"{('grippe', 'röteln', 'krebs')[i % 3]}\n"
    for i in range(60)
)
GERMAN_POLICY = """[schema]
quasi_identifiers = ["geburt", "ort", "lohn"]
sensitive = "d"
hierarchies = { geburt = { dates = ["year"] } }

[[require]]
values = ["röteln"]
facts = {}
below = 0.9
"""
GERMAN = ("--encoding", "latin-1", "--date-format", "dd.mm.yyyy", "--decimal", ",")


@pytest.fixture
def german(desk):
    desk.put("towns.csv", TOWNS.encode("latin-1"))
    desk.put("policy.toml", GERMAN_POLICY)
    return desk


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


@pytest.mark.parametrize("options", [(), GERMAN])
@pytest.mark.parametrize(
    "words",
    [
        ("utility", "out", "towns.csv", "--queries", "5"),
        ("evidence", "out", "towns.csv", "--out", "page.html"),
        ("learned", "out", "towns.csv", "--by", "ort"),
    ],
)
def test_table_is_read_as_published(german, words, options):
    (german.folder / "policy.toml").rename(german.folder / "rules.toml")
    german.says("publish", "towns.csv", "--policy", "rules.toml", "--out", "out", *GERMAN)
    if options:
        record = german.folder / "out.owner" / "owner.json"
        record.write_text(record.read_text().replace('"reading"', '"other"'))
        assert "--encoding latin-1" in german.refused(*words)
    german.says(*words, *options)


def stdin(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_standard_input_takes_options(german, monkeypatch):
    publish = ("publish", "-", "--policy", "policy.toml", "--out", "out")
    stdin(monkeypatch, TOWNS.encode("latin-1"))
    assert "standard input is not UTF-8 (line 2, byte " in german.refused(*publish)
    assert "standard input is empty, or was read before" in german.refused(*publish)
    stdin(monkeypatch, TOWNS.encode("latin-1"))
    german.says(*publish, *GERMAN)
    stdin(monkeypatch, b"a,b\n1\n")
    message = german.refused("skyline", "-", "-c", "1", "-s", "a", "--quasi-identifiers", "b")
    assert "standard input, line 2: 1 field where the header has 2" in message
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
    server = pytest.importorskip("foreknow.features.explore.server")
    served = []
    monkeypatch.setattr(server, "serve", lambda session, *given: served.append(session))
    german.says("explore", "towns.csv", *GERMAN)
    assert 'encoding = "iso8859-1"' in served[0].draft("towns.csv").text
    assert "[schema.reading] of the policy" in german.refused(
        "explore", "towns.csv", "--policy", "policy.toml", *GERMAN
    )
