"""Learned priors, which stay with the owner: a certificate has only their digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from foreknow_judge.certificate import (
    Digest,
    TableOfPriors,
    bytes_of_certificate,
    has_kept_priors,
    map_prior_tables,
    parse_certificate,
)
from foreknow_judge.errors import CertificateError
from foreknow_judge.files.file_names import PRIORS
from foreknow_judge.policy.settings import Settings, Table, explain

PARTS = tuple(TableOfPriors.model_fields)


class _FileOfPriors(Settings):
    """The format of the owner's file."""

    format: Literal["foreknow priors"]
    version: Literal[1]
    this_file_is: Literal["for the owner only"] = "for the owner only"
    key: Digest
    tables: Annotated[list[TableOfPriors], Field(min_length=1)]


@dataclass(frozen=True, repr=False)
class KeptPriors:
    """Tables of priors learned from the published table, in the form of `PriorTable.to_dict`.

    Their digests need the `key`: plain digests would let anyone test guesses of the tables.
    """

    key: bytes
    tables: tuple[Table, ...]

    def digest(self, table: Table) -> str:
        """Keyed digest of one table, in hexadecimal."""
        text = json.dumps([table[key] for key in PARTS])
        return hashlib.blake2b(text.encode(), key=self.key, digest_size=32).hexdigest()

    def withheld_finding(self, finding: Table) -> dict[str, Any]:
        """A finding without anything that reveals these priors; whether it is safe remains.

        `finding` is the entry of a verdict in a certificate. Tables become digests.
        """
        digests = {self.digest(table) for table in self.tables}
        withheld = map_prior_tables(
            finding["judged"], lambda t: self.named(t) if self.digest(t) in digests else t
        )
        if not has_kept_priors(withheld):
            return dict(finding)
        # A limit relative to a prior reveals the prior.
        hidden = {"value", "group", "exact", "probability", "limit"} & finding.keys()
        return {**finding, **dict.fromkeys(hidden), "judged": withheld}

    def named(self, table: Table) -> dict[str, Any]:
        """A table in a certificate: its columns, and its digest in place of the rest."""
        return {"attributes": list(table["attributes"]), "digest": self.digest(table)}

    def filled(self, requirements: Sequence[Table]) -> list[dict[str, Any]]:
        """The requirements of a certificate with the tables that their digests stand for.

        A digest of another table than these is refused.
        """
        tables_by_digest = {self.digest(table): table for table in self.tables}

        def fill(table: Table) -> Table:
            if "digest" not in table:
                return table
            kept_table = tables_by_digest.get(str(table["digest"]))
            if kept_table is None or list(kept_table["attributes"]) != list(table["attributes"]):
                raise CertificateError("digest-differs", "the file of priors")
            return kept_table

        return [map_prior_tables(required, fill) for required in requirements]

    @classmethod
    def load(cls, path: str | Path) -> KeptPriors:
        """Read the file of priors that `publish` wrote for the owner, with the digests' key."""
        path = Path(path)
        content = bytes_of_certificate(path)
        table = parse_certificate(path, content, f"give the {PRIORS} that publish wrote")
        try:
            _FileOfPriors.model_validate(table)
        except ValidationError as error:
            raise CertificateError("not-kept-priors", path, problem=explain(error)) from None
        return cls(bytes.fromhex(table["key"]), tuple(table["tables"]))
