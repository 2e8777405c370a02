"""Figures are never rounded to the wrong side; 0% and 100% are printed only of what is that."""

import json
import random
import re
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.report.reading import Reader, printed, words

import foreknow as fk
from foreknow.adversaries.disclosure import Disclosure
from foreknow.attacks.page import interval_text
from foreknow.figures import percentage, significant
from foreknow.report import render
from foreknow.report.knowledge import share_text
from foreknow.report.terminal import Laid
from foreknow.report.words import measure_text, percent
from foreknow.skylines.skyline_page import notable_points, value_blocks


def number_of(text):
    return Fraction(text.replace(",", "").removesuffix("%")) / (100 if text.endswith("%") else 1)


def shares(n):
    """Fractions of all kinds: simple, near 0 and 1, near a rounded one, long."""
    draw = random.Random(15)
    yield from (Fraction(a, b) for b in range(1, 40) for a in range(b + 1))
    for _ in range(n):
        bits = draw.choice([4, 10, 30, 60])
        share = Fraction(draw.randrange(2**bits + 1), 2**bits)
        near = Fraction(draw.randrange(1001), 1000) + Fraction(
            draw.choice([-1, 1]), 10 ** draw.randrange(5, 25)
        )
        yield share
        yield min(max(near, Fraction(0)), Fraction(1))


def keep_to_their_side(share, least, near, most):
    assert number_of(least) <= share <= number_of(most)
    for said in (least, near, most):
        assert (number_of(said) in (0, 1)) == (share in (0, 1))


def test_what_is_the_most_is_rounded_up_and_what_is_the_least_down():
    for share in shares(3000):
        for digits in (0, 1, 2):
            least, near, most = (percentage(share, digits, to) for to in ("down", "nearest", "up"))
            keep_to_their_side(share, least, near, most)
            assert abs(number_of(near) - share) <= Fraction(1, 2 * 10 ** (digits + 2))


def test_significant_digits_keep_to_their_side():
    for share in shares(2000):
        least, near, most = (significant(share, 4, to) for to in ("down", "nearest", "up"))
        keep_to_their_side(share, least, near, most)
        assert abs(number_of(near) - share) <= share * Fraction(1, 2000)
        assert (share_text(share) in ("0%", "100%")) == (share in (0, 1))
        assert abs(number_of(share_text(share)) - share) <= share * Fraction(1, 200)
        assert (measure_text(float(share)) in ("0%", "100%")) == (float(share) in (0.0, 1.0))


def test_a_probability_stays_on_its_side_of_the_limit():
    draw = random.Random(9)
    for share in shares(1500):
        limit = draw.choice([Fraction(1, 2), Fraction(1, 3), Fraction(9, 10), Fraction(1)])
        found = Disclosure("a", float(share), lambda share=share: share)
        for to in ("nearest", "up"):
            said = percent(found, limit, 1, to)
            if share == limit:
                continue
            assert (number_of(said) < limit) == (share < limit)
            assert number_of(said) != limit
            assert (number_of(said) in (0, 1)) == (share in (0, 1))
            assert to == "nearest" or number_of(said) >= share


def test_an_interval_is_rounded_outwards():
    draw = random.Random(3)
    for _ in range(2000):
        low, mean, high = sorted(draw.random() ** draw.choice([1, 9]) for _ in range(3))
        said = re.findall(r"[\d.]+%", interval_text(mean, low, high, 1))
        assert number_of(said[1]) <= Fraction(repr(low))
        assert number_of(said[2]) >= Fraction(repr(high))
    assert interval_text(0.5, 0.0, 1.0) == "50% (0% to 100%)"
    assert "100%" not in interval_text(0.9999, 0.99, 0.99999)


# ---- pages beside their JSON --------------------------------------------------------------------


def release(seed):
    draw = np.random.default_rng(seed)
    n = int(draw.integers(12, 60))
    rows = pa.table(
        {
            "ward": draw.integers(0, int(draw.integers(2, 6)), n),
            "illness": draw.choice([*"abcdefg"][: int(draw.integers(3, 8))], n),
        }
    )
    return fk.Release.from_groups(rows, group="ward", sensitive="illness")


ALL = re.compile(r"(?<![\d.,])[\d,]+(?:\.\d+)?%")
LIMITS = ["1/2", "0.8", "0.95"]


