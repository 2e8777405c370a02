"""A table that changes while it is judged: a verdict is on one of its states, or there is none."""

import random
from collections import Counter
from itertools import count

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY

import foreknow as fk
from foreknow_judge.errors import DataError

FAMILIES = range(20_000 if NIGHTLY else 70)


def asked(rng):
    """A policy whose requirements see different columns, published or not."""
    facts = [
        fk.Requirement(fk.Facts(), below=rng.choice(["1/2", "2/3", "9/10"]), **how)
        for how in (
            {"sensitive": "ill", "knowing": []},
            {"sensitive": "pay", "knowing": []},
            {"sensitive": "ill", "knowing": ["job"]},
            {"sensitive": "ill", "knowing": ["home"]},
            {"sensitive": "pay", "knowing": ["home"]},
        )
    ]
    others = [
        fk.Requirement(fk.LDiversity(2), sensitive="pay"),
        fk.Requirement(fk.TCloseness("1/3"), sensitive="ill"),
        fk.Requirement(fk.GroupSize(2)),
        fk.Requirement(fk.GroupSize(2, of="home")),
    ]
    how = rng.choice([{}, {}, {"unit": "row", "person": "who"}, {"impossible": RULES}])
    if "impossible" in how:
        others, facts = others[2:], [own for own in facts if own.sensitive == "ill"]
    rules = fk.Schema(
        quasi_identifiers=["at"], sensitive=["ill", "pay"], other=["job"], missing="drop", **how
    )
    return fk.Policy(rng.sample(facts + others, rng.choice([2, 2, 3])), rules)


RULES = [{"values": ["a"], "where": {"job": ["u"]}, "sensitive": "ill"}]


def state(rng, sizes):
    """A table with groups of these sizes."""
    rows = []
    for group, size in enumerate(sizes):
        for _ in range(size):
            job = rng.choice("uv")
            ill = rng.choice("bc" if job == "u" else "abc")
            home, who = rng.randint(0, 3), len(rows) // 2
            rows.append((f"g{group}", job, ill, rng.choice("xy"), home, who))
    rng.shuffle(rows)
    names = ("at", "job", "ill", "pay", "home", "who")
    return pl.DataFrame(rows, schema=list(names), orient="row")


def turning(states):
    """A frame that is another one each time that it is read, and how often it was."""
    times = count()

    def read(frame):
        return states[next(times) % len(states)]

    return states[0].lazy().map_batches(read)


def verdicts_of(given, policy):
    found = fk.audit(given, policy, learned=False)
    return [(v.safe, str(v.found.amount if v.of_groups else v.reached)) for v in found.verdicts]


def test_verdicts_are_of_one_state_of_a_table_or_it_is_refused():
    seen = Counter()
    for seed in FAMILIES:
        rng = random.Random(seed)
        sizes = [rng.randint(1, 5) for _ in range(rng.choice([1, 2]))]
        states = [state(rng, sizes) for _ in range(2)]
        policy = asked(rng)
        try:
            each = [verdicts_of(own, policy) for own in states]
        except fk.InputError:  # such as two rows of a person that differ
            seen["refused anyway"] += 1
            continue
        given = fk.Release.from_schema(turning(states), policy.schema)
        if rng.random() < 0.5:
            given.counts  # noqa: B018 - counted before it is judged
        if rng.random() < 0.3:
            given.seen("pay", []).counts  # noqa: B018
        for _ in range(2):
            try:
                found = verdicts_of(given, policy)
            except DataError as error:
                seen[str(error).partition(": ")[2][:29]] += 1
                break
            assert found in each, (seed, each, found)
            seen["one state", each[0] != each[1]] += 1
    assert seen["it changed since it was count"] > len(FAMILIES) / 20
    assert seen["one state", True] > len(FAMILIES) / 20
    assert {*seen} <= {
        "refused anyway",
        "it changed since it was count",
        ("one state", True),
        ("one state", False),
    }


def relation_of(table):
    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return connection


# Nobody knows an illness for sure who knows jobs, or groups are large; not both.
ONE = pa.table({"at": [1] * 4 + [2] * 4, "ill": list("abcdabcd"), "job": list("uvwxuvwx")})
TWO = pa.table({"at": [1, 1, 2, 2, 3, 3, 4, 4], "ill": list("ab") * 4, "job": ["u"] * 8})
WANTED = [
    fk.Requirement(fk.KAnonymity(3), knowing=[]),
    fk.Requirement(fk.Facts(), below="9/10", knowing=["job"]),
]


