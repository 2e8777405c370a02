"""What can be learned from a release: sentences, bandwidths, and the statistics themselves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foreknow.auditing.learning import LearnedReport, Lesson
from foreknow.numbers import percentage
from foreknow.report.learned import WHAT_IT_IS, learned_sentence
from foreknow.report.page import Block, Grid, Page, Row, Sentence, bar_cell
from foreknow.report.words import listing, named, noun_of, some, visible

_MOST_KINDS, _MOST_VALUES = 16, 4


class LearnedPage(Page[LearnedReport]):
    """What somebody can learn by some columns."""

    serves = LearnedReport
    kept = "it says whom the release tells most about"

    @property
    def headline(self) -> str:
        """Say by which columns."""
        columns = listing([visible(name) for name in self.result.lessons[0].adversary.by], most=8)
        return f"What can be learned from the release by {columns}: an estimate"

    def html(self) -> str:
        """Write the page."""
        sections = [("How detailed the statistics are", list[str](), self._bandwidths())]
        if len(self.result.lessons) == 1:
            sections = []
        statistics = self._statistics(self._surest)
        return self.document(
            "plain.html.j2",
            eyebrow="Learned from",
            sentences=self._sentences(),
            sections=[*sections, ("What is learned", [self._how(self._surest)], statistics)],
        )

    def brief(self) -> Iterator[Block]:
        """The same."""
        yield from [Sentence(said) for said in self._sentences()]
        if len(self.result.lessons) > 1:
            yield self._bandwidths()
        yield self._statistics(self._surest)
        yield Sentence(self._how(self._surest), "aside")

    @property
    def _surest(self) -> Lesson:
        return max(self.result.lessons, key=lambda lesson: lesson.probability)

    def _sentences(self) -> list[str]:
        top, noun = self._surest, noun_of(self.result.sensitive)
        guesses = top.guesses.to_dict()
        said = [learned_sentence(top.adversary.by, top.probability, guesses, noun)]
        if self.result.below is not None:
            kept = self.result.skyline
            limit = percentage(self.result.below)
            if len(kept) == len(self.result.lessons):
                said.append(f"By this estimate, everything stays below {limit}.")
            elif len(self.result.lessons) == 1 or not kept:
                said.append(f"That is NOT below {limit}.")
            else:
                width = kept[-1].adversary.bandwidth
                said.append(
                    f"It stays below {limit} down to a bandwidth of {float(width or 0):g}, by this "
                    "estimate, and not below it at the next."
                )
        return [*said, WHAT_IT_IS]

    def _bandwidths(self) -> Grid:
        rows: list[Row] = []
        for lesson in self.result.lessons:
            guesses, share = lesson.guesses, lesson.probability
            rows.append(
                (
                    f"{float(lesson.adversary.bandwidth or 0):g}",
                    bar_cell(percentage(share, 1, "up"), share),
                    percentage(guesses.learned / guesses.people, 1),
                    percentage(guesses.statistics / guesses.people, 1),
                    percentage(guesses.groups / guesses.people, 1),
                )
            )
        head = ("bandwidth", "sure of somebody", "guessed right", "by statistics", "by groups")
        return Grid(head, rows)

    def _statistics(self, lesson: Lesson) -> Grid:
        """The likeliest values of each kind of people, with their errors; the most people first."""
        fit = lesson.learning.fit
        assert fit is not None
        values = self.result.counts.values
        rows: list[Row] = []
        for kind in np.argsort(-fit.people, kind="stable")[:_MOST_KINDS].tolist():
            label = ", ".join(
                "missing" if part is None else visible(part)
                for part in lesson.learning.kinds.labels[kind]
            )
            order = np.argsort(-fit.chances[kind], kind="stable")[:_MOST_VALUES].tolist()
            said = [f"{named(values[code])} {self._chance(lesson, kind, code)}" for code in order]
            rows.append((label, f"{int(fit.people[kind]):,}", "; ".join(said)))
        left = len(fit.people) - len(rows)
        note = f"And {left:,} more kinds of people, in the JSON or as priors." if left > 0 else ""
        return Grid(("people with", "are", "likeliest"), rows, left=(0, 2), note=note)

    def _chance(self, lesson: Lesson, kind: int, code: int) -> str:
        fit = lesson.learning.fit
        assert fit is not None
        chance = percentage(float(fit.chances[kind, code]), 1)
        if fit.errors is None:
            return chance
        return f"{chance} ± {100 * float(fit.errors[kind, code]):.1f}"

    def _how(self, lesson: Lesson) -> str:
        fit = lesson.learning.fit
        assert fit is not None
        ended = "converged" if fit.converged else "did NOT converge"
        chosen = " (the best for held-out groups)" if fit.held_out else ""
        said = (
            f"By maximum likelihood from the groups' bags, of {len(fit.starts)} starts; it {ended} "
            f"after {some(fit.maxima[0].steps, 'step', 'steps')}. Smoothing: "
            f"{_people(fit.smoothing)} with the values of everybody in each kind{chosen}. "
            f"Seed {fit.seed}."
        )
        if fit.errors is not None:
            said += " After ±: a standard error."
        if fit.apart > 0.05:
            said += (
                " Different statistics are as likely, and what is shown is their mean: the release "
                "does not tell which are true."
            )
        if lesson.learning.balanced:
            said += " Some groups are too large for exact posteriors; theirs are fitted."
        return said


PAGE = LearnedPage


def _people(amount: float) -> str:
    return "one person" if amount == 1 else f"{amount:g} people"
