"""The rows of those who are new: the owner gets them, and what measures a release takes them."""

import csv
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import foreknow as fk

COLUMNS = ["who", "age", "zip", "pay", "ill"]
SCHEMA = {
    "identifiers": ["who"],
    "quasi_identifiers": ["age", "zip"],
    "sensitive": ["ill", "pay"],
    "types": {"pay": "number"},
    "reading": {"decimal": ",", "missing": ["k.A."]},
}
REQUIRE = [
    {"sensitive": "ill", "facts": {}, "below": 0.8, "knowing": []},
    {"sensitive": "pay", "facts": {}, "below": 0.8, "knowing": []},
]
POLICY = {"schema": SCHEMA, "require": REQUIRE}


def drawn(size):
    draw = random.Random(4)
    return [
        [
            f"p{i}",
            str(draw.randint(20, 60)),
            draw.choice(["k.A.", "10", "20"]),
            f"{draw.randint(10, 12)},{draw.randint(0, 9)}0",
            draw.choice("abcd"),
        ]
        for i in range(size)
    ]


def write_table(path, rows, encoding="utf-8"):
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=";").writerows([COLUMNS, *rows])
    return path


def test_the_owner_gets_the_rows_of_newcomers(tmp_path):
    rows = drawn(160)
    first = write_table(tmp_path / "first.csv", rows[:90])
    second = write_table(tmp_path / "second.csv", rows)
    fk.publish(first, POLICY, seed=1).write(tmp_path / "january")
    fk.publish(second, POLICY, seed=1, after=[tmp_path / "january"]).write(tmp_path / "march")
    assert not (tmp_path / "january.owner" / "newcomers.csv").exists()
    newcomers = tmp_path / "march.owner" / "newcomers.csv"
    with newcomers.open(encoding="utf-8", newline="") as file:
        written = [[cell or "k.A." for cell in row] for row in csv.reader(file, delimiter=";")]
    assert written == [COLUMNS, *rows[90:]]
    assert not list((tmp_path / "march").glob("newcomers*"))
    fk.utility_report(tmp_path / "march", newcomers, policy=POLICY)
    fk.evidence_report(tmp_path / "march", newcomers, policy=POLICY)
    with pytest.raises(fk.InputError):
        fk.utility_report(tmp_path / "march", second, policy=POLICY)


def test_newcomers_of_a_frame_are_parquet(tmp_path):
    columns = list(zip(*drawn(160), strict=True))
    table = pa.table(dict(zip(COLUMNS, map(list, columns), strict=True)))
    table = table.set_column(1, "age", pa.array([*map(int, columns[1])]))
    fk.publish(table.slice(0, 90), POLICY, seed=1).write(tmp_path / "january")
    fk.publish(table, POLICY, seed=1, after=[tmp_path / "january"]).write(tmp_path / "march")
    newcomers = tmp_path / "march.owner" / "newcomers.parquet"
    assert pq.read_table(newcomers)["who"].to_pylist() == [f"p{i}" for i in range(90, 160)]
    fk.utility_report(tmp_path / "march", newcomers, policy=POLICY)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_newcomers_keep_their_encoding(encoding, tmp_path):
    rows = [[*row[:4], f"{row[4]}ü"] for row in drawn(160)]
    schema = SCHEMA | {"reading": SCHEMA["reading"] | {"encoding": encoding}}
    policy = {"schema": schema, "require": REQUIRE}
    first = write_table(tmp_path / "first.csv", rows[:90], encoding)
    second = write_table(tmp_path / "second.csv", rows, encoding)
    fk.publish(first, policy, seed=1).write(tmp_path / "january")
    fk.publish(second, policy, seed=1, after=[tmp_path / "january"]).write(tmp_path / "march")
    newcomers = tmp_path / "march.owner" / "newcomers.csv"
    assert len(newcomers.read_text(encoding).splitlines()) == 71
    fk.evidence_report(tmp_path / "march", newcomers, policy=policy)
