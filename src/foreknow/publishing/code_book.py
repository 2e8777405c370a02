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
from foreknow.data.engines.typed import type_of
from foreknow.data.engines.write import rearmed
from foreknow.data.prepare import SHUFFLED, header_of_shuffled
from foreknow.data.release import COUNT
from foreknow.publishing.extents import About, Extents
from foreknow.releases.written import header_of, hints_of, is_text
from foreknow.wording import unit_counted
from foreknow_judge.certificate import Certificate
from foreknow_judge.documents import decode_utf8, from_json, read_bytes
from foreknow_judge.errors import CertificateError, InputError
from foreknow_judge.file_names import CERTIFICATE, CODE_BOOK
from foreknow_judge.files import unescape_formula
from foreknow_judge.written import Written, count_sights

_SCHEMA = "https://datapackage.org/profiles/2.0/datapackage.json"
_MOST_BYTES, _LONGEST_TITLE, _SHOWN = 64 << 20, 1000, 200
# A text that looks like a formula is written otherwise where formulas are escaped.
_FORMULA = r"^['=+\-@\t\r]"

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
_COUNTED = "How many people of the group have the value."
_GROUPED = "The group of people whose values are counted in the other tables."


class Contents(NamedTuple):
    """What a code book needs to know of the files of a release."""

    people: IntArray  # of each group
    texts: Mapping[str, Mapping[str, pa.Array]]  # of each table and column, each text once

    @classmethod
    def of(cls, known: Certificate, written: Written) -> Contents:
        """Read them, or take what was read."""
        return cls(written.held.people, {part: _texts_of(written, part) for part in known.parts})


def _texts_of(written: Written, table: str) -> dict[str, pa.Array]:
    """The distinct texts of each column of a table, by the name of the column in the file."""
    groups = written.groups
    names = [*(written.columns or {}).get(table, ())]
    count_sights(written, table, [(*groups, *({name} - {*groups})) for name in names])
    found = {}
    for name in written.memory.headers[table]:
        bare = unescape_formula(name, False) if written.escaped else name
        called = {header_of_shuffled(own): own for own in written.shuffled}.get(
            bare or "", bare or ""
        )
        rows = written.count_rows(table, [called] if called not in groups else [])
        found[name] = pa.array(rows.column(called).texts, pa.string())
    return found


