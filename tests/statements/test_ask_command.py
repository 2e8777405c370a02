"""The command `ask`: posteriors of named people in a terminal, and its errors with a caret."""

import shlex

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
POLICY = f"{AGES}below = 0.9\n"
TREE = '\n[schema.hierarchies]\ndisease = { file = "h.csv" }\n[['
KNOWN = "# what the neighbour knows\nTom != Cancer  # not him\n\nGary = Flu\n"
FILES = {
    "release.csv": RELEASE,
    "policy.toml": POLICY,
    "tree.toml": POLICY.replace("\n[[", TREE),
    "two.toml": POLICY.replace('["name"]', '["name", "ssn"]'),
    "bare.toml": "[[require]]\nfacts = {}\nbelow = 0.5\n",
    "h.csv": "AIDS;serious;*\nCancer;serious;*\nFlu;Flu;*\n",
    "known.txt": KNOWN,
    "wrong.txt": "Tom != Cancer\n\nGary Flu\n",
    "latin.txt": b"\xff\xfe",
    "sets.csv": "who,g,d\nAnn,1,Flu\nAnn,1,Cold\nBob,1,Flu\nCid,1,\n",
    "odd.csv": "name,gid,age,disease\n[red]Ann,1,2,Flu\nBob,1,2,Co\u202eld\n",
}
COLUMNS = " --group gid --sensitive disease --person name"
BY_POLICY = " --policy policy.toml"


@pytest.fixture
def asking(desk):
    """Ask about a release; exit code, output and error."""
    for name, content in FILES.items():
        desk.put(name, content)

    def run(words, release="release.csv"):
        code, out, err = desk.run("ask", release, *shlex.split(words))
        assert "Traceback" not in out + err
        return code, out, err

    return run


THREE = "-a Tom -v AIDS 'Tom != Cancer' 'Gary = Flu' 'Ann = AIDS -> Tom = AIDS'"
ALL = [
    *("Tom AIDS 25.0% (1/4) 33.3% (1/3)", "Tom Cancer 25.0% (1/4) 0%"),
    *("Tom Flu 50.0% (1/2) 66.7% (2/3)", "Ann AIDS 50.0% (1/2) 50.0% (1/2)"),
    "Ann Flu 50.0% (1/2) 50.0% (1/2)",
]
BELOW = " --policy tree.toml --group gid"


@pytest.mark.parametrize(
    ("words", "rows", "said"),
    [
        (
            THREE + COLUMNS,
            ["Tom AIDS 25.0% (1/4) 66.7% (2/3)"],
            ["1. Tom != Cancer", "3. Ann = AIDS -> Tom = AIDS"],
        ),
        ("-a Tom -a Ann 'Tom != Cancer'" + COLUMNS, ALL, []),
        ("--about Tom --value Flu -v AIDS 'Tom != Cancer'" + COLUMNS, [ALL[2], ALL[0]], []),
        # Statements of a file go before those of the line.
        (
            "-a Tom -v AIDS --statements known.txt 'Ed = Flu'" + COLUMNS,
            ["Tom AIDS 25.0% (1/4) 100%"],
            ["1. Tom != Cancer", "2. Gary = Flu", "3. Ed = Flu"],
        ),
        # A label of the policy's hierarchy is any of the values below it.
        ("-a Tom --any-of serious" + BELOW, ["Tom serious 50.0% (1/2) 50.0% (1/2)"], []),
        (
            "-a Tom -v AIDS 'Tom = serious' 'Gary != serious'" + BELOW,
            ["Tom AIDS 25.0% (1/4) 50.0% (1/2)"],
            ["1. Tom = AIDS or Tom = Cancer", "2. not (Gary = AIDS or Gary = Cancer)"],
        ),
        # The policy says what the columns are.
        ("-a Tom -v AIDS 'Tom != Cancer'" + BY_POLICY, ALL[:1], []),
        ("-a Tom -v AIDS 'Tom != Cancer' --policy two.toml --person name -g gid", ALL[:1], []),
        (
            "-a Tom -v AIDS 'Tom != Cancer' --quasi-identifiers age -s disease --person name",
            ALL[:1],
            [],
        ),
    ],
)
def test_before_and_after(asking, words, rows, said):
    code, out, err = asking(words)
    assert (code, err) == (0, "")
    assert [" ".join(line.split()) for line in out.splitlines() if "%" in line] == rows
    numbered = [line for line in out.splitlines() if line[:1].isdigit()]
    assert [line for line in numbered if line in said] == said


