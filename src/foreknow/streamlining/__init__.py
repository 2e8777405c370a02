"""The theory of "Privacy Streamliner" for small tables: colours, candidates, covers, safe sets.

To read the paper with; everything is by enumeration, so ten people are many. A *table* is a mapping
of identifiers to sensitive values; a *partition* a frozen set of frozen sets of identifiers.

| module | what | where in the paper |
| --- | --- | --- |
| `colours` | colours, l-eligibility | section 2.1, example 1 |
| `candidates` | l-candidates and their bijections | definition 1, lemmas 3 and 4, theorem 2 |
| `contained` | self-contained partitions, family sets | definitions 2 and 3, lemma 2 |
| `covers` | cover and l-cover | definitions 4 and 5, theorem 1 |
| `safe_sets` | disclosure sets, LSS, GSS and SGSS | section 1, examples 1 and 2 |

Examples
--------
The motivating example (table 1): any group may hold one value for at most 2/3 of its members.

>>> t0 = {"Ada": "flu", "Bob": "flu", "Coy": "cold", "Dan": "cold", "Eve": "HIV"}
>>> lss = locally_safe(t0, "2/3")
>>> len(lss), len(disclosure_set(lss, t0, "2/3"))
(9, 2)
>>> p7 = partition("Coy Eve", "Ada Bob Dan")
>>> gss = lss - {p7}
>>> len(disclosure_set(gss, t0, "2/3")), is_globally_safe(gss, t0, "2/3")
(4, True)
>>> others = {
...     partition("Ada Eve", "Bob Coy Dan"),
...     partition("Bob Eve", "Ada Coy Dan"),
...     partition("Dan Eve", "Ada Bob Coy"),
... }
>>> sgss = gss - others
>>> len(disclosure_set(sgss, t0, "2/3")), is_strongly_globally_safe(sgss, t0, "2/3")
(10, True)
"""

from foreknow.streamlining.candidates import Candidates, are_candidates, bijections, meets_theorem_2
from foreknow.streamlining.colours import colours, is_eligible, partition
from foreknow.streamlining.contained import (
    family,
    is_family_set,
    is_self_contained,
    minimal_partition,
)
from foreknow.streamlining.covers import are_covers, is_l_cover
from foreknow.streamlining.safe_sets import (
    disclosure_set,
    is_globally_safe,
    is_strongly_globally_safe,
    largest_safe_sets,
    locally_safe,
    worst_posterior,
)

__all__ = [
    "Candidates",
    "are_candidates",
    "are_covers",
    "bijections",
    "colours",
    "disclosure_set",
    "family",
    "is_eligible",
    "is_family_set",
    "is_globally_safe",
    "is_l_cover",
    "is_self_contained",
    "is_strongly_globally_safe",
    "largest_safe_sets",
    "locally_safe",
    "meets_theorem_2",
    "minimal_partition",
    "partition",
    "worst_posterior",
]
