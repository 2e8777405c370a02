"""NCP of releases with k = 5 whose cells are suppressed: ours beside ARX and sdcMicro.

``python -m benchmarks.cells FOLDER [--adult CSV] [--arx CLASSPATH] [--sdcmicro LIBRARY]``

CLASSPATH has the classes of ARX, of github.com/arx-deidentifier/arx, compiled without its `gui`,
and its jars; LIBRARY is one of R with sdcMicro. Tables and hierarchies are written to FOLDER, what
the tools make of them is read back, and all are measured in the same way. ARX minimizes its `Loss`,
with up to 5% of the rows suppressed, or by `optimizeIterativeFast` in steps of 1%. sdcMicro begins
at the node that ARX and FullDomain find.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import foreknow as fk
from benchmarks.fulldomain import EIGHT
from benchmarks.local_suppression import SHARE, adult, register
from benchmarks.measure import heading
from foreknow import sample
from foreknow.data.utility import utility_of
from foreknow.methods.protocol import as_written

JAVA = """
import java.nio.charset.StandardCharsets;
import org.deidentifier.arx.*;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;
public class Cells {
  public static void main(String[] a) throws Exception {
    boolean local = a[1].equals("local");
    Data data = Data.create(a[0] + "/data.csv", StandardCharsets.UTF_8, ';');
    DataHandle rows = data.getHandle();
    for (int i = 0; i < rows.getNumColumns(); i++) {
      String file = a[0] + "/h_" + rows.getAttributeName(i) + ".csv";
      data.getDefinition().setAttributeType(rows.getAttributeName(i),
        AttributeType.Hierarchy.create(file, StandardCharsets.UTF_8, ';'));
    }
    ARXConfiguration c = ARXConfiguration.create();
    c.addPrivacyModel(new KAnonymity(5));
    c.setSuppressionLimit(local ? 0.99d : a[1].equals("rows") ? 0.05d : 0d);
    c.setQualityModel(Metric.createLossMetric(local ? 0d : 0.5d));
    ARXResult found = new ARXAnonymizer().anonymize(data, c);
    DataHandle made = found.getOutput();
    if (local) found.optimizeIterativeFast(made, 0.01d);
    made.save(a[0] + "/" + a[1] + ".csv", ';');
  }
}
"""
R = """
a <- commandArgs(TRUE)
suppressMessages(library(sdcMicro, lib.loc = a[3]))
d <- read.csv(a[1], sep = ";", colClasses = "character", check.names = FALSE)
names(d) <- make.names(names(d))
for (n in names(d)) d[[n]] <- as.factor(d[[n]])
x <- as.data.frame(localSuppression(d, k = 5, keyVars = seq_along(d))$xAnon)
x[] <- lapply(x, as.character)
x[is.na(x)] <- "*"
write.table(x, a[2], sep = ";", row.names = FALSE, quote = FALSE)
"""
SUPPRESSING = [
    {},
    {"suppression": SHARE},
    {"suppression": SHARE, "local_suppression": True},
]


def tables(path: Path) -> Iterator[tuple[str, fk.Microdata]]:
    """The three tables of `benchmarks.local_suppression`."""
    schema = fk.Policy.load(sample.policy_path()).schema
    yield "sample", fk.Microdata(sample.table_path(), schema)
    yield "register", register()[0]
    if path.exists():
        yield "Adult", adult(path, EIGHT)[0]


def write(folder: Path, microdata: fk.Microdata) -> list[list[list[str]]]:
    """Write a table and its hierarchies; the labels of each value by column, from level 0 up."""
    folder.mkdir(parents=True, exist_ok=True)
    labels: list[list[list[str]]] = []
    for attribute in microdata.attributes:
        levels = [[f"v{code}" for code in range(len(attribute.domain))]]
        for level, nodes in enumerate(attribute.ancestors, 1):
            is_top = len(set(nodes.tolist())) == 1
            levels.append(["*" if is_top else f"{level}_{node}" for node in nodes])
        if {*levels[-1]} != {"*"}:
            levels.append(["*"] * len(attribute.domain))
        labels.append([list(of_value) for of_value in zip(*levels, strict=True)])
        with (folder / f"h_{attribute.name}.csv").open("w") as file:
            csv.writer(file, delimiter=";").writerows(labels[-1])
    levels_of_zero = [0] * len(labels)
    write_node(folder / "data.csv", microdata, labels, levels_of_zero)
    return labels


def write_node(
    path: Path, microdata: fk.Microdata, labels: list[list[list[str]]], node: list[int]
) -> None:
    """Write a table with each column at a level."""
    columns = [
        [of_value[int(code)][level] for code in attribute.codes]
        for attribute, of_value, level in zip(microdata.attributes, labels, node, strict=True)
    ]
    with path.open("w") as file:
        rows = csv.writer(file, delimiter=";")
        rows.writerow([attribute.name for attribute in microdata.attributes])
        rows.writerows(zip(*columns, strict=True))


def measured(path: Path, microdata: fk.Microdata, labels: list[list[list[str]]]) -> str:
    """The NCP of a table that another tool made, and how many people are in groups below 5."""
    with path.open() as file:
        _, *rows = map(tuple, csv.reader(file, delimiter=";"))
    numbers = {row: number for number, row in enumerate(dict.fromkeys(rows))}
    groups = np.array([numbers[row] for row in rows])
    floors = {}
    for place, attribute in enumerate(microdata.attributes):
        floors[attribute.name] = np.zeros(len(numbers), np.int64)
        for row, code, group in zip(rows, attribute.codes, groups, strict=True):
            level = labels[place][int(code)].index(row[place])
            floors[attribute.name][group] = level
    ncp = utility_of(microdata.counts(groups), microdata, groups, floors).average_ncp
    small = sum(size for size in Counter(rows).values() if size < 5)
    return f"{ncp:.2%} ({len(numbers):,} groups; {small:,} people in groups below 5)"


def ours(method: type, microdata: fk.Microdata) -> list[str]:
    """The NCP without suppression, with rows, and with cells suppressed."""
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(5))], microdata.schema)
    figures = []
    for settings in SUPPRESSING:
        table = as_written(chosen := method(**settings), microdata, policy)
        made = chosen.grouping(table, policy)
        groups = made.of_row[table.kept]
        worth = utility_of(table.counts(groups), table, groups, floors=made.floors)
        figures.append(f"{worth.average_ncp:.2%}")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--adult", type=Path, default=Path("../shared/data/adult.csv"))
    parser.add_argument("--arx")
    parser.add_argument("--sdcmicro")
    given = parser.parse_args()
    heading("NCP at k = 5: none | rows | cells")
    for name, microdata in tables(given.adult):
        folder = given.folder / name
        labels = write(folder, microdata)
        for method in (fk.FullDomain, fk.Mondrian):
            print(f"  {name}, {method.__name__}:", " | ".join(ours(method, microdata)))
        if given.arx:
            (folder / "Cells.java").write_text(JAVA)
            for kind in ("none", "rows", "local"):
                words = ["java", "-cp", given.arx, folder / "Cells.java", folder, kind]
                subprocess.run(words, check=True)
                print(f"  {name}, ARX {kind}:", measured(folder / f"{kind}.csv", microdata, labels))
        if given.sdcmicro:
            policy = fk.Policy([fk.Requirement(fk.KAnonymity(5))], microdata.schema)
            node = fk.FullDomain(suppression=SHARE).search(microdata, policy).chosen
            write_node(folder / "node.csv", microdata, labels, list(node))
            (folder / "cells.R").write_text(R)
            paths = [folder / file for file in ("cells.R", "node.csv", "sdc.csv")]
            subprocess.run(["Rscript", *paths, given.sdcmicro], check=True)
            print(f"  {name}, sdcMicro:", measured(folder / "sdc.csv", microdata, labels))


if __name__ == "__main__":
    main()
