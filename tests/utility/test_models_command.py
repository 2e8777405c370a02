"""The command utility: models where they are asked for."""

from tests.cli.conftest import desk as desk

PUBLISH = ["publish", "table.csv", "--policy", "policy.toml", "--out", "release"]
UTILITY = ["utility", "release", "table.csv", "--policy", "policy.toml"]


def test_utility_shows_models_where_it_is_asked(desk):
    desk.says(*PUBLISH)
    assert "Explained:" not in desk.says(*UTILITY)
    said = desk.says(*UTILITY, "--models", "--draws", "2", "--json", "found.json")
    assert "Explained: disease, by age and sex" in said
    found = desk.json("found.json")["models"]
    assert (found["targets"], found["draws"]) == (["disease"], 2)
    named = desk.says(*UTILITY, "--target", "age", "--by", "sex")
    assert "Explained: age, by sex" in named


def test_a_mistake_is_one_line(desk):
    desk.says(*PUBLISH)
    said = desk.refused(*UTILITY, "--target", "disase")
    assert "no column 'disase' is published; did you mean 'disease'" in said
    assert "add --models" in desk.refused(*UTILITY, "--by", "age")


def test_two_policies_are_asked_the_same_queries(desk):
    desk.says(*PUBLISH)
    policy = (desk.folder / "policy.toml").read_text("utf-8")
    desk.put("other.toml", policy)
    own = desk.says(*UTILITY)
    assert desk.says(*UTILITY, "--queries-of", "other.toml") == own
    about = desk.says(*UTILITY, "--attributes", "age")
    assert "one quasi-identifier" in about
    assert "2 quasi-identifiers" not in about
