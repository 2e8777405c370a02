"""Learned priors: which priors of a policy tell of the very people who are published."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.priors import Priors
from foreknow.adversaries.priors.table import PriorTable
from foreknow.data.engines.columns import codes_of
from foreknow.data.microdata import Microdata
from foreknow.data.people import Signature
from foreknow.data.sparse import combine, count_pairs
from foreknow.errors import CertificateError
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.publishing.certificate_file import KEPT_FORMAT, KEPT_VERSION, read_kept

# So near to a frequency, a prior is that frequency, rounded; less near, if all priors are.
_NEAR, _NEAR_IF_ALL = 0.0005, 0.01


def marked(policy: Policy, microdata: Microdata) -> Policy:
    """Mark all priors of a policy that were learned from a table, as far as can be told."""
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


# The file beside a release.
PRIORS = "priors.json"
_PARTS = ("attributes", "values", "rows")
_Table: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class KeptPriors:
    """Tables of priors that were learned from the table that is published.

    Attributes
    ----------
    key : bytes
        Of their digests. A plain digest would let everybody test guesses of them.
    tables : tuple of mappings
        As `PriorTable.to_dict` gives them.
    """

    key: bytes
    tables: tuple[_Table, ...]

    def __repr__(self) -> str:
        return f"KeptPriors({len(self.tables)} tables)"

    def digest(self, table: _Table) -> str:
        """Keyed digest of one table, in hexadecimal."""
        told = json.dumps([table[part] for part in _PARTS])
        return hashlib.blake2b(told.encode(), key=self.key, digest_size=32).hexdigest()

    @classmethod
    def of(cls, key: bytes, tables: Iterable[Any]) -> KeptPriors:
        """Keep some tables of priors."""
        told = [table.to_dict() for table in tables]
        return cls(key, tuple({part: table[part] for part in _PARTS} for table in told))

    def withheld(self, requirements: Sequence[_Table]) -> list[dict[str, Any]]:
        """The requirements of a policy with a digest in place of each table that was learned."""

        def withhold(table: _Table) -> _Table:
            if not table.get("learned"):
                return table
            return self._named(table)

        return [_changed(required, withhold) for required in requirements]

    def withheld_finding(self, finding: _Table) -> dict[str, Any]:
        """A finding without what tells of these priors; that it is safe remains."""
        adversary = finding.get("adversary", {})
        told = {self.digest(table) for table in self.tables}
        said = _changed(adversary, lambda t: self._named(t) if self.digest(t) in told else t)
        if not is_kept(said):
            return dict(finding)
        # A limit that is so many times a prior tells the prior.
        limit = ["below"] if "times" in finding else []
        telling = ["value", "group", "exact", "probability", *limit]
        return {**finding, **dict.fromkeys(telling), "adversary": said}

    def _named(self, table: _Table) -> dict[str, Any]:
        return {"attributes": list(table["attributes"]), "digest": self.digest(table)}

    def filled(self, requirements: Sequence[_Table]) -> list[dict[str, Any]]:
        """The requirements of a certificate with the tables that their digests stand for."""
        known = {self.digest(table): table for table in self.tables}

        def fill(table: _Table) -> _Table:
            if "digest" not in table:
                return table
            found = known.get(str(table["digest"]))
            if found is None or list(found["attributes"]) != list(table["attributes"]):
                raise CertificateError(
                    "the priors that were given are not those of the certificate (digest differs)"
                )
            return found

        return [_changed(required, fill) for required in requirements]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the version of their format."""
        return {
            "format": KEPT_FORMAT,
            "version": KEPT_VERSION,
            "may_be_published": False,
            "key": self.key.hex(),
            "tables": [dict(table) for table in self.tables],
        }

    @classmethod
    def load(cls, path: str | Path) -> KeptPriors:
        """Read the file that `publish` wrote for the owner."""
        read = read_kept(Path(path))
        return cls(bytes.fromhex(read["key"]), tuple(read["tables"]))


def is_kept(required: _Table) -> bool:
    """Whether a requirement of a certificate stands on priors that are not in it."""
    priors = required.get("priors")
    points = priors if isinstance(priors, (list, tuple)) else [priors]
    return any(
        isinstance(table, Mapping) and "digest" in table
        for point in points
        if isinstance(point, Mapping) and isinstance(point.get("tables"), (list, tuple))
        for table in point["tables"]
    )


def _changed(required: _Table, change: Callable[[_Table], _Table]) -> dict[str, Any]:
    """A ``[[require]]`` table with some change of each of its tables of priors."""

    def point(given: Any) -> Any:
        if not isinstance(given, Mapping) or not isinstance(given.get("tables"), (list, tuple)):
            return given
        tables = [change(t) if isinstance(t, Mapping) else t for t in given["tables"]]
        return {**given, "tables": tables}

    priors = required.get("priors")
    if priors is None:
        return dict(required)
    several = isinstance(priors, (list, tuple))
    return {**required, "priors": [point(p) for p in priors] if several else point(priors)}
