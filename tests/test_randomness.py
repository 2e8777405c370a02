"""What is published at random: no seeded generator, and each way as likely as the next."""

import copy
import pickle
from collections import Counter
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.randomness import SecretGenerator, generator

METHODS = [
    fk.Mondrian(),
    fk.Mondrian(refine=0.1),
    fk.Anatomy(l=2),
    fk.Streamliner(l=2, variant="rda"),
    fk.Streamliner(l=2, variant="ria"),
    fk.Streamliner(l=2, variant="gsa"),
    fk.Decoy(),
    fk.FullDomain(),
    None,  # ART, with priors of the table
]


def even(counts, expected, n):
    """Whether so many kinds are as frequent as expected: chi-square, five deviations."""
    found = sum((counts.get(i, 0) - expected) ** 2 / expected for i in range(n))
    return found < n - 1 + 5 * (2 * (n - 1)) ** 0.5


def draw(seed=b"a"):
    return SecretGenerator(seed.ljust(32))


@pytest.mark.parametrize(
    "drawn",
    [
        lambda g: g.permutation(4),
        lambda g: g.permutation(np.arange(4)),
        lambda g: g.permutation([0, 1, 2, 3]),
        lambda g: shuffled(g, np.arange(4)),
        lambda g: shuffled(g, [0, 1, 2, 3]),
        lambda g: g.choice(4, 4, replace=False),
    ],
)
def test_every_order_is_as_likely(drawn):
    g, ways = draw(), list(permutations(range(4)))
    found = Counter(ways.index(tuple(map(int, drawn(g)))) for _ in range(2400))
    assert even(found, 100, 24)


def shuffled(g, x):
    g.shuffle(x)
    return x


@pytest.mark.parametrize(
    ("drawn", "n"),
    [
        (lambda g: g.integers(7, size=7000), 7),
        (lambda g: g.integers(-3, 4, size=(70, 100)) + 3, 7),
        (lambda g: g.integers(0, np.full(7000, 7)), 7),
        (lambda g: g.integers(np.full(7000, -3), 4) + 3, 7),
        (lambda g: [g.integers(7) for _ in range(7000)], 7),
        (lambda g: (g.random(7000) * 7).astype(int), 7),
        (lambda g: [int(g.random() * 7) for _ in range(7000)], 7),
        (lambda g: np.frombuffer(g.bytes(7000), np.uint8) % 8, 8),
    ],
)
def test_every_number_is_as_likely(drawn, n):
    found = Counter(np.asarray(drawn(draw())).ravel().tolist())
    assert set(found) == set(range(n))
    assert even(found, sum(found.values()) / n, n)


def test_numbers_that_do_not_go_up_in_the_words_are_drawn_again():
    """Of three quarters of all words, a remainder alone would prefer the lower third."""
    found = draw().integers(0, np.full(30_000, 3 << 61), size=30_000) // (1 << 61)
    assert even(Counter(found.tolist()), 10_000, 3)


def test_bounds_that_are_none_are_refused_as_numpy_does():
    for given in ((0, 0), (np.array([1, 0]),), (np.array([2, 3]), np.array([3, 3]))):
        with pytest.raises(ValueError, match=r"low >= high|high <= 0"):
            draw().integers(*given, size=2)


def test_other_distributions_are_those_of_numpy():
    g = draw()
    normal = g.normal(2, 3, size=40_000)
    assert abs(normal.mean() - 2) < 0.1
    assert abs(normal.std() - 3) < 0.1
    taken = g.hypergeometric(np.full(5000, 30), 10, 20)
    assert abs(taken.mean() - 15) < 0.2
    assert g.multivariate_hypergeometric([5, 10, 20], 35, method="marginals").tolist() == [
        5,
        10,
        20,
    ]
    assert g.random(3).shape == (3,)
    assert g.random((2, 3)).shape == (2, 3)
    assert g.permutation(0).tolist() == []


def test_a_key_draws_the_same_and_another_something_else():
    one, same, other = (draw(key).permutation(1000).tolist() for key in (b"a", b"a", b"b"))
    assert one == same != other
    assert SecretGenerator().random(4).tolist() != SecretGenerator().random(4).tolist()
    g = draw()
    assert g.random(4).tolist() != g.random(4).tolist()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_nobody_draws_the_same_from_a_copy(copied):
    with pytest.raises(TypeError, match="not copied"):
        copied(SecretGenerator())


def test_a_seed_is_for_tests():
    assert generator(7, "x").bit_generator.state["bit_generator"] == "PCG64"
    with pytest.raises(fk.InputError, match="x: seed"):
        generator(-1, "x")


@pytest.mark.thinned(2)
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_without_a_seed_nothing_that_is_published_comes_of_one(method, form, monkeypatch):
    """Numbers that are the same for everybody have a seed that stands in the program."""
    ask = np.random.default_rng

    def seeded(seed=None):
        assert seed is not None, "drawn from a generator that gives its state away"
        return ask(seed)

    monkeypatch.setattr(np.random, "default_rng", seeded)
    policy = fk.Policy.from_dict(
        {
            "schema": {
                "identifiers": ["name"],
                "quasi_identifiers": ["age", "sex"],
                "sensitive": "disease",
            },
            "publish": {"form": form},
            "require": [{"facts": {"l": 0, "k": 0, "m": 0}, "below": 0.9}],
        }
    )
    rows = [
        {"name": i, "age": 20 + i % 9, "sex": "mf"[i % 2], "disease": f"d{i % 5}"}
        for i in range(200)
    ]
    made = fk.publish(
        fk.Microdata(pa.Table.from_pylist(rows), policy.schema), policy, method=method
    )
    assert not made.certificate.seeded
    assert sum(table.num_rows for table in made.tables.values()) >= 200
