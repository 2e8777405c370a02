"""Needs: what a kind of knowledge, a criterion, a method or an analysis cannot do without.

Each declares its own, as the required member `needs` of its class; whatever is not among them, it
serves. One function refuses, in one sentence that ends with a way out. The page of what serves
what (docs/reference/support.md) is printed from these declarations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from inspect import get_annotations
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from foreknow_judge.errors import InputError, UnsupportedError


class Need(Enum):
    """Something that not every table, requirement or search has: its name, a way out, a lack of it.

    In the last, `{}` is what a caller says of that.
    """

    ONE_VALUE = (
        "one sensitive value per person",
        "facts, k_anonymity and group_size serve people with several, Mondrian and FullDomain "
        "publish them",
        "{}",
    )
    PEOPLE = (
        "the columns of each person",
        "give a Release with these columns, not its counts",
        "these are counts",
    )
    NO_WINDOWS = (
        "exact values",
        "leave within out, or require facts or negations, which support it",
        "within counts near values as one",
    )
    NO_SETS = (
        "single values",
        "leave any_of and at_level out",
        "{} counts several values as one",
    )
    ABSOLUTE = (
        "a limit that must not be reached",
        "give below",
        "{} is for priors",
    )
    ONE_COLUMN = (
        "one sensitive column, and no known column beside it",
        "write knowing = [] if nobody knows the other columns, publish them apart by unlinked = "
        '[...], count no households (of), or publish with method = "mondrian" or "fulldomain"',
        "the policy looks at {}",
    )
    EVERYBODY = (
        "that everybody may have any value",
        "leave impossible out; or require facts, negations or a size of groups, and publish with "
        'method = "mondrian" or "fulldomain"',
        "the schema says that some people cannot have some values (impossible)",
    )
    NO_HOUSEHOLDS = (
        "a separate value for each person, because it counts rows",
        "audit the table with a policy (fk.audit), which counts households, or leave shared out",
        "all people of a household have one value (shared)",
    )
    NO_CASES = (
        "one row for each person, because it counts rows",
        "audit the table with a policy (fk.audit), which counts people",
        "a person ({!r}) may have several",
    )
    FINISHED = (
        "groups that are finished",
        'audit the finished release, or, for priors, publish with method = "art"',
        "a search merges and divides groups, and either can make people less safe",
    )
    POPULATION = ("a population to compare with", "name one by population", "")
    NAMES = (
        "people by their names",
        "ask for their posteriors in place of a limit",
        "a requirement is about groups",
    )
    TRIAL = (
        "a trial, not a requirement",
        "write [[try]] in a policy file (in Python: tries=, or learned_report)",
        "what it learns from a release is an estimate, so no limit is proved",
    )

    def __init__(self, what: str, remedy: str, lack: str) -> None:
        self.what = what
        self.remedy = remedy
        self.lack = lack


Needs = frozenset[Need]
# What is said of each need that is lacking; nothing, where it is not.
Lacks: TypeAlias = Mapping[Need, Any]

# What a schema says of people, which counts alone do not tell.
RULES = frozenset({Need.EVERYBODY, Need.NO_HOUSEHOLDS, Need.NO_CASES})
# What is left of it to whoever says that an answer is about cases.
ONE_BY_ONE = frozenset({Need.EVERYBODY, Need.NO_HOUSEHOLDS})
_WITH_A_POLICY = {
    Need.EVERYBODY: "audit the table with a policy (fk.audit), which counts them, or leave "
    "impossible out"
}


class Analysis(NamedTuple):
    """An analysis: its name and its needs."""

    name: str
    needs: Needs


def require(
    asker: Any,
    lacks: Lacks,
    needs: Collection[Need] | None = None,
    *,
    subject: str = "",
    remedies: Mapping[Need, str] | None = None,
    error: type[InputError] = UnsupportedError,
) -> None:
    """Raise an error if a table, a requirement or a search lacks something that `asker` needs.

    `lacks` has, by need, words on the lack, or something empty if there is none. `needs` are by
    default those of the asker (such as an adversary); a name alone needs all that may be lacking.
    `subject` begins the message; `remedies` are ways out that differ here.

    >>> require(Analysis("a survey", frozenset({Need.ONE_VALUE})), several_values("single"))
    """
    if needs is None:
        needs = getattr(asker, "needs", lacks.keys())
    for need in Need:
        lack = lacks.get(need) if need in needs else None
        if lack:
            begin = f"{subject}: " if subject else ""
            remedy = (remedies or {}).get(need, need.remedy)
            sentence = need.lack.format(lack)
            raise error(f"{begin}{called(asker)} needs {need.what}, and {sentence}; {remedy}")


def several_values(semantics: str | Mapping[str, str]) -> Lacks:
    """The lack of one value per person, in a table of these semantics, for `require`.

    `semantics` is a word for all sensitive columns, or one for each; "single" lacks nothing.
    """
    by_column, explanation = {"": semantics}, f"semantics {semantics!r} means several"
    if isinstance(semantics, Mapping):
        by_column, explanation = {**semantics}, "people may have several values of {}"
    columns = [repr(name) for name, of_column in by_column.items() if of_column != "single"]
    return {Need.ONE_VALUE: explanation.format(" and ".join(columns)) if columns else ""}


def several_columns(columns: Sequence[str]) -> Lacks:
    """The lack of a single column, in a policy that looks at these."""
    return {Need.ONE_COLUMN: ", ".join(columns) if len(columns) > 1 else ""}


@runtime_checkable
class HasRules(Protocol):
    """Counts, a table or a schema that says what holds of people."""

    def rules_of_people(self) -> Lacks:
        """Facts about people that counts do not contain, by the needs that then are lacking."""


def refuse_rules(asker: Any, table: HasRules | Any, needs: Needs = RULES) -> None:
    """Refuse what the schema of counts or of a table says of people, if `asker` cannot count by it.

    An audit counts by these rules; whoever takes rows for people, and values as they come, cannot.
    """
    if isinstance(table, HasRules):
        require(asker, table.rules_of_people(), needs, remedies=_WITH_A_POLICY)


def called(asker: Any) -> str:
    """The name of a class, of its value, or of an analysis."""
    if isinstance(asker, (str, Analysis)):
        return str(getattr(asker, "name", asker))
    return asker.__name__ if isinstance(asker, type) else type(asker).__name__


def check_members(kind: Any, *protocols: type, error: type[InputError] = InputError) -> None:
    """Raise an error if a class, or an object, lacks a member that one of the protocols requires.

    >>> from typing import Protocol
    >>> class Toy:
    ...     key = "toy"
    >>> class Kind(Protocol):
    ...     key: str
    ...     needs: Needs
    >>> check_members(Toy, Kind)
    Traceback (most recent call last):
    foreknow_judge.errors.InputError: Toy lacks needs, which Kind requires
    """
    for protocol in protocols:
        for name in _members(protocol):
            if not hasattr(kind, name):
                raise error(f"{called(kind)} lacks {name}, which {protocol.__name__} requires")
    needs: Any = kind.needs
    if not isinstance(needs, frozenset) or not all(isinstance(need, Need) for need in needs):
        raise error(f"{called(kind)}: needs must be a frozenset of Need, not {needs!r}")


def _members(protocol: type) -> Iterator[str]:
    """The members of a protocol that not every class has."""
    for part in protocol.__mro__:
        if getattr(part, "_is_protocol", False):
            for name in dict.fromkeys((*get_annotations(part), *vars(part))):
                if not name.startswith("_"):
                    yield name
