"""Measures: which k, l and t a table has as it is, of a release or of the columns of a frame."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from math import log
from typing import Any

from foreknow.adversaries.release_counts import counts_of
from foreknow.call_hints import hinted
from foreknow.criteria.closeness import BetaLikeness, DeltaDisclosure, TCloseness
from foreknow.criteria.diversity import AlphaK, LDiversity
from foreknow.criteria.group_criterion import classes_of
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Label
from foreknow.data.microdata import Microdata
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.data.tables.group_counts import combinations_of
from foreknow.data.tables.sources import open_table
from foreknow.needs import RULES, Need, Needs, refuse_rules, require
from foreknow.numbers import whole_number
from foreknow_judge.criteria.closeness import Distance
from foreknow_judge.criteria.diversity import DiversityKind
from foreknow_judge.errors import InputError
from foreknow_judge.numbers import Number

_measuring = partial(
    hinted,
    advice='; it measures, and fk.publish(table, quasi_identifiers=["age"], sensitive="diagnosis", '
    "k_anonymity=5) makes a release",
)


def _release_of_microdata(name: str, table: Any, columns: Any, sensitive: Any, needs: Needs) -> Any:
    """`Microdata` as a release by its schema, or by other columns; None for anything else.

    None as well if the sensitive column is among `columns`; the caller then reads the table by
    names.
    """
    # The rules of a schema about impossible values are refused where `needs` says so.
    has_rules = isinstance(table, (Microdata, GroupCounts))
    refuse_rules(name, table if has_rules else getattr(table, "counts", None), needs)
    if not isinstance(table, Microdata):
        return None
    schema = table.schema
    require(name, {Need.NO_CASES: str(schema.person) if schema.several else ""})
    if columns is None and sensitive in (None, *schema.sensitives):
        release = Release.from_schema(table.source, schema, written=table.reading)
        return release.seen(sensitive, [])
    columns = [columns] if isinstance(columns, str) else columns or schema.quasi_identifiers
    sensitive = sensitive or schema.sensitive
    if sensitive in columns:  # of which it is asked who looks alike by it, too
        return None
    settings: dict[str, Any] = {"missing": schema.missing, "reading": table.reading}
    named_schema = Schema(quasi_identifiers=columns, sensitive=sensitive, **settings)
    return Release.from_schema(table.source, named_schema, written=table.reading)


def _release_of(name: str, table: Any, columns: Any, sensitive: Any, needs: Needs = RULES) -> Any:
    """A release as it is; or a table as a release by these columns, with its exact values."""
    if (released := _release_of_microdata(name, table, columns, sensitive, needs)) is not None:
        return released
    # Without columns it must be something that has groups already.
    if columns is None and sensitive is None:
        if hasattr(table, "counts") or hasattr(table, "sizes"):
            return table
        raise InputError(
            f"{name}: of a table, name its columns: {name}(table, "
            'quasi_identifiers=["age", "zip"], sensitive="diagnosis")'
        )
    if columns is None or sensitive is None:
        lacking = "quasi_identifiers" if columns is None else "sensitive"
        raise InputError(f"{name} of a table needs {lacking}, too")
    columns = [columns] if isinstance(columns, str) else list(columns)
    if not isinstance(sensitive, str):
        (sensitive,) = sensitive if len(sensitive) == 1 else (None,)
    if sensitive is None:
        raise InputError(f"{name} is of one sensitive column; ask for each by itself")
    return Release.from_generalized(table, quasi_identifiers=columns, sensitive=sensitive)


@_measuring
def k_anonymity(release: Any, quasi_identifiers: Sequence[str] | str | None = None) -> int:
    """Return the largest k for which everybody looks like at least k people; 0 without groups.

    Parameters
    ----------
    release : Release, Publication or GroupCounts; or a path or frame
    quasi_identifiers : sequence of str, optional
        The columns of a path or frame that others may know. The table is taken as it is, with its
        exact values.

    Notes
    -----
    If everybody's sensitive value is their identity, a release is k-anonymous, for k of 2 or more,
    exactly if ``Facts(k=k - 2)`` stays below 1 (Proposition 3 of "Privacy Skyline").

    Examples
    --------
    >>> from foreknow.data.counts import GroupCounts
    >>> k_anonymity(GroupCounts.from_bags([["Flu", "Cold"], ["Flu", "Flu", "AIDS"]]))
    2
    >>> import pyarrow as pa
    >>> k_anonymity(pa.table({"age": [30, 30, 41], "sex": ["f", "f", "m"]}), ["age", "sex"])
    1
    """
    if isinstance(release, int):
        raise InputError(
            f"k_anonymity(release) says which k a release has; Requirement(KAnonymity({release})) "
            "requires it"
        )
    # One name is a list of one; repeated names count once.
    names, needs = quasi_identifiers, frozenset({Need.NO_CASES})
    columns = [names] if isinstance(names, str) else list(dict.fromkeys(names or ()))
    if names is not None and not columns:
        raise InputError("k_anonymity of a table needs at least one column")
    if (released := _release_of_microdata("k_anonymity", release, names, None, needs)) is not None:
        release = released
    elif names is not None:
        source = release.source if isinstance(release, Microdata) else release
        # Only columns are named: count people by combination, without a sensitive value.
        people = combinations_of(open_table(source), columns).people
        return int(people.min(initial=len(people) and people[0]))
    counts = counts_of(_release_of("k_anonymity", release, None, None, needs))
    return int(classes_of(release).sizes.min()) if counts.n_groups else 0


@_measuring
def l_diversity(
    release: Any,
    quasi_identifiers: Sequence[str] | str | None = None,
    sensitive: str | None = None,
    *,
    kind: DiversityKind = "distinct",
    l: int = 2,
) -> int | Fraction | float:
    """Return the largest l for which a release (or a table as it is) is l-diverse.

    Parameters
    ----------
    release : Release, Publication or GroupCounts; or a path or frame
    quasi_identifiers, sensitive
        The columns of a path or frame that others may know, and the one that must stay hidden.
    kind : {"distinct", "entropy", "recursive"}
        How diversity is measured; see `LDiversity`. For recursive, returns the ratio that c must
        exceed.
    l : int
        The l of recursive (c, l)-diversity.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"age": [30, 30, 41, 41], "illness": ["Flu", "Cold", "Flu", "Flu"]})
    >>> l_diversity(rows, ["age"], "illness")
    1
    """
    released = _release_of("l_diversity", release, quasi_identifiers, sensitive)
    c = 1 if kind == "recursive" else None
    return LDiversity(l, kind, c).measure(released)


@_measuring
def t_closeness(
    release: Any,
    quasi_identifiers: Sequence[str] | str | None = None,
    sensitive: str | None = None,
    *,
    distance: Distance = "equal",
    order: Sequence[Label] | None = None,
    tree: Any = None,
) -> int | Fraction | float:
    """Return the largest distance between the values of a group and those of the whole table.

    Parameters
    ----------
    release, quasi_identifiers, sensitive
        See `l_diversity`.
    distance, order, tree
        See `TCloseness`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"age": [30, 30, 41, 41], "illness": ["Flu", "Cold", "Flu", "Flu"]})
    >>> t_closeness(rows, ["age"], "illness")
    Fraction(1, 4)
    """
    released = _release_of("t_closeness", release, quasi_identifiers, sensitive)
    return TCloseness(1, distance, order, tree=tree).measure(released)


@_measuring
def beta_likeness(
    release: Any,
    quasi_identifiers: Sequence[str] | str | None = None,
    sensitive: str | None = None,
    *,
    beta: Number = 1,
    enhanced: bool = True,
) -> int | Fraction | float:
    """Return the beta of a release, or of an unpublished table; see `BetaLikeness`.

    Parameters
    ----------
    release, quasi_identifiers, sensitive
        As in `l_diversity`.
    beta, enhanced
        As in `BetaLikeness`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"age": [30, 30, 41, 41], "illness": ["Flu", "Cold", "Flu", "Flu"]})
    >>> beta_likeness(rows, ["age"], "illness", enhanced=False)
    Fraction(1, 1)
    """
    released = _release_of("beta_likeness", release, quasi_identifiers, sensitive)
    return BetaLikeness(beta, enhanced).measure(released)


@_measuring
def delta_disclosure(
    release: Any,
    quasi_identifiers: Sequence[str] | str | None = None,
    sensitive: str | None = None,
) -> float:
    """Return the delta of a release, or of an unpublished table; see `DeltaDisclosure`.

    Parameters
    ----------
    release, quasi_identifiers, sensitive
        As in `l_diversity`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"age": [30, 30, 41, 41], "illness": ["Flu", "Cold", "Flu", "Cold"]})
    >>> delta_disclosure(rows, ["age"], "illness")
    0.0
    """
    released = _release_of("delta_disclosure", release, quasi_identifiers, sensitive)
    return log(DeltaDisclosure(1).measure(released))


# ---- by the names of other tools -----------------------------------------------------------------


@_measuring
def entropy_l_diversity(
    release: Any,
    quasi_identifiers: Sequence[str] | str | None = None,
    sensitive: str | None = None,
) -> int | Fraction | float:
    """Return the largest l for which a release, or an unpublished table, is entropy l-diverse."""
    return l_diversity(release, quasi_identifiers, sensitive, kind="entropy")


@_measuring
def alpha_k_anonymity(
    release: Any,
    quasi_identifiers: Sequence[str] | str | None = None,
    sensitive: str | None = None,
) -> tuple[int | Fraction | float, int]:
    """Return the largest share of a value in a group, and the size of the smallest group.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table(
    ...     {"age": [30, 30, 41, 41, 41], "illness": ["Flu", "Cold", "Flu", "Flu", "Cold"]}
    ... )
    >>> alpha_k_anonymity(rows, ["age"], "illness")
    (Fraction(2, 3), 2)
    """
    released = _release_of("alpha_k_anonymity", release, quasi_identifiers, sensitive)
    return AlphaK(1, 1).measure(released), k_anonymity(released)


@_measuring
def basic_beta_likeness(
    release: Any,
    quasi_identifiers: Sequence[str] | str | None = None,
    sensitive: str | None = None,
) -> int | Fraction | float:
    """Return the basic beta of a release, or of an unpublished table; see `BetaLikeness`."""
    return beta_likeness(release, quasi_identifiers, sensitive, enhanced=False)


@_measuring
def enhanced_beta_likeness(
    release: Any,
    quasi_identifiers: Sequence[str] | str | None = None,
    sensitive: str | None = None,
) -> int | Fraction | float:
    """Return the enhanced beta of a release, or of an unpublished table; see `BetaLikeness`."""
    return beta_likeness(release, quasi_identifiers, sensitive, enhanced=True)


@_measuring
def is_k_anonymous(release: Any, quasi_identifiers: Any = None, k: Any = None) -> bool:
    """Return whether everybody looks like at least k people; takes k and columns in any order.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"age": [30, 30, 41]})
    >>> is_k_anonymous(rows, ["age"], 2), is_k_anonymous(rows, 1, ["age"])
    (False, True)
    """
    if isinstance(quasi_identifiers, int):
        quasi_identifiers, k = k, quasi_identifiers
    return k_anonymity(release, quasi_identifiers) >= whole_number(k, "is_k_anonymous: k", 1)