@pytest.mark.parametrize("other", [["job"], []])
def test_a_relation_that_changes_after_it_was_counted(other):
    schema = fk.Schema(quasi_identifiers=["at"], sensitive="ill", other=other)
    policy = fk.Policy(WANTED, schema)
    assert [v.safe for v in fk.audit(ONE, policy, learned=False).verdicts] == [True, False]
    assert [v.safe for v in fk.audit(TWO, policy, learned=False).verdicts] == [False, True]
    connection = relation_of(ONE)
    release = fk.Release.from_schema(connection.table("people"), schema)
    assert release.counts.n_groups == 2
    unchanged = fk.audit(release, policy, learned=False)
    assert [v.safe for v in unchanged.verdicts] == [True, False]
    connection.register("given", TWO)
    connection.execute("DELETE FROM people; INSERT INTO people SELECT * FROM given")
    if other:
        with pytest.raises(DataError, match=r"changed since it was counted, or .* collect it into"):
            fk.audit(release, policy, learned=False)
    else:  # read once more, with all that its owner counts
        found = fk.audit(release, policy, learned=False)
        assert [v.safe for v in found.verdicts] == [False, True]
        assert found.counts.n_groups == 4


@pytest.mark.parametrize("drawn", ["ill", "job", "at"])
@pytest.mark.parametrize("other", [["job"], []])
def test_a_relation_that_is_drawn_anew_is_read_once(drawn, other):
    """Whatever is drawn, amounts fit each other: who knows more is not less sure."""
    letter = {name: f"i * 7 % {n}" for name, n in (("ill", 5), ("job", 3), ("at", 4))}
    letter[drawn] = "floor(random() * 3)"
    columns = [f"chr((97 + {own})::INT) AS {name}" for name, own in letter.items()]
    relation = duckdb.connect().sql(f"SELECT {', '.join(columns)} FROM range(40) t(i)")
    schema = fk.Schema(quasi_identifiers=["at"], sensitive="ill", other=other)
    less = fk.Requirement(fk.Facts(), below="9/10", knowing=[])
    more = fk.Requirement(fk.Facts(), below="9/10", knowing=["job"])
    found = fk.audit(relation, fk.Policy([less, more], schema), learned=False)
    assert found.verdicts[0].reached <= found.verdicts[1].reached


def test_people_beside_a_release_must_have_its_values():
    release = fk.Release.from_generalized(
        ONE.select(["at", "ill"]), quasi_identifiers=["at"], sensitive="ill"
    )
    schema = fk.Schema(quasi_identifiers=["at"], sensitive="ill")
    policy = fk.Policy(WANTED, schema)
    assert not fk.audit(release, policy, people=ONE, learned=False).safe
    for values in ("abcddcbb", "abcdabce"):
        people = ONE.set_column(1, "ill", pa.array(list(values)))
        with pytest.raises(DataError, match="other values of 'ill' than in the release"):
            fk.audit(release, policy, people=people, learned=False)


def test_who_has_what_is_not_counted_of_other_people():
    states = [ONE, ONE.set_column(1, "ill", pa.array(list("aaaabbbb")))]
    given = turning([pl.from_arrow(own) for own in states])
    release = fk.Release.from_generalized(given, quasi_identifiers=["at"], sensitive="ill")
    assert release.counts.n_values in (2, 4)
    with pytest.raises(DataError, match="gave other rows when it was read again"):
        release.signatures(["job"])


def test_groups_that_are_called_otherwise_are_others():
    states = [ONE, ONE.set_column(0, "at", pa.array([1] * 4 + [3] * 4))]
    given = turning([pl.from_arrow(own) for own in states])
    schema = fk.Schema(quasi_identifiers=["at"], sensitive="ill", other=["job"])
    release = fk.Release.from_schema(given, schema)
    assert list(release.counts.groups) == [(1,), (2,)]
    with pytest.raises(DataError, match="it changed since it was counted"):
        fk.audit(release, fk.Policy(WANTED), learned=False)


def test_counts_that_change_are_read_once():
    """Of two columns in one table of counts, each is certain in one state."""
    made = {"group": [1, 1], "n": [2, 2]}
    states = [
        pl.DataFrame({**made, "ill": list("ab"), "pay": list("xx")}),
        pl.DataFrame({**made, "ill": list("aa"), "pay": list("xy")}),
    ]
    release = fk.Release.from_bucketized(
        turning(states), sensitive=["ill", "pay"], count="n", group="group"
    )
    limits = [
        fk.Requirement(fk.Facts(), below="9/10", sensitive=name, knowing=[])
        for name in ("ill", "pay")
    ]
    found = fk.audit(release, fk.Policy(limits), learned=False)
    assert [v.safe for v in found.verdicts] in ([True, False], [False, True])
