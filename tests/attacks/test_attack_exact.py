"""Exact attacks say what plain enumeration says, fraction by fraction; and what is proved."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.attacks.small_methods import (
    Coin,
    agrees,
    enumerated,
    in_buckets,
    microdata,
    naive,
    random_table,
    release_of,
    together,
)
from tests.examples import NIGHTLY
from tests.oracle.decoy import posteriors

import foreknow as fk
from foreknow.methods.proof import FREQUENCIES_ONLY
from foreknow.methods.streamliner.rda import groups_of_plan, plan_rda
from foreknow_judge.errors import UnsupportedError


def as_function(pipeline):
    """A user's pipeline as the oracle runs it."""

    def algorithm(world):
        groups = pipeline(pa.table({"disease": list(world)}))
        return None if groups is None else together(groups)

    return algorithm


def seeds(nightly, daily):
    return pytest.mark.parametrize("seed", range(nightly if NIGHTLY else daily))


CHOICES = {
    6: [["AB|CD|EF", "ABC|DEF", "ABCD|EF"], ["ABC|DEF", "AB|CDEF", "ABCDEF"]],
    5: [["AB|CDE", "ABC|DE", "ABCDE"], ["BCD|AE", "ACD|BE", "ABCDE"]],
}


@seeds(60, 4)
def test_functions(seed):
    """The first safe of several groupings; and what depends on the order of rows."""
    random = np.random.default_rng(seed)
    people = int(random.integers(5, 7))
    first_safe = naive(CHOICES[people][seed % 2], Fraction(["1/2", "2/3"][seed // 2 % 2]))

    def in_order(rows):
        values = rows["disease"].to_pylist()
        return ["x" if value == values[0] else i % 2 for i, value in enumerate(values)]

    for pipeline in (first_safe, in_order):
        values, _, found = random_table(random, people, {"age": 4}, int(random.integers(2, 5)))
        algorithm = as_function(pipeline)
        if algorithm(tuple(values)) is None:
            with pytest.raises(fk.NoSafeRelease):
                fk.attack(found, pipeline)
            continue
        agrees(fk.attack(found, pipeline), values, *enumerated(algorithm, values))


@seeds(10, 2)
def test_random_methods_by_seeds(seed):
    random, method = np.random.default_rng(seed), Coin(["AB|CD|EF", "ABC|DEF"])

    def algorithm(world):
        found, chances = microdata(list(world), age=[0] * 6), Counter()
        for own in range(4):
            try:
                release = together(method.partition(found, seed=own).tolist())
            except fk.NoSafeRelease:
                continue
            chances[release] += Fraction(1, 4)
        return dict(chances)

    values = []
    while not method.safe(np.array(values or ["a"] * 6)):
        values, _, found = random_table(random, 6, {"age": 4}, 3)
    groups = method.partition(found, seed=0).tolist()
    expected = posteriors(values, groups, algorithm, together(groups))
    agrees(fk.attack(found, method, seeds=range(4)), values, *expected)


# ---- what is proved ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [*(fk.Streamliner(2, v) for v in ("rda", "ria", "gsa")), fk.Anatomy(2), fk.Decoy()],
    ids=repr,
)
def test_any_size_is_settled_by_proof(method):
    """Of a table too large to say how probable its groups are; what is never made is refused."""
    people = 3_000 if method != fk.Streamliner(2, "ria") else 300
    ages, values = [i % 61 for i in range(people)], list("aabbcd") * (people // 6)
    found = microdata(values, age=ages)
    policy = in_buckets([fk.Requirement(fk.Facts(), below="2/3", knowing=[])], found)
    groups = method.partition(found, policy, seed=1)
    told = fk.attack(found, method, policy, groups=groups)
    by_bound = isinstance(method, fk.Decoy)
    assert (told.looked, told.found, told.undecided) == (0, False, False)
    assert (told.how, told.cases, told.unsettled) == ("bound" if by_bound else "proof", (), ())
    # A release says the same to who has no table: at most the limit, or the frequency.
    release = release_of(values, groups, age=ages)
    seen = fk.Algorithm(method, policy).disclosure(release, "a")
    assert not seen.estimated
    if by_bound:
        assert (seen.probability, seen.bounded) == (float(Fraction(2, 3)), True)
    else:
        assert "same" in told.proof
        assert f"The proof: {told.proof}." in told._repr_html_()
        assert told.to_dict()["proof"] == told.proof
        assert seen.exact == fk.Facts().disclosure(release, "a").exact
        mine = [v for v, g in zip(values, groups.tolist(), strict=True) if g == groups[0]]
        for value in "abcd":
            said = told.posterior(1, value)
            assert isinstance(said, Fraction)
            assert said == Fraction(mine.count(value), len(mine))
    alone = np.where(np.asarray(found.sensitive_codes) == 0, groups.max() + 1, groups)
    with pytest.raises(fk.InputError, match="does not make these groups"):
        fk.attack(found, method, policy, groups=np.unique(alone, return_inverse=True)[1])


def test_releases_of_lots_are_judged():
    """By themselves, without the table."""
    raw = microdata("aabb", q=[1, 2, 3, 4])
    release = release_of("aabb", fk.Streamliner(2).partition(raw), q=[1, 2, 3, 4])
    found = fk.Algorithm(fk.Streamliner(2), schema=raw.schema).disclosure(release)
    assert (found.exact, found.estimated) == (Fraction(1, 2), False)
    with pytest.raises(UnsupportedError, match="symmetric=True"):
        fk.Algorithm(fk.Streamliner(2), schema=raw.schema, seeds=[1]).disclosure(release)


# ---- groups of one label are one group to a reader, also of drawn groups -------------------------


def rda(values, l, lots):  # noqa: E741
    codes = np.array(["abcdef".index(v) for v in values])
    sizes = np.bincount(codes)
    return groups_of_plan(plan_rda(sizes, l), codes, sizes, lots).tolist()


def large(method, below, form="generalized", n=160):
    """An attack on people of few ages, so that many groups look alike."""
    table = microdata(list("abcdefgh") * (n // 8), age=[i % 3 for i in range(n)])
    asked = [fk.Requirement(fk.Facts(), below=below, knowing=[])]
    policy = fk.Policy(asked, table.schema, fk.PublishOptions(form=form))
    return fk.attack(table, method, policy, seed=1)


@pytest.mark.parametrize("variant", ["gsa", "ria"])
def test_a_limit_below_the_bound(variant):
    """It is not called kept: groups that look alike hold an eighth of each; the proof says 1/2."""
    found = large(fk.Streamliner(2, variant), "1/3")
    assert (found.how, found.exact, found.highest) == ("bound", False, Fraction(1, 2))
    assert len(found.unsettled) > 140
    assert not found.found
    assert "a limit is below the bound" in found._repr_html_()
    assert "no higher than 1/2" in found._repr_html_()
    assert found.to_dict()["highest"] == "1/2"
    with pytest.raises(fk.InputError, match="exceeds 1/2"):
        found.posterior(1, "a")
    found = large(fk.Streamliner(2, variant), "2/3")
    assert (found.how, found.unsettled, found.cases) == ("bound", (), ())
    assert repr(found) == "Attack(Streamliner: no posterior above 1/2)"
    assert "By a proof, no posterior exceeds 1/2" in found._repr_html_()


class Dealt:
    """Only frequencies are told, and there is no bound."""

    traits = fk.Traits(proof=FREQUENCIES_ONLY)

    def __repr__(self):
        return "Dealt"

    def partition(self, found, policy=None, seed=None):
        return np.arange(found.n_rows) % (found.n_rows // 2)


@pytest.mark.parametrize(
    ("method", "below", "form", "how"),
    [
        (fk.Streamliner(2, "gsa"), "1/3", "bucketized", "proof"),
        (fk.Streamliner(2), "1/3", "generalized", "proof"),
        (fk.Anatomy(4), "1/3", "generalized", "proof"),
        (fk.Anatomy(3), "1/4", "generalized", "bound"),  # 160 is no multiple of 3
        (fk.Streamliner(3), "1/4", "generalized", "bound"),
        (Dealt(), "2/3", "bucketized", "proof"),
    ],
    ids=str,
)
def test_where_the_proof_holds(method, below, form, how):
    """Where groups are told apart, or are equally large."""
    found = large(method, below, form)
    assert found.how == how
    assert bool(found.unsettled) == (how == "bound")
    with pytest.raises(fk.InputError, match="bucketized form"):
        large(Dealt(), "2/3", n=64)
