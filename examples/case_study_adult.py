"""Print the tables of docs/evidence/adult.md: python examples/case_study_adult.py ADULT_CSV.

With --write, they are written into that page anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import foreknow as fk
from foreknow.report.pages.audit import verdict_sentence

SCHEMA = fk.Schema(
    quasi_identifiers=["age", "marital-status", "race", "sex"], sensitive="occupation"
)
POLICY = fk.Policy([fk.Requirement(fk.Facts(l=4), below="3/4")], SCHEMA)
# As in the paper: with ages in steps of 2, the two forms would have other groups.
EXACT = {"age": "exact"}
VALUE, LIMIT = "Exec-managerial", "0.95"
ASKED = [(0, 4, 0), (0, 5, 0)]
FROM, TO = "<!-- printed by examples/case_study_adult.py -->\n", "<!-- end -->"
Point = tuple[int, int, int]


def more(point: Point) -> list[Point]:
    """One fact more, of each kind."""
    l, k, m = point  # noqa: E741
    return [(l + 1, k, m), (l, k + 1, m), (l, k, m + 1)]


def withstood(skyline: list[Point]) -> set[Point]:
    """All points with no more of anything than some point of the skyline."""
    return {p for top in skyline for p in product(*(range(amount + 1) for amount in top))}


def shown(found: fk.Disclosure) -> str:
    return f"{found.exact} = {found.probability:.4f}"


def listed(points: list[Point]) -> str:
    return ", ".join(map(str, sorted(points)))


def release(publications: dict[str, fk.Publication]) -> Iterator[str]:
    """What is published, in both forms."""
    yield "The last column is the highest probability of an occupation, if an adversary rules out"
    yield "four others for a person:"
    yield ""
    yield "| form | people | groups | mean size | smallest, largest | highest with (4, 0, 0) |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for form, made in publications.items():
        worth, worst = made.audit.utility, made.audit.verdicts[0].disclosure
        yield (
            f"| {form} | {worth.people} | {worth.groups} | {worth.average_group_size:.1f} "
            f"| {worth.smallest_group}, {worth.largest_group} | {shown(worst)}, {worst.value} |"
        )


def executives(counts: fk.GroupCounts) -> Iterator[str]:
    """The knowledge skyline of one occupation, and one fact beyond it."""
    skyline = fk.knowledge_skyline(counts, value=VALUE, confidence=LIMIT)
    yield f"The [skyline](../do/skylines-and-curves.md) of `{VALUE}`: the largest amounts with"
    yield "which an adversary stays less than 95% sure. The last three columns are the"
    yield "probabilities after one more fact:"
    yield ""
    yield "| (l, k, m) | highest probability | one more l | one more k | one more m |"
    yield "| --- | --- | --- | --- | --- |"
    for point in skyline:
        found = [fk.Facts(*p).disclosure(counts, VALUE) for p in (point, *more(point))]
        first, *rest = found
        yield f"| {point} | {shown(first)} | {' | '.join(str(one.exact) for one in rest)} |"


def sentences(counts: fk.GroupCounts) -> Iterator[str]:
    """Some points in words."""
    yield "Two amounts in words:"
    yield ""
    asked = [fk.Requirement(fk.Facts(*point), LIMIT, values=[VALUE]) for point in ASKED]
    for point, verdict in zip(ASKED, fk.audit(counts, fk.Policy(asked)).verdicts, strict=True):
        word = "safe" if verdict.safe else "**unsafe**"
        yield f"- {point}, {word}: {verdict_sentence(verdict, 'occupation')}"


def occupations(counts: fk.GroupCounts) -> Iterator[str]:
    """The skylines of all occupations, weakest first."""
    skylines = fk.knowledge_skylines(counts, confidence=LIMIT)
    safe = {value: withstood(skyline) for value, skyline in skylines.items()}
    order = sorted(skylines, key=lambda value: (len(safe[value]), value))
    alike: dict[tuple[int, ...], list[str]] = {}
    for value in order:
        alone = tuple(max(point[kind] for point in skylines[value]) for kind in range(3))
        alike.setdefault(alone, []).append(f"{value} ({counts.totals[counts.code(value)]})")
    yield "All occupations. The first column has the largest l, k and m that leave an adversary"
    yield "less than 95% sure, if all facts are of one kind:"
    yield ""
    yield "| l, k, m | occupations (people) |"
    yield "| --- | --- |"
    for alone, values in alike.items():
        yield f"| {', '.join(map(str, alone))} | {', '.join(values)} |"
    everywhere = set.intersection(*safe.values())
    where = "every occupation" if everywhere == safe[order[0]] else f"{order[0]} only"
    yield ""
    yield f"An adversary who combines facts stays less than 95% sure of {where} with these amounts,"
    yield f"and with smaller ones: {listed(skylines[order[0]])}."


def page(path: Path) -> Iterator[str]:
    raw = fk.Microdata(path, SCHEMA)
    made = {
        form: fk.publish(raw, POLICY, options=fk.PublishOptions(form=form, labels=EXACT))
        for form in ("generalized", "bucketized")
    }
    counts = made["generalized"].release.counts
    yield from release(made)
    for part in (executives, sentences, occupations):
        yield ""
        yield from part(counts)


def write(printed: str) -> None:
    """Write the page anew, between its marks."""
    path = Path(__file__).parents[1] / "docs" / "evidence" / "adult.md"
    before, rest = path.read_text("utf-8").split(FROM)
    path.write_text(f"{before}{FROM}{printed}\n{TO}{rest.partition(TO)[2]}", "utf-8")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--write"]):
        sys.exit(f"usage: python {Path(__file__).name} ADULT_CSV [--write]")
    text = "\n".join(page(Path(sys.argv[1])))
    write(text) if sys.argv[2:] else print(text)
