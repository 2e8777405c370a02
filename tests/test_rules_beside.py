"""Rules on a column bear on a secret that stands beside it in each row."""

import random
from collections import Counter
from itertools import product

import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.oracle.impossible_worlds import worst_cases, worst_negations

from foreknow_judge.impossible import Rules
from foreknow_judge.verdicts import verdicts
from foreknow_judge.written import Written

FAMILIES = range(20_000 if NIGHTLY else 200)
MOST = (2, 2, 0)
AMOUNTS = [*product(range(MOST[0] + 1), range(MOST[1] + 1))]
COLUMNS = ("ill", "test")


def family(rng, most=6):
    """Groups of ((ill, test), which rules are about a person); and rules of (column, values)."""
    values = {"ill": "abc"[: rng.choice([2, 3, 3])], "test": "xyz"[: rng.choice([2, 2, 3])]}
    columns = [
        "test",
        *(rng.choice(["test", "test", "ill"]) for _ in range(rng.choice([0, 0, 1, 2]))),
    ]
    rules = [
        (name, frozenset(rng.sample(values[name], rng.choice([1, len(values[name]) - 1]))))
        for name in columns
    ]
    groups = []
    for _ in range(rng.choice([1, 1, 2])):
        group = []
        for _ in range(rng.randint(2, most)):
            fires = tuple(rng.random() < 0.45 for _ in rules)
            left = [
                own for own in product(*values.values()) if not is_impossible(own, rules, fires)
            ]
            if left:
                favourite = rng.choice(left)
                group.append((favourite if rng.random() < 0.7 else left[0], fires))
        if group:
            groups.append(group)
    return (groups, rules) if groups else family(rng, most)


def is_impossible(pair, rules, fires):
    """Whether somebody of whom some rules are cannot have a pair of values."""
    own = dict(zip(COLUMNS, pair, strict=True))
    return any(on and own[name] in values for (name, values), on in zip(rules, fires, strict=True))


def asked_of(groups, rules):
    """The same as the oracle takes it: each person's pair, and which pairs they cannot have."""
    pairs = [*product("abc", "xyz")]
    return [
        [
            (own, frozenset(pair for pair in pairs if is_impossible(pair, rules, fires)))
            for own, fires in group
        ]
        for group in groups
    ]


def table_of(groups, rules):
    """People with a column for each rule, which says whether it is about them."""
    rows = [(f"g{g}", *own, fires) for g, group in enumerate(groups) for own, fires in group]
    columns = {f"c{i}": ["ny"[fires[i]] for *_, fires in rows] for i in range(len(rules))}
    people = zip(("at", *COLUMNS), zip(*(row[:3] for row in rows), strict=True), strict=True)
    return pa.table({name: [*own] for name, own in people} | columns)


def rules_of(rules, table):
    """The rules as a policy has them, but for those that are about nobody."""
    return [
        {"values": sorted(values), "where": {f"c{i}": ["y"]}, "sensitive": name}
        for i, (name, values) in enumerate(rules)
        if "y" in table[f"c{i}"].to_pylist()
    ]


def written_of(table, rules, form="generalized"):
    """A release that shows of everybody which rules are about them."""
    shown = [name for name in table.column_names if name not in ("at", *COLUMNS)]
    parts = dict.fromkeys(COLUMNS, "release")
    tables = {"release": table}
    if form == "bucketized":
        rows = Counter(zip(*(table[name].to_pylist() for name in ("at", *COLUMNS)), strict=True))
        columns = dict(zip(("at", *COLUMNS), zip(*rows, strict=True), strict=True))
        held = pa.table({**columns, "count": [str(n) for n in rows.values()]})
        tables = {"people": table.drop_columns(COLUMNS), "sensitive": held}
        parts = dict.fromkeys(COLUMNS, "sensitive")
    return Written(form, ["at"], "ill", tables, parts=parts, beside=shown, rules=Rules(rules))


def first_of(pair):
    return pair[0]


def asks(known, **more):
    return {**known, "below": "1", "knowing": [], **more}


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_figures_are_never_below_worlds(form):
    """Facts, of each value and of sets, in both forms; nearly always as worlds have it."""
    seen = Counter()
    families = FAMILIES if form == "generalized" else FAMILIES[::4]
    for seed in families:
        groups, rules = family(random.Random(seed))
        table = table_of(groups, rules)
        worlds = asked_of(groups, rules)
        written = written_of(table, rules_of(rules, table), form)
        asked, truth = [], []
        values = sorted({own[0] for group in groups for own, _ in group})
        for value in values:
            each = [worst_cases([group], value, MOST, first_of) for group in worlds]
            for l, k in AMOUNTS:  # noqa: E741
                asked.append(asks({"facts": {"l": l, "k": k}}, values=[value]))
                truth.append(max(worst[l, k, 0] for worst in each))
        if len(values) == 3 and any(own["sensitive"] == "test" for own in written.rules.tables):
            merged = [[((first_of(own), own[1]), cannot) for own, cannot in g] for g in worlds]
            each = [worst_cases([group], "s", MOST, of_a_set) for group in merged]
            for l, k in AMOUNTS:  # noqa: E741
                asked.append(asks({"facts": {"l": l, "k": k}}, any_of=[*"ab"]))
                truth.append(max(worst[l, k, 0] for worst in each))
        for table, verdict, least in zip(asked, verdicts(written, asked), truth, strict=True):
            assert verdict.reached >= least, (seed, groups, rules, table)
            seen["inner" if 0 < least < 1 else "trivial", verdict.reached == least] += 1
    assert seen["inner", True] > 5 * seen["inner", False]
    assert seen["inner", True] > len(families) / 2


def of_a_set(pair):
    return "s" if pair[0] in "ab" else pair[0]


def test_negations_are_never_below_worlds():
    inner = 0
    for seed in FAMILIES[::5]:
        groups, rules = family(random.Random(seed), 4)
        table, worlds = table_of(groups, rules), asked_of(groups, rules)
        written = written_of(table, rules_of(rules, table))
        for value in sorted({own[0] for group in groups for own, _ in group}):
            asked = [asks({"negations": {"k": k}}, values=[value]) for k in range(3)]
            for k, verdict in enumerate(verdicts(written, asked)):
                least = max(worst_negations([group], value, k, first_of) for group in worlds)
                assert verdict.reached >= least, (seed, groups, rules, value, k)
                inner += 0 < least < 1
    assert inner > len(FAMILIES[::5]) / 2
