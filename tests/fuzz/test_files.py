"""Files, mutated: read as a strict reader has them, or refused in a line."""

import csv
import datetime as dt
import decimal
import gzip
import io
import random
import sqlite3
from collections import Counter, defaultdict
from fractions import Fraction

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.common import NIGHTLY
from tests.frames.backends import write_workbook
from tests.fuzz.conftest import ODD, SEED, Fault, alone, mutated_bytes, rounds, words

import foreknow as fk

NAMES = ["gid", "age", "job", "disease"]
USUAL = [row.split(",") for row in ("1,2,3", "20,21,30,,20.0", "clerk,nurse", "Flu,AIDS,Cold,Flu")]
POLICY = """[schema]
quasi_identifiers = ["age"]
other = ["job"]
sensitive = "disease"

[[require]]
facts = { l = 0 }
below = "2/3"
"""
LIMIT = Fraction(2, 3)

# ---- CSV ---------------------------------------------------------------------------------------


def csv_mutant(chance):
    """The bytes of a table, odd in its values, its quotes, its lines, or anywhere."""
    odd = chance.sample(ODD, 4)
    rows = [[chance.choice(pool) for pool in USUAL] for _ in range(chance.randint(2, 12))]
    for row in rows:
        if chance.random() < 0.4:
            row[chance.randrange(4)] = chance.choice(odd)
    header = list(NAMES)
    if chance.random() < 0.1:
        header[chance.randrange(4)] += chance.choice((" ", "\u00a0", "\t", " \n"))
    delimiter = chance.choice(",,,,;\t|")
    ends = chance.choice((["\n"], ["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"], ["\n", "\n\n"]))
    always, quoted = chance.random() < 0.3, {delimiter, '"', "\n", "\r"}

    def written(field):
        if not always and not quoted & set(field) and chance.random() < 0.9:
            return field
        return '"' + field.replace('"', '""') + '"'

    lines = [delimiter.join(map(written, row)) + chance.choice(ends) for row in [header, *rows]]
    if chance.random() < 0.1:
        lines.insert(chance.randrange(len(lines) + 1), chance.choice(("\n", " \n", '""\n', ",\n")))
    data = "".join(lines).encode()
    if chance.random() < 0.2:
        data = data.rstrip(b"\r\n")
    if chance.random() < 0.1:
        data = b"\xef\xbb\xbf" + data
    if chance.random() < 0.2:
        place = chance.randrange(len(data))
        near = data.find(b'"', place)
        place = place if near < 0 else near + chance.randrange(2)
        data = data[:place] + chance.choice((b" ", b"x", b'"', b"\n")) + data[place:]
    return mutated_bytes(chance, data) if chance.random() < 0.4 else data


