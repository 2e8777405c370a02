"""What the fixed corpus gives today is what it gave before, byte for byte where a seed fixes it."""

import json
import os
from pathlib import Path

import pytest
from tests.corpus.cases import N_CASES, digests

KNOWN = json.loads((Path(__file__).with_name("digests.json")).read_text("utf-8"))
NIGHTLY = os.environ.get("FOREKNOW_NIGHTLY") == "1"


def test_the_corpus_is_whole():
    assert sorted(map(int, KNOWN)) == list(range(N_CASES))


@pytest.mark.parametrize("number", range(0, N_CASES, 1 if NIGHTLY else 40))
def test_case_gives_what_it_gave(number):
    assert digests(number) == KNOWN[str(number)]
