"""A revised list of codes: an old code and its successors are one secret, in every release."""

import csv
import json
import random
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.crossings.worlds import Facts, Member, surest

import foreknow as fk
from foreknow.policy.codes import classes_of, with_codes

PAIRS = [["F", "F0"], ["F", "F1"], ["G", "G0"]]
SCHEMA = {"identifiers": ["pid"], "quasi_identifiers": ["ward"], "sensitive": "ill"}
CLASSES = {"F or F0 or F1": frozenset(["F", "F0", "F1"]), "G or G0": frozenset(["G", "G0"])}
LOOSE = "999999/1000000"


def policy(*required, pairs=PAIRS, **schema):
    return fk.Policy.from_dict({
        "schema": {**SCHEMA, "codes": {"map": pairs}, **schema},
        "require": [{"below": LOOSE, **each} for each in required],
        "publish": {"labels": {"ward": "exact"}},
    })  # fmt: skip


def test_old_codes_in_all_worlds(tmp_path):
    """January has old codes, March new ones: each class is judged as one, and each code, too."""
    compared = 0
    for seed in range(12):
        rng, facts = random.Random(seed), random.Random(seed).choice([{}, {"l": 1}, {"k": 1}])
        first = [(f"a{i}", f"w{rng.randint(0, 1)}", rng.choice("FGxyzu")) for i in range(8)]
        codes = ["F0", "F1", "G0", "x", "y", "z", "u"]
        second = [(f"b{i}", f"w{rng.randint(0, 1)}", rng.choice(codes)) for i in range(8)]
        rules, place = policy({"facts": facts}), tmp_path / str(seed)
        place.mkdir()
        try:
            for name, rows in (("january", first), ("march", first + second)):
                columns = dict(zip(("pid", "ward", "ill"), zip(*rows, strict=True), strict=True))
                table = pa.table({column: [*values] for column, values in columns.items()})
                after = [place / "january"] if name == "march" else []
                made = fk.publish(table, rules, after=after, seed=1, learned=False)
                made.write(place / name)
        except fk.NoSafeRelease:
            continue
        groups = {}
        for name, rows in (("january", first), ("march", second)):
            owner = pq.read_table(place / f"{name}.owner" / "members.parquet").to_pylist()
            for row, (pid, _, ill) in zip(owner, rows, strict=True):
                groups.setdefault((name, row["ward"]), []).append(Member(pid, (ill,)))
        groups, amounts = [*groups.values()], Facts(**facts)
        present = {value for group in groups for one in group for value in one.values}
        singly = max(surest(groups, frozenset([value]), amounts) for value in present)
        as_one = max(surest(groups, own & present, amounts) for own in CLASSES.values())
        truth = {0: singly, 1: as_one}
        verified = fk.verify(place / "march", after=place / "january").together
        for verdicts in (made.together.verdicts, verified):
            assert {verdict.place: verdict.reached for verdict in verdicts} == truth
        said = json.loads((place / "march" / "certificate.json").read_text())["policy"]
        assert "codes" not in said["schema"]
        assert {*said["require"][1]["any_of"]} <= {*CLASSES}
        compared += as_one > singly
    assert compared > 1


def test_unsafe_classes_are_refused(tmp_path):
    """Each code is below the limit, and what they are together is not."""
    rows = {"pid": [f"p{i}" for i in range(6)], "ward": ["w"] * 6}
    table = pa.table({**rows, "ill": ["F0", "F0", "F1", "F1", "x", "y"]})
    limit = {"facts": {}, "below": "1/2"}
    alone = fk.Policy.from_dict({"schema": SCHEMA, "require": [limit]})
    assert fk.publish(table, alone).audit.verdicts[0].reached == Fraction(1, 3)
    with pytest.raises(fk.NoSafeRelease, match="F or F0 or F1"):
        fk.publish(table, policy(limit))


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ({"facts": {}}, [None, {"F or F0 or F1", "G or G0"}]),
        ({"facts": {}, "values": ["F0", "x"]}, [None, {"F or F0 or F1"}]),
        ({"facts": {}, "values": ["F*"]}, [None, {"F or F0 or F1"}]),
        ({"facts": {}, "values": ["x"]}, [None]),
        ({"facts": {}, "except": ["G", "G0"]}, [None, {"F or F0 or F1"}]),
        ({"facts": {}, "except": ["G"]}, [None, {"F or F0 or F1", "G or G0"}]),
        ({"facts": {}, "any_of": ["F", "x"]}, [["F", "x", "F0", "F1"]]),
        ({"negations": {"k": 1}, "any_of": {"a": ["G0"]}}, [{"a"}]),
        ({"l_diversity": {"l": 2}}, [None, {"F or F0 or F1", "G or G0"}]),
        ({"k_anonymity": 2}, [None]),
        ({"facts": {}, "sensitive": "pay"}, [None]),
    ],
)
def test_what_a_requirement_becomes(requirement, expected):
    schema = {**SCHEMA, "sensitive": ["ill", "pay"], "codes": {"map": PAIRS, "sensitive": "ill"}}
    asked = {"sensitive": "ill", **requirement}
    found = with_codes({"schema": schema, "require": [asked]}, None)["require"]
    sets = [each.get("any_of") for each in found]
    assert [{*own} if isinstance(own, dict) else own for own in sets] == expected


