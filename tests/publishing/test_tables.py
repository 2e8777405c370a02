"""The tables of a release: who is in which row, what is drawn at random, and what is not there."""

import copy
import pickle
from collections import Counter
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.people import EASY, bucketized, generalized, made, people, schema

import foreknow as fk
from foreknow.errors import SchemaError
from foreknow.publishing.tables import group_ids
from foreknow.randomness import SecretGenerator, generator
from foreknow_judge.errors import PolicyError


def even(counts, expected, n):
    """Whether so many kinds are as frequent as expected: chi-square, five deviations."""
    total = sum((counts.get(i, 0) - expected) ** 2 / expected for i in range(n))
    return total < n - 1 + 5 * (2 * (n - 1)) ** 0.5


def covers(label, value):
    """Whether a published age ("20 to 37 or missing") or zip ("02*") holds an exact value."""
    if label is None or value is None:
        return label is value or (label or "").endswith("or missing") or label == "*"
    text = label.removesuffix(" or missing")
    if " to " in text:
        low, high = (int(part) for part in text.split(" to "))
        return low <= int(value) <= high
    return all(a in ("*", b) for a, b in zip(text, str(value), strict=True)) or text == "*"


# ---- who is where ------------------------------------------------------------------------------


def test_rows_carry_their_own_values():
    exact = people(200, seed=3).to_pylist()
    rows = made(table=people(200, seed=3)).tables["release"].to_pylist()
    assert sorted(row["row"] for row in rows) == list(range(200))
    for row in rows:
        person = exact[row["row"]]
        assert (row["disease"], row["note"]) == (person["disease"], person["note"])
        assert covers(row["age"], person["age"])
        assert covers(row["zip"], person["zip"])
        assert row["sex"] in (person["sex"], "*")


def test_buckets_hold_exact_quasi_identifiers():
    exact = people(200, seed=3).to_pylist()
    publication = made("bucketized", table=people(200, seed=3))
    tally, counted = Counter(), Counter()
    for row in publication.tables["sensitive"].to_pylist():
        assert row["count"] > 0
        tally[row["group"], row["disease"]] += row["count"]
    for row in publication.tables["people"].to_pylist():
        person = exact[row["row"]]
        assert row["age"] == (None if person["age"] is None else str(person["age"]))
        assert all(row[column] == person[column] for column in ("zip", "sex", "note"))
        counted[row["group"], person["disease"]] += 1
    assert tally == counted
    for name in ("people", "sensitive"):
        ids = publication.tables[name]["group"].to_pylist()
        assert ids == sorted(ids)
        assert set(ids) == set(range(1, publication.certificate.n_groups + 1))


@pytest.mark.parametrize(("form", "name"), [("generalized", "release"), ("bucketized", "people")])
def test_dropped_rows_are_nowhere(form, name):
    table = people(80)
    holes = [None if i % 7 == 0 else x for i, x in enumerate(table["disease"].to_pylist())]
    table = table.set_column(table.column_names.index("disease"), "disease", pa.array(holes))
    rows = made(form, table=table, roles=schema(missing="drop")).tables[name].to_pylist()
    assert sorted(row["row"] for row in rows) == [i for i in range(80) if i % 7]
    assert form == "bucketized" or all(row["disease"] == holes[row["row"]] for row in rows)


# ---- in what order -----------------------------------------------------------------------------


