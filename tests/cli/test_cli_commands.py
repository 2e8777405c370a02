"""Commands and their options, run in this process; some once as a process of their own."""

import json
import random
import shutil
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.desk import NEAR, POLICY, TABLE, python

import foreknow as fk
from foreknow import sample
from foreknow.cli.entry import app
from foreknow.data.engines import sources
from foreknow.data.engines.databases import memory_limit
from foreknow.methods.registry import METHODS
from foreknow.publishing import flat_table
from foreknow.releases.members import OF_COUNTS
from foreknow.report.pages.verification import _amounts
from foreknow_judge.duckdb_files import connect
from foreknow_judge.errors import DataError, InputError

PAPERS = {"certificate.json", "datapackage.json", "report.html"}
STEERING, SHOWN = "job\x1b[31m\u202e", r"job\x1b[31m\u202e"
KEYS = [key for key, _ in METHODS]


def rows_of(desk, folder="out"):
    return (desk.folder / folder / "release.csv").read_text().splitlines()


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
    *("unittest", "foreknow.utility.models", "foreknow.utility.queries"),
    *("foreknow.methods.jump.jump", "foreknow.methods.art.art"),
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


def test_an_audit_imports_no_frames(tmp_path):
    """They take as long as counting a million rows."""
    (tmp_path / "t.csv").write_text("age,ill\n1,a\n1,b\n")
    code = (
        "import sys, foreknow as fk\n"
        "schema = fk.Schema(quasi_identifiers=['age'], sensitive='ill')\n"
        "fk.audit('t.csv', fk.Policy([fk.Requirement(fk.KAnonymity(2))], schema))\n"
        "sys.exit('narwhals' in sys.modules)"
    )
    assert python("-c", code, folder=tmp_path).returncode == 0


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("", "The main job:"),
        ("--version", fk.__version__),
        ("publish --help", "mondrian:"),
        ("attack --help", "--symmetric"),
        ("--help", "Exit codes:"),
    ],
)
def test_help_costs_no_library(tmp_path, call, said):
    """It is read from sources: 0.2 seconds and 26 MB, where NumPy and DuckDB took 71 MB."""
    out, loaded = loading(tmp_path, *call.split())
    packages = {"importlib.metadata", "foreknow.methods.registry"} if call == "--help" else set()
    assert not {*LIBRARIES, *packages} & loaded
    assert said in out


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("line", "offered", "shell"),
    [
        ("foreknow pub", ["publish"], "bash"),
        ("foreknow publish t.csv --fo", ["--form", "--format"], "bash"),
        ("foreknow attack t.csv --wor", ["--worlds"], "bash"),
        ("foreknow publish t.csv --method ", KEYS, "bash"),
        ("foreknow attack t.csv --method f", ["fulldomain"], "bash"),
        ("foreknow publish t.csv --form b", ["bucketized"], "bash"),
        ("foreknow publish t.csv --format ", ["csv", "parquet"], "bash"),
        ("foreknow skyline t.csv --semantics s", ["single", "set"], "bash"),
        ("foreknow publish t.csv --method f", ["fulldomain"], "fish"),
        ("foreknow publish t.csv --method ", KEYS, "pwsh"),
    ],
)
def test_a_shell_completes(line, offered, shell):
    assert completed(line, shell) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "pwsh"])
def test_completion_is_installed_once(desk, monkeypatch, shell):
    monkeypatch.setattr(Path, "home", lambda: desk.folder)
    assert f"{shell}_complete" in (said := desk.run("--show-completion", shell)[1])
    for _ in range(2):
        assert f"completion.{shell}" in desk.run("--install-completion", shell)[1]
    made = desk.folder / ".config" / "foreknow" / f"completion.{shell}"
    assert made.read_text() == said.removesuffix("\n")
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
    for each in command.params:
        said = each.text if hasattr(each, "text") else each.help
        assert said.endswith((".", ")")), f"{command.name} {each.name}: {said}"


@pytest.mark.parametrize("command", ["publish", "attack"])
def test_help_lists_every_method(desk, command):
    said = desk.says(command, "--help")
    for key, place in METHODS:
        assert f"{key}: " in said, place
    assert "naive: Not safe" in said


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
    said = desk.says("demo", ":key:/:cat:")
    assert "Verified: " in said
    assert "Written to :key:/:cat::" in said
    folder = desk.folder / ":key:" / ":cat:"
    assert (folder / "release.csv").exists()
    assert fk.Certificate.load(folder / "certificate.json").safe


