"""What a warehouse counted gets the verdicts of its table, or a refusal; and rows are looked up."""

import datetime as dt
import json
import random
from collections import Counter, defaultdict
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import NIGHTLY, examples
from tests.frames import postgres
from tests.frames.backends import spark_frame
from tests.oracle.sets import joint_worlds, worst_over_worlds

import foreknow as fk
from foreknow.data.engines import lookup
from foreknow_judge.errors import InputError

NAMES = ["age", "zip", "ill", "pay", "job"]
POOLS = [["old", "young"], ["1", None], ["a", "b", "c", None], [1, 2, 4], ["cook", "nurse"]]
POPULATION = pa.table({"age": ["old", "old", "young", "young"] * 9, "zip": ["1", None] * 18})
ON_ILL = [
    (fk.Facts(1, 2, 1), {"below": "0.7"}),
    (fk.Facts(1, 0, 0), {"below": "2/3", "any_of": ["b", "c"]}),
    (fk.Implications(k=2), {"below": "0.9", "knowing": ["job"]}),
    (fk.LDiversity(2, kind="distinct"), {}), (fk.LDiversity(2, kind="recursive", c=2), {}),
    (fk.TCloseness(0.3, distance="equal"), {}), (fk.BetaLikeness(1.0, enhanced=True), {}),
    (fk.DeltaDisclosure(1.0), {"knowing": []}), (fk.AlphaK(0.5, 2), {}),
]  # fmt: skip
ON_PAY = [
    (fk.Facts(0, 1, 0), {"below": "1/2", "knowing": []}),
    (fk.Facts(1, 0, 0), {"below": "2/3", "within": 1}), (fk.Negations(k=1), {"below": "0.9"}),
    (fk.LDiversity(2, kind="entropy"), {"knowing": []}),
    (fk.TCloseness(0.3, distance="ordered"), {}),
]  # fmt: skip
REQUIRED = [
    *(fk.Requirement(rule, sensitive="ill", **how) for rule, how in ON_ILL),
    *(fk.Requirement(rule, sensitive="pay", **how) for rule, how in ON_PAY),
    *(fk.Requirement(fk.KAnonymity(3)), fk.Requirement(fk.KAnonymity(2), knowing=["job", "pay"])),
    *(fk.Requirement(fk.KMap(3, POPULATION)), fk.Requirement(fk.DeltaPresence(0, 0.9, POPULATION))),
]
tables = st.lists(st.tuples(*map(st.sampled_from, POOLS)), min_size=1, max_size=12).filter(
    lambda rows: {"a", "b", "c"} <= {row[2] for row in rows}
)


def table_of(rows):
    """An Arrow table of these people, and one with how many share each combination."""
    times = Counter(rows)
    found = random.Random(str(rows)).sample(sorted(times, key=str), len(times))
    kinds = [pa.int64() if name == "pay" else pa.string() for name in NAMES]
    made = [
        pa.table(
            [pa.array(own, kind) for own, kind in zip(zip(*of, strict=True), kinds, strict=True)],
            NAMES,
        )
        for of in (rows, found)
    ]
    return made[0], made[1].append_column("count", [[times[key] for key in found]])


def tallied(tally, **changed):
    how = {"group": ["age", "zip"], "sensitive": ["ill", "pay"], "other": ["job"]} | changed
    return fk.Release.from_tally(tally, **how)


def judged(release, schema, requirement):
    """All that an audit says, without what says how it was counted."""
    try:
        found = fk.audit(release, fk.Policy([requirement], schema=schema))._content()
    except InputError as error:  # such as a value that nobody has
        return str(error)
    found["scope"].pop("tallied", None)
    found["notes"] = [note for note in found["notes"] if "by a tally" not in note]
    return json.dumps(found, default=str)


@examples(250, deadline=None)
@given(tables, st.sampled_from(["drop", {"label": "unknown"}]), st.sampled_from(REQUIRED))
def test_tallies_get_their_tables_verdicts(rows, missing, required):
    table, tally = table_of(rows)
    roles = {"sensitive": ["ill", "pay"], "other": ["job"], "missing": missing}
    schema = fk.Schema(quasi_identifiers=["age", "zip"], **roles)
    release, counted = fk.Release.from_schema(table, schema), tallied(tally, missing=missing)
    assert judged(counted, schema, required) == judged(release, schema, required)
    sizes = [sorted(own.combinations().people.tolist()) for own in (counted, release)]
    assert sizes[0] == sizes[1]


