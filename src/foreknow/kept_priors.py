"""Kept priors: those that a certificate names by a digest, and the owner's file that holds them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from foreknow.certificate_file import KEPT_FORMAT, KEPT_VERSION, read_kept
from foreknow.errors import CertificateError

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
        adversary = finding["adversary"]
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
        """The requirements of a certificate with the tables that their digests stand for.

        Raises
        ------
        CertificateError
            If a digest is that of no table here.
        """
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
        """Read the file that `publish` wrote for the owner.

        Raises
        ------
        CertificateError
            If it holds no such priors.
        """
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
