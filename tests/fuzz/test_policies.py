"""Policies and options, mutated: they mean what a small reading says, or are refused."""

import re
import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from tests.fuzz.conftest import BACKWARDS, ESCAPE, ODD, Fault, alone, mutated_text, rounds, words

TABLE = "gid,age,zip,disease\n1,20,02138,Flu\n1,21,02139,Cold\n2,30,02138,Flu\n2,31,02139,HIV\n"
BASES = [path.read_text("utf-8") for path in sorted(Path(__file__).with_name("policies").iterdir())]
KEYS = {
    "": "schema require publish",
    "schema": "identifiers quasi_identifiers sensitive other semantics person group hierarchies "
    "types missing",
    "require": "name values except facts implications negations priors below at_most at_most_times",
    "publish": "method form format labels escape_formulas anatomy art fulldomain jump mondrian "
    "naive safe streamliner",
    "facts": "l k m below",
    "implications": "k below",
    "negations": "k below",
    "priors": "semantics file tables below",
}
KINDS = ("facts", "implications", "negations", "priors")

VALUES = (
    *("0", "1", "-1", "0.5", "1.0", "2", "1e-400", "1e400", "0.1e1", "inf", "nan", "-nan", "0x10"),
    *("true", "false", '""', '"1/3"', '"1/0"', '" 1/2 "', '"٣/٤"', '"1e-99999999"', '"0.5x"'),
    *('"1_0/2_0"', '"-1/2"', '"50%"', '"nan"', "[]", "{}", "[[]]", '["Flu"]', "[1]", '[true, "a"]'),
    *("2024-02-29", "10:00:00", "2024-02-29T10:00:00Z", "9" * 30, "9" * 5000, "0." + "3" * 400),
    *("{ l = 1 }", "{ l = 9223372036854775808 }", "{ k = 1.0 }", '{ label = "x" }', '"Flu"'),
    *('"disease"', '"age"', '"mondrian"', '"anatomy"', '["age", "age"]', '"set"', '"../x"'),
    *("'''\n'''", f'"{BACKWARDS}"', '"\\u001b[31m"', '"\\u0000"', '"\\ud800"', '"\\U0001F600"'),
    "[" * 200 + "]" * 200,
    "[" * 3000 + "]" * 3000,
)
NAMES = (
    *words("below at_most at_most_times facts l k m values except name person group missing"),
    *words("other types semantics format form method anatomy art jump safe streamliner"),
    *words("hierarchies Below negations implications priors file tables a.b.c excepts 1"),
    *("below ", '"x\\u001b"', '""'),
)


def mutant(chance):
    lines = chance.choice(BASES).splitlines()
    for _ in range(chance.randint(1, 3)):
        position = chance.randrange(len(lines))
        key, _, value = lines[position].partition(" = ")
        kind = chance.choice(("value", "value", "inner", "inner", "key", "drop", "double", "add"))
        if kind == "value" and value:
            lines[position] = f"{key} = {chance.choice(VALUES)}"
        elif kind == "inner" and value:
            parts = re.findall(r'"[^"]*"|[\w.]+|\W', value) or [value]
            parts[chance.randrange(len(parts))] = chance.choice(VALUES[:60])
            lines[position] = f"{key} = {''.join(parts)}"
        elif kind == "key" and value:
            lines[position] = f"{chance.choice(NAMES)} = {value}"
        elif kind == "drop":
            del lines[position]
        elif kind == "double":
            lines.insert(chance.randrange(len(lines)), lines[position])
        elif kind == "add":
            lines.insert(position, f"{chance.choice(NAMES)} = {chance.choice(VALUES)}")
        if not lines:
            break
    text = "\n".join(lines) + "\n"
    if chance.random() < 0.05:
        text = ".".join(["a"] * chance.choice((300, 20_000))) + " = 1\n" + text
    if chance.random() < 0.1:
        text = text.replace("Flu", chance.choice(ODD).replace("\\", "").replace('"', ""))
    return mutated_text(chance, text) if chance.random() < 0.3 else text.encode("utf-8")


class Wrong(ValueError):
    """A policy that must be refused."""


