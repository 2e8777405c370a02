"""Models and cross tables on the raw table, and on its releases by three methods.

    python -m benchmarks.models [--adult FILE] [--crashes FILE] [--page docs/evidence/models.md]

Publishes the bundled sample, the health and the survey table of `examples/data`, and where they are
given Adult (`adult.csv`) and car crashes (`nassCDS.csv`, the data set `nassCDS` of the R package
DAAG), by Mondrian, Decoy and FullDomain. Prints, as Markdown, how models and cross tables come out;
a page gets it between its marks. FullDomain is given hierarchies, without which it could only keep
a number or drop it; the others are not, which serves them best.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import foreknow as fk
from benchmarks.measure import heading
from benchmarks.register import policy_of_diagnoses
from foreknow import sample
from foreknow.features.utility.models import CrossTable, Fit, Models

METHODS = ("mondrian", "decoy", "fulldomain")
DATA = Path(__file__).parents[1] / "examples" / "data"
MARK = "<!-- {} -->"


@dataclass(frozen=True)
class Case:
    """A table, its policy, and what models explain."""

    name: str
    path: Path | str
    rules: Any
    targets: list[str]
    intervals: dict[str, list[int]] = field(default_factory=dict)

    def policy(self, method: str) -> fk.Policy:
        """The policy; with hierarchies of numbers for full-domain generalization."""
        policy = fk.Policy.of(self.rules)
        if method != "fulldomain":
            return policy
        laid = {name: fk.Intervals(widths) for name, widths in self.intervals.items()}
        schema = policy.needed_schema
        hierarchies = {**schema.hierarchies, **laid}
        return replace(policy, schema=replace(schema, hierarchies=hierarchies))


def rules(
    quasi_identifiers: str, sensitive: str, below: float, harmless: str | None = None, **schema: Any
) -> dict[str, Any]:
    known: dict[str, Any] = {
        "quasi_identifiers": quasi_identifiers.split(),
        "sensitive": sensitive,
        **schema,
    }
    required: dict[str, Any] = {"knowing": [], "facts": {"l": 1, "k": 3, "m": 1}, "below": below}
    if harmless is not None:
        required["except"] = [harmless]
    return {"schema": known, "require": [required]}


def cases(adult: Path | None, crashes: Path | None) -> Iterator[Case]:
    yield Case(
        "hospital", sample.table_path(), policy_of_diagnoses(), ["diagnosis=Hypertension", "age"],
        {"age": [10, 20, 40]},
    )  # fmt: skip
    if adult is not None:
        yield Case(
            "Adult", adult,
            rules(
                "age education-num marital-status race sex", "occupation", 0.5, other=["income"]
            ),
            ["occupation=Exec-managerial", "education-num"],
            {"age": [5, 10, 20, 40], "education-num": [2, 4, 8]},
        )  # fmt: skip
    if crashes is not None:
        yield Case(
            "crashes", crashes,
            rules(
                "ageOFocc sex yearVeh occRole yearacc", "injSeverity", 0.8,
                other=["dvcat", "seatbelt"], missing="drop",
            ),
            ["injSeverity=3.0", "ageOFocc"],
            {"ageOFocc": [5, 10, 20, 40], "yearVeh": [2, 4, 8, 16], "yearacc": [2, 4]},
        )  # fmt: skip
    yield Case(
        "health", DATA / "health.csv",
        rules("age sex race income marital school", "alcoholfreq", 0.8, other=["asthma"]),
        ["alcoholfreq=0", "school"],
        {"age": [5, 10, 20], "income": [2, 4, 8], "school": [2, 4, 8], "marital": [2, 4]},
    )  # fmt: skip
    yield Case(
        "survey", DATA / "survey.csv",
        rules("gender age yearsmarried children education", "affairs", 0.5, "0", other=["rating"]),
        ["affairs=0", "education"],
        {"age": [10, 20], "yearsmarried": [5, 10], "education": [2, 4, 8]},
    )  # fmt: skip


def of(case: Case, method: str) -> fk.UtilityReport | None:
    """What is measured of a release; None where there is none."""
    policy = case.policy(method)
    microdata = policy.microdata(case.path)
    try:
        made = fk.publish(microdata, policy, method=method, seed=0, learned=False)
    except fk.NoSafeRelease as error:
        print(f"  {case.name}, {method}: {error}")
        return None
    # All methods are asked the queries of the columns as they are.
    like = case.policy("mondrian").microdata(case.path)
    return fk.utility_report(made, microdata, models=case.targets, like=like)


def figure(given: float | None, share: bool = False) -> str:
    if given is None:
        return "–"
    return f"{given:.1%}" if share else f"{given:.3f}"


def fit_of(found: Models, kind: str, at: int = 0) -> Fit:
    return [fit for fit in found.fits if fit.kind == kind][at]


def models(case: Case, found: list[fk.UtilityReport | None]) -> Iterator[list[str]]:
    """Lines on the models of one table."""
    first = next(own.models for own in found if own is not None and own.models is not None)
    for kind in ("logistic", "linear", "tree"):
        raw = fit_of(first, kind)
        name = raw.target if raw.value is None else f"{raw.target} = {raw.value}"
        each = [None if own is None else fit_of(own.models, kind) for own in found]
        said = [figure(fit and fit.score.usual) for fit in each]
        base = figure(raw.baseline)
        yield [case.name, f"{kind}: {name}", raw.measure, base, figure(raw.score.raw), *said]


# Tables whose coefficients the page shows.
SHOWN = ("hospital", "Adult", "survey")
LARGE = 0.3


def coefficients(case: Case, found: list[fk.UtilityReport | None]) -> Iterator[list[str]]:
    """Coefficients of the logistic model of one table: large ones, and those that change sign."""
    each = [None if own is None else fit_of(own.models, "logistic").coefficients for own in found]
    first = next(own for own in each if own is not None)
    for at, term in enumerate(first):
        mondrian = each[0][at].usual if each[0] else None
        if abs(term.raw) < LARGE and not (mondrian and mondrian * term.raw < 0):
            continue
        said = [figure(own and own[at].usual) for own in each]
        yield [case.name, term.of, figure(term.raw), *said]


# Small tables, of which only the cross tables that Mondrian changes most are printed.
SMALL = ("health", "survey")


def tables(case: Case, found: list[fk.UtilityReport | None]) -> Iterator[list[str]]:
    """Lines on cross tables and counts of one table."""
    some = [None if own is None else own.models for own in found]
    first = next(own for own in some if own is not None)
    named = case.targets[0].partition("=")[0]
    for at, own in enumerate(first.tables):
        if own.columns[0] == named:
            each = [None if one is None else one.tables[at] for one in some]
            if all(one is not None and one.misplaced.drawn < 0.05 for one in each):
                continue  # no method changes it much
            if case.name in SMALL and (each[0] is None or each[0].misplaced.drawn < 0.2):
                continue
            said = ["–" if one is None else beside(one) for one in each]
            raw = f"{own.measure} {figure(own.association.raw)}"
            yield [case.name, " × ".join(own.columns), raw, *said]
    said = [figure(own and own.errors[-1].median, True) for own in found]
    yield [case.name, "median error of a count by all quasi-identifiers", "", *said]
    said = [figure(own and own.utility.average_ncp, True) for own in found]
    yield [case.name, "NCP", "", *said]


def beside(own: CrossTable) -> str:
    """How two columns go together by drawn tables, and people in another cell."""
    return f"{figure(own.association.drawn)}, {figure(own.misplaced.drawn, True)}"


def printed(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--crashes", type=Path)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    heading("Models and cross tables on releases")
    parts: dict[str, list[list[str]]] = {"models": [], "coefficients": [], "tables": []}
    for case in cases(given.adult, given.crashes):
        begun = time.perf_counter()
        found = [of(case, method) for method in METHODS]
        print(f"  {case.name}: {time.perf_counter() - begun:.0f} s")
        parts["models"] += models(case, found)
        if case.name in SHOWN:
            parts["coefficients"] += coefficients(case, found)
        parts["tables"] += tables(case, found)
    methods = ["Mondrian", "Decoy", "FullDomain"]
    heads = {
        "models": ["table", "model", "on raw people", "without", "raw", *methods],
        "coefficients": ["table", "term", "raw", *methods],
        "tables": ["table", "columns, or figure", "raw", *methods],
    }
    page = None if given.page is None else given.page.read_text("utf-8")
    for name, rows in parts.items():
        text = printed(heads[name], rows)
        print(f"\n{text}")
        if page is not None:
            mark = MARK.format(name)
            before, _, after = page.split(mark)
            page = f"{before}{mark}\n\n{text}\n\n{mark}{after}"
    if page is not None:
        given.page.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
