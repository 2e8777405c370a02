"""The tables of a release: who is in which row, in what order, and what is not there."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from tests.people import EASY, bucketized, generalized, made, people, schema

import foreknow as fk
from foreknow.errors import SchemaError
from foreknow.publishing.tables import group_ids
from foreknow_judge.errors import PolicyError


def covers(label, value):
    """Whether a published age ("20 to 37 or missing") or zip ("02*") holds an exact value."""
    if label is None or value is None:
        return label is value or (label or "").endswith("or missing") or label == "*"
    text = label.removesuffix(" or missing")
    if " to " in text:
        low, high = (int(part) for part in text.split(" to "))
        return low <= int(value) <= high
    return all(a in ("*", b) for a, b in zip(text, str(value), strict=True)) or text == "*"


def rows_of(publication, name="release"):
    return publication.tables[name].to_pylist()


def test_every_row_carries_its_own_other_columns_under_labels_that_hold_its_exact_values():
    exact = people(200, seed=3).to_pylist()
    published = rows_of(made(table=people(200, seed=3)))
    assert sorted(row["row"] for row in published) == list(range(200))
    for row in published:
        person = exact[row["row"]]
        assert row["disease"] == person["disease"]
        assert row["note"] == person["note"]
        assert covers(row["age"], person["age"])
        assert covers(row["zip"], person["zip"])
        assert row["sex"] in (person["sex"], "*")


def test_exact_quasi_identifiers_of_the_bucketized_form_stay_with_their_person():
    exact = people(200, seed=3).to_pylist()
    publication = made("bucketized", table=people(200, seed=3))
    tally = Counter()
    for row in rows_of(publication, "sensitive"):
        assert row["count"] > 0
        tally[row["group"], row["disease"]] += row["count"]
    found = Counter()
    for row in rows_of(publication, "people"):
        person = exact[row["row"]]
        assert row["age"] == (None if person["age"] is None else str(person["age"]))
        assert (row["zip"], row["sex"], row["note"]) == tuple(
            person[c] for c in ("zip", "sex", "note")
        )
        found[row["group"], person["disease"]] += 1
    assert tally == found


def test_rows_that_are_dropped_are_in_neither_form():
    table = people(80)
    holes = [None if i % 7 == 0 else x for i, x in enumerate(table["disease"].to_pylist())]
    table = table.set_column(table.column_names.index("disease"), "disease", pa.array(holes))
    kept = [i for i in range(80) if i % 7]
    for form, name in (("generalized", "release"), ("bucketized", "people")):
        publication = made(form, table=table, roles=schema(missing="drop"))
        assert sorted(row["row"] for row in rows_of(publication, name)) == kept
    release = made(table=table, roles=schema(missing="drop"))
    assert all(row["disease"] == holes[row["row"]] for row in rows_of(release))


def drawn(form, columns, groups, random, times):
    """The table of people in one form, so many times; the column `row` is no quasi-identifier."""
    roles = fk.Schema(quasi_identifiers=["age"], other=["row"], sensitive="disease")
    microdata, groups, n = fk.Microdata(pa.table(columns), roles), np.array(groups), max(groups) + 1
    for _ in range(times):
        if form == "generalized":
            yield generalized(microdata, groups, n, {}, random)["release"]
        else:
            yield bucketized(microdata, groups, group_ids(n, random), random)["people"]


def test_rows_of_a_group_stand_together_in_every_order_equally_often():
    columns = {"age": [1] * 4, "row": list(range(4)), "disease": list("stst")}
    tables = drawn("generalized", columns, [0] * 4, np.random.default_rng(1), times=960)
    seen = Counter(tuple(table["row"].to_pylist()) for table in tables)
    assert len(seen) == 24
    assert all(12 < times < 72 for times in seen.values())  # 40 each expected


def test_group_ids_of_the_bucketized_form_are_drawn_at_random_and_run_from_one():
    columns = {"age": [1, 1, 2, 2, 3, 3], "row": range(6), "disease": list("ststst")}
    seen, random = Counter(), np.random.default_rng(2)
    for table in drawn("bucketized", columns, [0, 0, 1, 1, 2, 2], random, times=600):
        id_of = {row["age"]: row["group"] for row in table.to_pylist()}
        seen[tuple(id_of[age] for age in "123")] += 1
    assert len(seen) == 6
    assert all(60 < times < 150 for times in seen.values())  # 100 each expected
    publication = made("bucketized")
    for name in ("people", "sensitive"):
        ids = publication.tables[name]["group"].to_pylist()
        assert ids == sorted(ids)
        assert set(ids) == set(range(1, publication.certificate.n_groups + 1))


def test_the_order_of_groups_tells_no_more_than_their_labels():
    # In both tables the published groups are (0*, f) and (0*, m). Only who of them has the least
    # zip code differs, which the labels hide.
    def order(zips):
        table = pa.table({"zip": zips, "sex": list("ffmm"), "disease": list("stst")})
        roles = fk.Schema(
            quasi_identifiers=["zip", "sex"], sensitive="disease", hierarchies={"zip": fk.Mask(2)}
        )
        found = generalized(
            fk.Microdata(table, roles), np.array([0, 0, 1, 1]), 2, {}, np.random.default_rng(0)
        )
        return [tuple(row[c] for c in ("zip", "sex")) for row in found["release"].to_pylist()]

    one, other = order(["00", "02", "01", "03"]), order(["01", "03", "00", "02"])
    assert sorted(one) == sorted(other)
    assert one == other


class TwoOfOneLabel:
    """A method whose two groups both read "1 to 5": the first two people, and the rest."""

    def partition(self, microdata, policy, *, seed=None):
        return np.array([0] * 2 + [1] * 6)


@pytest.mark.parametrize("fmt", ["csv", "parquet"])
def test_rows_of_groups_that_read_alike_are_mixed(fmt):
    disease = ["AIDS"] * 2 + ["Flu", "Cold"] * 3
    table = pa.table({"age": [1, 5, 1, 2, 3, 4, 5, 5], "disease": disease})
    microdata = fk.Microdata(table, fk.Schema(quasi_identifiers=["age"], sensitive="disease"))
    orders = set()
    for _ in range(30):
        made = fk.publish(
            microdata,
            EASY,
            method=TwoOfOneLabel(),
            options=fk.PublishOptions(format=fmt, labels={"age": "exact"}),
        )
        assert made.certificate.n_groups == 1
        assert set(made.tables["release"]["age"].to_pylist()) == {"1 to 5"}
        orders.add(tuple(made.tables["release"]["disease"].to_pylist()))
    assert len(orders) > 15
    assert all(sorted(order) == sorted(disease) for order in orders)
    # By chance they come first in one order of 28.
    assert sum(order[:2] == ("AIDS", "AIDS") for order in orders) < 10


def labels(column, values, style=None, **hierarchies):
    """The labels of one group with these values, in a table that also has another group."""
    table = pa.table({column: values, "disease": ["s"] * len(values)})
    roles = fk.Schema(quasi_identifiers=[column], sensitive="disease", hierarchies=hierarchies)
    groups = np.array([0] * (len(values) - 1) + [1])
    styles = {} if style is None else {column: style}
    made = generalized(fk.Microdata(table, roles), groups, 2, styles, np.random.default_rng(0))
    found = made["release"][column].to_pylist()
    return {label for label in found if label != str(values[-1])}


@pytest.mark.parametrize(
    ("values", "style", "hierarchy", "label"),
    [
        ([20, 37, 25, 99], None, None, "20 to 37"),
        (["f", "m", "x"], None, None, "f | m"),
        (["120", "127", "999"], None, fk.Mask(3), "12*"),
        (["low", "middle", "high"], None, fk.Ordered(["low", "middle", "high"]), "low to middle"),
        # A style that is asked for replaces the usual one.
        ([20, 37, 25, 99], "set", None, "20 | 25 | 37"),
        (["120", "127", "999"], "range", fk.Mask(3), "120 to 127"),
        (["120", "127", "999"], "set", fk.Mask(3), "120 | 127"),
    ],
)
def test_each_kind_of_column_is_written_in_its_own_style(values, style, hierarchy, label):
    hierarchies = {} if hierarchy is None else {"q": hierarchy}
    assert labels("q", values, style, **hierarchies) == {label}


@pytest.mark.parametrize(
    ("styles", "said"),
    [
        ({"sex": "range"}, "'sex' is text without an order"),
        ({"age": "hierarchy"}, "'age' has no hierarchy"),
    ],
)
def test_a_style_that_a_column_cannot_have_is_refused_by_name(styles, said, tiny_tables):
    with pytest.raises(PolicyError, match=said):
        made(labels=styles)
    asked_for = made(labels={"age": "set"}).tables["release"]["age"].to_pylist()
    assert any(label is not None and " | " in label for label in asked_for)


def test_a_column_called_group_or_count_is_refused_where_it_would_collide():
    table = people().rename_columns(
        ["name", "group", "age", "zip", "sex", "note", "secret", "disease"]
    )
    roles = schema(other=["group"])
    assert "group" in made(table=table, roles=roles).tables["release"].column_names
    with pytest.raises(SchemaError, match="'group'"):
        made("bucketized", table=table, roles=roles)
    for name in ("group", "count"):
        plain = pa.table({"age": [1, 1], name: ["s", "t"]})
        roles = fk.Schema(quasi_identifiers=["age"], sensitive=name)
        with pytest.raises(SchemaError, match="must not be called"):
            made("bucketized", table=plain, roles=roles)
