"""What classifiers guess with a release and without it: sentences and a table of shares."""

from __future__ import annotations

from collections.abc import Iterator

from foreknow.inference import InferenceAttack, Rate
from foreknow.numbers import percentage
from foreknow.report.page import Block, Cell, Grid, Page, Sentence, bar_cell
from foreknow.report.words import listing, noun_of, number, plural, visible

WHAT_IT_IS = (
    "An estimate by one kind of classifier, and no verdict: another may guess better, and a low "
    "figure proves nothing. The same seed guesses the same."
)


class InferencePage(Page[InferenceAttack]):
    """Attribute inference by a trained classifier."""

    serves = InferenceAttack
    kept = "it counts who has which value in the raw table"

    @property
    def headline(self) -> str:
        """Say what was guessed."""
        noun = plural(noun_of(self.result.sensitive))
        return f"How well a trained classifier guesses {noun}: an estimate"

    def html(self) -> str:
        """Write the page."""
        return self.document(
            "plain.html.j2",
            eyebrow="Guessed from",
            sentences=self._sentences(),
            sections=[("Guesses", [self._how()], self._guesses())],
        )

    def brief(self) -> Iterator[Block]:
        """The same."""
        yield from [Sentence(said) for said in self._sentences()]
        yield self._guesses()
        yield Sentence(self._how(), "aside")

    def _sentences(self) -> list[str]:
        found = self.result
        columns = listing([visible(name) for name in found.columns], most=8)
        others = "people who are not in the table" if found.control else "other people of the table"
        said = (
            f"Somebody who knows {columns} of everybody, and their groups, trains a classifier on "
            f"the release as it is published. It guesses {_between(found.attack)} of "
            f"{number(found.attack.people)} people right, none of whom is in a group that it was "
            f"trained on. One that never saw the release, and was trained on {others}, guesses "
            f"{_between(found.baseline)} right."
        )
        low, high = (f"{100 * end:.1f}%" for end in (found.low, found.high))
        if found.low > 0:
            more = (
                f"So of the people whom the baseline does not guess, the release adds "
                f"{100 * found.excess:.1f}% ({low} to {high})."
            )
        elif found.high < 0:
            more = "So with the release alone, this classifier guesses worse than the baseline."
        else:
            more = "The two differ no more than samples do."
        if found.attack.low <= found.groups.share:
            more += " It is no better than the most frequent value of each group."
        return [said, more, WHAT_IT_IS]

    def _guesses(self) -> Grid:
        found = self.result
        risk = f"{100 * found.threshold:g}%"
        rows = [
            _row("trained on the release, with the person's group", found.attack),
            _row("the same without the group", found.statistics),
            _row("the most frequent value of the group", found.groups),
            _row("trained without the release (baseline)", found.baseline),
            _row(f"at risk above {risk}: with the release", found.at_risk),
            _row(f"at risk above {risk}: by the baseline", found.at_risk_before),
        ]
        return Grid(("guesses", "right", "from", "to"), rows)

    def _how(self) -> str:
        found = self.result
        whom = "" if found.control is None else f" The control has {number(found.control)} people."
        return (
            f"{found.classifier}, trained on up to {number(found.learned_from)} people, in three "
            "parts of the groups: each is guessed by what the others teach, with bags spread over "
            "the members of their groups. From, to: in 95 of 100 samples. At risk: of their value "
            "the classifier is surer than its frequency makes anybody, by more than that share of "
            f"the way to certainty.{whom} Seed {found.seed}."
        )


def _between(rate: Rate) -> str:
    low, high = percentage(rate.low, 1, "down"), percentage(rate.high, 1, "up")
    return f"{percentage(rate.share, 1)} ({low} to {high})"


def _row(name: str, rate: Rate) -> tuple[str | Cell, ...]:
    share = percentage(rate.share, 1)
    ends = percentage(rate.low, 1, "down"), percentage(rate.high, 1, "up")
    return (name, bar_cell(share, rate.share), *ends)


PAGE = InferencePage
