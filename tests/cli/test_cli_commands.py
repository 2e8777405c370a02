"""Commands and their options, run in this process; some once as a process of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.desk import POLICY, TABLE

import foreknow as fk
from foreknow.cli.entry import app

PAPERS = {"certificate.json", "datapackage.json", "report.html"}
STEERING, SHOWN = "job\x1b[31m\u202e", r"job\x1b[31m\u202e"


def rows_of(desk, folder="out"):
    return (desk.folder / folder / "release.csv").read_text().splitlines()


def process(folder, *arguments):
    """Exit code, standard output and standard error of Python with these arguments."""
    source = {"PYTHONPATH": str(Path(fk.__file__).parents[1]), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **source},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


# ---- as processes ------------------------------------------------------------------------------


def test_publish_verify_and_audit_agree_as_processes(desk):
    command = ["-m", "foreknow.cli"]
    assert process(desk.folder, *command, *desk.publish())[::2] == (0, "")
    assert {path.name for path in (desk.folder / "out").iterdir()} == {"release.csv", *PAPERS}
    names = ["out", "out.owner", "policy.toml", "table.csv"]
    assert sorted(path.name for path in desk.folder.iterdir()) == names
    code, out, err = process(desk.folder, *command, "verify", "out/certificate.json")
    assert (code, err) == (0, "")
    assert "Verified: 8 people in " in out
    audit = desk.audit("--json", "audit.json", "--quiet", release="out")
    assert process(desk.folder, *command, *audit) == (0, "", "")
    table, certificate = desk.json("audit.json"), desk.json("out/certificate.json")
    assert table["safe"] is certificate["safe"] is True
    assert table["verdicts"][0]["worst"]["exact"] == certificate["findings"][0]["exact"]


def test_an_audit_of_a_file_imports_no_library_of_frames(tmp_path):
    """It takes as long as counting a million rows."""
    (tmp_path / "t.csv").write_text("age,ill\n1,a\n1,b\n")
    code = (
        "import sys, foreknow as fk\n"
        "schema = fk.Schema(quasi_identifiers=['age'], sensitive='ill')\n"
        "fk.audit('t.csv', fk.Policy([fk.Requirement(fk.KAnonymity(2))], schema))\n"
        "sys.exit('narwhals' in sys.modules)"
    )
    assert process(tmp_path, "-c", code) == (0, "", "")


LIBRARIES = {"numpy", "duckdb", "pyarrow", "narwhals", "pydantic", "rich", "jinja2"}
LOADED = f"""
import atexit, sys
atexit.register(lambda: print(*{LIBRARIES} & set(sys.modules), file=sys.stderr))
from foreknow.cli import main
main()
"""


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ([], "The main job:"),
        (["--version"], fk.__version__),
        (["--help"], "Exit codes:"),
        (["publish", "--help"], "mondrian:"),
        (["attack", "--help"], "--symmetric"),
        ("foreknow comp", "compare"),
        ("foreknow attack t.csv --wor", "--worlds"),
        ("foreknow publish t.csv --method ", "streamliner"),
    ],
)
def test_help_and_completion_cost_no_library(tmp_path, monkeypatch, asked, said):
    """They are read from sources: 0.2 seconds and 26 MB, where NumPy and DuckDB took 71 MB."""
    if isinstance(asked, str):
        monkeypatch.setenv("_FOREKNOW_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", asked)
        monkeypatch.setenv("COMP_CWORD", str(asked.count(" ")))
        asked = []
    code, out, err = process(tmp_path, "-c", LOADED, *asked)
    assert (code, err) == (0, "\n")
    assert said in out


@pytest.mark.parametrize("command", app.commands.values(), ids=lambda command: command.name)
def test_help_says_what_each_argument_and_option_is(command):
    assert (command.help or "").endswith(".")
    for each in command.params:
        said = each.text if hasattr(each, "text") else each.help
        assert said.endswith((".", ")")), f"{command.name} {each.name}: {said}"


def test_the_package_runs_as_a_module(tmp_path):
    version = (0, f"foreknow {fk.__version__}\n", "")
    assert process(tmp_path, "-m", "foreknow", "--version") == version


# ---- publish, audit and verify -----------------------------------------------------------------


def test_the_demo_runs_from_end_to_end_and_is_verified(desk):
    assert "Verified: " in desk.says("demo", "shown")
    assert (desk.folder / "shown" / "release.csv").exists()
    assert fk.Certificate.load(desk.folder / "shown" / "certificate.json").safe


@pytest.mark.thinned(2)
@pytest.mark.parametrize("fmt", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("form", "names"), [("generalized", ["release"]), ("bucketized", ["people", "sensitive"])]
)
def test_options_of_publish_go_before_the_policy_and_each_form_is_verified(desk, form, names, fmt):
    out = desk.says(*desk.publish("--form", form, "--format", fmt))
    assert "Written to out:" in out
    found = {path.name for path in (desk.folder / "out").iterdir()}
    assert found == {f"{name}.{fmt}" for name in names} | PAPERS
    own = {path.name for path in (desk.folder / "out.owner").iterdir()}
    assert own == {"members.parquet", "owner.json"}
    assert "For you only, in out.owner:" in out
    assert all(name in out for name in found | own)
    for arguments in (
        ["verify", "out/certificate.json"],
        ["verify", "out"],
        ["verify", "out/certificate.json", "out"],
        desk.audit(release="out"),
    ):
        desk.says(*arguments)


def test_a_seed_makes_the_order_of_rows_reproducible(desk):
    for name in ("a", "b"):
        assert desk.says(*desk.publish("--seed", "5", "--quiet", out=name)) == ""
    assert rows_of(desk, "a") == rows_of(desk, "b")


def test_quiet_prints_nothing_but_errors(desk):
    assert desk.says(*desk.publish("-q")) == ""
    assert desk.says("verify", "out/certificate.json", "-q") == ""
    assert "none.csv" in desk.refused(*desk.audit("-q", release="none.csv"))


def test_an_audit_takes_the_group_column_from_the_option_or_the_policy(desk):
    desk.put("grouped.csv", "gid,disease\n1,flu\n1,cold\n2,flu\n2,cold\n")
    desk.put("grouped.toml", POLICY.replace("[schema]", '[schema]\ngroup = "gid"'))
    for more, policy in ((["--group", "gid"], "policy.toml"), ([], "grouped.toml")):
        out = desk.says(*desk.audit(*more, release="grouped.csv", policy=policy))
        assert "4 people in 2 groups" in out


def test_an_audit_writes_json_and_a_report_also_when_unsafe(desk):
    desk.says(*desk.audit("--json", "audit.json", "--html", "page.html"), code=1)
    assert desk.json("audit.json")["safe"] is False
    assert "flu" in (desk.folder / "page.html").read_text()


def test_no_safe_release_exits_with_one_says_why_and_writes_nothing(desk):
    desk.put("strict.toml", POLICY.replace("0.9", "0.5"))
    said = desk.refused(*desk.publish(policy="strict.toml"), code=1)
    assert "not even one group of all 8 people is safe: require[0]" in said
    assert "reaches 0.5 for 'flu', the limit is 0.5" in said


def test_verify_says_all_that_is_wrong_and_exits_with_one(desk):
    desk.says(*desk.publish("--seed", "1"))
    (desk.folder / "out" / "release.csv").write_text("\n".join(rows_of(desk)[:-1]) + "\n")
    code, out, err = desk.run("verify", "out/certificate.json")
    assert (code, out) == (1, "")
    assert "digest differs" in err
    assert "7 people" in err


def test_the_order_of_rows_in_the_table_reaches_no_file(desk):
    desk.says(*desk.publish("--format", "parquet", "--seed", "1"))
    columns = pq.read_schema(desk.folder / "out" / "release.parquet").names
    assert columns == ["age", "sex", "disease"]
    for path in (desk.folder / "out").iterdir():
        assert b"Dora" not in path.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["audit", "table.csv", "--policy", "policy.toml", "--nope"], "No such option"),
        (["adit"], "No such command"),
        (["priors", "table.csv"], "Missing option"),
        (["publish", "table.csv", "-p", "policy.toml"], "Missing option"),
        (["publish", "table.csv", "-p", "policy.toml", "-o", "out", "--seed", "x"], "--seed"),
        (["verify"], "Missing argument"),
    ],
)
def test_a_command_that_is_not_understood_exits_with_two(desk, arguments, said):
    code, out, err = desk.run(*arguments)
    assert code == 2
    assert said in out + err
    assert "Traceback" not in out + err
    assert sorted(path.name for path in desk.folder.iterdir()) == ["policy.toml", "table.csv"]


def test_a_release_whose_formulas_were_disarmed_is_audited_as_it_was(desk):
    desk.put("table.csv", TABLE.replace("flu", "=flu"))
    more = "escape_formulas = true\n"
    desk.put("policy.toml", POLICY.replace('"flu"', '"=flu"') + more)
    for arguments in (
        desk.publish(),
        ["verify", "out/certificate.json"],
        desk.audit(release="out"),
    ):
        assert desk.says(*arguments, "--quiet") == ""


def test_a_table_is_opened_once(desk, monkeypatch):
    from foreknow.data.engines import sources

    opened, open_path = [], sources._open_path
    monkeypatch.setattr(sources, "_open_path", lambda *of: opened.append(of) or open_path(*of))
    desk.says(*desk.audit(), code=1)
    desk.says("skyline", "table.csv", "-c", "1", "-s", "disease", "--quasi-identifiers", "sex")
    assert len(opened) == 2


def test_columns_that_were_not_judged_are_named(desk):
    desk.put("table.csv", "name,age,sex,d\nA,1,f,x\nB,2,f,y\nC,3,f,z\n")
    schema = '[schema]\nidentifiers = ["name"]\nquasi_identifiers = ["sex"]\nsensitive = "d"\n'
    desk.put("policy.toml", schema + "[[require]]\nfacts = {}\nbelow = 0.5\n")
    said = desk.says(*desk.audit())
    assert "Not judged: age." in said
    assert "The table names people, in name: what is published must not." in said
    desk.put("table.csv", "sex,d\nf,x\nf,y\nf,z\n")
    assert "Not judged" not in desk.says(*desk.audit())


@pytest.mark.parametrize("columns", [["--policy", "policy.toml"], ["--sensitive", "disease"]])
def test_a_table_of_counts_is_not_taken_for_one_of_people(desk, columns):
    desk.put("counts.csv", "group,disease,count\n1,flu,9\n1,cold,1\n")
    command = ["audit"] if "--policy" in columns else ["skyline", "--confidence", "0.9"]
    err = desk.refused(*command, "counts.csv", *columns, "--group", "group")
    assert "'counts.csv' says in 'count' how often each value occurs" in err


# ---- names that would steer a terminal are shown as escapes ------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        (("audit", "odd.csv", "-p", "policy.toml"), 1, f"Notjudged:{SHOWN}"),
        (("publish", "table.csv", "-p", "policy.toml", "-o", STEERING), 0, f"Writtento{SHOWN}"),
        (("publish", "table.csv", "-p", "policy.toml", "-o", "[red]x"), 0, "Writtento[red]x:"),
        (("publish", "table.csv", "-p", "policy.toml", "-o", "x[/red]"), 0, "Writtentox[/red]:"),
        (
            ("priors", "ill.csv", "--by", "sex", "-s", STEERING, "-o", f"{STEERING}.csv"),
            0,
            f"valuesof{SHOWN}:writtento{SHOWN}.csv",
        ),
        (("audit", "--" + STEERING), 2, SHOWN),
        (("verify", "a", "b", STEERING), 2, SHOWN),
    ],
)
def test_names_steer_nothing(desk, arguments, code, shown):
    desk.put("odd.csv", TABLE.replace("name,", f"{STEERING},", 1))
    desk.put("ill.csv", TABLE.replace("disease", STEERING))
    (desk.folder / arguments[-1]).parent.mkdir(exist_ok=True)
    found, out, err = desk.run(*arguments)
    assert found == code, err
    assert not {"\x1b", "\u202e"} & set(out + err)
    assert shown in "".join((out + err).split())
