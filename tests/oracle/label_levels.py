"""What labels show: every value that could be meant by each, written out."""

import re

NUMBERS = range(151)


def numbers_of(label):
    """The whole numbers, of a few, that a label may stand for; None of one that says none."""
    label = label.removesuffix(" or missing")
    if label == "missing":
        return set()
    if set(label) == {"*"}:
        return {*NUMBERS}
    if " | " in label:
        parts = [numbers_of(part) for part in label.split(" | ")]
        return None if None in parts else set().union(*parts)
    if found := re.fullmatch(r"(\d+) or more", label):
        return {n for n in NUMBERS if n >= int(found[1])}
    if found := re.fullmatch(r"(\d+) to (<?)(\d+)", label):
        low, high = int(found[1]), int(found[3])
        if low > high or (low == high and found[2]):  # which is no range; but it says both
            return {low, high}
        return {n for n in NUMBERS if low <= n < high or (n == high and not found[2])}
    return {int(label)} if re.fullmatch(r"\d+", label) and not re.fullmatch("0.+", label) else None


def keeps_top(label, top):
    """Whether it stands for all numbers from a top on, or for none of these."""
    found = numbers_of(label)
    above = {n for n in NUMBERS if n >= top}
    return found is not None and (above <= found or not above & found)


def whole(values, node_of):
    """Whether values are whole nodes: with each, all others of its node."""
    nodes = {node_of[value] for value in values}
    return values == {value for value, node in node_of.items() if node in nodes}


def codes_of(label, universe):
    """The codes of a universe that a masked label may stand for."""
    if set(label) == {"*"}:
        return {*universe}
    stars = len(label) - len(label.rstrip("*"))
    start = label[: len(label) - stars]
    return {code for code in universe if len(code) == len(label) and code.startswith(start)}
