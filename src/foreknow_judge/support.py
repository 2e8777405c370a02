"""The combinations of features that nobody judges, each with a code and a way out.

Whatever reads a policy or a certificate asks here, so that a combination is refused by all of them
or by none. ``docs/reference/support.md`` is printed from `UNSUPPORTED`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from foreknow_judge.errors import UnsupportedError


class Combination(NamedTuple):
    """A combination of features that is refused."""

    code: str
    title: str
    reason: str
    way_out: str

    def error(self, where: str = "") -> UnsupportedError:
        """The refusal, with its code; `where` names what combines these features."""
        prefix = f"{where}: " if where else ""
        return UnsupportedError(f"{prefix}{self.reason}; {self.way_out}", code=self.code)


RELATIVE_LINKS = Combination(
    "relative-links",
    "`at_most_times` with links (`m` above 0)",
    "links are known on top of priors, and the limit is a multiple of each person's prior",
    "leave links out (m = 0), or give a limit that is not relative: below or at_most",
)
WHOLE_AFTER = Combination(
    "whole-after",
    "`--whole` with `--after`",
    "a release of everybody repeats the people of earlier releases",
    "leave whole out: the new people are published, and judged together with the earlier releases",
)
BUCKETIZED_SETS = Combination(
    "bucketized-sets",
    'form = "bucketized" with semantics "set" or "multiset"',
    "the bucketized form is for people with one value each",
    'publish with form = "generalized"',
)
BUCKETIZED_SHARED = Combination(
    "bucketized-shared",
    'form = "bucketized" with `shared`',
    "the bucketized form does not say whose row shows the value of a household",
    'publish with form = "generalized", or leave shared out and publish a table with one row for '
    "each household",
)
SHUFFLED_KNOWN = Combination(
    "shuffled-known",
    "a shuffled column that is known, where the secret is shuffled, too",
    "two columns of `unlinked` are shuffled apart, so one says nothing of the other",
    "leave it out of knowing, or one of the two out of unlinked",
)
IMPOSSIBLE_LINKED = Combination(
    "impossible-linked",
    "`impossible` of one column, where the secret is another one beside it",
    "a rule on one column bears on the other in the same row, and is not counted there",
    "name the column with the rule in knowing, or publish one of the two columns in unlinked",
)
UNSUPPORTED = (
    RELATIVE_LINKS,
    WHOLE_AFTER,
    BUCKETIZED_SETS,
    BUCKETIZED_SHARED,
    SHUFFLED_KNOWN,
    IMPOSSIBLE_LINKED,
)


def unsupported_release(form: str, semantics: Any, *, shared: bool) -> Combination | None:
    """The reason why a release in a form cannot be judged, if any.

    >>> unsupported_release("bucketized", {"ill": "set"}, shared=False).code
    'bucketized-sets'
    """
    if form != "bucketized":
        return None
    each = semantics.values() if isinstance(semantics, Mapping) else (semantics,)
    if any(own != "single" for own in each):
        return BUCKETIZED_SETS
    return BUCKETIZED_SHARED if shared else None


def unsupported_knowledge(
    secret: str,
    known: Collection[str],
    unlinked: Collection[str],
    *,
    relative: bool = False,
    links: bool = False,
) -> Combination | None:
    """The reason why the knowledge of a requirement cannot be judged, if any.

    >>> unsupported_knowledge("ill", ["pay"], ["ill", "pay"]).code
    'shuffled-known'
    >>> unsupported_knowledge("ill", [], [], relative=True, links=True).code
    'relative-links'
    """
    if relative and links:
        return RELATIVE_LINKS
    if secret in unlinked and not {*known}.isdisjoint(unlinked):
        return SHUFFLED_KNOWN
    return None