@examples(150, deadline=None)
@given(
    st.lists(st.tuples(*map(st.sampled_from, ("12", "ab", "uv", "xy"))), min_size=1, max_size=5),
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1)),
)
def test_tally_by_enumeration_of_worlds(rows, most):
    groups, times, columns = defaultdict(list), Counter(rows), ("ill", "pay", "job")
    for gid, *own in sorted(rows):
        groups[gid].append(dict(zip(columns, own, strict=True)))
    tally = {name: [key[i] for key in times] for i, name in enumerate(("gid", *columns))}
    tally["n"] = [float(many) for many in times.values()]
    release = tallied(pa.table(tally), group="gid", count="n")
    assert release.groups == {gid: len(own) for gid, own in groups.items()}
    for secret, known in (("ill", ["pay", "job"]), ("pay", ["ill"]), ("ill", [])):
        truth = joint_worlds([*groups.values()], secret, known)
        for value in sorted({row[secret] for own in groups.values() for row in own}):
            found = fk.Facts(*most).disclosure(release.seen(secret, known), value=value)
            assert found.exact == worst_over_worlds(truth, value, most)[most]


# ---- the query -----------------------------------------------------------------------------------

ODD = ['a "b"', "order by", "Größe; DROP", "count", "x`y"]
POLICY = f"""[schema]
quasi_identifiers = [{json.dumps(ODD[0])}, {json.dumps(ODD[1], ensure_ascii=False)}]
sensitive = {json.dumps(ODD[2], ensure_ascii=False)}
other = ["count", "x`y"]
missing = "drop"

[[require]]
facts = {{ l = 1, k = 0, m = 0 }}
below = 0.99
knowing = ["x`y"]

[[require]]
k_anonymity = 3
"""


@pytest.fixture
def odd(desk):
    """A table whose columns have names that must be quoted."""
    draw = random.Random(4)
    kinds = [["20-29", "30-39"], [1, 2, None], ["flu", "hiv", "", "cold", None], ["x", "y"], [7]]
    desk.put("odd.toml", POLICY)
    desk.table = pa.table([[draw.choice(kind) for _ in range(300)] for kind in kinds], ODD)
    return desk


def query(desk, *more):
    code, out, err = desk.run("sql", "--policy", "odd.toml", *more)
    assert (code, err) == (0, "")
    comment, *lines = out.splitlines()
    return comment, "\n".join(lines)


def verdicts(desk, *arguments):
    code, _, err = desk.run("audit", *arguments, "-p", "odd.toml", "--json", "found.json")
    assert err == ""
    found = desk.json("found.json")
    assert [*found["verdicts"][-1]["judged"]] == ["k_anonymity"]  # the criterion is among them
    return code, found["verdicts"], found["scope"]["left_out"]


def test_the_query_runs_on_postgresql(odd):
    pytest.importorskip("adbc_driver_postgresql", reason="the ADBC driver is absent")
    name = postgres.hold(odd.table)
    _, asked = query(odd, "--table", f"public.{name}")
    with postgres.connection() as opened, opened.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name}_tally AS {asked.rstrip(';')}")
        opened.commit()
    socket = postgres.server().split("host=%2F")[1].split("&")[0]
    place = f"postgresql://tester@%2F{socket}/postgres?table={name}"
    direct = verdicts(odd, place)
    assert verdicts(odd, "--counts", f"{place}_tally", "--count", "count_2") == direct


def test_the_query_runs_on_spark(odd):
    """Its result comes as Arrow: frames of Spark do not name columns with backticks."""
    frame = spark_frame(odd.table, odd.folder)
    frame.createOrReplaceTempView("release")
    _, asked = query(odd, "--dialect", "spark")
    tally = frame.sparkSession.sql(asked.rstrip(";")).toArrow()
    how = {"other": ODD[3:], "missing": "drop", "sensitive": ODD[2]}
    release = fk.Release.from_tally(tally, group=ODD[:2], count="count_2", **how)
    direct = fk.Release.from_generalized(odd.table, quasi_identifiers=ODD[:2], **how)
    assert release.groups == direct.groups
    policy = fk.Policy.load(odd.folder / "odd.toml")
    found = [fk.audit(own, policy)._content() for own in (release, direct)]
    assert found[0]["verdicts"] == found[1]["verdicts"]


