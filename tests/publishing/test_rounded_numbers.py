"""Numbers that a policy rounds: before anything is counted, from every source, and judged."""

import json
import random
from decimal import Decimal

import pyarrow as pa
import pytest

import foreknow as fk

STEPS = {"pay": 100, "cost": 0.5}
READING = {"missing": ["k.A."]}


def drawn(seed, size=80):
    draw = random.Random(f"rounded {seed}")
    pay = [Decimal(draw.randint(-40, 900)) * 25 / 10 for _ in range(size)]
    cost = [draw.choice([None, Decimal(draw.randint(-300, 300)) / 100]) for _ in range(size)]
    ages = [draw.randint(20, 40) for _ in range(size)]
    return {"age": ages, "pay": pay, "cost": cost, "ill": draw.choices("abc", k=size)}


def policy_of(reading=READING, **publish):
    schema = {
        "quasi_identifiers": ["age"],
        "sensitive": ["ill", "pay"],
        "other": ["cost"],
        "types": {"pay": "number"},
        "reading": reading,
    }
    require = [
        {"sensitive": "ill", "facts": {}, "below": 0.9, "knowing": []},
        {"sensitive": "pay", "facts": {}, "below": 0.9, "within": 100, "knowing": []},
    ]
    return {"schema": schema, "require": require, "publish": {"round": STEPS, **publish}}


def floats(columns, folder):
    as_floats = [[None if n is None else float(n) for n in columns[name]] for name in STEPS]
    return pa.table({**columns, **dict(zip(STEPS, as_floats, strict=True))}), {}


def exact(columns, folder):
    return pa.table(columns), {}


def texts(columns, folder):
    as_texts = {name: [None if n is None else str(n) for n in columns[name]] for name in STEPS}
    return pa.table({**columns, **as_texts}), {}


def test_measures_take_the_raw_table(tmp_path):
    table, _ = exact(drawn(7), tmp_path)
    fk.publish(table, policy_of(), seed=1).write(tmp_path / "out")
    assert fk.utility_report(tmp_path / "out", table, policy=policy_of())


def test_microdata_are_rounded_too():
    table, _ = floats(drawn(8), None)
    policy = policy_of()
    schema = fk.Schema(**policy["schema"])
    microdata = fk.Microdata(table, schema)
    made = fk.publish(microdata, policy, seed=1)
    assert fk.utility_report(made, microdata, policy=policy)
    assert all(pay % 100 == 0 for pay in map(Decimal, made.to_arrow()["pay"].to_pylist()))


@pytest.mark.parametrize(("column", "step"), [("pay", 700), ("cost", 700), ("pay", -100)])
def test_a_forged_step_is_refused(column, step, tmp_path):
    fk.publish(exact(drawn(9), None)[0], policy_of(), seed=1).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    certificate = json.loads(path.read_text("utf-8"))
    certificate["policy"]["publish"]["round"][column] = step
    path.write_text(json.dumps(certificate), "utf-8")
    with pytest.raises(fk.InputError, match=f"in '{column}' is no multiple of {step}"):
        fk.verify(tmp_path / "out")


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ({"age": 5}, "'age' is a quasi-identifier"),
        ({"payed": 5}, "did you mean 'pay'"),
        ({"pay": 0}, "a number above 0"),
        ({"pay": -5}, "a number above 0"),
        ({"pay": "much"}, "a number above 0"),
        ({"pay": True}, "a number above 0"),
        ({"pay": 10**400}, "a number above 0"),
        ({"pay": Decimal("1e-400")}, "a number above 0"),
        ({"ill": 5}, "'ill' must hold a number in every row"),
        (5, "must be a table"),
    ],
)
def test_unrounded_tables_are_refused(steps, message):
    with pytest.raises(fk.InputError, match=message):
        fk.publish(exact(drawn(1), None)[0], policy_of(round=steps))


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"types": {"pay": "text"}}, "is of type text"),
        (
            {"impossible": [{"sensitive": "ill", "values": ["a"], "where": {"age": [20]}}]},
            "rules of 'impossible'",
        ),
        (
            {"semantics": {"ill": "single", "pay": "set"}, "person": "who"},
            "several values of 'pay'",
        ),
    ],
)
def test_crossings_are_refused(schema, message):
    policy = policy_of()
    policy["schema"] |= schema
    table, _ = texts(drawn(2), None)
    table = table.append_column("who", [[str(i) for i in range(len(table))]])
    with pytest.raises(fk.InputError, match=message):
        fk.publish(table, policy)


@pytest.mark.parametrize("key", ["values", "except", "any_of"])
def test_named_values_are_rounded_ones(key):
    table = exact(drawn(10), None)[0]
    policy = policy_of()
    for value in (432.5, "432.5"):
        policy["require"][1] = {"sensitive": "pay", "facts": {}, "below": 0.9, "knowing": []}
        policy["require"][1][key] = [value]
        with pytest.raises(fk.InputError, match=r"no multiple of 100.*write 400"):
            fk.publish(table, policy)
    policy["require"][1][key] = [400]
    assert fk.publish(table, policy, seed=1).audit.safe


def test_texts_are_no_multiples(tmp_path):
    policy = policy_of(round={"pay": 100})
    fk.publish(exact(drawn(11), None)[0], policy, seed=1).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    certificate = json.loads(path.read_text("utf-8"))
    for column in ("age", "ill"):
        certificate["policy"]["publish"]["round"] = {column: 5}
        path.write_text(json.dumps(certificate), "utf-8")
        with pytest.raises(fk.InputError, match=f"in '{column}' is no multiple of 5"):
            fk.verify(tmp_path / "out")


def test_labels_of_missing_stay(tmp_path):
    table = exact(drawn(12), None)[0]
    pay = [None if i % 9 == 0 else n for i, n in enumerate(table["pay"].to_pylist())]
    policy = policy_of(round={"pay": 100})
    policy["schema"]["missing"] = {"label": "unknown"}
    del policy["require"][1]["within"]
    fk.publish(table.set_column(1, "pay", [pay]), policy, seed=1).write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").people == len(table)


def test_no_number_is_left_empty():
    policy = policy_of()
    columns = drawn(13)
    columns["cost"][0] = float("inf")
    table = floats(columns, None)[0]
    with pytest.raises(fk.InputError, match=r"inf in 'cost' is no number.*leave it empty"):
        fk.publish(table, policy)
