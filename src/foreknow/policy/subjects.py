"""Subjects: what a requirement is about, values or people or units, and what is seen for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from foreknow.criteria.criterion import by_other_columns
from foreknow.data.counts import GroupCounts, UnitCounts
from foreknow.data.layout import Layout
from foreknow.data.members import column_of_units
from foreknow.data.schema import Schema
from foreknow_judge.counts.layout import Seen
from foreknow_judge.errors import UnsupportedError

if TYPE_CHECKING:
    from foreknow.data.release import Release
    from foreknow.data.sights import Possible
    from foreknow.policy.requirement import Requirement


@dataclass(frozen=True)
class Values:
    """A requirement about which values people have."""

    required: Requirement
    of_people: ClassVar[bool] = False
    # a remark on figures of its criterion where rows are cases
    on_cases: ClassVar[str] = "counted are cases, and all of them may be of one person"

    @property
    def columns(self) -> tuple[str | None, ...]:
        """The sensitive columns whose values it is about; None is the first."""
        return (self.required.sensitive,)

    @property
    def unit(self) -> str | None:
        """The column that numbers what is counted, where these are no rows."""
        return None

    @property
    def taken(self) -> Sequence[str] | None:
        """The columns assumed known of everybody; None for all columns beside the secret."""
        return self.required.knowing

    @property
    def known_of_groups(self) -> Sequence[str] | None:
        """The columns assumed known where its criterion is replaced by one on groups."""
        return self.required.knowing

    @property
    def by_counts(self) -> bool:
        """True if the number of people with each value in each group is enough to judge it."""
        return not (self.required.known or self.required.has_priors)

    @property
    def words(self) -> str:
        """The knowledge with its limits, or the criterion, in words."""
        points = self.required.points
        limits = [f"{point.adversary} {point.limit.key} {point.below}" for point in points]
        return "; ".join(limits) or str(self.required.criterion)

    def seen_columns(self, layout: Layout) -> Seen:
        """The secret's column, and which columns beside it the adversary knows of everybody."""
        required = self.required
        seen_columns = layout.seen(required.sensitive, required.knowing)
        self._refuse_uncounted_look_alikes(layout, seen_columns)
        # One row of a household shows the value, as the column `shown` says: if the adversary did
        # not know this column, rows could not be told apart.
        if required.shown not in (None, *seen_columns.known):
            secret = repr(seen_columns.secret) if seen_columns.secret else "the sensitive column"
            raise UnsupportedError(
                f"{required.name}: {secret} is shown once for each household, and is judged "
                f"where {required.shown!r} stands beside it in each row: publish the table with "
                'form = "generalized", and neither of them unlinked; a raw table is judged as '
                "fk.Microdata(table, schema)"
            )
        return seen_columns.with_priors(required.attributes)

    def _refuse_uncounted_look_alikes(self, layout: Layout, seen_columns: Seen) -> None:
        """Refuse to count who looks alike by exact columns where further columns are known."""
        criterion, knowing = self.required.criterion, self.required.knowing
        # Only in the bucketized form (`people`), for criteria on values and on who looks alike.
        if layout.people is None or criterion is None or criterion.of_groups is None:
            return
        columns_beside = [name for name in layout.people if knowing is None or name in knowing]
        columns_beside += seen_columns.known
        if columns_beside:
            raise UnsupportedError(
                f"{self.required.name}: in the bucketized form it is not counted how many people "
                f"look alike by {' and '.join(columns_beside)}, too, together with shares of "
                "values: require k_anonymity and l_diversity instead, or say knowing = [] if "
                "nobody knows it"
            )

    def knowing_all(self, layout: Layout) -> Requirement | None:
        """The requirement with all columns beside the secret known; None if that is no other one.

        It is asked to say how much the assumption that they are not known matters.
        """
        required = self.required
        of_exact = layout.people is not None and getattr(required.criterion, "of_groups", None)
        if required.has_priors or of_exact:  # not counted with further columns
            return None
        seen_columns = self.seen_columns(layout)
        return (
            required.knowing_only([*seen_columns.known, *seen_columns.assumed])
            if seen_columns.assumed
            else None
        )

    def groups(self, release: Release, possible: Possible | None) -> Release | GroupCounts:
        """The groups of a release in this sight, and who of them can have which values."""
        required = self.required
        if possible is not None:
            return possible.counts(required.sensitive, required.knowing)
        return release.seen(required.sensitive, required.knowing)

    def counted(self, groups: GroupCounts) -> GroupCounts:
        """Groups of combinations in this sight, as they are counted."""
        return groups

    def rows(self, release: Release) -> Release:
        """The release in this sight, by its own tables."""
        return release.seen(self.required.sensitive, self.required.knowing)

    def exact(self, release: Release) -> tuple[str, ...]:
        """Empty: it is about groups."""
        return ()

    def asked(self, values: Any, schema: Schema | None, layout: Layout) -> dict[str, Any]:
        """The ``[[require]]`` table that the judge reads."""
        return self.required.published(values, schema, layout)

    def unpublished(self, schema: Schema) -> tuple[str, ...]:
        """The columns that are known of everybody, and that a release does not show."""
        published = {*schema.quasi_identifiers, *schema.sensitives, *schema.other}
        return tuple(name for name in self.required.known if name not in published)

    def owned(self, schema: Schema) -> tuple[str, ...]:
        """The columns that it looks at but a release does not show; only the owner has them."""
        return self.unpublished(schema)

    @property
    def filed(self) -> Any:
        """The adversaries, or the criterion, that files are judged by."""
        return self.required.adversary

    def tell_sight(self, table: dict[str, Any], layout: Layout, schema: Schema) -> None:
        """Say in the table of a certificate what is seen."""
        if len((*schema.sensitives, *schema.other)) > 1:
            table["knowing"] = list(self.seen_columns(layout).known)


