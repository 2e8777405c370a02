"""Words and figures: nothing hidden or rounded to the wrong side; charts."""

import io
import json
import logging
import random
import re
import time
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.examples import NIGHTLY
from tests.report.reading import Reader

import foreknow as fk
from foreknow.adversaries.disclosure import Disclosure
from foreknow.features.attacks.page import interval_text
from foreknow.report import render
from foreknow.report.chart import Axis, Chart, Series, round_numbers
from foreknow.report.console import progress
from foreknow.report.knowledge import share_text
from foreknow.report.words import (
    limit_text,
    measure_text,
    percent,
)
from foreknow.shown_numbers import percentage, significant


def shown(exact, limit, digits=0):
    exact = Fraction(exact)
    return percent(Disclosure("AIDS", float(exact), lambda: exact), Fraction(limit), digits)


def test_one_is_in_the_singular():
    counts = fk.GroupCounts.from_bags([["Flu"]])
    for criterion, said in (
        (fk.LDiversity(1), "the least diverse group has 1 value; required: at least 1"),
        (fk.LDiversity(1, kind="entropy"), "as diverse as a single value"),
        (fk.AlphaK(1, 1), "the smallest group has one person"),
    ):
        assert said in criterion.attained(counts).words
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    policy = fk.Policy([fk.Requirement(fk.Facts(), "1/2")], schema=schema)
    for method in ("mondrian", "fulldomain", "decoy"):
        with pytest.raises(fk.NoSafeRelease, match="one group of the only person is safe"):
            fk.publish(pa.table({"age": [3], "ill": ["Flu"]}), policy, method=method)
    with pytest.raises(fk.InputError, match="has one person but 2 values"):
        fk.GroupCounts.from_pairs(
            np.array([0, 0]), np.array([0, 1]), values=["a", "b"], n_groups=1, sizes=np.array([1])
        )


# ---- rounding: 0% and 100% are printed only of what is that --------------------------------------


def number_of(text):
    return Fraction(text.replace(",", "").removesuffix("%")) / (100 if text.endswith("%") else 1)


