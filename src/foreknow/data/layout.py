"""Layout: which columns of a table stand side by side, and so what is seen beside a secret."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from foreknow_judge.layout import Layout as LayoutOfFiles
from foreknow_judge.layout import Seen


@dataclass(frozen=True)
class Layout(LayoutOfFiles):
    """Which sensitive and other columns of a release stand beside each other in its rows."""

    apart: tuple[str, ...] = ()  # those that are shuffled, or in tables of their own
    # whether each row is a person, of whom any column may be said to be known
    of_people: bool = False
    # if people are recognized by exact columns: what else is published about them
    people: tuple[str, ...] | None = None
    # not sensitive, and published for each person: criteria that count people tell people apart by
    # these columns if it is not said what is known
    others: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, sensitives: Sequence[str], other_columns: Iterable[str] = (), apart: Sequence[str] = ()
    ) -> Layout:
        """The layout of columns side by side, except those that are published apart."""
        linked = tuple(name for name in (*sensitives, *other_columns) if name not in apart)
        linked_others = tuple(name for name in other_columns if name not in apart)
        return cls(sensitives[0], linked, tuple(apart), others=linked_others)

    def ruled_beside(
        self, secret: str, known_columns: Collection[str], ruled: Collection[str]
    ) -> list[str]:
        """The columns with rules on what is impossible that stand beside a secret, not known."""
        if secret not in self.linked:
            return []
        return [
            column
            for column in self.linked
            if column in ruled and column not in (secret, *known_columns)
        ]

    def seen(
        self,
        secret: str | None = None,
        knowing: Collection[str] | None = None,
        *,
        of_people: bool = False,
    ) -> Seen:
        """The columns beside a column; the adversary knows all of them if `knowing` is None.

        Columns that are published apart from it reveal nothing about it. With `of_people`, the
        question is how many people groups have, whatever their values: every known column divides
        them, but sensitive columns only if `knowing` names them.

        >>> Layout.of(["ill", "pay"], ["job"], ["pay"]).seen("ill", [])
        Seen(secret='ill', known=(), assumed=('job',))
        """
        secret, linked = secret or self.main, self.linked
        if of_people and knowing is None:
            knowing = self.others if self.of_people else ()
        if of_people and not self.of_people:  # a table of its own has how many have each value
            linked = tuple(dict.fromkeys((secret, *linked)))
        if self.of_people and knowing is not None and (of_people or secret not in self.apart):
            # What is said to be known counts, whatever role the column was given.
            linked = tuple(dict.fromkeys((*linked, secret, *knowing)))
            linked = tuple(name for name in linked if name not in self.apart)
        if not of_people and secret not in linked:
            return Seen(secret)
        linked_columns = [name for name in linked if of_people or name != secret]
        known_columns = tuple(name for name in linked_columns if knowing is None or name in knowing)
        if not self.of_people and known_columns and secret not in self.linked:
            secret = known_columns[0]  # whose table is another
        open_to = [name for name in self.linked if name not in (secret, *known_columns)]
        return Seen(secret, known_columns, tuple(open_to) if secret in self.linked else ())
