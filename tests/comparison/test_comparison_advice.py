"""What a comparison advises: nothing that shows people without saying so; and what is slow."""

from dataclasses import replace

import numpy as np
import pytest

import foreknow as fk
from foreknow import sample
from foreknow.comparison.comparison import Candidate, _needing, grown
from foreknow.comparison.page import ComparisonPage

WEAK = {"quasi_identifiers": ["age", "sex"], "sensitive": "diagnosis", "below": 0.5}


@pytest.fixture(scope="module")
def found():
    return fk.compare(
        sample.table_path(), **WEAK, limits=[0.5], queries=100, seconds=None, processes=0
    )


def said(found):
    return " ".join(" ".join(ComparisonPage(found)._best()).split())


def test_anatomy_is_not_recommended_without_what_it_shows_and_what_it_teaches(found):
    (anatomy,) = [each for each in found.candidates if each.method == "anatomy"]
    assert anatomy.form == "bucketized"
    assert anatomy.trial is not None
    assert anatomy.trial.measured
    best = replace(found, candidates=tuple(_better(each) for each in found.candidates))
    text = said(best)
    assert "show no exact columns" in text
    assert "but everybody is recognizable in it" in text
    assert "an attacker who learns from it guesses" in text
    alone = replace(best, candidates=tuple(c for c in best.candidates if c.form == "bucketized"))
    assert "answers them best" in said(alone)
    assert "everybody is recognizable in it" in said(alone)


def _better(each):
    return replace(each, query_error=0.0) if each.method == "anatomy" else each


def test_runs_without_a_release_are_folded_into_the_reasons_unless_asked_for(found):
    shown = [row[0] for row in ComparisonPage(found).table().rows]
    nothing = {each.method for each in found.candidates if each.groups is None}
    assert "art" in nothing
    assert not nothing & {*shown}
    assert nothing <= {row[0] for row in ComparisonPage(found).reasons().rows}
    asked = fk.compare(
        sample.table_path(), **WEAK, methods=["art"], limits=[0.5], seconds=None, processes=0
    )
    assert [row[0] for row in ComparisonPage(asked).table().rows] == ["art"]


def test_a_run_that_was_ended_says_how_long_it_takes(found):
    late = Candidate("decoy", found.limit, status="out of time", why="it was ended after 3 seconds")
    late = _needing(late, {16: 0.5, 8: 1.0}, 4000, 3.0)
    assert late.needs == pytest.approx(8.0)
    assert late.why == (
        "it was ended after 3 seconds; it needs about 8.0 seconds by itself, by what it took of "
        "250 and of 500 people"
    )
    text = said(replace(found, candidates=(*found.candidates, late)))
    assert "decoy at 50% is not among these: it was ended after 3 seconds" in text
    assert "foreknow publish --method decoy" in text


def test_times_grow_by_a_power_of_the_people():
    chance = np.random.default_rng(5)
    for power in chance.uniform(1, 4, 1000):
        scale = 10 ** chance.uniform(0, 3)
        took = {part: scale * (1 / part) ** power for part in (16, 8)}
        assert grown(took) == pytest.approx(scale, rel=1e-6)
    assert grown({16: 1.0, 8: 0.5}) == pytest.approx(4.0)  # never less than so many times as long
