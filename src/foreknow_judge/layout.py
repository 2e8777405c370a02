"""Layout: which columns of a release stand side by side, and so what is seen beside a secret."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Seen(NamedTuple):
    """What stands beside one sensitive column, as one adversary sees it."""

    secret: str  # the column that must stay hidden
    # columns whose values the adversary knows of everybody: they divide groups
    known: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()  # the others, which the adversary is assumed not to know

    def with_priors(self, by: Collection[str]) -> Seen:
        """The same for an adversary who has priors by some columns."""
        return self._replace(assumed=tuple(name for name in self.assumed if name not in by))


def multivalued_columns(semantics: Any, sensitives: Sequence[str]) -> dict[str, str]:
    """The columns in which a person may have several values, with their semantics.

    >>> multivalued_columns({"ill": "set", "pay": "single"}, ["ill", "pay"])
    {'ill': 'set'}
    """
    each = semantics if isinstance(semantics, Mapping) else dict.fromkeys(sensitives, semantics)
    return {name: str(each[name]) for name in sensitives if each.get(name, "single") != "single"}


@dataclass(frozen=True)
class Layout:
    """Which sensitive and other columns of a release stand beside each other in its rows."""

    main: str = ""  # the sensitive column that is meant where none is named
    linked: tuple[str, ...] = ()  # columns that stand in the same rows
    apart: tuple[str, ...] = ()  # those that are shuffled, or in tables of their own
    # whether each row is a person, of whom any column may be said to be known
    of_people: bool = False
    # if people are recognized by exact columns: what else is published about them
    people: tuple[str, ...] | None = None
    # not sensitive, and published for each person: criteria that count people tell people apart by
    # these columns if it is not said what is known
    others: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.linked) < 2:  # nothing stands beside it
            object.__setattr__(self, "linked", ())

    @classmethod
    def of(
        cls, sensitives: Sequence[str], other: Iterable[str] = (), apart: Sequence[str] = ()
    ) -> Layout:
        """The layout of columns side by side, except those that are published apart."""
        linked = tuple(name for name in (*sensitives, *other) if name not in apart)
        others = tuple(name for name in other if name not in apart)
        return cls(sensitives[0], linked, tuple(apart), others=others)

    def seen(
        self,
        secret: str | None = None,
        knowing: Sequence[str] | None = None,
        *,
        of_people: bool = False,
    ) -> Seen:
        """What stands beside a column; the adversary knows all of it if `knowing` is None.

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
        beside = [name for name in linked if of_people or name != secret]
        known = tuple(name for name in beside if knowing is None or name in knowing)
        if not self.of_people and known and secret not in linked:
            secret = known[0]  # whose table is another
        open_to = [name for name in self.linked if name not in (secret, *known)]
        return Seen(secret, known, tuple(open_to) if secret in self.linked else ())

    def looked_at(
        self, every: Collection[Seen], of_people: Collection[Collection[str]] = ()
    ) -> list[str]:
        """The columns that all requirements look at.

        These are columns side by side that every adversary asks for or knows, and columns by
        which every criterion that counts people tells them apart.
        """
        known, *others = of_people or [()]
        counted = [name for name in known if all(name in of for of in others)]
        if not every:
            return counted
        sights = [{seen.secret, *seen.known} for seen in every if seen.secret in self.linked]
        beside = [name for name in self.linked if sights and all(name in of for of in sights)]
        return [*beside, *(name for name in counted if name not in self.linked)]

    def assumed(self, every: Iterable[Seen]) -> dict[str, tuple[str, ...]]:
        """For each secret, the columns beside it that some adversary is assumed not to know."""
        found: dict[str, set[str]] = {}
        for seen in every:
            found.setdefault(seen.secret, set()).update(seen.assumed)
        return {
            secret: tuple(name for name in self.linked if name in of)
            for secret, of in found.items()
            if of
        }