def strictly_read(data):
    """Header and rows as Python's strict reader has them; None if it is no such table.

    The first line that is not blank names the columns, without the spaces around them; the
    delimiter is whichever of , ; tab | is most often in it, outside quotes; a blank line is no
    row; every other line has a field for each column, and an empty field is a null.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    inside, counts = False, Counter()
    for char in text.lstrip("\r\n"):
        inside ^= char == '"'
        if not inside and char in "\r\n":
            break
        counts.update([char] if not inside else [])
    delimiter = max(",;\t|", key=lambda mark: counts[mark])
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows = [line for line in lines if line]
    except csv.Error:
        return None
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        return None
    header = [name.strip() for name in rows[0]]
    if len(set(header)) < len(header) or not all(header):
        return None
    return header, [[field or None for field in row] for row in rows[1:]]


def bags(table, groups, sensitive="disease"):
    """The bag of each group; None where the table cannot be counted."""
    header, rows = table or ((), ())
    if not rows or not {*groups, sensitive} <= set(header):
        return None
    places, last = [header.index(name) for name in groups], header.index(sensitive)
    by_key = defaultdict(Counter)
    for row in rows:
        if row[last] is None:
            return None
        by_key[tuple(row[place] for place in places)][row[last]] += 1
    return by_key


def check_verdict(said, shares, refusal="no strict reader reads it"):
    """That a judged table is one, and safe where its highest share is below the limit."""
    if said.code < 2:
        if shares is None:
            raise Fault(f"judged, though {refusal}: {said}")
        if (max(shares) < LIMIT) != (said.code == 0):
            raise Fault(f"exit {said.code}, but the highest share is {max(shares)}: {said}")


def check_left(folder, before, said, published=True):
    """That a command leaves a release, or nothing at all."""
    left = {path.name for path in folder.iterdir()} - before
    if left != ({"out", "out.owner"} if published and said.code == 0 else set()):
        raise Fault(f"left behind: {left} after {said}")


def attempt_csv(chance, folder, worker):
    data = csv_mutant(chance)
    packed = chance.random() < 0.05
    name = "people.csv.gz" if packed else "people.csv"
    (folder / name).write_bytes(gzip.compress(data) if packed else data)
    (folder / "policy.toml").write_text(POLICY)
    doors = (count_csv, audit_csv, publish_csv)
    (door,) = chance.choices(doors, (4, 2, 1))
    door(chance, folder, worker, name, strictly_read(data))


def count_csv(chance, folder, worker, name, table):
    groups = chance.choice((["gid"], ["gid"], ["age"], ["gid", "age"]))
    expected, how = bags(table, groups), {"quasi_identifiers": groups}
    if groups == ["gid"]:
        how = {"group": "gid"}
        expected = None if expected is not None and (None,) in expected else expected
    answer = worker.read(folder, "counts", path=name, sensitive="disease", **how)
    if "refused" in answer:
        return
    if expected is None:
        raise Fault(f"accepted, though no strict reader does, or a null is in it: {answer}")
    results = {}
    for labels, bag in answer["read"]:
        if tuple(labels) in results or len(dict(map(tuple, bag))) < len(bag):
            raise Fault(f"what is one is split: {answer}")
        results[tuple(labels)] = Counter(dict(map(tuple, bag)))
    if results != expected:
        raise Fault(f"counted {answer['read']}\nwhere a strict reader counts {dict(expected)}")


def audit_csv(chance, folder, worker, name, table):
    output = worker.run(folder, "audit", name, "--policy", "policy.toml")
    result = bags(table, ["age", "job"])
    check_verdict(
        output, result and [Fraction(max(b.values()), b.total()) for b in result.values()]
    )
    if chance.random() < 0.02:
        alone(output, folder)


def publish_csv(chance, folder, worker, name, table):
    output = worker.run(folder, "publish", name, "--policy", "policy.toml", "--out", "out")
    check_left(folder, {name, "policy.toml"}, output)
    if output.code:
        return
    if bags(table, ["age"]) is None:
        raise Fault(f"published, though no strict reader reads it: {output}")
    header, rows = table
    pairs = Counter((row[header.index("job")], row[header.index("disease")]) for row in rows)
    with (folder / "out" / "release.csv").open(encoding="utf-8", newline="") as file:
        written = csv.DictReader(file, strict=True)
        counts = Counter((row["job"] or None, row["disease"]) for row in written)
    if counts != pairs:
        raise Fault(f"published {counts}\nof {pairs}")
    again = worker.run(folder, "verify", "out")
    if again.code:
        raise Fault(f"what was published is not verified: {again}")


# ---- Parquet -----------------------------------------------------------------------------------

DAY = dt.datetime(2024, 2, 29, 10, 0, 0, 1)
NAN = float("nan")
PLAIN = (  # numbers, times and the like, with the values that are special in each
    (pa.int8(), [-1, 0, 1]),
    (pa.int64(), [2**53, 2**53 + 1, -(2**63)]),
    (pa.uint64(), [2**64 - 1, 2**64 - 2, 0]),
    (pa.float64(), [0.0, -0.0, NAN, 1.0, 0.1 + 0.2, 0.3]),
    (pa.float32(), [0.0, -0.0, NAN, 0.1]),
    (pa.float16(), [0.0, NAN, 1.0]),
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


def column(chance, size):
    """A column of some type, with nulls here and there, and texts that are nearly alike."""

    def drawn(pool):
        values, holes = chance.choices(pool, k=size), chance.random() > 0.7
        return [None if holes and chance.random() < 0.2 else value for value in values]

    (kind,) = chance.choices(("text", "coded", "plain", "nested"), (5, 4, 5, 1))
    if kind == "text":
        types = (pa.string(), pa.string(), pa.large_string(), pa.string_view())
        return pa.array(drawn([*chance.sample(ODD, 2), "Flu", "AIDS"]), chance.choice(types))
    if kind == "plain":
        of, pool = chance.choice(PLAIN)
        return pa.array(drawn(pool), of)
    if kind == "nested":
        return pa.array(
            drawn(chance.choice(([["Flu"], ["Flu", "AIDS"], []], [{"a": 1}, {"a": 2}])))
        )
    # Dictionary codes, of entries that may repeat or be null.
    pool = ["Flu", "AIDS", "Cold", "Flu ", chance.choice(ODD)][: chance.choice((2, 3, 5))]
    pool += chance.choice(((), (), [chance.choice((None, "Flu", ""))]))
    entries = pa.array(pool if chance.random() < 0.8 else [1, 2, 2, 3, None][: len(pool)])
    codes = pa.array(drawn(range(len(entries))), chance.choice((pa.int8(), pa.int32(), pa.int64())))
    return pa.DictionaryArray.from_arrays(codes, entries)


def write_parquet_mutant(chance, path):
    """Write a table of four columns in one of the ways to write one, then perhaps break it."""
    size = chance.randint(1, 12)
    usual = [[1, 2, 3], ["20", "21", None], ["clerk", "nurse"], ["Flu", "AIDS", "Cold"]]
    columns = [pa.array(chance.choices(pool, k=size)) for pool in usual]
    plain, names = pa.Table.from_arrays(columns, NAMES), list(NAMES)
    for _ in range(chance.choice((0, 1, 1, 2))):
        columns[chance.choice((0, 1, 3, 3))] = column(chance, size)
    if chance.random() < 0.05:
        names[2] = chance.choice(("gid", "GID", "", "disease "))
    how = {
        "compression": chance.choice(("none", "snappy", "zstd")),
        "use_dictionary": chance.choice((True, False)),
        "row_group_size": chance.choice((2, 1000)),
        "data_page_version": chance.choice(("1.0", "2.0")),
        "store_schema": chance.choice((True, True, False)),
    }
    try:
        pq.write_table(pa.Table.from_arrays(columns, names), path, **how)
    except (pa.ArrowException, OSError):  # there are types that it cannot write
        pq.write_table(plain, path)
    if chance.random() < 0.5:
        last = pq.read_metadata(path).row_group(0).column(len(pq.read_schema(path)) - 1)
        start = last.dictionary_page_offset or last.data_page_offset
        path.write_bytes(broken(chance, path.read_bytes(), start + last.total_compressed_size))


def broken(chance, data, end):
    """Bytes changed in the pages, in the footer, or in what says how long it is.

    Codes of a dictionary stand before the `end` of the column; some then point beyond its entries.
    """
    length = int.from_bytes(data[-8:-4], "little")
    footer = len(data) - 8 - length
    kind = chance.choice(words("codes codes anywhere pages footer length cut magic"))
    if kind == "codes":
        place = end - chance.randint(1, 3)
        return data[:place] + bytes([data[place] ^ chance.randint(1, 255)]) + data[place + 1 :]
    if kind == "pages":
        return mutated_bytes(chance, data[:footer], 1) + data[footer:]
    if kind == "footer":
        flipped = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            flipped[footer + chance.randrange(length)] ^= 1 << chance.randrange(8)
        return bytes(flipped)
    if kind == "length":
        other = chance.choice((0, 1, length + 1, 2**31, 2**32 - 1))
        return data[:-8] + other.to_bytes(4, "little") + data[-4:]
    if kind == "cut":
        return data[: chance.randrange(len(data))]
    if kind == "magic":
        return data[:-4] + chance.choice((b"PARE", b"par1", b""))
    return mutated_bytes(chance, data)


def form(found):
    """Groups and bags without their labels, but with who is alike: how often, where and where.

    Labels of a few types print in several ways; how often each occurs in which group does not.
    """
    groups = Counter(tuple(sorted(many for _, many in bag)) for _, bag in found)
    values = defaultdict(list)
    for labels, bag in found:
        size = sum(many for _, many in bag)
        for value, many in bag:
            values[value].append((many, size, len(labels)))
    return groups, Counter(tuple(sorted(where)) for where in values.values())


def attempt_parquet(chance, folder, worker):
    write_parquet_mutant(chance, folder / "people.parquet")
    (folder / "policy.toml").write_text(POLICY)
    named = {"path": "people.parquet"}
    if chance.random() < 0.3:
        command = "publish" if chance.random() < 0.4 else "audit"
        out = ["--out", "out"] if command == "publish" else []
        output = worker.run(folder, command, "people.parquet", "--policy", "policy.toml", *out)
        check_left(folder, {"people.parquet", "policy.toml"}, output, bool(out))
        if chance.random() < 0.02 and output.code == 2:
            alone(output, folder)
        expected = worker.read(folder, "arrow_counts", **named, groups=["age", "job"])
        if command == "audit":
            held = [[many for _, many in bag] for _, bag in expected.get("read", ())]
            shares = [Fraction(max(own), sum(own)) for own in held]
            check_verdict(output, shares or None, expected.get("refused"))
        return
    groups = chance.choice((["gid"], ["gid"], ["age"], ["gid", "age"]))
    how = {"group": "gid"} if groups == ["gid"] else {"quasi_identifiers": groups}
    answer = worker.read(folder, "counts", sensitive="disease", **named, **how)
    expected = worker.read(folder, "arrow_counts", **named, groups=groups, nulls=groups != ["gid"])
    if "refused" not in answer and "refused" in expected:
        raise Fault(f"counted {answer['read']}\nthough {expected['refused']}")
    if "read" in answer and form(answer["read"]) != form(expected["read"]):
        raise Fault(f"counted {answer['read']}\nwhere Arrow has {expected['read']}")


ATTEMPTS = {
    "csv": attempt_csv,
    "parquet": attempt_parquet,
}


@pytest.mark.parametrize("kind", ATTEMPTS)
@rounds(nightly=3000, by_day=12)
def test_files_are_read_or_refused(play, kind, count, seed):
    play(kind, ATTEMPTS[kind], count, seed)


# ---- workbooks, databases and files of statistics programs -------------------------------------

ROWS = [(20 + i % 9, f"z{i % 5}", ("flu", "cold")[i % 2]) for i in range(60)]


def intact(path):
    """Write the table in the form that the extension says."""
    frame = pd.DataFrame(ROWS, columns=["age", "zip", "d"])
    if path.suffix == ".xlsx":
        pytest.importorskip("python_calamine", reason='pip install ".[files]"')
        write_workbook(path, {"People": [list(frame), *ROWS]})
    elif path.suffix == ".sqlite":
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE people (age INT, zip TEXT, d TEXT)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", ROWS)
        connection.commit()
        connection.close()
    elif path.suffix == ".duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.from_df(frame).create("people")
    else:
        stat = pytest.importorskip("pyreadstat", reason='pip install ".[files]"')
        write = {".sav": stat.write_sav, ".dta": stat.write_dta, ".xpt": stat.write_xport}
        write[path.suffix](frame, path)
    return path.read_bytes()


@pytest.mark.processes
@pytest.mark.parametrize("ending", ["xlsx", "sqlite", "duckdb", "sav", "dta", "xpt"])
def test_corrupted_files_fail_cleanly(tmp_path, ending):
    whole, chance = intact(tmp_path / f"whole.{ending}"), random.Random(f"{SEED} {ending}")
    schema = fk.Schema(quasi_identifiers=["age", "zip"], sensitive="d")
    assert fk.Microdata(tmp_path / f"whole.{ending}", schema).n_people == len(ROWS)
    refusals = []
    for i in range(600 if NIGHTLY else 10):
        path = tmp_path / f"{i}.{ending}"
        cut = whole[: chance.randrange(len(whole))]
        path.write_bytes(cut if chance.random() < 0.2 else mutated_bytes(chance, whole))
        try:
            fk.Microdata(path, schema).attributes  # noqa: B018
        except fk.InputError as error:
            refusals.append(str(error))
        path.unlink()
    assert refusals
    assert not [refusal for refusal in refusals if "\n" in refusal]