@dataclass(frozen=True)
class People(Values):
    """A criterion about numbers of people in groups, whatever their values."""

    criterion: Any
    of_people: ClassVar[bool] = True
    on_cases: ClassVar[str] = ""

    @property
    def columns(self) -> tuple[str | None, ...]:
        """No column: it is about everybody with a value in any."""
        return ()

    @property
    def taken(self) -> Sequence[str] | None:
        """The columns assumed known of everybody; None for all columns beside the secret."""
        if self.required.knowing is not None:
            return self.required.knowing
        chosen = getattr(self.criterion, "columns", None)  # if given, only these tell people apart
        return None if by_other_columns(self.criterion) and not chosen else ()

    @property
    def known_of_groups(self) -> Sequence[str] | None:
        """None: who is in which group is known."""
        return ()

    def knowing_all(self, layout: Layout) -> Requirement | None:
        """None: it asks of everybody by all columns, or by those that it names."""
        return None

    def groups(self, release: Release, possible: Possible | None) -> Release | GroupCounts:
        """The groups of people."""
        return self.rows(release)

    def rows(self, release: Release) -> Release:
        """The release in this sight, by its own tables."""
        return release.people_seen(self.required.sensitive, self.taken)

    def asked(self, values: Any, schema: Schema | None, layout: Layout) -> dict[str, Any]:
        """The ``[[require]]`` table that the judge reads, which is about no sensitive column."""
        table = super().asked(values, schema, layout)
        table.pop("sensitive", None)
        return table

    def seen_columns(self, layout: Layout) -> Seen:
        """The adversary's sight of everybody."""
        return layout.people_seen(self.required.sensitive, self.taken)

    def tell_sight(self, table: dict[str, Any], layout: Layout, schema: Schema) -> None:
        """Say in the table of a certificate what is seen."""
        seen_columns = self.seen_columns(layout)
        table["knowing"] = list(seen_columns.known)
        if not (seen_columns.known or (schema.other and by_other_columns(self.criterion))):
            del table["knowing"]
        elif seen_columns.secret != schema.sensitive:
            table["sensitive"] = seen_columns.secret  # whose table has what is known


