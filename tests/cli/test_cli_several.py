"""The command line where people have several sensitive values."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TABLE = """pid,age,sex,disease
Ann,20,f,flu
Ann,20,f,cold
Bob,21,m,
Cid,20,m,cold
Dora,21,f,flu
Eve,60,f,flu
Eve,60,f,cold
Fay,61,f,
Gus,60,m,cold
Hal,61,m,
"""
POLICY = """[schema]
quasi_identifiers = ["age", "sex"]
sensitive = "disease"
semantics = "SEMANTICS"
person = "pid"

[[require]]
facts = { l = 1 }
below = 0.9

[publish]
labels = { sex = "exact" }  # of a sex there are few
"""


@pytest.fixture(params=["set", "multiset"])
def several(desk, request):
    """A long table and its policy."""
    desk.put("table.csv", TABLE)
    desk.put("policy.toml", POLICY.replace("SEMANTICS", request.param))
    desk.semantics = request.param
    return desk


@pytest.mark.thinned(2)
@pytest.mark.parametrize("form", ["generalized"])
@pytest.mark.parametrize("fmt", ["csv", "parquet"])
def test_publish_audit_and_verify(several, form, fmt):
    out = several.says(*several.publish("--form", form, "--format", fmt))
    assert "Note: safe, but perhaps not minimal" in out
    assert f"people.{fmt}" in out
    assert f"sensitive.{fmt}" in out
    table = several.json("out/certificate.json")
    assert table["release"]["semantics"] == several.semantics
    out = several.says(*several.audit("--json", "audit.json", release="out"))
    verdict = several.json("audit.json")["verdicts"][0]
    assert verdict["worst"]["exact"] == table["findings"][0]["exact"]
    out = several.says("verify", "out/certificate.json")
    assert "Verified: 8 people" in out
    assert "perhaps not minimal" in out


def test_a_changed_release_is_not_verified(several):
    several.run(*several.publish("-q"))
    path = several.folder / "out" / "sensitive.csv"
    path.write_text(path.read_text().replace("flu", "cold"))
    code, _, err = several.run("verify", "out/certificate.json")
    assert code == 1
    assert "sensitive.csv is not the file that was certified" in err


def test_lists_need_no_column_of_people(several):
    policy = (several.folder / "policy.toml").read_text().replace('person = "pid"\n', "")
    several.put("policy.toml", policy)
    held = pa.array([["flu"], ["flu", "cold"], []] * 3, pa.list_(pa.string()))
    table = pa.table({"age": range(9), "sex": ["f"] * 9, "disease": held})
    pq.write_table(table, several.folder / "table.parquet")
    several.says(*several.publish("-q", table="table.parquet"))
    said = several.refused(*several.publish("-q", table="table.csv", out="other"))
    assert "needs person = the column that tells people apart" in said


def test_rows_that_contradict_each_other_are_refused(several):
    several.put("table.csv", TABLE + "Hal,62,m,flu\n")
    for command in (several.publish(), several.audit()):
        said = several.refused(*command)
        assert "table.csv: pid 'Hal' has age" in said
        assert "in row 10" in said
        assert "in row 11" in said


def test_a_repeated_value_is_refused_under_set_only(several):
    several.put("table.csv", TABLE + "Ann,20,f,flu\n")
    if several.semantics == "set":
        said = several.refused(*several.publish())
        assert "pid 'Ann' has disease 'flu' twice, in rows 1 and 11" in said
        assert "use semantics multiset or remove repeats" in said
    else:
        several.says(*several.publish("-q"))


def test_a_released_table_without_its_column_of_people_is_refused(several):
    several.put("table.csv", "age,sex,disease\n20,f,flu\n")
    said = several.refused(*several.audit())
    assert "table.csv has no column 'pid'" in said
