"""Risk: who is found again by columns that others may know, and which columns are to blame."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from foreknow.features.risk.household import HouseholdRisk
from foreknow.features.risk.individual import IndividualRisk
from foreknow.features.risk.population import SMALL, UniquesEstimate
from foreknow.features.risk.risk import ColumnSet, Contribution, PopulationUniques, Risk, RiskReport
from foreknow.report.blocks import (
    Block,
    Cell,
    Figure,
    Heading,
    Row,
    Sentence,
    Table,
    bar_cell,
)
from foreknow.report.chart import LIMIT, OWN, Axis, Bar, Chart, amounts, bar_table
from foreknow.report.page import Page
from foreknow.report.words import limit_text
from foreknow.shown_numbers import percentage
from foreknow.wording import listing
from foreknow_judge.files.printable import visible
from foreknow_judge.numbers import as_fraction
from foreknow_judge.remarks.sentences import SEVERAL_CASES
from foreknow_judge.text import number, some

_WORST = 10  # sets and pairs that a page shows; a terminal shows half of them
_ENDS = (1, 2, 3, 5, 10, 20, 50, 100)  # where the bars of the figure begin
_MODELS = {"pitman": "Pitman", "zayatz": "Zayatz", "snb": "negative binomial"}


class RiskPage(Page[RiskReport]):
    """The risk of the people of a table, and what the columns add to it."""

    serves = RiskReport
    eyebrow = "Re-identification risk of"
    heading = "What the figures leave open:"
    kept = "it shows which people and values are easy to find again"

    @property
    def headline(self) -> str:
        """Say how many people are unique."""
        report = self.result
        share = _share(report.unique_share)
        if not report.by_values:
            return f"{_amount(report.uniques, report.people)} in a group of their own ({share})"
        return f"{_amount(report.uniques, report.people)} unique ({share})"

    def blocks(self) -> Iterator[Block]:
        """Yield a figure of how many people share their values, and each part of the report.

        Parts that were not asked for, or say nothing, are left out.
        """
        report = self.result
        yield Figure(
            "sizes", "People by how many share their values", _figure(report), _BARS, level=3
        )
        yield from _section("Three adversaries", [_knowledge(report)], _adversaries(report))
        if report.individual is not None:
            yield from _section("In a survey's population", *_individual(report.individual, report))
        if report.household is not None:
            yield from _section("Households", *_households(report.household, report))
        if report.population is not None:
            yield from _section("In the population", *_population(report, report.population))
        if report.sets:
            yield from _section("Columns", [_COLUMNS], _sets(report))
        if report.contributions and report.uniques:
            yield from _section("What columns add", [_ADDED], _contributions(report))
        if report.suda is not None and report.uniques:
            yield from _section("How few values are enough", *_suda(report))
            if report.suda.n_people:
                yield from _section("People whom they single out", [], _listed_people(report))

    def as_they_are(self) -> Iterator[str]:
        """Columns of the table, and what is said of the people whose cases these are."""
        yield from (self.name, SEVERAL_CASES, *map(visible, self.result.columns))

    @property
    def scope(self) -> str:
        """Say how many classes there are, and by which columns."""
        report = self.result
        people = some(report.people, "person", "people")
        if not report.by_values:
            return f"{people}, {some(report.classes, 'group', 'groups')}."
        column_names = listing(map(visible, report.columns), n_shown=12)
        return f"{people}, {some(report.classes, 'class', 'classes')} by {column_names}."

    @property
    def notes(self) -> list[str]:
        """Sentences on what the figures leave open: cases, the population, and other columns."""
        report, sentences = self.result, [*self.unit.notes]
        if report.person is not None:
            sentences.append(
                f"Rows are cases: each {visible(report.person)} counts once in every class where "
                "it has a case, and the figures count these."
            )
        if report.journalist is None and report.by_values:
            sentences.append(
                "The journalist's risk and uniqueness in the population are not measured: give a "
                "population table or the sampling fraction."
            )
        if not report.by_values:
            sentences.append(
                "People are taken to be alike within their group, which has no values in common "
                "that a population could be compared with. Where exact values are published "
                "beside it, they may tell its members apart: measure that table by its columns."
            )
        if report.beside:
            names = listing(map(visible, report.beside))
            sentences.append(
                f"Not measured: {names}. An adversary who knows these may find more people."
            )
        return sentences


_COLUMNS = (
    "Distinction is the number of classes per person: 100% is a key. Separation is the share of "
    "pairs of people who differ."
)
_BARS = (
    "A class is everybody with equal values in all of these columns. People in small classes are "
    "at the left. In red bars, some people are above the threshold."
)
_ADDED = "The number of people who are unique only because of these columns:"


def _section(title: str, before: Sequence[str], table: Table) -> Iterator[Block]:
    yield Heading(title, title.lower().replace(" ", "-"))
    yield from [Sentence(sentence, whole=table.whole) for sentence in before]
    yield from [table] if table.rows else []


def _amount(some_of: int, people: int) -> str:
    if people == 1:
        return "The only person is" if some_of else "The only person is not"
    if some_of == people:
        return f"All {number(people)} people are"
    return f"{number(some_of)} of {number(people)} people {'is' if some_of == 1 else 'are'}"


# ---- adversaries -------------------------------------------------------------------------------


def _adversaries(report: RiskReport) -> Table:
    """A table of the prosecutor, the journalist and the marketer, and of their risks."""
    rows = [_risk("prosecutor", report.prosecutor)]
    if report.journalist is not None:
        rows.append(_risk("journalist", report.journalist))
    marketer = report.marketer
    average = _share(marketer.share, marketer.estimate)
    rows.append(("marketer", "", average, "", "", _basis_text(marketer.estimate)))
    above = f"above {limit_text(report.threshold)}"
    return Table(("adversary", "highest", "average", above, "of all", ""), rows, (0, 5))


def _individual(risk: IndividualRisk, report: RiskReport) -> tuple[list[str], Table]:
    """A sentence and a table about the risk by survey weights, for a section of the page."""
    name, people = visible(risk.weights), number(round(risk.population))
    sentence = (
        f"By its weights ({name}), the table stands for {people} people. The risk of a person is "
        "the chance that a random pick among all people of the population with the same values "
        "is right. It is an estimate."
    )
    n_above = Cell(number(risk.above), "unsafe" if risk.above else "")
    row = (
        name,
        _share(risk.highest, estimate=True),
        _share(risk.average, estimate=True),
        f"{risk.expected:,.1f}",
        n_above,
    )
    above_title = f"above {limit_text(report.threshold)}"
    titles = ("estimated by", "highest", "average", "expected to be found", above_title)
    return [sentence], Table(titles, [row])


def _households(risk: HouseholdRisk, report: RiskReport) -> tuple[list[str], Table]:
    """A sentence and a table about the risk that somebody of a household is found."""
    is_estimate = report.individual is not None
    sentence = (
        f"{number(risk.households)} households ({risk.column}). The risk of a household is that at "
        "least one member is found."
    )
    n_above = Cell(number(risk.above), "unsafe" if risk.above else "")
    shares = (_share(risk.highest, is_estimate), _share(risk.average, is_estimate))
    rows = [(*shares, f"{risk.expected:,.1f}", n_above)]
    titles = ("highest", "average", "expected to be found", f"above {limit_text(report.threshold)}")
    return [sentence], Table(titles, rows)


def _knowledge(report: RiskReport) -> str:
    """Say what each of them knows."""
    text = "The prosecutor knows that the person is in the table"
    if report.journalist is not None:
        text += ", the journalist knows the population"
    register = "a register of exactly its people, which is the worst"
    linked_with = register if report.marketer.against == "table" else "the population"
    return f"{text}, the marketer links the whole table with {linked_with}."


def _risk(name: str, risk: Risk) -> Row:
    """The row of one adversary: highest and average risk, and people above the limit."""
    share = _share(risk.share_above, risk.estimate)
    return (
        name,
        _share(risk.highest, risk.estimate),
        _share(risk.average, risk.estimate),
        Cell(number(risk.above), "unsafe" if risk.above else ""),
        share,
        _basis_text(risk.estimate),
    )


def _basis_text(estimate: bool) -> str:
    return "estimate" if estimate else "exact"


def _share(share: Fraction | float, estimate: bool = False) -> str:
    """A share as a percentage, rounded up if it is known, to the nearest if it is estimated.

    A share below a tenth of a percent gets more digits, so that it is not shown as 0 or as much
    more.
    """
    digits, per_thousand = 1, 1000 * as_fraction(share)
    while 0 < per_thousand < 1:
        digits, per_thousand = digits + 1, 10 * per_thousand
    return percentage(share, digits, "nearest" if estimate else "up")


# ---- population ----------------------------------------------------------------------------------


def _population(report: RiskReport, population: PopulationUniques) -> tuple[list[str], Table]:
    """Sentences and a table about people who are unique in the population, counted or estimated.

    Estimates come from several models, of which a published rule takes one.
    """
    people = some(population.people, "person", "people")
    titles = ("", "unique in the population", "of all", "of them in the table", "")
    # Counted in a population table: one row. Otherwise one row for each model.
    if population.uniques is not None:
        share = _share(Fraction(population.uniques, population.people))
        row = (
            "counted",
            number(population.uniques),
            share,
            number(population.in_table or 0),
            "exact",
        )
        return [f"The population has {people}."], Table(titles, [row], left=(0, 4))
    sentences = [
        f"The population has about {people}; {percentage(population.fraction, 1)} of them are in "
        "the table. These are estimates, no verdicts. Each assumes that the table is a simple "
        "random sample of the population, and that"
    ]
    rows: list[Row] = []
    if not report.uniques:
        sentences = [
            "Nobody in the table is unique, so nobody in it is unique in the population. The "
            "table cannot show whether others are."
        ]
    else:
        assumptions = []
        for estimate in population.estimates:
            rows.append(_estimate(estimate, estimate is population.chosen))
            assumptions.append(f"{estimate.assumption} ({_MODELS[estimate.model]})")
        sentences[0] += f" {'; '.join(assumptions)}."
        sentences.append(
            "The journalist's risk is an expectation, since the sizes of classes in the "
            "population are not known; a person who is unique there, too, is found with "
            "certainty."
        )
        sentences.append(_rule(population))
    return sentences, Table(titles, rows, left=(0, 4))


def _estimate(estimate: UniquesEstimate, chosen: bool) -> Row:
    name = Cell(_MODELS[estimate.model], "strong" if chosen else "")
    if estimate.uniques is None or estimate.share is None or estimate.in_table is None:
        return (name, "", "", "", f"no estimate: {estimate.reason}")
    of_all = percentage(estimate.share, 1)
    uniques = f"about {number(round(estimate.uniques))}"
    in_table = f"about {number(round(estimate.in_table))}"
    return (name, uniques, of_all, in_table, "taken by the rule" if chosen else "")


def _rule(population: PopulationUniques) -> str:
    """A sentence that says which estimate the published rule takes, and why.

    Where the model that the rule prefers has no answer, Zayatz' stands in.
    """
    is_small = population.fraction <= SMALL
    rule = (
        "The rule of Dankar, El Emam, Neisa and Roffey (2012) takes Pitman's up to a sampling "
        "fraction of 10%, else the lower of Zayatz' and the negative binomial one"
    )
    by_model = {estimate.model: estimate for estimate in population.estimates}
    preferred = by_model["pitman" if is_small else "snb"]  # slide negative binomial
    if population.chosen is None or preferred.uniques is not None:
        return f"{rule}."
    return f"{rule}. As the {_MODELS[preferred.model]} model gives none, Zayatz' stands in."


# ---- columns -------------------------------------------------------------------------------------


def _names(columns: Sequence[str]) -> str:
    return ", ".join(map(visible, columns))


def _sets(report: RiskReport) -> Table:
    """A table of how well columns tell people apart: each one, all, and the worst larger sets."""
    # All columns together are the last of the sets.
    *columns_of_sets, everything = report.sets
    singles = sorted((s for s in columns_of_sets if len(s.columns) == 1), key=_worst_first)
    larger = sorted((s for s in columns_of_sets if len(s.columns) > 1), key=_worst_first)
    total = f"all {number(len(everything.columns))}" if len(everything.columns) > 2 else ""
    rows = [*map(_set, singles), _set(everything, total), *map(_set, larger)]
    header = ("columns", "distinction", "separation", "unique people")
    return _cut_rows(Table(header, rows, others=("other set", "other sets")), len(singles) + 1)


def _worst_first(column_set: ColumnSet) -> tuple[Fraction, Fraction]:
    return (-column_set.distinction, -column_set.separation)


def _set(column_set: ColumnSet, name: str = "") -> Row:
    return (
        name or _names(column_set.columns),
        _share(column_set.distinction),
        _share(column_set.separation),
        number(column_set.uniques),
    )


def _contributions(report: RiskReport) -> Table:
    """A table of what each column adds, and the pairs that add most."""
    singles: list[Row] = []
    pairs: list[Row] = []
    for contribution in report.contributions:
        rows = singles if len(contribution.columns) == 1 else pairs
        rows.append(_contribution(contribution))
    titles = ("without", "unique people", "fewer", "share of the unique")
    table = Table(titles, [*singles, *pairs], others=("other pair", "other pairs"))
    return _cut_rows(table, len(singles))


def _cut_rows(table: Table, always: int) -> Table:
    """Rows that are always shown, and some of those after them."""
    shortened = replace(table, brief=always + _WORST // 2, where=", in the JSON")
    return shortened.cut(always + _WORST)


def _contribution(contribution: Contribution) -> Row:
    share = bar_cell(percentage(contribution.share, 1), contribution.share)
    return (
        _names(contribution.columns),
        number(contribution.without),
        number(contribution.added),
        share,
    )


# ---- SUDA ----------------------------------------------------------------------------------------


def _suda(report: RiskReport) -> tuple[list[str], Table]:
    """Sentences and a table about people whom few values single out, and by which columns."""
    suda = report.suda
    assert suda is not None
    size = some(suda.size, "column", "columns")
    sentences = [
        f"{_amount(suda.n_people, report.people)} unique by the values of at most {size} (minimal "
        "sample uniques)."
    ]
    if suda.n_people:
        smallest = []
        for n_columns, n_people in enumerate(suda.people, 1):
            if n_people:
                columns = some(n_columns, "column", "columns")
                smallest.append(f"{number(n_people)} by {columns}")
        sentences[0] += f" At the fewest: {listing(smallest)}."
        sentences.append(
            "A minimal unique of k of m columns scores (m - k)! for its person (SUDA). Each "
            "column's share of all scores that involve it; the shares add up to more than 100%:"
        )
    if suda.dis is not None:
        sentences.insert(
            1,
            "DIS: a match with a unique person is right with a probability of about "
            f"{percentage(suda.dis, 1)}, if the table is a random sample of the population.",
        )
    rows: list[Row] = []
    for name, share in sorted(suda.contributions.items(), key=lambda item: -item[1]):
        bar = bar_cell(percentage(share, 1), share)
        rows.append((visible(name), bar))
    return sentences, Table(("column", "share of scores"), rows)


def _listed_people(report: RiskReport) -> Table:
    """A table of the people with the highest scores, and the values that single them out."""
    suda = report.suda
    assert suda is not None
    rows: list[Row] = []
    for person in suda.listed(_WORST):
        values = ", ".join(map(visible, person.values))
        sets = "; ".join(map(_names, person.minimal[:_WORST]))
        dis = "" if person.dis is None else f"{person.dis:.4f}"
        rows.append((values, sets, number(person.score), dis))
    return Table(
        (_names(report.columns), "unique by", "SUDA", "DIS"),
        rows,
        (0, 1),
        omitted=suda.n_people - len(rows),
        others=("other person", "other people"),
        whole=True,
    )


# ---- the figure ------------------------------------------------------------------------------


def _figure(report: RiskReport) -> Chart:
    """A bar chart of people by the size of their class (everybody with the same values).

    Sizes are put together into bars; a bar is red if some people in it are above the threshold.
    """
    sizes, people = report.sizes.tolist(), (report.sizes * report.classes_of_size).tolist()
    names, bars, ticks = [], [], []
    # A bar reaches from one size to just below the next bar's; the last one has no end.
    for position, (smallest, next_smallest) in enumerate(pairwise([*_ENDS, None])):
        assert smallest is not None
        largest = None if next_smallest is None else next_smallest - 1
        start = bisect_left(sizes, smallest)
        end = len(sizes) if next_smallest is None else bisect_left(sizes, next_smallest)
        if largest is None:
            name, tick_text = f"{smallest} or more", f"{smallest}+"
        elif largest > smallest:
            name, tick_text = f"{smallest} to {largest}", f"{smallest}–{largest}"
        else:
            name = tick_text = str(smallest)
        names.append(name)
        ticks.append((position, tick_text))
        height = sum(people[start:end])
        # The smallest class of a bar has the highest risk, 1 / size.
        is_over = start < end and Fraction(1, sizes[start]) > report.threshold
        color = LIMIT if is_over else OWN
        label = f"{some(height, 'person', 'people')} in classes of {names[-1]}"
        bars.append(Bar(position - 0.45, position + 0.45, height, label, color))
    heights = [int(bar.height) for bar in bars]
    return Chart(
        Axis("people in the class", -0.6, len(bars) - 0.4, ticks),
        amounts("people", max(heights)),
        bars=bars,
        height=220,
        table=bar_table(("people in the class", "people"), zip(names, heights, strict=True)),
    )
