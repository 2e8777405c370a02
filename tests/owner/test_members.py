"""The owner's folder: who is in which group, what is asked of it, and named worst cases."""

import json
import random
from collections import Counter

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import LABELS
from tests.cli.conftest import desk as desk
from tests.common import NIGHTLY
from tests.people import made

import foreknow as fk
from foreknow_judge.errors import InputError

pytestmark = pytest.mark.usefixtures("tiny_tables")


def members_in(folder):
    return pq.read_table(folder.with_name(f"{folder.name}.owner") / "members.parquet")


# ---- what is written ---------------------------------------------------------------------------


@pytest.mark.parametrize("listed", [True, False])
def test_people_with_several_values(listed, tmp_path):
    ill = [["flu", "cold"], [], ["gout"], ["flu"], ["cold", "gout"], ["flu", "gout"], ["cold"], []]
    ages = [30, 31, 30, 31, 52, 50, 52, 50]
    if listed:
        table = pa.table({"pid": range(8), "age": ages, "ill": ill})
    else:
        rows = [(i, ages[i], x) for i, own in enumerate(ill) for x in own or [None]]
        table = pa.table(dict(zip(("pid", "age", "ill"), zip(*rows, strict=True), strict=True)))
    roles = fk.Schema(
        quasi_identifiers=["age"],
        sensitive="ill",
        semantics="set",
        person="pid",
        identifiers=["pid"] if listed else [],
    )
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="0.9", knowing=[])])
    made("generalized", "parquet", table=table, roles=roles, policy=policy).write(tmp_path / "out")
    members = members_in(tmp_path / "out")
    assert members.column_names == ["row", "pid", "age"]
    assert members.num_rows == table.num_rows
    of = {}
    for row in members.to_pylist():
        assert of.setdefault(row["pid"], row["age"]) == row["age"]
    result = pq.read_table(tmp_path / "out" / "sensitive.parquet").to_pylist()
    bags = Counter((of[i], x) for i, own in enumerate(ill) for x in own)
    assert {(row["age"], row["ill"]): row["count"] for row in result} == bags
    release = fk.named_release(tmp_path / "out", microdata=fk.Microdata(table, roles))
    assert sorted(release.members.names) == list(range(8))
    held = {
        (release.members.names[p], release.counts.values[v])
        for p, v in zip(release.holdings.people, release.holdings.values, strict=True)
    }
    assert held == {(i, x) for i, own in enumerate(ill) for x in own}


# ---- what is asked with it ---------------------------------------------------------------------


def test_columns_that_name_people(desk):
    rows = [f"N{i % 7},{900 + i},{20 + i // 4},{['flu', 'cold'][i % 2]}\n" for i in range(16)]
    desk.put("table.csv", "name,ssn,age,disease\n" + "".join(rows))
    rules = (desk.folder / "policy.toml").read_text().replace('["age", "sex"]', '["age"]')
    rules = rules.replace(LABELS, "")
    desk.put("policy.toml", rules.replace('["name"]', '["name", "ssn"]\nunit = "row"'))
    desk.says(*desk.publish("-q"))
    message = desk.refused("ask", "out", "-a", "N3")
    assert "has several columns that may name people: name, ssn; say which, by --person" in message
    message = desk.refused("ask", "out", "-a", "N3", "--person", "name")
    assert (
        "name 'N0' is in rows 1 and 8; name people by another column, such as --person row"
        in message
    )
    assert "has no column 'snn'; did you mean 'ssn'?" in desk.refused(
        "ask", "out", "-a", "1", "--person", "snn"
    )
    text = desk.says("ask", "out", "-a", "903", "--person", "ssn")
    assert text.replace("903", "4") == desk.says("ask", "out", "-a", "4", "--person", "row")
    wrong = desk.refused("ask", "out", "-a", "903", "--person", "ssn", "-s", "diseas")
    assert "is no sensitive column; did you mean 'disease'" in wrong


