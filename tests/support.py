"""What pages print of the declarations: what works with what (support.md), which criteria exist.

python -m tests.support            writes it anew
"""

from pathlib import Path

import pyarrow as pa

import foreknow as fk
from foreknow.adversaries.registry import ADVERSARIES
from foreknow.criteria.registry import CRITERIA, OURS
from foreknow.features.attacks.worlds import ATTACK
from foreknow.features.skylines.survey import SURVEY
from foreknow.methods.protocol import traits_of
from foreknow.methods.registry import METHODS
from foreknow.needs import Need

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
MARK = "<!-- printed -->"
POPULATION = pa.table({"age": ["20", "30"] * 4})
PRIORS = pa.table({"age": ["20", "30"] * 2, "value": list("aabb"), "probability": ["1/2"] * 4})

# One of each kind; of t-closeness, one of each sort of distance.
KNOWLEDGE = [fk.Facts(1, 1, 1), fk.Implications(1), fk.Negations(1), fk.Priors(PRIORS)]
ASKED = [fk.Statements("x != a"), fk.Algorithm(fk.Mondrian()), fk.Learned(by=["age"])]
RULES = [
    *(fk.KAnonymity(2), fk.GroupSize(2), fk.LDiversity(2), fk.AlphaK(0.9, 2)),
    *(fk.TCloseness(0.9), fk.TCloseness(0.9, "ordered"), fk.BetaLikeness(3), fk.DeltaDisclosure(3)),
    *(fk.KMap(2, POPULATION), fk.DeltaPresence(0, 1, POPULATION)),
    *(fk.Risk(1), fk.PopulationRisk(1, population=POPULATION)),
    fk.Levels({"age": {"top": 90}}),
]
MAKERS = {
    "mondrian": fk.Mondrian(),
    "decoy": fk.Decoy(),
    "fulldomain": fk.FullDomain(),
    "anatomy": fk.Anatomy(l=2),
    "art": fk.ART(r=4, priors=fk.Priors(PRIORS)),
    "streamliner": fk.Streamliner(l=2),
    "jump": fk.Jump(),
    "safe": fk.Safe(),
    "naive": fk.Naive(),
}

# The column of the page's tables that says "no" if somebody has a need.
REFUSED = {
    Need.ONE_VALUE: "several values",
    Need.ONE_COLUMN: "several columns",
    Need.PEOPLE: "counts alone",
    Need.NO_WINDOWS: "`within`",
    Need.EVERYBODY: "`impossible`",
    Need.NO_HOUSEHOLDS: "`shared`",
    Need.NO_SETS: "`any_of`",
    Need.ABSOLUTE: "`at_most`",
    Need.FINISHED: "search",
}
# What "yes" in these columns means.
TERMS = {
    "several values": 'people may have several sensitive values (`semantics = "set"` or '
    '`"multiset"`)',
    "several columns": "several columns are sensitive, or the adversary knows further columns "
    "(`knowing`)",
    "counts alone": "it can also be computed from `GroupCounts`, without a table of people",
    "`within`": "near numbers or dates may be one secret",
    "`impossible`": "some people cannot have some values",
    "`shared`": "households may share values",
    "`any_of`": "a set of values may be one secret; also `at_level`",
    "`at_most`": "the limit may be `at_most` or `at_most_times`",
    "search": "a method that searches, such as Mondrian, checks it whenever it divides a group",
}


def everything_is_here():
    """Whether there is one of every kind that is registered, in their order."""
    for name, here, registered in (
        ("KNOWLEDGE", list(map(type, KNOWLEDGE)), [*ADVERSARIES.values()]),
        ("RULES", list(dict.fromkeys(map(type, RULES))), [*CRITERIA.values()]),
        ("MAKERS", list(MAKERS), [key for key, _ in METHODS]),
    ):
        lacking = [each for each in registered if each not in here]
        assert not lacking, f"add one of {lacking} to {name} in tests/support.py"
        assert here == registered, f"{name} in tests/support.py is in another order than registered"


def table(first, rows, needs):
    """A table of Markdown: which settings kinds of one sort work with; equal rows are one row."""
    names_of = {}
    for name, refused_needs in rows:
        cells = tuple("no" if need in refused_needs else "yes" for need in needs)
        names_of.setdefault(cells, []).append(name)
    heads = [REFUSED[need] for need in needs]
    lines = [["", first, *heads, ""], ["", *["---"] * (1 + len(heads)), ""]]
    lines += [["", ", ".join(names), *cells, ""] for cells, names in names_of.items()]
    return "\n".join(" | ".join(line).strip() for line in lines)


# Which t-closeness it is, by its distance.
KINDS = {"equal": " (equal)", "ordered": " (ordered or hierarchical)"}

UNSEARCHED = """\
If *search* is "no", the methods that search act as follows:

| knowledge or criterion | Mondrian and FullDomain |
| --- | --- |
| `priors` | refuse a policy with `priors` alone. If `priors` have `facts` on top, they search for \
groups that withstand the facts alone, and then check the finished release |
| `levels` | coarsen the columns before the search |
| `k_map`, `delta_presence`, `population_risk` | check only the finished release |"""


