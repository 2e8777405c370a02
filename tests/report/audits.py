"""Audits that the tests of the report show."""

from dataclasses import dataclass
from fractions import Fraction

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.facts.witness import FactsWitness
from foreknow.auditing.audit import Verdict, audit
from foreknow.data.counts import GroupCounts
from foreknow.data.schema import Schema
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement

BAGS = [
    {"Flu": 6, "AIDS": 2, "Cancer": 3, "Asthma": 4},
    {"Flu": 9, "AIDS": 1, "Cancer": 5, "Gout": 5},
    {"Asthma": 7, "Flu": 4, "Gout": 2},
]


def small(safe=True, groups=(16, 17, 18)):
    """An audit of three groups; the first of two requirements fails unless `safe`."""
    counts = GroupCounts.from_bags(BAGS, groups=list(groups))
    strict = Requirement(Facts(1, 3, 1), below="0.9" if safe else "0.3", values=["AIDS"])
    loose = Requirement(Facts(0, 1, 0), below="0.99")
    schema = Schema(
        quasi_identifiers=["age", "zip"],
        sensitive="diagnosis",
        identifiers=["name"],
        hierarchies={"zip": {"mask": 5}, "age": {"intervals": [5, 10]}},
    )
    return audit(counts, Policy([strict, loose], schema), name="three.csv")


EVIL = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    '"><img src=http://evil.example/x onerror=alert(3)>',
    "<a href='http://evil.example'>click</a><b>bold</b>",
    "[red]red[/red] {{ 7 * 7 }} %{x} ${1+1}\u202e\x1b[31m\ud800",
    "]]>--><!--\u2028&lt;",
)


def evil():
    """An audit of which every label is an attack."""
    one, two, three, four, five, six = EVIL
    counts = GroupCounts.from_bags(
        [{one: 2, two: 5, three: 4, four: 6, five: 3, six: 3}, {one: 3, five: 9, six: 9}],
        groups=[(three, one), (two, four)],
    )
    schema = Schema(quasi_identifiers=[one, two], sensitive=four, identifiers=[three], other=[six])
    requirements = [
        Requirement(Facts(1, 2, 1), below="0.1", values=[value], name=value) for value in EVIL
    ]
    return audit(counts, Policy(requirements, schema), name=one)


@dataclass(frozen=True)
class Oracle:
    """A kind of adversary that the report knows nothing of."""

    amount: int = 3

    def disclosures(self, counts):
        return {value: Disclosure(value, 0.625) for value in counts.values}

    def to_dict(self):
        return {"oracle": {"amount": self.amount}}


def verdict_of(
    exact,
    limit="0.5",
    ruled_out=(),
    known=0,
    family=0,
    group=17,
    facts=None,
    value="AIDS",
):
    """A verdict with these numbers and this witness, as an audit would give it."""
    exact = Fraction(exact)
    witness = FactsWitness(
        value=value,
        target_group=group,
        ruled_out=tuple(ruled_out),
        known_group=group if known else None,
        known={"Flu": known} if known else {},
        family_group=group if family else None,
        family=family,
        target_position=0,
        known_position=0 if known else None,
        family_position=0 if family else None,
    )
    facts = facts or Facts(len(ruled_out), known, family)
    requirement = Requirement(facts, below=limit, values=[value])
    found = Disclosure(value, float(exact), lambda: exact, lambda: witness)
    point = requirement.points[0]
    return Verdict(requirement, point, found, found.below(point.below), ())
