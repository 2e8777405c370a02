"""Policies, mutated: one that loads means what a small reading of the TOML says."""

import re
import tomllib
from decimal import Decimal
from fractions import Fraction

from tests.fuzz.mutations import ODD, mutated_text, words
from tests.fuzz.rounds import BACKWARDS, Fault, alone, rounds

TABLE = "gid,age,zip,disease\n1,20,02138,Flu\n1,21,02139,Cold\n2,30,02138,Flu\n2,31,02139,HIV\n"
BASES = (
    """[schema]
identifiers = ["gid"]
quasi_identifiers = ["age", "zip"]
sensitive = "disease"
missing = "error"

[schema.hierarchies]
age = { intervals = [5, 10], origin = 0 }
zip = { mask = 5, character = "*" }

[[require]]
name = "the first"
values = ["Flu"]
facts = { l = 1, k = 0, m = 2 }
below = 0.75

[[require]]
except = ["Flu"]
facts = { l = 0 }
below = "2/3"

[publish]
method = "mondrian"
form = "generalized"
format = "csv"
escape_formulas = false
labels = { zip = "set" }
mondrian = { cuts = 3 }
""",
    """schema = { quasi_identifiers = ["age"], sensitive = "disease", semantics = "single" }

[[require]]
facts = [
  { l = 1, k = 1, m = 5, below = 0.5 },
  { l = 0, k = 3, m = 4, below = "1/2" },
]
negations = [{ k = 2, below = 0.9 }]

[[require]]
implications = { k = 2 }
below = 1

[publish]
method = "fulldomain"
fulldomain = { suppression = 0.05, find = "minimal", seconds = 5 }
""",
    """[schema]
quasi_identifiers = ["age"]
sensitive = "disease"
types = { age = "number" }

[[require]]
[require.priors]
semantics = "joint"
[[require.priors.tables]]
attributes = ["age"]
values = ["Flu", "Cold", "HIV"]
rows = [[["20"], ["1/2", "0.25", "1/4"]], [["21"], ["0.5", "0.25", "0.25"]],
        [["30"], ["0.5", "0.25", "0.25"]], [["31"], ["0.5", "0.25", "0.25"]]]
[[require]]
facts = { k = 1 }
below = 0.8
""",
)
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
        at = chance.randrange(len(lines))
        key, _, value = lines[at].partition(" = ")
        kind = chance.choice(("value", "value", "inner", "inner", "key", "drop", "double", "add"))
        if kind == "value" and value:
            lines[at] = f"{key} = {chance.choice(VALUES)}"
        elif kind == "inner" and value:
            parts = re.findall(r'"[^"]*"|[\w.]+|\W', value) or [value]
            parts[chance.randrange(len(parts))] = chance.choice(VALUES[:60])
            lines[at] = f"{key} = {''.join(parts)}"
        elif kind == "key" and value:
            lines[at] = f"{chance.choice(NAMES)} = {value}"
        elif kind == "drop":
            del lines[at]
        elif kind == "double":
            lines.insert(chance.randrange(len(lines)), lines[at])
        elif kind == "add":
            lines.insert(at, f"{chance.choice(NAMES)} = {chance.choice(VALUES)}")
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
    found = worker.read(folder, "policy", path="policy.toml")
    if "read" in found:
        try:
            expected = meaning(data)
        except Wrong as error:
            raise Fault(f"loaded as {found['read']}, though {error}") from None
        if found["read"] != expected:
            raise Fault(f"loaded as {found['read']}\nwhere it says {expected}")
    if chance.random() < 0.4:
        command = chance.choice(("audit", "publish", "survey", "skyline"))
        more = {"publish": ["--out", "out"], "skyline": ["--confidence", "0.9"]}.get(command, [])
        said = worker.run(folder, command, "people.csv", "--policy", "policy.toml", *more)
        if said.code != 2 and "read" not in found:
            raise Fault(f"the policy is refused by itself ({found['refused']}), but {said}")
        if chance.random() < 0.02 and command != "publish":
            alone(said, folder)


@rounds(nightly=3000)
def test_a_policy_that_loads_means_what_it_says(play, count, seed):
    play(attempt, count, seed)
