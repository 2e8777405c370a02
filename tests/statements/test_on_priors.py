"""Statements on top of priors, against all worlds that the priors weigh."""

import random
from fractions import Fraction
from itertools import permutations, product
from math import prod

import pyarrow as pa
import pytest

import foreknow as fk

NAMES = ["Ann", "Bob", "Cid", "Dora", "Ed", "Flo", "Gil"]
VALUES = "abc"


def scene(rng):
    """People in one to three groups, with a kind and a value each; and priors of the kinds."""
    n = rng.randint(3, 6)
    kinds = {
        k: dict(zip(VALUES, (Fraction(rng.randint(0, 5), 20) for _ in VALUES), strict=True))
        for k in "xy"
    }
    rows = [(NAMES[i], rng.randint(1, 3), rng.choice("xy"), rng.choice(VALUES)) for i in range(n)]
    return kinds, rows


def statement(rng, names):
    person, other, value = rng.choice(names), rng.choice(names), rng.choice(VALUES)
    one, two = f"{person} = {value}", f"{other} = {rng.choice(VALUES)}"
    return rng.choice([one, f"not {one}", f"{one} -> {two}", f"{one} or {two}", f"{one} <-> {two}"])


def worlds(kinds, rows):
    groups = {}
    for name, group, kind, value in rows:
        groups.setdefault(group, []).append((name, kind, value))
    each = []
    for people in groups.values():
        own = []
        for world in sorted(set(permutations([value for *_, value in people]))):
            weight = prod(
                (kinds[k][v] for (_, k, _), v in zip(people, world, strict=True)), start=Fraction(1)
            )
            own.append(({name: v for (name, *_), v in zip(people, world, strict=True)}, weight))
        each.append(own)
    for chosen in product(*each):
        yield (
            {n: v for world, _ in chosen for n, v in world.items()},
            prod((w for _, w in chosen), start=Fraction(1)),
        )


def holds(text, has):
    """Read a statement in Python's own way."""

    def atom(part):
        negated = part.startswith("not ")
        person, value = part.removeprefix("not ").split(" = ")
        return (has[person] == value) != negated

    for word, law in (
        (" -> ", lambda a, b: not a or b),
        (" <-> ", lambda a, b: a == b),
        (" or ", lambda a, b: a or b),
    ):
        if word in text:
            return law(*map(atom, text.split(word)))
    return atom(text)


def asked(kinds, rows, statements):
    cells = [(k, v, str(p)) for k, row in kinds.items() for v, p in row.items()]
    kind, value, chance = zip(*cells, strict=True)
    priors = fk.Priors(pa.table({"kind": kind, "value": value, "probability": chance}))
    name, group, kind, ill = zip(*rows, strict=True)
    table = pa.table({"name": name, "group": group, "kind": kind, "ill": ill})
    release = fk.Release.from_groups(table, group="group", sensitive="ill", person="name")
    return fk.Statements(*statements, priors=priors), release


def test_answers_are_those_of_all_worlds():
    compared = 0
    for case in range(400):
        rng = random.Random(case)
        kinds, rows = scene(rng)
        names, held = [row[0] for row in rows], {row[3] for row in rows}
        said = [statement(rng, names) for _ in range(rng.randint(0, 3))]
        said = [s for s in said if all(v in held for v in VALUES if f"= {v}" in s)]
        every = list(worlds(kinds, rows))
        known, release = asked(kinds, rows, said)
        person, value = rng.choice(names), rng.choice(sorted(held))
        total = sum(w for world, w in every if all(holds(s, world) for s in said))
        if not total:
            continue
        had = sum(
            w for world, w in every if world[person] == value and all(holds(s, world) for s in said)
        )
        before = sum(w for world, w in every if world[person] == value) / sum(w for _, w in every)
        found = known.posterior(release, person, value)
        assert (found.exact, found.before) == (had / total, before), (case, said)
        compared += 1
    assert compared > 150


def test_what_cannot_be_answered_is_refused():
    kinds, rows = scene(random.Random(5))
    rows = [(name, 1, kind, "ab"[i % 2]) for i, (name, _, kind, _) in enumerate(rows)]
    kinds = {k: dict.fromkeys(VALUES, Fraction(1, 4)) for k in "xy"}
    known, release = asked(kinds, rows, ["Ann = a", "Ann = b"])
    with pytest.raises(fk.ForeknowError, match="cannot hold together"):
        known.posterior(release, "Ann", "a")
    with pytest.raises(fk.ForeknowError, match="ask for their posteriors"):
        known.disclosures(release)
    known, release = asked(kinds, rows, ["Ann = a"])
    few = fk.Statements("Ann = a", priors=known.priors, budget=1)
    with pytest.raises(fk.ForeknowError, match="takes more than 1 steps"):
        few.posterior(release, "Bob", "a")
    with pytest.raises(fk.InputError, match="priors must be Priors"):
        fk.Statements(priors=fk.Facts())
    with pytest.raises(fk.ForeknowError, match="without further facts"):
        fk.Statements(priors=fk.Priors(list(known.priors.tables), facts=fk.Facts(1)))
