"""The verifier reads the files of a release once, before they get their names."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.errors import InternalError, NoSafeRelease
from foreknow.publishing import entries, formats
from foreknow_judge import written as verifier

TABLE = pa.table({
    "id": [*range(60)],
    "age": [20 + i % 7 for i in range(60)],
    "job": [["=cook", "nurse, a", 'say "x"'][i % 3] for i in range(60)],
    "ill": [["flu", "=cold", "AIDS"][i * 7 % 3] for i in range(60)],
})  # fmt: skip
POLICY = {
    "schema": {"identifiers": ["id"], "quasi_identifiers": ["age", "job"], "sensitive": "ill"},
    "require": [{"group_size": 4}, {"facts": {"l": 1}, "below": 1}],
}
HOW = [
    {},
    {"form": "bucketized"},
    {"escape_formulas": True, "delimiter": ";", "bom": True},
]


@pytest.fixture
def read(monkeypatch):
    """What files the verifier opened."""
    found, own = [], verifier.open_written

    def opened(connection, table, file):
        found.append(table)
        return own(connection, table, file)

    monkeypatch.setattr(verifier, "open_written", opened)
    return found


@pytest.mark.parametrize("how", HOW, ids=str)
def test_what_is_judged_are_the_files_that_are_published(how, read, monkeypatch, tmp_path):
    made = fk.publish(TABLE, POLICY, seed=1, **how)
    files = [table for table in read if isinstance(table, list)]
    assert {Path(path).suffix for (path,) in files} == {".csv"}
    times = len(read)
    certificate = made.write(tmp_path / "once")
    assert len(read) == times
    other = fk.publish(TABLE, POLICY, seed=1, **how).write(tmp_path / "twice")
    assert (certificate.files, certificate.findings) == (other.files, other.findings)
    assert fk.verify(tmp_path / "once").people == fk.verify(tmp_path / "twice").people == 60
    books = [(tmp_path / name / "datapackage.json").read_bytes() for name in ("once", "twice")]
    assert books[0] == books[1]


@pytest.mark.parametrize("how", HOW, ids=str)
def test_a_file_that_holds_something_else_is_not_published(how, monkeypatch):
    own = formats.write_csv

    def changed(table, path, **given):
        own(table, path, **given)
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join([*lines, lines[-1]]))

    monkeypatch.setattr(formats, "write_csv", changed)
    with pytest.raises((InternalError, NoSafeRelease)):
        fk.publish(TABLE, POLICY, seed=1, **how)


def test_a_copy_that_differs_is_refused(monkeypatch, tmp_path):
    made = fk.publish(TABLE, POLICY, seed=1)
    own = entries.shutil.copyfile

    def changed(source, target):
        own(source, target)
        lines = target.read_bytes().splitlines(keepends=True)
        target.write_bytes(b"".join([*lines, lines[-1]]))

    monkeypatch.setattr(entries.shutil, "copyfile", changed)
    with pytest.raises(InternalError, match="differs from what was written"):
        made.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace('"40","cold"', '"40","flu"', 1),
        lambda text: text.replace('"40","cold"', '"40","flu"', 1).replace(
            '"60","flu"', '"60","cold"', 1
        ),
        lambda text: text.replace('"40"', '"41"'),
        lambda text: text.replace('"40"', '"x"').replace('"60"', '"40"').replace('"x"', '"60"'),
    ],
    ids=["value", "swap", "label", "cross"],
)
def test_a_file_as_safe_as_what_was_judged_but_of_other_groups_is_not_published(
    damage, monkeypatch
):
    own, done = formats.write_csv, []

    def changed(table, path, **given):
        own(table, path, **given)
        before = path.read_text("utf-8")
        path.write_text(after := damage(before), "utf-8")
        done.append(before != after)

    monkeypatch.setattr(formats, "write_csv", changed)
    ages = [20] * 8 + [40] * 30 + [60] * 31
    ill = ["flu", "cold", "AIDS", "flu"] * 2 + ["flu", "cold", "AIDS"] * 10
    table = pa.table({"age": ages, "ill": [*ill, "flu", *ill[8:]]})
    policy = {**POLICY, "schema": {"quasi_identifiers": ["age"], "sensitive": "ill"}}
    with pytest.raises(InternalError, match="differs from what was written"):
        fk.publish(table, policy, method="fulldomain")
    assert done == [True]
