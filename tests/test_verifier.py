"""The verifier judges what is written as the audit does, without sharing its code."""

import random
from collections import Counter
from fractions import Fraction
from unittest import mock

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.oracle.worlds import worst_cases
from tests.people import files
from tests.refusals import refused as by_code

import foreknow as fk
from foreknow_judge import counting
from foreknow_judge import facts as kernel
from foreknow_judge import written as verifier
from foreknow_judge.counting import Column
from foreknow_judge.errors import CertificateError, UnsupportedError
from foreknow_judge.facts import Worst, worst_implications
from foreknow_judge.impossible import Rules
from foreknow_judge.verdict import Limit
from foreknow_judge.verdicts import verdicts as verify
from foreknow_judge.written import Written, count_people

AMOUNTS = st.tuples(*[st.integers(0, 3)] * 3)
BAGS = st.lists(st.text("stuv", min_size=1, max_size=8), min_size=1, max_size=5)


def generalized(bags):
    """A table with a pair of quasi-identifiers for each group, rows in a random order."""
    rows = [(f"z{g % 3}", f"a, {g}", x) for g, bag in enumerate(bags) for x in bag]
    random.Random(len(rows)).shuffle(rows)
    zips, ages, disease = zip(*rows, strict=True)
    return {"release": pa.table({"zip": zips, "age": ages, "disease": disease})}


def write_with_duckdb(query, path):
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


def bucketized(bags):
    people = [(g + 1, i) for g, bag in enumerate(bags) for i in range(len(bag))]
    tally = [(g + 1, x, bag.count(x)) for g, bag in enumerate(bags) for x in sorted(set(bag))]
    random.Random(len(people)).shuffle(tally)
    return {
        "people": pa.table({"age": [i for _, i in people], "group": [g for g, _ in people]}),
        "sensitive": pa.table(
            dict(
                zip(["group", "disease", "count"], map(list, zip(*tally, strict=True)), strict=True)
            )
        ),
    }


def written(form, tables, fmt="arrow", folder=None):
    """Tables in memory, or written by PyArrow into a folder."""
    columns = ("zip", "age") if form == "generalized" else ("group",)
    if fmt != "arrow":
        tables = files(tables, fmt, folder)
    return Written(form, columns, "disease", tables)


def on_disk(path):
    return Written("generalized", ("zip", "age"), "disease", {"release": path})


def facts(*points, **more):
    """A [[require]] table of one point or several."""
    made = [{"l": l, "k": k, "m": m} for l, k, m in points]  # noqa: E741
    if len(made) == 1:
        return {"facts": made[0], "below": "1/2", **more}
    return {"facts": [{**point, "below": "1/2"} for point in made], **more}


def refused(release, said):
    with pytest.raises(CertificateError, match=said):
        verify(release, [facts((0, 0, 0))])


def two_groups(release):
    """Two groups in which everybody is certain to be found out; merged they would look safe."""
    assert count_people(release)[1] == 2
    assert verify(release, [facts((0, 0, 0))])[0].reached == 1


# ---- against the audit, exactly ----------------------------------------------------------------


@examples(30, deadline=None)
@given(bags=BAGS, points=st.lists(AMOUNTS, min_size=1, max_size=3, unique=True))
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_probabilities_are_those_of_the_audit(form, bags, points):
    tables = generalized(bags) if form == "generalized" else bucketized(bags)
    found = verify(written(form, tables), [facts(*points)])
    counts = fk.GroupCounts.from_bags(bags)
    policy = fk.Policy([fk.Requirement([(fk.Facts(*p), "1/2") for p in points])])
    expected = fk.audit(counts, policy)
    assert [(f.reached, f.safe) for f in found] == [
        (v.disclosure.exact, v.safe) for v in expected.verdicts
    ]
    for finding, point in zip(found, points, strict=True):
        assert type(finding.reached) is Fraction
        assert fk.Facts(*point).disclosure(counts, finding.value).exact == finding.reached