# ---- what is no tally ----------------------------------------------------------------------------


CSV = "age,sex,disease,count\n20,f,flu,3\n20,f,cold,3\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"), (CSV.splitlines()[0], "has no rows"),
        (CSV.replace("disease", "diseases"), "no column 'disease'; did you mean 'diseases'?"),
        (CSV.replace("count", "n"), "has no column 'count'"),
        (CSV.replace(",3\n", ",three\n"), "whole number .* but row 1 holds 'three'"),
        (CSV + "30,f,flu,\n", "row 3 holds None"),
        *((CSV + f"30,f,flu,{odd}\n", f"row 3 holds '{odd}'")
          for odd in ("NaN", "-1", "0", "2.5", "1e3", "9223372036854775808")),
        (CSV + "30,f,flu,1.000\n", "without a sign for thousands, but row 3 holds '1.000'"),
        (CSV + '30,f,flu,"1,000"\n', "without a sign for thousands, but row 3 holds '1,000'"),
        (CSV + "30,f,flu,9007199254740992\n", "9.01e.15 occurrences in all"),
        (CSV + "30,f,,4\n", "'disease' is missing in 4 rows, first in row 3"),
        (CSV + "30,f,flu,1\n20,f,cold,1\n", "rows 2 and 4 differ by nothing but the count"),
        (CSV + ",,flu,4\n,,flu,5\n", "rows 3 and 4 differ by nothing but the count"),
    ],
    ids=range(18),
)  # fmt: skip
def test_contradicting_tallies_are_refused(desk, content, says):
    desk.put("tally.csv", content)
    with pytest.raises(AssertionError, match=says):  # the message is a text of one line
        raise AssertionError(desk.refused("audit", "--counts", "tally.csv", "-p", "policy.toml"))


def test_tally_written_by_another_program(desk):
    rows = CSV.replace("\n", "\r\n").replace(",3", ",3.0") + "30,m,flu,2.00\r\n30,m,cold,2\r\n"
    desk.put("tally.csv", "\ufeff" + rows)
    assert "Safe" in desk.says("audit", "--counts", "tally.csv", "-p", "policy.toml")
    assert "say --counts" in desk.refused("audit", "tally.csv", "-p", "policy.toml")
    for table in ("", "a..b", ".", 'a"b', "a.", '"'):
        said = desk.refused("sql", "-p", "policy.toml", "--table", table)
        assert "is no name of a table" in said
    said = desk.refused("sql", "-p", "policy.toml", "--dialect", "standrad")
    assert "did you mean 'standard'" in said


def test_required_columns_must_be_counted(desk):
    plain = (desk.folder / "policy.toml").read_text()
    policy = desk.put("beside.toml", plain.replace("[[req", 'other = ["job"]\n\n[[req'))
    desk.put("tally.csv", CSV)
    how = "audit", "--counts", "tally.csv", "-p", policy
    assert "has no column 'job', which the policy says is published" in desk.refused(*how)
    desk.put("tally.csv", CSV.replace("count", "count,job").replace("3\n", "3,cook\n"))
    assert "whole number" not in desk.says(*how, code=0)
    assert "contradicts the policy" in desk.refused(*how, "--sensitive", "sex")
    assert "--count is for a tally" in desk.refused("audit", "table.csv", "-p", policy, "-n", "n")
    several = 'sensitive = "disease"\nsemantics = "set"\nperson = "name"'
    plain = plain.replace('sensitive = "disease"', several)
    desk.put("several.toml", plain.replace('identifiers = ["name"]\n', "", 1))
    desk.put("bare.toml", "[[require]]\nk_anonymity = 3\n")
    for command in (["sql"], ["audit", "--counts", "table.csv"]):
        said = desk.refused(*command, "-p", "several.toml")
        assert "a person may have several values of disease, and a tally does not tell" in said
        assert "foreknow: " in desk.refused(*command, "-p", "bare.toml")


GOOD = {"gid": [1, 1, 2], "ill": ["a", "b", "a"], "count": [2, 1, 3]}


