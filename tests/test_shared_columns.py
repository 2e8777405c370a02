"""k-anonymity of chosen columns: how many share what is published in them, row by row."""

import json
import random

import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.oracle.risk_figures import alike

import foreknow as fk

TIMES = 20_000 if NIGHTLY else 500
PUBLISHED = 600 if NIGHTLY else 4
COLUMNS = ["age", "sex", "zip"]
LABELS = ["20 to 29", "20 to 24", "20", "*", None, "missing"]


def lists_of(draw, columns):
    return [draw.sample(columns, draw.randint(1, 2)) for _ in range(draw.randint(1, 2))]


def fewest(rows, lists):
    return min(min(alike(rows, own)) for own in lists)


def test_the_fewest_who_share_a_list_are_those_of_the_rows():
    draw, held = random.Random(1), 0
    for _ in range(TIMES):
        size = draw.randint(2, 12)
        rows = [
            {name: draw.choice(LABELS[: draw.randint(1, 6)]) for name in COLUMNS}
            for _ in range(size)
        ]
        job, known = draw.choices("xy", k=size), draw.random() < 0.5
        for row, own in zip(rows, job, strict=True):
            row["job"], row["ill"] = own, draw.choice("ab")
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
        counts = asked.count(release).counts
        assert rule.fails(counts.counts).any() == (least < k)
        held += verdict.safe
    assert TIMES // 3 < held < TIMES


def drawn(draw):
    size = draw.randint(8, 30)
    return pa.table(
        {
            "age": draw.choices(range(20, 44), k=size),
            "sex": draw.choices("mf", k=size),
            "zip": draw.choices(["0123", "0124", "0211"], k=size),
            "job": draw.choices("xy", k=size),
            "ill": draw.choices("abc", k=size),
        }
    )


SCHEMA = fk.Schema(
    quasi_identifiers=COLUMNS, sensitive="ill", other=["job"], hierarchies={"zip": {"mask": 4}}
)


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
def test_what_is_published_shares_its_columns_row_by_row(method, form, tmp_path):
    draw, made = random.Random(method + form), 0
    labels = {"sex": "exact"} if form == "generalized" else {}
    for place in range(PUBLISHED):
        knowing = draw.choice([None, ["job"]])
        columns = COLUMNS if form == "generalized" else ["sex"]
        lists, k = lists_of(draw, [*columns, *(knowing or [])] * 2), draw.randint(2, 5)
        lists = [list(dict.fromkeys(own)) for own in lists]
        asked = [
            fk.Requirement(fk.KAnonymity(k, of=lists), knowing=knowing),
            fk.Requirement(fk.GroupSize(2)),
        ]
        options = fk.PublishOptions(form=form, labels=labels)
        policy, table = fk.Policy(asked, SCHEMA, options), drawn(draw)
        try:
            release = fk.publish(table, policy, method=method)
        except fk.NoSafeRelease:
            assert form == "bucketized" or (knowing and "job" in str(asked))
            continue
        made += 1
        release.write(tmp_path / str(place))
        written = release.to_arrow("people" if form == "bucketized" else None).to_pylist()
        least = fewest(written, lists)
        assert least >= k
        assert release.audit.criteria[0].reached == least
        found = fk.verify(tmp_path / str(place)).findings[0]
        assert (found.reached, found.safe) == (least, True)
        more = [fk.Requirement(fk.KAnonymity(least + 1, of=lists), knowing=knowing)]
        stricter = fk.Policy(more, SCHEMA, options)
        assert not fk.audit(tmp_path / str(place), stricter).safe
    assert made > PUBLISHED // 4


def test_a_certificate_that_promises_more_or_other_columns_is_refused(tmp_path):
    table = drawn(random.Random(5))
    policy = fk.Policy(
        [fk.Requirement(fk.KAnonymity(4, of=["age", "zip"]))],
        SCHEMA,
        fk.PublishOptions(labels={"sex": "exact"}),
    )
    fk.publish(table, policy).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    said = json.loads(path.read_text())
    for lie in (
        {"k": 1000, "of": [["age"]]},
        {"k": 1, "of": [["ill"]]},
        {"k": 1, "of": [["nothing"]]},
        {"k": 1, "of": []},
        {"k": 1, "of": ["age"]},
        {"k": 0, "of": [["age"]]},
        {"k": 1, "of": [[["age"]]]},
    ):
        told = json.loads(json.dumps(said))
        for own in (told["policy"]["require"][0], told["findings"][0]["judged"]):
            own["k_anonymity"] = lie
        path.write_text(json.dumps(told))
        with pytest.raises(fk.InputError):
            fk.verify(tmp_path / "out")


def test_policy_files_name_lists_of_columns_or_one_column_of_units(tmp_path):
    (tmp_path / "policy.toml").write_text(
        """
        [schema]
        quasi_identifiers = ["age", "zip"]
        sensitive = "ill"
        [[require]]
        k_anonymity = { k = 11, of = [["age"], ["zip", "age"]] }
        [[require]]
        k_anonymity = { k = 3, of = ["zip"] }
        [[require]]
        k_anonymity = { k = 2, of = "household" }
        """
    )
    policy = fk.Policy.load(tmp_path / "policy.toml")
    assert [own.criterion for own in policy.requirements] == [
        fk.KAnonymity(11, of=[["age"], ["zip", "age"]]),
        fk.KAnonymity(3, of=["zip"]),
        fk.KAnonymity(2, of="household"),
    ]
    assert [own.unit for own in policy.requirements] == [None, None, "household"]
    policy.save(tmp_path / "again.toml")
    assert fk.Policy.load(tmp_path / "again.toml").to_dict() == policy.to_dict()


def required(rule, **more):
    return lambda: fk.Policy([fk.Requirement(rule, **more)], SCHEMA)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: fk.KAnonymity(2, of=[]), "of is a list of columns"),
        (lambda: fk.KAnonymity(2, of=[["age"], []]), "of is a list of columns"),
        (lambda: fk.KAnonymity(2, of=[["age", "age"]]), "a column twice"),
        (lambda: fk.GroupSize(2, of=["age"]), "of names one column of households"),
        (required(fk.KAnonymity(2, of=["ages"])), "no quasi-identifier.*did you mean 'age'"),
        (required(fk.KAnonymity(2, of=["job"])), "'job' is no quasi-identifier"),
        (
            required(fk.KAnonymity(2, of=["town"]), knowing=["town"]),
            "'town' is no quasi-identifier",
        ),
    ],
)
def test_columns_that_are_not_there_are_refused(make, said):
    with pytest.raises(fk.InputError, match=said):
        make()


def test_people_of_several_cases_are_not_counted_by_rows():
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", person="who", unit="row")
    with pytest.raises(fk.InputError, match="rows are cases of 'who'"):
        fk.Policy([fk.Requirement(fk.KAnonymity(2, of=["age"]))], schema)
