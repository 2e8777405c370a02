"""Code book: what the columns of a release hold, as Frictionless Data describes tables.

All that it says can be read from the files and the certificate, so a verifier says it again and
compares; but titles, which are the publisher's words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from foreknow.data.arrays import IntArray
from foreknow.data.prepare import header_of_shuffled
from foreknow.data.release_tables import COUNT
from foreknow.data.tables.views.typed_columns import type_of
from foreknow.publishing.label_extents import About, Extents
from foreknow.wording import unit_counted
from foreknow.written_releases.written_release import hints_of, is_text, spelling_of
from foreknow_judge.certificate import Certificate
from foreknow_judge.errors import CertificateError, InputError
from foreknow_judge.files.documents import decode_utf8, from_json, read_bytes
from foreknow_judge.files.file_names import CERTIFICATE, CODE_BOOK
from foreknow_judge.files.written_release import Written, count_column_sets

_SCHEMA = "https://datapackage.org/profiles/2.0/datapackage.json"
_MOST_BYTES, _LONGEST_TITLE, _SHOWN = 64 << 20, 1000, 200

# A number, or from one to another, as most are written: none of them is a code, or very long.
_PLAIN_NUMBER = r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,3})?"
_PLAIN = rf"\A{_PLAIN_NUMBER}( to <?{_PLAIN_NUMBER})?\z"
# What a label means, by what the labels of a column are about.
_NOTHING = "'*' means: not shown."
_MEANS = {
    "number": "A number, or a range of numbers: both ends of '20 to 39' are inside, '20 to <25' "
    f"ends before 25. {_NOTHING}",
    "date": "A day, month (2024-01), quarter (2024-Q1), year (2024) or decade (2020s), or a range "
    f"from one to another, both inside. {_NOTHING}",
    "text": "A value, or several with ' | ' between them: the true value is one of them. They are "
    f"quoted if one contains '|'. {_NOTHING}",
    "mask": f"A code. Each '*' at its end stands for a character that is not shown. {_NOTHING}",
    "order": f"A value, or a range from one to another in their order, both inside. {_NOTHING}",
    "tree": f"A value, or a node of a hierarchy that stands for any value below it. {_NOTHING}",
}
_SHUFFLED = "Shuffled within groups: beside other columns of a row it says nothing of a person."
_WEIGHTS = (
    "Weight of a survey: how many people of the population each of the group stands for, as the "
    "mean of the group."
)
_COUNTED = "How many people of the group have the value."
_GROUPED = "The group of people whose values are counted in the other tables."


class Contents(NamedTuple):
    """The contents of a release's files, for its code book."""

    people: IntArray  # of each group
    texts: Mapping[str, Mapping[str, pa.Array]]  # of each table and column, each text once

    @classmethod
    def of(cls, certificate: Certificate, written_release: Written) -> Contents:
        """The sizes of the groups, and the texts of each column, of a written release."""
        return cls(
            written_release.held.people,
            {
                table_name: _texts_of(certificate, written_release, table_name)
                for table_name in certificate.parts
            },
        )


def _column_of(certificate: Certificate, header: str) -> tuple[str, bool]:
    """The column that a header names, and whether it is shuffled.

    The header may differ from the name of the column: marked as a formula, or as shuffled.
    """
    name = spelling_of(certificate).name_of(header)
    columns = {header_of_shuffled(column): column for column in certificate.unlinked}
    return columns.get(name, name), name in columns


def _texts_of(
    certificate: Certificate, written_release: Written, table: str
) -> dict[str, pa.Array]:
    """The distinct texts of each column of a table of the release, by the header in its file."""
    groups = written_release.groups
    names = [*(written_release.columns or {}).get(table, ())]
    # Counts of a column are kept by the release, so no file is read twice.
    count_column_sets(written_release, table, [(*groups, *({name} - {*groups})) for name in names])
    texts_by_header = {}
    for name in written_release.memory.headers[table]:
        column, _ = _column_of(certificate, name)
        rows = written_release.count_rows(table, [column] if column not in groups else [])
        texts_by_header[name] = pa.array(rows.column(column).texts, pa.string())
    return texts_by_header