def drawn(form, groups, random, times):
    """The table of people in one form, so many times; the column `row` is no quasi-identifier."""
    columns = {"age": groups, "row": range(len(groups)), "disease": ["s", "t"] * (len(groups) // 2)}
    roles = fk.Schema(quasi_identifiers=["age"], other=["row"], sensitive="disease")
    microdata, n = fk.Microdata(pa.table(columns), roles), max(groups) + 1
    for _ in range(times):
        if form == "generalized":
            yield generalized(microdata, np.array(groups), n, {}, random)["release"]
        else:
            yield bucketized(microdata, np.array(groups), group_ids(n, random), random)["people"]


def test_every_order_of_a_group():
    tables = drawn("generalized", [0] * 4, np.random.default_rng(1), 480)
    seen = Counter(tuple(table["row"].to_pylist()) for table in tables)
    assert len(seen) == 24
    assert even(dict(enumerate(seen.values())), 20, 24)


def test_every_number_of_a_group():
    seen = Counter()
    for table in drawn("bucketized", [0, 0, 1, 1, 2, 2], np.random.default_rng(2), 300):
        id_of = {row["age"]: row["group"] for row in table.to_pylist()}
        seen[tuple(id_of[age] for age in "012")] += 1
    assert len(seen) == 6
    assert even(dict(enumerate(seen.values())), 50, 6)


def test_groups_in_order_of_labels():
    """In both tables the published groups are (0*, f) and (0*, m).

    Only who of them has the least zip code differs, which the labels hide.
    """

    def order(zips):
        table = pa.table({"zip": zips, "sex": list("ffmm"), "disease": list("stst")})
        roles = fk.Schema(
            quasi_identifiers=["zip", "sex"], sensitive="disease", hierarchies={"zip": fk.Mask(2)}
        )
        microdata, groups = fk.Microdata(table, roles), np.array([0, 0, 1, 1])
        release = generalized(microdata, groups, 2, {}, np.random.default_rng(0))["release"]
        return release.select(["zip", "sex"]).to_pylist()

    assert order(["00", "02", "01", "03"]) == order(["01", "03", "00", "02"])


class TwoOfOneLabel:
    """A method whose two groups both read "1 to 5": the first two people, and the rest."""

    def partition(self, microdata, policy, *, seed=None):
        return np.array([0] * 2 + [1] * 6)


@pytest.mark.parametrize("fmt", ["csv", "parquet"])
def test_groups_that_read_alike(fmt):
    disease = ["AIDS"] * 2 + ["Flu", "Cold"] * 3
    table = pa.table({"age": [1, 5, 1, 2, 3, 4, 5, 5], "disease": disease})
    microdata = fk.Microdata(table, fk.Schema(quasi_identifiers=["age"], sensitive="disease"))
    options = fk.PublishOptions(format=fmt, labels={"age": "exact"})
    orders = []
    for _ in range(times := 30 if NIGHTLY else 12):
        publication = fk.publish(microdata, EASY, method=TwoOfOneLabel(), options=options)
        assert publication.certificate.n_groups == 1
        release = publication.tables["release"]
        assert set(release["age"].to_pylist()) == {"1 to 5"}
        orders.append(tuple(release["disease"].to_pylist()))
    assert len({*orders}) > times / 2
    assert all(sorted(order) == sorted(disease) for order in orders)
    # By chance they come first in one order of 28.
    assert sum(order[:2] == ("AIDS", "AIDS") for order in orders) < times / 3


# ---- in what words -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "style", "hierarchy", "label"),
    [
        ([20, 37, 25, 99], None, None, "20 to 37"),
        (["f", "m", "x"], None, None, "f | m"),
        (["120", "127", "999"], None, fk.Mask(3), "12*"),
        (["low", "middle", "high"], None, fk.Ordered(["low", "middle", "high"]), "low to middle"),
        # A style that is asked for replaces the usual one.
        ([20, 37, 25, 99], "set", None, "20 | 25 | 37"),
        (["120", "127", "999"], "range", fk.Mask(3), "120 to 127"),
        (["120", "127", "999"], "set", fk.Mask(3), "120 | 127"),
    ],
)
def test_each_column_has_its_style(values, style, hierarchy, label):
    """One group of all values but the last."""
    table = pa.table({"q": values, "disease": ["s"] * len(values)})
    hierarchies = {} if hierarchy is None else {"q": hierarchy}
    roles = fk.Schema(quasi_identifiers=["q"], sensitive="disease", hierarchies=hierarchies)
    groups = np.array([0] * (len(values) - 1) + [1])
    styles = {} if style is None else {"q": style}
    microdata = fk.Microdata(table, roles)
    release = generalized(microdata, groups, 2, styles, np.random.default_rng(0))["release"]
    assert {*release["q"].to_pylist()} - {str(values[-1])} == {label}


@pytest.mark.usefixtures("tiny_tables")
def test_styles_that_columns_cannot_have():
    for styles, said in (
        ({"sex": "range"}, "'sex' is text without an order"),
        ({"age": "hierarchy"}, "'age' has no hierarchy"),
    ):
        with pytest.raises(PolicyError, match=said):
            made(labels=styles)
    labels = made(labels={"age": "set"}).tables["release"]["age"].to_pylist()
    assert any(label is not None and " | " in label for label in labels)


def test_columns_called_group_or_count():
    names = ["name", "group", "age", "zip", "sex", "note", "secret", "disease"]
    table, roles = people().rename_columns(names), schema(other=["group"])
    assert "group" in made(table=table, roles=roles).tables["release"].column_names
    with pytest.raises(SchemaError, match="'group'"):
        made("bucketized", table=table, roles=roles)
    for name in ("group", "count"):
        plain = pa.table({"age": [1, 1], name: ["s", "t"]})
        roles = fk.Schema(quasi_identifiers=["age"], sensitive=name)
        with pytest.raises(SchemaError, match="must not be called"):
            made("bucketized", table=plain, roles=roles)


# ---- the generator -----------------------------------------------------------------------------


def draw(seed=b"a"):
    return SecretGenerator(seed.ljust(32))


def shuffled(g, x):
    g.shuffle(x)
    return x


@pytest.mark.parametrize(
    "order",
    [
        lambda g: g.permutation(4),
        lambda g: g.permutation(np.arange(4)),
        lambda g: g.permutation([0, 1, 2, 3]),
        lambda g: shuffled(g, np.arange(4)),
        lambda g: shuffled(g, [0, 1, 2, 3]),
        lambda g: g.choice(4, 4, replace=False),
    ],
)
def test_every_order_is_as_likely(order):
    g, ways = draw(), list(permutations(range(4)))
    seen = Counter(ways.index(tuple(map(int, order(g)))) for _ in range(1200))
    assert even(seen, 50, 24)


@pytest.mark.parametrize(
    ("numbers", "n"),
    [
        (lambda g: g.integers(7, size=7000), 7),
        (lambda g: g.integers(-3, 4, size=(70, 100)) + 3, 7),
        (lambda g: g.integers(0, np.full(7000, 7)), 7),
        (lambda g: g.integers(np.full(7000, -3), 4) + 3, 7),
        (lambda g: [g.integers(7) for _ in range(2000)], 7),
        (lambda g: (g.random(7000) * 7).astype(int), 7),
        (lambda g: [int(g.random() * 7) for _ in range(2000)], 7),
        (lambda g: np.frombuffer(g.bytes(7000), np.uint8) % 8, 8),
        # Of three quarters of all words, a remainder alone would prefer the lower third.
        (lambda g: g.integers(0, np.full(30_000, 3 << 61), size=30_000) // (1 << 61), 3),
    ],
)
def test_every_number_is_as_likely(numbers, n):
    seen = Counter(np.asarray(numbers(draw())).ravel().tolist())
    assert set(seen) == set(range(n))
    assert even(seen, sum(seen.values()) / n, n)


def test_the_generator_is_like_numpy():
    for given in ((0, 0), (np.array([1, 0]),), (np.array([2, 3]), np.array([3, 3]))):
        with pytest.raises(ValueError, match=r"low >= high|high <= 0"):
            draw().integers(*given, size=2)
    g = draw()
    normal = g.normal(2, 3, size=40_000)
    assert abs(normal.mean() - 2) < 0.1
    assert abs(normal.std() - 3) < 0.1
    taken = g.hypergeometric(np.full(5000, 30), 10, 20)
    assert abs(taken.mean() - 15) < 0.2
    many = g.multivariate_hypergeometric([5, 10, 20], 35, method="marginals")
    assert many.tolist() == [5, 10, 20]
    assert (g.random(3).shape, g.random((2, 3)).shape) == ((3,), (2, 3))
    assert g.permutation(0).tolist() == []
    assert g.random(4).tolist() != g.random(4).tolist()


def test_keys_seeds_and_copies():
    one, same, other = (draw(key).permutation(1000).tolist() for key in (b"a", b"a", b"b"))
    assert one == same != other
    assert SecretGenerator().random(4).tolist() != SecretGenerator().random(4).tolist()
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="not copied"):
            copied(SecretGenerator())
    assert generator(7, "x").bit_generator.state["bit_generator"] == "PCG64"
    with pytest.raises(fk.InputError, match="x: seed"):
        generator(-1, "x")


@pytest.mark.thinned(2)
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize(
    "method",
    [
        *(fk.Mondrian(), fk.Mondrian(refine=0.1), fk.Anatomy(l=2)),
        *(fk.Streamliner(l=2, variant=variant) for variant in ("rda", "ria", "gsa")),
        *(fk.Decoy(), fk.FullDomain(), None),
    ],
    ids=repr,
)
def test_nothing_published_comes_of_seeds(method, form, monkeypatch):
    """Numbers that are the same for everybody have a seed that stands in the program."""
    ask = np.random.default_rng

    def seeded(seed=None):
        assert seed is not None, "drawn from a generator that gives its state away"
        return ask(seed)

    monkeypatch.setattr(np.random, "default_rng", seeded)
    roles = {"identifiers": ["name"], "quasi_identifiers": ["age", "sex"], "sensitive": "disease"}
    policy = fk.Policy.from_dict(
        {
            "schema": roles,
            "publish": {"form": form},
            "require": [{"facts": {"l": 0, "k": 0, "m": 0}, "below": 0.9}],
        }
    )
    columns = {"name": range(200), "age": [20 + i % 9 for i in range(200)], "sex": [*"mf"] * 100}
    table = pa.table({**columns, "disease": [f"d{i % 5}" for i in range(200)]})
    publication = fk.publish(fk.Microdata(table, policy.schema), policy, method=method)
    assert not publication.certificate.seeded
    assert sum(table.num_rows for table in publication.tables.values()) >= 200
