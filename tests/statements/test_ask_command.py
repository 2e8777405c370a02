"""The command `ask`: posteriors of named people in a terminal, and its errors with a caret."""

import json

import pytest
from tests.cli.conftest import desk as desk
from tests.cli.desk import AGES

RELEASE = """name,gid,age,disease
Ann,1,20,AIDS
Bob,1,20,Flu
Cary,1,20,Flu
Dick,1,20,AIDS
Ed,2,30,Flu
Frank,2,30,Cancer
Gary,2,30,Flu
Tom,2,30,AIDS
"""
POLICY = f"""{AGES}below = 0.9
"""
COLUMNS = ["--group", "gid", "--sensitive", "disease", "--person", "name"]


@pytest.fixture
def asking(desk):
    """Ask about the release; exit code, output and error."""
    desk.put("release.csv", RELEASE)

    def run(*arguments, columns=COLUMNS):
        code, out, err = desk.run("ask", "release.csv", *arguments, *columns)
        assert "Traceback" not in out + err
        return code, out, err

    return run


def rows(out):
    """The rows of the table, as texts without spaces in excess."""
    return [" ".join(line.split()) for line in out.splitlines() if "%" in line]


def test_before_and_after(asking):
    said = ["Tom != Cancer", "Gary = Flu", "Ann = AIDS -> Tom = AIDS"]
    code, out, err = asking("--about", "Tom", "--value", "AIDS", *said)
    assert (code, err) == (0, "")
    assert "1. Tom != Cancer" in out
    assert "3. Ann = AIDS -> Tom = AIDS" in out
    assert rows(out) == ["Tom AIDS 25.0% (1/4) 66.7% (2/3)"]


def test_several_people_and_all_values_of_their_groups(asking):
    code, out, _ = asking("-a", "Tom", "-a", "Ann", "Tom != Cancer")
    assert code == 0
    assert rows(out) == [
        "Tom AIDS 25.0% (1/4) 33.3% (1/3)",
        "Tom Cancer 25.0% (1/4) 0%",
        "Tom Flu 50.0% (1/2) 66.7% (2/3)",
        "Ann AIDS 50.0% (1/2) 50.0% (1/2)",
        "Ann Flu 50.0% (1/2) 50.0% (1/2)",
    ]
    _, out, _ = asking("-a", "Tom", "-v", "Flu", "-v", "AIDS")
    assert [row.split()[1] for row in rows(out)] == ["Flu", "AIDS"]


def test_a_file_of_statements_goes_before_those_of_the_line(asking, desk):
    desk.put("known.txt", "# what the neighbour knows\nTom != Cancer  # not him\n\nGary = Flu\n")
    code, out, _ = asking("-a", "Tom", "-v", "AIDS", "--statements", "known.txt", "Ed = Flu")
    assert code == 0
    assert [line for line in out.splitlines() if line[:1].isdigit()] == [
        "1. Tom != Cancer",
        "2. Gary = Flu",
        "3. Ed = Flu",
    ]
    assert rows(out) == ["Tom AIDS 25.0% (1/4) 100%"]


def test_a_label_of_the_policys_hierarchy_is_any_of_the_values_below_it(asking, desk):
    desk.put("h.csv", "AIDS;serious;*\nCancer;serious;*\nFlu;Flu;*\n")
    desk.put(
        "policy.toml",
        POLICY.replace("\n[[", '\n[schema.hierarchies]\ndisease = { file = "h.csv" }\n[['),
    )
    columns = ["--policy", "policy.toml", "--group", "gid"]
    code, out, err = asking("-a", "Tom", "--any-of", "serious", columns=columns)
    assert (code, err, rows(out)) == (0, "", ["Tom serious 50.0% (1/2) 50.0% (1/2)"])
    said = ["Tom = serious", "Gary != serious"]
    code, out, err = asking("-a", "Tom", "-v", "AIDS", *said, columns=columns)
    assert (code, err) == (0, "")
    assert "1. Tom = AIDS or Tom = Cancer" in out
    assert "2. not (Gary = AIDS or Gary = Cancer)" in out
    assert rows(out) == ["Tom AIDS 25.0% (1/4) 50.0% (1/2)"]
    code, _, err = asking("-a", "Tom", "--any-of", "serous", columns=columns)
    assert code == 2
    assert "nobody in the release has the value 'serous'" in err
    code, _, err = asking("-a", "Tom", "Tom = serious", "Tom = Flue", columns=columns)
    assert code == 2
    assert "did you mean 'Flu'" in err


def test_the_policy_says_what_the_columns_are(asking, desk):
    desk.put("policy.toml", POLICY)
    by_policy = ["--policy", "policy.toml"]
    code, out, err = asking("-a", "Tom", "-v", "AIDS", "Tom != Cancer", columns=by_policy)
    assert (code, err) == (0, "")
    assert rows(out) == ["Tom AIDS 25.0% (1/4) 33.3% (1/3)"]
    by_age = ["--quasi-identifiers", "age", "--sensitive", "disease", "--person", "name"]
    assert asking("-a", "Tom", "-v", "AIDS", "Tom != Cancer", columns=by_age)[1] == out
    desk.put("policy.toml", POLICY.replace('["name"]', '["name", "ssn"]'))
    assert "add --person" in asking("-a", "Tom", columns=by_policy)[2]
    code, _, _ = asking("-a", "Tom", columns=[*by_policy, "--person", "name", "--group", "gid"])
    assert code == 0
    named = [*by_policy, "--person", "name", "--sensitive", "diseas"]
    assert "is no sensitive column" in asking("-a", "Tom", columns=named)[2]
    desk.put("policy.toml", "[[require]]\nfacts = {}\nbelow = 0.5\n")
    assert "has no [schema] table" in asking("-a", "Tom", columns=by_policy)[2]