@dataclass(frozen=True)
class LookAlikes(People):
    """A criterion about numbers of people who look alike, whichever groups they are in."""

    def groups(self, release: Release, possible: Possible | None) -> Release | GroupCounts:
        """The groups of people; those who look alike by exact columns, where these are shown."""
        columns = self.exact(release)  # those of `recognized`, then the known ones
        known_columns = columns[len(release.recognized) :]
        return release.alike(known_columns) if columns else self.rows(release)

    def exact(self, release: Release) -> tuple[str, ...]:
        """The exact columns that tell people apart in place of groups, where these are shown."""
        return (*release.recognized, *self._known(release)) if release.recognized else ()

    def _known(self, release: Release) -> tuple[str, ...]:
        """The further columns that are known of everybody."""
        return (
            self.required.known
            if self.taken is not None
            else self.seen_columns(release.layout).known
        )

    def seen_columns(self, layout: Layout) -> Seen:
        """The columns beyond the quasi-identifiers by which people can be told apart.

        These are the ones of `knowing`, or where it is left out, all other published columns.
        """
        required, columns = self.required, layout.others if self.taken is None else self.taken
        if layout.people is not None:  # the bucketized form has a table of people
            known_columns = tuple(name for name in layout.people if name in columns)
            return Seen(required.sensitive or layout.main, known_columns)
        others = [name for name in layout.others_apart if name in columns]
        if others:
            raise UnsupportedError(
                f"{required.name}: {' and '.join(others)} would be published of everybody, apart "
                "from values that have tables of their own, and how many look alike by that is not "
                "counted there: say knowing = [], if nobody knows it, or make it a quasi-identifier"
            )
        return super().seen_columns(layout)


@dataclass(frozen=True)
class Units(People):
    """A criterion about numbers of units, such as households, by the column that numbers them."""

    @property
    def unit(self) -> str:
        """The column that numbers the units."""
        return str(self.criterion.unit)

    @property
    def by_counts(self) -> bool:
        """False: units are counted in place of people."""
        return False

    @property
    def words(self) -> str:
        """The criterion in words."""
        return f"each group has at least {self.criterion.least} different {self.unit}"

    def asked(self, values: Any, schema: Schema | None, layout: Layout) -> dict[str, Any]:
        """The ``[[require]]`` table that the judge reads of rows that are units."""
        return {self.criterion.key: self.criterion.k}

    def seen_columns(self, layout: Layout) -> Seen:
        """The column of units in place of a secret, and the columns that are known of everybody.

        A unit is, for example, a household; so the units of a group are counted like values.
        """
        if layout.people is not None and getattr(self.criterion, "of_look_alikes", False):
            raise UnsupportedError(
                f"{self.required.name}: the bucketized form publishes exact columns of everybody, "
                f"and how many different {self.unit} look alike by these is not counted; publish "
                'with form = "generalized", or require group_size'
            )
        known_columns = layout.others_beside if self.taken is None else self.taken
        return Seen(column_of_units(self.unit), tuple(known_columns))

    def counted(self, groups: GroupCounts) -> GroupCounts:
        """Groups of combinations in this sight, with their numbers of units."""
        return groups.as_kind(UnitCounts)

    def owned(self, schema: Schema) -> tuple[str, ...]:
        """The column of units, and those that are known but not shown."""
        return tuple(dict.fromkeys((self.unit, *self.unpublished(schema))))

    @property
    def filed(self) -> Any:
        """The criterion that files are judged by, which show rows alone."""
        return replace(self.criterion, of=None)


def subject_of(required: Requirement) -> Values:
    """The subject of a requirement."""
    criterion = required.criterion
    if criterion is None or not criterion.of_people:
        return Values(required)
    if getattr(criterion, "unit", None) is not None:
        return Units(required, criterion)
    return (People if criterion.of_groups is None else LookAlikes)(required, criterion)