def test_worst_cases_name_people(desk):
    desk.says(*desk.publish("-q"))
    call = ["skyline", "out", "-c", "0.9", "-v", "flu", "--name-people"]
    message = desk.refused(*call)
    assert "'out' names nobody; add --table TABLE, the table that it was made of" in message
    assert "add --policy FILE" in desk.refused(*call, "--table", "table.csv")
    text = desk.says(*call, "--table", "table.csv", "--policy", "policy.toml")
    assert "For the owner" in text or "for the owner" in text
    assert any(name in text for name in ("Ann", "Dora", "Eve", "Hal"))
    other = (desk.folder / "table.csv").read_text().replace("Hal,61,m,flu", "Hal,61,m,cold")
    desk.put("other.csv", other)
    message = desk.refused(*call, "--table", "other.csv", "--policy", "policy.toml")
    assert "is not the table that release.csv was made of" in message
    (desk.folder / "out.owner" / "owner.json").unlink()  # without the key, by the values
    message = desk.refused(*call, "--table", "other.csv", "--policy", "policy.toml")
    assert "does not have the values that release.csv has in its groups" in message
    message = desk.refused(
        "skyline", "table.csv", "-c", "0.9", "--table", "table.csv", "-p", "policy.toml"
    )
    assert "--table and --members are for --name-people of a published folder" in message


def test_members_of_another_release(desk):
    desk.says(*desk.publish("-q"))
    desk.says(*desk.publish("-q", "--form", "bucketized", out="again"))
    desk.says(*desk.publish("-q", "--form", "bucketized", out="third"))
    for mine in ("out", "again"):
        message = desk.refused(
            "ask", "third", "-a", "Ann", "--members", f"{mine}.owner/members.parquet"
        )
        assert "says who is in which group of another release than 'third'" in message
    message = desk.refused("ask", "third", "-a", "Ann", "--members", "table.csv")
    assert "'table.csv' cannot be read as Parquet" in message
    pq.write_table(
        pq.read_table(desk.folder / "out.owner" / "members.parquet").replace_schema_metadata(),
        desk.folder / "bare.parquet",
    )
    message = desk.refused("ask", "out", "-a", "Ann", "--members", "bare.parquet")
    assert "of another release than 'out'" in message


# ---- attack ------------------------------------------------------------------------------------

FIVE = "name,age,disease\nAnn,50,flu\nBob,40,hiv\nCid,50,hiv\nDora,30,flu\nEve,30,flu\n"
CERTAIN = """[schema]
identifiers = ["name"]
quasi_identifiers = ["age"]
sensitive = "disease"

[[require]]
facts = {}
below = 1
"""


@pytest.fixture
def five(desk):
    """Five people, published in a folder whose groups give three of them away."""
    desk.put("table.csv", FIVE)
    # On a grid, five people are one group; labels that are exact are those of the certificate.
    desk.put("policy.toml", CERTAIN + '[publish.labels]\nage = "exact"\n')
    desk.says(*desk.publish("-q"))
    desk.put("policy.toml", CERTAIN)
    return desk


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_publications_are_attacked(five, engine):
    publication = fk.publish("table.csv", "policy.toml", labels={"age": "exact"}, engine=engine)
    assert fk.attack(publication).certain == (2, 4, 5)
    with pytest.raises(fk.InputError, match="made by Mondrian, not by FullDomain"):
        fk.attack(publication, "fulldomain")
    with pytest.raises(fk.InputError, match="leave out groups"):
        fk.attack(publication, groups=[0] * 5)


def test_mismatched_members_are_refused(five):
    call = ["attack", "table.csv", "-p", "policy.toml"]
    for more in (["--groups", "age"], ["--nothing"], ["--form", "bucketized"]):
        message = five.refused(*call, "--release", "out", *more)
        assert "leave out --groups, --nothing and --form" in message
    assert "--members goes with --release" in five.refused(*call, "--members", "x")
    for other in (FIVE.replace("Ann,50", "Ann,40"), FIVE + "Fay,30,flu\n"):
        five.put("other.csv", other)
        message = five.refused("attack", "other.csv", *call[2:], "--release", "out")
        assert "is not the table that release.csv was made of" in message