@pytest.mark.thinned(2)
@pytest.mark.parametrize("fmt", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("form", "names"), [("generalized", ["release"]), ("bucketized", ["people", "sensitive"])]
)
def test_options_go_before_the_policy(desk, form, names, fmt):
    out = desk.says(*desk.publish("--form", form, "--format", fmt))
    assert "Written to out:" in out
    written = {path.name for path in (desk.folder / "out").iterdir()}
    assert written == {f"{name}.{fmt}" for name in names} | PAPERS
    for_owners = {path.name for path in (desk.folder / "out.owner").iterdir()}
    assert for_owners == {"members.parquet", "owner.json"}
    assert "For you only, in out.owner:" in out
    assert all(name in out for name in written | for_owners)
    for call in ("verify out/certificate.json", "verify out", "verify out/certificate.json out"):
        desk.says(*call.split())
    desk.says(*desk.audit(release="out"))


def test_quiet_calls_and_seeds(desk):
    for name in ("a", "b"):
        assert desk.says(*desk.publish("--seed", "5", "--quiet", out=name)) == ""
    assert rows_of(desk, "a") == rows_of(desk, "b")
    assert desk.says("verify", "a/certificate.json", "-q") == ""
    assert "none.csv" in desk.refused(*desk.audit("-q", release="none.csv"))


def test_the_group_column(desk):
    desk.put("grouped.csv", "gid,disease\n1,flu\n1,cold\n2,flu\n2,cold\n")
    desk.put("grouped.toml", POLICY.replace("[schema]", '[schema]\ngroup = "gid"'))
    for more, policy in ((["--group", "gid"], "policy.toml"), ([], "grouped.toml")):
        out = desk.says(*desk.audit(*more, release="grouped.csv", policy=policy))
        assert "4 people in 2 groups" in out
    desk.put("table.csv", TABLE.replace("age", "n"))  # a name that queries use
    desk.put("policy.toml", POLICY.replace("age", "n"))
    desk.says(*desk.audit(), code=1)


def test_an_unsafe_report_is_written(desk):
    desk.put("strict.toml", POLICY.replace("0.9", "0.1"))
    call = desk.audit("--json", "audit.json", "--html", "page.html", policy="strict.toml")
    said = desk.says(*call, code=1)
    assert desk.json("audit.json")["safe"] is False
    assert "in age 20, sex f" in said
    assert "a member of group “age 20, sex f” has flu" in said
    assert "group “age 20, sex f”" in (desk.folder / "page.html").read_text("utf-8")


def test_no_safe_release_exits_one(desk):
    desk.put("strict.toml", POLICY.replace("0.9", "0.5"))
    said = desk.refused(*desk.publish(policy="strict.toml"), code=1)
    assert "not even one group of all 8 people is safe: require[0]" in said
    assert "reaches 0.5 for 'flu', the limit is 0.5" in said


def test_verify_lists_all_problems(desk):
    desk.says(*desk.publish("--seed", "1"))
    (desk.folder / "out" / "release.csv").write_text("\n".join(rows_of(desk)[:-1]) + "\n")
    code, out, err = desk.run("verify", "out/certificate.json")
    assert (code, out) == (1, "")
    assert "digest differs" in err
    assert "7 people" in err


def test_names_reach_no_file(desk):
    desk.says(*desk.publish("--format", "parquet", "--seed", "1"))
    columns = pq.read_schema(desk.folder / "out" / "release.parquet").names
    assert columns == ["age", "sex", "disease"]
    for path in (desk.folder / "out").iterdir():
        assert b"Dora" not in path.read_bytes()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("audit table.csv --policy policy.toml --nope", "No such option"),
        ("adit", "No such command"),
        ("priors table.csv", "Missing option"),
        ("publish table.csv -p policy.toml", "Missing option"),
        ("publish table.csv -p policy.toml -o out --seed x", "--seed"),
        ("verify", "Missing argument"),
    ],
)
def test_calls_that_are_not_understood(desk, call, said):
    code, out, err = desk.run(*call.split())
    assert code == 2
    assert said in out + err
    assert "Traceback" not in out + err
    assert sorted(path.name for path in desk.folder.iterdir()) == ["policy.toml", "table.csv"]


