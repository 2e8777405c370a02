"""k-anonymity of chosen columns: how many share what is published in them, row by row."""

import json
import random

import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.oracle.risks import alike_of_risk_figures as alike

import foreknow as fk

TIMES = 20_000 if NIGHTLY else 100
PUBLISHED = 600 if NIGHTLY else 4
COLUMNS = ["age", "sex", "zip"]
LABELS = ["20 to 29", "20 to 24", "20", "*", None, "missing"]


def lists_of(draw, columns):
    return [draw.sample(columns, draw.randint(1, 2)) for _ in range(draw.randint(1, 2))]


def fewest(rows, lists):
    return min(min(alike(rows, own)) for own in lists)


def test_fewest_sharers_match_the_rows():
    draw, held = random.Random(1), 0
    for _ in range(TIMES):
        rows = [
            {name: draw.choice(LABELS[: draw.randint(1, 6)]) for name in COLUMNS}
            | {"job": draw.choice("xy"), "ill": draw.choice("ab")}
            for _ in range(draw.randint(2, 12))
        ]
        known = draw.random() < 0.5
        lists = lists_of(draw, [*COLUMNS, *(["job"] if known else [])])
        release = fk.Release.from_generalized(
            pa.Table.from_pylist(rows), quasi_identifiers=COLUMNS, sensitive="ill", other=["job"]
        )
        least = fewest(rows, lists)
        k = max(1, least + draw.randint(-1, 1))
        rule = fk.KAnonymity(k, of=lists)
        asked = fk.Requirement(rule, knowing=["job"] if known else None)
        (verdict,) = fk.audit(release, fk.Policy([asked])).criteria
        assert (verdict.reached, verdict.safe) == (least, least >= k), (rows, lists)
        assert rule.fails(asked.count(release).counts.counts).any() == (least < k)
        held += verdict.safe
    assert TIMES // 3 < held < TIMES


def drawn(draw):
    size = draw.randint(8, 30)
    pools = {"sex": "mf", "zip": ["0123", "0124", "0211"], "job": "xy", "ill": "abc"}
    rows = {name: draw.choices(pool, k=size) for name, pool in pools.items()}
    return pa.table({"age": draw.choices(range(20, 44), k=size), **rows})


ROLES = {"quasi_identifiers": COLUMNS, "sensitive": "ill", "other": ["job"]}
SCHEMA = fk.Schema(**ROLES, hierarchies={"zip": {"mask": 4}})


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
def test_published_columns_are_shared(method, form, tmp_path):
    draw, made = random.Random(method + form), 0
    labels = {"sex": "exact"} if form == "generalized" else {}
    for place in range(PUBLISHED):
        knowing = draw.choice([None, ["job"]])
        columns = COLUMNS if form == "generalized" else ["sex"]
        lists, k = lists_of(draw, [*columns, *(knowing or [])] * 2), draw.randint(2, 5)
        lists = [[*dict.fromkeys(own)] for own in lists]
        asked = fk.Requirement(fk.KAnonymity(k, of=lists), knowing=knowing)
        options = fk.PublishOptions(form=form, labels=labels)
        policy = fk.Policy([asked, fk.Requirement(fk.GroupSize(2))], SCHEMA, options)
        try:
            release = fk.publish(drawn(draw), policy, method=method)
        except fk.NoSafeRelease:
            assert form == "bucketized" or (knowing and "job" in str(asked))
            continue
        made += 1
        release.write(tmp_path / str(place))
        written = release.to_arrow("people" if form == "bucketized" else None).to_pylist()
        least = fewest(written, lists)
        assert release.audit.criteria[0].reached == least >= k
        found = fk.verify(tmp_path / str(place)).findings[0]
        assert (found.reached, found.safe) == (least, True)
        more = [fk.Requirement(fk.KAnonymity(least + 1, of=lists), knowing=knowing)]
        assert not fk.audit(tmp_path / str(place), fk.Policy(more, SCHEMA, options)).safe
    assert made > PUBLISHED // 4


def test_certificates_cannot_promise_more(tmp_path):
    asked = [fk.Requirement(fk.KAnonymity(4, of=["age", "zip"]))]
    policy = fk.Policy(asked, SCHEMA, fk.PublishOptions(labels={"sex": "exact"}))
    fk.publish(drawn(random.Random(5)), policy).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    said = path.read_text()
    lies = [[["ill"]], [["nothing"]], [], ["age"], [[["age"]]]]
    for k, of in ((1000, [["age"]]), (0, [["age"]]), *((1, own) for own in lies)):
        told = json.loads(said)
        for own in (told["policy"]["require"][0], told["findings"][0]["judged"]):
            own["k_anonymity"] = {"k": k, "of": of}
        path.write_text(json.dumps(told))
        with pytest.raises(fk.InputError):
            fk.verify(tmp_path / "out")


def required(rule, schema=SCHEMA, **more):
    return lambda: fk.Policy([fk.Requirement(rule, **more)], schema)


CASES = fk.Schema(quasi_identifiers=["age"], sensitive="ill", person="who", unit="row")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: fk.KAnonymity(2, of=[]), "of is a list of columns"),
        (lambda: fk.KAnonymity(2, of=[["age"], []]), "of is a list of columns"),
        (lambda: fk.KAnonymity(2, of=[["age", "age"]]), "a column twice"),
        (lambda: fk.GroupSize(2, of=["age"]), "of names one column of households"),
        (required(fk.KAnonymity(2, of=["ages"])), "no quasi-identifier.*did you mean 'age'"),
        (required(fk.KAnonymity(2, of=["job"])), "'job' is no quasi-identifier"),
        (required(fk.KAnonymity(2, of=["town"]), knowing=["town"]), "'town' is no quasi-identif"),
        (required(fk.KAnonymity(2, of=["age"]), CASES), "rows are cases of 'who'"),
    ],
)
def test_absent_columns_are_refused(make, said):
    with pytest.raises(fk.InputError, match=said):
        make()
