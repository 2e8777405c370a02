"""The protocol of methods, which group the rows of a table, and the traits that they declare."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, is_dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.members import CASES, column_of_units
from foreknow.data.microdata import Microdata
from foreknow.errors import NoSafeRelease, SchemaError
from foreknow.methods.proof import Proof
from foreknow.needs import Need, Needs, called, require, several_columns, several_values
from foreknow.wording import people_text
from foreknow_judge.errors import InputError, UnsupportedError
from foreknow_judge.numbers import as_fraction
from foreknow_judge.policy.settings import Settings

if TYPE_CHECKING:
    from foreknow.policy.policy import Policy
    from foreknow_judge.policy.grammar import Form


class Anonymizer(Protocol):
    """A method that groups the rows of a table; it may declare `traits`."""

    def partition(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> IntArray:
        """Group of each row of the source; -1 for rows that are left out."""


# What one that is given k or l forgets.
ADVICE = "; what must hold is for the policy to say, such as Requirement(KAnonymity(5))"


class Kind(Protocol):
    """The declarations of a class of methods for policy files and the command line.

    One that takes something of the requirements, too, is made by a class method
    ``from_settings(given, policy)``; any other of its settings alone.
    """

    key: ClassVar[str]
    """Its name in policy files and for ``--method``."""
    settings: ClassVar[type[Settings]]
    """Its table in a policy file."""


class Decision(Protocol):
    """A decision of a run that depends on who has which value, beyond the bags of its groups.

    It is about some people, puts each into a part (`child`), and rests on what everybody else in
    these parts has: `fixed`, shape (parts, values), the same in every world.
    """

    @property
    def people(self) -> IntArray: ...  # noqa: D102

    @property
    def child(self) -> IntArray: ...  # noqa: D102

    @property
    def fixed(self) -> IntArray: ...  # noqa: D102

    def holds(self, tables: IntArray) -> NDArray[np.bool_]:
        """True where the decision repeats, for values of the people, (worlds, parts, values)."""


@dataclass(frozen=True)
class Traits:
    """The declarations of a method.

    They count only if the class declares them in its own body, or if they are set on the method
    itself. A class that inherits from a method may group people in another way, and must declare
    its own traits.

    Parameters
    ----------
    consults_policy : bool
        Whether the method makes only groups that meet the policy; others are a bug.
    deterministic : bool
        Whether the method makes one release of each table, whatever ran before.
    symmetric : bool
        Whether the method treats rows with equal quasi-identifiers alike, in any order.
    random : bool
        Whether the method draws at random with a secret seed; its proof is about all draws.
    replay : callable, optional
        ``replay(microdata, policy)``: a run that tells for another table with the same bags
        whether the method would make the same groups; see `foreknow.methods.mondrian.replay`. Its
        `decisions` (a sequence of `Decision`) are those that must come out the same.
    proof : Proof, optional
        The proof against an adversary who knows the method; None if there is none.
    minimal : callable, optional
        ``minimal(policy)``: whether no division of the method's groups would be safe.
    notes : callable, optional
        ``notes(policy, seed)``: notes for readers of a release, for certificate and report.
    advice : str
        Advice for a policy that the method's groups do not meet.
    grouping : callable, optional
        ``grouping(microdata, policy, seed, explain=...)``: returns a `Grouping` in place of
        groups. A `Grouper` need not declare it.
    exact : collection of str, optional
        Quasi-identifiers that the method must see exactly, not in cells of a grid; None: all.
    settled : callable, optional
        ``settled(microdata, policy)``: the method with the settings that it chooses for such a
        table from what every reader of its release knows.
    form : "generalized" or "bucketized"
        The form of releases by default.
    counted : bool
        Whether the method needs only the distinct combinations of quasi-identifiers and values
        with their counts (`foreknow.methods.points`), and puts people with equal
        quasi-identifiers into one group. Then the table need not be in memory.
    timed : bool
        Whether the groups depend on the clock, so that nobody can recompute them.
    needs : frozenset of Need
        The conditions that the method needs; it works under all others.
    """

    consults_policy: bool = False
    deterministic: bool = False
    symmetric: bool = False
    random: bool = False
    replay: Callable[[Microdata, Policy], Any] | None = None
    proof: Proof | None = None
    minimal: Callable[[Policy], bool] | None = None
    notes: Callable[[Policy, int | None], Sequence[str]] | None = None
    advice: str = "stricter settings of its own may help"
    grouping: Callable[..., Grouping] | None = None
    exact: Collection[str] | None = ()
    settled: Callable[..., Any] | None = None
    form: Form = "generalized"
    counted: bool = False
    needs: Needs = frozenset()
    timed: bool = False


def share_of_people(name: str, value: Any) -> Fraction:
    """Read a share of the people as it is written: 0.05 of 20 people is 1.

    >>> share_of_people("suppression", 0.05)
    Fraction(1, 20)
    """
    share = Fraction(-1)
    if not isinstance(value, bool):
        with suppress(InputError):
            share = as_fraction(value)
    if not 0 <= share < 1:
        raise InputError(f"{name} is a share of the people, from 0 to below 1, not {value!r}")
    return share


def check_local_suppression(name: str, local: Any, share: Fraction) -> None:
    """Refuse to suppress single cells if no share of the people may be suppressed."""
    if not isinstance(local, bool):
        raise InputError(f"{name}: local_suppression is true or false, not {local!r}")
    if local and not share:
        raise InputError(
            f"{name}: local_suppression is about people who may be suppressed, and these are none; "
            "say which share they may be, too, such as suppression = 0.05"
        )


def check_needs(method: Any, policy: Policy) -> None:
    """Refuse a table, by the schema of its policy, that lacks something that a method needs.

    A method that does not consult the policy need not look at what is published beside.
    """
    traits, schema = traits_of(method), policy.needed_schema
    looked_at = policy.looked_at if traits.consults_policy else ()
    # Sensitive columns, and those published beside which the method must keep in mind.
    columns = list(dict.fromkeys((*schema.sensitives, *looked_at)))
    of_persons = {CASES, *map(column_of_units, schema.case_persons)}
    if Need.ONE_COLUMN in traits.needs and of_persons & {*looked_at}:
        raise UnsupportedError(
            f"{called(method)} does not know of people with several cases; publish by "
            'method = "mondrian" or "fulldomain"'
        )
    of_schema = {**several_values(schema.semantics), Need.EVERYBODY: bool(schema.impossible)}
    require(method, {**of_schema, **several_columns(columns)}, traits.needs)


# What methods need that were made for one column of one value each.
ONE_COLUMN = frozenset({Need.ONE_VALUE, Need.ONE_COLUMN, Need.EVERYBODY})


# The note of a method, by its name, that judged by a property which the policy does not name.
OF_ITS_OWN = (
    "{} judged by a property of its own, {}: the policy was held against the release alone, not "
    "against an adversary who knows the method"
)


def note_of_boxes(l: int) -> str:
    """The note on groups that are published as boxes, of which several may look alike."""
    return (
        "boxes: groups that look alike are published as one, so an adversary who knows the method "
        f"may be as sure of a value as 1/{l}, also where a limit is lower"
    )


def notes_of_seed(seed: int | None) -> tuple[str, ...]:
    """The note on a release whose random numbers can be drawn again."""
    if seed is None:
        return ()
    return (
        "seeded: an adversary who learns or guesses the seed can run the method again and may find "
        "values out; without a seed nobody can",
    )


@dataclass(frozen=True)
class Grouping:
    """The groups that a method makes of a table."""

    # the group of each row in the source's order, from 0; -1 for rows that are left out
    of_row: IntArray
    # by quasi-identifier, the least level at which each group is written; default: as fine as its
    # members have in common
    floors: Mapping[str, IntArray] | None = None
    lattice: Any = None  # among which generalizations the groups were chosen; for the owner
    # the method with what it chose for this table by itself; what a certificate names
    method: Any = None
    # people of the group that keeps nothing of their quasi-identifiers; 0 where there is none
    suppressed: int = 0


class Grouper:
    """A method that makes a `Grouping`, which also says how groups are written."""

    grouping: Callable[[Microdata, Policy | None, int | None], Grouping]

    def explained(self, microdata: Microdata, policy: Policy | None, seed: int | None) -> Grouping:
        """Group the rows as `grouping` does, and add what only a report needs."""
        return self.grouping(microdata, policy, seed)

    def partition(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> IntArray:
        """Group the rows of a table.

        Parameters
        ----------
        microdata : Microdata
        policy : Policy, optional
            The policy, for methods that consult it or that choose a setting by it.
        seed : int, optional
            The random seed; default: the system's entropy.

        Returns
        -------
        int64 array, shape (rows,)
            The group of each row in the source's order, from 0; suppressed people are the last
            group. -1 for a row that is left out because its sensitive value is missing.

        Raises
        ------
        NoSafeRelease
            If the method cannot group this table; the message has the reason.
        UnsupportedError
            If the method does not support such a table or policy.
        InputError
            If the seed is no whole number from 0, a setting is neither given nor follows from a
            policy, or the schemas of the table and of the policy differ.
        """
        policy = policy and policy.under(microdata.schema)
        return self.grouping(microdata, policy, seed).of_row


def asked_policy(method: Any, policy: Policy | None, microdata: Microdata) -> Policy:
    """The policy that a method asks of a table; refused where there is none."""
    if policy is None:
        raise InputError(f"{called(method)} needs a policy: what must the groups withstand?")
    return replace(policy.under(microdata.schema), schema=microdata.schema)


def nothing_safe(people: int, failures: Iterable[str]) -> str:
    """The message that a table is unsafe even as one group, with the reasons."""
    return f"not even one group of {people_text(people, 'all')} is safe: {'; '.join(failures)}"


def traits_of(method: Any) -> Traits:
    """The `traits` of a method, declared in its own class or on itself; else the defaults.

    Traits of a parent class do not count: a subclass may group people in another way.

    >>> class Mine:
    ...     traits = Traits(symmetric=True)
    >>> class Other(Mine):
    ...     pass
    >>> traits_of(Mine()).symmetric, traits_of(Other()).symmetric
    (True, False)
    """
    members = {**vars(type(method)), **getattr(method, "__dict__", {})}
    if "traits" not in members:
        return Traits()
    declared = method.traits
    if not isinstance(declared, Traits):
        kind = type(method).__name__
        raise InputError(f"{kind}: traits must be fk.Traits(...), not {declared!r}")
    return declared


def in_its_form(method: Any, policy: Policy) -> Policy:
    """The policy with a form: its own, or else the one in which the method publishes."""
    form = policy.options.form or traits_of(method).form
    return replace(policy, options=replace(policy.options, form=form))


def grouping_of(
    method: Any, microdata: Microdata, policy: Policy, seed: int | None, *, explain: bool = False
) -> Grouping:
    """Let a method group a table; with `explain`, errors and results also say what was tried."""
    policy = policy and policy.under(microdata.schema).searched
    declared = traits_of(method).grouping
    # Three ways to ask: a declared function, a `Grouper`, or `partition` alone.
    if declared is not None:
        return declared(microdata, policy, seed, explain=explain)
    if getattr(type(method), "partition", None) is Grouper.partition:
        group: Callable[..., Grouping] = method.explained if explain else method.grouping
        return group(microdata, policy, seed)
    return Grouping(method.partition(microdata, policy, seed=seed))


def as_written(method: Any, microdata: Microdata, policy: Policy) -> Microdata:
    """The table with values rounded to the cells in which a release by this method shows them.

    Groups are then judged as readers see them. Columns of priors stay exact. If no labels are
    written, the table stays as it is.
    """
    microdata = microdata.leveled(policy.levels)
    if not policy.options.labelled:
        return microdata
    unrounded = traits_of(method).exact
    if unrounded is None:
        unrounded = microdata.schema.quasi_identifiers
    exact_columns = {*unrounded, *policy.attributes}
    try:
        rounded = microdata.rounded(policy.options.labels, exact_columns, policy.least_listed)
    except SchemaError as error:
        if policy.least_size <= microdata.n_people:
            raise
        # No other labels would help: no group can be as large as it must be.
        raise NoSafeRelease(
            f"a group must have at least {policy.least_size:,} {microdata.schema.noun}, "
            f"and the table has {microdata.n_people:,}; require smaller groups, or publish more"
        ) from error
    # Columns whose rare values share a cell without a grid.
    merged = []
    for a in rounded.attributes:
        if a.cells and a.cells.grid is None:
            merged.append(a.name)
    if merged and policy.compared:
        raise UnsupportedError(
            f"column {merged[0]!r}: k_map and delta_presence are compared with the labels of "
            f"groups, and who of a population has one of the values that fewer than "
            f"{policy.least_listed} people of the table have is not in them: give it a hierarchy, "
            f'or say labels = {{ "{merged[0]}" = "exact" }} in [publish] to list them all'
        )
    return rounded


def settings_of(method: Any) -> dict[str, Any]:
    """The parameters of a method as plain values; others by their name."""
    if hasattr(method, "to_dict"):
        settings: dict[str, Any] = method.to_dict()
        return settings
    if not is_dataclass(method):
        return {}
    plain_types = (str, int, float, bool, dict, type(None))
    by_name: dict[str, Any] = {}
    for name, value in vars(method).items():
        by_name[name] = value if isinstance(value, plain_types) else _name_of(value)
    return by_name


def _name_of(value: Any) -> str:
    if isinstance(value, Fraction):
        return str(value)
    return str(getattr(value, "__name__", repr(value)))
