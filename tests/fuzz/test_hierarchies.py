"""Hierarchy files, mutated: each value has the ancestors that a strict reader finds."""

import csv
import io

from tests.fuzz.mutations import ODD, mutated_bytes
from tests.fuzz.rounds import Fault, alone, rounds
from tests.fuzz.test_csv_files import csv_text

ROWS = [
    ["flu", "lung", "ill", "*"],
    ["cold", "lung", "ill", "*"],
    ["ulcer", "stomach", "ill", "*"],
    ["none", "well", "well", "*"],
]
POLICY = """[schema]
quasi_identifiers = ["had"]
sensitive = "disease"
hierarchies = { had = { file = "tree.csv" } }

[[require]]
facts = { l = 0 }
below = 0.9

[publish]
method = "fulldomain"
"""


def mutant(chance):
    rows = [list(row) for row in ROWS]
    for _ in range(chance.choice((0, 1, 1, 2))):
        row = chance.choice(rows)
        kind = chance.choice(("odd", "odd", "drop", "double", "cell", "short"))
        if kind == "odd":
            row[chance.randrange(len(row))] = chance.choice(ODD)
        elif kind == "drop" and len(rows) > 1:
            rows.remove(row)
        elif kind == "double":
            rows.append(list(row))
        elif kind == "cell":
            row[chance.randrange(len(row))] = chance.choice(
                ("lung", "ill", "flu", "missing", "", "*")
            )
        elif len(row) > 2:
            row.pop()
    delimiter = chance.choice(";;\t,")
    end = chance.choice(("\n", "\n", "\r\n", "\r"))
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator=end).writerows(rows)
    data = text.getvalue().encode("utf-8", "surrogatepass")
    if chance.random() < 0.1:
        data = b"\xef\xbb\xbf" + data
    return mutated_bytes(chance, data) if chance.random() < 0.5 else data


def ancestors(data):
    """Labels above each value, by level, the top left out; None if it is no hierarchy.

    The delimiter is the first of ; tab , that the first line that is not blank has outside quotes.
    Spaces around cells do not count; a node has one parent.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    head = next((line for line in text.splitlines() if line.strip()), None)
    if head is None:
        return None
    bare = "".join(head.split('"')[::2])
    delimiter = next((mark for mark in ";\t," if mark in bare), ";")
    lines = io.StringIO(text, newline="")
    try:
        read = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
        rows = [[cell.strip() for cell in row] for row in read]
    except csv.Error:
        return None
    rows = [row for row in rows if len(row) > 1 or any(row)]
    if not rows or any(len(row) != len(rows[0]) or len(row) < 2 for row in rows):
        return None
    found = {}
    parents = {}
    for value, *above in rows:
        if not all(above) or found.setdefault(value, above) != above:
            return None
        for level, label in enumerate(above[:-1]):
            if parents.setdefault((level, label), above[level + 1]) != above[level + 1]:
                return None
    tops = {above[-1] for above in found.values()}
    return {value: above[:-1] if len(tops) == 1 else above for value, above in found.items()}


def attempt(chance, folder, worker):
    data = mutant(chance)
    (folder / "tree.csv").write_bytes(data)
    expected = ancestors(data)
    found = worker.read(folder, "hierarchy", path="tree.csv", values=[row[0] for row in ROWS])
    if "read" in found:
        read = found["read"]
        if expected is None or any(expected.get(value) != above for value, above in read):
            raise Fault(f"read as {read}\nwhere a strict reader has {expected}")
    if chance.random() < 0.4:
        people = [[row[0], disease] for row in ROWS for disease in ("x", "y")]
        (folder / "people.csv").write_bytes(csv_text([["had", "disease"], *people]))
        (folder / "policy.toml").write_text(POLICY)
        argv = ["people.csv", "--policy", "policy.toml"]
        command = chance.choice((["survey"], ["publish", "--out", "out"]))
        said = worker.run(folder, *command, *argv)
        if said.code != 2 and "read" not in found:
            raise Fault(f"the hierarchy is refused by itself ({found['refused']}), but {said}")
        if chance.random() < 0.02 and command == ["survey"]:
            alone(said, folder)


@rounds(nightly=3000)
def test_values_coarsen_as_the_file_says_or_it_is_refused(play, count, seed):
    play(attempt, count, seed)
