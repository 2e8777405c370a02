"""Weights of a survey in a release: one for each group, and nothing of a row's own."""

import json
import random
import shutil
from decimal import Decimal

import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.people import FORMS, rows_of

import foreknow as fk
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import CertificateError
from foreknow_judge.output_lines import main as judge

SCHEMA = {
    "quasi_identifiers": ["age", "town"],
    "sensitive": "ill",
    "other": ["w"],
    "weights": "w",
    "identifiers": ["id"],
    "reading": {"decimal": ","},
}
REQUIRED = [{"facts": {"l": 1, "k": 0}, "below": 0.8}, {"group_size": 3}]


def survey(seed=0, n=120):
    """A table of people with weights as decimal commas."""
    draw = random.Random(seed)
    return pd.DataFrame({
        "id": [f"p{i}" for i in range(n)],
        "age": [draw.randint(20, 60) for _ in range(n)],
        "town": draw.choices(["A", "B", "C"], k=n),
        "ill": draw.choices(["x", "y", "z"], k=n),
        "w": [f"{draw.uniform(0.2, 180):.2f}".replace(".", ",") for _ in range(n)],
    })  # fmt: skip


def policy(required=REQUIRED, publish=None, **schema):
    return {"schema": SCHEMA | schema, "require": required, "publish": publish or {}}


def publish(folder, table=None, publish=None, after=None, name="release", **more):
    made = fk.publish(
        survey() if table is None else table, policy(publish=publish, **more), after=after, seed=1
    )
    made.write(folder / name)
    return folder / name


def weight_of(row):
    return float(row["w"].replace(",", "."))


def members_of(folder, table):
    """The owner's rows, each with the label of its group and its own weight."""
    members = pq.read_table(f"{folder}.owner/members.parquet").to_pandas()
    members["own"] = [weight_of(row) for row in table.to_dict("records")]
    return members


def two_digits(mean):
    return float(f"{Decimal(mean):.1e}")


def to_halves(mean):
    return round(mean * 2) / 2


# ---- what is published ---------------------------------------------------------------------------


@pytest.mark.parametrize(("form", "fmt"), FORMS)
@pytest.mark.parametrize(
    ("rounding", "rounded"), [({}, two_digits), ({"w": 0.5}, to_halves)], ids=["digits", "step"]
)
def test_groups_show_mean_weights(tmp_path, form, fmt, rounding, rounded):
    table = survey()
    folder = publish(
        tmp_path, publish={"form": form, "format": fmt, "decimal": None, "round": rounding}
    )
    fk.verify(folder)
    certificate = fk.Certificate.load(folder / "certificate.json")
    labels = list(certificate.groups)
    mean_of = {}
    for label, group in members_of(folder, table).groupby(labels):
        mean_of[tuple(map(str, label))] = rounded(group["own"].mean())
    rows = rows_of(folder / f"{'release' if form == 'generalized' else 'people'}.{fmt}")
    assert len(rows) == len(table)
    for row in rows:
        assert weight_of(row) == mean_of[tuple(row[name] for name in labels)]
    package = json.loads((folder / "datapackage.json").read_text())
    fields = {field["name"]: field for field in package["resources"][0]["schema"]["fields"]}
    assert fields["w"]["foreknow"]["weights"] is True
    assert any("one survey weight" in note for note in certificate.notes)


def test_reports_say_what_weights_are():
    """A reader must not take them for a person's own, or for judged."""
    page = fk.publish(survey(), policy(), seed=1).audit.to_html(published=True)
    assert "depends on a sensitive value was not judged" in page
    assert "published as one for each group" in page
    assert "Published as they are" not in page