def test_disarmed_formulas_are_audited(desk):
    desk.put("table.csv", TABLE.replace("flu", "=flu"))
    desk.put("policy.toml", POLICY.replace('"flu"', '"=flu"') + "escape_formulas = true\n")
    for call in (desk.publish(), ["verify", "out/certificate.json"], desk.audit(release="out")):
        assert desk.says(*call, "--quiet") == ""


def test_a_table_is_opened_once(desk, monkeypatch):
    opened, open_path = [], sources._open_path
    monkeypatch.setattr(sources, "_open_path", lambda *of: opened.append(of) or open_path(*of))
    desk.says(*desk.audit(), code=1)
    desk.says("skyline", "table.csv", "-c", "1", "-s", "disease", "--quasi-identifiers", "sex")
    assert len(opened) == 2


@pytest.mark.parametrize(
    ("columns", "said", "unsaid"),
    [
        ("name,age,sex,d", "Not judged: age.|The table names people, in name: what is pub", "!"),
        ("sex,d", "Safe", "Not judged"),
        ("Unnamed: 0,sex,d", "Not judged: Unnamed: 0.|index that pandas wrote|index=False", "!"),
    ],
)
def test_what_was_not_judged(desk, columns, said, unsaid):
    rows = [f"{i},{i},f,{value}".split(",") for i, value in enumerate("xyz")]
    cells = [",".join(row[-columns.count(",") - 1 :]) for row in rows]
    desk.put("table.csv", "\n".join([columns, *cells]))
    named = 'identifiers = ["name"]\n' if "name" in columns else ""
    schema = f'[schema]\n{named}quasi_identifiers = ["sex"]\nsensitive = "d"\n'
    desk.put("policy.toml", schema + "[[require]]\nfacts = {}\nbelow = 0.5\n")
    audited = desk.says(*desk.audit())
    assert all(part in audited for part in said.split("|"))
    assert unsaid not in audited


@pytest.mark.parametrize("columns", [["--policy", "policy.toml"], ["--sensitive", "disease"]])
def test_counts_are_not_people(desk, columns):
    desk.put("counts.csv", "group,disease,count\n1,flu,9\n1,cold,1\n")
    command = ["audit"] if "--policy" in columns else ["skyline", "--confidence", "0.9"]
    err = desk.refused(*command, "counts.csv", *columns, "--group", "group")
    assert "'counts.csv' says in 'count' how often each value occurs" in err


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
@pytest.mark.parametrize("written", ["csv", "parquet"])
def test_counted_tables_are_published(desk, written):
    options = ("--engine", "duckdb", "--memory", "64MB", "--format", written, "--verbose")
    said = desk.says(*desk.publish(*options))
    assert "age: numbers 20 to 61" in said
    assert memory_limit() == 64_000_000
    assert desk.json("out/certificate.json")["source"]["digest_kind"] == OF_COUNTS
    desk.says("verify", "out")
    desk.says(*desk.audit("--memory", "1 GiB", release="out"))
    assert memory_limit() == 2**30
    asked = desk.folder / "out.owner" / "members.parquet"
    rows = duckdb.sql(f"SELECT row, name FROM '{asked}'").fetchall()
    assert rows == [(i, line.split(",")[0]) for i, line in enumerate(TABLE.splitlines())][1:]


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


def test_engines_name_the_same_mistakes(desk):
    for content in (
        TABLE.replace("sex", "gender"),
        "",
        TABLE.splitlines()[0] + "\n",
        TABLE + "Ida,62\n",
        TABLE.replace("61,m,flu", "61,m,"),
    ):
        desk.put("table.csv", content)
        said = {desk.refused(*desk.publish("--engine", kind)) for kind in ("memory", "duckdb")}
        assert len(said) == 1


# ---- read and draw -----------------------------------------------------------------------------


