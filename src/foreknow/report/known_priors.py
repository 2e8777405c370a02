"""Priors in words: which statistics are known, and that of a worst case."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from foreknow.adversaries.priors.disclosure import PriorsWitness
from foreknow.adversaries.priors.priors import Priors
from foreknow.adversaries.priors.table import PriorTable
from foreknow.report.knowledge import Description, Terms, share_text
from foreknow.report.words import group_words, named, plural, signature_words
from foreknow.wording import listing
from foreknow_judge.files.printable import visible
from foreknow_judge.text import number, some


def described(adversary: Any, witness: Any, noun: str) -> Description | None:
    """Describe priors; see `foreknow.report.knowledge.describe`."""
    match adversary, witness:
        case Priors(), PriorsWitness():
            whose = f"a member of {group_words(witness.group)}"
            short, details = short_priors(adversary), prior_details(witness)
            knows = f"knows {_on_top(adversary, noun)}{used_prior(witness)}"
            return Description(knows, short, whose, details)
        case Priors(), _:
            return Description(
                known_priors(adversary, noun), short_priors(adversary), nobody=witness is None
            )
    return None


def known_priors(priors: Priors, noun: str) -> str:
    """A phrase for the statistics that the adversary knows, to follow "who"."""
    sets = [listing(map(visible, table.attributes), n_shown=8) for table in priors.tables]
    between = "each by itself, " if len(sets) > 1 else ""
    by = listing([f"by {columns}" for columns in sets], "or", n_shown=8)
    by_value = {"binary": " (each value by itself)"}.get(priors.semantics, "")
    likely = f"how likely {plural(noun)} are {by}, {between}and these of everybody{by_value}"
    return f"knows {_on_top(priors, noun)}{likely}"


def _on_top(priors: Priors, noun: str) -> str:
    """The facts on top of statistics, as the words before these; empty if there are none."""
    on_top = Terms(noun).known(*priors.amounts)
    return f"up to {on_top} and " if on_top else ""


def short_priors(priors: Priors) -> str:
    """The priors in few words for a narrow column: by which columns, and how they are read."""
    sets = [", ".join(map(visible, table.attributes)) for table in priors.tables]
    text = f"priors by {'; '.join(sets)} ({priors.semantics})"
    on_top = Terms().short(*priors.amounts)
    return f"{text}, {on_top}" if on_top else text


def reader_of(priors: Any) -> str:
    """A phrase for an adversary with facts on top of priors; empty for any other.

    >>> from foreknow.adversaries.facts.facts import Facts
    >>> from foreknow.adversaries.priors.table import PriorTable
    >>> table = PriorTable(("sex",), ("Flu",), {("f",): (Fraction(1),)}, "by_sex.csv")
    >>> reader_of(Priors(table, facts=Facts(1, 2)))
    'a reader with the priors of by_sex.csv and facts l=1, k=2'
    """
    if not isinstance(priors, Priors) or not any(priors.amounts):
        return ""
    # A table without a name of its own is named by its columns.
    default = PriorTable.__dataclass_fields__["name"].default
    names = []
    for table in priors.tables:
        by_columns = f"by {', '.join(map(visible, table.attributes))}"
        names.append(by_columns if table.name == default else f"of {visible(table.name)}")
    tables = listing(names, "or", n_shown=8)
    on_top = [
        f"{key}={amount}" for key, amount in zip("lkm", priors.amounts, strict=True) if amount
    ]
    return f"a reader with the priors {tables} and facts {', '.join(on_top)}"


def used_prior(witness: PriorsWitness) -> str:
    """Say which probability the adversary used, after "knows"."""
    person = _person(witness)
    return f"that people with {person} have it with probability {share_text(witness.prior)}"


def prior_details(witness: PriorsWitness) -> tuple[tuple[str, str], ...]:
    """Pairs of a title and a text: the target, the prior, and the share in the group alone."""
    group = group_words(witness.group)
    people = some(witness.people, "person there is", "people there are")
    share = Fraction(witness.holders, witness.size)
    return (
        ("The target", f"in {group}, with {_person(witness)}; {people} alike"),
        ("Before the release", f"{share_text(witness.prior)} sure of {named(witness.value)}"),
        (
            "By the group alone",
            f"{share_text(share)}: {number(witness.holders)} of {number(witness.size)} have it",
        ),
    )


def _person(witness: PriorsWitness) -> str:
    return listing(signature_words(witness.signature, witness.signature.values()), n_shown=8)
