"""All kinds of hierarchy: their tables in a policy file, and domains without values."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from tests.hierarchy.laying import DISEASES, lay

from foreknow.data.hierarchy import DateLevels, Intervals, Mask, Ordered, Tree, hierarchy_from
from foreknow.errors import HierarchyError


@pytest.mark.parametrize("empty", [[], [None]])
@pytest.mark.parametrize(
    "hierarchy",
    [Intervals([5, 10]), Mask(3), DateLevels(["day", "year"]), Tree(DISEASES), Ordered(["a"])],
)
def test_levels_do_not_depend_on_the_values(hierarchy, empty):
    levels = lay(hierarchy, empty)
    inner = max(len(levels.labels) - 1, 0)
    assert len(levels.labels) == (0 if isinstance(hierarchy, Ordered) else 3)
    assert levels.labels[:inner] == (("missing",) * len(empty),) * inner


@pytest.mark.parametrize(
    ("spec", "hierarchy"),
    [
        ({"intervals": [5, 10]}, Intervals([5, 10])),
        ({"intervals": [0.1, "0.5"], "origin": 18}, Intervals([0.1, "0.5"], 18)),
        ({"mask": 5}, Mask(5)),
        ({"mask": 5, "character": "x"}, Mask(5, "x")),
        ({"dates": ["month", "year"]}, DateLevels(["month", "year"])),
        ({"order": ["low", "high"]}, Ordered(["low", "high"])),
        ({"rows": [list(row) for row in DISEASES]}, Tree(DISEASES)),
    ],
)
def test_policy_tables_go_round(spec, hierarchy):
    assert hierarchy_from(spec, "c", Path()) == hierarchy
    assert hierarchy.to_dict() == spec
    assert hierarchy_from(json.loads(json.dumps(spec)), "c", Path()) == hierarchy
    assert hash(hierarchy) == hash(hierarchy_from(spec, "c", Path()))


def test_decimals_go_round_as_text():
    hierarchy = Intervals([Decimal("0.10"), Decimal("1E+1")], Decimal("-2.5"))
    assert hierarchy.to_dict() == {"intervals": ["0.10", "1E+1"], "origin": "-2.5"}
    assert hierarchy_from(hierarchy.to_dict(), "c", Path()) == hierarchy


def test_files_start_at_the_folder_and_stay_relative(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "h.csv").write_text("a;x;*\n")
    tree = hierarchy_from({"file": "sub/h.csv"}, "c", tmp_path)
    assert tree.to_dict() == {"file": "sub/h.csv"}
    assert hierarchy_from(tree.to_dict(), "c", tmp_path) == tree
    assert repr(tree) == "Tree(1 values, 2 levels from 'sub/h.csv')"
    whole = str(tmp_path / "sub" / "h.csv")
    assert hierarchy_from({"file": whole}, "c", Path("elsewhere")).to_dict() == {"file": whole}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (5, "the hierarchy of column 'age' must be a table like { mask = 5 }, not 5"),
        ({}, "the hierarchy of column 'age' needs exactly one of intervals, mask, dates, order,"),
        ({"origin": 3}, "the hierarchy of column 'age' needs exactly one of intervals, mask,"),
        (
            {"mask": 5, "order": ["a"]},
            "the hierarchy of column 'age' needs exactly one of intervals, mask, dates, order, "
            "file, rows; it has 'mask' and 'order'",
        ),
        (
            {"interval": [5]},
            "the hierarchy of column 'age' has an unknown key 'interval'; "
            "did you mean 'intervals'?",
        ),
        (
            {"mask": 5, "origin": 1},
            "the hierarchy of column 'age': 'origin' goes with 'intervals', not 'mask'",
        ),
        ({"intervals": 5}, "column 'age', 'intervals': interval widths must be a list, not 5"),
        ({"intervals": [4, 10]}, "column 'age', 'intervals': intervals must nest: 10 is not"),
        (
            {"intervals": [5], "origin": True},
            "column 'age', 'intervals' and 'origin': the origin must be a number, not True",
        ),
        ({"mask": "5"}, "column 'age', 'mask': a mask length must be a whole number from 1"),
        ({"mask": True}, "column 'age', 'mask': a mask length must be a whole number from 1"),
        ({"dates": "month"}, "column 'age', 'dates': date levels must be a list, not 'month'"),
        ({"order": {"a": 1}}, "column 'age', 'order': an order must be a list, not {'a': 1}"),
        ({"file": 5}, "column 'age', 'file': a path must be text, not 5"),
        ({"file": "none.csv"}, "column 'age', 'file': hierarchy file 'none.csv' does not exist"),
        ({"rows": []}, "column 'age', 'rows': a tree needs at least one row"),
    ],
)
def test_policy_tables_are_checked(spec, message):
    with pytest.raises(HierarchyError) as caught:
        hierarchy_from(spec, "age", Path())
    assert str(caught.value).startswith(message)


def test_reprs():
    assert repr(DateLevels(["year"])) == "DateLevels(levels=('year',))"
    assert repr(Mask(5)) == "Mask(length=5, character='*')"
    assert repr(Tree(DISEASES)) == "Tree(4 values, 3 levels)"
