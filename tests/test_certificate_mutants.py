"""Mutants of a valid certificate: each is refused, or harmless by the rule that stands here.

Harmless is a mutant of which everything that `verify` finds is as before, so that it differs in
what nothing reads or what is only quoted (notes, method, versions and the like); or one that
requires something else, of which an audit, which shares no code with the verifier, finds the same.
"""

import copy
import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import foreknow as fk
from foreknow.errors import InputError
from foreknow.publishing.verification import open_published

WRITTEN = Path(__file__).parent / "certificates"
NAMES = sorted(path.name for path in WRITTEN.iterdir())
VALUES = [
    None, True, False, 0, 1, -1, 2, 16, 10**30, 0.5, -0.0, "", "x", "1/2", "1", "0", "HIV", "Flu",
    "disease", "age", "\ud800", "\x1b[2J", "../release.csv", "set", "single", "csv", "parquet",
    "bucketized", "1e-99999999", "9" * 5000, [], {}, [[]], [None], {"l": 1}, ["HIV"],
]  # fmt: skip

KINDS = ["value", "value", "delete", "add", "double", "swap", "move", "nest", "text", "number"]


def places(tree, path=()):
    """The path of each key and item."""
    if isinstance(tree, dict):
        inner = tree.items()
    else:
        inner = enumerate(tree) if isinstance(tree, list) else ()
    for key, part in inner:
        yield (*path, key)
        yield from places(part, (*path, key))


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def mutated(table, chance):
    """Change one or two places of a certificate."""
    table = copy.deepcopy(table)
    for _ in range(chance.choice([1, 1, 1, 2])):
        every = list(places(table))
        # Priors are large: half of the changes are elsewhere.
        short = [path for path in every if len(path) < 6] or every
        path = chance.choice(chance.choice([every, short]))
        owner, key = at(table, path[:-1]), path[-1]
        old = owner[key]
        kind = chance.choice(KINDS)
        if kind == "delete":
            del owner[key]
        elif kind == "add" and isinstance(owner, dict):
            owner[chance.choice(["x", "l", "values", "at_most", "priors", "name"])] = old
        elif kind in ("add", "double") and isinstance(owner, list):
            owner.insert(key, copy.deepcopy(old))
        elif kind == "swap" and isinstance(owner, list):
            owner.reverse()
        elif kind == "move":
            owner[key] = copy.deepcopy(at(table, chance.choice(every)))
        elif kind == "nest":
            owner[key] = chance.choice([[old], {"x": old}, [[[[old]]]]])
        elif kind == "text" and isinstance(old, str):
            spot = chance.randrange(len(old) + 1)
            owner[key] = old[:spot] + chance.choice(["", "x", "\x00", "0", " "]) + old[spot + 1 :]
        elif kind == "number" and isinstance(old, (int, float)):
            owner[key] = old + chance.choice([1, -1, 0.5])
        else:
            owner[key] = chance.choice(VALUES)
    return table


def scope(required):
    return [(sorted(t.get("values", ["*"])), sorted(t.get("except", ()))) for t in required]


def is_harmless(folder, before, after, table):
    """The rule."""
    plain = {"claimed": (), "requirements": ()}
    alike = scope(after.requirements) == scope(before.requirements)
    if alike and replace(after, **plain) == replace(before, **plain):
        return True
    same = {"findings": (), **plain}
    if replace(after, **same) != replace(before, **same):
        return False
    rules = {key: table["policy"][key] for key in ("schema", "require")}
    rules["schema"] = {k: v for k, v in rules["schema"].items() if k != "hierarchies"}
    verdicts = fk.audit(open_published(folder).release, fk.Policy.from_dict(rules)).verdicts
    found = [(v.disclosure.exact, v.safe) for v in verdicts]
    return found == [(f.probability, f.safe) for f in after.findings]


def judge_mutants(name, amount, folder):
    shutil.copytree(WRITTEN / name, folder)
    path = folder / "certificate.json"
    table, before = json.loads(path.read_text()), fk.verify(folder)
    refused = 0
    for seed in range(amount):
        mutant = mutated(table, random.Random(f"{name} {seed}"))
        path.write_text(json.dumps(mutant))
        try:
            after = fk.verify(folder)
        except InputError:
            refused += 1
        else:
            assert is_harmless(folder, before, after, mutant), (name, seed)
    return refused


@pytest.mark.parametrize("name", NAMES[::2])
def test_some_mutants(name, tmp_path):
    assert judge_mutants(name, 16, tmp_path / "out") >= 8


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_many_mutants(name, tmp_path):
    assert judge_mutants(name, 250, tmp_path / "out") >= 125