def test_equal_labels_share_weights(tmp_path):
    """Groups that look alike are one to a reader, who must not tell them apart by weights."""
    table = survey().assign(age=30, town="A")
    roles = fk.Schema(**SCHEMA)
    made = fk.publish(
        table,
        fk.Policy(fk.Requirement(fk.Facts(), below=0.9), roles),
        method=fk.Anatomy(l=2),
        options={"form": "generalized"},
        seed=1,
    )
    made.write(tmp_path / "release")
    mean = members_of(tmp_path / "release", table)["own"].mean()
    assert {weight_of(row) for row in rows_of(tmp_path / "release" / "release.csv")} == {
        two_digits(mean)
    }


def test_groups_ignore_weights(tmp_path):
    """No search looks at them, so that groups say nothing of a single weight."""
    table = survey()
    shuffled = table.assign(w=table["w"].sample(frac=1, random_state=3).to_numpy())
    labels = []
    for name, rows in (("one", table), ("two", shuffled)):
        members = members_of(publish(tmp_path, rows, name=name), rows)
        labels.append(members[["age", "town"]])
    assert labels[0].equals(labels[1])


def test_flat_tables_have_weights(tmp_path):
    table = survey()
    folder = publish(tmp_path)
    members = members_of(folder, table)
    published = members.groupby(["age", "town"])["own"].transform("mean").map(two_digits)
    shares = published[table["ill"] == "x"].sum() / published.sum()
    for frame in (fk.read_release(folder), fk.draw(folder, seed=1)):
        assert frame["w"].sum() == pytest.approx(published.sum())
        assert frame.attrs["weights"] == "w"
        assert frame["w"][frame["ill"] == "x"].sum() / frame["w"].sum() == pytest.approx(shares)


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weight", "message"),
    [(None, "row 5 has no weight"), ("0", "the weight 0"), ("-3,5", "weight -3.5"), ("a", "'a'")],
)
def test_rows_without_weights_are_refused(weight, message):
    table = survey()
    table.loc[4, "w"] = weight
    with pytest.raises(fk.InputError, match=message):
        fk.publish(table, policy())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"publish": {"unlinked": ["w"]}}, "publish.unlinked: 'w' has the weights"),
        ({"publish": {"round": {"w": 1000}}}, "take a smaller step"),
        (
            {"impossible": [{"values": ["x"], "where": {"w": {"to": 5}}}]},
            "where names the weights 'w'",
        ),
        ({"sensitive": ["ill", "w"], "other": []}, "a row's own weight is never published"),
        ({"person": "w", "unit": "row"}, "given as person and as other"),
        ({"shared": {"by": "w", "values": ["ill"]}}, "given as shared and as other"),
        ({"person": "w", "unit": "row", "other": []}, "numbers people or households"),
    ],
)
def test_other_uses_are_refused(changes, message):
    with pytest.raises(fk.ForeknowError, match=message):
        fk.publish(survey(), policy(**changes))


def test_priors_by_weights_are_refused(tmp_path):
    (tmp_path / "priors.csv").write_text("w,value,probability\n5,x,0.5\n5,y,0.5\n")
    required = [{"priors": {"file": str(tmp_path / "priors.csv")}, "below": 0.9}]
    with pytest.raises(fk.ForeknowError, match="priors: 'w' has the weights"):
        fk.publish(survey(), policy(required))


def test_small_groups_need_company(tmp_path):
    """Of two people, each could work out the weight of the other one."""
    table = survey(n=8).assign(age=30, town=["A", "A", *"BBBBBB"], ill=[*"xyyyyyyy"])
    required = [{"values": ["x"], "facts": {"l": 0, "k": 0}, "below": 0.9}]
    with pytest.raises(fk.NoSafeRelease, match="only 2 of the people") as caught:
        fk.publish(table, policy(required))
    assert any("group_size = 3" in line for line in caught.value.way_out)
    for changes in ({"required": [*required, {"group_size": 3}]}, {"other": []}):
        assert fk.publish(table, policy(**({"required": required} | changes))).audit.safe


