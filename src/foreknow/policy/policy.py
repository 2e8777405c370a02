"""Policy: what must stay hidden, from whom, and how well; all requirements of one release."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, filterfalse
from operator import attrgetter, is_
from pathlib import Path
from typing import Any, ClassVar

from foreknow.adversaries.adversary import HasCounts
from foreknow.atomic_files import write_new
from foreknow.call_hints import hints
from foreknow.data.columns.grids import SHARED
from foreknow.data.columns.level_limits import Level
from foreknow.data.combined_columns import combined
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.impossible.rules import Rule
from foreknow.data.labels.labels import Labels
from foreknow.data.labels.windows import Width
from foreknow.data.layout import Layout, RowLayout, columns_except
from foreknow.data.members import CASES
from foreknow.data.microdata import Microdata
from foreknow.data.schema import PLAIN, Schema
from foreknow.errors import CallError, SchemaError, did_you_mean, refuse_first
from foreknow.needs import Need
from foreknow.policy.aliases import in_our_tables
from foreknow.policy.codes import with_codes
from foreknow.policy.file import parts_of, read_tables, tables_in, tables_of, text_of
from foreknow.policy.ledger import PolicyLedger
from foreknow.policy.options import PublishOptions
from foreknow.policy.requirement import Point, Requirement, check_agreement, columns_of_priors
from foreknow.policy.requirement_counts import RequirementCounts
from foreknow.policy.trials import Try, check_survey
from foreknow.result_pages import page_of
from foreknow.toml import from_toml
from foreknow_judge.errors import ForeknowError, InputError, PolicyError, UnsupportedError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.numbers import Number
from foreknow_judge.policy.support import refuse_knowledge, refuse_release

# A search distinguishes this many times as many units as a group must have.
_NUMBERS = 8


@hints(
    "; as one call: Policy(KAnonymity(5), Schema(quasi_identifiers=[...], sensitive=...)), or "
    "name them beside the table: fk.publish(table, quasi_identifiers=[...], sensitive=..., "
    "k_anonymity=5)"
)
@dataclass(frozen=True, init=False)
class Policy:
    """The requirements of a release, with the schema of its table and the options to publish it.

    Parameters
    ----------
    requirements : sequence of Requirement
        At least one; all must hold. In its place: a single requirement; an adversary, such as
        ``Facts(l=1)``, with its limit `below`; or a policy file, as a path or as its tables, from
        which schema and options are taken if they are not given.
    schema : Schema, optional
        The roles of the columns. Needed to read a table by the policy alone.
    options : PublishOptions, or mapping of its parts
        How a release is made.
    tries : sequence of Try
        Attacks that are carried out before a release is published, and may stop it.
    below : number, optional
        The limit of an adversary that is given in place of requirements.
    **keys
        The keys of a policy file in place of requirements and schema, such as k_anonymity=5.

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
    schema: Schema | None
    options: PublishOptions
    tries: Sequence[Try]

    def __init__(
        self,
        requirements: Any = None,
        schema: Schema | None = None,
        options: PublishOptions | Mapping[str, Any] | None = None,
        tries: Sequence[Try] = (),
        below: Number | None = None,
        **keys: Any,
    ) -> None:
        """Take requirements and how to publish; `PolicyError` if they do not fit the schema.

        `requirements` may also be the path or tables of a policy file. `below` is the limit of a
        single adversary; `keys` are those of a requirement in a policy file.
        """
        if keys:
            if requirements is not None or schema is not None:
                raise CallError(
                    f"Policy takes no {next(iter(keys))!r} beside requirements or a schema; write "
                    "Policy(KAnonymity(5), Schema(quasi_identifiers=[...], sensitive=...))"
                )
            requirements, below = {**keys, **({} if below is None else {"below": below})}, None
        if (read_file := _file_reader(requirements)) is not None:
            policy = read_file(requirements)
            requirements, tries = policy.requirements, (*policy.tries, *tries)
            schema, options = schema or policy.schema, options or policy.options
        if isinstance(options, Mapping):
            options = PublishOptions(**options)
        set_fields(self, requirements=_as_requirements(requirements, below))
        set_fields(self, schema=schema, options=options or PublishOptions(), tries=tuple(tries))
        if schema is not None:
            # Requirements need the schema's hierarchies and rules; the schema needs to know which
            # levels and rounding the policy asks for.
            bound = tuple(requirement.under(schema) for requirement in self.requirements)
            set_fields(
                self,
                requirements=bound,
                schema=replace(schema, levels=self.levels, rounding=self.options.round),
            )
        if not self.requirements:
            raise PolicyError("the policy requires nothing; add at least one [[require]] table")
        if self.schema is not None:
            self._check_schema(self.schema)
        for i, later in enumerate(self.requirements):  # each pair once
            for earlier in self.requirements[:i]:
                check_agreement(earlier, later)

    def _check_schema(self, schema: Schema) -> None:
        """Raise `PolicyError` if requirements, options or trials do not fit the schema."""
        for requirement in self.requirements:
            requirement.check_columns(schema.sensitives, schema)
            self.options.check_named(requirement, schema)
        self.options.check_columns(schema)
        self._check_levels()
        self._check_supported(schema)
        self._check_shared(schema)
        self._check_weights(schema)
        self._check_impossible(schema)
        for trial in self.tries:
            self._check_try(trial, schema)

    @property
    def on_values(self) -> list[Requirement]:
        """The requirements on sensitive values, without those on numbers of people."""
        return [*filterfalse(attrgetter("of_people"), self.requirements)]

    @property
    def on_people(self) -> list[Requirement]:
        """The requirements on numbers of people, whatever their values."""
        return [*filter(attrgetter("of_people"), self.requirements)]

    @property
    def levels(self) -> dict[str, Level]:
        """The finest level at which each limited column may be published."""
        levels: dict[str, Level] = {}
        for requirement in self.requirements:
            for column, level in getattr(requirement.criterion, "levels", {}).items():
                levels[column] = level.with_(levels.get(column, level))
        return levels

    def _check_levels(self) -> None:
        """Refuse options and requirements that conflict with required levels of columns.

        A requirement may say how coarse the labels of a column must be at least (`levels`).
        """
        if self.levels and not self.options.labelled:
            raise PolicyError(
                f"levels: the bucketized form publishes {', '.join(self.levels)} of everybody as "
                'they are; publish with form = "generalized"'
            )
        for column, level in self.levels.items():
            if column in self.attributes:
                raise PolicyError(
                    f"levels: {column!r} is a column of priors, which are about its values as "
                    "they are; leave it out of one of them"
                )
            if level.has_ends and self.compared:
                raise PolicyError(
                    f"levels: a top or bottom of {column!r} cannot be compared with a population, "
                    "which has its values as they are; leave one of them out"
                )
            style = self.options.labels.get(column)
            if level.at_least and style not in (None, "hierarchy"):
                raise PolicyError(
                    f"levels: {column!r} has labels of its hierarchy, from level {level.at_least} "
                    f"on, and publish.labels says {style!r}; leave that out"
                )

    def _check_supported(self, schema: Schema) -> None:
        """Refuse combinations that the judge does not support."""
        shared = bool(schema.shared_columns)
        refuse_release("publish", self.options.written, schema.semantics, shared=shared)
        for requirement in self.on_values:
            secret = requirement.sensitive or schema.sensitive
            known_columns = requirement.knowing or ()
            refuse_knowledge(requirement.name, secret, known_columns, self.options.unlinked)

    def _check_shared(self, schema: Schema) -> None:
        """Refuse values shared by households in a form that does not say which rows show them."""
        for name in self.options.unlinked:
            if name in schema.shared_columns:
                raise PolicyError(
                    f"publish.unlinked: {name!r} is about values that are shown once for each "
                    "household, beside the column that says where: take it out of unlinked"
                )

    def _check_weights(self, schema: Schema) -> None:
        """Refuse weights of groups where a row would need its own, or another name."""
        name = schema.published_weights
        if name is not None and name in {*self.attributes, *self.options.unlinked}:
            key = "priors" if name in self.attributes else "publish.unlinked"
            raise PolicyError(
                f"{key}: {name!r} has the weights of a survey, which are published as one for "
                f"each group; take it out of {key}, or out of other"
            )

    def ruled_beside(self, requirement: Requirement) -> list[str]:
        """The columns beside a requirement's secret that are not known, and that rules are about.

        Rules (impossible) say that some people cannot have some values. In the same row they also
        tell something about the secret.
        """
        if requirement.knowing is None:  # all columns count as known
            return []
        schema = self.needed_schema
        ruled = {rule.sensitive for rule in schema.impossible}
        ruled_columns: list[str] = []
        for column in requirement.columns:
            # None stands for the first sensitive column.
            secret = column or schema.sensitive
            ruled_columns += self.layout.ruled_beside(secret, requirement.knowing, ruled)
        return ruled_columns

    def _check_impossible(self, schema: Schema) -> None:
        """Refuse what is not counted if rules on one column bear on another of the same row.

        Rules (impossible) say that some people cannot have some values.
        """
        for requirement in self.requirements:
            if schema.one_row_each and requirement.target.counted_by_rows:
                continue
            ruled_columns = self.ruled_beside(requirement)
            if ruled_columns:
                column, secret = ruled_columns[0], requirement.sensitive or schema.sensitive
                # If it is to be published apart, the table at hand is not published yet.
                as_published = f"audit what publish writes, where {column!r} stands apart"
                way_out = dict.fromkeys(self.options.unlinked, as_published).get(
                    column, f"publish it apart ([publish] unlinked = [{column!r}])"
                )
                raise PolicyError(
                    f"{requirement.name}: some people cannot have some values of {column!r} "
                    f"(impossible). It stands beside {secret!r} in each row, so the rule bears on "
                    f"{secret!r} as well. That is counted for facts without links and for "
                    "negations, of people with one row each, and not for within or households: "
                    f"leave links out (m = 0), add {column!r} to knowing, {way_out}, or leave the "
                    "rule out",
                    code="impossible-linked",
                )

    @property
    def learning(self) -> tuple[Try, ...]:
        """The attacks that learn from the release."""
        return tuple(trial for trial in self.tries if not trial.individual_risk)

    def _check_try(self, trial: Try, schema: Schema) -> None:
        """Raise `PolicyError` for a trial on columns that the schema does not have."""
        if trial.individual_risk:
            check_survey(schema)
            return
        sensitive, sensitives = trial.sensitive, schema.sensitives
        columns = (*schema.quasi_identifiers, *schema.other)
        faults = {
            f"learning takes one value per person, and semantics is {schema.semantics!r}; leave "
            "[[try]] out": schema.semantics != "single",
            f"{sensitive!r} is no sensitive column of the schema"
            f"{did_you_mean(str(sensitive), sensitives)}": sensitive not in (None, *sensitives),
        }
        for name in trial.by:
            hint = did_you_mean(name, columns)
            message = "is not known of people; name quasi-identifiers, or columns among other"
            faults[f"{name!r} {message}{hint}"] = name not in columns
        refuse_first("try", faults)

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy file (TOML); a string of several lines is the text of one.

        Raises
        ------
        PolicyError
            If the file is wrong; the message names the line or key, and what would be right.
        """
        if isinstance(path, str) and "\n" in path:
            return cls.from_dict(tables_in(path, "policy.toml"), name="policy")
        path = Path(path)
        return cls.from_dict(tables_of(path), path.parent, path.name)

    from_file = from_toml = read = load

    def to_toml(self, path: str | Path | None = None) -> str:
        """The text of its policy file, which `save` writes; with a path, it is written, too."""
        if path is not None:
            self.save(path)
        return text_of(self.to_dict())

    def save(self, path: str | Path) -> None:
        """Write the policy as a new file (TOML), which `load` reads as the same policy.

        Raises
        ------
        PolicyError
            If `load` would not read the same policy, for example because it names files elsewhere.
        OutputError
            If the file exists already, or cannot be written.
        """
        path, table = Path(path), self.to_dict()
        text = self.to_toml()
        try:  # read it back before it is written
            same = Policy.from_dict(from_toml(text), path.parent, path.name).to_dict() == table
        except ForeknowError as error:
            raise PolicyError(
                f"{str(path)!r} would not be read as the same policy: {error}; files that it "
                "names, such as hierarchies, are looked for beside it"
            ) from None
        if not same:
            raise PolicyError(f"{str(path)!r} would not be read as the same policy")
        write_new(path, text)

    @classmethod
    def of(cls, given: Policy | Mapping[str, Any] | str | Path) -> Policy:
        """Return a policy as it is, or build one from a policy file: its path, or its tables.

        A requirement, a criterion or a list of them is a policy, too, without a schema.
        """
        if isinstance(given, Policy):
            return given
        if (read_file := _file_reader(given)) is not None:
            return read_file(given)
        if isinstance(given, (Requirement, list, tuple)) or hasattr(given, "attained"):
            return cls(given)
        raise InputError(
            f"expected a Policy or the path of one, not {type(given).__name__}; see Policy.load "
            "and Policy.from_dict; the table comes first, as in fk.publish(table, policy)"
        )

    @classmethod
    def from_dict(
        cls, table: Mapping[str, Any], folder: str | Path = ".", name: str = "policy"
    ) -> Policy:
        """Build a policy from the tables of a policy file.

        Relative paths start at `folder`; error messages begin with `name`.
        """
        if isinstance(table, Mapping):
            table = in_our_tables(table)
        try:
            coded = with_codes(table, Path(folder))
        except PolicyError as error:
            raise PolicyError(f"{name}: {error}") from None
        tables = read_tables(coded, name)
        try:
            return cls(*parts_of(tables, Path(folder)))
        except ForeknowError as error:  # the same error, with the name of the file
            kind = type(error) if isinstance(error, InputError) else PolicyError
            raise kind(f"{name}: {error}", code=error.code, **error.fields) from None

    def ledger(self, values: Labels, everyone: GroupCounts | None = None) -> PolicyLedger:
        """Start one ledger for all requirements, over the sensitive values of one table.

        A ledger answers a search: does the release stay safe if these groups replace those?
        `everyone` has the counts of the whole table, for criteria that compare groups with it.
        """
        parts = []
        for requirement in self.requirements:
            semantics = self.semantics_of(requirement)
            counts = RequirementCounts.of_nobody(requirement, values, semantics)
            for secret in counts.secrets:
                parts += secret.parts(semantics, everyone)
        return PolicyLedger(parts, self.monotone())

    def __repr__(self) -> str:
        n_requirements = len(self.requirements)
        subject = "" if self.schema is None else f" on {self.schema.sensitive!r}"
        return f"Policy({n_requirements} requirement{'s' * (n_requirements > 1)}{subject})"

    def _repr_html_(self) -> str:
        return page_of(self).summary()

    @property
    def needed_schema(self) -> Schema:
        """The schema; raises `SchemaError` if there is none."""
        if self.schema is None:
            raise SchemaError(
                "the policy has no [schema] table, which says what the columns are (in Python, "
                "Policy([...], Schema(quasi_identifiers=[...], sensitive=...)))"
            )
        return self.schema

    def semantics_of(self, requirement: Requirement | None = None) -> Semantics:
        """The semantics of a requirement's column; ``single`` if the policy has no schema."""
        column = None if requirement is None else requirement.sensitive
        return "single" if self.schema is None else self.schema.semantics_of(column)

    def under(self, schema: Schema, *, published: bool = False, people: bool = False) -> Policy:
        """The policy with this schema if it has none; its own must not contradict this one."""
        if self.schema is None:
            return replace(self, schema=schema)
        self.schema.refuse_other(schema, published=published, people=people)
        return self

    @property
    def rules(self) -> Schema:
        """The schema; without one, a schema that says nothing about rows and people."""
        return self.schema or PLAIN

    # of a release that is there; None where columns stand as the policy publishes them
    _layout: ClassVar[Layout | None] = None

    def for_layout(self, layout: Layout) -> Policy:
        """The same policy for a release with the given layout of columns."""
        policy = copy(self)
        set_fields(policy, _layout=layout)
        if policy.schema is not None:
            policy._check_impossible(policy.schema)
        return policy

    @property
    def layout(self) -> Layout:
        """The layout: which columns are published beside each other.

        The bucketized form has other columns in the table of people, apart from sensitive values.
        """
        if self._layout is not None:
            return self._layout
        schema, in_rows = self.schema, self.options.labelled  # the generalized form is labelled
        if schema is None:
            return Layout()
        # Labelled rows have all columns; else, the other columns are in the table of people.
        people = None if in_rows else tuple(schema.other)
        in_rows &= not schema.several  # values of people with several are in a table of their own
        not_linked = (*self.options.unlinked, *schema.several)
        other_columns = columns_except(schema.other, self.options.unlinked)
        kind, columns_beside = (RowLayout, schema.other) if in_rows else (Layout, ())
        return kind.of(
            schema.sensitives, columns_beside, not_linked, people=people, others=other_columns
        )

    @property
    def looked_at(self) -> tuple[str, ...]:
        """The sensitive columns of the requirements, and the columns that they assume are known."""
        first, columns = self.needed_schema.sensitive, []
        for requirement in self.requirements:
            seen_columns = requirement.seen_columns(self.layout)
            columns += [seen_columns.secret, *seen_columns.known, *self.ruled_beside(requirement)]
        if self.sums_cases:
            columns.append(CASES)
        if self.owned:
            columns.append(first)
        # Each once, the main sensitive column first; the others keep their order.
        return tuple(sorted(dict.fromkeys(columns), key=lambda name: name != first))

    @property
    def sums_cases(self) -> bool:
        """True if a requirement adds up probabilities over the cases of a person."""
        return any(requirement.sums_cases for requirement in self.requirements)

    @property
    def known_other(self) -> tuple[str, ...]:
        """The columns that requirements use and that are published unchanged."""
        looked_at = (*self.looked_at, *self.needed_schema.conditions)
        return tuple(n for n in dict.fromkeys(looked_at) if n in self.needed_schema.other)

    def microdata(self, table: Any) -> Microdata:
        """A table, read by the schema with the columns by which only the owner counts.

        A table that was read before is returned as it is.
        """
        return Microdata.of(table, self.needed_schema, self.owned_columns)

    def as_published(self, microdata: Microdata) -> Microdata:
        """The table with numbers rounded and columns coarsened as this policy publishes them."""
        return microdata.with_rounding(self.options.round).leveled(self.levels)

    def combined(self, microdata: Microdata, number_each: bool = False) -> Microdata:
        """The table as a search counts it: each person has a combination of the columns it uses.

        Units get only a few different numbers, so that a search counts too few units rather than
        too many; with `number_each`, each unit has its own number.
        """
        policy = self
        if self.schema is None:
            policy = self._with_requirements(self.requirements, microdata.schema)
        columns = policy.looked_at
        if microdata.schema.several or not self.layout.of_people:
            for requirement in self.requirements:
                _refuse_unpublished(requirement, microdata.schema)
        # Where no other column is used and no rule applies, the table is counted as it is.
        only_the_secret = columns == (microdata.schema.sensitive,)
        nothing_known = not any(requirement.known for requirement in self.requirements)
        if only_the_secret and nothing_known and not microdata.rule_classes(columns):
            return microdata
        criteria = [required.criterion for required in self.requirements if required.criterion]
        most_people = max((criterion.least for criterion in criteria), default=0)
        # Several times as many numbers as the largest size that a criterion asks for, so that
        # seldom two units of a group get the same.
        units = None if number_each else max(_NUMBERS * most_people, _NUMBERS**2)
        return combined(microdata, columns, self.layout, units)

    @property
    def owned(self) -> bool:
        """True if only the owner can judge a requirement; see `asks_owner`."""
        return any(map(self.asks_owner, self.requirements))

    def asks_owner(self, requirement: Requirement) -> bool:
        """True if a requirement counts people behind cases, or uses columns that are not shown."""
        return self._by_row(requirement) or bool(self._hidden_rules(requirement))

    @property
    def asks_rows(self) -> bool:
        """True if several releases together are judged by the rows that each of them published."""
        return self.owned or not self.needed_schema.one_row_each

    @property
    def by_row(self) -> bool:
        """True if the owner must look at single rows: counts of equal rows do not suffice."""
        return any(map(self._by_row, self.requirements))

    def _by_row(self, requirement: Requirement) -> bool:
        hidden = () if self.schema is None else requirement.owned(self.schema)
        return bool(hidden) or requirement.sums_cases

    def _hidden_rules(self, requirement: Requirement) -> list[Rule]:
        """The rules of a requirement that no reader of the release can apply.

        A rule says that people with some labels cannot have some values. Readers need its columns
        as they are; a release leaves some out, or changes them.
        """
        schema = self.schema
        if schema is None:
            return []
        shown_columns = {*schema.other}
        if not self.options.labelled:
            shown_columns |= {*schema.quasi_identifiers}
        shown_columns.difference_update(self.options.unlinked)
        return [rule for rule in self._rules_on(requirement) if {*rule.where} - shown_columns]

    def _rules_on(self, requirement: Requirement) -> list[Rule]:
        """The rules on the column of a requirement, and on those that stand beside it."""
        columns = (*requirement.columns, *self.ruled_beside(requirement))
        return self.needed_schema.rules_about(*columns)

    @property
    def owned_columns(self) -> list[str]:
        """The unpublished columns by which the owner counts."""
        schema = self.schema
        if schema is None:
            return []
        of_each = [requirement.owned(schema) for requirement in self.requirements]
        return list(dict.fromkeys(chain(*of_each)))

    def refuse_unshown(self) -> None:
        """Raise an error if only the owner of the table can judge this policy.

        This is so if people have several cases, or if a column is asked for that is not published.
        """
        schema = self.needed_schema
        for person in schema.case_persons:
            raise PolicyError(
                f"the release does not show whose cases its rows are (person = {person!r}), so "
                "only the owner of the table can judge people: publish does it, and an audit of "
                "the table. Without person in the schema, cases are judged, and not people"
            )
        for requirement in self.requirements:
            for name in requirement.owned(schema):
                raise PolicyError(
                    f"{requirement.name}: {name!r} is not among the columns, so only the owner of "
                    "the table can judge this: publish does it, and an audit of a table with this "
                    "column"
                )

    @property
    def word(self) -> tuple[str, ...]:
        """The requirements that only the owner can judge, as text."""
        requirements = filter(self.asks_owner, self.requirements)
        return tuple(
            dict.fromkeys(
                requirement.by_owner(self.needed_schema, self._rules_on(requirement))
                for requirement in requirements
            )
        )

    @property
    def filed(self) -> Policy:
        """The policy that published files are judged by, without rules whose columns they hide."""
        policy, hidden_rules = self.shown, chain(*map(self._hidden_rules, self.requirements))
        # If one rule on a sensitive column cannot be applied, all rules on it are left out.
        columns = {rule.sensitive for rule in hidden_rules}
        if not columns:
            return policy
        schema = policy.needed_schema
        rules = [rule for rule in schema.impossible if rule.sensitive not in columns]
        return policy._with_requirements(policy.requirements, replace(schema, impossible=rules))

    def _with_requirements(self, requirements: Sequence[Requirement], schema: Schema) -> Policy:
        """The same policy with another schema and requirements.

        A copy, and not made anew: two requirements may now be equal, which `Policy` would refuse.
        """
        policy = copy(self)
        set_fields(
            policy,
            requirements=tuple(requirement.under(schema) for requirement in requirements),
            schema=schema,
        )
        return policy

    @property
    def shown(self) -> Policy:
        """The part of the policy that a reader of the release can judge."""
        if not self.owned:
            return self
        schema = self.needed_schema
        requirements = tuple(requirement.filed(schema) for requirement in self.requirements)
        without = replace(schema, person=next(iter(schema.row_persons), None))
        return self._with_requirements(requirements, without)

    @property
    def points(self) -> list[Point]:
        """The adversaries of all requirements, with their limits."""
        return [*chain(*(requirement.points for requirement in self.requirements))]

    def least_limit(self, sensitive: str | None = None) -> Fraction | None:
        """The least limit on a column for adversaries without priors, or None if there is none.

        Limits that are multiples of priors do not count. None for `sensitive` is every column.
        """
        limits = []
        for point in chain(*(required.points for required in self._requirements_on(sensitive))):
            if not point.relative and "priors" not in point.adversary.to_dict():
                limits.append(point.below)
        return min(limits, default=None)

    def _requirements_on(self, sensitive: str | None) -> list[Requirement]:
        """The requirements on a sensitive column; all of them if it is None."""
        main = None if self.schema is None else self.schema.sensitive
        columns = (None, sensitive)  # without a schema, a requirement may name no column
        return [
            requirement
            for requirement in self.requirements
            if sensitive is None or (requirement.sensitive or main) in columns
        ]

    def widths_of(self, sensitive: str) -> tuple[Width | None, ...]:
        """The widths of windows for which a sensitive column is limited; None is an exact value."""
        widths = [
            required.width for required in self._requirements_on(sensitive) if required.points
        ]
        return tuple(dict.fromkeys(widths)) or (None,)

    @property
    def least_listed(self) -> int:
        """The least number of people with a value that a label may list.

        It is the least size of a group; `SHARED` if no requirement limits the size.
        """
        return self.least_size or SHARED

    @property
    def least_size(self) -> int:
        """The least size of a group by the requirements; 0 if none limits the size."""
        minima = []
        for requirement in self.requirements:
            if requirement.criterion:
                minima.append(requirement.criterion.least)
        return max(minima, default=0)

    @property
    def populations(self) -> dict[str, Any]:
        """The populations that groups are compared with, by digest, for the judge."""
        return {population.digest(): population.written() for population in self.compared}

    @property
    def compared(self) -> list[Any]:
        """The populations that groups are compared with."""
        kinds = chain(*(required.judged for required in self.requirements))
        return [kind.population for kind in kinds if Need.POPULATION in kind.needs]

    def failures(self, release: HasCounts) -> list[str]:
        """Messages about the requirements that a release fails, and by how much."""
        return [*chain(*(requirement.failures(release) for requirement in self.requirements))]

    @property
    def priors(self) -> list[Any]:
        """The tables of all adversaries with priors."""
        return [*chain(*(getattr(point.adversary, "tables", ()) for point in self.points))]

    @property
    def searched(self) -> Policy:
        """The part that a search must check; the rest is judged on the written release."""
        exact = not self.options.labelled
        requirements = [requirement.searched(exact) for requirement in self.requirements]
        if all(map(is_, requirements, self.requirements)):
            return self
        return replace(self, requirements=requirements)

    def stricter(self, share: Fraction) -> Policy:
        """The policy with a share of each limit that is a probability."""
        requirements = []
        for requirement in self.requirements:
            points = [point.stricter(share) for point in requirement.points]
            requirements.append(requirement.with_points(points) if points else requirement)
        return replace(self, requirements=requirements)

    @property
    def attributes(self) -> set[str]:
        """The columns that adversaries with priors know for everybody."""
        return set[str]().union(*(columns_of_priors(point.adversary) for point in self.points))

    @property
    def limits_inference(self) -> bool:
        """True if a requirement limits what can be inferred, not only who looks alike."""
        return any(requirement.limits_people for requirement in self.requirements)

    def limits_inference_of(self, everyone: Any) -> bool:
        """Like `limits_inference`, for a counted table: values that nobody has do not count."""
        return any(
            requirement.limits_people
            and RequirementCounts.of(requirement, everyone).limits_inference
            for requirement in self.requirements
        )

    def monotone(self) -> bool:
        """True if merging groups can never make a safe release unsafe.

        Merging can if some people cannot have a value: merged with people who have it, they
        become more likely to have another value.
        """
        if self.sums_cases or self.rules.impossible:
            return False
        return all(
            requirement.monotone(self.semantics_of(requirement))
            for requirement in self.requirements
        )

    def published(self, values: Any = None) -> dict[str, Any]:
        """The policy as a certificate holds it: `to_dict` without attacks and the owner's files.

        Hierarchy files are only named, so that a policy with such files cannot be read back.
        """
        table = self.to_dict(values)
        layout = self.layout
        # With what a requirement leaves out written out, so that a judge needs no defaults.
        table["require"] = [
            requirement.published(values, self.schema, layout) for requirement in self.requirements
        ]
        table.get("schema", {}).pop("reading", None)
        table.pop("try", None)  # the result of an attack is a note of the publisher
        hierarchies = table.get("schema", {}).get("hierarchies", {})
        for column, hierarchy in hierarchies.items():
            if "file" in hierarchy:
                name = re.split(r"[/\\]", str(hierarchy["file"]))[-1]
                hierarchies[column] = {**hierarchy, "file": name}
        return table

    def to_dict(self, values: Any = None) -> dict[str, Any]:
        """The tables of a policy file.

        With the `values` of a table (or values by column), labels of hierarchies are written as the
        values below them.
        """
        table: dict[str, Any] = {}
        if self.schema is not None:
            table["schema"] = self.schema.to_dict()
        table["require"] = [requirement.to_dict(values) for requirement in self.requirements]
        if self.tries:
            table["try"] = [trial.to_dict() for trial in self.tries]
        table["publish"] = self.options.to_dict()
        return table


