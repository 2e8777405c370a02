"""Make the bundled hospital register from a fixed seed: ``python examples/make_sample.py [OUT]``.

Every person is made up. Weights are whole numbers and the generator is only asked for uniform
numbers, so the bytes are the same on every machine.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.sample import table_path
from foreknow_judge.errors import InputError

COLUMNS = (
    "patient",
    "name",
    "age",
    "sex",
    "zip",
    "admitted",
    "marital",
    "diagnosis",
    "days",
    "ward",
    "charges",
)
PEOPLE = 4000
SEED = 20250419

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Texts: TypeAlias = NDArray[np.str_]
Days: TypeAlias = NDArray[np.datetime64]


class Value(NamedTuple):
    """How usual a value is in each band of age, times a factor for the sex and for winter."""

    name: str
    by_band: tuple[int, ...]
    female: int = 1
    male: int = 1
    winter: int = 1


# The bands of age that the columns of weights below stand for: 0-4, 5-17, ..., 85-97.
BAND_STARTS = (0, 5, 18, 30, 45, 60, 75, 85, 98)
PATIENTS = (70, 90, 140, 190, 200, 180, 90, 40)
FEMALE_PERCENT = (48, 49, 55, 54, 50, 50, 55, 65)

# fmt: off
DIAGNOSES = (
    Value("Flu",                    (150, 130, 95,  80,  65,  55,  50,  50), winter=2),
    Value("Hypertension",           (0,   0,   20,  100, 160, 170, 130, 110)),
    Value("Fracture",               (80,  190, 120, 80,  75,  85,  120, 160)),
    Value("Gastritis",              (150, 110, 110, 100, 85,  65,  45,  30)),
    Value("Asthma",                 (150, 150, 80,  65,  50,  35,  25,  15)),
    Value("Pneumonia",              (100, 50,  30,  35,  45,  65,  90,  120), winter=2),
    Value("Type 2 diabetes",        (0,   5,   20,  65,  120, 135, 100, 70)),
    Value("Back pain",              (0,   15,  90,  115, 110, 80,  40,  20)),
    Value("Anaemia",                (40,  24,  24,  24,  18,  18,  22,  26), female=3, male=2),
    Value("Heart failure",          (0,   0,   4,   12,  45,  95,  140, 170)),
    Value("Migraine",               (0,   30,  45,  45,  25,  10,  4,   0), female=3),
    Value("Depression",             (0,   25,  40,  36,  28,  18,  14,  10), female=2),
    Value("Appendicitis",           (30,  120, 80,  45,  25,  12,  5,   0)),
    Value("Ear infection",          (200, 90,  20,  12,  8,   6,   4,   4)),
    Value("Pregnancy complication", (0,   2,   120, 90,  2,   0,   0,   0), male=0),
    Value("Dementia",               (0,   0,   0,   0,   5,   35,  120, 200)),
    Value("Prostate cancer",        (0,   0,   0,   2,   25,  80,  90,  60), female=0),
    Value("Breast cancer",          (0,   0,   2,   25,  55,  60,  40,  25), male=0),
    Value("Hepatitis C",            (0,   0,   10,  18,  22,  14,  6,   0)),
    Value("Schizophrenia",          (0,   3,   20,  16,  11,  7,   3,   0)),
    Value("HIV",                    (0,   1,   13,  16,  12,  6,   1,   0), male=2),
    Value("Syphilis",               (0,   0,   9,   8,   5,   2,   0,   0), male=2),
)
MARITAL = (
    Value("Never married",          (1,   1,   80,  30,  14,  8,   6,   6)),
    Value("Married",                (0,   0,   17,  56,  62,  62,  48,  28)),
    Value("Separated",              (0,   0,   1,   4,   5,   3,   1,   1)),
    Value("Divorced",               (0,   0,   2,   9,   17,  16,  10,  6)),
    Value("Widowed",                (0,   0,   0,   1,   2,   6,   16,  30), female=2),
)
# fmt: on

# Wards and what a stay was charged, in dollars: how usual each is for a light and a grave case.
WARDS = (("North", 5, 3), ("South", 4, 4), ("West", 3, 5))
CHARGES = (("1000", 6, 2), ("2000", 7, 3), ("4000", 6, 5), ("8000", 4, 6), ("16000", 2, 5))
GRAVE = (
    "Pneumonia",
    "Heart failure",
    "Dementia",
    "Prostate cancer",
    "Breast cancer",
    "Hepatitis C",
    "Schizophrenia",
    "HIV",
)

# Patients of the last days have not left, so that nobody knows how long they stay.
STILL_IN = np.datetime64("2025-12-29")
UNKNOWN_MARITAL = 0.01

# Areas, nearest first: the first digits, a weight, and the last digits from usual to rare.
AREAS = (
    ("021", 10, "38 39 41 40 42 43 44 45 49 55 30 15 16 18 34 35 22 24"),
    ("024", 14, "72 74 76 53 58 59 65 67 46 45"),
    ("018", 14, "01 10 50 52 67 76 80 90"),
    ("019", 14, "02 04 07 15 40 60 70"),
    ("030", 14, "31 54 60 62 63 79"),
    ("029", 14, "03 04 06 08 09"),
    ("120", 14, "47 54 65 83"),
    ("100", 16, "03 11 25"),
)

WOMEN = (
    "Abigail Agnes Alice Amina Anna Beatrice Carmen Chloe Clara Diana Elena Emily Esther Fatima "
    "Grace Hannah Ingrid Irene Jane Julia Keiko Laura Leila Lucy Maria Martha Mei Miriam Nadia "
    "Nora Olivia Priya Rosa Ruth Sarah Sofia Tara Vera Wanda Yasmin"
)
MEN = (
    "Aaron Adam Ahmed Albert Andre Arthur Ben Carlos Daniel David Diego Edward Elias Felix Frank "
    "George Hassan Henry Hugo Ivan Jacob James Jorge Karim Kenji Leo Liam Luis Marcus Martin "
    "Nathan Oliver Omar Oscar Paul Peter Raj Samuel Thomas Victor"
)
SURNAMES = (
    "Abbott Adams Ahmed Almeida Baker Becker Bennett Brooks Byrne Carter Castro Chen Clarke Cohen "
    "Costa Cruz Dawson Diaz Dubois Ellis Evans Fischer Fletcher Foster Garcia Gordon Grant Gupta "
    "Haddad Hansen Harris Hughes Ibrahim Jensen Kaplan Keller Khan Kim Kowalski Larsen Lee Lopez "
    "Mason Mendes Meyer Moore Murphy Nguyen Novak Okafor Olsen Osman Palmer Park Patel Pereira "
    "Quinn Reyes Rossi Russo Santos Sato Schmidt Shah Silva Singh Stone Suzuki Tanaka Torres "
    "Tran Turner Vargas Vogel Walsh Weber Wong Young Zhang Zimmer"
)
INITIALS = "ABCDEFGHIJKLMNOPRSTVW"


def rows(people: int = PEOPLE, seed: int = SEED) -> list[tuple[str, ...]]:
    """Make the register, in order of admission; texts in the order of `COLUMNS`."""
    rng = np.random.default_rng(seed)
    band = _pick(np.array(PATIENTS), rng.random(people))
    age = _ages(band, rng.random(people))
    female = rng.random(people) * 100 < np.array(FEMALE_PERCENT)[band]
    admitted = _days(rng.random(people))
    winter = _in_winter(admitted)
    columns = [
        _names(female, rng),
        age.astype(np.str_),
        np.where(female, "F", "M"),
        _zips(rng.random(people)),
        admitted.astype(np.str_),
        _values(MARITAL, band, female, winter, rng.random(people)),
        _values(DIAGNOSES, band, female, winter, rng.random(people)),
    ]
    grave = np.isin(columns[-1], GRAVE)
    wards, charges = (_by_gravity(given, grave, rng.random(people)) for given in (WARDS, CHARGES))
    days = _stays(grave, rng.random(people))
    numbers = 100_000 + rng.permutation(900_000)[:people]
    # What tables have: one name twice, and values that nobody wrote down.
    names, marital = columns[0], columns[5]
    names[people // 2] = names[people // 3]
    marital[rng.random(people) < UNKNOWN_MARITAL] = ""
    days[admitted >= STILL_IN] = ""
    columns = [numbers.astype(np.str_), *columns, days, wards, charges]
    table = zip(*(column.tolist() for column in columns), strict=True)
    at = [COLUMNS.index(name) for name in ("admitted", "name", "patient")]
    return sorted(table, key=lambda row: [row[i] for i in at])


def _pick(weights: Ints, uniform: Floats) -> Ints:
    """Turn uniform numbers into positions, as often as `weights` (one row for all, or each) say."""
    ends = np.cumsum(weights, axis=-1)
    aim = np.floor(uniform * ends[..., -1])
    return np.asarray((aim[:, None] >= ends).sum(axis=-1), dtype=np.int64)


def _ages(band: Ints, uniform: Floats) -> Ints:
    """Spread people evenly over the years of their band."""
    starts = np.array(BAND_STARTS)
    return starts[band] + np.floor(uniform * np.diff(starts)[band]).astype(np.int64)


def _days(uniform: Floats) -> Days:
    """Draw dates in 2024 and 2025; winter is a quarter busier."""
    days = np.arange("2024-01-01", "2026-01-01", dtype="datetime64[D]")
    return days[_pick(np.where(_in_winter(days), 5, 4), uniform)]


def _in_winter(days: Days) -> NDArray[np.bool_]:
    """Whether a day lies in December to March."""
    months_since_january = days.astype("datetime64[M]").astype(np.int64) % 12
    return np.isin(months_since_january, (11, 0, 1, 2))


def _zips(uniform: Floats) -> Texts:
    """Draw zips: nearer areas send more people, and so do the first zips of an area."""
    weights = {
        area + rest: share * (len(ends.split()) - at)
        for area, share, ends in AREAS
        for at, rest in enumerate(ends.split())
    }
    return np.array(list(weights))[_pick(np.array(list(weights.values())), uniform)]


def _values(
    values: Sequence[Value],
    band: Ints,
    female: NDArray[np.bool_],
    winter: NDArray[np.bool_],
    uniform: Floats,
) -> Texts:
    """Draw a value for each person, by age, sex and season."""
    weights = np.array([value.by_band for value in values]).T[band]
    women, men, cold = (
        np.array([getattr(value, name) for value in values])
        for name in ("female", "male", "winter")
    )
    weights = weights * np.where(female[:, None], women, men) * np.where(winter[:, None], cold, 1)
    return np.array([value.name for value in values])[_pick(weights, uniform)]


def _by_gravity(
    values: Sequence[tuple[str, int, int]], grave: NDArray[np.bool_], uniform: Floats
) -> Texts:
    """Draw a value for each person, by how grave the diagnosis is."""
    names, light, heavy = zip(*values, strict=True)
    weights = np.where(grave[:, None], np.array(heavy), np.array(light))
    return np.array(names)[_pick(weights, uniform)]


def _stays(grave: NDArray[np.bool_], uniform: Floats) -> Texts:
    """Draw how many days somebody stayed: fewer days are more usual, less so of grave cases."""
    longest = np.where(grave, 40, 20)[:, None]
    left = np.maximum(longest - np.arange(40), 0)
    return (_pick(left**2, uniform) + 1).astype(np.str_)


def _names(female: NDArray[np.bool_], rng: np.random.Generator) -> Texts:
    """Give everybody another full name: the first of a shuffled list of all that there can be."""
    women, men, surnames = WOMEN.split(), MEN.split(), SURNAMES.split()
    shape = (min(len(women), len(men)), len(surnames), len(INITIALS))
    if len(female) > np.prod(shape):
        raise InputError(f"there are names for {np.prod(shape)} people only, not {len(female)}")
    shuffled = np.argsort(rng.random(int(np.prod(shape))), kind="stable")
    chosen = zip(female, *np.unravel_index(shuffled[: len(female)], shape), strict=True)
    return np.array(
        [f"{(women if w else men)[f]} {INITIALS[i]}. {surnames[s]}" for w, f, s, i in chosen]
    )


def as_csv(table: Sequence[Sequence[str]]) -> bytes:
    """Write rows as a CSV file with a header; lines end in a line feed on every system."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *table])
    return text.getvalue().encode()


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the register to the path given on the command line, else to its bundled place."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", nargs="?", type=Path, default=table_path(), metavar="OUT")
    out: Path = parser.parse_args(arguments).out
    try:
        out.write_bytes(as_csv(rows()))
    except OSError as error:
        parser.error(f"cannot write {out}: {error.strerror}")


if __name__ == "__main__":
    main()
