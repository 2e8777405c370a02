"""Learned priors: tables of priors that describe the published people, kept with the owner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from foreknow.adversaries.adversary import prior_tables
from foreknow.data.arrays import combine, count_pairs
from foreknow.data.members import printed
from foreknow.data.microdata import Microdata
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow_judge.certificate import map_prior_tables
from foreknow_judge.files.file_names import PRIORS
from foreknow_judge.policy.kept_priors import PARTS, KeptPriors

if TYPE_CHECKING:
    from foreknow.adversaries.priors.table import PriorTable

# So near to a frequency, a prior is that frequency, rounded; less near, if all priors are.
_NEAR, _NEAR_IF_ALL = 0.0005, 0.01
_MOST_BYTES = 256 << 20


def marked(policy: Policy, microdata: Microdata) -> Policy:
    """The policy, with its priors marked if they look learned from the table to be published.

    A signature is a kind of people, such as (34, "m"). Priors look learned if one signature has, to
    three digits, the frequencies of the sensitive values among its people; or each has, to within
    1%. Learned priors tell about people in the table, so they must not be published.
    """
    if not policy.attributes or microdata.schema.semantics != "single":
        return policy
    return replace(policy, requirements=[_marked(r, microdata) for r in policy.requirements])


def learned_tables(policy: Policy) -> list[PriorTable]:
    """The tables of priors that are marked, each once."""
    learned: dict[PriorTable, None] = {}
    for point in policy.points:
        tables = prior_tables(point.adversary)
        learned |= dict.fromkeys(table for table in tables if table.learned)
    return list(learned)


def learned_note(tables: list[PriorTable]) -> str:
    """The note for readers that says which priors are not in the release, and why."""
    sets = " and ".join(f"by {', '.join(table.attributes)}" for table in tables)
    return (
        f"the priors {sets} were learned from the table itself, so they are kept with the owner "
        f"({PRIORS}), and only their digests are published. They say how frequent each value is "
        "among the people of each kind in the table; where a kind has one person only, they state "
        "that person's value. What was found with them is kept, too. foreknow verify needs the "
        "file to check these requirements (--priors)"
    )


def _marked(requirement: Requirement, microdata: Microdata) -> Requirement:
    """The requirement, with its priors marked as learned if they are this table's frequencies."""
    points = []  # each an adversary with a limit: only an adversary with priors changes
    for point in requirement.points:
        adversary: Any = point.adversary
        marked_tables = []
        for table in prior_tables(adversary):
            learned = table.learned or _is_learned_from(table, microdata, requirement.sensitive)
            marked_tables.append(replace(table, learned=learned))
        if marked_tables:
            point = point._replace(adversary=replace(adversary, source=marked_tables))
        points.append(point)
    return requirement.with_points(points) if points else requirement


def _is_learned_from(table: PriorTable, microdata: Microdata, sensitive: str | None = None) -> bool:
    """True if a row of priors equals the table's own frequencies, or all rows nearly do.

    A row has the chances of each value for people of one signature: their labels in the attributes
    that priors are by.
    """
    columns_of_people = [*microdata.schema.quasi_identifiers, *microdata.schema.other]
    if not set(table.attributes) <= set(columns_of_people):
        return False
    codes_by_column, labels_by_column = [], []
    for name in table.attributes:
        column_codes, attribute_values = microdata.column(name)
        codes_by_column.append(column_codes)
        labels_by_column.append(printed(attribute_values))
    # The signature of each person by number, and the first person of each.
    signature_codes, first_person = combine(codes_by_column, [*map(len, labels_by_column)])
    sensitive_codes, sensitive_values = microdata.column(sensitive or microdata.schema.sensitive)
    values = [str(value) for value in sensitive_values]
    if not set(values) <= set(table.values):
        return False
    value_positions = [table.values.index(value) for value in values]
    offsets, cell_codes, amounts = count_pairs(
        signature_codes, sensitive_codes, len(first_person), len(values)
    )
    largest_deviations = []  # of a prior from the frequency, for each signature
    for code, row in enumerate(first_person):
        signature = []
        for column_codes, labels in zip(codes_by_column, labels_by_column, strict=True):
            signature.append(labels[column_codes[row]])
        row_chances = table.chances.get(tuple(signature))
        if row_chances is None:
            continue
        chances = np.array([float(chance) for chance in row_chances])
        cells = slice(offsets[code], offsets[code + 1])
        shares = np.zeros(len(values))
        shares[cell_codes[cells]] = amounts[cells] / amounts[cells].sum()
        # What nobody in the table has is as frequent as not at all.
        missing_chance = abs(chances.sum() - chances[value_positions].sum())
        largest_deviations.append(
            max(np.abs(chances[value_positions] - shares).max(), missing_chance)
        )
    return bool(largest_deviations) and (
        min(largest_deviations) <= _NEAR or max(largest_deviations) <= _NEAR_IF_ALL
    )


# ---- what the owner keeps ------------------------------------------------------------------------


def keep(key: bytes, tables: Iterable[PriorTable]) -> KeptPriors:
    """Keep some tables of priors."""
    kept_tables = []
    for table in tables:
        as_table = table.to_dict()
        kept_tables.append({part: as_table[part] for part in PARTS})
    return KeptPriors(key, tuple(kept_tables))


def withheld(
    kept_priors: KeptPriors, requirements: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The requirements of a policy with a digest in place of each learned table of priors."""

    def named_if_learned(table: Mapping[str, Any]) -> Mapping[str, Any]:
        return kept_priors.named(table) if table.get("learned") else table

    return [map_prior_tables(required, named_if_learned) for required in requirements]


def kept_as_written(kept_priors: KeptPriors) -> dict[str, Any]:
    """Kept priors as plain values for JSON, with the version of their format."""
    return {
        "format": "foreknow priors",
        "version": 1,
        "this_file_is": "for the owner only",
        "key": kept_priors.key.hex(),
        "tables": [dict(table) for table in kept_priors.tables],
    }
