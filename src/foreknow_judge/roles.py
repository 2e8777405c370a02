"""The roles of the columns of a release, by the ``[schema]`` table of its certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foreknow_judge.errors import CertificateError
from foreknow_judge.grammar import ImpossibleTable, SchemaTable
from foreknow_judge.layout import multivalued_columns
from foreknow_judge.named_values import range_of
from foreknow_judge.settings import Texts


@dataclass(frozen=True)
class Roles:
    """The columns of a release by role; each column has one role."""

    quasi_identifiers: Texts
    sensitives: Texts
    other: Texts
    shared: Texts = ()  # sensitive columns of which a household has one value
    shown: str = ""  # the column that says which row of a household shows it

    @classmethod
    def of(cls, schema: SchemaTable) -> Roles:
        """Read the roles, and refuse a table that contradicts itself."""
        sensitive = schema.sensitive
        sensitives = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
        if not sensitives:
            raise CertificateError("no-columns", "sensitive")
        if not schema.quasi_identifiers and schema.group is None:
            raise CertificateError("no-columns", "quasi_identifiers")
        other_columns = tuple(schema.other)
        shared = () if schema.shared is None else tuple(schema.shared.values)
        shown_column = "" if schema.shared is None else f"{schema.shared.by}_shown"
        if shown_column and shown_column not in other_columns:
            other_columns = (*other_columns, shown_column)
        roles = cls(
            tuple(schema.quasi_identifiers), sensitives, other_columns, shared, shown_column
        )
        roles._refuse_two_roles(schema)
        roles._refuse_semantics(schema)
        roles._refuse_shared(schema)
        for place, rule in enumerate(schema.impossible):
            roles._refuse_rule(f"impossible[{place}]", rule)
        return roles

    def _refuse_two_roles(self, schema: SchemaTable) -> None:
        columns = [*schema.identifiers, *self.quasi_identifiers, *self.sensitives, *self.other]
        columns += [] if schema.group is None else [schema.group]
        for column in columns:
            if columns.count(column) > 1:
                raise CertificateError("two-roles", column)
        if schema.person is not None and schema.person in (*self.sensitives, schema.group):
            raise CertificateError("two-roles", schema.person)

    def _refuse_semantics(self, schema: SchemaTable) -> None:
        semantics: Any = schema.semantics
        for column in semantics if isinstance(semantics, Mapping) else ():
            if column not in self.sensitives:
                raise CertificateError("not-sensitive", "semantics", column=column)
        several = multivalued_columns(semantics, self.sensitives)
        of_cases = schema.unit == "row" and schema.person is not None
        for key, is_said in (
            ("missing", schema.missing != "error"),
            ("unit", of_cases),
            ("impossible", schema.impossible),
        ):
            if several and is_said:
                raise CertificateError("one-value-only", key)
        if schema.shared is not None and (several or schema.unit == "row"):
            raise CertificateError("one-value-only", "shared")

    def _refuse_shared(self, schema: SchemaTable) -> None:
        if schema.shared is None:
            return
        for column in schema.shared.values:
            if column not in self.sensitives:
                raise CertificateError("not-sensitive", "shared", column=column)
        ruled_columns = {rule.sensitive or self.sensitives[0] for rule in schema.impossible}
        if ruled_columns & {*schema.shared.values}:
            raise CertificateError("impossible-shared")

    def _refuse_rule(self, name: str, rule: ImpossibleTable) -> None:
        """Refuse a rule that does not fit the columns, or has a range that cannot be read."""
        if rule.sensitive is None and len(self.sensitives) > 1:
            raise CertificateError("which-column", name)
        if (rule.sensitive or self.sensitives[0]) not in self.sensitives:
            raise CertificateError("not-sensitive", name, column=rule.sensitive)
        for column, condition in rule.where.items():
            if column in self.sensitives:
                raise CertificateError("sensitive-condition", name, column=column)
            if isinstance(condition, Mapping):
                range_of(condition)  # raises if it cannot be read