def test_unclear_maps_are_refused(tmp_path):
    for pairs, said in (
        ([["a", "b"], ["b", "c"]], "write a, c and b, c"),
        ([["a", "a"]], "needs another name in the table"),
        ([["a", "b"], ["b", "a"]], "an old code and a new one"),
        ([], "no rows"),
        ([["a"]], "row 1 is no pair"),
        ([["a*", "b"]], "write each code by itself"),
    ):
        with pytest.raises(fk.InputError, match=said):
            policy({"facts": {}}, pairs=pairs)
    assert classes_of([("a", "c"), ("b", "c")]) == [["a", "b", "c"]]  # what the first one says
    for requirement in ({"facts": {}, "at_level": 1}, {"facts": {}, "any_of": "label"}):
        with pytest.raises(fk.InputError, match=r'any_of = \["F", "F0", "F1"\]'):
            policy(requirement)
    policy({"facts": {}, "any_of": ["F", "F0", "F1"]})  # as it says
    mental = {"old": {"from": 290, "to": 319}}  # which may hold 290, and not its successor 2900
    with pytest.raises(fk.InputError, match=r'any_of\.old = \["290", "2900"\]'):
        policy({"facts": {}, "any_of": mental}, pairs=[["290", "2900"]])
    for key in ("values", "except", "absent"):
        with pytest.raises(fk.InputError, match=f"{key} must be a list"):
            policy({"facts": {}, key: 5})
    for sensitive in (5, []):
        tables = {"schema": {**SCHEMA, "sensitive": sensitive, "codes": {"map": PAIRS}}}
        with pytest.raises(fk.InputError, match="sensitive"):
            fk.Policy.from_dict({**tables, "require": [{"k_anonymity": 2}]})
    path = tmp_path / "map.csv"
    for text, said in (("alt;neu\nF;F0\n", "the first line is old,new"), ("", "first line")):
        path.write_text(text)
        with pytest.raises(fk.InputError, match=said):
            policy({"facts": {}}, pairs=str(path))
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([["old", "new"], *PAIRS])
    assert len(policy({"facts": {}}, pairs=str(path)).requirements) == 2
    with pytest.raises(fk.InputError, match="does not exist"):
        policy({"facts": {}}, pairs=str(tmp_path / "none.csv"))


@pytest.mark.parametrize(
    ("values", "pairs"),
    [
        (["F10", "F10", "F12", "F12", "G"], [["F1", "F1.0"], ["F1", "F1.2"]]),
        (["12", "12", "13", "13", "9"], [["0007", "00012"], ["0007", "00013"]]),
    ],
)
def test_misspelt_maps_are_refused(values, pairs):
    """Otherwise nobody would have a code of the class, and it would be safe for that reason."""
    people = {"pid": [*"abcde"], "ward": ["w"] * 5, "ill": values}
    with pytest.raises(fk.InputError, match="write it as the table does"):
        fk.publish(pa.table(people), policy({"facts": {}}, pairs=pairs))
    known = {**people, "ill": ["F1.0", "F1.2", "x", "y", "z"]}
    assert fk.publish(pa.table(known), policy({"facts": {}}, pairs=PAIRS)).audit.verdicts
