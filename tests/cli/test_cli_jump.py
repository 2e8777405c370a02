"""`foreknow publish` and `foreknow attack` by the methods jump, safe and naive."""

import pytest

POLICY = """[schema]
identifiers = ["name"]
quasi_identifiers = ["age", "sex"]
sensitive = "disease"
[schema.hierarchies]
age = { intervals = [10, 20] }

[[require]]
facts = {}
below = 0.7

[publish]
method = "jump"
labels = { sex = "exact" }

[publish.jump]
functions = ["age=1, sex=0", { age = 1 }, "age=*"]
distances = [1, 2, 1]
"""


@pytest.fixture
def jumping(desk):
    desk.put("policy.toml", POLICY)
    return desk


def test_jump_from_a_policy_file(jumping):
    out = jumping.says(*jumping.publish())
    assert "Note: judged by Jump also against an adversary who knows it" in out
    known = jumping.json("out/certificate.json")
    assert known["method"]["functions"] == ["age=1, sex=0", "age=1, sex=*", "age=*, sex=*"]
    assert known["method"]["distances"] == [1, 2, 1]
    out = jumping.says("verify", "out/certificate.json")
    assert "the certificate, and foreknow verify, are about the release alone" in out


def test_settings_on_the_command_line(jumping):
    given = ["--set", "distances=2", "--set", 'functions=["age=1", "age=*"]', "--quiet"]
    code, out, err = jumping.run(*jumping.publish(*given))
    assert (code, out, err) == (0, "", "")
    known = jumping.json("out/certificate.json")["method"]
    assert (known["functions"], known["distances"]) == (["age=1, sex=*", "age=*, sex=*"], [2, 2])
    jumping.says(*jumping.publish("--method", "safe", "--quiet", out="safe"))


def test_what_is_refused(jumping):
    refused = jumping.refused
    assert "3 jump distances for 1 functions" in refused(
        *jumping.publish("--set", 'functions=["age=1"]')
    )
    assert "publish.jump: unknown key distance; did you mean 'distances'?" in refused(
        *jumping.publish("--set", "distance=1")
    )
    assert "more than 1 steps" in refused(
        *jumping.publish("--set", "steps=1", "--set", "distances=1"), code=1
    )
    jumping.put("policy.toml", POLICY.replace("facts = {}", "facts = { k = 1 }"))
    assert "cannot be judged by a method that foresees" in refused(*jumping.publish())
    jumping.put("policy.toml", POLICY.replace("below = 0.7", "below = 0.3"))
    assert "Jump releases nothing of table.csv" in refused(*jumping.publish(), code=1)


def test_attack_by_name(jumping):
    for method in ("jump", "safe"):
        code, out, _ = jumping.run("attack", "table.csv", "-p", "policy.toml", "--method", method)
        assert code == 0, out
        assert method.capitalize() in out
