"""Print the tables of docs/case-study-adult.md: python examples/case_study_adult.py ADULT_CSV."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import foreknow as fk
from foreknow.report.sentences import verdict_sentence

SCHEMA = fk.Schema(
    quasi_identifiers=["age", "marital-status", "race", "sex"], sensitive="occupation"
)
POLICY = fk.Policy([fk.Requirement(fk.Facts(l=4), below="3/4")], SCHEMA)
VALUE, LIMIT = "Exec-managerial", "0.95"
QUESTIONS = [(0, 4, 0), (2, 1, 3), (3, 1, 2)]
PAPER = {(0, 4, 0), (1, 3, 1), (2, 2, 2), (3, 1, 2), (2, 1, 3), (4, 0, 3), (3, 0, 4)}
Point = tuple[int, int, int]


def chance(counts: fk.GroupCounts, point: Sequence[int]) -> fk.Disclosure:
    return fk.Facts(*point).disclosure(counts, VALUE)


def more(point: Point) -> list[Point]:
    """One fact more, of each kind."""
    l, k, m = point  # noqa: E741
    return [(l + 1, k, m), (l, k + 1, m), (l, k, m + 1)]


def skyline(counts: fk.GroupCounts, most: int) -> set[Point]:
    """All points with amounts up to `most` that are safe, while none of one fact more is."""
    amounts = range(most + 1)
    points = [(l, k, m) for l in amounts for k in amounts for m in amounts]  # noqa: E741
    safe = {point for point in points if chance(counts, point).below(LIMIT)}
    if any(max(point) == most for point in safe):
        raise ValueError(f"amounts of {most} are still safe; look further")
    return {point for point in safe if not safe.intersection(more(point))}


def shown(found: fk.Disclosure) -> str:
    return f"{found.exact} = {found.probability:.4f}"


def page(path: Path) -> Iterator[str]:
    raw = fk.Microdata(path, SCHEMA)
    made = {
        form: fk.publish(raw, POLICY, options=fk.PublishOptions(form=form))
        for form in ("generalized", "bucketized")
    }
    yield "| form | people | groups | of, on average | smallest, largest | highest with (4, 0, 0) |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for form, publication in made.items():
        worth, worst = publication.audit.utility, publication.audit.verdicts[0].disclosure
        yield (
            f"| {form} | {worth.people} | {worth.groups} | {worth.average_group_size:.1f} "
            f"| {worth.smallest_group}, {worth.largest_group} | {shown(worst)}, {worst.value} |"
        )
    yield ""
    counts = made["generalized"].release.counts
    asked = [fk.Requirement(fk.Facts(*q), LIMIT, values=[VALUE]) for q in QUESTIONS]
    audit = fk.audit(counts, fk.Policy(asked))
    yield "| (l, k, m) | below 0.95? | highest | one more l | one more k | one more m |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for question, verdict in zip(QUESTIONS, audit.verdicts, strict=True):
        further = " | ".join(shown(chance(counts, point)) for point in more(question))
        word = "safe" if verdict.safe else "unsafe"
        yield f"| {question} | {word} | {shown(verdict.disclosure)} | {further} |"
    yield ""
    for question, verdict in zip(QUESTIONS, audit.verdicts, strict=True):
        yield f"- {question}: {verdict_sentence(verdict, 'occupation')}"
    yield ""
    found = skyline(counts, most=6)
    yield f"Safe at 0.95, while no further fact is: {', '.join(map(str, sorted(found)))}."
    yield f"In the paper: {', '.join(map(str, sorted(PAPER)))}."


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {Path(__file__).name} ADULT_CSV")
    print("\n".join(page(Path(sys.argv[1]))))
