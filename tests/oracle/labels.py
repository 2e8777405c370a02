"""Labels, levels, blocks of rows and distances of values, read plainly or by trial."""

import csv
import re
from collections import Counter
from datetime import date, timedelta
from fractions import Fraction
from functools import cache
from itertools import product

import pyarrow.parquet as pq

# ---- label levels --------------------------------------------------------------------------------

# What labels show: every value that could be meant by each, written out.

NUMBERS = range(151)


def numbers_of(label):
    """The whole numbers, of a few, that a label may stand for; None of one that says none."""
    label = label.removesuffix(" or missing")
    if label == "missing":
        return set()
    if set(label) == {"*"}:
        return {*NUMBERS}
    if " | " in label:
        parts = [numbers_of(part) for part in label.split(" | ")]
        return None if None in parts else set().union(*parts)
    if match := re.fullmatch(r"(\d+) or more", label):
        return {n for n in NUMBERS if n >= int(match[1])}
    if match := re.fullmatch(r"(\d+) to (<?)(\d+)", label):
        low, high = int(match[1]), int(match[3])
        if low > high or (low == high and match[2]):  # which is no range; but it says both
            return {low, high}
        return {n for n in NUMBERS if low <= n < high or (n == high and not match[2])}
    return {int(label)} if re.fullmatch(r"\d+", label) and not re.fullmatch("0.+", label) else None


def keeps_top(label, top):
    """Whether it stands for all numbers from a top on, or for none of these."""
    result = numbers_of(label)
    above = {n for n in NUMBERS if n >= top}
    return result is not None and (above <= result or not above & result)


def whole(values, node_of):
    """Whether values are whole nodes: with each, all others of its node."""
    nodes = {node_of[value] for value in values}
    return values == {value for value, node in node_of.items() if node in nodes}


def codes_of(label, universe):
    """The codes of a universe that a masked label may stand for."""
    if set(label) == {"*"}:
        return {*universe}
    stars = len(label) - len(label.rstrip("*"))
    start = label[: len(label) - stars]
    return {code for code in universe if len(code) == len(label) and code.startswith(start)}


# ---- register labels -----------------------------------------------------------------------------

# Who of a register is in a published group, by somebody who has the raw table, too.
#
# A value that somebody in the table has is written as it is, and no label is written like one: so
# whatever else a text looks like, it is that value if the table has it.


def meanings(label, own, kind, rows=()):
    """Each way to read a label, as a test of a value; `own`: the values of the table."""
    if label is None or label in own or label in {row[0] for row in rows}:
        return [lambda value: value == label]
    if kind == "tree":
        return [_below(label, rows)] if label.rstrip("+") not in ("*", "* (level 9)") else [_all]
    match = re.fullmatch(r"(.*) \(level (\d+)\)\+*", label, re.DOTALL)
    match = match if match and (kind == "mask" or match[1] == "*") else None
    text = match[1] if match else label
    text = text.rstrip("+") if text.rstrip("+")[-1:] in ("*", '"') else text
    if text == "*":
        return [_all]
    if kind == "mask":
        stars = [int(match[2])] if match else range(1, len(text) - len(text.rstrip("*")) + 1)
        ways = [_begins(text[:-star], len(text)) for star in stars]
        return [way for way in ways if any(map(way, own))]
    null = text.startswith("missing | ")
    text = text.removeprefix("missing | ")
    parts = [part.replace('""', '"') for part in re.findall(r'"((?:[^"]|"")*)"', text)]
    quoted = " | ".join('"' + part.replace('"', '""') + '"' for part in parts) == text
    needed = any("|" in value or value == "missing" for value in own if value)
    parts = parts if parts and quoted and needed else text.split(" | ")
    assert set(parts) <= set(own), (label, own)
    return [lambda value: value in parts or (null and value is None)]


def _all(value):
    return True


def _begins(start, length):
    return lambda value: value is not None and len(value) == length and value.startswith(start)


def _below(label, rows):
    match = re.fullmatch(r"(.*) \(level (\d+)\)\+*", label, re.DOTALL)
    name, levels = (match[1], [int(match[2])]) if match else (label, range(1, len(rows[0])))
    if name == "*" and all(row[level] != "*" for row in rows for level in range(1, len(row))):
        return _all
    level = next(
        level
        for level in levels
        if level < len(rows[0]) and any(row[level] == name for row in rows)
    )
    below = {row[0] for row in rows if row[level] == name}
    return lambda value: value in below


def covered(label, own, kinds, register, rows=()):
    """How many of a register each way to read a group's labels covers: several, or one number."""
    about = zip(label, own, kinds, strict=True)
    ways = [meanings(part, values, kind, rows) for part, values, kind in about]
    counts = [set()]
    for tests in ways:
        counts = [count | {(len(count), test)} for count in counts for test in tests]
    return {sum(all(test(person[at]) for at, test in way) for person in register) for way in counts}


# ---- row order -----------------------------------------------------------------------------------

# An adversary who reads nothing but written files: labels, and the order of rows.


