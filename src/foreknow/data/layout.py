"""Layout: which columns of a table stand side by side, and so what is seen beside a secret."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from foreknow_judge.counts.layout import Layout as LayoutOfFiles
from foreknow_judge.counts.layout import Seen


def columns_except(columns: Iterable[str], others: Collection[str | None]) -> tuple[str, ...]:
    """Some columns without others, such as those that are published apart from them."""
    return tuple(name for name in columns if name not in others)


@dataclass(frozen=True)
class Layout(LayoutOfFiles):
    """Which columns of a release stand beside each other, where values have tables of their own.

    Columns that stand in one row are `linked`.
    """

    # whether each row is a person, any of whose columns may be known
    of_people: ClassVar[bool] = False
    apart: tuple[str, ...] = ()  # columns that are shuffled, or in tables of their own
    # if people are recognized by exact columns: what else is published about them
    people: tuple[str, ...] | None = None
    # columns that are not sensitive and are published for each person: criteria that count people
    # tell people apart by them if it is not said which columns are known
    others: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        sensitives: Sequence[str],
        other_columns: Iterable[str] = (),
        apart: Sequence[str] = (),
        **fields: Any,
    ) -> Layout:
        """The layout of columns that stand in one row, except those that are published `apart`."""
        linked = columns_except((*sensitives, *other_columns), apart)
        return cls(main=sensitives[0], linked=linked, apart=tuple(apart), **fields)

    @property
    def others_beside(self) -> tuple[str, ...]:
        """The other columns of the rows in which people are counted."""
        return ()

    @property
    def others_apart(self) -> tuple[str, ...]:
        """The other columns that stand elsewhere."""
        return self.others

    def of_whole_rows(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Those of the columns of people that stand in the secret's row without a role: none."""
        return ()

    def ruled_beside(
        self, secret: str, known_columns: Collection[str], ruled: Collection[str]
    ) -> list[str]:
        """The columns of a secret's row with rules on what is impossible, except known ones.

        `ruled` are the columns that such rules are about. The secret itself is left out.
        """
        return [
            column
            for column in self.row_of(secret)
            if column in ruled and column not in (secret, *known_columns)
        ]

    def row_of(self, column: str) -> tuple[str, ...]:
        """The columns in one row with a column, and itself; () if it is published apart."""
        return self.linked if column in self.linked else ()

    def seen(self, secret: str | None = None, knowing: Collection[str] | None = None) -> Seen:
        """The columns beside a secret, for an adversary who knows some columns of everybody.

        Parameters
        ----------
        secret : str, optional
            The main column if left out.
        knowing : collection of str, optional
            The known columns; all columns beside the secret if left out. Columns that are published
            apart from it reveal nothing about it.

        Examples
        --------
        >>> Layout.of(["ill", "pay"], ["job"], ["pay"]).seen("ill", [])
        Seen(secret='ill', known=(), assumed=('job',))
        """
        secret = secret or self.main
        row = self.linked if knowing is None else self._row_of_person(secret, knowing)
        if secret not in row:  # it is published apart, so nothing stands beside it
            return Seen(secret)
        known_columns = row if knowing is None else knowing
        known_beside = [name for name in row if name != secret and name in known_columns]
        return self._seen_with(secret, known_beside)

    def people_seen(
        self, secret: str | None = None, knowing: Collection[str] | None = None
    ) -> Seen:
        """The columns by which an adversary divides groups, if only numbers of people are counted.

        Every known column divides groups, but sensitive columns only if `knowing` names them. None:
        no column is known.
        """
        secret = secret or self.main
        # A secret apart has a table of its own, which says how many people have each value.
        columns = dict.fromkeys((secret, *self.linked))
        known_columns = [name for name in columns if name in (knowing or ())]
        # No table has known columns beside a secret that is apart: count by one of them instead.
        if not self.row_of(secret) and known_columns:
            secret = known_columns[0]
        return self._seen_with(secret, known_columns)

    def _row_of_person(self, secret: str, knowing: Collection[str]) -> tuple[str, ...]:
        """The columns among which a secret and what is known beside it are looked for."""
        return self.linked

    def _seen_with(self, secret: str, known_columns: Collection[str]) -> Seen:
        """A secret, as an adversary sees it who knows some columns.

        The other columns of its row are `assumed`: not known, but beside it all the same.
        """
        columns_taken = (secret, *known_columns)
        assumed = [name for name in self.row_of(secret) if name not in columns_taken]
        return Seen(secret, known=tuple(known_columns), assumed=tuple(assumed))


@dataclass(frozen=True)
class RowLayout(Layout):
    """The layout of one table with a row for each person, any of whose columns may be known."""

    of_people: ClassVar[bool] = True

    @property
    def others_beside(self) -> tuple[str, ...]:
        """The other columns of the rows in which people are counted."""
        return self.others

    @property
    def others_apart(self) -> tuple[str, ...]:
        """No other column stands elsewhere."""
        return ()

    def of_whole_rows(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Those of the columns of people that stand in the secret's row without a role: all."""
        return tuple(columns)

    def people_seen(
        self, secret: str | None = None, knowing: Collection[str] | None = None
    ) -> Seen:
        """The columns by which an adversary divides groups, if only numbers of people are counted.

        `knowing` are the known columns; None: all columns that are not sensitive.
        """
        secret = secret or self.main
        known_columns = self.others if knowing is None else knowing
        row = self._row_of_person(secret, known_columns)
        return self._seen_with(secret, [name for name in row if name in known_columns])

    def _row_of_person(self, secret: str, knowing: Collection[str]) -> tuple[str, ...]:
        """The columns of a person's row, with the secret and known ones, without those apart."""
        columns = dict.fromkeys((*self.linked, secret, *knowing))
        return columns_except(columns, self.apart)