def meaning(data):
    """What each requirement says, by a reading of its own: as `readings.policy` gives it."""
    try:
        table = tomllib.loads(data.decode("utf-8-sig"), parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise Wrong(f"no TOML: {error}") from None
    known(table, "")
    for name in ("schema", "publish"):
        known(table.get(name, {}), name)
    if not isinstance(table.get("require"), list):
        raise Wrong("there is no list of requirements")
    return [requirement(each) for each in table["require"]]


def known(table, name):
    if not isinstance(table, dict) or not set(table) <= set(KEYS[name].split()):
        raise Wrong(f"{name}: {table} is no table, or has unknown keys")


def requirement(table):
    known(table, "require")
    limits = [key for key in ("below", "at_most", "at_most_times") if key in table]
    points = []
    for kind in KINDS:
        if kind not in table:
            continue
        several = isinstance(table[kind], list)
        for point in table[kind] if several else [table[kind]]:
            known(point, kind)
            if several == bool(limits) or (not several and "below" in point) or len(limits) > 1:
                raise Wrong(f"{point} has no limit, or two")
            key, limit = ("below", point.get("below")) if several else (limits[0], table[limits[0]])
            points.append([kind, amounts(kind, point), key, str(number(limit))])
    if not points:
        raise Wrong("nobody to hide from")
    about = [None if key not in table else labels(table[key]) for key in ("values", "except")]
    return [points, about[0], about[1] or []]


def amounts(kind, point):
    if kind == "priors":
        return {}
    given = {name: point.get(name, 0) for name in ("lkm" if kind == "facts" else "k")}
    for amount in given.values():
        if type(amount) is not int or amount < 0:
            raise Wrong(f"{amount} is no amount")
    return given


def number(limit):
    """A limit as a fraction: a number, or the text of a decimal or a fraction."""
    if isinstance(limit, (int, Decimal)) and not isinstance(limit, bool):
        text = str(limit)
    elif isinstance(limit, str):
        text = limit.strip()
    else:
        raise Wrong(f"{limit} is no limit")
    if not re.fullmatch(
        r"[+-]?(\d[\d_]*(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?|\d[\d_]*/\d[\d_]*", text
    ):
        raise Wrong(f"{limit} is no limit")
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise Wrong(f"{limit} is no limit") from None


def labels(given):
    if not isinstance(given, list):
        raise Wrong(f"{given} is no list")
    return [str(label) for label in given]


def attempt(chance, folder, worker):
    data = mutant(chance)
    (folder / "policy.toml").write_bytes(data)
    (folder / "people.csv").write_text(TABLE)
    result = worker.read(folder, "policy", path="policy.toml")
    if "read" in result:
        try:
            expected = meaning(data)
        except Wrong as error:
            raise Fault(f"loaded as {result['read']}, though {error}") from None
        if result["read"] != expected:
            raise Fault(f"loaded as {result['read']}\nwhere it says {expected}")
    if chance.random() < 0.4:
        command = chance.choice(("audit", "publish", "survey", "skyline"))
        more = {"publish": ["--out", "out"], "skyline": ["--confidence", "0.9"]}.get(command, [])
        output = worker.run(folder, command, "people.csv", "--policy", "policy.toml", *more)
        if output.code != 2 and "read" not in result:
            raise Fault(f"the policy is refused by itself ({result['refused']}), but {output}")
        if chance.random() < 0.02 and command != "publish":
            alone(output, folder)


@rounds(nightly=3000)
def test_loaded_policies_mean_their_text(play, count, seed):
    play("policies", attempt, count, seed)


# ---- options of the command line with odd values: answered, or refused, and nothing left ---------

PEOPLE = "name,gid,age,sex,disease\n" + "".join(
    f"P{i},{i % 2},{20 + i},{'fm'[i % 2]},{('Flu', 'Cold', 'HIV')[i % 3]}\n" for i in range(12)
)
OF_PEOPLE = """[schema]
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
NAMED = (
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


def call_mutant(chance):
    """A call, with one to three options of odd values, or arguments dropped or doubled."""
    base, options = chance.choice(CALLS)
    argv = list(base)
    for _ in range(chance.choice((1, 1, 2, 3))):
        kind = chance.choice(("option", "option", "option", "value", "drop", "double"))
        value = chance.choice(chance.choice((NUMBERS, NAMED, PATHS, ODD))).replace("\x00", "0")
        if kind == "option":
            argv += [chance.choice(options), value]
        elif len(argv) > 1:
            position = chance.randrange(1, len(argv))
            if kind == "value":
                argv[position] = value
            elif kind == "drop":
                del argv[position]
            else:
                argv.insert(position, argv[position])
    return argv


def attempt_call(chance, folder, worker):
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "policy.toml").write_text(OF_PEOPLE)
    inner = folder / "work"
    inner.mkdir()
    for name in KNOWN:
        (folder / name).rename(inner / name)
    argv = call_mutant(chance)
    output = worker.run(inner, *argv)
    for name, text in (("people.csv", PEOPLE), ("policy.toml", OF_PEOPLE)):
        if (inner / name).read_text() != text:
            raise Fault(f"{name} was changed: {output}")
    left = {path.name for path in inner.rglob("*")} - KNOWN
    if output.code == 2 and left:
        raise Fault(f"refused, but left {left}: {output}")
    if any(name.startswith(".") for name in left):
        raise Fault(f"left {left}: {output}")
    if chance.random() < 0.02 and not left:
        alone(output, inner)


@rounds(nightly=3000, by_day=10)
def test_options_are_answered_or_refused(play, count, seed):
    play("options", attempt_call, count, seed)
