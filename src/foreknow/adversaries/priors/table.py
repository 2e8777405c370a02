"""PriorTable: how likely each sensitive value is for people of each signature, by labels."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import compress
from pathlib import Path
from typing import Any

from foreknow.adversaries.priors.signature_groups import PriorMatrix
from foreknow.atomic_files import write_whole
from foreknow.data.members import Signature, signature_text
from foreknow.errors import did_you_mean
from foreknow_judge.errors import DataError, InputError
from foreknow_judge.numbers import as_fraction

# Probabilities that came from floats may add up to a little more than they stand for.
_ROUNDING = Fraction(1, 10**9)
# Floats rank posteriors, and nearer to 0 they lose their precision.
_LEAST = Fraction(1, 2**1022)


@dataclass(frozen=True, repr=False)
class PriorTable:
    """The distribution of sensitive values for each signature of one attribute set.

    See definition 2 of the paper. Labels are texts, compared as they print; None is a missing value
    of an attribute.

    Parameters
    ----------
    attributes : tuple of str
        The columns that the adversary knows.
    values : tuple of str
        The sensitive values.
    chances : mapping of signature to tuple of Fraction
        The probability of each value, by signature.
    name : str
        The name of the table in messages.
    learned : bool
        Whether the table was learned from a table of people. Then it can state a person's value as
        certain, if no one else has the person's signature. `publish` keeps it with the owner.
    estimated : bool
        Whether the table was estimated from a release alone, as anybody can. Posteriors from it are
        estimates, so no requirement takes it.

    Raises
    ------
    DataError
        If a probability is not from 0 to 1, or those of a signature add up to more than 1; if rows
        do not fit the attributes and values.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> PriorTable(("sex",), ("Flu", "HIV"), {("f",): (half, half), ("m",): (half, Fraction(0))})
    PriorTable(sex: 2 signatures, 2 values)
    """

    attributes: tuple[str, ...]
    values: tuple[str, ...]
    chances: Mapping[Signature, tuple[Fraction, ...]]
    name: str = field(default="the priors", compare=False)
    learned: bool = field(default=False, compare=False)
    estimated: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse names given twice, rows of another length, and chances that are none."""
        for noun, labels in (("attribute", self.attributes), ("value", self.values)):
            twice = []
            for i, label in enumerate(labels):
                if label in labels[:i]:
                    twice.append(label)
            if twice:
                raise DataError(f"{self.name}: the {noun} {twice[0]!r} is given twice")
        for signature, row in self.chances.items():
            if len(signature) != len(self.attributes) or len(row) != len(self.values):
                raise DataError(
                    f"{self.name}: a row has {len(signature)} attributes and {len(row)} "
                    f"probabilities; expected are {len(self.attributes)} and {len(self.values)}"
                )
            for value, chance in zip(self.values, row, strict=True):
                if not 0 <= chance <= 1:
                    raise DataError(
                        f"{self.name}: the probability of {value!r} for {self._text(signature)} "
                        f"is {float(chance):.6g}, not from 0 to 1"
                    )
                if 0 < chance < _LEAST or 0 < 1 - chance < _LEAST:
                    raise DataError(
                        f"{self.name}: the probability of {value!r} for {self._text(signature)} "
                        f"is closer than {float(_LEAST):.3g} to 0 or 1; give 0 or 1"
                    )
            if sum(row) > 1 + _ROUNDING:
                raise DataError(
                    f"{self.name}: the probabilities for {self._text(signature)} add up to "
                    f"{float(sum(row)):.6g}, above 1"
                )

    def __hash__(self) -> int:
        return hash((self.attributes, self.values, frozenset(self.chances)))

    def prior(self, signature: Signature, value: str) -> Fraction:
        """The probability of a value for a signature; raises `DataError` with a hint if unknown."""
        return self.matrix([signature], [value]).exact(0, 0)

    def matrix(self, signatures: Sequence[Signature], values: Sequence[str]) -> PriorMatrix:
        """The probabilities of `values` (columns) for people with `signatures` (rows).

        Raises `DataError` if the table has no probability for a signature or value.
        """
        column_of = {value: i for i, value in enumerate(self.values)}
        for value in values:
            if value not in column_of:
                raise DataError(
                    f"{self.name}: there are no probabilities of the sensitive value {value!r}"
                    f"{did_you_mean(value, self.values)}; give 0 where it never occurs"
                )
        columns = [column_of[value] for value in values]
        rows: list[list[Fraction]] = []
        for signature in signatures:
            row = self._row(signature)
            rows.append([row[column] for column in columns])
        return PriorMatrix(rows)

    def united(self, members: Sequence[str], name: str) -> PriorTable:
        """The table with the values `members` as one value, called `name`.

        Its probability is the sum of theirs.
        """
        for value in members:
            if value not in self.values:
                self.matrix([], [value])  # raises an error, which says which values there are
        is_member = [value in members for value in self.values]
        is_other = [value not in members for value in self.values]
        chances: dict[Signature, tuple[Fraction, ...]] = {}
        for signature, row in self.chances.items():
            chance = sum(compress(row, is_member), Fraction(0))
            # Chances that came from floats may add up to a little more than 1.
            chances[signature] = (*compress(row, is_other), min(chance, Fraction(1)))
        values = (*compress(self.values, is_other), name)
        return replace(self, values=values, chances=chances)

    def spelled(self, reading: Any, sensitive: str, label: str | None) -> PriorTable:
        """The table with the schema's spellings of a missing value read as missing.

        `label` is the label that the release shows for a missing sensitive value; None if there is
        none.
        """
        chances, of_columns = dict(self.chances), [*map(reading.spellings_of, self.attributes)]
        for signature, row in self.chances.items():
            # A signature with its missing values as None, beside the one as it is written.
            cleaned = []
            for text, listed in zip(signature, of_columns, strict=True):
                cleaned.append(None if _bare(text) in listed else text)
            if chances.setdefault(tuple(cleaned), row) != row:
                raise DataError(
                    f"{self.name}: {self._text(signature)} is missing, as the schema spells it, "
                    "and another row with other probabilities is, too; keep one of them"
                )
        spellings = reading.spellings_of(sensitive)
        members = [value for value in self.values if _bare(value) in spellings]
        table = replace(self, chances=chances)
        if label is None or not members or members == [label]:
            return table
        return table.united([*members, *([label] if label in self.values else [])], label)

    def _row(self, signature: Signature) -> tuple[Fraction, ...]:
        """The probabilities of people with a signature; refuse one that the table lacks."""
        try:
            return self.chances[signature]
        except KeyError:
            hint = ""
            if len(self.attributes) == 1:
                labels = [str(label) for (label,) in self.chances]
                hint = did_you_mean(str(signature[0]), labels)
            raise DataError(
                f"{self.name}: there are no probabilities for {self._text(signature)}{hint} (a "
                "release must keep these columns as they are, as the bucketized form does)"
            ) from None

    def _text(self, signature: Signature) -> str:
        return signature_text(self.attributes, signature)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; probabilities as texts, so that none is rounded."""
        rows = []
        for signature, row in self.chances.items():
            rows.append([list(signature), list(map(str, row))])
        return {
            "attributes": list(self.attributes),
            "values": list(self.values),
            "rows": rows,
            **({"learned": True} if self.learned else {}),
            **({"estimated": True} if self.estimated else {}),
        }

    def to_csv(self, path: str | Path) -> None:
        """Write the table as `Priors` reads it, with exact fractions, whole or not at all.

        Learned priors have a further column, ``learned``, with ``yes`` in each row, or
        ``estimated`` if they were estimated from a release. Priors learned from a table are for
        its owner, and only the owner can read the file.

        Raises
        ------
        DataError
            If an attribute is missing in a signature: CSV cannot tell it from an empty text.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        # Where the priors are from, as a further column; none if they were given.
        marks = ["yes"] * self.learned or ["estimated"] * self.estimated
        mark, header = marks, ["learned"] * len(marks)
        if marks and "learned" in self.attributes:
            raise DataError(
                "the column 'learned' of a table of priors says where they are from; give the "
                "attribute another name"
            )
        writer.writerow([*self.attributes, "value", "probability", *header])
        for signature, row in self.chances.items():
            if None in signature or "" in signature:
                raise DataError(
                    f"{self._text(signature)} cannot be written as CSV; give it a label"
                )
            for value, chance in zip(self.values, row, strict=True):
                writer.writerow([*signature, value, str(chance), *mark])
        write_whole(path, text.getvalue(), private=self.learned)

    @classmethod
    def from_dict(cls, table: Mapping[str, Any], name: str = "the priors") -> PriorTable:
        """Build a table from the result of `to_dict`; raises `DataError` for anything else."""
        chances: dict[Signature, tuple[Fraction, ...]] = {}
        try:
            attributes, values = tuple(table["attributes"]), tuple(table["values"])
            for labels, row in table["rows"]:
                # A text would be read as a list of letters.
                if isinstance(labels, str) or isinstance(row, str):
                    raise TypeError
                texts = [None if label is None else str(label) for label in labels]
                signature = tuple(texts)
                if signature in chances:
                    raise DataError("one signature has two rows")
                chances[signature] = tuple(map(as_fraction, row))
        except InputError as error:
            raise DataError(f"{name}: {error}") from None
        except (KeyError, TypeError, ValueError):
            raise DataError(f"{name}: expected attributes, values, and rows of both") from None
        origin = (table.get(key, False) is True for key in ("learned", "estimated"))
        return cls(attributes, values, chances, name, *origin)

    def __repr__(self) -> str:
        return (
            f"PriorTable({', '.join(self.attributes)}: {len(self.chances)} signatures, "
            f"{len(self.values)} values)"
        )


def _bare(text: str | None) -> str | None:
    """A text without the blanks around it."""
    return None if text is None else text.strip()
