"""The command `attack`: its exit codes, what it prints, and that it leaves nothing behind."""

import signal

import pytest
from tests.cli.conftest import desk as desk
from tests.cli.desk import AGES

TABLE = """name,age,disease
Ann,50,flu
Bob,40,hiv
Cid,50,hiv
Dora,30,flu
Eve,30,flu
"""
POLICY = f"""{AGES}below = 1

[publish]
labels = {{ age = "exact" }}
"""


@pytest.fixture
def attacking(desk):
    desk.put("table.csv", TABLE)
    desk.put("policy.toml", POLICY)

    def run(*arguments):
        code, out, err = desk.run("attack", "table.csv", "--policy", "policy.toml", *arguments)
        assert "Traceback" not in out + err
        return code, " ".join(out.split()), err

    return run


def test_people_who_are_certain_exit_with_1(attacking, desk):
    code, out, err = attacking("--json", "attack.json", "--html", "attack.html")
    assert (code, err) == (1, "")
    assert "3 people are certain to an adversary who knows the algorithm" in out
    assert "Of 6 worlds, 2 could have led to this release." in out
    assert "rows 4, 5 flu 100%" in out
    assert "Ann" not in out
    assert desk.json("attack.json")["certain"] == [2, 4, 5]
    assert "Bob" not in (desk.folder / "attack.json").read_text()
    assert "certain" in (desk.folder / "attack.html").read_text()


def test_names_are_printed_on_request_only(attacking):
    _, out, _ = attacking("--name-people")
    assert "Dora, Eve flu 100%" in out
    _, out, _ = attacking("--name-people", "--person", "age")
    assert "30, 30 flu 100%" in out


def test_a_method_that_gives_nothing_away_exits_with_0(attacking):
    code, out, _ = attacking("--method", "fulldomain", "--set", "find=minimal")
    assert code == 0
    assert "FullDomain" in out
    assert attacking("--method", "fulldomain", "--quiet")[:2] == (0, "")


def test_an_estimate_says_so(attacking):
    code, out, _ = attacking("--worlds", "1", "--seed", "1", "--form", "bucketized")
    assert code == 4
    assert "3 people are unsettled, perhaps certain" in out
    assert "estimates" in out


def test_what_stays_undecided_has_an_exit_code_of_its_own(attacking, desk):
    """Neither found nor settled: one run says nothing of other worlds of a function."""
    desk.put("own.py", "def together(table):\n    return [0] * 5\n")
    code, out, _ = attacking("--method", "own.py:together", "--worlds", "1", "--json", "a.json")
    assert code == 4
    assert "5 people are unsettled" in out
    assert desk.json("a.json")["undecided"]
    assert attacking("--method", "own.py:together", "--quiet")[:2] == (0, "")


def test_a_method_that_draws_lots(attacking, desk):
    """Secret lots, a seed that everybody knows, and seeds of which the adversary knows none."""
    desk.put("policy.toml", POLICY)
    lots = ("--method", "streamliner", "--set", "l=2", "--form", "bucketized")
    desk.put("table.csv", "name,age,disease\nAnn,50,flu\nBob,40,flu\nCid,50,hiv\nDora,30,cold\n")

    def run(*more):
        arguments = ("attack", "table.csv", "--policy", "policy.toml", *lots, *more)
        code, out, _ = desk.run(*arguments)
        return code, " ".join(out.split())

    code, out = run()
    assert code == 0
    assert "Nobody is found out any further" in out
    public = [run("--seeds", str(seed)) for seed in range(2)]
    assert 1 in [code for code, _ in public]
    assert any("certain to an adversary who knows the algorithm" in out for _, out in public)
    assert "Of 4 worlds" in run("--seeds", "0-2,5")[1]
    for wrong in ("x", "3-1", "", "1-99999999"):
        assert "--seeds" in desk.refused(
            "attack", "table.csv", "--policy", "policy.toml", *lots, "--seeds", wrong
        )