def test_people_with_several_values(asking, desk):
    desk.put("release.csv", "who,g,d\nAnn,1,Flu\nAnn,1,Cold\nBob,1,Flu\nCid,1,\n")
    columns = ["-g", "g", "-s", "d", "--person", "who", "--semantics", "set"]
    code, out, _ = asking("-a", "Cid", "-v", "Flu", "Ann = Flu", columns=columns)
    assert code == 0
    assert rows(out) == ["Cid Flu 66.7% (2/3) 50.0% (1/2)"]
    columns[-1] = "sets"
    assert "semantics 'sets' is unknown" in asking("-a", "Cid", columns=columns)[2]


def test_json(asking, desk):
    code, out, _ = asking("-a", "Tom", "-v", "AIDS", "Tom != Cancer", "--json", "o.json", "-q")
    assert (code, out) == (0, "")
    told = json.loads((desk.folder / "o.json").read_text())
    assert (told["format"], told["version"], told["release"]) == (
        "foreknow answers",
        1,
        "release.csv",
    )
    assert told["statements"]["texts"] == ["Tom != Cancer"]
    (answer,) = told["answers"]
    assert (answer["person"], answer["exact"], answer["before"]) == ("Tom", "1/3", "1/4")


def test_what_is_out_of_reach_is_refused(asking, desk):
    names = [f"p{i}" for i in range(12)]
    diseases = ["Flu", "Cold", "AIDS", "Gout"] * 3
    lines = [f"{name},1,20,{d}" for name, d in zip(names, diseases, strict=True)]
    desk.put("release.csv", "\n".join(["name,gid,age,disease", *lines]))
    said = [f"p{i} = Flu -> p{(i * 5 + 1) % 12} = Cold" for i in range(12)]
    code, _, err = asking("-a", "p0", "-v", "Flu", "--budget", "1", *said)
    assert code == 2
    assert "--budget" in err


def test_labels_hide_nothing_and_no_markup_works(asking, desk):
    desk.put("release.csv", "name,gid,age,disease\n[red]Ann,1,2,Flu\nBob,1,2,Co\u202eld\n")
    code, out, _ = asking("-a", "[red]Ann")
    assert code == 0
    assert "[red]Ann" in out
    assert "Co\\u202eld" in out


# ---- errors ------------------------------------------------------------------------------------


def test_an_error_points_at_its_place(asking):
    code, out, err = asking("-a", "Tom", "Tom = AIDS -> Ed = Flue")
    assert (code, out) == (2, "")
    assert err == (
        "foreknow: statement 1: nobody in the release has the value 'Flue'; did you mean 'Flu'?\n"
        f"  Tom = AIDS -> Ed = Flue\n{' ' * 21}^\n"
    )


def test_a_contradiction_exits_with_two(asking):
    code, out, err = asking("-a", "Tom", "Tom = AIDS", "Ann = Flu", "Ed = AIDS")
    assert (code, out) == (2, "")
    assert err == "foreknow: statement 3 (Ed = AIDS) contradicts statement 1 (Tom = AIDS)\n"


def test_a_file_of_statements_has_lines(asking, desk):
    desk.put("known.txt", "Tom != Cancer\n\nGary Flu\n")
    desk.put("latin.txt", b"\xff\xfe")
    for name, said in (
        ("known.txt", "foreknow: known.txt, line 3: expected '='"),
        ("none.txt", "the file 'none.txt' does not exist"),
        ("latin.txt", "the file 'latin.txt', line 1: not UTF-8"),
    ):
        assert said in asking("-a", "Tom", "--statements", name)[2]


def test_what_is_missing_is_named(asking, desk):
    assert "say whom to ask about, such as --about Tom" in asking("Tom = AIDS")[2]
    assert "say what the columns are" in asking("-a", "Tom", columns=[])[2]
    assert "say what the columns are" in asking("-a", "Tom", columns=COLUMNS[:4])[2]
    assert "no column 'nmae'" in asking("-a", "Tom", columns=[*COLUMNS[:5], "nmae"])[2]


def test_what_publish_wrote_names_nobody_without_the_owners_folder(desk):
    assert desk.run(*desk.publish("--quiet"))[0] == 0
    desk.says("ask", "out", "-a", "Ann", "--policy", "policy.toml")
    (desk.folder / "out.owner").rename(desk.folder / "mine")
    said = desk.refused("ask", "out", "-a", "Ann", "--policy", "policy.toml")
    assert "'out' names nobody, and there is no file 'out.owner/members.parquet'" in said
    assert "put the owner's folder back beside it, or name the file by --members FILE" in said
    desk.says("ask", "out", "-a", "Ann", "--members", "mine/members.parquet")
    said = desk.refused("ask", "table.csv", "-a", "Ann", "--members", "mine/members.parquet")
    assert "--members is for a folder that publish wrote; 'table.csv' is none" in said
