"""No exact extremes: labels of numbers and dates are whole cells of a stated grid.

Everything here is read from the CSV as it was written, by plain parsing, and compared with the
table. What is promised: bounds are boundaries of the grid that the certificate states. It is the
finest readable one in which three in four of the column's values share their cell with another
value, and with five people in all; where there is none, the coarsest. A column without a grid has
at most 20 values, which five people or more have each.
"""

import csv
import json
import re
from collections import Counter
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.people import short_report

import foreknow as fk
from foreknow.result import page_of

PERIODS = {"hour": 0, "day": 0, "month": 1, "quarter": 3, "year": 12, "decade": 120}


PERIODS["century"] = 1200


EASY = [fk.Requirement(fk.Facts(), below="0.9")]


@pytest.fixture(autouse=True, scope="module")
def _short_report():
    with pytest.MonkeyPatch.context() as patch:
        short_report(patch)
        yield


def published(columns, folder, below="0.9", **options):
    """Publish columns with row numbers beside them; the rows as written, and the publication."""
    n = len(next(iter(columns.values())))
    schema = fk.Schema(quasi_identifiers=list(columns), sensitive="d", other=["row"])
    table = pa.table({**columns, "d": [f"d{i % 4}" for i in range(n)], "row": list(range(n))})
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=below, knowing=[])], schema)
    chosen = fk.PublishOptions(**options)
    made = fk.publish(fk.Microdata(table, schema), policy, options=chosen)
    made.write(folder)
    with (folder / "release.csv").open(encoding="utf-8", newline="") as file:
        return sorted(csv.DictReader(file), key=lambda row: int(row["row"])), made


# ---- labels, read plainly ----------------------------------------------------------------------


def first_of(months):
    return date(months // 12, months % 12 + 1, 1) if months // 12 <= 9999 else date.max


def period(text):
    """The first moment of a period by how it is written, and the first one after it."""
    if text.endswith("h"):
        day, hour = text[:-1].split(" ") if " " in text else ("0001-01-01", text[:-1])
        start = datetime.fromisoformat(day) + timedelta(hours=int(hour))
        return start, start + timedelta(hours=1)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        start = datetime.fromisoformat(text)
        return start, start + timedelta(days=1)
    if found := re.fullmatch(r"(\d{4})-Q(\d)", text):
        start, many = int(found[1]) * 12 + 3 * int(found[2]) - 3, 3
    elif found := re.fullmatch(r"(\d{4})-(\d\d)", text):
        start, many = int(found[1]) * 12 + int(found[2]) - 1, 1
    elif text.endswith("s"):
        start, many = int(text[:-1]) * 12, 120
    else:
        start, many = int(text) * 12, 12
    ends = (first_of(start), first_of(start + many))
    return tuple(datetime.combine(end, time.min) for end in ends)


def bounds(label, dated):
    """Where a label of known values begins and ends: a number inclusive, unless it says "<"."""
    low, _, high = label.partition(" to ")
    if dated:
        return period(low)[0], period(high or low)[1]
    return Decimal(low), Decimal((high or low).removeprefix("<"))


def parsed(label, dated):
    """Bounds (None without known values), whether the end is excluded, whether nulls are in."""
    if label in ("", "missing"):
        return None, False, True
    known = label.removesuffix(" or missing")
    return bounds(known, dated), dated or "<" in known, known != label


def moment(value):
    """A value as its column's labels are compared with it."""
    if isinstance(value, time):
        return datetime.combine(date(1, 1, 1), value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time.min)
    return value if isinstance(value, datetime) else Decimal(repr(value))


def cell_of(value, words):
    """The cell of a value, in a grid by its words."""
    if words.startswith("in steps of "):
        return Fraction(value) // Fraction(words.removeprefix("in steps of "))
    name = words.removeprefix("by ")
    if PERIODS[name]:
        return (value.year * 12 + value.month - 1) // PERIODS[name]
    return (value.date(), value.hour) if name == "hour" else value.date()


def finer(words, known):
    """The readable grids that are finer, down to one of the values' own places."""
    if words.startswith("by "):
        names = list(PERIODS)
        return [f"by {name}" for name in names[: names.index(words.removeprefix("by "))]]
    width = Decimal(words.removeprefix("in steps of "))
    least = min(Decimal(1).scaleb(value.normalize().as_tuple().exponent) for value in known)
    least = min(least, Decimal(1)) if least > 0 else least
    powers = range(least.adjusted(), width.adjusted() + 1)
    steps = [m * Decimal(1).scaleb(p) for p in powers for m in (1, 2, 5)]
    return [f"in steps of {step:f}" for step in steps if least < step < width]


def hides(values, words):
    """Whether a grid hides three in four of some values; and whether it has no coarser one."""
    cells = {value: cell_of(value, words) for value in values}
    people, kinds = Counter(), Counter(cells.values())
    for value, many in values.items():
        people[cells[value]] += many
    hidden = [value for value, cell in cells.items() if kinds[cell] > 1 and people[cell] >= 5]
    timed = all(isinstance(value, datetime) and value.year == 1 for value in values)
    coarsest = "by day" if timed else "by century"
    last = words == coarsest or set(cells.values()) <= {0, -1}
    return 4 * len(hidden) >= 3 * len(cells), last


def check(columns, rows, made):
    for name, values in columns.items():
        known = [moment(value) for value in values if value is not None]
        if not known:
            continue
        dated, labels = isinstance(known[0], datetime), [row[name] for row in rows]
        meant = {label: parsed(label, dated) for label in set(labels)}
        # Everybody lies within their label.
        for value, label in zip(values, labels, strict=True):
            ends, open_end, null_too = meant[label]
            if value is None:
                assert null_too, label
                continue
            low, high = ends
            assert low <= moment(value) <= high, label
            assert moment(value) < high or not open_end, label
        words = made.grids.get(name)
        counted = Counter(known)
        if words is None:
            assert len(counted) <= 20
            assert min(counted.values()) >= 5
        else:
            # Bounds are of the grid; it hides, and no finer one does.
            if words.startswith("in steps"):
                step = Fraction(words.removeprefix("in steps of "))
                whole = all(type(value) is int for value in values if value is not None)
                for ends, *_ in filter(lambda x: x[0], meant.values()):
                    assert Fraction(ends[0]) % step == (Fraction(ends[1]) + whole) % step == 0
            enough, last = hides(counted, words)
            assert enough or last, words
            for other in finer(words, known):
                assert not hides(counted, other)[0], (words, other)
        # NCP, from the text alone: how wide a label is, of the widest that it could be.
        assert made.audit.utility.ncp[name] == pytest.approx(ncp(labels, meant, values, words))


def ncp(labels, meant, values, words):
    """The mean width of labels, of the whole column; a null is a value more, before the first."""
    wide = {label: [line(end) for end in ends] for label, (ends, *_) in meant.items() if ends}
    low, high = min(e[0] for e in wide.values()), max(e[1] for e in wide.values())
    known = [moment(value) for value in values if value is not None]
    steps = len({*known}) - 1 if words is None else len({cell_of(value, words) for value in known})
    gap = ((high - low) / max(steps, 1) or 1) if None in values else 0
    starts = {label: low - gap if meant[label][2] else ends[0] for label, ends in wide.items()}
    widths = {label: ends[1] - starts[label] for label, ends in wide.items()}
    return float(sum(widths.get(x, 0) for x in labels) / ((high - low + gap) or 1) / len(labels))


def line(end):
    """A bound as a number; of moments the days."""
    days = isinstance(end, datetime)
    return Fraction(end) if not days else Fraction(end.toordinal()) + Fraction(end.hour, 24)


# ---- random tables -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "grid", "labels"),
    [
        ([7] * 5, None, {"7"}),
        ([7] * 4, "in steps of 10", {"0 to 9"}),
        ([1000.123], "in steps of 2000", {"0 to <2000"}),
        ([-3, 4], "in steps of 10", {"-10 to 9"}),
        ([time(9, 30), None, time(9, 31)], "by day", {"00h to 23h or missing"}),
        ([time(h, m) for h in (9, 11) for m in range(5)], "by hour", {"09h to 11h"}),
        ([1950, 1960, 1970, 1980, 2001], "in steps of 5000", {"0 to 4999"}),
        ([1e300, 2e300, None], None, None),
        ([Decimal("0.25"), Decimal("0.5"), Decimal("0.75")], "in steps of 1", {"0 to <1"}),
        ([date(1999, 5, 5), date(2001, 1, 1)], "by century", {"1900 to 2099"}),
        ([date(9999, 12, 31), date(1, 1, 1)], "by century", {"0000 to 9999"}),
    ],
)
def test_tables_of_a_few_people(values, grid, labels, tmp_path):
    class Whole:
        def partition(self, microdata, policy=None, seed=None):
            return np.zeros(microdata.n_rows, dtype=int)

    schema = fk.Schema(quasi_identifiers=["q"], sensitive="d")
    table = pa.table({"q": values, "d": [f"d{i}" for i in range(len(values))]})
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(1))], schema)
    made = fk.publish(fk.Microdata(table, schema), policy, method=Whole())
    found = set(made.tables["release"]["q"].to_pylist())
    if labels is None:
        assert len(found) == 1
        assert made.grids["q"].startswith("in steps of 5")
    else:
        assert (made.grids.get("q"), found) == (grid, labels)
    assert made.write(tmp_path / "out").check(tmp_path / "out") == []


