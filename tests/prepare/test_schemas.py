"""Two schemas: of the table that was read, and of the policy, which must not say otherwise."""

from dataclasses import replace

import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.errors import SchemaError
from foreknow_judge.errors import InputError

# Of a person each row, but for somebody who has three.
CASES = pa.table({
    "age": [30, 30, 30, 40, 40, 40], "zip": [*"ppqrrr"], "job": [*"uvwuvw"], "ill": [*"abcabc"],
    "pay": [*"xxxyyz"], "pid": [*"aaabcd"], "home": [1, 1, 2, 3, 3, 3], "row": [*range(6)],
})  # fmt: skip
ROLES = {"quasi_identifiers": ["age"], "sensitive": "ill"}
OF_PID, OF_ROW = ({"unit": "row", "person": name} for name in ("pid", "row"))
LIMIT = fk.Requirement(fk.Facts(), below="9/10")


def schema(**more):
    return fk.Schema(**{**ROLES, **more})


def policy(own, *required):
    return fk.Policy(required or [fk.Requirement(fk.GroupSize(1))], own)


def test_differences_name_ways_out():
    said = r"differ in unit \(nothing and 'row'\), so it is not clear who is counted, and by what: "
    said += "read the table by the policy's, or leave columns and schema out of the policy"
    with pytest.raises(SchemaError, match=said):
        fk.audit(fk.Microdata(CASES, schema(**OF_PID)), **ROLES, k_anonymity=2)
    with pytest.raises(SchemaError, match=r"differ in sensitive \('pay' and 'ill'\)"):
        fk.publish(fk.Microdata(CASES, schema()), policy(schema(sensitive="pay")))
    tree = {"rows": [[letter, letter * 40] for letter in "abc"]}
    with pytest.raises(SchemaError, match=r"differ in hierarchies \(nothing and .* \.\.\.\)"):
        fk.audit(fk.Microdata(CASES, schema(hierarchies={"ill": tree})), policy(schema()))
    columns = {"quasi_identifiers": ["age", "zip"], "sensitive": "ill"}
    with pytest.raises(SchemaError, match="leave out quasi_identifiers, or change it"):
        fk.skyline_report(CASES, confidence="1/2", **columns, policy=policy(schema()))


# ---- a policy without a schema ------------------------------------------------------------------


@pytest.mark.parametrize("given", [fk.Microdata, fk.Release.from_schema])
def test_table_schema_is_the_default(given):
    own = schema(**OF_PID)
    found = fk.audit(given(CASES, own), policy(None, fk.Requirement(fk.KAnonymity(2))))
    assert not found.safe  # all at 30 are one person
    assert found.policy.schema == own
    assert found.verdicts[0].found.amount == 1
    # `ill` is certain, if nobody who is w has a.
    own = schema(impossible=[{"values": ["a"], "where": {"job": ["v", "w"]}}])
    limit = fk.Requirement(fk.Facts(), below="1/2", values=["a"])
    assert not fk.audit(given(CASES, own), policy(None, limit)).safe
    assert fk.audit(CASES, policy(schema(), limit)).safe
    own, limit = schema(sensitive=["pay", "ill"], other=["zip"]), replace(LIMIT, sensitive="pay")
    assert not fk.audit(given(CASES, own), policy(None, limit)).safe
    with pytest.raises(InputError, match="sensitive"):
        fk.audit(given(CASES, schema()), policy(None, limit))


def test_publication_says_who_is_counted(tmp_path):
    own, wanted = schema(**OF_PID), fk.Requirement(fk.KAnonymity(2))
    made = fk.publish(fk.Microdata(CASES, own), policy(None, wanted), method="mondrian")
    assert made.release.counts.n_groups == 1
    assert made.audit.policy.schema == own
    made.write(tmp_path / "out")
    five = fk.Requirement(fk.KAnonymity(5))
    for given in made, made.release:
        found = fk.audit(given, policy(None, five))
        assert (found.verdicts[0].found.amount, found.safe) == (4, False)  # of six cases
    for given in made, made.release, tmp_path / "out":
        with pytest.raises(SchemaError, match="of the policy and of the release differ in unit"):
            fk.audit(given, policy(schema(), five))
    with pytest.raises(SchemaError, match="of the policy and of the release differ in unit"):
        fk.verify(tmp_path / "out", policy(schema(), five))
    some = policy(schema(unit="row"), fk.Requirement(fk.KAnonymity(2, of=["age"])))
    assert fk.verify(tmp_path / "out", some).findings[0].safe
    for rules in (
        policy(own, wanted),
        policy(own, replace(LIMIT, knowing=["job"])),
        policy(schema(unit="row"), fk.Requirement(fk.KAnonymity(2, of="pid"))),
    ):
        with pytest.raises(InputError, match="is not in the files, so only the owner"):
            fk.verify(tmp_path / "out", rules)


