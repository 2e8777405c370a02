"""What pages print of the declarations: what serves what (support.md), which criteria there are.

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
from foreknow_judge.criteria.gauges import GAUGES
from foreknow_judge.knowledge.verifiers import VERIFIERS
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

# What the page says is refused, where somebody has a need.
REFUSED = {
    Need.ONE_VALUE: "several values per person",
    Need.ONE_COLUMN: "several columns",
    Need.PEOPLE: "counts alone",
    Need.NO_WINDOWS: "`within`",
    Need.EVERYBODY: "`impossible`",
    Need.NO_HOUSEHOLDS: "`shared`",
    Need.NO_SETS: "`any_of`, `at_level`",
    Need.ABSOLUTE: "`at_most`, `at_most_times`",
    Need.FINISHED: "a search",
    Need.NAMES: "a requirement",
    Need.TRIAL: "a requirement",
    Need.POPULATION: "no population",
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
    """A table of Markdown: kinds of one sort, and what cannot be combined with each."""
    heads = list(dict.fromkeys(REFUSED[need] for need in needs))
    lines = [f"| {first} | cannot be combined with |", "| --- | --- |"]
    for name, refused_needs in rows:
        lacking = {REFUSED[need] for need in refused_needs}
        lines.append(f"| {name} | {'; '.join(head for head in heads if head in lacking) or '–'} |")
    return "\n".join(lines)


def printed():
    """The tables of the page."""
    everything_is_here()
    knowledge = [(f"`{one.key}`", one.needs) for one in KNOWLEDGE]
    knowledge += [(f"`fk.{type(one).__name__}`, in Python", one.needs) for one in ASKED]
    rules = [
        (
            f"`{rule.key}`" + (", ordered or hierarchical" if rule_is_ordered(rule) else ""),
            rule.needs,
        )
        for rule in RULES
    ]
    makers = [(f"`{key}`", traits_of(maker).needs) for key, maker in MAKERS.items()]
    analyses = [
        ("a survey (`foreknow survey`)", SURVEY.needs),
        ("an attack (`foreknow attack`)", ATTACK.needs),
    ]
    of_table = (Need.ONE_VALUE, Need.ONE_COLUMN)
    of_rules = (Need.ONE_VALUE, Need.NO_WINDOWS, Need.NO_SETS, Need.FINISHED, Need.POPULATION)
    of_others = (Need.ONE_COLUMN, Need.POPULATION, Need.NO_HOUSEHOLDS)
    of_knowledge = [need for need in REFUSED if need not in of_others]
    of_analyses = (*of_table, Need.NO_WINDOWS, Need.ABSOLUTE, Need.EVERYBODY, Need.NO_HOUSEHOLDS)
    return "\n\n".join(
        (
            "## Combinations that are refused",
            refused(),
            "## What cannot be combined",
            TERMS,
            table("knowledge", knowledge, of_knowledge),
            table("criterion", rules, of_rules),
            table("method", makers, of_table),
            table("analysis", analyses, of_analyses),
            "## What the judge supports",
            JUDGED,
            judged(),
        )
    )


JUDGED = (
    "The judge is the part that checks a finished release. For the settings below, it needs extra "
    "code for each kind of knowledge and each criterion. A kind without a row, such as "
    "`implications`, is judged only without these settings."
)
TERMS = """\
| term | meaning |
| --- | --- |
| several values per person | `semantics = "set"` or `"multiset"` |
| several columns | several sensitive columns, or columns that the adversary knows (`knowing`) |
| counts alone | `GroupCounts`, or a release without its table of people |
| a search | use by methods such as Mondrian, which check the limit whenever they divide a group. \
Without this, they check only the finished release; for `levels`, they coarsen columns before |
| no population | the criterion needs the table of a population |"""

UNSUPPORTED = (
    "relative-links",
    "whole-after",
    "bucketized-sets",
    "bucketized-shared",
    "shuffled-known",
    "impossible-linked",
    "priors-beside",
)


def refused():
    """The table of combinations that nobody judges."""
    rows = []
    for code in UNSUPPORTED:
        title, _, way_out = MESSAGES[code]
        rows.append(f"| {title} | `{code}` | {way_out} |")
    return "\n".join(["| refused | code | way out |", "| --- | --- | --- |", *rows])


def judged():
    """What each kind of knowledge and each criterion supports, by the declarations of the judge."""
    heads = ("several values per person", "`within`", "`impossible`", "a limit relative to priors")
    of_knowledge = {
        key: (judge.of_several, judge.of_windows, judge.of_rules, judge.relative)
        for key, judge in VERIFIERS.items()
    }
    other = ("several values per person", "a population", "it looks only at labels")
    of_criteria = {
        key: (gauge.of_people, gauge.of_population, gauge.of_labels)
        for key, gauge in GAUGES.items()
    }
    return "\n\n".join(
        (
            flags("knowledge", heads, of_knowledge),
            flags("criterion", other, of_criteria),
        )
    )


def flags(first, heads, rows):
    """A table of Markdown: who, and what of it the judge supports."""
    lines = [f"| {first} | the judge supports with it |", "| --- | --- |"]
    for key, supported in rows.items():
        served = [head for head, one in zip(heads, supported, strict=True) if one]
        if served:
            lines.append(f"| `{key}` | {'; '.join(served)} |")
    return "\n".join(lines)


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
