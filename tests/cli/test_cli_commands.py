"""Commands and their options, run in this process."""

import json

import pyarrow.parquet as pq
import pytest
from tests.cli.desk import POLICY, TABLE

import foreknow as fk


def rows_of(desk, folder="out"):
    return (desk.folder / folder / "release.csv").read_text().splitlines()


@pytest.mark.parametrize(
    ("options", "files"),
    [
        ([], {"release.csv"}),
        (["--form", "bucketized"], {"people.csv", "sensitive.csv"}),
        (["--format", "parquet"], {"release.parquet"}),
        (
            ["--form", "bucketized", "--format", "parquet"],
            {"people.parquet", "sensitive.parquet"},
        ),
    ],
)
def test_options_of_publish_go_before_the_policy_and_each_form_is_verified(desk, options, files):
    code, out, err = desk.run(*desk.publish(*options))
    assert (code, err) == (0, "")
    assert "Written to out:" in out
    found = {path.name for path in (desk.folder / "out").iterdir()}
    assert found == files | {"certificate.json", "owner.json", "report.html"}
    assert all(name in out for name in found)
    for arguments in (
        ["verify", "out/certificate.json"],
        ["verify", "out"],
        ["verify", "out/certificate.json", "out"],
        desk.audit(release="out"),
    ):
        code, _, err = desk.run(*arguments)
        assert (code, err) == (0, ""), arguments


def test_a_seed_makes_the_order_of_rows_reproducible(desk):
    for name in ("a", "b"):
        assert desk.run(*desk.publish("--seed", "5", "--quiet", out=name)) == (0, "", "")
    assert rows_of(desk, "a") == rows_of(desk, "b")


def test_quiet_prints_nothing_but_errors(desk):
    assert desk.run(*desk.publish("-q")) == (0, "", "")
    assert desk.run("verify", "out/certificate.json", "-q") == (0, "", "")
    assert desk.run(*desk.audit("-q", release="out")) == (0, "", "")
    assert desk.run(*desk.audit("-q")) == (1, "", "")
    assert "none.csv" in desk.refused(*desk.audit("-q", release="none.csv"))


def test_an_audit_takes_the_group_column_from_the_option_or_the_policy(desk):
    desk.put("grouped.csv", "gid,disease\n1,flu\n1,cold\n2,flu\n2,cold\n")
    code, out, _ = desk.run(*desk.audit("--group", "gid", release="grouped.csv"))
    assert code == 0
    assert "4 people in 2 groups" in out
    desk.put("grouped.toml", POLICY.replace("[schema]", '[schema]\ngroup = "gid"'))
    code, out, _ = desk.run(*desk.audit(release="grouped.csv", policy="grouped.toml"))
    assert code == 0
    assert "4 people in 2 groups" in out


def test_an_audit_writes_json_and_a_report_also_when_unsafe(desk):
    code, _, err = desk.run(*desk.audit("--json", "audit.json", "--html", "page.html"))
    assert (code, err) == (1, "")
    assert json.loads((desk.folder / "audit.json").read_text())["safe"] is False
    page = (desk.folder / "page.html").read_text()
    assert page.lower().startswith("<!doctype html>")
    assert "flu" in page


def test_no_safe_release_exits_with_one_says_why_and_writes_nothing(desk):
    desk.put("strict.toml", POLICY.replace("0.9", "0.5"))
    said = desk.refused(*desk.publish(policy="strict.toml"), code=1)
    assert "not even one group of all 8 people is safe: require[0]" in said
    assert "reaches 0.5 for 'flu', the limit is 0.5" in said


def test_verify_says_all_that_is_wrong_and_exits_with_one(desk):
    desk.run(*desk.publish("--seed", "1"))
    path = desk.folder / "out" / "release.csv"
    path.write_text("\n".join(rows_of(desk)[:-1]) + "\n")
    code, out, err = desk.run("verify", "out/certificate.json")
    assert code == 1
    assert out == ""
    assert "digest differs" in err
    assert "7 people" in err


def test_the_order_of_rows_in_the_table_reaches_no_file(desk):
    desk.run(*desk.publish("--format", "parquet", "--seed", "1"))
    assert pq.read_schema(desk.folder / "out" / "release.parquet").names == [
        "age",
        "sex",
        "disease",
    ]
    for path in (desk.folder / "out").iterdir():
        assert b"Dora" not in path.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["audit", "table.csv", "--policy", "policy.toml", "--nope"], "No such option"),
        (["adit"], "No such command"),
        (["audit", "table.csv"], "Missing option"),
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


def test_without_a_command_the_help_is_shown(desk):
    _, out, err = desk.run()
    assert "publish" in out + err
    for command in ("audit", "publish", "verify", "demo"):
        code, out, _ = desk.run(command, "--help")
        assert code == 0
        assert "Usage" in out


def test_version_is_printed(desk):
    assert desk.run("--version") == (0, f"foreknow {fk.__version__}\n", "")


def test_a_release_whose_formulas_were_disarmed_is_audited_as_it_was(desk):
    desk.put("table.csv", TABLE.replace("flu", "=flu"))
    desk.put(
        "policy.toml",
        POLICY.replace('"flu"', '"=flu"') + "[publish]\nescape_formulas = true\n",
    )
    assert desk.run(*desk.publish("--quiet")) == (0, "", "")
    assert desk.run("verify", "out/certificate.json", "--quiet") == (0, "", "")
    code, _, err = desk.run(*desk.audit("--quiet", release="out"))
    assert (code, err) == (0, "")


def test_columns_that_were_not_judged_are_named(desk):
    desk.put("table.csv", "name,age,sex,d\nA,1,f,x\nB,2,f,y\nC,3,f,z\n")
    desk.put(
        "policy.toml",
        '[schema]\nidentifiers = ["name"]\nquasi_identifiers = ["sex"]\nsensitive = "d"\n'
        "[[require]]\nfacts = {}\nbelow = 0.5\n",
    )
    code, out, _ = desk.run("audit", "table.csv", "--policy", "policy.toml")
    assert code == 0
    assert "Not judged: name, age." in out
    desk.put("table.csv", "sex,d\nf,x\nf,y\nf,z\n")
    _, out, _ = desk.run("audit", "table.csv", "--policy", "policy.toml")
    assert "Not judged" not in out


@pytest.mark.parametrize("columns", [["--policy", "policy.toml"], ["--sensitive", "disease"]])
def test_a_table_of_counts_is_not_taken_for_one_of_people(desk, columns):
    desk.put("counts.csv", "group,disease,count\n1,flu,9\n1,cold,1\n")
    command = ["audit"] if "--policy" in columns else ["skyline", "--confidence", "0.9"]
    err = desk.refused(*command, "counts.csv", *columns, "--group", "group")
    assert "'counts.csv' says in 'count' how often each value occurs" in err
