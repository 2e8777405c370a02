"""The roles of the columns of a release, by the ``[schema]`` table of its certificate."""

from __future__ import annotations

from collections.abc import Mapping

from foreknow_judge.counts.layout import multivalued_columns
from foreknow_judge.errors import CertificateError
from foreknow_judge.policy.grammar import ImpossibleTable, SchemaTable
from foreknow_judge.policy.named_values import range_of


def check_roles(schema: SchemaTable) -> None:
    """Refuse a schema that contradicts itself, or gives a column two roles."""
    sensitives = schema.sensitives
    if not sensitives:
        raise CertificateError("no-columns", "sensitive")
    if not schema.quasi_identifiers and schema.group is None:
        raise CertificateError("no-columns", "quasi_identifiers")
    columns = [*schema.identifiers, *schema.quasi_identifiers, *sensitives, *schema.beside]
    columns += [] if schema.group is None else [schema.group]
    for column in columns:
        if columns.count(column) > 1:
            raise CertificateError("two-roles", column)
    if schema.person is not None and schema.person in (*sensitives, schema.group):
        raise CertificateError("two-roles", schema.person)
    of_columns = [("shared", column) for column in schema.shared_columns]
    if isinstance(schema.semantics, Mapping):
        of_columns += [("semantics", column) for column in schema.semantics]
    for key, column in of_columns:
        if column not in sensitives:
            raise CertificateError("not-sensitive", key, column=column)
    # These options are about people with one value each, so not for columns with several values.
    several = multivalued_columns(schema.semantics, sensitives)
    in_rows = schema.unit == "row"  # rows are cases, and not people
    for key, is_said in (
        ("missing", several and schema.missing != "error"),
        ("unit", several and in_rows and schema.person is not None),
        ("impossible", several and schema.impossible),
        ("shared", schema.shared is not None and (several or in_rows)),
    ):
        if is_said:
            raise CertificateError("one-value-only", key)
    for number, rule in enumerate(schema.impossible):
        _check_rule(f"impossible[{number}]", rule, schema)


def _check_rule(name: str, rule: ImpossibleTable, schema: SchemaTable) -> None:
    """Refuse a rule that does not fit the columns, or has a range that cannot be read.

    A rule says that nobody who meets its conditions (`where`) has its values; `name` is its place
    in the policy, for messages.
    """
    sensitives = schema.sensitives
    if rule.sensitive is None and len(sensitives) > 1:
        raise CertificateError("which-column", name)
    sensitive = rule.sensitive or sensitives[0]
    if sensitive not in sensitives:
        raise CertificateError("not-sensitive", name, column=sensitive)
    if sensitive in schema.shared_columns:
        raise CertificateError("impossible-shared")
    for column, condition in rule.where.items():
        if column in sensitives:
            raise CertificateError("sensitive-condition", name, column=column)
        if isinstance(condition, Mapping):
            range_of(condition)  # raises if it cannot be read
