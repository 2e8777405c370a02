"""Layout: which columns of a release stand side by side, and so what is seen beside a secret."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from foreknow_judge.policy.settings import Texts


class Seen(NamedTuple):
    """The columns beside one sensitive column, as one adversary sees them."""

    secret: str  # the column that must stay hidden
    # columns whose values the adversary knows of everybody: they divide groups
    known: Texts = ()
    assumed: Texts = ()  # the others, which the adversary is assumed not to know

    def with_priors(self, by: Collection[str]) -> Seen:
        """The same for an adversary who has priors by some columns."""
        return self._replace(assumed=tuple(name for name in self.assumed if name not in by))


def multivalued_columns(semantics: Any, sensitives: Sequence[str]) -> dict[str, str]:
    """The columns in which a person may have several values, with their semantics.

    `semantics` is a word for all columns, or a word for each: "single" (one value per person),
    "set" or "multiset".

    >>> multivalued_columns({"ill": "set", "pay": "single"}, ["ill", "pay"])
    {'ill': 'set'}
    """
    by_column = (
        semantics if isinstance(semantics, Mapping) else dict.fromkeys(sensitives, semantics)
    )
    return {
        name: str(by_column[name])
        for name in sensitives
        if by_column.get(name, "single") != "single"
    }


@dataclass(frozen=True)
class Layout:
    """Which sensitive and other columns of a release stand beside each other in its rows."""

    main: str = ""  # the sensitive column that is meant where none is named
    linked: Texts = ()  # columns that stand in the same rows

    def __post_init__(self) -> None:
        if len(self.linked) < 2:  # nothing stands beside it
            object.__setattr__(self, "linked", ())

    def seen(self, secret: str | None, knowing: Collection[str]) -> Seen:
        """The columns beside the sensitive column `secret`, and which of them the adversary knows.

        Known are those in `knowing`; the others are assumed not to be known. None stands for the
        first sensitive column.

        >>> Layout("ill", ("ill", "job")).seen("ill", [])
        Seen(secret='ill', known=(), assumed=('job',))
        """
        secret = secret or self.main
        if secret not in self.linked:  # columns that are published apart reveal nothing about it
            return Seen(secret)
        columns_beside = [name for name in self.linked if name != secret]
        known_columns = tuple(name for name in columns_beside if name in knowing)
        return Seen(
            secret,
            known_columns,
            tuple(name for name in columns_beside if name not in known_columns),
        )

    def looked_at(
        self, sights_on_values: Collection[Seen], of_people: Collection[Collection[str]] = ()
    ) -> list[str]:
        """The columns that all requirements look at.

        These are columns side by side that every adversary asks for or knows, and columns by
        which every criterion that counts people tells them apart. `sights_on_values` says what each
        adversary sees; `of_people` has the columns of each such criterion.
        """
        first_columns, *_ = of_people or [()]
        by_all = {*first_columns}.intersection(*of_people)
        told_apart = [name for name in first_columns if name in by_all]
        if not sights_on_values:
            return told_apart
        seen_columns = [
            {sight.secret, *sight.known}
            for sight in sights_on_values
            if sight.secret in self.linked
        ]
        # The union comes first because an intersection of no sets is not defined.
        seen_by_all = set[str]().union(*seen_columns).intersection(*seen_columns)
        common_columns = [name for name in self.linked if name in seen_by_all]
        return [*common_columns, *(name for name in told_apart if name not in self.linked)]

    def assumed(self, sights_on_values: Iterable[Seen]) -> dict[str, Texts]:
        """For each secret, the columns beside it that some adversary is assumed not to know.

        Columns stand in the order of the release; secrets without such columns are left out.
        """
        assumed_by_secret: dict[str, set[str]] = {}
        for sight in sights_on_values:
            assumed_by_secret.setdefault(sight.secret, set()).update(sight.assumed)
        in_order = dict[str, Texts]()
        for secret, columns in assumed_by_secret.items():
            if columns:
                in_order[secret] = tuple(name for name in self.linked if name in columns)
        return in_order
