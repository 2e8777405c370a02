"""What an adversary who knows the method finds out, as tables grow: shares of the people.

Samples of Adult of 8 to 45,222 people, attacked by `fk.attack` with everybody's exact columns and
the groups: of how many people it proves that a posterior reaches the limit, and of how many that
it is 1; and of how many it cannot say, in its time, that none does.

    python -m benchmarks.known_method [adult.csv [secret]]    measure, which takes half an hour
    python -m benchmarks.known_method --draw       what docs/evidence/known-method.md shows of it
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv

import foreknow as fk
from benchmarks.figures import results
from benchmarks.measure import heading

ADULT = Path("../shared/data/adult.csv")
RESULTS = Path(__file__).parent / "figures" / "results" / "known-method.csv"
IMAGE = Path(__file__).parents[1] / "docs" / "images" / "known-method.svg"
# The secret, the quasi-identifiers, what the adversary knows besides, and the limit.
SETTINGS: dict[str, tuple[Sequence[str], Any, str]] = {
    "relationship": (("age", "education", "race", "sex"), fk.Facts(), "3/4"),
    "workclass": (("age", "marital-status", "race", "sex"), fk.Facts(), "9/10"),
}
METHODS: dict[str, Any] = {
    "Mondrian": fk.Mondrian(),
    "FullDomain": fk.FullDomain(),
    "GSA": fk.Streamliner(variant="gsa"),
    "RDA": fk.Streamliner(variant="rda"),
    "Anatomy": fk.Anatomy(),
    "Decoy": fk.Decoy(),
}
# People of a table, how many such tables, and the seconds for each.
SIZES = (
    *((8, 60, 3.0), (12, 40, 3.0), (20, 30, 3.0), (40, 20, 5.0), (60, 12, 10.0), (100, 8, 15.0)),
    *((300, 4, 30.0), (1_000, 2, 60.0), (3_000, 1, 60.0), (10_000, 1, 120.0), (45_222, 1, 240.0)),
)


def attacked(method: Any, tables: Sequence[fk.Microdata], policy: fk.Policy, seconds: float) -> Any:
    """Add up what attacks on some tables find; None where nothing can be published of any."""
    found = {"tables": 0, "people": 0, "reached": 0, "certain": 0, "open": 0}
    for number, table in enumerate(tables):
        try:
            one = fk.attack(table, method, policy, seconds=seconds, worlds=300_000, seed=number)
        except fk.NoSafeRelease:
            continue
        reached = {r for case in one.breaches if case.exact is not None for r in case.rows}
        likely = {r for case in one.breaches for r in case.rows} - reached
        found["tables"] += 1
        found["people"] += one.n_people
        found["reached"] += len(reached)
        found["certain"] += len(one.certain)
        found["open"] += len((likely | set(one.unsettled)) - reached)
    return found if found["tables"] else None


def measure(adult: Path, secrets: Sequence[str]) -> list[results.Row]:
    """A row for each secret, method and size."""
    everybody, rows = pyarrow.csv.read_csv(adult), []
    for secret in secrets:
        columns, knowledge, limit = SETTINGS[secret]
        schema = fk.Schema(
            quasi_identifiers=columns,
            sensitive=secret,
            hierarchies={"age": fk.Intervals([5, 10, 20, 40])},
        )
        required = [fk.Requirement(knowledge, below=limit)]
        policy = fk.Policy(required, schema, fk.PublishOptions(form="bucketized"))
        for people, many, seconds in SIZES:
            random = np.random.default_rng(people)
            drawn = (random.permutation(everybody.num_rows)[:people] for _ in range(many))
            tables = [fk.Microdata(everybody.take(np.sort(some)), schema) for some in drawn]
            for name, method in METHODS.items():
                start = time.perf_counter()
                found = attacked(method, tables, policy, seconds)
                taken = round((time.perf_counter() - start) / many, 2)
                if found is not None:
                    own = {"secret": secret, "method": name, "size": people}
                    rows.append({**own, **found, "seconds": taken})
                    print(f"  {rows[-1]}", flush=True)
    return rows


# ---- the page -----------------------------------------------------------------------------------


def table(rows: list[results.Row], secret: str) -> str:
    """Shares at the limit or above, in brackets certain; after a plus, those left open."""

    def show(row: results.Row) -> str:
        open_ = f" + {_percent(row['open'], row)} open" if row["open"] else ""
        if not row["reached"]:
            return f"0{open_}"
        return f"{_percent(row['reached'], row)} ({_percent(row['certain'], row)}){open_}"

    own = [{**row, "shown": show(row)} for row in rows if row["secret"] == secret]
    return results.markdown(own, ("size",), "method", lambda row: str(row["shown"]))


def _percent(many: int, row: results.Row) -> str:
    return f"{100 * many / row['people']:.1f}%" if many else "0"


# Places of the figure: its size, and the corners of the plot.
_WIDE, _HIGH, _LEFT, _RIGHT, _TOP, _BOTTOM = 560, 330, 58, 540, 52, 268


def draw(rows: list[results.Row]) -> str:
    """Shares of people at the limit or above by the size of the table, as SVG; bands are open."""
    own = [row for row in rows if row["secret"] == "relationship"]

    def at(size: float, share: float) -> tuple[float, float]:
        low, high = np.log10(8), np.log10(45_222)
        across = (np.log10(size) - low) / (high - low)
        return _LEFT + across * (_RIGHT - _LEFT), _BOTTOM - share * (_BOTTOM - _TOP)

    def text(x: float, y: float, said: str, more: str = "") -> str:
        return f'<text x="{x:.0f}" y="{y:.0f}" {more}>{said}</text>'

    title = "People at the limit or above; shaded: could not be settled"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {_HIGH}" role="img" '
        'font-family="Helvetica, Arial, sans-serif" font-size="17" fill="#1f2933">'
        f"<title>{title}</title>"
        f'<rect width="{_WIDE}" height="{_HIGH}" rx="10" fill="white"/>',
        text(14, 28, title, 'font-weight="bold"'),
    ]
    for percent in (0, 25, 50, 75, 100):
        _, y = at(8, percent / 100)
        parts.append(f'<path d="M{_LEFT} {y:.0f}H{_RIGHT}" stroke="#d5dae0"/>')
        parts.append(text(_LEFT - 8, y + 6, f"{percent}%", 'text-anchor="end"'))
    for size, said in ((8, "8"), (100, "100"), (1_000, "1,000"), (10_000, "10,000")):
        x, _ = at(size, 0)
        parts.append(text(x, _BOTTOM + 22, said, 'text-anchor="middle"'))
    parts.append(text((_LEFT + _RIGHT) / 2, _HIGH - 12, "people in the table", _MIDDLE))
    lines = (
        ("Mondrian", ("Mondrian",), "#b3460e", "", "square"),
        ("FullDomain", ("FullDomain",), "#1f5fa8", "9 5", "circle"),
        (
            "GSA, RDA, Anatomy, Decoy: nobody",
            ("GSA", "RDA", "Anatomy", "Decoy"),
            "#4a525c",
            "2 4",
            "",
        ),
    )
    for place, (name, methods, color, dash, mark) in enumerate(lines):
        y = _TOP + 18 + 24 * place
        parts.append(
            f'<path d="M{_LEFT + 8} {y}h36" stroke="{color}" stroke-width="3" '
            f'stroke-dasharray="{dash}"/>'
        )
        parts.append(text(_LEFT + 52, y + 6, name))
        some = [row for row in own if row["method"] == methods[0]]
        zero = [row for row in own if row["method"] in methods and len(methods) > 1]
        assert not any(row["reached"] or row["open"] for row in zero), name
        top = [at(row["size"], (row["reached"] + row["open"]) / row["people"]) for row in some]
        line = [at(row["size"], row["reached"] / row["people"]) for row in some]
        band = " ".join(f"{x:.1f},{y:.1f}" for x, y in (*line, *reversed(top)))
        parts.append(f'<polygon points="{band}" fill="{color}" opacity=".18"/>')
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in line)
        parts.append(
            f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="3" '
            f'stroke-dasharray="{dash}"/>'
        )
        for x, y in line if mark else ():
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{color}"/>'
                if mark == "circle"
                else f'<path d="M{x - 5:.1f} {y - 5:.1f}h10v10h-10z" fill="{color}"/>'
            )
    return "".join(parts) + "</svg>\n"


_MIDDLE = 'text-anchor="middle"'


def main() -> None:
    given = sys.argv[1:]
    if given != ["--draw"]:
        heading("What an adversary who knows the method finds out of samples of Adult")
        adult, secrets = Path(given[0]) if given else ADULT, given[1:] or [*SETTINGS]
        kept = results.read(RESULTS) if given[1:] else []
        kept = [row for row in kept if row["secret"] not in secrets]
        results.write([*kept, *measure(adult, secrets)], RESULTS)
    rows = results.read(RESULTS)
    IMAGE.write_text(draw(rows), encoding="utf-8")
    for secret in SETTINGS:
        print(f"\n{secret}\n\n{table(rows, secret)}")


if __name__ == "__main__":
    main()
