"""Print models on a release and on its raw table, as docs/do/work-with-a-release.md sums up.

    python examples/models_on_a_release.py [ADULT_CSV]

Publishes the bundled sample, and Adult if it is given, fits logistic models to the raw table, to
tables drawn from the release, and to the middles of its labels, and prints how near they come.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import foreknow as fk
from foreknow import sample

DRAWS = 5
ADULT = {
    "schema": {
        "quasi_identifiers": ["age", "education-num", "marital-status", "race", "sex"],
        "sensitive": "occupation",
        "other": ["income"],
    },
    "require": [{"knowing": [], "facts": {"l": 1, "k": 3, "m": 1}, "below": 0.5}],
}


def fitted(x: Any, y: Any) -> Any:
    """Coefficients of a logistic model with an intercept, by Newton's method."""
    x = np.column_stack([np.ones(len(x)), x])
    beta = np.zeros(x.shape[1])
    for _ in range(25):
        chance = 1 / (1 + np.exp(-x @ beta))
        weight = chance * (1 - chance)
        beta += np.linalg.solve(x.T @ (x * weight[:, None]), x.T @ (y - chance))
    return beta


def auc(beta: Any, x: Any, y: Any) -> float:
    """How often somebody with the value is put before somebody without, among raw people."""
    order = np.argsort(np.argsort(x @ beta[1:], kind="stable"))
    n = int(y.sum())
    return float((order[y == 1].sum() - n * (n - 1) / 2) / (n * (len(y) - n)))


def sample_model(table: Any) -> tuple[Any, Any]:
    """Hypertension by age and sex."""
    x = np.column_stack([table["age"] / 10, table["sex"] == "M"]).astype(float)
    return x, np.array(table["diagnosis"] == "Hypertension", float)


def adult_model(table: Any) -> tuple[Any, Any]:
    """A manager by age, years of education, marriage, sex and income."""
    x = [table["age"] / 10, table["education-num"], table["marital-status"] == "Married-civ-spouse"]
    x += [table["sex"] == "Male", table["income"] == ">50K"]
    return np.column_stack(x).astype(float), np.array(
        table["occupation"] == "Exec-managerial", float
    )


def middles(folder: Path, names: list[str]) -> Any:
    """The release with the middle of each label of numbers, and no row whose label says nothing."""
    table = fk.read_release(folder)
    return table.assign(**{name: table[f"{name}_middle"] for name in names}).dropna(subset=names)


def rows(
    title: str,
    table: Any,
    policy: Any,
    model: Callable[[Any], tuple[Any, Any]],
    terms: list[str],
    numbers: list[str],
) -> Iterator[list[str]]:
    """Lines of the table that is printed."""
    import pandas as pd

    raw = pd.read_csv(table)
    x, y = model(raw)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "release"
        made = fk.publish(table, policy, seed=1)
        made.write(folder)
        draws = [fitted(*model(fk.draw(folder, seed=seed))) for seed in range(DRAWS)]
        middle = fitted(*model(middles(folder, numbers)))
    truth = fitted(x, y)
    for at, term in enumerate(terms, 1):
        own = [beta[at] for beta in draws]
        yield [
            title, term, f"{truth[at]:.2f}", f"{np.mean(own):.2f}",
            f"{min(own):.2f} to {max(own):.2f}", f"{middle[at]:.2f}",
        ]  # fmt: skip
    areas = [auc(beta, x, y) for beta in draws]
    yield [
        title, "AUC on raw people", f"{auc(truth, x, y):.3f}", f"{np.mean(areas):.3f}",
        f"{min(areas):.3f} to {max(areas):.3f}", f"{auc(middle, x, y):.3f}",
    ]  # fmt: skip


def main() -> None:
    """Print a table in Markdown."""
    found = list(
        rows(
            "sample: hypertension", sample.table_path(), sample.policy_path(), sample_model,
            ["age, 10 years", "man"], ["age"],
        )
    )  # fmt: skip
    if len(sys.argv) > 1:
        terms = ["age, 10 years", "education, a year", "married", "man", "income over 50,000"]
        numbers = ["age", "education-num"]
        found += rows("Adult: manager", sys.argv[1], ADULT, adult_model, terms, numbers)
    print("| model | term | raw | five draws | from, to | middles |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in found:
        print("|", " | ".join(row), "|")


if __name__ == "__main__":
    main()