def rows_of(path):
    """The rows of a written table, a null as None."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    with path.open(encoding="utf-8", newline="") as file:
        return [{k: v or None for k, v in row.items()} for row in csv.DictReader(file)]


# ---- which numbers or days a label may stand for, by trying each of a universe -----------------

NUMBER_ENDS = [*range(-30, 131)]
DAY_ENDS = [date(1997, 1, 1) + timedelta(days=i) for i in range(7 * 365)]


def covered_by_label(label, universe):
    """The values of a universe that a label may stand for; None for one that says none."""
    label = label.removesuffix(" or missing")
    if label == "missing":
        return set()
    if re.fullmatch(r"[*]+( [(]level 1[)])?", label):
        return {*universe}
    if " | " in label:
        parts = [covered_by_label(part, universe) for part in label.split(" | ")]
        return None if None in parts else set().union(*parts)
    if label.startswith("<"):
        end = _ends(label[1:], universe)
        return end and {value for value in universe if value < end[0]}
    if match := re.fullmatch("(.+) or (more|later|less|earlier)", label):
        end = _ends(match[1], universe)
        if end is None or (match[2] in ("later", "earlier")) != (universe is DAY_ENDS):
            return None
        upwards = match[2] in ("more", "later")
        return {v for v in universe if (v >= end[0] if upwards else v <= end[1])}
    low, _, high = label.partition(" to ")
    first, last = _ends(low, universe), _ends((high or low).removeprefix("<"), universe)
    if first is None or last is None:
        return None
    if first[0] > last[1]:  # which is no range; but it says both
        return {first[0], last[1]}
    return {v for v in universe if first[0] <= v < last[1] or (v == last[1] and high[:1] != "<")}


def _ends(text, universe):
    """The first and the last number or day of a text."""
    if universe is NUMBER_ENDS:
        return (int(text), int(text)) if re.fullmatch("-?(0|[1-9][0-9]*)", text) else None
    days = _days_by_name().get(text)
    return (days[0], days[-1]) if days else None


@cache
def _days_by_name():
    days = {}
    for day in DAY_ENDS:
        for name in _names(day):
            days.setdefault(name, []).append(day)
    return days


def _names(day):
    year = f"{day:%Y}"
    quarter = f"{year}-Q{(day.month + 2) // 3}"
    return {day.isoformat(), f"{day:%Y-%m}", quarter, year, f"{year[:3]}0s"}


def tells_no_end_apart(label, universe, bottom=None, top=None):
    """Whether it stands for all values up to a bottom or none, and all from a top on or none."""
    values = covered_by_label(label, universe)
    beyond = [{v for v in universe if bottom is not None and v <= bottom}]
    beyond.append({v for v in universe if top is not None and v >= top})
    return values is not None and all(end <= values or not end & values for end in beyond)


# ---- rows that are left out, and distances of values -------------------------------------------

# ---- leaving -------------------------------------------------------------------------------------

# A group is a text, one letter for the value of each person; what is safe a function of such a
# text. Shares nothing with the library.


def fewest(group, is_safe):
    """The fewest people who must leave so that those who stay are safe, or nobody stays."""
    bag = Counter(group)
    least = len(group)
    for kept in product(*(range(many + 1) for many in bag.values())):
        left = len(group) - sum(kept)
        if left < least and sum(kept):
            text = "".join(value * many for value, many in zip(bag, kept, strict=True))
            if is_safe(text):
                least = left
    return least


# ---- transport -----------------------------------------------------------------------------------

# The least work of moving one distribution to another, by its dual: no plan is ever made.
#
# Work is the largest gain of any price list of the values in which no two prices differ by more
# than the way between them (Kantorovich). Distances that are whole have a best list of whole
# prices, so all of these are tried.


@cache
def price_lists(distances):
    """All lists of prices from 0 up that distances allow; `distances` is a square of integers."""
    highest = max(map(max, distances))
    places = range(len(distances))
    return [
        prices
        for prices in product(range(highest + 1), repeat=len(distances))
        if all(abs(prices[i] - prices[j]) <= distances[i][j] for i in places for j in places)
    ]


def least_work(p, q, values, distance, unit):
    """Work from p to q (mappings of value to share); distances are whole numbers of 1 / unit."""
    distances = tuple(tuple(distance(a, b) for b in values) for a in values)
    gaps = [p.get(v, Fraction(0)) - q.get(v, Fraction(0)) for v in values]
    gains = (
        sum(price * gap for price, gap in zip(prices, gaps, strict=True))
        for prices in price_lists(distances)
    )
    return Fraction(max(gains)) / unit


def levels_apart(rows):
    """How many levels up two values meet, and how many levels there are, from rows of a tree."""
    above = {str(row[0]): [str(cell) for cell in row] for row in rows}
    if len({row[-1] for row in above.values()}) > 1:
        above = {value: [*row, "all"] for value, row in above.items()}

    def distance(a, b):
        pairs = zip(above[str(a)], above[str(b)], strict=True)
        return next(level for level, (one, other) in enumerate(pairs) if one == other)

    return distance, len(next(iter(above.values()))) - 1