@examples(25, deadline=None)
@given(
    bags=st.lists(st.text("stu", min_size=1, max_size=3), min_size=1, max_size=2),
    point=st.tuples(*[st.integers(0, 2)] * 3),
)
def test_probabilities_are_those_of_enumerated_worlds(bags, point):
    (found,) = verify(written("generalized", generalized(bags)), [facts(point)])
    truth = {x: worst_cases(bags, x, point)[point] for bag in bags for x in bag}
    assert found.reached == max(truth.values())
    assert truth[found.value] == found.reached


@pytest.mark.parametrize("fmt", ["csv", "parquet"])
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_files_are_judged_as_the_tables_they_hold(form, fmt, tmp_path):
    chance = random.Random(7)
    bags = ["".join(chance.choices("stuv", k=chance.randint(1, 9))) for _ in range(12)]
    tables = generalized(bags) if form == "generalized" else bucketized(bags)
    on_disk = written(form, tables, fmt, tmp_path)
    assert on_disk.held == written(form, tables).held
    assert count_people(on_disk) == (sum(map(len, bags)), len(bags))


@examples(25, deadline=None)
@given(bags=BAGS, point=AMOUNTS, chosen=st.sets(st.sampled_from("stuvx"), min_size=1))
def test_values_and_except_choose_what_a_requirement_is_about(bags, point, chosen):
    counts = fk.GroupCounts.from_bags(bags)
    release = written("generalized", generalized(bags))
    present = {x for bag in bags for x in bag}
    for key, about in (("values", present & chosen), ("except", present - chosen)):
        (found,) = verify(release, [facts(point, **{key: sorted(chosen)})])
        truth = [fk.Facts(*point).disclosure(counts, x).exact for x in about]
        assert found.reached == max(truth, default=Fraction(0))
        assert found.value is None or found.value in about


MANY = st.lists(
    st.dictionaries(st.sampled_from("abcdefghijklmnop"), st.integers(1, 4), min_size=1),
    min_size=1,
    max_size=4,
)


@examples(150, deadline=None)
@given(bags=MANY, point=st.tuples(st.integers(0, 20), st.integers(0, 4), st.integers(0, 4)))
def test_probabilities_of_every_value_are_those_of_the_audit_also_of_many(bags, point):
    release = written("generalized", generalized(["".join(Counter(b).elements()) for b in bags]))
    counts = fk.GroupCounts.from_bags(bags)
    values = list(counts.values)
    found = verify(release, [facts(point, values=[value]) for value in values])
    policy = fk.Policy([fk.Requirement(fk.Facts(*point), "1/2", values=[v]) for v in values])
    assert [(f.value, f.reached, f.safe) for f in found] == [
        (v.disclosure.value, v.disclosure.exact, v.safe) for v in fk.audit(counts, policy).verdicts
    ]


@examples(60, deadline=None)
@given(bags=MANY, point=st.tuples(*[st.integers(0, 4)] * 3), room=st.sampled_from([0, 8]))
def test_what_is_left_out_for_speed_decides_nothing(bags, point, room):
    """Cells that others are worse than, and how rows are told apart."""
    tables = generalized(["".join(Counter(bag).elements()) for bag in bags])
    asked = [facts(point), {"implications": {"k": point[0]}, "below": "1/2"}]
    asked += [{"alpha_k": {"alpha": "1/2", "k": 2}}, {"t_closeness": {"t": "1/2"}}]
    found = verify(written("generalized", tables), asked)
    with (
        mock.patch.object(kernel.DistinctProfiles, "front", every_cell),
        mock.patch.object(counting, "_ROOM", room),
    ):
        assert verify(written("generalized", tables), asked) == found


def every_cell(cells):
    for value in np.unique(cells.value).tolist():
        rows = cells.rows[cells.value == value].tolist()
        yield value, [kernel.Cell.of(row) for row in rows]


