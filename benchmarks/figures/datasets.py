"""The tables that are measured: two of a synthetic census, as in the paper, or Adult."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import foreknow as fk
from benchmarks.census import encoded_census

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult.csv"
_ADULT_QUASI_IDENTIFIERS = ("age", "marital-status", "race", "sex")


@dataclass(frozen=True)
class Dataset:
    """A table, and what is asked of it."""

    name: str
    microdata: fk.Microdata
    levels: tuple[int, ...]
    binary: str
    asked: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, name: str, microdata: fk.Microdata, levels: Sequence[int], binary: str) -> Dataset:
        """Ask about age, the quasi-identifier of two values, both, and all."""
        every = tuple(microdata.schema.quasi_identifiers)
        asked = (("age",), (binary,), ("age", binary), every)
        return cls(name, microdata, tuple(levels), binary, asked)


def census_pair(rows: int, levels: Sequence[int]) -> Iterator[Dataset]:
    """The census with each of the two sensitive columns, as the paper's OCC and SAL."""
    yield Dataset.of("occupation", encoded_census(rows, "occupation"), levels, "gender")
    yield Dataset.of("income", encoded_census(rows, "income"), levels, "gender")


def adult(path: Path, levels: Sequence[int]) -> Dataset:
    """Adult; one in seven is the most that its frequent occupations allow."""
    schema = fk.Schema(quasi_identifiers=_ADULT_QUASI_IDENTIFIERS, sensitive="occupation")
    allowed = [l for l in levels if l <= 7]  # noqa: E741
    return Dataset.of("Adult", fk.Microdata(path, schema), allowed, "sex")