def code_book(
    known: Certificate, contents: Contents, titles: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What the columns of a release hold, by its files and its certificate."""
    people = contents.people
    resources = []
    for part in known.parts:
        paths = [path.as_posix() for path in known.paths(Path())[part]]
        resources.append({
            "name": part,
            "type": "table",
            "profile": "tabular-data-resource",
            "path": paths[0] if len(paths) == 1 else paths,
            **_format(known),
            "schema": {
                "fields": [
                    _field(known, part, name, texts, titles or {})
                    for name, texts in contents.texts[part].items()
                ],
                "missingValues": _MISSING[known.format],
            },
        })  # fmt: skip
    return {
        "$schema": _SCHEMA,
        "profile": "tabular-data-package",
        "resources": resources,
        "foreknow": {
            "certificate": CERTIFICATE,
            "form": known.form,
            "row": unit_counted(known.in_cases).one,
            "people": int(people.sum()),
            "groups": len(people),
            "smallest_group": int(people.min()),
            "largest_group": int(people.max()),
        },
    }


_FORMATS: dict[str, dict[str, Any]] = {
    "csv": {"format": "csv", "mediatype": "text/csv", "encoding": "utf-8"},
    "parquet": {"format": "parquet", "mediatype": "application/vnd.apache.parquet"},
}


_MISSING = {"csv": [""], "parquet": []}


def _roles(known: Certificate) -> dict[str, str]:
    """The role of each column that is no quasi-identifier."""
    roles = dict.fromkeys(known.beside, "other") | dict.fromkeys(known.sensitives, "sensitive")
    return roles | (dict.fromkeys(known.groups, "group") if known.form == "bucketized" else {})


def _format(known: Certificate) -> dict[str, Any]:
    """What files are, and how CSV is written."""
    dialect = {"delimiter": known.delimiter, "quoteChar": '"', "doubleQuote": True}
    return _FORMATS[known.format] | ({"dialect": dialect} if known.format == "csv" else {})


def _field(
    known: Certificate,
    part: str,
    name: str,
    texts: pa.Array,
    titles: Mapping[str, str],
) -> dict[str, Any]:
    """A column: its type, and what its labels mean."""
    bare = header_of(known, rearmed)(name)
    own: dict[str, Any] = {}
    if part == "release" and bare.removesuffix(SHUFFLED) in known.unlinked:
        bare, own = bare.removesuffix(SHUFFLED), {"shuffled": True}
    field: dict[str, Any] = {"name": name, "type": _type_of(texts, known, bare)}
    if bare in titles:
        field["title"] = titles[bare][:_LONGEST_TITLE]
    decimal = {"decimalChar": ","} if bare in known.commas else {}
    if field["type"] == "number":
        field |= decimal
    if part.startswith("sensitive") and bare == COUNT:
        return {**field, "description": _COUNTED, "foreknow": {"role": "count"}}
    role = _roles(known).get(bare, "quasi-identifier")
    if role == "group":
        return {**field, "description": _GROUPED, "foreknow": {"role": role}}
    if part != "release" and role == "sensitive":
        own = {"shuffled": True}
    if own:
        field["description"] = _SHUFFLED
    if role == "quasi-identifier" and bare in known.groups:
        hints = hints_of(known, bare)
        tree = "tree" if "tree" in hints else hints.get("above")
        about = "order" if "order" in hints else tree or about_of(texts, **hints)
        field |= {"type": "string", "description": _MEANS[about]}
        field.pop("decimalChar", None)
        own |= {"labels": about, **decimal}
        own |= {"grid": known.grids[bare]} if bare in known.grids else {}
        own |= {"order": hints["order"]} if "order" in hints else {}
    return {**field, "foreknow": {"role": role, **own}}


def about_of(labels: pa.Array, about: About | None = None, **hints: Any) -> About:
    """What the labels of a column are about, as `Extents` says, which reads few of plain numbers.

    >>> about_of(pa.array(["20 to <30", "35", "*"])), about_of(pa.array(["20 to 29", "old"]))
    ('number', 'text')
    """
    if about in (None, "number"):
        plain = pc.fill_null(pc.match_substring_regex(labels, _PLAIN), False)
        first = pc.index(plain, True).as_py()
        others = labels.filter(pc.invert(plain))
        if first >= 0 and Extents([labels[first].as_py(), *others.to_pylist()]).about == "number":
            return "number"
    return Extents(labels.to_pylist(), about, **hints).about


def _type_of(texts: pa.Array, known: Certificate, bare: str) -> str:
    """The type of values as they are written."""
    marked = known.escaped and pc.any(pc.match_substring_regex(texts, _FORMULA)).as_py()
    return "string" if marked or is_text(known, bare) else type_of(texts)


def lies_of(path: Path, known: Certificate, written: Written) -> Iterator[str]:
    """Where a code book says something else than the files and the certificate."""
    try:
        content = read_bytes(path, _MOST_BYTES, CertificateError, CODE_BOOK)
        said = from_json(decode_utf8(content, CertificateError, CODE_BOOK))
    except InputError:
        raise
    except ValueError as error:
        yield f"{CODE_BOOK} is not JSON: {error}"
        return
    true = code_book(known, Contents.of(known, written))
    yield from _differences(_untitled(said), true, "")


def _untitled(said: Any) -> Any:
    """What is said but titles of fields, which are the publisher's words."""
    if isinstance(said, list):
        return [_untitled(each) for each in said]
    if not isinstance(said, dict):
        return said
    title = said.get("title")
    is_field = "name" in said and "type" in said
    if is_field and isinstance(title, str) and len(title) <= _LONGEST_TITLE:
        said = {key: each for key, each in said.items() if key != "title"}
    return {key: _untitled(each) for key, each in said.items()}


def _differences(said: Any, true: Any, place: str) -> Iterator[str]:
    """The first place where one says something else."""
    if type(said) is not type(true):
        pass
    elif isinstance(true, dict):
        for key in dict.fromkeys([*true, *said]):
            if key not in said or key not in true:
                word = "lacks" if key in true else "has an unknown key"
                yield f"{CODE_BOOK} {word} {f'{place}.{key}'.strip('.')!r}"
                return
            found = next(_differences(said[key], true[key], f"{place}.{key}"), None)
            if found is not None:
                yield found
                return
        return
    elif isinstance(true, list) and len(said) == len(true):
        for at, pair in enumerate(zip(said, true, strict=True)):
            yield from _differences(*pair, f"{place}[{at}]")
        return
    elif said == true:
        return
    shown, right = (repr(each)[:_SHOWN] for each in (said, true))
    yield f"{CODE_BOOK}: {place.strip('.')} is {shown}; by the files it is {right}"
