"""Prior: how likely somebody has which value, before a release is seen, as weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from foreknow.errors import InputError
from foreknow.numbers import as_fraction

# (person, value, weight), sorted, each pair once.
Weights: TypeAlias = tuple[tuple[str, str, Fraction], ...]


def read_prior(given: Mapping[Any, Any] | None) -> Weights:
    """Read weights given as person -> value -> weight, or as (person, value) -> weight.

    >>> read_prior({"Tom": {"AIDS": 0.1}}) == read_prior({("Tom", "AIDS"): "1/10"})
    True
    """
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise InputError(
            f"a prior maps each person to the weights of their values, not {type(given).__name__}; "
            'such as {"Tom": {"AIDS": 0.1}}'
        )
    found: dict[tuple[str, str], Fraction] = {}
    for person, value, weight in _entries(given):
        pair = (str(person), str(value))
        try:
            amount = as_fraction(weight)
        except InputError as error:
            raise InputError(f"prior of {pair[0]!r}, {pair[1]!r}: {error}") from None
        if amount < 0:
            raise InputError(f"prior of {pair[0]!r}, {pair[1]!r}: {weight} is below 0")
        if pair in found:
            raise InputError(f"the prior has {pair[0]!r}, {pair[1]!r} twice")
        found[pair] = amount
    return tuple((*pair, weight) for pair, weight in sorted(found.items()))


def _entries(given: Mapping[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
    for key, inner in given.items():
        if isinstance(inner, Mapping):
            for value, weight in inner.items():
                yield key, value, weight
        elif isinstance(key, tuple) and len(key) == 2:
            yield *key, inner
        else:
            raise InputError(
                f"the prior of {key!r} must map values to weights, not {inner!r}; "
                'such as {"Tom": {"AIDS": 0.1}}'
            )
