"""Publishing by what an engine counts, and of numbers that a policy rounds, is as in memory."""

import json
import random
import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common import examples

import foreknow as fk
from foreknow.certificates import Certificate
from foreknow.publishing import tables
from foreknow.written_releases.members import OF_COUNTS, named_release

FACTS = {"facts": {"l": 1, "k": 2, "m": 1}, "below": 0.9}
HOSPITAL = {
    "quasi_identifiers": ["age", "ward", "born"],
    "sensitive": ["disease"],
    "identifiers": ["name"],
}


def patients(rows, seed=1, missing=()):
    """A table of other columns than the sample: numbers, texts, dates, with nulls."""
    random = np.random.default_rng(seed)
    days = np.datetime64("1950-01-01") + random.integers(0, 300, rows) * 60
    columns = {
        "name": pa.array([f"person {i}" for i in random.permutation(rows)]),
        "age": pa.array(random.integers(20, 60, rows).astype(np.int16)),
        "ward": pa.array(
            [["north", "south, 2", 'the "old"', None][i] for i in random.integers(0, 4, rows)]
        ),
        "born": pa.array(days),
        "disease": pa.array([f"d{i}" for i in random.integers(0, 6, rows)]),
        "drug": pa.array([f"drug {i}" for i in random.integers(0, 3, rows)]),
        "weight": pa.array(random.choice([50.5, 71.25, -0.0, 0.0, np.nan], rows)),
        "city": pa.array([["Ulm", None, "Rom"][i] for i in random.integers(0, 3, rows)]),
    }
    for name in missing:
        columns[name] = pa.array(columns[name].to_pylist(), mask=random.random(rows) < 0.1)
    return pa.table(columns)


