"""All kinds of hierarchy, in a policy file too, and what they refuse; grids show no extremes."""

import csv
import json
import os
import tomllib
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.common import said_below

import foreknow as fk
from foreknow.data.columns.hierarchy import (
    DateLevels,
    Hierarchy,
    Intervals,
    Levels,
    Mask,
    Ordered,
    Tree,
    hierarchy_from,
)
from foreknow.errors import HierarchyError
from foreknow.result_pages import page_of

DISEASES = [
    ["flu", "viral", "lung", "*"],
    ["ulcer", "acid", "stomach", "*"],
    ["cold", "viral", "lung", "*"],
    ["asthma", "chronic", "lung", "*"],
]


def never(position: int) -> int:
    raise AssertionError("first_row is for messages only")


def lay(hierarchy: Hierarchy, domain: list[Any]) -> Levels:
    """Levels of a domain, after checking everything that is promised of any."""
    levels = hierarchy.levels(domain, "c", never)
    assert sorted(levels.order.tolist()) == list(range(len(domain)))
    assert levels.order.dtype == np.int64
    if None in domain:
        assert domain[levels.order[0]] is None
    assert len(levels.ancestors) == len(levels.labels)
    below = np.arange(len(domain))
    for nodes, labels in zip(levels.ancestors, levels.labels, strict=True):
        assert nodes.dtype == np.int64
        assert nodes.shape == (len(domain),)
        if len(nodes):
            assert nodes[0] == 0
            assert set(np.diff(nodes).tolist()) <= {0, 1}
            assert len(labels) == nodes[-1] + 1
            assert not np.any((np.diff(below) == 0) & (np.diff(nodes) != 0)), "levels nest"
        assert len(set(labels)) == len(labels)
        below = nodes
    if levels.labels:
        assert levels.labels[-1] == ("*",)
        assert all(("missing" in labels) == (None in domain) for labels in levels.labels[:-1])
    return levels


def path_of(levels: Levels, domain: list[Any], value: Any) -> list[str]:
    """Labels above one value."""
    leaf = [domain[i] for i in levels.order.tolist()].index(value)
    return [
        labels[nodes[leaf]] for nodes, labels in zip(levels.ancestors, levels.labels, strict=True)
    ]


def in_leaf_order(hierarchy: Hierarchy, domain: list[Any]) -> list[Any]:
    return [domain[i] for i in lay(hierarchy, domain).order.tolist()]


def refusal(hierarchy: Hierarchy, domain: list[Any], column: str = "c") -> str:
    with pytest.raises(HierarchyError) as caught:
        hierarchy.levels(domain, column, lambda i: 10 * i + 7)
    return str(caught.value)


# ---- tables in a policy file -------------------------------------------------------------------


def test_files_stay_relative(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "h.csv").write_text("a;x;*\n")
    tree = hierarchy_from({"file": "sub/h.csv"}, "c", tmp_path)
    assert tree.to_dict() == {"file": "sub/h.csv"}
    assert hierarchy_from(tree.to_dict(), "c", tmp_path) == tree
    text = str(tmp_path / "sub" / "h.csv")
    assert hierarchy_from({"file": text}, "c", Path("elsewhere")).to_dict() == {"file": text}
    assert repr(tree) == "Tree(1 values, 2 levels from 'sub/h.csv')"
    assert repr(Tree(DISEASES)) == "Tree(4 values, 3 levels)"
    assert repr(DateLevels(["year"])) == "DateLevels(levels=('year',))"
    assert repr(Mask(5)) == "Mask(length=5, character='*')"


@pytest.mark.parametrize(("spec", "message"), said_below(__file__, "refused.txt"))
def test_tables_are_checked(spec, message):
    table = tomllib.loads(f"age = {spec}")["age"]
    with pytest.raises(HierarchyError) as caught:
        hierarchy_from(table, "age", Path())
    keys = [f"column 'age', '{key}'" for key in table] if isinstance(table, dict) else []
    assert str(caught.value).startswith(("the hierarchy of column 'age'", *keys[:1]))
    assert message in str(caught.value)


# ---- what is refused ---------------------------------------------------------------------------

DATES = "date levels need dates, date-times or text like 2024-03-05"
BIG = 10**5000