RULED = pa.table({"age": [30] * 4, "sex": [*"mmff"], "ill": [*"xyOx"]})
RULE = [{"values": ["O"], "where": {"sex": ["m"]}}]


def of_o(below, own=None):
    return policy(own, fk.Requirement(fk.Facts(), below=below, values=["O"], knowing=[]))


def test_several_releases_state_their_unit(tmp_path):
    for name, more in (("one", RULE), ("two", RULE), ("three", [])):
        table = RULED.append_column("who", [[f"{name}{i}" for i in range(4)]])
        own = schema(other=["sex"], impossible=more, identifiers=["who"])
        made = fk.publish(table, of_o("2/3", own), method="mondrian", learned=False)
        made.write(tmp_path / name)
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    assert fk.audit(three, of_o("2/5")).safe  # one of four
    found = fk.audit([one, two], of_o("2/5"))
    assert (found.safe, str(found.verdicts[0].reached)) == (False, "1/2")
    for several in ([one, three], [three, two]):
        with pytest.raises(InputError, match=r"differ in who is counted \(impossible\)"):
            fk.audit(several, of_o("2/5"))


# ---- a release of which its maker said what the columns are -------------------------------------


def test_sight_defaults_to_the_table():
    own = schema(**OF_PID, other=["job"])
    sight = fk.Release.from_schema(CASES, own).seen(knowing=["job"])
    for rules, said in (
        (policy(schema(other=["job"])), "differ in unit"),
        (policy(replace(own, sensitive="pay", sensitives=["pay"])), "pay is sensitive, and the"),
        (policy(None, fk.Requirement(fk.KAnonymity(1))), "does not show whose cases its rows are"),
    ):
        with pytest.raises(InputError, match=said):
            fk.audit(sight, rules)


def test_row_measures_refuse_households():
    rows = pa.table({"home": [1, 1, 2, 2], "ward": ["n"] * 4, "pay": ["x"] * 4})
    shared = {"by": "home", "values": ["pay"]}
    own = fk.Schema(quasi_identifiers=["ward"], sensitive="pay", shared=shared)
    with pytest.raises(InputError, match=r"l_diversity .* counts rows, and of a household"):
        fk.l_diversity(fk.Microdata(rows, own))


# ---- people who are counted by another column ---------------------------------------------------

# All of it is about one person, who has a case in each row.
ONE = pa.table({"age": [30] * 6, "ill": [*"abcabc"], "pid": ["p"] * 6, "row": [*range(6)]})
BARE = fk.Release.from_generalized(ONE.select(["age", "ill"]), **ROLES)


@pytest.mark.parametrize(
    "more",
    [{"missing": "drop"}, {"reading": {"missing": ["?"]}}, {"types": {"ill": "text"}}, OF_PID],
)
def test_policy_reads_values_beside(more):
    for read, said in (more, {}), ({}, more):
        people = fk.Microdata(ONE, schema(**read))
        with pytest.raises(SchemaError, match=f"of the people differ in {next(iter(more))}"):
            fk.audit(BARE, policy(schema(**said), LIMIT), people=people, learned=False)
    people, wanted = fk.Microdata(CASES, schema(**OF_PID)), fk.Requirement(fk.KAnonymity(2))
    release = fk.Release.from_generalized(CASES.select(["age", "ill"]), **ROLES)
    assert not fk.audit(release, policy(None, wanted), people=people).safe


def test_publication_is_about_its_persons(tmp_path):
    made = fk.publish(ONE, policy(schema(**OF_PID)), method="mondrian", learned=False)
    made.write(tmp_path / "out")
    for required in LIMIT, fk.Requirement(fk.KAnonymity(2)):
        other = policy(schema(**OF_ROW), required)
        for given in made, made.release:
            with pytest.raises(SchemaError, match=r"differ in person \('row' and 'pid'\)"):
                fk.audit(given, other, learned=False)
        with pytest.raises(InputError, match="does not show whose cases its rows are"):
            fk.audit(tmp_path / "out", other, learned=False)
    # Without a person all that is said is of cases.
    of_cases = policy(schema(unit="row"), LIMIT)
    assert fk.audit(made, of_cases, learned=False).in_cases
    for known in fk.Microdata(ONE, schema(**OF_PID)), made.release.owners[0]:
        with pytest.raises(SchemaError, match="of the people differ in person"):
            fk.audit(made, of_cases, people=known, learned=False)


# ---- values and groups that a policy reads in another way ---------------------------------------

UNKNOWN = pa.table({"age": [30] * 4, "ill": ["NA", " NA", "flu", "flu"], "g": [1, 1, 2, 2]})
NA = {"reading": {"missing": ["NA"]}}
TWO_THIRDS = fk.Requirement(fk.Facts(), below="2/3")


