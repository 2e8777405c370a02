"""The command `utility`: what it prints, what it writes, and what it refuses."""

import json

import pytest
from tests.cli.test_cli_skyline import words

import foreknow as fk

GROUPED = """age,sex,disease,g
20,f,flu,1
21,m,cold,1
20,m,cold,2
21,f,flu,2
60,f,flu,3
61,f,cold,3
60,m,cold,4
61,m,flu,4
"""


@pytest.fixture
def ask(desk):
    """Measure the release in `out`, or another."""
    assert desk.run(*desk.publish("--seed", "1", "--quiet"))[0] == 0

    def run(*more, release="out", table="table.csv"):
        return desk.run("utility", release, table, "--policy", "policy.toml", *more)

    return run


def measured(desk, release):
    policy = fk.Policy.load(desk.folder / "policy.toml")
    microdata = fk.Microdata(desk.folder / "table.csv", policy.schema)
    return fk.utility_report(release, microdata, delta=0.2)


def shown(share):
    return f"{100 * share:.1f}%" if share else "0%"


def test_every_measure_has_a_row(ask, desk):
    code, out, err = ask("--delta", "0.2")
    assert (code, err) == (0, "")
    said, found = words(out), measured(desk, desk.folder / "out")
    assert "What the generalized release is still worth release.csv" in said
    assert f"groups {found.utility.groups} of " in said
    assert f"discernibility {found.utility.discernibility} " in said
    assert f"NCP {100 * found.utility.average_ncp:.1f}%" in said
    assert f"age {100 * found.utility.ncp['age']:.1f}%" in said
    assert "or to 20.0% of the people where that is more (1,000 queries each)" in said
    one, two = found.errors
    assert f"one quasi-identifier {shown(one.median)} {shown(one.average)}" in said
    assert f"2 quasi-identifiers {shown(two.median)} {shown(two.average)}" in said
    assert one.average != two.average


def test_the_json_is_what_python_finds_also_when_quiet(ask, desk):
    assert ask("--delta", "0.2", "--json", "u.json", "--quiet") == (0, "", "")
    told = json.loads((desk.folder / "u.json").read_text())
    found = measured(desk, desk.folder / "out").to_dict()
    assert told == {"may_be_published": False, **found}
    assert (told["format"], told["version"]) == ("foreknow utility", 1)


def test_queries_can_be_chosen_and_come_from_the_seed(ask, desk):
    found = []
    for seed in ("0", "0", "7"):
        more = ["--queries", "30", "--predicates", "2", "--seed", seed, "--json", "u.json"]
        assert ask(*more)[0] == 0
        (error,) = json.loads((desk.folder / "u.json").read_text())["query_errors"]
        assert (error["queries"], error["predicates"], error["seed"]) == (30, 2, int(seed))
        found.append(error["quantiles"])
    assert found[0] == found[1] != found[2]


def test_a_table_with_groups_is_a_release_too(ask, desk):
    desk.put("grouped.csv", GROUPED)
    code, out, _ = ask("--group", "g", release="grouped.csv")
    assert code == 0
    assert "What the bucketized release is still worth grouped.csv" in words(out)
    assert "groups 4 of 2 to 2 people" in words(out)
    assert "discernibility 16 1.00 times the least for groups of 2 or more" in words(out)
    assert "NCP 0% quasi-identifiers are exact" in words(out)


def test_the_written_table_is_read_as_the_policy_says(ask, desk):
    assert ask("--json", "file.json", release="out/release.csv")[0] == 0
    ask("--json", "folder.json")
    of_file, of_folder = (
        json.loads((desk.folder / name).read_text()) for name in ("file.json", "folder.json")
    )
    assert of_file == of_folder


@pytest.mark.parametrize(
    ("more", "release", "table", "said"),
    [
        (["--queries", "0"], "out", "table.csv", "queries must be a whole number from 1"),
        (["--predicates", "3"], "out", "table.csv", "only 2 attributes"),
        (["--predicates", "0"], "out", "table.csv", "predicates must be a whole number from 1"),
        (["--delta", "0"], "out", "table.csv", "delta is a share"),
        (["--delta", "nan"], "out", "table.csv", "delta is a share"),
        (["--seed", "-1"], "out", "table.csv", "the seed must be a whole number from 0"),
        (["--group", "g"], "out", "table.csv", "leave out --group"),
        (["--json", "table.csv"], "out", "table.csv", "is an input"),
        (["--json", "out/release.csv"], "out", "table.csv", "is an input"),
        (["--json", "nowhere/u.json"], "out", "table.csv", "nowhere"),
        ([], "nowhere.csv", "table.csv", "nowhere.csv"),
        ([], "out", "nowhere.csv", "nowhere.csv"),
        ([], "out", "out", "is published already; give the raw table"),
        ([], "out", "other.csv", "nobody with the sensitive value"),
        ([], "out", "small.csv", "give the table that the release was made of"),
        ([], "table.csv", "out/release.csv", "has no column 'name'"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(ask, desk, more, release, table, said):
    lines = (desk.folder / "table.csv").read_text()
    desk.put("other.csv", lines.replace("flu", "gout"))
    desk.put("small.csv", "\n".join(lines.splitlines()[:5]))
    arguments = ["utility", release, table, "--policy", "policy.toml", *more]
    assert said in desk.refused(*arguments)


def test_a_policy_for_other_columns_is_refused(ask, desk):
    text = (desk.folder / "policy.toml").read_text()
    desk.put("other.toml", text.replace('["age", "sex"]', '["age"]'))
    said = desk.refused("utility", "out", "table.csv", "--policy", "other.toml")
    assert "the certificate is for age, sex and disease, the policy for age" in said
    desk.put("bare.toml", text[text.index("[[require]]") :])
    said = desk.refused("utility", "out", "table.csv", "--policy", "bare.toml")
    assert "no [schema] table" in said


def test_a_release_that_was_changed_is_refused(ask, desk):
    path = desk.folder / "out" / "release.csv"
    path.write_text(path.read_text() + "20,f,flu\n")
    said = desk.refused("utility", "out", "table.csv", "--policy", "policy.toml")
    assert "is not the file of 'out' that was certified" in said