def printed():
    """The tables of the page."""
    everything_is_here()
    knowledge = [(f"`{one.key}`", one.needs) for one in KNOWLEDGE]
    knowledge += [(f"`fk.{type(one).__name__}`", one.needs) for one in ASKED]
    rules = [
        (
            f"`{rule.key}`" + KINDS.get(getattr(rule, "distance", ""), ""),
            rule.needs,
        )
        for rule in RULES
    ]
    makers = [(f"`{key}`", traits_of(maker).needs) for key, maker in MAKERS.items()]
    analyses = [("`foreknow survey`", SURVEY.needs), ("`foreknow attack`", ATTACK.needs)]
    of_table = (Need.ONE_VALUE, Need.ONE_COLUMN)
    of_rules = (Need.ONE_VALUE, Need.NO_WINDOWS, Need.NO_SETS, Need.FINISHED)
    of_others = (Need.ONE_COLUMN, Need.NO_HOUSEHOLDS)
    of_knowledge = [need for need in REFUSED if need not in of_others]
    of_analyses = (*of_table, Need.NO_WINDOWS, Need.ABSOLUTE, Need.EVERYBODY, Need.NO_HOUSEHOLDS)
    terms = [f"| {head} | {meaning} |" for head, meaning in TERMS.items()]
    return "\n\n".join(
        (
            "## How to read the tables",
            "*yes*: Foreknow computes the combination, except for those in the [last table]"
            "(#combinations-that-are-refused). *no*: Foreknow refuses it.",
            "\n".join(["| column | *yes* means |", "| --- | --- |", *terms]),
            "## Knowledge",
            table("knowledge", knowledge, of_knowledge),
            "`fk.Statements` and `fk.Learned` cannot be requirements. `fk.Algorithm` can be one in "
            "Python, but not in a policy file.",
            "## Criteria",
            table("criterion", rules, of_rules),
            "## Searches",
            UNSEARCHED,
            "## Methods",
            table("method", makers, (*of_table, Need.EVERYBODY)),
            "## Analyses",
            table("analysis", analyses, of_analyses),
            "## Combinations that are refused",
            "In Python, the error has the code in its attribute `code`. *Links* are explained in "
            "[choosing an adversary](../decide/adversary.md#what-each-one-can-express), *priors* "
            "in [use public statistics](../do/statistics.md), and the other words in the "
            "[policy file](policy-file.md).",
            refused(),
        )
    )


# Combinations that nobody judges: the code of the error, what is refused, and the way out.
REFUSED_ROWS = """\
relative-links | `at_most_times`, for `priors` with links on top (`m` above 0) | set `m = 0`, or \
give `below` or `at_most`
whole-after | `--whole` with `--after` | leave `--whole` out; then only the new people are published
bucketized-sets | several values per person in the bucketized form | {generalized}
bucketized-shared | `shared` in the bucketized form | {generalized}, or publish a table with one \
row for each household
shuffled-known | `knowing` with a column in `unlinked`, if the secret is in `unlinked`, too | \
leave the column out of `knowing`, or take one of the two out of `unlinked`
impossible-linked | {ruled}; only `negations`, and `facts` with `m = 0`, are computed | {name_it}
impossible-linked | {ruled}, if the requirement has `within`, or people have several rows | \
{name_it}
priors-beside | `priors` by a column that is published as it is, if `knowing` leaves this column \
out | name the column in `knowing`, or leave `knowing` out
priors-beside | `priors` by a column in `unlinked`, if `knowing` names other columns | take the \
column out of `unlinked`
""".format(
    generalized='write `form = "generalized"` in `[publish]`',
    ruled="`impossible` with a rule on another sensitive column that `knowing` leaves out",
    name_it="name that column in `knowing`, or publish one of the two columns in `unlinked`",
)
UNSUPPORTED = tuple(dict.fromkeys(row.split(" | ")[0] for row in REFUSED_ROWS.splitlines()))


def refused():
    """The table of combinations that nobody judges."""
    rows = ["| refused | code | way out |", "| --- | --- | --- |"]
    for line in REFUSED_ROWS.splitlines():
        code, combination, way_out = line.split(" | ")
        rows.append(f"| {combination} | `{code}` | {way_out} |")
    return "\n".join(rows)


def named():
    """The classes of criteria, for the page of the Python API."""
    return "\n".join(f"::: foreknow.{kind.__name__}" for kind in map(CRITERIA.__getitem__, OURS))


# What stands between the marks of pages.
PRINTED = {"support.md": printed, "python-publish.md": named}


def main():
    """Write it anew, between the marks of each page."""
    for name, text in PRINTED.items():
        before, _, after = (REFERENCE / name).read_text("utf-8").split(MARK)
        message = f"{before}{MARK}\n\n{text()}\n\n{MARK}{after}"
        (REFERENCE / name).write_text(message, "utf-8")


if __name__ == "__main__":
    main()
