"""The command line with priors: a file beside the policy, exit codes, and what cannot be done."""

import pytest
from tests.cli.desk import LABELS

from foreknow.report.pages.verification import _amounts

SEX = "sex,value,probability\nf,flu,0.3\nf,cold,0.7\nm,flu,0.1\nm,cold,0.9\n"
SCHEMA = """[schema]
identifiers = ["name"]
quasi_identifiers = ["age", "sex"]
sensitive = "disease"

"""
# In pairs of a woman and a man; the odds of flu are 27 to 7 for her, where just one has it.
TABLE = """ward,name,age,sex,disease
1,Ann,20,f,flu
1,Bob,21,m,cold
2,Cid,20,m,flu
2,Dora,21,f,flu
2,Eve,60,f,cold
2,Fay,61,m,cold
"""


def policy(limit, priors='{ file = "sex.csv" }', more=""):
    return f"{SCHEMA}[[require]]\npriors = {priors}\n{limit}\n{more}"


@pytest.fixture
def ready(desk):
    desk.put("sex.csv", SEX)
    desk.put("table.csv", TABLE)
    return desk


def audit(desk, limit, *more, **how):
    """Judge groups as if columns were in another table than values: nobody finds a row by them."""
    desk.put("policy.toml", policy(f"{limit}\nknowing = []", **how))
    return desk.run(*desk.audit("--group", "ward", *more))


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("below = 0.8", 0),
        ("at_most = 0.8", 0),
        ('at_most = "27/34"', 0),
        ('below = "27/34"', 1),
        ("at_most = 0.79", 1),
        ("below = 0.5", 1),
    ],
)
def test_an_audit_is_safe_or_not_at_the_very_limit(ready, limit, code):
    found, out, err = audit(ready, limit)
    assert found == code, out + err
    assert ("Safe" in out) == (code == 0)
    assert "priors" in out
    assert "Traceback" not in out + err


def test_whoever_knows_the_columns_of_a_row_finds_its_value(ready):
    ready.put("policy.toml", policy("below = 0.9"))
    code, out, err = ready.run(*ready.audit("--group", "ward"))
    assert code == 1, out + err
    assert "can be certain that a member of group “ward 1, age 21, sex m” has cold" in " ".join(
        out.split()
    )


def test_an_audit_tells_whom_it_is_about(ready):
    # He has a cold as surely as she has the flu.
    _, out, _ = audit(ready, 'below = 0.5\nvalues = ["flu"]', "--json", "audit.json")
    said = " ".join(out.split())
    assert "people with sex f have it with probability 30%" in said
    assert "79% sure that a member of group 1 has flu" in said
    worst = ready.json("audit.json")["verdicts"][0]["worst"]
    assert worst["exact"] == "27/34"
    assert worst["witness"]["signature"] == {"sex": "f"}


def test_the_file_is_beside_the_policy_and_not_where_the_command_runs(ready):
    folder = ready.folder / "rules"
    folder.mkdir()
    (ready.folder / "sex.csv").rename(folder / "sex.csv")
    (folder / "policy.toml").write_text(policy("below = 0.9\nknowing = []"))
    code, out, err = ready.run(*ready.audit("--group", "ward", policy="rules/policy.toml"))
    assert code == 0, out + err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "policy.toml: there is no file or folder"),
        ("", "policy.toml: sex.csv is empty"),
        (SEX.replace("probability", "chance"), "sex.csv has no column 'probability'"),
        (
            SEX.replace("m,", "male,"),
            "sex.csv: there are no probabilities for sex m; known: 'f', 'male'",
        ),
        (SEX.replace("sex,", "disease,"), "is the sensitive column"),
    ],
)
def test_priors_that_cannot_be_used(ready, content, says):
    ready.put("policy.toml", policy("below = 0.9"))
    if content is None:
        (ready.folder / "sex.csv").unlink()
    else:
        ready.put("sex.csv", content)
    assert says in ready.refused(*ready.audit("--group", "ward"))


def test_what_verify_says_of_them_is_short():
    tables = [{"attributes": ["sex"], "rows": []}, {"attributes": ["age", "sex"], "rows": []}]
    assert _amounts({"semantics": "joint", "tables": tables}) == "by sex; age, sex (joint)"
    assert _amounts({"l": 1, "k": 2}) == "l = 1, k = 2"


@pytest.mark.parametrize(
    ("method", "form"), [("mondrian", "generalized"), ("fulldomain", "bucketized")]
)
def test_methods_that_merge_or_divide_cannot_search_under_priors(ready, method, form):
    more = "\n[[require]]\nfacts = { l = 0 }\nbelow = 0.9\n" + LABELS
    ready.put("policy.toml", policy("below = 0.9", more=more))
    said = ready.refused(*ready.publish("--method", method, "--form", form))
    assert "Priors needs groups that are finished" in said
    assert 'method = "art"' in said
