"""Learned priors: which priors of a policy tell of the very people who are published."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.prior_table import PriorTable
from foreknow.adversaries.priors import Priors
from foreknow.frames.columns import codes_of
from foreknow.microdata import Microdata
from foreknow.policy import Policy, Requirement
from foreknow.signatures import Signature
from foreknow.sparse import combine, count_pairs

# So near to a frequency, a prior is that frequency, rounded; less near, if all priors are.
_NEAR, _NEAR_IF_ALL = 0.0005, 0.01


def marked(policy: Policy, microdata: Microdata) -> Policy:
    """Mark all priors of a policy that were learned from a table, as far as can be told.

    Parameters
    ----------
    policy : Policy
    microdata : Microdata
        Priors were learned from it where one signature has, to three digits, the frequencies of
        the sensitive values among the people of that signature; or each has, to within 1%.

    Returns
    -------
    Policy
        The same, with `PriorTable.learned` true of each table that is known to be learned.
    """
    if not policy.attributes or microdata.schema.semantics != "single":
        return policy
    return replace(policy, requirements=[_marked(r, microdata) for r in policy.requirements])


def learned_tables(policy: Policy) -> list[PriorTable]:
    """The tables of priors that are marked, each once."""
    points = [point for requirement in policy.requirements for point in requirement.points]
    known = [p.adversary for p in points if isinstance(p.adversary, Priors)]
    return list(dict.fromkeys(t for adversary in known for t in adversary.tables if t.learned))


def learned_note(tables: list[PriorTable]) -> str:
    """Say to readers of a release which priors are not in it, and why."""
    sets = " and ".join(f"by {', '.join(table.attributes)}" for table in tables)
    return (
        f"the priors {sets} were learned from the table itself, so they are kept with the owner "
        "(priors.json), and only their digests are published. They say how frequent each value is "
        "among the people of each kind in the table; where a kind has one person only, they state "
        "that person's value. What was found with them is kept, too. foreknow verify needs the "
        "file to check these requirements (--priors)"
    )


def _marked(requirement: Requirement, microdata: Microdata) -> Requirement:
    def mark(adversary: Any) -> Any:
        if not isinstance(adversary, Priors):
            return adversary
        tables = [replace(t, learned=t.learned or _is_own(t, microdata)) for t in adversary.tables]
        return replace(adversary, source=tables)

    given = requirement.adversary
    if isinstance(given, (list, tuple)):
        return replace(requirement, adversary=[(mark(one), below) for one, below in given])
    return replace(requirement, adversary=mark(given))


def _is_own(table: PriorTable, microdata: Microdata) -> bool:
    """Whether a row of priors is how frequent values are in the microdata, or all nearly are."""
    known = [*microdata.schema.quasi_identifiers, *microdata.schema.other]
    if not set(table.attributes) <= set(known):
        return False
    columns = [_column(name, microdata) for name in table.attributes]
    codes, first = combine([of for of, _ in columns], [len(labels) for _, labels in columns])
    values = [str(value) for value in microdata.values]
    if not set(values) <= set(table.values):
        return False
    shares = _shares(codes, len(first), microdata.sensitive_codes, len(values))
    order = [table.values.index(value) for value in values]
    all_near: bool | None = None
    signed = zip(*([labels[of[row]] for row in first] for of, labels in columns), strict=True)
    for signature, share in zip(signed, shares, strict=True):
        row = table.chances.get(signature)
        if row is None:
            continue
        given = np.array([float(chance) for chance in row])
        # What nobody in the table has is as frequent as not at all.
        missed = np.abs(given[order] - share).max()
        missed = max(missed, abs(given.sum() - given[order].sum()))
        if missed <= _NEAR:
            return True
        all_near = all_near is not False and bool(missed <= _NEAR_IF_ALL)
    return bool(all_near)


def _column(name: str, microdata: Microdata) -> tuple[NDArray[Any], Signature]:
    """The code of everybody in one column, and what each code prints as."""
    for attribute in microdata.attributes:
        if attribute.name == name:
            domain: Any = attribute.domain
            codes: NDArray[Any] = attribute.codes
            break
    else:
        codes, distinct = codes_of(microdata.other().column(name))
        domain = distinct.to_pylist()
    return codes, tuple(None if label is None else str(label) for label in domain)


def _shares(
    codes: NDArray[Any], n_codes: int, value_codes: NDArray[Any], n_values: int
) -> Iterator[NDArray[np.float64]]:
    """How frequent each value is among the people of each code."""
    offsets, at, amounts = count_pairs(codes, value_codes, n_codes, n_values)
    for code in range(n_codes):
        cells = slice(offsets[code], offsets[code + 1])
        share = np.zeros(n_values)
        share[at[cells]] = amounts[cells]
        yield share / share.sum()
