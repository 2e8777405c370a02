"""Tables of priors, mutated: the probabilities that a strict reader finds, or refused."""

import csv
import io
import re
from fractions import Fraction

from tests.fuzz.mutations import ODD, mutated_bytes, words
from tests.fuzz.rounds import Fault, alone, rounds
from tests.fuzz.test_csv_files import strictly_read

TABLE = "sex,age,disease\nm,20,Flu\nf,20,HIV\nm,30,Flu\nf,30,Cold\nf,30,HIV\n"
ROWS = [
    [sex, value, chance]
    for sex in "mf"
    for value, chance in (("Flu", "0.5"), ("HIV", "1/4"), ("Cold", "1/8"))
]
POLICY = """[schema]
quasi_identifiers = ["sex", "age"]
sensitive = "disease"
[[require]]
priors = { file = "priors.csv" }
at_most = "9/10"
"""
CHANCES = (
    *words("0 1 0.5 .5 5e-1 1/2 -0.1 1.1 1/0 nan inf x 1e-400 1e-99999999 1_0/2_0 ٣/٤ 0.5.5"),
    *words("1/2/3 0x1 1e-310 0.99999999999999999999 +0.5 50% 1/3 0,5"),
    *(" 1/2", "1/2 ", "", "9" * 5000, "0." + "1" * 3000),
)


def mutant(chance):
    rows = [list(row) for row in ROWS]
    header = ["sex", "value", "probability"]
    for _ in range(chance.choice((0, 1, 1, 2))):
        row = chance.choice(rows)
        kind = chance.choice(("chance", "chance", "odd", "drop", "double", "header"))
        if kind == "chance":
            row[2] = chance.choice(CHANCES)
        elif kind == "odd":
            row[chance.randrange(2)] = chance.choice(ODD)
        elif kind == "drop" and len(rows) > 1:
            rows.remove(row)
        elif kind == "double":
            rows.append(list(row))
        else:
            header[chance.randrange(3)] = chance.choice(
                ("age", "value", "Value", "probability", "x")
            )
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=chance.choice((0, 1)))
    writer.writerows([header, *rows])
    data = text.getvalue().encode("utf-8")
    return mutated_bytes(chance, data) if chance.random() < 0.4 else data


def meaning(data):
    """Signature and value with their probability; None if it is no table of priors."""
    table = strictly_read(data)
    if table is None or not {"value", "probability"} <= set(table[0]):
        return None
    header, rows = table
    attributes = [name for name in header if name not in ("value", "probability")]
    found = {}
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        if cells["value"] is None or not (said := number(cells["probability"])):
            return None
        key = (tuple(cells[name] for name in attributes), cells["value"])
        if key in found:
            return None
        found[key] = said
    sums = {}
    for (signature, _), said in found.items():
        sums[signature] = sums.get(signature, 0) + Fraction(said)
    values = {value for _, value in found}
    if not attributes or not found or len(sums) * len(values) != len(found):
        return None
    if any(total > 1 + Fraction(1, 10**9) for total in sums.values()):
        return None
    return {(signature, value): Fraction(said) for (signature, value), said in found.items()}


def number(text):
    """The text of a probability, if it is one."""
    text = (text or "").strip()
    if not re.fullmatch(r"\+?(\d[\d_]*(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?|\d[\d_]*/\d[\d_]*", text):
        return None
    try:
        return text if 0 <= Fraction(text) <= 1 else None
    except (ValueError, ZeroDivisionError):
        return None


def attempt(chance, folder, worker):
    data = mutant(chance)
    (folder / "priors.csv").write_bytes(data)
    found = worker.read(folder, "priors", path="priors.csv")
    if "read" in found:
        read = {(tuple(who), value): Fraction(said) for who, value, said in found["read"]}
        if read != (expected := meaning(data)):
            raise Fault(f"read as {found['read']}\nwhere a strict reader has {expected}")
    if chance.random() < 0.4:
        (folder / "people.csv").write_text(TABLE)
        (folder / "policy.toml").write_text(POLICY)
        said = worker.run(folder, "audit", "people.csv", "--policy", "policy.toml")
        if said.code != 2 and "read" not in found:
            raise Fault(f"the priors are refused by themselves ({found['refused']}), but {said}")
        if chance.random() < 0.02:
            alone(said, folder)


@rounds(nightly=3000)
def test_priors_are_what_the_file_says_or_it_is_refused(play, count, seed):
    play(attempt, count, seed)
