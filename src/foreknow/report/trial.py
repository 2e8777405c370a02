"""Trials in words: what an attacker found, and that it is at least that."""

from __future__ import annotations

from fractions import Fraction
from itertools import compress
from typing import TYPE_CHECKING

from foreknow.auditing.trial import LEAST_GROUPS, Share, Trial
from foreknow.report.words import limit_text, named
from foreknow.shown_numbers import percentage
from foreknow.wording import listing, noun_of
from foreknow_judge.files.printable import visible
from foreknow_judge.text import some

if TYPE_CHECKING:
    from foreknow.auditing.audit import Audit

WHAT_IT_IS = (
    "A trial, and no verdict: at least this can be found out. Another attacker may find more, and "
    "no figure here makes a release safe."
)
_NOT_RUN = "No trial was run of what can be learned from the release"
_ONE_VALUE = "a trial guesses one value of each person"
_SEE = "see foreknow learned FOLDER TABLE --policy FILE --by COLUMN"
_KEPT = (
    "An attacker who learns from {} was tried. How often they guess right is counted with the "
    "table, and stays with the owner."
)
_CLAIMED = "A trial, and no verdict: nobody here knows how much of the claim is right."
_NO_CONTRADICTION = (
    "That is above a limit of the policy, {}. The limit is about facts within a group, and a "
    "trial learns statistics over all groups."
)
_OF_OTHERS = "They may be surer of other values."


def trial_sentences(trial: Trial) -> list[str]:
    """Sentences on a trial: how many guesses are right, and how sure the attacker becomes.

    If right guesses were not counted, they say what an attacker would claim.
    """
    columns = listing(map(visible, trial.by), n_shown=8)
    noun = noun_of(trial.sensitive)
    attacker = f"Somebody who learns from the release how {noun} goes with {columns}"
    right_text, by_groups = _share(trial, "right"), _share(trial, "baseline")
    limit = percentage(trial.limit, 0)
    certainty_text = f"up to {percentage(trial.surest, 0, 'down')} sure"
    width_text = "" if trial.near is None else f" to within {visible(trial.near)}"
    # Without the owner's table: a claim.
    if not trial.measured:
        if trial.about is None:
            claim = (
                f"be {certainty_text} of a person's {noun}{width_text}, and to guess it right for "
                f"{right_text} of people."
            )
        else:
            claim = f"guess a person's {noun} right for {right_text} of people."
            claim += f" {_of_those(trial)} they would claim to be {certainty_text}. {_OF_OTHERS}"
        return [
            f"{attacker} would claim to {claim} That is a claim: nobody here knows who has which. "
            f"By the groups alone, it is guessed right for {by_groups}.{_surest(trial)}"
        ]
    # With it: counted guesses, beside those that the groups alone allow.
    guess_text = f"{attacker} guesses at least {right_text} of people's values right{width_text}; "
    guess_text += "by the groups alone, "
    # Nobody is surer than 100%, so a count of those says nothing.
    surer_text = f", and more than {limit} sure about {_rightly(trial)}" if trial.limit < 1 else ""
    if trial.about is None:
        sure_text = (
            f"The attacker is {certainty_text} of a person's {noun}{width_text}{surer_text}."
        )
        return [f"{guess_text}{by_groups}.", f"{sure_text}{_surest(trial)}"]
    sure_text = f"{_of_those(trial)} the attacker is {certainty_text}{surer_text}. {_OF_OTHERS}"
    return [f"{guess_text}{by_groups}.", f"{sure_text}{_surest(trial)}"]


def _surest(trial: Trial) -> str:
    """A sentence on the surest attacker, if it is another one, and on the limit it passed."""
    sentence, surest_tried = "", trial.surest_tried
    if surest_tried is not None:
        columns = listing(map(visible, surest_tried.by), n_shown=8)
        verb = "is" if trial.measured else "would claim to be"
        surest_text = f"up to {percentage(surest_tried.surest, 0, 'down')} sure"
        attacker = f"{surest_tried.attacker}, by {columns}"
        sentence = f" The surest of those that were tried {verb} {surest_text}: {attacker}."
    if (limit := limit_passed(trial)) is not None:
        sentence += f" {_NO_CONTRADICTION.format(limit_text(limit))}"
    return sentence


def limit_passed(trial: Trial) -> Fraction | None:
    """The least limit of the policy, if some attacker that was tried becomes surer than that."""
    highest = trial.surest if trial.surest_tried is None else trial.surest_tried.surest
    return trial.required if trial.required is not None and highest > trial.required else None


def _of_those(trial: Trial) -> str:
    """The beginning of a sentence about the values that a requirement is about."""
    values = list(map(named, trial.about or ()))
    what = "value" if len(values) == 1 else "values"
    return f"Of {listing(values, 'or')}, the {what} that a requirement is about,"


def _rightly(trial: Trial) -> str:
    """A phrase for the people of whom the attacker is sure, and how many of these rightly."""
    if not trial.sure:
        return "nobody"
    people = some(trial.sure, "person", "people")
    share = trial.shares.get("sure_and_right")
    interval = "" if share is None else _interval_text(share)
    return f"{people}, {trial.sure_and_right:,} of them rightly{interval}"


def _share(trial: Trial, key: str) -> str:
    """The share of right guesses, or the baseline, by its key; with its interval, if known."""
    share = trial.shares.get(key)
    interval = "" if share is None else _interval_text(share)
    return f"{percentage(getattr(trial, key), 0)}{interval}"


def _interval_text(share: Share) -> str:
    if share.low is None or share.high is None:
        return ""
    return f" ({percentage(share.low, 0, 'down')} to {percentage(share.high, 0, 'up')})"


def what_it_is(trial: Trial) -> str:
    """Say that a trial is no verdict: other attackers may find more."""
    return WHAT_IT_IS if trial.measured else _CLAIMED


def trial_notes(audit: Audit, *, published: bool = False) -> list[str]:
    """Sentences that say what trials found, or that none was run and how to run one.

    If `published`, the counts are left out: they stay with the owner.
    """
    if audit.trials is None:
        return [f"{_NOT_RUN} here: see foreknow audit."]
    if not audit.trials and audit.tried_together:
        return [_KEPT.format("this release and earlier ones together")]
    if not audit.trials:
        lacking = lacking_for_trial(audit)
        hint = "" if published or _ONE_VALUE in lacking else f"; {_SEE}"
        return [f"{_NOT_RUN}: {lacking}{hint}."]
    if published:
        return [_KEPT.format("the release itself")]
    sentences = []
    for trial in audit.trials:
        sample = "" if trial.whole else f" Of {trial.people:,} people, drawn at random."
        sentences.append(f"{' '.join(trial_sentences(trial))}{sample} {what_it_is(trial)}")
    return sentences


def lacking_for_trial(audit: Audit) -> str:
    """The needs of a trial that the release does not meet, in words, with semicolons between."""
    n_columns, groups = len(audit.policy.rules.sensitives), audit.utility.groups
    needs = {
        f"a trial guesses one sensitive column, and there are {n_columns}": n_columns > 1,
        _ONE_VALUE: audit.counts.semantics != "single",
        f"a trial needs {LEAST_GROUPS} groups, and there are {groups}": groups < LEAST_GROUPS,
    }
    lacking = compress(needs, needs.values())
    return "; ".join(lacking) or "a trial needs everybody's exact columns, which are not known here"
