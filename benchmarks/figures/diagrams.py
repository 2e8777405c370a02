"""The drawings of the documentation, as SVG: ``python -m benchmarks.figures.diagrams``.

Worlds and probabilities are counted here, not copied, so that no drawing can say what is not so.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from fractions import Fraction
from html import escape
from itertools import permutations
from pathlib import Path

IMAGES = Path(__file__).parents[2] / "docs" / "images"
INK, FAINT, GREEN, RED = "#1f2933", "#7b8794", "#1d7a3f", "#c0392b"
COLOURS = {
    "AIDS": "#f6b8b1",
    "HIV": "#f6b8b1",
    "Cancer": "#d9c7f0",
    "Flu": "#cfe3f7",
    "Cold": "#d8efd3",
    "Lung cancer": "#f6b8b1",
    "Hypertension": "#cfe3f7",
}


def text(x: float, y: float, words: str, size: int = 15, **style: str) -> str:
    """Words at a place; ``anchor``, ``weight`` and ``fill`` may be given."""
    attributes = {"font-size": str(size), "fill": style.get("fill", INK)}
    attributes["text-anchor"] = style.get("anchor", "start")
    attributes["font-weight"] = style.get("weight", "normal")
    written = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    return f'<text x="{x}" y="{y}" {written}>{escape(words)}</text>'


def cell(x: float, y: float, width: float, height: float, words: str, *, size: int = 13) -> str:
    """A box with a value in it, in the colour of the value."""
    fill = COLOURS.get(words, "#eef1f4")
    box = f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}" stroke="white"/>'
    return box + text(x + width / 2, y + height / 2 + size / 3, words, size, anchor="middle")


def outline(x: float, y: float, width: float, height: float, colour: str = GREEN) -> str:
    """The border of a group."""
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="none" '
        f'stroke="{colour}" stroke-width="2.5"/>'
    )


def line(x1: float, y1: float, x2: float, y2: float, colour: str = INK, dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" stroke-width="2"'
        f"{dashed}/>"
    )


def arrow(x1: float, y1: float, x2: float, y2: float, colour: str = INK) -> str:
    return line(x1, y1, x2, y2, colour).replace("/>", ' marker-end="url(#head)"/>')


def drawing(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """A whole SVG, on white, so that it can be read on a dark page too."""
    head = (
        '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0 8 4 0 8z" fill="{INK}"/></marker>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" font-family="Helvetica, Arial, sans-serif" role="img">'
        f"<title>{escape(title)}</title><defs>{head}</defs>"
        f'<rect width="{width}" height="{height}" rx="10" fill="white"/>{"".join(parts)}</svg>\n'
    )


PEOPLE = ["Ed", "Frank", "Gary", "Tom"]
WORLDS = sorted(
    set(permutations(["Flu", "Cancer", "Flu", "AIDS"])),
    key=lambda world: (world[3], world[2], world[0]),
)


def _world(x: float, y: float, width: float, values: list[str], struck: bool) -> str:
    cells = "".join(
        cell(x, y + 26 * i, width, 26, value, size=12) for i, value in enumerate(values)
    )
    if not struck:
        return cells
    high = 26 * len(values)
    cross = line(x, y, x + width, y + high, RED) + line(x + width, y, x, y + high, RED)
    return f'<g opacity="0.4">{cells}</g>{cross}'


def _stage(y: float, title: str, people: list[str], worlds: list[tuple[list[str], bool]]) -> str:
    left = [values for values, struck in worlds if not struck]
    tom = people.index("Tom")
    chance = Fraction(sum(values[tom] == "AIDS" for values in left), len(left))
    parts = [text(20, y, title, 16, weight="bold")]
    parts.append(
        text(860, y, f"Tom has AIDS in {chance} of the worlds left", 16, anchor="end", fill=GREEN)
    )
    for i, name in enumerate(people):
        weight = "bold" if name == "Tom" else "normal"
        parts.append(text(70, y + 32 + 26 * i, name, 14, anchor="end", weight=weight))
    width = 61
    for i, (values, struck) in enumerate(worlds):
        parts.append(_world(82 + (width + 4) * i, y + 14, width, values, struck))
    return "".join(parts)


def worlds() -> str:
    """Tom's worlds, struck out as each fact arrives."""
    no_cancer = [(list(w), w[3] == "Cancer") for w in WORLDS]
    gary = [(list(w), w[3] == "Cancer" or w[2] != "Flu") for w in WORLDS]
    kept = [w for w in WORLDS if w[3] != "Cancer" and w[2] == "Flu"]
    pairs = [([ann, *w], ann == "AIDS" and w[3] != "AIDS") for w in kept for ann in ("AIDS", "Flu")]
    parts = [
        _stage(36, "Nothing more is known", PEOPLE, [(list(w), False) for w in WORLDS]),
        _stage(206, "l: Tom does not have Cancer", PEOPLE, no_cancer),
        _stage(376, "k: and Gary has Flu", PEOPLE, gary),
        _stage(546, "m: and if Ann has AIDS, so has Tom", ["Ann", *PEOPLE], pairs),
        text(82, 716, "Ann is in another group. AIDS and Flu are equally likely for her,", 14),
        text(82, 736, "so each of the four worlds above becomes two.", 14),
    ]
    return drawing(880, 756, "Tom's worlds, struck out by three facts", parts)