def near(said, true):
    """Whether a percentage is the nearest with its decimals, and 0% or 100% only if exact."""
    decimals = len(said.partition(".")[2].removesuffix("%"))
    shown = number_of(said)
    return abs(shown - true) <= Fraction(1, 2 * 10 ** (decimals + 2)) and (
        (shown in (0, 1)) == (true in (0, 1))
    )


@pytest.mark.thinned(3)
@pytest.mark.parametrize("seed", range(24))
def test_a_skyline_says_at_most_no_less_than_it_is(seed):
    found = fk.skyline_report(release(seed), confidence=LIMITS[seed % 3])
    for value in found.values:
        laid = printed(Laid(value_blocks(found, value)), 160)
        rows = re.findall(r"^ *([\d,]+) +([\d,]+) +([\d,]+) .* ([\d.]+%) *$", laid, re.MULTILINE)
        corners = notable_points(found.corners(value))
        for (*point, said), corner in zip(rows, corners, strict=True):
            assert tuple(int(x.replace(",", "")) for x in point) == corner.point
            true = fk.Facts(*corner.point).disclosure(found.counts, value).exact
            assert true <= number_of(said) < found.confidence
    most = re.findall(r"they can be at most ([\d.]+%) sure", render(found).html())
    every = [corner.found.exact for value in found.values for corner in found.corners(value)]
    for shown in map(number_of, most):  # of those that the page draws, in an order of its own
        assert any(true <= shown < true + Fraction(1, 1000) for true in every)


@pytest.mark.parametrize("seed", range(24))
def test_an_audit_says_only_no_less_than_it_is(seed):
    facts = fk.Facts(seed % 3, seed % 2, seed % 4)
    policy = fk.Policy([fk.Requirement(facts, below=LIMITS[seed % 3])])
    found = fk.audit(release(seed), policy)
    told = json.loads(json.dumps(found.to_dict()))
    (verdict,) = found.verdicts
    true = verdict.disclosure.exact
    assert str(true) in json.dumps(told)
    text = Reader(render(found).html()).text
    if found.safe:
        limit = Fraction(LIMITS[seed % 3])
        (only,) = {*map(number_of, re.findall(r"[\d.]+%(?= sure)", text))} - {limit}
        assert true <= only < limit
    else:
        for sure in re.findall(r"Someone who [^.]* can be (?:exactly )?([\d.]+%) sure", text):
            assert near(sure, true)
    exactly = {d.exact for d in (verdict.disclosure, *verdict.others)}
    worst = text.partition("The worst case of every value")[2].partition("Utility")[0]
    assert ("100%" in worst) <= (1 in exactly)


@pytest.mark.parametrize("seed", range(24))
def test_curves_say_what_their_json_says(seed):
    found = fk.disclosure_curves(release(seed), 4)
    told = found.to_dict()
    lines = re.findall(r"^ *(\d+) +([\d.]+%) =* +([\d.]+%)", printed(found, 120), re.M)
    assert len(lines) == len(found.ks)
    for (_, worst, mild), one, two in zip(lines, found.implications, found.negations, strict=True):
        assert near(worst, one.exact)
        assert near(mild, two.exact)
    for most in re.findall(r"more than ([\d.]+%) sure", Reader(render(found).html()).text):
        assert number_of(most) >= found.implications[-1].exact
    assert told


def test_a_survey_says_what_its_json_says():
    draw = np.random.default_rng(5)
    rows = pa.table({"age": draw.integers(20, 60, 300), "illness": draw.choice([*"aaaaabbc"], 300)})
    schema = fk.Schema(
        quasi_identifiers=["age"],
        sensitive="illness",
        hierarchies={"age": {"intervals": [5, 10, 20]}},
    )
    found = fk.survey(fk.Microdata(rows, schema), [1, 2, 3])
    told = {tuple(node.levels): node.disclosures for node in found.nodes}
    assert told
    for line in printed(found, 140).splitlines():
        cells = ALL.findall(line)
        if len(cells) == len(found.knowledge):
            assert any(all(map(near, cells, map(Fraction, node))) for node in told.values()), line


def test_the_penalty_of_labels_is_not_rounded_to_nothing():
    rows = pa.table({"age": [*range(20, 60)] * 5, "illness": [*"abcde"] * 40})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="illness")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="0.99")], schema)
    made = fk.publish(fk.Microdata(rows, schema), policy)
    penalty = made.audit.utility.average_ncp
    said = re.search(r"generalized by ([\d.]+%) on average", words(made.audit))[1]
    assert (said == "0%") == (penalty == 0)
    assert near(said, Fraction(repr(penalty)))
