"""Combined: everybody with their combination of several columns as their one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import combine
from foreknow.data.counts import bags_of
from foreknow.data.engines.columns import Column, narrowest
from foreknow.data.fired_rules import about_of
from foreknow.data.joint_labels import Bags, JointLabels
from foreknow.data.labels import Labels
from foreknow.data.layout import Layout
from foreknow.data.microdata import Microdata
from foreknow.data.people import CASES, numbered
from foreknow.data.possible_values import Classes


def combined(
    microdata: Microdata, columns: Sequence[str], layout: Layout, units: int | None = None
) -> Microdata:
    """The same people, each with their combination of several columns as their one value.

    A search then counts combinations, and `GroupCounts.seen` what each requirement looks at.

    Parameters
    ----------
    columns : sequence of str
        Sensitive and other columns; the first is what is counted by default.
    layout : Layout
        How they are published.
    units : int, optional
        Persons, households and other units are told apart by so many numbers, which are fewer
        than the units: then no group has fewer different ones than it seems to have. Left out,
        each has a number of its own.
    """
    coded: dict[str, tuple[NDArray[Any], Labels]] = {}
    sensitive = {column.name: column for column in microdata.sensitives}
    bags: dict[str, Bags] = {}
    for name in columns:
        if name in microdata.rows_read.holdings:
            column_holdings = microdata.rows_read.holdings[name]
            how = microdata.schema.semantics_of(name)
            of_person, bags[name] = bags_of(
                column_holdings.people,
                column_holdings.values,
                microdata.n_people,
                Labels(sensitive[name].domain),
                how,
            )
            coded[name] = of_person, Labels(range(len(bags[name].offsets) - 1))
        elif name in sensitive:
            coded[name] = sensitive[name].codes, Labels(sensitive[name].domain)
        else:
            coded[name] = _beside(microdata, name, units)
    sizes = [len(labels) for _, labels in coded.values()]
    codes_of_person, rules_fired = [codes for codes, _ in coded.values()], microdata.fired(columns)
    if rules_fired is not None:
        codes_of_person, sizes = (
            [*codes_of_person, rules_fired.codes],
            [*sizes, len(rules_fired.perhaps)],
        )
    joint_of_person, first = combine(codes_of_person, sizes)
    columns_of_joint = {name: (codes[first], labels) for name, (codes, labels) in coded.items()}
    classes = Classes.none()
    if rules_fired is not None:
        values_of_rules = about_of(
            microdata.schema.impossible,
            {name: labels for name, (_, labels) in coded.items() if name in sensitive},
        )
        classes = Classes(
            rules_fired.codes[first], rules_fired.perhaps, rules_fired.surely, values_of_rules
        )
    layout = replace(layout, main=columns[0])
    values = JointLabels.of(columns_of_joint, layout, bags, classes)
    codes = joint_of_person.astype(narrowest(len(values)), copy=False)
    joint = Column(" and ".join(columns), codes, list(values), "text")
    rows = replace(microdata.rows_read, sensitive=joint, further_sensitive=(), holdings={})
    return microdata.with_values(rows, values)


def _beside(
    microdata: Microdata, name: str, most_numbers: int | None
) -> tuple[NDArray[Any], Labels]:
    """The code of everybody in a column that is no secret, whether it is published or not."""
    if name == CASES:
        people = microdata.persons
        cases, number = np.unique(np.bincount(people)[people], return_inverse=True)
        return number.reshape(-1), Labels(cases.tolist())
    if name not in microdata.schema.other and (column := numbered(name)) is not None:
        return _units(microdata, column, most_numbers)
    codes, distinct = microdata.as_read(name)
    return codes, Labels(range(len(distinct)))


def _units(
    microdata: Microdata, name: str, most_numbers: int | None
) -> tuple[NDArray[Any], Labels]:
    """The unit of each row by a column; 0 for units of one row and for none.

    So a table in which few units have two rows has few different ones; at most
    `most_numbers`, where several may share a number.
    """
    codes, distinct = microdata.as_it_stands(name)
    is_shared = np.bincount(codes, minlength=len(distinct)) > 1
    is_shared[len(distinct) - distinct.null_count :] = False
    if name == microdata.schema.person and distinct.null_count:
        _ = microdata.persons  # a row that names nobody is of somebody
    number = np.cumsum(is_shared) - 1
    number = number if most_numbers is None else number % most_numbers
    place = np.where(is_shared, number + 1, 0)
    return place[codes], Labels(range(int(place.max(initial=0)) + 1))
