"""Sights of columns that files write in their own way, and of criteria about people alone."""

import csv
import hashlib
import json
import random
from collections import Counter
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import foreknow as fk
from foreknow.errors import OutputError

DRAWN = {
    "zeros": [0.0, -0.0],
    "floats": [1e5, 0.1, float("nan"), None],
    "truths": [True, False],
    "times": [datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 1)],
    "decimals": [Decimal("1.00"), Decimal("2.50")],
    "empty": ["", "x"],
    "formulas": ["=1", "'=1"],
}


def people(n=40, seed=3, **more):
    draw = random.Random(seed)
    own = {
        "age": [draw.randint(20, 60) for _ in range(n)],
        "ill": [draw.choice("abcd") for _ in range(n)],
        "pay": [draw.choice([10, 20, 30, 40]) for _ in range(n)],
        "ward": [draw.choice("xy") for _ in range(n)],
    }
    return pa.table(own | {k: [draw.choice(of) for _ in range(n)] for k, of in more.items()})


def of_facts(below="1", **more):
    return fk.Requirement(fk.Facts(1), below=below, **more)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_known_columns_of_any_kind_are_published_and_verified(name, format, tmp_path):
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", other=["ward"])
    table = people(ward=DRAWN[name])
    for escape in [False, True] if format == "csv" else [False]:
        options = fk.PublishOptions(format=format, escape_formulas=escape)
        policy = fk.Policy([of_facts()], schema, options)
        made = fk.publish(table, policy, seed=1)
        made.write(tmp_path / f"{escape}")
        fk.verify(tmp_path / f"{escape}")
        fk.verify(tmp_path / f"{escape}", policy)
        (one,), (two,) = made.audit.verdicts, fk.audit(tmp_path / f"{escape}", policy).verdicts
        assert one.disclosure.exact == two.disclosure.exact
        if format == "csv":
            bags = {}
            with (tmp_path / f"{escape}" / "release.csv").open(newline="") as file:
                for row in csv.DictReader(file):
                    bags.setdefault((row["age"], row["ward"]), Counter())[row["ill"]] += 1
            worst = 0
            for bag in bags.values():
                two = sorted(bag.values())[-2:]
                worst = max(worst, two[-1] / (sum(bag.values()) - (two[0] if two[1:] else 0)))
            assert worst == pytest.approx(float(one.disclosure.exact))


def test_a_known_column_of_empty_texts_and_missing_values_is_no_csv():
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", other=["ward"])
    table = people(ward=["", None, "x"])
    with pytest.raises(OutputError, match="'ward'"):
        fk.publish(table, fk.Policy([of_facts()], schema))
    fk.publish(table, fk.Policy([of_facts(knowing=[])], schema))
    parquet = fk.PublishOptions(format="parquet")
    assert fk.publish(table, fk.Policy([of_facts()], schema, parquet)).audit.safe


def test_what_is_known_beside_is_published_bucketized(tmp_path):
    # Other columns are in the table of people, and divide nothing there.
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", other=["ward"])
    for required in (of_facts("1/2", knowing=["ward"]), fk.Requirement(fk.LDiversity(2))):
        policy = fk.Policy([required], schema, fk.PublishOptions(form="bucketized"))
        made = fk.publish(people(), policy, seed=1)
        made.write(tmp_path / str(required.criterion))
        fk.verify(tmp_path / str(required.criterion), policy)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
