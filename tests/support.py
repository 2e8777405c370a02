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
from foreknow_judge.messages import MESSAGES

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
    "counts alone": "it is computed from `GroupCounts`, too, without a table of people",
    "`within`": "near numbers or dates may be one secret",
    "`impossible`": "some people cannot have some values",
    "`shared`": "households may share values",
    "`any_of`": "a set of values may be one secret; also `at_level`",
    "`at_most`": "the limit may be `at_most` or `at_most_times`",
    "search": "a method such as Mondrian checks it whenever it divides a group",
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


UNSEARCHED = """\
If *search* is "no", the methods that search act as follows:

| knowledge or criterion | Mondrian and FullDomain |
| --- | --- |
| `priors` | refuse a policy with `priors` alone; with `facts` on top, they search by the facts |
| `levels` | first coarsen the columns |
| `k_map`, `delta_presence`, `population_risk` | check the finished release by a table of the \
population |"""


def printed():
    """The tables of the page."""
    everything_is_here()
    knowledge = [(f"`{one.key}`", one.needs) for one in KNOWLEDGE]
    knowledge += [(f"`fk.{type(one).__name__}`", one.needs) for one in ASKED]
    rules = [
        (
            f"`{rule.key}`" + (" (ordered or hierarchical)" if rule_is_ordered(rule) else ""),
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
            "The last three have no key in `[[require]]`. Of these, only `fk.Algorithm` can be a "
            "requirement in Python.",
            "## Criteria",
            table("criterion", rules, of_rules),
            "## Searches",
            UNSEARCHED,
            "## Methods",
            table("method", makers, (*of_table, Need.EVERYBODY)),
            "## Analyses",
            table("analysis", analyses, of_analyses),
            "## Combinations that are refused",
            "In Python, the error has the code in its attribute `code`.",
            refused(),
        )
    )


UNSUPPORTED = (
    "relative-links",
    "whole-after",
    "bucketized-sets",
    "bucketized-shared",
    "shuffled-known",
    "impossible-linked",
    "priors-beside",
)


# Titles that the page says more plainly than an error.
PLAIN = {
    "relative-links": "`at_most_times`, if the adversary has links (`m` above 0)",
    "bucketized-sets": "several values per person in the bucketized form",
    "bucketized-shared": "`shared` in the bucketized form",
    "shuffled-known": "`knowing` with a shuffled column, if the secret is shuffled, too",
    "impossible-linked": "`impossible` with a rule on a column that is published beside the secret,"
    " in four cases: links (`m` above 0); knowledge other than facts and negations; `within`; "
    "several cases per person",
    "priors-beside": "`priors` by a column beside the secret, if `knowing` leaves this column out; "
    "`priors` by a shuffled column, if `knowing` names other columns",
}


def refused():
    """The table of combinations that nobody judges."""
    rows = []
    for code in UNSUPPORTED:
        title, _, way_out = MESSAGES[code]
        rows.append(f"| {PLAIN.get(code, title)} | `{code}` | {way_out} |")
    return "\n".join(["| refused | code | way out |", "| --- | --- | --- |", *rows])


def rule_is_ordered(rule):
    """Whether it is the t-closeness of values in an order."""
    return isinstance(rule, fk.TCloseness) and rule.distance != "equal"


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
