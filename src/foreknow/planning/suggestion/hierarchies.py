"""Hierarchies of a first policy: by files beside the table, or by what values look like."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from foreknow.data.columns.hierarchy import Tree
from foreknow.data.columns.reading_rules import STDIN, file_of, named_part
from foreknow.data.tables.profile.column_profile import Profile
from foreknow.data.tables.profile.column_words import WORDS, words_of
from foreknow_judge.errors import InputError

# Up to so many values are few; and so many numbers.
FEW, _FEW_NUMBERS = 20, 12
_CELLS = 20  # in which numbers are cut at first
# Files beside a table that are looked at, their bytes together, and those of one that is for no
# column by its name; a column of so few values has none by its content.
_MOST_FILES, _MOST_BYTES, _MOST_UNNAMED, _FEW_VALUES = 100, 16 << 20, 1 << 20, 3
_NAMED_SO = re.compile(r"((?:.*[-_ .])?)hierarchy[-_ .](.+)", re.IGNORECASE)
_NESTED = (1, 5, 10), (2, 10, 50), (5, 10, 50)  # widths
_POSTAL = WORDS["postal"]
_LARGEST = 1e300  # of numbers that a hierarchy is proposed for


def hierarchy_of(profile: Profile) -> tuple[Mapping[str, Any] | None, Any, str]:
    """Guess how the values of a column may coarsen, from what it holds.

    Returns
    -------
    hierarchy : mapping or None
        The table of a hierarchy in a policy.
    kind : str or None
        The type that the column must be given for it.
    question : str
        What is to be decided; "" if nothing is.
    """
    code = code_length(profile)
    if code is not None:  # masked from the end; numbers must become texts for this
        return {"mask": code}, "text" if profile.kind == "number" else None, ""
    if profile.kind == "date":
        first, last = profile.domain[0], profile.domain[-1]
        if isinstance(first, dt.time):
            return {"dates": ["hour", "day"]}, None, ""
        is_long = last.year - first.year > 20
        levels = ["month", "year", "decade"] if is_long else ["month", "quarter", "year"]
        return {"dates": levels}, None, ""
    if profile.kind == "number":
        hierarchy, question = _intervals_of(profile)
        return hierarchy, None, question
    if profile.distinct > 5 * FEW:
        return (
            None,
            None,
            "it has many different texts, so a hierarchy (file or rows) would keep more detail",
        )
    return None, None, ""


def _intervals_of(profile: Profile) -> tuple[Mapping[str, Any] | None, str]:
    """The intervals in which numbers may be coarsened, and a question that they leave open.

    None if the column should not be coarsened so; then the question says why.
    """
    smallest, largest = profile.domain[0], profile.domain[-1]  # the domain is in order
    if not all(-_LARGEST < end < _LARGEST for end in (smallest, largest)):
        return None, "it has numbers that are not finite, or too large"
    are_whole = all(value == int(value) for value in profile.domain[:1000])
    question = ""
    if are_whole and _POSTAL.keys() & words_of(profile.name) and _lost_zeros(profile):
        question = (
            "numbers of different lengths: are they codes that lost leading zeros? Then read the "
            f"column as text: pd.read_csv(path, dtype={{{profile.name!r}: str}})"
        )
    elif profile.distinct <= _FEW_NUMBERS:
        question = (
            "number or code? Its values are read as numbers. If they are codes, give the column "
            'the type "text" in [schema.types]'
        )
        return None, question if are_whole else ""
    widths = _widths(smallest, largest, are_whole)
    return None if widths is None else {"intervals": widths}, question


def code_length(profile: Profile) -> int | None:
    """The length of the codes in a column; None if its values are no codes of one length.

    Codes can be masked from the end. Numbers are codes only if the name of the column is that of a
    postal code.
    """
    lengths = {len(str(value)) for value in profile.domain}
    is_postal = bool(_POSTAL.keys() & words_of(profile.name))
    has_few_values = profile.distinct <= _FEW_NUMBERS and not is_postal  # these need no masking
    if len(lengths) != 1 or has_few_values or profile.kind == "date":
        return None
    (length,) = lengths
    if profile.kind == "number":
        are_whole = all(type(value) is int and value >= 0 for value in profile.domain)
        return length if is_postal and are_whole and length > 2 else None
    is_complete = profile.distinct == len(profile.domain)  # of many texts, only some are at hand
    if not is_complete or not 2 < length <= 12:
        return None
    have_digits = all(any(map(str.isdigit, str(value))) for value in profile.domain)
    return length if have_digits else None


def _lost_zeros(profile: Profile) -> bool:
    """True if whole numbers are of a few lengths, most of them of the longest."""
    lengths = [len(str(value)) for value in profile.domain]
    longest = max(lengths)
    return longest > 3 and min(lengths) < longest and 2 * lengths.count(longest) > len(lengths)


def _widths(low: Any, high: Any, are_whole: bool) -> list[Any] | None:
    """Three round widths of intervals from `low` to `high`, each of which divides the next.

    The first makes about twenty intervals. None if there are no such widths.
    """
    span = Fraction(str(high)) - Fraction(str(low))
    for power in range(0 if are_whole else -6, 16):
        for nested in _NESTED:
            widths = [Fraction(10) ** power * n for n in nested]
            if span / widths[0] <= _CELLS:
                return [int(w) if w.denominator == 1 else str(float(w)) for w in widths]
    return None


class HierarchyFile(NamedTuple):
    """A hierarchy file beside the table, for one of its columns."""

    hierarchy: Mapping[str, Any] | None  # None where it does not list every value
    is_named: bool  # whether its name says for which column it is
    question: str = ""


def hierarchy_files(
    source: Any, profiles: Sequence[Profile]
) -> tuple[Path, dict[str, HierarchyFile]]:
    """Find the hierarchy files beside a table.

    Returns
    -------
    folder : Path
        The folder of the table.
    files : dict of column to HierarchyFile
        By the name of the file, or, if its name says nothing, for the only column all of whose
        values it lists.
    """
    path = file_of(source)
    if path is None or str(path) == STDIN:
        return Path(), {}
    table = named_part(path)[0]
    columns = []
    for profile in profiles:
        if profile.distinct == len(profile.domain) > 0:
            columns.append(profile)
    files: dict[str, HierarchyFile] = {}
    by_content: dict[str, list[str]] = {}  # for each column, the files that list all of its values
    room = _MOST_BYTES  # how much may be read in all
    for path in sorted(table.parent.glob("*.csv"))[:_MOST_FILES]:
        if not path.is_file() or path.samefile(table):
            continue
        named_column, size = _column_of(path, table, columns), path.stat().st_size
        if size > room or (named_column is None and size > _MOST_UNNAMED):
            continue
        room -= size
        try:
            tree = Tree.read(path.name, table.parent)
        except InputError as error:
            if named_column is not None:
                files.setdefault(named_column.name, HierarchyFile(None, True, str(error)))
            continue  # another table
        # Of several files for a column, the first that can be used.
        if named_column is not None and (
            named_column.name not in files or not files[named_column.name].hierarchy
        ):
            question = f"{path.name} beside the table does not list all of its values"
            covers = _covers(tree, named_column, by_content=False)
            hierarchy = {"file": path.name} if covers else None
            files[named_column.name] = HierarchyFile(hierarchy, True, "" if covers else question)
        elif named_column is None:
            fitting = [profile for profile in columns if _covers(tree, profile, by_content=True)]
            if len(fitting) == 1:  # of more, nothing says which
                by_content.setdefault(fitting[0].name, []).append(path.name)
    for column, names in by_content.items():
        if len(names) == 1:
            files.setdefault(column, HierarchyFile({"file": names[0]}, False))
    return table.parent, files


def _column_of(path: Path, table: Path, columns: Sequence[Profile]) -> Profile | None:
    """The column that a hierarchy file is for by its name; None for another file.

    Such a name is TABLE_hierarchy_COLUMN or hierarchy_COLUMN.
    """
    match = _NAMED_SO.fullmatch(path.stem)
    if match is None:
        return None
    table_name, table_part = table.stem.casefold(), match[1].casefold().rstrip("-_ .")
    # The table's name may be longer in one of the two: adult_2024.csv, adult_hierarchy_age.csv.
    if not (table_name.startswith(table_part) or table_part.startswith(table_name)):
        return None
    for column in columns:
        if column.name.casefold() == match[2].casefold():
            return column
    return None


def _covers(tree: Tree, profile: Profile, by_content: bool) -> bool:
    """True if a tree lists all values of a column.

    With `by_content`, nothing but its values says that it is for this column: so it must list
    hardly any others, and coarsen them.
    """
    if by_content and (profile.distinct <= _FEW_VALUES or 2 * profile.distinct < len(tree.listed)):
        return False
    try:
        levels = tree.levels(list(profile.domain), profile.name, None)
    except InputError:
        return False
    return not by_content or len(levels.labels[0]) < profile.distinct