def _file_reader(given: Any) -> Callable[[Any], Policy] | None:
    """The reader of a policy file, by its path or from its tables; None for anything else."""
    readers: dict[type, Callable[[Any], Policy]]
    readers = {str: Policy.load, Path: Policy.load, Mapping: Policy.from_dict}
    return next((readers[kind] for kind in readers if isinstance(given, kind)), None)


def _as_requirements(requirements: Any, below: Number | None) -> tuple[Requirement, ...]:
    """The requirements of a policy, from a list of them or of criteria, or from a single one.

    With a limit `below`, an adversary is a requirement, too. Anything else is a `PolicyError`.
    """
    if isinstance(requirements, Requirement):
        requirements = [requirements]
    elif hasattr(requirements, "to_dict") or below is not None:
        requirements = [Requirement(requirements, below)]
    if not isinstance(requirements, Iterable):
        raise PolicyError("requirements must be a list, such as [Requirement(...)]")
    wrapped = []
    for kind in requirements:
        # Only a criterion has `attained`; it stands for a requirement of it.
        requirement = Requirement(kind) if hasattr(kind, "attained") else kind
        if not isinstance(requirement, Requirement):
            way_out = "a policy of plain tables is made by Policy.from_dict"
            if isinstance(requirement, str):
                way_out = "columns are named: quasi_identifiers=[...], sensitive=..."
            raise PolicyError(
                f"expected a Requirement, not {type(requirement).__name__}; {way_out}"
            )
        wrapped.append(requirement)
    return tuple(wrapped)


def _refuse_unpublished(requirement: Requirement, schema: Schema) -> None:
    """Refuse a known, unpublished column if the rows of people do not show their values."""
    for name in requirement.subject.unpublished(schema):
        raise UnsupportedError(
            f"{requirement.name}: knowing: {name!r} is not published, and only of the "
            "generalized form with one value per person can it be judged as if it were; "
            'publish with form = "generalized", or leave it out of knowing'
        )
