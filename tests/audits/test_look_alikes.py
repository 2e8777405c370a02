"""Who looks alike in what was written: search, audit, verifier and risk against every row."""

import random
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.audits.folders import written
from tests.examples import NIGHTLY
from tests.oracle.risks import alone, fewest, fewest_in_population, over, presence
from tests.people import rows_of

import foreknow as fk
from foreknow_judge.errors import CertificateError
from foreknow_judge.verdicts import verdicts as verify_written
from foreknow_judge.written import Written

TIMES = 120 if NIGHTLY else 1
QIS = ["age", "sex"]
# Texts that read as labels where they are none; 1 and 01 are different codes.
AGES = ["20", "20 to 30", "*", "2*", "a | b", "01", "1", "missing", "=1+1", None]


def drawn(draw, kind):
    size, number = draw.randint(2, 14), kind == "number"
    ages = draw.sample(range(20, 60), 4) if number else draw.sample(AGES, 3)
    columns = {"sex": "mf"[: draw.randint(1, 2)], "job": "xy", "ill": "abc"}
    age = pa.array(draw.choices(ages, k=size), pa.int64() if number else pa.string())
    return pa.table({"age": age, **{n: draw.choices(own, k=size) for n, own in columns.items()}})


def policy_of(*asked, **options):
    schema = fk.Schema(quasi_identifiers=QIS, sensitive="ill", other=["job"])
    return fk.Policy(asked, schema, fk.PublishOptions(**options))


def texts(table):
    return [{n: None if v is None else str(v) for n, v in r.items()} for r in table.to_pylist()]


def published(table, policy, folder, **how):
    """What was written and is verified; None where the policy cannot hold, and why."""
    try:
        return written(table, policy, folder, **how), ""
    except fk.NoSafeRelease as error:
        return None, str(error)


@pytest.mark.parametrize("form", ["bucketized", "generalized"])
def test_everybody_looks_like_so_many(form, tmp_path):
    draw, held = random.Random(form), 0
    for place in range((12 if form == "bucketized" else 4) * TIMES):
        table, k = drawn(draw, draw.choice(["number", "text"])), draw.randint(1, 3)
        counts_people, knowing = draw.random() < 0.6, draw.choice([None, [], [], ["job"]])
        knowing = knowing if counts_people else []
        known = [*QIS, *(["job"] if knowing is None else knowing)]
        criterion = fk.KAnonymity(k) if counts_people else fk.AlphaK(1, k)
        asked = [
            fk.Requirement(fk.Facts(), 1.0, knowing=[]),
            fk.Requirement(criterion, knowing=knowing),
        ]
        labels = dict.fromkeys(QIS, "exact") if form == "generalized" else {}
        how = {"form": form, "format": draw.choice(["csv", "parquet"]), "labels": labels}
        policy, folder = policy_of(*asked[draw.randint(0, 1) :], **how), tmp_path / str(place)
        method = draw.choice(["mondrian", "fulldomain"])
        made, said = published(table, policy, folder, method=method)
        if made is None:
            if form == "bucketized" and "of everybody as they are" in said:
                assert fewest(texts(table), known) < k
                assert 'form = "generalized"' in said
            continue
        rows = rows_of(folder / f"{'people' if labels == {} else 'release'}.{how['format']}")
        least, held = fewest(rows, known), held + 1
        assert least >= k
        assert labels or least == fewest(texts(table), known)
        fk.verify(folder)
        fk.verify(folder, policy)
        risk = fk.risk_report(folder)
        assert risk.uniques == alone(rows, QIS)
        assert risk.prosecutor.highest == Fraction(1, fewest(rows, QIS))
        more = fk.Requirement(fk.KAnonymity(least + 1), knowing=knowing)
        unsafe = fk.audit(folder, policy_of(more, **how))
        for audited in (made.audit, fk.audit(folder, policy)):
            assert audited.safe
            if counts_people:
                assert audited.criteria[0].reached == least
                assert not unsafe.safe
                assert unsafe.exposed[0].over.people == over(rows, known, least + 1)
    assert held > TIMES


def test_a_population_meets_exact_values(tmp_path):
    draw, held = random.Random(3), 0
    for place in range(12 * TIMES):
        kind, folder = draw.choice(["number", "text"]), tmp_path / str(place)
        table = drawn(draw, kind)
        everybody = pa.concat_tables([table, drawn(draw, kind)]).select(QIS)
        k_map = fk.KMap(draw.randint(1, 3), everybody)
        low, high = draw.choice([0, "1/4"]), draw.choice(["1/2", "3/4", 1])
        criterion = draw.choice([k_map, fk.DeltaPresence(low, high, everybody)])
        policy = policy_of(fk.Requirement(criterion), form="bucketized", format="parquet")
        given = texts(table), QIS, texts(everybody), lambda label, value: label == value
        if criterion is k_map:
            amount = fewest_in_population(*given)
            holds = amount >= k_map.k
        else:
            least, amount = presence(*given)
            holds = criterion.lowest <= least and amount <= criterion.highest
        made, said = published(table, policy, folder)
        assert (made is not None) == holds, said
        if made is None:
            continue
        held += 1
        pq.write_table(everybody, tmp_path / "everybody.parquet")
        fk.verify(folder, population=tmp_path / "everybody.parquet")
        for audited in (made.audit, fk.audit(folder, policy)):
            assert audited.criteria[0].reached == amount
    assert held > TIMES