@pytest.mark.parametrize(
    ("changed", "how", "says"),
    [
        ({"gid": [1, 1, None]}, {}, r"'gid' is missing \(row 3\)"),
        ({"gid": ["1", None, "2"]}, {}, r"'gid' is missing \(row 2\)"),
        ({"gid": [1.0, np.nan, 2.0]}, {}, r"'gid' is missing \(row 2\)"),
        ({"count": [2, 1, np.nan]}, {}, "row 3 holds None"),
        ({"count": [2, 1, np.inf]}, {}, "row 3 holds inf"),
        ({"count": [2, 1, 0.5]}, {}, "row 3 holds 0.5"),
        ({"count": [2, 1, 2**63]}, {}, "row 3 holds 9223372036854775808"),
        ({"count": [True, True, True]}, {}, "row 1 holds True"),
        ({"count": [2**53, 1, 1]}, {}, "more than 2.*53 cannot be counted"),
        ({"ill": ["a", "a", "a"]}, {}, "rows 1 and 2 differ by nothing but the count"),
        ({}, {"count": "ill"}, "one column plays two roles"), ({}, {"group": []}, "at least one"),
        ({}, {"other": "ill"}, "list of columns"), ({}, {"other": ["gid"]}, "two roles"),
    ],
    ids=range(14),
)  # fmt: skip
def test_frames_that_are_no_tallies(changed, how, says):
    with pytest.raises(InputError, match=says):
        of_good(pd.DataFrame(GOOD | changed), **how)


def of_good(table, **how):
    release = fk.Release.from_tally(table, **{"group": "gid", "sensitive": "ill"} | how)
    return release, release.counts


def test_priors_know_columns_of_tally():
    draw = random.Random(6)
    pools = ["old", "young"], ["1"], ["a", "b", "c"], [1, 2], ["cook", "nurse"]
    table, tally = table_of([tuple(map(draw.choice, pools)) for _ in range(60)])
    chances = {"job": ["cook", "cook", "nurse", "nurse"], "value": ["1", "2"] * 2}
    priors = fk.Priors(pa.table(chances | {"probability": [0.5, 0.5, 0.25, 0.75]}))
    policy = fk.Policy([fk.Requirement(priors, below="0.9", sensitive="pay")])
    how = {"sensitive": ["pay", "ill"], "other": ["zip"]}
    direct = fk.Release.from_generalized(table, quasi_identifiers=["age"], **how)
    counted = tallied(tally, group=["age"], **how)
    one, other = (fk.audit(own, policy)._content() for own in (direct, counted))
    assert [one.get(key) == other.get(key) for key in ("verdicts", "exposed")] == [True, True]
    learned = fk.Learned(by=["job"])
    assert learned.disclosures(direct)[1].to_dict() == learned.disclosures(counted)[1].to_dict()


# ---- each row is found among what was counted, or is said not to be there ------------------------

CASES = 20_000 if NIGHTLY else 400
OTHER_NAN = np.array([0x7FF8000000000BAD]).view(np.float64)[0]
MOMENTS = [dt.datetime(1980, 1, 1, 0, 0, 0, i) for i in range(3)]
DAYS = [dt.date(1899, 12, 31), dt.date(1980, 1, 1), dt.date(1980, 1, 2)]
AMOUNTS = [Decimal("1.50"), Decimal("1.05"), Decimal("-0.01")]
KINDS = [
    ([None, "", "a", "A", "a ", " a", "\u00e4", "a\u0308", "nan", "null"], pa.string()),
    ([None, 0.0, -0.0, 1.5, np.nan, OTHER_NAN, np.inf, 5e-324], pa.float64()),
    ([None, 0.0, -0.0, 1.5, np.nan, 0.1], pa.float32()), ([0, 1, -128, 127], pa.int8()),
    ([None, 0, 1, -(2**63), 2**63 - 1], pa.int64()), ([None, True, False], pa.bool_()),
    ([None, *DAYS], pa.date32()), ([None, *MOMENTS], pa.timestamp("us")),
    ([None, *AMOUNTS], pa.decimal128(20, 2)),
]  # fmt: skip
LABELS = pa.table({"age": ["20-29", "30-39", None], "ward": ["x", "y", "y"]})
SHOWN = ["row", *LABELS.column_names]


def drawn(draw, rows, many):
    """A table with columns of some kinds."""
    kinds = [KINDS[i] for i in draw.integers(0, len(KINDS), many)]
    own = [pa.array([v[j] for j in draw.integers(0, len(v), rows)], kind) for v, kind in kinds]
    return pa.table(own, [f"k{i}" for i in range(many)])