def test_findings_come_in_the_order_of_the_policy_with_all_that_was_asked():
    release = written("generalized", generalized(["sst", "stu"]))
    found = verify(
        release,
        [
            {"facts": [{"k": 1, "below": "0.75"}, {"l": 1, "below": 1}], "values": ["s"]},
            {"facts": {}, "below": 0.5, "except": ["s"]},
        ],
    )
    assert [(f.place, f.judged, f.limit) for f in found] == [
        (0, {"facts": {"k": 1}}, Fraction(3, 4)),
        (0, {"facts": {"l": 1}}, Fraction(1)),
        (1, {"facts": {}}, Fraction(1, 2)),
    ]
    assert [f.reached for f in found] == [Fraction(1), Fraction(1), Fraction(1, 3)]
    assert [f.safe for f in found] == [False, False, True]


def test_a_probability_equal_to_the_threshold_is_not_safe():
    assert not Limit(Fraction(1, 3)).holds(Fraction(1, 3))
    assert Limit(Fraction(1, 3), inclusive=True).holds(Fraction(1, 3))
    assert Limit(Fraction(1, 3) + Fraction(1, 10**30)).holds(Fraction(1, 3))


def test_large_amounts_and_counts_stay_exact():
    tally = pa.table(
        {"group": [1, 1, 2], "disease": ["s", "t", "s"], "count": [10**6, 3 * 10**6 + 1, 1]}
    )
    sizes = [4 * 10**6 + 1, 1]
    people = pa.table({"group": [1] * sizes[0] + [2]})
    release = Written("bucketized", ("group",), "disease", {"people": people, "sensitive": tally})
    (found,) = verify(release, [facts((0, 0, 5), values=["t"])])
    counts = fk.GroupCounts.from_bags([{"s": 10**6, "t": 3 * 10**6 + 1}, {"s": 1}])
    assert found.reached == fk.Facts(m=5).disclosure(counts, "t").exact


# ---- what is written is taken as it is ---------------------------------------------------------


def test_the_order_of_columns_and_columns_of_no_role_do_not_matter(tmp_path):
    table = generalized(["sst", "tuv"])["release"]
    table = table.append_column("extra", pa.array([str(i) for i in range(6)]))
    for names in (["disease", "extra", "age", "zip"], ["zip", "age", "disease", "extra"]):
        release = written("generalized", {"release": table.select(names)}, "csv", tmp_path)
        assert verify(release, [facts((0, 0, 0))])[0].reached == Fraction(2, 3)


@pytest.mark.parametrize(
    "columns",
    [
        # names that are equal once they are joined; a null and a word; two zeros
        {"zip": ["a", "a", "a, b", "a, b"], "age": ["b, c", "b, c", "c", "c"]},
        {"zip": [None, None, "missing", "missing"], "age": ["1"] * 4},
        {"zip": [0.0, 0.0, -0.0, -0.0], "age": ["1"] * 4},
    ],
)
@pytest.mark.parametrize("fmt", ["arrow", "parquet"])
def test_what_a_reader_can_tell_apart_stays_apart(columns, fmt, tmp_path):
    table = pa.table({**columns, "disease": list("sstt")})
    two_groups(written("generalized", {"release": table}, fmt, tmp_path))


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_the_order_of_counting_changes_no_finding(form, monkeypatch):
    bags = ["st", "st", "stu"]
    count_rows = verifier.count_rows
    found = []
    for step in (1, -1):

        def turned(*given, step=step):
            return [
                ([Column(c.texts, c.codes[::step]) for c in columns], times[::step])
                for columns, times in count_rows(*given)
            ]

        monkeypatch.setattr(verifier, "count_rows", turned)
        tables = generalized(bags) if form == "generalized" else bucketized(bags)
        found.append(verify(written(form, tables), [facts((0, 0, 0)), facts((1, 1, 1))]))
    assert found[0] == found[1]


