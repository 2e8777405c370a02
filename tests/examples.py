"""How many random cases a property is tried on: all by night, a part in each run, fresh ones."""

import os

from hypothesis import settings

NIGHTLY = os.environ.get("FOREKNOW_NIGHTLY") == "1"


def examples(nightly, daily=None, **more):
    """Hypothesis settings for so many cases by night; by day a twentieth of them, or so many."""
    daily = daily or max(nightly // 20, 8)
    return settings(max_examples=nightly if NIGHTLY else daily, **more)
