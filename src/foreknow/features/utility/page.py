"""Utility: what a release is still worth, by measures of its groups and answers to queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from foreknow.features.utility.models import CrossTable, Estimate, Fit, Models
from foreknow.features.utility.report import UtilityReport
from foreknow.report.blocks import Block, Folded, Heading, Row, Sentence, Table
from foreknow.report.figures import measures
from foreknow.report.page import Page
from foreknow.report.words import measure_text, weighting_text
from foreknow.wording import listing
from foreknow_judge.files.printable import visible
from foreknow_judge.text import some


class UtilityPage(Page[UtilityReport]):
    """Measures of the groups and labels, and how far counts are off."""

    serves = UtilityReport
    eyebrow = "Utility of"
    kept = "how far answers are off says more of the raw table than the release does"

    @property
    def headline(self) -> str:
        """Say what is measured."""
        return f"What the {self.result.form} release is still worth"

    def blocks(self, level: int = 2) -> Iterator[Block]:
        """Yield how far counts are off, the measures, the answers to queries, and the models."""
        if sentence := self.key:
            yield Sentence(sentence, "lead")
        if self.result.weights is not None:
            figures = ("answers",) if self.result.models is None else ("answers", "models")
            weighted = figures if self.result.weighted else ()
            yield Sentence(weighting_text(self.result.weights, weighted), "note")
        yield Heading("Measures of groups and labels", "measures", level)
        yield self.measures
        yield Heading("Answers to count queries", "answers", level)
        yield Sentence(self.asked)
        yield self.queries
        if self.result.models is not None:
            yield from model_blocks(self.result.models, level)

    @property
    def key(self) -> str:
        """A sentence that says how far a typical answer is off, and how far without the release."""
        error = self.result.errors[-1]
        if error.baseline is None:
            return ""
        asked_columns = some(error.predicates, "quasi-identifier", "quasi-identifiers")
        return (
            f"The median error of a count by {asked_columns} is {measure_text(error.median)}. "
            f"Answered from the overall counts alone, it would be "
            f"{measure_text(error.baseline.median)}."
        )

    @property
    def measures(self) -> Table:
        """The measures, and a note if quasi-identifiers are exact."""
        exact = [("detail lost", measure_text(0), "quasi-identifiers are exact")]
        table = measures(self.result.utility)
        return table if self.result.utility.ncp else replace(table, rows=[*table.rows, *exact])

    @property
    def queries(self) -> Table:
        """A table with a row for each workload: the columns it asks about, and its errors.

        With the errors of answers by overall counts, if these are known.
        """
        rows = []
        for error in self.result.errors:
            asked_columns = some(error.predicates, "quasi-identifier", "quasi-identifiers")
            shares = [error.median, error.average]
            if error.baseline is not None:
                shares += [error.baseline.median, error.baseline.average]
            rows.append((asked_columns, *map(measure_text, shares)))
        titles = (
            "queries about",
            "median",
            "average",
            "overall counts: median",
            "overall counts: average",
        )
        return Table(titles[: len(rows[0])], rows, note=_BASELINE if len(rows[0]) > 3 else "")

    @property
    def asked(self) -> str:
        """Say which queries were asked, and what the errors are relative to."""
        first = self.result.errors[0]
        queries_text = some(len(first.exact), "query", "queries")
        return (
            "Counts are off by so much, relative to the true count, or to "
            f"{measure_text(first.delta)} of the people where that is more ({queries_text} each):"
        )


_BASELINE = (
    "Overall counts: the same queries, answered by someone who has only the range of each column "
    "and how often each sensitive value occurs among all. What the release adds is the difference."
)


# ---- models ------------------------------------------------------------------------------------

_THREE = ("raw", "middles", "drawn")
_BRIEF = 12
_NOTHING = "–"


def model_blocks(models: Models, level: int = 2) -> Iterator[Block]:
    """Yield how models come out: fits, coefficients, pairs of columns, groups, and cells.

    Each compares the raw table with the release, by middles of labels and by drawn tables.
    """
    yield Heading("Does my model still work?", "models", level)
    # First a sentence for each model that can be told in one, then the tables.
    for fit in models.fits:
        if sentence := fit_text(fit):
            yield Sentence(sentence, "lead")
    targets, by_text = listing(map(visible, models.targets)), listing(map(visible, models.by))
    draws = some(models.draws, "drawn table", "drawn tables")
    yield Sentence(
        f"Explained: {targets}, by {by_text or 'nothing'}. Middles: as a reader of foreknow read "
        f"has the release; drawn: the mean of {draws} of foreknow draw. How much draws differ is "
        "no interval."
    )
    for name, reason in models.left_out.items():
        yield Sentence(f"{visible(name)} is in no model: {reason}.", "note")
    if models.without:
        yield Sentence(f"{models.without[0].upper()}{models.without[1:]}.", "warning")
    if models.fits:
        yield fits_table(models)
    terms: list[Row] = []
    for fit in models.fits:
        for estimate in fit.coefficients:
            term = visible(estimate.of)
            terms.append((explained(fit), term, *_three(estimate)))
    if terms:
        yield Heading("Coefficients", "coefficients", level + 1)
        yield Table(("model of", "term", *_THREE), terms, (0, 1), _TERMS, brief=_BRIEF)
    if models.tables:
        yield Heading("How columns go together", "together", level + 1)
        yield _tables(models.tables)
    if models.groups:
        yield Heading("Means and shares by group", "by-group", level + 1)
        groups: list[Row] = []
        for estimate in models.groups:
            name, group = visible(estimate.of), visible(estimate.group)
            groups.append((name, group, *_three(estimate)))
        yield Table(("", "of those with", *_THREE), groups, (0, 1), brief=_BRIEF)
    # Cross tables have many cells: only those of targets, and folded.
    tables_of_targets = []
    for table in models.tables:
        if table.columns[0] in models.targets:
            tables_of_targets.append(table)
    if tables_of_targets:
        yield Folded("Cross tables, in people", list(map(_cell_counts, tables_of_targets)))


def fits_table(models: Models) -> Table:
    """A table of models: how well each predicts the raw people, by where it was fitted."""
    rows: list[Row] = []
    for fit in models.fits:
        name = f"{fit.kind}, {explained(fit)}"
        deviations = _share(fit.apart.middles), _share(fit.apart.drawn)
        figures = *_three(fit.score), figure_text(fit.baseline)
        rows.append((name, fit.measure, *figures, *deviations))
    titles = ("model", "on raw people", *_THREE, "without", "middles apart", "drawn apart")
    return Table(titles, rows, (0, 1), _SCORES, roomy=(6,))


def fit_text(fit: Fit) -> str:
    """A sentence on how well a regression on the release predicts the raw people.

    Empty for trees, and if the raw model has no score.
    """
    if fit.kind == "tree" or fit.score.raw is None:
        return ""
    subject = f"A {fit.kind} model of {explained(fit)}"
    if fit.score.usual is None:
        return f"{subject} cannot be fitted to the release."
    return (
        f"{subject}, fitted to the release, predicts the raw people with {fit.measure} "
        f"{figure_text(fit.score.usual)}; fitted to the raw table, with "
        f"{figure_text(fit.score.raw)}; without a model it is {figure_text(fit.baseline)}."
    )


def figure_text(figure: float | None) -> str:
    """Write a figure with three decimals, larger ones with fewer.

    >>> figure_text(0.12345), figure_text(-1234.5), figure_text(None), figure_text(-0.0001)
    ('0.123', '-1,234', '–', '0.000')
    """
    if figure is None:
        return _NOTHING
    decimals = 3 if abs(figure) < 10 else 1 if abs(figure) < 1000 else 0
    # Adding 0.0 turns -0.0 into 0.0.
    return f"{round(figure, decimals) + 0.0:,.{decimals}f}"


def explained(fit: Fit) -> str:
    """Say what a model explains."""
    return visible(fit.target if fit.value is None else f"{fit.target} = {fit.value}")


def _three(estimate: Estimate) -> list[str]:
    return list(map(figure_text, (estimate.raw, estimate.middles, estimate.drawn)))


def _share(share: float | None) -> str:
    return _NOTHING if share is None else measure_text(share)


def _tables(tables: Sequence[CrossTable]) -> Table:
    """A table of pairs of columns: how they are associated, and how many people are misplaced."""
    rows: list[Row] = []
    for table in tables:
        columns = " × ".join(map(visible, table.columns))
        misplaced = _share(table.misplaced.middles), _share(table.misplaced.drawn)
        rows.append((columns, table.measure, *_three(table.association), *misplaced))
    header = ("columns", "", *_THREE, "misplaced: middles", "misplaced: drawn")
    return Table(header, rows, (0, 1), _PAIRS, brief=_BRIEF, roomy=(5,))


def _cell_counts(table: CrossTable) -> Table:
    """The people in each cell of a cross table, and in brackets those of the release."""
    rows: list[Row] = []
    for name, raw, drawn_counts in zip(table.rows, table.raw, table.drawn, strict=True):
        cells = [f"{a:,.0f} ({b:,.0f})" for a, b in zip(raw, drawn_counts, strict=True)]
        rows.append((visible(name), *cells))
    title = " × ".join(map(visible, table.columns))
    header = (visible(table.columns[0]), *map(visible, table.values))
    return Table(header, rows, title=title, note="In brackets: the mean of drawn tables.")


_TERMS = (
    "Numbers: per standard deviation in the raw table; values: against the commonest one. – where "
    "the release tells nothing of the column."
)
_SCORES = (
    "R²: of numbers, 1 is exact and 0 the mean. AUC: how often somebody with the value is ranked "
    "before somebody without. Accuracy: of the value that is guessed. Each on the raw people, so "
    "the raw model is flattered. Without: no model. Apart: how far predictions are from those of "
    "the raw model, on average."
)
_PAIRS = (
    "r: correlation; V: Cramér's V, with numbers in five bands. Misplaced: the share of people who "
    "would have to go to another cell of the cross table for it to be that of the raw table."
)
