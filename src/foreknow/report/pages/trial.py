"""The page of a trial: what the most successful attacker found, of whom, and what was tried."""

from __future__ import annotations

from collections.abc import Iterator

from foreknow.attacks.trial import Trial
from foreknow.numbers import percentage
from foreknow.report.page import Block, Grid, Page, Sentence, bar_cell
from foreknow.report.trial import claim_sentence, trial_sentences, what_it_is
from foreknow.report.words import group_words, listing, visible

_MOST = 12


class TrialPage(Page[Trial]):
    """What an attack found."""

    serves = Trial
    kept = "it says whom the release tells most about"

    def as_they_are(self) -> Iterator[str]:
        """Labels of the table."""
        found = self.result
        yield from map(visible, (self.name, found.sensitive, *found.by))
        if (claim := found.claim) is not None:
            yield from (visible(claim.value), group_words(claim.group))
            yield from map(visible, claim.known.values())

    @property
    def headline(self) -> str:
        """Say by which columns."""
        columns = listing([visible(name) for name in self.result.by], most=8)
        ends = "at least this" if self.result.measured else "what an attacker would claim"
        return f"What can be learned from the release by {columns}: {ends}"

    def html(self) -> str:
        """Write the page."""
        return self.document(
            "plain.html.j2",
            eyebrow="A trial of",
            sentences=self._sentences(),
            sections=[("What was tried", [self._how()], self._tried())],
        )

    def brief(self) -> Iterator[Block]:
        """The same."""
        yield from [Sentence(said) for said in self._sentences()]
        yield self._tried()
        yield Sentence(self._how(), "aside")

    def _sentences(self) -> list[str]:
        return [*trial_sentences(self.result), claim_sentence(self.result), what_it_is(self.result)]

    def _tried(self) -> Grid:
        """The attackers that came farthest."""
        tried = sorted(self.result.tried, key=lambda one: (-one.right, -one.surest))
        rows = [
            (
                one.attacker,
                listing([visible(name) for name in one.by], most=8),
                bar_cell(percentage(one.right, 1), one.right),
                percentage(one.surest, 1, "down"),
            )
            for one in tried[:_MOST]
        ]
        guessed = "guessed right" if self.result.measured else "claims to guess right"
        more = len(tried) - len(rows)
        note = f"And {more:,} more, in the JSON." if more > 0 else ""
        return Grid(("attacker", "by", guessed, "sure of somebody"), rows, left=(0, 1), note=note)

    def _how(self) -> str:
        found = self.result
        if found.measured:
            chosen = "the attacker with most right guesses"
            sure = "Intervals are of 95%. "
        else:
            chosen = "the attacker whose statistics predict the groups best"
            sure = ""
        people = f"{found.people:,} people" + ("" if found.whole else ", drawn at random")
        return (
            f"{found.attacker}: {chosen}, of {len(found.tried)} that were tried on {people}. "
            f"{sure}No seed changes the figures."
        )


PAGE = TrialPage
