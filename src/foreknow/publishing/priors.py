"""Learned priors, about the very people who are published: found, and kept with the owner."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import Field, ValidationError

from foreknow.adversaries.priors.priors import Priors
from foreknow.adversaries.priors.table import PriorTable
from foreknow.atomic_files import OWNERS_FILE
from foreknow.data.arrays import combine, count_pairs
from foreknow.data.microdata import Microdata
from foreknow.data.people import printed
from foreknow.documents import read_bytes
from foreknow.errors import CertificateError
from foreknow.file_names import PRIORS
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.releases.certificate import (
    Digest,
    TableOfPriors,
    explain,
    is_kept,
    parsed,
    with_tables,
)
from foreknow.settings import Settings

# So near to a frequency, a prior is that frequency, rounded; less near, if all priors are.
_NEAR, _NEAR_IF_ALL = 0.0005, 0.01
_MOST_BYTES = 256 << 20


def marked(policy: Policy, microdata: Microdata) -> Policy:
    """Set `PriorTable.learned` for all priors of a policy that look learned from the microdata.

    They do where one signature has, to three digits, the frequencies of the sensitive values among
    the people of that signature; or each has, to within 1%.
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
        f"({PRIORS}), and only their digests are published. They say how frequent each value is "
        "among the people of each kind in the table; where a kind has one person only, they state "
        "that person's value. What was found with them is kept, too. foreknow verify needs the "
        "file to check these requirements (--priors)"
    )


def _marked(requirement: Requirement, microdata: Microdata) -> Requirement:
    points = []
    for point in requirement.points:
        if isinstance(point.adversary, Priors):
            tables = [
                replace(t, learned=t.learned or _is_own(t, microdata, requirement.sensitive))
                for t in point.adversary.tables
            ]
            point = point._replace(adversary=replace(point.adversary, source=tables))
        points.append(point)
    return requirement.at(points) if points else requirement


def _is_own(table: PriorTable, microdata: Microdata, sensitive: str | None = None) -> bool:
    """Whether a row of priors is how frequent values are in the microdata, or all nearly are."""
    known = [*microdata.schema.quasi_identifiers, *microdata.schema.other]
    if not set(table.attributes) <= set(known):
        return False
    plain = [microdata.column(name) for name in table.attributes]
    columns = [(of, printed(values)) for of, values in plain]
    codes, first = combine([of for of, _ in columns], [len(labels) for _, labels in columns])
    of_people, held = microdata.column(sensitive or microdata.schema.sensitive)
    values = [str(value) for value in held]
    if not set(values) <= set(table.values):
        return False
    order = [table.values.index(value) for value in values]
    offsets, at, amounts = count_pairs(codes, of_people, len(first), len(values))
    missed = []
    for code, row in enumerate(first):
        given = table.chances.get(tuple(labels[of[row]] for of, labels in columns))
        if given is None:
            continue
        chances = np.array([float(chance) for chance in given])
        cells = slice(offsets[code], offsets[code + 1])
        share = np.zeros(len(values))
        share[at[cells]] = amounts[cells] / amounts[cells].sum()
        # What nobody in the table has is as frequent as not at all.
        others = abs(chances.sum() - chances[order].sum())
        missed.append(max(np.abs(chances[order] - share).max(), others))
    return bool(missed) and (min(missed) <= _NEAR or max(missed) <= _NEAR_IF_ALL)


_PARTS = tuple(TableOfPriors.model_fields)
_Table: TypeAlias = Mapping[str, Any]


class _KeptTable(Settings):
    """The owner's file."""

    format: Literal["foreknow priors"]
    version: Literal[1]
    this_file_is: Literal["for the owner only"] = "for the owner only"
    may_be_published: Literal[False] = False  # what older files say in its place
    key: Digest
    tables: Annotated[list[TableOfPriors], Field(min_length=1)]


@dataclass(frozen=True, repr=False)
class KeptPriors:
    """Tables of priors learned from the table that is published, as `PriorTable.to_dict` has them.

    Their digests have a `key`: a plain digest would let everybody test guesses of them.
    """

    key: bytes
    tables: tuple[_Table, ...]

    def __repr__(self) -> str:
        return f"KeptPriors({len(self.tables)} tables)"

    def digest(self, table: _Table) -> str:
        """Keyed digest of one table, in hexadecimal."""
        text = json.dumps([table[part] for part in _PARTS])
        return hashlib.blake2b(text.encode(), key=self.key, digest_size=32).hexdigest()

    @classmethod
    def of(cls, key: bytes, tables: Iterable[Any]) -> KeptPriors:
        """Keep some tables of priors."""
        plain = [table.to_dict() for table in tables]
        return cls(key, tuple({part: table[part] for part in _PARTS} for table in plain))

    def withheld(self, requirements: Sequence[_Table]) -> list[dict[str, Any]]:
        """The requirements of a policy with a digest in place of each table that was learned."""
        named = self._named
        return [with_tables(r, lambda t: named(t) if t.get("learned") else t) for r in requirements]

    def withheld_finding(self, finding: _Table) -> dict[str, Any]:
        """A finding without what reveals these priors; that it is safe remains."""
        own = {self.digest(table) for table in self.tables}
        judged = with_tables(
            finding["judged"], lambda t: self._named(t) if self.digest(t) in own else t
        )
        if not is_kept(judged):
            return dict(finding)
        # A limit that is so many times a prior reveals the prior.
        hidden = {"value", "group", "exact", "probability", "limit"} & finding.keys()
        return {**finding, **dict.fromkeys(hidden), "judged": judged}

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

        return [with_tables(required, fill) for required in requirements]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the version of their format."""
        return {
            "format": "foreknow priors",
            "version": 1,
            **OWNERS_FILE,
            "key": self.key.hex(),
            "tables": [dict(table) for table in self.tables],
        }

    @classmethod
    def load(cls, path: str | Path) -> KeptPriors:
        """Read the file that `publish` wrote for the owner."""
        path = Path(path)
        if path.exists() and not path.is_file():
            raise CertificateError(f"{str(path)!r} is no file")
        content = read_bytes(path, _MOST_BYTES, CertificateError, repr(str(path)))
        table = parsed(path, content, f"give the {PRIORS} that publish wrote")
        try:
            _KeptTable.model_validate(table)
        except ValidationError as error:
            raise CertificateError(
                f"{str(path)!r} does not hold the priors of a release, as publish writes them to "
                f"{PRIORS}: it {explain(error)}"
            ) from None
        return cls(bytes.fromhex(table["key"]), tuple(table["tables"]))