@pytest.mark.parametrize("unlinked", [["ill"], ["pay"], ["ill", "pay"], ["ward"]])
def test_k_anonymity_is_of_people_whatever_is_shuffled(method, unlinked, tmp_path):
    schema = fk.Schema(
        quasi_identifiers=["age"],
        sensitive=["ill", "pay"],
        other=["ward"],
        hierarchies={"age": fk.Intervals([5, 10, 20])},
    )
    for sensitive, known in (("ill", "ward"), ("pay", "ward"), ("pay", "ill"), (None, "ward")):
        required = fk.Requirement(fk.KAnonymity(4), sensitive=sensitive, knowing=[known])
        options = fk.PublishOptions(unlinked=unlinked)
        policy = fk.Policy([required], schema, options)
        made = fk.publish(people(60), policy, method=method, seed=1)
        folder = tmp_path / f"{sensitive}{known}"
        made.write(folder)
        fk.verify(folder)
        fk.verify(folder, policy)
        with (folder / "release.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        told = [] if known in unlinked else [known]
        least = min(Counter(tuple(row[c] for c in ["age", *told]) for row in rows).values())
        assert least >= 4
        for audited in (made.audit, fk.audit(folder, policy)):
            assert audited.criteria[0].reached == least
            assert audited.criteria[0].known == tuple(told)


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_the_first_sensitive_column_may_be_apart_from_others(form, tmp_path):
    schema = fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay"], other=["ward"])
    options = fk.PublishOptions(form=form, unlinked=["ill"])
    for place, required in enumerate(
        [[fk.Requirement(fk.GroupSize(3))], [of_facts("9/10", sensitive="ill", values=["a"])]]
    ):
        policy = fk.Policy(required, schema, options)
        made = fk.publish(people(), policy, seed=1)
        made.write(tmp_path / str(place))
        fk.verify(tmp_path / str(place))
        for audited in (made.audit, fk.audit(tmp_path / str(place), policy)):
            assert set(audited.counts.values) == set("abcd")
            assert set(audited.unprotected) == set("abcd") - ({"a"} if place else set())
            told = audited.to_dict()["scope"]["unrequired"]
            assert told == (["pay"] if place else ["ill", "pay"])


@pytest.mark.parametrize("holes", ["ill", "pay", "both"])
def test_people_without_one_of_two_values_are_dropped(holes, tmp_path):
    table = people(12)
    for place, name in enumerate(["ill", "pay"]):
        if holes in (name, "both"):
            column = table.column(name).to_pylist()
            column[place] = None
            table = table.set_column(table.column_names.index(name), name, pa.array(column))
    schema = fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay"], missing="drop")
    policy = fk.Policy([of_facts(sensitive=name, knowing=[]) for name in schema.sensitives], schema)
    made = fk.publish(table, policy, seed=1)
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    assert made.audit.scope.left_out == (2 if holes == "both" else 1)
    whole = Counter(zip(*(table.column(c).to_pylist() for c in ("ill", "pay")), strict=True))
    own = made.tables["release"].to_pydict()
    found = Counter(zip(own["ill"], map(int, own["pay"]), strict=True))
    assert found == Counter({k: n for k, n in whole.items() if None not in k})


@pytest.mark.parametrize("options", [{"unlinked": ["ill", "ward"]}, {"form": "bucketized"}])
def test_of_a_table_the_report_says_what_was_known_beside_whatever_is_published(options, tmp_path):
    schema = fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay"], other=["ward"])
    required = [
        of_facts(sensitive="ill"),
        fk.Requirement(fk.LDiversity(2), sensitive="ill"),
        fk.Requirement(fk.LDiversity(2), sensitive="pay", knowing=[]),
    ]
    found = fk.audit(people(), fk.Policy(required, schema, fk.PublishOptions(**options)))
    assert [each.known for each in found.verdicts] == [("pay", "ward")] * 2 + [()]
    found.to_html(tmp_path / "report.html")
    report = (tmp_path / "report.html").read_text()
    assert "They also know the pay and ward of everybody." in report
    assert "of ill, for someone who knows the pay and ward of everybody: " in report
    assert "of pay: " in report


@pytest.mark.thinned(2)
@pytest.mark.parametrize("file", ["csv", "parquet"])
@pytest.mark.parametrize("apart", [["pay"], ["ill"], ["pay", "job"]])
def test_a_shuffled_column_is_called_so_in_the_file_and_read_as_itself(file, apart, tmp_path):
    ages, jobs = list(range(20, 60)), (["cook"] * 4 + ["nurse"] * 4) * 5
    table = pa.table({"age": ages, "job": jobs, "ill": [*"abcd"] * 10, "pay": [*"sstuuvvt"] * 5})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay"], other=["job"])
    asked = [fk.Requirement(fk.Facts(1), below="9/10", sensitive=name) for name in ("ill", "pay")]
    policy = fk.Policy(asked, schema, fk.PublishOptions(unlinked=apart, format=file))
    made = fk.publish(table, policy)
    names = [f"{n}_shuffled" if n in apart else n for n in ("age", "job", "ill", "pay")]
    assert made.to_arrow().column_names == made.tables["release"].column_names == names
    made.write(tmp_path / "out")
    at = tmp_path / f"out/release.{file}"
    written = pq.read_table(at) if file == "parquet" else pc.read_csv(at)
    assert written.column_names == names
    assert fk.verify(tmp_path / "out").scope.shuffled == tuple(apart)
    exact = [verdict.disclosure.exact for verdict in made.audit.verdicts]
    for given in (tmp_path / "out", at, written.cast(made.to_arrow().schema)):
        again = fk.audit(given, policy)
        assert [verdict.disclosure.exact for verdict in again.verdicts] == exact
        assert [verdict.value for verdict in again.verdicts] == [
            verdict.value for verdict in made.audit.verdicts
        ]
    # Another's table does not say it, so its columns are taken for linked.
    plain = made.to_arrow().rename_columns(["age", "job", "ill", "pay"])
    assert not fk.audit(plain, policy).scope.shuffled


def test_a_certificate_of_ours_demands_the_name_of_a_shuffled_column(tmp_path):
    table = pa.table({"age": [20, 30] * 8, "ill": [*"abcd"] * 4, "pay": [*range(8)] * 2})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay"])
    asked = [fk.Requirement(fk.Facts(1), below="9/10", sensitive=name) for name in ("ill", "pay")]
    fk.publish(table, fk.Policy(asked, schema, fk.PublishOptions(unlinked=["pay"]))).write(
        tmp_path / "out"
    )
    path, certificate = tmp_path / "out/release.csv", tmp_path / "out/certificate.json"
    path.write_bytes(path.read_bytes().replace(b"pay_shuffled", b"pay", 1))
    said = json.loads(certificate.read_text())
    said["release"]["files"]["release.csv"] = hashlib.sha256(path.read_bytes()).hexdigest()
    certificate.write_text(json.dumps(said))
    with pytest.raises(fk.InputError, match="'pay_shuffled'"):
        fk.verify(tmp_path / "out")


def test_a_name_that_a_shuffled_column_would_take_is_refused():
    schema = fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay"], other=["pay_shuffled"])
    asked = [fk.Requirement(fk.Facts(1), below="9/10", sensitive=name) for name in ("ill", "pay")]
    with pytest.raises(fk.InputError, match="'pay_shuffled'"):
        fk.Policy(asked, schema, fk.PublishOptions(unlinked=["pay"]))