def test_read_and_draw(desk, monkeypatch):
    stored = Path(__file__).parents[1] / "certificates" / "set-generalized-csv"
    release = Path(shutil.copytree(stored, desk.folder / "release"))
    out = desk.folder / "flat.csv"
    code, said, err = desk.run("draw", release, "--out", out, "--seed", "1")
    assert (code, "16 rows, 3 columns" in said) == (0, True)
    assert err.startswith("Note: every value is drawn at random")
    assert "is no interval" in err
    assert "Note: how many values a person has is not in the release" in err
    lines = out.read_text().splitlines()
    assert (lines[0], len(lines)) == ('"age","sex","disease_shuffled"', 17)
    assert oct(out.stat().st_mode)[-3:] == "644"
    assert desk.run("read", release, "-o", desk.folder / "flat.parquet", "-q") == (0, "", "")
    assert pq.read_table(desk.folder / "flat.parquet").equals(fk.read_release(release, "arrow"))
    for name in ("flat.csv", "people.csv", "certificate.json"):  # desk.refused: nothing changes
        said = desk.refused("draw", release, "--out", release / name)
        assert "in what is published" in said or "name a .csv" in said
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


def test_jump_by_policy_and_options(jumping):
    out = jumping.says(*jumping.publish())
    assert "Note: judged by Jump also against an adversary who knows it" in out
    method = jumping.json("out/certificate.json")["method"]
    assert method["functions"] == ["age=1, sex=0", "age=1, sex=*", "age=*, sex=*"]
    assert method["distances"] == [1, 2, 1]
    out = jumping.says("verify", "out/certificate.json")
    assert "the certificate, and foreknow verify, are about the release alone" in out
    given = ["--set", "distances=2", "--set", 'functions=["age=1", "age=*"]', "--quiet"]
    assert jumping.says(*jumping.publish(*given, out="two")) == ""
    method = jumping.json("two/certificate.json")["method"]
    assert (method["functions"], method["distances"]) == (["age=1, sex=*", "age=*, sex=*"], [2, 2])
    jumping.says(*jumping.publish("--method", "safe", "--quiet", out="safe"))
    for name in ("jump", "safe"):
        out = jumping.says("attack", "table.csv", "-p", "policy.toml", "--method", name)
        assert name.capitalize() in out


@pytest.mark.parametrize(
    ("old", "new", "settings", "code", "said"),
    [
        ("", "", ['functions=["age=1"]'], 2, "3 jump distances for 1 functions"),
        ("", "", ["distance=1"], 2, "publish.jump: unknown key distance; did you mean 'distances'"),
        ("", "", ["steps=1", "distances=1"], 1, "more than 1 steps"),
        ("facts = {}", "facts = { k = 1 }", [], 2, "cannot be judged by a method that foresees"),
        ("below = 0.7", "below = 0.3", [], 1, "Jump releases nothing of table.csv"),
    ],
)
def test_what_jump_refuses(jumping, old, new, settings, code, said):
    jumping.put("policy.toml", JUMP.replace(old, new))
    more = [part for setting in settings for part in ("--set", setting)]
    assert said in jumping.refused(*jumping.publish(*more), code=code)


def test_a_method_in_any_case(desk):
    said = desk.says(*desk.publish("--method", "Full_Domain", "--set", "suppression=0.1"))
    assert "Safe: the requirement holds" in said
    certificate = desk.json("out/certificate.json")
    assert certificate["policy"]["publish"]["method"] == "fulldomain"
    assert certificate["method"]["suppression"] == 0.1


def test_utility_writes_a_page(desk):
    desk.says(*desk.publish("--quiet"))
    call = "utility out table.csv -p policy.toml --queries 50 --html u.html --json u.json"
    page = desk.says(*call.split()), (desk.folder / "u.html").read_text("utf-8")
    assert all("Overall counts: the same queries" in text for text in page)
    assert "For the owner only" in page[1]
    for error in desk.json("u.json")["query_errors"]:
        assert set(error["overall_counts"]) == {"average", "quantiles"}


# ---- priors ------------------------------------------------------------------------------------

SEX = "sex,value,probability\nf,flu,0.3\nf,cold,0.7\nm,flu,0.1\nm,cold,0.9\n"
# In pairs of a woman and a man; the odds of flu are 27 to 7 for her, where just one has it.
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


def grouped(desk, limit, *more):
    """Judge groups as if columns were in another table than values: nobody finds a row by them."""
    desk.put("policy.toml", f"{OF_SEX}{limit}\nknowing = []")
    return desk.run(*desk.audit("--group", "ward", *more))


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("below = 0.8", 0),
        ("at_most = 0.8", 0),
        ('at_most = "27/34"', 0),
        ('below = "27/34"', 1),
        ("at_most = 0.79", 1),
    ],
)
def test_priors_at_the_very_limit(pairs, limit, code):
    ended, out, err = grouped(pairs, limit)
    assert (ended, err) == (code, "")
    assert ("Safe" in out) == (code == 0)
    assert "priors" in out