def fractions(n):
    """Fractions of all kinds: simple, near 0 and 1, near a rounded one, long."""
    draw = random.Random(15)
    yield from (Fraction(a, b) for b in range(1, 40 if NIGHTLY else 13) for a in range(b + 1))
    for _ in range(n if NIGHTLY else n // 10):
        bits, side = draw.choice([4, 10, 30, 60]), draw.choice([-1, 1])
        yield Fraction(draw.randrange(2**bits + 1), 2**bits)
        near = Fraction(draw.randrange(1001), 1000) + Fraction(side, 10 ** draw.randrange(5, 25))
        yield min(max(near, Fraction(0)), Fraction(1))


def test_figures_keep_to_their_side():
    """What is the most is rounded up, and what is the least down."""
    for share in fractions(3000):
        figures = [
            (Fraction(1, 2 * 10 ** (digits + 2)), [percentage(share, digits, to) for to in ROUNDED])
            for digits in (0, 1, 2)
        ]
        figures.append((share * Fraction(1, 2000), [significant(share, 4, to) for to in ROUNDED]))
        for off, (least, near, most) in figures:
            assert number_of(least) <= share <= number_of(most)
            for said in (least, near, most):
                assert (number_of(said) in (0, 1)) == (share in (0, 1))
            assert abs(number_of(near) - share) <= off
        assert (share_text(share) in ("0%", "100%")) == (share in (0, 1))
        assert abs(number_of(share_text(share)) - share) <= share * Fraction(1, 200)
        assert (measure_text(float(share)) in ("0%", "100%")) == (float(share) in (0.0, 1.0))


ROUNDED = ("down", "nearest", "up")


@given(
    st.fractions(0, 1, max_denominator=10**13),
    st.fractions(0, 1, max_denominator=10**4).filter(bool),
    st.integers(0, 3),
    st.sampled_from(["nearest", "up"]),
)
def test_probabilities_beside_their_limit(exact, limit, digits, to):
    for share in (exact, limit - Fraction(1, 10**9), limit + Fraction(1, 10**18), limit):
        share = min(max(share, Fraction(0)), Fraction(1))
        disclosure = Disclosure("AIDS", float(share), lambda share=share: share)
        text = percent(disclosure, limit, digits, to)
        if share == limit:
            assert text == limit_text(limit)
            continue
        number = number_of(text)
        assert (number < limit, number > limit) == (share < limit, share > limit)
        assert (number == 0, number == 1) == (share == 0, share == 1)
        assert abs(number - share) <= Fraction(1, 100)
        assert to == "nearest" or number >= share


def test_intervals_are_rounded_outwards():
    draw = random.Random(3)
    for _ in range(2000 if NIGHTLY else 200):
        low, mean, high = sorted(draw.random() ** draw.choice([1, 9]) for _ in range(3))
        matches = re.findall(r"[\d.]+%", interval_text(mean, low, high, 1))
        assert number_of(matches[1]) <= Fraction(repr(low))
        assert number_of(matches[2]) >= Fraction(repr(high))
    assert interval_text(0.5, 0.0, 1.0) == "50% (0% to 100%)"
    assert "100%" not in interval_text(0.9999, 0.99, 0.99999)


# ---- pages beside their JSON --------------------------------------------------------------------


def release(seed):
    draw = np.random.default_rng(seed)
    n = int(draw.integers(12, 60))
    wards = draw.integers(0, int(draw.integers(2, 6)), n)
    ills = draw.choice([*"abcdefg"][: int(draw.integers(3, 8))], n)
    table = pa.table({"ward": wards, "illness": ills})
    return fk.Release.from_groups(table, group="ward", sensitive="illness")


LIMITS = ["1/2", "0.8", "0.95"]
SEEDS = pytest.mark.parametrize("seed", range(24))


def near(said, true):
    """Whether a percentage is the nearest with its decimals, and 0% or 100% only if exact."""
    decimals, number = len(said.partition(".")[2].removesuffix("%")), number_of(said)
    close = abs(number - true) <= Fraction(1, 2 * 10 ** (decimals + 2))
    return close and (number in (0, 1)) == (true in (0, 1))


@pytest.mark.thinned(4)
@SEEDS
def test_audits_say_no_less(seed):
    facts = fk.Facts(seed // 4 % 3, seed // 4 % 2, seed // 2 % 4)
    audit = fk.audit(release(seed), fk.Policy([fk.Requirement(facts, below=LIMITS[seed % 3])]))
    (verdict,) = audit.verdicts
    true = verdict.disclosure.exact
    assert str(true) in json.dumps(audit.to_dict())
    text = Reader(render(audit).html()).text
    if audit.safe:
        limit = Fraction(LIMITS[seed % 3])
        (only,) = {*map(number_of, re.findall(r"[\d.]+%(?= sure)", text))} - {limit}
        assert true <= only < limit
    else:
        for sure in re.findall(r"Someone who [^.]* can be (?:exactly )?([\d.]+%) sure", text):
            assert near(sure, true)
    exactly = {d.exact for d in (verdict.disclosure, *verdict.others)}
    worst = text.partition("The worst case of every value")[2].partition("Utility")[0]
    assert ("100%" in worst) <= (1 in exactly)


# ---- the progress line: only on terminals, only after a while, never left behind -----------------


@pytest.fixture
def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=60)


def await_shown(console, text):
    """Wait until a thread has drawn it."""
    until = time.monotonic() + 60
    while text not in console.file.getvalue():
        assert time.monotonic() < until, f"{text!r} is not shown"
        time.sleep(0.01)


def test_the_latest_message_vanishes(terminal):
    log, root = logging.getLogger("foreknow.somewhere"), logging.getLogger("foreknow")
    before = root.handlers[:]
    with progress("Publishing", console=terminal, delay=0):
        log.info("counted %d groups[red]", 12)
        await_shown(terminal, "Publishing: counted 12 groups[red]")
    assert terminal.file.getvalue().rstrip().endswith("\x1b[2K")  # the line is erased
    assert (root.handlers, root.level, root.propagate) == (before, logging.NOTSET, True)


# ---- charts ----------------------------------------------------------------------------------


def test_places_are_percents():
    """Of the plot, from the top left."""
    chart = Chart(Axis("", 10, 20), Axis("", 0, 4), [Series((10, None, 20), (0, 1, 3), dash="")])
    assert (chart.left(12.5), chart.top(1)) == ("25", "75")
    assert chart.path(chart.series[0]) == "M0 100M100 25"
    assert list(chart.marks(chart.series[0])) == [("0", "100", ""), ("100", "25", "")]
    assert list(round_numbers(0.83, 2.31)) == [1.0, 1.5, 2.0]