def test_birth_dates_break_k_anonymity(tmp_path):
    """Everybody in a group of 7, and everybody unique in the table of people."""
    born = [f"{1940 + i % 60}-0{i // 60 + 1}-11" for i in range(210)]
    table = pa.table({"born": born, "ill": random.Random(1).choices("abcdef", k=210)})
    own, folder = fk.Schema(quasi_identifiers=["born"], sensitive="ill"), tmp_path / "out"
    facts = fk.Requirement(fk.Facts(), below="9/10")
    strict, loose = (
        fk.Policy([facts, fk.Requirement(criterion(5))], own)
        for criterion in (fk.KAnonymity, fk.GroupSize)
    )
    for method in ("mondrian", "fulldomain", "anatomy", "streamliner"):
        with pytest.raises(fk.NoSafeRelease, match=r"has 1 person, the least is 5.* group_size"):
            fk.publish(table, strict, method=method, form="bucketized", seed=1)
    made = written(table, loose, folder, form="bucketized")
    fk.verify(folder)
    assert made.audit.criteria[0].reached == made.release.counts.sizes.min() >= 5
    assert fk.KAnonymity(5).measure(made) == fk.k_anonymity(made.release) == 1
    # A certificate that claims more is refused.
    place = folder / "certificate.json"
    place.write_text(place.read_text().replace("group_size", "k_anonymity"))
    with pytest.raises(CertificateError, match="k_anonymity"):
        fk.verify(folder)


def test_published_columns_divide_groups():
    rows = {"gid": [1, 1, 1, 2, 2, 2], "age": [30, 30, 41, 41, 50, 50], "ill": [*"abcabc"]}
    table, three = pa.table(rows), fk.KAnonymity(3)
    own = fk.Schema(quasi_identifiers=["age"], sensitive="ill", group="gid")
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(2))], own)
    assert three.holds(fk.GroupCounts.from_bags(["abc", "abc"]))
    bare = fk.Release.from_groups(table.drop(["age"]), group="gid", sensitive="ill")
    assert three.measure(bare) == fk.audit(bare, policy).criteria[0].reached == 3
    shown = fk.Release.from_groups(table, group="gid", sensitive="ill")
    for given in (shown, table, fk.Release.from_schema(table, own)):
        assert fk.audit(given, policy).criteria[0].reached == 2
    tally = pa.table({"group": [1, 1], "ill": ["a", "b"], "count": [1, 2]})
    people = pa.table({"group": [1, 1, 1], "age": [30, 30, 41], "job": [*"xyx"]})
    for known, least in ((None, 1), (["age"], 1), (["job"], 1), ([], 3)):
        release = fk.Release.from_bucketized(
            tally, sensitive="ill", people=people, quasi_identifiers=known
        )
        assert fk.KAnonymity(1).measure(release) == least
        assert fk.GroupSize(1).measure(release) == 3


def test_holders_stay_unknown():
    table = pa.table({"age": [30, 30, 30], "ill": [*"aab"]})
    own = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    asked = fk.Requirement(fk.KAnonymity(1), knowing=["ill"])
    with pytest.raises(fk.InputError, match=r"do not say who has which ill.* leave it out"):
        fk.publish(table, fk.Policy([asked], own), form="bucketized")


def test_judge_needs_the_known_columns():
    people = pa.table({"group": ["1", "1"], "age": ["30", "31"]})
    held = pa.table({"group": ["1"], "ill": ["a"], "count": ["2"]})
    own = Written("bucketized", ["group"], "ill", {"people": people, "sensitive": held})
    with pytest.raises(CertificateError, match="not said by which columns"):
        verify_written(own, [{"k_anonymity": 1}])
    assert verify_written(own, [{"group_size": 2}])[0].safe


@pytest.mark.parametrize("know", [["job"], ["job", "pay"]])
@pytest.mark.parametrize("jobs", ["xyxyxyxy", "xyxyxyxz"])
def test_columns_apart_from_the_first(know, jobs, tmp_path):
    """What is known stands in another table than the first secret."""
    columns = {"age": "33334444", "ill": "fgfgfgfg", "job": jobs, "pay": "mmmmmmmm"}
    table = pa.table({name: [*own] for name, own in columns.items()})
    policy = {
        "schema": {"quasi_identifiers": ["age"], "sensitive": ["ill", "job", "pay"]},
        "require": [{"group_size": 2, "knowing": know}],
        "publish": {"form": "bucketized", "unlinked": ["ill"]},
    }
    made, said = published(table, policy, tmp_path / "out")
    assert ("z" in jobs) == (made is None) == ("the least is 2" in said)
    if made is not None:
        assert fk.verify(tmp_path / "out").people == 8
        (required,) = made.certificate.policy["require"]
        assert (required["sensitive"], required["knowing"]) == ("job", know)
