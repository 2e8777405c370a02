"""Values that look like labels, and mutated certificates: nothing untrue is certified."""

import copy
import csv
import hashlib
import json
import random
import shutil
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.common import NIGHTLY
from tests.fuzz.conftest import (
    BACKWARDS,
    ESCAPE,
    Fault,
    alone,
    mutated_bytes,
    mutated_text,
    rounds,
    words,
)
from tests.fuzz.test_files import bags, strictly_read
from tests.oracle.labels import covered

import foreknow as fk
from foreknow.written_releases.written_release import open_published

# ---- registers and tables with values that look like labels ------------------------------------

ANY = [
    *("*", "* (level 1)", "*+", "a", "b", "c", "ab*", "abc", "abd", "a | b", "b | c", '"a"', '"b"'),
    *(
        '"a" | "b"',
        "missing",
        None,
        "missing | a",
        "a or missing",
        "20 to 29",
        "20",
        "25",
        "1",
        "1.0",
    ),
    *("01", "2024", "2024-01-05", "2024-01-05 10:00:00", "2024-Q1", "a+", "50+", "****", "a to c"),
]
CODES = ["abc", "abd", "ab*", "a**", "a*c", "a*b", "*bc", "***", "b12", "b1*", "1.0", "123", "124"]
ROWS = [
    *(("abc", "ab*", "*"), ("abd", "ab*", "*"), ("ab", "a", "*"), ("20", "20 to 29", "*")),
    *(("25", "20 to 29", "*"), ("30", "30 to 39", "*"), ("*b", "20 to 29", "*"), ("x", "a", "*")),
]
FULL = 3000 if NIGHTLY else 40


def column(chance, kind, size):
    pool = {"set": ANY, "mask": CODES, "tree": [row[0] for row in ROWS]}[kind]
    few = chance.sample(pool, chance.randint(2, min(7, len(pool))))
    return few, chance.choices(few, k=size)


def register_case(chance):
    """A table, its register, and how each column is written."""
    kinds = chance.choices(["set", "set", "set", "mask", "tree"], k=chance.randint(1, 2))
    size = chance.randint(4, 24)
    columns, more = [], []
    for kind in kinds:
        few, own = column(chance, kind, size)
        others, _ = column(chance, kind, 1)
        columns.append(own)
        more.append([*few, *few, *others] if chance.random() < 0.5 else few)
    table = list(zip(*columns, strict=True))
    strangers = [tuple(chance.choice(own) for own in more) for _ in range(chance.randint(0, 24))]
    register = [*table, *strangers]
    if chance.random() < 0.1:
        register.remove(chance.choice(table))
    chance.shuffle(register)
    return kinds, table, register


def write(path, rows):
    names = [f"q{i}" for i in range(len(rows[0]))]
    columns = [pa.array(own, pa.string()) for own in zip(*rows, strict=True)]
    results = dict(zip(names, columns, strict=True))
    if path.suffix == ".parquet":
        pq.write_table(pa.table(results), path)
    else:
        pa.csv.write_csv(pa.table(results), path)


def groups_of(path):
    if path.suffix == ".parquet":
        rows = pq.read_table(path).to_pylist()
    else:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name != "ill"]
    return Counter(tuple(row[name] or None for name in names) for row in rows)


def one_case(seed, place):
    chance = random.Random(seed)
    kinds, table, register = register_case(chance)
    suffix = chance.choice(["csv", "parquet"])
    path = place / f"register{seed}.{suffix}"
    write(path, register)
    schema = fk.Schema(
        quasi_identifiers=[f"q{i}" for i in range(len(kinds))],
        sensitive="ill",
        hierarchies={
            f"q{i}": fk.Mask(3) if kind == "mask" else fk.Tree(ROWS)
            for i, kind in enumerate(kinds)
            if kind != "set"
        },
        types={f"q{i}": "text" for i in range(len(kinds))},
    )
    k = chance.randint(1, 4)  # of the table, which implies as many of the population
    asked = [fk.KMap(k, path), fk.DeltaPresence(0, 1, path), fk.KAnonymity(k)]
    rules = [fk.Requirement(each) for each in asked]
    arrays = {f"q{i}": pa.array(own, pa.string()) for i, own in enumerate(zip(*table, strict=True))}
    raw = pa.table({**arrays, "ill": chance.choices("xyz", k=len(table))})
    method = chance.choice(["mondrian", "fulldomain"])
    try:
        styles = {f"q{i}": "exact" for i, kind in enumerate(kinds) if kind == "set"}
        policy = fk.Policy(rules, schema)
        publication = fk.publish(raw, policy, method=method, format=suffix, labels=styles)
    except fk.InputError as error:
        lacks = bool(Counter(table) - Counter(register))
        if lacks is ("no population" in str(error)):
            return "lacks" if lacks else "refused"
        return "refused" if lacks else f"{seed}: {error}"
    out = place / f"out{seed}"
    publication.write(out)
    k_map, presence, _ = fk.verify(out, population=path).findings
    groups = groups_of(out / f"release.{suffix}")
    own = [{person[at] for person in table} for at in range(len(kinds))]
    truths = {}
    for label in groups:
        of = covered(label, own, kinds, register, ROWS)
        assert len(of) == 1, (seed, label, of)
        truths[label] = of.pop()
    assert not Counter(table) - Counter(register), seed
    assert k_map.reached == min(truths.values()), (seed, truths, k_map)
    if sum(truths.values()) <= len(register) and presence.reached < 1:
        assert presence.reached == max(Fraction(n, truths[g]) for g, n in groups.items()), seed
    return "equal"


