"""No two groups of a partition get the same labels, so a reader finds as many as there are."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.methods.tables import cases, policies
from tests.examples import examples

import foreknow as fk

STYLES = {
    "number": ["range", "set"],
    "decimal": ["range", "set"],
    "text": ["set"],
    "order": ["range", "set"],
    "tree": ["hierarchy", "range", "set"],
    "interval": ["hierarchy", "range", "set"],
    "mask": ["hierarchy", "range", "set"],
}


def published(microdata, policy, styles, cuts=1):
    """Groups of the partition, and those that a reader of the release counts."""
    method = fk.Mondrian(cuts)
    partition = method.partition(microdata, policy)
    options = fk.PublishOptions(labels=styles)
    made = fk.publish(microdata, policy, method=method, options=options, seed=1)
    names = list(microdata.schema.quasi_identifiers)
    read = fk.Release.from_generalized(
        made.tables["release"], quasi_identifiers=names, sensitive="disease"
    )
    return microdata.counts(partition[partition >= 0]), read.counts, made.tables["release"]


def same_bags(one, other):
    """Whether two counts hold the same groups, whatever their order."""
    bags = [
        sorted(
            sorted((str(x), n) for x, n in counts.bag(g).items()) for g in range(counts.n_groups)
        )
        for counts in (one, other)
    ]
    return bags[0] == bags[1]


@examples(80, deadline=None)
@given(data=st.data(), case=cases())
def test_the_reader_of_a_release_finds_the_groups_of_the_partition(data, case):
    policy, _ = data.draw(policies(case.sensitive))
    styles = {
        name: data.draw(st.sampled_from(STYLES[kind.name]))
        for name, kind in zip(case.names, case.kinds, strict=True)
        if data.draw(st.booleans())
    }
    try:
        partition, read, _ = published(case.microdata(), policy, styles)
    except fk.NoSafeRelease:
        return
    assert partition.n_groups == read.n_groups
    assert same_bags(partition, read)


def _example(columns, disease=None, **hierarchies):
    rows = len(next(iter(columns.values())))
    disease = disease or ["s", "t"] * (rows // 2)
    names = list(columns)
    schema = fk.Schema(quasi_identifiers=names, sensitive="disease", hierarchies=hierarchies)
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9")])
    microdata = fk.Microdata(pa.table({**columns, "disease": disease}), schema)
    partition, read, table = published(microdata, policy, {})
    assert partition.n_groups == read.n_groups > 1
    return table


def test_a_group_of_nulls_in_the_only_quasi_identifier_is_a_group():
    _example({"x": [None, None, "a", "a"]})


def test_a_null_and_the_word_missing_are_different_groups():
    table = _example({"x": [None, None, "missing", "missing"], "y": [1] * 4})
    assert sorted(map(str, table["x"].to_pylist())) == ["None", "None", "missing", "missing"]


def test_a_value_with_a_bar_is_not_confused_with_a_set():
    # {a, a b} is written "a | a b", which is also the text of one value.
    values = ["a", "a b", "a | a b", "a | a b", "c", "c"]
    _example({"x": values}, ["s", "t"] * 3)


def test_a_leaf_named_like_its_node_is_not_confused_with_the_rest():
    tree = fk.Tree([["N", "N", "*"], ["a", "N", "*"], ["b", "N", "*"], ["z", "Z", "*"]])
    _example({"x": ["N", "N", "a", "b"]}, x=tree)


def test_nodes_of_one_name_at_different_levels_are_not_confused():
    tree = fk.Tree(
        [["a", "x", "y"], ["b", "x", "y"], ["c", "w", "y"], ["d", "v", "x"], ["e", "u", "x"]]
    )
    _example({"x": ["a", "b", "d", "e"]}, x=tree)


def test_the_rest_of_a_node_keeps_its_label_and_the_child_apart_has_its_own():
    tree = fk.Tree([["a", "p", "*"], ["b", "p", "*"], ["c", "p", "*"], ["d", "q", "*"]])
    values, disease = ["a", "a", "b", "c", "d", "d"], ["s", "t", "s", "t", "s", "t"]
    table = _example({"x": values}, disease, x=tree)
    assert sorted(set(table["x"].to_pylist())) == ["a", "d", "p"]


def test_thousands_of_groups_have_as_many_labels():
    random = np.random.default_rng(5)
    rows = 20_000
    columns = {
        "age": random.integers(0, 100, rows),
        "zip": [f"{v:04d}" for v in random.integers(0, 10_000, rows)],
        "born": [f"{v:03d}" for v in random.integers(0, 1000, rows)],
    }
    disease = [f"d{v}" for v in random.integers(0, 20, rows)]
    table = _example(columns, disease, zip=fk.Mask(4))
    assert table.num_rows == rows