def keys_of(table):
    def comparable(value):
        if isinstance(value, float):
            return "NaN" if value != value else value + 0.0
        return value

    return [tuple(map(comparable, row.values())) for row in table.to_pylist()]


def counted(table):
    """One row of each kind, as an engine gives them, and how often it occurs."""
    keys = keys_of(table)
    first = {key: i for i, key in reversed([*enumerate(keys)])}
    times = Counter(keys)
    return table.take([*first.values()]), np.array([times[key] for key in first]), [*first]


def looked_up(folder, table, size=None):
    """The rows as a worker writes them, and what it says of them."""
    rows = table.add_column(0, "row", [pa.array(range(len(table)))])
    (folder / "token").write_text("this")
    by_row = lookup.by_row(folder, SHOWN, "note")
    told = [row for batch in by_row(rows.to_batches(size), "this") for row in batch.to_pylist()]
    found = [row for own in told for row in pq.read_table(folder / own["file"]).to_pylist()]
    return found, sum(own["number"] for own in told) % (1 << 64), sum(own["rows"] for own in told)


@pytest.mark.parametrize("span", [1 << 62, 11, 60])
def test_rows_keep_their_labels(tmp_path, monkeypatch, span):
    draw = np.random.default_rng(span % 101)
    monkeypatch.setattr(lookup, "_SPAN", span)
    for case in range(CASES // 40):
        monkeypatch.setattr(lookup, "_ROWS", int(draw.integers(1, 40)))
        table = drawn(draw, int(draw.integers(1, 60)), int(draw.integers(1, 6)))
        entries, times, keys = counted(table)
        groups = draw.integers(-1, len(LABELS), len(keys))
        (folder := tmp_path / str(case)).mkdir()
        weight, many = lookup.write_lookup(entries, times, groups, LABELS, folder)
        found = looked_up(folder, table, int(draw.integers(1, 20)))
        label = [*LABELS.to_pylist(), {"age": None, "ward": None}]
        of_key = dict(zip(keys, groups, strict=True))
        rows = [{"row": i, **label[of_key[key]]} for i, key in enumerate(keys_of(table))]
        assert found == (rows, weight % (1 << 64), many)


def test_changed_rows_are_noticed(tmp_path):
    draw = np.random.default_rng(5)
    for case in range(CASES // 10):
        table = drawn(draw, 30, 3)
        entries, times, keys = counted(table)
        (folder := tmp_path / str(case)).mkdir()
        groups = np.zeros(len(keys), np.int64)
        weight, many = lookup.write_lookup(entries, times, groups, LABELS, folder)
        # One row stands in the place of another, which may be new.
        values, kinds = [*table.slice(0, 1).to_pylist()[0].values()], table.schema.types
        changed = int(draw.integers(0, 3))
        values[changed] = next(own for own, kind in KINDS if kind == kinds[changed])[-1]
        new = [pa.array([value], kind) for value, kind in zip(values, kinds, strict=True)]
        other = pa.concat_tables([pa.table(new, table.column_names), table.slice(1)])
        found = looked_up(folder, other)
        assert found[2] == many
        same = keys_of(other)[0] == keys_of(table)[0]
        assert ((found[1] - weight) % (1 << 64) == 0) == same
        assert found[0][0]["age"] == ("20-29" if keys_of(other)[0] in keys else None)


@pytest.mark.parametrize("span", [1 << 62, 3])
def test_new_values_stay_distinct(tmp_path, monkeypatch, span):
    """Where all combinations occur, and one row has a value that nobody had in place of its own."""
    monkeypatch.setattr(lookup, "_SPAN", span)
    pairs = [(age, ward) for age in (30, 31) for ward in ("x", "y")]

    def of(rows):
        return pa.table([[*own] for own in zip(*rows, strict=True)], ["age", "ward"])

    ones, groups = np.ones(4, np.int64), np.zeros(4, np.int64)
    weight, _ = lookup.write_lookup(of(pairs), ones, groups, LABELS, tmp_path)
    for place, (age, ward) in enumerate(pairs):
        for new in ((age, "z"), (32, ward), (29, "y")):
            rows, found, _ = looked_up(tmp_path, of([*pairs[:place], new, *pairs[place + 1 :]]))
            assert found != weight % (1 << 64)
            labels = [row["age"] for row in rows]
            assert labels == [None if i == place else "20-29" for i in range(4)]