def made_by_hand(table):
    tally = table.group_by(["age", "ill"]).aggregate([("ill", "count")])
    tally = tally.rename_columns(["age", "ill", "count"])
    return [
        fk.Release.from_generalized(table, **ROLES),
        fk.Release.from_groups(table, group="age", sensitive="ill"),
        fk.Release.from_tally(tally, group=["age"], sensitive="ill"),
        fk.Release.from_bucketized(tally, group=["age"], sensitive="ill"),
        fk.GroupCounts.from_bags([table["ill"].to_pylist()]),
    ]


def test_hand_made_values_stay_missing():
    rules = policy(schema(**NA, missing="drop"), TWO_THIRDS)
    assert not fk.audit(UNKNOWN, rules).safe
    for release in made_by_hand(UNKNOWN):
        with pytest.raises(SchemaError, match=r"' ?NA' in 'ill' says that a value is missing"):
            fk.audit(release, rules)
        assert fk.audit(release, policy(schema(), TWO_THIRDS)).safe
    bare = fk.Release.from_generalized(UNKNOWN, **ROLES)
    with pytest.raises(SchemaError, match="says that a value is missing"):
        fk.audit(bare, policy(None, TWO_THIRDS), people=fk.Microdata(UNKNOWN, rules.schema))
    # A label that stands for it is a value.
    rules = policy(schema(**NA, missing={"label": "NA"}), TWO_THIRDS)
    for release in made_by_hand(UNKNOWN.set_column(1, "ill", [["NA", "NA", "flu", "flu"]])):
        assert fk.audit(release, rules).safe


@pytest.mark.parametrize(
    ("texts", "more"),
    [
        (["1", "1.0", "1", "1.0"], {"types": {"ill": "number"}}),
        (["2020-01-01", "2020-01-01 00:00"] * 2, {"types": {"ill": "date"}}),
        (["1", "1,0", "1,0", "1"], {"reading": {"decimal": ","}}),
    ],
)
def test_one_number_is_one_value(texts, more):
    table = pa.table({"age": [30] * 4, "ill": texts})
    rules = policy(schema(**more), TWO_THIRDS)
    given = [table, fk.Microdata(table, rules.schema), fk.Release.from_schema(table, rules.schema)]
    for release in given:  # which is read as publish reads it
        assert fk.audit(release, rules).verdicts[0].reached == 1
    assert not fk.audit(given[-1], policy(None, TWO_THIRDS)).safe
    for release in made_by_hand(table):
        with pytest.raises(SchemaError, match="in 'ill' are one value, and here they are counted"):
            fk.audit(release, rules)


def test_declared_numbers_are_read_once():
    table = pa.table({"age": [30] * 4, "ill": ["1", "1.0", "x", "1.0"]})
    for release in (table, *made_by_hand(table)):
        with pytest.raises(InputError, match="must hold a number in every row"):
            fk.audit(release, policy(schema(types={"ill": "number"}), TWO_THIRDS))
    plain = table.set_column(1, "ill", [["1.5", "1.5", "2", "3"]])
    own = schema(types={"ill": "number"}, reading={"decimal": ","})  # of the table, once
    for release in (plain, *made_by_hand(plain)):
        assert fk.audit(release, policy(own, TWO_THIRDS)).safe
    plain = table.set_column(1, "ill", [["1", "1", "2", "3"]])
    assert fk.audit(plain, policy(schema(types={"ill": "number"}), TWO_THIRDS)).safe


def test_groups_are_those_of_policies():
    table = pa.table({"age": [30] * 4, "g": [1, 1, 2, 2], "ill": [*"aabb"]})
    rules = policy(schema(group="g"), TWO_THIRDS)
    assert not fk.audit(table, rules).safe
    release = fk.Release.from_groups(table, group="g", sensitive="ill", other=["age"])
    assert not fk.audit(release, rules).safe
    for release in made_by_hand(table)[:-1]:
        with pytest.raises(SchemaError, match="says that g is the group, and the release was made"):
            fk.audit(release, rules)
    own = schema(group="home")
    release = fk.Release.from_schema(CASES, own)
    with pytest.raises(InputError, match="'home' makes the groups of the release, and is no quasi"):
        fk.audit(release, policy(own), people=fk.Microdata(CASES, own), learned=False)


def test_calls_default_to_the_table():
    own = schema(identifiers=["row"], hierarchies={"age": fk.Intervals([10])})
    people, calls = fk.Microdata(CASES, own), (fk.audit, fk.publish)
    for call in calls:
        assert call(people, **ROLES, k_anonymity=2) is not None
        assert call(people, policy(None), **ROLES) is not None
    assert fk.audit(people, **ROLES, k_anonymity=2).policy.schema == own
    assert fk.survey(people, **ROLES) is not None
    for more in {"identifiers": ["pid"]}, {"hierarchies": {"age": fk.Intervals([5])}}:
        for call in (*calls, fk.survey):
            with pytest.raises(SchemaError, match=f"differ in {next(iter(more))}"):
                call(people, **ROLES, **more)
