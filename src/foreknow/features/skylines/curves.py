"""Disclosure curves: the worst case against pieces of knowledge, of two kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foreknow.adversaries.adversary import whole_amount
from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.implications.implications import Implications, Negations
from foreknow.adversaries.release_counts import counts_of
from foreknow.call_hints import hinted
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Label
from foreknow.features.skylines.skyline_input import open_release
from foreknow.policy.policy import Policy
from foreknow.result import Result
from foreknow_judge.errors import DataError, InputError
from foreknow_judge.remarks.scope import Scope

_MOST = 200


@dataclass(frozen=True, eq=False, repr=False)
class DisclosureCurves(Result):
    """How sure an adversary with 0, 1, 2, ... pieces of knowledge can become, at worst.

    Attributes
    ----------
    counts : GroupCounts
        The counts of the release.
    ks : tuple of int
        The numbers of pieces of knowledge, rising.
    implications, negations : tuple of Disclosure
        The worst disclosure for `Implications(k)` and `Negations(k)`, for each k.
    value : label or None
        The sensitive value; None: any value.
    name : str
        The name of the release in reports.
    sensitive : str or None
        The name of the sensitive column.
    scope : Scope
        What else the adversary is taken to know, and what was not examined.
    """

    format = "foreknow curves"
    _json_fields = (
        "release=name sensitive knowing?=scope.known value people=counts.n_people "
        "groups=counts.n_groups points"
    )

    counts: GroupCounts
    ks: tuple[int, ...]
    implications: tuple[Disclosure, ...]
    negations: tuple[Disclosure, ...]
    value: Label | None
    name: str
    sensitive: str | None
    scope: Scope = field(default_factory=Scope)

    @property
    def in_cases(self) -> bool:
        """True if rows are cases and a person may have several."""
        return self.scope.cases

    @property
    def points(self) -> list[dict[str, Any]]:
        """The disclosures for each number of pieces, by kind of knowledge, for JSON."""
        points = []
        for k, worst, mild in zip(self.ks, self.implications, self.negations, strict=True):
            point = {"k": k, "implications": _plain(worst), "negations": _plain(mild)}
            points.append(point)
        return points

    def __repr__(self) -> str:
        what = "any value" if self.value is None else repr(self.value)
        start, end = self.implications[0].probability, self.implications[-1].probability
        return (
            f"DisclosureCurves({self.name}: {what}, k = {self.ks[0]} to {self.ks[-1]}, "
            f"implications {start:.4g} to {end:.4g})"
        )


@hinted
def disclosure_curves(
    release: Any,
    upto: int = 12,
    value: Label | None = None,
    *,
    any_of: Sequence[Label] | None = None,
    name: str | None = None,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: str | None = None,
    knowing: Sequence[str] | None = None,
) -> DisclosureCurves:
    """Find the worst disclosure for 0 to `upto` pieces of knowledge of two kinds.

    The curves are those of figure 5 of "Worst-Case Background Knowledge", for any release.

    Parameters
    ----------
    release : Release, GroupCounts, Publication, path or frame
        A release with one sensitive value per person.
    upto : int
        The largest number of pieces; at most 200.
    value : label, optional
        The sensitive value; default: any.
    any_of : sequence of labels, optional
        Several values, in place of `value`: the secret is that a person has any of them.
    policy : Policy, path or mapping, optional
        A policy whose schema gives the roles of a table's columns.
    quasi_identifiers : sequence of str, optional
        The quasi-identifiers, in place of `policy`; give `sensitive`, too.
    name, sensitive : str, optional
        The names of the release and its sensitive column in reports. If there are several sensitive
        columns, `sensitive` chooses one.
    knowing : sequence of str, optional
        Columns that the adversary knows about everybody; [] for none. Default: all columns that a
        `Release` publishes beside the sensitive one, as in an audit.

    Raises
    ------
    DataError
        If no group contains the value, or nobody has any value.

    Examples
    --------
    >>> counts = GroupCounts.from_bags([["Flu", "Flu", "AIDS", "Cold"], ["Flu", "Cold", "Mumps"]])
    >>> curves = disclosure_curves(counts, upto=2)
    >>> curves
    DisclosureCurves(release: any value, k = 0 to 2, implications 0.5 to 1)
    >>> [str(found.exact) for found in curves.implications]
    ['1/2', '3/4', '1']
    >>> [str(found.exact) for found in curves.negations]
    ['1/2', '2/3', '1']
    """
    max_pieces = whole_amount("disclosure_curves", "upto", upto)
    if max_pieces > _MOST:
        raise InputError(
            f"upto is at most {_MOST}, not {max_pieces}: by then there is no more to know"
        )
    release, description = open_release(
        release, policy, quasi_identifiers, sensitive, knowing, name
    )
    if any_of is not None:
        if value is not None:
            raise InputError("give value or any_of, not both; any_of is one secret")
        release, value = counts_of(release).any_of(any_of)
    counts, ks = counts_of(release), tuple(range(max_pieces + 1))
    if counts.semantics == "single":  # the adversaries refuse others
        if not len(counts.codes):
            raise DataError("the release has no sensitive values")
        if value is not None and not counts.totals[counts.code(value)]:
            raise DataError(f"no group contains the sensitive value {value!r}")
    # The largest first: what it works out serves the others.
    implications = [Implications(k).disclosure(counts, value) for k in reversed(ks)][::-1]
    negations = [Negations(k).disclosure(counts, value) for k in ks]
    return DisclosureCurves(counts, ks, tuple(implications), tuple(negations), value, **description)


def _plain(disclosure: Disclosure) -> dict[str, Any]:
    return {
        "probability": disclosure.probability,
        "exact": disclosure.exact,
        "value": disclosure.value,
    }
