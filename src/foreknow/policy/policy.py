"""Policy: what must stay hidden, from whom, and how well; all requirements of one release."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from foreknow.adversaries.priors.priors import Priors
from foreknow.adversaries.priors.table import PriorTable
from foreknow.adversaries.protocol import Adversary, HasCounts, Mask, counts_of
from foreknow.data.counts import Semantics
from foreknow.data.labels import Label, Labels
from foreknow.data.schema import Schema
from foreknow.errors import InputError, PolicyError, did_you_mean
from foreknow.numbers import Number
from foreknow.policy.ledger import PolicyLedger
from foreknow.policy.limits import Point, point_of

if TYPE_CHECKING:
    pass


Form: TypeAlias = Literal["generalized", "bucketized"]
FileFormat: TypeAlias = Literal["csv", "parquet"]
STYLES = ("range", "hierarchy", "set")


@dataclass(frozen=True)
class Requirement:
    """What must hold for some sensitive values: one point, or a skyline of several.

    Parameters
    ----------
    adversary : Adversary, or sequence of (adversary, below) pairs
        Several pairs make a skyline; each has a threshold of its own.
    below : number
        The threshold c in (0, 1] of a single adversary; safe means strictly below.
    values : sequence of labels, optional
        The sensitive values it is about; every value when left out.
    excluded : sequence of labels
        Values it is not about (``except`` in a policy file).
    name : str
        What messages and reports call it.
    at_most : number
        In place of `below`, for priors: the limit may be reached. ``at_most="1/4"`` is
        4-robustness.
    at_most_times : number
        In place of `below`, for priors: nobody may become more than so many times as likely to
        have a value as before the release.

    Examples
    --------
    >>> from foreknow.adversaries.facts.facts import Facts
    >>> Requirement(Facts(l=1, k=5, m=2), below=0.5, values=["AIDS"]).points[0].below
    Fraction(1, 2)
    """

    adversary: Adversary | Sequence[tuple[Adversary, Number]] = field(compare=False)
    below: Number | None = field(default=None, compare=False)
    values: Sequence[Label] | None = None
    excluded: Sequence[Label] = ()
    name: str = field(default="requirement", compare=False)
    at_most: Number | None = field(default=None, compare=False, kw_only=True)
    at_most_times: Number | None = field(default=None, compare=False, kw_only=True)
    points: tuple[Point, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", tuple(self._points()))
        for point in self.points:
            for other in self.points:
                if point.adversary == other.adversary and point.below != other.below:
                    raise PolicyError(
                        f"{self.name}: {point.adversary} has two thresholds, {point.below} and "
                        f"{other.below}; keep one"
                    )
        for name, key in (("values", "values"), ("excluded", "except")):
            object.__setattr__(self, name, self._labels(key, getattr(self, name)))
        if self.values is not None and not self.values:
            raise PolicyError(f"{self.name}: values is empty; leave it out to mean every value")
        if self.values is not None and self.excluded:
            raise PolicyError(f"{self.name}: give values or except, not both")

    def _points(self) -> list[Point]:
        given, limits = self.adversary, (self.below, self.at_most, self.at_most_times)
        try:
            if not isinstance(given, Sequence):
                return [point_of(self.name, given, *limits)]
            if any(limit is not None for limit in limits):
                raise PolicyError(
                    f"{self.name}: a skyline has a threshold in each point, none beside them"
                )
            points = [point_of(self.name, adversary, below) for adversary, below in given]
        except PolicyError:
            raise
        except InputError as error:
            raise PolicyError(f"{self.name}: {error}") from None
        except (TypeError, ValueError):
            raise PolicyError(
                f"{self.name}: a skyline is a list of (adversary, below) pairs"
            ) from None
        if not points:
            raise PolicyError(f"{self.name}: a skyline needs at least one point")
        return points

    def _labels(self, key: str, given: Any) -> tuple[str, ...] | None:
        """Labels as they print, which is how they are compared: a file knows no types."""
        if given is None:
            return None
        if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
            raise PolicyError(f"{self.name}: {key} must be a list, such as [{given!r}]")
        labels = tuple(str(label) for label in given)
        twice = [v for i, v in enumerate(labels) if v in labels[:i]]
        if twice:
            raise PolicyError(f"{self.name}: {key} names {twice[0]!r} twice")
        return labels

    def mask(self, values: Labels) -> Mask:
        """Which of some sensitive values it is about, as a bool array of their codes.

        Labels are compared as they print, since a file knows no types.

        Raises
        ------
        PolicyError
            If it names a value that is not among them.
        """
        codes: dict[str, list[int]] = {}
        for i, value in enumerate(values):
            codes.setdefault(str(value), []).append(i)
        mask = np.full(len(values), self.values is None)
        for key, labels in (("values", self.values), ("except", self.excluded)):
            for label in labels or ():
                if str(label) not in codes:
                    raise PolicyError(
                        f"{self.name}: {key}: nobody in the table has the sensitive value "
                        f"{str(label)!r}{did_you_mean(str(label), codes)}"
                    )
                mask[codes[str(label)]] = key == "values"
        return mask

    def to_dict(self) -> dict[str, Any]:
        """The ``[[require]]`` table of a policy file."""
        table: dict[str, Any] = {}
        if not self.name.startswith("require"):
            table["name"] = self.name
        if self.values is not None:
            table["values"] = list(self.values)
        if self.excluded:
            table["except"] = list(self.excluded)
        if len(self.points) == 1:
            point = self.points[0]
            return {**table, **point.adversary.to_dict(), point.key: str(point.below)}
        for point in self.points:
            for kind, amounts in point.adversary.to_dict().items():
                table.setdefault(kind, []).append({**amounts, "below": str(point.below)})
        return table


@dataclass(frozen=True)
class PublishOptions:
    """How a release is made: the ``[publish]`` table of a policy file.

    Parameters
    ----------
    method : str
        The anonymizer, such as "mondrian".
    form : "generalized" or "bucketized"
        Coarsened quasi-identifiers in one table; or exact ones with a group id, and a table of
        (group, value, count).
    format : "csv" or "parquet"
    labels : mapping of column to "range", "hierarchy" or "set"
        How a quasi-identifier is written in a generalized release; by its kind when left out.
    escape_formulas : bool
        Whether texts that a spreadsheet would run are disarmed in CSV; it changes values.
    settings : mapping of method to mapping
        Parameters of a method, such as ``{"fulldomain": {"suppression": 0.05}}``.
    """

    method: str = "mondrian"
    form: Form = "generalized"
    format: FileFormat = "csv"
    labels: dict[str, str] = field(default_factory=dict)
    escape_formulas: bool = False
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, given, known in (
            ("form", self.form, get_args(Form)),
            ("format", self.format, get_args(FileFormat)),
            *((f"labels.{column}", style, STYLES) for column, style in self.labels.items()),
        ):
            if given not in known:
                raise PolicyError(f"publish.{name} is {given!r}{did_you_mean(str(given), known)}")
        for method, settings in self.settings.items():
            if method in self.__dataclass_fields__ or not isinstance(settings, Mapping):
                raise PolicyError(
                    f"settings are a mapping for each method, not {method!r} with {settings!r}"
                )

    def to_dict(self) -> dict[str, Any]:
        """The ``[publish]`` table."""
        table: dict[str, Any] = {"method": self.method, "form": self.form, "format": self.format}
        if self.labels:
            table["labels"] = dict(self.labels)
        if self.escape_formulas:
            table["escape_formulas"] = True
        return {**table, **{name: dict(given) for name, given in self.settings.items()}}


@dataclass(frozen=True)
class Policy:
    """All requirements of one release, with the schema and options they came with.

    Parameters
    ----------
    requirements : sequence of Requirement
        At least one; all must hold.
    schema : Schema, optional
        Needed to read a table by the policy alone, as the command line does.
    options : PublishOptions

    Raises
    ------
    PolicyError
        If there is no requirement, or two contradict each other.

    Examples
    --------
    >>> from foreknow.adversaries.facts.facts import Facts
    >>> policy = Policy([Requirement(Facts(l=4), below="3/4")])
    >>> len(policy.requirements)
    1
    """

    requirements: Sequence[Requirement]
    schema: Schema | None = None
    options: PublishOptions = field(default_factory=PublishOptions)

    def __post_init__(self) -> None:
        if isinstance(self.requirements, Requirement):
            raise PolicyError("requirements must be a list, such as [Requirement(...)]")
        object.__setattr__(self, "requirements", tuple(self.requirements))
        for requirement in self.requirements:
            if not isinstance(requirement, Requirement):
                raise PolicyError(
                    f"expected a Requirement, not {type(requirement).__name__}; a policy of plain "
                    "tables is made by Policy.from_dict"
                )
        if not self.requirements:
            raise PolicyError("the policy requires nothing; add at least one [[require]] table")
        for i, later in enumerate(self.requirements):
            for earlier in self.requirements[:i]:
                check_agreement(earlier, later)

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy file (TOML).

        Raises
        ------
        PolicyError
            Naming the line or key that is wrong, and what would be right.
        """
        from foreknow.policy.file import load_policy

        return load_policy(Path(path))

    @classmethod
    def from_dict(cls, table: Mapping[str, Any], folder: str | Path = ".") -> Policy:
        """Make a policy from the tables of a policy file; relative paths start at `folder`."""
        from foreknow.policy.file import policy_from

        return policy_from(table, Path(folder), "policy")

    def ledger(self, values: Labels) -> PolicyLedger:
        """Start one ledger for all requirements, over the sensitive values of one table."""
        parts = []
        for requirement in self.requirements:
            mask = requirement.mask(values)
            parts += [
                point.adversary.ledger(point.below, mask, self.semantics)
                for point in requirement.points
            ]
        return PolicyLedger(parts, self.monotone())

    @property
    def semantics(self) -> Semantics:
        """How many sensitive values a person has; one where the policy has no schema."""
        return "single" if self.schema is None else self.schema.semantics

    def failures(self, release: HasCounts) -> list[str]:
        """Say in words which requirements a release fails, and by how much."""
        counts, said = counts_of(release), []
        for requirement in self.requirements:
            mask = requirement.mask(counts.values)
            for point in requirement.points:
                each = zip(point.disclosures(release), mask, strict=True)
                found = point.worst(d for d, about in each if about)
                if not point.holds(found):
                    said.append(
                        f"{requirement.name}: {point.adversary} reaches {found.probability:.4g} "
                        f"for {str(found.value)!r}, the limit is {float(point.limit(found)):.4g}"
                    )
        return said

    @property
    def priors(self) -> list[PriorTable]:
        """Tables of what adversaries with priors know."""
        known = [p.adversary for r in self.requirements for p in r.points]
        return [table for a in known if isinstance(a, Priors) for table in a.tables]

    @property
    def attributes(self) -> set[str]:
        """Columns that adversaries with priors know of everybody."""
        return {name for table in self.priors for name in table.attributes}

    def monotone(self) -> bool:
        """Whether merging groups can never make a safe release unsafe."""
        return all(
            p.adversary.monotone(self.semantics) for r in self.requirements for p in r.points
        )

    def published(self) -> dict[str, Any]:
        """As `to_dict`, without the paths of the owner's machine: of hierarchies, the file's name.

        A certificate holds this. It cannot be read as a policy where hierarchies are in files.
        """
        table = self.to_dict()
        hierarchies = table.get("schema", {}).get("hierarchies", {})
        for column, hierarchy in hierarchies.items():
            if "file" in hierarchy:
                name = re.split(r"[/\\]", str(hierarchy["file"]))[-1]
                hierarchies[column] = {**hierarchy, "file": name}
        return table

    def to_dict(self) -> dict[str, Any]:
        """The tables of a policy file."""
        table: dict[str, Any] = {}
        if self.schema is not None:
            table["schema"] = self.schema.to_dict()
        table["require"] = [requirement.to_dict() for requirement in self.requirements]
        table["publish"] = self.options.to_dict()
        return table


