"""The generator that lots are drawn from: secret, unless someone gives a seed."""

from __future__ import annotations

from operator import index

import numpy as np

from foreknow.errors import InputError


def generator(seed: int | None, method: str) -> np.random.Generator:
    """Make a generator from a seed, or from the system's entropy when there is none.

    Examples
    --------
    >>> int(generator(3, "Anatomy").integers(10)) == int(generator(3, "Anatomy").integers(10))
    True
    >>> generator(-1, "Anatomy")
    Traceback (most recent call last):
    foreknow.errors.InputError: Anatomy: seed must be a whole number from 0, or None, not -1
    """
    if seed is None:
        return np.random.default_rng(seed)
    try:
        number = -1 if isinstance(seed, bool | np.bool_) else index(seed)
    except TypeError:
        number = -1
    if number < 0:
        raise InputError(f"{method}: seed must be a whole number from 0, or None, not {seed!r}")
    return np.random.default_rng(number)


def note_of_boxes(l: int) -> str:  # noqa: E741
    """What to say of groups that are published as boxes, of which several may look alike."""
    return (
        "boxes: groups that look alike are published as one, so an adversary who knows the method "
        f"may be as sure of a value as 1/{l}, also where a limit is lower"
    )


def notes_of_seed(seed: int | None) -> tuple[str, ...]:
    """What to say of a release whose lots someone could draw again."""
    if seed is None:
        return ()
    return (
        "seeded: an adversary who learns or guesses the seed can run the method again and may find "
        "values out; without a seed nobody can",
    )