def written(table, path):
    """The table as a file, or as a relation of somebody's own connection."""
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=max(len(table) // 3, 1))
    else:
        path.mkdir()
        for i in range(3):
            part = table.slice(i * len(table) // 3, (i + 1) * len(table) // 3 - i * len(table) // 3)
            pq.write_table(part, path / f"{i}.parquet")
    return path


def bags(made, columns):
    """Rows of some columns of the release, as they print."""
    table = made.tables["release"].select(columns)
    return Counter(zip(*[map(str, c.to_pylist()) for c in table.columns], strict=True))


def but(certificate, *keys):
    """A certificate without the digest of its source, and without some keys."""
    table = certificate.to_dict()
    for key in ("digest", "digest_kind"):
        table["source"].pop(key)
    return {key: table[key] for key in table if key not in keys}


def made_twice(source, policy, **how):
    """The publication by both engines; the counted one was not read into memory."""
    made = [fk.publish(source, policy, engine=engine, **how) for engine in ("memory", "duckdb")]
    kinds = [own.certificate.source["digest_kind"] == OF_COUNTS for own in made]
    assert kinds == [False, True]
    assert but(made[0].certificate) == but(made[1].certificate)
    assert made[0].tables.keys() == made[1].tables.keys()
    return made


def both(source, policy, **how):
    """The same of releases in the generalized form, whose rows are alike."""
    one, other = made = made_twice(source, policy, **how)
    assert one.release.counts.bag(0) == other.release.counts.bag(0)
    schema, labels = one.audit.policy.schema, list(one.audit.policy.schema.quasi_identifiers)
    names = [[table.schema.names for table in own.tables.values()] for own in made]
    assert names[0] == names[1]
    unlinked = set(one.audit.policy.options.unlinked)
    linked = [c for c in (*schema.other, *schema.sensitives) if c not in unlinked]
    for columns in (linked, *([f"{name}_shuffled"] for name in unlinked)):
        assert bags(one, [*labels, *columns]) == bags(other, [*labels, *columns])
    orders = [own.tables["release"].select(labels).to_pylist() for own in made]
    assert orders[0] == orders[1]
    assert one.utility.ncp == other.utility.ncp
    return made


def folders_of(made, where):
    """Both written and verified; the owner's files name the same people."""
    folders = [where / "memory", where / "engine"]
    for publication, folder in zip(made, folders, strict=True):
        publication.write(folder)
        assert fk.verify(folder).people == publication.counts.n_people
    members = [pq.read_table(f"{folder}.owner/members.parquet").to_pylist() for folder in folders]
    assert members[0] == members[1]
    return folders


def same_folders(made, where, source, policy):
    """What both write of the generalized form is alike."""
    folders = folders_of(made, where)
    one, other = (but(Certificate.load(f / "certificate.json"), "report") for f in folders)
    for certificate in (one, other):
        certificate["release"].pop("files")
    assert one == other
    if (folders[0] / "release.parquet").exists():
        schemas = [pq.read_schema(folder / "release.parquet") for folder in folders]
        assert schemas[0].equals(schemas[1], check_metadata=True)
    else:
        lines = [(folder / "release.csv").read_text().splitlines() for folder in folders]
        assert lines[0][0] == lines[1][0]
    data = fk.Microdata(source, fk.Policy.of(policy).schema)
    person = made[0].audit.policy.schema.person or "row"
    assert named_release(folders[1], person=person, microdata=data).holdings


def rules(*required, publish=None, **roles):
    """A policy on the patients; the release is Parquet, unless something else is said."""
    schema = {**HOSPITAL, **roles}
    publish = {"format": "parquet", **(publish or {})}
    return {"schema": schema, "require": [*required] or [FACTS], "publish": publish}


APART = {**FACTS, "sensitive": "disease", "knowing": []}
LINKED = {**FACTS, "sensitive": "drug", "knowing": ["city"]}
TWO = {"sensitive": ["disease", "drug"], "other": ["city", "weight"], "person": "name"}
LEVELS = {"age": {"intervals": [5, 20]}, "born": {"dates": ["month", "year"]}}
# The ending of the table's file, its rows, and what is asked of it.
ALIKE = {
    "csv": (".csv", 300, rules(publish={"format": "csv"})),
    "parquet as csv": (".parquet", 300, rules(publish={"format": "csv"})),
    "folder": ("", 300, rules()),
    "dropped": (".csv", 300, rules(missing="drop")),
    "labelled": (".parquet", 300, rules(missing={"label": "unknown"})),
    "linked": (".parquet", 300, rules(APART, LINKED, **TWO)),
    "one apart": (".parquet", 300, rules(APART, LINKED, publish={"unlinked": ["drug"]}, **TWO)),
    "two apart": (
        *(".parquet", 300),
        rules(APART, LINKED, publish={"unlinked": ["disease", "city"]}, **TWO),
    ),
    "missing numbers": (
        *(".parquet", 200),
        rules(quasi_identifiers=["weight", "age"], sensitive=["weight 2"], missing="drop"),
    ),
    "fulldomain": (
        *(".csv", 400),
        rules(FACTS, {"k_anonymity": 4}, hierarchies=LEVELS, publish={"method": "fulldomain"}),
    ),
    "suppressed": (
        *(".csv", 400),
        rules(
            *(FACTS, {"k_anonymity": 4}),
            hierarchies=LEVELS,
            publish={"mondrian": {"suppression": 0.05}, "labels": {"age": "range"}},
        ),
    ),
}


@pytest.mark.parametrize("case", ALIKE)
def test_tables_are_published_alike(tmp_path, case):
    suffix, rows, policy = ALIKE[case]
    has_holes = "missing" in policy["schema"] and case != "missing numbers"
    table = patients(rows, missing=["disease"] if has_holes else [])
    table = table.append_column("weight 2", table["weight"])
    source = written(table, tmp_path / f"patients{suffix}")
    result = both(source, policy)
    assert (result[1].audit.scope.left_out > 0) == (policy["schema"].get("missing") == "drop")
    suppressed = [publication.audit.scope.people_suppressed for publication in result]
    assert suppressed[0] == suppressed[1]
    same_folders(result, tmp_path, source, policy)


def test_a_relation_is_counted(tmp_path):
    connection = duckdb.connect()
    connection.register("given", patients(200))
    connection.execute("CREATE TABLE people AS FROM given")
    relation = connection.table("people")
    same_folders(both(relation, rules()), tmp_path, relation, rules())


@examples(30, 6)
@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(8, 60),
    part=st.integers(1, 30),
    groups=st.integers(1, 4),
)
def test_parts_of_any_size(tmp_path_factory, seed, rows, part, groups):
    source = written(patients(rows, seed), tmp_path_factory.mktemp("t") / "patients.parquet")
    limit = {"facts": {"l": 0, "k": 0, "m": 0}, "below": 1, "knowing": []}
    publish = {"unlinked": ["city"], "labels": {"ward": "exact"}}
    policy = rules({"k_anonymity": 3}, limit, publish=publish, other=["city"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_PART", part)
        patch.setattr(tables, "_MOST_GROUPS", groups)
        try:
            both(source, policy, seed=seed)
        except fk.NoSafeRelease:
            return


def test_errors_of_an_engine(tmp_path):
    table = patients(200, missing=["disease"])
    row = table["disease"].to_pylist().index(None) + 1
    source = written(table, tmp_path / "patients.parquet")
    twice = written(patients(200).set_column(0, "name", [["Ann"] * 200]), tmp_path / "twice.csv")
    of_people = rules(person="name", missing="drop")
    for table, engine, policy, said in (
        (source, "duckdb", rules(), f"first in row {row}"),
        (source, "duckbd", rules(), "'duckdb'"),
        (twice, "duckdb", of_people, "rows 1 and 2"),
    ):
        with pytest.raises(fk.InputError, match=said):
            fk.publish(table, policy, engine=engine)
    publication = fk.publish(source, rules(missing="drop"), engine="duckdb")
    written(patients(200, seed=2), source)
    with pytest.raises(fk.InputError, match=r"changed|other rows"):
        publication.write(tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"patients.parquet", "twice.csv"}


def in_parts(tmp_path, engine, **how):
    """A release in parts of at most 70 rows, and its folder."""
    source = written(patients(300), tmp_path / "patients.parquet")
    policy = rules({**FACTS, "knowing": []}, publish={"rows_per_part": 70, **how}, other=["city"])
    publication = fk.publish(source, policy, engine=engine)
    publication.write(tmp_path / engine)
    return publication, tmp_path / engine


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """A release in parts that is only copied."""
    return in_parts(tmp_path_factory.mktemp("parts"), "duckdb")


@pytest.fixture
def folder(once, tmp_path):
    return Path(shutil.copytree(once[1], tmp_path / "out"))


FIRST, SECOND = "part-00000.parquet", "part-00001.parquet"


def reversed_columns(parts):
    table = pq.read_table(parts / SECOND)
    pq.write_table(table.select(table.column_names[::-1]), parts / SECOND, store_schema=False)


def linked(parts):
    parts.rename(parts.with_name("real"))
    parts.symlink_to(parts.with_name("real"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda parts: (parts / SECOND).unlink(), "does not exist"),
        (lambda parts: (parts / "part-00099.parquet").write_bytes(b"PAR1"), "among the parts"),
        (lambda parts: (parts / "_SUCCESS").write_bytes(b""), "_SUCCESS lies among the parts"),
        (lambda p: (p / SECOND).write_bytes((p / FIRST).read_bytes()), "digest differs"),
        (linked, "no folder of parts"),
        (reversed_columns, "00001.parquet and part-00000.parquet have other"),
    ],
)
def test_parts_that_were_not_certified(folder, change, message):
    change(folder / "release.parquet")
    if change is reversed_columns:
        problems = Certificate.load(folder / "certificate.json").check(folder)
        assert any(message in problem for problem in problems)
        return
    with pytest.raises(fk.InputError, match=message):
        fk.verify(folder)
    if "_SUCCESS" in message:
        with pytest.raises(fk.InputError, match=message):
            fk.audit(folder, fk.Policy([fk.Requirement(fk.KAnonymity(1))]))


def test_parts_without_gaps(folder):
    certificate = (folder / "certificate.json").read_text()
    for old, new in [("part-00000", "part-00044"), ("release.parquet/part-00000", "../x")]:
        (folder / "certificate.json").write_text(certificate.replace(old, new))
        with pytest.raises(fk.InputError, match="contradicts itself: the files of such a release"):
            fk.verify(folder)
    with pytest.raises(fk.InputError, match="rows_per_part is for format"):
        fk.PublishOptions(rows_per_part=5)
    with pytest.raises(fk.InputError, match="rows_per_part must be a whole number"):
        fk.PublishOptions(rows_per_part=0, format="parquet")


# ---- numbers that a policy rounds: before anything is counted, from every source, and judged -----


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


def test_microdata_are_rounded_too():
    table, _ = floats(drawn(8), None)
    policy = policy_of()
    schema = fk.Schema(**policy["schema"])
    microdata = fk.Microdata(table, schema)
    publication = fk.publish(microdata, policy, seed=1)
    assert fk.utility_report(publication, microdata, policy=policy)
    assert all(pay % 100 == 0 for pay in map(Decimal, publication.to_arrow()["pay"].to_pylist()))


@pytest.mark.parametrize("asked", [0, 1])
def test_unrounded_audits_say_so(asked):
    """Whatever the requirements are about: the verdict on ill assumes nothing of exact pay."""
    table, policy = floats(drawn(8), None)[0], policy_of()
    policy["require"] = [policy["require"][asked]]
    publication = fk.publish(table, policy, seed=1)
    for audit, is_rounded in ((fk.audit(table, policy), False), (publication.audit, True)):
        assert [*audit.rounding] == [*STEPS]
        assert set(audit.unrounded) == (set() if is_rounded else {*STEPS})
        assert any("does not (one of its numbers" in note for note in audit.notes) is not is_rounded
        assumed = audit.to_dict()["assumed"]
        assert any("in multiples of" in sentence for sentence in assumed) is is_rounded


def test_unread_numbers_are_not_rounded():
    """An audit reads no numbers of other columns: it does not say that 1,5 is a multiple."""
    table, policy = floats(drawn(8), None)[0], policy_of({"decimal": ","})
    assert "cost" in fk.audit(table, policy).rounding
    commas = pa.array(["1,5"] * len(table))
    table = table.set_column(table.column_names.index("cost"), "cost", commas)
    assert "cost" not in fk.audit(table, policy).rounding


@pytest.mark.parametrize(
    ("column", "step"), [("pay", 700), ("cost", 700), ("pay", -100), ("age", 5), ("ill", 5)]
)
def test_a_forged_step_is_refused(column, step, tmp_path):
    fk.publish(exact(drawn(9), None)[0], policy_of(), seed=1).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    certificate = json.loads(path.read_text("utf-8"))
    certificate["policy"]["publish"]["round"] = {column: step}
    path.write_text(json.dumps(certificate), "utf-8")
    with pytest.raises(fk.InputError, match=f"in '{column}' is no multiple of {step}"):
        fk.verify(tmp_path / "out")


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ({"age": 5}, "'age' is a quasi-identifier"),
        ({"payed": 5}, "did you mean 'pay'"),
        ({"pay": 0}, "a number above 0"),
        ({"pay": "much"}, "a number above 0"),
        ({"pay": 10**400}, "a number above 0"),
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


@pytest.mark.parametrize("end", ["from", "to"])
def test_ranges_end_at_multiples(end, tmp_path):
    """A range up to 460 would leave out a pay of 455, which is published as 500."""
    policy = policy_of(round={"pay": 100})
    fk.publish(exact(drawn(10), None)[0], policy, seed=1).write(tmp_path / "out")
    policy["require"] = [{"sensitive": "pay", "facts": {}, "below": 1, "knowing": []}]
    readers = {"schema": policy["schema"], "require": policy["require"]}
    for limit in (460, "460.0"):
        policy["require"][0]["any_of"] = {"part": {end: limit}}
        with pytest.raises(fk.InputError, match=r"no multiple of 100.*write 500"):
            fk.Policy.from_dict(policy)
        with pytest.raises(fk.InputError, match=r"no multiple of 100.*write 500"):
            fk.verify(tmp_path / "out", fk.Policy.from_dict(readers))
    readers["require"] = [{"k_anonymity": 1, "knowing": []}]
    assert fk.verify(tmp_path / "out", fk.Policy.from_dict(readers)).rounded == {"pay": 100}


def test_no_number_is_left_empty():
    policy = policy_of()
    columns = drawn(13)
    columns["cost"][0] = float("inf")
    table = floats(columns, None)[0]
    with pytest.raises(fk.InputError, match=r"inf in 'cost' is no number.*leave it empty"):
        fk.publish(table, policy)
