"""People over each limit, in words, as a table, as a figure, and as rows for a spreadsheet.

For the owner only: they say how many people, and which groups, are worth looking at.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import TYPE_CHECKING

from foreknow.data.tables.views.renamed_columns import disarm_name
from foreknow.report.blocks import Block, Cell, Figure, Heading, Sentence, Table, mood_of
from foreknow.report.chart import LIMIT, OWN, Axis, Bar, Chart, Rule, amounts, bar_table
from foreknow.report.words import group_text, limit_text, percent, required_text
from foreknow_judge.files.printable import visible
from foreknow_judge.text import number, some

if TYPE_CHECKING:
    from foreknow.auditing.exposed_people import Exposed, ExposedGroup, PeopleCount

MEANING = (
    "Everybody is taken in turn, with the worst facts about them. People: they have the value, and "
    "somebody could be as sure of it as the limit. Suspected: somebody could be as sure, whether "
    "they have the value or not. Certain: somebody could be certain, whatever the limit is. For a "
    "criterion, people are those of groups that fail it."
)
HEAD = ("requirement", "people", "groups", "suspected", "certain")
COLUMNS = (
    "requirement",
    "group",
    "people",
    "found_out",
    "certain",
    "value",
    "how_sure",
    "limit",
)


def exposed_blocks(exposed: Iterable[tuple[str, Exposed]]) -> Iterator[Block]:
    """Yield a table of how many people are over each limit, and what that means."""
    yield Heading("People over each limit", "exposed")
    yield exposed_table(exposed)
    yield Sentence(MEANING, "note")


def exposed_table(exposed: Iterable[tuple[str, Exposed]]) -> Table:
    """One row for each requirement and point, by its title."""
    rows = [(title, *_count_cells(exposed_by_verdict)) for title, exposed_by_verdict in exposed]
    return Table(HEAD, rows, title="People over each limit")


def _count_cells(exposed: Exposed) -> list[str | Cell]:
    """The cells of a table row: people over the limit, their groups, suspected and certain ones."""
    over, certain = exposed.over, exposed.certain
    if over is None:
        return ["not counted", "–", "–", "–"]
    return [
        Cell(count_text(over), mood_of(not over.people, exposed.limits)),
        number(over.groups),
        "–" if certain is None else number(over.suspected),
        "–" if certain is None else Cell(count_text(certain), "unsafe" if certain.people else ""),
    ]


def count_text(count: PeopleCount | None) -> str:
    """Write how many people there are, where they were counted."""
    if count is None:
        return "not counted"
    return f"{'at most ' if count.at_most else ''}{number(count.people)}"


def exposed_sentence(exposed: Exposed) -> str:
    """A sentence that says how many people are over a limit that is not kept."""
    over, certain = exposed.over, exposed.certain
    if over is None:
        return "For this kind of knowledge, the people over the limit are not counted."
    where = some(over.groups, "group", "groups")
    noun = "person" if over.people == 1 else "people"
    # Where people have several cases or households are meant, `unit` is the column that is counted.
    nouns: dict[str | None, str] = {None: noun}
    noun = nouns.get(exposed.unit, f"different {visible(str(exposed.unit))}")
    people = f"{count_text(over)} {noun} in {where}"
    people = people[0].upper() + people[1:]
    if exposed.verdict.of_groups:
        fail = "that fails" if over.groups == 1 else "that fail"
        return f"{people} {fail}."
    if certain is None:
        return f"{people} could be found out."
    if certain.people == over.people:
        sure = "all of them with certainty" if over.people > 1 else "with certainty"
    elif certain.people:
        sure = f"{count_text(certain)} of them with certainty"
    else:
        sure = "nobody with certainty"
    return f"{people} could be found out, {sure}."


def exposed_figure(exposed: Exposed, anchor: str, title: str = "") -> Iterator[Figure]:
    """A bar chart of people by how sure an adversary could be of them, in steps of 10%.

    Nothing if nobody is counted. `anchor` is the id of the figure on the page.
    """
    limit, people_by_chance = exposed.verdict.required.at(None), exposed.by_chance
    if not any(people_by_chance):
        return
    # Ten ranges and, set a little apart, those of whom an adversary is certain.
    ranges = [f"{10 * i}% to {10 * i + 10}%" for i in range(9)]
    ranges += ["90% to less than 100%", "certain"]
    is_absolute = not exposed.verdict.required.relative
    bars = []
    for tenth, (n_people, range_text) in enumerate(zip(people_by_chance, ranges, strict=True)):
        is_certain = tenth == 10
        start = 10.9 if is_certain else tenth
        # A bar that the limit divides is drawn as those below it.
        color = LIMIT if is_certain or (is_absolute and tenth >= 10 * limit) else OWN
        label = f"{some(n_people, 'person', 'people')}: {range_text}"
        bars.append(Bar(start + 0.04, start + 0.96, n_people, label, color))
    ticks = [(start, f"{10 * start}%") for start in (0, 2, 4, 6, 8)] + [
        (10, "100%"),
        (11.4, "certain"),
    ]
    titles = ("how sure somebody could be", "people")
    rule = Rule(10 * float(limit), f"limit {limit_text(limit)}", limit > 0.5)
    chart = Chart(
        Axis(titles[0], -0.1, 12, ticks),
        amounts("people", max(people_by_chance), above=0.15),
        bars=bars,
        rule=rule if is_absolute else None,
        height=220,
        table=bar_table(titles, zip(ranges, people_by_chance, strict=True)),
    )
    title = f"{title}: people" if title else "People"
    title += " by how sure somebody could be of them"
    yield Figure(anchor, title, chart, _caption(exposed), level=3)


def _caption(exposed: Exposed) -> str:
    """The caption that says which people or values the figure counts."""
    amount = number(sum(exposed.by_chance))
    if exposed.about == "suspected":
        return (
            f"Of {amount} people, by the value of which somebody could be surest, whether they "
            "have it or not: a release does not say who of those with one prior has which value."
        )
    if exposed.about == "values":
        return (
            f"Of {amount} values that people have, as the requirement is about them; somebody with "
            "several values is counted with each."
        )
    return f"Of {amount} people who have a value that the requirement is about, by that value."


def exposed_rows(exposed: Iterable[tuple[str, Exposed]]) -> Iterator[tuple[str, ...]]:
    """The groups over each limit, a row each, the worst first."""
    for title, exposed_by_verdict in exposed:
        for group in exposed_by_verdict.groups:
            yield title, *_row(exposed_by_verdict, group)


def _row(exposed: Exposed, group: ExposedGroup) -> Iterator[str]:
    """Yield the cells of one exposed group: its label, sizes, and worst value with its chance."""
    yield group_text(group.label)
    yield str(group.size)
    yield str(group.people)
    yield "" if group.certain is None else str(group.certain)
    worst, limit = group.disclosure, exposed.verdict.required
    if worst is None:
        yield from ("", "", "")
        return
    yield visible(worst.value)
    yield percent(worst, limit.at(worst.prior), 2)
    yield required_text(limit, "x prior")


def exposed_csv(exposed: Iterable[tuple[str, Exposed]]) -> str:
    """The exposed groups as a CSV file for spreadsheets, in which no text is a formula."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(list(map(disarm_name, row)) for row in exposed_rows(exposed))
    return text.getvalue()