@pytest.mark.parametrize("part", range(4 if NIGHTLY else 1))
def test_hostile_values_are_certified_truly(part, tmp_path):
    counts = Counter(one_case(seed, tmp_path) for seed in range(part, FULL, 4))
    assert set(counts) <= {"equal", "lacks", "refused"}
    assert counts["equal"] > FULL // 16, counts


# certificates, mutated: one that is verified says of the release what the first one said.

WRITTEN = Path(__file__).parents[1] / "certificates"
NAMES = sorted(path.name for path in WRITTEN.iterdir())
TABLE = "name,age,sex,disease\n" + "".join(
    f"P{i},{20 + i},{'fm'[i % 2]},{('Flu', 'Cold', 'Flu', 'HIV', 'Cold')[i % 5]}\n"
    for i in range(20)
)
POLICY = """[schema]
identifiers = ["name"]
quasi_identifiers = ["age", "sex"]
sensitive = "disease"

[[require]]
values = ["HIV"]
facts = { l = 1, k = 1, m = 1 }
below = 0.9

[[require]]
facts = [{ l = 0, k = 0, m = 0, below = 0.8 }, { l = 1, below = "9/10" }]
"""


@pytest.fixture(scope="session")
def published(worker, tmp_path_factory):
    """A folder that `foreknow publish` wrote."""
    folder = tmp_path_factory.mktemp("published")
    (folder / "people.csv").write_text(TABLE)
    (folder / "policy.toml").write_text(POLICY)
    out = ["--policy", "policy.toml", "--out", "one", "--seed", "1"]
    output = worker.run(folder, "publish", "people.csv", *out)
    assert output.code == 0, output
    return folder / "one"


LEAVES = (
    *(None, True, False, 0, 1, -1, 2, 9, 0.5, 1e308, -0.0, 10**30, 1.5, "", "0", "1/2", "1", "0.5"),
    *words("HIV Flu disease age single set generalized bucketized csv parquet release.csv *.csv"),
    *("1e-99999999", "1/0", "nan", "../release.csv", "/etc/passwd", "\x00"),
    *(f"x{ESCAPE}y", f"{BACKWARDS}safe", "[red]x[/red]", "\ud800", "x" * 5000, "9" * 5000),
    *([], {}, ["HIV"], {"L": 9}, {"facts": {"l": 0}}, [[]], [None]),
)


def places(value, path=()):
    """Paths of everything in a JSON value."""
    yield path
    if isinstance(value, dict):
        inner = list(value.items())
    else:
        inner = enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def changed(chance, table):
    """One to three changes of keys and values somewhere in the certificate."""
    table = copy.deepcopy(table)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        every = [path for path in places(table) if path]
        # Priors are large: half of the changes are elsewhere.
        short = [path for path in every if len(path) < 6] or every
        *above, key = chance.choice(chance.choice([every, short]))
        holder = at(table, above)
        kind = chance.choice(("leaf", "leaf", "leaf", "near", "drop", "add", "swap", "double"))
        if kind == "leaf":
            holder[key] = chance.choice(LEAVES)
        elif kind == "near":
            holder[key] = near(chance, holder[key])
        elif kind == "drop":
            del holder[key]
        elif kind == "swap":
            other = at(table, chance.choice(list(places(table))))
            holder[key] = copy.deepcopy(other)
        elif isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif kind == "add":
            name = chance.choice(("x", "l", "K", "at_most", "values", "notes", "safe", ESCAPE))
            holder[name] = chance.choice(LEAVES)
    return table