@pytest.mark.parametrize("fmt", ["arrow", "csv", "parquet"])
def test_what_several_requirements_count_at_once_is_what_each_counts_alone(fmt, tmp_path):
    draw = random.Random(5)
    table = pa.table(
        {
            name: draw.choices(of, k=60)
            for name, of in zip("abcd", ("xy", "st", "uvw", "pq"), strict=True)
        }
    )
    tables = {"release": table} if fmt == "arrow" else files({"release": table}, fmt, tmp_path)
    asked = [
        {"facts": {"l": 1}, "below": "1", "sensitive": about, "knowing": known}
        for about, known in (("b", ["c"]), ("c", ["b"]), ("d", []), ("b", []), ("d", ["b", "c"]))
    ]

    def release():
        parts = dict.fromkeys("bcd", "release")
        return Written("generalized", ("a",), "b", tables, parts=parts)

    together = release()
    found = verify(together, asked)
    assert count_people(together) == (60, 2)
    for position, table in enumerate(asked):
        (alone,) = verify(release(), [table], first=position)
        assert alone == found[position]
        assert together.groups_of(table["sensitive"], table["knowing"]).people.sum() == 60


@pytest.mark.parametrize("fmt", ["csv", "parquet"])
def test_a_release_without_its_columns_is_refused_in_one_line(fmt, tmp_path):
    table = generalized(["sst"])["release"].drop_columns(["age"])
    release = written("generalized", {"release": table}, fmt, tmp_path)
    with pytest.raises(CertificateError, match="has no column 'age'") as caught:
        verify(release, [facts((0, 0, 0))])
    assert "\n" not in str(caught.value)


def test_an_adversary_that_is_not_known_is_never_called_safe():
    release = written("generalized", generalized(["sst"]))
    with pytest.raises(UnsupportedError, match="telepathy"):
        verify(release, [{"telepathy": {"k": 3}, "below": "1"}])


@pytest.mark.parametrize("name", ["l", "k", "m"])
@pytest.mark.parametrize("amount", [-1, -(10**9), 1.5, "1", None])
def test_amounts_that_are_no_whole_numbers_from_0_are_refused(name, amount):
    release = written("generalized", generalized(["sst"]))
    code = "out-of-bounds" if type(amount) is int else "wrong-type"
    with by_code(code, where="facts"):
        verify(release, [{"facts": {name: amount}, "below": "1"}])


@pytest.mark.parametrize("fmt", ["arrow", "csv", "parquet"])
def test_a_missing_sensitive_value_is_refused_with_its_group(fmt, tmp_path):
    table = pa.table({"zip": ["z1", "z2"], "age": ["a", None], "disease": ["s", None]})
    release = written("generalized", {"release": table}, fmt, tmp_path)
    refused(release, "value is missing in group z2, missing")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 1, 2, 2], pa.timestamp("ns")),
        pa.array([1, 1, 2, 2], pa.time64("ns")),
        pa.array([(0, 30, 0)] * 2 + [(1, 0, 0)] * 2, pa.month_day_nano_interval()),
    ],
    ids=lambda column: str(column.type),
)
@pytest.mark.parametrize("fmt", ["arrow", "parquet"])
def test_groups_of_a_type_in_which_values_print_alike_are_refused(tmp_path, column, fmt):
    table = pa.table({"zip": column, "age": ["1"] * 4, "disease": list("sstt")})
    if fmt == "parquet" and pa.types.is_interval(column.type):
        write_with_duckdb(
            "SELECT i AS zip, '1' AS age, d AS disease FROM (VALUES (INTERVAL 1 MONTH, 's'), "
            "(INTERVAL 30 DAY, 't')) v(i, d)",
            tmp_path / "release.parquet",
        )
        release = on_disk(tmp_path / "release.parquet")
    else:
        release = written("generalized", {"release": table}, fmt, tmp_path)
    refused(release, "in which values may print alike")


