"""Proofs about methods, against adversaries who know them.

Whatever is said of this adversary, in reports, certificates, comparisons and attacks, is read here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from foreknow.adversaries.adversary import KnowledgeReach
from foreknow.data.labels.labels import Labels

if TYPE_CHECKING:
    from foreknow.policy.policy import Policy

# What came of an adversary who knows the method; the last is followed by a fraction.
NOT_JUDGED, AS_REQUIRED, FREQUENCIES = "not judged", "as required", "frequencies"
AT_MOST = "at most "


@dataclass(frozen=True)
class Proof:
    """A proof about a method, for an adversary who knows it and sees its release.

    Parameters
    ----------
    why : str
        One clause that says what is proved, and why.
    page : str
        The page of the documentation with the proof.
    keeps : callable
        ``keeps(policy)``: whether releases of the method, in the form of the policy, hold its
        requirements against this adversary, too.
    frequencies : bool
        Whether everybody's posterior is the frequency in their group, if groups can be told apart.
    highest : Fraction, optional
        An upper bound on all posteriors, even if groups look alike to a reader. None: no bound.
    least : int
        The least number of people of a group.
    equal : int, optional
        The size of all groups if the number of people is a multiple of it; otherwise groups have
        less than twice as many people. Quasi-identifiers do not matter for who is in which group.
        None: sizes differ.
    """

    why: str
    page: str
    keeps: Callable[[Policy], bool]
    frequencies: bool = False
    highest: Fraction | None = None
    least: int = 1
    equal: int | None = None

    def __str__(self) -> str:
        return f"{self.why} ({self.page})" if self.page else self.why

    def said(self, policy: Policy) -> str:
        """The finding about an adversary who knows the method, in the terms of `Scope`.

        Judged as the policy requires; or everybody's posterior is the frequency in the group; or it
        has an upper bound; or nothing is known.
        """
        # What is proved is about people, and one column of theirs, with nothing beside.
        if len(policy.looked_at) > 1 or policy.needed_schema.counts_people:
            return NOT_JUDGED
        if self.keeps(policy):
            return AS_REQUIRED
        if self.by_frequencies(policy.options.form):
            return FREQUENCIES
        return NOT_JUDGED if self.highest is None else f"{AT_MOST}{self.highest}"

    def may_be(self, words: str, form: str) -> bool:
        """True if certificates of the method can hold this finding for a release in a form.

        `words` is a finding as `said` returns it.
        """
        if words.startswith(AT_MOST):
            return words == f"{AT_MOST}{self.highest}"
        if words == FREQUENCIES:
            return self.by_frequencies(form)
        return self.by_frequencies(form) or not self.frequencies

    def by_frequencies(self, form: str | None) -> bool:
        """True if everybody's posterior is the frequency in their group, for the given form."""
        return self.frequencies and form == "bucketized"

    def equally_large(self, people: int) -> bool:
        """True if all groups of so many `people` have the same size."""
        return self.equal is not None and not people % self.equal

    def limit_of_boxes(
        self, policy: Policy, people: int, values: Labels
    ) -> tuple[str, Fraction, int] | None:
        """The first requirement whose limit a reader who cannot tell groups apart may reach.

        Groups of the generalized form may look alike: then a value may be as likely as `highest`
        says. Returns the name of the requirement, the limit, and the number of values of its
        largest set; None if no limit is reached.
        """
        if self.highest is None or self.equally_large(people):
            return None
        for requirement in policy.requirements:
            # A set of n values can be up to n times as likely as one value.
            n_values = max(map(len, requirement.sets(values).values()), default=1)
            for point in requirement.points if requirement.by_counts else ():
                if point.below <= self.highest * n_values:
                    return requirement.name, point.below, n_values
        return None


def by_values_alone(l: int, equal: int | None) -> Proof:
    """The proof for a method that looks at sensitive values only, with groups of at least l."""
    return Proof(
        "the method looks at sensitive values only, and treats people who have the same alike, so "
        "any two worlds of a release lead to it with the same probability",
        "docs/methods/anatomy-and-streamliner.md",
        lambda policy: policy.options.form == "bucketized",
        frequencies=True,
        highest=Fraction(1, l),
        least=l,
        equal=equal,
    )


def _of_one_person(policy: Policy) -> bool:
    """True if all limits are about adversaries who know nothing about other people's values.

    And groups can be told apart: then frequencies in groups are all that such an adversary learns.
    """
    for point in policy.points:
        reach = point.adversary.speaks
        if reach is None or reach._replace(alike=False) != KnowledgeReach(1):
            return False
    return policy.options.form == "bucketized"


# Of a method that says no more of it.
FREQUENCIES_ONLY = Proof(
    "by what the method says of itself, everybody's posterior is the frequency in their group",
    "",
    _of_one_person,
    frequencies=True,
)
