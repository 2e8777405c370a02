"""Every mistake of a user is one line that names it, exit code 2, and nothing written."""

import pytest
from tests.cli.desk import LABELS, POLICY, TABLE

HEADER, *ROWS = TABLE.splitlines()


def table(*rows, header=HEADER):
    return "\n".join([header, *rows]) + "\n"


# ---- tables ------------------------------------------------------------------------------------

TABLES = {
    "empty file": (
        b"",
        "line; its first line must name the columns",
    ),
    "only spaces": (b"\n \n", "table.csv is empty"),
    "header only": (table(), "table.csv has no rows"),
    "unknown column": (
        TABLE.replace("age", "aeg"),
        "table.csv has no column 'age'; did you mean 'aeg'?",
    ),
    "no sensitive column": (TABLE.replace("disease", "ilness"), "has no column 'disease'"),
    "duplicate column": (TABLE.replace("name", "age"), "two columns named 'age'; rename one"),
    "column without name": (TABLE.replace("name", ""), "column 1 has no name"),
    "null sensitive value": (
        table(*ROWS, "Ida,62,f,"),
        "the sensitive column 'disease' is missing in 1 row",
    ),
    "too few fields": (table(*ROWS[:3], "Ida,62,f"), "line 5: 3 fields where the header has 4"),
    "too many fields": (table(ROWS[0], "Ida,62,f,x,y"), "line 3: 5 fields where the header has 4"),
    "latin-1": (TABLE.replace("flu", "grippé").encode("latin-1"), "is not UTF-8"),
    "utf-16": (TABLE.encode("utf-16"), "is not UTF-8"),
    "open quote": (table(ROWS[0], 'Ida,62,f,"flu'), "table.csv, line 3"),
}


@pytest.mark.parametrize("command", ["publish", "audit"])
@pytest.mark.parametrize(("content", "said"), TABLES.values(), ids=TABLES.keys())
def test_a_table_that_cannot_be_used(desk, command, content, said):
    desk.put("table.csv", content)
    assert said in desk.refused(*getattr(desk, command)())


def test_missing_values_have_a_way_out_without_a_policy(desk):
    rows = [
        f"P{i},{20 + i % 9},{'fm'[i % 2]},{['flu', 'cold', 'gout', ''][i % 4]}" for i in range(80)
    ]
    desk.put("table.csv", table(*rows))
    (desk.folder / "policy.toml").unlink()
    columns = "--quasi-identifiers", "age,sex", "--sensitive", "disease"
    said = desk.refused("skyline", "table.csv", *columns, "-c", "0.9")
    command = "foreknow init TABLE --sensitive disease"
    assert f"; without a policy file, {command} writes one that says it" in said
    desk.says(*command.replace("TABLE", "table.csv").split()[1:])
    desk.says("publish", "table.csv", "--policy", "policy.toml", "--out", "out")
    desk.says("skyline", "table.csv", "--policy", "policy.toml", "-c", "0.9")


@pytest.mark.parametrize("command", ["publish", "audit"])
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.csv", None, "there is no file or folder 'none.csv'"),
        ("table.ods", b"PK", "neither CSV (.csv, .tsv, .txt) nor Parquet"),
        ("table.parquet", b"PAR1", "table.parquet cannot be read as Parquet"),
        ("table.csv.gz", b"not zipped", "table.csv.gz cannot be read"),
        ("empty", "folder", "'empty' holds no .parquet file"),
    ],
)
def test_a_file_that_is_no_table(desk, command, name, content, said):
    if content == "folder":
        (desk.folder / name).mkdir()
    elif content is not None:
        desk.put(name, content)
    which = "table" if command == "publish" else "release"
    assert said in desk.refused(*getattr(desk, command)(**{which: name}))


@pytest.mark.parametrize("command", ["publish", "audit"])
@pytest.mark.parametrize("said", ['method = "mondrain"', "[publish.mondrain]\nrounds = 2"])
def test_a_policy_whose_method_is_mistyped(desk, command, said):
    desk.put("policy.toml", f"{POLICY.partition('[publish')[0]}\n[publish]\n{said}\n")
    refused = desk.refused(*getattr(desk, command)())
    assert "policy.toml: publish: there is no method 'mondrain'" in refused
    assert "did you mean 'mondrian'?" in refused


def test_a_null_group_id(desk):
    desk.put("grouped.csv", "gid,disease\n1,flu\n,cold\n")
    said = desk.refused(*desk.audit("--group", "gid", release="grouped.csv"))
    assert "the group column 'gid' is missing" in said
    assert "every row needs a group" in said