def test_times_of_96_bits_are_refused_since_their_nanoseconds_are_not_read(tmp_path):
    times = pa.array([1, 1, 2, 2], pa.timestamp("ns"))
    path = tmp_path / "release.parquet"
    table = pa.table({"zip": times, "age": ["1"] * 4, "disease": list("sstt")})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    release = on_disk(path)
    refused(release, "INT96, in which values may print alike")


def test_dates_that_python_cannot_hold_are_not_taken_for_others(tmp_path):
    path = tmp_path / "release.parquet"
    write_with_duckdb(
        "SELECT i AS zip, '1' AS age, d AS disease FROM (VALUES (DATE '-infinity', 's'), "
        "(DATE '0001-01-01', 't')) v(i, d)",
        path,
    )
    release = on_disk(path)
    two_groups(release)


@pytest.mark.parametrize("column", ["zip", "age"])
def test_an_empty_field_and_one_in_quotes_are_not_taken_for_one(tmp_path, column):
    path = tmp_path / "release.csv"
    rows = ["20,1,s", "20,1,t"]
    rows = [row.replace("20" if column == "zip" else "1", "") for row in rows]
    path.write_text("\n".join(["zip,age,disease", *rows, rows[0], ""]))
    release = on_disk(path)
    assert count_people(release) == (3, 1)
    quoted = [row.replace(",1", ',""') if column == "age" else '""' + row for row in rows]
    quoted = [row.replace(",,", ',"",') for row in quoted]
    path.write_text("\n".join(["zip,age,disease", *rows, quoted[0], ""]))
    release = on_disk(path)
    refused(release, 'empty fields and ""')


@pytest.mark.parametrize("row", ['"20" ,1,s', ' "20",1,s', "20,1,s,"])
def test_a_file_that_readers_take_differently_is_refused(tmp_path, row):
    path = tmp_path / "release.csv"
    path.write_text(f'zip,age,disease\n"20",1,t\n{row}\n')
    release = on_disk(path)
    with by_code("stray-quote" if '"' in row else "uneven-row", file="release.csv", line=3):
        verify(release, [facts((0, 0, 0))])


@pytest.mark.parametrize("fmt", ["csv", "parquet"])
def test_a_file_that_changes_between_its_tables_being_read_is_refused(tmp_path, fmt):
    release = written("bucketized", bucketized(["sst", "tu"]), fmt, tmp_path)
    _ = release.files
    path = release.tables["sensitive"]
    path.write_bytes(path.read_bytes())
    refused(release, "changed while it was read")


# ---- implications ------------------------------------------------------------------------------


@examples(300)
@given(BAGS, st.integers(0, 6))
def test_implications_are_those_of_the_audit_for_every_value_and_for_the_worst(groups, k):
    counts = fk.GroupCounts.from_bags(groups)
    held = written("generalized", generalized(groups)).held
    found = fk.Implications(k).disclosures(counts)
    for value in counts.values:
        assert worst_implications(held, {value}, k)[2] == found[value].exact
    value, group, probability, _ = worst_implications(held, set(counts.values), k)
    assert probability == fk.Implications(k).disclosure(counts).exact == found[value].exact
    assert value in held[group][1]


@pytest.mark.parametrize(
    ("bags", "k"),
    [
        (["d", "abd"], 1),  # whoever surely has d has it only if a
        (["abbccd", "bbdd"], 2),  # about two values of one other person
    ],
)
def test_implications_reach_everywhere(bags, k):
    held = written("generalized", generalized(bags)).held
    assert worst_implications(held, {"a"}, k)[2] == 1
    assert worst_implications(held, {"a"}, k - 1)[2] < 1


def test_nobody_asked_about_is_nobody_at_risk():
    held = written("generalized", generalized(["ab"])).held
    assert worst_implications(held, set(), 1) == Worst()
    assert worst_implications(held, {"c"}, 1) == Worst()


