"""The rows of those who are new: the owner gets them, and what measures a release takes them."""

import csv
import random

import pytest

import foreknow as fk

COLUMNS = ["who", "age", "zip", "pay", "ill"]
SCHEMA = {
    "identifiers": ["who"],
    "quasi_identifiers": ["age", "zip"],
    "sensitive": ["ill", "pay"],
    "types": {"pay": "number"},
    "reading": {"decimal": ",", "missing": ["k.A."]},
}
REQUIRE = [
    {"sensitive": "ill", "facts": {}, "below": 0.8, "knowing": []},
    {"sensitive": "pay", "facts": {}, "below": 0.8, "knowing": []},
]
POLICY = {"schema": SCHEMA, "require": REQUIRE}


def drawn(size):
    draw = random.Random(4)
    return [
        [
            f"p{i}",
            str(draw.randint(20, 60)),
            draw.choice(["k.A.", "10", "20"]),
            f"{draw.randint(10, 12)},{draw.randint(0, 9)}0",
            draw.choice("abcd"),
        ]
        for i in range(size)
    ]


def write_table(path, rows, encoding="utf-8"):
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=";").writerows([COLUMNS, *rows])
    return path


def test_owner_gets_rows_of_newcomers(tmp_path):
    rows = drawn(160)
    first = write_table(tmp_path / "first.csv", rows[:90])
    second = write_table(tmp_path / "second.csv", rows)
    fk.publish(first, POLICY, seed=1).write(tmp_path / "january")
    fk.publish(second, POLICY, seed=1, after=[tmp_path / "january"]).write(tmp_path / "march")
    assert not (tmp_path / "january.owner" / "newcomers.csv").exists()
    newcomers = tmp_path / "march.owner" / "newcomers.csv"
    with newcomers.open(encoding="utf-8", newline="") as file:
        written = [[cell or "k.A." for cell in row] for row in csv.reader(file, delimiter=";")]
    assert written == [COLUMNS, *rows[90:]]
    assert not list((tmp_path / "march").glob("newcomers*"))
    fk.utility_report(tmp_path / "march", newcomers, policy=POLICY)
    fk.evidence_report(tmp_path / "march", newcomers, policy=POLICY)
    other = write_table(tmp_path / "other.csv", [*rows[:90], *rows[91:], ["x", *rows[90][1:]]])
    with pytest.raises(fk.InputError, match="of its owner's folder"):
        fk.evidence_report(tmp_path / "march", other, policy=POLICY)


def test_measures_take_the_published_table(tmp_path):
    """Each figure is that of the newcomers' own rows."""
    rows = drawn(400)
    first = write_table(tmp_path / "first.csv", rows[:150])
    second = write_table(tmp_path / "second.csv", [*rows[150:], *rows[:150]])
    third = write_table(tmp_path / "third.csv", rows[151:])
    fk.publish(first, POLICY, seed=1).write(tmp_path / "january")
    made = fk.publish(second, POLICY, seed=1, after=[tmp_path / "january"])
    made.write(tmp_path / "march")
    march, newcomers = tmp_path / "march", tmp_path / "march.owner" / "newcomers.csv"

    def measured(release, table):
        return (
            fk.utility_report(release, table, policy=POLICY).to_dict()["query_errors"],
            fk.learned_report(release, ["age"], people=table, policy=POLICY).right,
        )

    by_rows = measured(march, newcomers)
    for release in (march, made):
        assert measured(release, second) == by_rows
    assert fk.evidence_report(march, second, policy=POLICY).same_source
    named = fk.named_release(march, microdata=fk.Microdata(second, fk.Schema(**SCHEMA)))
    assert named.counts.n_people == 250
    with pytest.raises(fk.InputError, match="is not the table"):
        fk.learned_report(march, people=third, policy=POLICY)
    with pytest.raises(fk.InputError, match="is not the table"):
        fk.evidence_report(march, third, policy=POLICY)
    fk.forget(march, "p390")
    assert measured(march, second) == by_rows


@pytest.mark.parametrize(
    "reading",
    [{"encoding": "cp1252"}, {"encoding": "utf-16"}, {"delimiter": ":"}, {"encoding": "utf-8-sig"}],
)
def test_newcomers_are_read_by_policy(reading, tmp_path):
    encoding, delimiter = reading.get("encoding", "utf-8"), reading.get("delimiter", ";")
    rows = [[*row[:4], row[4].replace("a", "Öl")] for row in drawn(160)]
    policy = POLICY | {"schema": SCHEMA | {"reading": SCHEMA["reading"] | reading}}
    for name, people in (("first", rows[:90]), ("second", rows)):
        with (tmp_path / f"{name}.csv").open("w", encoding=encoding, newline="") as file:
            csv.writer(file, delimiter=delimiter).writerows([COLUMNS, *people])
    fk.publish(tmp_path / "first.csv", policy, seed=1).write(tmp_path / "january")
    made = fk.publish(tmp_path / "second.csv", policy, seed=1, after=[tmp_path / "january"])
    made.write(tmp_path / "march")
    newcomers = tmp_path / "march.owner" / "newcomers.csv"
    fk.utility_report(tmp_path / "march", newcomers, policy=policy)
    assert fk.evidence_report(tmp_path / "march", newcomers, policy=policy).same_source
    both = fk.evidence_report(tmp_path / "march", tmp_path / "second.csv", policy=policy)
    assert both.same_source