def test_an_audit_against_priors(pairs):
    # He has a cold as surely as she has the flu.
    _, out, _ = grouped(pairs, 'below = 0.5\nvalues = ["flu"]', "--json", "audit.json")
    said = " ".join(out.split())
    assert "people with sex f have it with probability 30%" in said
    assert "79% sure that a member of group 1 has flu" in said
    worst = pairs.json("audit.json")["verdicts"][0]["worst"]
    assert (worst["exact"], worst["witness"]["signature"]) == ("27/34", {"sex": "f"})
    pairs.put("policy.toml", OF_SEX + "below = 0.9")
    said = pairs.says(*pairs.audit("--group", "ward"), code=1)  # who knows them finds the row
    assert "can be certain that a member of group “ward 1, age 21, sex m” has cold" in said
    (pairs.folder / "rules").mkdir()
    (pairs.folder / "sex.csv").rename(pairs.folder / "rules" / "sex.csv")  # beside the policy
    pairs.put("rules/policy.toml", OF_SEX + "below = 0.9\nknowing = []")
    pairs.says(*pairs.audit("--group", "ward", policy="rules/policy.toml"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "policy.toml: there is no file or folder"),
        ("", "policy.toml: sex.csv is empty"),
        (SEX.replace("probability", "chance"), "sex.csv has no column 'probability'"),
        (SEX.replace("m,", "male,"), "no probabilities for sex m; known: 'f', 'male'"),
        (SEX.replace("sex,", "disease,"), "is the sensitive column"),
    ],
)
def test_priors_that_cannot_be_used(pairs, content, said):
    pairs.put("policy.toml", OF_SEX + "below = 0.9")
    if content is None:
        (pairs.folder / "sex.csv").unlink()
    else:
        pairs.put("sex.csv", content)
    assert said in pairs.refused(*pairs.audit("--group", "ward"))


def test_priors_that_are_said():
    tables = [{"attributes": ["sex"], "rows": []}, {"attributes": ["age", "sex"], "rows": []}]
    assert _amounts({"semantics": "joint", "tables": tables}) == "by sex; age, sex (joint)"
    assert _amounts({"l": 1, "k": 2}) == "l = 1, k = 2"


def test_priors_are_learned(desk):
    out = desk.says("priors", "table.csv", "--by", "sex", "-s", "disease", "--out", "known.csv")
    assert "2 kinds of people, 2 values of disease: written to known.csv" in out
    read = fk.Priors(desk.folder / "known.csv")
    assert read.tables == fk.Priors.learn(desk.folder / "table.csv", ["sex"], "disease").tables
    assert str(read.tables[0].prior(("m",), "cold")) == "3/4"
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


# ---- several values of a person ----------------------------------------------------------------

LONG = """pid,age,sex,disease
Ann,20,f,flu
Ann,20,f,cold
Bob,21,m,
Cid,20,m,cold
Dora,21,f,flu
Eve,60,f,flu
Eve,60,f,cold
Fay,61,f,
Gus,60,m,cold
Hal,61,m,
"""


@pytest.fixture(params=["set", "multiset"])
def several(desk, request):
    """A long table and its policy."""
    desk.put("table.csv", LONG)
    roles = f'semantics = "{request.param}"\nperson = "pid"\n\n[[require]]'
    policy = POLICY.replace('identifiers = ["name"]\n', "").replace('values = ["flu"]\n', "")
    desk.put("policy.toml", policy.replace("[[require]]", roles).replace("l = 0", "l = 1"))
    desk.semantics = request.param
    return desk


def test_several_values_are_published(several):
    fmt = {"set": "csv", "multiset": "parquet"}[several.semantics]
    out = several.says(*several.publish("--format", fmt))
    assert "Note: safe, but perhaps not minimal" in out
    assert all(f"{name}.{fmt}" in out for name in ("people", "sensitive"))
    table = several.json("out/certificate.json")
    assert table["release"]["semantics"] == several.semantics
    several.says(*several.audit("--json", "audit.json", release="out"))
    verdict = several.json("audit.json")["verdicts"][0]
    assert verdict["worst"]["exact"] == table["findings"][0]["exact"]
    out = several.says("verify", "out/certificate.json")
    assert "Verified: 8 people" in out
    assert "perhaps not minimal" in out
    if fmt == "csv":
        path = several.folder / "out" / "sensitive.csv"
        path.write_text(path.read_text().replace("flu", "cold"))
        code, _, err = several.run("verify", "out/certificate.json")
        assert code == 1
        assert "sensitive.csv is not the file that was certified" in err