def near(chance, value):
    """Something close to a value."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + chance.choice((-1, 1, 0.5))
    if isinstance(value, str):
        return chance.choice((value + " ", value.upper(), value[:-1], value + ESCAPE, [value]))
    if isinstance(value, list):
        return chance.sample(value, len(value)) if len(value) > 1 else value * 2
    return {**value, "x": 1} if isinstance(value, dict) else 0


def as_text(chance, table):
    """JSON, with a key that stands twice, or deeper than anybody reads, now and then."""
    text = json.dumps(table, indent=chance.choice((None, 2)), ensure_ascii=chance.random() < 0.7)
    if chance.random() < 0.1:
        key = chance.choice(('"safe": true', '"people": 3', '"below": "1"', '"l": 0', '"x": NaN'))
        at = chance.choice([i for i, char in enumerate(text) if char == "{"])
        text = text[: at + 1] + key + ", " + text[at + 1 :]
    if chance.random() < 0.03:
        text = (
            "[" * 100_000 + text
            if chance.random() < 0.5
            else text[:-2] + ',"x":' + "9" * 5000 + "}"
        )
    return text.encode("utf-8", "surrogatepass")


def scope(required):
    return [(sorted(t.get("values", ["*"])), sorted(t.get("except", ()))) for t in required]


def is_harmless(folder, first, before, after):
    """Whether a mutant that is verified may be.

    It claims what the first one did, and everything that `verify` finds is as before, so that it
    differs in what nothing reads or what is only quoted; or it requires something else, of which
    an audit, which shares no code with the verifier, finds the same.
    """
    plain = {"claimed": (), "requirements": ()}
    table = json.loads((folder / "certificate.json").read_text("utf-8"))
    alike = scope(after.requirements) == scope(before.requirements)
    alike = alike and table["findings"] == json.loads(first)["findings"]
    if alike and replace(after, **plain) == replace(before, **plain):
        return True
    same = {"findings": (), **plain}
    if after.requirements == before.requirements or (
        replace(after, **same) != replace(before, **same)
    ):
        return False
    policy = table["policy"]
    rules = {"require": policy["require"], "schema": {**policy["schema"], "hierarchies": {}}}
    verdicts = fk.audit(open_published(folder).release, fk.Policy.from_dict(rules)).verdicts
    results = [(v.disclosure.exact, v.safe) for v in verdicts]
    return results == [(f.reached, f.safe) for f in after.findings]


@pytest.fixture
def attempt(published):
    def attempt(chance, folder, worker):
        source = chance.choice([published, *(WRITTEN / name for name in NAMES)])
        out = shutil.copytree(source, folder / "out")
        path = out / "certificate.json"
        first, before = path.read_bytes(), fk.verify(out)
        if source == published and chance.random() < 0.5:
            other_release(chance, folder, worker, first)
            return
        data = as_text(chance, changed(chance, json.loads(first)))
        if chance.random() < 0.2:
            data = mutated_bytes(chance, first)
        path.write_bytes(data)
        output = worker.run(folder, "verify", "out")
        if output.code == 0 and not is_harmless(out, first, before, fk.verify(out)):
            raise Fault(f"verified, though it says something else: {output}")
        if chance.random() < 0.02:
            alone(output, folder)
        if chance.random() < 0.1:
            worker.run(folder, "audit", "out", "--policy", str(published.parent / "policy.toml"))

    return attempt


def other_release(chance, folder, worker, first):
    """The release changed, and the certificate made to fit, as a liar would."""
    path = folder / "out" / "release.csv"
    path.write_bytes(mutated_text(chance, path.read_text("utf-8"), 2))
    table = json.loads(first)
    table["release"]["files"]["release.csv"] = hashlib.sha256(path.read_bytes()).hexdigest()
    if (result := strict_bags(path.read_bytes())) is not None:
        table["release"]["people"] = sum(bag.total() for bag in result.values())
        table["release"]["n_groups"] = len(result)
    (folder / "out" / "certificate.json").write_text(json.dumps(table))
    output = worker.run(folder, "verify", "out")
    if output.code:
        return
    if result is None:
        raise Fault(f"verified, though no strict reader reads the release: {output}")
    worst = max(Fraction(max(bag.values()), bag.total()) for bag in result.values())
    if worst >= Fraction(8, 10):
        raise Fault(f"verified below 0.8, though the highest share is {worst}: {output}")


def strict_bags(data):
    """The bag of each group of the written release; None if no strict reader reads it."""
    table = strictly_read(data)
    if table is None or sorted(table[0]) != ["age", "disease", "sex"]:
        return None
    return bags(table, ["age", "sex"], "disease")


@rounds(nightly=3000, by_day=20)
def test_verified_certificates_are_true(play, attempt, count, seed):
    play("certificates", attempt, count, seed)
