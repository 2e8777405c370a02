"""Cross tables and groups of models, against counting by hand on small tables drawn at random."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY

import foreknow as fk
from foreknow.data.labels import text_of

SEEDS = range(500 if NIGHTLY else 12)


def table(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))

    def gaps(values, share):
        return [None if rng.random() < share else value for value in values]

    numbers = rng.integers(0, int(rng.integers(4, 30)), n).tolist()
    return pa.table(
        {
            "n": pa.array(gaps(numbers, rng.choice([0, 0.2])), pa.int64()),
            "t": pa.array(gaps(rng.choice(list("abc"), n).tolist(), rng.choice([0, 0.2]))),
            "x": pa.array(rng.normal(0, 1, n).round(1)),
            "d": pa.array(rng.choice(["v", "w", "w"], n).tolist()),
        }
    )


def bands(numbers):
    """Fifths of the people, by counting."""
    known = sorted(number for number in numbers if number is not None)
    edges = []
    for fifth in range(1, 5):
        number = known[max(0, math.ceil(fifth * len(known) / 5) - 1)]
        if number > known[0] and number not in edges:
            edges.append(number)
    return edges or [min(number for number in known if number > known[0])]


def cell(value, edges, known):
    if value is None:
        return "missing"
    if edges is not None:
        return None if isinstance(value, str) else sum(value >= edge for edge in edges)
    return text_of(value) if text_of(value) in known else None  # such as "*", or "other"


def cells(columns, names, edges, raw):
    known = {name: set(map(text_of, raw[name])) for name in names}
    rows = zip(*(columns[name] for name in names), strict=True)
    found = {}
    for row in rows:
        pairs = zip(row, names, strict=True)
        key = tuple(cell(value, edges.get(name), known[name]) for value, name in pairs)
        found[key] = found.get(key, 0) + 1
    return found


def cramer(counted):
    counted = {key: many for key, many in counted.items() if None not in key}
    rows, values = ({key[i] for key in counted} for i in range(2))
    if min(len(rows), len(values)) < 2:
        return None
    total = sum(counted.values())
    squared = Fraction(0)
    for row in rows:
        for value in values:
            of_row = sum(many for key, many in counted.items() if key[0] == row)
            of_value = sum(many for key, many in counted.items() if key[1] == value)
            expected = Fraction(of_row * of_value) / Fraction(total)
            squared += (Fraction(counted.get((row, value), 0)) - expected) ** 2 / expected
    return math.sqrt(squared / total / (min(len(rows), len(values)) - 1))


def correlation(a, b):
    pairs = zip(a, b, strict=True)
    pairs = [pair for pair in pairs if not any(x is None or isinstance(x, str) for x in pair)]
    if len(pairs) < 2 or min(len(set(own)) for own in zip(*pairs, strict=True)) < 2:
        return None
    means = [math.fsum(own) / len(pairs) for own in zip(*pairs, strict=True)]
    xy, xx, yy = (
        math.fsum((pair[i] - means[i]) * (pair[j] - means[j]) for pair in pairs)
        for i, j in ((0, 1), (0, 0), (1, 1))
    )
    return xy / math.sqrt(xx * yy)


def same(found, wanted):
    if wanted is None:
        return found is None
    return found == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_cross_tables_are_those_that_are_counted_by_hand(seed, tmp_path):
    raw = table(seed)
    schema = {"quasi_identifiers": ["n", "t"], "other": ["x"], "sensitive": "d"}
    policy = fk.Policy.of({"schema": schema, "require": [{"k_anonymity": 3}]})
    microdata = policy.microdata(raw)
    try:
        made = fk.publish(microdata, policy, seed=seed)
    except (fk.NoSafeRelease, fk.InputError):
        return
    made.write(tmp_path / "release")
    found = fk.utility_report(
        made, microdata, queries=1, models=True, draws=2, seed=seed, by=["n", "t", "x"]
    ).models
    draws = [
        fk.draw(tmp_path / "release", seed=seed + i, library="arrow").to_pydict() for i in range(2)
    ]
    columns = raw.to_pydict()
    numeric = {
        name
        for name in ("n", "x")
        if len({value for value in columns[name] if value is not None}) > 2
    }
    edges = {name: bands(columns[name]) for name in numeric}
    assert len(found.tables) == 6
    for own in found.tables:
        a, b = own.columns
        counted = cells(columns, own.columns, edges, columns)
        several = [cells(each, own.columns, edges, columns) for each in draws]
        both = {*counted, *(key for each in several for key in each)}
        n = raw.num_rows
        off = sum(
            abs(Fraction(counted.get(key, 0)) - Fraction(sum(e.get(key, 0) for e in several), 2))
            for key in both
        ) / (2 * n)
        assert own.misplaced.drawn == pytest.approx(float(off))
        assert sum(map(sum, own.raw)) == n
        assert sorted(many for row in own.raw for many in row if many) == sorted(counted.values())
        if own.measure == "r":
            assert {a, b} <= numeric
            figures = [correlation(each[a], each[b]) for each in (columns, *draws)]
        else:
            figures = [cramer(each) for each in (counted, *several)]
        assert same(own.association.raw, figures[0])
        known = None if None in figures[1:] else sum(figures[1:]) / 2
        assert same(own.association.drawn, known)