def test_what_is_refused(attacking, desk):
    arguments = ["attack", "table.csv", "--policy", "policy.toml"]
    desk.put("table.csv", TABLE)
    desk.put("policy.toml", POLICY)
    assert "no method 'mondrain'" in desk.refused(*arguments, "--method", "mondrain")
    said = desk.refused(*arguments, "--set", "cutz=1")
    assert "publish.mondrian: unknown key cutz; did you mean 'cuts'?" in said
    assert "worlds" in desk.refused(*arguments, "--worlds", "0")
    desk.put("policy.toml", POLICY.replace("below = 1", "below = 0.1"))
    assert "not even one group" in desk.refused(*arguments, code=1)


OWN = """
import os, signal
import foreknow as fk

def groups(table):
    return [0] * 5 if table["disease"][1].as_py() == "hiv" else [0, 0, 0, 1, 1]

def silent(table):
    return None if table["disease"][1].as_py() == "hiv" else [0] * 5

def seeded(table, seed):
    return [0] * 5 if seed else [0, 1, 0, 1, 1]

def interrupted(table):
    os.kill(os.getpid(), signal.SIGINT)
    return [0] * 5

def broken(table):
    return table["nothing"]

made, number = fk.Mondrian(), 7
"""


def test_a_method_of_ones_own(attacking, desk):
    desk.put("own.py", OWN)
    for method, code, said in (
        (["groups"], 1, "row 2 hiv 100%"),
        (["made"], 1, "rows 4, 5 flu 100%"),
        (["seeded", "--seeds", "0,1"], 0, "Of 6 worlds"),
        (["silent"], 1, "--nothing"),
        (["silent", "--nothing"], 1, "nothing is published of 5 people"),
        (["silent", "--nothing"], 1, "row 2 hiv 100%"),
    ):
        found, out, err = attacking("--method", f"own.py:{method[0]}", *method[1:])
        assert (found, said in out + err) == (code, True), method


def test_groups_that_were_published(desk):
    desk.put("policy.toml", POLICY)
    arguments = ("attack", "table.csv", "--policy", "policy.toml", "--groups")
    rows = TABLE.split()
    made = [f"{row},{n}" for row, n in zip(rows, ["made", *"ababb"], strict=True)]
    desk.put("table.csv", "\n".join(made) + "\n")
    code, out, _ = desk.run(*arguments, "made")
    assert code == 1
    assert "3 people are certain" in out
    assert "does not make these groups" in desk.refused(*arguments, "age")
    assert "has no column 'maid'" in desk.refused(*arguments, "maid")
    assert "there is none" in desk.refused(*arguments, "made", "--nothing")


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("own.py", "write FILE.py:NAME"),
        ("own.py:group", "did you mean 'groups'?"),
        ("own.py:number", "no function of a table"),
        ("own.py:broken", "fails on a possible table"),
        ("other.py:groups", "there is no file"),
        ("wrong.py:groups", "line 1"),
        ("ends.py:groups", "SystemExit: 3"),
        ("class.py:Mine", "is a class"),
    ],
)
def test_mistakes_about_ones_own_method(desk, method, said):
    for name, text in {
        "table.csv": TABLE,
        "policy.toml": POLICY,
        "own.py": OWN,
        "wrong.py": "def groups(:",
        "ends.py": "raise SystemExit(3)",
        "class.py": "class Mine: pass",
    }.items():
        desk.put(name, text)
    arguments = ("attack", "table.csv", "--policy", "policy.toml", "--method", method)
    assert said in desk.refused(*arguments)
    if said == "no function of a table":
        assert "--set is for" in desk.refused(*arguments[:-1], "own.py:groups", "--set", "a=1")


def test_interrupted_it_leaves_nothing_behind(attacking, desk):
    """By a real signal, sent while worlds are tried."""
    desk.put("own.py", OWN)
    before = sorted(desk.folder.iterdir())
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # else ignored in background
    try:
        code, out, err = attacking("--method", "own.py:interrupted", "--json", "attack.json")
    finally:
        signal.signal(signal.SIGINT, usual)
    assert (code, out, err) == (130, "", "interrupted; nothing was left half-written\n")
    assert sorted(desk.folder.iterdir()) == before
