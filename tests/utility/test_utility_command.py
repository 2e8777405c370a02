"""The command utility: what it prints, writes, and refuses."""

import pytest
from tests.cli.conftest import desk as desk
from tests.cli.desk import LABELS

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
def measure(desk):
    """What is said of the release in `out`, or of another."""
    desk.says(*desk.publish("--seed", "1", "--quiet"))

    def run(*more, release="out", table="table.csv"):
        return desk.says("utility", release, table, "--policy", "policy.toml", *more)

    return run


def measured(desk, release):
    policy = fk.Policy.load(desk.folder / "policy.toml")
    microdata = fk.Microdata(desk.folder / "table.csv", policy.schema)
    return fk.utility_report(release, microdata, delta=0.2)


def shown(share):
    return f"{100 * share:.1f}%" if 0 < share != 1 else f"{share:.0%}"


def test_every_measure_has_a_row(measure, desk):
    said, found = measure("--delta", "0.2"), measured(desk, desk.folder / "out")
    assert "What the generalized release is still worth – release.csv" in said
    assert f"groups {found.utility.groups} of " in said
    assert f"discernibility {found.utility.discernibility} " in said
    assert f"NCP {shown(found.utility.average_ncp)}" in said
    assert f"age {shown(found.utility.ncp['age'])}" in said
    assert "or to 20.0% of the people where that is more (1,000 queries each)" in said
    one, two = found.errors
    assert f"one quasi-identifier {shown(one.median)} {shown(one.average)}" in said
    assert f"2 quasi-identifiers {shown(two.median)} {shown(two.average)}" in said
    assert one.average != two.average


def test_the_json_is_what_python_finds_also_when_quiet(measure, desk):
    assert measure("--delta", "0.2", "--json", "u.json", "--quiet") == ""
    read, found = desk.json("u.json"), measured(desk, desk.folder / "out").to_dict()
    assert read == {"this_file_is": "for the owner only", **found}
    assert (read["format"], read["version"]) == ("foreknow utility", 1)


def test_queries_can_be_chosen_and_come_from_the_seed(measure, desk):
    found = []
    for seed in (0, 0, 7):
        measure("--queries", 30, "--predicates", 2, "--seed", seed, "--json", "u.json")
        (error,) = desk.json("u.json")["query_errors"]
        assert (error["queries"], error["predicates"], error["seed"]) == (30, 2, seed)
        found.append(error["quantiles"])
    assert found[0] == found[1] != found[2]


def test_a_table_with_groups_is_a_release_too(measure, desk):
    desk.put("grouped.csv", GROUPED)
    out = measure("--group", "g", release="grouped.csv")
    assert "What the bucketized release is still worth – grouped.csv" in out
    assert "groups 4 of 2 to 2 people" in out
    least = "the sum of squared group sizes; 1.00 times the least for groups of 2 or more"
    assert f"discernibility 16 {least}" in out
    assert "NCP 0% quasi-identifiers are exact" in out


def test_the_written_table_is_read_as_the_policy_says(measure, desk):
    measure("--json", "file.json", release="out/release.csv")
    measure("--json", "folder.json")
    assert desk.json("file.json") == desk.json("folder.json")


@pytest.mark.parametrize(
    ("more", "release", "table", "said"),
    [
        (["--group", "g"], "out", "table.csv", "leave out --group"),
        ([], "out", "nowhere.csv", "nowhere.csv"),
        ([], "out", "out", "is published already; give the raw table"),
        ([], "out", "small.csv", "give the table that the release was made of"),
    ],
)
def test_what_cannot_be_measured_is_refused(measure, desk, more, release, table, said):
    lines = (desk.folder / "table.csv").read_text()
    desk.put("small.csv", "\n".join(lines.splitlines()[:5]))
    arguments = ["utility", release, table, "--policy", "policy.toml", *more]
    assert said in desk.refused(*arguments)


def test_a_policy_for_other_columns_is_refused(measure, desk):
    text = (desk.folder / "policy.toml").read_text()
    desk.put("other.toml", text.replace('["age", "sex"]', '["age"]').replace(LABELS, ""))
    said = desk.refused("utility", "out", "table.csv", "--policy", "other.toml")
    assert "the certificate is for age, sex and disease, the policy for age" in said


def test_a_release_that_was_changed_is_refused(measure, desk):
    path = desk.folder / "out" / "release.csv"
    path.write_text(path.read_text() + "20,f,flu\n")
    said = desk.refused("utility", "out", "table.csv", "--policy", "policy.toml")
    assert "is not the file of 'out' that was certified" in said