def amounts() -> str:
    """The three kinds of facts."""
    parts = []
    for i, (letter, title, example) in enumerate(
        [
            ("l", "values ruled out", "Tom does not have Flu"),
            ("k", "other people's values", "Gary has Flu"),
            ("m", "links", "if Ann has AIDS, so has Tom"),
        ]
    ):
        x = 20 + 290 * i
        parts += [
            text(x + 130, 36, f"{letter} = 1", 22, anchor="middle", weight="bold"),
            text(x + 130, 60, title, 15, anchor="middle", fill=FAINT),
            text(x + 130, 208, f"“{example}”", 14, anchor="middle"),
        ]
    parts += [
        text(95, 128, "Tom", 16, anchor="middle", weight="bold"),
        cell(130, 110, 70, 28, "Flu"),
        line(128, 142, 202, 106, RED),
        text(385, 100, "Gary", 16, anchor="middle"),
        cell(420, 82, 70, 28, "Flu"),
        text(385, 158, "Tom", 16, anchor="middle", weight="bold"),
        cell(420, 140, 70, 28, "?"),
        text(645, 100, "Ann", 16, anchor="middle"),
        cell(675, 82, 80, 28, "AIDS"),
        text(645, 168, "Tom", 16, anchor="middle", weight="bold"),
        cell(675, 150, 80, 28, "AIDS"),
        arrow(715, 112, 715, 148),
    ]
    return drawing(880, 228, "The three amounts l, k and m", parts)


def before_after() -> str:
    """A table, its release with the groups outlined, and what knowledge of the method adds."""
    raw = [("Ann", "50", "flu"), ("Bob", "40", "hiv"), ("Cid", "50", "hiv")]
    raw += [("Dora", "30", "flu"), ("Eve", "30", "flu")]
    parts = [text(20, 32, "The table", 17, weight="bold")]
    for i, row in enumerate(raw):
        parts += [
            cell(20 + 72 * j, 46 + 30 * i, 72, 30, word, size=14) for j, word in enumerate(row)
        ]
    parts.append(text(330, 32, "What is published", 17, weight="bold"))
    groups = [[("30 to 40", "flu"), ("30 to 40", "flu"), ("30 to 40", "hiv")]]
    groups += [[("50", "flu"), ("50", "hiv")]]
    y = 50
    for group in groups:
        parts.append(outline(326, y - 5, 186, 30 * len(group) + 10))
        for age, disease in group:
            parts += [cell(332, y, 98, 30, age, size=14), cell(430, y, 76, 30, disease, size=14)]
            y += 30
        y += 16
    parts += [
        text(560, 32, "What an adversary concludes", 17, weight="bold"),
        text(560, 66, "The verdict is right: from the release alone,", 14),
        text(560, 86, "nobody's disease is certain.", 14),
        text(560, 120, "But Mondrian would rather divide the people", 14),
        text(560, 140, "between 30 and 40. That was unsafe, so", 14),
        text(560, 160, "both people of 30 have the same disease.", 14),
        text(560, 194, "Dora: flu.  Eve: flu.  Bob: hiv.", 16, weight="bold", fill=RED),
        text(560, 214, "All three are certain.", 14, fill=RED),
    ]
    return drawing(880, 236, "A safe release that the method gives away", parts)


