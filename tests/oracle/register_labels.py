"""Who of a register is in a published group, by somebody who has the raw table, too.

A value that somebody in the table has is written as it is, and no label is written like one: so
whatever else a text looks like, it is that value if the table has it.
"""

import re


def meanings(label, own, kind, rows=()):
    """Each way to read a label, as a test of a value; `own`: the values of the table."""
    if label is None or label in own or label in {row[0] for row in rows}:
        return [lambda value: value == label]
    if kind == "tree":
        return [_below(label, rows)] if label.rstrip("+") not in ("*", "* (level 9)") else [_all]
    told = re.fullmatch(r"(.*) \(level (\d+)\)\+*", label, re.DOTALL)
    told = told if told and (kind == "mask" or told[1] == "*") else None
    text = told[1] if told else label
    text = text.rstrip("+") if text.rstrip("+")[-1:] in ("*", '"') else text
    if text == "*":
        return [_all]
    if kind == "mask":
        stars = [int(told[2])] if told else range(1, len(text) - len(text.rstrip("*")) + 1)
        ways = [_begins(text[:-many], len(text)) for many in stars]
        return [way for way in ways if any(map(way, own))]
    null = text.startswith("missing | ")
    text = text.removeprefix("missing | ")
    parts = [part.replace('""', '"') for part in re.findall(r'"((?:[^"]|"")*)"', text)]
    quoted = " | ".join('"' + part.replace('"', '""') + '"' for part in parts) == text
    needed = any("|" in value or value == "missing" for value in own if value)
    parts = parts if parts and quoted and needed else text.split(" | ")
    assert set(parts) <= set(own), (label, own)
    return [lambda value: value in parts or (null and value is None)]


def _all(value):
    return True


def _begins(start, length):
    return lambda value: value is not None and len(value) == length and value.startswith(start)


def _below(label, rows):
    told = re.fullmatch(r"(.*) \(level (\d+)\)\+*", label, re.DOTALL)
    name, levels = (told[1], [int(told[2])]) if told else (label, range(1, len(rows[0])))
    if name == "*" and all(row[level] != "*" for row in rows for level in range(1, len(row))):
        return _all
    level = next(at for at in levels if at < len(rows[0]) and any(row[at] == name for row in rows))
    below = {row[0] for row in rows if row[level] == name}
    return lambda value: value in below


def covered(label, own, kinds, register, rows=()):
    """How many of a register each way to read a group's labels covers: several, or one number."""
    about = zip(label, own, kinds, strict=True)
    ways = [meanings(part, values, kind, rows) for part, values, kind in about]
    counts = [set()]
    for tests in ways:
        counts = [one | {(len(one), test)} for one in counts for test in tests]
    return {sum(all(test(person[at]) for at, test in way) for person in register) for way in counts}
