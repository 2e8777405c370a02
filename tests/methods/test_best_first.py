"""The search of large lattices finds the node that the whole lattice has, also where few hold.

Where people cannot have some values, merging groups can hurt: nodes below an unsafe one may be
safe. Where a limit is about an average, a group that is unsafe by itself may be safe in a release.
"""

import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY

import foreknow as fk
from foreknow.methods.fulldomain import bestfirst, fulldomain

TABLES = 3_000 if NIGHTLY else 60


def searched(monkeypatch, table, schema, policy, share=0):
    """The best node, its loss and gap: by boxes, and by the whole lattice; None where none is."""
    found = []
    for most in (0, 10**6):
        monkeypatch.setattr(fulldomain, "_MOST_KEPT", most)
        try:
            lattice = fk.FullDomain(suppression=share).search(fk.Microdata(table, schema), policy)
        except fk.NoSafeRelease:
            found.append(None)
        else:
            found.append((round(lattice.loss_of(lattice.chosen), 9), lattice.gap))
    return found


def test_people_who_cannot_have_a_value(monkeypatch):
    table = pa.table({"sex": list("fmmmmfm"), "q": list("yyxyxxx"), "d": list("cbaabaa")})
    schema = fk.Schema(
        quasi_identifiers=["sex", "q"],
        sensitive="d",
        impossible=[{"values": ["c"], "where": {"sex": ["m"]}}],
    )
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="2/3")], schema)
    by_boxes, whole = searched(monkeypatch, table, schema, policy)
    assert whole is not None
    assert by_boxes == (whole[0], 0)


def test_what_is_unsafe_together_may_be_safe_apart(monkeypatch):
    """Of women half have c, and of all others, who cannot, more have a once they are with them."""
    columns = {"sex": "ffffffmm" * 2, "q": "x" * 8 + "y" * 8, "d": "cccaaaab" * 2}
    table = pa.table({name: list(text) for name, text in columns.items()})
    rules = [{"values": ["c"], "where": {"sex": ["m"]}}]
    schema = fk.Schema(quasi_identifiers=["q", "sex"], sensitive="d", impossible=rules)
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="2/3")], schema)
    # With the sexes together two groups are unsafe, and one person may be suppressed.
    by_boxes, whole = searched(monkeypatch, table, schema, policy, 0.1)
    assert by_boxes == (0, 0)
    assert whole[0] == 0


@pytest.mark.parametrize("hurts", [False, True])
def test_boxes_end_a_search_where_merging_can_hurt_and_nodes_where_it_never_does(
    monkeypatch, hurts
):
    table = {name: [i >> at & 3 for i in range(64)] for at, name in enumerate("pqr")}
    table = pa.table({**table, "s": ["fm"[i % 2] for i in range(64)], "d": list("aaabaaac") * 8})
    rules = [{"values": ["c"], "where": {"s": ["f"]}}] if hurts else []
    levels = {name: {"intervals": [2]} for name in "pqr"}
    schema = fk.Schema(
        quasi_identifiers=list("pqrs"), sensitive="d", hierarchies=levels, impossible=rules
    )
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="9/10")], schema)
    monkeypatch.setattr(fulldomain, "_MOST_KEPT", 0)
    search = fk.FullDomain(suppression=0.1)
    for most, boxes, ended in ((2, 10**6, not hurts), (10**6, 1e-6, True)):
        monkeypatch.setattr(bestfirst, "_MOST_JUDGED", most)
        monkeypatch.setattr(bestfirst, "_BOXES", boxes)
        found = search.search(fk.Microdata(table, schema), policy)
        assert found.complete != ended


def test_a_limit_about_an_average(monkeypatch):
    columns = {"p": "aaaaab", "q": "baabaa", "r": "bbbaba", "d": "suutus"}
    table = pa.table({name: list(text) for name, text in columns.items()})
    schema = fk.Schema(quasi_identifiers=["p", "q", "r"], sensitive="d")
    policy = fk.Policy([
        fk.Requirement(fk.Risk(average="1/3")),
        fk.Requirement(fk.Implications(0), below=0.99),
    ])  # fmt: skip
    by_boxes, whole = searched(monkeypatch, table, schema, policy)
    assert whole[0] == pytest.approx(2 / 3)
    assert by_boxes == (whole[0], 0)


@pytest.mark.parametrize(
    ("kind", "share"), [("impossible", 0), ("impossible", 0.1), ("average", 0)]
)
def test_random_tables(monkeypatch, kind, share):
    rng = np.random.default_rng(len(kind))
    safe, none = 0, 0
    for _ in range(TABLES):
        n = int(rng.integers(4, 9)) + 8 * (share > 0)
        names = ["sex", "q", *(["r"] if kind == "average" else [])]
        columns = {name: rng.choice(["f", "m"], n).tolist() for name in names}
        if share:
            columns["q"] = rng.choice([*"wxyz"], n).tolist()
        table = pa.table({**columns, "d": rng.choice(["a", "b", "c"], n).tolist()})
        if kind == "impossible":
            table = table.filter(
                [row["sex"] == "f" or row["d"] != "c" for row in table.to_pylist()]
            )
        rules = [{"values": ["c"], "where": {"sex": ["m"]}}] if kind == "impossible" else []
        schema = fk.Schema(quasi_identifiers=names, sensitive="d", impossible=rules)
        limit = str(rng.choice(["1/2", "2/3", "3/4", "1"]))
        required = [fk.Requirement(fk.Facts(), below=limit)]
        if kind == "average":
            required = [
                fk.Requirement(fk.Risk(average=str(rng.choice(["1/2", "1/3", "1/6"])))),
                fk.Requirement(fk.Implications(0), below=0.99),
            ]
        if set(table["sex"].to_pylist()) != {"f", "m"}:
            continue
        by_boxes, whole = searched(monkeypatch, table, schema, fk.Policy(required, schema), share)
        assert (by_boxes is None) == (whole is None), (table.to_pydict(), required)
        if whole is None:
            none += 1
            continue
        safe += 1
        assert by_boxes[0] <= whole[0] + by_boxes[1] + 1e-9, (table.to_pydict(), required)
    assert min(safe, none) > TABLES / 50