@pytest.mark.parametrize(
    ("hierarchy", "value", "shown", "why"),
    [
        (Intervals([5]), "7", "'7'", "intervals need numbers"),
        (Intervals([5]), True, "True", "intervals need numbers"),
        (Intervals([5]), date(2024, 1, 2), "2024-01-02", "intervals need numbers"),
        (Intervals([5]), float("nan"), "nan", "intervals need finite numbers"),
        (Intervals([5]), Decimal("Infinity"), "Infinity", "intervals need finite numbers"),
        (Intervals([5]), Decimal("1E+999999"), "1E+999999", "it is too large"),
        *((DateLevels(), v, repr(v), DATES) for v in ("2024-13-01", "spring", "", 20240305, True)),
        (Mask(5), "1234", "'1234'", "a mask of 5 needs 5 characters"),
        (Mask(5), 123456, "123456", "a mask of 5 needs 5 characters"),
        (Mask(1), "", "''", "a mask of 1 needs 1 character"),
        (Mask(4), True, "True", "a mask needs text or whole numbers"),
        (Mask(3), 1.5, "1.5", "a mask needs text or whole numbers"),
        (
            Ordered(["low", "high"]),
            "hihg",
            "'hihg'",
            "it is not in the order; did you mean 'high'?",
        ),
        (Ordered([1]), True, "True", "it is not in the order"),
        (Tree(DISEASES), "fluu", "'fluu'", "the tree does not list it; did you mean 'flu'?"),
    ],
    ids=str,
)
def test_values_outside_are_named(hierarchy, value, shown, why):
    inside = {Intervals: 3, DateLevels: "2024-03-05", Ordered: None, Tree: "flu"}
    first = inside.get(type(hierarchy), "1" * getattr(hierarchy, "length", 1))
    assert refusal(hierarchy, [first, value], "age").startswith(
        f"column 'age': the value {shown} (first in row 17) is outside its hierarchy: {why}"
    )


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (Intervals, [5], "interval widths must be a list, not 5"),
        (Intervals, [[BIG]], "too many digits"),
        (Ordered, [["a", None]], "an order lists texts, numbers or dates, not None"),
        (Tree, [[["a", None, "*"]]], "row 1: None is neither text nor number"),
        (Tree, [[[BIG, "x"]]], "row 1: a number of too many digits"),
    ],
)
def test_hierarchies_refused(make, given, message):
    with pytest.raises(HierarchyError) as caught:
        make(*given)
    assert message in str(caught.value)


# ---- masks, orders, dates and intervals --------------------------------------------------------


def test_orders():
    domain = ["high", None, "low", "middle"]
    levels = lay(Ordered(["low", "middle", "high", "unused"]), domain)
    assert [domain[i] for i in levels.order] == [None, "low", "middle", "high"]
    assert levels.ancestors == levels.labels == ()
    result = in_leaf_order(Ordered([True, False, 1, 0.1]), [1, Decimal("0.1"), True])
    assert list(map(str, result)) == ["True", "1", "0.1"]
    # As in a tree: numbers, dates and truth values may be spelled as texts.
    spelled = Ordered(["2", "0.50", "true", "2024-03-05", "7"])
    result = in_leaf_order(spelled, [7.0, date(2024, 3, 5), True, Decimal("0.50"), 2])
    assert list(map(str, result)) == ["2", "0.50", "True", "2024-03-05", "7.0"]


def test_intervals_start_at_the_origin():
    levels = lay(Intervals([10, 50], origin=18), [17])
    assert path_of(levels, [17], 17) == ["8 to 17", "-32 to 17", "*"]
    assert lay(Intervals([10], origin="0.5"), [10]).labels[0] == ("0.5 to <10.5",)
    assert lay(Intervals([1, 2]), [4, 5]).labels[:2] == (("4", "5"), ("4 to 5",))
    wide = 5 * 10**30
    assert lay(Intervals([5, wide]), [-4, 5]).labels[1] == (f"-{wide} to -1", f"0 to {wide - 1}")


# ---- trees, in Python and in files ------------------------------------------------------------


