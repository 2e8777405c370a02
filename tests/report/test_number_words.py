"""The scripts that redraw the figures of "Privacy Streamliner", on small tables."""

import logging
import sys

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.figures import __main__ as measuring
from benchmarks.figures import drawing, panels, results
from pyarrow import csv

ROWS = 300
METHODS = {"RDA", "GDA", "GSA", "Mondrian", "Anatomy"}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Everything measured once, as the command line does it."""
    to = tmp_path_factory.mktemp("figures")
    random = np.random.default_rng(1)
    sizes = {"age": 70, "marital-status": 7, "race": 5, "sex": 2, "occupation": 14}
    people = {name: random.integers(0, size, ROWS) for name, size in sizes.items()}
    csv.write_csv(pa.table(people), to / "adult.csv")
    logger = logging.getLogger("foreknow")
    before = logger.level
    with pytest.MonkeyPatch.context() as patch:
        size = ["--l", "3", "6", "--rows", str(ROWS)]
        given = [*size, "--to", str(to), "--adult", str(to / "adult.csv")]
        patch.setattr(sys, "argv", ["figures", *given])
        measuring.main()
    logger.setLevel(before)
    names = [*panels.FIGURES, "worth", "adult-worth"]
    return {name: results.read(to / f"{name}.csv") for name in names}


@pytest.mark.parametrize("name", ["discernibility", "adult-discernibility"])
def test_rda_is_near_the_optimum(measured, name):
    rows = measured[name]
    assert {row["method"] for row in rows} == {*METHODS, "optimum"}
    least = {(r["table"], r["l"]): r["discernibility"] for r in rows if r["method"] == "optimum"}
    for row in rows:
        assert row["discernibility"] >= least[row["table"], row["l"]]
    # Fewer than l people are left over, and join groups of l; at worst all of them the same one.
    for row in rows:
        if row["method"] == "RDA":
            size = row["l"]
            assert row["discernibility"] <= ROWS * size + 4 * size**2


@pytest.mark.parametrize("name", list(panels.FIGURES))
def test_pictures_have_every_number(measured, name):
    figure = panels.FIGURES[name](measured[name])
    column = {"times": "seconds"}.get(name, "average")
    if "discernibility" in name:
        column = "discernibility"
    drawn = [y for line in figure.data for y in line.y]
    expected = [
        max(row[column], panels.LEAST_ERROR) if column == "average" else row[column]
        for row in measured[name]
        if column != "discernibility" or row["method"] != "Mondrian"
    ]
    assert sorted(drawn) == sorted(expected)
    assert "Plotly.newPlot" in drawing.page(figure)


def test_tables_have_keys_and_methods():
    rows = [
        {"l": 2, "method": "RDA", "ratio": 1.0},
        {"l": 3, "method": "RDA", "ratio": 1.5},
        {"l": 3, "method": "GDA", "ratio": 1200.0},
    ]
    shown = results.markdown(rows, ("l",), "method", lambda row: f"{row['ratio']:,.1f}")
    assert shown.splitlines() == [
        "| l | RDA | GDA |",
        "| --- | --- | --- |",
        "| 2 | 1.0 |  |",
        "| 3 | 1.5 | 1,200.0 |",
    ]


def test_other_settings_overwrite_nothing(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["figures", "--rows", "600"])
    logger = logging.getLogger("foreknow")
    before = logger.level
    with pytest.raises(SystemExit):
        measuring.main()
    logger.setLevel(before)
    assert "--to" in capsys.readouterr().err
