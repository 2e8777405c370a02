"""The generator that random methods draw from: secret, unless a seed is given."""

from __future__ import annotations

import numpy as np

from foreknow.numbers import whole_number


def generator(seed: int | None, method: str) -> np.random.Generator:
    """A generator of a seed, or of the system's entropy when there is none."""
    if seed is not None:
        seed = whole_number(seed, f"{method}: seed", 0, ", or None")
    return np.random.default_rng(seed)
