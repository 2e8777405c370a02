"""Flat table: a release for analysis; or one table drawn from it.

Both need nothing but the folder of the release. What is shuffled within groups is called so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foreknow.atomic_files import replaced
from foreknow.call_hints import hinted
from foreknow.data.arrays import IntArray, combine
from foreknow.data.labels.label_meaning import AMONG, quote
from foreknow.data.prepare import SHUFFLED, header_of_shuffled
from foreknow.data.release_tables import COUNT
from foreknow.data.tables.columns import codes_of
from foreknow.data.tables.table import free_name
from foreknow.data.tables.views.plain_columns import frame_of
from foreknow.data.tables.views.typed_columns import typed
from foreknow.data.tables.writers import write_csv, write_parts
from foreknow.errors import OutputError
from foreknow.publishing.label_extents import Extent, Extents
from foreknow.randomness import generator
from foreknow.written_releases.written_release import (
    ESCAPED,
    Published,
    hints_of,
    is_text,
    open_published,
    spelling_of,
)
from foreknow_judge.counts.layout import multivalued_columns
from foreknow_judge.errors import CertificateError, memory_for

if TYPE_CHECKING:
    from foreknow.publishing.publish import Publication

NO_INTERVAL = (
    "every value is drawn at random within its label; where this has no end, it is the end that is "
    "named. How much draws differ is no interval: all of them know as little as the labels"
)
OF_SEVERAL = (
    "how many values a person has is not in the release: each is dealt out to anybody of its "
    "group, so that some have none, or more than anybody had"
)
# What the columns of `read_release` are called that stand beside one with labels.
LOWER, UPPER, MIDDLE, WIDTH = "_lower", "_upper", "_middle", "_width"
MEMBERS, MISSING = "_members", "_missing"

_COUNT = re.compile(r"[1-9][0-9]{0,14}")
_MOST_VALUES = 1 << 30  # of all people
_DAY = timedelta(1)
# Rounds in which shares of values are learned, and in how fine steps they are drawn by.
_ROUNDS, _FINELY = 20, 1024
_EPOCH = datetime(1970, 1, 1) - datetime(1, 1, 1)


@memory_for("reading the release")
@hinted
def read_release(folder: str | Path | Publication, library: str = "pandas") -> Any:
    """Read a written release as one table, with the meaning of each label beside it.

    The files must be those that the certificate names. A row is a person, or a case. For each
    column of labels the frame has further columns, as far as the folder has their values:

    - for numbers and dates ``age_lower``, ``age_upper``, ``age_middle`` and ``age_width``, which is
      0 for an exact value, and in days for dates; the policy must have a level of hours or days,
      or no levels, for ends that are times: else a month of times ends on its last day, at 0:00;
    - for texts ``zip_members``, the values that it may mean, and ``zip_width``, their number;
    - ``age_missing``, whether the label may mean a missing value, if some label may.

    These columns are empty for a label that says nothing (``*``). Other columns are numbers or
    dates if all of their values are. Sensitive values that were published in a table of their own
    are dealt to the people of their group with a fixed seed. If a person may have several, they are
    lists; the release does not say how many values a person has, so some get none, or too many. A
    column that was shuffled within groups ends with ``_shuffled``: together with other columns it
    describes groups, and not single people. Weights of a survey are those of groups.

    Parameters
    ----------
    folder : path or Publication
        The folder that `publish` wrote, or its result.
    library : {"pandas", "polars", "arrow"}
        The library of the frame.

    Returns
    -------
    frame
        The table. Its shuffled columns are named in ``.attrs["shuffled"]``, and the column of
        survey weights in ``.attrs["weights"]`` (pandas), or in the metadata of each column (Arrow).

    Raises
    ------
    CertificateError
        If the folder has no certificate, or other files than it names.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from foreknow import publish, sample
    >>> made = publish(sample.table_path(), sample.policy_path())
    >>> with TemporaryDirectory() as place:
    ...     _ = made.write(f"{place}/release")
    ...     table = read_release(f"{place}/release", "arrow")
    >>> row = table.slice(0, 1).to_pylist()[0]
    >>> {name: row[name] for name in ("age", "age_lower", "age_middle")}
    {'age': '0 to 3', 'age_lower': 0, 'age_middle': 1.5}
    """
    return _as_frame(read_flat(folder), library)


@memory_for("drawing a table")
@partial(hinted, advice="; it draws each person of the release: .sample(n) takes some of them")
def draw(
    folder: str | Path | Publication, *, seed: int | None = None, library: str = "pandas"
) -> Any:
    """Draw a table of exact values from a written release, for use in any program.

    The table has the columns of the release. Every value is drawn from those that its label covers;
    for ``90 or more`` it is 90. Numbers and dates are drawn uniformly: whole numbers and days
    between the ends, decimal numbers with as many decimals as the labels show. Weights of a survey
    stay those of groups. If a label lists
    texts, a text is likelier if more people have it, as estimated from all labels of the column
    (expectation and maximization). A label that says nothing (``*``) is drawn from all values that
    the labels of its column cover. Labels whose values are unknown stay as they are: masked codes,
    nodes of a tree. Shuffled values are dealt again to the people of their groups. If a person may
    have several values, the release does not show how many, and a draw gives some people none.

    Anybody who has the release could make such a draw, so it reveals no more: verdicts and limits
    stand.

    **The spread of several draws is no interval.** Draws differ less than they are wrong, since all
    of them know as little as the labels. What is exact in the release, and what only groups show,
    is estimated as well by one draw as by many.

    Parameters
    ----------
    folder : path or Publication
        The folder that `publish` wrote, or the release that it returned.
    seed : int, optional
        Random seed: the same release and seed give the same table on every machine. None: the
        system's entropy.
    library : {"pandas", "polars", "arrow"}
        The library of the frame.

    Returns
    -------
    frame

    Raises
    ------
    CertificateError
        If the folder has no certificate, or its files are not those that the certificate names.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from foreknow import publish, sample
    >>> made = publish(sample.table_path(), sample.policy_path(), seed=1)
    >>> with TemporaryDirectory() as place:
    ...     _ = made.write(f"{place}/release")
    ...     table = draw(f"{place}/release", seed=1, library="arrow")
    >>> row = table.slice(0, 1).to_pylist()[0]
    >>> row["age"] in range(4), row["admitted"].year
    (True, 2025)
    """
    return _as_frame(draw_flat(folder, seed), library)


def read_flat(folder: str | Path | Publication) -> pa.Table:
    """The table of `read_release`."""
    with _opened(folder) as flat:
        return flat.read()


def draw_flat(folder: str | Path | Publication, seed: int | None = None) -> pa.Table:
    """The table of `draw`."""
    random = generator(seed, "draw")
    with _opened(folder) as flat:
        return flat.drawn(random)


@contextmanager
def _opened(release: Any) -> Iterator[Flat]:
    """A context with a written release as one table.

    `release` is its folder, or a publication, which is first written to a temporary folder.
    """
    if not hasattr(release, "write"):
        yield Flat(open_published(release))
        return
    with TemporaryDirectory() as directory:
        release.write(Path(directory) / "release")
        yield Flat(open_published(Path(directory) / "release"))


def are_dealt_lists(table: pa.Table) -> bool:
    """True if values of people who may have several were dealt out."""
    return any(
        pa.types.is_list(column.type) and column.name.endswith(SHUFFLED) for column in table.schema
    )


def refuse_kind(path: Path) -> None:
    """Refuse a file of another kind than `write_flat` writes."""
    if path.suffix.lower() not in _WRITERS:
        raise OutputError(f"{str(path)!r}: name a .csv or a .parquet file")


def write_flat(table: pa.Table, path: Path) -> None:
    """Write a flat table as CSV or Parquet, whole or not at all; a list as a set is written.

    Where the release has its formulas escaped, CSV has them, too.
    """
    refuse_kind(path)
    with replaced(path, private=False) as temporary_path:
        _WRITERS[path.suffix.lower()](table, temporary_path)


def _as_csv(table: pa.Table, path: Path) -> None:
    for position, name in enumerate(table.column_names):
        if pa.types.is_list(table.column(name).type):
            rows = []
            for row in table.column(name).to_pylist():
                rows.append(None if row is None else _joined(row))
            table = table.set_column(position, name, pa.array(rows, pa.string()))
    write_csv([table], path, escape_formulas=ESCAPED in (table.schema.metadata or {}))


def _as_parquet(table: pa.Table, path: Path) -> None:
    write_parts([table], path)


_WRITERS = {".csv": _as_csv, ".parquet": _as_parquet}


def _joined(values: Sequence[str]) -> str:
    return AMONG.join(quote(value) if "|" in value else value for value in values)


def _as_frame(table: pa.Table, library: str) -> Any:
    """The table as a frame of the library.

    A frame of pandas has timestamps, and names the shuffled columns in `attrs`.
    """
    if library != "pandas":
        return frame_of(table, library)
    for position, field in enumerate(table.schema):
        if pa.types.is_date(field.type):  # of which pandas would make objects
            column = table.column(position).cast(pa.timestamp("ms"))
            table = table.set_column(position, field.name, column)
    weights = [field.name for field in table.schema if b"weights" in (field.metadata or {})]
    frame = frame_of(table.replace_schema_metadata(None), library)
    if weights:
        frame.attrs["weights"] = weights[0]
    frame.attrs["shuffled"] = [name for name in table.column_names if name.endswith(SHUFFLED)]
    return frame


class _Labels:
    """A column of labels such as "20 to 29": its distinct texts, and what each of them means.

    `codes` has the position of each row's text in `texts`, `extents` the meaning of each text.
    `hints` go to `Extents`: what is known of the column beforehand.
    """

    def __init__(self, column: pa.Array, **hints: Any) -> None:
        codes, values = codes_of(pa.chunked_array([column]))
        self.codes = codes.astype(np.int64)
        self.texts: list[str | None] = values.to_pylist()
        self.meant = Extents(self.texts, **hints)
        self.extents = [self.meant.of[text] for text in self.texts]

    def of_rows(self, values: Sequence[Any], kind: pa.DataType | None = None) -> pa.Array:
        """A column that gives every row what `values` has for its text."""
        return pa.array(values, kind).take(pa.array(self.codes))

    @property
    def kind(self) -> pa.DataType:
        """The type of values of the column."""
        if self.meant.about == "number":
            return pa.int64() if self.meant.whole else pa.float64()
        if self.meant.about == "date":
            return pa.date32() if self.meant.of_days else pa.timestamp("us")
        return pa.string()

    def columns_beside(self) -> dict[str, pa.Array]:
        """The columns that say what each label means, by the suffix of their names.

        The extent of a label is the values that it may stand for.
        """
        extra_columns = {}
        if self.meant.about == "text":
            if not all(extent.exact for extent in self.extents):  # else it would only be repeated
                members = [list(extent.members) or None for extent in self.extents]
                widths = [extent.size or None for extent in self.extents]
                extra_columns[MEMBERS] = self.of_rows(members, pa.list_(pa.string()))
                extra_columns[WIDTH] = self.of_rows(widths, pa.int64())
        else:
            extra_columns[LOWER] = self.of_rows(
                [extent.lower for extent in self.extents], self.kind
            )
            extra_columns[UPPER] = self.of_rows(
                [extent.upper for extent in self.extents], self.kind
            )
            middle = self.kind if self.meant.about == "date" else pa.float64()
            extra_columns[MIDDLE] = self.of_rows(list(map(_middle, self.extents)), middle)
            extra_columns[WIDTH] = self.of_rows(list(map(_width, self.extents)))
        if any(extent.missing and extent.size for extent in self.extents):
            extra_columns[MISSING] = self.of_rows(
                [extent.missing for extent in self.extents], pa.bool_()
            )
        return extra_columns

    def drawn(self, random: np.random.Generator) -> pa.Array:
        """A value for each row, drawn at random within its label.

        Numbers and dates are drawn as whole numbers of steps (units of the last decimal, days ...).
        """
        if self.meant.about == "text":
            return self._drawn_texts(random)
        known_extents = [extent for extent in self.extents if extent.size]
        low = min(extent.first for extent in known_extents)
        high = max(extent.last for extent in known_extents)
        bounds = [(low, high) if e.everything else (e.first, e.last) for e in self.extents]
        first, last = np.array(bounds, np.int64).reshape(-1, 2).T
        sizes = last - first + 1  # how many values each label covers
        # A label that may be missing has one outcome more, behind its values.
        n_missing = np.array([extent.missing for extent in self.extents], np.int64)
        offset = random.integers(0, (sizes + n_missing)[self.codes])
        is_missing = offset >= sizes[self.codes]
        drawn_steps = first[self.codes] + offset
        if self.meant.about == "number":
            values = drawn_steps if self.meant.whole else drawn_steps / 10**self.meant.decimals
            return pa.array(values, self.kind, mask=is_missing)
        drawn_steps -= _EPOCH // self.meant.step  # Arrow counts dates from 1970
        if self.meant.of_days:
            return pa.array(drawn_steps.astype(np.int32), self.kind, mask=is_missing)
        drawn_steps *= self.meant.step // timedelta(microseconds=1)
        return pa.array(drawn_steps, self.kind, mask=is_missing)

    def _drawn_texts(self, random: np.random.Generator) -> pa.Array:
        """A text for each row, drawn from those that its label lists.

        A text is likelier the more rows have it, as all labels of the column together tell.
        """
        listed_values = [(*e.members, *[None] * e.missing) for e in self.extents]
        is_everything = [extent.everything for extent in self.extents]
        # All texts that labels of the column list, for labels such as "*"; only if all of them are
        # known, since otherwise the others would be drawn too seldom.
        all_texts: list[str | None] = []
        if all(
            members or everything
            for members, everything in zip(listed_values, is_everything, strict=True)
        ):
            all_texts = sorted(
                {*chain(*listed_values)}, key=lambda text: (text is None, text or "")
            )
        shares = self._shares(listed_values)
        values, weights = list[str | None](), list[int]()
        totals = []
        for text, members, everything in zip(self.texts, listed_values, is_everything, strict=True):
            # The text itself may be all that is known.
            candidates = members or (all_texts if everything else ()) or (text,)
            # Whole numbers, so that every machine draws the same; none is 0.
            candidate_weights = []
            for value in candidates:
                candidate_weights.append(1 + int(_FINELY * shares.get(value, 0)))
            values += candidates
            weights += candidate_weights
            totals.append(sum(candidate_weights))
        # The weights of all labels one after the other: a draw between the ends of a row's label
        # falls on one of its candidates.
        weight_ends: IntArray = np.cumsum(np.array(totals, np.int64))
        draws = random.integers((weight_ends - totals)[self.codes], weight_ends[self.codes])
        position = np.searchsorted(np.cumsum(weights), draws, side="right")
        return pa.array(values, pa.string()).take(pa.array(position))

    def _shares(self, listed_values: Sequence[tuple[str | None, ...]]) -> dict[str | None, float]:
        """About how many rows have each value, by expectation and maximization.

        Each label lists some values. In turns, its rows are divided among these in proportion to
        their shares, and the shares are set to the sums. Values are summed in the order of
        `listed_values`, so that every machine gets the same.
        """
        rows_of_label = np.bincount(self.codes, minlength=len(listed_values)).tolist()
        shares = dict.fromkeys(chain(*listed_values), 1.0)
        for _ in range(_ROUNDS):
            expected = dict.fromkeys(shares, 0.0)
            for members, n_rows in zip(listed_values, rows_of_label, strict=True):
                share_of_label = sum(shares[value] for value in members)
                for value in members:
                    expected[value] += n_rows * shares[value] / share_of_label
            shares = expected
        return shares


def _middle(extent: Extent) -> Any:
    low, high = extent.lower, extent.upper
    if low is None or high is None:
        return None
    return low + (high - low) / 2


def _width(extent: Extent) -> Any:
    if extent.lower is None or extent.upper is None:
        return None
    width = extent.upper - extent.lower
    if isinstance(extent.lower, datetime):
        return float(width / _DAY)
    return width.days if isinstance(width, timedelta) else width


@dataclass(frozen=True)
class _ValuesOfGroups:
    """Columns whose values are known by group only; a person may have a value several times."""

    values: pa.Table
    of_row: IntArray  # the group of each row
    counts: IntArray  # how often each is there

    def dealt(self, of_person: IntArray, random: np.random.Generator) -> dict[str, pa.Array]:
        """The values of each person, dealt at random among the people of each group, by column.

        `of_person` is the group of each person.
        """
        people = np.argsort(of_person, kind="stable")  # group by group
        sizes = np.bincount(of_person, minlength=int(self.of_row.max(initial=-1)) + 1)
        # Checked before so many values are made, which could be too many for memory.
        if self._contradicts(sizes):
            raise CertificateError("the people and the values of the groups do not match")
        copies = np.repeat(np.arange(len(self.of_row)), self.counts)  # a row for each holder
        return self._values_of_people(people, sizes, copies, random)

    def _contradicts(self, sizes: IntArray) -> bool:
        """True if counts cannot be those of groups of such sizes."""
        nobody, largest = (sizes[self.of_row] == 0).any(), self.counts.max(initial=0)
        return bool(nobody or largest > _MOST_VALUES or self.counts.sum() > _MOST_VALUES)

    def _values_of_people(
        self, people: IntArray, sizes: IntArray, copies: IntArray, random: np.random.Generator
    ) -> dict[str, pa.Array]:
        """The values of each person as lists, by column.

        `people` come group by group, `sizes` is how many each group has, and `copies` has the row
        of each value, as often as it occurs.
        """
        starts = np.cumsum(sizes) - sizes
        # Each value goes to a place in its group, drawn at random, and so to a person.
        holder = people[starts[self.of_row[copies]] + self._places(sizes, copies, random)]
        copies = copies[np.argsort(holder, kind="stable")]
        ends = np.cumsum(np.bincount(holder, minlength=len(people)))
        offsets = pa.array(np.concatenate([[0], ends]).astype(np.int32))
        return {
            name: pa.ListArray.from_arrays(offsets, column)
            for name, column in self._values_of_rows(copies).items()
        }

    def _places(
        self, sizes: IntArray, copies: IntArray, random: np.random.Generator
    ) -> NDArray[Any]:
        """The member of its group who gets each copy of a value."""
        return random.integers(0, sizes[self.of_row[copies]])

    def _values_of_rows(self, copies: IntArray) -> dict[str, pa.Array]:
        """The values of some rows, by column."""
        return {
            name: _plain(self.values, name).take(pa.array(copies))
            for name in self.values.column_names
        }


class _SetsOfGroups(_ValuesOfGroups):
    """Columns whose values are known by group only, where nobody has a value twice."""

    def _contradicts(self, sizes: IntArray) -> bool:
        return super()._contradicts(sizes) or bool((self.counts > sizes[self.of_row]).any())

    def _places(
        self, sizes: IntArray, copies: IntArray, random: np.random.Generator
    ) -> NDArray[Any]:
        pairs = zip(sizes[self.of_row].tolist(), self.counts.tolist(), strict=True)
        chosen = [random.choice(size, n_values, replace=False) for size, n_values in pairs]
        return np.concatenate([np.zeros(0, np.int64), *chosen])


class _OneValueEach(_ValuesOfGroups):
    """Columns whose values are known by group only, where each person has exactly one."""

    def _contradicts(self, sizes: IntArray) -> bool:
        if super()._contradicts(sizes):
            return True
        values_in_group = np.zeros(len(sizes), np.int64)
        np.add.at(values_in_group, self.of_row, self.counts)
        return not np.array_equal(values_in_group, sizes)

    def _values_of_people(
        self, people: IntArray, sizes: IntArray, copies: IntArray, random: np.random.Generator
    ) -> dict[str, pa.Array]:
        copies = random.permutation(copies)
        row_of_person = np.empty_like(copies)
        row_of_person[people] = copies[np.argsort(self.of_row[copies], kind="stable")]
        return self._values_of_rows(row_of_person)


_BY_SEMANTICS = {"single": _OneValueEach, "set": _SetsOfGroups, "multiset": _ValuesOfGroups}


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of a flat table as codes into its values, and whose each is: None, the row's."""

    codes: IntArray
    values: list[Any]
    who: IntArray | None = None

    @classmethod
    def of(cls, column: pa.Array) -> Coded:
        """A column as codes of its distinct values; if it has lists, of all that is in them."""
        row_of_value = None
        if pa.types.is_list(column.type):
            row_of_value = np.repeat(np.arange(len(column)), np.diff(column.offsets.to_numpy()))
            column = column.flatten()
        codes, values = codes_of(pa.chunked_array([column]))
        return cls(codes.astype(np.int64), values.to_pylist(), row_of_value)


