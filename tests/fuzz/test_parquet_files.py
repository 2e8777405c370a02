"""Parquet files, of odd types and corrupted: counted as Arrow reads them plainly, or refused."""

import datetime as dt
import decimal
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
from tests.fuzz.mutations import ODD, mutated_bytes, some
from tests.fuzz.rounds import Fault, alone, rounds
from tests.fuzz.test_csv_files import POLICY

DAY = dt.datetime(2024, 2, 29, 10, 0, 0, 1)


def column(chance, size):
    """A column of some type, with nulls here and there, and texts that are nearly alike."""
    made = chance.choices((texts, coded, plain_type, nested), (5, 4, 5, 1))[0]
    return made(chance, size)


def holes(chance, values):
    """The values, some of them missing."""
    if chance.random() < 0.7:
        return values
    return [None if chance.random() < 0.2 else value for value in values]


def texts(chance, size):
    pool = chance.sample(ODD, 2) + ["Flu", "AIDS"]
    kind = chance.choice((pa.string(), pa.string(), pa.large_string(), pa.string_view()))
    return pa.array(holes(chance, chance.choices(pool, k=size)), kind)


def coded(chance, size):
    """Dictionary codes, of entries that may repeat or be null."""
    pool = ["Flu", "AIDS", "Cold", "Flu ", chance.choice(ODD)][: chance.choice((2, 3, 5))]
    pool += chance.choice(((), (), [chance.choice((None, "Flu", ""))]))
    entries = pa.array(pool if chance.random() < 0.8 else [1, 2, 2, 3, None][: len(pool)])
    kind = chance.choice((pa.int8(), pa.int32(), pa.int64()))
    indices = pa.array(holes(chance, chance.choices(range(len(entries)), k=size)), kind)
    return pa.DictionaryArray.from_arrays(indices, entries)


def plain_type(chance, size):
    """Numbers, times and the like, with the values that are special in each."""
    nan = float("nan")
    kind, pool = chance.choice(
        (
            (pa.int8(), [-1, 0, 1]),
            (pa.int64(), [2**53, 2**53 + 1, -(2**63)]),
            (pa.uint64(), [2**64 - 1, 2**64 - 2, 0]),
            (pa.float64(), [0.0, -0.0, nan, 1.0, 0.1 + 0.2, 0.3]),
            (pa.float32(), [0.0, -0.0, nan, 0.1]),
            (pa.float16(), [0.0, nan, 1.0]),
            (pa.bool_(), [True, False]),
            (pa.decimal128(20, 2), [decimal.Decimal("1.50"), decimal.Decimal("-0.00")]),
            (pa.date32(), [DAY.date(), dt.date(1, 1, 1)]),
            (pa.date64(), [DAY.date(), dt.date(1969, 12, 31)]),
            (pa.timestamp("ns"), [1, 1000, 2]),
            (pa.timestamp("us", "Asia/Kolkata"), [DAY, DAY.replace(microsecond=2)]),
            (pa.timestamp("s"), [0, 2**40]),
            (pa.timestamp("ms"), [0, -1, 2**60]),
            (pa.time64("ns"), [1, 2, 3000]),
            (pa.time32("s"), [0, 86399]),
            (pa.duration("s"), [1, 2]),
            (pa.null(), [None]),
            (pa.binary(), [b"a", b"\xff"]),
            (pa.binary(2), [b"aa", b"\xff\x00"]),
        )
    )
    return pa.array(holes(chance, chance.choices(pool, k=size)), kind)


def nested(chance, size):
    given = chance.choice(([["Flu"], ["Flu", "AIDS"], []], [{"a": 1}, {"a": 2}]))
    return pa.array(holes(chance, chance.choices(given, k=size)))


def mutant(chance, path):
    """Write a table of three columns in one of the ways to write one, then perhaps break it."""
    size = chance.randint(1, 12)
    usual = [[1, 2, 3], ["20", "21", None], ["clerk", "nurse"], ["Flu", "AIDS", "Cold"]]
    columns = [pa.array(chance.choices(pool, k=size)) for pool in usual]
    plain = pa.Table.from_arrays(columns, ["gid", "age", "job", "disease"])
    for _ in range(chance.choice((0, 1, 1, 2))):
        columns[chance.choice((0, 1, 3, 3))] = column(chance, size)
    names = ["gid", "age", "job", "disease"]
    if chance.random() < 0.05:
        names[2] = chance.choice(("gid", "GID", "", "disease "))
    table = pa.Table.from_arrays(columns, names)
    how = {
        "compression": chance.choice(("none", "snappy", "zstd")),
        "use_dictionary": chance.choice((True, False)),
        "row_group_size": chance.choice((2, 1000)),
        "data_page_version": chance.choice(("1.0", "2.0")),
        "store_schema": chance.choice((True, True, False)),
    }
    try:
        pq.write_table(table, path, **how)
    except (pa.ArrowException, OSError):  # there are types that it cannot write
        pq.write_table(plain, path)
    if chance.random() < 0.5:
        last = pq.read_metadata(path).row_group(0).column(len(pq.read_schema(path)) - 1)
        start = last.dictionary_page_offset or last.data_page_offset
        end = start + last.total_compressed_size
        path.write_bytes(broken(chance, path.read_bytes(), end))