def test_certificates_come_before_other_policies(five):
    """A release goes by its certificate, although the folder has another policy."""
    five.put("policy.toml", CERTAIN.replace("below = 1", "below = 0.1"))
    for words in (["out"], ["table.csv", "--release", "out"]):
        code, out, err = five.run("attack", *words)
        assert (code, err) == (1, "")
        assert "the limit of 10%" not in out
    _, _, err = five.run("attack", "table.csv")
    assert "By the policy of this folder, policy.toml.\n" in err
    _, _, err = five.run("audit", "out")
    assert "By the policy of this folder, policy.toml, and not by the certificate of out.\n" in err


def test_certificates_without_an_owners_counts(five):
    path = five.folder / "out" / "certificate.json"
    certificate = json.loads(path.read_text())
    certificate["scope"]["word"] = ["each group has at least 5 different p"]
    path.write_text(json.dumps(certificate))
    message = five.refused("attack", "out")
    assert "does not have all of the policy (the owner counted" in message
    assert "add it by --policy FILE" in message


# ---- verify, and words of the command line ------------------------------------------------------


def test_verify_needs_no_owner(desk):
    desk.says(*desk.publish("-q"))
    own = desk.folder / "out.owner"
    own.rename(desk.folder / "elsewhere")
    out = desk.says("verify", "out")
    assert out.startswith("Verified: 8 people")
    assert "yourself" not in out


def test_members_in_the_folder(desk):
    desk.says(*desk.publish("-q"))
    own = desk.folder / "out.owner"
    (own / "owner.json").rename(desk.folder / "out" / "owner.json")
    out = desk.says("verify", "out")
    assert "Keep owner.json to yourself: not to be published. Do not send the folder whole" in out
    for place in ("out", "out/inside"):
        (desk.folder / place).mkdir(exist_ok=True)
        moved = desk.folder / place / "members.parquet"
        (own / "members.parquet").rename(moved)
        code, _, err = desk.run("verify", "out")
        assert code == 1
        assert "members.parquet lies in the folder of the release, and says who is in" in err
        with pytest.raises(fk.InputError, match="it is for the owner only"):
            fk.verify(desk.folder / "out")
        moved.rename(own / "members.parquet")


# ---- named worst cases: the statements disclose exactly what Facts does -----------------------


def drawn(semantics, seed):
    """A random release, and what everybody has."""
    chance = random.Random(seed)
    values = ["AIDS", "Flu", "Cold", "Gout"][: chance.randrange(2, 5)]
    rows, has = [], {}
    for group in range(chance.randrange(1, 4)):
        for _ in range(chance.randrange(1, 7)):
            name = f"P {len(has)}"
            has[name] = [chance.choice(values)]
            if semantics != "single":
                has[name] = [v for v in values if chance.random() < 0.4]
            if semantics == "multiset":
                has[name] += [v for v in values if chance.random() < 0.2]
            rows += [(name, group, v) for v in has[name] or [None]]
    chance.shuffle(rows)
    names, groups, own = zip(*rows, strict=True)
    table = pa.table({"who": names, "gid": groups, "disease": pa.array(own, pa.string())})
    release = fk.Release.from_groups(
        table, group="gid", sensitive="disease", person="who", semantics=semantics
    )
    return release, has


@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
@pytest.mark.parametrize("seed", range(60 if NIGHTLY else 15))
def test_statements_disclose_the_same(semantics, seed):
    release, has = drawn(semantics, seed)
    chance = random.Random(seed)
    for value, total in zip(release.counts.values, release.counts.totals, strict=True):
        facts = fk.Facts(*(chance.randrange(4) for _ in range(3)))
        disclosure = facts.disclosure(release, value)
        if not total:
            continue
        named_people = fk.name_people(release, disclosure)
        statements = fk.Statements(*named_people.statements)
        assert (
            statements.posterior(release, named_people.target, named_people.value).exact
            == disclosure.exact
        ), named_people
        assert value in has[named_people.target]
        people = [
            named_people.target,
            *(person for person, _ in named_people.known),
            *named_people.relatives,
        ]
        assert len(set(people)) == len(people)
        for person, what in named_people.known:
            if semantics == "single":
                assert has[person] == [what]
            else:
                untrue = f'{what} not in "{person}"' in named_people.untrue
                assert (what in has[person]) == untrue
        if semantics == "single":
            assert not set(named_people.ruled_out) & set(has[named_people.target])
        assert semantics == "multiset" or not named_people.untrue
        assert len(named_people.known) <= facts.k
        assert len(named_people.ruled_out) <= facts.l
        assert len(named_people.relatives) <= facts.m


