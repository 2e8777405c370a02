"""Who looks alike in what was written: search, audit, verifier and risk against every row."""

import csv
import random
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.examples import NIGHTLY
from tests.oracle.look_alikes import alone, fewest, fewest_in_population, over, presence

import foreknow as fk
from foreknow_judge.errors import CertificateError
from foreknow_judge.verdicts import verdicts as verify_written
from foreknow_judge.written import Written

TIMES = 120 if NIGHTLY else 1
QIS = ["age", "sex"]
# Texts that read as labels where they are none; 1 and 01 are different codes.
AGES = ["20", "20 to 30", "*", "2*", "a | b", "01", "1", "missing", "=1+1", None]


def drawn(draw, kind):
    size = draw.randint(2, 14)
    ages = draw.sample(range(20, 60), 4) if kind == "number" else draw.sample(AGES, 3)
    table = {
        "age": pa.array(
            draw.choices(ages, k=size), pa.int64() if kind == "number" else pa.string()
        ),
        "sex": draw.choices("mf"[: draw.randint(1, 2)], k=size),
        "job": draw.choices("xy", k=size),
        "ill": draw.choices("abc", k=size),
    }
    return pa.table(table)


def schema(**more):
    return fk.Schema(quasi_identifiers=QIS, sensitive="ill", other=["job"], **more)


def rows_of(path):
    if path.suffix == ".parquet":
        rows = pq.read_table(path).to_pylist()
    else:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
    return [{k: v if v is None else str(v) for k, v in row.items()} for row in rows]


def published(table, policy, folder, **how):
    """What was written and is verified; None where the policy cannot hold."""
    try:
        made = fk.publish(table, policy, seed=1, **how)
    except fk.NoSafeRelease as error:
        return None, None, str(error)
    made.write(folder)
    name = "people" if policy.options.form == "bucketized" else "release"
    return made, rows_of(folder / f"{name}.{policy.options.format}"), ""


def covers(label, value):
    """What exact values cover: themselves, written so or as the same number."""
    return label == value


@pytest.mark.parametrize("form", ["bucketized", "generalized"])
def test_everybody_looks_like_so_many_in_the_files(form, tmp_path):
    draw, held = random.Random(form), 0
    for place in range(8 * TIMES):
        table = drawn(draw, draw.choice(["number", "text"]))
        knowing, k = draw.choice([None, [], [], ["job"]]), draw.randint(1, 3)
        known = [*QIS, *(["job"] if knowing is None else knowing)]
        criterion = draw.choice([fk.KAnonymity(k), fk.AlphaK(1, k)])
        more = {"knowing": knowing} if isinstance(criterion, fk.KAnonymity) else {"knowing": []}
        known = known if isinstance(criterion, fk.KAnonymity) else QIS
        asked = [fk.Requirement(fk.Facts(), 1.0, knowing=[]), fk.Requirement(criterion, **more)]
        asked = asked[draw.randint(0, 1) :]
        written = draw.choice(["csv", "parquet"])
        labels = dict.fromkeys(QIS, "exact") if form == "generalized" else {}
        options = fk.PublishOptions(form=form, format=written, labels=labels)
        policy, folder = fk.Policy(asked, schema(), options), tmp_path / str(place)
        method = draw.choice(["mondrian", "fulldomain"])
        made, rows, said = published(table, policy, folder, method=method)
        plain = [
            {n: None if v is None else str(v) for n, v in r.items()} for r in table.to_pylist()
        ]
        if made is None:
            if form == "bucketized" and "of everybody as they are" in said:
                assert fewest(plain, known) < k
                assert 'form = "generalized"' in said
            continue
        least, held = fewest(rows, known), held + 1
        assert least >= k
        if form == "bucketized":
            assert least == fewest(plain, known)
        fk.verify(folder)
        fk.verify(folder, policy)
        risk = fk.risk_report(folder)
        assert risk.uniques == alone(rows, QIS)
        assert risk.prosecutor.highest == Fraction(1, fewest(rows, QIS))
        for audited in (made.audit, fk.audit(folder, policy)):
            assert audited.safe
            if isinstance(criterion, fk.KAnonymity):
                assert audited.criteria[0].reached == least
        lower = fk.audit(
            folder,
            fk.Policy(
                [fk.Requirement(fk.KAnonymity(least + 1), knowing=knowing)], schema(), options
            ),
        )
        if isinstance(criterion, fk.KAnonymity):
            assert not lower.safe
            assert lower.exposed[0].over.people == over(rows, known, least + 1)
    assert held > TIMES


def test_a_population_is_compared_with_the_exact_values_of_people(tmp_path):
    draw, held = random.Random(3), 0
    for place in range(18 * TIMES):
        kind = draw.choice(["number", "text"])
        table = drawn(draw, kind)
        others = drawn(draw, kind)
        everybody = pa.concat_tables([table, others]).select(QIS)
        criterion = draw.choice(
            [
                fk.KMap(draw.randint(1, 3), everybody),
                fk.DeltaPresence(
                    draw.choice([0, "1/4"]), draw.choice(["1/2", "3/4", 1]), everybody
                ),
            ]
        )
        options = fk.PublishOptions(form="bucketized", format="parquet")
        policy = fk.Policy([fk.Requirement(criterion)], schema(), options)
        plain = [
            {n: None if v is None else str(v) for n, v in r.items()} for r in table.to_pylist()
        ]
        whole = [
            {n: None if v is None else str(v) for n, v in r.items()} for r in everybody.to_pylist()
        ]
        if isinstance(criterion, fk.KMap):
            amount = fewest_in_population(plain, QIS, whole, covers)
            holds = amount >= criterion.k
        else:
            low, amount = presence(plain, QIS, whole, covers)
            holds = criterion.lowest <= low and amount <= criterion.highest
        folder = tmp_path / str(place)
        made, _, said = published(table, policy, folder)
        assert (made is not None) == holds, said
        if made is None:
            continue
        held += 1
        assert made.audit.criteria[0].reached == amount
        pq.write_table(everybody, tmp_path / "everybody.parquet")
        fk.verify(folder, population=tmp_path / "everybody.parquet")
        assert fk.audit(folder, policy).criteria[0].reached == amount
    assert held > TIMES


