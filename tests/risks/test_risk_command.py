"""The command risk: what it prints, writes and refuses."""

import json

import pytest
from tests.cli.conftest import desk as desk
from tests.cli.desk import TABLE

import foreknow as fk

QIS = "--quasi-identifiers", "age,sex"
REGISTER = TABLE + "Ida,20,f,flu\nJon,21,m,cold\nKim,99,m,cold\n"


def test_the_prosecutors_risk_is_printed_without_a_policy(desk):
    said = desk.says("risk", "table.csv", *QIS)
    assert "All 8 people are unique (100%) – table.csv" in said
    assert "8 people, 8 classes by age and sex." in said
    assert "prosecutor 100% 100% 8 100% exact" in said
    assert "journalist's risk and uniqueness in the population are not measured" in said
    assert "Not looked at: name and disease." in said


def test_a_population_and_a_policy(desk):
    desk.put("register.csv", REGISTER)
    said = desk.says(
        *("risk", "table.csv", "--policy", "policy.toml", "--population", "register.csv"),
        *("--threshold", "1/2", "--html", "risk.html", "--json", "risk.json"),
    )
    assert "The population has 11 people." in said
    assert "counted 7 63.7% 6 exact" in said
    assert "journalist 100% 87.5% 6 75.0% exact" in said
    read = desk.json("risk.json")
    assert read["format"] == "foreknow risk"
    assert read["journalist"]["above"] == 6
    assert read["population"]["sampling_fraction"] == pytest.approx(8 / 11)
    assert [each["columns"] for each in read["sets"]] == [["age"], ["sex"], ["age", "sex"]]
    page = (desk.folder / "risk.html").read_text("utf-8")
    assert "For the owner only" in page
    assert "Whom they single out" in page


def test_a_sampling_fraction_gives_estimates(desk):
    rows = "".join(f"{i % 7},{i % 5}\n" for i in range(20)) + "50,50\n51,51\n"
    desk.put("many.csv", "age,town\n" + rows)
    said = desk.says(
        *("risk", "many.csv", "--quasi-identifiers", "age, town"),
        *("--sampling-fraction", "0.1", "--subsets", "1", "--suda", "0", "--json", "risk.json"),
    )
    assert said.count(" estimate ") >= 2
    assert "These are estimates, no verdicts" in said
    assert "minimal sample uniques" not in said
    read = desk.json("risk.json")
    assert (read["suda"], read["population"]["exact"]) == (None, False)
    assert read["population"]["people"] == 220


def test_columns_are_said_by_options_or_by_the_policy_of_the_folder(desk):
    assert "by age and sex" in " ".join(desk.run("risk", "table.csv")[1].split())
    (desk.folder / "policy.toml").unlink()
    said = "say which columns others may know: --quasi-identifiers COLUMN,COLUMN"
    assert said in desk.refused("risk", "table.csv")


def test_what_publish_wrote_is_measured_by_its_certificate(desk):
    desk.says(*desk.publish("--seed", "1", "--quiet"))
    said = desk.says("risk", "out")
    found = fk.risk_report(desk.folder / "out")
    assert f"{found.uniques} of 8 people" in said or "All 8 people" in said
    assert "by age and sex" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--group", "age"], "say which columns others may know"),
        (["--quasi-identifiers", "age,sx"], "table.csv has no column 'sx'; did you mean 'sex'?"),
        ([*QIS, "--policy", "policy.toml"], "--quasi-identifiers contradicts --policy"),
        ([*QIS, "--sampling-fraction", "some"], "'some' is not a number"),
        ([*QIS, "--population", "few.csv"], "fewer people than the table in 7 of 8 classes"),
        ([*QIS, "--population", "few.csv", "--sampling-fraction", "1/2"], "not both"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(desk, arguments, said):
    desk.put("few.csv", "\n".join(TABLE.splitlines()[:2]) + "\n")
    assert said in desk.refused("risk", "table.csv", *arguments)


def test_the_json_of_python_and_of_the_command_are_one(desk):
    desk.says("risk", "table.csv", *QIS, "--json", "risk.json", "--quiet")
    found = fk.risk_report(desk.folder / "table.csv", quasi_identifiers=["age", "sex"])
    found.to_json(desk.folder / "own.json")
    own = json.loads((desk.folder / "own.json").read_text("utf-8"))
    assert own == desk.json("risk.json")


def test_a_folder_with_several_sensitive_columns_and_others_beside_is_measured(desk):
    rows = ["age,job,illness,income"]
    rows += [f"{20 + i % 9},{('Cook', 'Nurse')[i % 2]},{'abcd'[i % 4]},{i % 3}" for i in range(72)]
    desk.put("wide.csv", "\n".join(rows))
    roles = 'quasi_identifiers = ["age"]\nsensitive = ["illness", "income"]\nother = ["job"]\n'
    each = "".join(
        f'\n[[require]]\nsensitive = "{name}"\nfacts = {{}}\nbelow = 1\nknowing = []\n'
        for name in ("illness", "income")
    )
    desk.put("wide.toml", f"[schema]\n{roles}{each}")
    desk.says("publish", "wide.csv", "--policy", "wide.toml", "--out", "out")
    for more in ([], ["--policy", "wide.toml"]):
        said = desk.says("risk", "out", *more)
        assert "by age." in said
        assert "Not looked at: job, illness and income." in " ".join(said.split())
        desk.says("risk", "out", *more, "--json", "out.json")
        classes = desk.json("out.json")["classes"]
        release = fk.risk_report(desk.folder / "out", policy=desk.folder / "wide.toml")
        assert classes == release.classes
