"""How many random cases a property is tried on: all by night, a part in each run, fresh ones."""

import os

from hypothesis import settings

NIGHTLY = os.environ.get("FOREKNOW_NIGHTLY") == "1"


def examples(nightly, **more):
    """Hypothesis settings for so many cases by night, and a tenth of them by default."""
    return settings(max_examples=nightly if NIGHTLY else max(nightly // 10, 8), **more)