def code_book(
    certificate: Certificate, contents: Contents, titles: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The code book of a release as a data package: its tables, their columns, and its groups.

    It is the content of ``datapackage.json``. `titles` are longer names of columns.
    """
    group_sizes = contents.people
    resources = []
    for table_name in certificate.parts:
        paths = [path.as_posix() for path in certificate.paths(Path())[table_name]]
        resources.append({
            "name": table_name,
            "type": "table",
            "profile": "tabular-data-resource",
            "path": paths[0] if len(paths) == 1 else paths,
            **_format(certificate),
            "schema": {
                "fields": [
                    _field(certificate, table_name, name, texts, titles or {})
                    for name, texts in contents.texts[table_name].items()
                ],
                "missingValues": _MISSING[certificate.format],
            },
        })  # fmt: skip
    return {
        "$schema": _SCHEMA,
        "profile": "tabular-data-package",
        "resources": resources,
        "foreknow": {
            "certificate": CERTIFICATE,
            "form": certificate.form,
            "row": unit_counted(certificate.in_cases).singular,
            "people": int(group_sizes.sum()),
            "groups": len(group_sizes),
            "smallest_group": int(group_sizes.min()),
            "largest_group": int(group_sizes.max()),
        },
    }


_ROLE_OF_GROUPS = {"bucketized": "group", "generalized": "quasi-identifier"}
_MISSING = {"csv": [""], "parquet": []}


def _roles(certificate: Certificate) -> dict[str, str]:
    """The role of each column; what has none is a quasi-identifier."""
    return {
        **dict.fromkeys(certificate.beside, "other"),
        **dict.fromkeys(certificate.sensitives, "sensitive"),
        **dict.fromkeys(certificate.groups, _ROLE_OF_GROUPS[certificate.form]),
    }


def _format(certificate: Certificate) -> dict[str, Any]:
    """The format of the files, and how CSV is written."""
    dialect = {"delimiter": certificate.delimiter, "quoteChar": '"', "doubleQuote": True}
    kinds: dict[str, dict[str, Any]] = {
        "csv": {"mediatype": "text/csv", "encoding": "utf-8", "dialect": dialect},
        "parquet": {"mediatype": "application/vnd.apache.parquet"},
    }
    return {"format": certificate.format, **kinds[certificate.format]}


def _field(
    certificate: Certificate,
    table: str,
    name: str,
    texts: pa.Array,
    titles: Mapping[str, str],
) -> dict[str, Any]:
    """The entry of a column in the code book: its type, its role and what its labels mean.

    `name` is its header in the file of `table`, and `texts` are its distinct values.
    """
    column_name, is_shuffled = _column_of(certificate, name)
    field: dict[str, Any] = {"name": name, "type": _type_of(texts, certificate, column_name)}
    if column_name in titles:
        field["title"] = titles[column_name][:_LONGEST_TITLE]
    decimal = {"decimalChar": ","} if column_name in certificate.commas else {}
    if field["type"] == "number":
        field |= decimal
    if table.startswith("sensitive") and column_name == COUNT:
        return {**field, "description": _COUNTED, "foreknow": {"role": "count"}}
    role = _roles(certificate).get(column_name, "quasi-identifier")
    if role == "group":
        return {**field, "description": _GROUPED, "foreknow": {"role": role}}
    if table != "release" and role == "sensitive":  # its table has groups, and no people
        is_shuffled = True
    # What Foreknow adds to the standard, and what it says in words.
    details: dict[str, Any] = {"shuffled": True} if is_shuffled else {}
    sentences = [_SHUFFLED] if is_shuffled else []
    if column_name == certificate.policy["schema"].get("weights"):
        details |= {"weights": True}
        sentences.append(_WEIGHTS)
    rounding_step = certificate.policy.get("publish", {}).get("round", {}).get(column_name)
    if rounding_step is not None:
        details |= {"rounded": str(rounding_step)}
        sentences.append(f"Rounded to the nearest multiple of {rounding_step}.")
    if sentences:
        field["description"] = " ".join(sentences)
    # Labels of groups, such as "20 to 29", are texts with a meaning.
    if role == "quasi-identifier" and column_name in certificate.groups:
        hints = hints_of(certificate, column_name)
        tree = "tree" if "tree" in hints else hints.get("above")
        meaning = "order" if "order" in hints else tree or about_of(texts, **hints)
        field |= {"type": "string", "description": _MEANS[meaning]}
        field.pop("decimalChar", None)
        details |= {"labels": meaning, **decimal}
        details |= (
            {"grid": certificate.grids[column_name]} if column_name in certificate.grids else {}
        )
        details |= {"order": hints["order"]} if "order" in hints else {}
    return {**field, "foreknow": {"role": role, **details}}


def about_of(labels: pa.Array, about: About | None = None, **hints: Any) -> About:
    """The kind of a column's labels: "number", "date" or "text", as in `Extents`.

    Plain numbers and ranges, of which there may be many, are sorted out by a pattern; only one of
    them and the other labels are read.

    >>> about_of(pa.array(["20 to <30", "35", "*"])), about_of(pa.array(["20 to 29", "old"]))
    ('number', 'text')
    """
    if about in (None, "number"):
        is_plain = pc.fill_null(pc.match_substring_regex(labels, _PLAIN), False)
        first = pc.index(is_plain, True).as_py()
        unplain = labels.filter(pc.invert(is_plain))
        if first >= 0 and Extents([labels[first].as_py(), *unplain.to_pylist()]).about == "number":
            return "number"
    return Extents(labels.to_pylist(), about, **hints).about


def _type_of(texts: pa.Array, certificate: Certificate, bare: str) -> str:
    """The type of values as they are written."""
    is_marked = spelling_of(certificate).marks_any(texts)
    return "string" if is_marked or is_text(certificate, bare) else type_of(texts)


def contradictions_of(
    path: Path, certificate: Certificate, written_release: Written
) -> Iterator[str]:
    """Yield a sentence if the code book in this file contradicts the release or its certificate."""
    try:
        content = read_bytes(path, _MOST_BYTES, CertificateError, CODE_BOOK)
        claims = from_json(decode_utf8(content, CertificateError, CODE_BOOK))
    except InputError:
        raise
    except ValueError as error:
        yield f"{CODE_BOOK} is not JSON: {error}"
        return
    expected = code_book(certificate, Contents.of(certificate, written_release))
    yield from _differences(_untitled(claims), expected, "")


def _untitled(claims: Any) -> Any:
    """The claims of a code book without the titles of fields, which are the publisher's words.

    A title that is too long stays, so that it is found to differ.
    """
    if isinstance(claims, list):
        return [_untitled(claim) for claim in claims]
    if not isinstance(claims, dict):
        return claims
    title = claims.get("title")
    is_field = "name" in claims and "type" in claims
    if is_field and isinstance(title, str) and len(title) <= _LONGEST_TITLE:
        claims = {key: claim for key, claim in claims.items() if key != "title"}
    return {key: _untitled(claim) for key, claim in claims.items()}


def _differences(claimed: Any, expected: Any, place: str) -> Iterator[str]:
    """Yield a sentence about the first place where the claims differ from what is expected.

    Both are values of JSON; `place` is the path to them, such as ".resources[0]".
    """
    if type(claimed) is not type(expected):
        pass  # the sentence below
    elif isinstance(expected, dict):
        for key in dict.fromkeys([*expected, *claimed]):
            if key not in claimed or key not in expected:
                problem = "lacks" if key in expected else "has an unknown key"
                yield f"{CODE_BOOK} {problem} {f'{place}.{key}'.strip('.')!r}"
                return
            difference = next(_differences(claimed[key], expected[key], f"{place}.{key}"), None)
            if difference is not None:
                yield difference
                return
        return
    elif isinstance(expected, list) and len(claimed) == len(expected):
        for index, pair in enumerate(zip(claimed, expected, strict=True)):
            yield from _differences(*pair, f"{place}[{index}]")
        return
    elif claimed == expected:
        return
    claimed_text, expected_text = (repr(content)[:_SHOWN] for content in (claimed, expected))
    yield f"{CODE_BOOK}: {place.strip('.')} is {claimed_text}; by the files it is {expected_text}"
