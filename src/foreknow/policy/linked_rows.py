"""Refuse columns that show which rows are of one person, where nobody is assumed to know them."""

from __future__ import annotations

from foreknow.data.microdata import Microdata
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow_judge.errors import PolicyError


def refuse_linked_rows(people: Microdata, policy: Policy) -> None:
    """Raise `PolicyError` if a column that a requirement takes for unknown links rows.

    A verdict holds if every way to give the rows of a group to its people is equally likely. A
    column such as an e-mail address tells which rows are of one person, even to an adversary who
    knows nobody's address: the person with the most rows is then found by their number.
    """
    unknown: dict[str, Requirement] = {}
    for requirement in policy.requirements:
        for name in _assumed_unknown(requirement, policy):
            unknown.setdefault(name, requirement)
    for unit in people.schema.unit_columns:
        for name, requirement in unknown.items():
            if people.shows_units(name):
                raise _error(requirement, name, unit, policy)


def _error(requirement: Requirement, name: str, unit: str, policy: Policy) -> PolicyError:
    """The error for a column that links the rows of each `unit`, with the ways out."""
    ways_out = [f'write unlinked = [..., "{name}"] in [publish], which shuffles it in each group']
    if name in policy.options.unlinked:  # the table is not yet published, so it is not yet shuffled
        ways_out = ["audit what publish writes, in which it is shuffled"]
    if policy.needed_schema.households:  # these support no shuffled columns
        ways_out = []
    ways_out += [f"take {name!r} out of the schema, and so out of the release", "add it to knowing"]
    return PolicyError(
        f"{requirement.name}: all rows of each {unit!r} have the same {name!r}. The release shows "
        "it, so even an adversary who knows nobody's value sees which rows belong together, and "
        f"the requirement takes it for unknown: {'; or '.join(ways_out)}"
    )


def _assumed_unknown(requirement: Requirement, policy: Policy) -> list[str]:
    """The columns in the rows of a requirement's secret that the adversary does not know."""
    layout, schema = policy.layout, policy.needed_schema
    seen = requirement.seen_columns(layout)
    if requirement.columns:
        columns = layout.row_of(seen.secret or layout.main)
    else:  # it counts people, whatever their values are
        columns = tuple(name for name in layout.linked if name in schema.other)
    apart = (seen.secret, *seen.known, schema.published_weights)
    return [name for name in columns if name not in apart]