def test_a_group_column_that_is_not_there_or_sensitive(desk):
    desk.put("grouped.csv", "gid,disease\n1,flu\n1,cold\n")
    said = desk.refused(*desk.audit("--group", "gdi", release="grouped.csv"))
    assert "no column 'gdi'; did you mean 'gid'?" in said
    said = desk.refused(*desk.audit("--group", "disease", release="grouped.csv"))
    assert "'disease' cannot be both sensitive and the group" in said


def test_a_quasi_identifier_may_be_called_n(desk):
    desk.put("table.csv", TABLE.replace("age", "n"))
    desk.put("policy.toml", POLICY.replace("age", "n"))
    code, _, err = desk.run(*desk.audit())
    assert (code, err) == (1, "")


FAR = [f"P{i},20,f,flu" for i in range(20_000)]


@pytest.mark.parametrize(
    "command",
    ["publish", "audit"],
)
@pytest.mark.parametrize(
    ("row", "said"),
    [("Ida,20,f,\xe9", "not UTF-8"), ("Ida,20,f", "line 20002: 3 fields where the header has 4")],
)
def test_a_bad_line_far_below(desk, command, row, said):
    desk.put("table.csv", table(*FAR, row).encode("latin-1"))
    assert said in desk.refused(*getattr(desk, command)())


# ---- policies ----------------------------------------------------------------------------------

POLICIES = {
    "key with a typo": (POLICY.replace("below", "belwo"), "unknown key require[0].belwo", "below"),
    "threshold of 1.5": (
        POLICY.replace("0.9", "1.5"),
        "require[0]",
        "above 0 and at most 1",
    ),
    "negative l": (POLICY.replace("l = 0", "l = -1"), "require[0].facts.l", "-1"),
    "two roles": (
        POLICY.replace('["name"]', '["name", "age"]'),
        "column 'age' is given as quasi-identifier and as identifier; keep one",
        "",
    ),
    "no requirement": (POLICY.split("[[require]]")[0], "require", "policy.toml"),
    "no schema": ("[[require]]" + POLICY.split("[[require]]")[1], "no [schema] table", ""),
    "not TOML": ("[schema\n", "policy.toml is not valid TOML", "line 1"),
    "not UTF-8": (
        POLICY.replace("flu", "é").encode("latin-1"),
        "policy.toml', line 7: not UTF-8",
        "",
    ),
}


@pytest.mark.parametrize("command", ["publish", "audit"])
@pytest.mark.parametrize(("content", "place", "hint"), POLICIES.values(), ids=POLICIES.keys())
def test_a_policy_that_cannot_be_meant(desk, command, content, place, hint):
    desk.put("policy.toml", content)
    said = desk.refused(*getattr(desk, command)())
    assert place in said
    assert hint in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--form", "generalised"], "publish.form is 'generalised'"),
        (
            ["--format", "ods"],
            "publish.format is 'ods'; known: 'csv', 'parquet'",
        ),
        (["--method", "mondrain"], "no method 'mondrain'; did you mean 'mondrian'?"),
    ],
)
def test_an_option_that_does_not_exist_is_refused_with_those_that_do(desk, options, said):
    assert said in desk.refused(*desk.publish(*options))


def test_a_negative_seed_is_refused(desk):
    assert "seed" in desk.refused(*desk.publish("--seed", "-1"))


# ---- semantics and people ----------------------------------------------------------------------

PERSON = POLICY.replace("[[require]]", 'person = "name"\n\n[[require]]')


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_an_audit_under_other_semantics_than_those_of_the_certificate_is_refused(desk, semantics):
    desk.run(*desk.publish("-q"))
    desk.put("many.toml", PERSON.replace("person", f'semantics = "{semantics}"\nperson'))
    said = desk.refused(*desk.audit(release="out", policy="many.toml"))
    assert f"the certificate is for semantics 'single', the policy for '{semantics}'" in said


@pytest.mark.parametrize("command", ["publish", "audit"])
def test_somebody_in_two_rows_is_refused_where_the_column_of_people_is_there(desk, command):
    desk.put("policy.toml", PERSON)
    desk.put("table.csv", TABLE.replace("Dora", "Bob"))
    said = desk.refused(*getattr(desk, command)())
    assert "table.csv: name 'Bob' is in rows 2 and 4" in said
    desk.put("table.csv", TABLE.replace("Dora", ""))
    assert "'name' is missing in row 4" in desk.refused(*getattr(desk, command)())


