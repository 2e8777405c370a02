"""What labels are about is told of plain numbers as `Extents` tells it."""

import os
import random

import pyarrow as pa
import pytest

from foreknow.data.meaning import meanings_of as read
from foreknow.publishing.code_book import about_of
from foreknow.publishing.extents import Extents

ODD = [
    None,
    "*",
    "missing",
    "007",
    "5 to 07",
    "-0",
    "-0.0",
    "1e5",
    "1.",
    "+5",
    "old",
    "1 to 2 to 3",
    "2020s",
    "2024-02",
    "2024-Q1 to 2024-Q3",
    "12 or more",
    "20 to 37 or missing",
    "99999999999999999999",
    "1 to <99999999999999999999",
    "4611686018427387904",
    '"1" to "2"',
    "1 | 2",
    "5\n",
    "\n5",
    "٣",
    "3 to ٣",
    "1.5000",
    "20 to 30 (level 1)",
    "2* (level 1)",
    "",
]
CASES = 20_000 if os.environ.get("FOREKNOW_NIGHTLY") else 600


def number(draw):
    text = str(draw.choice([0, 7, 2020, draw.randrange(-99, 10**6), draw.randrange(10**15)]))
    return text + draw.choice(["", "", f".{draw.randrange(1000)}", ".", ".1234", "0"])


def label(draw, odd):
    if draw.random() < odd:
        return draw.choice(ODD)
    if draw.random() < 0.5:
        return number(draw)
    return f"{number(draw)}{draw.choice([' to ', ' to <', ' to  ', 'to'])}{number(draw)}"


@pytest.mark.parametrize("about", [None, "number", "date", "text"])
def test_about_of_says_what_extents_say(about):
    draw, found = random.Random(f"{about}"), {"number": 0, "date": 0, "text": 0}
    for case in range(CASES):
        odd = draw.choice([0, 0.05, 0.5])
        labels = [label(draw, odd) for _ in range(draw.randrange(1, 7))]
        if case % 3 == 0:  # only what is plainly written
            labels = [own for own in labels if own and own.replace(" to ", "").isdigit()] or ["4"]
        expected = Extents(labels, about).about
        assert about_of(pa.array(labels, pa.string()), about) == expected, labels
        found[expected] += 1
    if about is None:
        assert found["number"] > 100
        assert found["text"] > 100


@pytest.mark.parametrize("labels", [[own] for own in ODD] + [["5", own] for own in ODD])
def test_about_of_says_so_of_odd_labels(labels):
    assert about_of(pa.array(labels, pa.string())) == Extents(labels).about


def test_plain_numbers_are_not_read_one_by_one(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "foreknow.publishing.extents.meanings_of", lambda text: seen.append(text) or read(text)
    )
    labels = [f"{i} to {i + 5}" for i in range(1000)] + ["*"]
    assert about_of(pa.array(labels)) == "number"
    assert len(seen) == 2