# ---- what goes by labels -----------------------------------------------------------------------


def test_attacks_run_the_published_method(tmp_path):
    ages = [*range(20, 44)]
    rows, made = published({"age": ages}, tmp_path / "out")
    table = pa.table({"age": ages, "d": [f"d{i % 4}" for i in range(24)]})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="d")
    policy, found = fk.Policy(EASY, schema), fk.Microdata(table, schema)
    labels = sorted({row["age"] for row in rows})
    groups = [labels.index(row["age"]) for row in rows]
    assert made.grids == {"age": "in steps of 5"}
    attacked = fk.attack(found, fk.Mondrian(), policy, groups=groups, worlds=20, seconds=60)
    # Cells are divided no further, so no cut looks at values: each world has these groups.
    assert (attacked.how, attacked.exact, attacked.found) == ("parts", True, False)
    assert attacked.consistent == attacked.n_worlds
    assert attacked.posterior(1, "d0") == Fraction(2, 5)
    unrounded = fk.Mondrian().partition(found, policy)
    with pytest.raises(fk.InputError, match="does not make these groups"):
        fk.attack(found, fk.Mondrian(), policy, groups=unrounded, worlds=20, seconds=60)


def test_grids_are_stated(tmp_path):
    _, made = published({"age": [*range(20, 60)]}, tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    assert fk.Certificate.load(path).grids == made.grids == {"age": "in steps of 5"}
    page = page_of(made.audit).html()
    assert "Ranges are written on a grid: age in steps of 5." in page
    for wrong in ({"grids": {"zip": "in steps of 5"}}, {"grids": {"age": 5}}):
        text = path.read_text()
        path.write_text(json.dumps({**json.loads(text), **wrong}))
        with pytest.raises(fk.InputError, match="grids"):
            fk.Certificate.load(path)
        path.write_text(text)