# ---- near numbers, and what is known beside a value --------------------------------------------


def test_near_numbers(pay):
    call = pay.publish(table="people.csv")
    assert "Safe: the requirement holds" in pay.says(*call)
    assert "about every value to within 2,000: at most" in pay.says("verify", "out")
    assert "Safe" in pay.says(*pay.audit(release="out"))
    pay.put("policy.toml", NEAR.format(within='"40%"'))
    assert "has a value between" in pay.says(*pay.audit(release="out"), code=1)
    for within, said in (
        ("0", "within must be above 0"),
        ('"a bit"', "within cannot be read"),
        ("20011", "holds every sensitive value of the table"),
        ('"30 days"', "is for dates"),
    ):
        pay.put("policy.toml", NEAR.format(within=within))
        assert said in pay.refused(*pay.publish(table="people.csv", out="other"))


SIGHTS = """[schema]
identifiers = ["who"]
quasi_identifiers = ["age"]
sensitive = ["ill", "=pay"]
other = ["job"]

[[require]]
sensitive = "ill"
facts = {}
below = 0.95

[[require]]
sensitive = "=pay"
knowing = []
facts = {}
below = 0.95

[[require]]
k_anonymity = 2
"""
SHUFFLED = "The publisher says that =pay is shuffled within each group; the values cannot show it."


@pytest.fixture
def town(desk):
    draw = random.Random(5)
    rows = [
        f"p{i},{draw.randint(20, 29)},{draw.choice('abcd')},{draw.choice('1234')},{job}"
        for i, job in enumerate(draw.choices(["cook", "nurse"], k=300))
    ]
    desk.put("table.csv", "\n".join(["who,age,ill,=pay,job", *rows]))
    desk.put("policy.toml", SIGHTS)
    desk.put("apart.toml", SIGHTS + '\n[publish]\nunlinked = ["=pay"]\n')
    return desk


def test_requirements_say_what_is_known(town):
    published = town.says(*town.publish("--seed", "1"))
    verified = town.says("verify", "out")
    assert "every requirement on ill and =pay holds" in verified
    assert "ill: against facts l = 0, k = 0, m = 0 and the =pay and job of everybody: " in verified
    assert "=pay: against facts l = 0, k = 0, m = 0: at most" in verified
    for said in (published, verified, town.says(*town.audit(release="out"))):
        assert "A requirement on =pay assumes that nobody knows the ill or job of anybody." in said
        assert "Not judged" not in said
        assert SHUFFLED not in said
    said = town.says(*town.audit(), code=1)
    assert "The table names people, in who: what is published must not." in said
    assert "Not judged: who" not in said
    path = town.folder / "out/certificate.json"  # a forged claim that a column was shuffled
    forged = json.loads(path.read_text())
    forged["policy"]["publish"]["unlinked"] = ["=pay"]
    path.write_text(json.dumps(forged))
    code, _, err = town.run("verify", "out")
    assert code == 1
    assert "must be called '=pay_shuffled'" in err


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_columns_published_apart(town, form):
    town.says(*town.publish("--form", form, policy="apart.toml"))
    verified = town.says("verify", "out")
    assert (SHUFFLED in verified) == (form == "generalized")  # else it has a table of its own
    assert "assumes" not in verified
    assert town.json("out/certificate.json")["policy"]["publish"]["unlinked"] == ["=pay"]


def test_analyses_say_what_is_known(town):
    columns = ["--quasi-identifiers", "age", "-s", "ill"]
    for name, *more in (["skyline", "-c", "1"], ["curves", "--upto", "1"]):
        page = town.folder / f"{name}.html"
        said = town.says(name, "table.csv", *more, *columns, "--html", page, "--knowing", "job")
        for text in (said, page.read_text("utf-8")):
            assert "The adversary knows the job of everybody." in text
            assert "Not judged: who, =pay." in text
    asked = ["ask", "table.csv", *columns, "--person", "who", "--about", "p1", "--knowing", ""]
    assert "Not judged: who, =pay, job. An adversary who knows them" in town.says(*asked)