def release_of(rows, semantics="single"):
    names, groups, values = zip(*rows, strict=True)
    table = pa.table({"who": names, "gid": groups, "disease": values})
    return fk.Release.from_groups(
        table, group="gid", sensitive="disease", person="who", semantics=semantics
    )


WARD = [
    ("Tom", 1, "AIDS"),
    ("Ed", 1, "Flu"),
    ("Gary", 1, "Flu"),
    ("Ann Lee", 1, "Cold"),
    ("not", 1, "Gout"),
]


def test_texts_and_sentence_under_single():
    release = release_of(WARD)
    named_people = fk.name_people(release, fk.Facts(1, 1, 1).disclosure(release, "AIDS"))
    assert named_people.statements == ("Tom != Flu", '"Ann Lee" = Cold', "Ed = AIDS -> Tom = AIDS")
    assert named_people.sentence() == (
        "Someone who knows that Tom does not have Flu, that Ann Lee has Cold and that Tom has AIDS "
        "if Ed has it can be 60% sure that Tom has AIDS."
    )
    assert repr(named_people) == "NamedWitness('Tom' has 'AIDS': 0.6 given 3 statements)"
    text = named_people.to_dict()
    assert text["statements"] == list(named_people.statements)
    assert (text["target"], text["value"], text["exact"]) == ("Tom", "AIDS", "3/5")


TALLY = pa.table({"group": [1, 1], "disease": ["AIDS", "Flu"], "count": [1, 1]})

PEOPLE = pa.table({"group": [1, 1], "who": ["Tom", "Ed"]})


@pytest.mark.parametrize(
    ("release", "says"),
    [
        (fk.GroupCounts.from_bags([["AIDS", "Flu"]]), "not GroupCounts: counts name nobody"),
        (
            fk.Release.from_groups(
                pa.table({"gid": [1, 1], "d": ["AIDS", "Flu"]}), group="gid", sensitive="d"
            ),
            "nobody is named",
        ),
        (fk.Release.from_bucketized(TALLY, sensitive="disease"), "nobody is named"),
        (
            fk.Release.from_bucketized(TALLY, sensitive="disease", people=PEOPLE, person="who"),
            "bucketized release does not tell who has what",
        ),
    ],
    ids=["counts", "no person", "bucketized", "bucketized with names"],
)
def test_releases_that_name_nobody(release, says):
    with pytest.raises(InputError, match=says):
        fk.name_people(release, fk.Facts().disclosure(release, "AIDS"))


def test_disclosures_of_other_releases():
    release = release_of(WARD)
    other = release_of([(name, 7, value) for name, _, value in WARD])
    with pytest.raises(InputError, match="not one of this release"):
        fk.name_people(release, fk.Facts().disclosure(other, "AIDS"))
    with pytest.raises(InputError, match="'Plague'"):
        fk.name_people(release, fk.Facts().disclosure(release, "Plague"))
    with pytest.raises(InputError, match="only what Facts disclose"):
        fk.name_people(release, fk.Statements("Tom != Flu").disclosure(release, "AIDS"))


def test_households_name_no_people(desk):
    people = range(40)
    columns = {
        "id": [*people],
        "age": [30 + i % 4 for i in people],
        "home": [i // 2 for i in people],
    }
    table = pa.table({**columns, "ill": ["ny"[home % 2] for home in columns["home"]]})
    schema = {"identifiers": ["id"], "quasi_identifiers": ["age"], "sensitive": "ill"}
    shared = {"by": "home", "values": ["ill"]}
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=0.9)], fk.Schema(**schema, shared=shared))
    fk.publish(table, policy).save("out")
    assert "audit the table with a policy" in desk.refused("ask", "out", "-a", "3")