def check_agreement(earlier: Requirement, later: Requirement) -> None:
    """Two thresholds for one adversary and value are a contradiction, or have no effect."""
    for one in earlier.points:
        for two in later.points:
            if one.adversary != two.adversary or one.below == two.below:
                continue
            if one.relative != two.relative:  # what one asks, the other need not
                continue
            if earlier.values is None and later.values is None:
                strict, loose = (earlier, later) if one.below < two.below else (later, earlier)
                if set(strict.excluded) <= set(loose.excluded):
                    raise PolicyError(
                        f"{later.name}: every value must stay below {two} here and below "
                        f"{one} in {earlier.name}, against the same {two.adversary}; keep "
                        "one, or give the stricter one an except"
                    )
                continue
            if earlier.values is not None and later.values is not None:
                shared = [v for v in later.values if v in earlier.values]
                if shared:
                    raise PolicyError(
                        f"{later.name}: {shared[0]!r} must stay below {two} here and below "
                        f"{one} in {earlier.name}, against the same {two.adversary}"
                    )
            else:
                _check_effect(earlier, one.below, later, two.below)
                _check_effect(later, two.below, earlier, one.below)


def _check_effect(
    general: Requirement, general_below: Fraction, special: Requirement, below: Fraction
) -> None:
    if general.values is not None or special.values is None or below < general_below:
        return
    idle = [v for v in special.values if v not in general.excluded]
    if idle:
        raise PolicyError(
            f"{special.name}: below {below} for {idle[0]!r} has no effect, since {general.name} "
            f"asks below {general_below} of every value; add except = [{idle[0]!r}] there"
        )
