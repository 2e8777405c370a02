"""The page of a trial: the most successful attacker, the surest guess, all attackers."""

from __future__ import annotations

from collections.abc import Iterator

from foreknow.auditing.trial import Trial
from foreknow.report.blocks import Block, Heading, Sentence, Table, bar_cell
from foreknow.report.page import Page
from foreknow.report.trial import trial_sentences, what_it_is
from foreknow.report.words import group_words, named, signature_words
from foreknow.shown_numbers import percentage
from foreknow.wording import listing
from foreknow_judge.files.printable import visible
from foreknow_judge.text import some

_MOST = 12


class TrialPage(Page[Trial]):
    """The page of a trial."""

    serves = Trial
    eyebrow = "A trial of"
    kept = "it says whom the release reveals most about"

    def as_they_are(self) -> Iterator[str]:
        """Labels of the table."""
        trial = self.result
        yield from map(visible, (self.name, trial.sensitive, *trial.by))
        if (claim := trial.claim) is not None:
            yield from (visible(claim.value), group_words(claim.group))
            yield from map(visible, claim.known.values())

    @property
    def headline(self) -> str:
        """Say which columns the attackers learn by."""
        columns = listing(map(visible, self.result.by), n_shown=8)
        ends = "at least this" if self.result.measured else "what an attacker would claim"
        return f"What can be learned from the release by {columns}: {ends}"

    def blocks(self) -> Iterator[Block]:
        """The trial in sentences, the surest guess, and a table of attackers."""
        trial = self.result
        yield from map(Sentence, trial_sentences(trial))
        yield Sentence(claim_sentence(trial))
        yield Sentence(what_it_is(trial))
        yield Heading("What was tried", "tried")
        yield self._tried()
        yield Sentence(self._how(), "note")

    def _tried(self) -> Table:
        """A table of attackers: right guesses and how sure each is, the most successful first."""
        attempts = sorted(self.result.tried, key=lambda attempt: (-attempt.right, -attempt.surest))
        rows = [
            (
                attempt.attacker,
                listing(map(visible, attempt.by), n_shown=8),
                bar_cell(percentage(attempt.right, 1), attempt.right),
                percentage(attempt.surest, 1, "down"),
            )
            for attempt in attempts
        ]
        guess_title = "guessed right" if self.result.measured else "claims to guess right"
        titles, where_text = ("attacker", "by", guess_title, "sure of somebody"), ", in the JSON"
        return Table(titles, rows, left=(0, 1), where=where_text).cut(_MOST)

    def _how(self) -> str:
        """Sentences on how the trial was run, and which attacker it shows."""
        trial = self.result
        if trial.measured:
            choice_text = "the attacker with most right guesses"
            interval_text = "Intervals are of 95%. "
        else:
            choice_text = "the attacker whose statistics predict the groups best"
            interval_text = ""
        people = f"{trial.people:,} people" + ("" if trial.whole else ", drawn at random")
        return (
            f"{trial.attacker}: {choice_text}, of {len(trial.tried)} that were tried on {people}. "
            f"{interval_text}No seed changes the figures."
        )


def claim_sentence(trial: Trial) -> str:
    """A sentence on the people about whom the attacker is surest; for the owner only."""
    claim = trial.claim
    if claim is None:
        return "The attacker is sure of nobody."
    people_text = listing(signature_words(claim.known, claim.known.values()), n_shown=8)
    people = some(claim.people, "person there", "people there")
    return (
        f"It is surest of {named(claim.value)} for {people} with {people_text} in "
        f"{group_words(claim.group)}: {percentage(claim.probability, 0, 'down')}. The group alone "
        f"says {percentage(claim.alone, 0)}."
    )