def test_an_audit_does_without_the_column_of_people_and_with_everybody_once(desk):
    desk.put("policy.toml", PERSON)
    assert desk.run(*desk.publish("-q")) == (0, "", "")
    assert desk.run(*desk.audit("-q", release="out")) == (0, "", "")
    assert desk.run(*desk.audit("-q", release="out/release.csv")) == (0, "", "")
    assert desk.run(*desk.audit("-q")) == (1, "", "")


# ---- outputs that are inputs -------------------------------------------------------------------


def test_what_is_read_by_another_name_is_not_written_over(desk):
    (desk.folder / "link").symlink_to("policy.toml")
    assert "'link' is an input" in desk.refused(*desk.audit("--json", "link"))


# ---- certificates ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "'certificate.json' does not exist"),
        ("{", "'certificate.json' is not JSON"),
        ("{}", "'certificate.json' is not a foreknow certificate"),
        ('{"format": "foreknow certificate", "version": 9}', "is of version 9"),
    ],
)
def test_a_certificate_that_cannot_be_used(desk, content, said):
    if content is not None:
        desk.put("certificate.json", content)
    assert said in desk.refused("verify", "certificate.json")


def test_a_release_that_is_not_beside_its_certificate(desk):
    desk.run(*desk.publish())
    (desk.folder / "out" / "release.csv").unlink()
    assert "out/release.csv does not exist" in desk.refused("verify", "out/certificate.json")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('quasi_identifiers = ["age", "sex"]', 'quasi_identifiers = ["age"]'),
        ('quasi_identifiers = ["age", "sex"]', 'quasi_identifiers = ["age", "sex", "name"]'),
        ('sensitive = "disease"', 'sensitive = "illness"'),
    ],
)
def test_a_folder_with_a_certificate_for_other_columns_than_the_policy_s_is_refused(desk, old, new):
    desk.run(*desk.publish("-q"))
    policy = POLICY if "name" not in new else POLICY.replace('identifiers = ["name"]\n', "", 1)
    desk.put("other.toml", policy.replace(old, new).replace(LABELS, ""))
    said = desk.refused(*desk.audit(release="out", policy="other.toml"))
    assert "the certificate is for age, sex and disease, the policy for " in said


def test_a_folder_is_audited_whatever_the_order_of_the_policy_s_columns(desk):
    desk.run(*desk.publish("-q"))
    desk.put("turned.toml", POLICY.replace('["age", "sex"]', '["sex", "age"]'))
    assert desk.run(*desk.audit("-q", release="out", policy="turned.toml")) == (0, "", "")


@pytest.mark.parametrize(
    ("form", "file"), [("generalized", "release"), ("bucketized", "people")], ids=str
)
def test_a_folder_whose_files_are_not_those_certified_is_refused(desk, form, file):
    desk.run(*desk.publish("-q", "--form", form))
    path = desk.folder / "out" / f"{file}.csv"
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([header, *rows[::-1]]) + "\n")
    said = desk.refused(*desk.audit(release="out"))
    assert f"{file}.csv is not the file of 'out' that was certified" in said
    path.unlink()
    assert f"{file}.csv is not the file of 'out'" in desk.refused(*desk.audit(release="out"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("skyline", "-c", "0.9", "-v", "flu", "--above", f"1,1,{'9' * 5000}"), "--above takes"),
        (("curves", "--levels", f"age={'9' * 5000}"), "--levels takes"),
        (("survey", "-k", "9" * 5000), "--knowledge takes whole numbers"),
        (("attack", "--seeds", "9" * 5000), "--seeds takes whole numbers"),
    ],
)
def test_a_number_that_python_does_not_read_is_refused(desk, arguments, said):
    command, *options = arguments
    assert said in desk.refused(command, "table.csv", "-p", "policy.toml", *options)


def test_a_folder_whose_name_is_not_utf_8_is_refused(desk):
    said = desk.refused(*desk.publish(out="out\udcff"))
    assert "'out\\udcff': the name is not UTF-8; choose another" in said


@pytest.mark.parametrize(
    "arguments",
    [
        ("audit", "LONG.csv", "-p", "policy.toml"),
        ("audit", "table.csv", "-p", "LONG.toml"),
        ("audit", "table.csv", "-p", "policy.toml", "--html", "LONG"),
        ("publish", "LONG.csv", "-p", "policy.toml", "-o", "out"),
        ("publish", "table.csv", "-p", "policy.toml", "-o", "LONG"),
        ("verify", "LONG"),
    ],
)
def test_a_name_that_is_too_long_for_a_file_is_one_line(desk, arguments):
    said = desk.refused(*(part.replace("LONG", "n" * 300) for part in arguments))
    # From Python 3.14 on, a path with such a name counts as one where there is nothing.
    assert "File name too long" in said or "there is no file" in said