def mondrian() -> str:
    """Eight people, the cut that is accepted and those that are refused."""
    ages = [20, 23, 24, 27, 31, 34, 35, 38]
    values = ["AIDS", "Flu", "Flu", "Cold", "Cold", "Cancer", "Flu", "AIDS"]

    def row(y: float, title: str, note: str, groups: list[slice], colours: list[str]) -> str:
        found = [text(20, y, title, 16, weight="bold"), text(860, y, note, 14, anchor="end")]
        for group, colour in zip(groups, colours, strict=True):
            x = 20 + 106 * group.start
            found.append(outline(x, y + 10, 106 * (group.stop - group.start) - 6, 70, colour))
        for i, (age, value) in enumerate(zip(ages, values, strict=True)):
            found.append(text(20 + 106 * i + 50, y + 34, str(age), 15, anchor="middle"))
            found.append(cell(20 + 106 * i + 10, y + 44, 80, 28, value))
        return "".join(found)

    halves, quarters = [slice(0, 4), slice(4, 8)], [slice(0, 2), slice(2, 4), slice(4, 8)]
    parts = [
        row(32, "Start: everybody in one group", "safe", [slice(0, 8)], [GREEN]),
        row(152, "Cut between 27 and 31", "safe: accepted", halves, [GREEN, GREEN]),
        row(272, "Cut between 23 and 24", "unsafe: refused", quarters, [RED, RED, GREEN]),
        text(
            20,
            384,
            "After the last cut, an adversary who knows that the person of 20 or 23 does not",
            14,
        ),
        text(
            20,
            404,
            "have AIDS would be certain of Flu. So both halves of the second row are final.",
            14,
        ),
    ]
    return drawing(880, 422, "How Mondrian divides eight people", parts)


def anatomy() -> str:
    """The two tables of a bucketized release."""
    people = [("21", "1"), ("38", "1"), ("24", "2"), ("52", "2")]
    tally = [("1", "Flu", "1"), ("1", "HIV", "1"), ("2", "Flu", "1"), ("2", "Cold", "1")]
    parts = [
        text(20, 32, "people.csv: exact, with a group", 16, weight="bold"),
        text(400, 32, "sensitive.csv: the values of each group", 16, weight="bold"),
    ]
    for i, (age, group) in enumerate(people):
        y = 50 + 32 * i + 14 * (i // 2)
        parts += [cell(26, y, 100, 32, age, size=15), cell(126, y, 100, 32, group, size=15)]
    for i, row in enumerate(tally):
        y = 50 + 32 * i + 14 * (i // 2)
        parts += [cell(406 + 100 * j, y, 100, 32, word, size=15) for j, word in enumerate(row)]
    for i in range(2):
        y = 45 + 78 * i
        parts += [outline(20, y, 212, 74), outline(400, y, 312, 74)]
        parts.append(arrow(240, y + 37, 392, y + 37))
    parts.append(text(20, 226, "Who in a group has which value is not published.", 14))
    return drawing(880, 244, "A bucketized release: people, and the values of their groups", parts)


def art() -> str:
    """Why people who are alike to the statistics share a group."""
    prior = {"Alan": Fraction(1, 10), "Betty": Fraction(3, 1000)}
    odds = {name: chance / (1 - chance) for name, chance in prior.items()}
    mixed = odds["Alan"] / (odds["Alan"] + odds["Betty"])
    parts = []
    for x, title, names, chance in (
        (20, "A man and a woman", ("Alan, man", "Betty, woman"), mixed),
        (450, "Two men", ("Alan, man", "Carl, man"), Fraction(1, 2)),
    ):
        parts += [text(x, 34, title, 17, weight="bold"), outline(x, 48, 390, 84)]
        for i, name in enumerate(names):
            parts.append(text(x + 20, 78 + 34 * i, name, 15))
        parts += [
            cell(x + 180, 60, 120, 28, "Lung cancer"),
            cell(x + 180, 94, 120, 28, "Hypertension"),
        ]
        risk = RED if chance > Fraction(1, 2) else GREEN
        parts += [
            text(x, 160, "From the group alone: 50% that Alan has lung cancer.", 15),
            text(
                x,
                182,
                f"With statistics: {float(chance):.0%}.",
                15,
                fill=risk,
                weight="bold",
            ),
        ]
    return drawing(880, 200, "Statistics tell a man from a woman, not a man from a man", parts)


DRAWINGS = {
    "worlds": worlds,
    "amounts": amounts,
    "before-after": before_after,
    "mondrian": mondrian,
    "anatomy": anatomy,
    "art": art,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=IMAGES)
    folder = parser.parse_args().to
    for name, draw in DRAWINGS.items():
        path = folder / f"{name}.svg"
        path.write_text(draw(), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