class Flat:
    """The tables of a release as one, a row for each person; separate values are dealt out."""

    def __init__(self, published: Published | Publication) -> None:
        self._known, release_parts = published.certificate, published.release.parts()
        certificate = self._known
        several = multivalued_columns(certificate.semantics, certificate.sensitives)
        self._labelled = {"generalized": certificate.groups}.get(certificate.form, ())
        # One table with a row for each person; or a table of people, and tables of their values.
        self._in_rows = release_parts.people is None
        tables: Mapping[tuple[str, ...], Any] = release_parts.values
        if self._in_rows:
            (self._rows,) = tables.values()
            self._shuffled = [
                name for name in self._rows.column_names if name in certificate.unlinked
            ]
            tables = {(name,): self._rows for name in self._shuffled}
        else:
            self._rows, self._shuffled = release_parts.people, [*certificate.sensitives]
        self._of_person = np.zeros(len(self._rows), np.int64)
        self._apart = []  # columns of which only groups show the values, to be dealt out
        for names, table in tables.items():
            self._of_person, group_of_row = _groups_of_both(self._rows, table, certificate.groups)
            counts = np.ones(len(table), np.int64)
            if not self._in_rows:
                counts = _counts(table.column(COUNT).to_pylist())
            # Columns of one table are of one semantics.
            first_name, *_ = names
            kind = _BY_SEMANTICS[several.get(first_name, "single")]
            self._apart.append(kind(table.select(list(names)), group_of_row, counts))

    def read(self) -> pa.Table:
        """The table of all columns, and beside each column of labels what they mean."""
        columns, typed_columns = self._columns(None), dict[str, Any]()
        for name, column in columns.items():
            typed_columns[self._called(name)] = self._typed(name, column)
            if name in self._labelled:
                for ending, extra_column in self._labels(name, column).columns_beside().items():
                    typed_columns[free_name(f"{name}{ending}", columns)] = extra_column
        return self._table(typed_columns)

    @property
    def n_rows(self) -> int:
        """How many people, or cases, it has."""
        return len(self._rows)

    def coded(self, random: np.random.Generator) -> dict[str, Coded]:
        """The drawn columns, by name."""
        return {name: Coded.of(column) for name, column in self._drawn(random).items()}

    def middles(self) -> dict[str, Coded]:
        """The middle of each row's label, of columns whose labels are of numbers or dates."""
        middles = {}
        for name in self._labelled:
            labels = self._labels(name, _plain(self._rows, name))
            if labels.meant.about != "text":
                middles[name] = Coded.of(labels.columns_beside()[MIDDLE])
        return middles

    def drawn(self, random: np.random.Generator) -> pa.Table:
        """A table of exact values."""
        return self._table({self._called(n): column for n, column in self._drawn(random).items()})

    def _drawn(self, random: np.random.Generator) -> dict[str, pa.Array]:
        drawn_columns = {}
        for name, column in self._columns(random).items():
            if name in self._labelled:
                drawn_columns[name] = self._labels(name, column).drawn(random)
            else:
                drawn_columns[name] = self._typed(name, column)
        return drawn_columns

    def _columns(self, random: np.random.Generator | None) -> dict[str, Any]:
        """The columns by name; those that groups show apart are dealt out among their people.

        Without `random`, columns that the publisher shuffled stay as they are; values in tables of
        their own have no order, so they are dealt with a fixed seed.
        """
        columns = {name: _plain(self._rows, name) for name in self._rows.column_names}
        if random is None and not self._in_rows:
            random = np.random.default_rng(0)
        if random is not None:
            for separate_table in self._apart:
                columns |= separate_table.dealt(self._of_person, random)
        return columns

    def _labels(self, name: str, column: Any) -> _Labels:
        return _Labels(column.cast(pa.string()), **hints_of(self._known, name))

    def _typed(self, name: str, column: Any) -> Any:
        """A column of texts as numbers or dates, where all are."""
        texts = pa.types.is_string(column.type) and not is_text(self._known, name)
        return typed(column) if texts else column

    def _called(self, name: str) -> str:
        return header_of_shuffled(name) if name in self._shuffled else name

    def _table(self, columns: Mapping[str, Any]) -> pa.Table:
        noted = {self._called(name): {b"shuffled": b"true"} for name in self._shuffled}
        weights = self._known.policy["schema"].get("weights")
        if weights in self._known.beside:
            noted[weights] = {b"weights": b"true"}
        fields = []
        for name, column in columns.items():
            fields.append(pa.field(name, column.type, metadata=noted.get(name)))
        schema = pa.schema(fields, spelling_of(self._known).notes)
        return pa.table([*columns.values()], schema)


def _counts(counts: Sequence[Any]) -> IntArray:
    """Whole numbers from 1; a file may hold anything."""
    if any(_COUNT.fullmatch(str(count)) is None for count in counts):
        raise CertificateError(f"a value of {COUNT!r} is no whole number from 1")
    return np.array(list(map(int, counts)), np.int64)


def _plain(table: pa.Table, name: str) -> pa.Array:
    """A column as one array without a dictionary."""
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.combine_chunks()


def _groups_of_both(
    people: pa.Table, values: pa.Table, group_columns: Sequence[str]
) -> tuple[IntArray, IntArray]:
    """The group of each row of two tables, by the columns that make groups: for each an array.

    Groups are numbered alike in both.
    """
    codes_by_column, sizes = [], []
    for name in group_columns:
        columns = []
        for table in (people, values):
            columns.append(table.column(name).cast(pa.string()).combine_chunks())
        column_codes, distinct = codes_of(pa.chunked_array(columns))
        codes_by_column.append(column_codes)
        sizes.append(len(distinct))
    group, _ = combine(codes_by_column, sizes)
    return group[: len(people)], group[len(people) :]
