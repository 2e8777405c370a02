"""Combined: everybody with their combination of several columns as their one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, combine
from foreknow.data.counts import bags_of
from foreknow.data.impossible.possible_values import Classes
from foreknow.data.impossible.rules_in_force import excluded_values
from foreknow.data.labels.joint_labels import Bags, JointLabels
from foreknow.data.labels.labels import Labels
from foreknow.data.layout import Layout
from foreknow.data.members import CASES, units_column
from foreknow.data.microdata import Microdata
from foreknow.data.tables.columns import Column, narrowest


def combined(
    microdata: Microdata, columns: Sequence[str], layout: Layout, units: int | None = None
) -> Microdata:
    """A table in which each person's only value is their combination of values of several columns.

    A search for groups then counts combinations, and `GroupCounts.seen` makes the counts of each
    column from these.

    Parameters
    ----------
    columns : sequence of str
        Sensitive and other columns; the first is what is counted by default.
    layout : Layout
        How they are published.
    units : int, optional
        The most numbers by which persons, households and other units are told apart. Where there
        are fewer numbers than units, several units share one, so a group has at least as many
        units as it has numbers. Left out, each unit has a number of its own.
    """
    coded: dict[str, tuple[NDArray[Any], Labels]] = {}
    bags: dict[str, Bags] = {}
    sensitive_columns = {column.name: column for column in microdata.sensitives}
    for name in columns:
        if name in microdata.rows_read.holdings:
            # People may have several values: a person's code is the number of their bag of values.
            labels = Labels(sensitive_columns[name].domain)
            bag_of_person, bags[name] = _bags_of_people(microdata, name, labels)
            coded[name] = bag_of_person, Labels(range(len(bags[name].offsets) - 1))
        elif name in sensitive_columns:
            column = sensitive_columns[name]
            coded[name] = column.codes, Labels(column.domain)
        else:
            coded[name] = _codes_beside(microdata, name, units)
    # People of one combination must also be alike in what rules say that they cannot have.
    code_columns = [codes for codes, _ in coded.values()]
    sizes = [len(labels) for _, labels in coded.values()]
    rule_classes = microdata.rule_classes(columns)
    if rule_classes is not None:
        code_columns.append(rule_classes.codes)
        sizes.append(len(rule_classes.perhaps))
    joint_of_person, first_people = combine(code_columns, sizes)
    # For each column, the code of each combination: that of the first person who has it.
    columns_of_joint = {}
    for name, (codes, labels) in coded.items():
        columns_of_joint[name] = codes[first_people], labels
    classes = Classes.none()
    if rule_classes is not None:
        secret_labels = {}
        for name, (_, labels) in coded.items():
            if name in sensitive_columns:
                secret_labels[name] = labels
        classes = Classes(
            codes=rule_classes.codes[first_people],
            perhaps=rule_classes.perhaps,
            surely=rule_classes.surely,
            excluded=excluded_values(microdata.schema.impossible, secret_labels),
        )
    layout = replace(layout, main=columns[0])
    values = JointLabels.of(columns_of_joint, layout, bags, classes)
    codes = joint_of_person.astype(narrowest(len(values)), copy=False)
    joint_column = Column(" and ".join(columns), codes, list(values), "text")
    rows = replace(microdata.rows_read, sensitive=joint_column, further_sensitive=(), holdings={})
    return microdata.with_values(rows, values)


def _bags_of_people(microdata: Microdata, name: str, labels: Labels) -> tuple[IntArray, Bags]:
    """The number of each person's set or bag of values in a sensitive column, and these bags."""
    holdings = microdata.rows_read.holdings[name]
    semantics = microdata.schema.semantics_of(name)
    return bags_of(holdings.people, holdings.values, microdata.n_people, labels, semantics)


def _codes_beside(
    microdata: Microdata, name: str, most_numbers: int | None
) -> tuple[NDArray[Any], Labels]:
    """The code of each row in a column that is no secret, and labels for the codes.

    The column may be one of the table, published or not, or a name for what is counted: how many
    cases a person has, or the number of a unit, of which there are at most `most_numbers`.
    """
    if name == CASES:
        people = microdata.persons
        # Labels are the numbers of cases that occur; each person's rows all get their own.
        cases, number = np.unique(np.bincount(people)[people], return_inverse=True)
        return number.reshape(-1), Labels(cases.tolist())
    unit_column = None if name in microdata.schema.other else units_column(name)
    if unit_column is not None:
        return _unit_numbers(microdata, unit_column, most_numbers)
    codes, distinct = microdata.as_read(name)
    return codes, Labels(range(len(distinct)))


def _unit_numbers(
    microdata: Microdata, name: str, most_numbers: int | None
) -> tuple[NDArray[Any], Labels]:
    """The number of each row's unit, such as a household, and labels for the numbers.

    The number is 0 for units of one row, and for rows without a unit, so a table in which few units
    have two rows has few different numbers. Besides 0 there are at most `most_numbers`, so that
    several units may share one; None: each unit has a number of its own.
    """
    codes, distinct = microdata.as_it_stands(name)
    is_shared = np.bincount(codes, minlength=len(distinct)) > 1
    is_shared[len(distinct) - distinct.null_count :] = False  # a null, which is last, is no unit
    if name == microdata.schema.person and distinct.null_count:
        _ = microdata.persons  # raises an error: a case belongs to somebody, who must be named
    number = np.cumsum(is_shared) - 1
    if most_numbers is not None:
        number = number % most_numbers
    number_of_unit = np.where(is_shared, number + 1, 0)
    return number_of_unit[codes], Labels(range(int(number_of_unit.max(initial=0)) + 1))