@pytest.mark.parametrize(
    ("roles", "names"),
    [
        ({"person": "id", "unit": "row"}, "aab"),
        ({"shared": {"by": "id", "values": ["ill"]}}, "aab"),
    ],
    ids=["cases", "households"],
)
def test_few_units_need_company(roles, names):
    """Three rows of two persons, or two households, are not three who know their own weights."""
    table = survey(n=9).assign(id=[*names, *"cdefgh"], town=["A"] * 3 + ["B"] * 6, age=30)
    table["ill"] = [*"yyzxyzyzy"]
    schema = roles | {"identifiers": []}
    required = [{"values": ["x"], "facts": {}, "below": 0.9}]
    with pytest.raises(fk.NoSafeRelease, match="only 2 different id") as caught:
        fk.publish(table, policy(required, **schema))
    assert any('{ k = 3, of = "id" }, and knowing = []' in line for line in caught.value.way_out)
    further = {"k_anonymity": {"k": 3, "of": "id"}, "knowing": []}
    assert fk.publish(table, policy([*required, further], **schema)).audit.safe
    if "unit" in roles:
        with pytest.raises(fk.InputError, match="not known whose they are"):
            fk.publish(table, policy(required, **schema | {"person": None}))


@pytest.mark.parametrize(
    ("required", "message"),
    [
        (REQUIRED, "group_size"),
        ([{"k_anonymity": 3}], "k_anonymity"),
        ([{**one, "knowing": []} for one in REQUIRED], "several weights"),
    ],
    ids=["facts", "k_anonymity", "unknown"],
)
def test_finer_weights_are_refused(tmp_path, required, message):
    """Whoever certifies the weights of rows in place of weights of groups is found out."""
    publish(tmp_path, required=required)
    folder = shutil.copytree(tmp_path / "release", tmp_path / "forged")
    path, certificate = folder / "release.csv", folder / "certificate.json"
    before = digest_of(path)
    rows = pd.read_csv(path, dtype=str)
    rows["w"] = [f"{i},5" for i in range(len(rows))]
    rows.to_csv(path, index=False)
    with pytest.raises(CertificateError):
        fk.verify(folder)
    certificate.write_text(certificate.read_text().replace(before, digest_of(path)))
    with pytest.raises(CertificateError, match=message):
        fk.verify(folder)
    assert judge([str(folder)]) == 1  # by itself, too


# ---- several releases ----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_newcomers_get_their_weights(tmp_path, form):
    table = survey(n=240)
    first = publish(tmp_path, table[:120], {"form": form}, name="january")
    second = publish(tmp_path, table, {"form": form}, after=[first], name="march")
    fk.verify(second)
    assert fk.audit([first, second], fk.Policy.from_dict(policy(publish={"form": form}))).safe
    name = "release.csv" if form == "generalized" else "people.csv"
    labels = list(fk.Certificate.load(second / "certificate.json").groups)
    of_second = members_of(second, table[120:])
    means = of_second.groupby(labels)["own"].mean().map(two_digits)
    assert {weight_of(row) for row in rows_of(second / name)} == {*means}


def test_weights_come_later(tmp_path):
    """The first release shows none: then it says nothing about them."""
    table = survey(n=240)
    first = publish(tmp_path, table[:120], other=[], name="january")
    second = publish(tmp_path, table, after=[first], name="march")
    assert fk.audit([first, second], fk.Policy.from_dict(policy())).safe
    with pytest.raises(fk.ForeknowError, match='other = \\["w"\\]'):
        publish(tmp_path, table, after=[second, first], other=[], name="may")


def test_overlaps_with_weights_are_refused(tmp_path):
    """Weights of groups differ between releases, and differences reveal those of newcomers."""
    folders = [publish(tmp_path, survey()[:n], name=f"first {n}") for n in (90, 120)]
    with pytest.raises(fk.ForeknowError, match="shows mean weights of groups"):
        fk.audit(folders, fk.Policy.from_dict(policy()))