def test_exact_birth_dates_are_no_k_anonymity(tmp_path):
    """Everybody in a group of 7, and everybody unique in the table of people."""
    draw = random.Random(1)
    born = [f"{1940 + i % 60}-0{i // 60 + 1}-11" for i in range(210)]
    table = pa.table({"born": born, "ill": draw.choices("abcdef", k=210)})
    own = fk.Schema(quasi_identifiers=["born"], sensitive="ill")
    facts = fk.Requirement(fk.Facts(), below="9/10")
    for method in ("mondrian", "fulldomain", "anatomy", "streamliner"):
        asked = fk.Policy([facts, fk.Requirement(fk.KAnonymity(5))], own)
        with pytest.raises(fk.NoSafeRelease, match=r"has 1 person, the least is 5.* group_size"):
            fk.publish(table, asked, method=method, form="bucketized", seed=1)
    asked = fk.Policy([facts, fk.Requirement(fk.GroupSize(5))], own)
    made = fk.publish(table, asked, form="bucketized", seed=1)
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    assert made.audit.criteria[0].reached == made.release.counts.sizes.min() >= 5
    assert fk.KAnonymity(5).measure(made) == fk.k_anonymity(made.release) == 1
    # A certificate that claims more is refused.
    place = tmp_path / "out" / "certificate.json"
    place.write_text(place.read_text().replace("group_size", "k_anonymity"))
    with pytest.raises(CertificateError, match="k_anonymity"):
        fk.verify(tmp_path / "out")


def test_groups_without_columns_are_judged_by_groups_and_with_them_by_these():
    rows = {"gid": [1, 1, 1, 2, 2, 2], "age": [30, 30, 41, 41, 50, 50], "ill": list("abcabc")}
    table = pa.table(rows)
    three, asked = fk.KAnonymity(3), [fk.Requirement(fk.KAnonymity(2))]
    assert three.holds(fk.GroupCounts.from_bags(["abc", "abc"]))
    bare = fk.Release.from_groups(table.drop(["age"]), group="gid", sensitive="ill")
    own = fk.Schema(quasi_identifiers=["age"], sensitive="ill", group="gid")
    assert three.measure(bare) == fk.audit(bare, fk.Policy(asked, own)).criteria[0].reached
    assert three.measure(bare) == 3
    shown = fk.Release.from_groups(table, group="gid", sensitive="ill")
    for given in (shown, table, fk.Release.from_schema(table, own)):
        assert fk.audit(given, fk.Policy(asked, own)).criteria[0].reached == 2
    tally = pa.table({"group": [1, 1], "ill": ["a", "b"], "count": [1, 2]})
    people = pa.table({"group": [1, 1, 1], "age": [30, 30, 41], "job": list("xyx")})
    for known, least in ((None, 1), (["age"], 1), (["job"], 1), ([], 3)):
        release = fk.Release.from_bucketized(
            tally, sensitive="ill", people=people, quasi_identifiers=known
        )
        assert fk.KAnonymity(1).measure(release) == least
        assert fk.GroupSize(1).measure(release) == 3


def test_who_has_what_is_not_known_of_those_who_look_alike():
    table = pa.table({"age": [30, 30, 30], "ill": list("aab")})
    own = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    asked = fk.Requirement(fk.KAnonymity(1), knowing=["ill"])
    options = fk.PublishOptions(form="bucketized")
    with pytest.raises(fk.InputError, match=r"do not say who has which ill.* leave it out"):
        fk.publish(table, fk.Policy([asked], own, options))


def test_the_verifier_must_be_told_by_what_people_are_recognized():
    tables = {
        "people": pa.table({"group": ["1", "1"], "age": ["30", "31"]}),
        "sensitive": pa.table({"group": ["1"], "ill": ["a"], "count": ["2"]}),
    }
    written = Written("bucketized", ["group"], "ill", tables)
    with pytest.raises(CertificateError, match="not said by which columns"):
        verify_written(written, [{"k_anonymity": 1}])
    (found,) = verify_written(written, [{"group_size": 2}])
    assert found.safe


@pytest.mark.parametrize("know", [["job"], ["job", "pay"]])
@pytest.mark.parametrize("jobs", ["xyxyxyxy", "xyxyxyxz"])
def test_columns_apart_from_the_first(know, jobs, tmp_path):
    """What is known stands in another table than the first secret."""
    columns = {"age": "33334444", "ill": "fgfgfgfg", "job": jobs, "pay": "mmmmmmmm"}
    table = pa.table({name: list(texts) for name, texts in columns.items()})
    policy = {
        "schema": {"quasi_identifiers": ["age"], "sensitive": ["ill", "job", "pay"]},
        "require": [{"group_size": 2, "knowing": know}],
        "publish": {"form": "bucketized", "unlinked": ["ill"]},
    }
    if "z" in jobs:
        with pytest.raises(fk.NoSafeRelease, match="the least is 2"):
            fk.publish(table, policy, seed=1)
        return
    made = fk.publish(table, policy, seed=1)
    made.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").people == 8
    (required,) = made.certificate.policy["require"]
    assert (required["sensitive"], required["knowing"]) == ("job", know)
