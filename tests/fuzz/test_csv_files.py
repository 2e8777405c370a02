"""CSV files, mutated: read as Python's strict reader reads them, or refused."""

import csv
import gzip
import io
from collections import Counter, defaultdict
from fractions import Fraction

from tests.fuzz.mutations import ODD, mutated_bytes, some
from tests.fuzz.rounds import Fault, alone, rounds

COLUMNS = ["gid", "age", "job", "disease"]
POLICY = """[schema]
quasi_identifiers = ["age"]
other = ["job"]
sensitive = "disease"

[[require]]
facts = { l = 0 }
below = "2/3"
"""
LIMIT = Fraction(2, 3)


def mutant(chance):
    """The bytes of a table, odd in its values, its quotes, its lines, or anywhere."""
    pools = [
        ["1", "2", "3"],
        ["20", "21", "30", "", "20.0"],
        ["clerk", "nurse"],
        ["Flu", "AIDS", "Cold", "Flu"],
    ]
    odd = chance.sample(ODD, 4)
    rows = [[chance.choice(pool) for pool in pools] for _ in range(chance.randint(2, 12))]
    for row in rows:
        if chance.random() < 0.4:
            row[chance.randrange(4)] = chance.choice(odd)
    header = list(COLUMNS)
    if chance.random() < 0.1:
        header[chance.randrange(4)] += chance.choice((" ", "\u00a0", "\t", " \n"))
    delimiter = chance.choice(",,,,;\t|")
    ends = chance.choice((["\n"], ["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"], ["\n", "\n\n"]))
    always = chance.random() < 0.3
    quoted = {delimiter, '"', "\n", "\r"}

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
        at = chance.randrange(len(data))
        near = data.find(b'"', at)
        at = at if near < 0 else near + chance.randrange(2)
        data = data[:at] + chance.choice((b" ", b"x", b'"', b"\n")) + data[at:]
    return mutated_bytes(chance, data) if chance.random() < 0.4 else data


def csv_text(rows):
    """Rows as the bytes of a CSV file."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue().encode()


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
    inside, found = False, Counter()
    for char in text.lstrip("\r\n"):
        inside ^= char == '"'
        if not inside and char in "\r\n":
            break
        found.update([char] if not inside else [])
    delimiter = max(",;\t|", key=lambda mark: found[mark])
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


def bags(table, groups, sensitive):
    """The bag of each group; None where the table cannot be counted."""
    header, rows = table
    if not rows or not {*groups, sensitive} <= set(header):
        return None
    places, last = [header.index(name) for name in groups], header.index(sensitive)
    found = defaultdict(Counter)
    for row in rows:
        if row[last] is None:
            return None
        found[tuple(row[place] for place in places)][row[last]] += 1
    return found


def as_read(answer):
    """What a reading counted, in the form of `bags`; a group or value that comes twice is split."""
    found = {}
    for labels, bag in answer:
        if tuple(labels) in found or len(dict(map(tuple, bag))) < len(bag):
            raise Fault(f"what is one is split: {answer}")
        found[tuple(labels)] = Counter(dict(map(tuple, bag)))
    return found


def compare(answer, expected):
    """Either refused, or counted as expected."""
    if "refused" in answer:
        return
    if expected is None:
        raise Fault(f"accepted, though no strict reader does, or a null is in it: {answer}")
    if as_read(answer["read"]) != expected:
        raise Fault(f"counted {answer['read']}\nwhere a strict reader counts {dict(expected)}")


def attempt(chance, folder, worker):
    data = mutant(chance)
    name = "people.csv"
    if some(chance, True, 0.05):
        name, data = "people.csv.gz", gzip.compress(data)
        (folder / name).write_bytes(data)
        data = gzip.decompress(data)
    else:
        (folder / name).write_bytes(data)
    (folder / "policy.toml").write_text(POLICY)
    table = strictly_read(data)
    doors = {"counted": count, "audited": audit, "published": publish}
    doors[chance.choices(list(doors), (4, 2, 1))[0]](chance, folder, worker, name, table)


def count(chance, folder, worker, name, table):
    by_group = chance.random() < 0.5
    groups = ["gid"] if by_group else chance.choice((["age"], ["gid", "age"]))
    expected = None if table is None else bags(table, groups, "disease")
    if by_group and expected is not None and (None,) in expected:
        expected = None
    how = {"group": "gid"} if by_group else {"quasi_identifiers": groups}
    compare(worker.read(folder, "counts", path=name, sensitive="disease", **how), expected)


def audit(chance, folder, worker, name, table):
    said = worker.run(folder, "audit", name, "--policy", "policy.toml")
    expected = None if table is None else bags(table, ["age"], "disease")
    if said.code < 2:
        if expected is None:
            raise Fault(f"judged, though no strict reader reads it: {said}")
        shares = [Fraction(max(bag.values()), bag.total()) for bag in expected.values()]
        if (max(shares) < LIMIT) != (said.code == 0):
            raise Fault(f"exit {said.code}, but the highest share is {max(shares)}: {said}")
    if chance.random() < 0.02:
        alone(said, folder)


def publish(chance, folder, worker, name, table):
    said = worker.run(folder, "publish", name, "--policy", "policy.toml", "--out", "out")
    left = {path.name for path in folder.iterdir()} - {name, "policy.toml"}
    if left != ({"out", "out.owner"} if said.code == 0 else set()):
        raise Fault(f"left behind: {left} after {said}")
    if said.code:
        return
    if table is None or bags(table, ["age"], "disease") is None:
        raise Fault(f"published, though no strict reader reads it: {said}")
    header, rows = table
    pairs = Counter((row[header.index("job")], row[header.index("disease")]) for row in rows)
    with (folder / "out" / "release.csv").open(encoding="utf-8", newline="") as file:
        written = csv.DictReader(file, strict=True)
        found = Counter((row["job"] or None, row["disease"]) for row in written)
    if found != pairs:
        raise Fault(f"published {found}\nof {pairs}")
    again = worker.run(folder, "verify", "out")
    if again.code:
        raise Fault(f"what was published is not verified: {again}")


@rounds(nightly=3000)
def test_csv_files_are_counted_as_they_are_or_refused(play, count, seed):
    play(attempt, count, seed)
