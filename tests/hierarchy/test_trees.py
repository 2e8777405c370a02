"""Trees: rows of a value and its levels, in Python and in files."""

import os
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.hierarchy.laying import DISEASES, lay, never, path_of, refusal

from foreknow.data.hierarchy import Tree
from foreknow.errors import HierarchyError


def test_siblings_stay_together():
    domain = ["asthma", "ulcer", None, "cold", "flu"]
    levels = lay(Tree(DISEASES), domain)
    assert [domain[i] for i in levels.order] == [None, "flu", "cold", "asthma", "ulcer"]
    assert levels.labels == (
        ("missing", "viral", "chronic", "acid"),
        ("missing", "lung", "stomach"),
        ("*",),
    )
    assert [a.tolist() for a in levels.ancestors] == [[0, 1, 1, 2, 3], [0, 1, 1, 1, 2], [0] * 5]


def test_trees_get_a_top():
    rows = [["a", "A"], ["b", "B"]]
    assert lay(Tree(rows), ["a", "b"]).labels == (("A", "B"), ("*",))
    assert lay(Tree([[*row, "Any"] for row in rows]), ["a", "b"]).labels == (("A", "B"), ("*",))
    assert lay(Tree([["a", "A"], ["b", "A"]]), ["a", None]).labels == (("*",),)


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
    ("rows", "domain", "labels"),
    [
        (DISEASES, ["ulcer", "asthma"], [("chronic", "acid"), ("lung", "stomach"), ("*",)]),
        (
            [["a", *["other"] * 2], ["b", "x", "other"], ["c", "y", "z"], ["a", *["other"] * 2]],
            ["c", "b", "a"],
            [("other", "x", "y"), ("other", "z"), ("*",)],
        ),
        (
            [["1", "odd"], ["2", "even"], ["3", "odd"]],
            ["3", "1", 2, 1, "2"],
            [("odd", "even"), ("*",)],
        ),
    ],
)
def test_trees_show_what_occurs(rows, domain, labels):
    assert lay(Tree(rows), domain).labels == tuple(labels)


def test_nodes_that_read_like_nulls():
    tree = Tree([["a", "missing"], ["b", "known"]])
    assert lay(tree, ["b"]).labels == (("known",), ("*",))
    with pytest.raises(HierarchyError, match=r"'c'.*'missing'"):
        tree.levels(["a", None], "c", never)


@examples(100)
@given(st.data())
def test_trees_of_any_shape(data):
    n = data.draw(st.integers(1, 12))
    parents = [data.draw(st.integers(0, 4)) for _ in range(n)]
    above = [data.draw(st.integers(0, 2)) for _ in range(5)]
    rows = [[f"v{i}", f"a{p}", f"b{above[p]}"] for i, p in enumerate(parents)]
    rows = data.draw(st.permutations(rows))
    domain = data.draw(st.lists(st.sampled_from([row[0] for row in rows]), unique=True))
    levels = lay(Tree(rows), domain)
    by_value = {row[0]: row[1:] for row in rows}
    shared = len({row[-1] for row in rows}) == 1
    for value in domain:
        expected = by_value[value][:-1] if shared else by_value[value]
        assert path_of(levels, domain, value) == [*expected, "*"]
    places = [[row[0] for row in rows].index(domain[i]) for i in levels.order]
    for a, b in pairwise(places):
        assert a < b or rows[a][1] != rows[b][1], "siblings come in the order of the rows"


@pytest.mark.parametrize(
    "content",
    [
        b"a;x, y;*\nb;z;*\n",
        b"\xef\xbb\xbfa;x, y;*\r\nb;z;*\r\n",
        b"\n  \na; x, y ;*\n\nb ; z ; *",
        b'"a","x, y","*"\n"b","z","*"\n',
        b'"a", "x, y", *\nb, z, *\n',
        b"a\tx, y\t*\nb\tz\t*\n",
        b'"a"\t"x, y"\t"*"\rb\tz\t*\r',
    ],
)
def test_files_of_many_makes(tmp_path, content):
    (tmp_path / "h.csv").write_bytes(content)
    assert Tree.read(tmp_path / "h.csv").rows == (("a", "x, y", "*"), ("b", "z", "*"))
    (tmp_path / "h.csv").write_text('"a;""1""",x,*\nb,x,*\n')  # quoted delimiters do not decide
    assert Tree.read("h.csv", tmp_path).rows[0] == ('a;"1"', "x", "*")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "hierarchy file 'PATH' is empty; it needs rows like"),
        (b"\xef\xbb\xbf\n \n", "hierarchy file 'PATH' is empty"),
        (b"a;x\nb;\xe9\n", "hierarchy file 'PATH', line 2: not UTF-8; save it again as UTF-8"),
        ("a;x\n".encode("utf-16"), "hierarchy file 'PATH', line 1: not UTF-8"),
        (b'a;x\nb;"y\nc;z\n', "hierarchy file 'PATH', line 2: unexpected end of data; check"),
        (b'a;x\n"b"c;y\n', "hierarchy file 'PATH', line 2: "),
        (b"a;x\n\nb;x;y\n", "hierarchy file 'PATH', line 3: 3 columns, but line 1 has 2"),
        (b"a|x\n", "hierarchy file 'PATH', line 1: needs a value and at least one level"),
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


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "d.csv").write_text("flu;*\n")
    assert "hierarchy file 'd.csv' does not list it" in refusal(Tree.read("d.csv", tmp_path), [3])
    with pytest.raises(HierarchyError, match=r"'.*none.csv'"):
        Tree.read("none.csv", tmp_path)
    with pytest.raises(HierarchyError, match=r"cannot be read: "):
        Tree.read(tmp_path)
    with pytest.raises(HierarchyError, match=r"cannot be read: "):
        Tree.read("a\0b")