def test_sets_and_odd_labels(asking):
    columns = "-g g -s d --person who --semantics "
    out = asking(f"-a Cid -v Flu 'Ann = Flu' {columns} set", "sets.csv")[1]
    assert "Cid Flu 66.7% (2/3) 50.0% (1/2)" in " ".join(out.split())
    err = asking(f"-a Cid {columns} sets", "sets.csv")[2]
    assert "semantics 'sets' is unknown" in err
    out = asking("-a '[red]Ann'" + COLUMNS, "odd.csv")[1]
    assert "[red]Ann" in out
    assert "Co\\u202eld" in out


def test_json(asking, desk):
    code, out, _ = asking("-a Tom -v AIDS 'Tom != Cancer' --json o.json -q" + COLUMNS)
    assert (code, out) == (0, "")
    told = desk.json("o.json")
    assert (told["format"], told["version"]) == ("foreknow answers", 1)
    assert told["release"] == "release.csv"
    assert told["statements"]["texts"] == ["Tom != Cancer"]
    (answer,) = told["answers"]
    assert (answer["person"], answer["exact"], answer["before"]) == ("Tom", "1/3", "1/4")


MANY = " ".join(f"'p{i} = Flu -> p{(i * 5 + 1) % 12} = Cold'" for i in range(12))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "-a Tom 'Tom = AIDS -> Ed = Flue'" + COLUMNS,
            "foreknow: statement 1: nobody in the release has the value 'Flue'; did you mean "
            f"'Flu'?\n  Tom = AIDS -> Ed = Flue\n{' ' * 21}^\n",
        ),
        (
            "-a Tom 'Tom = AIDS' 'Ann = Flu' 'Ed = AIDS'" + COLUMNS,
            "foreknow: statement 3 (Ed = AIDS) contradicts statement 1 (Tom = AIDS)\n",
        ),
        ("-a Tom --statements wrong.txt" + COLUMNS, "wrong.txt, line 3: expected '='"),
        ("-a Tom --statements none.txt" + COLUMNS, "the file 'none.txt' does not exist"),
        ("-a Tom --statements latin.txt" + COLUMNS, "the file 'latin.txt', line 1: not UTF-8"),
        ("'Tom = AIDS'" + COLUMNS, "say whom to ask about, such as --about Tom"),
        ("-a Tom", "say what the columns are"),
        ("-a Tom -g gid -s disease", "say what the columns are"),
        ("-a Tom -g gid -s disease --person nmae", "no column 'nmae'"),
        ("-a Tom --any-of serous" + BELOW, "nobody in the release has the value 'serous'"),
        ("-a Tom 'Tom = serious' 'Tom = Flue'" + BELOW, "did you mean 'Flu'"),
        ("-a Tom --policy two.toml", "add --person"),
        ("-a Tom -s diseas --person name" + BY_POLICY, "is no sensitive column"),
        ("-a Tom --policy bare.toml", "has no [schema] table"),
    ],
)
def test_what_cannot_be_asked(asking, words, said):
    code, out, err = asking(words)
    assert (code, out) == (2, "")
    assert said in err


def test_what_is_out_of_reach(asking, desk):
    lines = [f"p{i},1,20,{d}" for i, d in enumerate(["Flu", "Cold", "AIDS", "Gout"] * 3)]
    desk.put("many.csv", "\n".join(["name,gid,age,disease", *lines]))
    code, _, err = asking(f"-a p0 -v Flu --budget 1 {MANY}" + COLUMNS, "many.csv")
    assert code == 2
    assert "--budget" in err


def test_published_folders_name_nobody(desk):
    """Without the owner's folder."""
    assert desk.run(*desk.publish("--quiet"))[0] == 0
    ask = ["ask", "out", "-a", "Ann", "--policy", "policy.toml"]
    desk.says(*ask)
    (desk.folder / "out.owner").rename(desk.folder / "mine")
    said = desk.refused(*ask)
    assert "'out' names nobody, and there is no file 'out.owner/members.parquet'" in said
    assert "put the owner's folder back beside it, or name the file by --members FILE" in said
    members = ["-a", "Ann", "--members", "mine/members.parquet"]
    desk.says("ask", "out", *members)
    said = desk.refused("ask", "table.csv", *members)
    assert "--members is for a folder that publish wrote; 'table.csv' is none" in said