@pytest.mark.parametrize("columns", [["group"], ["group", "job"]])
def test_statistics_of_a_file_that_lie_make_no_two_groups_one(columns, tmp_path):
    rows = {"group": [1, 257] * 40, "job": ["cook", "smith"] * 40}
    rows["disease"] = ["Flu", "Cold", "Cold", "Cold"] * 20
    path = tmp_path / "release.parquet"
    pq.write_table(pa.table(rows), path, use_dictionary=False, compression="none")
    content, most = path.read_bytes(), (257).to_bytes(8, "little")
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    assert most in content[footer:]
    lie = content[footer:].replace(most, (2).to_bytes(8, "little"))
    path.write_bytes(content[:footer] + lie)
    held = Written("generalized", columns, "disease", {"release": path}).held
    assert [(group[0], people) for group, (people, _) in held.items()] == [("1", 40), ("257", 40)]
    release = fk.Release.from_generalized(path, quasi_identifiers=columns, sensitive="disease")
    assert sorted(release.counts.sizes.tolist()) == [40, 40]


@pytest.mark.parametrize("room", [0, 8])
@given(rows=st.lists(st.tuples(*[st.integers(0, 4)] * 3), max_size=30), wide=st.booleans())
def test_sorted_rows_count_alike(room, rows, wide):
    with mock.patch.object(counting, "_room", lambda key: room * len(key)):
        sorted_alike(rows, 1 << 40 if wide else 1)


def test_keys_do_not_overflow():
    rows = np.random.default_rng(0).integers(0, 3, (50, 3))
    first, kinds = counting.distinct(*(rows << 40).T)
    assert rows[first].tolist() == np.unique(rows, axis=0).tolist()
    assert rows[first][kinds].tolist() == rows.tolist()


def sorted_alike(rows, times):
    """Compare kinds and order of rows with those of Python; codes of the first column are large."""
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    columns[0] *= times
    first, sort = counting.distinct(*columns)
    kinds = sorted(set(rows))
    assert [rows[at] for at in first] == kinds
    assert [kinds[at] for at in sort] == rows
    assert [*first] == [rows.index(kind) for kind in kinds]
    columns[0] //= times
    names = [Column([*"abcde"], codes) for codes in columns]
    groups = dict(zip("xy", names, strict=False))
    made = counting.DistinctRows.of(groups, {"ill": names[2]}, np.arange(len(rows)))
    cells = zip(*(made.column(name).codes.tolist() for name in ("x", "y", "ill")), strict=True)
    cells = [*zip(cells, made.times.tolist(), strict=True)]
    assert sorted(cells) == sorted(zip(rows, range(len(rows)), strict=True))
    assert [cell for cell, _ in cells] == sorted(rows)
    held = made.counts((), made.beside["ill"], np.arange(1, len(rows) + 1))
    counts = [sorted(held.bag(at).values(), reverse=True) for at in range(len(held))]
    assert held.sorted_counts.tolist() == [count for bag in counts for count in bag]


@pytest.mark.parametrize("kind", ["implications", "priors"])
def test_knowledge_that_heeds_no_rules_is_refused(kind):
    """A man has HIV, and no woman can: 1/2, and 1/4 by whoever forgets the rule."""
    table = pa.table({"zip": ["A"] * 4, "sex": [*"mmff"], "ill": ["HIV", "Flu", "Cold", "Flu"]})
    rules = Rules([{"values": ["HIV"], "where": {"sex": ["f"]}, "sensitive": "ill"}])
    roles = {"beside": ("sex",), "rules": rules}
    release = Written("generalized", ("zip",), "ill", {"release": table}, **roles)
    chances = [[[sex], ["1/3"] * 3] for sex in "mf"]
    priors = {"attributes": ["sex"], "values": ["HIV", "Flu", "Cold"], "rows": chances}
    settings = {"implications": {"k": 0}, "priors": {"tables": [priors]}}
    (found,) = verify(release, [{"facts": {}, "values": ["HIV"], "below": "9/10"}])
    assert found.reached == Fraction(1, 2)
    with by_code("no-rules", CertificateError, key=kind):
        verify(release, [{kind: settings[kind], "values": ["HIV"], "below": "9/10"}])
