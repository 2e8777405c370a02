"""The command `attack`: its exit codes, what it prints and costs, and that it leaves nothing."""

import logging
import shlex
import signal

import pytest
from tests.cli.conftest import desk as desk
from tests.cli.desk import AGES

import foreknow as fk
from foreknow import sample

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
OWN = """
import os, signal
import foreknow as fk

def groups(table):
    return [0] * 5 if table["disease"][1].as_py() == "hiv" else [0, 0, 0, 1, 1]

def together(table):
    return [0] * 5

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
MADE = [f"{row},{n}" for row, n in zip(TABLE.split(), ["made", *"ababb"], strict=True)]
FILES = {
    "table.csv": TABLE,
    "policy.toml": POLICY,
    "low.toml": POLICY.replace("below = 1", "below = 0.1"),
    "four.csv": "name,age,disease\nAnn,50,flu\nBob,40,flu\nCid,50,hiv\nDora,30,cold\n",
    "made.csv": "\n".join(MADE) + "\n",
    "own.py": OWN,
    "wrong.py": "def groups(:",
    "ends.py": "raise SystemExit(3)",
    "class.py": "class Mine: pass",
}
PLAIN = "table.csv --policy policy.toml "
LOTS = "four.csv --policy policy.toml --method streamliner --set l=2 --form bucketized "
GROUPS = "made.csv --policy policy.toml --groups "


@pytest.fixture
def attacking(desk):
    for name, text in FILES.items():
        desk.put(name, text)

    def run(words):
        code, out, err = desk.run("attack", *shlex.split(words))
        assert "Traceback" not in out + err
        return code, " ".join(out.split()), err

    return run


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (PLAIN + "--name-people", 1, "Dora, Eve flu 100%"),
        (PLAIN + "--name-people --person age", 1, "30, 30 flu 100%"),
        (PLAIN + "--method fulldomain --set find=minimal", 0, "FullDomain"),
        (PLAIN + "--method fulldomain --quiet", 0, None),
        (
            PLAIN + "--worlds 1 --seed 1 --form bucketized",
            4,
            "people are unsettled, perhaps certain",
        ),
        (PLAIN + "--worlds 1 --seed 1 --form bucketized", 4, "estimates"),
        # Neither found nor settled: one run says nothing of other worlds of a function.
        (PLAIN + "--method own.py:together --worlds 1", 4, "5 people are unsettled"),
        (PLAIN + "--method own.py:together --quiet", 0, None),
        (PLAIN + "--method own.py:groups", 1, "row 2 hiv 100%"),
        (PLAIN + "--method own.py:made", 1, "rows 4, 5 flu 100%"),
        (PLAIN + "--method own.py:seeded --seeds 0,1", 0, "Of 6 worlds"),
        (PLAIN + "--method own.py:silent", 1, "--nothing"),
        (PLAIN + "--method own.py:silent --nothing", 1, "nothing is published of 5 people"),
        (PLAIN + "--method own.py:silent --nothing", 1, "row 2 hiv 100%"),
        # Secret lots, a seed that everybody knows, and seeds of which the adversary knows none.
        (LOTS, 0, "reveals nothing beyond the release"),
        (LOTS + "--seeds 0", 1, "certain to an adversary who knows the algorithm"),
        (LOTS + "--seeds 0-2,5", 0, "Of 4 worlds"),
        (GROUPS + "made", 1, "3 people are certain"),
    ],
)
def test_what_is_printed(attacking, words, code, said):
    found, out, err = attacking(words)
    assert found == code
    assert not out if said is None else said in out + err


def test_certain_people_exit_with_1(attacking, desk):
    code, out, err = attacking(PLAIN + "--json attack.json --html attack.html")
    assert (code, err) == (1, "")
    assert "3 people are certain to an adversary who knows the algorithm" in out
    assert "Of 6 worlds, 2 could have led to this release." in out
    assert "rows 4, 5 flu 100%" in out
    assert "Ann" not in out
    assert desk.json("attack.json")["certain"] == [2, 4, 5]
    assert "Bob" not in (desk.folder / "attack.json").read_text()
    assert "certain" in (desk.folder / "attack.html").read_text()
    attacking(PLAIN + "--method own.py:together --worlds 1 --json a.json")
    assert desk.json("a.json")["undecided"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        *((LOTS + f"--seeds '{wrong}'", "--seeds") for wrong in ("x", "3-1", "", "1-99999999")),
        (PLAIN + "--method mondrain", "no method 'mondrain'"),
        (PLAIN + "--set cutz=1", "publish.mondrian: unknown key cutz; did you mean 'cuts'?"),
        (PLAIN + "--worlds 0", "worlds"),
        ("table.csv --policy low.toml", "not even one group"),
        (GROUPS + "age", "does not make these groups"),
        (GROUPS + "maid", "has no column 'maid'"),
        (GROUPS + "made --nothing", "there is none"),
        (PLAIN + "--method own.py", "write FILE.py:NAME"),
        (PLAIN + "--method own.py:group", "did you mean 'groups'?"),
        (PLAIN + "--method own.py:number", "no function of a table"),
        (PLAIN + "--method own.py:broken", "fails on a possible table"),
        (PLAIN + "--method other.py:groups", "there is no file"),
        (PLAIN + "--method wrong.py:groups", "line 1"),
        (PLAIN + "--method ends.py:groups", "SystemExit: 3"),
        (PLAIN + "--method class.py:Mine", "is a class"),
        (PLAIN + "--method own.py:groups --set a=1", "--set is for"),
    ],
)
def test_what_is_refused(attacking, desk, words, said):
    code = 1 if "low" in words else 2
    assert said in desk.refused("attack", *shlex.split(words), code=code)


def test_interrupted_it_leaves_nothing(attacking, desk):
    """By a real signal, sent while worlds are tried."""
    before = sorted(desk.folder.iterdir())
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # else ignored in background
    try:
        code, out, err = attacking(PLAIN + "--method own.py:interrupted --json attack.json")
    finally:
        signal.signal(signal.SIGINT, usual)
    assert (code, out, err) == (130, "", "interrupted; nothing was left half-written\n")
    assert sorted(desk.folder.iterdir()) == before


# ---- an attack that cannot settle a table -------------------------------------------------------

KNOWN = {"quasi_identifiers": ["age", "sex"], "sensitive": "diagnosis"}
RULES = """
[schema]
quasi_identifiers = ["age", "sex"]
sensitive = "diagnosis"
[[require]]
facts = { l = 1, k = 1 }
below = 0.5
"""


def some(many):
    return sample.load("arrow").select(["age", "sex", "diagnosis"]).slice(0, many)


@pytest.mark.parametrize("settled", [False, True])
def test_what_no_time_settles(settled, caplog):
    """It is said before anything is drawn."""
    facts, below, many = (fk.Facts(), 0.99, 12) if settled else (fk.Facts(1, 1), 0.5, 500)
    policy = fk.Policy(facts, fk.Schema(**KNOWN), below=below)
    with caplog.at_level(logging.WARNING, logger="foreknow"):
        found = fk.attack(some(many), "mondrian", policy, worlds=20, seconds=10.0, seed=1)
    if settled:
        assert (found.beyond, caplog.records) == (0, [])
        return
    assert 0 < found.beyond <= many
    assert found.undecided
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith(f"Of {many} people {found.beyond:,} are in parts with more than 20 ")
    assert "In a release by decoy the limits hold by a proof" in said
    summary = " ".join(found.summary().split())
    assert f"More time settles none of {found.beyond:,} people" in summary
    assert found.to_dict()["beyond"] == found.beyond


def test_what_would_withstand_and_costs(desk):
    some(500).to_pandas().to_csv(desk.folder / "table.csv", index=False)
    desk.put("policy.toml", RULES)
    code, out, _ = desk.run("attack", "table.csv", "--worlds", "20", "--seed", "1")
    out = " ".join(out.split())
    assert code == 4
    assert "In a release by decoy the limits hold against such an adversary, too" in out
    cost = out.partition("What that costs. ")[2]
    assert cost.startswith("decoy: NCP ")
    assert "; mondrian: NCP " in cost
    assert "counts off by" in cost