def broken(chance, data, end):
    """Bytes changed in the pages, in the footer, or in what says how long it is.

    Codes of a dictionary stand before the `end` of the column; some then point beyond its entries.
    """
    length = int.from_bytes(data[-8:-4], "little")
    footer = len(data) - 8 - length
    pages, told = data[:footer], data[footer:-8]
    kinds = ("codes", "codes", "anywhere", "pages", "footer", "length", "cut", "magic")
    kind = chance.choice(kinds)
    if kind == "codes":
        at = end - chance.randint(1, 3)
        return data[:at] + bytes([data[at] ^ chance.randint(1, 255)]) + data[at + 1 :]
    if kind == "pages":
        return mutated_bytes(chance, pages, 1) + data[footer:]
    if kind == "footer":
        flipped = bytearray(told)
        for _ in range(chance.randint(1, 3)):
            flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
        return pages + bytes(flipped) + data[-8:]
    if kind == "length":
        other = chance.choice((0, 1, length + 1, 2**31, 2**32 - 1))
        return data[:-8] + other.to_bytes(4, "little") + data[-4:]
    if kind == "cut":
        return data[: chance.randrange(len(data))]
    if kind == "magic":
        return data[:-4] + chance.choice((b"PARE", b"par1", b""))
    return mutated_bytes(chance, data)


def compare(answer, expected):
    """Either refused, or counted as Arrow has it: labels alike and as often."""
    if "refused" in answer:
        return
    if "refused" in expected:
        raise Fault(f"counted {answer['read']}\nthough {expected['refused']}")
    found, wanted = answer["read"], expected["read"]
    if form(found) != form(wanted):
        raise Fault(f"counted {found}\nwhere Arrow has {wanted}")


def form(bags):
    """Groups and bags without their labels, but with who is alike: how often, where and where.

    Labels of a few types print in several ways; how often each occurs in which group does not.
    """
    groups = Counter(tuple(sorted(many for _, many in bag)) for _, bag in bags)
    values = {}
    for labels, bag in bags:
        size = sum(many for _, many in bag)
        for value, many in bag:
            values.setdefault(value, []).append((many, size, len(labels)))
    return groups, Counter(tuple(sorted(where)) for where in values.values())


def attempt(chance, folder, worker):
    mutant(chance, folder / "people.parquet")
    (folder / "policy.toml").write_text(POLICY)
    if chance.random() < 0.3:
        command = some(chance, "publish", 0.4) or "audit"
        out = ["--out", "out"] if command == "publish" else []
        said = worker.run(folder, command, "people.parquet", "--policy", "policy.toml", *out)
        left = {path.name for path in folder.glob("out*")}
        if left != ({"out", "out.owner"} if command == "publish" and said.code == 0 else set()):
            raise Fault(f"left behind after {said}")
        if chance.random() < 0.02 and said.code == 2:
            alone(said, folder)
        expected = worker.read(folder, "arrow_counts", path="people.parquet", groups=["age"])
        if said.code < 2 and command == "audit":
            if "refused" in expected:
                raise Fault(f"judged, though {expected['refused']}: {said}")
            highest = max(
                max(many for _, many in bag) / sum(many for _, many in bag)
                for _, bag in expected["read"]
            )
            if (highest < 2 / 3) != (said.code == 0) and abs(highest - 2 / 3) > 1e-9:
                raise Fault(f"exit {said.code}, but the highest share is {highest}: {said}")
        return
    groups = chance.choice((["gid"], ["gid"], ["age"], ["gid", "age"]))
    how = {"group": "gid"} if groups == ["gid"] else {"quasi_identifiers": groups}
    answer = worker.read(folder, "counts", path="people.parquet", sensitive="disease", **how)
    named = {"path": "people.parquet", "groups": groups, "nulls": groups != ["gid"]}
    compare(answer, worker.read(folder, "arrow_counts", **named))


@rounds(nightly=3000)
def test_parquet_files_are_counted_as_they_are_or_refused(play, count, seed):
    play(attempt, count, seed)
