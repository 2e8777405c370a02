"""A synthetic census: the domain sizes of "Privacy Streamliner" (table 8), correlated and skewed.

Seeded and made of nothing real. Ages thin out towards the old; half the people were born in one of
57 places, and the others' places thin out as well; who is young has less education, and so has who
is very old; work depends on education, gender and age; income on education, age and work. Values
of work and income that the young share (pupils, no income) are frequent among them.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import foreknow as fk

SIZES = {
    "age": 79,
    "gender": 2,
    "education": 17,
    "birthplace": 57,
    "occupation": 50,
    "income": 50,
}
QUASI_IDENTIFIERS = ("age", "gender", "education", "birthplace")


def census(
    rows: int = 600_000,
    seed: int = 1,
    sensitive: Literal["occupation", "income"] = "occupation",
    copies: int = 1,
) -> pa.Table:
    """Make the table: four quasi-identifiers and a sensitive column, whole numbers from 0.

    Parameters
    ----------
    rows : int
    seed : int
    sensitive : {"occupation", "income"}
        As in the paper's tables OCC and SAL.
    copies : int
        How often the rows are repeated, one copy after the other.
    """
    random = np.random.default_rng(seed)
    age = _ages(rows, random)
    gender = (random.random(rows) < 0.515).astype(np.int8)
    birthplace = _birthplaces(rows, random)
    education = _within(
        4
        + 0.45 * np.minimum(age, 22)
        - 0.05 * np.maximum(age - 45, 0)
        + random.normal(0, 2.6, rows),
        SIZES["education"],
    )
    columns: dict[str, NDArray[Any]] = {
        "age": age,
        "gender": gender,
        "education": education,
        "birthplace": birthplace,
    }
    if sensitive == "occupation":
        columns[sensitive] = _occupations(age, gender, education, random)
    else:
        columns[sensitive] = _incomes(age, gender, education, random)
    table = pa.table({name: pa.array(column.astype(np.int8)) for name, column in columns.items()})
    return pa.concat_tables([table] * copies).combine_chunks()


def encoded_census(
    rows: int = 600_000,
    sensitive: Literal["occupation", "income"] = "occupation",
    copies: int = 1,
) -> fk.Microdata:
    """Make the table and encode it, so that no measurement has to."""
    schema = fk.Schema(quasi_identifiers=list(QUASI_IDENTIFIERS), sensitive=sensitive)
    made = fk.Microdata(census(rows, 1, sensitive, copies), schema)
    _ = made.attributes, made.values
    return made


def _ages(rows: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Years above 16: level up to fifty, then fewer and fewer."""
    years = np.arange(SIZES["age"])
    weights = 1 / (1 + np.exp((years - 48) / 10.0)) * (1 + 0.25 * np.sin(years / 9.0))
    return random.choice(SIZES["age"], rows, p=weights / weights.sum())


def _birthplaces(rows: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Half from one place, the others by a power law, in no particular order."""
    weights = 1 / np.arange(3, SIZES["birthplace"] + 2) ** 1.1
    weights = np.concatenate(([weights.sum()], weights))
    order = np.random.default_rng(0).permutation(SIZES["birthplace"])
    return order[random.choice(SIZES["birthplace"], rows, p=weights / weights.sum())]


def _occupations(
    age: NDArray[np.int64],
    gender: NDArray[np.int8],
    education: NDArray[np.int64],
    random: np.random.Generator,
) -> NDArray[np.int64]:
    """Each occupation suits a level of education and, more or less, a gender and an age."""
    fixed = np.random.default_rng(0)
    n = SIZES["occupation"]
    suits = np.sort(fixed.uniform(2, 16, n))
    leaning = fixed.normal(0, 0.9, n)
    prime = fixed.uniform(5, 45, n)
    size = fixed.permutation(-0.45 * np.log(np.arange(2, n + 2)))
    found = np.empty(len(age), dtype=np.int64)
    for begin in range(0, len(age), 1 << 15):
        block = slice(begin, begin + (1 << 15))
        liking = size - ((education[block, None] - suits) / 4.0) ** 2
        liking += leaning * np.where(gender[block, None] > 0, 0.5, -0.5)
        liking -= ((age[block, None] - prime) / 45.0) ** 2
        liking += random.gumbel(size=liking.shape)
        found[block] = liking.argmax(axis=1)
    return found


def _incomes(
    age: NDArray[np.int64],
    gender: NDArray[np.int8],
    education: NDArray[np.int64],
    random: np.random.Generator,
) -> NDArray[np.int64]:
    """Income classes rise with education and, until fifty, with age."""
    middle = 8 + 0.9 * education + 0.22 * np.minimum(age, 34) - 2.5 * gender
    return _within(middle + random.gumbel(0, 5.0, len(age)), SIZES["income"])


def _within(places: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Round; what lies outside comes back in as far as it went out."""
    whole = np.abs(np.rint(places).astype(np.int64))
    whole = np.where(whole >= size, 2 * (size - 1) - whole, whole)
    return np.clip(whole, 0, size - 1)
