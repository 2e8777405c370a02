"""Options of the command line with odd values: answered, or refused with a word; nothing left."""

from tests.fuzz.mutations import ODD, words
from tests.fuzz.rounds import BACKWARDS, ESCAPE, Fault, alone, rounds

TABLE = "name,gid,age,sex,disease\n" + "".join(
    f"P{i},{i % 2},{20 + i},{'fm'[i % 2]},{('Flu', 'Cold', 'HIV')[i % 3]}\n" for i in range(12)
)
POLICY = """[schema]
identifiers = ["name"]
quasi_identifiers = ["age", "sex"]
sensitive = "disease"

[[require]]
facts = { l = 0 }
below = 0.8
"""
ROLES = ["--sensitive", "disease", "--group", "gid"]
POLICED = ["--policy", "policy.toml"]
# A call that works, and options that may be added to it or changed in it.
CALLS = (
    (["audit", "people.csv", *POLICED], ["--group", "--html", "--json", "--policy", "--quiet"]),
    (
        ["skyline", "people.csv", "--confidence", "0.9", *ROLES],
        ["--confidence", "--value", "--above", "--person", "--semantics", "--html", "--sensitive"],
    ),
    (["curves", "people.csv", *POLICED], ["--levels", "--upto", "--value", "--group", "--json"]),
    (["survey", "people.csv", *POLICED], ["--knowledge", "--negations", "--html", "--sensitive"]),
    (
        ["ask", "people.csv", "--about", "P1", "--person", "name", *ROLES],
        ["--about", "--value", "--statements", "--budget", "--json"],
    ),
    (
        ["attack", "people.csv", "--worlds", "20", *POLICED],
        ["--method", "--set", "--form", "--worlds", "--seconds", "--seed", "--seeds", "--groups"],
    ),
    (
        ["publish", "people.csv", "--out", "out", *POLICED],
        ["--method", "--set", "--form", "--format", "--seed", "--out"],
    ),
    (
        ["utility", "people.csv", "people.csv", "--group", "gid", *POLICED],
        ["--queries", "--predicates", "--delta", "--seed", "--group", "--json"],
    ),
    (["priors", "people.csv", "--by", "sex", "-s", "disease", "-o", "p.csv"], ["--by", "-s", "-o"]),
    (["verify", "people.csv"], ["--quiet", "--policy"]),
    (["demo", "demo"], ["--seed"]),
    ([], ["--version", "--help", "nonsense"]),
)
NUMBERS = (
    *words("0 1 -1 2 0.5 1.5 1/3 1e9 1e400 nan inf -inf 0x10 1_0 1e-99999999 ٣ 1,2 1,2,3 1,1,1"),
    *words("0-3 3-0 - 0-9999999999999 1,,2 a * age=1 age=9 age=* x=1 = l=3 l=99 r=0"),
    *words("suppression=0.05 suppression=nan cuts=0 cuts=99999999999"),
    *("", " ", "9" * 20, "9" * 5000, "age=0, sex=0"),
)
NAMES = (
    *words("disease age sex gid name Age age,sex age,age , gid, P1 HIV single set multiset"),
    *words("mondrian fulldomain anatomy art streamliner jump generalized bucketized csv"),
    *words("parquet safe naive x.py:f policy.toml:f [red]x[/red] -- -x --quiet"),
    *(ESCAPE, BACKWARDS, "\udcff"),
)
PATHS = (
    *words("people.csv policy.toml none.csv . .. / /dev/null out a.html people*.csv people.csv/x"),
    *("no/such/folder", "x" * 300, "", " ", "~", "https://example.org/x.csv"),
)
KNOWN = {"people.csv", "policy.toml"}


def mutant(chance):
    """A call, with one to three options of odd values, or arguments dropped or doubled."""
    base, options = chance.choice(CALLS)
    argv = list(base)
    for _ in range(chance.choice((1, 1, 2, 3))):
        kind = chance.choice(("option", "option", "option", "value", "drop", "double"))
        value = chance.choice(chance.choice((NUMBERS, NAMES, PATHS, ODD))).replace("\x00", "0")
        if kind == "option":
            argv += [chance.choice(options), value]
        elif len(argv) > 1:
            at = chance.randrange(1, len(argv))
            if kind == "value":
                argv[at] = value
            elif kind == "drop":
                del argv[at]
            else:
                argv.insert(at, argv[at])
    return argv


def attempt(chance, folder, worker):
    (folder / "people.csv").write_text(TABLE)
    (folder / "policy.toml").write_text(POLICY)
    inner = folder / "work"
    inner.mkdir()
    for name in KNOWN:
        (folder / name).rename(inner / name)
    argv = mutant(chance)
    said = worker.run(inner, *argv)
    for name, text in (("people.csv", TABLE), ("policy.toml", POLICY)):
        if (inner / name).read_text() != text:
            raise Fault(f"{name} was changed: {said}")
    left = {path.name for path in inner.rglob("*")} - KNOWN
    if said.code == 2 and left:
        raise Fault(f"refused, but left {left}: {said}")
    if any(name.startswith(".") for name in left):
        raise Fault(f"left {left}: {said}")
    if chance.random() < 0.02 and not left:
        alone(said, inner)


@rounds(nightly=3000, by_day=10)
def test_options_are_answered_or_refused(play, count, seed):
    play(attempt, count, seed)