def test_values_match_by_text():
    moment = datetime(2024, 3, 5, 1)
    for value, texts in (
        (7, ("7", 7)),
        (7.0, ("7.0", "7")),
        (7.5, ("7.5",)),
        (Decimal("7.50"), ("7.50",)),
        (True, ("True", "true", True)),
        (False, ("false",)),
        (date(2024, 3, 5), ("2024-03-05",)),
        (moment, ("2024-03-05T01:00:00", "2024-03-05 01:00:00")),
        (" a", ("a",)),
        ("a", ("a ",)),
        ("", ("",)),
    ):
        for text in texts:
            rows = [[text, "x", "*"], ["other", "y", "*"]]
            assert lay(Tree(rows), [value]).labels[0] == ("x",), (value, text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "hierarchy file 'PATH' is empty; it needs rows like"),
        (b"a;x\nb;\xe9\n", "hierarchy file 'PATH', line 2: not UTF-8; save it again as UTF-8"),
        (b'a;x\nb;"y\nc;z\n', "hierarchy file 'PATH', line 2: unexpected end of data; check"),
        (b"a;x\n\nb;x;y\n", "hierarchy file 'PATH', line 3: 3 columns, but line 1 has 2"),
        (b"a;x\nb;\0\n", "hierarchy file 'PATH', line 2: a null character; is it a text file?"),
        (b"\na;x\na;y\n", "hierarchy file 'PATH', line 3: the value 'a' is already in line 2"),
        (
            b'a;x;A\n"c\nd";y;B\nb;x;B\n',
            "hierarchy file 'PATH', line 4: 'x' of level 1 lies in 'B' here, but in 'A' in line 1",
        ),
    ],
)
def test_files_are_checked(tmp_path, content, message):
    path = tmp_path / "h.csv"
    path.write_bytes(content)
    with pytest.raises(HierarchyError) as caught:
        Tree.read(path)
    assert str(caught.value).startswith(message.replace("PATH", str(path)))


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero")
def test_files_without_an_end(tmp_path):
    with pytest.raises(HierarchyError, match="'/dev/zero'"):
        Tree.read("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(HierarchyError, match=r"is a pipe, a device or a folder; give a file"):
        Tree.read(tmp_path / "pipe")


# ---- no exact extremes: labels of numbers and dates are whole cells of a stated grid -------------


def published(columns, folder, below="0.9", **options):
    """Publish columns with row numbers beside them; the rows as written, and the publication."""
    n = len(next(iter(columns.values())))
    schema = fk.Schema(quasi_identifiers=list(columns), sensitive="d", other=["row"])
    table = pa.table({**columns, "d": [f"d{i % 4}" for i in range(n)], "row": list(range(n))})
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=below, knowing=[])], schema)
    chosen = fk.PublishOptions(**options)
    publication = fk.publish(fk.Microdata(table, schema), policy, options=chosen)
    publication.write(folder)
    with (folder / "release.csv").open(encoding="utf-8", newline="") as file:
        return sorted(csv.DictReader(file), key=lambda row: int(row["row"])), publication


# ---- labels, read plainly ----------------------------------------------------------------------


def moment(value):
    """A value as its column's labels are compared with it."""
    if isinstance(value, time):
        return datetime.combine(date(1, 1, 1), value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time.min)
    return value if isinstance(value, datetime) else Decimal(repr(value))


# ---- random tables -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "grid", "labels"),
    [
        ([7] * 5, None, {"7"}),
        ([1000.123], "in steps of 2000", {"0 to <2000"}),
        ([time(9, 30), None, time(9, 31)], "by day", {"00h to 23h or missing"}),
        ([time(h, m) for h in (9, 11) for m in range(5)], "by hour", {"09h to 11h"}),
        ([1950, 1960, 1970, 1980, 2001], "in steps of 5000", {"0 to 4999"}),
        ([1e300, 2e300, None], None, None),
        ([Decimal("0.25"), Decimal("0.5"), Decimal("0.75")], "in steps of 1", {"0 to <1"}),
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
    publication = fk.publish(fk.Microdata(table, schema), policy, method=Whole())
    results = set(publication.tables["release"]["q"].to_pylist())
    if labels is None:
        assert len(results) == 1
        assert publication.grids["q"].startswith("in steps of 5")
    else:
        assert (publication.grids.get("q"), results) == (grid, labels)
    assert publication.write(tmp_path / "out").check(tmp_path / "out") == []


@pytest.mark.parametrize(
    ("kind", "hierarchy"), [(pa.int64(), Intervals([5])), (pa.date32(), DateLevels(["year"]))]
)
def test_columns_without_a_value(kind, hierarchy, tmp_path):
    columns = {"q": pa.nulls(6, kind), "sex": ["m", "f"] * 3, "d": ["x", "y", "z"] * 2}
    schema = fk.Schema(quasi_identifiers=["q", "sex"], sensitive="d", hierarchies={"q": hierarchy})
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(3))], schema)
    options = fk.PublishOptions(labels={"q": "range"})
    publication = fk.publish(pa.table(columns), policy, options=options)
    assert publication.tables["release"]["q"].null_count == 6
    assert publication.write(tmp_path / "out").check(tmp_path / "out") == []


# ---- what goes by labels -----------------------------------------------------------------------


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
